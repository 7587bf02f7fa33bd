"""
An American option and its Greeks
=================================

Value an American put option on a binomial tree, with delta, gamma, vega, theta and rho.

The tree is a loop backwards in time with ``np.maximum`` for early exercise, and the last step
before expiry uses the formula of Black and Scholes. ``srcad.value_and_grad`` gives the value and
four first derivatives in one call. Gamma, the second derivative by the spot price, is a difference
of two exact deltas: a derivative of code does not see the kinks that ``np.maximum`` makes at the
limit of exercise. The European option on the same tree has known Greeks. The American one fulfils
the equation of Black and Scholes, in which ``srcad.jvp`` gives the drift: the derivative of the
value as time passes and the spot price grows at the risk-free rate.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ndtr

import srcad

STRIKE, STEPS = 100.0, 500


def black_scholes(spot, volatility, time, rate):
    """Return the value of the European put option."""
    deviation = volatility * np.sqrt(time)
    d1 = (np.log(spot / STRIKE) + (rate + 0.5 * volatility**2) * time) / deviation
    discounted = STRIKE * np.exp(-rate * time)
    return discounted * ndtr(deviation - d1) - spot * ndtr(-d1)


def put(spot, volatility, time, rate, american=True):
    """Return the value of the put option on a tree of Cox, Ross and Rubinstein."""
    dt = time / STEPS
    up = np.exp(volatility * np.sqrt(dt))
    p = (np.exp(rate * dt) - 1.0 / up) / (up - 1.0 / up)
    discount = np.exp(-rate * dt)
    price = spot * up ** np.arange(-(STEPS - 1), STEPS, 2)
    value = black_scholes(price, volatility, dt, rate)
    if american:
        value = np.maximum(value, STRIKE - price)
    for level in range(STEPS - 2, -1, -1):
        value = discount * (p * value[1:] + (1.0 - p) * value[:-1])
        if american:
            price = spot * up ** np.arange(-level, level + 1, 2)
            value = np.maximum(value, STRIKE - price)
    return value[0]


def european_put(spot, volatility, time, rate):
    """Return the value of the put option on the same tree without early exercise."""
    return put(spot, volatility, time, rate, american=False)


def greeks(function, *point):
    """Return value, delta, gamma, vega, theta and rho of an option."""
    value, (delta, vega, decay, rho) = srcad.value_and_grad(function, wrt=(0, 1, 2, 3))(*point)
    slope, (spot, *others) = srcad.grad(function), point
    gamma = 0.5 * (slope(spot + 1.0, *others) - slope(spot - 1.0, *others))
    return np.array([value, delta, gamma, vega, -decay, rho])


def main():
    """Compare the European Greeks with their formulas, and draw those of the American option."""
    point = (95.0, 0.25, 0.75, 0.06)  # spot, volatility, time to expiry (a), rate (1/a)
    exact = greeks(black_scholes, *point)
    tree = greeks(european_put, *point)
    american = greeks(put, *point)
    print("         European: formula     tree   American: tree")
    names = ("value", "delta", "gamma", "vega", "theta", "rho")
    for row in zip(names, exact, tree, american, strict=True):
        print("{:6} {:19.4f} {:9.4f} {:14.4f}".format(*row))
    deviation = np.max(np.abs(tree / exact - 1.0))
    spot, volatility, _, rate = point
    value, drift = srcad.jvp(put, point, (rate * spot, 0.0, -1.0, 0.0))
    parts = drift, 0.5 * volatility**2 * spot**2 * american[2], -rate * value
    residual = abs(sum(parts)) / np.max(np.abs(parts))
    print(f"largest deviation of the European Greeks {deviation:.1e}")
    print(f"residual of the equation of Black and Scholes {residual:.1e}")

    spots = np.linspace(70.0, 130.0, 41)
    curves = [np.array([greeks(f, s, *point[1:]) for s in spots]) for f in (put, black_scholes)]
    _, axes = plt.subplots(2, 3, figsize=(9, 5), layout="constrained", sharex=True)
    units = ("", "", "1/unit", "per 1", "per year", "per 1")
    for k, (axis, name, unit) in enumerate(zip(axes.flat, names, units, strict=True)):
        for curve, label, style in zip(curves, ("American", "European"), ("-", "--"), strict=True):
            axis.plot(spots, curve[:, k], style, label=label)
        axis.set(title=name + (f" ({unit})" if unit else ""))
        axis.grid(alpha=0.3)
    for axis in axes[1]:
        axis.set(xlabel="spot price")
    axes[0, 0].plot(spots, np.maximum(STRIKE - spots, 0.0), ":", color="0.4", label="exercise")
    axes[0, 0].legend()
    plt.show()
    dearer = american[0] > exact[0] and np.all(curves[0][:, 0] >= STRIKE - spots - 1e-9)
    return 0 if dearer and deviation < 1e-2 and residual < 2e-2 else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
