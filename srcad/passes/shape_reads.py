"""Shape propagation: read a shape from the earliest value that has it.

The reverse half often needs the shape of a value and not the value: ``np.size(r**2)``,
``np.zeros_like(h + x)``.  An elementwise result has the shape of an operand, so the shape is read
there, and the value itself need not be kept, or not even be computed.
"""

from __future__ import annotations

from collections.abc import Iterator

from srcad.ir.core import (
    Arg,
    Block,
    Call,
    For,
    Function,
    Op,
    Value,
    While,
    carried_outputs,
    values_in,
    walk,
)
from srcad.ir.library_operations import is_elementwise
from srcad.ir.operations import operation_of
from srcad.ir.traits import is_store, measures
from srcad.passes.rewriting import params_of_forward_ops
from srcad.startup.records import replace
from srcad.types.numeric import Numeric, same_dtype
from srcad.types.sizes import resolved


def shape_reads(function: Function) -> Function:
    """Read every shape from the earliest value that has it and is at hand.

    What an iteration of a loop would have to keep for its shape alone is read off an argument.

    >>> function = parse('''
    ... f(x: float64[n]):
    ...     h = mul(x, 2.0)
    ...     r = sin(h)
    ...     y = sum(r)
    ...     # reverse half
    ...     r_bar = zeros_like(r)
    ...     return y, r_bar
    ... ''')
    >>> print(text(shape_reads(function)))
    f(x):
        h = mul(x, 2.0)
        r = sin(h)
        y = sum(r)
        r_bar = zeros_like(x)
        return y, r_bar
    """
    readers: list[tuple[Call, Value]] = []
    read: set[Value] = {v for v in function.block.results if isinstance(v, Value)}
    read.update(function.params)
    outside = {v for op in function.block.ops for v in op.results}
    made: dict[Value, Call] = {}
    for op in walk(function.block):
        value = _shape_source(op)
        if value is not None:
            assert isinstance(op, Call)
            readers.append((op, value))
        if op.half != "primal":
            read.update(_otherwise_read(op, value))
            for block in op.blocks:
                read.update(v for v in block.results if isinstance(v, Value))
        if isinstance(op, Call):
            made[op.result] = op
    moved = {}
    for op, value in readers:
        row = operation_of(op.target)
        dtype = row is not None and row.asks_for == "likeness"
        source = _earliest(value, made, read, dtype=dtype)
        if source not in read and source not in outside:
            params = function.params if op.half == "reverse" else params_of_forward_ops(function)
            alike = (p for p in params if _is_alike(p, source, dtype=dtype))
            source = next(alike, source)
        if source is not value:
            moved[op.result] = source
    if not moved:
        return function
    return replace(function, block=_moved(function.block, moved))


def steady_shapes(function: Function) -> Function:
    """Read the shape of an array that a loop writes into before the loop: writes keep it.

    It then is the same in every iteration, and need not be saved.

    >>> function = parse('''
    ... f(a: float64[m], n: int):
    ...     for k in range(0, n, 1) [b = a] -> tag, count, b_n:
    ...         t = size(b)
    ...         b_1 = updated(b, k, t)
    ...         yield 0, b_1
    ...     return b_n
    ... ''')
    >>> print(text(steady_shapes(function)))
    f(a, n):
        for k in range(0, n, 1) [b = a] -> tag, count, b_n:
            t = size(a)
            b_1 = updated(b, k, t)
            yield 0, b_1
        return b_n
    """
    before: dict[Value, Value] = {}
    for op in walk(function.block):
        if isinstance(op, Call) and is_store(op.target, "array"):
            pairs: list[tuple[Value, Arg]] = [(op.result, op.args[0])]
        elif isinstance(op, For | While):
            pairs = [*zip(op.carried, op.inits, strict=True)]
            pairs += zip(carried_outputs(op), op.inits, strict=True)
        else:
            continue
        for now, then in pairs:
            if isinstance(then, Value) and _is_alike(now, then, dtype=True):
                before[now] = then
    moved: dict[Value, Value] = {}
    for op in _inside_loops(function.block):
        if isinstance(op, Call) and measures(op.target) and len(op.operands) == 1:
            first = value = op.operands[0]
            while value in before:
                value = before[value]
            if value is not first:
                moved[op.result] = value
    return replace(function, block=_moved(function.block, moved)) if moved else function


def _inside_loops(block: Block) -> Iterator[Op]:
    """Yield the operations that run in every iteration of some loop."""
    for op in block.ops:
        if isinstance(op, For | While):
            yield from walk(op.body)
        else:
            for inner in op.blocks:
                yield from _inside_loops(inner)


def _position(call: Call) -> int | None:
    """Return the argument of which a call reads only shape and dtype."""
    row = operation_of(call.target)
    return row.asks_of if row is not None else None


def _shape_source(op: Op) -> Value | None:
    """Return the array of which a call of the reverse half reads only shape and dtype."""
    if not isinstance(op, Call) or op.half == "primal":
        return None
    k = _position(op)
    value = op.args[k] if k is not None and len(op.args) == k + 1 else None
    return value if isinstance(value, Value) else None


def _otherwise_read(op: Op, value: Value | None) -> Iterator[Value]:
    """Return the operands of which an operation reads more than the shape."""
    if value is None:
        return iter(op.operands)
    assert isinstance(op, Call)
    return (v for arg in op.args[: _position(op)] for v in values_in(arg))


def _earliest(value: Value, made: dict[Value, Call], read: set[Value], *, dtype: bool) -> Value:
    while value not in read:
        call = made.get(value)
        if call is None or not is_elementwise(call.target):
            break
        alike = [v for v in call.operands if _is_alike(v, value, dtype=dtype)]
        if not alike:
            break
        value = min(alike, key=lambda v: (v in made, v not in read))
    return value


def _is_alike(a: Value, b: Value, *, dtype: bool) -> bool:
    if not isinstance(a.type, Numeric) or not isinstance(b.type, Numeric):
        return False
    if a.type.shape is None or b.type.shape is None or a.type.form != b.type.form:
        return False
    if tuple(map(resolved, a.type.shape)) != tuple(map(resolved, b.type.shape)):
        return False
    return not dtype or (a.type.dtype is not None and same_dtype(a.type.dtype, b.type.dtype))


def _moved(block: Block, moved: dict[Value, Value]) -> Block:
    ops: list[Op] = []
    for op in block.ops:
        if isinstance(op, Call):
            source = moved.get(op.result)
            ops.append(op if source is None else replace(op, args=(*op.args[:-1], source)))
        elif op.blocks:
            ops.append(op.mapped(lambda inner: _moved(inner, moved)))
    return replace(block, ops=tuple(ops))
