"""Densities of `scipy.stats` of extreme values, and of families with a kink or on the circle.

The densities are those of the documentation of SciPy.  At a kink (the mode of `triang`, 1 of
`loglaplace`) the derivative is that on the right, whose formula SciPy evaluates there.
"""

import math

import numpy as np
from scipy import special, stats

from srcad.rules.declare import derivative
from srcad.rules.scipy.families import family
from srcad.rules.scipy.special_series import polynomial

_ROOT_TWO_PI = math.sqrt(2 * math.pi)

# Power series of `_log_ratio` and `_log_ratio_slope`, which are used where they converge fast.
_NEAR = 0.3
_LOG_RATIO = tuple(1 / (k + 1) for k in range(32))
_LOG_RATIO_SLOPE = tuple((k + 1) / (k + 2) for k in range(32))


# ------------------------------------------------------------------------ extreme values
def _log_ratio(t):
    """``-log(1 - t) / t``; 1 at 0."""
    near = np.abs(t) < _NEAR
    large = np.where(near, 0.5, t)
    series = polynomial(np.where(near, t, 0.0), _LOG_RATIO)
    return np.where(near, series, -np.log1p(-large) / large)


def _log_ratio_slope(t):
    """``(t / (1 - t) + log(1 - t)) / t**2``, the derivative of `_log_ratio` times; 1/2 at 0."""
    near = np.abs(t) < _NEAR
    large = np.where(near, 0.5, t)
    series = polynomial(np.where(near, t, 0.0), _LOG_RATIO_SLOPE)
    direct = (large / (1 - large) + np.log1p(-large)) / (large * large)
    return np.where(near, series, direct)


def _genextreme_by_c(z, c):
    inside = c * z < 1
    x = np.where(inside, z, 0.0)
    w = -x * _log_ratio(c * x)
    by_c = np.exp(w - np.exp(w)) * x * x * _log_ratio_slope(c * x)
    return (np.where(inside, by_c, 0.0),)


@family(stats.genextreme, (-0.4, 0.4), support=(-0.8, 1.2), by_shapes=_genextreme_by_c)
def genextreme(z, c):
    """With ``w = log(1 - c z) / c`` the density is ``exp(w - exp(w) - c w)``; `c` may be 0."""
    inside = c * z < 1
    x = np.where(inside, z, 0.0)
    w = -x * _log_ratio(c * x)
    rest = np.exp(w) - 1 + c
    by_c = rest * x * x * _log_ratio_slope(c * x) - w
    return np.where(inside, rest / (1 - c * x), 0.0), np.where(inside, by_c, 0.0)


def _genpareto_inside(z, c):
    return (z >= 0) & (c * z > -1)


def _genpareto_by_c(z, c):
    inside = _genpareto_inside(z, c)
    x = np.where(inside, z, 0.0)
    by_c = -np.exp(-x * _log_ratio(-c * x)) * x * x * _log_ratio_slope(-c * x)
    return (np.where(inside, by_c, 0.0),)


@family(stats.genpareto, (-0.3, 0.5), support=(0.3, 1.5), by_shapes=_genpareto_by_c)
def genpareto(z, c):
    """With ``v = log(1 + c z) / c`` the density is ``exp(-(c + 1) v)``; `c` may be 0."""
    inside = _genpareto_inside(z, c)
    x = np.where(inside, z, 0.0)
    by_c = (c + 1) * x * x * _log_ratio_slope(-c * x) - x * _log_ratio(-c * x)
    return np.where(inside, -(c + 1) / (1 + c * x), 0.0), np.where(inside, by_c, 0.0)


# ------------------------------------------------------------------------ exponential and normal
# Of Mills' ratio, ``1 / (a + 1 / (a + 2 / (a + 3 / ..)))`` (DLMF 7.9.2), from here on.
_LARGE, _LEVELS = 2.0, 60


def _hazard(a):
    """The normal density over its upper tail."""
    return math.sqrt(2 / math.pi) / special.erfcx(a / math.sqrt(2))


def _fraction(a, first):
    found = 0.0 * a
    for k in range(_LEVELS, first - 1, -1):
        found = k / (a + found)
    return found


