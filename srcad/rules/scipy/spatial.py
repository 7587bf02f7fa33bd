"""Distances between vectors, and between the rows of matrices, of `scipy.spatial.distance`.

A distance of 0 has the derivative 0, as a norm has.  Entries that tie for the largest difference
share the cotangent equally.  The formulas are the derivatives of those in SciPy's documentation.
"""

import math

import numpy as np
from scipy import special
from scipy.spatial import distance

from srcad.rules.declare import adjoint, linear, nondifferentiable
from srcad.rules.registry import static
from srcad.rules.row import NoPartial
from srcad.rules.scipy import IS_BEFORE_1_18  # no distances between rows before
from srcad.runtime import unbroadcast

METRIC = NoPartial("the metric must be the name of a metric of real numbers; write it out")
VARIANCES = NoPartial("the variances V are computed from the points; pass V=...")
COVARIANCE = NoPartial("the inverse VI of the covariance is computed from the points; pass VI=...")
WEIGHTS = NoPartial("the weights of a metric that counts entries have no derivative")
EXPONENT = NoPartial("the exponent p has no derivative at infinity")

NAMES = {
    **dict.fromkeys(("euclidean", "euclid", "eu", "e"), "euclidean"),
    **dict.fromkeys(("sqeuclidean", "sqe", "sqeuclid"), "sqeuclidean"),
    **dict.fromkeys(("seuclidean", "se", "s"), "seuclidean"),
    **dict.fromkeys(("mahalanobis", "mahal", "mah"), "mahalanobis"),
    **dict.fromkeys(("cosine", "cos"), "cosine"),
    **dict.fromkeys(("correlation", "co"), "correlation"),
    **dict.fromkeys(("cityblock", "cblock", "cb", "c"), "cityblock"),
    **dict.fromkeys(("minkowski", "mi", "m", "pnorm"), "minkowski"),
    **dict.fromkeys(("chebyshev", "chebychev", "cheby", "cheb", "ch"), "chebyshev"),
    "canberra": "canberra",
    "braycurtis": "braycurtis",
    **dict.fromkeys(("jensenshannon", "js"), "jensenshannon"),
    **dict.fromkeys(("hamming", "hamm", "ha", "h", "matching"), "hamming"),
    **dict.fromkeys(("jaccard", "jacc", "ja", "j"), "hamming"),
    **dict.fromkeys(("dice", "rogerstanimoto", "russellrao", "sokalsneath", "yule"), "hamming"),
}


@static
def named(metric):
    """The name of a metric, for which SciPy has several; of those of bools "hamming"."""
    return NAMES.get(str(metric).lower(), "")


# ------------------------------------------------------------------------ two matrices of points
@adjoint(
    distance.cdist, real_only=True, active=("XA", "XB", "p", "w", "V", "VI"),
    samples=lambda f, near, array, spd: [
        *[f(array(3, 4), array(2, 4), name) for name in (
            "euclidean", "sqeuclidean", "cosine", "cityblock", "chebyshev", "canberra",
            "braycurtis")],
        f(near(0.2, 2.0, 3, 4), near(0.2, 2.0, 2, 4), "jensenshannon"),
        f(array(3, 4), array(2, 4), "minkowski", p=3),
        f(array(3, 4), array(2, 4), "minkowski", p=1),
        f(array(3, 4), array(2, 4), "minkowski", p=1.5, w=near(0.5, 2.0, 4)),
        *[f(array(3, 4), array(2, 4), name, w=near(0.5, 2.0, 4)) for name in (
            "sqeuclidean", "correlation", "chebyshev", "canberra")],
        f(array(3, 4), array(2, 4), "seuclidean", V=near(0.5, 2.0, 4)),
        f(array(3, 4), array(2, 4), "mahalanobis", VI=spd(4, 4))],
    kinks=lambda f: [
        (f([[0, 0]], np.zeros((1, 2))), [[0, 0]]),
        (f([[0, 0]], np.zeros((1, 2)), "minkowski", p=3), [[0, 0]]),
        (f([[1, 2]], np.ones((1, 2)), "cityblock"), [[0, 1]]),
        (f([[1, 1]], np.zeros((1, 2)), "chebyshev"), [[0.5, 0.5]]),
        (f([[0, 1]], np.zeros((1, 2)), "canberra"), [[0, 0]])],
)  # fmt: skip
def cdist(y_bar, y, XA, XB, metric="euclidean", *, p=2, w=None, V=None, VI=None):
    """The sums over the other points; differences of coordinates are formed where they must be."""
    metric = named(metric)
    if metric == "":
        return METRIC, METRIC, METRIC, METRIC, METRIC, METRIC
    if metric == "hamming":
        return np.zeros_like(XA), np.zeros_like(XB), None, WEIGHTS, None, None
    if metric == "mahalanobis" and VI is None:
        return COVARIANCE, COVARIANCE, None, None, None, None
    if metric == "seuclidean" and V is None:
        return VARIANCES, VARIANCES, None, None, None, None
    if metric in ("euclidean", "sqeuclidean", "seuclidean", "mahalanobis"):
        return by_products(y_bar, y, XA, XB, metric, w, V, VI)
    if metric in ("cosine", "correlation"):
        return by_angles(y_bar, y, XA, XB, metric, w)
    return by_differences(y_bar, y, XA, XB, metric, p, w)


