"""Reverse the operations of a block, from the last to the first: conditionals and loops.

The reverse of a conditional is a conditional on the same, recorded, test.  The reverse of a loop is
a loop over the same iterations from the end: it carries the cotangents of what the loop carries,
and one accumulator for each value from outside that an iteration reads.

The code is written as if all values of the primal were in scope, also those from inside its blocks;
`residuals` closes what this leaves open.
"""

from __future__ import annotations

import operator
from typing import Any

from srcad.analysis.activity import items_activity
from srcad.analysis.activity_trees import Activity, either_active
from srcad.analysis.trips import counts_from_zero, equally_long, is_range, may_exit
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
    If,
    Loop,
    Op,
    Value,
    While,
    carried_outputs,
    collected_outputs,
)
from srcad.ir.inference.builder import Builder, atom_type
from srcad.ir.substitute import substituted_call
from srcad.ir.traits import is_checkpoint
from srcad.passes import retype
from srcad.startup.records import replace
from srcad.transforms.calls import undo_call
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.mirror import is_free_view, makes_version
from srcad.transforms.structure import add_at, add_to_item, rows_as_list
from srcad.transforms.sweep import (
    Path,
    Slot,
    bar_hint,
    cotangent_type,
    is_scalar,
    item_type,
    leaf_paths,
    type_at,
)
from srcad.types.join import join
from srcad.types.numeric import INT, Numeric
from srcad.types.structures import ListOf, TupleOf, Type


def undo_block(scope: ReverseScope) -> None:
    """Undo every op of the scope's block, the last one first.

    `vjp` runs it over the block of a function; a conditional becomes one on the same test.

    >>> from srcad.frontend.lower import lower_inline
    >>> from srcad.transforms.vjp import vjp
    >>> function = parse('''
    ... f(x: float, test: bool):
    ...     if test -> y:
    ...         t = sin(x)
    ...         yield t
    ...     else:
    ...         yield x
    ...     return y
    ... ''')
    >>> print(text(vjp(function, [0], lower_inline)))
    f(x, test, seed):
        if test -> y:
            t = sin(x)
            yield t
        else:
            yield x
        if test -> x_bar:
            t1 = cos(x)
            x_bar_2 = mul(seed, t1)
            yield x_bar_2
        else:
            yield seed
        x_bar_3 = float(x_bar)
        return y, x_bar_3
    """
    for op in reversed(scope.block.ops):
        start = len(scope.builder.ops)
        match op:
            case Call():
                undo_call(scope, op)
            case If():
                _undo_if(scope, op)
            case For() | While():
                _LoopReversal(scope, op).run()
        reread(scope, start)
        put_back(scope, op)


# ------------------------------------------------------------------------------- conditionals
def _undo_if(scope: ReverseScope, op: If) -> None:
    found = {output: bars for output in op.outputs if (bars := scope.take(output))}
    mirrors = ArmMirrors(scope, op)
    if not found and not mirrors.places:
        return
    scope.builder.where = op.where
    branches = []
    for block in (op.then, op.orelse):
        branch = scope.inner(block, "branch")
        mirrors.open(branch, block)
        for output, result in zip(op.outputs, block.results, strict=True):
            for path, bar in found.get(output, {}).items():
                _seed(branch, result, path, bar)
        undo_block(branch)
        branches.append(branch)
    touched = list(dict.fromkeys([*branches[0].outer, *branches[1].outer]))
    if not touched and not mirrors.places:
        return
    scope.builder.where = op.where
    yields = [[_after_branch(scope, branch, slot) for slot in touched] for branch in branches]
    for k, slot in enumerate(touched):
        _agree(slot, branches, yields, k)
    if is_checkpoint(op):
        yields[1] = yields[0]
    outputs = tuple(_joined(scope, slot, a, b) for slot, a, b in zip(touched, *yields, strict=True))
    if is_checkpoint(op):
        branches[1].builder.ops, yields[1] = [], [UNDEF] * len(touched)
    then, orelse = (
        Block((), tuple(branch.builder.ops), (*results, *mirrors.yields(branch)))
        for branch, results in zip(branches, yields, strict=True)
    )
    put = mirrors.outputs()
    scope.builder.ops.append(
        If(
            test=op.chosen_by,
            then=then,
            orelse=orelse,
            outputs=(*outputs, *put),
            where=op.where,
            half="reverse",
        )
    )
    mirrors.hand_on(put)
    for slot, output in zip(touched, outputs, strict=True):
        scope.replace(slot, output)


