"""Objects of classes: made inside the function, read and written attribute by attribute.

An object is a record of its attributes.  To make one its ``__init__`` is read like any function,
on a record that has no attributes yet; what a class does beyond plain attributes (``__new__``,
``__setattr__``, a base class in C) is left to the plain call.
"""

from __future__ import annotations

import inspect
import numbers
import operator
import sys
import types
from abc import ABCMeta
from collections.abc import Iterator
from typing import Any

from srcad import errors
from srcad.frontend.domain.frames import Kept
from srcad.frontend.domain.predicates import is_hashable
from srcad.frontend.domain.values import AbstractValue, BoundValue, Constant, Path, RecordValue
from srcad.frontend.machine.constants import raises
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.fields import (
    class_path,
    is_descriptor,
    is_generated,
    method,
    package_of,
    set_field,
)
from srcad.frontend.store.foreign_operands import ask_the_other
from srcad.frontend.store.lookup import STABLE_MODULES, is_library, value_of_object
from srcad.ir.core import Value
from srcad.startup.identifiers import label
from srcad.startup.lazy import Later
from srcad.startup.records import is_record
from srcad.types.numeric import Numeric

dataclasses = Later("dataclasses")
_PLAIN = ("__new__", "__setattr__", "__delattr__", "__getattribute__")
Args = tuple[AbstractValue, ...]
Kwargs = dict[str, AbstractValue]


# ------------------------------------------------------------------------------ making
def is_readable(cls: type) -> bool:
    """Whether the objects of a class are their attributes, and no more."""
    if (
        type(cls) not in (type, ABCMeta)
        or package_of(cls) in STABLE_MODULES | sys.stdlib_module_names
    ):
        return False
    if "_fields" in vars(cls) or _fields_of_tuple(cls) is not None:
        return _fields_of_tuple(cls) is not None
    if any(map(is_descriptor, _members(cls))):
        return False
    plain = all(_found(cls, name) is vars(object)[name] for name in _PLAIN)
    frozen = getattr(getattr(cls, "__dataclass_params__", None), "frozen", False)
    return (plain or (frozen and _found(cls, "__new__") is object.__new__)) and not hasattr(
        cls, "__getattr__"
    )


def _members(cls: type) -> Iterator[Any]:
    """What the classes behind a class hold, but for those of Python itself."""
    for base in cls.__mro__:
        if package_of(base) not in sys.stdlib_module_names:
            yield from vars(base).values()


def _found(cls: type, name: str) -> Any:
    return inspect.getattr_static(cls, name)


def _fields_of_tuple(cls: type) -> tuple[str, ...] | None:
    """The fields of a named tuple that is made as `collections.namedtuple` does it."""
    made_by = next((c for c in cls.__mro__ if "__new__" in vars(c)), object)
    named = issubclass(cls, tuple) and "_field_defaults" in vars(made_by)
    return made_by._fields if named else None  # type: ignore[attr-defined]


def construct(
    s: Machine, cls: type, path: Path | None, args: Args, kwargs: Kwargs
) -> AbstractValue:
    """``cls(*args, **kwargs)``."""
    s.objects.classes[cls] = path
    fields = _fields_of_tuple(cls)
    if fields is not None:
        defaults = getattr(cls, "_field_defaults", {})
        entries = _bound(s, cls, fields, args, kwargs, defaults)
        return RecordValue(cls, fields, tuple(entries[n] for n in fields))
    init = _found(cls, "__init__")
    made = RecordValue(cls, (), ())
    with s.kept(made) as kept:
        if is_record(cls) and is_generated(init):
            _fill(s, cls, path, kept, args, kwargs)
        elif isinstance(init, types.FunctionType):
            s.invoke(s, BoundValue(method(s, cls, "__init__", init), (made,)), args, kwargs)
        elif args or kwargs:
            raises(s, TypeError, f"{label(cls)}() takes no arguments")
        return kept.box


def _bound(
    s: Machine, cls: type, names: tuple[str, ...], args: Args, kwargs: Kwargs, defaults: Any
) -> Kwargs:
    """The fields by name, as the generated ``__init__`` binds them."""
    entries = dict(zip(names, args, strict=False))
    wrong = [n for n in kwargs if n not in names or n in entries]
    entries.update(kwargs)
    missing = [n for n in names if n not in entries and n not in defaults]
    if wrong or missing or len(args) > len(names):
        about = wrong or missing or ["too many"]
        raises(s, TypeError, f"{label(cls)}() got wrong or missing arguments: {about[0]!r}")
    return {n: entries[n] if n in entries else Constant(defaults[n]) for n in names}


