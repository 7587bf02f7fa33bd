"""Densities and distribution functions of `scipy.stats`, a row for each family.

`srcad.rules.scipy.families` tells what a row is.  The densities are those of the documentation of
SciPy; the derivative of a distribution function by a shape is declared missing where it has no
closed form.
"""

import numpy as np
from scipy import special, stats

from srcad.rules.scipy import (  # noqa: F401 - they register their rules
    extremes,
    multivariate,
    statistics,
    summaries,
)
from srcad.rules.scipy.families import discrete, family, of_whole_numbers
from srcad.rules.scipy.special_distributions import student_by_df
from srcad.rules.scipy.special_incomplete import betainc_by_a, betainc_by_b, gammainc_by_a


# On the real line.
@family(stats.norm)
def norm(z):
    return (-z,)


@family(stats.cauchy)
def cauchy(z):
    return (-2 * z / (1 + z * z),)


@family(stats.laplace)
def laplace(z):
    return (-np.sign(z),)


@family(stats.logistic)
def logistic(z):
    return (-np.tanh(z / 2),)


@family(stats.hypsecant)
def hypsecant(z):
    return (-np.tanh(z),)


@family(stats.gumbel_r, is_nan_at_infinity=True)
def gumbel_r(z):
    return (np.expm1(-z),)


@family(stats.gumbel_l, is_nan_at_infinity=True)
def gumbel_l(z):
    return (-np.expm1(z),)


def _t_by_df(z, df):
    return (student_by_df(df, z),)


@family(stats.t, (1.5, 6.0), by_shapes=_t_by_df)
def t(z, df):
    ratio = z * z / df
    by_df = special.digamma((df + 1) / 2) - special.digamma(df / 2) - 1 / df - np.log1p(ratio)
    slope = -(df + 1) * z / (df + z * z)
    return slope, (by_df - slope * z / df) / 2


def _gennorm_by_beta(z, beta):
    size = np.where(z == 0, 1.0, np.abs(z))
    power, a = size**beta, 1 / beta
    by_power = stats.gamma.pdf(power, a) * power * np.log(size)
    return (np.sign(z) / 2 * (by_power - a * a * gammainc_by_a(a, power)),)


@family(stats.gennorm, (1.2, 3.0), by_shapes=_gennorm_by_beta)
def gennorm(z, beta):
    """With ``|z| > 0``, where the density is smooth in `beta`."""
    size = np.abs(z)
    power = size**beta
    log_size = np.log(np.where(size == 0, 1.0, size))
    by_beta = 1 / beta + special.digamma(1 / beta) / beta**2 - power * log_size
    return -beta * np.sign(z) * size ** (beta - 1), by_beta


def _skewnorm_by_a(z, a):
    square = 1 + a * a
    return (-np.exp(-0.5 * z * z * square) / (np.pi * square),)


@family(stats.skewnorm, (-2.0, 2.0), by_shapes=_skewnorm_by_a)
def skewnorm(z, a):
    ratio = np.exp(-0.5 * (a * z) ** 2 - special.log_ndtr(a * z)) / np.sqrt(2 * np.pi)
    return a * ratio - z, z * ratio


@family(stats.vonmises, (0.5, 3.0), is_nan_at_infinity=True)
def vonmises(z, kappa):
    return -kappa * np.sin(z), np.cos(z) - special.i1e(kappa) / special.i0e(kappa)


def _loggamma_by_c(z, c):
    return (gammainc_by_a(c, np.exp(z)),)


@family(stats.loggamma, (0.5, 3.0), by_shapes=_loggamma_by_c, is_nan_at_infinity=True)
def loggamma(z, c):
    return c - np.exp(z), z - special.digamma(c)


# On the positive half-line, with a density at 0.
@family(stats.expon, support=(0.3, 2.0))
def expon(z):
    return (np.where(z < 0, 0.0, -1.0),)


@family(stats.halfnorm, support=(0.3, 2.0))
def halfnorm(z):
    return (np.where(z < 0, 0.0, -z),)


@family(stats.halfcauchy, support=(0.3, 2.0))
def halfcauchy(z):
    return (np.where(z < 0, 0.0, -2 * z / (1 + z * z)),)


@family(stats.halflogistic, support=(0.3, 2.0))
def halflogistic(z):
    return (np.where(z < 0, 0.0, -np.tanh(z / 2)),)


