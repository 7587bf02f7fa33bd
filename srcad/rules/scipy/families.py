"""How the rules of all methods of a distribution of `scipy.stats` follow from one row.

A family is one row: ``f'/f``, the derivative of the standard log-density, and its derivatives by
the shapes.  The rules of all methods follow from it, with ``z = (x - loc) / scale``:

* ``logpdf``: by `x` ``f'/f / scale``, by `loc` the negative of it, by `scale` ``-(1 + z f'/f) /
  scale``; ``pdf`` is the same times the density.
* ``cdf`` and ``sf``: the density.  ``logcdf`` and ``logsf``: ``exp(logpdf - logcdf)``, which is
  right where the density underflows.
* ``ppf`` and ``isf``: one over the density at the result.

Outside of the support the log-density is -inf, and its derivatives are 0.
"""

import numpy as np

from srcad.rules import registry
from srcad.rules.declare import derivative, nondifferentiable
from srcad.rules.row import NoPartial

_BY_SHAPE = NoPartial("the derivative of this distribution function by a shape has no closed form")


# ------------------------------------------------------------------------ continuous
def _times(partial, factor):
    """Return a partial derivative times a factor; a missing one, or none, stays so."""
    return partial if partial is None or isinstance(partial, NoPartial) else partial * factor


def _as_is(y):
    return y


def _or_zero(y):
    """Return 0 in the place of the logarithm of 0; the density is 0 there, too."""
    return np.where(y > -np.inf, y, 0.0)


def moment(density, factor):
    """Return the product; 0 where the density is 0, which is also so at an infinite point."""
    return density * np.where(density == 0, 0.0, factor)


def _limit(z, partial):
    """Return a partial by a shape; 0 at infinity, where the distribution function is constant."""
    if partial is None or isinstance(partial, NoPartial):
        return partial
    return np.where(np.isinf(z), 0.0, partial)


def _not_at_infinity(x, density):
    """Return the density, with 0 at infinite points in place of SciPy's nan."""
    return np.where(np.isinf(x), 0.0, density)


def _anywhere(x, density):
    return density


def _none_0(z):
    return ()


def _none_1(z, a):
    return (_BY_SHAPE,)


def _none_2(z, a, b):
    return _BY_SHAPE, _BY_SHAPE


def _rules_0(dist, slopes, by_shapes, finite, limited):
    """Return the rules of a family without shapes, by the names of the methods."""

    def logpdf(x, loc=0, scale=1):
        z = (x - loc) / scale
        (slope,) = slopes(z)
        return slope / scale, -slope / scale, -(1 + z * slope) / scale

    def pdf(x, loc=0, scale=1, *, y):
        z = (x - loc) / scale
        by_x = moment(y, slopes(z)[0]) / scale
        return by_x, -by_x, -(y / scale + moment(by_x, z))

    def cdf(x, loc=0, scale=1):
        f = limited(x, dist.pdf(x, loc, scale))
        return f, -f, -moment(f, (x - loc) / scale)

    def sf(x, loc=0, scale=1):
        f = limited(x, dist.pdf(x, loc, scale))
        return -f, f, moment(f, (x - loc) / scale)

    def logcdf(x, loc=0, scale=1, *, y):
        ratio = limited(x, np.exp(dist.logpdf(x, loc, scale) - finite(y)))
        return ratio, -ratio, -moment(ratio, (x - loc) / scale)

    def logsf(x, loc=0, scale=1, *, y):
        ratio = limited(x, np.exp(dist.logpdf(x, loc, scale) - finite(y)))
        return -ratio, ratio, moment(ratio, (x - loc) / scale)

    def ppf(q, loc=0, scale=1, *, y):
        return 1 / dist.pdf(y, loc, scale), 1.0, (y - loc) / scale

    def isf(q, loc=0, scale=1, *, y):
        return -1 / dist.pdf(y, loc, scale), 1.0, (y - loc) / scale

    return [logpdf, pdf, cdf, sf, logcdf, logsf, ppf, isf]


