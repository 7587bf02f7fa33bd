"""Phi functions: one box for the values of a name on two paths."""

from __future__ import annotations

from srcad.frontend.branches.branch import Branch
from srcad.frontend.branches.joined_objects import (
    in_both,
    is_made_of_values,
    leaks,
    made_in,
    settle_aliases,
    version_in,
)
from srcad.frontend.domain.frames import DEAD, RETURN_NAME
from srcad.frontend.domain.memory import Either, Origin
from srcad.frontend.domain.representation import is_representable, representing_type
from srcad.frontend.domain.structure import (
    Done,
    components,
    is_mutable,
    mapped,
    mutable_parts,
    parts_of_view,
    rebuilt,
    same_structure,
    values_of,
    with_parts,
)
from srcad.frontend.domain.values import (
    UNBOUND,
    AbstractValue,
    BoundValue,
    Choice,
    Conflict,
    Constant,
    Env,
    FunctionValue,
    IteratorValue,
    MethodValue,
    Stale,
    Structure,
    Text,
    Unbound,
)
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside.places import begins_empty, is_place
from srcad.frontend.store.cells import are_equivalent_functions, are_identical
from srcad.frontend.store.origins import (
    current,
    inner_values,
    note_container,
    note_join,
    note_own,
    origin,
    realised,
)
from srcad.frontend.store.runtime_keys import with_run_time_keys
from srcad.ir.core import NONE, RETURN, UNDEF, Atom, Block, Const, If, Try, Value, values_in
from srcad.ir.inference.builder import Builder, atom_type
from srcad.ir.memory import has_storage
from srcad.ir.substitute import substituted
from srcad.startup.records import dataclass, field, replace
from srcad.types.join import is_lost, join, take_lengths_for_equal
from srcad.types.numeric import Numeric
from srcad.types.structures import Type


def _on_either_path(a: AbstractValue, b: AbstractValue) -> AbstractValue:
    """Return one of two identical values; a known one need not be read where one path reads it."""
    if isinstance(a, Text) or not isinstance(a, Constant) or not isinstance(b, Constant):
        return a
    return a if a.atom is b.atom else replace(a, atom=None)


# Joins of control flow: the value and the memory of every name after two paths meet.