def normal_excess(a):
    """``r``, the normal density over its upper tail, minus `a`: ``1 / (a + 2 / (a + ..))``."""
    large = np.maximum(a, _LARGE)
    return np.where(a < _LARGE, _hazard(a) - a, _fraction(large, 1))[()]


@derivative(normal_excess, samples=(-2.0, 4.0))
def normal_excess_rule(a, *, y):
    return (a + y) * y - 1


def normal_excess_rest(a):
    """``1 / r - a`` for the `normal_excess` ``r``: ``2 / (a + 3 / (a + ..))``."""
    large = np.maximum(a, _LARGE)
    return np.where(a < _LARGE, 1 / (_hazard(a) - a) - a, _fraction(large, 2))[()]


@derivative(normal_excess_rest, samples=(-2.0, 4.0))
def normal_excess_rest_rule(a, *, y):
    return (a + y) * y - 2


def _exponnorm_by_k(z, k):
    return (-stats.exponnorm.pdf(z, k) * normal_excess(1 / k - z) / k,)


@family(stats.exponnorm, (0.6, 2.0), by_shapes=_exponnorm_by_k, is_nan_at_infinity=True)
def exponnorm(z, k):
    """The derivative of the density by `z` is the normal density minus it, over `k`."""
    a = 1 / k - z
    r = normal_excess(a)
    small = (z - normal_excess_rest(np.maximum(a, 0.0))) * r / k
    return r - z, np.where(a > 0, small, (r - k) / (k * k))


# ------------------------------------------------------------------------ with a kink
def _triang_parts(z, c):
    """Return whether a point is on the left and on the right, and the two distances from 0, 1."""
    left = (z > 0) & ((z < c) | (c == 1)) & (z <= 1)
    right = (z < 1) & (z >= c) & ((z > 0) | (c == 0)) & (z >= 0) & (c < 1)
    return left, right, np.where(left, z, 1.0), np.where(right, 1 - z, 1.0)


def _triang_by_c(z, c):
    left, right, low, high = _triang_parts(z, c)
    ratio = np.where(left, low / np.where(c == 0, 1.0, c), 0.0)
    rest = np.where(right, high / np.where(c == 1, 1.0, 1 - c), 0.0)
    return (-ratio * ratio - rest * rest,)


@family(stats.triang, (0.55, 0.9), support=(0.15, 0.4), by_shapes=_triang_by_c)
def triang(z, c):
    left, right, low, high = _triang_parts(z, c)
    by_left, by_right = 1 / np.where(c == 0, 1.0, c), 1 / np.where(c == 1, 1.0, 1 - c)
    return (
        np.where(left, 1 / low, np.where(right, -1 / high, 0.0)),
        np.where(left, -by_left, np.where(right, by_right, 0.0)),
    )


def _loglaplace_by_c(z, c):
    log = np.log(np.where(z > 0, z, 1.0))
    return (np.exp(-c * np.abs(log)) * log / 2,)


@family(stats.loglaplace, (0.6, 3.0), support=(0.2, 0.6), by_shapes=_loglaplace_by_c)
def loglaplace(z, c):
    x = np.where(z > 0, z, 1.0)
    slope = (np.where(z < 1, c, -c) - 1) / x
    return np.where(z > 0, slope, 0.0), np.where(z > 0, 1 / c - np.abs(np.log(x)), 0.0)


# ------------------------------------------------------------------------ on the circle
def _on_circle(z):
    return (z >= 0) & (z <= 2 * math.pi)


def _distance(z, c):
    """``1 + c**2 - 2 c cos(z)``, which does not cancel."""
    half = np.sin(z / 2)
    return (1 - c) ** 2 + 4 * c * half * half


def _wrapcauchy_by_c(z, c):
    x = np.where(_on_circle(z), z, 0.0)
    return (np.sin(x) / (math.pi * _distance(x, c)),)


@family(stats.wrapcauchy, (0.2, 0.8), support=(0.3, 3.0), by_shapes=_wrapcauchy_by_c)
def wrapcauchy(z, c):
    inside = _on_circle(z)
    x = np.where(inside, z, 0.0)
    size = _distance(x, c)
    by_c = 2 * (np.cos(x) - c) / size - 2 * c / ((1 - c) * (1 + c))
    return np.where(inside, -2 * c * np.sin(x) / size, 0.0), np.where(inside, by_c, 0.0)
