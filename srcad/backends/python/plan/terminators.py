"""Ends of functions, branches and iterations: where the results of a block go."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Protocol

from srcad.backends.python.plan.statements import (
    Append,
    Conditional,
    Copy,
    Do,
    Exit,
    Increment,
    Return,
    Statement,
    jumps,
)
from srcad.backends.python.plan.uses import Uses, leaf_tags, tag_is_exact
from srcad.ir.core import BREAK, CONTINUE, NONE, Atom, Call, Const, For, If, Value, While
from srcad.startup.records import dataclass
from srcad.types.numeric import BOOL


class Walk(Protocol):
    """The part of the walk over blocks that an end needs."""

    def needs(self, output: Value) -> bool:
        """Return True if an output is a variable that is read."""


class End(Protocol):
    """The end of a block: where the atoms that it yields go."""

    def finish(self, atoms: Sequence[Atom]) -> list[Statement]:
        """Return the statements that consume the results."""

    def takes(self, results: Sequence[Atom], op: If) -> bool:
        """Return True if the last conditional of a block should end like this in both branches."""

    def skips(self, results: Sequence[Atom]) -> bool:
        """Return True if a path that ends early with these results can skip the rest."""

    @property
    def leaves(self) -> bool:
        """True if a path may jump away here."""


@dataclass(eq=False)
class FunctionEnd:
    leaves = True

    def finish(self, atoms: Sequence[Atom]) -> list[Statement]:
        return [Return(list(atoms))]

    def takes(self, results: Sequence[Atom], op: If) -> bool:
        """Return True if an output is returned."""
        return any(atom in op.outputs for atom in results)

    def skips(self, results: Sequence[Atom]) -> bool:
        """Return True, because the path returns."""
        return True


@dataclass(eq=False)
class JoinAssignments:
    """Assign the values that anybody reads to the outputs of the conditional."""

    outputs: Sequence[Value]
    walk: Walk
    leaves = False

    def finish(self, atoms: Sequence[Atom]) -> list[Statement]:
        """Assign them."""
        pairs = [(o, a) for o, a in zip(self.outputs, atoms, strict=True) if self.walk.needs(o)]
        return [Copy([o for o, _ in pairs], [a for _, a in pairs])] if pairs else []

    def takes(self, results: Sequence[Atom], op: If) -> bool:
        """Never: the branches meet again."""
        return False

    def skips(self, results: Sequence[Atom]) -> bool:
        """Return False: the statements after the branches run."""
        return False


@dataclass(eq=False)
class Mapped:
    """The end of a branch of a conditional with `outputs`, in a block with `results`."""

    inner: End
    outputs: Sequence[Value]
    results: Sequence[Atom]

    @property
    def leaves(self) -> bool:
        """As the outer end."""
        return self.inner.leaves

    def _mapped(self, atoms: Sequence[Atom]) -> list[Atom]:
        known = dict(zip(self.outputs, atoms, strict=True))
        return [known.get(r, r) if isinstance(r, Value) else r for r in self.results]

    def finish(self, atoms: Sequence[Atom]) -> list[Statement]:
        """Put them in place of the outputs and end as the outer block does."""
        return self.inner.finish(self._mapped(atoms))

    def takes(self, results: Sequence[Atom], op: If) -> bool:
        """Ask the outer end about the mapped results."""
        return self.inner.takes(self._mapped(results), op)

    def skips(self, results: Sequence[Atom]) -> bool:
        """Ask the outer end about the mapped results."""
        return self.inner.skips(self._mapped(results))


@dataclass(eq=False)
class Away:
    """The end of a path that leaves before a guard: `first` yields, the guard passes it by."""

    inner: End
    first: Sequence[Value]
    guard: If
    results: Sequence[Atom]
    leaves = True

    def finish(self, atoms: Sequence[Atom]) -> list[Statement]:
        """End as the outer block does, with what is known on this path."""
        ending = self.inner.finish(self._ending(atoms))
        return ending if jumps(ending) else [*ending, Exit("continue")]

    def _ending(self, atoms: Sequence[Atom]) -> list[Atom]:
        known = dict(zip(self.first, atoms, strict=True))
        passed = [known.get(r, r) if isinstance(r, Value) else r for r in self.guard.orelse.results]
        known.update(zip(self.guard.outputs, passed, strict=True))
        return [known.get(r, r) if isinstance(r, Value) else r for r in self.results]

    def takes(self, results: Sequence[Atom], op: If) -> bool:
        """Never: it is asked of the guard itself."""
        return False

    def skips(self, results: Sequence[Atom]) -> bool:
        """Ask the outer end about the atoms that it gets."""
        return self.inner.skips(self._ending(results))


@dataclass(eq=False)
class GuardEnd:
    """Continue behind the conditional if the tag is 0; otherwise leave at once."""

    outputs: Sequence[Value]
    index: int
    away: End
    walk: Walk
    leaves = True

    def finish(self, atoms: Sequence[Atom]) -> list[Statement]:
        """Go on, or leave with the tag that is known here."""
        if atoms[self.index] != Const(NONE):
            return self.away.finish(atoms)
        kept = [k for k in range(len(atoms)) if k != self.index]
        join = JoinAssignments([self.outputs[k] for k in kept], self.walk)
        return join.finish([atoms[k] for k in kept])

    def takes(self, results: Sequence[Atom], op: If) -> bool:
        """Return True if the tag comes out of the conditional."""
        return results[self.index] in op.outputs

    def skips(self, results: Sequence[Atom]) -> bool:
        """Return True if it is a path that leaves."""
        tag = results[self.index]
        return isinstance(tag, Const) and tag != Const(NONE)


@dataclass(eq=False)
class LoopEnd:
    """Append, carry on, leave."""

    op: For | While
    uses: Uses
    lists: list[tuple[Value, list[int]]]
    carried: list[int]
    tag: Value | None
    trips: Value | None
    leaves = True

    def finish(self, atoms: Sequence[Atom]) -> list[Statement]:
        """Save, carry on, and leave if the tag says so."""
        width = len(self.op.inits)
        tag, kept, collected = atoms[0], atoms[1 : 1 + width], atoms[1 + width :]
        result: list[Statement] = [
            Append(target, [collected[k] for k in members]) for target, members in self.lists
        ]
        targets = [self.op.carried[k] for k in self.carried]
        sources = [kept[k] for k in self.carried]
        if self.tag is not None and self._sets_tag(tag):
            targets.append(self.tag)
            sources.append(tag)
        jump = self._jump(tag)
        if tag in self.op.carried and len(jump) > 1:
            result.append(jump.pop(0))
        if targets:
            result.append(Copy(targets, sources))
        if self.trips is not None:
            result.append(Increment(self.trips))
        return result + jump

    def _sets_tag(self, tag: Atom) -> bool:
        known = leaf_tags(tag, self.uses)
        goes_on = known is not None and all(t < BREAK for t in known)
        return not goes_on or tag_is_exact(self.op, self.uses)

    def _jump(self, tag: Atom) -> list[Statement]:
        if isinstance(tag, Const):
            kinds = {NONE: [], CONTINUE: [Exit("continue")]}
            return list(kinds.get(tag.value, [Exit("break")]))
        known = leaf_tags(tag, self.uses)
        if known is not None and all(t < BREAK for t in known):
            return []
        leaves = Value(BOOL)
        test = Call(target=operator.ge, args=(tag, Const(BREAK)), result=leaves)
        return [Do(test, leaves), Conditional(leaves, [Exit("break")], [])]

    def takes(self, results: Sequence[Atom], op: If) -> bool:
        """Return True if the tag comes out of the conditional."""
        return results[0] in op.outputs

    def skips(self, results: Sequence[Atom]) -> bool:
        """Continue with the next iteration, or leave the loop."""
        return True
