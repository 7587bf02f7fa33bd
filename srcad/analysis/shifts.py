"""Extremes on which no result depends: ``m`` in ``e = exp(x - m); p = e / sum(e)``.

What is subtracted before ``exp`` keeps it from overflowing, and cancels afterwards.  Where that can
be read off the operations, the derivative with respect to ``m`` is zero, and no mode needs to write
the derivative of the extreme.

If ``m`` moves by ``d``, a *shifted* value moves by ``count * d``, and a *scaled* one is multiplied
by ``exp(count * d)``; both may have ``d`` in a unit of their own, as in ``(x - m) / temperature``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from srcad.analysis.arguments import differentiable_arguments, rule_of
from srcad.ir.argument_types import argument_type
from srcad.ir.core import (
    Arg,
    Block,
    Call,
    Const,
    Display,
    Function,
    Op,
    Value,
    free_values,
    values_in,
    walk,
)
from srcad.ir.traits import is_indexed
from srcad.rules.registry import row_of
from srcad.rules.row import Law
from srcad.startup.records import dataclass, replace
from srcad.types.numeric import Numeric
from srcad.types.sizes import is_one

Active = Callable[[Value], Any]
Axes = tuple[int | None, ...]


@dataclass(frozen=True)
class Moved:
    """How a value moves with an extreme.

    `axes` names for each axis of the value the axis of the extreme along which it moves
    differently; `unit` lists the factors and divisors that a shift went through.
    """

    scaled: bool
    count: int
    axes: Axes
    unit: tuple[tuple[Any, Arg], ...] = ()


Moves = Mapping[Value, Moved]
Step = Callable[..., Moved | None]


class _UnknownError(Exception):
    """An operation may let the extreme through."""


def cancelled(function: Function, active: Active) -> frozenset[Value]:
    """Return the extremes that are `active`, and on which nothing active depends in the end."""
    blocks = [function.block, *(block for op in walk(function.block) for block in op.blocks)]
    found = set()
    for block in blocks:
        for k, op in enumerate(block.ops):
            if isinstance(op, Call) and _is_extreme(op.target):
                extreme = op.result
                if active(extreme) is not False and _cancels(extreme, block, k + 1, active):
                    found.add(extreme)
    return frozenset(found)


def _cancels(extreme: Value, block: Block, start: int, active: Active) -> bool:
    type_ = extreme.type
    if not isinstance(type_, Numeric) or type_.kind != "f" or type_.shape is None:
        return False
    axes = tuple(None if is_one(n) else k for k, n in enumerate(type_.shape))
    moves = {extreme: Moved(False, 1, axes)}
    try:
        for op in block.ops[start:]:
            reads = any(v in moves for v in _read(op))
            if reads and any(active(v) is not False for v in op.results):
                moved = _after(op, moves)
                if moved is not None:
                    moves[op.results[0]] = moved
    except _UnknownError:
        return False
    return not any(v in moves and active(v) is not False for v in _yielded(block))


def _read(op: Op) -> Iterator[Value]:
    yield from op.operands
    for block in op.blocks:
        yield from free_values(block)


def _yielded(block: Block) -> Iterator[Value]:
    return (atom for atom in block.results if isinstance(atom, Value))


def _after(op: Op, moves: Moves) -> Moved | None:
    """How the result of an op moves; None if it stays."""
    if not isinstance(op, Call):
        raise _UnknownError
    step, width = _step_of(op.target)
    if step is None:
        if rule_of(op.target) is not None and not differentiable_arguments(op):
            return None
        raise _UnknownError
    others = (*op.args[width:], *(arg for _, arg in op.kwargs))
    if any(value in moves for arg in others for value in values_in(arg)):
        raise _UnknownError
    moved = step(op, *(_move_of(arg, moves) for arg in op.args[:width]))
    return moved if moved is not None and moved.count else None


def _step_of(target: Any) -> tuple[Step | None, int]:
    """Return the transfer function of a callee, and the number of operands that may move."""
    if is_indexed(target):
        return _indexed, 1
    row = row_of(target)
    is_other = row.law == "copy" and row.entries != "moved"  # of a list
    is_other = is_other or (row.law in ("largest", "smallest") and not _is_extreme(target))
    return (None, 0) if is_other else _STEPS.get(row.law, (None, 0))


def _move_of(arg: Arg, moves: Moves) -> Moved | None:
    if isinstance(arg, Value):
        return moves.get(arg)
    if any(value in moves for value in values_in(arg)):
        raise _UnknownError
    return None


def _rank(arg: Arg) -> int:
    type_ = argument_type(arg)
    if not isinstance(type_, Numeric) or type_.shape is None:
        raise _UnknownError
    return len(type_.shape)


# ------------------------------------------------------------------------------- arithmetic
def _lifted(moved: Moved, rank: int) -> Moved:
    """Return the same, in an array of more axes."""
    return replace(moved, axes=(None,) * (rank - len(moved.axes)) + moved.axes)


def _pair(op: Call, a: Moved | None, b: Moved | None) -> tuple[Moved | None, Moved | None]:
    """Two operands as broadcasting aligns them; both move in the same way, or one stays."""
    if op.kwargs or len(op.args) > 2:
        raise _UnknownError
    rank = max(_rank(arg) for arg in op.args)
    a, b = (one if one is None else _lifted(one, rank) for one in (a, b))
    if a is not None and b is not None and replace(a, count=b.count) != b:
        raise _UnknownError
    return a, b


def _add(op: Call, a: Moved | None, b: Moved | None, sign: int = 1) -> Moved | None:
    a, b = _pair(op, a, b)
    if (a is not None and a.scaled) or (b is not None and b.scaled):
        if a is None or b is None or a.count != b.count:
            raise _UnknownError
        return a
    if a is None or b is None:
        return a if b is None else replace(b, count=sign * b.count)
    return replace(a, count=a.count + sign * b.count)


def _subtract(op: Call, a: Moved | None, b: Moved | None) -> Moved | None:
    return _add(op, a, b, -1)


def _multiply(op: Call, a: Moved | None, b: Moved | None, sign: int = 1) -> Moved | None:
    a, b = _pair(op, a, b)
    one = a if b is None else b
    if one is None or one.scaled:
        if a is None or b is None:
            return a if b is None else replace(b, count=sign * b.count)
        return replace(a, count=a.count + sign * b.count)
    if (a is not None and b is not None) or (sign < 0 and a is None):
        raise _UnknownError
    return _in_unit(one, sign, op.args[1] if b is None else op.args[0])


def _divide(op: Call, a: Moved | None, b: Moved | None) -> Moved | None:
    return _multiply(op, a, b, -1)


def _in_unit(moved: Moved, sign: int, factor: Arg) -> Moved:
    """Return a shift that is multiplied, or divided, by a number."""
    if _rank(factor) != 0:
        raise _UnknownError
    if moved.unit and moved.unit[-1] == (-sign, factor):
        return replace(moved, unit=moved.unit[:-1])
    return replace(moved, unit=(*moved.unit, (sign, factor)))


def _negative(op: Call, a: Moved | None) -> Moved | None:
    return a if a is None or a.scaled else replace(a, count=-a.count)


def _exp(op: Call, a: Moved | None) -> Moved | None:
    if a is None or a.scaled or op.kwargs:
        raise _UnknownError
    return replace(a, scaled=True)


def _log(op: Call, a: Moved | None) -> Moved | None:
    if a is None or not a.scaled or op.kwargs or len(op.args) > 1:
        raise _UnknownError
    return replace(a, scaled=False)


def _same(op: Call, a: Moved | None) -> Moved | None:
    return a


# ------------------------------------------------------------------------------- along axes
def _sum(op: Call, a: Moved | None) -> Moved | None:
    if a is None or not a.scaled:
        raise _UnknownError
    return _extreme(op, a)


def _extreme(op: Call, a: Moved | None) -> Moved | None:
    """Return a reduction along axes along which all entries move alike."""
    given = {**dict(zip(("a", "axis"), op.args, strict=False)), **dict(op.kwargs)}
    if a is None or len(op.args) > 2 or not given.keys() <= {"a", "axis", "keepdims", "dtype"}:
        raise _UnknownError
    rank, axis = len(a.axes), given.get("axis", Const(None))
    items = axis.items if isinstance(axis, Display) else (axis,)
    chosen = [one.value if isinstance(one, Const) else "?" for one in items]
    reduced = set(range(rank)) if chosen == [None] else set()
    for one in chosen if not reduced else ():
        if not isinstance(one, int):
            raise _UnknownError
        reduced.add(one % rank)
    if any(a.axes[k] is not None for k in reduced):
        raise _UnknownError
    if _rank(op.result) == rank:
        return a
    return replace(a, axes=tuple(one for k, one in enumerate(a.axes) if k not in reduced))


def _indexed(op: Call, a: Moved | None) -> Moved | None:
    """``x[:, None]``: whole axes, and new ones."""
    index = op.args[1]
    items = index.items if isinstance(index, Display) and index.kind == "tuple" else (index,)
    axes: list[int | None] = []
    if a is None:
        raise _UnknownError
    rest = list(a.axes)
    for item in items:
        if item == Const(None):
            axes.append(None)
        elif item == _WHOLE and rest:
            axes.append(rest.pop(0))
        else:
            raise _UnknownError
    return replace(a, axes=(*axes, *rest))


def _is_extreme(target: Any) -> bool:
    row = row_of(target)
    return row.law in ("largest", "smallest") and row.entries == "reduced"


_WHOLE = Display("slice", (Const(None), Const(None), Const(None)))
# By the law of a function: the step, and the number of operands that may move.
_STEPS: dict[Law, tuple[Step, int]] = {
    "sum": (_add, 2),
    "difference": (_subtract, 2),
    "product": (_multiply, 2),
    "quotient": (_divide, 2),
    "negative": (_negative, 1),
    "exponential": (_exp, 1),
    "logarithm": (_log, 1),
    "cast": (_same, 1),
    "copy": (_same, 1),
    "total": (_sum, 1),
    "largest": (_extreme, 1),
    "smallest": (_extreme, 1),
}
