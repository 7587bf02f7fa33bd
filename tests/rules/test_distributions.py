"""Methods of `scipy.stats` distributions, frozen or not, held in variables and containers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.stats import norm

import srcad
from srcad import rules
from srcad.testing import check_grads

X = np.array([-0.4, 0.3, 1.7])
POSITIVE = np.array([0.4, 1.3, 2.7])
FROZEN = norm(0.5, scale=2.0)


class Model:
    def __init__(self):
        self.noise = norm(0.5, scale=2.0)


MODEL = Model()


def by_keywords(x, m):
    return np.sum(stats.norm.logpdf(x, loc=m, scale=2.0))


def scale_alone(x, s):
    return np.sum(norm.logpdf(x, scale=s))


def frozen_in_function(x, m, s):
    noise = norm(loc=m, scale=s)
    return np.sum(noise.logpdf(x)) + noise.cdf(0.5)


def frozen_of_the_module(x):
    return np.sum(FROZEN.logpdf(x))


def frozen_in_attribute(x):
    return np.sum(MODEL.noise.logsf(x))


def frozen_in_list(x, m):
    return sum(np.sum(d.logcdf(x)) for d in [norm(m), norm(loc=m, scale=2.0)])


def frozen_in_dict(x, m):
    parts = {"a": norm(m), "b": stats.laplace(m, 2.0)}
    return np.sum(parts["a"].pdf(x)) * np.sum(parts["b"].pdf(x))


def shapes_by_name(x, a):
    return np.sum(stats.gamma.logpdf(x, a=a, scale=2.0))


def counts(mu):
    return np.sum(stats.poisson.logpmf(np.array([0, 3, 1]), mu))


def quantiles(q, m):
    return np.sum(norm.ppf(q, loc=m, scale=m * m))


def mixture(x, m, w):
    return np.sum(np.log(w * norm.pdf(x, m, 1.0) + (1 - w) * norm.pdf(x, -m, 2.0)))


def censored(x, m, s):
    return np.sum(np.where(x > 1.0, norm.logsf(x, m, s), norm.logpdf(x, m, s)))


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (by_keywords, (X, 0.3)),
        (scale_alone, (X, 1.4)),
        (frozen_in_function, (X, 0.3, 1.4)),
        (frozen_of_the_module, (X,)),
        (frozen_in_attribute, (X,)),
        (frozen_in_list, (X, 0.3)),
        (frozen_in_dict, (X, 0.8)),
        (shapes_by_name, (POSITIVE, 1.7)),
        (counts, (1.6,)),
        (quantiles, (np.array([0.2, 0.7]), 0.8)),
        (mixture, (X, 0.8, 0.3)),
        (censored, (X, 0.8, 1.3)),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_distribution_has_derivatives_in_both_modes(f, args):
    assert srcad.value_and_grad(f)(*args)[0] == f(*args)
    check_grads(f, args, order=2)


def test_log_density_outside_the_support_has_derivative_zero():
    def f(x, a):
        return stats.gamma.logpdf(x, a)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x_bar, a_bar = srcad.pullback(f, np.array([-1.0, 0.5]), 2.0)[1](np.ones(2))

    assert x_bar[0] == 0.0
    assert a_bar == pytest.approx(np.log(0.5) - (1 - np.euler_gamma))


def test_probability_of_zero_has_derivative_zero():
    def f(x):
        return np.sum(stats.uniform.logsf(x))

    assert np.array_equal(srcad.grad(f)(np.array([0.5, 2.0])), [-2.0, 0.0])


def test_distribution_function_by_shape_without_formula_is_refused():
    with pytest.raises(srcad.errors.SrcadError, match="no closed form"):
        srcad.grad(lambda kappa: stats.vonmises.cdf(0.5, kappa))(3.0)


def test_distribution_of_another_class_is_refused_by_its_name():
    with pytest.raises(srcad.errors.MissingRuleError, match=r"scipy\.stats\.levy\.logpdf"):
        srcad.grad(lambda x: stats.levy.logpdf(x))(3.0)


def test_returned_frozen_distribution_is_one_of_scipy():
    (value, noise), slope = srcad.value_and_grad(lambda m: (m * m, norm(m)), has_aux=True)(1.5)

    assert (value, slope) == (2.25, 3.0)
    assert type(noise) is type(norm(1.5))
    assert noise.args == (1.5,)


def test_complex_operand_of_distribution_is_refused():
    with pytest.raises(srcad.errors.UnsupportedTypeError, match=r"norm\.logpdf of complex"):
        srcad.jvp(lambda x: norm.logpdf(x), (1.0 + 1j,), (1.0,))


def test_rule_of_a_method_is_named_as_users_write_it():
    assert rules.registry.qualified_name(stats.norm.logpdf) == "scipy.stats.norm.logpdf"


def test_code_of_normal_likelihood_is_that_of_a_person():
    def nll(mu, sigma, x):
        return -np.sum(stats.norm.logpdf(x, mu, sigma))

    source = srcad.inspect(nll, 0.3, 1.2, X).adjoint_source

    assert "mu_bar = -(seed * (np.sum(x - mu) / sigma / sigma))" in source


@pytest.mark.parametrize(
    ("family", "points", "shapes", "slopes"),
    [
        # The density of both for shape 0 is that of a limit, the Gumbel and the exponential one.
        (stats.genextreme, [5.0, -3.0, 0.3], [0.25, -0.5, 0.0], [0.0, 0.0, np.expm1(-0.3)]),
        (stats.genpareto, [-1.0, 0.0, 2.5, 0.3], [0.5, 0.5, -0.5, 0.0], [0.0, -1.5, 0.0, -1.0]),
        # A kink at the mode, which is taken from the right; shapes 0 and 1 have no second side.
        (stats.triang, [-0.1, 1.1, 0.5, 0.0, 1.0], [0.3, 0.3, 0.5, 0.0, 1.0], [0, 0, -2, -1, 1]),
        (stats.loglaplace, [-1.0, 0.5, 1.0], [2.0, 2.0, 2.0], [0.0, 2.0, -3.0]),
        (stats.wrapcauchy, [-1.0, 0.0, 7.0], [0.5, 0.5, 0.5], [0.0, 0.0, 0.0]),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_slope_of_log_density_at_edges(family, points, shapes, slopes):
    def f(x, c):
        return np.sum(family.logpdf(x, c))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x_bar, c_bar = srcad.pullback(f, np.array(points), np.array(shapes))[1](1.0)

    assert np.allclose(x_bar, slopes, rtol=1e-12)
    assert np.all(np.isfinite(c_bar))


def test_log_density_of_extreme_values_by_shape_is_smooth_at_shape_zero():
    def f(c):
        return stats.genextreme.logpdf(0.7, c) + stats.genpareto.logpdf(0.7, c)

    near, far = srcad.grad(f)(0.0), (f(1e-4) - f(-1e-4)) / 2e-4

    assert near == pytest.approx(far, rel=1e-6)
    check_grads(f, (0.0,), order=2)


@pytest.mark.parametrize("k", [0.05, 1.0, 40.0])
def test_normal_with_exponential_noise_by_its_shape(k):
    def f(x, shape):
        return np.sum(stats.exponnorm.logpdf(x, shape))

    x = np.array([-1.5, 0.2, 1.3])
    by_k = srcad.grad(f, wrt=1)(x, k)
    h = 1e-3 * k

    assert by_k == pytest.approx((f(x, k + h) - f(x, k - h)) / (2 * h), rel=1e-4)


def test_parameters_that_are_whole_numbers_have_no_derivative():
    def f(x):
        return x * stats.hypergeom.logpmf(2, 9, 4, N=5) * stats.hypergeom(9, 4, 5).pmf(2)

    assert srcad.grad(f)(3.0) == f(1.0)


def test_probability_of_counts_by_its_probabilities():
    x, p = np.array([[1, 0, 3], [2, 2, 0], [2, 2, 2]]), np.array([0.25, 0.25, 0.5])

    def f(p):
        return stats.multinomial.logpmf(x, 4, p)

    (p_bar,) = srcad.pullback(f, p)[1](np.ones(3))

    assert np.array_equal(p_bar, np.sum(x[:2], axis=0) / p)  # the last row has another sum
    q_bar = srcad.grad(lambda p: stats.multinomial(4, p).pmf(x[0]))(p)
    assert np.allclose(q_bar, np.exp(f(p)[0]) * x[0] / p, rtol=1e-14)


def test_probabilities_whose_sum_is_not_one():
    x, p = np.array([1, 0, 3]), np.array([0.25, 0.25, 0.6])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        y, pull = srcad.pullback(lambda p: stats.multinomial.logpmf(x, 4, p), p)

    # SciPy before 1.18 puts 0.5 for the last entry.
    expected = [np.nan] * 3 if np.isnan(y) else [-2.0, -6.0, 0.0]
    assert np.allclose(pull(1.0)[0], expected, equal_nan=True)


def entropies(m, a, b, s):
    noise = stats.gamma(a, scale=s)
    return norm.entropy(m, s) + noise.entropy() + stats.beta.entropy(a, b) + stats.t.entropy(3 * a)


def centres(m, a, b, s):
    return stats.beta.mean(a, b, m, s) * stats.gamma.median(a, m, s) + norm(m, s).mean()


def spreads(m, a, b, s):
    return stats.lognorm.var(a / 2, m, s) * stats.beta.std(a, b, scale=s) + norm.std(m, s)


@pytest.mark.parametrize("f", [entropies, centres, spreads])
def test_numbers_of_a_distribution_have_derivatives(f):
    args = (0.3, 1.3, 2.4, 1.5)

    assert srcad.value_and_grad(f)(*args)[0] == f(*args)
    check_grads(f, args, order=1)


def test_results_of_regression_and_correlation_are_read_by_name():
    x, y = np.array([0.1, 0.9, 2.3, 3.1]), np.array([0.4, 0.2, 1.9, 1.1])

    def f(x, y):
        line, both = stats.linregress(x, y), stats.pearsonr(x, y)
        found = line.slope + 2 * line.intercept - line.rvalue * line.pvalue + 3 * line.stderr
        return found + both.statistic * both.pvalue + both[0]

    assert srcad.value_and_grad(f)(x, y)[0] == f(x, y)
    check_grads(f, (x, y), order=2)


def test_ranks_are_constant_and_a_mode_has_no_derivative():
    x = np.array([1.0, 3.0, 1.0])

    assert np.array_equal(srcad.grad(lambda x: np.sum(x * stats.rankdata(x)))(x), [1.5, 3.0, 1.5])
    with pytest.raises(srcad.errors.NotDifferentiableError, match="most frequent number"):
        srcad.grad(lambda x: stats.mode(x)[0])(x)


ISOTROPIC = {
    "density": lambda c: np.sum(stats.multivariate_normal.pdf(POINTS, CENTRE, c)),
    "logarithm": lambda c: np.sum(stats.multivariate_normal.logpdf(POINTS, CENTRE, c) ** 2),
    "of t": lambda c: np.sum(stats.multivariate_t.logpdf(POINTS, CENTRE, c, 3.5)),
}
POINTS = np.array([[0.3, -0.8, 1.1], [0.9, 0.2, -0.4]])
CENTRE = np.array([0.1, -0.2, 0.4])


@pytest.mark.parametrize("name", ISOTROPIC)
def test_multivariate_density_with_covariance_that_is_a_number(name):
    check_grads(ISOTROPIC[name], (1.3,), order=1)
