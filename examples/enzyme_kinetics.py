"""
Enzyme kinetics with a confidence band
======================================

Fit the rates of an enzyme with a competitive inhibitor, with standard errors and a 95 % band.

``srcad.jacobian`` gives the derivatives of the model by its three parameters. The least-squares
fit uses them, and so do the covariance matrix of the parameters and the band, by the propagation of
errors. The band is compared with the fits of 200 repeated experiments.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import srcad

TRUE = np.array([12.0, 35.0, 8.0])  # v_max in µM/min, K_m in µM, K_i in µM
SIGMA = 0.25  # standard deviation of a measured rate, µM/min
INHIBITOR = np.array([0.0, 5.0, 20.0])  # µM


def rate(parameters, substrate, inhibitor):
    """Return the rate of Michaelis and Menten with competitive inhibition, in µM/min."""
    v_max, k_m, k_i = parameters
    apparent = k_m * (1.0 + inhibitor / k_i)
    return v_max * substrate / (apparent + substrate)


def residuals(parameters, substrate, inhibitor, measured):
    """Return the deviations of the measured rates in units of their standard deviation."""
    return (rate(parameters, substrate, inhibitor) - measured) / SIGMA


def fit(substrate, inhibitor, measured):
    """Return the parameters of least squares and their covariance matrix."""
    found = least_squares(
        residuals,
        x0=[5.0, 10.0, 10.0],
        jac=srcad.jacobian(residuals),
        args=(substrate, inhibitor, measured),
        x_scale=[10.0, 30.0, 10.0],
    )
    return found.x, np.linalg.inv(found.jac.T @ found.jac)


def band(parameters, covariance, substrate, inhibitor):
    """Return the rate and the half width of its 95 % confidence band."""
    slope = srcad.jacobian(rate)(parameters, substrate, inhibitor)
    variance = np.einsum("ni,ij,nj->n", slope, covariance, slope)
    return rate(parameters, substrate, inhibitor), 1.96 * np.sqrt(variance)


def draw(substrate, inhibitor, measured, parameters, covariance):
    """Draw the measured rates, and the fitted ones with their band."""
    _, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    fine = np.linspace(0.0, 260.0, 200)
    for k, level in enumerate(INHIBITOR):
        chosen = inhibitor == level
        middle, half = band(parameters, covariance, fine, np.full(fine.size, level))
        axes.fill_between(fine, middle - half, middle + half, color=f"C{k}", alpha=0.25, lw=0)
        axes.plot(fine, middle, color=f"C{k}", label=f"inhibitor {level:g} µM")
        axes.errorbar(substrate[chosen], measured[chosen], SIGMA, fmt="o", ms=4, color=f"C{k}")
    axes.set(xlabel="substrate (µM)", ylabel="rate (µM/min)", xlim=(0, 260), ylim=(0, None))
    axes.set_title("Competitive inhibition: fit and 95 % confidence band")
    axes.legend(loc="lower right")


def main():
    """Fit one experiment, draw it, and compare its band with repeated experiments."""
    rng = np.random.default_rng(3)
    doses = np.array([5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 240.0])
    inhibitor, substrate = (grid.ravel() for grid in np.meshgrid(INHIBITOR, doses, indexing="ij"))
    exact = rate(TRUE, substrate, inhibitor)
    measured = exact + rng.normal(0.0, SIGMA, exact.size)
    parameters, covariance = fit(substrate, inhibitor, measured)
    errors = np.sqrt(np.diag(covariance))
    for name, value, error, true in zip(
        ("v_max (µM/min)", "K_m (µM)", "K_i (µM)"), parameters, errors, TRUE, strict=True
    ):
        print(f"{name:15} {value:6.2f} ± {error:4.2f}   true {true:5.2f}")
    draw(substrate, inhibitor, measured, parameters, covariance)

    noise = rng.normal(0.0, SIGMA, (200, exact.size))
    repeated = [rate(fit(substrate, inhibitor, exact + e)[0], substrate, inhibitor) for e in noise]
    half = band(TRUE, fit(substrate, inhibitor, exact)[1], substrate, inhibitor)[1]
    covered = np.mean(np.abs(np.array(repeated) - exact) < half)
    print(f"the band covers {covered:.1%} of the rates of repeated experiments")
    plt.show()
    return 0 if np.all(np.abs(parameters - TRUE) < 3 * errors) and 0.92 < covered < 0.98 else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
