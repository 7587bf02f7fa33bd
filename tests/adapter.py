"""The only door from the tests to the inside of the compiler."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

import srcad.pipeline
from srcad.arguments.request import Request, parameters_of
from srcad.arguments.signature import describe
from srcad.calling.gradient import Gradient
from srcad.errors import SrcadError
from srcad.frontend.lower import Lowered, Signature
from srcad.ir.core import Block, Call, For, If, Op, While
from srcad.ir.evaluate import evaluate
from srcad.modes import nested  # noqa: F401 - gradients inside functions
from srcad.modes.reverse import derived
from srcad.passes.finish import checked
from srcad.pipeline import interpreted
from srcad.types.sizes import ShapeEnvironment
from srcad.types.sources import read


@contextmanager
def helpers_kept(which: str) -> Iterator[None]:
    """Compile with "none" of the helpers kept, with the "large" ones, or with "all" that can be."""
    place = srcad.pipeline.with_small_helpers_in_place
    made = partial(place, small=-1, called_once=-1) if which == "all" else place
    setting = {"SRCAD_HELPERS": "inline" if which == "none" else ""}
    with (
        mock.patch.dict(os.environ, setting),
        mock.patch.object(srcad.pipeline, "with_small_helpers_in_place", made),
    ):
        yield


def lowered(
    f: Callable[..., Any], args: tuple[Any, ...], wrt: tuple[int, ...]
) -> tuple[Lowered, list[Any]]:
    """A function as IR for these arguments, and the values of all its parameters.

    As the compiler does, read once more with the items of lists known if it is refused.
    """
    environment = ShapeEnvironment()
    try:
        return _lowered(f, args, wrt, environment)
    except SrcadError:
        if not environment.has_lists:
            raise
    return _lowered(f, args, wrt, ShapeEnvironment(items_known=True))


def _lowered(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    wrt: tuple[int, ...],
    environment: ShapeEnvironment,
) -> tuple[Lowered, list[Any]]:
    parameters = parameters_of(f) or ()
    named = {p.name: a for p, a in zip(parameters, args, strict=True)}
    types = {
        name: describe(value, (("param", name),), environment) for name, value in named.items()
    }
    active = tuple(parameters[k].name for k in wrt)
    made = interpreted(f, parameters, Signature(types, environment, active, arguments=named))
    captured = [read(c.path, f, named) for c in made.captures]
    return made, [*args, *captured]


def evaluated(f: Callable[..., Any], *args: Any) -> Any:
    """The value of ``f(*args)`` by way of the IR: lowered for these arguments, then evaluated."""
    made, values = lowered(f, args, tuple(range(len(args))))
    return evaluate(checked(made.function), *values)


def evaluated_as_compiled(gradient: Gradient, *args: Any) -> Any:
    """The value of ``f(*args)`` by evaluating the very IR from which a gradient was compiled."""
    family, arguments = gradient._bound(args, {})
    entry = family.entry_for(gradient.function, arguments)
    named = {p.name: a for p, a in zip(entry.parameters, arguments, strict=True)}
    captured = [read(path, gradient.function, named) for path, _ in entry.pattern.captures]
    return evaluate(checked(entry.artifact.lowered), *arguments, *captured)


def with_value(f: Callable[..., Any], *args: Any) -> Gradient:
    """The value and the gradients by all arguments of such a call, in one piece of code."""
    return Gradient(f, Request("value_and_grad", None, single=False, arity=len(args)))


def split_form(f: Callable[..., Any], *args: Any) -> Gradient:
    """What `srcad.pullback` calls for these arguments."""
    return Gradient(f, Request("pullback", None, single=False, arity=len(args)))


def evaluated_gradient(
    f: Callable[..., Any], wrt: tuple[int, ...], *args: Any
) -> tuple[Any, tuple[Any, ...]]:
    """The value and the gradients by evaluating the adjoint's IR, without any text."""
    made, values = lowered(f, args, wrt)
    adjoint = derived(made.function, Request("value_and_grad", wrt, single=False), list(wrt))
    value, *gradients = evaluate(checked(adjoint), *values)
    return value, tuple(gradients)


def edited(f: Callable[..., Any], swap: dict[Any, Any], *args: Any) -> tuple[Any, Any]:
    """The value and the first gradient of a function whose IR has some callees replaced."""
    made, values = lowered(f, args, (0,))
    function = replace(made.function, block=_swapped(made.function.block, swap))
    adjoint = derived(function, Request("value_and_grad", (0,)), [0])
    value, gradient = evaluate(checked(adjoint), *values)
    return value, gradient


def _swapped(block: Block, swap: dict[Any, Any]) -> Block:
    return replace(block, ops=tuple(_swapped_op(op, swap) for op in block.ops))


def _swapped_op(op: Op, swap: dict[Any, Any]) -> Op:
    match op:
        case Call():
            return replace(op, target=swap.get(op.target, op.target))
        case If():
            return replace(op, then=_swapped(op.then, swap), orelse=_swapped(op.orelse, swap))
        case For():
            return replace(op, body=_swapped(op.body, swap))
        case While():
            return replace(op, test=_swapped(op.test, swap), body=_swapped(op.body, swap))
    raise TypeError(type(op).__name__)


def generated(f: Callable[..., Any], wrt: tuple[int, ...] | None, *args: Any) -> str:
    """The text of the gradient by some or all arguments, made for these; nothing is run."""
    arity = len(args) if wrt is None else 0
    gradient = Gradient(f, Request("grad", wrt, single=False, arity=arity))
    gradient.cache_clear()
    family, arguments = gradient._bound(args, {})
    return family.entry_for(gradient.function, arguments).artifact.text
