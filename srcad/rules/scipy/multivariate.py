"""Multivariate distributions, entropy and standard scores of `scipy.stats`.

A matrix that has to be symmetric has a symmetric cotangent, as that of `np.linalg.cholesky` is.
The formulas follow from those of the densities by ``d log|C| = tr(C^-1 dC)``.
"""

import math

import numpy as np
from scipy import special, stats

from srcad.rules import registry
from srcad.rules.declare import adjoint
from srcad.rules.reduction import kept
from srcad.rules.row import NoPartial
from srcad.runtime import unbroadcast


# ------------------------------------------------------------------------ normal, t
def _matrix(cov, dim):
    """Return a covariance as SciPy reads it: a number, a diagonal or a matrix."""
    if np.ndim(cov) == 2:
        return cov
    return np.diag(cov) if np.ndim(cov) == 1 else cov * np.eye(dim)


def _as_given(bar, cov):
    if np.ndim(cov) == 2:
        return bar
    return np.diagonal(bar) if np.ndim(cov) == 1 else np.trace(bar)


def _dim(mean, cov):
    if mean is not None:
        return np.size(mean)
    return np.shape(cov)[0] if np.ndim(cov) else 1


def _normal(g, x, mean, cov):
    """Return the cotangents of `x`, `mean` and `cov` for those of the log-densities."""
    dim = _dim(mean, cov)
    c = _matrix(cov, dim)
    e = np.reshape(x, (-1, dim))
    if mean is not None:
        e = e - np.reshape(mean, (1, dim))
    s = np.linalg.solve(c, e.T).T
    weighted = np.reshape(g, (-1, 1)) * s
    c_bar = 0.5 * (s.T @ weighted - np.sum(g) * np.linalg.inv(c))
    mean_bar = None if mean is None else np.reshape(np.sum(weighted, axis=0), np.shape(mean))
    return np.reshape(-weighted, np.shape(x)), mean_bar, _as_given(c_bar, cov)


def _normal_samples(f, near, array, spd):
    x, mean, cov = array(5, 3), array(3), spd(3, 3)
    return [f(x, mean, cov), f(array(3), mean, cov), f(x, mean, near(0.5, 2.0, 3)),
            f(x, mean, 0.7), f(x, mean, cov, allow_singular=True)]  # fmt: skip


_ACTIVE = ("x", "mean", "cov")


@adjoint(stats.multivariate_normal.logpdf, active=_ACTIVE, samples=_normal_samples)
def normal_logpdf(y_bar, y, x, mean=None, cov=1.0, allow_singular=False):
    return _normal(y_bar, x, mean, cov)


@adjoint(stats.multivariate_normal.pdf, active=_ACTIVE, samples=_normal_samples)
def normal_pdf(y_bar, y, x, mean=None, cov=1.0, allow_singular=False):
    return _normal(y_bar * y, x, mean, cov)


@adjoint(
    stats.multivariate_normal.entropy,
    active=("mean", "cov"),
    samples=lambda f, near, array, spd: [f(array(3), spd(3, 3)), f(array(3), near(0.5, 2.0, 3))],
)
def normal_entropy(y_bar, y, mean=None, cov=1.0):
    """Half of the logarithm of the determinant of the covariance, and a constant."""
    return None, _as_given(0.5 * y_bar * np.linalg.inv(_matrix(cov, _dim(mean, cov))), cov)


registry.add_receiver(stats.multivariate_normal, "scipy.stats.multivariate_normal")


def _student(g, x, loc, shape, df):
    dim = _dim(loc, shape)
    c = _matrix(shape, dim)
    e = np.reshape(x, (-1, dim))
    if loc is not None:
        e = e - np.reshape(loc, (1, dim))
    s = np.linalg.solve(c, e.T).T
    q = np.sum(e * s, axis=1, keepdims=True)
    column = np.reshape(g, (-1, 1))
    w = (df + dim) / (df + q)
    weighted = column * w * s
    c_bar = 0.5 * (s.T @ weighted - np.sum(g) * np.linalg.inv(c))
    loc_bar = None if loc is None else np.reshape(np.sum(weighted, axis=0), np.shape(loc))
    constant = special.digamma((df + dim) / 2) - special.digamma(df / 2) - dim / df
    df_bar = 0.5 * np.sum(column * (constant - np.log1p(q / df) + w * q / df))
    return np.reshape(-weighted, np.shape(x)), loc_bar, _as_given(c_bar, shape), df_bar


def _student_samples(f, near, array, spd):
    return [f(array(5, 3), array(3), spd(3, 3), 3.5), f(array(3), array(3), spd(3, 3), 2.5)]


_STUDENT = ("x", "loc", "shape", "df")


