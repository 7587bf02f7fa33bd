"""Sums, means, spreads and extremes, over any axes."""

import builtins
import math

import numpy as np

from srcad.rules.conjugates import ORDER, may_be_complex
from srcad.rules.declare import adjoint, linear
from srcad.rules.row import Columns


def kept(y_bar, a, axis, keepdims):
    """Give a reduced array its axes back, with length 1; a number has none, by any axis."""
    if axis is None or keepdims or np.ndim(a) == 0:
        return y_bar
    return np.expand_dims(y_bar, axis)


def spread(y_bar, a, axis, keepdims):
    """A reduced array, repeated over the axes that were reduced."""
    return np.broadcast_to(kept(y_bar, a, axis, keepdims), np.shape(a))


def count(a, axis, keepdims, where):
    """How many entries went into each result."""
    if where is not None:
        return np.sum(np.ones_like(a), axis=axis, keepdims=keepdims, where=where)
    if axis is None:
        return np.size(a)
    if isinstance(axis, (int, np.integer)):
        return np.shape(a)[axis]
    if not isinstance(axis, tuple):
        return np.sum(np.ones_like(a), axis=axis, keepdims=keepdims)
    entries = 1
    for k in axis:
        entries = entries * np.shape(a)[k]
    return entries


def taking_part(numbers, where):
    """The entries that are numbers and not left out."""
    return numbers if where is None else numbers & where


def selected(bar, where):
    """The cotangent of the entries that took part; exactly 0 for the others."""
    return bar if where is None else np.where(where, bar, 0.0)


# ------------------------------------------------------------------------ sums
@linear(
    np.sum, rounds="in dtype of out", method="sum", order="keeps", law="total",
    takes_lists=True, active=("a", "initial"),
    samples=lambda f, m, t, where: [
        f(t), f(t, 0), f(t, -1, keepdims=True), f(t, None, keepdims=True), f(t, axis=(0, 2)),
        f(t, axis=(-1, 0), keepdims=True), f(t, axis=(1,)), f(m, axis=1, where=where),
        f(m, where=where), f(m, 0, np.float64), f(m, axis=()), f(m, initial=0.5)],
)  # fmt: skip
def sum(y_bar, a, axis=None, dtype=None, *, keepdims=False, initial=None, where=None):
    initial_bar = None if initial is None else np.sum(y_bar)
    return selected(spread(y_bar, a, axis, keepdims), where), initial_bar


@adjoint(
    np.nansum, rounds="in dtype of out", entries="reduced", nan="left out", active=("a", "initial"),
    samples=lambda f, m, t, where: [
        f(t), f(t, 0), f(t, -1, keepdims=True), f(t, None, keepdims=True), f(t, axis=(0, 2)),
        f(t, axis=(-1, 0), keepdims=True), f(t, axis=(1,)), f(m, axis=1, where=where),
        f(m, 0, initial=0.5)],
    kinks=lambda f: [(f([1, math.nan]), [1, 0])],
)  # fmt: skip
def nansum(y_bar, y, a, axis=None, dtype=None, *, keepdims=False, initial=None, where=None):
    """At nan: 0."""
    numbers = np.logical_not(np.isnan(a))
    initial_bar = None if initial is None else np.sum(y_bar)
    bar = np.where(taking_part(numbers, where), kept(y_bar, a, axis, keepdims), 0.0)
    return bar, initial_bar


@linear(
    np.mean, rounds="in dtype of out", method="mean", order="keeps", law="total",
    takes_lists=True, samples=lambda f, m, t, where: [
        f(t), f(t, 0), f(t, -1, keepdims=True), f(t, None, keepdims=True), f(t, axis=(0, 2)),
        f(t, axis=(-1, 0), keepdims=True), f(t, axis=(1,)), f(m, axis=1, where=where)],
)  # fmt: skip
def mean(y_bar, a, axis=None, dtype=None, *, keepdims=False, where=None):
    share = y_bar / count(a, axis, keepdims, where)
    return selected(spread(share, a, axis, keepdims), where)


@adjoint(
    np.nanmean, rounds="in dtype of out", entries="reduced", nan="left out",
    samples=lambda f, m, t, where: [
        f(t), f(t, 0), f(t, -1, keepdims=True), f(t, None, keepdims=True), f(t, axis=(0, 2)),
        f(t, axis=(-1, 0), keepdims=True), f(t, axis=(1,)), f(m, axis=1, where=where)],
    kinks=lambda f: [(f([1, math.nan, 3]), [0.5, 0, 0.5])],
)  # fmt: skip
def nanmean(y_bar, y, a, axis=None, dtype=None, *, keepdims=False, where=None):
    """At nan: 0."""
    numbers = taking_part(np.logical_not(np.isnan(a)), where)
    share = y_bar / count(a, axis, keepdims, numbers)
    return np.where(numbers, kept(share, a, axis, keepdims), 0.0)


