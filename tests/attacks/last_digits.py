"""The last digit, classes of exceptions, kinks, missing data, and the caller's error state."""

import math

import numpy as np

X = np.array([0.5, -1.5, 2.0])
_M = np.random.default_rng(5).normal(size=(7, 9))


def sum_of_raveled_transpose():
    def f(m):
        return np.sum(np.ravel(m.T))

    return f, (_M.copy(),)


def sum_of_fortran_argument():
    def f(m):
        return np.sum(m) * np.mean(m)

    return f, (np.asfortranarray(_M),)


def mean_of_swapped_axes():
    def f(m):
        return np.mean(np.swapaxes(m, 0, 1).reshape(-1) ** 2)

    return f, (_M.copy(),)


def sum_of_fortran_ravel():
    def f(m):
        return m.ravel(order="F").sum() + np.sum(m.flatten("F") * 0.1)

    return f, (_M.copy(),)


def copy_keeps_order():
    def f(m):
        a = np.copy(m)
        b = m.copy()
        return np.sum(a) + np.sum(b) + np.sum(m + 0.0)

    return f, (np.asfortranarray(_M),)


def like_keeps_order():
    def f(m):
        y = np.empty_like(m)
        y[...] = m * 1.1
        return np.sum(y.ravel(order="K"))

    return f, (np.asfortranarray(_M),)


def prod_of_reversed():
    def f(x):
        return np.prod(x[::-1]) + np.sum(x[::-2] / 3.0)

    return f, (_M.ravel()[:11].copy(),)


def fortran_matrix_product():
    def f(m):
        return np.sum((m @ m.T) ** 2)

    return f, (np.asfortranarray(_M),)


def written_fortran():
    def f(m):
        m[0] = m[1] * 1.1
        return np.sum(m) / 3.0

    return f, (np.asfortranarray(_M),)


def variance_along_first_axis():
    def f(m):
        return np.sum(np.var(m.T, axis=0)) + np.std(m[:, ::2])

    return f, (_M.copy(),)


def log_of_zero():
    def f(x):
        return math.log(x - x)

    return f, (0.5,)


def log_of_negative():
    def f(x):
        return math.log(x)

    return f, (-0.5,)


def square_root_of_negative():
    def f(x):
        return math.sqrt(x)

    return f, (-0.5,)


def exponential_overflow():
    def f(x):
        return math.exp(x * 1e4)

    return f, (1.5,)


def power_overflow():
    def f(x):
        return x**1e4

    return f, (15.0,)


def zero_to_negative_power():
    def f(x):
        return (x - x) ** -1.5

    return f, (0.5,)


def negative_to_fraction():
    def f(x):
        y = x**0.5
        return y.real

    return f, (-0.5,)


def gamma_at_a_pole():
    def f(x):
        return math.gamma(x - x)

    return f, (0.5,)


def caught_value_error():
    def f(x):
        try:
            return math.log(x) * 2.0
        except ValueError:
            return x * 3.0

    return f, (-1.0,)


def caught_division():
    def f(x):
        try:
            return 1.0 / (x - x)
        except ZeroDivisionError:
            return x * 3.0

    return f, (0.5,)


def arcsine_out_of_range():
    def f(x):
        try:
            return math.asin(x)
        except ValueError:
            return x**2

    return f, (1.5,)


def largest_of_nothing():
    def f(x):
        return x[np.argmax(x)]

    return f, (np.zeros(0),)


def max_of_nothing():
    def f(x):
        return np.max(x[x > 10])

    return f, (X.copy(),)


def mean_of_nothing_is_nan():
    def f(x):
        return np.sum(x) + np.sum(x[x > 10])

    return f, (X.copy(),)


def argmin_along_an_empty_axis():
    def f(x):
        return np.sum(x) + np.argmin(x[:, :0], axis=1)[0]

    return f, (np.ones((2, 2)),)


def remainder_near_multiples():
    def f(a, b):
        return math.fmod(a, b)

    return f, (10.005, 0.01)


def numpy_remainder_near_multiples():
    def f(a, b):
        return np.sum(np.fmod(a, b))

    return f, (np.array([10.005, -3.0]), 0.7)


# ---------------------------------------------------------------------------- missing data
_GAPS = np.array([1.0, np.nan, 3.0, np.nan, 2.0])
_T = np.arange(5.0)


def nansum_of_residuals():
    def f(p):
        return np.nansum((_GAPS - p * _T) ** 2)

    return f, (0.5,)


def nanmean_of_residuals():
    def f(p):
        return np.nanmean(np.abs(_GAPS - p[0] * _T - p[1]))

    return f, (np.array([0.4, 0.2]),)


def nanvar_of_scaled():
    def f(p):
        return np.nanvar(_GAPS * p) + np.nanstd(_GAPS * p)

    return f, (0.5,)


def nanprod_and_cumulative():
    def f(p):
        return np.nanprod(_GAPS * p) + np.sum(np.nancumsum(_GAPS * p))

    return f, (0.5,)


def nanmax_of_scaled():
    def f(p):
        return np.nanmax(_GAPS * p) - np.nanmin(_GAPS * p**2)

    return f, (0.5,)


def nansum_along_an_axis():
    def f(p):
        m = np.outer(p, _GAPS)
        return np.sum(np.nansum(np.exp(0.1 * m), axis=1) ** 2)

    return f, (np.array([0.5, 0.7]),)


def masked_by_where():
    def f(p):
        r = _GAPS - p * _T
        return np.sum(np.where(np.isnan(r), 0.0, r * r))

    return f, (0.5,)


def masked_by_where_keyword():
    def f(p):
        r = _GAPS - p * _T
        return np.sum(r * r, where=~np.isnan(_GAPS))

    return f, (0.5,)


def masked_by_index():
    def f(p):
        r = _GAPS - p * _T
        return np.sum(r[~np.isnan(r)] ** 2)

    return f, (0.5,)


def gaps_filled():
    def f(p):
        return np.sum(np.nan_to_num(_GAPS * p) ** 2)

    return f, (0.5,)


def nanmedian_of_scaled():
    def f(p):
        return np.nanmedian(_GAPS * p)

    return f, (0.5,)


# ---------------------------------------------------------------------------- error state
def _raising(f):
    def g(*args):
        with np.errstate(all="raise"):
            return f(*args)

    return g


def silent_square_root():
    def f(x):
        with np.errstate(all="raise"):
            return np.sum(np.sqrt(x))

    return f, (np.array([1.0, 4.0]),)


def silent_power():
    def f(x):
        with np.errstate(all="raise"):
            return np.sum(x**1.5) + np.sum(np.abs(x) ** 0.5)

    return f, (np.array([1.0, 4.0]),)


def loud_primal():
    def f(x):
        with np.errstate(all="raise"):
            return np.sum(np.log(x))

    return f, (np.array([0.0, 4.0]),)


def loud_division():
    def f(x):
        with np.errstate(divide="raise"):
            return np.sum(1.0 / x)

    return f, (np.array([0.0, 4.0]),)


def sigmoid_far_out():
    def f(x):
        with np.errstate(over="ignore", under="raise"):
            return np.sum(1.0 / (1.0 + np.exp(-x)))

    return f, (np.array([0.5, 4.0, 30.0]),)
