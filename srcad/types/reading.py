"""Find out which lookups on an object run code of a user's class.

Such code runs as often as in the original call, and never only to compile or to show.  So an object
is looked at without it: `namespace` and `has` ask no class, and `reader` says what would be run by
``value.name``.
"""

from __future__ import annotations

import inspect
import types
from abc import ABCMeta
from collections import OrderedDict, defaultdict
from functools import cached_property
from typing import Any

from srcad.startup.identifiers import has_generic_getattribute, is_instance
from srcad.startup.records import dataclass
from srcad.types.objects import is_of_library

_NOTHING = object()
_PLAIN_MEMBERS = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
    types.ClassMethodDescriptorType, staticmethod, classmethod,
)  # fmt: skip
_SUBCLASSED = (int, float, complex, str, bytes, tuple, list, dict, set, frozenset)
_OWN_CLASSES = frozenset({*_SUBCLASSED, object, OrderedDict, defaultdict})


@dataclass(frozen=True)
class Reader:
    """The function that runs when an attribute is read.

    `name` is the method, `function` what it is, and `of_module` whether a module has it; it is None
    where what runs is not a function of Python that gets the object and the name.
    """

    name: str
    function: types.FunctionType | None = None
    of_module: bool = False


def namespace(value: Any) -> dict[str, Any]:
    """Return the instance dictionary of an object, read without its class."""
    kind = type(value)
    if (
        not is_instance(value, type)
        and not has_generic_getattribute(kind)
        and _member(kind, "__getattr__") is _NOTHING
    ):
        return getattr(value, "__dict__", {})
    plain = type if is_instance(value, type) else object
    try:
        return plain.__getattribute__(value, "__dict__")  # type: ignore[no-any-return]
    except AttributeError:
        return {}


def _bases(cls: type) -> tuple[type, ...]:
    found: tuple[type, ...] = type.__getattribute__(cls, "__mro__")
    return found


def _member(cls: type, name: str) -> Any:
    """Return the member of a class or one of its bases with a name."""
    for base in _bases(cls):
        held = type.__getattribute__(base, "__dict__")
        if name in held:
            return held[name]
    return _NOTHING


def _is_users(function: Any) -> bool:
    return isinstance(function, types.FunctionType) and not is_of_library(function)


def reader(value: Any, name: str) -> Reader | None:
    """Return the user's function that ``value.name`` runs; None if it runs none.

    A property of an ordinary object is no such code: it is read like any function.
    """
    kind = type(value)
    if has_generic_getattribute(kind):
        function = _member(kind, "__getattribute__")
        return Reader("__getattribute__", function if _is_users(function) else None)
    is_class = isinstance(value, type)
    held = _member(value, name) if is_class else namespace(value).get(name, _NOTHING)
    if is_class and _runs_code(held):
        return Reader("__get__")
    member = _member(kind, name)
    if member is not _NOTHING:
        goes_first = held is _NOTHING or hasattr(type(member), "__set__")
        if goes_first and _runs_code(member, of_class=is_class):
            return Reader("__get__")
        if not isinstance(member, types.MemberDescriptorType):
            return None
        held = _of_slot(member, value)  # an empty slot is looked for by the class
    return _for_missing(value) if held is _NOTHING else None


def _for_missing(value: Any) -> Reader | None:
    """Return the function that runs when an attribute is not found."""
    found = _member(type(value), "__getattr__")
    of_module = found is _NOTHING and isinstance(value, types.ModuleType)
    if of_module:
        found = vars(value).get("__getattr__", _NOTHING)
    if found is _NOTHING or is_of_library(found):
        return None
    return Reader("__getattr__", found if _is_users(found) else None, of_module)


def may_ask(cls: type, name: str) -> bool:
    """Return True if reading an attribute of an object of a class may run code of the user's."""
    if has_generic_getattribute(cls):
        return True
    member = _member(cls, name)
    if member is _NOTHING:
        found = _member(cls, "__getattr__")
        return found is not _NOTHING and not is_of_library(found)
    return _runs_code(member, of_class=False) or (
        isinstance(member, property) and _is_users(member.fget)
    )


def _of_slot(member: types.MemberDescriptorType, value: Any) -> Any:
    try:
        return member.__get__(value)
    except AttributeError:
        return _NOTHING


def _runs_code(member: Any, *, of_class: bool = True) -> bool:
    """Return True if a member of a class runs something when it is read."""
    if member is _NOTHING or isinstance(member, _PLAIN_MEMBERS):
        return False
    if isinstance(member, property):
        return not of_class and not isinstance(member.fget, types.FunctionType)
    if isinstance(member, cached_property):
        return not of_class
    kind = type(member)
    return not is_of_library(kind) and isinstance(_member(kind, "__get__"), types.FunctionType)


def looked_up(value: Any, name: str, default: Any = None) -> Any:
    """``getattr(value, name, default)``, without what only code of the user's would find."""
    if type(value) is types.FunctionType:
        return getattr(value, name, default)
    return default if reader(value, name) is not None else getattr(value, name, default)


def signature(function: Any, *, follow_wrapped: bool = True) -> inspect.Signature:
    """Return the signature of a callable; an object that answers for all names is asked for none.

    Nor is one with an ``__eq__`` compared with Python's own callables, as `inspect` does.

    Raises
    ------
    TypeError, ValueError
        Those of `inspect.signature`.
    """
    call = _member(type(function), "__call__")
    if isinstance(call, types.FunctionType):
        compares = answers(type(function), "__eq__")
        shown = has(function, "__signature__") or has(function, "__wrapped__")
        if reader(function, "__signature__") is not None or (compares and not shown):
            function = types.MethodType(call, function)
    return inspect.signature(function, follow_wrapped=follow_wrapped)


def has(value: Any, name: str) -> bool:
    """Return True if an object has an attribute, found without running a user's code."""
    kind = type(value)
    if name in namespace(value):
        return True
    if isinstance(value, type) and _member(value, name) is not _NOTHING:
        return True
    member = _member(kind, name)
    if isinstance(member, types.MemberDescriptorType):
        return _of_slot(member, value) is not _NOTHING
    return member is not _NOTHING


def answers(cls: type, *names: str) -> bool:
    """Return True if a class defines some of the special methods, and is no type of Python's.

    >>> class Table(dict):
    ...     __module__ = "mine"
    ...
    ...     def __missing__(self, key):
    ...         return 0.0
    >>> answers(Table, "__missing__", "__len__"), answers(Table, "__len__")
    (True, False)
    """
    for base in _bases(cls):
        if base in _OWN_CLASSES:
            return False
        if not is_of_library(base):
            held = type.__getattribute__(base, "__dict__")
            if any(name in held for name in names):
                return True
    return False


def checks_instances(cls: Any) -> bool:
    """Return True if a class, or one of several, is asked itself what is an instance of it."""
    if isinstance(cls, tuple):
        return any(map(checks_instances, cls))
    if not isinstance(cls, type):
        return False
    kind = type(cls)
    if kind is type:
        return False
    names = ("__instancecheck__", "__subclasscheck__")
    by_meta = any(
        name in vars(base) for base in _bases(kind) if base not in (type, ABCMeta) for name in names
    )
    hook = _member(cls, "__subclasshook__")
    return by_meta or (isinstance(hook, classmethod) and not is_of_library(hook.__func__))