def by_products(y_bar, y, a, b, metric, w, V, VI):
    """The cotangents if the squares of the distances are quadratic forms of the differences."""
    g = 2 * y_bar if metric == "sqeuclidean" else y_bar / (y + (y == 0))
    middle = centre(a, b)
    a, b = a - middle, b - middle
    a_bar, b_bar = pulls(g, a, b), pulls(g.T, b, a)
    if metric == "mahalanobis":
        form = (VI + VI.T) / 2
        form_bar = (a.T @ a_bar + b.T @ b_bar) / 2
        return a_bar @ form, b_bar @ form, None, None, None, form_bar
    if metric != "seuclidean" and w is None:
        return a_bar, b_bar, None, None, None, None
    squares = (np.sum(a * a_bar, axis=0) + np.sum(b * b_bar, axis=0)) / 2
    if metric == "seuclidean":
        return a_bar / V, b_bar / V, None, None, -squares / (V * V), None
    return w * a_bar, w * b_bar, None, squares, None, None


def by_angles(y_bar, y, a, b, metric, w):
    """The cotangents if ``1 - y`` are cosines."""
    if metric == "correlation":
        a, b = centred(a, w), centred(b, w)
    a_bar, b_bar = turns(y_bar, y, a, b, w), turns(y_bar.T, y.T, b, a, w)
    if w is None:
        return a_bar, b_bar, None, None, None, None
    w_bar = (np.sum(a * a_bar, axis=0) + np.sum(b * b_bar, axis=0)) / 2
    return w * a_bar, w * b_bar, None, w_bar, None, None


def by_differences(y_bar, y, a, b, metric, p, w):
    """The cotangents of all entries for all pairs, summed."""
    a, b = np.expand_dims(a, 1), np.expand_dims(b, 0)
    g, size = y_bar[..., None], y[..., None]
    if metric in ("cityblock", "minkowski", "chebyshev"):
        bar = g * slopes(a - b, size, p if metric == "minkowski" else metric, w)
        a_bar, b_bar = np.sum(bar, axis=1), -np.sum(bar, axis=0)
    elif metric in ("canberra", "braycurtis"):
        a_bar = np.sum(g * ratios(a, b, size, metric, w), axis=1)
        b_bar = np.sum(g * ratios(b, a, size, metric, w), axis=0)
    else:
        share = g * slope_of_root(size)
        a_bar, b_bar = divergence(share, a, b, -1)[:, 0], divergence(share, b, a, -1)[0]
    p_bar = by_exponent(g, a - b, size, p, w) if metric == "minkowski" else None
    w_bar = None
    if w is not None and metric == "chebyshev":
        w_bar = np.zeros_like(w)
    elif w is not None:
        w_bar = np.sum(g * weighted(a, b, size, metric, p, w), axis=(0, 1))
    return a_bar, b_bar, p_bar, w_bar, None, None


@nondifferentiable
def centre(a, b):
    """A point amid others; differences do not depend on it, but are rounded less around it."""
    return np.sum(b, axis=0) / max(len(b), 1)


