"""Histograms: sums of weights in intervals, and the edges of those."""

import numpy as np

from srcad.rules.declare import adjoint
from srcad.rules.row import Result
from srcad.rules.running import backward


@adjoint(
    np.histogram, real_only=True,
    result=Result(2), active=("a", "bins", "weights"), memory="shared",
    samples=lambda f, v, m, near: [
        f(v, 3, weights=near(0.5, 2.0, 4)), f(m, 4, (-3.0, 3.0), None, near(0.5, 2.0, 3, 4)),
        f(v, np.array([-2.5, 0.1, 0.7, 2.5]), weights=near(0.5, 2.0, 4), density=True), f(v, 3),
        f(v, 3, density=True)],
)  # fmt: skip
def histogram(y_bar, y, a, bins=10, range=None, density=None, weights=None):
    """Each weight goes to one interval; without weights the counts are constant.

    A density divides by the total and by the widths.  Edges that NumPy computes lie evenly between
    the smallest and the largest entry, those that are given are the result.
    """
    counts_bar, edges_bar = y_bar
    sums_bar = counts_bar
    inside = (a >= y[1][0]) & (a <= y[1][-1])
    if density and counts_bar is not None:
        widths = np.diff(y[1])
        widths_bar = backward(
            np.zeros_like(y[1][:1], dtype=widths.dtype), -counts_bar * y[0] / widths, 0
        )
        edges_bar = widths_bar if edges_bar is None else edges_bar + widths_bar
        if weights is not None:
            total = np.sum(weights * inside)
            sums_bar = (counts_bar / widths - np.sum(counts_bar * y[0])) / total
    weights_bar = None
    if weights is not None and counts_bar is not None:
        last = np.maximum(np.size(y[1]) - 2, 0)
        each = np.concatenate((sums_bar, np.zeros_like(sums_bar, shape=(1,))))
        places = np.searchsorted(y[1], a, side="right") - 1
        weights_bar = each[np.clip(places, 0, last)] * inside
    if edges_bar is None or range is not None:
        return None, None, weights_bar
    if np.ndim(bins) > 0:
        return None, edges_bar, weights_bar
    return of_ends(edges_bar, a), None, weights_bar


@adjoint(
    np.histogram_bin_edges, real_only=True,
    result=Result(any_lengths=True), active=("a", "bins"), memory="shared",
    samples=lambda f, v, m, near: [
        f(v, 3), f(m, 4, (-3.0, 3.0)), f(v, np.array([-2.5, 0.1, 2.5])), f(v, "sturges"),
        f(v, 3, None, near(0.5, 2.0, 4))],
)  # fmt: skip
def histogram_bin_edges(y_bar, y, a, bins=10, range=None, weights=None):
    """As the edges of `np.histogram`; the number of bins of an estimator is locally constant."""
    if np.ndim(bins) > 0:
        return None, y_bar
    if range is not None:
        return None, None
    return of_ends(y_bar, a), None


def of_ends(edges_bar, a):
    """The cotangent of the smallest and the largest entry; ties share equally."""
    share = np.linspace(0.0, 1.0, np.size(edges_bar), dtype=edges_bar.dtype)
    low, high = a == np.min(a, initial=np.inf), a == np.max(a, initial=-np.inf)
    first = np.sum(edges_bar * (1 - share)) / heads(low)
    return first * low + np.sum(edges_bar * share) / heads(high) * high


def heads(owners):
    """How many entries share a cotangent; of no entries 1."""
    return max(int(np.count_nonzero(owners)), 1)
