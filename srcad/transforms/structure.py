"""Adjoints of IR operations: structures, lists, stores, element reads."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from srcad import runtime
from srcad.analysis.activity_trees import fully_active, position
from srcad.errors import UnsupportedSyntaxError
from srcad.ir import primitives
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Atom, Block, Call, Const, Display, Value, values_in
from srcad.ir.disjoint import may_repeat
from srcad.ir.hooks import through_hook
from srcad.ir.inference.builder import Builder, atom_type
from srcad.ir.operations import every
from srcad.ir.traits import built_parts, sets_places, sums_at_places
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.refusals import refuse_unknown_field
from srcad.transforms.sweep import Path, cotangent_type, is_scalar, item_type
from srcad.types.numeric import INT, Numeric
from srcad.types.sizes import is_one, same
from srcad.types.structures import OPAQUE, ListOf, TupleOf, Type

# Adjoints of array stores: ``y[i] = v``, ``y[i] += v``.

Bars = dict[Path, Atom]


def undo_updated(scope: ReverseScope, op: Call, bars: Bars) -> None:
    """``y[i] = v``: the cotangent of what was stored is read there, and nothing is left there."""
    array, index, value = op.args
    bar = bars[()]
    assert isinstance(value, Value) or not _is_any_active(scope, value)
    whole = is_scalar(op.result.type) and _is_all_of_a_point(index)
    if not (whole and is_scalar(argument_type(value))):
        bar = _with_places(scope, op, bar)
    if isinstance(value, Value) and scope.is_active((value, ())):
        read = _read_where_stored(scope, op, bar)
        if may_repeat(index):
            read = scope.call(operator.mul, read, scope.call(runtime.last_writes, bar, index))
        scope.contribute(value, (), narrowed(scope, read, value))
    if not whole:
        scope.contribute(array, (), scope.updated(bar, index, Const(0.0)))


def undo_add_at(scope: ReverseScope, op: Call, bars: Bars) -> None:
    """``y[i] += v``: the cotangent of `v` is read at `i`."""
    array, _, value = op.args
    bar = bars[()]
    assert isinstance(value, Value) or not _is_any_active(scope, value)
    if isinstance(value, Value) and scope.is_active((value, ())):
        read = _read_where_stored(scope, op, bar)
        scope.contribute(value, (), narrowed(scope, read, value))
    scope.contribute(array, (), bar)


def _read_where_stored(scope: ReverseScope, op: Call, bar: Atom) -> Atom:
    """Return the part of an array's cotangent that belongs to the stored value."""
    _, index, value = op.args
    single = is_scalar(op.result.type) and is_scalar(argument_type(value))
    if single and _is_all_of_a_point(index):
        return bar
    return scope.call(operator.getitem, _with_places(scope, op, bar), index)


def _with_places(scope: ReverseScope, op: Call, bar: Atom) -> Atom:
    """Return the cotangent of an array as an array: arithmetic on 0-d arrays makes numbers."""
    return scope.call(np.asarray, bar) if is_scalar(op.result.type) else bar


def _is_all_of_a_point(index: Arg) -> bool:
    """Return True for an index that names all of a 0-d array: ``...``, ``()``, ``None``."""
    parts = index.items if isinstance(index, Display) and index.kind == "tuple" else (index,)
    return all(part in (Const(None), Const(...), Const(())) for part in parts)


def _is_any_active(scope: ReverseScope, arg: Arg) -> bool:
    return any(scope.is_active((value, ())) for value in values_in(arg))


def narrowed(scope: ReverseScope, bar: Atom, value: Value) -> Atom:
    """Return the cotangent of a stored value, summed to its shape before broadcasting."""
    wide, narrow = bar.type, value.type
    if isinstance(wide, Numeric) and isinstance(narrow, Numeric):
        if wide.shape is None and narrow.shape == ():
            return scope.call(np.sum, bar)
        if wide.shape is not None and wide.shape == narrow.shape:
            return bar
        if wide.shape is not None and narrow.shape is not None:
            pairs = zip(wide.shape, narrow.shape, strict=False)
            if len(wide.shape) == len(narrow.shape) and all(same(m, n) for m, n in pairs):
                return bar
            if not narrow.shape or all(is_one(n) for n in wide.shape):
                return scope.call(np.sum, bar) if not narrow.shape else bar
    return scope.call(runtime.unbroadcast, bar, value)