def _rules_1(dist, slopes, by_shapes, finite, limited):
    """Return the rules of a family with one shape, by the names of the methods."""

    def logpdf(x, a, loc=0, scale=1):
        z = (x - loc) / scale
        slope, by_a = slopes(z, a)
        return slope / scale, by_a, -slope / scale, -(1 + z * slope) / scale

    def pdf(x, a, loc=0, scale=1, *, y):
        z = (x - loc) / scale
        slope, by_a = slopes(z, a)
        by_x = moment(y, slope) / scale
        return by_x, moment(y, by_a), -by_x, -(y / scale + moment(by_x, z))

    def cdf(x, a, loc=0, scale=1):
        f = limited(x, dist.pdf(x, a, loc, scale))
        z = (x - loc) / scale
        (by_a,) = by_shapes(z, a)
        return f, _limit(z, by_a), -f, -moment(f, z)

    def sf(x, a, loc=0, scale=1):
        f = limited(x, dist.pdf(x, a, loc, scale))
        z = (x - loc) / scale
        (by_a,) = by_shapes(z, a)
        return -f, _times(_limit(z, by_a), -1), f, moment(f, z)

    def logcdf(x, a, loc=0, scale=1, *, y):
        ratio = limited(x, np.exp(dist.logpdf(x, a, loc, scale) - finite(y)))
        z = (x - loc) / scale
        (by_a,) = by_shapes(z, a)
        return ratio, _times(_limit(z, by_a), np.exp(-finite(y))), -ratio, -moment(ratio, z)

    def logsf(x, a, loc=0, scale=1, *, y):
        ratio = limited(x, np.exp(dist.logpdf(x, a, loc, scale) - finite(y)))
        z = (x - loc) / scale
        (by_a,) = by_shapes(z, a)
        return -ratio, _times(_limit(z, by_a), -np.exp(-finite(y))), ratio, moment(ratio, z)

    def ppf(q, a, loc=0, scale=1, *, y):
        f = dist.pdf(y, a, loc, scale)
        z = (y - loc) / scale
        (by_a,) = by_shapes(z, a)
        return 1 / f, _times(by_a, -1 / f), 1.0, z

    def isf(q, a, loc=0, scale=1, *, y):
        f = dist.pdf(y, a, loc, scale)
        z = (y - loc) / scale
        (by_a,) = by_shapes(z, a)
        return -1 / f, _times(by_a, -1 / f), 1.0, z

    return [logpdf, pdf, cdf, sf, logcdf, logsf, ppf, isf]


def _rules_2(dist, slopes, by_shapes, finite, limited):
    """Return the rules of a family with two shapes."""

    def logpdf(x, a, b, loc=0, scale=1):
        z = (x - loc) / scale
        slope, by_a, by_b = slopes(z, a, b)
        return slope / scale, by_a, by_b, -slope / scale, -(1 + z * slope) / scale

    def pdf(x, a, b, loc=0, scale=1, *, y):
        z = (x - loc) / scale
        slope, by_a, by_b = slopes(z, a, b)
        by_x = moment(y, slope) / scale
        by_scale = -(y / scale + moment(by_x, z))
        return by_x, moment(y, by_a), moment(y, by_b), -by_x, by_scale

    def cdf(x, a, b, loc=0, scale=1):
        f = limited(x, dist.pdf(x, a, b, loc, scale))
        z = (x - loc) / scale
        by_a, by_b = by_shapes(z, a, b)
        return f, _limit(z, by_a), _limit(z, by_b), -f, -moment(f, z)

    def sf(x, a, b, loc=0, scale=1):
        f = limited(x, dist.pdf(x, a, b, loc, scale))
        z = (x - loc) / scale
        by_a, by_b = by_shapes(z, a, b)
        return -f, _times(_limit(z, by_a), -1), _times(_limit(z, by_b), -1), f, moment(f, z)

    def logcdf(x, a, b, loc=0, scale=1, *, y):
        ratio = limited(x, np.exp(dist.logpdf(x, a, b, loc, scale) - finite(y)))
        z = (x - loc) / scale
        by_a, by_b = by_shapes(z, a, b)
        return (
            ratio,
            _times(_limit(z, by_a), np.exp(-finite(y))),
            _times(_limit(z, by_b), np.exp(-finite(y))),
            -ratio,
            -moment(ratio, z),
        )

    def logsf(x, a, b, loc=0, scale=1, *, y):
        ratio = limited(x, np.exp(dist.logpdf(x, a, b, loc, scale) - finite(y)))
        z = (x - loc) / scale
        by_a, by_b = by_shapes(z, a, b)
        return (
            -ratio,
            _times(_limit(z, by_a), -np.exp(-finite(y))),
            _times(_limit(z, by_b), -np.exp(-finite(y))),
            ratio,
            moment(ratio, z),
        )

    def ppf(q, a, b, loc=0, scale=1, *, y):
        f = dist.pdf(y, a, b, loc, scale)
        z = (y - loc) / scale
        by_a, by_b = by_shapes(z, a, b)
        return 1 / f, _times(by_a, -1 / f), _times(by_b, -1 / f), 1.0, z

    def isf(q, a, b, loc=0, scale=1, *, y):
        f = dist.pdf(y, a, b, loc, scale)
        z = (y - loc) / scale
        by_a, by_b = by_shapes(z, a, b)
        return -1 / f, _times(by_a, -1 / f), _times(by_b, -1 / f), 1.0, z

    return [logpdf, pdf, cdf, sf, logcdf, logsf, ppf, isf]