def _seed(branch: ReverseScope, result: Atom, path: Path, bar: Atom) -> None:
    """Hand a cotangent to what a block yields, ready for use if that is surely bound."""
    if isinstance(result, Value):
        if branch.is_lazy(bar) and result not in branch.sweep.undefined:
            if not branch.is_active((result, path)):
                return
            bar = branch.ready(bar, result, path)
        branch.contribute(result, path, bar)


def _after_branch(scope: ReverseScope, branch: ReverseScope, slot: Slot) -> Atom:
    """Return the cotangent of an outer slot at the end of a branch."""
    bar = branch.total(slot) if slot in branch.outer else scope.total(slot)
    return branch.zeros(*slot) if bar is None else bar


def _agree(slot: Slot, branches: list[ReverseScope], yields: list[list[Atom]], k: int) -> None:
    """Make the cotangent of a list a list in both branches, if it is one in either."""
    type_ = type_at(slot[0].type, slot[1])
    if isinstance(type_, ListOf) and any(isinstance(y[k].type, ListOf) for y in yields):
        for branch, results in zip(branches, yields, strict=True):
            if isinstance(results[k].type, Numeric):
                results[k] = rows_as_list(branch, results[k], type_.item)


def _joined(scope: ReverseScope, slot: Slot, a: Atom, b: Atom) -> Value:
    output = Value(_bar_type(scope, slot, (a, b)), bar_hint(slot[0]))
    if any(scope.is_lazy(atom) for atom in (a, b)):
        scope.sweep.lazy.add(output)
    return output


def _bar_type(scope: ReverseScope, slot: Slot, atoms: tuple[Atom, ...]) -> Any:
    """Return the joined type of cotangents.

    Where one may be None, the type that the slot asks for.
    """
    if any(scope.is_lazy(atom) for atom in atoms):
        return cotangent_type(type_at(slot[0].type, slot[1]))
    result = atoms[0].type
    for atom in atoms[1:]:
        result = join(result, atom.type)
    return result


