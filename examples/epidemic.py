"""
Epidemic curve with Laplace's approximation
===========================================

Estimate the reproduction number of an epidemic from weekly counts, with its uncertainty.

The model is of the kind SEIR, integrated by Heun's method, and the counts are Poisson variables.
``srcad.value_and_grad`` finds the most probable parameters, and ``srcad.hessian`` approximates the
posterior there by a normal distribution. A random walk by Metropolis' rule, which makes no such
assumption, gives the same standard deviations.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import srcad

POPULATION, WEEKS, PER_DAY = 20_000, 20, 1
NAMES = ("reproduction number", "latent time (d)", "infectious time (d)", "infected at start",
         "share reported")  # fmt: skip
TRUE = np.log([2.1, 3.0, 5.0, 20.0, 0.3])
PRIOR_MEAN, PRIOR_SCALE = np.log([2.0, 3.0, 5.0, 10.0, 0.3]), np.array([1.0, 0.1, 0.1, 2.0, 0.5])


def rates(state, beta, sigma, gamma):
    """Return the derivatives of susceptible, exposed, infectious and cumulated cases."""
    s, e, i, _ = state
    infection, onset = beta * s * i / POPULATION, sigma * e
    return np.array([-infection, infection - onset, onset - gamma * i, onset])


def expected(theta):
    """Return the expected number of reported cases in each week."""
    number, latent, infectious, start, share = np.exp(theta)
    beta, sigma, gamma = number / infectious, 1.0 / latent, 1.0 / infectious
    state = np.array([POPULATION - start, start, 0.0, 0.0])
    cases, dt = np.zeros(WEEKS), 1.0 / PER_DAY
    for week in range(WEEKS):
        before = state[3]
        for _ in range(7 * PER_DAY):
            slope = rates(state, beta, sigma, gamma)
            ahead = rates(state + dt * slope, beta, sigma, gamma)
            state = state + 0.5 * dt * (slope + ahead)
        cases[week] = share * (state[3] - before)
    return cases


def surprise(theta, counts):
    """Return minus the logarithm of the posterior density, up to a constant."""
    mean = expected(theta)
    prior = np.sum(((theta - PRIOR_MEAN) / PRIOR_SCALE) ** 2)
    return np.sum(mean - counts * np.log(mean)) + 0.5 * prior


def metropolis(theta, covariance, counts, draws, rng):
    """Return draws of the posterior by a random walk."""
    root = np.linalg.cholesky(covariance) * 2.38 / np.sqrt(theta.size)
    now, chain = surprise(theta, counts), np.empty((draws, theta.size))
    for k in range(draws):
        trial = theta + root @ rng.normal(size=theta.size)
        then = surprise(trial, counts)
        if np.log(rng.uniform()) < now - then:
            theta, now = trial, then
        chain[k] = theta
    return chain


def main():
    """Make counts, find the posterior, and compare two descriptions of it."""
    rng = np.random.default_rng(4)
    counts = rng.poisson(expected(TRUE))
    hessian = srcad.hessian(surprise)
    found = minimize(srcad.value_and_grad(surprise), PRIOR_MEAN, counts, "trust-exact", jac=True,
                     hess=hessian)  # fmt: skip
    covariance = np.linalg.inv(hessian(found.x, counts))
    laplace = np.sqrt(np.diag(covariance))
    chain = metropolis(found.x, covariance, counts, 4000, rng)
    walked = chain.std(axis=0)
    print("                       mode   Laplace   Metropolis   true")
    for row in zip(NAMES, np.exp(found.x), laplace, walked, np.exp(TRUE), strict=True):
        print("{:20} {:6.2f}   ± {:4.1%}     ± {:4.1%}    {:6.2f}".format(*row))

    _, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    week = np.arange(1, WEEKS + 1)
    curves = [expected(theta) for theta in rng.multivariate_normal(found.x, covariance, 200)]
    low, high = np.percentile(rng.poisson(curves), (2.5, 97.5), axis=0)
    left.fill_between(week, low, high, alpha=0.3, lw=0, label="95 % of counts")
    left.plot(week, expected(found.x), label="most probable")
    left.plot(week, counts, "ko", ms=4, label="reported")
    left.set(xlabel="week", ylabel="cases per week", title="Epidemic curve", xticks=range(0, 21, 4))
    left.legend()
    number = np.exp(chain[:, 0])
    right.hist(number, bins=25, density=True, alpha=0.4, label="Metropolis")
    fine = np.linspace(number.min(), number.max(), 200)
    score = (np.log(fine) - found.x[0]) / laplace[0]
    right.plot(fine, np.exp(-0.5 * score**2) / (fine * laplace[0] * np.sqrt(2 * np.pi)),
               label="Laplace")  # fmt: skip
    right.axvline(np.exp(TRUE[0]), color="k", ls="--", label="true")
    right.set(xlabel="reproduction number", ylabel="density", title="Posterior")
    right.legend()
    plt.show()
    close = np.all(np.abs(laplace / walked - 1.0) < 0.25)
    return 0 if close and np.all(np.abs(found.x - TRUE) < 3 * laplace) else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
