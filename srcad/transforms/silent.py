"""Silencing of NumPy's warnings in the reverse half, for callers who turn them into exceptions.

An infinite slope and a vanishing one are values, and the primal half says what there is to say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcad import runtime
from srcad.ir.core import Arg, Block, Call, For, Function, Location, Op, Routine, Value, walk
from srcad.ir.inference.builder import Builder
from srcad.ir.library_operations import is_elementwise
from srcad.ir.memory import is_one_of, module_of
from srcad.ir.traits import answers, is_part, measures, never_raises, never_returns
from srcad.rules.registry import lookup
from srcad.startup.records import replace
from srcad.types.numeric import Numeric
from srcad.types.structures import Opaque

_Change = Callable[[Op, Location | None], Op]

_NOWHERE = Location("", 0)  # of a call of a function that has a rule and no text
_SILENCE = (("all", "ignore"),)
_SOFT = ("ignore", "warn")
_OURS = frozenset({runtime.check_real_scalar, runtime.check_distinct_objects, runtime.fits})


def silenced(function: Function) -> Function:
    """Put the reverse half under ``np.errstate(all="ignore")``; keep all of the primal half.

    What the primal computes for its value alone is computed as well, because it may raise.  An
    integer that is too large for a float is infinite in the reverse half.
    """

    def silent(op: Op, where: Location | None) -> Op:
        if op.half != "primal":
            here = op.where or where or _NOWHERE
            return replace(op, where=replace(here, errstate=_SILENCE))
        return replace(op, effect=True) if isinstance(op, Call) and _may_speak(op) else op

    silent_block = _block(function.block, function.where, silent)
    return replace(function, block=_with_floats(silent_block))


def _with_floats(block: Block) -> Block:
    """Return a block with floats for Python integers in the arithmetic of the reverse half."""
    ops: list[Op] = []
    for op in block.ops:
        if isinstance(op, Call) and op.half != "primal" and _makes_float(op):
            builder = Builder(ops, op.where, op.half)
            args = tuple(
                builder.call(runtime.as_float, a) if _is_python_integer(a) else a for a in op.args
            )
            op = replace(op, args=args)
        ops.append(op.mapped(_with_floats))
    return replace(block, ops=tuple(ops))


def _makes_float(op: Call) -> bool:
    type_ = op.result.type
    return is_elementwise(op.target) and isinstance(type_, Numeric) and type_.kind == "f"


def _is_python_integer(arg: Arg) -> bool:
    type_ = arg.type if isinstance(arg, Value) else None
    return isinstance(type_, Numeric) and type_.is_python and type_.kind == "i"


def with_silent_tangents(block: Block) -> Block:
    """Put all but the primal operations of a block under a silent ``errstate``."""

    def silent(op: Op, where: Location | None) -> Op:
        if op.half == "primal":
            return op
        return replace(op, where=replace(op.where or where or _NOWHERE, errstate=_SILENCE))

    return _block(block, None, silent)


def without_raising_ops(function: Function) -> Function:
    """Return an adjoint with lines that do not raise even if the user's ``np.errstate`` does."""

    def softer(op: Op, where: Location | None) -> Op:
        if op.where is None or all(state in _SOFT for _, state in op.where.errstate):
            return op
        states = tuple((k, s if s in _SOFT else "ignore") for k, s in op.where.errstate)
        return replace(op, where=replace(op.where, errstate=states))

    return replace(function, block=_block(function.block, function.where, softer))


def _block(block: Block, where: Location | None, changed: _Change) -> Block:
    return replace(block, ops=tuple(_op(op, where, changed) for op in block.ops))


def _op(op: Op, where: Location | None, changed: _Change) -> Op:
    op = changed(op, where)
    here = op.where or where
    return op.mapped(lambda block: _block(block, here, changed))


def _may_speak(op: Call) -> bool:
    """Return True if NumPy may warn of something in a call, or raise it."""
    if isinstance(op.target, Routine) or _is_structural(op.target):
        return False
    module = getattr(op.target, "__module__", None) or ""
    return not module.startswith("srcad") and lookup(op.target) is not None


def _is_structural(target: Any) -> bool:
    """Return True for reads of parts, ``is`` and ``not``, and builtins that measure."""
    if is_part(target) or (answers(target) and never_raises(target)):
        return True
    return measures(target) and module_of(target) == "builtins"


def is_repeatable(function: Function) -> bool:
    """Return True if a function may run twice unnoticed: it calls nothing with an effect."""
    seen: set[Routine] = set()
    pending = [function]
    while pending:
        for op in walk(pending.pop().block):
            if isinstance(op, For) and any(map(_is_used_up, op.operands)):
                return False
            if not isinstance(op, Call):
                continue
            if isinstance(op.target, Routine):
                if op.target not in seen and op.target.function is not None:
                    pending.append(op.target.function)
                seen.add(op.target)
            elif op.effect and not _is_harmless(op.target):
                return False
    return True


def _is_harmless(target: Any) -> bool:
    """Return True if a call that must run once may run twice: it raises, or makes an error."""
    if is_one_of(target, _OURS) or never_returns(target):
        return True
    is_error = isinstance(target, type) and issubclass(target, BaseException)
    return is_error and target.__module__ == "builtins"


def _is_used_up(value: Value) -> bool:
    """Return True if going through a value may leave nothing of it: a file, an iterator."""
    return isinstance(value.type, Opaque)
