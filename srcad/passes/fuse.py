"""If-fusion: join conditionals on the same test.

The adjoint of ``if`` is an ``if`` on the recorded condition.  Where nothing between the two stands
in the way, the reverse branch follows its primal branch directly: values need not be carried from
one to the other, and a reader sees each case once.
"""

from __future__ import annotations

from collections import Counter

from srcad.ir.core import Atom, Block, Call, Function, If, Op, Value, free_values
from srcad.ir.substitute import substituted_block
from srcad.passes.purity import is_noticeable
from srcad.startup.records import replace


def fuse(function: Function) -> Function:
    """Join conditionals on the same atom, innermost blocks first.

    An op between them stays behind if the second does not need it, and moves in front if it does
    not need the first and has no effect; otherwise the two stay apart.  So the order of effects,
    and every value, stays the same.

    >>> function = parse('''
    ... f(x: float, test: bool):
    ...     if test -> y, t:
    ...         t_1 = exp(x)
    ...         y_1 = sin(t_1)
    ...         yield y_1, t_1
    ...     else:
    ...         yield x, 0.0
    ...     # reverse half
    ...     if test -> t_bar:
    ...         c = cos(t)
    ...         yield c
    ...     else:
    ...         yield 0.0
    ...     return y, t_bar
    ... ''')
    >>> print(text(fuse(function)))
    f(x, test):
        if test -> y, t, t_bar:
            t_1 = exp(x)
            y_1 = sin(t_1)
            c = cos(t_1)
            yield y_1, t_1, c
        else:
            yield x, 0.0, 0.0
        return y, t_bar
    """
    return replace(function, block=_fused(function.block))


def _fused(block: Block) -> Block:
    ops = [op.mapped(_fused) for op in block.ops]
    tests = Counter(op.test for op in ops if isinstance(op, If))
    k = 0
    while k < len(ops):
        op = ops[k]
        if isinstance(op, If) and tests[op.test] > 1:
            partner = _partner(ops, k)
            if partner is not None:
                ops = _joined(ops, k, partner)
                continue
        k += 1
    return replace(block, ops=tuple(ops))


def _partner(ops: list[Op], k: int) -> int | None:
    """Return the next conditional on the same test, if what lies between allows to join them."""
    first = ops[k]
    assert isinstance(first, If)
    if not isinstance(first.test, Value):
        return None
    later = (j for j in range(k + 1, len(ops)) if _is_on(ops[j], first.test))
    j = next(later, None)
    if j is None:
        return None
    needed = _needed(ops, k, j)
    from_first = set(first.results)
    for op in (ops[i] for i in sorted(needed)):
        if _has_effect(op) or not from_first.isdisjoint(_reads(op)):
            return None
    between = [ops[i] for i in range(k + 1, j)]
    if any(_has_effect(op) for op in between) and _has_effect(ops[j]):
        return None
    return j


def _is_on(op: Op, test: Atom) -> bool:
    return isinstance(op, If) and op.test is test


def _needed(ops: list[Op], k: int, j: int) -> set[int]:
    """Return the operations between `k` and `j` that the second conditional needs."""
    makers = {result: i for i in range(k + 1, j) for result in ops[i].results}
    needed: set[int] = set()
    todo = list(_reads(ops[j]))
    while todo:
        i = makers.get(todo.pop())
        if i is not None and i not in needed:
            needed.add(i)
            todo += _reads(ops[i])
    return needed


def _reads(op: Op) -> list[Value]:
    return [*op.operands, *(v for block in op.blocks for v in free_values(block))]


def _has_effect(op: Op) -> bool:
    if isinstance(op, Call):
        return is_noticeable(op)
    return any(_has_effect(inner) for block in op.blocks for inner in block.ops)


def _joined(ops: list[Op], k: int, j: int) -> list[Op]:
    first, second = ops[k], ops[j]
    assert isinstance(first, If)
    assert isinstance(second, If)
    needed = _needed(ops, k, j)
    before = [ops[i] for i in range(k + 1, j) if i in needed]
    behind = [ops[i] for i in range(k + 1, j) if i not in needed]
    one = replace(
        first,
        then=_appended(first.then, second.then, first.outputs),
        orelse=_appended(first.orelse, second.orelse, first.outputs),
        outputs=(*first.outputs, *second.outputs),
    )
    return [*ops[:k], *before, one, *behind, *ops[j + 1 :]]


def _appended(first: Block, second: Block, outputs: tuple[Value, ...]) -> Block:
    """One branch after the other; what the first yields is known by its own name in the second."""
    names = dict(zip(outputs, first.results, strict=True))
    moved = substituted_block(second, names)
    return _fused(Block((), (*first.ops, *moved.ops), (*first.results, *moved.results)))
