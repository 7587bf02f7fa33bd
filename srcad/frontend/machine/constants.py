"""Static facts about a box: its truth, its items, its value."""

from __future__ import annotations

import ast
import enum
import inspect
import operator
from collections.abc import Sequence
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from srcad import errors
from srcad.frontend.domain.frames import NotConstant, Unreachable
from srcad.frontend.domain.predicates import is_of_users, is_plain
from srcad.frontend.domain.values import (
    AbstractValue,
    Choice,
    Conflict,
    Constant,
    DictValue,
    GeneratorValue,
    Holder,
    IteratorValue,
    ListValue,
    RecordValue,
    SliceValue,
    Structure,
    TupleValue,
)
from srcad.frontend.machine.dispatch import apply
from srcad.frontend.machine.machine import Machine
from srcad.ir.core import Arg, Const, Display, Value
from srcad.startup.identifiers import class_label, plain
from srcad.types.numeric import Numeric
from srcad.types.reading import answers, has
from srcad.types.sizes import resolved, static_value
from srcad.types.sources import Path
from srcad.types.structures import Type


def truth(state: Machine, box: AbstractValue) -> bool | None:
    """Return the truth of a box if it is constant.

    A guard checks that its class has no say in it.
    """
    if isinstance(box, Constant):
        if box.atom is not None and not isinstance(box.value, bool | str | type(None)):
            return None
        if is_of_users(box):
            return _has_default_truth(state, box.value, box.path)
        try:
            return bool(box.value)
        except Exception:  # a library's object may raise anything; so it does at run time, too
            return None
    if isinstance(box, RecordValue) and not issubclass(box.cls, tuple):
        return _has_default_truth(state, box.cls, state.objects.classes.get(box.cls))
    if isinstance(box, Structure):
        return len(box.items) > 0
    if isinstance(box, Choice):
        first = truth(state, box.left)
        return first if first == truth(state, box.right) else None
    if isinstance(box, Value | Conflict | Holder):
        return None
    return True


def _has_default_truth(state: Machine, owner: Any, path: Path | None) -> bool | None:
    """Return True where an object, or a class for its objects, defines no truth.

    None where it does.
    """
    if not isinstance(owner, type):
        owner, path = type(owner), None if path is None else (*path, ("attr", "__class__"))
    for name in ("__bool__", "__len__"):
        if has(owner, name):
            return None
        state.guard(path, "absent", name)
    return True


def as_tuple(box: AbstractValue) -> AbstractValue:
    """Return a named tuple as the plain tuple of its items; any other box as it is."""
    if isinstance(box, RecordValue) and issubclass(box.cls, tuple):
        return TupleValue(box.items)
    return box


def pinned(state: Machine, box: Constant) -> Any:
    """Return the object of a box and guard it: another one at its place compiles again."""
    if not isinstance(box.value, bool | str | bytes | type(None)):  # those are compared already
        state.guard(box.path, "is", box.value)
    return box.value


def is_settled(state: Machine, box: Constant) -> bool:
    """Return True if the constant that a box is may answer what is asked of it now.

    An object of the user's may if its identity does: if its class leaves `==` alone.
    """
    if not is_of_users(box) and not isinstance(box.value, FunctionType):
        return True
    if inspect.getattr_static(type(box.value), "__eq__", None) is not vars(object)["__eq__"]:
        return False
    pinned(state, box)
    if box.path is not None and not isinstance(box.value, FunctionType):
        state.guard(
            (*box.path, ("attr", "__class__"), ("attr", "__eq__")), "is", vars(object)["__eq__"]
        )
    return True


def is_one_constant(state: Machine, a: Constant, b: Constant) -> bool:
    """Return True if two constants are one: one object, or equal plain data.

    Two places outside that hold one object now are taken for granted to do so from now on.
    """
    if a.cls is not b.cls:
        return False
    if a.value is b.value:
        if a.path != b.path:
            pinned(state, a)
            pinned(state, b)
        return True
    return (
        not isinstance(a.value, type)
        and _is_literal_data(a.value)
        and repr(a.value) == repr(b.value)
    )


def _is_literal_data(value: Any) -> bool:
    """Return True if a constant is told by its text: a number, text, something made of these."""
    if isinstance(value, tuple | frozenset):
        return all(_is_literal_data(item) for item in value)
    return is_plain(value) or isinstance(value, range | np.generic | np.dtype)


def known(state: Machine, box: AbstractValue, what: str, node: ast.AST | None = None) -> Any:
    """Return the constant that a box is; an integer argument is made a constant (and guarded)."""
    if isinstance(box, Constant) and is_settled(state, box):
        return box.value
    if isinstance(box, TupleValue):
        return tuple(known(state, item, what, node) for item in box.items)
    if isinstance(box, Value) and isinstance(box.type, Numeric):
        value = static_value(box.type.value)
        if value is not None:
            return value
    error = errors.UnsupportedSyntaxError(
        f"{what} is not known before the call in {state.user_frame.name!r}",
        where=state.location(node) if node is not None else state.builder.where,
        why="the derivative is compiled for one value of it.",
        help=("pass it as an argument of its own",),
    )
    raise NotConstant(error)


