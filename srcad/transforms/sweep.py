"""What all blocks of one reverse sweep share, and the types of cotangents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from srcad.analysis.activity import Facts
from srcad.analysis.activity_trees import Activity, part
from srcad.ir.core import Block, Call, For, Function, Routine, Value, While, collected_outputs, walk
from srcad.ir.inference.builder import Builder
from srcad.startup.records import dataclass, field
from srcad.transforms.mirror import Mirrors
from srcad.types.numeric import FLOAT, Numeric
from srcad.types.structures import ListOf, Opaque, TupleOf, Type

Path = tuple[int, ...]
Slot = tuple[Value, Path]
Inline = Callable[[Builder, Callable[..., Any], list[Any], dict[str, Any]], Any]

_FLOAT64 = np.dtype(np.float64)
NOTHING = Opaque(type(None))


@dataclass(eq=False)
class Sweep:
    """What all scopes of one reverse sweep share.

    `homes` tells in which block a value is defined.  `lazy` are the cotangents that may be `None`
    when the code runs, because the value they belong to may be unbound there.  `masks` tells where
    a cotangent is certainly zero.  `calls` are the calls of routines that must also save, and
    `made` the calls of the primal by their result, `read_by` by their operands; `collected` are the
    lists that its loops make; `mirrors` are the arrays that reverse loops put back as they were;
    `walked` is what was found on walks along those calls, by the question.
    """

    facts: Facts
    homes: dict[Value, Block]
    undefined: set[Value]
    inline: Inline
    primal: Function
    undo: Callable[..., None]
    undo_routine: Callable[..., None]
    prepared: Callable[[Function], Function]
    finish: Callable[[Function, Sweep], Function]
    lazy: set[Value] = field(default_factory=set)
    masks: dict[Value, Value] = field(default_factory=dict)
    calls: dict[Value, tuple[Routine, Value, Value]] = field(default_factory=dict)
    made: dict[Value, Call] = field(default_factory=dict)
    collected: set[Value] = field(default_factory=set)
    read_by: dict[Value, list[Call]] = field(default_factory=dict)
    mirrors: Mirrors | None = None
    walked: dict[Callable[..., Any], dict[Value, bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for op in walk(self.primal.block):
            if isinstance(op, Call):
                self.made[op.result] = op
                for value in op.operands:
                    self.read_by.setdefault(value, []).append(op)
            elif isinstance(op, For | While):
                self.collected.update(collected_outputs(op))


# ------------------------------------------------------------------------------- types
def is_scalar(type_: Type) -> bool:
    """Whether a value is certainly a number without axes."""
    return isinstance(type_, Numeric) and type_.is_scalar


def leaf_paths(type_: Type, activity: Activity) -> Iterator[Path]:
    """The paths to the active leaves of a value."""
    if activity is False:
        return
    if isinstance(type_, TupleOf):
        for k, item in enumerate(type_.items):
            for rest in leaf_paths(item, part(activity, k)):
                yield (k, *rest)
    else:
        yield ()


def type_at(type_: Type, path: Path) -> Type:
    """The type of the part at a path."""
    for k in path:
        type_ = type_.items[k] if isinstance(type_, TupleOf) else Opaque()
    return type_


def cotangent_type(type_: Type, activity: Activity = True) -> Type:
    """The type of the cotangent of a value: floats for integers, the structure kept."""
    match type_:
        case Numeric(dtype, shape, form):
            if activity is False:
                return NOTHING
            if form == "python" and dtype is not None and dtype.kind in "iub":
                return FLOAT
            if dtype is not None and dtype.kind in "iub":
                return Numeric(_FLOAT64, shape, form)
            return Numeric(dtype, shape, form)
        case TupleOf(items):
            parts = enumerate(items)
            return type_.of(tuple(cotangent_type(t, part(activity, k)) for k, t in parts))
        case ListOf(item):
            return ListOf(cotangent_type(item, activity))
    return type_ if activity is not False else NOTHING


def item_type(bars: Type, item: Type, activity: Activity) -> Type:
    """The type of one cotangent in a list of them, or of a row where an array holds them."""
    if isinstance(bars, ListOf) and not isinstance(bars.item, Opaque):
        return bars.item
    if isinstance(bars, Numeric) and bars.shape:
        rest = bars.shape[1:]
        return Numeric(bars.dtype, rest, "array" if rest else "numpy")
    if isinstance(item, Numeric):
        return Numeric()  # nothing is known of the rows
    return cotangent_type(item, activity)


def bar_hint(value: Value) -> str | None:
    """The name of the cotangent of a value."""
    return f"{value.hint}_bar" if value.hint else None


def homes_of(function: Function) -> dict[Value, Block]:
    """The block in which each value is defined."""
    homes: dict[Value, Block] = dict.fromkeys(function.params, function.block)
    pending = [function.block]
    while pending:
        block = pending.pop()
        homes.update(dict.fromkeys(block.params, block))
        for op in block.ops:
            homes.update(dict.fromkeys(op.results, block))
            pending.extend(op.blocks)
    return homes
