"""State shared by all blocks of one reverse pass, and the types of cotangents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from srcad.analysis.activity import Facts
from srcad.analysis.activity_trees import Activity, part
from srcad.analysis.arguments import rule_of
from srcad.analysis.kinds import has_unknown_numbers, may_be_complex
from srcad.errors import UnsupportedTypeError
from srcad.ir.argument_types import argument_type
from srcad.ir.core import (
    Block,
    Call,
    Const,
    For,
    Function,
    If,
    Routine,
    Try,
    Value,
    While,
    collected_outputs,
    walk,
)
from srcad.ir.traits import is_checkpoint
from srcad.rules.registry import qualified_name
from srcad.startup.records import dataclass, field, once
from srcad.transforms.crossings import Crossings, crossings_of
from srcad.transforms.mirror import Mirrors
from srcad.types.numeric import FLOAT, Numeric
from srcad.types.structures import OPAQUE, Fixed, ListOf, Opaque, TupleOf, Type, numbers_in

Path = tuple[int, ...]
Slot = tuple[Value, Path]
Inline = Callable[..., Any]  # (builder, rule, args, keywords)

_FLOAT64 = np.dtype(np.float64)
NOTHING = Opaque(type(None))


class HelpersInPlaceError(Exception):
    """Some functions must be inlined for this derivative."""

    def __init__(self, routines: Iterable[Routine]) -> None:
        super().__init__()
        self.routines = frozenset(routines)


@dataclass(eq=False)
class Helpers:
    """Facts of a reverse pass about called functions.

    `in_place` are those whose bodies have to stand in the place of their calls.  `cut` are values
    of which a function that reads them leaves out entries.
    """

    in_place: set[Routine] = field(default_factory=set)
    cut: set[Value] = field(default_factory=set)


@dataclass(eq=False)
class Sweep:
    """State shared by all scopes of one reverse pass.

    `homes` tells in which block a value is defined.  `lazy` are the cotangents that may be `None`
    when the code runs, because the value they belong to may be unbound there.  `masks` tells where
    a cotangent is certainly zero, `inserting` has those that put inf or nan there, and
    `taking_part` tells which entries of it no selection has left out, if that is known.  `calls`
    are the calls of routines that must also save, and `made` the calls of the primal by their
    result, `read_by` by their operands; `collected` are the lists that its loops make; `mirrors`
    are the arrays that reverse loops put back as they were;
    `walked` is what was found on walks along those calls, by the question.  `cut` are the values
    that a branch reads which may leave out nan, and `asks_for_nan` tells if there is a question for
    nan; both are None until they are needed.  `decays` tells how the denominators below which a
    value stands grow with it, once that was asked; `deferred` has cotangents that are 0 where those
    of powers are, which is not written yet.  `still` has tests that are False where a tangent is 0
    because nothing moves.  `all_real` says that there is no complex number in the primal: what has
    no known dtype is real there.  `helpers` says what was found out about those that are called;
    `is_routine` that the primal is one of them.
    """

    facts: Facts
    homes: dict[Value, Block]
    undefined: set[Value]
    inline: Inline
    primal: Function
    undo: Callable[..., None]
    undo_routine: Callable[..., None]
    prepared: Callable[[Function], Function]
    simplified: Callable[[Function, Sweep], Function]
    lazy: set[Value] = field(default_factory=set)
    masks: dict[Value, Value] = field(default_factory=dict)
    inserting: set[Value] = field(default_factory=set)
    taking_part: dict[Value, Value] = field(default_factory=dict)
    calls: dict[Value, tuple[Routine, Value, Value]] = field(default_factory=dict)
    made: dict[Value, Call] = field(default_factory=dict)
    collected: set[Value] = field(default_factory=set)
    read_by: dict[Value, list[Call]] = field(default_factory=dict)
    mirrors: Mirrors | None = None
    walked: dict[Callable[..., Any], dict[Value, bool]] = field(default_factory=dict)
    masks_of_uses: dict[Value, Any] = field(default_factory=dict)
    cut: frozenset[Value] | None = None
    asks_for_nan: bool | None = None
    decays: dict[Value, Any] = field(default_factory=dict)
    deferred: dict[Value, Value] = field(default_factory=dict)
    still: dict[Value, Value] = field(default_factory=dict)
    all_real: bool = True
    helpers: Helpers = field(default_factory=lambda: Helpers())
    is_routine: bool = False

    def __post_init__(self) -> None:
        self.all_real = not is_for_complex(self.inline) and not may_be_complex(
            self.primal, self.facts
        )
        if not self.all_real:  # so are the functions that it calls
            self.inline = partial(self.inline, all_real=False)
        for op in walk(self.primal.block):
            if isinstance(op, Call):
                if not self.all_real:
                    _refuse_unknown_steps(self.facts, op)
                self.made[op.result] = op
                for value in op.operands:
                    self.read_by.setdefault(value, []).append(op)
            elif isinstance(op, For | While):
                self.collected.update(collected_outputs(op))

    @once
    def crossings(self) -> Crossings:
        """Return the data flow of the primal across the edges of its blocks."""
        return crossings_of(self.primal)

    @once
    def chosen(self) -> dict[Value, tuple[If, int]]:
        """Return the results of the conditionals of the program, each with its position."""
        ops = (op for op in walk(self.primal.block) if isinstance(op, If))
        choices = [op for op in ops if not isinstance(op, Try) and not is_checkpoint(op)]
        return {output: (op, k) for op in choices for k, output in enumerate(op.outputs)}

    @once
    def handed_on(self) -> frozenset[Value]:
        """Return the values that leave a block, or enter a loop, other than by a call."""
        found: list[Any] = [*self.primal.block.results]
        for op in walk(self.primal.block):
            for block in op.blocks:
                found += block.results
            if isinstance(op, For | While):
                found += op.operands
        return frozenset(atom for atom in found if isinstance(atom, Value))

    @once
    def is_surely_real(self) -> bool:
        """Return True if no number is complex, also none of those that only the call knows."""
        return self.all_real and not has_unknown_numbers(self.primal)

    def is_complex(self, type_: Type) -> bool:
        """Return True if a number of a type is complex, or may be."""
        if isinstance(type_, Numeric):
            return type_.kind == "c" or (type_.may_be_complex and not self.all_real)
        return isinstance(type_, Opaque) and type_.cls is None and not self.all_real

    def is_unsettled(self, type_: Type, given: Type) -> bool:
        """Return True if a value may be real or complex at run time, and so may its cotangent."""
        if self.all_real or (isinstance(type_, Numeric) and type_.kind != "?"):
            return False
        if isinstance(type_, ListOf):
            return any(leaf.kind != "c" for leaf in numbers_in(type_.item)) and self.holds_complex(
                given
            )
        return self.is_complex(type_) and self.is_complex(given)

    def holds_complex(self, type_: Type) -> bool:
        """Return True if there are complex numbers in a structure, or may be."""
        if isinstance(type_, TupleOf):
            return any(map(self.holds_complex, type_.items))
        return (
            self.holds_complex(type_.item) if isinstance(type_, ListOf) else self.is_complex(type_)
        )


def _refuse_unknown_steps(facts: Facts, op: Call) -> None:
    """Refuse what has a derivative for complex numbers only, of what may be real or complex."""
    rule = None if isinstance(op.target, Routine) else rule_of(op.target)
    if rule is None or not rule.steps or facts.of(op.args[0]) is False:
        return
    type_ = argument_type(op.args[0])
    if not isinstance(type_, Numeric) or type_.kind == "?":
        raise UnsupportedTypeError(
            f"cannot tell whether {qualified_name(op.target)} is of a real or a complex number",
            where=op.where,
            why="of real numbers it is constant between jumps, and of complex ones it is not.",
            help="say which:  float(x), complex(x)",
        )


def is_for_complex(inline: Inline) -> bool:
    """Return True if what writes a rule's formula was told that there are complex numbers."""
    return isinstance(inline, partial) and inline.keywords.get("all_real") is False