_BUILDERS = {0: (_rules_0, _none_0), 1: (_rules_1, _none_1), 2: (_rules_2, _none_2)}
_PROBABILITIES = ("ppf", "isf")


def family(dist, *shapes, support=(-2.0, 2.0), by_shapes=None, is_nan_at_infinity=False):
    """Register the rules of all methods of a family; the function returns its slopes.

    `shapes` are the bounds of samples of each shape, `support` those of ``z``.  Of some families
    SciPy's density `is_nan_at_infinity`.
    """

    def register(slopes):
        build, none = _BUILDERS[dist.numargs]
        is_real = dist.support(*[1.0] * dist.numargs) == (-np.inf, np.inf)
        limited = _not_at_infinity if is_nan_at_infinity else _anywhere
        finite = _as_is if is_real else _or_zero
        for rule in build(dist, slopes, by_shapes or none, finite, limited):
            code, name = rule.__code__, rule.__name__
            names = code.co_varnames[: code.co_argcount]
            first = (0.1, 0.9) if name in _PROBABILITIES else support
            has_partials = by_shapes is not None or name in ("logpdf", "pdf")
            samples = _samples(first, shapes if has_partials else [2] * len(shapes))
            derivative(getattr(dist, name), active=names, samples=samples)(rule)
        of_median = shapes if by_shapes is not None else [2] * len(shapes)
        _single(dist.median, _medians(dist, by_shapes or none), _median_samples(of_median))
        registry.add_receiver(dist, f"scipy.stats.{dist.name}")
        return slopes

    return register


def _median_samples(shapes):
    def samples(f, near):
        given = [one if one == 2 else near(*one, 4) for one in shapes]
        return [f(*given, near(-0.5, 0.5, 4), near(1.0, 2.0, 4))]

    return samples


def _samples(first, shapes):
    def samples(f, near):
        x, given = near(*first, 4), [one if one == 2 else near(*one, 4) for one in shapes]
        return [
            f(x, *given),
            f(x, *given, 0.0, 1.5),
            f(x, *given, near(-0.1, 0.0, 4), near(1.0, 2.0, 4)),
        ]

    return samples


# ------------------------------------------------------------------------ single numbers
def _medians(dist, by_shapes):
    """Return the rule of the median, which is that of ``ppf``, by the number of shapes."""

    def none(loc=0, scale=1, *, y):
        return 1.0, (y - loc) / scale

    def one(a, loc=0, scale=1, *, y):
        z = (y - loc) / scale
        (by_a,) = by_shapes(z, a)
        return _times(by_a, -1 / dist.pdf(y, a, loc, scale)), 1.0, z

    def two(a, b, loc=0, scale=1, *, y):
        z = (y - loc) / scale
        f = dist.pdf(y, a, b, loc, scale)
        by_a, by_b = by_shapes(z, a, b)
        return _times(by_a, -1 / f), _times(by_b, -1 / f), 1.0, z

    return [none, one, two][dist.numargs]


