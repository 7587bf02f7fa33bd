"""Programs of statistics as people write them with SciPy, and arguments for each."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special, stats
from scipy.special import expit, gammaln, logsumexp
from scipy.stats import norm

RNG = np.random.default_rng(7)
Y = RNG.normal(1.0, 2.0, 12)
X = RNG.normal(size=(12, 3))
COUNTS = RNG.poisson(3.0, 12)
TIMES = RNG.weibull(1.5, 12) + 0.1
EVENTS = RNG.random(12) < 0.7
LABELS = RNG.random(12) < 0.5


def normal_likelihood(mu, log_sigma):
    return -np.sum(norm.logpdf(Y, mu, np.exp(log_sigma)))


def regression(beta, log_sigma):
    noise = norm(scale=np.exp(log_sigma))
    return -noise.logpdf(Y - X @ beta).sum() - norm.logpdf(beta, scale=10.0).sum()


def student_regression(beta, log_scale, log_df):
    return -np.sum(stats.t.logpdf(Y, np.exp(log_df), loc=X @ beta, scale=np.exp(log_scale)))


def gaussian_mixture(logits, means, log_scales):
    logs = norm.logpdf(Y[:, None], means, np.exp(log_scales)) + special.log_softmax(logits)
    return -np.sum(logsumexp(logs, axis=1))


def hidden_markov_model(transition_logits, means):
    log_a = special.log_softmax(transition_logits, axis=1)
    alpha = norm.logpdf(Y[0], means) - np.log(len(means))
    for y in Y[1:]:
        alpha = logsumexp(alpha[:, None] + log_a, axis=0) + norm.logpdf(y, means)
    return -logsumexp(alpha)


def weibull_survival(log_shape, log_scale):
    shape, scale = np.exp(log_shape), np.exp(log_scale)
    seen = stats.weibull_min.logpdf(TIMES, shape, scale=scale)
    later = stats.weibull_min.logsf(TIMES, shape, scale=scale)
    return -np.sum(np.where(EVENTS, seen, later))


def lognormal_survival(mu, log_sigma):
    life = stats.lognorm(np.exp(log_sigma), scale=np.exp(mu))
    total = 0.0
    for time, event in zip(TIMES, EVENTS, strict=True):
        total += life.logpdf(time) if event else life.logsf(time)
    return -total


def poisson_regression(beta):
    return -np.sum(stats.poisson.logpmf(COUNTS, np.exp(X @ beta)))


def negative_binomial(log_mu, log_size):
    mu, size = np.exp(log_mu), np.exp(log_size)
    return -stats.nbinom.logpmf(COUNTS, size, size / (size + mu)).sum()


def zero_inflated_poisson(logit, log_mu):
    pi, mu = expit(logit), np.exp(log_mu)
    zero = np.log(pi + (1 - pi) * np.exp(-mu))
    other = np.log1p(-pi) + stats.poisson.logpmf(COUNTS, mu)
    return -np.sum(np.where(COUNTS == 0, zero, other))


def logistic_regression(beta):
    return -np.sum(np.where(LABELS, special.log_expit(X @ beta), special.log_expit(-X @ beta)))


def probit_regression(beta):
    signs = np.where(LABELS, 1.0, -1.0)
    return -np.sum(special.log_ndtr(signs * (X @ beta)))


def binomial_trials(logit):
    return -np.sum(stats.binom.logpmf(np.minimum(COUNTS, 8), 8, expit(logit)))


def beta_binomial(log_a, log_b):
    a, b, n = np.exp(log_a), np.exp(log_b), 8
    k = np.minimum(COUNTS, n)
    choose = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return -np.sum(choose + special.betaln(k + a, n - k + b) - special.betaln(a, b))


def tobit(beta, log_sigma):
    mu, sigma = X @ beta, np.exp(log_sigma)
    censored = Y <= 0.0
    return -np.sum(np.where(censored, norm.logcdf(0.0, mu, sigma), norm.logpdf(Y, mu, sigma)))


def truncated_normal(mu, log_sigma):
    sigma = np.exp(log_sigma)
    inside = Y[Y > 0.0]
    return -np.sum(norm.logpdf(inside, mu, sigma) - norm.logsf(0.0, mu, sigma))


def gaussian_copula(z_rho):
    rho = np.tanh(z_rho)
    u = stats.rankdata(Y) / 13.0
    v = stats.rankdata(X[:, 0]) / 13.0
    a, b = norm.ppf(u), norm.ppf(v)
    q = (a**2 - 2 * rho * a * b + b**2) / (1 - rho**2)
    return np.sum(0.5 * np.log1p(-(rho**2)) + 0.5 * q - 0.5 * (a**2 + b**2))


def pinball_loss(beta):
    e = Y - X @ beta
    return np.mean(np.maximum(0.9 * e, -0.1 * e))


def black_scholes(spot, strike, rate, volatility, years):
    total = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / total
    return spot * norm.cdf(d1) - strike * np.exp(-rate * years) * norm.cdf(d1 - total)


def gamma_regression(beta, log_shape):
    shape = np.exp(log_shape)
    return -np.sum(stats.gamma.logpdf(TIMES, a=shape, scale=np.exp(X @ beta) / shape))


def dirichlet_multinomial(log_alpha):
    alpha, n = np.exp(log_alpha), np.array([4, 2, 7])
    known = gammaln(np.sum(alpha)) - gammaln(np.sum(alpha) + np.sum(n))
    return -(known + np.sum(gammaln(alpha + n) - gammaln(alpha)))


def multivariate_normal_likelihood(mean, factor):
    cov = factor @ factor.T + np.eye(3)
    return -np.sum(stats.multivariate_normal(mean, cov).logpdf(X))


def von_mises(mu, log_kappa):
    return -np.sum(stats.vonmises.logpdf(Y, np.exp(log_kappa), loc=mu))


def extreme_values(mu, log_scale):
    return -np.sum(stats.gumbel_r.logpdf(Y, mu, np.exp(log_scale)))


def ordered_probit(cuts, beta):
    edges = np.concatenate([np.array([-np.inf]), np.sort(cuts), np.array([np.inf])])
    k = np.minimum(COUNTS, 3)
    eta = X @ beta
    return -np.sum(np.log(norm.cdf(edges[k + 1] - eta) - norm.cdf(edges[k] - eta)))


def cross_entropy(weights, bias):
    logits = X @ weights + bias
    return -np.mean(special.log_softmax(logits, axis=1)[np.arange(12), np.minimum(COUNTS, 2)])


def attention(q, k, v):
    return np.sum(special.softmax(q @ k.T / np.sqrt(3.0), axis=-1) @ v)


_B = np.array([0.3, -0.2, 0.1])

PROGRAMS: list[tuple[Any, tuple[Any, ...]]] = [
    (normal_likelihood, (0.5, 0.3)),
    (regression, (_B, 0.3)),
    (student_regression, (_B, 0.2, 1.1)),
    (gaussian_mixture, (np.array([0.1, -0.3]), np.array([-1.0, 2.0]), np.array([0.2, 0.4]))),
    (hidden_markov_model, (np.array([[0.3, -0.2], [0.1, 0.5]]), np.array([-0.5, 1.5]))),
    (weibull_survival, (0.3, 0.1)),
    (lognormal_survival, (0.1, -0.3)),
    (poisson_regression, (_B,)),
    (negative_binomial, (1.0, 0.7)),
    (zero_inflated_poisson, (-1.0, 1.1)),
    (logistic_regression, (_B,)),
    (probit_regression, (_B,)),
    (binomial_trials, (-0.4,)),
    (beta_binomial, (0.4, 0.8)),
    (tobit, (_B, 0.4)),
    (truncated_normal, (0.7, 0.5)),
    (gaussian_copula, (0.3,)),
    (pinball_loss, (_B,)),
    (black_scholes, (100.0, 105.0, 0.02, 0.25, 0.7)),
    (gamma_regression, (_B, 0.4)),
    (dirichlet_multinomial, (np.array([0.1, 0.4, -0.2]),)),
    (multivariate_normal_likelihood, (_B, X[:3])),
    (von_mises, (0.3, 0.5)),
    (extreme_values, (0.4, 0.6)),
    (ordered_probit, (np.array([-0.5, 0.4, 1.2]), _B)),
    (cross_entropy, (X[:3].T, _B)),
    (attention, (X[:2], X[2:5], X[5:8])),
]