def _lomax_by_c(z, c):
    inside = np.where(z < 0, 0.0, z)
    return ((1 + inside) ** -c * np.log1p(inside),)


@family(stats.lomax, (0.5, 3.0), support=(0.3, 2.0), by_shapes=_lomax_by_c)
def lomax(z, c):
    inside = np.where(z < 0, 0.0, z)
    by_c = 1 / c - np.log1p(inside)
    return np.where(z < 0, 0.0, -(c + 1) / (1 + inside)), np.where(z < 0, 0.0, by_c)


def _gompertz_by_c(z, c):
    inside = np.where(z < 0, 0.0, z)
    return (np.exp(-c * np.expm1(inside)) * np.expm1(inside),)


@family(
    stats.gompertz,
    (0.5, 2.0),
    support=(0.3, 1.5),
    by_shapes=_gompertz_by_c,
    is_nan_at_infinity=True,
)
def gompertz(z, c):
    inside = np.where(z < 0, 0.0, z)
    by_c = 1 / c - np.expm1(inside)
    return np.where(z < 0, 0.0, 1 - c * np.exp(inside)), np.where(z < 0, 0.0, by_c)


# On the positive half-line; 1 stands for what is not inside.
def _inside(z):
    return np.where(z > 0, z, 1.0)


def _gamma_by_a(z, a):
    return (np.where(z > 0, gammainc_by_a(a, _inside(z)), 0.0),)


@family(stats.gamma, (0.6, 3.0), support=(0.3, 3.0), by_shapes=_gamma_by_a, is_nan_at_infinity=True)
def gamma(z, a):
    x = _inside(z)
    by_a = np.log(x) - special.digamma(a)
    return np.where(z > 0, (a - 1) / x - 1, 0.0), np.where(z > 0, by_a, 0.0)


def _chi2_by_df(z, df):
    return (np.where(z > 0, gammainc_by_a(df / 2, _inside(z) / 2) / 2, 0.0),)


@family(stats.chi2, (1.2, 5.0), support=(0.3, 3.0), by_shapes=_chi2_by_df, is_nan_at_infinity=True)
def chi2(z, df):
    x = _inside(z)
    by_df = (np.log(x / 2) - special.digamma(df / 2)) / 2
    return np.where(z > 0, (df / 2 - 1) / x - 0.5, 0.0), np.where(z > 0, by_df, 0.0)


def _chi_by_df(z, df):
    return (np.where(z > 0, gammainc_by_a(df / 2, _inside(z) ** 2 / 2) / 2, 0.0),)


@family(stats.chi, (1.2, 5.0), support=(0.3, 3.0), by_shapes=_chi_by_df, is_nan_at_infinity=True)
def chi(z, df):
    x = _inside(z)
    by_df = np.log(x) - (np.log(2.0) + special.digamma(df / 2)) / 2
    return np.where(z > 0, (df - 1) / x - x, 0.0), np.where(z > 0, by_df, 0.0)


@family(stats.rayleigh, support=(0.3, 3.0))
def rayleigh(z):
    x = _inside(z)
    return (np.where(z > 0, 1 / x - x, 0.0),)


@family(stats.maxwell, support=(0.3, 3.0), is_nan_at_infinity=True)
def maxwell(z):
    x = _inside(z)
    return (np.where(z > 0, 2 / x - x, 0.0),)


def _invgamma_by_a(z, a):
    return (np.where(z > 0, -gammainc_by_a(a, 1 / _inside(z)), 0.0),)


@family(stats.invgamma, (0.6, 3.0), support=(0.3, 3.0), by_shapes=_invgamma_by_a)
def invgamma(z, a):
    x = _inside(z)
    by_a = -np.log(x) - special.digamma(a)
    return np.where(z > 0, (1 / x - (a + 1)) / x, 0.0), np.where(z > 0, by_a, 0.0)


def _invgauss_by_mu(z, mu):
    x = _inside(z)
    log_tail = special.log_ndtr(-(x / mu + 1) / np.sqrt(x))
    return (np.where(z > 0, -2 / mu**2 * np.exp(2 / mu + log_tail), 0.0),)


@family(stats.invgauss, (0.6, 3.0), support=(0.3, 3.0), by_shapes=_invgauss_by_mu)
def invgauss(z, mu):
    x = _inside(z)
    slope = -1.5 / x - 0.5 / mu**2 + 0.5 / x**2
    return np.where(z > 0, slope, 0.0), np.where(z > 0, (x - mu) / mu**3, 0.0)


