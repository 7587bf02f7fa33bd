"""Functions of libraries written in Python; they are interpreted in place of the originals.

A function is written under its own signature, so that a call binds to it as it does to the
original.  A call through which no derivative flows runs as it stands.

>>> nlargest(2, [1.0, 3.0, 2.0])
[3.0, 2.0]
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from srcad.frontend.domain.values import AbstractValue, Constant
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, means, means_in
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.reified_closures import reads_active

Written = TypeVar("Written", bound=Callable[..., Any])


def written_for(module: str, *names: str) -> Callable[[Written], Written]:
    """Register what functions of a module mean, as a function of Python."""

    def register(function: Written) -> Written:
        assert isinstance(function, FunctionType)

        def read(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
            given = (*args, *kwargs.values())
            if not state.is_active(*given) and not any(reads_active(state, box) for box in given):
                return None
            return apply(state, Constant(function), args, kwargs)

        means_in(module, *names)(read)
        return function

    return register


@written_for("heapq", "nlargest")
def nlargest(n: int, iterable: Iterable[Any], key: Callable[[Any], Any] | None = None) -> list[Any]:
    """Return the largest items, largest first; which ones these are among nan only a heap knows."""
    items = list(iterable)
    keys = items if key is None else [key(item) for item in items]
    if any(one != one for one in keys):
        raise ValueError("heapq.nlargest of nan is not differentiated: leave nan out before")
    places = sorted(range(len(items)), key=lambda k: keys[k], reverse=True)
    return [items[k] for k in places[: max(n, 0)]]


@written_for("heapq", "nsmallest")
def nsmallest(
    n: int, iterable: Iterable[Any], key: Callable[[Any], Any] | None = None
) -> list[Any]:
    """Return the smallest items, smallest first.

    Which ones these are among nan only a heap knows.
    """
    items = list(iterable)
    keys = items if key is None else [key(item) for item in items]
    if any(one != one for one in keys):
        raise ValueError("heapq.nsmallest of nan is not differentiated: leave nan out before")
    places = sorted(range(len(items)), key=lambda k: keys[k])
    return [items[k] for k in places[: max(n, 0)]]


@written_for("numpy", "fromiter")
def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1) -> Any:
    """Return an array of the first items of an iterable, all of them by default."""
    items = list(iter) if count < 0 else list(itertools.islice(iter, count))
    if len(items) < count:
        raise ValueError(
            f"iterator too short: Expected {count} but iterator had only {len(items)} items."
        )
    result = np.array(items, dtype)
    if result.ndim != 1:
        raise ValueError("setting an array element with a sequence.")
    return result


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1) -> Any:
    """Return the cross product of vectors along other axes."""
    product = np.cross(np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1))
    if np.shape(a)[axisa] == 2 and np.shape(b)[axisb] == 2:
        return product
    return np.moveaxis(product, -1, axisc)


@means(np.cross)
def cross_of_axes(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.cross(a, b, axisa=0)``; `axis` goes before the other three."""
    axis = args[5] if len(args) > 5 else kwargs.get("axis", Constant(None))
    several = len(args) > 2 or bool(kwargs.keys() & {"axisa", "axisb", "axisc"})
    if not several or not state.is_active(*args, *kwargs.values()):
        return None
    kwargs = {name: box for name, box in kwargs.items() if name != "axis"}
    if isinstance(axis, Constant) and axis.value is None:
        return apply(state, Constant(cross), args[:5], kwargs)
    kwargs = {name: box for name, box in kwargs.items() if not name.startswith("axis")}
    return apply(state, Constant(np.cross), args[:2], {**kwargs, "axis": axis})


@written_for("numpy", "unstack")
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """Return views of the parts of an array along an axis, one for each index."""
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    return tuple(x if axis == 0 else np.moveaxis(x, axis, 0))


@written_for("numpy", "trim_zeros")
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Return a view of an array without the zeros in front and at the end of axes."""
    trim = trim.lower()
    if trim not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    ndim = np.ndim(filt)
    axes = tuple(range(ndim)) if axis is None else _axes(axis, ndim)
    places = np.nonzero(filt)
    lengths = np.shape(filt)
    spans = [
        _span(places[k], lengths[k], k in axes and "f" in trim, k in axes and "b" in trim)
        for k in range(ndim)
    ]
    return filt[spans[0] if ndim == 1 else tuple(spans)] if axes else filt


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return one or several axes, counted from the first."""
    given = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    for k in given:
        if not -ndim <= k < ndim:
            raise np.exceptions.AxisError(k, ndim, "axis")
    axes = tuple(k % ndim for k in given)
    if len(set(axes)) != len(axes):
        raise ValueError("repeated axis in `axis` argument")
    return axes


def _span(places: Any, length: int, in_front: bool, at_the_end: bool) -> slice:
    """Return the slice from the first of some indices, or to the last; empty if there are none."""
    count = len(places)
    start = int(np.min(places)) if in_front and count > 0 else 0
    stop = int(np.max(places)) + 1 if at_the_end and count > 0 else length
    return slice(start, 0 if (in_front or at_the_end) and count == 0 else stop)


@written_for("numpy", "asarray_chkfinite")
def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """Return an array for anything like one, which is its argument if that is an array."""
    array = np.asarray(a) if dtype is None and order is None else np.asarray(a, dtype, order)
    if np.issubdtype(array.dtype, np.inexact) and not np.all(np.isfinite(array)):
        raise ValueError("array must not contain infs or NaNs")
    return array