def pinned_count(state: Machine, box: AbstractValue) -> AbstractValue:
    """Return the constant of an integer that an unrolled recursion made static."""
    if not state.unrolled or not isinstance(box, Value) or not isinstance(box.type, Numeric):
        return box
    extent = None if box.type.value is None else resolved(box.type.value)
    return box if extent is None or extent.terms else Constant(extent.constant)


def spread_mapping(state: Machine, box: AbstractValue, node: ast.AST) -> dict[str, AbstractValue]:
    if not isinstance(box, DictValue):
        state.refuse(
            errors.UnsupportedSyntaxError,
            "cannot spread this mapping",
            node=node,
            why="its keys are not known before the call.",
            help=("name the keywords",),
        )
    if not all(isinstance(key, str) for key in box.keys):
        raises(state, TypeError, "keywords must be strings")
    return {plain(key): item for key, item in zip(box.keys, box.items, strict=True)}


def attribute_name(state: Machine, box: AbstractValue) -> str:
    """Return the constant that names an attribute, as exactly a `str`."""
    name = known(state, box, "the name of an attribute")
    if not isinstance(name, str):
        raises(state, TypeError, f"attribute name must be string, not {type(name).__name__!r}")
    return plain(name)


def raises(state: Machine, error: type[Exception], message: str) -> NoReturn:
    """Raise an error, as the original call does here."""
    state.raise_(state.emit(error, Const(message)))
    raise Unreachable


def is_found(
    state: Machine, item: Constant, container: Constant, *, negated: bool
) -> AbstractValue:
    try:
        return Constant((item.value in container.value) != negated)
    except TypeError as error:
        raises(state, TypeError, str(error))


def number_class(type_: Type) -> type | None:
    """Return the class of a number or array of some type, where it is known."""
    if not isinstance(type_, Numeric) or type_.dtype is None:
        return None
    if type_.form == "python":
        return {"f": float, "i": int, "b": bool, "c": complex}.get(type_.kind)
    if type_.form == "array":
        return np.ndarray
    return type_.dtype.type if type_.form == "numpy" else None


def require_items(state: Machine, box: AbstractValue, *, unpacked: bool = False) -> None:
    """Raise the error of Python for a value that is certainly not iterable."""
    cls: type | None = None
    if isinstance(box, Value):
        cls = number_class(box.type)
        if cls is np.ndarray and isinstance(box.type, Numeric) and box.type.shape == ():
            raises(state, TypeError, "iteration over a 0-d array")
    elif isinstance(box, Constant) and box.atom is None:
        cls = type(box.value) if is_plain(box.value) and not isinstance(box.value, type) else None
    if cls is None or cls is np.ndarray or hasattr(cls, "__iter__"):
        return
    name = class_label(cls)
    raises(
        state,
        TypeError,
        f"cannot unpack non-iterable {name} object"
        if unpacked
        else f"{name!r} object is not iterable",
    )


def as_list(state: Machine, box: AbstractValue) -> AbstractValue:
    return apply(state, Constant(list), (box,), {})


def unpacked(state: Machine, box: AbstractValue) -> AbstractValue:
    """Return the items of ``*box``, asked for now: one by one where they are known, else a list."""
    if iterates_user_code(box):
        box = as_list(state, box)
    items = _items(state, state.box(box) if isinstance(box, Value) else box)
    return as_list(state, box) if items is None else TupleValue(items)


def iterates_user_code(box: AbstractValue) -> bool:
    """Return True if a generator, or the class of an object, yields the items."""
    if isinstance(box, RecordValue):
        return not issubclass(box.cls, tuple) and hasattr(box.cls, "__iter__")
    return isinstance(box, GeneratorValue)


def spread(
    state: Machine, box: AbstractValue, node: ast.AST | None = None
) -> tuple[AbstractValue, ...]:
    """Return the items of a sequence of known length."""
    if iterates_user_code(box):
        box = as_list(state, box)
    items = _items(state, state.box(box) if isinstance(box, Value) else box)
    if items is None:
        state.environment.has_lists = state.environment.spreads = True
        state.refuse(
            errors.UnsupportedSyntaxError,
            "cannot spread a sequence of unknown length",
            why="the number of its items is not known before the call.",
            help=("index it, or loop over it",),
            node=node,
        )
    return items


def _items(state: Machine, box: AbstractValue) -> tuple[AbstractValue, ...] | None:
    if isinstance(box, RecordValue) and issubclass(box.cls, tuple):
        return box.items
    if isinstance(box, TupleValue | ListValue):
        return box.items
    if isinstance(box, DictValue):
        return tuple(Constant(k) for k in box.keys)
    if isinstance(box, Constant):
        return of_constant(state, box)
    if isinstance(box, IteratorValue):
        return static_items(state, box)
    if isinstance(box, Value) and isinstance(box.type, Numeric) and box.type.shape:
        count = static_value(box.type.shape[0])
        if count is not None:
            return tuple(
                state.box(state.emit(operator.getitem, box, Const(k))) for k in range(count)
            )
    return None