@adjoint(stats.multivariate_t.logpdf, active=_STUDENT, samples=_student_samples)
def student_logpdf(y_bar, y, x, loc=None, shape=1.0, df=1.0):
    return _student(y_bar, x, loc, shape, df)


@adjoint(stats.multivariate_t.pdf, active=_STUDENT, samples=_student_samples)
def student_pdf(y_bar, y, x, loc=None, shape=1.0, df=1.0):
    return _student(y_bar * y, x, loc, shape, df)


registry.add_receiver(stats.multivariate_t, "scipy.stats.multivariate_t")


# ------------------------------------------------------------------------ Dirichlet, Wishart
def _dirichlet(g, x, alpha):
    """`x` has one row per entry of `alpha`, or one less: the last follows from the sum."""
    rest = np.shape(x)[0] < np.size(alpha)
    full = np.concatenate([x, 1.0 - np.sum(x, axis=0, keepdims=True)]) if rest else x
    column = np.reshape(alpha, (-1,) + (1,) * (np.ndim(x) - 1))
    by_full = g * (column - 1) / full
    x_bar = by_full[:-1] - by_full[-1:] if rest else by_full
    by_alpha = special.digamma(np.sum(alpha)) - special.digamma(column) + np.log(full)
    return x_bar, np.sum(np.reshape(g * by_alpha, (np.size(alpha), -1)), axis=1)


def _dirichlet_samples(f, near):
    x = near(0.2, 0.4, 3)
    alpha = near(0.6, 3.0, 3)
    return [f(x[:2] / 2, alpha)]


@adjoint(stats.dirichlet.logpdf, samples=_dirichlet_samples)
def dirichlet_logpdf(y_bar, y, x, alpha):
    return _dirichlet(y_bar, x, alpha)


@adjoint(stats.dirichlet.pdf, samples=_dirichlet_samples)
def dirichlet_pdf(y_bar, y, x, alpha):
    return _dirichlet(y_bar * y, x, alpha)


registry.add_receiver(stats.dirichlet, "scipy.stats.dirichlet")

_MANY = NoPartial("the Wishart density of several matrices at once has no derivative rule")


def _wishart(g, x, df, scale):
    if np.ndim(x) > 2:
        return _MANY, _MANY, _MANY
    p = np.shape(x)[0]
    inverse = np.linalg.inv(scale)
    x_bar = 0.5 * g * ((df - p - 1) * np.linalg.inv(x) - inverse)
    scale_bar = 0.5 * g * (inverse @ x @ inverse - df * inverse)
    log_ratio = np.linalg.slogdet(x)[1] - np.linalg.slogdet(scale)[1]
    psi = np.sum(special.digamma((df - np.arange(p)) / 2))
    return x_bar, 0.5 * g * (log_ratio - p * math.log(2.0) - psi), scale_bar


def _wishart_samples(f, near, spd):
    return [f(spd(3, 3), 4.5, spd(3, 3))]


@adjoint(stats.wishart.logpdf, samples=_wishart_samples)
def wishart_logpdf(y_bar, y, x, df, scale):
    return _wishart(y_bar, x, df, scale)


@adjoint(stats.wishart.pdf, samples=_wishart_samples)
def wishart_pdf(y_bar, y, x, df, scale):
    return _wishart(y_bar * y, x, df, scale)


registry.add_receiver(stats.wishart, "scipy.stats.wishart")


def _invwishart(g, x, df, scale):
    if np.ndim(x) > 2:
        return _MANY, _MANY, _MANY
    p = np.shape(x)[0]
    inverse = np.linalg.inv(x)
    x_bar = 0.5 * g * (inverse @ scale @ inverse - (df + p + 1) * inverse)
    scale_bar = 0.5 * g * (df * np.linalg.inv(scale) - inverse)
    log_ratio = np.linalg.slogdet(scale)[1] - np.linalg.slogdet(x)[1]
    psi = np.sum(special.digamma((df - np.arange(p)) / 2))
    return x_bar, 0.5 * g * (log_ratio - p * math.log(2.0) - psi), scale_bar


@adjoint(stats.invwishart.logpdf, samples=_wishart_samples)
def invwishart_logpdf(y_bar, y, x, df, scale):
    return _invwishart(y_bar, x, df, scale)


@adjoint(stats.invwishart.pdf, samples=_wishart_samples)
def invwishart_pdf(y_bar, y, x, df, scale):
    return _invwishart(y_bar * y, x, df, scale)


registry.add_receiver(stats.invwishart, "scipy.stats.invwishart")