@dataclass(eq=False)
class Join:
    """The pairs of atoms that the two branches yield, and the values in which they meet.

    `outside` says that names of a function around are joined: they go on where this one returns.
    """

    state: Machine
    test: Atom
    left: Branch
    right: Branch
    yields: list[tuple[Atom, Atom]] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    known: dict[tuple[int, int], AbstractValue] = field(default_factory=dict)
    kept: list[tuple[AbstractValue, AbstractValue]] = field(default_factory=list)
    objects: list[tuple[tuple[AbstractValue, AbstractValue], AbstractValue]] = field(
        default_factory=list
    )
    pairs: list[tuple[AbstractValue, AbstractValue]] = field(default_factory=list)
    shows: dict[int, dict[Value, set[tuple[int, int]]]] = field(default_factory=dict)
    outside: bool = False
    after: Builder = field(init=False)

    def __post_init__(self) -> None:
        self.after = Builder(where=self.state.builder.where, half=self.state.builder.half)

    def box(self, a: AbstractValue, b: AbstractValue, hint: str | None) -> AbstractValue:
        """Return the value of a name after the join."""
        key = (id(a), id(b))
        if key not in self.known:
            self.known[key] = self._box(a, b, hint)
            self.kept.append((a, b))
        return self.known[key]

    def _box(self, a: AbstractValue, b: AbstractValue, hint: str | None) -> AbstractValue:
        a, b = with_run_time_keys(a, b)
        if isinstance(b, Stale):
            return b
        if isinstance(a, Stale) or are_identical(self.state, a, b):
            return _on_either_path(a, b)
        if same_structure(a, b) or are_equivalent_functions(self.state, a, b):
            return self._by_parts(a, b)
        if isinstance(a, Unbound):
            return self._is_bound_on_one_side(b, hint, left=False)
        if isinstance(b, Unbound):
            return self._is_bound_on_one_side(a, hint, left=True)
        if not is_representable(a) or not is_representable(b) or self._is_vague(a, b):
            return self._choice(a, b)
        if isinstance(a, Value) and isinstance(b, Value):
            view = self._view(a, b, hint)
            if view is not None:
                return view
        output = self.atom(self._inside(self.left, a), self._inside(self.right, b), hint)
        if isinstance(a, Structure) and isinstance(b, Structure):
            note_container(self.state, output)  # one list, longer on one path than on the other
        return output

    def _by_parts(self, a: AbstractValue, b: AbstractValue) -> AbstractValue:
        """One structure, or function, that holds this on one path and that on the other."""
        pairs = zip(parts_of_view(a), parts_of_view(b), strict=True)
        met = tuple(self.box(x, y, None) for x, y in pairs)
        if not isinstance(a, Structure) and any(isinstance(part, Conflict) for part in met):
            return Conflict(a, b) if isinstance(a, Choice) else self._choice(a, b)
        return with_parts(a, met)

    def _choice(self, a: AbstractValue, b: AbstractValue) -> AbstractValue:
        """Return a guarded choice of two values without a common run-time representation."""
        left, right = self._carried_out(a, left=True), self._carried_out(b, left=False)
        if left is None or right is None or not isinstance(self.test, Value):
            return Conflict(a, b)
        test = self.test
        if has_storage(test):  # it may be written into
            test = self.atom(Const(True), Const(False), None)
        return Choice(test, left, right)

    def _carried_out(self, box: AbstractValue, *, left: bool) -> AbstractValue | None:
        """Return the value that a branch leaves, as visible after the join; None if it is not.

        What has no value of its own, but holds values that were made in the branch, holds the
        results of the conditional instead.
        """
        state, branch, other = self.state, self.left, self.right
        if not left:
            branch, other = other, branch
        made = made_in(branch)
        if not is_made_of_values(box) or leaks(state, box, made):
            return None
        kept, done = in_both(self.pairs), Done()

        def change(part: AbstractValue) -> AbstractValue | None:
            if isinstance(part, Stale) or id(part) in kept:
                return part
            if not isinstance(part, Value):
                return None
            there: AbstractValue = UNBOUND
            if has_storage(part):
                there = version_in(state, part, other) or UNBOUND
            if part is there or (there is UNBOUND and part not in made and not is_mutable(part)):
                return part
            return self.box(part, there, None) if left else self.box(there, part, None)

        found = mapped(box, change, done)
        for before, after in done.values():
            if isinstance(before, Structure) and is_mutable(before) and id(before) not in kept:
                pair = (before, UNBOUND) if left else (UNBOUND, before)
                self.objects.append((pair, after))
        return found

    def _is_vague(self, a: AbstractValue, b: AbstractValue) -> bool:
        """Return True if an active structure meets a value of an unrelated kind."""
        types = [representing_type(a), representing_type(b)]
        joined = join(*types)
        lost = any(is_lost(type_, joined) for type_ in types)
        return lost and self.state.is_active(a, b)

    def _view(self, a: Value, b: Value, hint: str | None) -> AbstractValue | None:
        """Return a view of one array on both paths, taken anew of that array's later version."""
        state, found = self.state, origin(self.state, a)
        if not found.steps or not found.is_exact or found != origin(state, b):
            return None
        (object_,) = found.objects
        roots = [current(state, object_, branch.envs) for branch in (self.left, self.right)]
        if roots[0] is None or roots[1] is None or self._may_be_missing(roots[0], roots[1]):
            return None
        root = self.box(roots[0], roots[1], roots[0].hint)
        assert isinstance(root, Value)
        before, state.builder = state.builder, self.after
        try:
            return realised(state, root, found.steps, hint or a.hint)
        finally:
            state.builder = before

    def _may_be_missing(self, *values: Value) -> bool:
        """Return True if some path reaches the join without a value."""
        state = self.state
        return any(v in state.partial or v in state.perhaps_unbound for v in values)

    def _is_bound_on_one_side(
        self, box: AbstractValue, hint: str | None, *, left: bool
    ) -> AbstractValue:
        if isinstance(box, Structure):
            pairs = ((b, UNBOUND) if left else (UNBOUND, b) for b in box.items)
            return rebuilt(box, tuple(self.box(x, y, None) for x, y in pairs))
        if isinstance(box, IteratorValue):
            parts = tuple(self._is_bound_on_one_side(b, None, left=left) for b in box.parts)
            return IteratorValue(box.kind, parts)
        if isinstance(box, FunctionValue | BoundValue | MethodValue | Choice):
            pairs = ((b, UNBOUND) if left else (UNBOUND, b) for b in components(box))
            parts = tuple(self.box(x, y, None) for x, y in pairs)
            made = made_in(self.left if left else self.right)
            vague = any(isinstance(part, Conflict) for part in parts) or leaks(
                self.state, box, made
            )
            return Conflict(box, UNBOUND) if vague else with_parts(box, parts)
        if not isinstance(box, Value):
            return Conflict(box, UNBOUND) if values_of(box) else box
        output = self.atom(box, UNDEF, hint) if left else self.atom(UNDEF, box, hint)
        other = self.right if left else self.left
        if other.exit != DEAD and (self.outside or not other.is_left):
            self.state.unbound_if[output] = (self.test, not left)
            self.state.perhaps_unbound[output] = None
        else:
            self.state.partial.add(output)
        return output

    def _inside(self, branch: Branch, box: AbstractValue) -> Atom:
        """Build a structure inside the branch that yields it."""
        before, self.state.builder = self.state.builder, branch.builder
        try:
            return self.state.atom(box)
        finally:
            self.state.builder = before

    def atom(self, a: Atom, b: Atom, hint: str | None) -> Value:
        """Return a value that is `a` on the left path and `b` on the right."""
        take_lengths_for_equal(type_of_atom(a), type_of_atom(b))
        output = Value(join(type_of_atom(a), type_of_atom(b)), hint or _hint(a, b))
        self.yields.append((a, b))
        self.outputs.append(output)
        if any(isinstance(x, Value) and x in self.state.active for x in (a, b)):
            self.state.active.add(output)
        if any(isinstance(x, Value) and x in self.state.perhaps_unbound for x in (a, b)):
            self.state.perhaps_unbound[output] = None
        if a in self.state.partial or b in self.state.partial:
            self.state.partial.add(output)
        note_join(self.state, a, b, output)
        if has_storage(output) and not origin(self.state, output).is_exact:
            self._note_either(a, b, output)
        return output

    def _note_either(self, a: Atom, b: Atom, output: Value) -> None:
        """Record the memory of a value that may alias several arrays."""
        state = self.state
        values = [x for x in (a, b) if isinstance(x, Value) and origin(state, x).objects]
        if not values:
            return
        form = output.type.form if isinstance(output.type, Numeric) else "array"
        if form == "array" and self._are_alone(a, b):
            note_own(state, output, *values)
        elif UNDEF in (a, b) and (self.left if a == UNDEF else self.right).is_left:
            # where it goes on, it is bound
            state.origins[output] = self._origin_outside(origin(state, values[0]), left=b == UNDEF)
            state.partial.add(output)
            self._keep(values[0], output, left=b == UNDEF)
        else:
            sides = self._sighted(a, left=True), self._sighted(b, left=False)
            state.either[output] = Either(self.test, *sides)

    def _sighted(self, atom: Atom, *, left: bool) -> Atom:
        """Return an atom of a branch, or its replacement outside.

        That is another value if the atom is ambiguous by itself, or seen by an index of the branch.
        """
        state = self.state
        if not isinstance(atom, Value):
            return atom
        known = origin(state, atom)
        seen = self._origin_outside(known, left=left)
        if seen is known and atom not in state.either:
            return atom
        found = Value(atom.type, atom.hint)
        state.origins[found] = seen
        self._keep(atom, found, left=left)
        return found

    def _origin_outside(self, found: Origin, *, left: bool) -> Origin:
        """Whose memory a value of a branch is, by steps whose indices can be seen outside of it."""
        ops = (self.left if left else self.right).builder.ops
        made = {result for op in ops for result in op.results} if found.steps else set()
        args = [arg for step in found.steps or () for arg in step.args]
        named = [v for arg in args for v in values_in(arg) if v in made]
        if not named:
            return found
        seen = {v: self.atom(v, UNDEF, None) if left else self.atom(UNDEF, v, None) for v in named}
        steps = tuple(
            replace(step, args=tuple(substituted(arg, seen) for arg in step.args))
            for step in found.steps or ()
        )
        return replace(found, steps=steps)

    def _keep(self, inner: Value, outer: Value, *, left: bool) -> None:
        """Note the tests inside a branch that tell what a value is, where they can be seen."""
        either = self.state.either.get(inner)
        if either is not None:
            test = either.test
            pair = (test, Const(False)) if left else (Const(False), test)
            sides = (self._sighted(side, left=left) for side in (either.left, either.right))
            self.state.either[outer] = Either(self.atom(pair[0], pair[1], None), *sides)

    def _are_alone(self, a: Atom, b: Atom) -> bool:
        """Return True if on either path only names that meet in this value show its memory."""
        return all(
            self.aliases_on_path(path, o) <= {(id(a), id(b))}
            for path, atom in enumerate((a, b))
            if isinstance(atom, Value)
            for o in origin(self.state, atom).everything
        )

    def aliases_on_path(self, path: int, object_: Value) -> set[tuple[int, int]]:
        """Return the aliases of an array on a path: pairs of boxes, or structures that hold it."""
        if path not in self.shows:
            found = self.shows[path] = dict[Value, set[tuple[int, int]]]()
            for pair in self.pairs:
                for value in inner_values(pair[path]):
                    key = (id(pair[0]), id(pair[1])) if value is pair[path] else (id(pair), 0)
                    for one in origin(self.state, value).everything:
                        found.setdefault(one, set()).add(key)
        return self.shows[path].get(object_, set())

    def keep_aliases(self) -> None:
        """Record the uncertainty if one object on a path becomes two afterwards."""
        rows: list[tuple[tuple[AbstractValue, ...], AbstractValue]] = [*self.objects]
        for a, b in self.kept:
            if a is b:
                rows += [((part, part), part) for part in mutable_parts(a)]
            else:
                rows.append(((a, b), self.known[id(a), id(b)]))
        settle_aliases(self.state, rows)