# ------------------------------------------------------------------------ spreads
@adjoint(
    np.var, entries="reduced",
    method="var",
    samples=lambda f, m, t, where: [
        f(t), f(t, 0), f(t, -1, keepdims=True), f(t, None, keepdims=True), f(t, axis=(0, 2)),
        f(t, axis=(-1, 0), keepdims=True), f(t, axis=(1,)), f(m, axis=1, where=where), f(m, ddof=1),
        f(m, 0, ddof=1)],
    kinks=lambda f: [(f([1, 1, 1]), [0, 0, 0])],
)  # fmt: skip
def var(y_bar, y, a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=None):
    return deviation(2 * y_bar, a, axis, ddof, keepdims, where)


@adjoint(
    np.std, entries="reduced",
    method="std",
    samples=lambda f, m, t, where: [
        f(t), f(t, 0), f(t, -1, keepdims=True), f(t, None, keepdims=True), f(t, axis=(0, 2)),
        f(t, axis=(-1, 0), keepdims=True), f(t, axis=(1,)), f(m, axis=1, where=where), f(m, ddof=1),
        f(m, 0, ddof=1)],
    kinks=lambda f: [(f([1, 1, 1]), [0, 0, 0])],
)  # fmt: skip
def std(y_bar, y, a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=None):
    """For equal numbers: 0."""
    return deviation(y_bar / (y + (y == 0)), a, axis, ddof, keepdims, where)


@adjoint(
    np.nanvar, entries="reduced", nan="left out",
    samples=lambda f, m, t, where: [
        f(t), f(t, 0), f(t, -1, keepdims=True), f(t, None, keepdims=True), f(t, axis=(0, 2)),
        f(t, axis=(-1, 0), keepdims=True), f(t, axis=(1,)), f(m, axis=1, where=where),
        f(m, ddof=1), f(m, 0, ddof=2)],
)  # fmt: skip
def nanvar(y_bar, y, a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=None):
    """At nan: 0."""
    return deviation_of_numbers(2 * y_bar, a, axis, ddof, keepdims, where)


@adjoint(
    np.nanstd, entries="reduced", nan="left out",
    samples=lambda f, m, t, where: [
        f(t), f(t, 0), f(t, -1, keepdims=True), f(t, None, keepdims=True), f(t, axis=(0, 2)),
        f(t, axis=(-1, 0), keepdims=True), f(t, axis=(1,)), f(m, axis=1, where=where),
        f(m, ddof=1), f(m, 0, ddof=2)],
)  # fmt: skip
def nanstd(y_bar, y, a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=None):
    """At nan: 0; of equal numbers: 0."""
    return deviation_of_numbers(y_bar / (y + (y == 0)), a, axis, ddof, keepdims, where)


def deviation_of_numbers(y_bar, a, axis, ddof, keepdims, where):
    """The distances from the mean of the numbers, weighted; exactly 0 at nan."""
    numbers = taking_part(np.logical_not(np.isnan(a)), where)
    return deviation(y_bar, a, axis, ddof, keepdims, numbers)


def deviation(y_bar, a, axis, ddof, keepdims, where):
    """The distances from the mean, weighted; the cotangent of the mean itself cancels."""
    entries = count(a, axis, keepdims, where)
    share = y_bar / (entries if ddof == 0 else entries - ddof)
    if where is None and axis is None:
        return share * distances(a, axis, where)
    if where is None:
        return kept(share, a, axis, keepdims) * distances(a, axis, where)
    return np.where(where, kept(share, a, axis, keepdims) * distances(a, axis, where), 0.0)


def distances(a, axis, where):
    """The distances from the mean of the entries that take part.

    The mean of large numbers is rounded: what is left of it goes in a second step.
    """
    if where is None and axis is None:
        centred = a - np.mean(a)
        return centred - np.mean(centred)
    if where is None:
        centred = a - np.mean(a, axis=axis, keepdims=True)
        return centred - np.mean(centred, axis=axis, keepdims=True)
    centred = a - np.mean(a, axis=axis, keepdims=True, where=where)
    return centred - np.mean(centred, axis=axis, keepdims=True, where=where)


# ------------------------------------------------------------------------ extremes
EXTREME: Columns = {
    "entries": "reduced",
    "order": "keeps",
    "rounds": "exactly",
    "samples": lambda f, m, t, where: [
        f(t), f(t, 0), f(t, -1, keepdims=True), f(t, None, keepdims=True), f(t, axis=(0, 2)),
        f(t, axis=(-1, 0), keepdims=True), f(t, axis=(1,)), f(m, axis=1, where=where, initial=-9.0),
        f(m, 0, initial=0.7), f(m, initial=-1)],
    "kinks": lambda f: [(f([1, 1, 1, 1]), [0.25] * 4), (f([1, math.nan, 0]), [0, 1, 0])],
}  # fmt: skip


