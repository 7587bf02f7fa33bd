"""Distribution functions of scipy.special: binomial, Poisson, chi-squared, F, Student's t."""

import math

import numpy as np
from scipy import special

from srcad.rules.declare import derivative
from srcad.rules.row import NoPartial
from srcad.rules.scipy.families import moment
from srcad.rules.scipy.special_elementary import exprel_slope
from srcad.rules.scipy.special_incomplete import (
    beta_density,
    betainc_by_a,
    betainc_by_b,
    gamma_density,
    gammainc_by_a,
)

_COUNT = NoPartial("the number of events or trials is a whole number")


def of_counts(f, near):
    """Samples: the number of events and of trials."""
    return [f(2, np.array([5, 4, 3, 6]), near(0.2, 0.8, 4)), f(1, 3, 0.4)]


# ------------------------------------------------------------------------ whole numbers
def binomial_slope(k, n, p):
    """The density of ``bdtrc`` (DLMF 8.17.5)."""
    events = np.floor(k)
    inside = (events >= 0) & (events < n)
    a, b = np.where(inside, events + 1, 1.0), np.where(inside, n - events, 1.0)
    return np.where(inside, beta_density(a, b, p), 0.0)


@derivative(special.bdtr, samples=of_counts)
def bdtr(k, n, p):
    return _COUNT, _COUNT, -binomial_slope(k, n, p)


@derivative(special.bdtrc, samples=of_counts)
def bdtrc(k, n, p):
    return _COUNT, _COUNT, binomial_slope(k, n, p)


@derivative(special.nbdtr, samples=of_counts)
def nbdtr(k, n, p):
    return _COUNT, _COUNT, beta_density(n, np.floor(k) + 1, p)


@derivative(special.nbdtrc, samples=of_counts)
def nbdtrc(k, n, p):
    return _COUNT, _COUNT, -beta_density(n, np.floor(k) + 1, p)


@derivative(special.pdtr, samples=lambda f, near: [f(2, near(0.4, 3.0, 4)), f(0, 0.7)])
def pdtr(k, m):
    """DLMF 8.4.10."""
    return _COUNT, -gamma_density(np.floor(k + 0 * m) + 1, m)


@derivative(special.pdtrc, samples=lambda f, near: [f(2, near(0.4, 3.0, 4)), f(0, 0.7)])
def pdtrc(k, m):
    """DLMF 8.4.10."""
    return _COUNT, gamma_density(np.floor(k + 0 * m) + 1, m)


# ------------------------------------------------------------------------ chi-squared and gamma
@derivative(special.chdtr, samples=(0.4, 3))
def chdtr(v, x):
    """``gammainc(v / 2, x / 2)``."""
    return 0.5 * gammainc_by_a(0.5 * v, 0.5 * x), 0.5 * gamma_density(0.5 * v, 0.5 * x)


@derivative(special.chdtrc, samples=(0.4, 3))
def chdtrc(v, x):
    """``gammaincc(v / 2, x / 2)``."""
    return -0.5 * gammainc_by_a(0.5 * v, 0.5 * x), -0.5 * gamma_density(0.5 * v, 0.5 * x)


@derivative(special.chdtri, samples=lambda f, near: [f(near(0.5, 3.0, 4), near(0.2, 0.8, 4))])
def chdtri(v, p, *, y):
    """The inverse of `chdtrc`."""
    density = gamma_density(0.5 * v, 0.5 * y)
    return -gammainc_by_a(0.5 * v, 0.5 * y) / density, -2 / density


def of_gamma(f, near):
    """Samples: rate, shape and a positive number."""
    return [f(near(0.5, 2.0, 4), near(0.5, 3.0, 4), near(0.4, 3.0, 4)), f(0.5, 2.5, 1.5)]


@derivative(special.gdtr, samples=of_gamma)
def gdtr(a, b, x):
    """``gammainc(b, a x)``."""
    density = gamma_density(b, a * x)
    return moment(density, x), gammainc_by_a(b, a * x), moment(density, a)


@derivative(special.gdtrc, samples=of_gamma)
def gdtrc(a, b, x):
    """``gammaincc(b, a x)``."""
    density = gamma_density(b, a * x)
    return -moment(density, x), -gammainc_by_a(b, a * x), -moment(density, a)


# ------------------------------------------------------------------------ F and Student's t
def f_slopes(m, n, x):
    """The slopes of ``betainc(m / 2, n / 2, m x / (n + m x))``, the distribution function of F."""
    total = n + m * x
    w = m * x / total
    density = beta_density(0.5 * m, 0.5 * n, w) / (total * total)
    by_m = 0.5 * betainc_by_a(0.5 * m, 0.5 * n, w) + density * n * x
    by_n = 0.5 * betainc_by_b(0.5 * m, 0.5 * n, w) - density * m * x
    return by_m, by_n, density * m * n