# ------------------------------------------------------------------------------- types
def is_scalar(type_: Type) -> bool:
    """Return True if a value is certainly a number without axes."""
    return isinstance(type_, Numeric) and type_.is_scalar


def leaf_paths(type_: Type, activity: Activity) -> Iterator[Path]:
    """Yield the paths to the active leaves of a value."""
    if activity is False:
        return
    if isinstance(type_, TupleOf):
        for k, item in enumerate(type_.items):
            for rest in leaf_paths(item, part(activity, k)):
                yield (k, *rest)
    else:
        yield ()


def type_at(type_: Type, path: Path) -> Type:
    for k in path:
        type_ = type_.items[k] if isinstance(type_, TupleOf) else Opaque()
    return type_


def is_nothing(type_: Type) -> bool:
    """Return True if a value of a type is None, the cotangent of a part without derivative."""
    return type_ == NOTHING or (isinstance(type_, Fixed) and type_.value is None)


def cotangent_type(type_: Type, activity: Activity = True) -> Type:
    """Return the type of the cotangent of a value: floats for integers, the structure kept.

    Without any part that has a cotangent it is None, as in the structures that are built.
    """
    if activity is False:
        return NOTHING
    match type_:
        case Numeric(dtype, shape, form):
            if form == "python" and dtype is not None and dtype.kind in "iub":
                return FLOAT
            if dtype is not None and dtype.kind in "iub":
                return Numeric(_FLOAT64, shape, form)
            return type_.of_shape(shape, form)
        case TupleOf(items):
            parts = enumerate(items)
            return type_.of(tuple(cotangent_type(t, part(activity, k)) for k, t in parts))
        case ListOf(item):
            return ListOf(cotangent_type(item, activity))
    return type_