# Hooks: the cotangent of ``hook(x, f)`` passes through `f` once it is complete.


def undo_hooked(scope: ReverseScope, op: Call, bars: Bars) -> None:
    """Call the function of a hook in the reverse half; it may replace the cotangent."""
    x, function = op.args
    bar = scope.pack(op.result, bars)
    passed = scope.builder.call(through_hook, function, bar, effect=True, type=atom_type(bar))
    scope.unpack(x, passed)


Undo = Callable[[ReverseScope, Call, Bars], None]


# ------------------------------------------------------------------------------- structures
def _undo_build(scope: ReverseScope, op: Call, bars: Bars) -> None:
    parts = built_parts(op)
    for path, bar in bars.items():
        scope.contribute(parts[path[0]], path[1:], bar)


def _undo_item(scope: ReverseScope, op: Call, bars: Bars) -> None:
    container, key = op.args[0], op.args[1]
    type_ = argument_type(container)
    index = position(type_, key.value) if isinstance(key, Const) else None
    if index is not None:
        for path, bar in bars.items():
            scope.contribute(container, (index, *path), bar)
    elif isinstance(container, Value) and type_ == OPAQUE and op.target is primitives.item:
        _undo_item_of_unknown(scope, op, container, bars)
    else:
        refuse_unknown_field(op)
        undo_getitem(scope, op, bars)


def _undo_item_of_unknown(scope: ReverseScope, op: Call, container: Value, bars: Bars) -> None:
    """Contribute to one item of a tuple of which the call knows the length.

    What a recursion has saved is such a one: its items may be such tuples in turn, or None.
    """
    if not scope.is_active((container, ())):
        return
    key = op.args[1]
    assert isinstance(key, Const)
    bar = scope.pack(op.result, bars, fully_active(op.result.type))
    alone = scope.build_tuple(*(Const(None) for _ in range(key.value)), bar)
    scope.contribute(container, (), scope.call(runtime.or_zeros, alone, container))


def _undo_identity(scope: ReverseScope, op: Call, bars: Bars) -> None:
    for path, bar in bars.items():
        scope.contribute(op.args[0], path, bar)


# ------------------------------------------------------------------------------- lists
def _undo_build_list(scope: ReverseScope, op: Call, bars: Bars) -> None:
    for k, arg in enumerate(op.args):
        if isinstance(arg, Value) and scope.is_active((arg, ())):
            scope.unpack(arg, scope.call(operator.getitem, bars[()], Const(k)))


def _undo_append(scope: ReverseScope, op: Call, bars: Bars) -> None:
    items, last = op.args[0], op.args[-1]
    if isinstance(last, Value) and scope.is_active((last, ())):
        scope.unpack(last, scope.call(operator.getitem, bars[()], Const(-1)))
    scope.contribute(items, (), _without_entry(scope, bars[()], Const(-1)))


def _undo_inserted(scope: ReverseScope, op: Call, bars: Bars) -> None:
    items, index, value = op.args
    place = _place_of_insertion(scope, index, bars[()])
    if isinstance(value, Value) and scope.is_active((value, ())):
        scope.unpack(value, scope.call(operator.getitem, bars[()], place))
    if isinstance(items, Value) and scope.is_active((items, ())):
        scope.contribute(items, (), _without_entry(scope, bars[()], place))


def _place_of_insertion(scope: ReverseScope, index: Arg, bars: Atom) -> Atom:
    """Where an item stands that was inserted: an index beyond the ends means the end."""
    if index == Const(0):
        return Const(0)
    length = scope.call(operator.sub, scope.call(len, bars), Const(1))
    every = Display("range", (Const(0), length, Const(1)))
    before = Display("slice", (Const(None), index, Const(None)))
    return scope.call(len, scope.call(operator.getitem, every, before))


def _without_entry(scope: ReverseScope, bars: Atom, place: Atom) -> Value:
    """Return the cotangents without the one at a place."""
    if not isinstance(bars.type, Numeric):
        return scope.without(bars, place)
    if place == Const(-1):
        rest = Display("slice", (Const(None), place, Const(None)))
        return scope.call(operator.getitem, bars, rest)
    return scope.call(np.delete, bars, place, Const(0))


