"""In-place changes of values of unknown type: the memory that they may have.

A call through which no derivative flows is left as it stands, and may return anything: a number, a
new array, one that it was given, one that a module or an object holds.  ``y op= value`` of that is
seen by names that are not known here.  So these calls are read where it matters; what is unknown
even then must be no array, or the write is done as the original call does it, where nothing that
was computed before can see it.
"""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import numpy as np

from srcad import errors, runtime
from srcad.frontend.domain.predicates import is_of_users
from srcad.frontend.domain.values import AbstractValue, Constant
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.operators import operate
from srcad.frontend.store.array_versions import perhaps_written
from srcad.frontend.store.origins import is_doubtful, is_outside, origin
from srcad.frontend.store.ownership import refuse_shared_write
from srcad.ir.core import Call, Const, Value
from srcad.ir.traits import is_attribute
from srcad.types.structures import Opaque

# Methods of arrays that write into them; those of lists change no array.
_WRITING = frozenset(
    {"fill", "sort", "put", "itemset", "partition", "resize", "setfield", "byteswap"}
)


def augment_unknown(
    state: Machine, operation: Any, old: AbstractValue, value: AbstractValue
) -> AbstractValue | None:
    """``old op= value`` of what is known only at run time; None where that makes no difference."""
    in_place = getattr(operator, f"i{operation.__name__.strip('_')}")
    if isinstance(old, Constant):
        _check_object(state, in_place, old)
        return None
    if not isinstance(old, Value) or not isinstance(old.type, Opaque):
        return None
    alone = not _is_seen(state, old)
    if state.is_active(old, value):
        if _may_be_array(old.type):
            perhaps_written(state, old)
        return operate(state, operation, old, value)
    if _may_be_array(old.type) and not alone:
        perhaps_written(state, old)
        if not is_doubtful(state, old):
            old = state.emit(runtime.deep_copy, old, type=old.type, hint=old.hint)
    return state.box(state.emit(in_place, old, value, effect=True))


def before_method(state: Machine, method: Value) -> None:
    """Refuse a method that may write into an array with which something was computed before."""
    for op in reversed(state.builder.ops):
        if isinstance(op, Call) and op.result is method and is_attribute(op.target):
            holder, name = op.args
            if isinstance(holder, Value) and isinstance(name, Const) and name.value in _WRITING:
                _before_write(state, holder)
            return


def _before_write(state: Machine, holder: Value) -> None:
    unknown = isinstance(holder.type, Opaque) and _may_be_array(holder.type)
    if unknown and not state.is_active(holder) and _is_seen(state, holder):
        perhaps_written(state, holder)
        if not is_doubtful(state, holder):
            refuse_shared_write(state)


def _check_object(state: Machine, in_place: Any, old: Constant) -> None:
    """Refuse to change a set, or an object of the user's, that others may see."""
    if isinstance(old.value, frozenset | set):
        if sum(held is old for _, held in state.reachable()) > 1:
            _refuse(state, "a set that goes by another name, too, would change under it.")
    elif is_of_users(old) and hasattr(type(old.value), f"__{in_place.__name__}__"):
        _refuse(state, "an object from outside may change.")


def _refuse(state: Machine, why: str) -> NoReturn:
    state.refuse(
        errors.MutationError,
        "cannot tell which array is changed in place here",
        why=why,
        help=("write it out:  y = y + other",),
    )


def _may_be_array(type_: Opaque) -> bool:
    return type_.cls is None or issubclass(type_.cls, np.ndarray)


def _is_seen(state: Machine, old: Value) -> bool:
    """Return True if something that was computed before may read the memory of a value again."""
    doubtful, shown = is_doubtful(state, old), origin(state, old).everything
    builder = state.builder
    if builder is not state.inactive.outermost:
        own = {op.results[0] for op in builder.ops if op.results}
        if doubtful or not shown <= own:
            return True
    for value in state.inactive.used | (state.inactive.items - {old}):
        if not origin(state, value).everything.isdisjoint(shown):
            return True
        if doubtful and is_outside(state, value):
            return True
    return False
