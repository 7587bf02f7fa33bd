"""Which calls may be merged, dropped or moved: those that only compute."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from srcad import runtime
from srcad.ir import primitives
from srcad.ir.core import Arg, Call, Const, Display, Routine
from srcad.ir.inference.misfits import misfit
from srcad.rules.registry import lookup
from srcad.types.numeric import Numeric
from srcad.types.sizes import resolved
from srcad.types.structures import TupleOf

_PURE: frozenset[Any] = frozenset(
    getattr(primitives, name)
    for name in ("item", "field", "build_dict", "build_record", "build_tuple", "build_list",
                 "build_places", "keys_of", "in_order", "as_dict", "append", "extended", "inserted",
                 "without", "replaced", "shape",
                 "updated", "add_at", "add_at_repeated", "identity", "is_", "not_")
    if hasattr(primitives, name)
) | {len, float, operator.not_, operator.is_, operator.is_not, runtime.unbroadcast,
     runtime.zeros_like, runtime.like, runtime.or_zeros, runtime.plus, runtime.sign}  # fmt: skip

_FRESH: frozenset[Any] = frozenset(
    {
        np.zeros_like, np.ones_like, np.empty_like, np.zeros, np.empty, np.full, np.copy,
        runtime.zeros_like, runtime.like, primitives.build_list, primitives.build_places,
        primitives.append, primitives.updated, primitives.add_at, primitives.add_at_repeated,
        primitives.replaced, primitives.extended, primitives.inserted, primitives.without,
    }
)  # fmt: skip
# What has no value for no entries.
_OF_ONE_OR_MORE: frozenset[Any] = frozenset(
    {np.argmax, np.argmin, np.nanargmax, np.nanargmin, np.max, np.min, np.amax, np.amin, np.nanmax,
     np.nanmin, np.ptp}
)  # fmt: skip
_DIVISIONS = frozenset({operator.truediv, operator.floordiv, operator.mod})


def is_noticeable(op: Call) -> bool:
    """Whether a call must run even if nobody reads its result."""
    if op.effect:
        return True
    return op.half == "primal" and may_raise(op)


def is_mergeable(op: Call) -> bool:
    """Whether two equal calls may be one: no effect, no storage that is written to later."""
    target = op.target
    if op.effect or isinstance(target, Routine) or is_in(target, _FRESH):
        return False
    return is_in(target, _PURE) or lookup(target) is not None


def is_in(target: Any, group: frozenset[Any]) -> bool:
    """Membership, also for targets that cannot be hashed."""
    try:
        return target in group
    except TypeError:
        return False


def may_raise(op: Call) -> bool:
    """Whether a call may raise, or do anything else that a user could notice."""
    target = op.target
    if isinstance(target, Routine):
        return True
    if is_in(target, _PURE):
        return False
    if target is operator.getitem:
        return _index_may_fail(op.args[0], op.args[1])
    if getattr(target, "__module__", None) in (math.__name__, "numpy.linalg"):
        return True
    if is_in(target, _DIVISIONS):
        return _divides_python(op)
    if is_in(target, _OF_ONE_OR_MORE):
        return not _has_entries(op)
    return misfit(op) or lookup(target) is None


def _has_entries(op: Call) -> bool:
    """Whether what is looked through has an entry, or the call says what is found in nothing."""
    if any(name == "initial" for name, _ in op.kwargs):
        return True
    type_ = getattr(op.args[0], "type", None) if op.args else None
    if not isinstance(type_, Numeric) or type_.shape is None:
        return False
    lengths = map(resolved, type_.shape)
    return all(not length.terms and length.constant > 0 for length in lengths)


def fails_for_values(op: Call) -> bool:
    """Whether a call raises for some numbers: Python's divisions, and the functions of `math`."""
    if getattr(op.target, "__module__", None) == math.__name__:
        return True
    return is_in(op.target, _DIVISIONS) and _divides_python(op)


def _divides_python(op: Call) -> bool:
    types = [getattr(a, "type", None) for a in op.args]
    if any(isinstance(t, Numeric) and t.form in ("array", "numpy") for t in types):
        return False
    divisor = op.args[1]
    return not (isinstance(divisor, Const) and divisor.value)


def _index_may_fail(container: Arg, index: Arg) -> bool:
    if isinstance(index, Display):
        parts = index.items if index.kind == "tuple" else (index,)
        return any(_part_may_fail(item) for item in parts)
    if isinstance(getattr(container, "type", None), TupleOf) and isinstance(index, Const):
        return False
    return _part_may_fail(index)


def _part_may_fail(index: Arg) -> bool:
    """Slices, None and the ellipsis fit every length."""
    if isinstance(index, Display):
        return index.kind != "slice"
    return not (isinstance(index, Const) and (index.value is None or index.value is Ellipsis))
