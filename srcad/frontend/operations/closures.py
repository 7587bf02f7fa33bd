"""Closure conversion: a function becomes a constant and its captured values, as operands.

A solver takes a function that may capture variables of the program.  The call becomes an operation
on a `Closure`, a constant with the code, and on the captured values.  The rule of the solver
applies the closure to the values, and so interprets the function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType, MethodType
from typing import Any, ClassVar, NoReturn

import numpy as np

from srcad import errors
from srcad.arguments.request import Request
from srcad.frontend.domain.structure import components, mapped, values_of
from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Choice,
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
from srcad.frontend.machine.constants import pinned
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, means, means_object
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.indexing import getitem
from srcad.frontend.operations.reified_closures import factory_of, free_variables
from srcad.frontend.outside.doubts import record_possible_writes
from srcad.frontend.outside.unseen_reads import SKIPPED
from srcad.frontend.prelude.callbacks import with_constants
from srcad.frontend.prelude.solvers import slopes_at
from srcad.frontend.source.effects import Effects
from srcad.frontend.source.written_names import ANYTHING, ITEMS, written_outside
from srcad.frontend.store.stopped import constant_of
from srcad.ir import primitives
from srcad.ir.core import Location, Value
from srcad.startup.records import replace
from srcad.types.numeric import Numeric


class Closure:
    """A function, or a structure of functions and values, without its captured values.

    Attributes
    ----------
    box : AbstractValue
        The abstract value; `places` has the index of each captured value among the operands.
    active : int
        The number of active captured values, which come first.
    name : str
        The name in generated code.
    where : Location or None
        The location of the call.
    """

    # `srcad.api` provides both: what ``grad(f)`` makes, and a function for rules by equations.
    derivative: ClassVar[Callable[[Request, Any], Any] | None] = None
    equations: ClassVar[Callable[..., Any] | None] = None

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
        self.derivatives: dict[Any, Any] = {}  # compiled, by their kind

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, *values: Sequence[Any]) -> Any:
        """Return the Python object for captured values, given in several sequences."""
        flat = [value for some in values for value in some]
        return self._instantiate(self.box, flat, {})

    @functools.cached_property
    def slopes(self) -> Any:
        """The value and gradient, by its active values, of a function times `seed`, summed."""
        closure = self

        def weighted(values: Any, others: Any, seed: Any, x: Any) -> Any:
            function, more = closure(values, others)
            y = seed * function(x, *more)
            return y if np.ndim(y) == 0 else np.sum(y)

        code = weighted.__code__.replace()  # compilations are kept by code: these die with it
        own = FunctionType(code, weighted.__globals__, self.name, None, weighted.__closure__)
        assert Closure.derivative is not None
        return Closure.derivative(Request("value_and_grad"), own)

    def _instantiate(self, box: AbstractValue, values: list[Any], done: dict[int, Any]) -> Any:
        """Return the Python object of an abstract value."""
        if isinstance(box, Value):
            return values[self.places[box]]
        if isinstance(box, Constant):
            return box.value
        if id(box) not in done:
            parts = [self._instantiate(part, values, done) for part in components(box)]
            done[id(box)] = self._build(box, parts)
        return done[id(box)]

    def _build(self, box: AbstractValue, parts: list[Any]) -> Any:
        if not isinstance(box, FunctionValue):
            return _build(box, parts)
        if id(box) not in self.factories:  # its code is compiled once
            assert box.names is not None
            self.factories[id(box)] = factory_of(box, box.names)
        count = len(parts) - len(box.held)
        return self.factories[id(box)](*parts[count:], *parts[:count])


def closure_of(
    state: Machine, box: AbstractValue, name: str
) -> tuple[Closure, TupleValue, TupleValue]:
    """Convert an abstract value: return its closure, its active values and the others."""
    whole = _with_captures(state, box, {})
    found = dict.fromkeys(_values(state, whole))
    _refuse_effects(state, whole)
    active = [value for value in found if may_carry(state, value)]
    others = [value for value in found if not may_carry(state, value)]
    places = {value: k for k, value in enumerate((*active, *others))}
    closure = Closure(whole, places, len(active), name, state.builder.where)
    return closure, TupleValue(tuple(active)), TupleValue(tuple(others))


def may_carry(state: Machine, *boxes: AbstractValue) -> bool:
    """Return True if values are active, or may be where the rule itself is differentiated."""
    if not state.stops_all:
        return state.is_active(*boxes)
    types = [value.type for box in boxes for value in values_of(box)]
    return any(isinstance(type_, Numeric) and type_.kind not in ("b", "i", "u") for type_ in types)


@means_object
def interpret_closure(
    state: Machine, callee: Constant, args: Args, kwargs: Kwargs
) -> AbstractValue | None:
    """Interpret a call of a closure: substitute the captured values."""
    closure = callee.value
    if not isinstance(closure, Closure):
        return None
    pinned(state, callee)
    first, second = args
    count = closure.active
    parts = [getitem(state, first, Constant(k)) for k in range(count)]
    parts += [getitem(state, second, Constant(k)) for k in range(len(closure.places) - count)]

    def change(box: AbstractValue) -> AbstractValue | None:
        return parts[closure.places[box]] if isinstance(box, Value) else None

    return mapped(closure.box, change)


@means(with_constants)
def interpret_with_constants(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Interpret a call of a function with its captured values held constant."""

    def change(part: AbstractValue) -> AbstractValue | None:
        return constant_of(state, part) if isinstance(part, Value) else None

    whole = _with_captures(state, args[0], {})
    _refuse_effects(state, whole, "take what {} captures for constant")
    function = mapped(whole, change)
    return apply(state, function, args[1:], kwargs)


