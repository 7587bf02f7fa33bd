"""Functions as operands: the code of a function, and beside it the values that it reads.

A solver is given a function that may read variables of the program.  The call becomes an operation
on a `Closure`, a constant that knows the code, and on the values; a rule of the solver puts both
together again, and so reads a function of Python as the solver does.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from srcad import errors
from srcad.arguments.request import Request
from srcad.frontend.domain.structure import components, mapped
from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Constant,
    DictValue,
    Frame,
    FunctionValue,
    ListValue,
    MethodValue,
    RecordValue,
    SliceValue,
    TupleValue,
)
from srcad.frontend.machine.dispatch import Args, Kwargs, means_object
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.indexing import getitem
from srcad.frontend.operations.reified_closures import factory_of, free_variables
from srcad.ir import primitives
from srcad.ir.core import Location, Value
from srcad.startup.records import replace
from srcad.types.numeric import Numeric


class Closure:
    """What a program hands to a solver: functions and other things, without the values in them.

    Attributes
    ----------
    box : AbstractValue
        The thing as it was read; `places` tells which of the values given stands for which of its.
    active : int
        How many of these have a derivative; they come first.
    name : str
        What it is called in a text.
    where : Location or None
        The call that the thing is handed to.
    """

    derivative: ClassVar[Callable[[Request, Any], Any] | None] = None  # what ``grad(f)`` makes

    def __init__(
        self,
        box: AbstractValue,
        places: dict[Value, int],
        active: int,
        name: str,
        where: Location | None,
    ) -> None:
        self.box, self.places, self.active = box, places, active
        self.name, self.where = name, where
        self.factories: dict[int, Any] = {}

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, *values: Sequence[Any]) -> Any:
        """Return the thing with these values, which come in several sequences."""
        flat = [value for some in values for value in some]
        return self._made(self.box, flat, {})

    def _made(self, box: AbstractValue, values: list[Any], done: dict[int, Any]) -> Any:
        """Return the thing of Python that an abstract value stands for."""
        if isinstance(box, Value):
            return values[self.places[box]]
        if isinstance(box, Constant):
            return box.value
        if id(box) not in done:
            parts = [self._made(part, values, done) for part in components(box)]
            done[id(box)] = self._built(box, parts)
        return done[id(box)]

    def _built(self, box: AbstractValue, parts: list[Any]) -> Any:
        if not isinstance(box, FunctionValue):
            return _built(box, parts)
        if id(box) not in self.factories:  # its code is compiled once
            assert box.names is not None
            self.factories[id(box)] = factory_of(box, box.names)
        count = len(parts) - len(box.held)
        return self.factories[id(box)](*parts[count:], *parts[:count])


def closed(state: Machine, box: AbstractValue, name: str) -> tuple[Closure, TupleValue, TupleValue]:
    """Return a thing without the values in it, those with a derivative, and the others."""
    whole = _held(state, box, {})
    found = dict.fromkeys(_values(state, whole, set()))
    active = [value for value in found if _may_carry(state, value)]
    others = [value for value in found if not _may_carry(state, value)]
    places = {value: k for k, value in enumerate((*active, *others))}
    closure = Closure(whole, places, len(active), name, state.builder.where)
    return closure, TupleValue(tuple(active)), TupleValue(tuple(others))


def _may_carry(state: Machine, value: Value) -> bool:
    """Return True if a derivative flows through a value, or may when a rule is differentiated."""
    if not state.stops_all:
        return state.is_active(value)
    return isinstance(value.type, Numeric) and value.type.kind not in ("b", "i", "u")


@means_object
def opened(state: Machine, callee: Constant, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Put the values back into a thing."""
    closure = callee.value
    if not isinstance(closure, Closure):
        return None
    first, second = args
    count = closure.active
    parts = [getitem(state, first, Constant(k)) for k in range(count)]
    parts += [getitem(state, second, Constant(k)) for k in range(len(closure.places) - count)]

    def change(box: AbstractValue) -> AbstractValue | None:
        return parts[closure.places[box]] if isinstance(box, Value) else None

    return mapped(closure.box, change)


