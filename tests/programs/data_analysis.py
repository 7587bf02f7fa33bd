"""Programs of data analysis and classical numerics as people write them, and arguments for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft
import scipy.integrate
from numpy.lib.stride_tricks import sliding_window_view
from scipy.spatial.distance import cdist, pdist

RNG = np.random.default_rng(11)
TIMES = np.linspace(0.0, 3.0, 16)
SIGNAL = np.sin(TIMES) + 0.1 * RNG.normal(size=16)
RETURNS = RNG.normal(0.01, 0.05, (24, 3))
LEVELS = np.array([0.1, 0.5, 0.9])
GROUPS = np.array(["b", "a", "c", "a", "b", "b", "c", "a"])
VALUES = RNG.normal(2.0, 1.0, 8)
POINTS = RNG.normal(size=(7, 2))
TARGETS = RNG.normal(size=7)
GAPS = np.where(RNG.random(16) < 0.2, np.nan, SIGNAL)


def calibration_of_a_sensor(gain, readings):
    """Fit a cubic through calibrated readings, and sum its errors."""
    voltage = gain * readings
    coefficients = np.polyfit(voltage, SIGNAL[:8], 3)
    return np.sum((np.polyval(coefficients, voltage) - SIGNAL[:8]) ** 2) + coefficients[0]


def steepest_slope_of_a_polynomial(coefficients):
    slope = np.polyder(coefficients)
    return np.max(np.polyval(slope, TIMES)) + np.polyval(np.polyint(coefficients), 1.0)


def portfolio_risk(weights):
    covariance = np.cov(RETURNS, rowvar=False)
    share = weights / np.sum(weights)
    return np.sqrt(share @ covariance @ share) - 0.1 * np.average(RETURNS @ share)


def correlation_of_scaled_columns(scale):
    table = RETURNS * scale + scale**2
    return np.sum(np.tril(np.corrcoef(table + 0.1 * table**2, rowvar=False), -1))


def value_at_risk(weights):
    outcome = RETURNS @ weights
    return np.sum(np.quantile(outcome, LEVELS) * LEVELS) - np.percentile(outcome, 5.0)


def weighted_table(weights):
    mean, total = np.average(RETURNS[: len(weights)], axis=0, weights=weights, returned=True)
    return np.sum(mean**2) + np.sum(total)


def income_tax(incomes, rates):
    low, high = 1.0, 2.0
    tax = np.select(
        [incomes < low, incomes < high],
        [rates[0] * incomes, rates[0] * low + rates[1] * (incomes - low)],
        rates[0] * low + rates[1] * (high - low) + rates[2] * (incomes - high),
    )
    return np.sum(tax**2)


def drag_by_regime(speeds, coefficient):
    pieces = [lambda v: coefficient * v, lambda v: coefficient * v**2]
    return np.sum(np.piecewise(speeds, [speeds < 1.0, speeds >= 1.0], pieces))


def means_of_groups(values):
    _, inverse, counts = np.unique(GROUPS, return_inverse=True, return_counts=True)
    means = np.bincount(inverse, weights=values) / counts
    return np.sum((values - means[inverse]) ** 2)


def normalised_rows(table):
    rows = np.apply_along_axis(lambda row: (row - row.mean()) / (row.std() + 0.1), 1, table)
    return np.sum(rows[:, 0] * rows[:, 1])


def moving_volatility(prices):
    windows = sliding_window_view(np.diff(np.log(prices)), 4)
    return np.sum(windows.std(axis=1) * np.arange(1.0, windows.shape[0] + 1))


def evidence_lower_bound(mean, log_scale):
    rng = np.random.default_rng(3)
    draws = rng.normal(mean, np.exp(log_scale), size=(20, 3))
    return np.mean(np.sum(-0.5 * (draws - 1.0) ** 2, axis=1)) + np.sum(log_scale)


def dissipated_energy(amplitude, damping):
    position = amplitude * np.exp(-damping * TIMES) * np.cos(2 * TIMES)
    speed = np.gradient(position, TIMES)
    return scipy.integrate.simpson(damping * speed**2, x=TIMES)


def smoothed_and_resampled(kernel):
    smooth = np.convolve(SIGNAL, kernel / np.sum(kernel), mode="same")
    return np.sum(np.interp([0.35, 1.1, 2.4], TIMES, smooth) ** 2)


def kernel_regression(log_length, log_noise):
    squared = cdist(POINTS, POINTS, "sqeuclidean")
    kernel = np.exp(-0.5 * squared / np.exp(2 * log_length))
    alpha = np.linalg.solve(kernel + np.exp(log_noise) * np.eye(len(kernel)), TARGETS)
    return TARGETS @ alpha


def repulsion(points):
    return np.sum(1.0 / pdist(points)) + np.sum(points**2)


def vapour_pressure(temperatures, constants):
    @np.vectorize
    def pressure(t):
        if t < 1.0:
            return constants[0] * t
        return constants[0] * t ** constants[1]

    return np.sum(pressure(temperatures))


def saddle_point_system(weights):
    a = np.diag(weights) + 0.1
    b = np.array([[1.0, 1.0, -1.0]])
    system = np.block([[a, b.T], [b, np.zeros((1, 1))]])
    return np.sum(np.linalg.solve(system, np.arange(4.0)) ** 2)


def compressed_signal(signal):
    coefficients = scipy.fft.dct(signal, norm="ortho")
    kept = np.where(np.arange(len(signal)) < 6, coefficients, 0.0)
    return np.sum((scipy.fft.idct(kept, norm="ortho") - signal) ** 2)


def robust_scale_with_gaps(scale):
    data = scale * GAPS
    middle = np.nanmedian(data)
    return np.nanpercentile(np.abs(data - middle), 75.0) + np.nanmean(data)


def padded_laplacian(field):
    around = np.pad(field, 1, mode="edge")
    laplacian = (
        around[2:, 1:-1] + around[:-2, 1:-1] + around[1:-1, 2:] + around[1:-1, :-2] - 4 * field
    )
    return np.sum(laplacian**2)


PROGRAMS: list[tuple[Any, tuple[Any, ...]]] = [
    (calibration_of_a_sensor, (1.3, np.linspace(0.1, 1.4, 8))),
    (steepest_slope_of_a_polynomial, (np.array([0.5, -1.0, 0.3, 2.0]),)),
    (portfolio_risk, (np.array([0.5, 0.2, 0.3]),)),
    (correlation_of_scaled_columns, (np.array([0.5, 1.2, 2.0]),)),
    (value_at_risk, (np.array([0.5, 0.2, 0.3]),)),
    (weighted_table, (np.array([0.5, 0.2, 0.3, 1.0]),)),
    (income_tax, (np.array([0.4, 1.3, 2.7]), np.array([0.1, 0.2, 0.4]))),
    (drag_by_regime, (np.array([0.4, 1.3, 2.7]), 0.6)),
    (means_of_groups, (VALUES,)),
    (normalised_rows, (RETURNS[:4] * 20,)),
    (moving_volatility, (np.exp(np.cumsum(RETURNS[:, 0])),)),
    (evidence_lower_bound, (np.array([0.1, 0.4, -0.2]), np.array([-1.0, 0.2, 0.0]))),
    (dissipated_energy, (1.2, 0.3)),
    (smoothed_and_resampled, (np.array([0.2, 0.5, 0.3]),)),
    (kernel_regression, (0.1, -1.0)),
    (repulsion, (POINTS,)),
    (vapour_pressure, (np.array([0.4, 1.3, 2.7]), np.array([0.9, 1.4]))),
    (saddle_point_system, (np.array([0.9, 1.4, 2.0]),)),
    (compressed_signal, (SIGNAL,)),
    (robust_scale_with_gaps, (1.7,)),
    (padded_laplacian, (RETURNS[:5] * 10,)),
]
