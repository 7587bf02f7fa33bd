"""Builtins and functions of the standard library on objects, dicts and lists."""

from __future__ import annotations

import ast
import copy
import operator
import types

import numpy as np

from srcad import errors
from srcad.frontend.domain.predicates import has_user_protocol
from srcad.frontend.domain.structure import mutable_parts, rebuilt
from srcad.frontend.domain.values import (
    AbstractValue,
    AttributesValue,
    BoundValue,
    Constant,
    DictValue,
    FunctionValue,
    Holder,
    ListValue,
    RecordValue,
    Structure,
    Super,
)
from srcad.frontend.machine.constants import attribute_name
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, means, means_in
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations import outside_containers, sequences
from srcad.frontend.operations.construction import replace
from srcad.frontend.operations.copied_objects import copied_object, deeply_copied_object
from srcad.frontend.operations.fields import (
    delete_attribute,
    has_attributes,
    set_attribute,
    set_attribute_of_function,
)
from srcad.frontend.operations.lists import as_copy
from srcad.frontend.operations.special_methods import special
from srcad.frontend.prelude import builtins
from srcad.frontend.store.lookup import value_of_name
from srcad.ir.core import Value
from srcad.startup.identifiers import dotted, label
from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf, Opaque

_STATE = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")  # what copying asks


# ------------------------------------------------------------------------------ attributes
@means(setattr)
def setattr_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``setattr(box, name, value)``."""
    if isinstance(args[0], FunctionValue | BoundValue):
        name = attribute_name(state, args[1])
        if isinstance(args[0], FunctionValue) and set_attribute_of_function(
            state, args[0], name, args[2]
        ):
            return Constant(None)
        state.refuse(
            errors.MutationError,
            f"cannot set {name!r} of a function",
            why="only numbers and texts are attributes of local functions.",
            help=("hold it in a variable of its own, or in an object with '__call__'",),
        )
    if not has_attributes(args[0]):
        _refuse_unknown(state, args[0])
        return None
    set_attribute(state, args[0], attribute_name(state, args[1]), args[2])
    return Constant(None)


@means(object.__setattr__)
def set_frozen(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``object.__setattr__(self, name, value)``, as frozen classes do it in ``__post_init__``."""
    if not has_attributes(args[0]):
        _refuse_unknown(state, args[0])
        return None
    name = attribute_name(state, args[1])
    set_attribute(state, args[0], name, args[2], frozen=False)
    return Constant(None)