def _lognorm_by_s(z, s):
    w = np.log(_inside(z)) / s
    return (np.where(z > 0, -w * np.exp(-0.5 * w * w) / (s * np.sqrt(2 * np.pi)), 0.0),)


@family(stats.lognorm, (0.4, 2.0), support=(0.3, 3.0), by_shapes=_lognorm_by_s)
def lognorm(z, s):
    x = _inside(z)
    w = np.log(x) / s
    return np.where(z > 0, -(w / s + 1) / x, 0.0), np.where(z > 0, (w * w - 1) / s, 0.0)


def _weibull_min_by_c(z, c):
    x = _inside(z)
    power = x**c
    return (np.where(z > 0, np.exp(-power) * power * np.log(x), 0.0),)


@family(
    stats.weibull_min,
    (0.6, 3.0),
    support=(0.3, 2.0),
    by_shapes=_weibull_min_by_c,
    is_nan_at_infinity=True,
)
def weibull_min(z, c):
    x = _inside(z)
    power = x**c
    by_c = 1 / c + np.log(x) * (1 - power)
    return np.where(z > 0, (c - 1 - c * power) / x, 0.0), np.where(z > 0, by_c, 0.0)


def _fisk_by_c(z, c):
    x = _inside(z)
    p = special.expit(c * np.log(x))
    return (np.where(z > 0, p * special.expit(-c * np.log(x)) * np.log(x), 0.0),)


@family(stats.fisk, (0.6, 3.0), support=(0.3, 2.0), by_shapes=_fisk_by_c)
def fisk(z, c):
    x = _inside(z)
    p = special.expit(c * np.log(x))
    by_c = 1 / c + np.log(x) * (1 - 2 * p)
    return np.where(z > 0, (c - 1 - 2 * c * p) / x, 0.0), np.where(z > 0, by_c, 0.0)


def _f_by_degrees(z, dfn, dfd):
    x = _inside(z)
    whole = dfd + dfn * x
    ratio = dfn * x / whole
    by_ratio = stats.f.pdf(x, dfn, dfd) * whole**2 / (dfn * dfd)
    by_dfn = betainc_by_a(dfn / 2, dfd / 2, ratio) / 2 + by_ratio * x * dfd / whole**2
    by_dfd = betainc_by_b(dfn / 2, dfd / 2, ratio) / 2 - by_ratio * x * dfn / whole**2
    return np.where(z > 0, by_dfn, 0.0), np.where(z > 0, by_dfd, 0.0)


@family(
    stats.f,
    (1.5, 6.0),
    (2.5, 8.0),
    support=(0.3, 3.0),
    by_shapes=_f_by_degrees,
    is_nan_at_infinity=True,
)
def f(z, dfn, dfd):
    x = _inside(z)
    whole = dfd + dfn * x
    psi = special.digamma((dfn + dfd) / 2)
    by_dfn = np.log(dfn * x / whole) + 1 - (dfn + dfd) * x / whole + psi - special.digamma(dfn / 2)
    by_dfd = np.log(dfd / whole) + 1 - (dfn + dfd) / whole + psi - special.digamma(dfd / 2)
    slope = (dfn / 2 - 1) / x - (dfn + dfd) * dfn / (2 * whole)
    inside = z > 0
    return (
        np.where(inside, slope, 0.0),
        np.where(inside, by_dfn / 2, 0.0),
        np.where(inside, by_dfd / 2, 0.0),
    )


# Bounded on one side or on both.
def _pareto_by_b(z, b):
    x = np.where(z > 1, z, 1.0)
    return (x**-b * np.log(x),)


@family(stats.pareto, (0.6, 3.0), support=(2.3, 4.0), by_shapes=_pareto_by_b)
def pareto(z, b):
    x = np.where(z < 1, 1.0, z)
    return np.where(z < 1, 0.0, -(b + 1) / x), np.where(z < 1, 0.0, 1 / b - np.log(x))


@family(stats.uniform, support=(0.3, 0.6))
def uniform(z):
    return (0.0 * z,)


def _unit(z):
    return np.where((z > 0) & (z < 1), z, 0.5)


def _beta_by_shapes(z, a, b):
    x, inside = _unit(z), (z > 0) & (z < 1)
    return (
        np.where(inside, betainc_by_a(a, b, x), 0.0),
        np.where(inside, betainc_by_b(a, b, x), 0.0),
    )


