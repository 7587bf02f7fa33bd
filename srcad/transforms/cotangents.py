"""Bookkeeping of the reverse sweep: the cotangent that a value has so far, block by block.

A *slot* is a leaf of a value: the value and the path to a number (or list) inside it.  `None` is
the zero that costs nothing: a slot has a cotangent only once something was contributed to it.
Contributions are kept in a list and summed once, when the cotangent is taken.

Blocks nest, and so do their scopes.  A contribution to a value from outside the block goes through
the block's edge: a loop carries an accumulator for it, a branch of an ``if`` yields the new sum.
"""

from __future__ import annotations

import operator
from typing import Any, Literal

import numpy as np

from srcad import runtime
from srcad.analysis.activity_trees import Activity, fully_active, part
from srcad.ir.constructors import Constructors
from srcad.ir.core import Arg, Atom, Block, Const, Display, Location, Value
from srcad.ir.inference.builder import Builder, atom_type
from srcad.startup.records import dataclass, field
from srcad.transforms.sweep import (
    Path,
    Slot,
    Sweep,
    bar_hint,
    cotangent_type,
    is_nothing,
    is_scalar,
    item_type,
    leaf_paths,
    type_at,
    zero_of,
)
from srcad.types.numeric import Numeric, same_dtype
from srcad.types.structures import ListOf, Opaque, TupleOf, Type


