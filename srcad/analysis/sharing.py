"""Which values may share storage: classes of values, decided without regard to order.

Every value that is not certainly a number has two storages: its *own* (the array's buffer, the
list itself) and that of its *parts* (what a list or tuple holds).  A call of a function that is
known to make a new array joins nothing; a view joins its operand; whatever is unknown joins all
of its operands.  So the classes may be too large, never too small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from srcad import runtime
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
    Value,
    While,
    carried_outputs,
    collected_outputs,
    values_in,
    walk,
)
from srcad.ir.definitions import DisjointSets, calls_by_result
from srcad.ir.memory import (
    COPIES,
    has_storage,
    is_one_of,
    keeps_last,
    makes_fresh,
    module_of,
    reads_a_copy,
)
from srcad.ir.operations import Gathers, memory_effect
from srcad.ir.traits import (
    built_parts,
    is_builder,
    is_indexed,
    is_part,
    is_read_only,
    is_store,
    puts_in,
)
from srcad.startup.records import dataclass, field
from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf, TupleOf

# Helpers that return their first argument, or something new.
_FIRST_ONLY = frozenset({runtime.unbroadcast, runtime.checked_rows, runtime.or_zeros})
_HELPERS = runtime.__name__
_NUMBERS = frozenset({float, int, bool, complex, len, str})
Node = tuple[Any, str]


@dataclass(eq=False)
class Sharing(DisjointSets[Node]):
    """The classes; `foreign` are those that somebody outside the function can see.

    `rigid` are the values that may be read-only views.  `several` are the results of calls of
    routines, each a tuple of so many: what these share is known one by one.
    """

    parents: dict[Node, Node] = field(default_factory=dict)
    foreign_nodes: list[Node] = field(default_factory=list)
    foreign: set[Node] = field(default_factory=set)
    with_axes: set[Node] = field(default_factory=set)
    candidates: frozenset[Call] = frozenset()
    only_returned: frozenset[Value] = frozenset()
    rigid: set[Value] = field(default_factory=set)
    several: dict[Value, int] = field(default_factory=dict)

    def own(self, value: Value) -> Node:
        """Return the class of a value's own storage."""
        return self.find((value, "own"))

    def parts(self, value: Value) -> Node:
        """Return the alias class of the parts of a value."""
        return self.find((value, "parts"))

    def is_foreign(self, value: Value) -> bool:
        """Return True if the storage of a value may be reachable outside the function."""
        return self.own(value) in self.foreign

    def shares(self, node: Node, value: Value) -> bool:
        """Return True if a value, or something that it holds, may lie in a class."""
        return has_storage(value) and node in (self.own(value), self.parts(value))

    # -------------------------------------------------------------------------- relations
    def same(self, a: Atom, b: Atom) -> None:
        """Two names of one object."""
        if not has_storage(a) or not has_storage(b):
            return
        for kind in ("own", "parts"):
            self.join(_node(a, kind), _node(b, kind))
        for atom in (a, b):
            if isinstance(atom, Const):
                self.foreign_nodes += [_node(atom, "own"), _node(atom, "parts")]

    def holds(self, container: Value, part: Atom) -> None:
        """Note that a container holds an object."""
        if has_storage(part):
            held = (container, "parts")
            for kind in ("own", "parts"):
                self.join(held, _node(part, kind))
            if isinstance(part, Const):
                self.foreign_nodes.append(held)

    def all_of(self, result: Value, arg: Value) -> None:
        """Anything may share with anything."""
        self.join((result, "own"), (result, "parts"))
        for kind in ("own", "parts"):
            self.join((result, "own"), (arg, kind))


def _has_axes(node: Node) -> bool:
    """Return True if a storage may be that of an array with axes, or of a container."""
    atom, kind = node
    type_ = atom.type if isinstance(atom, Value) else None
    return kind == "own" and not (isinstance(type_, Numeric) and type_.shape == ())


def _node(atom: Atom, kind: str) -> Node:
    return (atom if isinstance(atom, Value) else id(atom.value), kind)


def sharing(function: Function, candidates: Iterable[Call] = ()) -> Sharing:
    """Return the classes of a function, as if every one of the `candidates` wrote in place."""
    found = Sharing(candidates=frozenset(candidates), only_returned=_only_returned(function))
    for param in function.params:
        found.foreign_nodes += [(param, "own"), (param, "parts")]
    for op in walk(function.block):
        match op:
            case Call():
                _call(op, found)
            case If(then=then, orelse=orelse, outputs=outputs):
                for output, a, b in zip(outputs, then.results, orelse.results, strict=True):
                    found.same(output, a)
                    found.same(output, b)
            case For() | While():
                _loop(op, found)
    for whole in _read_as_a_whole(function, found.several):
        for k in range(found.several[whole]):
            found.join((whole, "own"), (whole, f"item {k}"))
        found.join((whole, "own"), (whole, "parts"))
    found.rigid = read_only_values(function)
    found.foreign = {found.find(node) for node in found.foreign_nodes}
    found.with_axes = {found.find(node) for node in list(found.parents) if _has_axes(node)}
    found.with_axes |= {root for root in found.parents.values() if _has_axes(root)}
    return found


