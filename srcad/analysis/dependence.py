"""Dependence on some parameters in any way: by a derivative, or by a mask made of them.

Lengths, kinds and whether there is anything at all are no dependence: they are the same for every
value of the parameters.
"""

from __future__ import annotations

from srcad.analysis.activity import Facts, activity
from srcad.analysis.activity_trees import Activity, activity_of_parts, fully_active
from srcad.ir.core import Call, Function, Routine
from srcad.ir.traits import is_inert, keeps_structure
from srcad.runtime import or_zeros
from srcad.startup.records import dataclass, field
from srcad.types.structures import Type

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
        """Which results of a routine depend on its parameters."""
        key = (routine, pattern)
        if key in self.running or (key in self.known and not self.running):
            return self.known[key]
        self.known.setdefault(key, False)
        self.running.add(key)
        while True:
            assert routine.function is not None
            facts = self.of(routine.function, pattern)
            found = activity_of_parts(tuple(map(facts.of, routine.function.block.results)))
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
            return self.of_routine(op.target, tuple(map(facts.of, op.args)))
        if keeps_structure(op.target):
            return None
        if is_inert(op.target):
            return False
        if op.target is or_zeros:  # of what the zeros are for it takes the shape
            return facts.of(op.args[0])
        if not any(map(facts.of, op.operands)):
            return False
        return carrying(op.result.type)


def carrying(type_: Type) -> Activity:
    """Return the parts of a value that may differ: everything that is a number, flags too."""
    return fully_active(type_, with_flags=True)
