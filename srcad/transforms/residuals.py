"""Residuals: values that the reverse half reads from the primal, saved or recomputed.

The reverse sweep was written as if every primal value were in scope.  Here each reverse loop or
conditional is closed: what it names from inside the op that it reverses is either recomputed (an
index, an item, an element of something unchanged, cheap arithmetic on such) or saved: a conditional
yields it, a loop collects it in a list.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Sequence

import numpy as np

from srcad import runtime
from srcad.analysis.trips import equally_long, may_exit
from srcad.ir.core import (
    UNDEF,
    Arg,
    Atom,
    Block,
    Call,
    Const,
    Display,
    For,
    Function,
    If,
    Loop,
    Op,
    Value,
    While,
    carried_outputs,
    free_values,
    walk,
)
from srcad.ir.inference.builder import Builder, outer_type
from srcad.ir.substitute import substituted_block
from srcad.ir.traits import (
    extends,
    is_checkpoint,
    is_shape,
    is_zeros_like,
    law_of_operator,
)
from srcad.passes.dce import cheapest_sequence
from srcad.startup.records import replace
from srcad.transforms import checkpoints
from srcad.transforms.recompute import BlockContext, Plan, is_python_int
from srcad.types.numeric import INT, Numeric
from srcad.types.sizes import fresh_extent
from srcad.types.structures import ListOf, TupleOf

_NONE = Const(None)


def close(function: Function) -> Function:
    """Bring every value that the reverse half reads into its scope.

    The reverse loop reads `t` of the primal loop, which collects it in a list.

    >>> function = parse('''
    ... f(x: float, n: int):
    ...     for k in range(0, n, 1) [y = x] -> tag, count, y_n:
    ...         t = cos(y)
    ...         y_1 = mul(y, t)
    ...         yield 0, y_1
    ...     # reverse half
    ...     for backward j in range(0, n, 1) [y_bar = 1.0] -> tag_1, count_1, x_bar:
    ...         y_bar_1 = mul(y_bar, t)
    ...         yield 0, y_bar_1
    ...     return y_n, x_bar
    ... ''')
    >>> print(text(close(function)))
    f(x, n):
        for k in range(0, n, 1) [y = x] -> tag, count, y_n, t_saved:
            t = cos(y)
            y_1 = mul(y, t)
            yield 0, y_1, t
        for backward t_1, j in t_saved, range(0, n, 1) [y_bar = 1.0] -> tag_1, count_1, x_bar:
            y_bar_1 = mul(y_bar, t_1)
            yield 0, y_bar_1
        return y_n, x_bar
    """
    primal = [op for op in function.block.ops if op.half != "reverse"]
    reverse = [op for op in function.block.ops if op.half == "reverse"]
    before, after = _closed(primal, reverse, BlockContext())
    block = Block((), (*before, *after), function.block.results)
    return replace(function, block=block)


def _closed(
    primal: Sequence[Op], reverse: Sequence[Op], around: BlockContext
) -> tuple[list[Op], list[Op]]:
    """Close the reverse ops of one block against the primal ops of the block that it mirrors."""
    before = list(primal)
    if not any(op.blocks for op in reverse):
        return before, list(reverse)
    owners: dict[Value, int] = {}
    for k, op in enumerate(before):
        if op.blocks:
            owners.update((value, k) for value in _inside(op))
    after: list[Op] = []
    early: dict[int, list[Op]] = {}
    for op in reverse:
        owner = _owner(op, owners)
        if owner is None:
            after.append(op)
            continue
        mirrored = before[owner]
        if is_checkpoint(mirrored):
            early[owner], undone = _close_checkpoint(mirrored, op)
            after.append(undone)
        elif isinstance(mirrored, If):
            assert isinstance(op, If)
            before[owner], conditional = _close_conditional(mirrored, op, around)
            after.append(conditional)
        else:
            assert isinstance(mirrored, For | While)
            assert isinstance(op, For)
            before[owner], extra, loop = _close_loop(mirrored, op, around)
            after.extend((*extra, loop))
    if any(early.values()):
        before = [one for k, op in enumerate(before) for one in (*early.get(k, ()), op)]
    return before, after


def _inside(op: Op) -> list[Value]:
    found: list[Value] = []
    pending = list(op.blocks)
    while pending:
        block = pending.pop()
        found.extend(block.params)
        for inner in block.ops:
            found.extend(inner.results)
            pending.extend(inner.blocks)
    return found


def _owner(op: Op, owners: dict[Value, int]) -> int | None:
    """Return the primal operation that a reverse operation reads from the inside of."""
    if not owners:
        return None
    for block in op.blocks:
        for value in free_values(block):
            if value in owners:
                return owners[value]
    return None


def _definitions(block: Block) -> dict[Value, Call | None]:
    local: dict[Value, Call | None] = dict.fromkeys(block.params)
    for op in block.ops:
        for value in op.results:
            local[value] = op if isinstance(op, Call) else None
    return local


def _close_checkpoint(primal: Op, reverse: Op) -> tuple[list[Op], Op]:
    """Save values inside a checkpoint within its reverse, where it runs once more."""
    assert isinstance(primal, If)
    assert isinstance(reverse, If)
    before, after = _closed(primal.then.ops, reverse.then.ops, BlockContext())
    return checkpoints.with_ops_again(primal, before, after, reverse)


# ------------------------------------------------------------------------------- conditionals
def _close_conditional(primal: If, reverse: If, around: BlockContext) -> tuple[If, If]:
    filler = UNDEF if around.depth == 0 else _NONE
    outputs = list(primal.outputs)
    yields = [list(primal.then.results), list(primal.orelse.results)]
    blocks: list[Block] = []
    branches: list[Block] = []
    pairs = zip(primal.blocks, reverse.blocks, strict=True)
    for k, (block, branch) in enumerate(pairs):
        before, after = _closed(block.ops, branch.ops, around.inside(_definitions(block)))
        branch = Block((), tuple(after), branch.results)
        local = _definitions(replace(block, ops=tuple(before)))
        plan = Plan(local, frozenset(), around)
        plan.decide([v for v in free_values(branch) if v in local], everything=around.depth == 0)
        mapping: dict[Value, Atom] = {}
        for value in plan.saved:
            mapping[value] = _exported(value, k, outputs, yields, filler)
        copies = plan.copies(mapping)
        branch = substituted_block(branch, mapping)
        branches.append(Block((), (*copies, *branch.ops), branch.results))
        blocks.append(Block(block.params, tuple(before), ()))
    then, orelse = (
        replace(block, results=tuple(results))
        for block, results in zip(blocks, yields, strict=True)
    )
    closed = replace(primal, then=then, orelse=orelse, outputs=tuple(outputs))
    return closed, replace(reverse, then=branches[0], orelse=branches[1])


def _exported(
    value: Value, branch: int, outputs: list[Value], yields: list[list[Atom]], filler: Const
) -> Value:
    """Make a branch yield a value; return its name outside."""
    for output, other, own in zip(outputs, yields[1 - branch], yields[branch], strict=True):
        if own is value and other in (UNDEF, _NONE):
            return output
    output = Value(value.type, value.hint)
    outputs.append(output)
    yields[branch].append(value)
    yields[1 - branch].append(filler)
    return output


# ------------------------------------------------------------------------------- loops
def _close_loop(primal: Loop, reverse: For, around: BlockContext) -> tuple[Loop, list[Op], For]:
    local = _definitions(primal.body)
    free = _known_items(primal) | _counters(primal, local).keys()
    trip = BlockContext(local, free, around.depth + 1)
    before, after = _closed(primal.body.ops, reverse.body.ops, trip)
    body = replace(primal.body, ops=tuple(before))
    inner = replace(reverse.body, ops=tuple(after))
    body, inner = _with_lengths(body, inner)
    local = _definitions(body)
    counters = _counters(primal, local)
    free = _known_items(primal) | counters.keys()
    plan = Plan(local, free)
    plan.decide([v for v in free_values(inner) if v in local])
    measured = _read_for_shape(body, inner, plan.saved)
    if measured:
        body, inner = _with_shapes(body, inner, measured)
        plan = Plan(_definitions(body), free)
        plan.decide([v for v in free_values(inner) if v in plan.local])
    wanted = plan.wanted(free_values(inner))
    seqs, items, mapping = _reread(primal, plan, wanted)
    extra: list[Op] = []
    seqs = _limited(primal, seqs, extra)
    for counter, counted in counters.items():
        if counter in wanted:
            item = Value(counter.type, counter.hint)
            turned = isinstance(primal, For) and primal.backward  # the first trip is the last item
            seqs.append(_turned(counted, extra, primal) if turned else counted)
            items.append(item)
            mapping[counter] = item
    lists = []
    kept = _already_collected(body, primal)
    for value in plan.saved:
        if value in kept:
            item = Value(value.type, value.hint)
            seqs.append(kept[value])
            items.append(item)
            mapping[value] = item
            continue
        collected = Value(ListOf(value.type), f"{value.hint}_saved" if value.hint else None)
        item = Value(value.type, value.hint)
        lists.append(collected)
        seqs.append(collected)
        items.append(item)
        mapping[value] = item
    copies = plan.copies(mapping)
    inner = substituted_block(inner, mapping)
    seqs = [*seqs, *reverse.seqs]
    params = (*items, *inner.params)
    new = [value for value in plan.saved if value not in kept]
    body = replace(body, results=(*body.results, *new))
    closed = replace(primal, body=body, outputs=(*primal.outputs, *lists))
    again = Block(params, (*copies, *inner.ops), inner.results)
    if not seqs and isinstance(primal, For) and equally_long(primal) and not may_exit(primal):
        seqs = [cheapest_sequence(primal)]
        again = Block((Value(INT), *again.params), again.ops, again.results)
    count = None if seqs else reverse.count
    return closed, extra, replace(reverse, seqs=tuple(seqs), body=again, count=count)


def _with_lengths(body: Block, reverse: Block) -> tuple[Block, Block]:
    """Return the blocks with the length of a list read before the loop extends it.

    Keeping the list itself as it was would be a copy in every iteration.
    """
    lengths = [op for op in reverse.ops if isinstance(op, Call) and op.target is len]
    if not lengths:
        return body, reverse
    extended = {op.args[0] for op in body.ops if isinstance(op, Call) and extends(op.target)}
    moved = [op for op in lengths if op.args[0] in body.params and op.args[0] in extended]
    early = tuple(replace(op, half="repeated") for op in moved)
    rest = tuple(op for op in reverse.ops if op not in moved)
    return replace(body, ops=(*early, *body.ops)), replace(reverse, ops=rest)


def _read_for_shape(body: Block, reverse: Block, saved: Collection[Value]) -> list[Value]:
    """Return the arrays among some values of which the reverse block reads only the shape.

    They are results of calls: other values may be unbound.
    """
    calls = {op.result for op in body.ops if isinstance(op, Call)}
    others = {atom for atom in reverse.results if isinstance(atom, Value)}
    measured = set()
    for op in walk(reverse):
        array = _measured_by(op)
        measured.add(array)
        others.update(v for v in op.operands if v is not array)
        for block in op.blocks:
            others.update(atom for atom in block.results if isinstance(atom, Value))
    return [v for v in saved if v in measured and v not in others and v in calls]


def _measured_by(op: Op) -> Value | None:
    """Return the array of which a call reads nothing but the shape, or a dtype that is known."""
    if not isinstance(op, Call) or op.kwargs:
        return None
    value = op.args[1] if op.target is runtime.unbroadcast else op.args[0] if op.args else None
    if not isinstance(value, Value) or not isinstance(value.type, Numeric):
        return None
    type_ = value.type
    if type_.form != "array" or not type_.shape:
        return None
    if is_zeros_like(op.target):
        return value if type_.dtype is not None and type_.kind in "fc" else None
    return value if op.target is runtime.unbroadcast or is_shape(op.target) else None


def _with_shapes(body: Block, reverse: Block, arrays: list[Value]) -> tuple[Block, Block]:
    """Return the blocks with the shapes of arrays read in the primal, to be saved for them."""
    reads: list[Op] = []
    builder = Builder(reads, half="repeated")
    shapes: dict[Value | None, Value] = {}
    for array in arrays:
        hint = f"{array.hint}_shape" if array.hint else "shape"
        shapes[array] = builder.shape(array, hint=hint)
    mapping: dict[Value, Atom] = {}

    def of_shape(op: Op) -> Op:
        array = _measured_by(op)
        if array is None or array not in shapes:
            return op.mapped(block=inside)
        assert isinstance(op, Call)
        shape, type_ = shapes[array], array.type
        if op.target is runtime.unbroadcast:
            return replace(op, args=(op.args[0], shape))
        if is_zeros_like(op.target):
            assert isinstance(type_, Numeric)
            kwargs = () if type_.dtype == np.float64 else (("dtype", Const(type_.dtype)),)
            return replace(op, target=np.zeros, args=(shape,), kwargs=kwargs)
        mapping[op.result] = shape
        return op

    def inside(block: Block) -> Block:
        return replace(block, ops=tuple(map(of_shape, block.ops)))

    reverse = substituted_block(inside(reverse), mapping)
    return replace(body, ops=(*body.ops, *reads)), reverse


def _already_collected(body: Block, loop: Loop) -> dict[Value, Value]:
    """Return the values that the loop collects anyway, with their lists."""
    width = len(loop.inits)
    pairs = zip(body.results[1 + width :], loop.outputs[2 + width :], strict=True)
    return {atom: output for atom, output in pairs if isinstance(atom, Value)}


def _known_items(loop: Loop) -> frozenset[Value]:
    """Return the items that the reverse loop can read again from the same sequences."""
    if isinstance(loop, For) and not (loop.backward and may_exit(loop)):
        return frozenset(loop.items)
    return frozenset()


def _counters(loop: Loop, local: dict[Value, Call | None]) -> dict[Value, Display]:
    """Carried integers that grow by a constant per iteration, and their ranges."""
    found = {}
    rows = zip(loop.carried, loop.inits, loop.body.results[1:], carried_outputs(loop), strict=False)
    for param, init, result, output in rows:
        call = local.get(result) if isinstance(result, Value) else None
        if call is None or law_of_operator(call.target) != "sum" or param not in call.args:
            continue
        step = call.args[0] if call.args[1] is param else call.args[1]
        whole = isinstance(step, Const) and type(step.value) is int and step.value != 0
        if whole and is_python_int(param) and is_python_int(init) and is_python_int(output):
            found[param] = Display("range", (init, output, step))
    return found


def _turned(counted: Display, extra: list[Op], loop: Loop) -> Display:
    """Return a range from its last item to its first."""
    start, stop, step = counted.items
    assert isinstance(step, Const)
    builder = Builder(extra, loop.where, "reverse")
    ends: list[Arg] = []
    for bound in (stop, start):
        if isinstance(bound, Const):
            ends.append(Const(bound.value - step.value))
        else:
            assert isinstance(bound, Value)
            ends.append(builder.call(operator.sub, bound, step, type=bound.type))
    return Display("range", (*ends, Const(-step.value)))


def _reread(
    loop: Loop, plan: Plan, wanted: set[Value]
) -> tuple[list[Arg], list[Value], dict[Value, Atom]]:
    """Return the sequences of the primal that the reverse body reads items of, again."""
    seqs: list[Arg] = []
    items: list[Value] = []
    mapping: dict[Value, Atom] = {}
    if isinstance(loop, For):
        for seq, item in zip(loop.seqs, loop.items, strict=True):
            if item in wanted and item in plan.free:
                again = Value(item.type, item.hint)
                seqs.append(seq)
                items.append(again)
                mapping[item] = again
    return seqs, items, mapping


def _limited(loop: Loop, seqs: list[Arg], extra: list[Op]) -> list[Arg]:
    """Cut sequences to the iterations that ran, where there may be fewer."""
    if not isinstance(loop, For) or not seqs:
        return seqs
    if equally_long(loop) and not may_exit(loop):
        return seqs
    trips = loop.outputs[1]
    return [_cut(seq, trips, extra, loop) for seq in seqs]


def _cut(seq: Arg, trips: Value, extra: list[Op], loop: Loop) -> Arg:
    builder = Builder(extra, loop.where, "reverse")
    if isinstance(seq, Display) and seq.kind == "range":
        start, _, step = seq.items
        if start == Const(0) and step == Const(1):
            return Display("range", (start, trips, step))
        length: Arg = trips
        if step != Const(1):
            length = builder.call(operator.mul, trips, step, type=trips.type)
        stop = builder.call(operator.add, start, length, type=trips.type)
        return Display("range", (start, stop, step))
    first = Display("slice", (_NONE, trips, _NONE))
    if isinstance(seq, Display):
        made = builder.build_tuple(*seq.items, type=TupleOf(()))
        return builder.call(operator.getitem, made, first, type=TupleOf(()))
    type_ = outer_type(seq.type) if isinstance(seq, Value) else None
    if isinstance(type_, Numeric) and type_.shape:
        type_ = replace(type_, shape=(fresh_extent("trips"), *type_.shape[1:]))
    return builder.call(operator.getitem, seq, first, type=type_ or TupleOf(()))
