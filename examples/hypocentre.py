"""
Hypocentre of an earthquake
===========================

Locate an earthquake from the arrivals of its P and S waves, with the ellipse of its error.

The speed of the waves grows with depth, so that rays are arcs of circles with a closed form of the
travel time. ``srcad.jacobian`` gives the derivatives by place and time for the method of Gauss and
Newton, and for the covariance of the result. The error ellipsoid is tested on 300 earthquakes.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

import srcad

SURFACE_SPEED, GROWTH = 5.0, 0.04  # speed of P waves in km/s, and its growth with depth in 1/s
RATIO = 1.74  # speed of P waves over that of S waves
SIGMA = np.array([0.05, 0.12])  # standard deviations of the picked arrivals of P and S, s
CHI_SQUARE = 9.488  # 95 % quantile for four degrees of freedom


def arrivals(source, stations):
    """Return the times of P and S waves, shape (2, n), at stations, shape (n, 2), in s."""
    x, y, depth, origin = source
    square = (stations[:, 0] - x) ** 2 + (stations[:, 1] - y) ** 2 + depth**2
    speeds = SURFACE_SPEED * (SURFACE_SPEED + GROWTH * depth)
    p = np.arccosh(1.0 + 0.5 * GROWTH**2 * square / speeds) / GROWTH
    return origin + np.stack((p, RATIO * p))


def residuals(source, stations, picked):
    """Return the deviations in units of their standard deviation."""
    return ((arrivals(source, stations) - picked) / SIGMA[:, None]).ravel()


slopes = srcad.jacobian(residuals)


def locate(stations, picked):
    """Return place and time of the earthquake, their covariance, and all iterates."""
    nearest = np.argmin(picked[0])
    path = [np.array([*stations[nearest], 10.0, picked[0, nearest] - 2.0])]
    for _ in range(15):
        J = slopes(path[-1], stations, picked)
        step = np.linalg.lstsq(J, -residuals(path[-1], stations, picked), rcond=None)[0]
        new = path[-1] + step * min(1.0, 20.0 / np.linalg.norm(step))
        new[2] = max(new[2], 1.0)
        path.append(new)
    J = slopes(path[-1], stations, picked)
    return path[-1], np.linalg.inv(J.T @ J), np.array(path)


def ellipse(centre, covariance, axes):
    """Return the outline of the 95 % ellipse of two of the unknowns."""
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    root = np.linalg.cholesky(covariance[np.ix_(axes, axes)]) * np.sqrt(5.991)
    return centre[axes, None] + root @ np.stack((np.cos(angle), np.sin(angle)))


def draw(stations, true, found, covariance, path, others):
    """Draw a map of the stations, and the result from above and from the side."""
    _, (chart, above, side) = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
    chart.plot(*stations.T, "k^", label="station")
    chart.plot(path[:, 0], path[:, 1], "o-", ms=3, lw=0.8, color="C0", label="iterates")
    chart.plot(*found[:2], "C3*", ms=12, label="located")
    chart.set(xlabel="east (km)", ylabel="north (km)", title="Map", ylim=(-110, 65))  # fmt: skip
    chart.legend(fontsize="small", loc="lower center")
    for axis, pair, title in ((above, [0, 1], "From above"), (side, [0, 2], "From the south")):
        axis.plot(*others[:, pair].T, ".", color="0.7", ms=3, label="repeated")
        axis.plot(*ellipse(found, covariance, pair), "C3", label="95 %")
        axis.plot(*found[pair], "C3*", ms=10, label="located")
        axis.plot(*true[pair], "kx", ms=8, label="true")
        axis.set(xlabel="east (km)", title=title)
        axis.set(ylabel="depth (km)" if pair[1] == 2 else "north (km)")
    side.invert_yaxis()
    above.legend(fontsize="small")


def main():
    """Locate one earthquake, and test the error ellipsoid on repeated ones."""
    rng = np.random.default_rng(6)
    stations = rng.uniform(-60.0, 60.0, (12, 2))
    true = np.array([14.0, -9.0, 12.0, 3.0])
    noise = SIGMA[:, None] * rng.normal(size=(301, 2, len(stations)))
    picked = arrivals(true, stations) + noise
    found, covariance, path = locate(stations, picked[0])
    for name, value, error, known in zip(("east (km)", "north (km)", "depth (km)", "time (s)"),
                                         found, np.sqrt(np.diag(covariance)), true,
                                         strict=True):  # fmt: skip
        print(f"{name:11} {value:7.2f} ± {error:4.2f}   true {known:6.2f}")

    others = [locate(stations, one)[:2] for one in picked[1:]]
    distances = [(x - true) @ np.linalg.solve(C, x - true) for x, C in others]
    covered = np.mean(np.array(distances) < CHI_SQUARE)
    print(f"the 95 % ellipsoids contain {covered:.1%} of 300 earthquakes")
    draw(stations, true, found, covariance, path, np.array([x for x, _ in others]))
    plt.show()
    return 0 if 0.92 < covered < 0.98 else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
