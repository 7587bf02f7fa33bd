"""The directions of a Jacobian, one for each number, or two for a complex one."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

import numpy as np

from srcad.analysis.activity_trees import Activity, part
from srcad.errors import UnsupportedTypeError
from srcad.ir.core import Atom, Const
from srcad.ir.inference.builder import Builder, atom_type
from srcad.startup.records import dataclass
from srcad.types.numeric import Numeric
from srcad.types.sizes import at_least, example_of, static_value
from srcad.types.structures import ListOf, TupleOf, Type


@dataclass(frozen=True, eq=False)
class Leaf:
    """A number or an array of an argument or a result, and where its directions stand.

    Complex numbers may have two each: first all real ones up to `middle`, then the imaginary ones.
    """

    atom: Atom
    type: Numeric
    start: Atom
    stop: Atom
    middle: Atom | None = None

    @property
    def rank(self) -> int | None:
        """The number of its axes."""
        return None if self.type.shape is None else len(self.type.shape)


@dataclass(frozen=True, eq=False)
class Branch:
    """A structure of such parts."""

    type: TupleOf
    parts: list[Tree]


Tree = Leaf | Branch | None


@dataclass(eq=False)
class Basis:
    """The unit vectors of all numbers of some values.

    `trees` are the values taken apart, `leaves` their numbers and arrays in order; `count` is how
    many directions they have: one for each number, or two for each complex one if these count
    twice.  `length` is how many are taken, where that may be one, a zero, in place of none.
    """

    builder: Builder
    trees: list[Tree]
    leaves: list[Leaf]
    count: Atom
    twice: bool = False
    length: Atom | None = None

    @property
    def may_be_empty(self) -> bool:
        """True if it is not known that there is a direction."""
        return not any(map(_has_entries, (leaf.type for leaf in self.leaves)))

    @property
    def is_empty(self) -> bool:
        """True if there is certainly no direction; that there is one is assumed otherwise."""
        empty = list(map(_is_empty, (leaf.type for leaf in self.leaves)))  # each is asked
        return all(empty)

    def pad(self) -> None:
        """Take one direction in place of none, unless it is known that there is one."""
        if self.may_be_empty and not self.is_empty:
            self.length = self.builder.call(max, self.count, Const(1))

    @property
    def is_real(self) -> bool:
        """True if all numbers are certainly real."""
        return all(leaf.type.kind in "fiu" for leaf in self.leaves)

    @property
    def is_one_number(self) -> bool:
        """True if there is one direction only, and nothing that has axes."""
        return len(self.leaves) == 1 and self.leaves[0].rank == 0 and self.leaves[0].middle is None

    @property
    def alone(self) -> bool:
        """True if all directions that are taken are those of one number or array."""
        return len(self.leaves) == 1 and self.length is None


def basis_of(
    builder: Builder, values: Sequence[tuple[Atom, Activity]], what: str, *, twice: bool = False
) -> Basis:
    """Return the directions of the parts of some values that carry a derivative."""
    basis = Basis(builder, [], [], Const(0), twice)
    for value, tree in values:
        basis.trees.append(_split_seed(basis, value, atom_type(value), tree, what))
    return basis


def _split_seed(basis: Basis, value: Atom, type_: Type, tree: Activity, what: str) -> Tree:
    if tree is False:
        return None
    if isinstance(type_, TupleOf):
        parts = []
        for k, t in enumerate(type_.items):
            wanted = part(tree, k)
            one = value if wanted is False else basis.builder.part(value, type_, k)
            parts.append(_split_seed(basis, one, t, wanted, what))
        return Branch(type_, parts)
    if not isinstance(type_, Numeric):
        return _refuse(type_, basis.builder, what)
    size = Const(1) if type_.is_scalar else basis.builder.call(np.size, value)
    first = basis.count == Const(0)
    stop = size if first else _sum(basis.builder, basis.count, size)
    middle = stop if basis.twice and type_.kind == "c" else None
    if middle is not None:
        stop = _sum(basis.builder, middle, size)
    leaf = Leaf(value, type_, basis.count, stop, middle)
    basis.leaves.append(leaf)
    basis.count = stop
    return leaf


def _sum(builder: Builder, a: Atom, b: Atom) -> Atom:
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(a.value + b.value)
    return builder.call(operator.add, a, b)


def differentiated(builder: Builder, y: Atom, *, has_aux: bool) -> Atom:
    """Return the result, or with aux its first part."""
    type_ = atom_type(y)
    return builder.part(y, type_, 0) if has_aux and isinstance(type_, TupleOf) else y


def packed(builder: Builder, tree: Tree, atoms: Iterator[Atom]) -> Atom:
    """Atoms for the leaves of a value in its structure, None for other parts."""
    if tree is None:
        return Const(None)
    if isinstance(tree, Leaf):
        return next(atoms)
    return builder.build_like(tree.type, [packed(builder, one, atoms) for one in tree.parts])


def leaves_of(tree: Tree) -> Iterator[Leaf]:
    """Yield the leaves of a tree, in order."""
    if isinstance(tree, Leaf):
        yield tree
    elif tree is not None:
        for one in tree.parts:
            yield from leaves_of(one)


def unpacked(builder: Builder, tree: Tree, value: Atom) -> Iterator[tuple[Leaf, Atom]]:
    """Yield the leaves of a tree, each with its part of a value of the same structure."""
    if isinstance(tree, Leaf):
        yield tree, value
    elif tree is not None:
        type_ = atom_type(value)
        for k, one in enumerate(tree.parts):
            if one is not None:
                assert isinstance(type_, TupleOf)
                yield from unpacked(builder, one, builder.part(value, type_, k))


def blocks(builder: Builder, y: Tree, x: Tree, block: Callable[[Leaf, Leaf], Atom]) -> Atom:
    """Return the blocks of a Jacobian: in the structure of the result those of the argument."""
    if y is None or x is None:
        return Const(None)
    if isinstance(y, Branch):
        return builder.build_like(y.type, [blocks(builder, one, x, block) for one in y.parts])
    if isinstance(x, Branch):
        return builder.build_like(x.type, [blocks(builder, y, one, block) for one in x.parts])
    return block(y, x)


def _refuse(type_: Type, builder: Builder, what: str) -> NoReturn:
    kind = "a list" if isinstance(type_, ListOf) else "an object"
    raise UnsupportedTypeError(
        f"the Jacobian needs to know the parts of {what}, and one is {kind}",
        where=builder.where,
        why="there is one block for each pair of arrays, and their number is not known.",
        help="make it an array, as in np.stack(rows), or a tuple",
    )


def _has_entries(type_: Numeric) -> bool:
    """Return True if an array is known to have entries."""
    return type_.shape is not None and all(at_least(extent, 1) for extent in type_.shape)


def _is_empty(type_: Numeric) -> bool:
    """Return True if an array has no entries; which of the two it is, is decided by the example."""
    lengths = type_.shape or ()
    if any(example_of(extent) == 0 and static_value(extent) == 0 for extent in lengths):
        return True
    for extent in lengths:
        at_least(extent, 1)
    return False
