"""NumPy's functions that call a function of the user's; `prelude.callbacks` has them in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcad import errors
from srcad.frontend.domain.values import AbstractValue, Constant, DictValue, TupleValue
from srcad.frontend.library.in_python import written_for
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, means, means_in, means_object
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.reified_closures import reads_active
from srcad.frontend.prelude import callbacks
from srcad.frontend.store.lookup import below, value_of_object
from srcad.types.structures import Opaque

for _function in (
    callbacks.apply_along_axis,
    callbacks.apply_over_axes,
    callbacks.fromfunction,
    callbacks.piecewise,
):
    written_for("numpy", _function.__name__)(_function)


@means_in("numpy", "vectorize")
def vectorize(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.vectorize(f)``: a local function, which calls `f` for each entry."""
    return apply(state, Constant(callbacks.vectorized), args, kwargs)


@means_object
def vectorized_elsewhere(
    state: Machine, callee: Constant, args: Args, kwargs: Kwargs
) -> AbstractValue | None:
    """Call an object of ``np.vectorize`` that exists outside of the function."""
    made = callee.value
    if not isinstance(made, np.vectorize):
        return None
    if not state.is_active(*args, *kwargs.values()) and not reads_active(state, callee):
        return None
    given = {
        name: value_of_object(state, getattr(made, name), below(callee.path, ("attr", name)))
        for name in ("pyfunc", "otypes", "excluded", "signature")
    }
    return apply(state, apply(state, Constant(callbacks.vectorized), (), given), args, kwargs)


@means(callbacks.entry_by_entry)
def call_entry_by_entry(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Call a function for each entry, if a derivative flows through it; else as it stands."""
    pyfunc, otypes, excluded, signature, positional, named = args
    assert isinstance(positional, TupleValue)
    assert isinstance(named, DictValue)
    if not state.is_active(pyfunc, positional, named) and not reads_active(state, pyfunc):
        options = {"otypes": otypes, "excluded": excluded, "signature": signature}
        made = state.emit(
            np.vectorize, pyfunc, kwargs=options, effect=True, type=Opaque(np.vectorize)
        )
        return apply(state, made, positional.items, dict(zip(named.keys, named.items, strict=True)))
    fixed = _constants(excluded)
    if fixed is None or not _is_none(signature):
        option = "excluded" if fixed is None else "signature"
        state.refuse(
            errors.UnsupportedSyntaxError,
            f"cannot differentiate through np.vectorize with this {option!r}",
            why="its value is not known before the call."
            if fixed is None
            else "which axes belong to one call is not read from it.",
            help=("write the loop:  np.array([f(v) for v in x])",),
        )
    given = {**dict(enumerate(positional.items)), **dict(zip(named.keys, named.items, strict=True))}
    entries = [key for key in given if key not in fixed]
    if fixed or named.keys:
        at = {key: entries.index(key) if key in entries else None for key in given}
        places = tuple(at[k] for k in range(len(positional.items)))
        names = DictValue(named.keys, tuple(Constant(at[name]) for name in named.keys))
        parts = (pyfunc, positional, Constant(places), named, names)
        pyfunc = apply(state, Constant(callbacks.with_fixed), parts, {})
    arrays = TupleValue(tuple(given[key] for key in entries))
    return apply(state, Constant(callbacks.over_entries), (pyfunc, arrays, otypes), {})


def _constants(excluded: AbstractValue) -> frozenset[Any] | None:
    """Return the members of a set that is known at compile time; else None."""
    if not isinstance(excluded, Constant):
        return None
    return frozenset(excluded.value or ())


def _is_none(box: AbstractValue) -> bool:
    return isinstance(box, Constant) and box.value is None