@means(object.__setattr__.__get__)
def bound_set_frozen(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``object.__setattr__.__get__(self)``, as in ``__init__`` of attrs classes."""
    return BoundValue(Constant(object.__setattr__), args[:1]) if args else None


@means(object.__delattr__)
def delete_frozen(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``object.__delattr__(self, name)``."""
    if not isinstance(args[0], RecordValue):
        return None
    delete_attribute(state, args[0], attribute_name(state, args[1]), frozen=False)
    return Constant(None)


@means(delattr)
def delattr_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``delattr(box, name)``."""
    if not has_attributes(args[0]):
        _refuse_unknown(state, args[0])
        return None
    delete_attribute(state, args[0], attribute_name(state, args[1]))
    return Constant(None)


def _refuse_unknown(state: Machine, box: AbstractValue) -> None:
    """Refuse to change an object of which is known only at run time which one it is."""
    if isinstance(box, Value):
        state.refuse(
            errors.MutationError,
            "cannot write to an attribute",
            why="only the call knows which object it is, and it may go by other names, too.",
            help=("write it where the object is named:  net.w = w",),
        )


@means(object.__init__)
def init_of_object(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``super().__init__()`` at the end of the line."""
    return Constant(None)


@means(super)
def super_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``super()``: the members of the classes behind the one that the method belongs to."""
    frame = state.frame
    parameters = getattr(getattr(frame.node, "args", None), "args", [])
    if args or "__class__" not in frame.cells or not parameters:
        state.refuse(
            errors.UnsupportedSyntaxError,
            "cannot read this 'super'",
            why="only 'super()' without arguments, in a method, is supported.",
            help=("name the class:  Base.method(self, ...)",),
        )
    name: ast.arg = parameters[0]
    return Super(frame.cells["__class__"], value_of_name(state, name.arg))


# ------------------------------------------------------------------------------ copies
@means_in("types", "SimpleNamespace")
def namespace(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``types.SimpleNamespace(a=..., b=...)``."""
    cls = types.SimpleNamespace
    state.objects.classes[cls] = None
    return RecordValue(cls, tuple(kwargs), tuple(kwargs.values())) if not args else None


@means_in("dataclasses", "replace")
def replace_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``dataclasses.replace(record, **changes)``."""
    return replace(state, args, dict(kwargs))


@means_in("dataclasses", "asdict")
def asdict(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``dataclasses.asdict(record)``."""
    box = args[0]
    if kwargs or not isinstance(box, RecordValue):
        return None
    copied = deep(state, box)
    assert isinstance(copied, RecordValue)
    return DictValue(box.keys, copied.items)


@means(copy.copy)
def copy_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    box = args[0]
    made = copied_object(state, box)
    if made is not None:
        return made
    if has_user_protocol(box):
        return None
    own = _own_copy(state, box, "__copy__")
    if own is not None:
        return own
    if isinstance(box, Structure):
        return shallow(box)
    if isinstance(box, Value) and isinstance(box.type, ListOf):
        return as_copy(state, box)
    return _copied_value(state, box)


@means(copy.deepcopy)
def deepcopy(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``copy.deepcopy(x)``."""
    made = deeply_copied_object(state, args[0])
    if made is not None:
        return made
    if has_user_protocol(args[0]):
        return None
    return deep(state, args[0])


def shallow(box: Structure) -> AbstractValue:
    """Another object with the same parts."""
    match box:
        case ListValue(items):
            return ListValue(items)
        case DictValue(keys, items):
            return DictValue(keys, items)
        case RecordValue(cls, keys, items):
            return RecordValue(cls, keys, items)
        case _:
            return box


def deep(
    state: Machine,
    box: AbstractValue,
    done: dict[int, tuple[AbstractValue, AbstractValue]] | None = None,
) -> AbstractValue:
    """Return a deep copy; two references to one object stay that."""
    done = {} if done is None else done
    key = -id(box.of) if isinstance(box, AttributesValue) else id(box)  # one dict per object
    if key not in done:
        own = _own_copy(state, box, "__deepcopy__", DictValue((), ()))
        if own is not None:
            made = own
        elif isinstance(box, Structure):
            made = rebuilt(box, tuple(deep(state, part, done) for part in box.items))
        else:
            made = _copied_value(state, box)
        done[key] = (box, made)
    return done[key][1]


def _own_copy(
    state: Machine, box: AbstractValue, name: str, *args: AbstractValue
) -> AbstractValue | None:
    """Return the result of ``__copy__`` or ``__deepcopy__`` of an object made here."""
    if not isinstance(box, RecordValue):
        return None
    own = special(state, box, name, *args)
    if own is None and any(_has_own(box.cls, hook) for hook in _STATE):
        return state.refuse(
            errors.UnsupportedSyntaxError,
            f"cannot copy a {label(box.cls)!r}",
            why="its class says how it is pickled, and so how it is copied.",
            help=(f"write '{dotted(f'{label(box.cls)}.{name}')}'",),
        )
    return own


def _has_own(cls: type, name: str) -> bool:
    """Return True if a class has a method that not every object has."""
    return getattr(cls, name, None) is not getattr(object, name, None)


def _copied_value(state: Machine, box: AbstractValue) -> AbstractValue:
    if has_user_protocol(box):
        return state.box(state.emit(copy.deepcopy, box, effect=True, type=Opaque()))
    if isinstance(box, Value) and isinstance(box.type, Numeric) and box.type.form == "array":
        return state.emit(np.copy, box)
    if isinstance(box, Value) and isinstance(box.type, ListOf):
        if isinstance(box.type.item, Numeric) and box.type.item.is_scalar:
            return as_copy(state, box)
        return apply(state, Constant(builtins.copied), (box,), {})
    return box


# ------------------------------------------------------------------------------ the rest
@means(len)
def len_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    if isinstance(args[0], Holder):
        return outside_containers.length(state, args[0])
    own = special(state, args[0], "__len__")
    return sequences.length(state, args[0]) if own is None else own


_HEAPS = ("heappush", "heappop", "heapify", "heappushpop", "heapreplace")


@means_in("heapq", *_HEAPS)
@means_in("bisect", "insort", "insort_left", "insort_right")
@means(operator.setitem, operator.delitem, operator.iconcat)
def writes(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Functions of the library that write into the list they are given."""
    if next((p for a in args for p in mutable_parts(a)), None) is None:
        return None
    return state.refuse(
        errors.MutationError,
        "cannot call a function of the library that writes into a list",
        why="srcad does not read its source, and would not see the write.",
        help=("write it with the methods of lists:  items.sort(), items.insert(k, v)",),
    )
