"""Dicts and lists outside that the function writes into, item by item.

``cache[key] = y`` and ``history.append(loss)`` write the object itself.  An item that was written
is read back as what was put there; any other item holds what it held when the call started, unless
it may be one of those written.
"""

from __future__ import annotations

import copy
import operator
from typing import Any, NoReturn

from srcad import errors
from srcad.frontend.domain.outside_places import OutsidePlace
from srcad.frontend.domain.predicates import is_hashable
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    Holder,
    ListValue,
    MethodValue,
    TupleValue,
)
from srcad.frontend.machine.constants import known, raises
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, reifies
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.definite_assignment import may_be_unbound, require_bound
from srcad.frontend.outside import places
from srcad.frontend.store.lookup import value_of_object
from srcad.frontend.store.origins import inner_values, origin
from srcad.ir.core import Value
from srcad.types.numeric import BOOL, INT, Numeric
from srcad.types.sizes import static_value
from srcad.types.sources import read
from srcad.types.structures import OPAQUE, Opaque

LAST = -1


# ------------------------------------------------------------------------------ places

_NOTHING = Constant(None)


def _place(s: Machine, box: Holder, key: Any) -> OutsidePlace:
    if box.path[-1] == ("attr", "__dict__") and isinstance(key, str):
        holder = box.path[:-1] or (("attr", "__call__"), ("attr", "__self__"))
        owner = read(holder, s.root, s.arguments)
        return OutsidePlace(owner, "attr", key, holder, (*box.path[:-1], ("attr", key)), owner)
    content = (*box.path, ("item", key))
    return OutsidePlace(box.value, "item", key, box.path, content, box.value)


def _key(s: Machine, index: AbstractValue) -> Any:
    """Return a key that is known at compile time, or the value that has it at the call."""
    if isinstance(index, Value):
        type_ = index.type
        settled = isinstance(type_, Numeric) and type_.value is not None and not type_.value.terms
        return static_value(type_.value) if settled else index  # type: ignore[union-attr]
    key = known(s, index, "a key")
    if not is_hashable(key):
        raises(s, TypeError, f"unhashable type: {type(key).__name__!r}")
    return key


def _written(s: Machine, box: Holder) -> list[Any]:
    """Return the keys of the items that this function writes."""
    return [key[2] for key in s.outside.written if key[:2] == (id(box.value), "item")]


def _is_vague(s: Machine, box: Holder, key: Any) -> bool:
    """Return True if an item may be one that was written under another name."""
    others = [k for k in _written(s, box) if k is not key and k != key]
    if isinstance(box.value, list) or isinstance(key, Value):
        return bool(others)
    return any(isinstance(k, Value) for k in others)


def refuse(s: Machine, box: Holder, what: str) -> NoReturn:
    """Refuse what would need all that a holder holds."""
    kind = type(box.value).__name__
    s.refuse(
        errors.MutationError,
        f"cannot {what} a {kind} outside that is written into",
        why=f"the {kind} is written item by item, and nobody follows what it holds as a whole.",
        help=(f"collect what this call makes in a {kind} of its own, and read that",),
    )


# ------------------------------------------------------------------------------ items
def item(s: Machine, box: Holder, index: AbstractValue) -> AbstractValue:
    key = _key(s, index)
    if _is_vague(s, box, key):
        refuse(s, box, "read this item of")
    found = places.content_of(s, _place(s, box, key))
    if found is not None:
        require_bound(s, str(key), found, lambda: raises(s, KeyError, str(key)))
        return found
    if isinstance(key, Value):
        handle = places.handle(s, _place(s, box, key))
        return s.box(s.emit(operator.getitem, handle, key, effect=True, type=OPAQUE))
    try:
        held = box.value[key]
    except LookupError as error:
        s.guard(box.path, "unset" if isinstance(box.value, dict) else "is", _absent(box, key))
        return raises(s, type(error), *error.args)
    return value_of_object(s, held, (*box.path, ("item", key)))


def _absent(box: Holder, key: Any) -> Any:
    return key if isinstance(box.value, dict) else None


def set_item(s: Machine, box: Holder, index: AbstractValue, value: AbstractValue) -> None:
    places.put(s, _place(s, box, _key(s, index)), value)


def delete_item(s: Machine, box: Holder, index: AbstractValue) -> None:
    if isinstance(box.value, list):
        refuse(s, box, "delete an item of")
    places.delete_place(s, _place(s, box, _key(s, index)))


