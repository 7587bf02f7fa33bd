"""Checkpoints inside a function that is read: calls that run twice, loops that are cut."""

from __future__ import annotations

from typing import Any

from srcad import errors
from srcad.frontend.domain.values import AbstractValue, BoundValue, Constant, IteratorValue
from srcad.frontend.library.builtins import range_
from srcad.frontend.machine.constants import known, raises
from srcad.frontend.machine.dispatch import apply
from srcad.frontend.machine.machine import Machine
from srcad.ir.again import at_least_one
from srcad.ir.core import CHECKPOINT, UNDEF, Block, If, Op, Value
from srcad.modes.nested import Given
from srcad.transforms import checkpoints
from srcad.types.numeric import INT


def called(
    s: Machine,
    function: AbstractValue,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue:
    """Call a function so that a reverse sweep saves what it is given, and calls it again."""
    builder, start = s.builder, len(s.builder.ops)
    result = apply(s, function, args, kwargs)
    if s.builder is not builder:
        s.refuse(errors.UnsupportedSyntaxError, "cannot tell where this checkpoint ends",
                 help=("call the function itself here",))  # fmt: skip
    ops = builder.ops[start:]
    if ops:
        builder.ops[start:] = [_around(ops)]
    return result


def _around(ops: list[Op]) -> If:
    """Return a checkpoint around operations; their results keep their names outside."""
    outputs = tuple(v for op in ops for v in op.results)
    names = {value: Value(value.type, value.hint) for value in outputs}
    then = checkpoints.renamed(Block((), tuple(ops), outputs), names)
    orelse = Block((), (), (UNDEF,) * len(outputs))
    return If(test=CHECKPOINT, then=then, orelse=orelse, outputs=outputs, where=ops[0].where,
              half=ops[0].half)  # fmt: skip


def again(function: Any) -> Any:
    """Stand for ``checkpoint(function)`` inside a function that is read."""
    return function


def checkpointed(s: Machine, given: Given) -> AbstractValue:
    """``checkpoint(function)``: a function that is still to be called."""
    return BoundValue(Constant(again), (given.function(s),))


def called_again(s: Machine, given: Given) -> AbstractValue:
    """``checkpoint(function)(*args)``."""
    return called(s, given.args[0], given.args[1:], given.kwargs)


def ranged(s: Machine, given: Given) -> AbstractValue:
    """``checkpointed_range(...)``: a range, a loop over which is cut."""
    every = _checked(s, given.kwargs.get("every", Constant(None)), "every")
    levels = _checked(s, given.kwargs.get("levels", Constant(1)), "levels")
    known(s, levels, "'levels' of a checkpointed range")
    found = range_(s, given.args, {})
    assert isinstance(found, IteratorValue)
    return IteratorValue("range", found.parts, (every, levels))


def _checked(s: Machine, box: AbstractValue, what: str) -> AbstractValue:
    """Return a number of iterations or levels, at least 1."""
    if not isinstance(box, Constant) or not isinstance(box.value, int | None):
        return s.emit(at_least_one, box, Constant(what), type=INT)
    if box.value is not None and box.value < 1:
        raises(s, ValueError, f"{what!r} of a checkpointed range is at least 1, not {box.value}")
    return box
