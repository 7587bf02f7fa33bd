"""
Radial velocities of a star
===========================

Find the orbit of a planet from the velocity of its star, through the solution of Kepler's equation.

The anomaly is computed by Newton's method, as a loop; ``srcad.jacobian`` differentiates the loop,
and ``scipy.optimize.least_squares`` uses the result. The period of the first guess comes from a
periodogram.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import srcad

NAMES = ("period (d)", "amplitude (m/s)", "eccentricity", "argument (rad)", "passage (d)",
         "offset (m/s)")  # fmt: skip
TRUE = np.array([42.4, 55.0, 0.42, 1.1, 13.0, -7.0])
SIGMA = 4.0  # standard deviation of a measured velocity, m/s


def eccentric_anomaly(mean_anomaly, eccentricity):
    """Return the solution of Kepler's equation ``E - e sin(E) = M``, by Newton's method."""
    E = mean_anomaly + eccentricity * np.sin(mean_anomaly)
    for _ in range(8):
        E = E - (E - eccentricity * np.sin(E) - mean_anomaly) / (1.0 - eccentricity * np.cos(E))
    return E


def velocity(orbit, time):
    """Return the velocity of the star along the line of sight, in m/s."""
    period, amplitude, e, argument, passage, offset = orbit
    E = eccentric_anomaly(2.0 * np.pi * (time - passage) / period, e)
    anomaly = 2.0 * np.arctan2(np.sqrt(1.0 + e) * np.sin(E / 2), np.sqrt(1.0 - e) * np.cos(E / 2))
    return offset + amplitude * (np.cos(anomaly + argument) + e * np.cos(argument))


def residuals(orbit, time, measured):
    """Return the deviations in units of their standard deviation."""
    return (velocity(orbit, time) - measured) / SIGMA


def periodogram(time, measured, periods):
    """Return the fraction of the variance that a sine of each period explains."""
    centred = measured - measured.mean()
    power = []
    for period in periods:
        phase = 2.0 * np.pi * time / period
        basis = np.stack((np.cos(phase), np.sin(phase), np.ones_like(phase)), axis=1)
        left = centred - basis @ np.linalg.lstsq(basis, centred, rcond=None)[0]
        power.append(1.0 - np.sum(left**2) / np.sum(centred**2))
    return np.array(power)


def fit(time, measured, period):
    """Return the best orbit of 12 starts, and the standard errors of its elements."""
    jacobian = srcad.jacobian(residuals)
    scale = np.array([1.0, 50.0, 0.5, 1.0, 5.0, 10.0])
    low, high = [10.0, 0.0, 0.0, -np.pi, -50.0, -100.0], [200.0, 500.0, 0.95, np.pi, 100.0, 100.0]
    found = []
    for argument in (-2.0, 0.0, 2.0):
        for part in np.arange(4) / 4:
            start = [period, np.ptp(measured) / 2, 0.3, argument, part * period, measured.mean()]
            found.append(least_squares(residuals, start, jacobian, (low, high), x_scale=scale,
                                       args=(time, measured)))  # fmt: skip
    best = min(found, key=lambda result: result.cost)
    return best.x, np.sqrt(np.diag(np.linalg.inv(best.jac.T @ best.jac)))


def main():
    """Make velocities, find the orbit, and draw it."""
    rng = np.random.default_rng(12)
    time = np.sort(rng.uniform(0.0, 400.0, 70))
    measured = velocity(TRUE, time) + rng.normal(0.0, SIGMA, time.size)
    periods = np.geomspace(15.0, 150.0, 3000)
    power = periodogram(time, measured, periods)
    orbit, errors = fit(time, measured, periods[np.argmax(power)])
    for name, value, error, true in zip(NAMES, orbit, errors, TRUE, strict=True):
        print(f"{name:16} {value:8.3f} ± {error:5.3f}   true {true:6.2f}")

    _, (top, middle, bottom) = plt.subplots(
        3, 1, figsize=(7, 7.5), layout="constrained", height_ratios=(2, 3, 1.3)
    )
    top.semilogx(periods, power, lw=0.8)
    top.axvline(orbit[0], color="C1", ls="--", lw=1, label=f"{orbit[0]:.2f} d")
    top.set(xlabel="period (d)", ylabel="explained variance", title="Periodogram")
    top.set_xticks([20, 30, 50, 100], ["20", "30", "50", "100"])
    top.set_xticks([], minor=True)
    top.legend()
    fine = np.linspace(0.0, orbit[0], 400)
    folded = (time - orbit[4]) % orbit[0]
    middle.errorbar(folded, measured, SIGMA, fmt="o", ms=3, label="measured")
    middle.plot(fine, velocity(orbit, fine + orbit[4]), color="C1", label="fitted orbit")
    middle.set(ylabel="velocity (m/s)", title="Velocities, folded with the period")
    middle.legend()
    bottom.errorbar(folded, measured - velocity(orbit, time), SIGMA, fmt="o", ms=3)
    bottom.axhline(0.0, color="C1")
    bottom.set(xlabel="time since the passage through periastron (d)", ylabel="residual (m/s)")
    bottom.sharex(middle)

    chi_square = np.sum(residuals(orbit, time, measured) ** 2) / (time.size - orbit.size)
    worst = np.max(np.abs(orbit - TRUE) / errors)
    print(f"reduced chi-square {chi_square:.2f}, largest deviation {worst:.1f} standard errors")
    plt.show()
    return 0 if 0.6 < chi_square < 1.4 and worst < 3.5 else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
