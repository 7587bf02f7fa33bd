"""Opaque calls with active arguments.

``np.save(file, y)`` only reads `y`, and ``srcad.stop_gradient(find_peaks(y))`` is a constant.
Such a call runs on copies of its arguments (`runtime.call_on_copies`), and its result is constant.
`analysis.opaque_results` refuses a function that depends on it.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from srcad import errors, runtime
from srcad.frontend.domain.structure import components
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    Holder,
    ListValue,
    SliceValue,
    TupleValue,
)
from srcad.frontend.machine.dispatch import Args, Kwargs, unless_refused
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.lookup import is_library
from srcad.frontend.store.stopped import constant_of
from srcad.ir.core import Const, Value
from srcad.types.sources import is_installed
from srcad.types.structures import OPAQUE

_HELD = (Value, Constant, TupleValue, ListValue, DictValue, SliceValue, Holder)
Refusal = Callable[[], AbstractValue]


def call_on_copies(
    state: Machine, callee: AbstractValue, args: Args, kwargs: Kwargs, refuse: Refusal
) -> AbstractValue:
    """Emit a call without a derivative rule, or call `refuse`."""
    if not _is_possible(state, (*args, *kwargs.values())):
        return refuse()
    _note_refusal(state, refuse)
    return _emitted(state, runtime.call_on_copies, (_callable(state, callee), *args), kwargs)


def call_method_on_copies(
    state: Machine, holder: Value, name: str, args: Args, kwargs: Kwargs, refuse: Refusal
) -> AbstractValue:
    """Emit a call of a method of a number or array, or call `refuse`."""
    if not _is_possible(state, (*args, *kwargs.values())):
        return refuse()
    _note_refusal(state, refuse)
    return _emitted(state, runtime.call_method_on_copies, (holder, Constant(name), *args), kwargs)


def unless_library_refuses(
    state: Machine, callee: Constant, args: Args, kwargs: Kwargs, read: Callable[[], AbstractValue]
) -> AbstractValue:
    """Interpret a function of an installed library; on a refusal call it on copies."""
    function = callee.value
    file = function.__code__.co_filename if isinstance(function, types.FunctionType) else ""
    around = state.frame.file
    if not state.inactive.on_copies or not is_installed(file) or is_installed(around):
        return read()
    found = unless_refused(state, read)
    if not isinstance(found, errors.SrcadError):
        return found
    refused = found

    def refuse() -> NoReturn:
        raise refused

    return call_on_copies(state, callee, args, kwargs, refuse)


def _is_possible(state: Machine, given: Iterable[AbstractValue]) -> bool:
    """Return True if a call may run on copies; note the call if that was not tried yet.

    An object of a class of the user's may be written into, unseen.
    """
    if state.frame.trusted:
        return False
    state.inactive.unruled = True
    return state.inactive.on_copies and all(map(_can_be_copied, given))


def _can_be_copied(box: AbstractValue) -> bool:
    return isinstance(box, _HELD) and all(map(_can_be_copied, components(box)))


def _callable(state: Machine, callee: AbstractValue) -> AbstractValue | Const:
    """Return the callee as an operand, with the guard that `opaque_calls` adds."""
    if not isinstance(callee, Constant):
        return callee
    function = callee.value
    if isinstance(function, types.FunctionType) and not function.__closure__:
        state.guard(callee.path, "is", function)
    elif callee.path and not isinstance(function, type):
        return callee
    return Const(function)


def _note_refusal(state: Machine, refuse: Refusal) -> None:
    try:
        refuse()
    except errors.SrcadError as error:
        state.inactive.refusals.setdefault(state.builder.where, error)


def _emitted(
    state: Machine, target: Any, args: tuple[AbstractValue | Const, ...], kwargs: Kwargs
) -> AbstractValue:
    given = [a if isinstance(a, Const) else constant_of(state, a) for a in args]
    stopped = {name: constant_of(state, box) for name, box in kwargs.items()}
    result = state.emit(target, *given, kwargs=stopped, effect=True, type=OPAQUE)
    first = args[0]
    if isinstance(first, Const) and is_library(first.value):
        state.inactive.unknown.discard(result)
    return state.box(result)
