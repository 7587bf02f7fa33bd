"""Entropies, means and variances of the families of `scipy.stats`.

The formulas are those of the documentation of SciPy, or of its source.  A mean or variance that
does not exist is nan or infinite; its derivative by a shape is that of the formula.
"""

import numpy as np
from scipy import special, stats

from srcad.rules.scipy.families import summaries

for _dist in (
    stats.norm, stats.laplace, stats.logistic, stats.hypsecant, stats.gumbel_r,
    stats.gumbel_l, stats.expon, stats.halfnorm, stats.halflogistic,
    stats.rayleigh, stats.maxwell, stats.uniform,
):  # fmt: skip
    summaries(_dist)
for _dist in (stats.cauchy, stats.halfcauchy):
    summaries(_dist, has_moments=False)


def _trigamma(x):
    return special.zeta(2.0, x)  # DLMF 25.11.12


def _mean_of_beta(a, b):
    total = a + b
    return b / (total * total), -a / (total * total)


def _variance_of_beta(a, b):
    total = a + b
    size = a * b / (total * total * (total + 1))
    common = 2 / total + 1 / (total + 1)
    return size * (1 / a - common), size * (1 / b - common)


def _entropy_of_beta(a, b):
    both = (a + b - 2) * _trigamma(a + b)
    return both - (a - 1) * _trigamma(a), both - (b - 1) * _trigamma(b)


def _variance_of_lognorm(s):
    square = np.exp(s * s)
    return (2 * s * square * (2 * square - 1),)


def _mean_of_weibull(c):
    at = 1 + 1 / c
    return (-special.gamma(at) * special.digamma(at) / (c * c),)


def _variance_of_weibull(c):
    at, twice = 1 + 1 / c, 1 + 2 / c
    first, second = special.gamma(at) ** 2, special.gamma(twice)
    return (2 / (c * c) * (first * special.digamma(at) - second * special.digamma(twice)),)


def _entropy_of_t(df):
    slope = _trigamma((df + 1) / 2) - _trigamma(df / 2)
    return ((df + 1) / 4 * slope + 1 / (2 * df),)


summaries(
    stats.gamma, (0.6, 3.0),
    entropy=lambda a: (1 + (1 - a) * _trigamma(a),),
    mean=lambda a: (1.0 + 0 * a,),
    var=lambda a: (1.0 + 0 * a,),
)  # fmt: skip
summaries(
    stats.beta, (0.6, 3.0), (0.6, 3.0),
    entropy=_entropy_of_beta, mean=_mean_of_beta, var=_variance_of_beta,
)  # fmt: skip
summaries(
    stats.chi2, (1.2, 5.0),
    entropy=lambda df: ((1 + (1 - df / 2) * _trigamma(df / 2)) / 2,),
    mean=lambda df: (1.0 + 0 * df,),
    var=lambda df: (2.0 + 0 * df,),
)  # fmt: skip
summaries(stats.t, (3.0, 6.0), entropy=_entropy_of_t, var=lambda df: (-2 / (df - 2) ** 2,))
summaries(
    stats.lognorm, (0.4, 1.2),
    entropy=lambda s: (1 / s,),
    mean=lambda s: (s * np.exp(s * s / 2),),
    var=_variance_of_lognorm,
)  # fmt: skip
summaries(
    stats.weibull_min, (0.6, 3.0),
    entropy=lambda c: (np.euler_gamma / (c * c) - 1 / c,),
    mean=_mean_of_weibull, var=_variance_of_weibull,
)  # fmt: skip
summaries(stats.pareto, (0.6, 3.0), entropy=lambda b: (-(1 + 1 / b) / b,))
summaries(stats.lomax, (0.6, 3.0), entropy=lambda c: (-(1 + 1 / c) / c,))
summaries(stats.invgamma, (0.6, 3.0), entropy=lambda a: (1 - (1 + a) * _trigamma(a),))
summaries(stats.genextreme, (-0.4, 0.4), entropy=lambda c: (-np.euler_gamma + 0 * c,))
summaries(stats.genpareto, (-0.3, 0.5), entropy=lambda c: (1.0 + 0 * c,))
summaries(stats.powerlaw, (0.6, 3.0), entropy=lambda a: ((1 / a - 1) / a,))
summaries(stats.loglaplace, (0.6, 3.0), entropy=lambda c: (-1 / c,))
summaries(stats.wrapcauchy, (0.2, 0.8), entropy=lambda c: (-2 * c / ((1 - c) * (1 + c)),))
summaries(stats.exponnorm, (0.6, 2.0), mean=lambda k: (1.0 + 0 * k,), var=lambda k: (2 * k,))