def type_of_atom(atom: Atom) -> Type:
    """Return the type of the result of a branch.

    An int constant stays just an int where paths meet.
    """
    return atom_type(atom)


def _hint(a: Atom, b: Atom) -> str | None:
    return next((x.hint for x in (a, b) if isinstance(x, Value) and x.hint), None)


@dataclass(eq=False)
class Raised:
    """The failures that lead to the other branch of a try region: classes and the exception."""

    catches: tuple[type[BaseException], ...]
    error: Value


def join_branches(
    state: Machine, test: Atom, left: Branch, right: Branch, failure: Raised | None = None
) -> None:
    """Append the conditional that joins two branches, and rebind every name."""
    joined = Join(state, test, left, right)
    if failure is not None:
        joined.test = joined.atom(Const(True), Const(False), "done")
    frame = state.frame
    if DEAD in (left.exit, right.exit) and left.exit != right.exit:
        exit_, tags = (right.exit, right.tags) if left.exit == DEAD else (left.exit, left.tags)
    else:
        exit_, tags = left.exit, left.tags | right.tags
    both = isinstance(left.exit, int) and isinstance(right.exit, int)
    differs = (left.exit != right.exit) if both else (left.exit is not right.exit)
    merged: Atom | int = exit_
    if (differs and DEAD not in (left.exit, right.exit)) or (differs and isinstance(exit_, Value)):
        merged = joined.atom(_tag(left.exit), _tag(right.exit), "tag")
    rows = [
        _pairs(joined, a, b, ends=index == len(left.envs) - 1 and not frame.awaited)
        for index, (a, b) in enumerate(zip(left.envs, right.envs, strict=True))
    ]
    joined.pairs = [pair for row in rows for pair in row.values()]
    envs = [_names(joined, row, outside=k < len(rows) - 1) for k, row in enumerate(rows)]
    joined.keep_aliases()
    then = _block(left, [a for a, _ in joined.yields])
    orelse = _block(right, [b for _, b in joined.yields])
    outputs, builder = tuple(joined.outputs), state.builder
    if failure is not None:
        orelse = Block((failure.error,), orelse.ops, orelse.results)
        builder.ops.append(
            Try(
                test=test,
                then=then,
                orelse=orelse,
                outputs=outputs,
                catches=failure.catches,
                where=builder.where,
                half=builder.half,
            )
        )
    elif then.ops or orelse.ops or outputs:
        builder.ops.append(
            If(
                test=test,
                then=then,
                orelse=orelse,
                outputs=outputs,
                where=builder.where,
                half=builder.half,
            )
        )
    builder.ops += joined.after.ops
    state.restore(envs)
    assert not isinstance(merged, Const)
    frame.exit, frame.tags = merged, tags


