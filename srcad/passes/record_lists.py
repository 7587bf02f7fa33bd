"""Array-of-structures conversion: merge lists that are filled and read together.

What the adjoint of an inner loop reads was collected by the inner loop of the primal, and its lists
by the loop around it.  Each value has a list of its own; where all of them go the same way, through
the same loops, one list of tuples goes in their place: one ``append`` per iteration.

Lists that do not leave the block of their loop are left alone: the writer fills those together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from srcad.ir.core import (
    Arg,
    Atom,
    Block,
    Call,
    Const,
    For,
    Function,
    If,
    Loop,
    Op,
    Value,
    While,
    collected_outputs,
    free_values,
    values_in,
    walk,
)
from srcad.ir.inference.builder import Builder, atom_type
from srcad.ir.substitute import substituted_atom, substituted_block
from srcad.ir.traits import is_builder, is_item
from srcad.startup.records import dataclass, field, replace
from srcad.types.structures import ListOf, TupleOf, Type

# One step on the way of a list: the op that takes it up, the value that it is there, and what must
# agree for two lists to go the same way.
Step = tuple[Op, Value, Any]
Steps = dict[Value, list[Step | None]]


def with_record_lists(function: Function, *, is_cut: bool = False) -> Function:
    """Collect one tuple per iteration where several lists are filled and read together.

    Every list on the way has exactly one reader, so that the change is not observable.  Inner loops
    come first: what they leave is then one list, which may go into the tuple of an outer one.

    Parameters
    ----------
    function : Function
        The function.
    is_cut : bool
        True if the reverse half becomes a separate function, which reads the lists of the primal.

    Examples
    --------
    >>> function = parse('''
    ... f(x: float, n: int):
    ...     for k in range(0, n, 1) [y = x] -> tag, count, y_n, us, vs:
    ...         for j in range(0, n, 1) [z = y] -> tag_1, count_1, z_n, u_list, v_list:
    ...             u = sin(z)
    ...             v = exp(u)
    ...             yield 0, v, u, v
    ...         yield 0, z_n, u_list, v_list
    ...     # reverse half
    ...     for backward u_k, v_k in us, vs [g = 1.0] -> tag_2, count_2, x_bar:
    ...         for backward u_j, v_j in u_k, v_k [h = g] -> tag_3, count_3, h_n:
    ...             h_1 = mul(u_j, v_j)
    ...             yield 0, h_1
    ...         yield 0, h_n
    ...     return x_bar
    ... ''')
    >>> print(text(with_record_lists(function)))
    f(x, n):
        for k in range(0, n, 1) [y = x] -> tag, count, y_n, saved:
            for j in range(0, n, 1) [z = y] -> tag_1, count_1, z_n, saved_1:
                u = sin(z)
                v = exp(u)
                t2 = build_tuple(u, v)
                yield 0, v, t2
            yield 0, z_n, saved_1
        for backward saved_3 in saved [g = 1.0] -> tag_2, count_2, x_bar:
            for backward t4 in saved_3 [h = g] -> tag_3, count_3, h_n:
                u_j = item(t4, 0)
                v_j = item(t4, 1)
                h_1 = mul(u_j, v_j)
                yield 0, h_1
            yield 0, h_n
        return x_bar
    """
    while True:
        plan = _Plan(is_cut)
        plan.look(function.block, _steps(function.block))
        if not plan.tuples:
            return function
        function = replace(function, block=plan.block(function.block))


def with_record_lists_of_pair(primal: Function, adjoint: Function) -> tuple[Function, Function]:
    """Save one list of tuples per loop in a primal and its adjoint.

    The last result of the primal is the tuple of saved values, and the first parameter of the
    adjoint takes it.  No other function may read this tuple.
    """
    packed, given, seeds = primal.block.results[-1], adjoint.params[0], adjoint.params[1:]
    made = next((op for op in primal.block.ops if packed in op.results), None)
    reads = [op for op in adjoint.block.ops if _is_read_of(given, op)]
    others = sum(given in op.operands for op in walk(adjoint.block)) - len(reads)
    if not isinstance(made, Call) or not is_builder(made.target) or others:
        return primal, adjoint
    mapping: dict[Value, Atom] = {}
    for op in reads:
        assert isinstance(op, Call)
        mapping[op.result] = made.args[op.args[1].value]  # type: ignore[assignment, union-attr]
    before = [op for op in primal.block.ops if op is not made]
    ops = tuple(op for op in adjoint.block.ops if op not in reads)
    after = substituted_block(Block((), ops, adjoint.block.results), mapping)
    results = (*primal.block.results[:-1], *after.results)
    whole = Function(
        primal.name, (*primal.params, *seeds), Block((), (*before, *after.ops), results)
    )
    joined = with_record_lists(whole, is_cut=True)
    if joined is whole:
        return primal, adjoint
    return _cut(joined, primal, adjoint, len(before))


def _is_read_of(given: Value, op: Op) -> bool:
    return isinstance(op, Call) and is_item(op.target) and op.args[0] is given


def _cut(
    joined: Function, primal: Function, adjoint: Function, count: int
) -> tuple[Function, Function]:
    """Split a joined function into its first `count` operations, the primal, and the adjoint."""
    before, after = joined.block.ops[:count], joined.block.ops[count:]
    first = len(primal.block.results) - 1
    seeds, results = adjoint.params[1:], joined.block.results
    reverse = Block((), after, results[first:])
    defined = [*primal.params, *(v for op in before for v in op.results)]
    place = {value: k for k, value in enumerate(defined)}
    saved = sorted((v for v in free_values(reverse) if v not in seeds), key=lambda v: place[v])
    builder = Builder(ops=list(before), where=primal.where)
    packed = builder.build_tuple(*saved, hint="saved")
    given = Value(TupleOf(tuple(value.type for value in saved)), "saved")
    unpack = Builder(where=adjoint.where, half="reverse")
    mapping: dict[Value, Atom] = {
        value: unpack.item(given, k, hint=value.hint, type=value.type)
        for k, value in enumerate(saved)
    }
    body = substituted_block(reverse, mapping)
    block = Block((), (*unpack.ops, *body.ops), body.results)
    return (
        replace(primal, block=builder.finish(*results[:first], packed)),
        replace(adjoint, params=(given, *seeds), block=block),
    )


def _steps(block: Block) -> Steps:
    """Return the readers of each value; None stands for one that needs it as it is."""
    found: Steps = {}
    for op in walk(block):
        for atom, step in _passed_on(op):
            if isinstance(atom, Value):
                found.setdefault(atom, []).append(step)
        for value in _read_as_it_is(op):
            found.setdefault(value, []).append(None)
    for atom in block.results:
        for value in values_in(atom):
            found.setdefault(value, []).append(None)
    return found


def _passed_on(op: Op) -> Iterator[tuple[Arg, Step]]:
    """Yield the values that an operation passes on under another name."""
    if isinstance(op, If):
        for output, *pair in zip(op.outputs, op.then.results, op.orelse.results, strict=True):
            for k, other in ((0, pair[1]), (1, pair[0])):
                if isinstance(other, Const):
                    yield pair[k], (op, output, (k, other))
    elif isinstance(op, For | While):
        for atom, output in zip(_collected(op), collected_outputs(op), strict=True):
            yield atom, (op, output, "collect")
        for seq, one in zip(op.seqs if isinstance(op, For) else (), op.items, strict=True):
            yield seq, (op, one, "read")


def _read_as_it_is(op: Op) -> Iterator[Value]:
    atoms: list[Arg] = [] if isinstance(op, For) else [*op.operands]
    if isinstance(op, For):
        atoms = [*op.inits, *(seq for seq in op.seqs if not isinstance(seq, Value))]
        atoms += [] if op.count is None else [op.count]
    if isinstance(op, If):
        pairs = zip(op.then.results, op.orelse.results, strict=True)
        atoms += [a for pair in pairs if not any(isinstance(x, Const) for x in pair) for a in pair]
    if isinstance(op, For | While):
        atoms += op.body.results[: 1 + len(op.inits)]
    if isinstance(op, While):
        atoms += op.test.results
    for atom in atoms:
        yield from values_in(atom)


def _collected(op: Loop) -> tuple[Atom, ...]:
    return op.body.results[1 + len(op.inits) :]


def _where_parts_alias(op: Loop, steps: Steps, is_cut: bool) -> Iterator[list[list[Value]]]:
    """For lists of a loop that go the same way: what they are at each step, item by item."""
    groups: dict[Any, list[list[Value]]] = {}
    for output in collected_outputs(op):
        way = _steps_to_reader(output, steps, is_cut and op.half != "reverse")
        if way is not None:
            key = tuple((id(step[0]), step[2]) for step in way)
            groups.setdefault(key, []).append([output, *(step[1] for step in way)])
    for members in groups.values():
        if len(members) > 1:
            yield members


def _steps_to_reader(value: Value, steps: Steps, is_cut: bool) -> list[Step] | None:
    """Return the steps of a list to the loop that reads its items.

    None if the list stays in its block, unless the reverse half `is_cut` off and reads it.
    """
    way: list[Step] = []
    depth = 1
    while depth:
        readers = steps.get(value, [])
        step = readers[0] if len(readers) == 1 else None
        if step is None:
            return None
        way.append(step)
        value = step[1]
        depth += {"collect": 1, "read": -1}.get(step[2], 0) if isinstance(step[2], str) else 0
    leaves = len(way) > 1 or (is_cut and way[0][0].half == "reverse")
    return way if leaves else None


@dataclass(eq=False)
class _Plan:
    """The new value for each value on the way.

    `tuples` are the first lists with what the iteration collects in their place, `parts` the items
    in the place of which there is one tuple; `renamed` are the lists that hold tuples now,
    `dropped` those that are gone, `concerned` all of these and what is in the tuples.
    """

    is_cut: bool
    tuples: dict[Value, tuple[list[Atom], Value]] = field(default_factory=dict)
    parts: dict[Value, tuple[list[Value], Value]] = field(default_factory=dict)
    renamed: dict[Value, Value] = field(default_factory=dict)
    dropped: set[Value] = field(default_factory=set)
    concerned: set[Value] = field(default_factory=set)

    def look(self, block: Block, steps: Steps) -> bool:
        """Plan for the loops of a block inside which there is nothing to plan."""
        found = False
        for op in block.ops:
            looked = [self.look(inner, steps) for inner in op.blocks]  # all of them
            inside = any(looked)
            ways = (
                []
                if inside or not isinstance(op, For | While)
                else list(_where_parts_alias(op, steps, self.is_cut))
            )
            for way in ways:
                assert isinstance(op, For | While)
                self.add(op, way)
            found = found or inside or bool(ways)
        return found

    def add(self, op: Loop, members: list[list[Value]]) -> None:
        """Send one list on the way of several, unless one of them is on another way already."""
        collected = dict(zip(collected_outputs(op), _collected(op), strict=True))
        atoms = [collected[way[0]] for way in members]
        concerned = {value for way in members for value in way} | {
            v for atom in atoms for v in values_in(atom)
        }
        if not concerned.isdisjoint(self.concerned):
            return
        self.concerned |= concerned
        made = Value(TupleOf(tuple(atom_type(atom) for atom in atoms)))
        first = members[0]
        self.tuples[first[0]] = (atoms, made)
        again = Value(made.type)
        self.parts[first[-1]] = ([way[-1] for way in members], again)
        for value in first[:-1]:
            name = "saved_in_loop" if self.is_cut else "saved"  # ``saved`` is what leaves it
            self.renamed[value] = Value(_holding(value.type, made.type), name)
        self.dropped.update(value for way in members[1:] for value in way)

    # -------------------------------------------------------------- rebuilding
    def block(self, block: Block) -> Block:
        """Return a block with the new lists."""
        ops = tuple(self._op(op) for op in block.ops)
        return Block(block.params, ops, block.results)

    def _op(self, op: Op) -> Op:
        match op:
            case If():
                return self._conditional(op)
            case For() | While():
                return self._loop(op)
        return op

    def _conditional(self, op: If) -> If:
        kept = [k for k, output in enumerate(op.outputs) if output not in self.dropped]
        branches = [
            replace(self.block(branch), results=tuple(self._name(branch.results[k]) for k in kept))
            for branch in op.blocks
        ]
        outputs = tuple(self.renamed.get(op.outputs[k], op.outputs[k]) for k in kept)
        return replace(op, then=branches[0], orelse=branches[1], outputs=outputs)

    def _name(self, atom: Atom) -> Atom:
        return substituted_atom(atom, self.renamed)

    def _item(self, one: Value) -> Value:
        return self.parts[one][1] if one in self.parts else self.renamed.get(one, one)

    def _loop(self, op: Loop) -> Loop:
        first = 1 + len(op.inits)
        body = self.block(op.body)
        results, outputs = list(op.body.results[:first]), list(op.outputs[: 1 + first])
        for atom, output in zip(_collected(op), collected_outputs(op), strict=True):
            if output in self.tuples:
                body, atom = _with_tuple(body, *self.tuples[output], op)
            if output not in self.dropped:
                results.append(self._name(atom))
                outputs.append(self.renamed.get(output, output))
        body = replace(body, results=tuple(results))
        if isinstance(op, While):
            return replace(op, test=self.block(op.test), body=body, outputs=tuple(outputs))
        kept = [k for k, one in enumerate(op.items) if one not in self.dropped]
        reads: list[Op] = []
        for one in op.items:
            if one in self.parts:
                reads += _reads(*self.parts[one], op)
        params = (*(self._item(op.items[k]) for k in kept), *op.carried)
        seqs = tuple(
            self.renamed.get(seq, seq) if isinstance(seq, Value) else seq
            for seq in (op.seqs[k] for k in kept)
        )
        body = Block(params, (*reads, *body.ops), body.results)
        return replace(op, seqs=seqs, body=body, outputs=tuple(outputs))


def _holding(type_: Type, one: Type) -> Type:
    """Return a list type with another type for what it holds at last."""
    inner = type_.item if isinstance(type_, ListOf) else None
    return ListOf(_holding(inner, one) if isinstance(inner, ListOf) else one)


def _with_tuple(body: Block, atoms: list[Atom], made: Value, op: Op) -> tuple[Block, Value]:
    """Build the tuple as soon as all its parts are there."""
    places = [k + 1 for k, one in enumerate(body.ops) if not set(one.results).isdisjoint(atoms)]
    place = max(places, default=0)
    builder = Builder(where=op.where, half=op.half)
    builder.build_tuple(*atoms, result=made)
    return replace(body, ops=(*body.ops[:place], *builder.ops, *body.ops[place:])), made


def _reads(parts: list[Value], whole: Value, op: Op) -> list[Op]:
    builder = Builder(where=op.where, half=op.half)
    for k, part in enumerate(parts):
        builder.item(whole, k, result=part)
    return builder.ops