def has_item(
    s: Machine, box: Holder, index: AbstractValue, *, negated: bool = False
) -> AbstractValue:
    if isinstance(box.value, list):
        refuse(s, box, "look for something in")
    key = _key(s, index)
    if isinstance(key, Value) or _is_vague(s, box, key):
        handle = places.handle(s, _place(s, box, key))
        found = s.contains(handle, index, effect=True, type=BOOL)
        return s.not_(found, type=BOOL) if negated else found
    if places.content_of(s, _place(s, box, key)) is not None:
        return Constant(not negated)
    there = key in box.value
    s.guard(box.path, "set" if there else "unset", key)
    return Constant(there != negated)


# ------------------------------------------------------------------------------ the whole
def append(s: Machine, box: Holder, value: AbstractValue) -> None:
    """``holder.append(value)``: the last item from now on."""
    places.put(s, _place(s, box, LAST), value, appended=True)
    s.outside.given.update(o for v in inner_values(value) for o in origin(s, v).everything)


def length(s: Machine, box: Holder) -> AbstractValue:
    handle = places.handle(s, _place(s, box, LAST))
    return s.emit(len, handle, effect=True, type=INT)


@reifies(Holder)
def snapshot(s: Machine, box: Holder) -> Value:
    """Return the items as they are now, of which none carries a derivative."""
    if _written(s, box):
        refuse(s, box, "read all of")
    handle = places.handle(s, _place(s, box, LAST))
    return s.emit(copy.copy, handle, effect=True, type=Opaque(type(box.value)))


def call_method(s: Machine, box: Holder, name: str, args: Args, kwargs: Kwargs) -> AbstractValue:
    method = _METHODS.get((type(box.value), name))
    if method is None:
        refuse(s, box, f"call {name!r} of")
    return method(s, box, *args, **kwargs) or Constant(None)


def augment(s: Machine, box: Holder, operation: Any, value: AbstractValue) -> None:
    """``holder += more`` and ``holder |= more``."""
    if isinstance(box.value, list) and operation is operator.add:
        _extend(s, box, value)
    elif isinstance(box.value, dict) and operation is operator.or_:
        _update(s, box, value)
    else:
        refuse(s, box, "change in this way")


def entries(s: Machine, box: Holder) -> DictValue:
    """Return the current entries of a dict outside."""
    written = _written(s, box)
    if isinstance(box.value, list) or any(isinstance(key, Value) for key in written):
        refuse(s, box, "go through")
    s.guard(box.path, "keys", list(box.value))
    env = s.frames[0].env
    more = [k for k in written if s.outside.written[_place(s, box, k).key] in env]
    keys = tuple(dict.fromkeys((*box.value, *more)))
    items = tuple(item(s, box, Constant(key)) for key in keys)
    if any(may_be_unbound(s, part) for part in items):
        refuse(s, box, "go through")
    return DictValue(keys, items)


def as_data(s: Machine, box: AbstractValue) -> AbstractValue:
    """Return a dict outside as its entries; any other box as it is."""
    return entries(s, box) if isinstance(box, Holder) and isinstance(box.value, dict) else box


def _view(name: str) -> Any:
    def method(s: Machine, box: Holder) -> AbstractValue:
        return apply(s, MethodValue(entries(s, box), name), (), {})

    return method


def _extend(s: Machine, box: Holder, more: AbstractValue) -> None:
    if not isinstance(more, ListValue | TupleValue):
        refuse(s, box, "extend by this")
    for part in more.items:
        append(s, box, part)


def _get(
    s: Machine, box: Holder, index: AbstractValue, default: AbstractValue = _NOTHING
) -> AbstractValue:
    there = has_item(s, box, index)
    if not isinstance(there, Constant):
        refuse(s, box, "read this item of")
    return item(s, box, index) if there.value else default


def _setdefault(
    s: Machine, box: Holder, index: AbstractValue, default: AbstractValue = _NOTHING
) -> AbstractValue:
    there = has_item(s, box, index)
    if not isinstance(there, Constant):
        refuse(s, box, "read this item of")
    if not there.value:
        set_item(s, box, index, default)
    return item(s, box, index)


def _update(s: Machine, box: Holder, *args: AbstractValue, **kwargs: AbstractValue) -> None:
    for more in args:
        if not isinstance(more, DictValue):
            refuse(s, box, "update by this")
        for key, value in zip(more.keys, more.items, strict=True):
            set_item(s, box, Constant(key), value)
    for name, value in kwargs.items():
        set_item(s, box, Constant(name), value)


_METHODS: dict[tuple[type, str], Any] = {
    (list, "append"): append,
    (list, "extend"): _extend,
    (dict, "get"): _get,
    (dict, "setdefault"): _setdefault,
    (dict, "update"): _update,
    **{(dict, name): _view(name) for name in ("keys", "values", "items", "copy")},
}
