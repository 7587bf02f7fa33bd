"""
A Gaussian process with evidence
================================

Learn the scales, the period and the noise of a time series by maximising its evidence.

The kernel is the sum of a smooth trend and a periodic part that changes slowly. The logarithm of
the evidence needs one Cholesky decomposition; ``srcad.value_and_grad`` differentiates it by the
logarithms of its seven parameters. The gradient is compared with its textbook form
``tr((alpha alpha' - inv(K)) dK) / 2`` (Rasmussen and Williams, eq. 5.9), for which
``srcad.jacfwd`` gives ``dK``: seven columns of many thousand entries, in one forward pass.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import srcad

NAMES = ("trend: size", "trend: length (a)", "cycle: size", "cycle: decay (a)", "cycle: roughness",
         "cycle: period (a)", "noise")  # fmt: skip


def kernel(theta, s, t):
    """Return the covariance of the signal at the times ``s``, (m,), and ``t``, (n,)."""
    size, length, height, decay, roughness, period = np.exp(theta[:6])
    lag = s[:, None] - t[None, :]
    trend = size**2 * np.exp(-0.5 * (lag / length) ** 2)
    cycle = np.exp(-2.0 * (np.sin(np.pi * lag / period) / roughness) ** 2)
    return trend + height**2 * cycle * np.exp(-0.5 * (lag / decay) ** 2)


def covariance(theta, t):
    """Return the covariance matrix of the measurements, with their noise."""
    return kernel(theta, t, t) + np.exp(2.0 * theta[6]) * np.eye(t.size)


def negative_evidence(theta, t, y):
    """Return minus the logarithm of the evidence of the measurements ``y``."""
    L = np.linalg.cholesky(covariance(theta, t))
    white = np.linalg.solve(L, y)
    return 0.5 * white @ white + np.sum(np.log(np.diag(L))) + 0.5 * y.size * np.log(2.0 * np.pi)


def predict(theta, t, y, new):
    """Return mean and standard deviation of measurements at the times ``new``."""
    L = np.linalg.cholesky(covariance(theta, t))
    cross = np.linalg.solve(L, kernel(theta, t, new))
    mean = cross.T @ np.linalg.solve(L, y)
    prior = np.exp(2.0 * theta[0]) + np.exp(2.0 * theta[2]) + np.exp(2.0 * theta[6])
    return mean, np.sqrt(prior - np.sum(cross**2, axis=0))


def textbook_gradient(theta, t, y):
    """Return the gradient of the negative evidence by equation 5.9."""
    inverse = np.linalg.inv(covariance(theta, t))
    alpha = inverse @ y
    slopes = srcad.jacfwd(covariance)(theta, t)
    return -0.5 * np.einsum("ij,jik->k", np.outer(alpha, alpha) - inverse, slopes)


def signal(t):
    """Return a slow wave with a yearly cycle, in arbitrary units."""
    season = np.sin(2 * np.pi * t) + 0.35 * np.cos(4 * np.pi * t + 0.5)
    return 2.0 * np.sin(2 * np.pi * t / 17.0) + season


def main():
    """Make a series with a gap, learn it, and forecast three years."""
    rng = np.random.default_rng(5)
    t = np.sort(rng.uniform(0.0, 12.0, 130))
    t = t[(t < 5.0) | (t > 6.2)]
    y = signal(t) + rng.normal(0.0, 0.25, t.size)
    centre = y.mean()
    start = np.log([2.0, 6.0, 2.0, 20.0, 1.0, 1.05, 0.4])
    objective = srcad.value_and_grad(negative_evidence)
    found = minimize(objective, start, (t, y - centre), "L-BFGS-B", jac=True,
                     bounds=[(-5.0, 5.0)] * start.size)  # fmt: skip
    for name, value in zip(NAMES, np.exp(found.x), strict=True):
        print(f"{name:18} {value:7.3f}")
    exact = textbook_gradient(start, t, y - centre)
    deviation = np.max(np.abs(objective(start, t, y - centre)[1] - exact)) / np.max(np.abs(exact))

    new = np.linspace(0.0, 15.0, 700)
    mean, deviations = predict(found.x, t, y - centre, new)
    mean = mean + centre
    later = signal(new) + rng.normal(0.0, 0.25, new.size)
    covered = np.mean(np.abs(later - mean)[new > 12.0] < 1.96 * deviations[new > 12.0])
    print(f"evidence {objective(start, t, y - centre)[0]:.1f} -> {found.fun:.1f} (minus logarithm)")
    print(f"gradient and textbook differ by {deviation:.0e}; the forecast covers {covered:.0%}")

    _, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    axes.fill_between(new, mean - 1.96 * deviations, mean + 1.96 * deviations, color="C0",
                      alpha=0.25, lw=0, label="95 % of measurements")  # fmt: skip
    axes.plot(new, mean, color="C0", lw=1, label="mean")
    axes.plot(new, signal(new), color="C3", lw=0.8, ls="--", label="true signal")
    axes.plot(t, y, "k.", ms=3, label="measured")
    axes.axvline(12.0, color="0.6", lw=0.8)
    axes.set(xlabel="time (a)", ylabel="signal", title="Forecast after year 12", xlim=(0, 15),
             ylim=(-5, 5))  # fmt: skip
    axes.legend(loc="upper left", ncols=2)
    plt.show()
    period, noise = np.exp(found.x[5:])
    good = abs(period - 1.0) < 0.01 and abs(noise - 0.25) < 0.05 and 0.85 < covered <= 1.0
    return 0 if good and deviation < 1e-8 else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