def _entropies(count, slopes):
    """Return the rule of the entropy; a scale adds its logarithm."""

    def none(loc=0, scale=1):
        return None, 1 / scale

    def one(a, loc=0, scale=1):
        (by_a,) = slopes(a)
        return by_a, None, 1 / scale

    def two(a, b, loc=0, scale=1):
        by_a, by_b = slopes(a, b)
        return by_a, by_b, None, 1 / scale

    return [none, one, two][count]


def _means(count, slopes):
    def none(loc=0, scale=1, *, y):
        return 1.0, (y - loc) / scale

    def one(a, loc=0, scale=1, *, y):
        (by_a,) = slopes(a)
        return by_a * scale, 1.0, (y - loc) / scale

    def two(a, b, loc=0, scale=1, *, y):
        by_a, by_b = slopes(a, b)
        return by_a * scale, by_b * scale, 1.0, (y - loc) / scale

    return [none, one, two][count]


def _variances(count, slopes):
    def none(loc=0, scale=1, *, y):
        return None, 2 * y / scale

    def one(a, loc=0, scale=1, *, y):
        (by_a,) = slopes(a)
        return by_a * scale * scale, None, 2 * y / scale

    def two(a, b, loc=0, scale=1, *, y):
        by_a, by_b = slopes(a, b)
        return by_a * scale * scale, by_b * scale * scale, None, 2 * y / scale

    return [none, one, two][count]


def _deviations(count, slopes):
    def none(loc=0, scale=1, *, y):
        return None, y / scale

    def one(a, loc=0, scale=1, *, y):
        (by_a,) = slopes(a)
        return by_a * scale * scale / (2 * y), None, y / scale

    def two(a, b, loc=0, scale=1, *, y):
        by_a, by_b = slopes(a, b)
        factor = scale * scale / (2 * y)
        return by_a * factor, by_b * factor, None, y / scale

    return [none, one, two][count]


def summaries(dist, *shapes, entropy=None, mean=None, var=None, has_moments=True):
    """Register the rules of the entropy, mean, variance and deviation of a family.

    Each function returns the derivatives of the number by the shapes, for the standard
    distribution; `shapes` are the bounds of samples.  Without shapes none is needed, and mean and
    variance have rules if they exist.
    """

    def samples(f, near):
        given = [one if one == 2 else near(*one, 4) for one in shapes]
        return [f(*given, near(-0.5, 0.5, 4), near(1.0, 2.0, 4)), f(*given, scale=1.5)]

    count = dist.numargs
    found = {"entropy": (_entropies, entropy), "mean": (_means, mean)}
    found |= {"var": (_variances, var), "std": (_deviations, var)}
    for name, (build, slopes) in found.items():
        if slopes is not None or (count == 0 and (has_moments or name == "entropy")):
            _single(getattr(dist, name), build(count, slopes), samples)


def _single(target, rule, samples):
    code = rule.__code__
    derivative(target, active=code.co_varnames[: code.co_argcount], samples=samples)(rule)


# ------------------------------------------------------------------------ discrete
# The argument and the location are integers: nothing flows through them.
def _discrete_1(slopes, by_shapes, finite):
    """Return the rules of a discrete family with one shape."""

    def logpmf(k, a, loc=0, *, y):
        (by_a,) = slopes(k - loc, a)
        return None, np.where(y > -np.inf, by_a, 0.0), None

    def pmf(k, a, loc=0, *, y):
        (by_a,) = slopes(k - loc, a)
        return None, y * by_a, None

    def cdf(k, a, loc=0):
        (by_a,) = by_shapes(np.floor(k - loc), a)
        return None, _limit(k, by_a), None

    def sf(k, a, loc=0):
        (by_a,) = by_shapes(np.floor(k - loc), a)
        return None, _times(_limit(k, by_a), -1), None

    def logcdf(k, a, loc=0, *, y):
        (by_a,) = by_shapes(np.floor(k - loc), a)
        return None, _times(_limit(k, by_a), np.exp(-finite(y))), None

    def logsf(k, a, loc=0, *, y):
        (by_a,) = by_shapes(np.floor(k - loc), a)
        return None, _times(_limit(k, by_a), -np.exp(-finite(y))), None

    return [logpmf, pmf, cdf, sf, logcdf, logsf]