@adjoint(np.min, np.amin, active=("a", "initial"), **EXTREME | {"law": "smallest", "method": "min"})
@adjoint(np.max, np.amax, active=("a", "initial"), **EXTREME | {"law": "largest", "method": "max"})
def max(y_bar, y, a, axis=None, *, keepdims=False, initial=None, where=None):
    """Entries that tie for the result share the cotangent equally; a nan owns the result."""
    if may_be_complex(a):
        return ORDER, ORDER
    owners = (a == kept(y, a, axis, keepdims)) | (a != a)
    return owned(y_bar, a, owners, axis, keepdims, initial, where)


NUMERIC_EXTREME: Columns = {
    "entries": "reduced",
    "nan": "left out",
    "rounds": "exactly",
    "samples": lambda f, t, m, where: [
        f(t), f(t, 0), f(t, -1, keepdims=True), f(t, None, keepdims=True), f(t, axis=(0, 2)),
        f(t, axis=(-1, 0), keepdims=True), f(t, axis=(1,)), f(m, axis=1, where=where, initial=0.7),
        f(m, 0, initial=0.7), f(m, initial=-1)],
    "kinks": lambda f: [(f([1, math.nan, 1]), [0.5, 0, 0.5])],
}  # fmt: skip


@adjoint(np.nanmin, active=("a", "initial"), **NUMERIC_EXTREME | {"law": "smallest"})
@adjoint(np.nanmax, active=("a", "initial"), **NUMERIC_EXTREME | {"law": "largest"})
def nanmax(y_bar, y, a, axis=None, *, keepdims=False, initial=None, where=None):
    """Entries that tie for the result share the cotangent equally; at nan: 0."""
    if may_be_complex(a):
        return ORDER, ORDER
    bar, initial_bar = owned(
        y_bar, a, a == kept(y, a, axis, keepdims), axis, keepdims, initial, where
    )
    return np.where(np.isnan(a), 0.0, bar), initial_bar


def owned(y_bar, a, owners, axis, keepdims, initial, where):
    """The cotangents of the entries and of `initial`, which owns a result that no entry has."""
    if where is not None:
        owners = owners & where
    bar = shared(kept(y_bar, a, axis, keepdims), a, owners, axis, initial is not None)
    if initial is None:
        return bar, None
    free = np.logical_not(np.any(owners, axis=axis, keepdims=keepdims))
    return bar, np.sum(y_bar * free)


def shared(y_bar, a, owners, axis, perhaps_none):
    """The cotangent in equal parts for the entries that own the result."""
    if axis is None:
        heads = int(np.count_nonzero(owners))
    else:
        heads = np.sum(owners, axis=axis, keepdims=True, dtype=a.dtype.type)
    if perhaps_none:
        heads = heads + (heads == 0)
    return y_bar / heads * owners


@adjoint(
    np.ptp,
    entries="reduced",
    method="ptp",
    samples=lambda f, m, t: [f(m), f(m, 1), f(t, axis=(0, 1), keepdims=True)],
)
def ptp(y_bar, y, a, axis=None, *, keepdims=False):
    """The spread between the extremes; ties share equally."""
    if may_be_complex(a):
        return ORDER
    high = a == np.max(a, axis=axis, keepdims=True)
    low = a == np.min(a, axis=axis, keepdims=True)
    bar = kept(y_bar, a, axis, keepdims)
    return shared(bar, a, high, axis, False) - shared(bar, a, low, axis, False)


@adjoint(
    builtins.max,
    law="largest",
    iterates="all",
    memory="shared",
    samples=lambda f, v: [f(0.3, 0.2), f(0.3, 0.2, 0.7), f([0.3, 0.7, 0.1]), f(v)],
    kinks={(0, 0): (1, 0), (0, math.nan): (1, 0), (math.nan, 0): (1, 0)},
)
def larger(y_bar, y, *args):
    """The first of two operands owns a tie, which is the one returned; several share it equally."""
    if len(args) == 2:
        first = not (args[1] > args[0])
        return [y_bar * first, y_bar * (not first)]
    return equal_parts(y_bar, y, args)


@adjoint(
    builtins.min,
    law="smallest",
    iterates="all",
    memory="shared",
    samples=lambda f: [f(0.3, 0.2), f((0.3, 0.7, 0.1)), f(0.3, 0.2, 0.7)],
    kinks={(0, 0): (1, 0)},
)
def smaller(y_bar, y, *args):
    """The first of two operands owns a tie, as in `np.minimum`; several share it equally."""
    if len(args) == 2:
        first = not (args[0] > args[1])
        return [y_bar * first, y_bar * (not first)]
    return equal_parts(y_bar, y, args)


def equal_parts(y_bar, y, args):
    """The cotangent in equal parts for the numbers that are the result."""
    numbers = args[0] if len(args) == 1 else args
    heads = 0
    for x in numbers:
        heads = heads + (x == y)
    bars = []
    for x in numbers:
        bars.append(y_bar * (x == y) / heads)
    return [bars] if len(args) == 1 else bars