@family(stats.beta, (0.6, 3.0), (0.6, 3.0), support=(0.3, 0.6), by_shapes=_beta_by_shapes)
def beta(z, a, b):
    x, inside = _unit(z), (z > 0) & (z < 1)
    psi = special.digamma(a + b)
    slope = (a - 1) / x - (b - 1) / (1 - x)
    by_a = np.log(x) - special.digamma(a) + psi
    by_b = np.log1p(-x) - special.digamma(b) + psi
    return np.where(inside, slope, 0.0), np.where(inside, by_a, 0.0), np.where(inside, by_b, 0.0)


def _powerlaw_by_a(z, a):
    x = _unit(z)
    return (np.where((z > 0) & (z < 1), x**a * np.log(x), 0.0),)


@family(stats.powerlaw, (0.6, 3.0), support=(0.3, 0.6), by_shapes=_powerlaw_by_a)
def powerlaw(z, a):
    x, inside = _unit(z), (z > 0) & (z < 1)
    return np.where(inside, (a - 1) / x, 0.0), np.where(inside, 1 / a + np.log(x), 0.0)


def _truncnorm_by_bounds(z, a, b):
    p = stats.truncnorm.cdf(z, a, b)
    inside = (z > a) & (z < b)
    by_a = -stats.truncnorm.pdf(a, a, b) * (1 - p)
    by_b = -stats.truncnorm.pdf(b, a, b) * p
    return np.where(inside, by_a, 0.0), np.where(inside, by_b, 0.0)


@family(
    stats.truncnorm, (-2.0, -1.0), (3.0, 4.0), support=(0.3, 1.5), by_shapes=_truncnorm_by_bounds
)
def truncnorm(z, a, b):
    inside = (z >= a) & (z <= b)
    by_a, by_b = stats.truncnorm.pdf(a, a, b), -stats.truncnorm.pdf(b, a, b)
    return np.where(inside, -z, 0.0), np.where(inside, by_a, 0.0), np.where(inside, by_b, 0.0)


# Discrete.
def _poisson_by_mu(k, mu):
    return (-stats.poisson.pmf(k, mu),)


@discrete(stats.poisson, [0, 1, 3, 4], (0.6, 3.0), by_shapes=_poisson_by_mu)
def poisson(k, mu):
    return (k / mu - 1,)


def _bernoulli_by_p(k, p):
    return (np.where(k == 0, -1.0, 0.0),)


@discrete(stats.bernoulli, [0, 1, 0, 1], (0.2, 0.8), by_shapes=_bernoulli_by_p)
def bernoulli(k, p):
    return (np.where(k == 1, 1 / p, -1 / (1 - p)),)


def _geom_by_p(k, p):
    return (np.where(k >= 1, k * (1 - p) ** (k - 1), 0.0),)


@discrete(stats.geom, [1, 2, 3, 5], (0.2, 0.8), by_shapes=_geom_by_p)
def geom(k, p):
    return (1 / p - (k - 1) / (1 - p),)


def _binom_by_p(k, n, p):
    return None, -n * stats.binom.pmf(k, n - 1, p)


@discrete(stats.binom, [0, 1, 3, 4], 6, (0.2, 0.8), by_shapes=_binom_by_p)
def binom(k, n, p):
    return None, k / p - (n - k) / (1 - p)


def _nbinom_by_shapes(k, n, p):
    at = np.where(k < 0, 0.0, k)
    log_by_p = (n - 1) * np.log(p) + at * np.log1p(-p) - special.betaln(n, at + 1)
    by_n = np.where(k < 0, 0.0, betainc_by_a(n, at + 1, p))
    return by_n, np.where(k < 0, 0.0, np.exp(log_by_p))


@discrete(stats.nbinom, [0, 1, 3, 4], (0.6, 3.0), (0.2, 0.8), by_shapes=_nbinom_by_shapes)
def nbinom(k, n, p):
    by_n = special.digamma(n + k) - special.digamma(n) + np.log(p)
    return by_n, n / p - k / (1 - p)


@discrete(stats.betabinom, [0, 1, 3, 4], 6, (0.6, 3.0), (0.6, 3.0))
def betabinom(k, n, a, b):
    both = special.digamma(a + b) - special.digamma(n + a + b)
    by_a = special.digamma(k + a) - special.digamma(a) + both
    return by_a, special.digamma(n - k + b) - special.digamma(b) + both


of_whole_numbers(stats.hypergeom)
