"""
Snow and river
==============

Calibrate a model of snow, soil and groundwater on the discharge of a river.

The parameters are a dataclass, and the stores of water are entries of an array that the loop over
days changes in place. ``srcad.value_and_grad`` returns the gradient as an object of the same
class. Three years are used for the calibration, and three for the test.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import srcad


@dataclass
class Catchment:
    """Parameters of the model, as logarithms of the units given."""

    melt: float  # mm per day and K
    capacity: float  # water that the soil can hold, mm
    shape: float  # how runoff depends on soil water, without unit
    fast: float  # time constant of the fast store, d
    slow: float  # time constant of the groundwater, d
    seepage: float  # flow from the fast store to the groundwater, mm/d


TRUE = Catchment(*np.log([3.0, 150.0, 2.5, 4.0, 60.0, 0.8]))
GUESS = Catchment(*np.log([2.0, 250.0, 1.5, 10.0, 100.0, 0.4]))


def simulate(catchment, rain, temperature):
    """Return discharge and snow in mm/d and mm, for daily rain (mm) and temperature (°C)."""
    melt, capacity, shape = np.exp([catchment.melt, catchment.capacity, catchment.shape])
    fast, slow, seepage = np.exp([catchment.fast, catchment.slow, catchment.seepage])
    stores = np.array([0.0, 0.5 * capacity, 0.0, 10.0])  # snow, soil, fast, groundwater; in mm
    flow, snow = np.zeros(rain.size), np.zeros(rain.size)
    for day in range(rain.size):
        warmth = temperature[day]
        snowfall = rain[day] if warmth < 0.0 else 0.0
        melted = min(stores[0], melt * max(warmth, 0.0))
        stores[0] += snowfall - melted
        water = rain[day] - snowfall + melted
        wetness = min(stores[1] / capacity, 1.0)
        recharge = water * wetness**shape
        evaporation = min(0.2 * max(warmth, 0.0) * wetness, stores[1])
        stores[1] += water - recharge - evaporation
        seeping = min(stores[2] + recharge, seepage)
        stores[2] += recharge - seeping
        stores[3] += seeping
        runoff, base = stores[2] / fast, stores[3] / slow
        stores[2] -= runoff
        stores[3] -= base
        flow[day], snow[day] = runoff + base, stores[0]
    return flow, snow


def mismatch(catchment, rain, temperature, measured):
    """Return one minus the efficiency of Nash and Sutcliffe, of the roots of the discharge."""
    flow, _ = simulate(catchment, rain, temperature)
    root, target = np.sqrt(flow[90:] + 0.01), np.sqrt(measured[90:] + 0.01)
    return np.sum((root - target) ** 2) / np.sum((target - np.mean(target)) ** 2)


def weather(days, rng):
    """Return daily rain in mm and temperature in °C of a mountain climate."""
    season = -np.cos(2.0 * np.pi * (np.arange(days) - 15) / 365.25)
    noise = np.convolve(rng.normal(size=days + 9), np.ones(10) / np.sqrt(10.0), "valid")
    wet = rng.uniform(size=days) < 0.4
    return wet * rng.gamma(0.8, 8.0, days), 5.0 + 9.0 * season + 3.0 * noise


def main():
    """Make six years of discharge, calibrate with three, and test with the others."""
    rng = np.random.default_rng(8)
    rain, temperature = weather(6 * 365, rng)
    exact, snow = simulate(TRUE, rain, temperature)
    measured = exact * np.exp(rng.normal(0.0, 0.1, exact.size))
    past, future = slice(0, 3 * 365), slice(3 * 365, None)
    data = rain[past], temperature[past], measured[past]
    objective = srcad.value_and_grad(mismatch)

    def packed(x):
        value, gradient = objective(Catchment(*x), *data)
        return value, np.array(astuple(gradient))

    found = minimize(packed, astuple(GUESS), jac=True, method="L-BFGS-B", options={"maxiter": 60})
    catchment = Catchment(*found.x)
    flow, _ = simulate(catchment, rain, temperature)
    for name, value, true in zip(vars(TRUE), np.exp(found.x), np.exp(astuple(TRUE)), strict=True):
        print(f"{name:9} {value:8.2f}   true {true:7.2f}")
    efficiency = 1.0 - np.mean((flow - exact)[future] ** 2) / np.var(exact[future])
    print(f"efficiency in the three years after calibration {efficiency:.3f}")

    _, (top, bottom) = plt.subplots(2, figsize=(8, 5.5), layout="constrained", sharex=True,
                                    height_ratios=(1, 2))  # fmt: skip
    year = np.arange(rain.size) / 365.0
    top.fill_between(year, snow, color="0.7")
    top.set(ylabel="snow on the\nground (mm)")
    bottom.plot(year, measured, "k.", ms=2, label="measured")
    bottom.plot(year, flow, color="C1", lw=1, label="calibrated model")
    bottom.axvline(3.0, color="0.5", ls="--")
    bottom.set(xlabel="time (a)", ylabel="discharge (mm/d)", xlim=(0, 6))
    bottom.legend(loc="upper center")
    plt.show()
    deviation = np.max(np.abs(np.exp(found.x - astuple(TRUE)) - 1.0))
    return 0 if deviation < 0.2 and efficiency > 0.95 else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