def _only_returned(function: Function) -> frozenset[Value]:
    """Return the containers that are built only to be returned: their parts are not read here.

    (Without them, all gradients of one tuple would be taken to share storage.)
    """
    calls = calls_by_result(walk(function.block))
    makers = {value: op for value, op in calls.items() if is_builder(op.target)}
    if makers.keys().isdisjoint(block_values(function.block)):
        return frozenset()
    readers: dict[Value, list[Op | None]] = {}
    for op in walk(function.block):
        for value in op.operands:
            readers.setdefault(value, []).append(op)
        for inner in op.blocks:
            for value in block_values(inner):
                readers.setdefault(value, []).append(op)
    found: set[Value] = set()
    todo = list(block_values(function.block))
    while todo:
        value = todo.pop()
        maker = makers.get(value)
        if maker is None or value in found:
            continue
        if all(isinstance(r, Call) and r.result in found for r in readers.get(value, ())):
            found.add(value)
            todo += [v for arg in maker.args for v in values_in(arg)]
    return frozenset(found)


def _loop(op: Loop, found: Sharing) -> None:
    width = len(op.inits)
    results = op.body.results[1 : 1 + width]
    columns = zip(op.carried, op.inits, results, carried_outputs(op), strict=True)
    for param, init, result, output in columns:
        for other in (init, result, output):
            found.same(param, other)
    if isinstance(op, While):
        for tested, param in zip(op.test.params, op.carried, strict=True):
            found.same(tested, param)
    for output, atom in zip(collected_outputs(op), op.body.results[1 + width :], strict=True):
        found.holds(output, atom)
    if isinstance(op, For):
        for param, seq in zip(op.items, op.seqs, strict=True):
            _item(param, seq, found)


def _item(result: Value, container: Arg, found: Sharing) -> None:
    """Something taken out of an array (a view), a list or a tuple."""
    if not has_storage(result):
        return
    if isinstance(container, Display):
        for part in container.items:
            _item_of_display(result, part, found)
    elif isinstance(container, Value):
        _part(result, container, found)
    else:
        found.foreign_nodes += [(result, "own"), (result, "parts")]


def _item_of_display(result: Value, part: Arg, found: Sharing) -> None:
    if isinstance(part, Display):
        for value in values_in(part):
            found.all_of(result, value)
    else:
        found.same(result, part)


def _part(result: Value, container: Value, found: Sharing) -> None:
    if isinstance(container.type, ListOf | TupleOf):
        for kind in ("own", "parts"):
            found.join((result, kind), (container, "parts"))
    elif isinstance(container.type, Numeric) and container.type.form == "array":
        found.join((result, "own"), (container, "own"))
    else:
        found.all_of(result, container)


def _call(op: Call, found: Sharing) -> None:
    result, target = op.result, op.target
    if _has_no_memory(op, found):
        return
    if op in found.candidates:
        _store(op, found)
    elif is_builder(target):
        for arg in built_parts(op):
            _hold_all(result, arg, found)
    elif is_part(target):
        _part_of(op, found)
    elif isinstance(target, Routine):
        _results_of(op, target, found)
    elif (origin := _container_before(op)) is not None:
        _new_list(op, origin, found)
    elif not makes_fresh(op) and not is_store(target, "array") and not is_one_of(target, COPIES):
        _anything(op, found)


def _has_no_memory(op: Call, found: Sharing) -> bool:
    """Return True if a call returns a number or None, or a container for results only."""
    if not has_storage(op.result) or op.result in found.only_returned:
        return True
    return is_one_of(op.target, _NUMBERS) or keeps_last(op.target)


# ------------------------------------------------------------------ calls of our own functions
@dataclass(frozen=True)
class Returned:
    """Storage that the results of a function may share.

    For each result: the parameters with which it may share, and the results before it with which
    it does.  `is_known` says that none of them may be anything else; `rigid` are those that may be
    read-only.
    """

    params: tuple[frozenset[int], ...] = ()
    like: tuple[frozenset[int], ...] = ()
    rigid: frozenset[int] = frozenset()
    is_known: bool = False


_RETURNED = "what the results share"


