"""Dependence on some parameters in any way: by a derivative, or by a mask made of them.

Lengths, kinds and whether there is anything at all are no dependence: they are the same for every
value of the parameters.
"""

from __future__ import annotations

from collections.abc import Callable

from srcad.analysis.activity import Facts, activity
from srcad.analysis.activity_trees import (
    Activity,
    activity_of_parts,
    either_active,
    fully_active,
    part,
)
from srcad.ir.core import Arg, Call, Function, Routine
from srcad.ir.inference.builder import atom_type
from srcad.ir.traits import is_inert, keeps_structure
from srcad.runtime import or_zeros
from srcad.startup.records import dataclass, field
from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf, Opaque, TupleOf, Type

Pattern = tuple[Activity, ...]


@dataclass(eq=False)
class Dependence:
    """The dependence of functions that call each other.

    `known` has the results of a routine that depend on its parameters, by the pattern of these;
    `running` are those that are being looked into.
    """

    known: dict[tuple[Routine, Pattern], Activity] = field(default_factory=dict)
    running: set[tuple[Routine, Pattern]] = field(default_factory=set)

    def of(self, function: Function, pattern: Pattern) -> Facts:
        """Return the values of a function that depend on its parameters, part by part."""
        varied = dict(zip(function.params, pattern, strict=True))
        nothing = [False for _ in function.block.results]
        return activity(function, varied, nothing, told=self._told)

    def of_routine(self, routine: Routine, pattern: Pattern) -> Activity:
        """Which results of a routine depend on its parameters.

        The trees of results are as deep as their types and only grow, so they are found in
        finitely many rounds, also where a saved value holds that of the call inside.
        """
        assert routine.function is not None
        key = (routine, pattern)
        if key in self.running or (key in self.known and not self.running):
            return self.known[key]
        self.known.setdefault(key, False)
        self.running.add(key)
        results = routine.function.block.results
        while True:
            facts = self.of(routine.function, pattern)
            trees = (as_deep_as(atom_type(y), facts.of(y)) for y in results)
            found = either_active(self.known[key], activity_of_parts(tuple(trees)))
            if found == self.known[key]:
                break
            self.known[key] = found
        self.running.discard(key)
        return found

    def _told(self, op: Call, facts: Facts) -> Activity | None:
        """Return the dependence of the result of a call.

        None where it goes by the parts of operands.
        """
        if isinstance(op.target, Routine):
            return self.of_routine(op.target, pattern_of(op, facts.of))
        if keeps_structure(op.target):
            return None
        if is_inert(op.target):
            return False
        if op.target is or_zeros:  # of what the zeros are for it takes the shape
            return facts.of(op.args[0])
        if not any(map(facts.of, op.operands)):
            return False
        return carrying(op.result.type)


def pattern_of(op: Call, tree_of: Callable[[Arg], Activity]) -> Pattern:
    """Return the parts of the parameters of a routine that may differ in a call."""
    assert isinstance(op.target, Routine)
    assert op.target.function is not None
    pairs = zip(op.target.function.params, op.args, strict=True)
    return tuple(as_deep_as(param.type, tree_of(arg)) for param, arg in pairs)


def as_deep_as(type_: Type, tree: Activity) -> Activity:
    """Return the activity of a value as deep as its type.

    What has no structure there may hold the same type again.  Every part of it counts as one that
    may differ, so every part of a value that holds such a thing does.
    """
    if isinstance(tree, tuple) and isinstance(type_, TupleOf) and len(tree) != len(type_.items):
        return carrying(type_)
    return carrying(type_) if _has_unknown(type_, tree) else _within(type_, tree)


def _has_unknown(type_: Type, tree: Activity) -> bool:
    """Return True if a part of unknown type may differ."""
    match type_:
        case TupleOf(items):
            return any(_has_unknown(t, part(tree, k)) for k, t in enumerate(items))
        case ListOf(item):
            return _has_unknown(item, tree)
        case Opaque(cls):
            return cls is None and tree is not False
    return False


def _within(type_: Type, tree: Activity) -> Activity:
    """Return an activity with a part for each part of a structure."""
    match type_:
        case TupleOf(items) if tree is not False:
            parts = (_within(t, part(tree, k)) for k, t in enumerate(items))
            return activity_of_parts(tuple(parts))
        case ListOf(item):
            return _within(item, tree)
        case Numeric():
            return tree is not False
    return tree


def carrying(type_: Type) -> Activity:
    """Return the parts of a value that may differ: everything that is a number, flags too."""
    return fully_active(type_, with_flags=True)