def _fill(s: Machine, cls: Any, path: Path | None, kept: Kept, args: Args, kwargs: Kwargs) -> None:
    """What the generated ``__init__`` of a data class does."""
    every = [f for f in cls.__dataclass_fields__.values() if _kind(f) != "_FIELD_CLASSVAR"]
    given = [f for f in every if f.init]
    names = [f.name for f in given if not f.kw_only] + [f.name for f in given if f.kw_only]
    plain = sum(not f.kw_only for f in given)
    if len(args) > plain:
        raises(s, TypeError, f"{label(cls)}() takes {plain} positional arguments")
    optional = {f.name: None for f in given if _has_default(f)}
    entries = _bound(s, cls, tuple(names), args, kwargs, optional)
    explicit = {*names[: len(args)], *kwargs}
    only_init: list[AbstractValue] = []
    for f in every:
        if f.init or _has_default(f):
            value = entries[f.name] if f.name in explicit else _default(s, f, path)
            if _kind(f) == "_FIELD_INITVAR":
                only_init.append(value)
            else:
                set_field(s, kept.box, f.name, value)
    after = inspect.getattr_static(cls, "__post_init__", None)
    if isinstance(after, types.FunctionType):
        bound = BoundValue(method(s, cls, "__post_init__", after), (kept.box,))
        s.invoke(s, bound, tuple(only_init), {})


def _kind(f: Any) -> str:
    return str(f._field_type.name)


def _has_default(f: Any) -> bool:
    missing = dataclasses.MISSING
    return f.default is not missing or f.default_factory is not missing


def _default(s: Machine, f: Any, path: Path | None) -> AbstractValue:
    where = None if path is None else (*path, ("attr", "__dataclass_fields__"), ("item", f.name))
    name = "default" if f.default is not dataclasses.MISSING else "default_factory"
    here = None if where is None else (*where, ("attr", name))
    found = value_of_object(s, getattr(f, name), here)
    return found if name == "default" else s.invoke(s, found, (), {})