def returned(routine: Routine) -> Returned:
    """Compute the storage that the results of a routine may share.

    Of one that calls itself nothing is known while it is being looked into.
    """
    function = routine.function
    known = routine.derived.get(_RETURNED)
    if known is not None and known[0] is function:
        found: Returned = known[1]
        return found
    routine.derived[_RETURNED] = function, Returned()
    if function is None:
        return Returned()
    made = _returned_by(function)
    routine.derived[_RETURNED] = function, made
    return made


def _returned_by(function: Function) -> Returned:
    found = sharing(function)
    of_params = [
        {found.find((param, kind)) for kind in ("own", "parts")} for param in function.params
    ]
    unknown = {found.find(node) for node in found.foreign_nodes if node[0] not in function.params}
    calls = calls_by_result(walk(function.block))
    classes: list[set[Node]] = []
    rigid: set[int] = set()
    for k, atom in enumerate(function.block.results):
        leaves = [leaf for leaf in _built_of(atom, calls) if has_storage(leaf)]
        if any(isinstance(leaf, Const) for leaf in leaves):
            return Returned()
        classes.append({found.find((leaf, kind)) for leaf in leaves for kind in ("own", "parts")})
        if not unknown.isdisjoint(classes[-1]):
            return Returned()
        if not found.rigid.isdisjoint(leaves):
            rigid.add(k)
    return Returned(
        tuple(_meeting(of_params, nodes) for nodes in classes),
        tuple(_meeting(classes[:k], nodes) for k, nodes in enumerate(classes)),
        frozenset(rigid),
        is_known=True,
    )


def _meeting(several: Sequence[set[Node]], nodes: set[Node]) -> frozenset[int]:
    return frozenset(k for k, other in enumerate(several) if not other.isdisjoint(nodes))


def _built_of(atom: Arg, calls: Mapping[Value, Call]) -> Iterator[Any]:
    """Yield the leaves of a result: values and constants."""
    if isinstance(atom, Display):
        for item in atom.items:
            yield from _built_of(item, calls)
        return
    maker = calls.get(atom) if isinstance(atom, Value) else None
    if maker is None or not is_builder(maker.target):
        yield atom
        return
    yield atom
    for arg in built_parts(maker):
        yield from _built_of(arg, calls)


def _results_of(op: Call, routine: Routine, found: Sharing) -> None:
    """Relate the results of a call of a routine to its arguments and to each other."""
    facts, whole = returned(routine), op.result
    if not facts.is_known or not isinstance(whole.type, TupleOf):
        _anything(op, found)
        return
    found.several[whole] = len(facts.params)
    for k, (shown, like) in enumerate(zip(facts.params, facts.like, strict=True)):
        node = (whole, f"item {k}")
        for j in like:
            found.join(node, (whole, f"item {j}"))
        for value in (v for j in shown for v in values_in(op.args[j]) if has_storage(v)):
            found.join(node, (value, "own"))
            found.join(node, (value, "parts"))


def _item_of_call(op: Call, found: Sharing) -> bool:
    """Relate one of several results of a routine; return False for other calls."""
    whole = op.args[0]
    if not isinstance(whole, Value) or whole not in found.several:
        return False
    position = op.args[1].value if isinstance(op.args[1], Const) else None
    if not isinstance(position, int):
        return False
    for kind in ("own", "parts"):
        found.join((op.result, kind), (whole, f"item {position}"))
    return True


def _part_of(op: Call, found: Sharing) -> None:
    """Relate an item of a container, or one of several results."""
    is_copy = is_indexed(op.target) and _copies(op)
    if not is_copy and not _item_of_call(op, found):
        _item(op.result, op.args[0], found)


def _read_as_a_whole(function: Function, several: Mapping[Value, int]) -> set[Value]:
    """Return the results of routines that are read as whole tuples."""
    if not several:
        return set()
    found: set[Value] = set(block_values(function.block))
    for op in walk(function.block):
        is_item = isinstance(op, Call) and is_part(op.target) and isinstance(op.args[1], Const)
        found.update(op.operands[1:] if is_item else op.operands)
        for inner in op.blocks:
            found.update(block_values(inner))
    return found & several.keys()


def _container_before(op: Call) -> Arg | None:
    """Return the containers whose items a new list or dict holds."""
    memory = memory_effect(op.target)
    if isinstance(memory, Gathers):
        is_list = isinstance(op.result.type, ListOf) or memory.operand > 0
        return op.args[memory.operand] if is_list else None
    is_list = is_store(op.target, "list") and isinstance(op.result.type, ListOf)
    return op.args[0] if is_list else None


def _new_list(op: Call, first: Arg, found: Sharing) -> None:
    """Let a new list hold the items of another one, and perhaps one item more."""
    if isinstance(first, Value):
        found.join((op.result, "parts"), (first, "parts"))
        if not isinstance(first.type, ListOf):
            found.join((op.result, "parts"), (first, "own"))
    else:
        _hold_all(op.result, first, found)
    _hold_added(op, found)