# ------------------------------------------------------------------------ normal matrices
def _matrix_normal(g, x, mean, rowcov, colcov):
    """`x` is a matrix, or a stack of them."""
    rows, columns = np.shape(x)[-2:]
    r = np.linalg.inv(_matrix(rowcov, rows))
    c = np.linalg.inv(_matrix(colcov, columns))
    e = np.reshape(x if mean is None else x - mean, (-1, rows, columns))
    by_row, by_column = r @ e, e @ c
    weighted = np.reshape(g, (-1, 1, 1)) * (by_row @ c)
    outer = np.sum(weighted @ np.swapaxes(by_row, 1, 2), axis=0)
    r_bar = 0.5 * (outer - columns * np.sum(g) * r)
    inner = np.sum(np.swapaxes(weighted, 1, 2) @ by_column, axis=0)
    c_bar = 0.5 * (inner - rows * np.sum(g) * c)
    mean_bar = None if mean is None else np.sum(weighted, axis=0)
    return (
        np.reshape(-weighted, np.shape(x)),
        mean_bar,
        _as_given(r_bar, rowcov),
        _as_given(c_bar, colcov),
    )


def _matrix_normal_samples(f, near, array, spd):
    x, mean, r, c = array(3, 2), array(3, 2), spd(3, 3), spd(2, 2)
    return [f(x, mean, r, c), f(array(2, 3, 2), mean, r, c), f(x, mean, near(0.5, 2.0, 3), c)]


_MATRICES = ("X", "mean", "rowcov", "colcov")


@adjoint(stats.matrix_normal.logpdf, active=_MATRICES, samples=_matrix_normal_samples)
def matrix_normal_logpdf(y_bar, y, X, mean=None, rowcov=1.0, colcov=1.0):
    return _matrix_normal(y_bar, X, mean, rowcov, colcov)


@adjoint(stats.matrix_normal.pdf, active=_MATRICES, samples=_matrix_normal_samples)
def matrix_normal_pdf(y_bar, y, X, mean=None, rowcov=1.0, colcov=1.0):
    return _matrix_normal(y_bar * y, X, mean, rowcov, colcov)


registry.add_receiver(stats.matrix_normal, "scipy.stats.matrix_normal")


# ------------------------------------------------------------------------ counts
def _multinomial(g, y, impossible, x, p):
    """SciPy before 1.18 puts ``1 - sum(p[:-1])`` for the last entry if the sum of `p` is not 1."""
    inside = np.expand_dims(y > impossible, -1) & (x > 0)
    excess = 1 - np.sum(p, axis=-1, keepdims=True)
    replaced = np.abs(excess) > 10 * np.finfo(np.result_type(p, np.float32)).eps
    last = np.arange(np.shape(p)[-1]) == np.shape(p)[-1] - 1
    used = np.where(replaced & last, p + excess, p)
    by_p = np.where(inside, x / np.where(inside, used, 1.0), 0.0)
    by_last = np.sum(np.where(last, by_p, 0.0), axis=-1, keepdims=True)
    by_p = np.where(replaced, by_p - by_last, by_p)
    by_p = np.where(np.isnan(np.expand_dims(y, -1)), np.nan, by_p)
    return None, None, unbroadcast(np.expand_dims(g, -1) * by_p, p)


_COUNTS = ("x", "n", "p")


@adjoint(stats.multinomial.logpmf, active=_COUNTS, samples=())
def multinomial_logpmf(y_bar, y, x, n, p):
    """The derivative by an entry of `p` is ``x / p``, as if the entries were independent.

    SciPy 1.18 evaluates the formula for `p` with the sum 1 alone, and is nan elsewhere.
    """
    return _multinomial(y_bar, y, -np.inf, x, p)


@adjoint(stats.multinomial.pmf, active=_COUNTS, samples=())
def multinomial_pmf(y_bar, y, x, n, p):
    """As of `multinomial_logpmf`."""
    return _multinomial(y_bar * y, y, 0.0, x, p)


registry.add_receiver(stats.multinomial, "scipy.stats.multinomial")


# ------------------------------------------------------------------------ entropy, scores
def _entropy_samples(f, near):
    p, q = near(0.2, 2.0, 4), near(0.3, 1.5, 4)
    m = near(0.2, 2.0, 4, 3)
    return [f(p), f(p, q), f(m), f(m, None, 2.0, 1), f(m, m[::-1], None, 1), f(m, axis=-1)]


@adjoint(stats.entropy, active=("pk", "qk"), samples=_entropy_samples)
def entropy(y_bar, y, pk, qk=None, base=None, axis=0):
    total = np.sum(pk, axis=axis, keepdims=True)
    p = pk / total
    unit = 1.0 if base is None else 1.0 / math.log(base)
    g, s = kept(y_bar, pk, axis, False), kept(y, pk, axis, False)
    if qk is None:
        return -g * (unit * np.log(p) + s) / total, None
    whole = np.sum(qk, axis=axis, keepdims=True)
    q = qk / whole
    return g * (unit * np.log(p / q) - s) / total, g * unit * (1 - p / q) / whole