def _undo_without(scope: ReverseScope, op: Call, bars: Bars) -> None:
    items, index = op.args
    type_ = argument_type(items)
    assert isinstance(items, Value)
    assert isinstance(type_, ListOf), type_
    gone = scope.call(operator.getitem, items, index)
    zero = scope.zeros_of(type_.item, fully_active(type_.item), gone)
    bar: Atom = bars[()]
    if isinstance(bar.type, Numeric):
        bar = rows_as_list(scope, bar, type_.item)
    if index == Const(-1):
        scope.contribute(items, (), scope.append(bar, zero))
        return
    place = index
    if not (isinstance(index, Const) and index.value >= 0):
        length = scope.call(operator.add, scope.call(len, bar), Const(1))
        every = Display("range", (Const(0), length, Const(1)))
        place = scope.call(operator.getitem, every, index)
    scope.contribute(items, (), scope.inserted(bar, place, zero))


def rows_as_list(scope: ReverseScope, rows: Atom, item: Type) -> Atom:
    row = Value(item_type(atom_type(rows), item, True))
    block = Block((row,), (), (Const(0), row))
    return scope.builder.for_((rows,), (), block)[2]


def _undo_extended(scope: ReverseScope, op: Call, bars: Bars) -> None:
    items, more = op.args
    length = len(items.items) if isinstance(items, Display) else None
    border = scope.call(len, items) if length is None else Const(length)
    for arg, bounds in ((items, (Const(None), border)), (more, (border, Const(None)))):
        if isinstance(arg, Display) or (isinstance(arg, Value) and scope.is_active((arg, ()))):
            part = Display("slice", (*bounds, Const(None)))
            scope.contribute(arg, (), scope.call(operator.getitem, bars[()], part))


def _undo_replaced(scope: ReverseScope, op: Call, bars: Bars) -> None:
    items, index, value = op.args
    if isinstance(value, Value) and scope.is_active((value, ())):
        scope.unpack(value, scope.call(operator.getitem, bars[()], index))
    if isinstance(items, Value) and scope.is_active((items, ())):
        rows = isinstance(bars[()].type, Numeric)
        zero: Atom = Const(0.0)  # where the list is one of cotangents, held by an array
        if isinstance(items.type, ListOf):
            old = scope.call(operator.getitem, items, index)
            zero = scope.zeros_of(items.type.item, scope.sweep.facts.active(items), old)
        store = scope.updated if rows else scope.replaced
        scope.contribute(items, (), store(bars[()], index, zero))


def add_to_item(scope: ReverseScope, items: Value, index: Arg, bar: Atom) -> None:
    """Add a packed cotangent to one item of a list."""
    slot = (items, ())
    if not scope.is_active(slot):
        return
    assert isinstance(items.type, ListOf)
    tree = scope.sweep.facts.active(items)
    total = _buffer(scope, items)
    if isinstance(total.type, Numeric):
        scope.replace(slot, scope.add_at(total, index, bar))
        return
    old = scope.call(operator.getitem, total, index)
    new = scope.plus(items.type.item, tree, old, bar)
    result = scope.replaced(total, index, new, hint=_bar_name(items))
    scope.replace(slot, result)


def _buffer(scope: ReverseScope, value: Value) -> Atom:
    """Return the cotangent of an array or list so far, zeros if nothing was added yet."""
    total = scope.enter((value, ()))
    if total is None:
        type_ = value.type
        return scope.zeros_of(type_, scope.sweep.facts.active(value) or fully_active(type_), value)
    return scope.filled(total, value)


def _add_to_slice(scope: ReverseScope, items: Value, index: Arg, bars: Atom) -> None:
    """Add the cotangents of a slice of a list: one item after the other."""
    assert isinstance(items.type, ListOf)
    tree = scope.sweep.facts.active(items)
    init = _buffer(scope, items)
    if isinstance(init.type, Numeric):
        scope.replace((items, ()), scope.add_at(init, index, bars))
        return
    length = scope.call(len, items)
    every = Display("range", (Const(0), length, Const(1)))
    indices = scope.call(operator.getitem, every, index)
    inside = Builder(where=scope.builder.where, half=scope.builder.half)
    inner = ReverseScope(scope.sweep, Block(), inside)
    place = Value(INT)
    bar = Value(item_type(atom_type(bars), items.type.item, tree))
    total = Value(cotangent_type(items.type, tree))
    old = inner.call(operator.getitem, total, place)
    new = inner.replaced(total, place, inner.plus(items.type.item, tree, old, bar))
    body = inside.finish(Const(0), new, params=(place, bar, total))
    scope.replace((items, ()), scope.builder.for_((indices, bars), (init,), body)[2])


