"""Bookkeeping of batching: the values that have a leading axis of directions."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from srcad import runtime
from srcad.analysis.activity import Facts
from srcad.analysis.activity_trees import Activity, part
from srcad.analysis.dependence import Dependence
from srcad.errors import UnsupportedSyntaxError
from srcad.ir.argument_types import argument_type
from srcad.ir.core import UNDEF, Arg, Atom, Call, Const, Display, Location, Value
from srcad.ir.inference.builder import Builder, atom_type
from srcad.ir.traits import is_zeros_like
from srcad.startup.records import dataclass, field
from srcad.transforms.sweep import Inline
from srcad.types.numeric import Numeric, Shape
from srcad.types.sizes import Extent
from srcad.types.structures import ListOf, Opaque, TupleOf, Type

ALL = Display("slice", (Const(None), Const(None), Const(None)))


@dataclass(frozen=True, eq=False)
class Term:
    """A multiple of a value that has the axis: ``base * factor / divisor``, or its negative.

    Of factor and divisor at most one is there, and neither has the axis.  The ranks are those in
    one direction.
    """

    base: Value
    base_rank: int
    rank: int
    factor: Arg | None = None
    divisor: Arg | None = None
    negative: bool = False

    @property
    def is_base(self) -> bool:
        """True if it is the value itself."""
        return self.factor is None and self.divisor is None and not self.negative


@dataclass(eq=False)
class Shared:
    """State shared by all blocks of one function that is batched.

    `count` is the number of directions, `length` the same as a type knows it; `values` are what
    stands for the values that depend on the direction; `trees` overrule `facts`; `made` are the
    calls of the function by their results, `reads` how often its values are read; `terms` are what
    values with the axis are the sum of.
    """

    facts: Facts
    dependence: Dependence
    inline: Inline
    count: Atom
    length: Extent
    values: dict[Value, Arg] = field(default_factory=dict)
    trees: dict[Value, Activity] = field(default_factory=dict)
    made: dict[Value, Call] = field(default_factory=dict)
    reads: Counter[Value] = field(default_factory=Counter)
    terms: dict[Value, Sequence[Term]] = field(default_factory=dict)


@dataclass(eq=False)
class BatchedScope:
    """One block that is written, of values with and without the axis."""

    shared: Shared
    builder: Builder

    def inner(self) -> BatchedScope:
        """Return the scope of a block inside."""
        builder = Builder(where=self.builder.where, half=self.builder.half)
        return BatchedScope(self.shared, builder)

    # -------------------------------------------------------------- asking
    def tree(self, arg: Arg) -> Activity:
        """Which parts of an argument have the axis."""
        if isinstance(arg, Value) and arg in self.shared.trees:
            return self.shared.trees[arg]
        return self.shared.facts.of(arg)

    def of(self, arg: Arg) -> Arg:
        """Return the replacement of an argument."""
        if isinstance(arg, Value):
            return self.shared.values.get(arg, arg)
        if isinstance(arg, Display):
            return Display(arg.kind, tuple(map(self.of, arg.items)))
        return arg

    def atom(self, value: Atom) -> Atom:
        found = self.of(value)
        assert isinstance(found, Value | Const)
        return found

    def put(self, value: Value, found: Atom) -> None:
        """Set the replacement of a value."""
        if isinstance(found, Value) and found.hint is None:
            found.hint = value.hint
        self.shared.values[value] = found

    def wide(self, type_: Type, tree: Activity = True) -> Type:
        """Return the type of a value that has the axis."""
        if tree is False:
            return type_
        match type_:
            case Numeric(shape=shape):
                return type_.of_shape(None if shape is None else self._longer(shape), "array")
            case TupleOf(items):
                return type_.of(tuple(self.wide(t, part(tree, k)) for k, t in enumerate(items)))
            case ListOf(item):
                return ListOf(self.wide(item, tree))
        return type_

    def _longer(self, shape: Shape) -> Shape:
        return (self.shared.length, *shape)

    # -------------------------------------------------------------- writing
    def call(self, target: Any, *args: Arg, **kwargs: Arg) -> Value:
        """Append a call with an inferred type."""
        return self.builder.call(target, *args, kwargs=kwargs.items())

    def full(self, arg: Arg, wanted: Activity) -> Arg:
        """Return the replacement of an argument, with the axis in every part where it is wanted."""
        if isinstance(arg, Display) and arg.kind in ("tuple", "list"):
            trees = enumerate(arg.items)
            each = [part(wanted, k) if arg.kind == "tuple" else wanted for k, _ in trees]
            parts = zip(arg.items, each, strict=True)
            return Display(arg.kind, tuple(self.full(one, tree) for one, tree in parts))
        if isinstance(arg, Display):
            return self.of(arg)
        return self.full_atom(arg, wanted)

    def full_atom(self, atom: Atom, wanted: Activity, type_: Type | None = None) -> Atom:
        """Return the same for an atom; `type_` is that of the variable that it is assigned to.

        A number has the dtype of the variable: an array that is added to in place keeps its own.
        """
        have = self.tree(atom)
        if isinstance(atom, Const) and not have and wanted is True and _has_dtype(type_):
            return self.repeated(atom, type_)
        found = self.atom(atom)
        if have == wanted or atom == UNDEF:
            return found
        zeros_of = self._measured(atom)
        if zeros_of is not None and not have:
            return self._zeros(zeros_of, atom_type(atom))
        return self._spread(found, atom_type(atom), have, wanted)

    def _measured(self, atom: Atom) -> Value | None:
        """Return the array that gives some zeros their shape; None if the value is no zeros."""
        found = None
        while isinstance(atom, Value):
            made = self.shared.made.get(atom)
            if made is None or not is_zeros_like(made.target) or made.kwargs:
                break
            source = made.args[0]
            if not isinstance(source, Value) or self.tree(source) is not False:
                break
            found = atom = source
        return found

    def _zeros(self, array: Value, type_: Type) -> Value:
        """Zeros of the shape of an array in every direction."""
        plain = not isinstance(type_, Numeric) or type_.dtype in (None, np.dtype(float))
        kwargs = () if plain else (("dtype", Const(type_.dtype.type)),)  # type: ignore[union-attr]
        shape = self.wide_shape(array)
        return self.builder.call(np.zeros, shape, kwargs=kwargs, type=self.wide(type_))

    def _spread(self, found: Atom, type_: Type, have: Activity, wanted: Activity) -> Atom:
        if found == Const(None) or _has_all(type_, have, wanted):
            return found
        if isinstance(type_, TupleOf):
            parts = [
                self._spread(
                    self.builder.part(found, type_, k, type=self.wide(t, part(have, k))),
                    t,
                    part(have, k),
                    part(wanted, k),
                )
                for k, t in enumerate(type_.items)
            ]
            return self.builder.build_like(type_, parts)
        if isinstance(type_, ListOf):
            inside = self.inner()
            item = Value(self.wide(type_.item, have))
            row = inside._spread(item, type_.item, have, wanted)
            body = inside.builder.finish(Const(0), row, params=(item,))
            return self.builder.for_((found,), (), body)[2]
        return self.repeated(found, type_)

    def repeated(self, found: Atom, type_: Type) -> Atom:
        """Return the same number or array in every direction."""
        count, wide = self.shared.count, self.wide(type_)
        if isinstance(found, Const) and isinstance(type_, Numeric) and type_.is_scalar:
            dtype = type_.dtype if _has_dtype(type_) else None
            kwargs = () if dtype is None else (("dtype", Const(dtype.type)),)
            if found.value == 0:
                return self.builder.call(np.zeros, count, kwargs=kwargs, type=wide)
            return self.builder.call(np.full, count, found, kwargs=kwargs, type=wide)
        if isinstance(type_, Opaque):
            return self.builder.call(runtime.for_directions, found, count, type=wide)
        shape = self.wide_shape(found)
        return self.builder.call(np.broadcast_to, found, shape, type=wide)

    def wide_shape(self, found: Atom) -> Arg:
        """Return the shape of a value that has no axis, with the axis in front."""
        type_ = argument_type(found)
        if isinstance(type_, Numeric) and type_.is_scalar:
            return Display("tuple", (self.shared.count,))
        return self.wide_lengths(self.builder.shape(found))

    def wide_lengths(self, shape: Arg) -> Arg:
        """Return a shape with the axis in front."""
        return self.call(operator.add, Display("tuple", (self.shared.count,)), shape)

    def reshaped(self, found: Arg, rank: int, wanted: int) -> Arg:
        """Return a value of some axes as one of more, in front of them axes of length 1."""
        if rank == wanted:
            return found
        new = (Const(None),) * (wanted - rank)
        rest = () if rank == 0 else (Const(Ellipsis),)
        return self.call(operator.getitem, found, Display("tuple", (ALL, *new, *rest)))


def _has_all(type_: Type, have: Activity, wanted: Activity) -> bool:
    """Return True if a value has the axis wherever it is wanted.

    One of unknown type comes from a routine that gives the axis to all of it, or to nothing.
    """
    if wanted is False or have is True:
        return True
    match type_:
        case TupleOf(items):
            trees = ((part(have, k), part(wanted, k)) for k, _ in enumerate(items))
            return all(_has_all(t, *pair) for t, pair in zip(items, trees, strict=True))
        case ListOf(item):
            return _has_all(item, have, wanted)
        case Opaque():
            return have is not False
    return False


def refuse_hidden_list(
    where: Location | None, type_: Type, tree: Activity, given: Sequence[Arg]
) -> None:
    """Refuse a list as one of several values of an unknown type.

    A list has the axis in its items, and a value of unknown type in front, as an array has.

    Raises
    ------
    UnsupportedSyntaxError
        A list that depends on the direction becomes a value of unknown type.
    """
    unknown = tree is not False and isinstance(type_, Opaque)
    if unknown and any(isinstance(argument_type(arg), ListOf) for arg in given):
        raise UnsupportedSyntaxError(
            "cannot take several directions at once of a value that is a list or an array",
            where=where,
            why="only the call knows which of the two it is.",
            help="use srcad.pullback or srcad.jvp, one direction at a time",
        )


def _has_dtype(type_: Type | None) -> TypeGuard[Numeric]:
    """Return True for a number of a dtype that an array of zeros has only where it is named."""
    if not isinstance(type_, Numeric) or not type_.is_scalar or type_.dtype is None:
        return False
    return type_.kind in "fc" and type_.dtype != np.dtype(float)


def rank(type_: Type) -> int | None:
    """Return the number of axes of a value, if that is known."""
    if not isinstance(type_, Numeric) or type_.shape is None:
        return None
    return len(type_.shape)
