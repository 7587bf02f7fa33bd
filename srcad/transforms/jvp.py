"""Forward mode: derive the function of the result and of its tangent.

The ops of the primal stay as they are, and each is followed by the ops of its tangent.  Blocks
keep their form: a branch yields the tangents of what it yields, a loop carries those of what it
carries, and its lists have lists of tangents beside them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from srcad import runtime
from srcad.analysis.activity import activity
from srcad.analysis.activity_trees import Activity, both, either_active, fully_active
from srcad.analysis.binding import possibly_undefined
from srcad.analysis.trips import is_range
from srcad.ir.called_lengths import in_lengths_of_call
from srcad.ir.core import (
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
    Try,
    Value,
    While,
    carried_outputs,
    collected_outputs,
    walk,
)
from srcad.ir.inference.builder import Builder, atom_type
from srcad.ir.traits import is_known_part
from srcad.passes.dce import dce
from srcad.passes.retype import settle
from srcad.passes.safe_division import safe_division
from srcad.passes.simplify import simplify
from srcad.startup.records import replace
from srcad.transforms.blocks import undo_block
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.functions_of_rules import with_helpers_inlined
from srcad.transforms.refusals import refuse_texts
from srcad.transforms.routines import (
    copy_hollow,
    derived_routine,
    hollow_params,
    mark_hollow,
    of_any_form,
    undo_routine_call,
)
from srcad.transforms.silent import with_silent_tangents
from srcad.transforms.still import note_branch
from srcad.transforms.sweep import Inline, Sweep, cotangent_type, homes_of
from srcad.transforms.tangent_calls import push_call
from srcad.transforms.tangents import ForwardScope, dot_hint, unbound_with_tangents
from srcad.transforms.vjp import prepared, simplified
from srcad.types.join import join
from srcad.types.numeric import Numeric, same_dtype
from srcad.types.structures import OPAQUE, ListOf, TupleOf, Type


def jvp(
    function: Function,
    wrt: Sequence[int],
    inline: Inline,
    *,
    values: Sequence[int] = (0,),
    tangents: Sequence[int] = (0,),
) -> Function:
    """Derive the function that computes results and tangents of results.

    Parameters
    ----------
    function : Function
        The primal.
    wrt : sequence of int
        Positions of the parameters that have a tangent.
    inline : callable
        ``inline(builder, rule, args, keywords)`` writes a rule's formula; it returns what the rule
        returns.
    values, tangents : sequence of int
        Positions of the results that come back, and of those whose tangents do.

    Returns
    -------
    Function
        Further parameters are the tangents, one per position in `wrt`; results are the primal's
        at `values`, and then the tangents of those at `tangents`.

    Examples
    --------
    >>> from srcad.frontend.lower import lower_inline
    >>> function = parse('''
    ... f(x: float, a: float):
    ...     t = sin(x)
    ...     y = mul(t, a)
    ...     return y
    ... ''')
    >>> print(text(jvp(function, [0], lower_inline)))
    f(x, a, x_dot):
        t = sin(x)
        t1 = cos(x)
        t_dot = mul(x_dot, t1)
        y = mul(t, a)
        y_dot = mul(t_dot, a)
        return y, y_dot
    """
    function = prepared(function)
    pattern = [fully_active(p.type) if k in wrt else False for k, p in enumerate(function.params)]
    return _pushed(function, pattern, inline, wrt, (values, tangents))


def _pushed(
    function: Function,
    pattern: Sequence[Activity],
    inline: Inline,
    order: Sequence[int],
    asked: tuple[Sequence[int], Sequence[int]] | None = None,
) -> Function:
    """Return the function with tangents at `order` behind its parameters, and its results'.

    `asked` are the results of a derived function; without it, all of them come with their tangents.
    """
    results = function.block.results
    every = range(len(results))
    values, tangents = asked or (every, every)
    varied = dict(zip(function.params, pattern, strict=True))
    wanted = [fully_active(atom_type(a)) if k in tangents else False for k, a in enumerate(results)]
    refuse_texts(function, varied, wanted)
    function = with_helpers_inlined(function, varied, wanted, inline)
    facts = activity(function, varied, wanted)
    sweep = Sweep(
        facts,
        homes_of(function),
        possibly_undefined(function.block),
        inline,
        function,
        undo_block,
        undo_routine_call,
        prepared,
        simplified,
    )
    builder = Builder(where=function.where, half="reverse")
    spelled_out = unbound_with_tangents(function.block, facts.active, sweep.undefined)
    forward = ForwardScope(
        ReverseScope(sweep, Block(), builder),
        push_block,
        hollow=asked is None,
        spelled_out=spelled_out,
    )
    extra = []
    for k in order:
        param = function.params[k]
        dot = Value(cotangent_type(param.type, pattern[k]), dot_hint(param))
        extra.append(dot)
        forward.put(param, dot)
    push_block(forward, function.block)
    builder.where = function.where
    for k in tangents if asked else ():
        forward.as_result(results[k])
    dots = [forward.full(results[k], wanted[k]) for k in tangents]
    block = builder.finish(*(results[k] for k in values), *dots)
    made = replace(function, params=(*function.params, *extra), block=block)
    made = safe_division(simplify(dce(made)))
    if not asked:
        return made
    first = made.block.results[: len(values)]
    place = {k: first[n] for n, k in enumerate(values)}
    return _in_kind(made, [(atom_type(results[k]), place.get(k)) for k in tangents])


def _in_kind(function: Function, wanted: Sequence[tuple[Type, Atom | None]]) -> Function:
    """Return the tangents in the form and dtype of the results, whose types and atoms are given.

    A division makes a NumPy scalar of a Python float, and a partial may have a wider dtype.
    """
    found = function.block.results
    count = len(found) - len(wanted)
    builder = Builder(ops=list(function.block.ops), where=function.where, half="reverse")
    dots = [_in_kind_of(builder, dot, *one) for dot, one in zip(found[count:], wanted, strict=True)]
    return replace(function, block=builder.finish(*found[:count], *dots))


def _in_kind_of(builder: Builder, dot: Atom, type_: Type, y: Atom | None) -> Atom:
    """Return a tangent in the form and dtype of a result; `y` is the result, where it is known."""
    given = atom_type(dot)
    if not _has_other_kind(given, type_, is_known=isinstance(y, Value)):
        return dot
    if isinstance(given, TupleOf) and isinstance(type_, TupleOf):
        return _parts_in_kind(builder, dot, given, type_, y)
    if isinstance(given, ListOf) and isinstance(type_, ListOf):
        return _items_in_kind(builder, dot, given, type_, y)
    if _is_open(type_) and isinstance(y, Value):
        return builder.call(runtime.converted_like, dot, y)
    assert isinstance(type_, Numeric)
    assert type_.dtype is not None
    if type_.form == "python":
        return builder.call(float, dot)
    if type_.form == "numpy":
        return builder.call(type_.dtype.type, dot)
    return builder.call(np.astype, dot, Const(type_.dtype))


def _parts_in_kind(
    builder: Builder, dot: Atom, given: TupleOf, type_: TupleOf, y: Atom | None
) -> Atom:
    parts = []
    for k, one in enumerate(type_.items):
        part: Atom = builder.part(dot, given, k)
        if _has_other_kind(given.items[k], one, is_known=isinstance(y, Value)):
            value = builder.part(y, type_, k) if isinstance(y, Value) else None
            part = _in_kind_of(builder, part, one, value)
        parts.append(part)
    return builder.build_like(type_, parts)


def _items_in_kind(
    builder: Builder, dot: Atom, given: ListOf, type_: ListOf, y: Atom | None
) -> Atom:
    inside = Builder(half="reverse", where=builder.where)
    item, value = Value(given.item), Value(type_.item)
    if y is None or not _has_open(type_.item):
        made = _in_kind_of(inside, item, type_.item, None)
        return builder.for_((dot,), (), inside.finish(Const(0), made, params=(item,)))[2]
    made = _in_kind_of(inside, item, type_.item, value)
    over, params = (dot, y), (item, value)
    return builder.for_(over, (), inside.finish(Const(0), made, params=params))[2]


def _is_open(type_: Type) -> bool:
    """Return True for a number of unknown form or dtype, and for a value of unknown type."""
    if not isinstance(type_, Numeric):
        return type_ == OPAQUE
    return type_.dtype is None or type_.form in ("any", "number")


def _has_open(type_: Type) -> bool:
    if isinstance(type_, TupleOf):
        return any(map(_has_open, type_.items))
    return _has_open(type_.item) if isinstance(type_, ListOf) else _is_open(type_)


def _has_other_kind(given: Type, type_: Type, *, is_known: bool) -> bool:
    """Return True if a tangent, or a part of it, must be converted to the kind of the result.

    A number of unknown form or dtype is converted like the result, if that value `is_known`.
    """
    if isinstance(given, TupleOf) and isinstance(type_, TupleOf):
        pairs = zip(given.items, type_.items, strict=True)
        return any(_has_other_kind(*pair, is_known=is_known) for pair in pairs)
    if isinstance(given, ListOf) and isinstance(type_, ListOf):
        return _has_other_kind(given.item, type_.item, is_known=is_known)
    if not isinstance(given, Numeric):
        return False
    if _is_open(type_):
        return is_known
    if not isinstance(type_, Numeric) or type_.kind != "f" or not given.is_real:
        return False
    if type_.form == "python":
        return given.form != "python"
    if type_.form == "numpy":
        return given.form != "array" and given != type_
    return type_.form == given.form == "array" and not same_dtype(type_.dtype, given.dtype)


def push_block(forward: ForwardScope, block: Block) -> None:
    """Append the ops of a block, each with its tangent."""
    for op in block.ops:
        match op:
            case Call(target=Routine()):
                _push_routine_call(forward, op)
            case Call() if op.result in forward.read:
                pass
            case Call():
                push_call(forward, op)
            case If():
                _push_if(forward, op)
            case For() | While():
                _LoopWithTangents(forward, op).run()


# ------------------------------------------------------------------------------- conditionals
def _push_if(forward: ForwardScope, op: If) -> None:
    active = [k for k, output in enumerate(op.outputs) if forward.tree(output) is not False]
    arms = []
    for block in (op.then, op.orelse):
        arm = forward.inner()
        forward.push(arm, block)
        arm.builder.where = op.where
        arms.append(arm)
    blocks = (op.then, op.orelse)
    moving = [
        k
        for k in active
        if op.outputs[k] in forward.spelled_out
        or any(arm.of(b.results[k]) is not None for arm, b in zip(arms, blocks, strict=True))
    ]
    found = [
        [arm.full(b.results[k], forward.tree(op.outputs[k])) for k in moving]
        for arm, b in zip(arms, blocks, strict=True)
    ]
    dots = [
        Value(join(atom_type(a), atom_type(b)), dot_hint(op.outputs[k]))
        for k, a, b in zip(moving, *found, strict=True)
    ]
    then, orelse = (
        Block(b.params, tuple(arm.builder.ops), (*b.results, *extra))
        for b, arm, extra in zip(blocks, arms, found, strict=True)
    )
    if isinstance(op, Try):
        then = _unnoticed(op, then)
    forward.builder.ops.append(replace(op, then=then, orelse=orelse, outputs=(*op.outputs, *dots)))
    forward.builder.where = op.where
    for k, dot in zip(moving, dots, strict=True):
        forward.put(op.outputs[k], dot)
        in_then, in_else = (
            arm.of(b.results[k]) is not None for arm, b in zip(arms, blocks, strict=True)
        )
        if in_then != in_else and op.outputs[k] in forward.scope.sweep.chosen:
            note_branch(forward.scope, op, op.outputs[k], dot, first=in_then)


def _routines_in(block: Block) -> set[Routine]:
    calls = (op for op in walk(block) if isinstance(op, Call))
    return {op.target for op in calls if isinstance(op.target, Routine)}


def _unnoticed(op: Try, then: Block) -> Block:
    """Return the block of a ``try`` with clauses that do not see infinite slopes."""
    if not any(issubclass(error, op.catches) for error in (FloatingPointError, RuntimeWarning)):
        return then
    return _with_silent_tangents(then, _routines_in(op.then))


def _with_silent_tangents(block: Block, own: Collection[Routine]) -> Block:
    """Return a block with silent tangents, also in the routines that it calls.

    The routines of the primal, `own`, stay as they are.
    """

    def silent(function: Function) -> Function:
        return replace(function, block=_with_silent_tangents(function.block, own))

    def with_silent_routines(block: Block) -> Block:
        return replace(block, ops=tuple(map(with_silent_routine, block.ops)))

    def with_silent_routine(op: Op) -> Op:
        if isinstance(op, Call) and isinstance(op.target, Routine) and op.target not in own:
            made = derived_routine(op.target, "silent", None, silent)
            copy_hollow(op.target, made)
            return replace(op, target=made)
        return op.mapped(with_silent_routines)

    return with_silent_routines(with_silent_tangents(block))


# ------------------------------------------------------------------------------- loops
class _LoopWithTangents:
    """Builds one loop that carries tangents, too."""

    def __init__(self, forward: ForwardScope, op: Loop) -> None:
        self.forward = forward
        self.op = op
        self.body = forward.inner()

    def run(self) -> None:
        """Append the loop, and set the tangents of its results."""
        op, width = self.op, len(self.op.inits)
        self.forward.builder.where = op.where
        seqs, items = self._sequences()
        carried, params, inits = self._carried()
        self.forward.push(self.body, op.body)
        self.body.builder.where = op.where
        tag, *results = op.body.results
        after, lists = results[:width], results[width:]
        following = [self.body.full(after[k], self._tree(k)) for k in carried]
        settle(params, inits, following, self.body.builder.ops, set())
        kept, rows = self._collected(lists)
        body = Block(
            (*op.items, *items, *op.carried, *params),
            tuple(self.body.builder.ops),
            (tag, *after, *following, *lists, *rows),
        )
        finals = [(carried_outputs(op)[k], p.type) for k, p in zip(carried, params, strict=True)]
        columns = [(output, ListOf(atom_type(row))) for output, row in zip(kept, rows, strict=True)]
        self._append(body, seqs, inits, params, _named(finals), _named(columns))

    def _collected(self, lists: Sequence[Atom]) -> tuple[list[Value], list[Atom]]:
        """Return the lists that have tangents beside them, and the items added per iteration."""
        kept, rows = [], []
        for output, row in zip(collected_outputs(self.op), lists, strict=True):
            tree = self.forward.tree(output)
            if tree is not False and self.body.of(row) is not None:
                kept.append(output)
                rows.append(self.body.full(row, tree))
        return kept, rows

    def _tree(self, k: int) -> Activity:
        tree = self.forward.tree
        return either_active(tree(carried_outputs(self.op)[k]), tree(self.op.carried[k]))

    def _sequences(self) -> tuple[list[Arg], list[Value]]:
        """Return the tangents of the sequences, and of their items."""
        seqs: list[Arg] = []
        items: list[Value] = []
        if isinstance(self.op, For):
            for seq, item in zip(self.op.seqs, self.op.items, strict=True):
                tree, dot = self.forward.tree(item), self.forward.of(seq)
                if tree is False or dot is None or is_range(seq):
                    continue
                seqs.append(self.forward.spelled(seq, dot))
                items.append(Value(of_any_form(cotangent_type(item.type, tree)), dot_hint(item)))
                self.body.put(item, items[-1])
        return seqs, items

    def _carried(self) -> tuple[list[int], list[Value], list[Atom]]:
        """Which of the carried values have tangents, their parameters, and what enters."""
        active = [k for k in range(len(self.op.inits)) if self._tree(k) is not False]
        params, inits = [], []
        for k in active:
            param = self.op.carried[k]
            inits.append(self.forward.full(self.op.inits[k], self._tree(k)))
            params.append(Value(cotangent_type(param.type, self._tree(k)), dot_hint(param)))
            self.body.put(param, params[-1])
        return active, params, inits

    def _append(
        self,
        body: Block,
        seqs: list[Arg],
        inits: list[Atom],
        params: list[Value],
        finals: dict[Value, Value],
        columns: dict[Value, Value],
    ) -> None:
        op, forward = self.op, self.forward
        outputs = (
            *op.outputs[:2],
            *carried_outputs(op),
            *finals.values(),
            *collected_outputs(op),
            *columns.values(),
        )
        made: Loop
        if isinstance(op, For):
            made = replace(
                op, seqs=(*op.seqs, *seqs), inits=(*op.inits, *inits), body=body, outputs=outputs
            )
        else:
            fresh = [Value(p.type, p.hint) for p in params]
            test = replace(op.test, params=(*op.test.params, *fresh))
            made = replace(op, inits=(*op.inits, *inits), test=test, body=body, outputs=outputs)
        forward.builder.ops.append(made)
        for output, dot in (*finals.items(), *columns.items()):
            forward.put(output, dot)


def _named(outputs: Sequence[tuple[Value, Type]]) -> dict[Value, Value]:
    """Return a tangent of a type for each output of a loop."""
    return {output: Value(type_, dot_hint(output)) for output, type_ in outputs}


# ------------------------------------------------------------------------------- routines
def _push_routine_call(forward: ForwardScope, op: Call) -> None:
    """Call the routine of values and tangents, once for both."""
    scope, routine = forward.scope, op.target
    facts, function = scope.sweep.facts, routine.function
    pattern = tuple(
        both(facts.of(a), fully_active(p.type))
        for a, p in zip(op.args, function.params, strict=True)
    )
    if facts.active(op.result) is False or not any(pattern):
        forward.builder.ops.append(op)
        return
    forward.builder.where = op.where
    made = _routine_with_tangents(scope.sweep, routine, pattern)
    hollow = hollow_params(routine)
    dots = [
        _packed(replace(forward, hollow=forward.hollow or k in hollow), arg, tree)
        for k, (arg, tree) in enumerate(zip(op.args, pattern, strict=True))
        if tree is not False
    ]
    count = len(function.block.results)
    types = _types_of(routine, op.args)
    before, forward.builder.half = forward.builder.half, op.half
    both_parts = scope.builder.call(
        made, *op.args, *dots, type=TupleOf(types), hint=op.result.hint, effect=op.effect
    )
    reads = _reads(scope.sweep, op.result)
    parts = [
        scope.item(both_parts, k, type=types[k], result=reads[k].result if k in reads else None)
        for k in range(2 * count)
    ]
    scope.build_tuple(*parts[:count], result=op.result)
    forward.builder.half = before
    forward.put(op.result, tuple(parts[count:]))
    for k, read in reads.items():
        forward.read.add(read.result)
        if forward.tree(read.result) is not False:
            forward.put(read.result, parts[count + k])


def _reads(sweep: Sweep, result: Value) -> dict[int, Call]:
    """Return the calls that read results of a routine, by the number of the result."""
    calls = [call for call in sweep.read_by.get(result, ()) if is_known_part(call.target)]
    return {c.args[1].value: c for c in reversed(calls) if isinstance(c.args[1], Const)}


def _packed(forward: ForwardScope, arg: Arg, tree: Activity) -> Arg:
    if isinstance(arg, Display):
        return forward.spelled(arg, forward.of(arg))
    return forward.full(arg, tree)


def _types_of(routine: Routine, args: tuple[Arg, ...]) -> tuple[Type, ...]:
    assert routine.function is not None
    outside = in_lengths_of_call(routine, args)
    types = tuple(outside(atom_type(atom)) for atom in routine.function.block.results)
    return (*types, *(of_any_form(cotangent_type(t, fully_active(t))) for t in types))


def _routine_with_tangents(
    sweep: Sweep, routine: Routine, pattern: tuple[Activity, ...]
) -> Routine:
    """Return the routine of values and tangents for some moving parameters, made once."""
    order = [k for k, tree in enumerate(pattern) if tree is not False]

    def pushed(function: Function) -> Function:
        return _pushed(sweep.prepared(function), pattern, sweep.inline, order)

    made = derived_routine(routine, "jvp", pattern, pushed)
    mark_hollow(routine, made, order)
    return made
