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
    Const,
    For,
    Function,
    If,
    Loop,
    Op,
    Value,
    While,
    collected_outputs,
    values_in,
    walk,
)
from srcad.ir.inference.builder import Builder, atom_type
from srcad.ir.substitute import substituted_atom
from srcad.startup.records import dataclass, field, replace
from srcad.types.structures import ListOf, TupleOf, Type

# One step on the way of a list: the op that takes it up, the value that it is there, and what must
# agree for two lists to go the same way.
Step = tuple[Op, Value, Any]
Steps = dict[Value, list[Step | None]]


def with_record_lists(function: Function) -> Function:
    """Collect one tuple per iteration where several lists are filled and read together.

    Every list on the way has exactly one reader, so that the change is not observable.  Inner loops
    come first: what they leave is then one list, which may go into the tuple of an outer one.

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
        plan = _Plan()
        plan.look(function.block, _steps(function.block))
        if not plan.tuples:
            return function
        function = replace(function, block=plan.block(function.block))


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


def _where_parts_alias(op: Loop, steps: Steps) -> Iterator[list[list[Value]]]:
    """For lists of a loop that go the same way: what they are at each step, item by item."""
    groups: dict[Any, list[list[Value]]] = {}
    for output in collected_outputs(op):
        way = _steps_to_reader(output, steps)
        if way is not None:
            key = tuple((id(step[0]), step[2]) for step in way)
            groups.setdefault(key, []).append([output, *(step[1] for step in way)])
    for members in groups.values():
        if len(members) > 1:
            yield members


def _steps_to_reader(value: Value, steps: Steps) -> list[Step] | None:
    """Return the steps of a list to the loop that reads its items.

    None if it does not leave its block.
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
    return way if len(way) > 1 else None


@dataclass(eq=False)
class _Plan:
    """The new value for each value on the way.

    `tuples` are the first lists with what the iteration collects in their place, `parts` the items
    in the place of which there is one tuple; `renamed` are the lists that hold tuples now,
    `dropped` those that are gone, `concerned` all of these and what is in the tuples.
    """

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
                else list(_where_parts_alias(op, steps))
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
            self.renamed[value] = Value(_holding(value.type, made.type), "saved")
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