def of_constant(state: Machine, box: Constant) -> tuple[AbstractValue, ...] | None:
    """Return the items of a constant, if it has some: those of an enumeration are its members.

    None for what is differentiated by: its numbers are no constants.
    """
    if not isinstance(box.value, tuple | list | dict | frozenset | str | range | enum.EnumMeta):
        return None
    if answers(type(box.value), "__iter__"):
        return None
    if box.atom in state.hidden and not isinstance(box.value, dict):
        return None
    if box.path is not None and isinstance(box.value, list | dict):
        return _current_items(state, box.value, box.path)
    return tuple(Constant(item) for item in pinned(state, box))


def _current_items(state: Machine, value: Any, path: Path) -> tuple[AbstractValue, ...]:
    """Return the items of a list or dict outside, which may have other ones at the next call."""
    state.guard(path, "class", type(value))
    if isinstance(value, dict):
        state.guard(path, "keys", [*value])
        return tuple(map(Constant, value))
    state.guard(path, "length", len(value))
    items = []
    for k, item in enumerate(value):
        place = (*path, ("item", k))
        state.guard(place, "equals", item)
        is_code = is_plain(item) or isinstance(item, FunctionType)
        items.append(Constant(item, None if is_code else place))
    return tuple(items)


MOST_ENTRIES = 64  # a loop over an array is written out, if what it makes is spread: f(*items)


def few_entries(state: Machine, box: Value) -> tuple[AbstractValue, ...] | None:
    """Return the entries of an array of few entries, where its length is assumed."""
    if not state.environment.arrays_known:
        state.environment.spreads = True
        return None
    if not isinstance(box.type, Numeric):
        return None
    count = static_value(box.type.shape[0]) if box.type.shape else None
    if count is None or count > MOST_ENTRIES:
        return None
    return tuple(state.box(state.emit(operator.getitem, box, Const(k))) for k in range(count))


def _bound(state: Machine, box: AbstractValue) -> Any:
    """Return a bound of a range, if it is static."""
    if isinstance(box, Value) and isinstance(box.type, Numeric) and state.environment.arrays_known:
        return static_value(box.type.value)
    return box.value if isinstance(box, Constant) else None


def static_items(state: Machine, box: IteratorValue) -> tuple[AbstractValue, ...] | None:
    """Return the items of an iterator over things that are known one by one."""
    if box.kind == "range":
        bounds = [_bound(state, p) for p in box.parts]
        if len(bounds) == 3 and all(isinstance(b, int) for b in bounds):
            return tuple(Constant(k) for k in range(*bounds))
        return None
    columns: list[tuple[AbstractValue, ...]] = []
    for part in box.parts:
        items = _column(state, part)
        if items is None:
            return None
        columns.append(items)
    if box.kind == "reversed":
        return columns[0][::-1]
    return tuple(TupleValue(row) for row in zip(*columns, strict=False))


def _column(state: Machine, part: AbstractValue) -> tuple[AbstractValue, ...] | None:
    """Return the items of an iterator if each is known statically."""
    if isinstance(part, TupleValue | ListValue):
        return part.items
    if isinstance(part, DictValue):
        return tuple(Constant(k) for k in part.keys)
    if isinstance(part, IteratorValue):
        return static_items(state, part)
    if isinstance(part, Constant):
        return of_constant(state, part)
    return few_entries(state, part) if isinstance(part, Value) else None


# ------------------------------------------------------------------------------ arguments of calls
def box_of_arg(state: Machine, arg: Any) -> AbstractValue:
    """Return the box of an argument of a call: an atom, a display, or nested tuples of these."""
    match arg:
        case None:
            return Constant(None)
        case Value() | Const():
            return state.box(arg)
        case Display(kind="tuple", items=items):
            return TupleValue(tuple(box_of_arg(state, a) for a in items))
        case Display(kind="list", items=items):
            return ListValue(tuple(box_of_arg(state, a) for a in items))
        case Display(kind="dict", items=items):
            keys = tuple(k.value for k in items[::2] if isinstance(k, Const))
            return DictValue(keys, tuple(box_of_arg(state, a) for a in items[1::2]))
        case Display(kind="slice", items=(start, stop, step)):
            return SliceValue(*[box_of_arg(state, a) for a in (start, stop, step)])
        case Display(kind="range", items=items):
            return _box_of_range(items, tuple(box_of_arg(state, a) for a in items))
        case tuple():
            return TupleValue(tuple(box_of_arg(state, a) for a in arg))
        case list():
            return ListValue(tuple(box_of_arg(state, a) for a in arg))
        case _:
            return Constant(arg)


_FEW = 64  # axes of an array, as NumPy allows them


def _box_of_range(ends: Sequence[Arg], parts: tuple[AbstractValue, ...]) -> AbstractValue:
    """Return the box of a range: a tuple of its numbers if they are known and few, as axes are."""
    known = [end.value for end in ends if isinstance(end, Const)]
    numbers = range(*known) if len(known) == len(ends) else None
    if numbers is not None and len(numbers) <= _FEW:
        return TupleValue(tuple(Constant(number) for number in numbers))
    return IteratorValue("range", parts)