def pulls(g, a, b):
    """``sum(g[:, :, None] * (a[:, None] - b), 1)``, as a product of matrices."""
    return a * np.sum(g, axis=1)[:, None] - g @ b


def centred(a, w):
    """The distances of the entries of each row from their mean."""
    return a - np.mean(a, axis=1, keepdims=True) if w is None else a - (a @ w / np.sum(w))[:, None]


def turns(y_bar, y, a, b, w):
    """The cotangents of the rows of `a`, if ``1 - y`` are the cosines of their angles with `b`.

    Those of weighted products are still to be multiplied by the weights.
    """
    a_size, b_size = lengths(a, w), lengths(b, w)
    along = np.sum(y_bar * (1 - y), axis=1)[:, None]
    return (along * (a / a_size) - y_bar @ (b / b_size)) / a_size


def lengths(a, w):
    """The weighted Euclidean norms of the rows."""
    return np.sqrt(np.sum(a * a if w is None else w * a * a, axis=-1, keepdims=True))


# ------------------------------------------------------------------------ entries of two vectors
def slopes(d, size, p, w):
    """The partials of ``sum(w * abs(d)**p) ** (1 / p)``, which is `size`, by the entries of `d`."""
    if p == "chebyshev" or p == np.inf:
        lengths = np.abs(d) if w is None else np.abs(d) * (w > 0)
        heads = (lengths == np.max(lengths, axis=-1, keepdims=True, initial=0)) & (lengths > 0)
        count = np.sum(heads, axis=-1, keepdims=True, dtype=d.dtype.type)
        return np.sign(d) * heads / (count + (count == 0))
    if p == "cityblock" or p == 1:
        return np.sign(d) if w is None else w * np.sign(d)
    slope = np.sign(d) * parts(d, size) ** (p - 1)
    return slope if w is None else w * slope


def parts(d, size):
    """``abs(d) / size``, and 1 for a distance of 0, where every power of it has derivatives."""
    return (np.abs(d) + (size == 0)) / (size + (size == 0))


def by_exponent(g, d, size, p, w):
    """The cotangent of the exponent, ``y / p * sum(w * r**p * log(r))`` with ``r = abs(d) / y``."""
    if p == np.inf:
        return EXPONENT
    r = parts(d, size)
    terms = special.xlogy(r**p if w is None else w * r**p, r)
    return np.sum(g * size * terms) / p


def ratios(a, b, size, metric, w):
    """The partials by the entries of `a` of distances that are ratios."""
    if metric == "canberra":
        total = np.abs(a) + np.abs(b)
        total = total + (total == 0)
        slope = (np.sign(a - b) - np.sign(a) * (np.abs(a - b) / total)) / total
        return slope if w is None else w * slope
    slope = np.sign(a - b) - size * np.sign(a + b)
    total = np.abs(a + b) if w is None else w * np.abs(a + b)
    return (slope if w is None else w * slope) / np.sum(total, axis=-1, keepdims=True)


def weighted(a, b, size, metric, p, w):
    """The partials by the weights."""
    d = np.abs(a - b)
    if metric == "cityblock" or (metric == "minkowski" and p == 1):
        return d
    if metric == "minkowski":
        return size / p * parts(d, size) ** p
    total = np.abs(a) + np.abs(b)
    if metric == "canberra":
        return d / (total + (total == 0))
    total = np.abs(a + b)
    return (d - size * total) / np.sum(w * total, axis=-1, keepdims=True)


def slope_of_root(size):
    """``1 / (4 * size)``, and 0 for 0: half of that of the square root by its operand."""
    return (size != 0) / (4 * (size + (size == 0)))


def divergence(share, a, b, axis):
    """The cotangent of `a`; twice the square of the distance has that of ``2 * share``, in nats.

    The partial of the square by the part `p` of the total is ``log(p / m) / 2``, where `m` is the
    mean of the parts of `a` and `b`.  Source: Endres and Schindelin (2003), *A new metric for
    probability distributions*.
    """
    total = np.sum(a, axis=axis, keepdims=True)
    p, q = a / total, b / np.sum(b, axis=axis, keepdims=True)
    m = (p + q) / 2
    bar = unbroadcast(share * np.log((p + (m == 0)) / (m + (m == 0))), p)
    along = unbroadcast(share * special.rel_entr(p, m), p)
    return (bar - np.sum(along, axis=axis, keepdims=True)) / total