def _discrete_2(slopes, by_shapes, finite):
    """Return the rules of a discrete family with two shapes."""

    def logpmf(k, a, b, loc=0, *, y):
        by_a, by_b = slopes(k - loc, a, b)
        by_a = None if by_a is None else np.where(y > -np.inf, by_a, 0.0)
        return None, by_a, np.where(y > -np.inf, by_b, 0.0), None

    def pmf(k, a, b, loc=0, *, y):
        by_a, by_b = slopes(k - loc, a, b)
        return None, None if by_a is None else y * by_a, y * by_b, None

    def cdf(k, a, b, loc=0):
        by_a, by_b = by_shapes(np.floor(k - loc), a, b)
        return None, _limit(k, by_a), _limit(k, by_b), None

    def sf(k, a, b, loc=0):
        by_a, by_b = by_shapes(np.floor(k - loc), a, b)
        return None, _times(_limit(k, by_a), -1), -_limit(k, by_b), None

    def logcdf(k, a, b, loc=0, *, y):
        by_a, by_b = by_shapes(np.floor(k - loc), a, b)
        return (
            None,
            _times(_limit(k, by_a), np.exp(-finite(y))),
            _limit(k, by_b) * np.exp(-finite(y)),
            None,
        )

    def logsf(k, a, b, loc=0, *, y):
        by_a, by_b = by_shapes(np.floor(k - loc), a, b)
        return (
            None,
            _times(_limit(k, by_a), -np.exp(-finite(y))),
            -_limit(k, by_b) * np.exp(-finite(y)),
            None,
        )

    return [logpmf, pmf, cdf, sf, logcdf, logsf]


def _discrete_3(slopes, by_shapes, finite):
    """Return the rules of a discrete family with three shapes, the first a whole number."""

    def logpmf(k, n, a, b, loc=0, *, y):
        by_a, by_b = slopes(k - loc, n, a, b)
        inside = y > -np.inf
        return None, None, np.where(inside, by_a, 0.0), np.where(inside, by_b, 0.0), None

    def pmf(k, n, a, b, loc=0, *, y):
        by_a, by_b = slopes(k - loc, n, a, b)
        return None, None, moment(y, by_a), moment(y, by_b), None

    def cdf(k, n, a, b, loc=0):
        return None, None, _BY_SHAPE, _BY_SHAPE, None

    def sf(k, n, a, b, loc=0):
        return None, None, _BY_SHAPE, _BY_SHAPE, None

    def logcdf(k, n, a, b, loc=0):
        return None, None, _BY_SHAPE, _BY_SHAPE, None

    def logsf(k, n, a, b, loc=0):
        return None, None, _BY_SHAPE, _BY_SHAPE, None

    return [logpmf, pmf, cdf, sf, logcdf, logsf]


_DISCRETE = {1: _discrete_1, 2: _discrete_2, 3: _discrete_3}


def _discrete_samples(points, shapes):
    def samples(f, near):
        given = [near(*one, 4) if isinstance(one, tuple) else one for one in shapes]
        return [f(points, *given), f(points + 1, *given, 1)]

    return samples


def discrete(dist, points, *shapes, by_shapes=None):
    """Register the rules of a discrete family; `points` and `shapes` are arguments of samples."""

    def register(slopes):
        build = _DISCRETE[dist.numargs]
        for rule in build(slopes, by_shapes, _or_zero):
            code, name = rule.__code__, rule.__name__
            names = code.co_varnames[: code.co_argcount]
            at = np.array(points[:1] * 4 if name == "logsf" else points)
            given = list(shapes)
            if by_shapes is None and name not in ("logpmf", "pmf"):
                given = [np.full(4, 2) if isinstance(one, tuple) else one for one in shapes]
            samples = _discrete_samples(at, given)
            derivative(getattr(dist, name), active=names, samples=samples)(rule)
        registry.add_receiver(dist, f"scipy.stats.{dist.name}")
        return slopes

    return register


def of_whole_numbers(dist):
    """Declare that nothing flows through a discrete family: all of its parameters are integers."""
    for name in ("logpmf", "pmf", "cdf", "sf", "logcdf", "logsf"):
        nondifferentiable(getattr(dist, name))
    registry.add_receiver(dist, f"scipy.stats.{dist.name}")