def of_f(f, near):
    """Samples: two degrees of freedom and a positive number."""
    return [f(near(1.0, 4.0, 4), near(1.0, 4.0, 4), near(0.4, 3.0, 4)), f(2.5, 3.5, 0.7)]


@derivative(special.fdtr, samples=of_f)
def fdtr(dfn, dfd, x):
    """``betainc(dfn / 2, dfd / 2, dfn x / (dfd + dfn x))``."""
    by_m, by_n, by_x = f_slopes(dfn, dfd, x)
    return by_m, by_n, by_x


@derivative(special.fdtrc, samples=of_f)
def fdtrc(dfn, dfd, x):
    """``1 - fdtr(dfn, dfd, x)``."""
    by_m, by_n, by_x = f_slopes(dfn, dfd, x)
    return -by_m, -by_n, -by_x


@derivative(special.fdtri, samples=lambda f, near: [
    f(near(1.0, 4.0, 4), near(1.0, 4.0, 4), near(0.2, 0.8, 4))])  # fmt: skip
def fdtri(dfn, dfd, p, *, y):
    by_m, by_n, by_x = f_slopes(dfn, dfd, y)
    return -by_m / by_x, -by_n / by_x, 1 / by_x


def student_density(df, t):
    """The density of Student's distribution."""
    power = -0.5 * (df + 1) * np.log1p(t * t / df)
    half = 0.5 * df / df  # of the dtype of `df`: a Python number would widen float32
    return np.exp(power - special.betaln(half, 0.5 * df)) / np.sqrt(df)


def student_by_df(df, t):
    """The derivative of ``stdtr`` by `df`, by the smaller one of two arguments of ``betainc``."""
    square = t * t
    total = df + square
    tail = np.where(
        square < df,
        -betainc_by_b(0.5, 0.5 * df, square / total),
        betainc_by_a(0.5 * df, 0.5, df / total),
    )
    return -0.25 * np.sign(t) * tail - 0.5 * moment(student_density(df, t), t) / df


@derivative(special.stdtr, samples=lambda f, near: [
    f(near(1.0, 4.0, 4), near(-2.0, 2.0, 4)), f(2.5, 0.7)])  # fmt: skip
def stdtr(df, t):
    """The density of Student's distribution; by `df` through ``betainc`` (DLMF 8.17)."""
    return student_by_df(df, t), student_density(df, t)


@derivative(special.stdtrit, samples=lambda f, near: [
    f(near(1.0, 4.0, 4), near(0.1, 0.4, 4)), f(2.5, 0.7)])  # fmt: skip
def stdtrit(df, p, *, y):
    density = student_density(df, y)
    return -student_by_df(df, y) / density, 1 / density


# ------------------------------------------------------------------------ other distributions
def kolmogorov_density(x):
    """The density of Kolmogorov's distribution: from 1 on its own series, below that of theta."""
    far = np.maximum(x, 1.0)
    s = -2 * far * far
    series = np.exp(s) - 4 * np.exp(4 * s) + 9 * np.exp(9 * s) - 16 * np.exp(16 * s)
    near = np.clip(x, 0.04, 1.0)
    u = math.pi**2 / (8 * near * near)
    theta = (
        (2 * u - 1) * np.exp(-u) + (18 * u - 1) * np.exp(-9 * u) + (50 * u - 1) * np.exp(-25 * u)
    )
    below = math.sqrt(2 * math.pi) * theta / (near * near)
    return np.where(x > 1, 8 * far * series, np.where(x > 0.04, below, 0.0))


@derivative(special.kolmogorov, samples=(0.5, 2))
def kolmogorov(x):
    """Marsaglia, Tsang and Wang (2003), *Evaluating Kolmogorov's distribution*."""
    return -kolmogorov_density(x)


@derivative(special.kolmogi, samples=(0.1, 0.9))
def kolmogi(p, *, y):
    return -1 / kolmogorov_density(y)


@derivative(special.tklmbda, samples=lambda f, near: [
    f(near(-1.0, 1.0, 4), near(0.3, 0.9, 4)), f(0.3, 0.5)])  # fmt: skip
def tklmbda(x, lmbda, *, y):
    """``(y**lmbda - (1 - y)**lmbda) / lmbda = x``; 0 outside of the support."""
    inside = (y > 0) & (y < 1)
    low = np.where(inside, y, 0.5)
    high = np.where(inside, special.tklmbda(-x, lmbda), 0.5)
    density = 1 / (np.power(low, lmbda - 1) + np.power(high, lmbda - 1))
    p, q = np.log(low), np.log(high)
    by_lmbda = p * p * exprel_slope(lmbda * p) - q * q * exprel_slope(lmbda * q)
    return np.where(inside, density, 0.0), np.where(inside, -density * by_lmbda, 0.0)