# ------------------------------------------------------------------------ pairs of points
@adjoint(
    distance.pdist, real_only=True, active=("X", "p", "w", "V", "VI"),
    samples=lambda f, near, array, spd: [
        f(array(4, 3)), f(array(4, 3), "cityblock"),
        f(near(0.2, 2.0, 4, 3), "jensenshannon"), f(array(4, 3), metric="chebyshev"),
        f(array(4, 3), "correlation", w=near(0.5, 2.0, 3)),
        f(array(4, 3), "minkowski", p=1.5, w=near(0.5, 2.0, 3)),
        f(array(4, 3), "seuclidean", V=near(0.5, 2.0, 3)),
        f(array(4, 3), "mahalanobis", VI=spd(3, 3))],
    kinks=lambda f: [(f([[1, 1], [1, 1]]), [[0, 0], [0, 0]])],
)  # fmt: skip
def pdist(y_bar, y, X, metric="euclidean", *, p=2, w=None, V=None, VI=None):
    """As `cdist` of the points with themselves, of which the part above the diagonal is taken."""
    name = named(metric)
    n = np.shape(X)[0]
    g = distance.squareform(y_bar)[:n, :n]  # of no points SciPy makes a matrix of one
    sizes = distance.squareform(y)[:n, :n]
    if name == "":
        return METRIC, METRIC, METRIC, METRIC, METRIC
    X_bar = cdist(g, sizes, X, X, name, p=p, w=w, V=V, VI=VI)[0]
    options = cdist(np.triu(g), sizes, X, X, name, p=p, w=w, V=V, VI=VI)[2:]
    return X_bar, options[0], options[1], options[2], options[3]


@linear(
    distance.squareform,
    entries="moved", adds_zeros=True,
    samples=lambda f, array: [f(array(6)), f(array(6), "tomatrix"), f(array(4, 4), checks=False)],
)  # fmt: skip
def squareform(y_bar, X, force="no", checks=True):
    """Of a matrix SciPy reads the part above the diagonal."""
    if np.ndim(X) == 2:
        return np.triu(distance.squareform(y_bar))
    bar = distance.squareform(y_bar + y_bar.T, "tovector", False)
    return bar if np.ndim(X) == 1 else np.reshape(bar, np.shape(X))


# ------------------------------------------------------------------------ two vectors
@adjoint(
    distance.euclidean, real_only=True, active=("u", "v", "w"),
    samples=lambda f, v, m, near: [
        f(v, v[::-1]), f(v, v[::-1], near(0.5, 2.0, 4)), *[f(m, v)] * (not IS_BEFORE_1_18)],
    kinks=lambda f: [(f([1, 2], np.array([1.0, 2.0])), [0, 0])],
)  # fmt: skip
def euclidean(y_bar, y, u, v, w=None):
    """``(u - v) / y``."""
    g, size = per_row(y_bar, u, v), per_row(y, u, v)
    return by_squares(g, (u - v) / (size + (size == 0)), u, v, w)


@adjoint(
    distance.sqeuclidean, real_only=True, active=("u", "v", "w"),
    samples=lambda f, v, m, near: [
        f(v, v[::-1]), f(v, v[::-1], near(0.5, 2.0, 4)), *[f(m, v)] * (not IS_BEFORE_1_18)],
)  # fmt: skip
def sqeuclidean(y_bar, y, u, v, w=None):
    return by_squares(per_row(y_bar, u, v), 2 * (u - v), u, v, w)


@adjoint(
    distance.seuclidean, real_only=True,
    samples=lambda f, v, near: [f(v, v[::-1], near(0.5, 2.0, 4))],
)  # fmt: skip
def seuclidean(y_bar, y, u, v, V):
    u_bar, v_bar, w_bar = by_squares(y_bar, (u - v) / (y + (y == 0)), u, v, 1 / V)
    return u_bar, v_bar, -w_bar / (V * V)


def per_row(g, u, v):
    """A number for each vector of a stack, so that it multiplies the vectors."""
    return g if np.ndim(u) < 2 and np.ndim(v) < 2 else np.expand_dims(g, -1)