@means(slopes_at)
def interpret_slopes(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Interpret the gradient of a closure."""
    box, _, *rest = args
    if not isinstance(box, Constant):
        return None
    return apply(state, Constant(pinned(state, box).slopes), tuple(rest), kwargs)


def _with_captures(
    state: Machine, box: AbstractValue, done: dict[int, tuple[AbstractValue, AbstractValue]]
) -> AbstractValue:
    """Return an abstract value in which local functions hold their captured variables."""

    def change(part: AbstractValue) -> AbstractValue | None:
        if isinstance(part, Constant):
            return Constant(part.value, spelling=part.spelling)
        if not isinstance(part, FunctionValue):
            return None
        if id(part) in pending:
            _refuse(state, part.name, "it and another local function call each other.")
        pending.add(id(part))
        names = free_variables(state, part)
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
    """Return a frame without an access path: its globals are those of the function object."""
    outer = None if frame.outer is None else _without_path(frame.outer)
    return replace(frame, path=None, outer=outer, env={}, functions=[])


_TO_SOLVER = "hand {} to a solver"


def _refuse_effects(state: Machine, whole: AbstractValue, use: str = _TO_SOLVER) -> None:
    """Refuse a function that mutates objects of the program: the solver gets copies of them.

    State outside that it may mutate is not read after the call.
    """
    parts = list(_parts(whole, set()))
    effects = _effects_of(parts)
    name = next((p.name for p in parts if isinstance(p, FunctionValue)), None)
    for part in parts:
        if isinstance(part, FunctionValue) and (bound := effects.names & set(part.names or ())):
            why = f"it binds {min(bound)!r} of the function around it."
            _refuse(state, part.name, why, _WITHOUT_EFFECT, use)
        if isinstance(part, RecordValue) and (written := effects.names & {ANYTHING, *part.keys}):
            why = f"it changes {min(written)!r} of an object of the program."
            _refuse(state, name, why, _WITHOUT_EFFECT, use)
        if isinstance(part, ListValue | DictValue) and effects.names & {ANYTHING, ITEMS}:
            why = "it changes items of a list or dict of the program."
            _refuse(state, name, why, _WITHOUT_EFFECT, use)
    if effects.names:
        record_possible_writes(state, effects, name or "function")


def _effects_of(parts: Iterable[AbstractValue]) -> Effects:
    """Return the side effects of functions, with those of all functions that they call."""
    found = Effects(SKIPPED)
    for part in parts:
        match part:
            case Constant(value=value):
                found.see(value)
            case FunctionValue(node=node, frame=frame):
                found.take(written_outside(node), frame.globals)
            case RecordValue(cls=cls):
                found.see(cls)
                found.mentioned.add("__call__")
            case MethodValue(name=name):
                found.mentioned.add(name)
    found.search()
    return found


def _parts(box: AbstractValue, seen: set[int]) -> Iterator[AbstractValue]:
    if id(box) in seen:
        return
    seen.add(id(box))
    yield box
    for part in components(box):
        yield from _parts(part, seen)


def holds_function(box: AbstractValue) -> bool:
    """Return True if an abstract value is or holds a local function or a method."""
    kinds = (BoundValue, FunctionValue, MethodValue)
    return any(isinstance(part, kinds) for part in _parts(box, set()))


_BY_ARGUMENTS = "pass what it needs as arguments:  root(f, x0, args=(a, b))"
_WITHOUT_EFFECT = "let it compute only, and count or collect where no derivative is taken"
_KINDS = (
    BoundValue,
    Choice,
    Constant,
    DictValue,
    FunctionValue,
    ListValue,
    MethodValue,
    RecordValue,
    SliceValue,
    TupleValue,
    Value,
)


def _values(state: Machine, box: AbstractValue) -> list[Value]:
    """Return the dynamic values in an abstract value."""
    parts = list(_parts(box, set()))
    for part in parts:
        if not isinstance(part, _KINDS):
            kind = type(part).__name__.removesuffix("Value").lower()
            _refuse(state, None, f"it holds a {kind}.")
    return [part for part in parts if isinstance(part, Value)]


def _refuse(
    state: Machine,
    name: str | None,
    why: str,
    remedy: str = _BY_ARGUMENTS,
    use: str = _TO_SOLVER,
) -> NoReturn:
    state.refuse(
        errors.UnsupportedTypeError,
        "cannot " + use.format("this function" if name is None else repr(name)),
        why=why,
        help=(remedy,),
    )


# ---------------------------------------------------------------------------- at run time
def _build(box: AbstractValue, parts: list[Any]) -> Any:
    match box:
        case TupleValue():
            return tuple(parts)
        case ListValue():
            return parts
        case DictValue(keys):
            return dict(zip(keys, parts, strict=True))
        case RecordValue(cls, keys) if cls.__module__.startswith("scipy.optimize"):
            return cls(**dict(zip(keys, parts, strict=True)))  # bounds or a constraint
        case RecordValue(cls, keys):
            return primitives.build_record(cls, keys, *parts)
        case SliceValue():
            return slice(*parts)
        case Choice():
            test, first, second = parts
            return first if test else second
        case MethodValue(name=name):
            return getattr(parts[0], name)
        case BoundValue(args=args, kwargs=kwargs):
            function, *rest = parts
            named = dict(zip(kwargs, rest[len(args) :], strict=True))
            return _bound(function, rest[: len(args)], named, is_partial=box.is_partial)
    raise TypeError(type(box).__name__)


def _bound(function: Any, args: list[Any], kwargs: dict[str, Any], *, is_partial: bool) -> Any:
    """Return a partial function, or a bound method if its function has attributes to show."""
    if isinstance(function, Request):  # a derivative of a function
        assert Closure.derivative is not None
        return Closure.derivative(function, *args, *kwargs.values())
    has_attributes = bool(getattr(function, "__dict__", None))
    if has_attributes and len(args) == 1 and not kwargs and not is_partial:
        return MethodType(function, *args)
    return functools.partial(function, *args, **kwargs)