def _store(op: Call, found: Sharing) -> None:
    first = op.args[0]
    if isinstance(first, Display):
        _hold_all(op.result, first, found)
    else:
        found.same(op.result, first)
    _hold_added(op, found)


def _hold_added(op: Call, found: Sharing) -> None:
    """Let a list hold the item, or the items of the list, that it was given."""
    what = puts_in(op.target)
    if what is None:
        return
    added = op.args[-1]
    if what == "item" or isinstance(added, Display):
        _hold_all(op.result, added, found)
    elif isinstance(added, Value):
        found.join((op.result, "parts"), (added, "parts"))


def _hold_all(container: Value, arg: Arg, found: Sharing) -> None:
    if isinstance(arg, Display):
        for part in arg.items:
            _hold_all(container, part, found)
    else:
        found.holds(container, arg)


def _anything(op: Call, found: Sharing) -> None:
    operands = values_in(op.args[0]) if is_one_of(op.target, _FIRST_ONLY) else op.operands
    for value in operands:
        if has_storage(value):
            found.all_of(op.result, value)
    known = isinstance(op.target, np.ufunc) or module_of(op.target).startswith(("numpy", _HELPERS))
    if not known:
        found.foreign_nodes += [(op.result, "own"), (op.result, "parts")]
    for arg in op.args:
        if isinstance(arg, Const) and has_storage(arg):
            found.foreign_nodes += [(op.result, "own"), (op.result, "parts")]


def _copies(op: Call) -> bool:
    """Return True if an index certainly reads into new memory: one that has an array in it."""
    container = op.args[0]
    is_array = isinstance(container, Value) and isinstance(container.type, Numeric)
    return is_array and reads_a_copy(op.args[1])


def block_values(block: Block) -> Iterable[Value]:
    """Yield the values that a block yields."""
    for atom in block.results:
        yield from values_in(atom)


# Read-only analysis: broadcast arrays, diagonals, and views of these.


def read_only_values(function: Function) -> set[Value]:
    """Return the values that may be read-only: broadcast arrays, diagonals, and their views."""
    calls = [op for op in walk(function.block) if isinstance(op, Call)]
    todo = [op.result for op in calls if is_read_only(op.target)]
    todo += _read_only_items(function)
    ways = (
        _where_parts_alias(function) if todo else {}
    )  # most functions make nothing that is read-only
    found: set[Value] = set()
    while todo:
        value = todo.pop()
        if value not in found:
            found.add(value)
            todo += ways.get(value, ())
    return found


def _read_only_items(function: Function) -> list[Value]:
    """Return the results of routines that may be read-only."""
    rigid: dict[Value, frozenset[int]] = {}
    found: list[Value] = []
    for op in walk(function.block):
        if not isinstance(op, Call):
            continue
        if isinstance(op.target, Routine):
            facts = returned(op.target)
            rigid[op.result] = facts.rigid
            if not facts.is_known:
                found.append(op.result)
        elif is_part(op.target) and isinstance(op.args[0], Value) and op.args[0] in rigid:
            index = op.args[1]
            if not isinstance(index, Const) or index.value in rigid[op.args[0]]:
                found.append(op.result)
    return found


def _where_parts_alias(function: Function) -> dict[Value, list[Value]]:
    """Where what a value holds may be found again: in views of it, behind branches and loops."""
    ways: dict[Value, list[Value]] = {}
    for op in walk(function.block):
        if isinstance(op, Call):
            new = makes_fresh(op) or is_store(op.target, "array") or is_read_only(op.target)
            if not new and not is_one_of(op.target, COPIES):
                _lead(ways, op.operands, [op.result] * len(op.operands))
        elif isinstance(op, If):
            for block in op.blocks:
                _lead(ways, block.results, op.outputs)
        elif isinstance(op, For | While):
            _lead_loop(ways, op)
    return ways


def _lead_loop(ways: dict[Value, list[Value]], op: Loop) -> None:
    results = op.body.results[1:]
    for atoms in (op.inits, results):
        _lead(ways, atoms, op.carried)
        _lead(ways, atoms, (*carried_outputs(op), *collected_outputs(op)))
    for item_, seq in zip(op.items, op.seqs, strict=True) if isinstance(op, For) else ():
        for value in values_in(seq):
            _lead(ways, (value,), (item_,))


def _lead(ways: dict[Value, list[Value]], atoms: Iterable[Atom], to: Iterable[Value]) -> None:
    for atom, value in zip(atoms, to, strict=False):
        if isinstance(atom, Value):
            ways.setdefault(atom, []).append(value)
