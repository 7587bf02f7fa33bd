"""Statistics of samples of `scipy.stats`: moments, order statistics, correlation, distances.

The formulas follow from the definitions in the documentation of SciPy.  What is linear between
ties of the numbers has constant weights there: of numbers that are equal the first one counts as
the smaller one (a stable order), so at a tie the derivative is one of those on the two sides.
"""

import math

import numpy as np
from scipy import special, stats

from srcad.rules.declare import adjoint, derivative, nondifferentiable
from srcad.rules.reduction import kept
from srcad.rules.row import NoPartial, Result
from srcad.rules.scipy.special_elementary import boxcox as boxcox_rule
from srcad.runtime import unbroadcast

_ORDERS = NoPartial("several orders of moments at once have no derivative rule")
_FITTED = NoPartial("the parameter that SciPy fits has no derivative rule; pass lmbda=")
_AXES = NoPartial("samples of these numbers of axes have no derivative rule")
_LINEAR = NoPartial("only interpolation='linear' over one axis, or all, has a derivative rule")

_MODE = NoPartial("the most frequent number jumps where numbers become equal")

nondifferentiable(stats.rankdata)


@adjoint(stats.mode, result=Result(2, fields=("mode", "count")), samples=())
def mode(y_bar, y, a, axis=0):
    """Which numbers are equal decides on it, so that it has no derivative where any are."""
    return _MODE


def _count(a, axis):
    return np.size(a) if axis is None else np.shape(a)[axis]


def _centred(a, axis):
    return a - np.mean(a, axis=axis, keepdims=True)


# ------------------------------------------------------------------------ moments
def _moment_samples(f, v, m):
    return [f(v, 2), f(v), f(m, 3, 1), f(m, 4, axis=-1), f(m, 2, None), f(m, 3, center=0.3)]


@adjoint(stats.moment, real_only=True, active=("a",), samples=_moment_samples)
def moment(y_bar, y, a, order=1, axis=0, *, center=None):
    """Of a given `center` nothing follows; the moment of order 1 about the mean is 0."""
    if np.ndim(order) > 0:
        return _ORDERS
    if order == 0:
        return 0.0 * a
    factor = kept(y_bar, a, axis, False) * (order / _count(a, axis))
    if center is not None:
        return factor * (a - center) ** (order - 1)
    power = _centred(a, axis) ** (order - 1)
    return factor * (power - np.mean(power, axis=axis, keepdims=True))


@derivative(
    stats.boxcox, real_only=True, active=("x", "lmbda"),
    samples=lambda f, near: [f(near(0.4, 3.0, 4), 0.4), f(near(0.4, 3.0, 4), -0.7)],
)  # fmt: skip
def boxcox(x, lmbda=None):
    if lmbda is None:
        return _FITTED, _FITTED
    return boxcox_rule(x, lmbda)


# ------------------------------------------------------------------------ order statistics
def _ranks(a, axis):
    order = np.argsort(a, axis=axis, kind="stable")
    return np.argsort(order, axis=axis)


def trim_weights(a, proportion, axis):
    """The weights of numbers in their trimmed mean."""
    if axis is None:
        return np.reshape(trim_weights(np.ravel(a), proportion, 0), np.shape(a))
    count, rank = np.shape(a)[axis], _ranks(a, axis)
    cut = int(proportion * count)
    kept = (rank >= cut) & (rank < count - cut)
    return kept.astype(np.result_type(a, np.float32)) / (count - 2 * cut)


def range_weights(x, axis, bounds, scale):
    """The weights of numbers in the distance of two percentiles with linear interpolation."""
    if axis is None:
        return np.reshape(range_weights(np.ravel(x), 0, bounds, scale), np.shape(x))
    rank = _ranks(x, axis)
    unit = 2 * math.sqrt(2) * special.erfinv(0.5) if isinstance(scale, str) else scale
    low, high = ((np.shape(x)[axis] - 1) * (p / 100) for p in sorted(bounds))
    found = np.maximum(1 - abs(rank - high), 0.0) - np.maximum(1 - abs(rank - low), 0.0)
    return (found / unit).astype(np.result_type(x, np.float32))


def distance_weights(u, v, u_weights, v_weights):
    """The weights of both samples in the Wasserstein distance, one after the other."""

    def share(values, weights):
        found = np.ones(np.shape(values)) if weights is None else np.asarray(weights, float)
        return found / np.sum(found)

    order = np.argsort(np.concatenate([u, v]), kind="stable")
    mass = np.concatenate([share(u, u_weights), -share(v, v_weights)])
    size = np.concatenate([[0.0], np.abs(np.cumsum(mass[order]))])
    size[-1] = 0.0
    found = np.empty(len(order))
    found[order] = size[:-1] - size[1:]
    return found


nondifferentiable(trim_weights, range_weights, distance_weights)


def _trim_samples(f, v, m, array):
    return [f(v, 0.25), f(m, 0.3, 1), f(m, 0.1, axis=-1), f(m, 0.2, None), f(array(7), 0.2)]


@adjoint(stats.trim_mean, real_only=True, active=("a",), samples=_trim_samples)
def trim_mean(y_bar, y, a, proportiontocut, axis=0):
    if np.ndim(a) == 0:
        return _AXES
    return kept(y_bar, a, axis, False) * trim_weights(a, proportiontocut, axis)