def _held(
    state: Machine, box: AbstractValue, done: dict[int, tuple[AbstractValue, AbstractValue]]
) -> AbstractValue:
    """Return a thing in which local functions hold what they read."""

    def change(part: AbstractValue) -> AbstractValue | None:
        if isinstance(part, Constant):
            return Constant(part.value, spelling=part.spelling)
        if not isinstance(part, FunctionValue):
            return None
        if id(part) in pending:
            _refuse(state, part.name, "it and another local function call each other.")
        pending.add(id(part))
        names = free_variables(state, part)
        _refuse_writes(state, part, names)
        own = tuple(name for name, read in names.items() if read is part)
        others = {name: read for name, read in names.items() if read is not part}
        held = tuple(mapped(read, change, done) for read in others.values())
        frame = _without_path(part.frame)
        made = replace(part, frame=frame, names=tuple(others), held=held, itself=own)
        pending.discard(id(part))
        return made

    pending: set[int] = set()
    return mapped(box, change, done)


def _without_path(frame: Frame) -> Frame:
    """Return a frame of which globals are read where the function is called, as those of rules."""
    outer = None if frame.outer is None else _without_path(frame.outer)
    return replace(frame, path=None, outer=outer, env={}, functions=[])


_CHANGES = frozenset(
    {"add", "append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse"}
    | {"setdefault", "sort", "update", "fill"}
)


def _refuse_writes(state: Machine, function: FunctionValue, names: Mapping[str, Any]) -> None:
    """Refuse a function that changes what the program around it has made: it is given copies."""
    for node in ast.walk(function.node):
        written: ast.AST | None = None
        match node:
            case ast.Nonlocal():
                _refuse(
                    state, function.name, f"it binds {node.names[0]!r} of the function around it."
                )
            case ast.Subscript(value=inner, ctx=ast.Store() | ast.Del()):
                written = inner
            case ast.Attribute(value=inner, ctx=ast.Store() | ast.Del()):
                written = inner
            case ast.AugAssign(target=ast.Subscript(value=inner) | ast.Attribute(value=inner)):
                written = inner
            case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in _CHANGES:
                written = inner
            case ast.keyword(arg="out", value=inner):
                written = inner
        while isinstance(written, ast.Subscript | ast.Attribute):
            written = written.value
        if isinstance(written, ast.Name) and isinstance(names.get(written.id), _CHANGEABLE):
            why = f"it changes {written.id!r}, which was made outside of it."
            _refuse(state, function.name, why)


_CHANGEABLE = (DictValue, ListValue, RecordValue, Value)
_KINDS = (
    BoundValue,
    DictValue,
    FunctionValue,
    ListValue,
    MethodValue,
    RecordValue,
    SliceValue,
    TupleValue,
)


def _values(state: Machine, box: AbstractValue, seen: set[int]) -> list[Value]:
    if isinstance(box, Value):
        return [box]
    if isinstance(box, Constant) or id(box) in seen:
        return []
    seen.add(id(box))
    if not isinstance(box, _KINDS):
        _refuse(state, None, f"it holds a {type(box).__name__.removesuffix('Value').lower()}.")
    return [value for part in components(box) for value in _values(state, part, seen)]


def _refuse(state: Machine, name: str | None, why: str) -> None:
    state.refuse(
        errors.UnsupportedTypeError,
        f"cannot hand {'this function' if name is None else repr(name)} to a solver",
        why=why,
        help=("pass what it needs as arguments:  root(f, x0, args=(a, b))",),
    )


# ---------------------------------------------------------------------------- at run time
def _built(box: AbstractValue, parts: list[Any]) -> Any:
    match box:
        case TupleValue():
            return tuple(parts)
        case ListValue():
            return parts
        case DictValue(keys):
            return dict(zip(keys, parts, strict=True))
        case RecordValue(cls, keys):
            return primitives.build_record(cls, keys, *parts)
        case SliceValue():
            return slice(*parts)
        case MethodValue(name=name):
            return getattr(parts[0], name)
        case BoundValue(args=args, kwargs=kwargs):
            function, *rest = parts
            if isinstance(function, Request):  # a derivative of a function
                assert Closure.derivative is not None
                return Closure.derivative(function, *rest)
            named = dict(zip(kwargs, rest[len(args) :], strict=True))
            return functools.partial(function, *rest[: len(args)], **named)
    raise TypeError(type(box).__name__)
