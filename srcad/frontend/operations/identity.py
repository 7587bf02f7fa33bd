"""``a is b``: objects of known parts are compared at the call where only that tells."""

from __future__ import annotations

from srcad import errors
from srcad.frontend.branches.choices import negation
from srcad.frontend.domain.structure import is_mutable
from srcad.frontend.domain.values import (
    AbstractValue,
    AttributesValue,
    Constant,
    DictValue,
    ListValue,
    RecordValue,
    TupleValue,
)
from srcad.frontend.machine.constants import pinned
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.ownership import refuse_identity
from srcad.ir.core import Value
from srcad.types.numeric import Numeric
from srcad.types.structures import Opaque

_OF_PARTS = (DictValue, ListValue, RecordValue, TupleValue)


def identity(
    state: Machine, left: AbstractValue, right: AbstractValue, *, negated: bool
) -> AbstractValue:
    """Return ``left is right``, or ``left is not right``."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        if left.cls is not right.cls:
            return Constant(negated)
        return Constant((pinned(state, left) is pinned(state, right)) != negated)
    if isinstance(left, AttributesValue) and isinstance(right, AttributesValue):
        left, right = left.of, right.of
    refuse_identity(state, left, right)
    none = [b for b in (left, right) if isinstance(b, Constant) and b.value is None]
    other = right if left in none else left
    if none and not _may_be_nothing(state, other):
        return Constant(negated)
    if left is right and (isinstance(left, Value) or is_mutable(left)):
        return Constant(not negated)
    if isinstance(left, _OF_PARTS) and isinstance(right, _OF_PARTS):
        known = _is_one_object(state, left, right)
        if known is not None:
            return Constant(known != negated)
        left, right = (_object_read(state, box) for box in (left, right))
    values = isinstance(left, Value) and isinstance(right, Value)
    if not none and not values and not _may_be_one_object(left, right):
        return Constant(negated)
    result = state.is_(left, right)
    return negation(state, result) if negated else result


def _is_one_object(state: Machine, left: AbstractValue, right: AbstractValue) -> bool | None:
    """Return True if two objects of known parts are one; None if only the call knows.

    An object that was read from a list may be any of those that it holds, and one that is another
    one on another path may be each of these.
    """
    objects, both = state.objects, (left, right)
    objects.compared.update(map(objects.name_of, both))
    if len({(type(box), getattr(box, "cls", None)) for box in both}) > 1:
        return False
    sources = [getattr(box, "source", None) for box in both]
    read = [source in objects.elements for source in sources]
    if not is_mutable(left) and any(source is not None for source in sources):
        return None
    if any(read):
        held = (one or box in objects.elements for one, box in zip(read, both, strict=True))
        return None if all(held) or None in map(objects.name_of, both) else False
    first, second = map(objects.name_of, both)
    if first is None or second is None:
        return None
    return first is second and is_mutable(left)


def _object_read(state: Machine, box: AbstractValue) -> Value:
    """Return the object itself, as it was read; refused if it was made or changed since."""
    source: Value | None = getattr(box, "source", None)
    if source is not None:
        return source
    why = "a list may hold it, and it was made or changed in the function."
    remedy = "compare their places in the list:  if i != j"
    if state.objects.name_of(box) is None:
        why = "one of them is another object on another path of the program."
        remedy = "note in each branch which one it is:  chosen = 0"
    return state.refuse(
        errors.UnsupportedSyntaxError,
        "cannot tell whether these are one object",
        why=why,
        help=(remedy,),
    )


def _may_be_nothing(state: Machine, box: AbstractValue) -> bool:
    """Return True if a value may be None at the call, as an item of a data set may."""
    if not isinstance(box, Value) or not isinstance(box.type, Numeric):
        return isinstance(box, Value) and isinstance(box.type, Opaque)
    is_unknown = box.type.form == "any" and box.type.dtype is None
    return (is_unknown or box.type.kind == "O") and not state.is_active(box)


def _may_be_one_object(left: AbstractValue, right: AbstractValue) -> bool:
    """Return True if one is a constant object, and the other a value that may be it."""
    value, constant = (left, right) if isinstance(left, Value) else (right, left)
    if not isinstance(value, Value) or not isinstance(constant, Constant):
        return False
    if isinstance(value.type, Numeric):
        if value.type.cls is not None:
            return isinstance(constant.value, value.type.cls)
        return isinstance(constant.value, bool) and value.type.kind in ("b", "?")
    return isinstance(value.type, Opaque)
