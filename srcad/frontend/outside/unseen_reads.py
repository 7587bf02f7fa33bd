"""Effects of opaque calls on active values and on state outside the function.

An integrator calls a function that reads an attribute written before: the derivative through the
attribute is unknown.  Such calls are recorded with the user code that they may run;
`analysis.opaque_results` refuses those on which the result of the function depends.  What such code
may write is recorded, too: functions that a call is given, and special methods of its operands.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from srcad import errors
from srcad.frontend.domain.outside_places import Key, UnseenRead
from srcad.frontend.domain.predicates import is_hashable, is_nondifferentiable
from srcad.frontend.domain.structure import components
from srcad.frontend.domain.values import AbstractValue, Constant, FunctionValue, Holder
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside.doubts import record_possible_writes
from srcad.frontend.outside.places import active_places
from srcad.frontend.source.effects import Effects, effects_of, effects_of_special_methods
from srcad.frontend.source.written_names import ANYTHING, written_outside
from srcad.ir import primitives
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Const, Display, Value, values_in
from srcad.ir.memory import is_operator, stores_outside
from srcad.ir.traits import is_attribute, law_of_operator, special_methods_of
from srcad.rules.registry import row_of
from srcad.startup.identifiers import is_instance, label, module_of
from srcad.types.objects import is_of_library
from srcad.types.sources import Unreadable, read
from srcad.types.structures import Fixed, Opaque, is_text

SKIPPED = sys.stdlib_module_names | {"numpy", "scipy", "srcad"}
_BY_ANY_NAME = frozenset(
    ["getattr", "vars", "globals", "locals", "exec", "eval", "attrgetter", "getmembers", "asdict",
     "astuple", "__dict__", "__getattribute__", "__globals__", "_getframe"]
)  # fmt: skip
_READERS = (operator.attrgetter, operator.methodcaller, operator.itemgetter)
_RUNNING = (types.GeneratorType, map, filter)
_TRUTH = ("__bool__", "__len__")
_DATA = (int, float, complex, str, bytes, type(None), np.ndarray, np.dtype, np.generic, slice)


# ------------------------------------------------------------------------------ calls
def note_call(
    state: Machine,
    target: Any,
    args: tuple[Arg, ...],
    kwargs: tuple[tuple[str, Arg], ...],
    result: Value,
) -> None:
    """Record a call that may run user code which srcad does not interpret."""
    # What is selected by keys before the call returns depends on these in steps.
    selects = is_hashable(target) and row_of(target).iterates in ("at once", "all")
    named = [arg for name, arg in kwargs if name != "key" or not selects]
    code = tuple(_code_in(state, (Const(target), *args, *named)))
    if not code:
        return
    outside = state.outside
    if isinstance(result.type, Opaque):
        outside.code[result] = code
    outside.all_code.update((id(one), one) for one in code)
    _note_writes(state, target, args, code)
    by_operator = is_operator(target) and not any(map(state.paths.get, _values(args)))
    if by_operator or not _runs_code(target) or is_nondifferentiable(target, (result,)):
        return
    repeated = state.builder is not state.inactive.outermost
    places = active_places(state)
    if places or repeated:
        name = _name_of(target, args)
        error = _error(state, name)
        outside.unseen.append(UnseenRead(result, code, frozenset(places), repeated, error))


def _note_writes(state: Machine, target: Any, args: tuple[Arg, ...], code: tuple[Any, ...]) -> None:
    """Record the writes of the functions and special methods that a call may run.

    Calls that are not interpreted and reads of attributes are recorded elsewhere.
    """
    called = args[:1] if target is primitives.apply else (Const(target),)
    given = [one for one in code if Const(one) not in called]
    special = special_methods_of(target)
    if not given or is_attribute(target) or not (special or _runs_code(target)):
        return
    formats = law_of_operator(target) == "remainder" and is_text(argument_type(args[0]))
    names = None if formats else special or None
    _note_special_methods(state, given, names, _name_of(target, args))


def _note_special_methods(
    state: Machine, objects: Collection[Any], names: Collection[str] | None, called: str
) -> None:
    """Record the writes of special methods of operands; `names` is None for all of them."""
    effects = effects_of_special_methods(objects, names, SKIPPED)
    if not effects.names:
        return
    if len(objects) == len(effects.special) == 1:
        (one,), (method,) = objects, effects.special
        called = f"{label(type(one))}.{method}"
    record_possible_writes(state, effects, called)


def note_truth(state: Machine, box: AbstractValue) -> None:
    """Record the writes of ``__bool__`` or ``__len__``, which the test of an object runs."""
    tested = Const(box.value) if isinstance(box, Constant) else box
    if isinstance(tested, Const | Value):
        objects = tuple(_code_in(state, (tested,)))
        if objects:
            _note_special_methods(state, objects, _TRUTH, "bool")


def _values(args: Iterable[Arg]) -> Iterator[Value]:
    return (v for arg in args for v in values_in(arg))


def _runs_code(target: Any) -> bool:
    if target is primitives.apply:
        return True
    module = module_of(target).partition(".")[0]
    return module != "srcad" and not stores_outside(target)


def _name_of(target: Any, args: tuple[Arg, ...]) -> str:
    called = args[0] if target is primitives.apply and args else Const(target)
    if isinstance(called, Value):
        return called.hint or "function"
    return label(called.value) if isinstance(called, Const) else "function"


def _error(state: Machine, name: str) -> errors.SrcadError:
    try:
        state.refuse(
            errors.UnsupportedTypeError,
            f"cannot differentiate through the call of {name!r}",
            why="it runs code that srcad does not interpret, and that may read an attribute, item "
            "or global which was bound to a value that depends on the differentiated arguments.",
            help=("pass the value to the function as an argument",),
        )
    except errors.SrcadError as error:
        return error


def _code_in(state: Machine, args: Iterable[Arg]) -> Iterator[Any]:
    """Yield user functions and objects among arguments and their items."""
    for arg in args:
        if isinstance(arg, Display):
            yield from _code_in(state, arg.items)
        elif isinstance(arg, Const):
            if not is_instance(arg.value, _DATA) and _may_run(arg.value):
                yield arg.value
        elif isinstance(arg.type, Fixed):
            if _may_run(arg.type.value):
                yield arg.type.value
        elif isinstance(arg.type, Opaque) and not is_text(arg.type):
            yield from _code_of(state, arg)


def _code_of(state: Machine, value: Value) -> Iterable[Any]:
    """Return the user code that a dynamic object may run."""
    known = state.outside.code.get(value)
    if known is not None:
        return known
    path = state.paths.get(value)
    if path is None:
        return tuple(state.outside.all_code.values())
    try:
        found = read(path, state.root, state.arguments)
    except Unreadable:
        return ()
    return (found,) if _may_run(found) else ()


def _may_run(value: Any) -> bool:
    """Return True unless an object is data or code of a library."""
    if is_instance(value, _DATA) or is_instance(value, types.ModuleType):
        return False
    if is_instance(value, np.ufunc):
        return not _is_own_ufunc(value)
    is_code = is_instance(value, types.FunctionType | types.BuiltinFunctionType | type)
    if is_instance(value, types.BuiltinFunctionType):
        return not is_instance(value.__self__, types.ModuleType | type | type(None))
    return not (is_code and is_of_library(value))


@functools.cache
def _is_own_ufunc(ufunc: np.ufunc) -> bool:
    """Return True for a function of NumPy or SciPy, not one of ``np.frompyfunc``."""
    special = sys.modules.get("scipy.special")
    return any(getattr(where, ufunc.__name__, None) is ufunc for where in (np, special))


# ------------------------------------------------------------------------------ reads
def settle(state: Machine) -> None:
    """Keep the errors of calls that may read an active location, in loops any location."""
    at_end = active_places(state) | state.outside.active if state.outside.unseen else set()
    for one in state.outside.unseen:
        places = one.places | at_end if one.repeated else one.places
        if places and (_is_given(one, places) or _may_read(_effects(one), places)):
            state.inactive.unseen[one.result] = one.error


def _effects(one: UnseenRead) -> Effects:
    return effects_of(None, one.code, SKIPPED)


def _is_given(one: UnseenRead, places: Iterable[Key]) -> bool:
    """Return True if an argument contains an active location, so that the call may copy it."""
    found = Effects(SKIPPED)
    for given in one.code:
        if not callable(given):
            found.see(given)
    return any(owner in found.seen for owner, _, _ in places)


def function_may_read(state: Machine, box: FunctionValue, around: Iterable[AbstractValue]) -> bool:
    """Return True if a local function may read an active location; `around`: free variables."""
    places = active_places(state)
    if not places:
        return False
    found = Effects(SKIPPED)
    held = [one for part in around for one in current_objects(state, part)]
    for one in held:
        found.see(one)
    found.take(written_outside(box.node), box.frame.globals)
    found.search()
    return _may_read(found, places)


def object_may_read(state: Machine, value: Any) -> bool:
    """Return True if a call of a captured object may read an active location."""
    places = active_places(state)
    return bool(places) and _may_read(effects_of(value, (), SKIPPED), places)


def _may_read(effects: Effects, places: Iterable[Key]) -> bool:
    """Return True if code with these names and reachable objects may read a location."""
    seen = [one for one in effects.seen.values() if one is not None]
    if effects.cut or not effects.mentioned.isdisjoint(_BY_ANY_NAME) or any(map(_is_unknown, seen)):
        return True
    modules = any(is_instance(one, types.ModuleType) and not _is_skipped(one) for one in seen)
    for owner, kind, name in places:
        if kind == "item" and (modules or owner in effects.seen):
            return True
        if kind != "item" and (name in effects.mentioned or ANYTHING in effects.mentioned):
            return True
    return False


def _is_unknown(one: Any) -> bool:
    """Return True for an object with unknown code or unknown reads."""
    is_ufunc = is_instance(one, np.ufunc)
    return is_instance(one, (*_READERS, *_RUNNING)) or (is_ufunc and not _is_own_ufunc(one))


def _is_skipped(module: types.ModuleType) -> bool:
    return module.__name__.partition(".")[0] in SKIPPED


def current_objects(state: Machine, box: AbstractValue) -> Iterator[Any]:
    """Yield the current captured objects of a value and its items."""
    if isinstance(box, Constant | Holder):
        yield box.value
    path = state.paths.get(box) if isinstance(box, Value) else None
    if path is not None:
        with suppress(Unreadable):  # where there is no example of the arguments
            yield read(path, state.root, state.arguments)
    for part in components(box):
        yield from current_objects(state, part)