# ------------------------------------------------------------------------------- loops
class _LoopReversal:
    """Builds the reverse loop of one `For` or `While`."""

    def __init__(self, scope: ReverseScope, op: Loop) -> None:
        self.scope = scope
        self.op = op
        self.body = scope.inner(op.body, "loop")
        self.seqs: list[Arg] = []
        self.items: list[Value] = []
        self.inits: list[Atom] = []
        self.params: list[Value] = []
        self.slots: list[tuple[int, Path]] = []
        self.index: Value | None = None
        self.collected: list[tuple[Arg, Atom]] = []
        self.mirrors = LoopMirrors(scope, self.body, op)

    def run(self) -> None:
        """Append the reverse loop, and contribute its results."""
        scope, op = self.scope, self.op
        scope.builder.where = self.body.builder.where = op.where
        width = len(op.inits)
        results = op.body.results[1:]
        carried = zip(carried_outputs(op), results[:width], strict=True)
        for k, (output, result) in enumerate(carried):
            self._seed_carried(k, output, result)
        for output, result in zip(collected_outputs(op), results[width:], strict=True):
            self._seed_collected(output, result)
        if not self.params and not self.items and not self.mirrors.params:
            return
        undo_block(self.body)
        self.body.builder.where = op.where
        following = [self._following(k, path) for k, path in self.slots]
        self._give_items()
        self._append(following)

    # -------------------------------------------------------------- what comes in
    def _tree(self, k: int) -> Activity:
        facts = self.scope.sweep.facts
        return either_active(
            facts.active(carried_outputs(self.op)[k]), facts.active(self.op.carried[k])
        )

    def _seed_carried(self, k: int, output: Value, result: Atom) -> None:
        scope = self.scope
        found = {}
        for path in leaf_paths(output.type, scope.sweep.facts.active(output)):
            bar = scope.total((output, path))
            if bar is not None:
                found[path] = bar
        tree = self._tree(k)
        for path in leaf_paths(output.type, tree):
            bar = found.get(path)
            if bar is None:
                bar = scope.zeros(output, path)
            type_ = self._type_of_all(bar, cotangent_type(type_at(output.type, path)))
            param = Value(type_, bar_hint(output) if not path else None)
            if scope.is_lazy(bar) or output in scope.sweep.undefined:
                param.type = cotangent_type(type_at(output.type, path))
                if scope.is_lazy(bar) or not is_scalar(param.type):
                    scope.sweep.lazy.add(param)
            self.inits.append(bar)
            self.params.append(param)
            self.slots.append((k, path))
            _seed(self.body, result, path, param)

    def _type_of_all(self, bar: Atom, wide: Type) -> Type:
        """Return the type of a carried cotangent before the body is undone.

        Where the value may be complex and the cotangent after the loop is real, as a zero is, it
        is complex in other iterations: their real part must be taken for a real operand.
        """
        sweep = self.scope.sweep
        if sweep.holds_complex(bar.type) or not sweep.holds_complex(wide):
            return bar.type
        return join(bar.type, wide)

    def _seed_collected(self, output: Value, result: Atom) -> None:
        bar = self.scope.total((output, ()))
        if bar is None:
            return
        assert isinstance(output.type, ListOf)
        tree = self.scope.sweep.facts.active(output)
        item = Value(item_type(atom_type(bar), output.type.item, tree), _item_hint(result))
        if output in self.scope.sweep.undefined:
            self.scope.sweep.lazy.add(item)
        self.seqs.append(self.scope.filled(bar, output))
        self.items.append(item)
        self.body.contribute(result, (), item)

    # -------------------------------------------------------------- what comes out
    def _following(self, k: int, path: Path) -> Atom:
        """Return the cotangent of a carried value before the iteration."""
        param = self.op.carried[k]
        bar = self.body.total((param, path))
        if bar is not None:
            return bar
        here = type_at(param.type, path)
        if is_scalar(here):
            return Const(0.0)
        position = self.slots.index((k, path))
        before = type_at(self.op.body.results[1 + k].type, path)
        if _same_shape(before, here) and not self.scope.is_lazy(self.params[position]):
            return self.body.zeros_of(self.params[position].type, True, self.params[position])
        return self.body.zeros(param, path)

    def _give_items(self) -> None:
        if not isinstance(self.op, For):
            return
        for item, seq in zip(self.op.items, self.op.seqs, strict=True):
            bars = self.body.take(item)
            if not bars or is_range(seq):
                continue
            type_ = argument_type(seq)
            if isinstance(seq, Value) and isinstance(type_, ListOf | TupleOf):
                self._give_list_items(seq, item, bars)
            elif isinstance(seq, Value):
                add_at(self.body, seq, self._index(), bars[()])
            else:
                self.collected.append((seq, self.body.pack(item, bars)))

    def _give_list_items(self, seq: Value, item: Value, bars: dict[Path, Atom]) -> None:
        wanted = items_activity(seq.type, self.scope.sweep.facts.active(seq))
        packed = self.body.pack(item, bars, wanted)
        assert isinstance(self.op, For)
        whole = isinstance(seq.type, TupleOf) or self._is_whole(self.op)
        if whole:
            self.collected.append((seq, packed))
        else:
            add_to_item(self.body, seq, self._index(), packed)

    def _is_whole(self, op: For) -> bool:
        """Return True if every item of every sequence has an iteration."""
        return equally_long(op) and not may_exit(op)

    def _index(self) -> Value:
        """Return the index of an iteration, as one more item of the reverse loop."""
        op = self.op
        if isinstance(op, For) and not (op.backward and may_exit(op)):
            for seq, item in zip(op.seqs, op.items, strict=True):
                if counts_from_zero(seq):
                    return item
        if self.index is None:
            builder = self.scope.builder
            self.index = Value(INT, "k")
            self.seqs.append(self._indices(builder))
            self.items.append(self.index)
        return self.index

    def _indices(self, builder: Builder) -> Display:
        op = self.op
        assert isinstance(op, For)
        if op.backward and may_exit(op):
            rows: Arg = op.count if op.count is not None else builder.call(len, op.seqs[0])
            start = builder.call(operator.sub, rows, op.outputs[1])
            return Display("range", (start, rows, Const(1)))
        if self._is_whole(op):
            return Display("range", (Const(0), builder.call(len, op.seqs[0]), Const(1)))
        return Display("range", (Const(0), op.outputs[1], Const(1)))

    # -------------------------------------------------------------- putting it together
    def _append(self, following: list[Atom]) -> None:
        """Append the loop, with an accumulator for each outer value that was contributed to."""
        op, body = self.op, self.body
        slots, params, inits, after = [], list(self.params), list(self.inits), list(following)
        for slot, param in body.outer.items():
            bar = body.total(slot)
            assert param is not None
            assert bar is not None
            slots.append(slot)
            params.append(param)
            inits.append(self._before(slot))
            after.append(bar)
        retype.settle(params, inits, after, body.builder.ops, self.scope.sweep.lazy)
        width = len(params)
        params += self.mirrors.params
        inits += self.mirrors.inits
        after += self.mirrors.following()
        yields = (Const(0), *after, *(packed for _, packed in self.collected))
        block = Block((*self.items, *params), tuple(body.builder.ops), yields)
        finals = [Value(p.type, p.hint) for p in params]
        lists = [Value(ListOf(atom_type(atom))) for _, atom in self.collected]
        self._mark_lazy(params, finals, lists)
        tag, trips = Value(INT, "tag"), Value(INT, "trips")
        self.scope.builder.where = op.where
        self.scope.builder.ops.append(
            For(
                seqs=tuple(self.seqs),
                inits=tuple(inits),
                body=block,
                outputs=(tag, trips, *finals, *lists),
                count=op.outputs[1],
                backward=not (isinstance(op, For) and op.backward),
                where=op.where,
                half="reverse",
            )
        )
        self._hand_on(slots, finals[:width], lists)
        self.mirrors.hand_on(finals[width:])

    def _mark_lazy(self, params: list[Value], finals: list[Value], lists: list[Value]) -> None:
        inside = [*params, *(packed for _, packed in self.collected)]
        pairs = zip([*finals, *lists], inside, strict=True)
        self.scope.sweep.lazy.update(value for value, atom in pairs if self.body.is_lazy(atom))

    def _hand_on(self, slots: list[Slot], finals: list[Value], lists: list[Value]) -> None:
        """Contribute what the loop yields to the values from before the loop."""
        scope, carried = self.scope, len(self.slots)
        for slot, final in zip(slots, finals[carried:], strict=True):
            scope.replace(slot, final)
        for (k, path), final in zip(self.slots, finals[:carried], strict=True):
            scope.contribute(self.op.inits[k], path, final)
        for (seq, _), bars in zip(self.collected, lists, strict=True):
            if isinstance(seq, Value) and isinstance(seq.type, ListOf):
                scope.contribute(seq, (), bars)
            else:
                _spread(scope, seq, bars)

    def _before(self, slot: Slot) -> Atom:
        bar = self.scope.enter(slot)
        return self.scope.zeros(*slot) if bar is None else self.scope.ready(bar, *slot)