def by_squares(g, slope, u, v, w):
    """The cotangents of vectors and weights, if `slope` is the unweighted partial by `u`."""
    bar = g * (slope if w is None else w * slope)
    w_bar = None if w is None else unbroadcast(g * slope * (u - v) / 2, w)
    return unbroadcast(bar, u), unbroadcast(-bar, v), w_bar


@adjoint(
    distance.minkowski, real_only=True, active=("u", "v", "p", "w"),
    samples=lambda f, v, m, near: [
        f(v, v[::-1], 3), f(v, v[::-1], 2.5), f(v, v[::-1]),
        f(v, v[::-1], 1.5, near(0.5, 2.0, 4)),
        *[f(m, v, p=1, w=near(0.5, 2.0, 4))] * (not IS_BEFORE_1_18)],
    kinks=lambda f: [(f([1, 2], np.array([1.0, 2.0]), 3), [0, 0])],
)  # fmt: skip
def minkowski(y_bar, y, u, v, p=2, w=None):
    """``sign(d) (abs(d) / y) ** (p - 1)`` with ``d = u - v``."""
    g, size, d = per_row(y_bar, u, v), per_row(y, u, v), u - v
    bar = g * slopes(d, size, p, w)
    w_bar = None
    if w is not None and p != np.inf:
        w_bar = unbroadcast(g * weighted(u, v, size, "minkowski", p, w), w)
    return unbroadcast(bar, u), unbroadcast(-bar, v), by_exponent(g, d, size, p, w), w_bar


@adjoint(
    distance.cityblock, real_only=True, active=("u", "v", "w"),
    samples=lambda f, v, near: [f(v, v[::-1]), f(v, v[::-1], near(0.5, 2.0, 4))],
    kinks=lambda f: [(f([1, 3], np.array([1.0, 2.0])), [0, 1])],
)  # fmt: skip
def cityblock(y_bar, y, u, v, w=None):
    bar = y_bar * slopes(u - v, y, "cityblock", w)
    w_bar = None if w is None else unbroadcast(y_bar * np.abs(u - v), w)
    return unbroadcast(bar, u), unbroadcast(-bar, v), w_bar


@adjoint(
    distance.chebyshev, real_only=True, active=("u", "v", "w"),
    samples=lambda f, v, near: [
        f(v, 0.7 * v[::-1]), f(v, 0.7 * v[::-1], near(0.5, 2.0, 4))],
    kinks=lambda f: [
        (f([1, 1], np.zeros(2)), [0.5, 0.5]), (f([1, 1], np.ones(2)), [0, 0]),
        (f([1, 2], np.zeros(2), np.array([1, 0])), [1, 0])],
)  # fmt: skip
def chebyshev(y_bar, y, u, v, w=None):
    """Entries of weight 0 do not take part; the other weights do not matter."""
    bar = y_bar * slopes(u - v, y, "chebyshev", w)
    return unbroadcast(bar, u), unbroadcast(-bar, v), None


@adjoint(
    distance.canberra, real_only=True, active=("u", "v", "w"),
    samples=lambda f, v, near: [f(v, v[::-1]), f(v, v[::-1], near(0.5, 2.0, 4))],
    kinks=lambda f: [(f([0, 1], np.zeros(2)), [0, 0])],
)  # fmt: skip
def canberra(y_bar, y, u, v, w=None):
    """At two zeros: 0."""
    u_bar = unbroadcast(y_bar * ratios(u, v, y, "canberra", w), u)
    v_bar = unbroadcast(y_bar * ratios(v, u, y, "canberra", w), v)
    if w is None:
        return u_bar, v_bar, None
    return u_bar, v_bar, unbroadcast(y_bar * weighted(u, v, y, "canberra", 1, w), w)


@adjoint(
    distance.braycurtis, real_only=True, active=("u", "v", "w"),
    samples=lambda f, v, near: [f(v, 0.7 * v), f(v, 0.7 * v, near(0.5, 2.0, 4))],
)  # fmt: skip
def braycurtis(y_bar, y, u, v, w=None):
    u_bar = unbroadcast(y_bar * ratios(u, v, y, "braycurtis", w), u)
    v_bar = unbroadcast(y_bar * ratios(v, u, y, "braycurtis", w), v)
    if w is None:
        return u_bar, v_bar, None
    return u_bar, v_bar, unbroadcast(y_bar * weighted(u, v, y, "braycurtis", 1, w), w)


