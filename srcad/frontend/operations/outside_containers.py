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
from srcad.ir.core import Const, Value
from srcad.ir.traits import law_of_operator
from srcad.types.numeric import BOOL, INT, Numeric
from srcad.types.sizes import static_value
from srcad.types.sources import read
from srcad.types.structures import OPAQUE, Opaque

LAST = -1


# ------------------------------------------------------------------------------ places

_NOTHING = Constant(None)


def _place(state: Machine, box: Holder, key: Any) -> OutsidePlace:
    if box.path[-1] == ("attr", "__dict__") and isinstance(key, str):
        holder = box.path[:-1] or (("attr", "__call__"), ("attr", "__self__"))
        owner = read(holder, state.root, state.arguments)
        return OutsidePlace(owner, "attr", key, holder, (*box.path[:-1], ("attr", key)), owner)
    content = (*box.path, ("item", key))
    return OutsidePlace(box.value, "item", key, box.path, content, box.value)


def _key(state: Machine, index: AbstractValue) -> Any:
    """Return a key that is known at compile time, or the value that has it at the call."""
    if isinstance(index, Value):
        type_ = index.type
        settled = isinstance(type_, Numeric) and type_.value is not None and not type_.value.terms
        return static_value(type_.value) if settled else index  # type: ignore[union-attr]
    key = known(state, index, "a key")
    if not is_hashable(key):
        raises(state, TypeError, f"unhashable type: {type(key).__name__!r}")
    return key


def _written(state: Machine, box: Holder) -> list[Any]:
    """Return the keys of the items that this function writes."""
    return [key[2] for key in state.outside.written if key[:2] == (id(box.value), "item")]


def _is_vague(state: Machine, box: Holder, key: Any) -> bool:
    """Return True if an item may be one that was written under another name."""
    others = [k for k in _written(state, box) if k is not key and k != key]
    if isinstance(box.value, list) or isinstance(key, Value):
        return bool(others)
    return any(isinstance(k, Value) for k in others)


def refuse(state: Machine, box: Holder, what: str) -> NoReturn:
    """Refuse what would need all that a holder holds."""
    kind = type(box.value).__name__
    state.refuse(
        errors.MutationError,
        f"cannot {what} a {kind} outside that is written into",
        why=f"the {kind} is written item by item, and its contents as a whole are not tracked.",
        help=(f"collect the values of this call in a {kind} of its own, and read that",),
    )


# ------------------------------------------------------------------------------ items
def item(state: Machine, box: Holder, index: AbstractValue) -> AbstractValue:
    key = _key(state, index)
    if _is_vague(state, box, key):
        refuse(state, box, "read this item of")
    found = places.content_of(state, _place(state, box, key))
    if found is not None:
        require_bound(state, str(key), found, lambda: raises(state, KeyError, str(key)))
        return found
    if isinstance(key, Value):
        handle = places.handle(state, _place(state, box, key))
        return state.box(state.emit(operator.getitem, handle, key, effect=True, type=OPAQUE))
    try:
        held = box.value[key]
    except LookupError as error:
        state.guard(box.path, "unset" if isinstance(box.value, dict) else "is", _absent(box, key))
        return raises(state, type(error), *error.args)
    return value_of_object(state, held, (*box.path, ("item", key)))


def _absent(box: Holder, key: Any) -> Any:
    return key if isinstance(box.value, dict) else None


def set_item(state: Machine, box: Holder, index: AbstractValue, value: AbstractValue) -> None:
    places.put(state, _place(state, box, _key(state, index)), value)


def delete_item(state: Machine, box: Holder, index: AbstractValue) -> None:
    if isinstance(box.value, list):
        refuse(state, box, "delete an item of")
    places.delete_place(state, _place(state, box, _key(state, index)))


def has_item(
    state: Machine, box: Holder, index: AbstractValue, *, negated: bool = False
) -> AbstractValue:
    if isinstance(box.value, list):
        refuse(state, box, "look for something in")
    key = _key(state, index)
    if isinstance(key, Value) or _is_vague(state, box, key):
        handle = places.handle(state, _place(state, box, key))
        found = state.contains(handle, index, effect=True, type=BOOL)
        return state.not_(found, type=BOOL) if negated else found
    if places.content_of(state, _place(state, box, key)) is not None:
        return Constant(not negated)
    there = key in box.value
    state.guard(box.path, "set" if there else "unset", key)
    return Constant(there != negated)