@dataclass(eq=False)
class ReverseScope(Constructors[Arg, Value]):
    """The cotangents known while the ops of one block are reversed.

    `outer` holds the slots of values from outside that were contributed to: for a loop with the
    parameter that accumulates them.  `mirror` has versions of overwritten arrays as the reverse
    half has put them back.
    """

    sweep: Sweep
    block: Block
    builder: Builder
    kind: Literal["function", "branch", "loop"] = "function"
    parent: ReverseScope | None = None
    bars: dict[Slot, list[Atom]] = field(default_factory=dict)
    outer: dict[Slot, Value | None] = field(default_factory=dict)
    places: dict[Slot, Location | None] = field(default_factory=dict)
    mirror: dict[Value, Atom] = field(default_factory=dict)

    def inner(self, block: Block, kind: Literal["branch", "loop"]) -> ReverseScope:
        """Return the scope of a block inside an op of this one."""
        builder = Builder(where=self.builder.where, half=self.builder.half)
        return ReverseScope(self.sweep, block, builder, kind, self)

    # -------------------------------------------------------------- contributing
    def contribute(self, arg: Arg, path: Path, bar: Atom) -> None:
        """Add to the cotangent of the part of an argument at a path."""
        if isinstance(arg, Display):
            if path:
                self.contribute(arg.items[path[0]], path[1:], bar)
            else:
                for k, one in enumerate(arg.items):
                    self.contribute(one, (), self.item(bar, k))
            return
        if not isinstance(arg, Value) or not self.is_active((arg, path)):
            return
        type_ = type_at(arg.type, path)
        if isinstance(type_, TupleOf):
            for k in range(len(type_.items)):
                if self.is_active((arg, (*path, k))):
                    self.contribute(arg, (*path, k), self.child(type_, bar, k))
            return
        self.add((arg, path), bar)

    def is_active(self, slot: Slot) -> bool:
        """Return True if anything at a slot carries a derivative."""
        tree = self.sweep.facts.active(slot[0])
        for k in slot[1]:
            tree = part(tree, k)
        return tree is not False

    def add(self, slot: Slot, bar: Atom) -> None:
        type_ = type_at(slot[0].type, slot[1])
        given, bar = bar, self._cast(self.ready(bar, *slot), type_)
        if given is not bar and given in self.sweep.masks and self.sweep.is_complex(type_):
            assert isinstance(given, Value)
            assert isinstance(bar, Value)
            self.sweep.masks[bar] = self.sweep.masks[given]
        if self.sweep.is_unsettled(type_, atom_type(bar)) and slot[0] not in self.sweep.undefined:
            bar = self.builder.call(
                runtime.real_part_like, bar, self.at(*slot), type=cotangent_type(type_)
            )
        self._known(slot).append(bar)
        self.places[slot] = self.builder.where
        if slot in self.outer:
            self.total(slot)

    def _cast(self, bar: Atom, type_: Type) -> Atom:
        """Return a cotangent in the dtype of the array that it belongs to.

        Of real numbers its real part.

        A number may stand for that of an array without axes: it has no dtype to be put in.
        """
        if not isinstance(type_, Numeric):
            return bar
        if type_.is_real and self.sweep.is_complex(atom_type(bar)):
            bar = self.builder.call(np.real, bar, type=_real_type(atom_type(bar), type_))
        given = atom_type(bar)
        if not isinstance(given, Numeric):
            return bar
        if type_.form != "array" or given.form != "array" or type_.kind not in "fc":
            return bar
        if type_.is_scalar or same_dtype(type_.dtype, given.dtype):
            return bar
        if given.kind != "f" and type_.kind != "c":
            return bar
        return self.call(np.astype, bar, Const(type_.dtype))

    def replace(self, slot: Slot, bar: Atom) -> None:
        """Set the sum of a slot: `bar` was made from what `total` gave."""
        self._known(slot)[:] = [bar]

    def _known(self, slot: Slot) -> list[Atom]:
        if slot not in self.bars:
            self.bars[slot] = self._from_outside(slot)
        return self.bars[slot]

    def _from_outside(self, slot: Slot) -> list[Atom]:
        if self.parent is None or self.sweep.homes.get(slot[0]) is self.block:
            return []
        if self.kind == "loop":
            value, path = slot
            tree = self.sweep.facts.active(value)
            for k in path:
                tree = part(tree, k)
            param = Value(cotangent_type(type_at(value.type, path), tree), bar_hint(value))
            if value in self.sweep.undefined and not is_scalar(param.type):
                self.sweep.lazy.add(param)
            self.outer[slot] = param
            return [param]
        self.outer[slot] = None
        base = self.parent.enter(slot)
        return [] if base is None else [base]

    def enter(self, slot: Slot) -> Atom | None:
        """Return the sum of a slot before an inner block adds to it."""
        self._known(slot)
        return self.total(slot)

    # -------------------------------------------------------------- taking
    def total(self, slot: Slot) -> Atom | None:
        """Return the cotangent of a slot so far, summed; None where there is none."""
        bars = self.bars.get(slot)
        if not bars:
            return None
        result = bars[0]
        if len(bars) > 1:
            before, self.builder.where = self.builder.where, self.places.get(slot)
            for bar in bars[1:]:
                result = self.sum(slot, result, bar)
            self.builder.where = before
        hint = bar_hint(slot[0])
        if isinstance(result, Value) and result.hint is None and hint and not slot[1]:
            result.hint = hint
        bars[:] = [result]
        return result

    def take(self, value: Value) -> dict[Path, Atom]:
        """Return the cotangents of all leaves of a value that is about to be undone."""
        found = {}
        for path in leaf_paths(value.type, self.sweep.facts.active(value)):
            bar = self.total((value, path))
            if bar is not None:
                found[path] = self.ready(bar, value, path)
        return found

    def ready(self, bar: Atom, value: Value, path: Path = ()) -> Atom:
        """Return the cotangent of a value as its slot keeps it: zeros in place of a lazy None.

        Only where the value may be unbound here, and its zeros need its shape, None stays.
        """
        here = type_at(value.type, path)
        if self.is_lazy(bar) and isinstance(here, Numeric) and here.is_scalar:
            type_ = Numeric(here.dtype if here.kind in "fc" else None, (), "any")
            return self.builder.call(runtime.or_zeros, bar, Const(0.0), type=type_)
        return bar if value in self.sweep.undefined else self.filled(bar, value, path)

    def filled(self, bar: Atom, value: Value, path: Path = ()) -> Atom:
        """Return the same for a value that is known to be bound because it is being read."""
        if self.is_lazy(bar):
            return self.call(runtime.or_zeros, bar, self.at(value, path))
        return bar

    def is_lazy(self, bar: Atom) -> bool:
        """Return True if a cotangent may be None when the code runs."""
        return bar in self.sweep.lazy or (isinstance(bar, Const) and bar.value is None)

    # -------------------------------------------------------------- building
    def call(self, target: Any, *args: Arg, **kwargs: Arg) -> Value:
        """Append a call to the reverse half."""
        return self.builder.call(target, *args, kwargs=kwargs.items())

    def _construct(self, target: Any, *args: Any, **how: Any) -> Value:
        return self.builder.call(target, *args, **how)

    def at(self, value: Value, path: Path) -> Value:
        type_ = value.type
        for k in path:
            value = self.child(type_, value, k)
            type_ = type_.items[k] if isinstance(type_, TupleOf) else Opaque()
        return value

    def child(self, type_: Type, container: Atom, k: int) -> Value:
        if isinstance(type_, TupleOf):
            return self.part(container, type_, k)
        return self.item(container, k)

    def sum(self, slot: Slot, a: Atom, b: Atom) -> Atom:
        """Return the sum of two cotangents of a slot."""
        value, path = slot
        lazy = [self.is_lazy(atom) for atom in (a, b)]
        if any(lazy):
            result = self.builder.call(
                runtime.add_cotangents, a, b, type=atom_type(b if lazy[0] else a)
            )
            if all(lazy):
                self.sweep.lazy.add(result)
            return result
        tree = self.sweep.facts.active(value)
        for k in path:
            tree = part(tree, k)
        return self.plus(type_at(value.type, path), tree, a, b)

    def plus(self, type_: Type, activity: Activity, a: Atom, b: Atom) -> Atom:
        """Return the sum of two packed cotangents of one type."""
        if activity is False:
            return Const(None)
        for one, other in ((a, b), (b, a)):
            if is_nothing(atom_type(one)):  # a loop over the list has not read this part
                return other
        if isinstance(type_, TupleOf):
            parts = [
                self.plus(t, part(activity, k), self.child(type_, a, k), self.child(type_, b, k))
                for k, t in enumerate(type_.items)
            ]
            return self.build_like(type_, parts)
        numbers = [isinstance(atom_type(atom), Numeric) for atom in (a, b)]
        if isinstance(type_, ListOf) and not all(numbers):
            return self.each((a, b), type_.item, activity)
        if isinstance(type_, Opaque) and not any(numbers):
            # perhaps what a routine has saved: ``+`` would join two tuples
            return self.builder.call(runtime.add_cotangents, a, b, type=atom_type(a))
        return self.call(operator.add, a, b)

    def each(self, lists: tuple[Atom, Atom], item: Type, activity: Activity) -> Value:
        """Return the sums of the items of two lists."""
        inside = Builder(where=self.builder.where, half=self.builder.half)
        left, right = (Value(item_type(atom_type(bars), item, activity)) for bars in lists)
        body = ReverseScope(self.sweep, Block(), inside)
        result = body.plus(item, activity, left, right)
        block = inside.finish(Const(0), result, params=(left, right))
        return self.builder.for_(lists, (), block)[2]

    def pack(self, value: Value, bars: dict[Path, Atom], active: Activity | None = None) -> Atom:
        """One atom that holds all cotangents of a value, with zeros where there is none.

        `active` says which parts are wanted, where that is more than those of the value itself.
        """
        wanted = self.sweep.facts.active(value) if active is None else active
        return self._packed(value, (), wanted, bars)

    def packed(self, value: Value, path: Path, bars: dict[Path, Atom]) -> Atom:
        """One atom that holds the cotangents of a part of a value, whether it is active or not."""
        return self._packed(value, path, fully_active(type_at(value.type, path)), bars)

    def _packed(self, value: Value, path: Path, tree: Activity, bars: dict[Path, Atom]) -> Atom:
        type_ = type_at(value.type, path)
        if tree is False:
            return Const(None)
        if isinstance(type_, TupleOf):
            parts = [
                self._packed(value, (*path, k), part(tree, k), bars)
                for k in range(len(type_.items))
            ]
            made = self.build_like(type_, parts)
            active = (atom for k, atom in enumerate(parts) if part(tree, k) is not False)
            if any(map(self.is_lazy, active)):
                self.sweep.lazy.add(made)
            return made
        bar = bars.get(path)
        return self.zeros(value, path) if bar is None else bar

    def unpack(self, arg: Arg, bar: Atom) -> None:
        """Contribute a packed cotangent to an argument, part by part."""
        self.contribute(arg, (), bar)

    # -------------------------------------------------------------- zeros
    def zeros(self, value: Value, path: Path = ()) -> Atom:
        """Return the zero cotangent of a slot, as an atom."""
        type_ = type_at(value.type, path)
        if is_scalar(type_):
            return zero_of(type_)
        if value in self.sweep.undefined:
            return Const(None)
        tree = self.sweep.facts.active(value)
        for k in path:
            tree = part(tree, k)
        return self.zeros_of(type_, tree or fully_active(type_), self.at(value, path))

    def zeros_of(self, type_: Type, activity: Activity, value: Atom) -> Atom:
        match type_:
            case _ if activity is False:
                return Const(None)
            case Numeric(shape=()):
                return zero_of(type_)
            case Numeric(dtype, _, "array") if dtype is not None and dtype.kind in "fc":
                return self.call(np.zeros_like, value)
            case TupleOf(items):
                assert isinstance(value, Value)
                parts = [
                    self.zeros_of(t, part(activity, k), self.at(value, (k,)))
                    for k, t in enumerate(items)
                ]
                return self.build_like(type_, parts)
            case ListOf(item):
                return self._zeros_of_list(item, activity, value)
        return self.builder.call(runtime.zero_cotangent, value, type=cotangent_type(type_))

    def _zeros_of_list(self, item: Type, activity: Activity, value: Atom) -> Atom:
        if is_scalar(item):
            length = self.call(len, value)
            return self.call(operator.mul, Display("list", (zero_of(item),)), length)
        inside = Builder(where=self.builder.where, half=self.builder.half)
        one = Value(item)
        zero = ReverseScope(self.sweep, Block(), inside).zeros_of(item, activity, one)
        return self.builder.for_((value,), (), inside.finish(Const(0), zero, params=(one,)))[2]


def _real_type(given: Type, type_: Numeric) -> Type | None:
    """Return the type of the real part of a cotangent of unknown dtype; None: ask NumPy.

    Of a float64 it is float64, whatever the intermediate results are.
    """
    if isinstance(given, Numeric) and given.dtype is None and type_.dtype == np.float64:
        return Numeric(type_.dtype, given.shape, given.form)
    return None