def replace(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``dataclasses.replace(record, **changes)``."""
    (box,) = args
    if not isinstance(box, RecordValue) or not is_record(box.cls):
        return None
    entries = dict(zip(box.keys, box.items, strict=True))
    for f in dataclasses.fields(box.cls):
        if f.init and f.name in entries:
            kwargs.setdefault(f.name, entries[f.name])
    return construct(s, box.cls, class_path(s, box), (), kwargs)


# ------------------------------------------------------------------------------ operators
def special(
    s: Machine, box: AbstractValue, name: str, *args: AbstractValue
) -> AbstractValue | None:
    """``box.__name__(*args)`` where the class of an object defines it in Python.

    An object that is not made here runs its own method; only a derivative needs it to be read, or
    the use of what it returns.
    """
    if isinstance(box, Constant) and (s.is_active(*args) or s.inactive.are_read):
        return _special_of_surroundings(s, box, name, args)
    if isinstance(box, Constant) and _method_of(box, name) is not None:
        s.inactive.left = True
    if not isinstance(box, RecordValue):
        return None
    found = inspect.getattr_static(box.cls, name, None)
    if not isinstance(found, types.FunctionType) or is_generated(found):
        return None
    own = BoundValue(method(s, box.cls, name, found, class_path(s, box)), (box,))
    return _unless_declined(s.invoke(s, own, args, {}))


def _special_of_surroundings(
    s: Machine, box: Constant, name: str, args: Args
) -> AbstractValue | None:
    found = _method_of(box, name)
    if found is None:
        return None
    path = None if box.path is None else (*box.path, ("attr", name), ("attr", "__func__"))
    if path is not None:
        s.guard(path, "code", found)
    return _unless_declined(s.invoke(s, Constant(found, path), (box, *args), {}))


def _method_of(box: Constant, name: str) -> types.FunctionType | None:
    """A special method of an object of the surroundings, if its class defines it in Python."""
    found = inspect.getattr_static(type(box.value), name, None)
    is_number = isinstance(box.value, numbers.Number)
    of_users = isinstance(found, types.FunctionType) and not is_library(found) and not is_number
    return found if of_users else None


def _unless_declined(result: AbstractValue) -> AbstractValue | None:
    declined = isinstance(result, Constant) and result.value is NotImplemented
    return None if declined else result


NAMES: dict[Any, tuple[str, str]] = {
    **{
        getattr(operator, name): (f"__{name}__", f"__r{name}__")
        for name in (
            "add",
            "sub",
            "mul",
            "truediv",
            "floordiv",
            "mod",
            "pow",
            "matmul",
            "lshift",
            "rshift",
        )
    },
    operator.and_: ("__and__", "__rand__"),
    operator.or_: ("__or__", "__ror__"),
    operator.xor: ("__xor__", "__rxor__"),
    operator.lt: ("__lt__", "__gt__"),
    operator.le: ("__le__", "__ge__"),
    operator.gt: ("__gt__", "__lt__"),
    operator.ge: ("__ge__", "__le__"),
    operator.eq: ("__eq__", "__eq__"),
    operator.ne: ("__ne__", "__ne__"),
}

_ARRAY_LIKE = (
    "__array_ufunc__", "__array__", "__array_interface__", "__array_struct__", "__buffer__",
    "__len__",
)  # fmt: skip
_COMPARED = frozenset({"__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"})
CALLS: dict[Any, str] = {
    abs: "__abs__", round: "__round__", divmod: "__divmod__", pow: "__pow__", float: "__float__",
    int: "__int__", complex: "__complex__", reversed: "__reversed__", iter: "__iter__",
    next: "__next__",
}  # fmt: skip


def of_call(s: Machine, function: Any, args: Args) -> AbstractValue | None:
    """A builtin that hands on to a method of the object that it is given."""
    if not args or not isinstance(args[0], RecordValue) or not is_hashable(function):
        return None
    name = CALLS.get(function)
    return special(s, args[0], name, *args[1:]) if name is not None else None


def of_objects(
    s: Machine, target: Any, left: AbstractValue, right: AbstractValue
) -> AbstractValue | None:
    """An operator that the class of an operand defines."""
    kinds = (RecordValue, Constant)
    if target not in NAMES or not (isinstance(left, kinds) or isinstance(right, kinds)):
        return None
    own, reflected = NAMES[target]
    _refuse_entry_by_entry(s, left, right)
    ask_the_other(s, left, right, reflected)
    if _goes_first(left, right, reflected):
        found = special(s, right, reflected, left)
        found = special(s, left, own, right) if found is None else found
    else:
        found = special(s, left, own, right)
        found = special(s, right, reflected, left) if found is None else found
    if found is None and target in (operator.eq, operator.ne):
        return _same_object(left, right, negated=target is operator.ne)
    return found


def _refuse_entry_by_entry(s: Machine, left: AbstractValue, right: AbstractValue) -> None:
    """Refuse ``array op object`` where NumPy, which is asked first, makes arrays of objects of it.

    It hands over to classes with ``__array_ufunc__ = None`` (NEP 13) or a higher priority; of its
    numbers an object sees the Python ones, unless it is a sequence.
    """
    if not isinstance(left, Value) or not isinstance(right, RecordValue | Constant):
        return
    if not isinstance(left.type, Numeric) or left.type.form == "python":
        return
    cls = right.cls if isinstance(right, RecordValue) else type(right.value)
    is_users = (isinstance(right, RecordValue) and not issubclass(cls, tuple)) or (
        isinstance(right, Constant) and is_readable(cls)
    )
    hands_over = getattr(cls, "__array_ufunc__", False) is None
    if not is_users or hands_over or getattr(cls, "__array_priority__", 0) > 0:
        return
    is_number = left.type.form in ("numpy", "number") or left.type.shape == ()
    if is_number and not any(hasattr(cls, name) for name in _ARRAY_LIKE):
        return
    s.refuse(
        errors.UnsupportedTypeError,
        f"NumPy applies this operator to a {label(cls)!r} entry by entry",
        why="an array on the left is asked first, and takes the object for one of many.",
        help=(
            "say in the class that it does arithmetic of its own:  __array_ufunc__ = None",
            "or write the object on the left",
        ),
    )


def _goes_first(left: AbstractValue, right: AbstractValue, reflected: str) -> bool:
    """Whether the right operand is asked first: of a class that refines the left one's."""
    first, second = (
        b.cls
        if isinstance(b, RecordValue)
        else type(b.value)
        if isinstance(b, Constant)
        else object
        for b in (left, right)
    )
    if first is second or not issubclass(second, first):
        return False
    getter = inspect.getattr_static
    return reflected in _COMPARED or (
        getter(second, reflected, None) is not getter(first, reflected, None)
    )


def of_augmented(
    s: Machine, target: Any, old: AbstractValue, value: AbstractValue
) -> AbstractValue | None:
    """``old op= value`` where the class of `old` says what that does to it."""
    if target not in NAMES or not isinstance(old, RecordValue | Constant):
        return None
    return special(s, old, NAMES[target][0].replace("__", "__i", 1), value)


def _same_object(
    left: AbstractValue, right: AbstractValue, *, negated: bool
) -> AbstractValue | None:
    """``left == right`` of objects whose classes do not say what is equal."""
    classes = [b.cls for b in (left, right) if isinstance(b, RecordValue)]
    plain = vars(object)["__eq__"]
    if len(classes) == 2 and all(inspect.getattr_static(c, "__eq__") is plain for c in classes):
        return Constant((left is right) != negated)
    return None
