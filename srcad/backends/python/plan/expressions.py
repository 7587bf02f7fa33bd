"""Nested expressions: the decisions of `nesting`, and accessors for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from srcad.backends.python.plan.statements import Conditional, Copy, Do, Statement, head_atoms
from srcad.ir.core import Atom, Call, Const, Value
from srcad.ir.operations import ALL_BUT_LAST, operation_of
from srcad.ir.traits import is_store
from srcad.startup.records import dataclass, field
from srcad.types.numeric import Numeric

Nested = dict[Value, Do | Conditional]


@dataclass(eq=False)
class Nesting:
    """The decisions, and how large each nested expression is."""

    alias: dict[Value, Atom]
    nested: Nested = field(default_factory=dict)
    known_reads: dict[Do, list[Value]] = field(default_factory=dict)

    def reads(self, statement: Statement) -> list[Value]:
        """Return the values that a statement names, each as often as it does."""
        if not isinstance(statement, Do):
            return self._values(read_atoms(statement))
        found = self.known_reads.get(statement)
        if found is None:
            found = self.known_reads[statement] = self._values(head_atoms(statement))
        return found

    def _values(self, atoms: Iterable[Atom]) -> list[Value]:
        resolved = [self.resolve(atom) for atom in atoms]
        return [atom for atom in resolved if isinstance(atom, Value)]

    def resolve(self, atom: Atom) -> Atom:
        """Return the atom that a value is another name of."""
        while isinstance(atom, Value) and atom in self.alias:
            atom = self.alias[atom]
        return atom

    def leaves(self, atoms: Iterable[Atom]) -> Iterator[Value]:
        """Return the variables that are read where these atoms are written."""
        return self._leaves(self._values(atoms))

    def leaves_of(self, statement: Statement) -> Iterator[Value]:
        """Return the variables that are read where a statement is written."""
        return self._leaves(self.reads(statement)[:])

    def _leaves(self, todo: list[Value]) -> Iterator[Value]:
        while todo:
            value = todo.pop()
            origin = self.nested.get(value)
            if origin is None:
                yield value
            else:
                todo += self.reads(origin)


def read_atoms(statement: Statement) -> Iterator[Atom]:
    """Yield the atoms that a statement reads.

    Of a conditional expression, those of its branches too.
    """
    yield from head_atoms(statement)
    if isinstance(statement, Conditional) and statement.choice is not None:
        for branch in (statement.then, statement.orelse):
            yield branch_source(branch)


def branch_source(branch: list[Statement]) -> Atom:
    """Return the atom that a branch of a conditional expression yields."""
    last = branch[-1]
    assert isinstance(last, Copy)
    return last.sources[0]


def writes_in_place(do: Do) -> bool:
    """Return True if a call is written as a statement of its own, like ``u[i] = v``."""
    return do.op.in_place or (is_store(do.op.target) and not _is_expression(do.op))


def _is_expression(op: Call) -> bool:
    """Return True if a store can be an expression, which it cannot if it takes out an item."""
    row = operation_of(op.target)
    if row is None or row.written is None:
        return False
    return row.written != ALL_BUT_LAST or op.args[1] == Const(-1)


def is_point(value: Value) -> bool:
    """Return True if a value is a single number that may lie in an array without axes.

    `analysis.ownership` lets one be written in place only where no larger array shares its storage.
    """
    type_ = value.type
    return isinstance(type_, Numeric) and type_.shape == () and not is_certain_scalar(value)


def is_certain_scalar(value: Value) -> bool:
    """Return True if a value is certainly a number that nothing can change in place."""
    return isinstance(value.type, Numeric) and value.type.form in ("python", "numpy", "number")