# ------------------------------------------------------------------------------ the whole
def append(state: Machine, box: Holder, value: AbstractValue) -> None:
    """``holder.append(value)``: the last item from now on."""
    places.put(state, _place(state, box, LAST), value, appended=True)
    state.outside.given.update(o for v in inner_values(value) for o in origin(state, v).everything)


def length(state: Machine, box: Holder) -> AbstractValue:
    handle = places.handle(state, _place(state, box, LAST))
    return state.emit(len, handle, effect=True, type=INT)


@reifies(Holder)
def snapshot(state: Machine, box: Holder) -> Value:
    """Return the items as they are now, of which none carries a derivative."""
    if _written(state, box):
        refuse(state, box, "read all of")
    handle = places.handle(state, _place(state, box, LAST))
    return state.emit(copy.copy, handle, effect=True, type=Opaque(type(box.value)))


def call_method(
    state: Machine, box: Holder, name: str, args: Args, kwargs: Kwargs
) -> AbstractValue:
    method = _METHODS.get((type(box.value), name))
    if method is None:
        refuse(state, box, f"call {name!r} of")
    return method(state, box, *args, **kwargs) or Constant(None)


def augment(state: Machine, box: Holder, operation: Any, value: AbstractValue) -> None:
    """``holder += more`` and ``holder |= more``."""
    if isinstance(box.value, list) and law_of_operator(operation) == "sum":
        _extend(state, box, value)
    elif isinstance(box.value, dict) and operation is operator.or_:
        _update(state, box, value)
    else:
        refuse(state, box, "change in this way")


def entries(state: Machine, box: Holder) -> DictValue:
    """Return the current entries of a dict outside."""
    written = _written(state, box)
    if isinstance(box.value, list) or any(isinstance(key, Value) for key in written):
        refuse(state, box, "go through")
    state.guard(box.path, "keys", list(box.value))
    env = state.frames[0].env
    more = [k for k in written if state.outside.written[_place(state, box, k).key] in env]
    keys = tuple(dict.fromkeys((*box.value, *more)))
    items = tuple(item(state, box, Constant(key)) for key in keys)
    if any(may_be_unbound(state, part) for part in items):
        refuse(state, box, "go through")
    return DictValue(keys, items)


def as_data(state: Machine, box: AbstractValue) -> AbstractValue:
    """Return a dict outside as its entries; any other box as it is.

    A dict without an access path, which a rule reads, is constant.
    """
    if isinstance(box, Constant) and type(box.value) is dict and box.path is None:
        items = tuple(state.box(Const(item)) for item in box.value.values())
        return DictValue(tuple(box.value), items)
    return entries(state, box) if isinstance(box, Holder) and isinstance(box.value, dict) else box


def _view(name: str) -> Any:
    def method(state: Machine, box: Holder) -> AbstractValue:
        return apply(state, MethodValue(entries(state, box), name), (), {})

    return method


def _extend(state: Machine, box: Holder, more: AbstractValue) -> None:
    if not isinstance(more, ListValue | TupleValue):
        refuse(state, box, "extend by this")
    for part in more.items:
        append(state, box, part)


def _get(
    state: Machine, box: Holder, index: AbstractValue, default: AbstractValue = _NOTHING
) -> AbstractValue:
    there = has_item(state, box, index)
    if not isinstance(there, Constant):
        refuse(state, box, "read this item of")
    return item(state, box, index) if there.value else default


def _setdefault(
    state: Machine, box: Holder, index: AbstractValue, default: AbstractValue = _NOTHING
) -> AbstractValue:
    there = has_item(state, box, index)
    if not isinstance(there, Constant):
        refuse(state, box, "read this item of")
    if not there.value:
        set_item(state, box, index, default)
    return item(state, box, index)


def _update(state: Machine, box: Holder, *args: AbstractValue, **kwargs: AbstractValue) -> None:
    for more in args:
        if not isinstance(more, DictValue):
            refuse(state, box, "update by this")
        for key, value in zip(more.keys, more.items, strict=True):
            set_item(state, box, Constant(key), value)
    for name, value in kwargs.items():
        set_item(state, box, Constant(name), value)


_METHODS: dict[tuple[type, str], Any] = {
    (list, "append"): append,
    (list, "extend"): _extend,
    (dict, "get"): _get,
    (dict, "setdefault"): _setdefault,
    (dict, "update"): _update,
    **{(dict, name): _view(name) for name in ("keys", "values", "items", "copy")},
}