def _item_hint(result: Atom) -> str | None:
    return bar_hint(result) if isinstance(result, Value) else None


def _spread(scope: ReverseScope, seq: Arg, bars: Value) -> None:
    """Contribute the items of a list of cotangents to the parts of a tuple."""
    type_ = argument_type(seq)
    count = len(seq.items) if isinstance(seq, Display) else len(getattr(type_, "items", ()))
    for k in range(count):
        value, path = (seq.items[k], ()) if isinstance(seq, Display) else (seq, (k,))
        if isinstance(value, Value) and scope.is_active((value, path)):
            scope.contribute(value, path, scope.call(operator.getitem, bars, Const(k)))


def _same_shape(a: Any, b: Any) -> bool:
    if not isinstance(a, Numeric) or not isinstance(b, Numeric):
        return False
    return a.shape is not None and a.shape == b.shape


# Restored versions of an overwritten array at each point of the reverse pass.


def mirrored(scope: ReverseScope, value: Atom) -> Atom | None:
    """Return a version of an array as the reverse half has it; None where it has not."""
    mirrors = scope.sweep.mirrors
    if mirrors is None or value not in mirrors:
        return None
    assert isinstance(value, Value)
    here: ReverseScope | None = scope
    while here is not None:
        if value in here.mirror:
            return here.mirror[value]
        here = here.parent
    return value if mirrors.versions.depth(value) == 0 else None


def put_back(scope: ReverseScope, op: Op) -> None:
    """Undo a store on the mirror: put back the overwritten entries."""
    mirrors = scope.sweep.mirrors
    if mirrors is None or not isinstance(op, Call) or op.result not in mirrors.old:
        return
    now = mirrored(scope, op.result)
    before = op.args[0]
    if makes_version(op) and isinstance(now, Value) and isinstance(before, Value):
        old = mirrors.old[op.result]
        scope.mirror[before] = scope.updated(now, op.args[1], old, hint=before.hint)