# ------------------------------------------------------------------------------- elements
def undo_getitem(scope: ReverseScope, op: Call, bars: Bars) -> None:
    """Add the cotangent of a read element to its position."""
    container, index = op.args[0], op.args[1]
    type_ = argument_type(container)
    if isinstance(container, Display):
        _undo_display_read(scope, container, index, op, bars)
        return
    if not isinstance(container, Value):
        return
    if isinstance(type_, TupleOf):
        _undo_tuple_read(scope, container, index, op, bars)
    elif isinstance(type_, ListOf):
        if isinstance(index, Display):
            _add_to_slice(scope, container, index, bars[()])
        else:
            wanted = scope.sweep.facts.active(container)
            add_to_item(scope, container, index, scope.pack(op.result, bars, wanted))
    else:
        add_at(scope, container, index, bars[()])


def add_at(scope: ReverseScope, array: Value, index: Arg, bar: Atom) -> None:
    """Add to some places of the cotangent of an array: one buffer, however often it is read."""
    if not scope.is_active((array, ())):
        return
    if is_scalar(array.type):  # x[()], x[...], x[None]
        scope.contribute(array, (), narrowed(scope, bar, array))
        return
    has_axes = isinstance(array.type, Numeric) and bool(array.type.shape)
    if _is_whole(index) and not has_axes:  # the cotangent of a 0-d array may be a number
        scope.contribute(array, (), bar)
        return
    back = _without_new_axes(index)
    if back is not None:
        scope.contribute(array, (), scope.call(operator.getitem, bar, back))
        return
    repeated = may_repeat(index)
    total = _buffer(scope, array)
    if _may_index_number(array.type, index):
        total = scope.call(np.asarray, total)
    if not any(isinstance(type_, Numeric) for type_ in (array.type, atom_type(bar))):
        # perhaps a list of what routines have saved: ``+=`` would join two tuples
        old = scope.call(operator.getitem, total, index)
        new = scope.builder.call(runtime.add_cotangents, old, bar, type=atom_type(bar))
        scope.replace((array, ()), scope.updated(total, index, new, hint=_bar_name(array)))
        return
    result = scope.add_at(total, index, bar, repeated=repeated, hint=_bar_name(array))
    scope.replace((array, ()), result)


def _may_index_number(type_: Type, index: Arg) -> bool:
    """Return True for an index by one flag where the indexed value may be a NumPy scalar."""
    if not isinstance(type_, Numeric) or type_.shape is not None or not isinstance(index, Value):
        return False
    return isinstance(index.type, Numeric) and index.type.kind == "b" and index.type.shape is None


def _is_whole(index: Arg) -> bool:
    """Return True for ``x[()]`` and ``x[...]``."""
    if isinstance(index, Display):
        return index.kind == "tuple" and all(part == Const(...) for part in index.items)
    return index in (Const(()), Const(...))


def _without_new_axes(index: Arg) -> Arg | None:
    """Return the index that undoes ``x[:, None]``; None where an index does more than add axes."""
    parts = index.items if isinstance(index, Display) and index.kind == "tuple" else (index,)
    whole = Display("slice", (Const(None),) * 3)
    if Const(None) not in parts or any(p not in (whole, Const(None), Const(...)) for p in parts):
        return None
    places = tuple(Const(0) if part == Const(None) else part for part in parts)
    return places[0] if len(places) == 1 else Display("tuple", places)


def _bar_name(value: Value) -> str | None:
    return f"{value.hint}_bar" if value.hint else None


def _undo_tuple_read(
    scope: ReverseScope, container: Value, index: Arg, op: Call, bars: Bars
) -> None:
    assert isinstance(container.type, TupleOf)
    known = position(container.type, index.value) if isinstance(index, Const) else None
    if known is not None:
        for path, bar in bars.items():
            scope.contribute(container, (known, *path), bar)
        return
    length = len(container.type.items)
    for k in range(length):
        chosen = scope.call(operator.eq, _from_start(scope, index, length), Const(k))
        _contribute_if(scope, chosen, container, (k,), op.result, bars)


