"""Batching: turn a function of one direction into the same function of many at once.

What a derived function makes of its tangents, or of its seed, is linear in them.  So many of them
may stand in one array, along a leading axis, and what depends on them has that axis too.  The
primal, the control flow, indices and partial derivatives do not depend on them: these ops stay as
they are.  Of the others each is given the axis in its own way (`batched_calls`), and where none is
known a loop over the directions is written, so that every function can be batched.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

import numpy as np

from srcad import runtime
from srcad.analysis.activity_trees import Activity, either_active, part
from srcad.analysis.dependence import Dependence, Pattern, carrying, pattern_of
from srcad.analysis.kinds import may_be_complex
from srcad.errors import UnsupportedSyntaxError
from srcad.ir.argument_types import argument_type
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
    Routine,
    Value,
    While,
    walk,
)
from srcad.ir.inference.builder import Builder, atom_type
from srcad.passes.safe_division import safe_division
from srcad.startup.records import replace
from srcad.transforms.batched_calls import batch_call
from srcad.transforms.batched_values import BatchedScope, Shared, refuse_hidden_list
from srcad.transforms.routines import derived_routine
from srcad.transforms.sweep import Inline, is_for_complex, is_scalar
from srcad.types.numeric import INT, Numeric
from srcad.types.sizes import fresh_extent
from srcad.types.structures import Opaque, TupleOf


def batched(
    function: Function,
    positions: Collection[int],
    inline: Inline,
    *,
    results: Collection[int] = (),
    name: str = "k",
) -> Function:
    """Give some parameters, and all that depends on them, a leading axis of directions.

    Parameters
    ----------
    function : Function
        A function that is linear in these parameters: one that `jvp` or `vjp` has made.
    positions : collection of int
        The parameters: the tangents, or the seed.
    inline : callable
        Writes a rule's formula: see `vjp`.
    results : collection of int
        The results that have the axis in any case: where they do not depend on these parameters,
        they are the same in every direction.
    name : str
        The name of the number of directions.

    Returns
    -------
    Function
        Its parameters are those of `function`, in which each number and array at `positions` has
        an axis more, the first; a last one is the number of directions.  Of its results those have
        the axis that depend on these parameters, and those in `results`.

    Examples
    --------
    >>> from srcad.frontend.lower import lower_inline
    >>> function = parse('''
    ... f(x: float64[n], x_dot: float64[n]):
    ...     # reverse half
    ...     t = cos(x)
    ...     u = mul(x_dot, t)
    ...     y_dot = sum(u)
    ...     return y_dot
    ... ''')
    >>> wide = batched(function, [1], lower_inline)
    >>> print(text(wide))
    f(x, x_dot, k):
        t = cos(x)
        u = mul(x_dot, t)
        y_dot = sum(u, axis=1)
        return y_dot
    >>> print(wide.params[1].type, wide.block.results[0].type)
    float64[k, n] float64[k]
    """
    pattern = tuple(
        carrying(p.type) if k in positions else False for k, p in enumerate(function.params)
    )
    dependence = Dependence()
    facts = dependence.of(function, pattern)
    wanted = [
        either_active(facts.of(y), carrying(atom_type(y)) if k in results else False)
        for k, y in enumerate(function.block.results)
    ]
    return _batched(function, pattern, inline, dependence, name, wanted)


def _batched(
    function: Function,
    pattern: Pattern,
    inline: Inline,
    dependence: Dependence,
    name: str,
    wanted: Sequence[Activity],
) -> Function:
    """Return the function with the axis where the pattern has one, and in the results."""
    if may_be_complex(function) and not is_for_complex(inline):
        inline = partial(inline, all_real=False)
    facts = dependence.of(function, pattern)
    count = Value(INT, name)
    shared = Shared(facts, dependence, inline, count, fresh_extent(name))
    shared.reads.update(v for v in function.block.results if isinstance(v, Value))
    for op in walk(function.block):
        shared.reads.update(op.operands)
        for block in op.blocks:
            shared.reads.update(v for v in block.results if isinstance(v, Value))
        if isinstance(op, Call):
            shared.made[op.result] = op
    scope = BatchedScope(shared, Builder(where=function.where))
    params = []
    for param, tree in zip(function.params, pattern, strict=True):
        params.append(param if tree is False else Value(scope.wide(param.type, tree), param.hint))
        if tree is not False:
            scope.put(param, params[-1])
    batch_block(scope, function.block)
    results = function.block.results
    found = [scope.full_atom(y, tree) for y, tree in zip(results, wanted, strict=True)]
    made = replace(function, params=(*params, count), block=scope.builder.finish(*found))
    return safe_division(made)  # factors of an array, which does not raise, are divided themselves


def batch_block(scope: BatchedScope, block: Block) -> None:
    """Append the ops of a block."""
    for op in block.ops:
        scope.builder.where, scope.builder.half = op.where, op.half
        match op:
            case Call(target=Routine()):
                _batch_routine_call(scope, op)
            case Call():
                batch_call(scope, op)
            case If():
                _batch_if(scope, op)
            case For() | While():
                _batch_loop(scope, op)


def _stays(scope: BatchedScope, op: Op) -> bool:
    """Return True if nothing in an op depends on the direction."""
    inside = (v for block in op.blocks for v in block.params)
    made = (v for block in op.blocks for one in walk(block) for v in one.results)
    read = (v for block in op.blocks for v in block.free)
    values = (*op.operands, *op.results, *inside, *made, *read)
    return not any(scope.tree(v) for v in values)


# ------------------------------------------------------------------------------- conditionals
def _batch_if(scope: BatchedScope, op: If) -> None:
    if _stays(scope, op):
        scope.builder.ops.append(op)
        return
    if _is_choice_of_numbers(scope, op):
        test = scope.of(op.test)
        for output, *arms in zip(op.outputs, op.then.results, op.orelse.results, strict=True):
            numbers = (scope.full_atom(arm, True, output.type) for arm in arms)
            scope.put(output, scope.builder.call(np.where, test, *numbers))
        return
    _refuse_choice(scope, op, op.test)
    trees = [
        either_active(scope.tree(output), either_active(scope.tree(a), scope.tree(b)))
        for output, a, b in zip(op.outputs, op.then.results, op.orelse.results, strict=True)
    ]
    for output, tree, *arms in zip(
        op.outputs, trees, op.then.results, op.orelse.results, strict=True
    ):
        refuse_hidden_list(op.where, output.type, tree, arms)
    blocks = []
    for block in (op.then, op.orelse):
        arm = scope.inner()
        batch_block(arm, block)
        arm.builder.where, arm.builder.half = op.where, op.half
        pairs = zip(block.results, trees, op.outputs, strict=True)
        found = [arm.full_atom(a, tree, output.type) for a, tree, output in pairs]
        blocks.append(Block(block.params, tuple(arm.builder.ops), tuple(found)))
    outputs = _outputs(scope, op.outputs, trees)
    scope.builder.ops.append(replace(op, then=blocks[0], orelse=blocks[1], outputs=outputs))


def _is_choice_of_numbers(scope: BatchedScope, op: If) -> bool:
    """Return True for a branch without operations that selects numbers, by direction.

    Transforms emit such branches to make the cotangent of a number zero.
    """
    return (
        scope.tree(op.test) is True
        and not op.then.ops
        and not op.orelse.ops
        and all(scope.tree(output) is True for output in op.outputs)
        and all(is_scalar(value.type) for value in op.outputs)
        and not any(arm == UNDEF for arm in (*op.then.results, *op.orelse.results))
    )


def _refuse_choice(scope: BatchedScope, op: Op, test: Atom | None) -> None:
    """Which way a function goes is the same for every direction.

    Raises
    ------
    UnsupportedSyntaxError
        A rule, or something of the user's that is called in the derived half, says otherwise.
    """
    if test is not None and scope.tree(test) is not False:
        raise UnsupportedSyntaxError(
            "cannot take several directions at once where a condition depends on the direction",
            where=op.where,
            why="a derivative is linear: one direction goes the same way as the other.",
            help="use srcad.pullback or srcad.jvp, one direction at a time",
        )


def _outputs(
    scope: BatchedScope, outputs: Sequence[Value], trees: Sequence[Activity]
) -> tuple[Value, ...]:
    """Return the outputs of an op with the axis."""
    made = []
    for output, tree in zip(outputs, trees, strict=True):
        if tree is False:
            made.append(output)
            continue
        made.append(Value(scope.wide(output.type, tree), output.hint))
        scope.put(output, made[-1])
        scope.shared.trees[output] = tree
    return tuple(made)


# ------------------------------------------------------------------------------- loops
def _batch_loop(scope: BatchedScope, op: Loop) -> None:
    if _stays(scope, op):
        scope.builder.ops.append(op)
        return
    _refuse_choice(scope, op, op.body.results[0])
    _refuse_choice(scope, op, op.test.results[0] if isinstance(op, While) else op.count)
    width = len(op.inits)
    seqs = (
        [_rows(scope, *pair) for pair in zip(op.seqs, op.items, strict=True)]
        if isinstance(op, For)
        else []
    )
    items = _outputs(scope, op.items, [scope.tree(item) for item in op.items])
    carried = [scope.tree(param) for param in op.carried]
    for param, tree, *given in zip(
        op.carried, carried, op.inits, op.body.results[1 : 1 + width], strict=True
    ):
        refuse_hidden_list(op.where, param.type, tree, given)
    triples = zip(op.inits, carried, op.carried, strict=True)
    inits = [scope.full_atom(a, tree, param.type) for a, tree, param in triples]
    test = _batched_test(scope, op, carried) if isinstance(op, While) else None
    params = _outputs(scope, op.carried, carried)
    body = scope.inner()
    batch_block(body, op.body)
    body.builder.where, body.builder.half = op.where, op.half
    tag, *results = op.body.results
    rows = [scope.tree(row) for row in results[width:]]
    types = [param.type for param in op.carried] + [None] * len(rows)
    pairs = zip(results, (*carried, *rows), types, strict=True)
    found = [body.full_atom(a, tree, type_) for a, tree, type_ in pairs]
    block = Block((*items, *params), tuple(body.builder.ops), (tag, *found))
    outputs = (*op.outputs[:2], *_outputs(scope, op.outputs[2:], (*carried, *rows)))
    made: Loop
    if isinstance(op, For):
        made = replace(op, seqs=tuple(seqs), inits=tuple(inits), body=block, outputs=outputs)
    else:
        assert test is not None
        made = replace(op, inits=tuple(inits), test=test, body=block, outputs=outputs)
    scope.builder.ops.append(made)


def _rows(scope: BatchedScope, seq: Arg, item: Value) -> Arg:
    """Return a sequence with the axis in its items where the item of the loop has it."""
    tree = scope.tree(item)
    if tree is False or (isinstance(seq, Display) and seq.kind == "range"):
        return scope.of(seq)
    type_ = argument_type(seq)
    if isinstance(type_, Numeric):
        return scope.call(np.swapaxes, scope.full(seq, True), Const(0), Const(1))
    if isinstance(type_, Opaque):
        return scope.call(runtime.rows_of_directions, scope.full(seq, True))
    whole = tuple(tree for _ in type_.items) if isinstance(type_, TupleOf) else tree
    return scope.full(seq, whole)


def _batched_test(scope: BatchedScope, op: While, carried: Sequence[Activity]) -> Block:
    """Return the test, which reads nothing that depends on the direction."""
    params = _outputs(scope, op.test.params, carried)
    test = scope.inner()
    batch_block(test, op.test)
    return Block(params, tuple(test.builder.ops), tuple(map(test.atom, op.test.results)))


# ------------------------------------------------------------------------------- routines
def _batch_routine_call(scope: BatchedScope, op: Call) -> None:
    """Call the routine that takes all directions at once."""
    pattern = pattern_of(op, scope.tree)
    tree = scope.tree(op.result)
    if not any(pattern):
        scope.builder.ops.append(op)
        return
    routine = _batched_routine(scope, op.target, pattern, tree)
    args = [scope.full(arg, one) for arg, one in zip(op.args, pattern, strict=True)]
    made = scope.builder.call(
        routine,
        *args,
        scope.shared.count,
        type=scope.wide(op.result.type, tree),
        hint=op.result.hint,
        effect=op.effect,
        result=op.result if tree is False else None,
    )
    if tree is not False:
        scope.put(op.result, made)


def _batched_routine(
    scope: BatchedScope, routine: Routine, pattern: Pattern, tree: Activity
) -> Routine:
    """Return the routine with the axis in some of its parameters, made once."""
    shared = scope.shared

    def batched(function: Function) -> Function:
        wanted = [part(tree, k) for k, _ in enumerate(function.block.results)]
        return _batched(function, pattern, shared.inline, shared.dependence, "count", wanted)

    return derived_routine(routine, "batched", pattern, batched)