def _range_samples(f, v, m, array):
    return [f(v), f(m, 1), f(m, axis=-1), f(m, 0, (10, 60)), f(array(7), scale=2.0),
            f(array(7), scale="normal")]  # fmt: skip


@adjoint(stats.iqr, real_only=True, active=("x",), samples=_range_samples)
def iqr(y_bar, y, x, axis=None, rng=(25, 75), scale=1.0, *, interpolation="linear"):
    if interpolation != "linear" or isinstance(axis, tuple):
        return _LINEAR
    if np.ndim(x) == 0:
        return _AXES
    return kept(y_bar, x, axis, False) * range_weights(x, axis, rng, scale)


def _distance_samples(f, v, w, array):
    weights = np.array([0.2, 1.0, 2.0, 0.5])
    return [f(v, w), f(array(5), array(3)), f(v, w, weights), f(v, w, None, weights[:3])]


@adjoint(
    stats.wasserstein_distance,
    real_only=True,
    active=("u_values", "v_values"),
    samples=_distance_samples,
)
def wasserstein_distance(y_bar, y, u_values, v_values, u_weights=None, v_weights=None):
    """The integral of the distance of both distribution functions: linear between ties."""
    found = y_bar * distance_weights(u_values, v_values, u_weights, v_weights)
    first = np.size(u_values)
    return found[:first], found[first:]


# ------------------------------------------------------------------------ two samples
def _by_correlation(r, count, alternative):
    """The derivative of the p-value of a correlation: its density without correlation.

    That is a beta density on ``(-1, 1)``; of two points the p-value is constant.
    """
    rest = np.maximum(1 - r * r, 0.0)
    density = rest ** (count / 2 - 2) * float(np.exp(-special.betaln(0.5, count / 2 - 1)))
    found = np.where(count > 2, density, 0.0)
    if alternative == "two-sided":
        return -2 * np.sign(r) * found
    return found if alternative == "less" else -found


def _pair_samples(f, v, w, m, array):
    return [
        f(v, array(4)),
        f(m, array(3, 4), axis=1),
        f(m, array(3, 4), axis=None),
        f(array(7), array(7), alternative="less"),
        f(array(7), array(7), alternative="greater"),
        f(array(7, 1), array(7, 2)),
        f(array(7, 2), array(7, 1)),
    ]


@adjoint(
    stats.pearsonr,
    real_only=True,
    result=Result(2, fields=("statistic", "pvalue")),
    samples=_pair_samples,
)
def pearsonr(result_bar, result, x, y, *, alternative="two-sided", axis=0):
    """The correlation is the product of two directions; the p-value is a function of it."""
    if np.ndim(x) != np.ndim(y):
        return _AXES, _AXES
    x_line, y_line = _centred(x, axis), _centred(y, axis)
    x_size = np.sqrt(np.sum(x_line * x_line, axis=axis, keepdims=True))
    y_size = np.sqrt(np.sum(y_line * y_line, axis=axis, keepdims=True))
    first, second = x_line / x_size, y_line / y_size
    r = kept(result[0], x, axis, False)
    g = 0.0 * r if result_bar[0] is None else kept(result_bar[0], x, axis, False)
    if result_bar[1] is not None:
        g = g + kept(result_bar[1], x, axis, False) * _by_correlation(
            r, _count(x, axis), alternative
        )
    x_bar = g * (second - r * first) / x_size
    y_bar = g * (first - r * second) / y_size
    return unbroadcast(x_bar, x), unbroadcast(y_bar, y)


def _or_none(bar):
    return 0.0 if bar is None else bar


def _regression_samples(f, array):
    return [f(array(5), array(5)), f(array(7), array(7), "less")]


@adjoint(
    stats.linregress,
    real_only=True,
    result=Result(5, fields=("slope", "intercept", "rvalue", "pvalue", "stderr")),
    samples=_regression_samples,
)
def linregress(result_bar, result, x, y, alternative="two-sided"):
    """Slope, intercept, correlation, p-value and standard error of the slope, of two vectors."""
    if np.ndim(x) != 1 or np.ndim(y) != 1:
        return _AXES, _AXES
    slope, r, error = result[0], result[2], result[4]
    count, mean = np.size(x), np.mean(x)
    x_line, y_line = x - mean, y - np.mean(y)
    residual = y_line - slope * x_line
    s = np.sum(x_line * x_line)
    t = np.sum(y_line * y_line)
    # error**2 = residual**2 / ((n - 2) s), with a residual that is orthogonal to x.
    error_bar = _or_none(result_bar[4])
    g_error = np.where(count > 2, error_bar / (error * s * (count - 2)), 0.0)
    intercept_bar = _or_none(result_bar[1])
    g_slope = _or_none(result_bar[0]) - intercept_bar * mean
    r_bar = _or_none(result_bar[2])
    if result_bar[3] is not None:
        r_bar = r_bar + result_bar[3] * _by_correlation(r, count, alternative)
    g_r = r_bar / np.sqrt(s * t)
    x_bar = (
        g_slope * (y_line - 2 * slope * x_line) / s
        - intercept_bar * slope / count
        + g_r * (y_line - slope * x_line)
        - g_error * slope * residual
        - error_bar * error * x_line / s
    )
    y_bar = (
        g_slope * x_line / s
        + intercept_bar / count
        + g_r * (x_line - s * slope / t * y_line)
        + g_error * residual
    )
    return x_bar, y_bar
