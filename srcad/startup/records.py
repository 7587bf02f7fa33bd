"""Data classes that cost next to nothing to define.

`dataclasses.dataclass` compiles up to six methods per class when a module is imported; for a
compiler of a hundred small classes that is half of the time it takes to start.  This one collects
the fields when they are first needed, shares all methods but ``__init__`` among the classes, and
compiles ``__init__`` only for a class of which many instances are made.  `dataclasses.replace`,
`fields` and ``match`` work as always (`dataclasses` goes over a class when it is first asked about
it), and for the type checker it *is* `dataclasses.dataclass`.  The `replace` of this module is the
same at a third of the price, and `once` makes a property that is computed at most once.

>>> @dataclass(frozen=True)
... class Point:
...     x: float
...     y: float = 0.0
>>> Point(1.0), Point(1.0) == Point(1.0, 0.0)
(Point(x=1.0, y=0.0), True)
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["changed", "dataclass", "field", "is_record", "once", "record_fields", "replace"]

T = TypeVar("T")
_MANY = 120  # instances: compiling takes as long as making about so many of them without
_MISSING: Any = object()  # no default
# Past the `__setattr__` of a frozen record.  (Not by its `__dict__`: asking for that makes every
# attribute of it slower to read from then on.)
_put = object.__setattr__

if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
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

    def field(
        *,
        default=_MISSING,
        default_factory=_MISSING,
        init=True,
        repr=True,
        compare=True,
        kw_only=_MISSING,
    ):
        """Describe a field; the options are those of `dataclasses.field`."""
        return _Field(default, default_factory, init, repr, compare, kw_only)

    def dataclass(cls=None, /, *, frozen=False, eq=True, kw_only=False):
        """Make a data class; the options are those of `dataclasses.dataclass`."""

        def made(cls):
            return _made(cls, frozen=frozen, eq=eq, kw_only=kw_only)

        return made if cls is None else made(cls)


def _made(cls: Any, *, frozen: bool, eq: bool, kw_only: bool) -> Any:
    own = dict(cls.__dict__)
    if cls.__doc__ is None:
        cls.__doc__ = f"{cls.__name__}."
    cls._record = _Record(cls, kw_only=kw_only)
    cls.__dataclass_fields__ = _Deferred("__dataclass_fields__", _as_dataclass)
    methods: dict[str, Any] = {"__init__": _first_init(cls, frozen=frozen), "__repr__": _repr}
    methods["__match_args__"] = _Deferred("__match_args__", _positions)
    if eq:
        methods |= {"__eq__": _eq, "__hash__": _hash if frozen else None}
    if frozen:
        methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
    for name, method in methods.items():
        if name not in own or (name == "__hash__" and own[name] is None):
            setattr(cls, name, method)
    return cls


def changed(record: T, /, **fields: Any) -> T:
    """Return a record with some fields changed; the same object if they are equal."""
    same = all(getattr(record, name) == value for name, value in fields.items())
    return record if same else replace(record, **fields)  # type: ignore[type-var]


def is_record(cls: Any) -> bool:
    """Return True if a class is a data class, of this module or of the standard library."""
    return hasattr(cls, "__dataclass_fields__")


def record_fields(cls: Any) -> tuple[str, ...]:
    """Return the names of the fields of a data class."""
    return tuple(f.name for f in dataclasses.fields(cls))


class _Deferred:
    """Stands in for an attribute of a class until somebody asks for it."""

    def __init__(self, name: str, find: Any) -> None:
        self.name = name
        self.find = find

    def __get__(self, instance: object, owner: Any) -> Any:
        cls = owner._record.cls
        if cls.__dict__.get(self.name) is self:
            setattr(cls, self.name, self.find(cls))
        return getattr(cls, self.name)


def _positions(cls: Any) -> tuple[str, ...]:
    """Return the fields that a pattern takes by position."""
    return tuple(f.name for f in _fields(cls) if f.init and not f.kw_only)


def _as_dataclass(cls: Any) -> Any:
    """Return the fields as `dataclasses` keeps them."""
    for f in _fields(cls):
        if isinstance(cls.__dict__.get(f.name), _Field):
            options = {name: value for name, value in vars(f).items() if value is not _MISSING}
            del options["name"]
            setattr(cls, f.name, dataclasses.field(**options))
    collected = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=cls._record.kw_only)
    collected(cls)
    return cls.__dataclass_fields__


class _Field:
    """One field of a record."""

    def __init__(
        self, default: Any, factory: Any, init: bool, repr: bool, compare: bool, kw_only: Any
    ) -> None:
        self.name = ""
        self.default = default
        self.default_factory = factory
        self.init = init
        self.repr = repr
        self.compare = compare
        self.kw_only = kw_only


class _Record:
    """The fields of a class, those of its bases first."""

    def __init__(self, cls: Any, *, kw_only: bool) -> None:
        self.cls = cls
        self.kw_only = kw_only
        self.found: tuple[_Field, ...] | None = None
        self.plain: tuple[str, ...] = ()  # the parameters that may be given by position
        self.parameters: frozenset[str] = frozenset()
        self.defaults: dict[str, Any] = {}
        self.factories: tuple[tuple[str, Any], ...] = ()
        self.count = 0  # of the fields that have a value when an instance is made

    def fields(self) -> tuple[_Field, ...]:
        """Collect the fields, once."""
        if self.found is None:
            every: dict[str, _Field] = {}
            for base in self.cls.__mro__[:0:-1]:
                if "_record" in base.__dict__:
                    every |= {f.name: f for f in _fields(base)}
            for name, annotation in self.cls.__annotations__.items():
                if "ClassVar" not in str(annotation):
                    every[name] = self._field(name)
            self.plain = tuple(f.name for f in every.values() if f.init and not f.kw_only)
            self.found = tuple(every.values())
            self._note_values(self.found)
        return self.found

    def _note_values(self, fields: tuple[_Field, ...]) -> None:
        """Where the values of the fields come from, for `_given`."""
        self.parameters = frozenset(f.name for f in fields if f.init)
        with_default = [f for f in fields if f.default is not _MISSING]
        made = [f for f in fields if f.default is _MISSING and f.default_factory is not _MISSING]
        self.defaults = {f.name: f.default for f in with_default}
        self.factories = tuple((f.name, f.default_factory) for f in made)
        self.count = len(self.parameters.union(self.defaults, (f.name for f in made)))

    def _field(self, name: str) -> _Field:
        given = self.cls.__dict__.get(name, _MISSING)
        found = given if isinstance(given, _Field) else field(default=given)
        found.name = name
        if found.kw_only is _MISSING:
            found.kw_only = self.kw_only
        return found


def _fields(cls: Any) -> tuple[_Field, ...]:
    record: _Record = cls._record
    return record.fields()


def _first_init(cls: Any, *, frozen: bool) -> Any:
    """Stand in for ``__init__`` until many instances have been made."""
    made = 0
    record: _Record = cls._record
    after = hasattr(cls, "__post_init__")

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it is one
        nonlocal made
        made += 1
        values = _given(record, args, kwargs) if made < _MANY else None
        if values is None:
            if cls.__dict__["__init__"] is __init__:
                cls.__init__ = _init(cls, frozen=frozen)
            cls.__init__(self, *args, **kwargs)
            return
        for name, value in values.items():
            _put(self, name, value)
        if after:
            self.__post_init__()

    return __init__


def _given(record: _Record, args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any] | None:
    """Return the values of the fields.

    None for a wrong call: a compiled ``__init__`` says what is.
    """
    if record.found is None:
        record.fields()
    known = len(args) + len(given)
    given = {**dict(zip(record.plain, args, strict=False)), **given}
    if len(given) < known or not record.parameters >= given.keys():
        return None
    values = {**record.defaults, **given}
    for name, factory in record.factories:
        if name not in given:
            values[name] = factory()
    return values if len(values) == record.count else None


def _init(cls: Any, *, frozen: bool) -> Any:
    """Compile ``__init__``."""
    space: dict[str, Any] = {"MISSING": _MISSING, "put": _put}
    plain: list[str] = []
    keyword: list[str] = []
    body: list[str] = []
    for f in _fields(cls):
        value = _parameter(f, space, keyword if f.kw_only else plain)
        if value is not None:
            body.append(f"put(self, {f.name!r}, {value})" if frozen else f"self.{f.name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    header = ", ".join(["self", *plain, *(["*", *keyword] if keyword else [])])
    text = f"def __init__({header}):\n " + "\n ".join(body or ["pass"])
    exec(text, space)
    init = space["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _parameter(f: _Field, space: dict[str, Any], parameters: list[str]) -> str | None:
    """Add the parameter of a field; the expression of its value (None: it has none yet)."""
    default, factory = f"default_{f.name}", f"factory_{f.name}"
    if f.default_factory is not _MISSING:
        space[factory] = f.default_factory
        if f.init:
            parameters.append(f"{f.name}=MISSING")
            return f"{factory}() if {f.name} is MISSING else {f.name}"
        return f"{factory}()"
    if f.default is not _MISSING:
        space[default] = f.default
        if f.init:
            parameters.append(f"{f.name}={default}")
        return f.name if f.init else default
    if f.init:
        parameters.append(f.name)
        return f.name
    return None


def _parameters(cls: Any) -> tuple[tuple[str, ...], bool]:
    """Return the names of the parameters, and whether ``__init__`` only keeps them."""
    found: tuple[tuple[str, ...], bool] | None = cls.__dict__.get("_parameters")
    if found is None:
        names = tuple(f.name for f in _fields(cls) if f.init)
        is_plain = len(names) == len(_fields(cls)) and not hasattr(cls, "__post_init__")
        found = cls._parameters = names, is_plain
    return found


def _values(record: Any) -> tuple[Any, ...]:
    cls = type(record)
    compared = cls.__dict__.get("_compared")
    if compared is None:
        compared = cls._compared = tuple(f.name for f in _fields(cls) if f.compare)
    return tuple([getattr(record, name) for name in compared])


def _eq(self: Any, other: object) -> Any:
    if self is other:
        return True
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in _fields(type(self)) if f.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse(self: Any, name: str, *_: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