def zero_of(type_: Type) -> Const:
    """Return the zero of a number without axes."""
    return Const(0j if isinstance(type_, Numeric) and type_.kind == "c" else 0.0)


def item_type(bars: Type, item: Type, activity: Activity) -> Type:
    """Return the type of one cotangent in a list of them, or of a row where an array holds them."""
    if isinstance(bars, ListOf) and not isinstance(bars.item, Opaque):
        return bars.item
    if isinstance(bars, Numeric) and bars.shape:
        rest = bars.shape[1:]
        return bars.of_shape(rest, "array" if rest else "numpy")
    if isinstance(item, Numeric) or isinstance(bars, Numeric):
        return Numeric()  # nothing is known of the rows
    found = cotangent_type(item, activity)
    return _of_any_kind(found) if isinstance(bars, ListOf) and bars.item == OPAQUE else found


def _of_any_kind(type_: Type) -> Type:
    """Return the structure of a type, with numbers of which nothing is known."""
    if isinstance(type_, TupleOf):
        return type_.of(tuple(map(_of_any_kind, type_.items)))
    if isinstance(type_, ListOf):
        return ListOf(_of_any_kind(type_.item))
    return Numeric() if isinstance(type_, Numeric) else type_


def bar_hint(value: Value) -> str | None:
    """Return the name of the cotangent of a value."""
    return f"{value.hint}_bar" if value.hint else None


def homes_of(function: Function) -> dict[Value, Block]:
    """Return the block in which each value is defined."""
    homes: dict[Value, Block] = dict.fromkeys(function.params, function.block)
    pending = [function.block]
    while pending:
        block = pending.pop()
        homes.update(dict.fromkeys(block.params, block))
        for op in block.ops:
            homes.update(dict.fromkeys(op.results, block))
            pending.extend(op.blocks)
    return homes
