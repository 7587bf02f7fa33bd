"""`collections`, and dicts with run-time keys."""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable, Sequence
from typing import Any

from srcad import errors
from srcad.frontend.domain.frames import Latest
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    ListValue,
    RecordValue,
    TupleValue,
)
from srcad.frontend.machine.dispatch import Args, Kwargs, Meaning, apply, means
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.attributes import read_attribute
from srcad.frontend.operations.construction import construct
from srcad.frontend.operations.containers import set_item
from srcad.frontend.operations.indexing import getitem
from srcad.frontend.operations.lists import as_copy, as_value, take_out
from srcad.frontend.prelude import containers
from srcad.frontend.prelude.deques import Deque
from srcad.frontend.store.origins import origin
from srcad.frontend.store.runtime_keys import FIELDS, as_run_time_dict
from srcad.ir import primitives
from srcad.ir.core import Call, Value
from srcad.types.numeric import INT, Numeric


# ------------------------------------------------------------------------------ dicts
def made_dict(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue:
    """``dict(pairs, **more)``."""
    return _filled(state, containers.Mapping, args, kwargs)


def display(
    state: Machine, rows: Sequence[tuple[AbstractValue | None, AbstractValue]]
) -> AbstractValue:
    """``{key: value, **other}``."""
    with state.kept(DictValue((), ())) as kept:
        for key, value in rows:
            if key is None:
                _update(state, kept.box, (value,), {})
            else:
                set_item(state, kept.box, key, value)
        return kept.box


def _filled(
    state: Machine, cls: type, args: Args, kwargs: Kwargs, **fields: AbstractValue
) -> AbstractValue:
    """Return a dict of a class, with the entries of these."""
    places, entries = state.build_places(), state.build_list()
    box = RecordValue(cls, (*FIELDS, *fields), (places, entries, *fields.values()))
    if not args and not kwargs:
        return box
    with state.kept(box) as kept:
        _update(state, box, args, kwargs)
        return kept.box


def _update(state: Machine, box: AbstractValue, args: Args, kwargs: Kwargs) -> None:
    apply(state, read_attribute(state, box, "update"), args, kwargs)


# ------------------------------------------------------------------------------ collections
def _interpreted_if_needed(read: Meaning) -> Meaning:
    """Read a container of the library where the plain one, at the call, would not do."""

    def special(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        return read(state, args, kwargs) if state.dicts.is_needed(state.builder.where) else None

    return special


@means(collections.defaultdict)
@_interpreted_if_needed
def defaultdict(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    factory = args[0] if args else Constant(None)
    if isinstance(factory, Constant) and factory.value is None:
        return _filled(state, containers.Mapping, args[1:], kwargs)
    return _filled(state, containers.DefaultDict, args[1:], kwargs, default_factory=factory)


@means(collections.OrderedDict)
@_interpreted_if_needed
def ordered_dict(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    return _filled(state, containers.OrderedDict, args, kwargs)


def library_dict(
    state: Machine, cls: type, keys: Sequence[Any], values: Args, factory: AbstractValue
) -> AbstractValue:
    """Return an `OrderedDict`, or a `defaultdict` with a factory, of these entries."""
    pairs = zip(keys, values, strict=True)
    entries = TupleValue(tuple(TupleValue((Constant(key), value)) for key, value in pairs))
    if cls is collections.OrderedDict:
        return _filled(state, containers.OrderedDict, (entries,), {})
    if isinstance(factory, Constant) and factory.value is None:
        return _filled(state, containers.Mapping, (entries,), {})
    return _filled(state, containers.DefaultDict, (entries,), {}, default_factory=factory)


@means(collections.Counter)
@_interpreted_if_needed
def counter(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    return _filled(state, containers.Counter, args, kwargs)


@means(collections.deque)
@_interpreted_if_needed
def deque(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``deque(items, maxlen)``."""
    given = {**dict(zip(("iterable", "maxlen"), args, strict=False)), **kwargs}
    maxlen = given.get("maxlen", Constant(None))
    box = RecordValue(Deque, ("entries", "maxlen"), (ListValue(()), maxlen))
    if "iterable" not in given:
        return box
    with state.kept(box) as kept:
        apply(state, read_attribute(state, box, "extend"), (given["iterable"],), {})
        return kept.box


# ------------------------------------------------------------------------------ inside
def _makes(cls: type) -> Callable[..., AbstractValue]:
    def make(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue:
        return construct(state, cls, None, args, kwargs)

    return make


for _cls in (containers.Mapping, containers.Keys, containers.Values, containers.Items):
    means(_cls)(_makes(_cls))


@means(containers.place_of)
def place_of(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Where the value of a key stands; KeyError where there is none."""
    return state.emit(operator.getitem, args[0], state.arg(args[1]), type=INT)


@means(containers.value_of)
def value_of(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``mapping[key]``: what was stored there last, or what stands at the place of the key."""
    mapping, key = args
    assert isinstance(mapping, RecordValue)
    places, entries, *_ = mapping.items
    latest = state.dicts.latest.get(entries) if isinstance(entries, Value) else None
    if latest is not None and latest.places is places and latest.key == state.arg(key):
        return latest.value
    place = state.emit(operator.getitem, places, state.arg(key), type=INT)
    return getitem(state, read_attribute(state, mapping, "entries"), place)


@means(containers.remember)
def remember(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Note what was stored last; an array that was made in this block is held nowhere else."""
    mapping, key, place, value = args
    assert isinstance(mapping, RecordValue)
    places, entries, *_ = mapping.items
    if not all(isinstance(box, Value) for box in (places, entries, place, value)):
        return Constant(None)
    if not isinstance(value.type, Numeric):  # type: ignore[union-attr]
        return Constant(None)
    object_ = _made_here(state, entries, value)  # type: ignore[arg-type]
    state.dicts.latest[entries] = Latest(places, state.arg(key), place, value, object_)  # type: ignore
    return Constant(None)


def _made_here(state: Machine, entries: Value, value: Value) -> Value | None:
    """Return the array that a value is, if this block makes it and the list has got it just now."""
    found = origin(state, value)
    if not found.is_exact or found.steps or len(found.objects) != 1:
        return None
    (object_,) = found.objects
    made = any(object_ in op.results for op in state.builder.ops)
    before = next(op for op in reversed(state.builder.ops) if entries in op.results)
    assert isinstance(before, Call)
    earlier = before.args[0]
    assert isinstance(earlier, Value)
    return object_ if made and object_ not in origin(state, earlier).everything else None


@means(containers.drop)
def drop(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Take out an item that is certainly there."""
    take_out(state, as_value(state, args[0]), args[1])
    return Constant(None)


@means(containers.to_keep)
def to_keep(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Store an entry into a dict; an empty one may get any key."""
    (box,) = args
    return as_run_time_dict(state, box) if isinstance(box, DictValue) and not box.keys else box


@means(containers.copied)
def copied(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Return a dict or deque of its own with the same items."""
    (box,) = args
    assert isinstance(box, RecordValue)
    parts = (
        as_copy(state, part) if name in FIELDS else part
        for name, part in zip(box.keys, box.items, strict=True)
    )
    return RecordValue(box.cls, box.keys, tuple(parts))


@means(primitives.build_places)
def build_places(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    return state.build_places()


@means(primitives.keys_of)
def keys_of(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Return the keys, in their order: where they carry a derivative, it would be lost."""
    if state.is_active(args[0]):
        state.refuse(
            errors.UnsupportedTypeError,
            "cannot differentiate through the keys of a dict",
            why="a key stands for a place, and this one depends on the differentiated arguments.",
            help=("keep the number in the value, too:  d[k] = (x, v)",),
        )
    return state.keys_of(args[0])


@means(primitives.in_order)
def in_order(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Return the places, in the order of the keys."""
    return state.in_order(args[0])
