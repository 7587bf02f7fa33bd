"""
A sweep of 200 fits
===================

Fit a differential equation to 200 simulated experiments, on all cores, with a compiled gradient.

An oscillator with friction is integrated by a Runge-Kutta method, written out, and the gradient of
the misfit goes through all its steps. The data of an experiment are an argument, so that the fits
share one derivative; the compiled code is in a folder, from which each process of joblib loads it.
The spread of the 200 estimates is compared with the standard errors that the curvature of one fit
predicts.

It needs ``pip install 'srcad[scale,numba]'``; without Numba the same derivative runs as NumPy code.
"""

from __future__ import annotations

import os
import tempfile

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import srcad

TRUE = np.array([2.0, 0.3])  # stiffness and friction
NOISE, STEP, COUNT, FITS = 0.05, 0.1, 80, 200


def path(p, count):
    """Return the positions of the oscillator at some times; p is stiffness and friction."""
    x, v = 1.0, 0.0
    positions = np.empty(count)
    for k in range(count):
        positions[k] = x
        x_middle = x + 0.5 * STEP * v
        v_middle = v - 0.5 * STEP * (p[0] * x + p[1] * v)
        x = x + STEP * v_middle
        v = v - STEP * (p[0] * x_middle + p[1] * v_middle)
    return positions


def misfit(p, data):
    """Return half the sum of squared residuals, in units of the noise."""
    return 0.5 * np.sum(((path(p, len(data)) - data) / NOISE) ** 2)


def fit(value_and_gradient, data):
    """Return the estimates of one experiment; a process of joblib runs this."""
    found = minimize(value_and_gradient, [1.5, 0.5], (data,), jac=True, method="L-BFGS-B")
    return found.x


def draw(estimates, covariance):
    """Draw the estimates, and the ellipses of one and two standard errors."""
    _, axes = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
    axes.plot(*estimates.T, ".", alpha=0.5, label=f"{len(estimates)} fits")
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    circle = np.linalg.cholesky(covariance) @ np.stack([np.cos(angle), np.sin(angle)])
    for size in (1.0, 2.0):
        axes.plot(*(TRUE[:, None] + size * circle), "k-", linewidth=1)
    axes.plot(*TRUE, "r+", markersize=12, label="true")
    axes.set(xlabel="stiffness", ylabel="friction", title="estimates, and predicted errors")
    axes.legend()


def main():
    """Fit all experiments, and compare their spread with the prediction."""
    from joblib import Parallel, delayed  # an optional package

    noise = NOISE * np.random.default_rng(0).standard_normal((FITS, COUNT))
    data = path(TRUE, COUNT) + noise
    with tempfile.TemporaryDirectory() as folder:
        backend = srcad.Numba(cache=os.path.join(folder, "compiled"))
        value_and_gradient = srcad.value_and_grad(misfit, backend=backend)
        value_and_gradient(TRUE, data[0])  # compiled once, and loaded by the processes
        fits = Parallel(2)(delayed(fit)(value_and_gradient, one) for one in data)
    estimates = np.array(fits)
    covariance = np.linalg.inv(srcad.hessian(misfit)(TRUE, path(TRUE, COUNT)))
    predicted, found = np.sqrt(np.diag(covariance)), np.std(estimates, axis=0)
    for k, name in enumerate(("stiffness", "friction")):
        print(f"{name:10} {np.mean(estimates[:, k]):.4f}, true {TRUE[k]}, spread {found[k]:.4f}, "
              f"predicted {predicted[k]:.4f}")  # fmt: skip
    draw(estimates, covariance)
    plt.show()
    is_centred = np.all(np.abs(np.mean(estimates, axis=0) - TRUE) < 4.0 * predicted / FITS**0.5)
    return 0 if is_centred and np.allclose(found, predicted, rtol=0.2) else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
