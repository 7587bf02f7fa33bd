"""The only door from the tests to the inside of the compiler."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from srcad.backends.python import emit, load
from srcad.frontend.lower import Lowered, lower, lower_inline
from srcad.ir.core import Block, Call, Const, Op
from srcad.ir.evaluate import evaluate
from srcad.ir.verify import verify
from srcad.paths import read
from srcad.pipeline import finished
from srcad.signature import describe
from srcad.transforms.vjp import vjp
from srcad.types import Facts


def lowered(f: Callable[..., Any], *args: Any) -> tuple[Lowered, list[Any]]:
    """The IR of a function for these arguments, and the arguments of the IR."""
    facts = Facts()
    bound = inspect.signature(f).bind(*args)
    bound.apply_defaults()
    given = bound.arguments
    types = {n: describe(v, (("param", n),), facts) for n, v in given.items()}
    active = tuple(n for n, v in given.items() if not isinstance(v, bool | str))
    found = lower(f, types, facts, active=active, arguments=given)  # type: ignore[arg-type]
    verify(found.function)
    return found, [*given.values(), *(read(c.path, f, given) for c in found.captures)]


def evaluated(f: Callable[..., Any], *args: Any) -> Any:
    """The value of ``f(*args)`` by way of the IR: lowered for these arguments, then evaluated."""
    found, arguments = lowered(f, *args)
    return evaluate(found.function, *arguments)


def edited(f: Callable[..., Any], swap: dict[Any, Any], *args: Any) -> tuple[Any, Any]:
    """The value and the first gradient of a function whose IR has some callees replaced."""
    found, arguments = lowered(f, *args)
    function = found.function
    changed = replace(function, block=_edited(function.block, swap))
    made = finished(vjp(changed, (0,), lower_inline, seed=Const(1.0)), own=(1,))
    value, gradient = load(emit(made, name="edited"))(*arguments)
    return value, gradient


def _edited(block: Block, swap: dict[Any, Any]) -> Block:
    return replace(block, ops=tuple(_edited_op(op, swap) for op in block.ops))


def _edited_op(op: Op, swap: dict[Any, Any]) -> Op:
    if isinstance(op, Call) and op.target in swap:
        return replace(op, target=swap[op.target])
    return op
