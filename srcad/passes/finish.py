"""Pass pipeline before code generation: clean up, copy results that are aliased, reuse storage."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from srcad import runtime
from srcad.analysis.freshness import fresh_results, is_writable
from srcad.analysis.ownership import in_place
from srcad.ir.argument_types import argument_type
from srcad.ir.core import (
    CHECKPOINT,
    Arg,
    Atom,
    Block,
    Call,
    Const,
    For,
    Function,
    Half,
    If,
    Op,
    Routine,
    Value,
    walk,
)
from srcad.ir.inference.builder import Builder
from srcad.ir.substitute import substituted_block
from srcad.ir.traits import is_marker, law_of
from srcad.ir.verify import verify
from srcad.passes.dce import dce
from srcad.passes.dead_zero_stores import without_dead_zero_stores
from srcad.passes.fuse import fuse
from srcad.passes.record_lists import with_record_lists, with_record_lists_of_pair
from srcad.passes.sink import sink
from srcad.passes.view_stores import with_stores_through_views
from srcad.startup.records import changed, replace
from srcad.types.numeric import Numeric

# Constant conversion: integers of the reverse half that meet floats are written as floats.
#
# Rules say ``2 * x`` and ``1 - y * y``, and mean it for numbers of every kind. Where the other
# operand is known to be a float, Python and NumPy would convert the integer at every call; the
# result has the same bits.


_CONVERTING = ("sum", "difference", "product", "quotient")
_EXACT = 2**53  # integers up to here are floats as they are


def with_float_literals(function: Function) -> Function:
    """Write constants of the reverse half as the floats that they become.

    >>> function = parse('''
    ... f(y: float, n: int):
    ...     # reverse half
    ...     t = mul(y, y)
    ...     x_bar = sub(1, t)
    ...     m = sub(n, 1)
    ...     return x_bar, m
    ... ''')
    >>> print(text(with_float_literals(function)))
    f(y, n):
        t = mul(y, y)
        x_bar = sub(1.0, t)
        m = sub(n, 1)
        return x_bar, m
    """
    return replace(function, block=_block(function.block))


def _block(block: Block) -> Block:
    ops = (_call(op) if isinstance(op, Call) else op.mapped(_block) for op in block.ops)
    return changed(block, ops=tuple(ops))


def _call(op: Call) -> Call:
    if op.half != "reverse" or op.kwargs or law_of(op.target) not in _CONVERTING:
        return op
    first, second = op.args
    if _is_whole(first) and _is_float(second):
        return replace(op, args=(_as_float(first), second))
    if _is_whole(second) and _is_float(first):
        return replace(op, args=(first, _as_float(second)))
    return op


def _is_whole(arg: Arg) -> bool:
    return isinstance(arg, Const) and type(arg.value) is int and abs(arg.value) < _EXACT


def _is_float(arg: Arg) -> bool:
    type_ = getattr(arg, "type", None)
    return isinstance(type_, Numeric) and not isinstance(arg, Const) and type_.kind == "f"


def _as_float(arg: Arg) -> Const:
    assert isinstance(arg, Const)
    return Const(float(arg.value))


# Erase markers after all derivatives have been taken.


def drop_markers(function: Function) -> Function:
    """Replace ``stop(x)`` by ``x`` and a checkpoint by its ops; drop the order of derived ops.

    This is safe only as the last transform: until then the ops say where no derivative flows, or
    what it passes through, what is not saved, and which half of which order they belong to.

    >>> function = parse('''
    ... f(x: float):
    ...     s = stop(x)
    ...     if checkpoint -> y:
    ...         t = sin(s)
    ...         yield t
    ...     else:
    ...         yield undef
    ...     z = mul(y, x)
    ...     return z
    ... ''')
    >>> print(text(drop_markers(function)))
    f(x):
        t = sin(x)
        z = mul(t, x)
        return z
    """
    return replace(function, block=_erased(function.block))


def _erased(block: Block) -> Block:
    names: dict[Value, Atom] = {}
    kept: list[Op] = []
    for op in block.ops:
        if isinstance(op, Call) and is_marker(op.target):
            inner = op.args[0]
            assert isinstance(inner, Value | Const)
            names[op.result] = names.get(inner, inner) if isinstance(inner, Value) else inner
        elif isinstance(op, If) and op.test == CHECKPOINT:
            inside = _erased(op.then)
            kept += inside.ops
            for output, atom in zip(op.outputs, inside.results, strict=True):
                names[output] = names.get(atom, atom) if isinstance(atom, Value) else atom
        else:
            kept.append(_marked(op))
    left = replace(block, ops=tuple(kept))
    return substituted_block(left, names) if names else left


_FINAL: dict[Half, Half] = {"derived": "reverse", "repeated": "primal", "again": "primal"}


def _marked(op: Op) -> Op:
    half = _FINAL.get(op.half, op.half)
    op = op.mapped(_erased)
    if isinstance(op, For) and op.segments:
        op = replace(op, segments=())
    return op if half == op.half else replace(op, half=half)


# Zeros in place of a cotangent that is not there: a conditional where the type tells which zeros.
def with_plain_zeros(function: Function) -> Function:
    """Write ``or_zeros(g, x)`` as a conditional, if `x` is an array of floats or the number 0.0.

    >>> function = parse('''
    ... f(x: float64[n], g: float64[n]):
    ...     # reverse half
    ...     x_bar = or_zeros(g, x)
    ...     return x_bar
    ... ''')
    >>> print(text(with_plain_zeros(function)))
    f(x, g):
        t1 = is_(g, None)
        if t1 -> x_bar:
            t2 = zeros_like(x)
            yield t2
        else:
            yield g
        return x_bar
    """
    return changed(function, block=_with_plain_zeros(function.block))


def _with_plain_zeros(block: Block) -> Block:
    ops: list[Op] = []
    for op in block.ops:
        if isinstance(op, Call) and op.target is runtime.or_zeros:
            ops += _plain_zeros(op)
        else:
            ops.append(op.mapped(_with_plain_zeros))
    return changed(block, ops=tuple(ops))


def _plain_zeros(op: Call) -> list[Op]:
    g, x = op.args
    type_ = argument_type(x)
    builder = Builder(where=op.where, half=op.half)
    with builder.block() as inside:
        if isinstance(x, Const) and type(x.value) is float:
            zeros: Atom = x
        elif isinstance(type_, Numeric) and type_.form == "array" and type_.kind in "fc":
            zeros = inside.call(np.zeros_like, x)
        else:
            return [op]
    assert isinstance(g, Value | Const)
    is_absent = builder.is_(g, Const(None))
    then, orelse = inside.finish(zeros), Block((), (), (g,))
    test = If(test=is_absent, then=then, orelse=orelse, outputs=op.results, where=op.where,
              half=op.half)  # fmt: skip
    return [*builder.ops, test]


# The passes over a finished function and over each routine that it calls, in order.
ORDER: tuple[Callable[[Function], Function], ...] = (
    drop_markers,
    with_float_literals,
    fuse,
    dce,
    sink,
    without_dead_zero_stores,
    with_stores_through_views,
)


def checked(function: Function) -> Function:
    """Verify the IR where that is asked for: in all tests, and with SRCAD_VERIFY=1."""
    return verify(function) if os.environ.get("SRCAD_VERIFY", "0") not in ("", "0") else function


def finished(function: Function, own: Sequence[int]) -> Function:
    """Make a function ready to be written, with the routines that it calls.

    Parameters
    ----------
    function : Function
        After all transforms.
    own : sequence of int
        The positions of the results that must share memory with nothing else.

    Examples
    --------
    A call with ``!`` may reuse the storage of its first argument.

    >>> function = parse('''
    ... f(x: float64[3]):
    ...     y = transpose(x)
    ...     # reverse half
    ...     z = zeros_like(x)
    ...     x_bar = add_at(z, 0, 1.0)
    ...     t = mul(2, x_bar)
    ...     return y, x_bar
    ... ''')
    >>> print(text(finished(function, own=[0, 1])))
    f(x):
        y = transpose(x)
        z = zeros_like(x)
        x_bar = add_at!(z, 0, 1.0)
        y_1 = copy(y)
        return y_1, x_bar
    """
    cleaned = checked(_cleaned(function))
    routines = [
        routine
        for routine in routines_of(cleaned)
        if _DONE not in routine.derived and routine.function is not None
    ]
    for routine in routines:  # all of them: what one returns decides where its callers write
        assert routine.function is not None
        routine.derived[_DONE] = True
        routine.function = checked(_cleaned(routine.function))
    for routine in routines:
        assert routine.function is not None
        routine.function = checked(_written_plainly(in_place(routine.function)))
    for primal, adjoint in _pairs(routines):
        assert primal.function is not None
        assert adjoint.function is not None
        pair = with_record_lists_of_pair(primal.function, adjoint.function)
        primal.function, adjoint.function = map(checked, pair)
    made = in_place(checked(fresh_results(cleaned, own, writable=False)))
    made = made if is_writable(made) else fresh_results(made, own)
    return checked(_written_plainly(made))


def _pairs(routines: Sequence[Routine]) -> Iterator[tuple[Routine, Routine]]:
    """Yield pairs of primal and adjoint whose saved values no other routine reads."""
    pairs = [(one.primal, one) for one in routines if one.primal in routines]
    both = {routine for pair in pairs for routine in pair}
    others = {routine.of for routine in routines if routine not in both}
    for primal, adjoint in pairs:
        assert primal is not None
        if adjoint.of not in others:
            yield primal, adjoint


def _written_plainly(function: Function) -> Function:
    return with_record_lists(with_plain_zeros(function))


def _cleaned(function: Function) -> Function:
    for change in ORDER:
        function = change(function)
    return function


_DONE = "finished"


def routines_of(function: Function) -> Iterator[Routine]:
    """Yield the routines that a function reaches, each once."""
    found: set[Routine] = set()
    pending = [function]
    while pending:
        for op in walk(pending.pop().block):
            if not isinstance(op, Call) or not isinstance(op.target, Routine):
                continue
            if op.target not in found:
                found.add(op.target)
                if op.target.function is not None:
                    pending.append(op.target.function)
                yield op.target