def reread(scope: ReverseScope, start: int) -> None:
    """Let the ops written since read overwritten arrays from their mirrors."""
    if scope.sweep.mirrors is None:
        return
    ops = scope.builder.ops[start:]
    del scope.builder.ops[start:]
    for op in ops:
        if isinstance(op, Call):
            found = {v: again for v in op.operands if (again := _again(scope, v)) is not None}
            op = substituted_call(op, found) if found else op
        scope.builder.ops.append(op)


def _again(scope: ReverseScope, value: Value) -> Atom | None:
    """Return a read of an overwritten array, made again of its mirror."""
    mirrors = scope.sweep.mirrors
    assert mirrors is not None
    if not mirrors.versions.depth(value):
        return None
    if value in mirrors:
        return mirrored(scope, value)
    call = scope.sweep.made.get(value)
    if call is None or not is_free_view(call) or call.half == "reverse":
        return None
    array = call.args[0]
    again = _again(scope, array) if isinstance(array, Value) else None
    if again is None:
        return None
    result = Value(value.type, value.hint)
    copy = replace(call, args=(again, *call.args[1:]), result=result, half="reverse")
    scope.builder.ops.append(replace(copy, where=scope.builder.where))
    return result


# ------------------------------------------------------------------------------- loops
class LoopMirrors:
    """The mirrors that a reverse loop carries."""

    def __init__(self, scope: ReverseScope, body: ReverseScope, op: Loop) -> None:
        self.scope, self.body, self.op = scope, body, op
        self.positions: list[int] = []
        self.params: list[Value] = []
        self.inits: list[Atom] = []
        for k, output in enumerate(carried_outputs(op)):
            now = mirrored(scope, output)
            result = op.body.results[1 + k]
            if now is not None and isinstance(result, Value):
                param = Value(output.type, output.hint)
                body.mirror[result] = param
                self.positions.append(k)
                self.params.append(param)
                self.inits.append(now)

    def following(self) -> list[Atom]:
        """Return the mirrors at the start of an iteration."""
        found = [self.body.mirror.get(self.op.carried[k]) for k in self.positions]
        assert all(atom is not None for atom in found), "a mirror that is not carried on"
        return [atom for atom in found if atom is not None]

    def hand_on(self, finals: list[Value]) -> None:
        """Hand on the mirrors as they were before the loop."""
        for k, final in zip(self.positions, finals, strict=True):
            init = self.op.inits[k]
            if isinstance(init, Value):
                self.scope.mirror[init] = final


# ------------------------------------------------------------------------------- conditionals
class ArmMirrors:
    """The mirrors that the two branches of a conditional put back."""

    def __init__(self, scope: ReverseScope, op: If) -> None:
        self.scope, self.op = scope, op
        self.before: list[Value] = []
        self.places: list[tuple[int, Atom]] = []
        mirrors = scope.sweep.mirrors
        if mirrors is None:
            return
        for k, output in enumerate(op.outputs):
            if output not in mirrors or not mirrors.versions.depth(output):
                continue  # outside of loops every version is still there
            now = mirrored(scope, output)
            origins = [mirrors.versions.origin(branch.results[k], branch) for branch in op.blocks]
            if now is not None and origins[0] is origins[1] and origins[0] is not None:
                self.before.append(origins[0])
                self.places.append((k, now))

    def open(self, branch: ReverseScope, block: Block) -> None:
        """Let a branch begin with the mirrors as they are behind the conditional."""
        for k, now in self.places:
            result = block.results[k]
            if isinstance(result, Value):
                branch.mirror[result] = now

    def yields(self, branch: ReverseScope) -> list[Atom]:
        """Return the mirrors at the start of a branch."""
        return [branch.mirror[value] for value in self.before]

    def hand_on(self, outputs: list[Value]) -> None:
        """Hand on the mirrors as they were before the conditional."""
        for value, output in zip(self.before, outputs, strict=True):
            self.scope.mirror[value] = output

    def outputs(self) -> list[Value]:
        """Return new values for the results of the branches."""
        return [Value(value.type, value.hint) for value in self.before]
