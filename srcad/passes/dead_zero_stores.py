"""Dead-store elimination for zeros: remove those that the adjoint of a store writes.

``y[i] = v`` in a loop overwrites what was there, so its adjoint reads ``y_bar[i]`` and then sets it
to zero.  Where every iteration has a place of its own and the array is not read again, the zeros
are dead: the cotangent need not change at all, and what is read of it need not be copied.
"""

from __future__ import annotations

from collections import Counter

from srcad.ir.core import (
    Arg,
    Block,
    Call,
    Const,
    Display,
    For,
    Function,
    Op,
    Value,
    carried_outputs,
    values_in,
    walk,
)
from srcad.ir.substitute import substituted_block
from srcad.ir.traits import (
    is_indexed,
    sets_places,
)
from srcad.startup.records import replace
from srcad.types.numeric import Numeric


def without_dead_zero_stores(function: Function) -> Function:
    """Leave an array of a reverse loop unchanged if it is only read where it is set to zero.

    This is safe because each iteration reads and zeroes a place that no other iteration looks at.

    >>> function = parse('''
    ... f(y_bar: float64[n], n: int):
    ...     # reverse half
    ...     for i in range(0, n, 1) [s, y_bar_1 = 0.0, y_bar] -> tag, count, s_n, y_bar_n:
    ...         v_bar = getitem(y_bar_1, i)
    ...         s_1 = add(s, v_bar)
    ...         y_bar_2 = updated(y_bar_1, i, 0.0)
    ...         yield 0, s_1, y_bar_2
    ...     return s_n
    ... ''')
    >>> print(text(without_dead_zero_stores(function)))
    f(y_bar, n):
        for i in range(0, n, 1) [s = 0.0] -> tag, count, s_n:
            v_bar = getitem(y_bar, i)
            s_1 = add(s, v_bar)
            yield 0, s_1
        return s_n
    """
    reads = Counter(_read(function.block))
    return replace(function, block=_cleared(function.block, reads))


def _read(block: Block) -> list[Value]:
    found = [v for atom in block.results for v in values_in(atom)]
    for op in walk(block):
        found += op.operands
        found += [v for inner in op.blocks for atom in inner.results for v in values_in(atom)]
    return found


def _cleared(block: Block, reads: Counter[Value]) -> Block:
    return replace(block, ops=tuple(_inside(op, reads) for op in block.ops))


def _inside(op: Op, reads: Counter[Value]) -> Op:
    op = op.mapped(lambda block: _cleared(block, reads))
    if isinstance(op, For) and op.half == "reverse":
        for k in reversed(range(len(op.inits))):
            zeros = _dead_zeros(op, k, reads)
            op = op if zeros is None else _unchanged(op, k, zeros)
    return op


def _dead_zeros(op: For, k: int, reads: Counter[Value]) -> Call | None:
    """Return the store that zeroes an entry an iteration has read, if it is unused."""
    param, result = op.carried[k], op.body.results[1 + k]
    if reads[carried_outputs(op)[k]] or not isinstance(result, Value) or reads[result] != 1:
        return None
    store = next((one for one in op.body.ops if result in one.results), None)
    if not isinstance(store, Call) or not sets_places(store.target) or store.args[0] is not param:
        return None
    place, value = store.args[1:]
    if value != Const(0.0) or not _differs_between_iterations(place, op):
        return None
    same = [
        one for one in walk(op.body) if isinstance(one, Call) and one.args[:2] == (param, place)
    ]
    known = sum(one is store or is_indexed(one.target) for one in same)
    return store if known == reads[param] else None


def _differs_between_iterations(place: Arg, op: For) -> bool:
    """Return True if an index contains an item of a range, so that no place repeats."""
    parts = place.items if isinstance(place, Display) and place.kind == "tuple" else (place,)
    counts = {item for item, seq in zip(op.items, op.seqs, strict=True) if _counts(seq)}
    plain = all(_is_plain(part) for part in parts)
    return plain and any(isinstance(part, Value) and part in counts for part in parts)


def _counts(seq: Arg) -> bool:
    """Return True if a sequence is a range of numbers of which none is negative."""
    if not isinstance(seq, Display) or seq.kind != "range":
        return False
    start, _, step = (part.value if isinstance(part, Const) else None for part in seq.items)
    return type(start) is int and start >= 0 and type(step) is int and step >= 1


def _is_plain(part: Arg) -> bool:
    """Return True if a part of an index is a number, a slice or an ellipsis."""
    if isinstance(part, Display):
        return part.kind == "slice"
    if isinstance(part, Const):
        return part.value is None or part.value is Ellipsis or type(part.value) is int
    return isinstance(part.type, Numeric) and part.type.is_python and part.type.kind == "i"


def _unchanged(op: For, k: int, store: Call) -> For:
    """Return the loop without a carried value: it is what it was before."""
    items = len(op.items)
    param, init = op.carried[k], op.inits[k]
    ops = tuple(one for one in op.body.ops if one is not store)
    params = (*op.body.params[: items + k], *op.body.params[items + k + 1 :])
    results = (*op.body.results[: 1 + k], *op.body.results[2 + k :])
    body = substituted_block(Block(params, ops, results), {param: init})
    outputs = (*op.outputs[: 2 + k], *op.outputs[3 + k :])
    return replace(op, inits=(*op.inits[:k], *op.inits[k + 1 :]), body=body, outputs=outputs)