def _undo_display_read(
    scope: ReverseScope, container: Display, index: Arg, op: Call, bars: Bars
) -> None:
    """Add to the item of a written-out sequence that was read, or to those of a slice."""
    if container.kind == "range":
        return  # its numbers only count
    if isinstance(index, Display):
        _undo_display_slice(scope, container, index, bars)
        return
    for k, arg in enumerate(container.items):
        if isinstance(arg, Value) and scope.is_active((arg, ())):
            place = _from_start(scope, index, len(container.items))
            chosen = scope.call(operator.eq, place, Const(k))
            _contribute_if(scope, chosen, arg, (), op.result, bars)


def _undo_display_slice(
    scope: ReverseScope, container: Display, index: Display, bars: Bars
) -> None:
    """Add to the items of a written-out sequence what belongs to them of a slice."""
    bounds = [bound.value for bound in index.items if isinstance(bound, Const)]
    if len(bounds) != len(index.items) or index.kind != "slice":
        raise UnsupportedSyntaxError(
            "cannot differentiate a slice, known only at the call, of a list that is written out",
            where=scope.builder.where,
            help="give the list a name, and take the slice of that",
        )
    for place, k in enumerate(range(len(container.items))[slice(*bounds)]):
        arg = container.items[k]
        if isinstance(arg, Value) and scope.is_active((arg, ())):
            scope.unpack(arg, scope.call(operator.getitem, bars[()], Const(place)))


def _from_start(scope: ReverseScope, index: Arg, length: int) -> Arg:
    if isinstance(index, Const) and isinstance(index.value, int):
        return Const(index.value % length)
    return scope.call(operator.mod, index, Const(length))


def _contribute_if(
    scope: ReverseScope, chosen: Value, target: Value, path: Path, result: Value, bars: Bars
) -> None:
    """Contribute to a part if it is the one that was read, zeros otherwise."""
    for rest, bar in bars.items():
        here = (*path, *rest)
        if not scope.is_active((target, here)):
            continue
        branch = scope.inner(Block(), "branch")
        zero = branch.zeros(target, here)
        outputs = scope.builder.if_(chosen, Block((), (), (bar,)), branch.builder.finish(zero))
        scope.contribute(target, here, outputs[0])


# ------------------------------------------------------------------------------- helpers
def _undo_unbroadcast(scope: ReverseScope, op: Call, bars: Bars) -> None:
    wide = op.args[0]
    shape = scope.shape(wide)
    scope.contribute(wide, (), scope.call(np.broadcast_to, bars[()], shape))


def _undo_passing(scope: ReverseScope, op: Call, bars: Bars) -> None:
    _pass(scope, op.args[0], bars)


def _pass(scope: ReverseScope, arg: Arg, bars: Bars) -> None:
    for path, bar in bars.items():
        scope.contribute(arg, path, bar)


def _undo_plus(scope: ReverseScope, op: Call, bars: Bars) -> None:
    for arg in op.args:
        _pass(scope, arg, bars)


def _undo_hooked(scope: ReverseScope, op: Call, bars: Bars) -> None:
    undo_hooked(scope, op, bars)


def _nothing(scope: ReverseScope, op: Call, bars: Bars) -> None:
    """No derivative flows here."""


ADJOINTS: dict[Any, Undo] = {
    primitives.build_tuple: _undo_build,
    primitives.build_dict: _undo_build,
    primitives.build_record: _undo_build,
    primitives.item: _undo_item,
    primitives.field: _undo_item,
    primitives.identity: _undo_identity,
    primitives.hooked: _undo_hooked,
    primitives.build_list: _undo_build_list,
    primitives.append: _undo_append,
    primitives.extended: _undo_extended,
    primitives.inserted: _undo_inserted,
    primitives.without: _undo_without,
    primitives.replaced: _undo_replaced,
    **dict.fromkeys(every(sets_places), undo_updated),
    **dict.fromkeys(every(sums_at_places), undo_add_at),
    runtime.unbroadcast: _undo_unbroadcast,
    runtime.converted_like: _undo_passing,
    runtime.or_zeros: _undo_passing,
    runtime.add_cotangents: _undo_plus,
    runtime.zero_cotangent: _nothing,
}