def _zscore_samples(f, v, m):
    return [f(v), f(m), f(m, 1), f(m, None), f(m, 0, 1), f(m, axis=-1, ddof=1)]


@adjoint(stats.zscore, real_only=True, active=("a",), entries="lines", samples=_zscore_samples)
def zscore(y_bar, y, a, axis=0, ddof=0):
    count = np.size(a) if axis is None else np.shape(a)[axis]
    mean = np.mean(y_bar, axis=axis, keepdims=True)
    along = np.sum(y_bar * y, axis=axis, keepdims=True) / (count - ddof)
    return (y_bar - mean - y * along) / np.std(a, axis=axis, ddof=ddof, keepdims=True)


# ------------------------------------------------------------------------ means and moments
def _count(a, axis):
    return np.size(a) if axis is None else np.shape(a)[axis]


def _positive_samples(f, near):
    v, m = near(0.3, 2.0, 4), near(0.3, 2.0, 3, 4)
    return [f(v), f(m), f(m, 1), f(m, axis=-1), f(m, None)]


@adjoint(stats.gmean, real_only=True, active=("a",), samples=_positive_samples)
def gmean(y_bar, y, a, axis=0):
    return kept(y_bar * y, a, axis, False) / (_count(a, axis) * a)


@adjoint(stats.hmean, real_only=True, active=("a",), samples=_positive_samples)
def hmean(y_bar, y, a, axis=0):
    return kept(y_bar * y * y, a, axis, False) / (_count(a, axis) * a * a)


def _power_samples(f, near):
    m = near(0.3, 2.0, 3, 4)
    return [f(m[0], 2.5), f(m, -1.5, axis=1), f(m, 3.0)]


@adjoint(stats.pmean, real_only=True, active=("a",), samples=_power_samples)
def pmean(y_bar, y, a, p, *, axis=0):
    return kept(y_bar * y ** (1 - p), a, axis, False) * a ** (p - 1) / _count(a, axis)


def _moment_samples(f, v, m):
    return [f(v), f(m), f(m, 1), f(m, axis=-1), f(m, None)]


def _centred(a, axis):
    return a - np.mean(a, axis=axis, keepdims=True)


@adjoint(stats.sem, real_only=True, active=("a",), samples=lambda f, v, m: [
    *_moment_samples(f, v, m), f(v, ddof=0), f(m, 1, 2), f(m, axis=None, ddof=2)],
    kinks=lambda f: [(f([1, 1, 1]), [0, 0, 0])],
)  # fmt: skip
def sem(y_bar, y, a, axis=0, ddof=1):
    """For equal numbers: 0, as for the standard deviation."""
    count = _count(a, axis)
    return (
        kept(y_bar / (y + (y == 0)), a, axis, False) * _centred(a, axis) / ((count - ddof) * count)
    )


def _standardised(y_bar, a, axis, order, factor):
    """Return the cotangent of `factor` times the mean of ``z**order``, of standard scores."""
    c, count = _centred(a, axis), _count(a, axis)
    sigma = np.sqrt(np.mean(c * c, axis=axis, keepdims=True))
    z = c / sigma
    low = np.mean(z ** (order - 1), axis=axis, keepdims=True)
    moment = np.mean(z**order, axis=axis, keepdims=True)
    by_z = z ** (order - 1) - low - moment * z
    return kept(y_bar, a, axis, False) * (order * factor / count) * by_z / sigma


def _bias_samples(f, v, m):
    return [f(v), f(m, 1), f(m, axis=-1), f(m, None), f(m, 1, False)]


@adjoint(stats.skew, real_only=True, active=("a",), samples=_bias_samples)
def skew(y_bar, y, a, axis=0, bias=True):
    n = _count(a, axis)
    factor = 1.0 if bias or n <= 2 else math.sqrt(n * (n - 1)) / (n - 2)
    return _standardised(y_bar, a, axis, 3, factor)


def _kurtosis_samples(f, v, m):
    return [f(v), f(m, 1), f(m, axis=-1), f(m, None), f(m, 1, False), f(m, 1, True, False)]


@adjoint(stats.kurtosis, real_only=True, active=("a",), samples=_kurtosis_samples)
def kurtosis(y_bar, y, a, axis=0, fisher=True, bias=True):
    n = _count(a, axis)
    factor = 1.0 if bias or n <= 3 else (n * n - 1) / ((n - 2) * (n - 3))
    return _standardised(y_bar, a, axis, 4, factor)