def _tag(exit_: int | Value) -> Atom:
    return Const(max(exit_, NONE)) if isinstance(exit_, int) else exit_


def _block(branch: Branch, results: list[Atom]) -> Block:
    return Block((), tuple(branch.builder.ops), tuple(results))


def _pairs(
    joined: Join, a: Env, b: Env, *, ends: bool
) -> dict[str, tuple[AbstractValue, AbstractValue]]:
    """Return the value of every name on either path."""
    found: dict[str, tuple[AbstractValue, AbstractValue]] = {}
    for name in dict.fromkeys([*a, *b]):
        left, right = a.get(name, UNBOUND), b.get(name, UNBOUND)
        if left is not right:
            left = _if_alive(left, joined.left.exit, name, ends=ends)
            right = _if_alive(right, joined.right.exit, name, ends=ends)
        found[name] = left, right
    return found


def _names(
    joined: Join, row: dict[str, tuple[AbstractValue, AbstractValue]], *, outside: bool
) -> Env:
    joined.outside = outside
    merged: Env = {}
    for name, (left, right) in row.items():
        if is_place(name) and _is_written_on_one_path(joined, name):
            there = right if isinstance(left, Unbound) else left
            merged[name] = Stale(there, joined.state.builder.where)
            continue
        box = joined.box(left, right, None if name.startswith("%") else name)
        if not isinstance(box, Unbound):
            merged[name] = box
    return merged


def _is_written_on_one_path(joined: Join, name: str) -> bool:
    """Return True if one of two paths has written a place of which no more is known."""
    envs = [branch.envs[0] for branch in (joined.left, joined.right) if branch.exit != DEAD]
    if len({name in env for env in envs}) == 1:
        return False
    there = next(env[name] for env in envs if name in env)
    return not begins_empty(joined.state, name) or not isinstance(there, Value)


def _if_alive(box: AbstractValue, exit_: int | Value, name: str, *, ends: bool) -> AbstractValue:
    """Return the value of a name on a path that raises or returns: none, except for the result."""
    if exit_ == DEAD or (ends and exit_ == RETURN and name != RETURN_NAME):
        return UNBOUND
    return box
