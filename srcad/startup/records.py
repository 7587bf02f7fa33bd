"""Data classes that are quick to define.

`dataclasses.dataclass` compiles up to six methods per class when a module is imported, which took
half of the time in which srcad starts.  Here the standard library collects the fields, all classes
share ``__eq__``, ``__hash__`` and ``__repr__``, and ``__init__`` is compiled when the first
instance is made.  The type checker sees the standard library's.

Instances of frozen classes refuse assignments where ``SRCAD_VERIFY`` is set, as in all tests;
elsewhere that is left to the type checker, and ``__init__`` assigns plainly.

>>> @dataclass(frozen=True)
... class Point:
...     x: float
...     y: float = 0.0
>>> Point(1.0), Point(1.0) == Point(1.0, 0.0)
(Point(x=1.0, y=0.0), True)
"""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Callable
from dataclasses import MISSING, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = [
    "changed", "computed", "dataclass", "field", "is_record", "once", "record_fields", "replace",
]  # fmt: skip

T = TypeVar("T")
_REFUSES = os.environ.get("SRCAD_VERIFY", "0") not in ("", "0")
# Past the `__setattr__` of a frozen record.  (Not by its `__dict__`: asking for that makes every
# attribute of it slower to read from then on.)
_put = object.__setattr__

if TYPE_CHECKING:
    from dataclasses import dataclass, replace
    from functools import cached_property as once
else:

    class once:  # noqa: N801 - a decorator
        """A property of a frozen record that is computed when it is first asked for.

        Unlike `functools.cached_property` it takes no lock: computing it twice does no harm.
        """

        def __init__(self, compute):
            self.compute = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, record, owner=None):
            if record is None:
                return self
            found = self.compute(record)
            _put(record, self.name, found)
            return found

    def replace(record, /, **changes):
        """Make a record with some fields changed; what was computed `once` is computed again."""
        cls = type(record)
        names, is_plain = _parameters(cls)
        if not is_plain:
            return cls(**{name: getattr(record, name) for name in names} | changes)
        made = object.__new__(cls)
        for name in names:
            _put(made, name, changes.pop(name) if name in changes else getattr(record, name))
        if changes:
            raise TypeError(f"{cls.__name__} has no {', '.join(changes)}")
        return made

    def dataclass(cls=None, /, *, frozen=False, eq=True, kw_only=False):
        """Make a data class; the options are those of `dataclasses.dataclass`."""

        def made(cls):
            return _made(cls, frozen=frozen, eq=eq, kw_only=kw_only)

        return made if cls is None else made(cls)


def _made(cls: Any, *, frozen: bool, eq: bool, kw_only: bool) -> Any:
    own = dict(cls.__dict__)
    if cls.__doc__ is None:
        cls.__doc__ = f"{cls.__name__}."  # the standard library would compute a signature
    dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    refuses = frozen and _REFUSES
    methods: dict[str, Any] = {"__init__": _first_init(cls, refuses), "__repr__": _repr}
    if "__init__" not in own:
        cls.__signature__ = _Signature()
    if eq:
        methods |= {"__eq__": _eq, "__hash__": _hash if frozen else None}
    if refuses:
        methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
    for name, method in methods.items():
        if name not in own or (name == "__hash__" and own[name] is None):
            setattr(cls, name, method)
    return cls


def changed(record: T, /, **fields: Any) -> T:
    """Return a record with some fields changed; the same object if they are equal."""
    same = all(getattr(record, name) == value for name, value in fields.items())
    return record if same else replace(record, **fields)  # type: ignore[type-var]


def computed(record: Any, name: str) -> Any:
    """Recompute a property that is computed `once`."""
    return getattr(type(record), name).compute(record)


def is_record(cls: Any) -> bool:
    """Return True if a class is a data class, of this module or of the standard library."""
    return hasattr(cls, "__dataclass_fields__")


def record_fields(cls: Any) -> tuple[str, ...]:
    """Return the names of the fields of a data class."""
    return tuple(f.name for f in dataclasses.fields(cls))


def _first_init(cls: Any, refuses: bool) -> Any:
    """Return an ``__init__`` that compiles the real one and puts it in its place."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it is one
        if cls.__dict__["__init__"] is __init__:
            cls.__init__ = _init(cls, refuses)
        cls.__init__(self, *args, **kwargs)

    return __init__


class _Signature:
    """The signature of a record, which ``__init__`` does not show before it is compiled."""

    def __get__(self, record: Any, owner: Any) -> inspect.Signature:
        holder = next(cls for cls in owner.__mro__ if "__init__" in vars(cls))
        if "__signature__" not in vars(holder):
            raise AttributeError("__signature__")
        _, *parameters = inspect.signature(_init(holder, False)).parameters.values()
        return inspect.Signature(parameters)


def _init(cls: Any, refuses: bool) -> Any:
    space: dict[str, Any] = {"MISSING": MISSING, "put": _put}
    parameters: dict[bool, list[str]] = {False: ["self"], True: ["*"]}
    body: list[str] = []
    for f in dataclasses.fields(cls):
        name = value = f.name
        if f.default is not MISSING:
            space[f"default_{name}"] = f.default
            value = name if f.init else f"default_{name}"
        elif f.default_factory is not MISSING:
            space[f"factory_{name}"] = f.default_factory
            value = f"factory_{name}()" + f" if {name} is MISSING else {name}" * f.init
        elif not f.init:
            continue
        if f.init:
            default = f"=default_{name}" if f.default is not MISSING else ""
            default = "=MISSING" if f.default_factory is not MISSING else default
            parameters[f.kw_only is True].append(name + default)
        body.append(f"put(self, {name!r}, {value})" if refuses else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    keyword = parameters[True] if len(parameters[True]) > 1 else []
    header = ", ".join([*parameters[False], *keyword])
    exec(f"def __init__({header}):\n " + "\n ".join(body or ["pass"]), space)
    space["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return space["__init__"]


def _parameters(cls: Any) -> tuple[tuple[str, ...], bool]:
    """Return the names of the parameters, and whether ``__init__`` only stores them."""
    found: tuple[tuple[str, ...], bool] | None = cls.__dict__.get("_parameters")
    if found is None:
        fields = dataclasses.fields(cls)
        names = tuple(f.name for f in fields if f.init)
        is_plain = len(names) == len(fields) and not hasattr(cls, "__post_init__")
        found = cls._parameters = names, is_plain
    return found


def _getter(cls: Any) -> Callable[[Any], Any]:
    """Return a getter of all compared fields of a class."""
    found: Callable[[Any], Any] | None = cls.__dict__.get("_read_compared")
    if found is None:
        names = [f.name for f in dataclasses.fields(cls) if f.compare]
        found = cls._read_compared = attrgetter(*names) if names else _no_fields
    return found


def _no_fields(record: Any) -> tuple[()]:
    return ()


def _eq(self: Any, other: object) -> Any:
    if self is other:
        return True
    cls = type(self)
    if type(other) is not cls:
        return NotImplemented
    read = _getter(cls)
    return read(self) == read(other)


def _hash(self: Any) -> int:
    return hash(_getter(type(self))(self))


def _repr(self: Any) -> str:
    fields = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(fields)})"


def _refuse(self: Any, name: str, *_: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
