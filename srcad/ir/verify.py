"""The invariants of the IR, checked: on in all tests, and by ``SRCAD_VERIFY=1``."""

from __future__ import annotations

from srcad.errors import InvalidIRError
from srcad.ir.core import Block, Call, Const, For, Function, If, Op, Try, Value, While
from srcad.startup.records import computed


def verify(function: Function) -> Function:
    """Check every invariant and return the function unchanged.

    The operands of an op are computed once and kept, so they are compared with the op as it is.

    Raises
    ------
    InvalidIRError
        A value is defined twice or used where it is not in scope, a block yields the wrong number
        of atoms, or an op was changed after its operands had been computed.  This is a defect of
        srcad, never of the user's program.
    """
    defined: set[Value] = set()
    if function.block.params:
        raise InvalidIRError(f"the block of {function.name!r} has parameters of its own")
    _define(function.params, defined, function.name)
    _block(function.block, set(function.params), defined, function.name)
    return function


def _define(values: tuple[Value, ...], defined: set[Value], name: str) -> None:
    for value in values:
        if value in defined:
            raise InvalidIRError(f"{value!r} is defined twice in {name!r}")
        defined.add(value)


def _out_of_scope(value: Value, name: str, op: object) -> InvalidIRError:
    return InvalidIRError(f"{value!r} is used out of scope in {name!r} by {op!r}")


def _block(block: Block, scope: set[Value], defined: set[Value], name: str) -> None:
    scope = scope | set(block.params)
    for op in block.ops:
        if computed(op, "operands") != op.operands:
            raise InvalidIRError(f"an op of {name!r} was changed in place: {op!r}")
        for value in op.operands:
            if value not in scope:
                raise _out_of_scope(value, name, op)
        _arity(op, name)
        for inner in op.blocks:
            _define(inner.params, defined, name)
            _block(inner, scope, defined, name)
        _define(op.results, defined, name)
        scope.update(op.results)
    for atom in block.results:
        if isinstance(atom, Value) and atom not in scope:
            raise _out_of_scope(atom, name, "yield")


def _arity(op: Op, name: str) -> None:
    match op:
        case Call():
            fits = True
        case Try():
            fits = len(op.then.results) == len(op.orelse.results) == len(op.outputs) >= 1
            fits = fits and len(op.orelse.params) == 1 and op.test == Const(None)
        case If():
            fits = len(op.then.results) == len(op.orelse.results) == len(op.outputs)
        case For():
            fits = _loop_fits(op, len(op.seqs)) and (bool(op.seqs) or op.count is not None)
        case While():
            same_width = len(op.test.params) == len(op.inits) and len(op.test.results) == 1
            fits = _loop_fits(op, 0) and same_width
        case _:
            fits = False
    if not fits:
        raise InvalidIRError(f"{type(op).__name__} of {name!r} has the wrong number of values")


def _loop_fits(op: For | While, items: int) -> bool:
    width = len(op.inits)
    return (
        len(op.body.params) == items + width
        and len(op.body.results) >= 1 + width
        and len(op.outputs) == 1 + len(op.body.results)
    )