@adjoint(
    distance.mahalanobis, real_only=True,
    samples=lambda f, w, spd, square: [f(w, w[::-1], spd(3, 3)), f(w, -w, square(3))],
    kinks=lambda f: [(f([1, 2], np.array([1.0, 2.0]), np.eye(2)), [0, 0])],
)  # fmt: skip
def mahalanobis(y_bar, y, u, v, VI):
    """``y**2 = d VI d``, so ``d_bar = (VI + VI.T) d / (2 y)`` and ``VI_bar = outer(d, d) / (2 y)``.

    With ``d = u - v``.
    """
    d = u - v
    slope = d / (2 * (y + (y == 0)))
    bar = y_bar * (VI @ slope + slope @ VI)
    return bar, -bar, y_bar * np.outer(slope, d)


@adjoint(
    distance.cosine, real_only=True, active=("u", "v", "w"),
    samples=lambda f, v, near: [f(v, 0.7 + v[::-1]), f(v, 0.7 + v[::-1], near(0.5, 2.0, 4))],
)  # fmt: skip
def cosine(y_bar, y, u, v, w=None):
    return by_angle(y_bar, y, u, v, w)


@adjoint(
    distance.correlation, real_only=True, active=("u", "v", "w"),
    samples=lambda f, v, near: [
        f(v, v[::-1] ** 2), f(v, v[::-1] ** 2, near(0.5, 2.0, 4)),
        f(v, v[::-1] ** 2, centered=False)],
)  # fmt: skip
def correlation(y_bar, y, u, v, w=None, centered=True):
    """As `cosine` of the distances from the means, which it does not change to move a little."""
    if not centered:
        return by_angle(y_bar, y, u, v, w)
    if w is None:
        return by_angle(y_bar, y, u - np.mean(u), v - np.mean(v), w)
    total = np.sum(w)
    return by_angle(y_bar, y, u - u @ w / total, v - v @ w / total, w)


def by_angle(y_bar, y, u, v, w):
    """The cotangents of two vectors, if ``1 - y`` is the cosine of their angle, and of weights."""
    u_size = np.sqrt(u @ (u if w is None else w * u))
    v_size = np.sqrt(v @ (v if w is None else w * v))
    u_unit, v_unit = u / u_size, v / v_size
    u_bar = y_bar * (((1 - y) * u_unit - v_unit) / u_size)
    v_bar = y_bar * (((1 - y) * v_unit - u_unit) / v_size)
    if w is None:
        return u_bar, v_bar, None
    return w * u_bar, w * v_bar, (u * u_bar + v * v_bar) / 2


@adjoint(
    distance.jensenshannon, real_only=True, active=("p", "q", "base"),
    samples=lambda f, near: [
        f(near(0.2, 2, 4), near(0.2, 2, 4)), f(near(0.2, 2, 3, 4), near(0.2, 2, 3, 4), 2.0),
        f(near(0.2, 2, 3, 4), near(0.2, 2, 3, 4), axis=-1, keepdims=True),
        f(near(0.2, 2, 3, 4), near(0.2, 2, 4), axis=-1)],
    kinks=lambda f: [(f([0.5, 0.5], np.array([0.5, 0.5])), [0, 0])],
)  # fmt: skip
def jensenshannon(y_bar, y, p, q, base=None, *, axis=0, keepdims=False):
    """At equal distributions: 0."""
    share = y_bar * slope_of_root(y if base is None else y * math.log(base))
    if not keepdims and (np.ndim(p) > 1 or np.ndim(q) > 1):
        share = np.expand_dims(share, axis)
    base_bar = None
    if base is not None:
        base_bar = -np.sum(y_bar * y) / (2 * base * math.log(base))
    return divergence(share, p, q, axis), divergence(share, q, p, axis), base_bar


nondifferentiable(
    distance.hamming, distance.jaccard, distance.dice, distance.rogerstanimoto,
    distance.russellrao, distance.sokalsneath, distance.yule,
    distance.is_valid_dm, distance.is_valid_y, distance.num_obs_dm, distance.num_obs_y,
)  # fmt: skip
