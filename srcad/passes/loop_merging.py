"""Merge equal values that a loop carries, collects and iterates over."""

from __future__ import annotations

from srcad.ir.core import (
    UNDEF,
    Arg,
    Atom,
    Block,
    Const,
    For,
    Loop,
    Value,
    While,
    carried_outputs,
    collected_outputs,
)
from srcad.ir.substitute import substituted_atom
from srcad.startup.records import dataclass, field


@dataclass(eq=False)
class LoopMerging:
    """Merges values that are equal in every iteration, during the walk of the rewriter.

    `merged` replaces values everywhere; `alike` replaces values of the primal in the reverse half
    by an earlier value that is certainly equal.  `homes` says in which block a value is made,
    `constant_lists` which lists hold one atom over and over.  `unfinished` says that the walk has
    come by something for which it was too early.
    """

    merged: dict[Value, Atom] = field(default_factory=dict)
    alike: dict[Value, Atom] = field(default_factory=dict)
    homes: dict[Value, int] = field(default_factory=dict)
    open_blocks: list[int] = field(default_factory=list)
    changed: bool = False
    unfinished: bool = False
    constant_lists: dict[Value, Atom] = field(default_factory=dict)

    def note_constant_lists(self, op: Loop, body: Block) -> None:
        """Note the lists in which a loop collects the same atom in every iteration."""
        pairs = zip(collected_outputs(op), body.results[1 + len(op.inits) :], strict=True)
        for output, atom in pairs:
            outside = isinstance(atom, Value) and self.homes.get(atom) in self.open_blocks
            if outside or (isinstance(atom, Const) and atom != UNDEF):
                self.constant_lists[output] = atom

    def note_equal_lists(self, op: For, body: Block) -> None:
        """Note the lists in which a loop collects the same atom."""
        first: dict[Atom, Value] = {}
        for output, atom in zip(
            collected_outputs(op), body.results[1 + len(op.inits) :], strict=True
        ):
            earlier = first.setdefault(atom, output) if isinstance(atom, Value) else output
            if earlier is not output and op.half == "primal":
                self.alike[output] = earlier
            elif earlier is not output:
                self.merged[output] = earlier
                self.changed = True

    def merge_equal_items(self, op: For, seqs: tuple[Arg, ...]) -> None:
        """Replace the items of one list, gone through twice in step, by one."""
        first: dict[Arg, Value] = {}
        for item, seq in zip(op.items, seqs, strict=True):
            earlier = first.setdefault(seq, item) if isinstance(seq, Value) else item
            if earlier is not item:
                self.merged[item] = earlier
                self.changed = True

    def merge_constant_items(self, op: For, seqs: tuple[Arg, ...]) -> None:
        """Replace the items of a list that holds one atom over and over by that atom."""
        for item, seq in zip(op.items, seqs, strict=True):
            if isinstance(seq, Value) and seq in self.constant_lists:
                atom = self.constant_lists[seq]
                if isinstance(atom, Const) or self.homes.get(atom) in self.open_blocks:
                    self.merged[item] = atom
                    self.changed = True

    def merge_unchanged(self, op: Loop, inits: tuple[Atom, ...]) -> None:
        """Replace a carried value that no iteration changes by its value before the loop."""
        results = op.body.results[1 : 1 + len(inits)]
        rows = zip(op.carried, inits, results, carried_outputs(op), strict=True)
        for k, (param, init, result, output) in enumerate(rows):
            result = substituted_atom(result, self.merged)
            if (result is param or result == init) and init != UNDEF:
                self.merged[param] = init
                self.merged[output] = init
                if isinstance(op, While):
                    self.merged[op.test.params[k]] = init
                self.changed = True

    def note_unchanged(self, op: Loop, inits: tuple[Atom, ...], body: Block) -> None:
        """Note values that an iteration hands on unchanged, which a simplified body may show."""
        if op.half != "primal":
            for param, init, result in zip(op.carried, inits, body.results[1:], strict=False):
                handed_on = (result is param or result == init) and init != UNDEF
                self.unfinished |= handed_on and param not in self.merged
