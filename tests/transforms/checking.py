"""Reverse mode on the IR alone, run by the evaluator and compared with differences."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcad.arguments.signature import describe
from srcad.frontend.lower import Lowered, Signature, lower_inline
from srcad.ir.core import Const, Function
from srcad.ir.evaluate import evaluate
from srcad.ir.inference.builder import Builder
from srcad.ir.text import text
from srcad.ir.verify import verify
from srcad.pipeline import interpreted
from srcad.transforms.vjp import vjp
from srcad.types.numeric import Numeric
from srcad.types.sizes import ShapeEnvironment
from srcad.types.sources import read


def lowered(f: Callable[..., Any], *args: Any) -> tuple[Lowered, list[Any]]:
    """The IR of a function for these arguments, and the arguments of the IR."""
    environment = ShapeEnvironment()
    bound = inspect.signature(f).bind(*args)
    bound.apply_defaults()
    given = bound.arguments
    types = {n: describe(v, (("param", n),), environment) for n, v in given.items()}
    active = tuple(n for n, v in given.items() if not isinstance(v, bool | str))
    found = interpreted(f, (), Signature(types, environment, active, arguments=given))
    verify(found.function)
    return found, [*given.values(), *(read(c.path, f, given) for c in found.captures)]


def derived(f: Callable[..., Any], *args: Any, wrt: Sequence[int] | None = None) -> Function:
    """The function of the value and the gradients, seed 1."""
    found, _ = lowered(f, *args)
    return gradients_of(found.function, range(len(args)) if wrt is None else wrt)


def gradients_of(function: Function, wrt: Sequence[int]) -> Function:
    """The same for a function of the IR."""
    return verify(vjp(function, tuple(wrt), lower_inline, seed=Const(1.0)))


def shown(f: Callable[..., Any], *args: Any, wrt: Sequence[int] | None = None) -> str:
    """The derived function as text, without line numbers."""
    lines = text(derived(f, *args, wrt=wrt)).splitlines()
    return "\n".join(line.split("  # line")[0] for line in lines)


def gradient(
    f: Callable[..., Any], *args: Any, wrt: Sequence[int] | None = None
) -> tuple[Any, ...]:
    """The gradients, by the evaluator."""
    found, arguments = lowered(f, *args)
    function = gradients_of(found.function, range(len(args)) if wrt is None else wrt)
    return tuple(evaluate(function, *arguments)[1:])


def smooth(args: Sequence[Any]) -> list[int]:
    """The positions of floats and arrays of floats."""
    return [
        k for k, a in enumerate(args)
        if isinstance(a, float) or (isinstance(a, np.ndarray) and a.dtype.kind == "f")
    ]  # fmt: skip


def agrees(f: Callable[..., Any], *args: Any, orders: int = 2) -> None:
    """Check the gradient, and the gradient of a mixture of its entries, with differences."""
    found, arguments = lowered(f, *args)
    assert check(found.function, arguments, smooth(args), orders) == []


def check(function: Function, arguments: list[Any], wrt: list[int], orders: int) -> list[str]:
    """What differs, order by order."""
    rng = np.random.default_rng(0)
    for order in range(1, orders + 1):
        made = gradients_of(function, wrt)
        found = evaluate(made, *arguments)[1:]
        along = [rng.normal(size=np.shape(arguments[k])) for k in wrt]
        pairs = [(g, d) for g, d in zip(found, along, strict=True) if g is not None]
        got = sum(float(np.sum(np.asarray(g) * d)) for g, d in pairs)
        expected = slope(function, arguments, wrt, along)
        if expected is not None and abs(got - expected) > 1e-4 * (1 + abs(expected)):
            return [f"order {order}: {got} instead of {expected}"]
        mixed = mixture(made, len(wrt), rng)
        if mixed is None:
            break
        function = mixed
    return []


def slope(
    function: Function, arguments: list[Any], wrt: list[int], along: list[Any]
) -> float | None:
    """The derivative along a direction by central differences; None where they do not settle."""

    def difference(h: float) -> float:
        ends = []
        for sign in (1, -1):
            moved = list(arguments)
            for k, d in zip(wrt, along, strict=True):
                step = arguments[k] + sign * h * d
                moved[k] = step if isinstance(step, np.ndarray) else type(arguments[k])(step)
            ends.append(float(evaluate(function, *moved)))
        return (ends[0] - ends[1]) / (2 * h)

    coarse, fine = difference(1e-5), difference(3e-6)
    return coarse if abs(coarse - fine) <= 1e-6 * (1 + abs(coarse)) else None


def mixture(made: Function, count: int, rng: np.random.Generator) -> Function | None:
    """A scalar function of the gradients of a derived function."""
    builder = Builder(ops=list(made.block.ops), half="reverse")
    total: Any = None
    for gradient in made.block.results[1 : 1 + count]:
        if isinstance(gradient, Const) or not isinstance(gradient.type, Numeric):
            continue
        term = gradient if gradient.type.shape == () else builder.call(np.sum, gradient)
        term = builder.call(operator.mul, Const(float(rng.normal())), term)
        total = term if total is None else builder.call(operator.add, total, term)
    if total is None:
        return None
    return Function(made.name, made.params, builder.finish(total), made.where)
