"""Random draws whose location and scale are differentiated: a standard draw, moved and scaled.

The numbers are those of NumPy's own functions, to the last bit, and the generator is left in the
same state.  Source of the derivative: Kingma and Welling (2014), *Auto-encoding variational Bayes*
(the reparameterisation of a draw).

>>> import numpy as np
>>> normal(np.random.default_rng(0), 1.0, 2.0) == np.random.default_rng(0).normal(1.0, 2.0)
True
"""

import numpy as np

# mypy: ignore-errors


def normal(rng, loc=0.0, scale=1.0, size=None):
    loc, scale = real(loc), not_negative(scale)
    return loc + scale * rng.standard_normal(size_for(size, loc, scale))


def uniform(rng, low=0.0, high=1.0, size=None):
    low, high = real(low), real(high)
    width = high - low
    if not np.all(np.isfinite(width)):
        raise OverflowError("high - low range exceeds valid bounds")
    if np.any(np.signbit(width)):
        raise ValueError("high - low < 0")
    return low + width * rng.random(size_for(size, low, high))


def uniform_in_any_order(rng, low=0.0, high=1.0, size=None):
    low, high = real(low), real(high)
    width = high - low
    if not np.all(np.isfinite(width)):
        raise OverflowError("Range exceeds valid bounds")
    return low + width * rng.random_sample(size_for(size, low, high))


def laplace(rng, loc=0.0, scale=1.0, size=None):
    loc, scale = real(loc), not_negative(scale)
    return loc + scale * rng.laplace(0.0, 1.0, size_for(size, loc, scale))


def logistic(rng, loc=0.0, scale=1.0, size=None):
    loc, scale = real(loc), not_negative(scale)
    return loc + scale * rng.logistic(0.0, 1.0, size_for(size, loc, scale))


def gumbel(rng, loc=0.0, scale=1.0, size=None):
    loc, scale = real(loc), not_negative(scale)
    return loc + scale * rng.gumbel(0.0, 1.0, size_for(size, loc, scale))


def exponential(rng, scale=1.0, size=None):
    scale = not_negative(scale)
    return scale * rng.standard_exponential(size_for(size, scale, 0.0))


def rayleigh(rng, scale=1.0, size=None):
    scale = not_negative(scale)
    return scale * rng.rayleigh(1.0, size_for(size, scale, 0.0))


def gamma(rng, shape, scale=1.0, size=None):
    shape, scale = real(shape), not_negative(scale)
    return scale * rng.standard_gamma(shape, size_for(size, shape, scale))


def multivariate_normal(rng, mean, cov, size=None, check_valid="warn", tol=1e-8, **options):
    mean = real(mean)
    nothing = np.zeros(np.shape(mean))
    return mean + rng.multivariate_normal(nothing, cov, size, check_valid, tol, **options)


def real(parameter):
    if np.ndim(parameter) == 0:
        return float(parameter)
    if isinstance(parameter, np.ndarray) and parameter.dtype == float:
        return parameter
    return np.asarray(parameter, dtype=float)


def not_negative(scale):
    scale = real(scale)
    if np.signbit(scale) if np.ndim(scale) == 0 else np.any(np.signbit(scale)):
        raise ValueError("scale < 0")
    return scale


def size_for(size, first, second):
    if np.ndim(first) == 0 and np.ndim(second) == 0:
        return size
    if size is None:
        if np.ndim(first) == 0:
            return np.shape(second)
        if np.ndim(second) == 0:
            return np.shape(first)
        return np.broadcast_shapes(np.shape(first), np.shape(second))
    if np.ndim(first) > 0:
        np.broadcast_to(first, size)
    if np.ndim(second) > 0:
        np.broadcast_to(second, size)
    return size
