"""
A lens by ray tracing
=====================

Shape the rear surface of a lens so that all rays of a parallel beam meet in one point.

The tracer intersects each ray with a surface by Newton's method and refracts it by Snell's law in
vector form; the slope of a surface is ``srcad.elementwise_grad`` of its height. The derivative of
the tracer thus contains second derivatives of the surface. The result has a closed form, which
Descartes found in 1637: a hyperboloid with the conic constant ``-n**2``.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import srcad

INDEX, THICKNESS, FOCUS = 1.5168, 12.0, 50.0  # index of BK7 at 588 nm, lengths in mm


def sag(y, curvature, conic):
    """Return the height of a conic surface at the distance ``y`` from the axis."""
    return curvature * y**2 / (1.0 + np.sqrt(1.0 - (1.0 + conic) * curvature**2 * y**2))


slope = srcad.elementwise_grad(sag)


def intersect(z, y, dz, dy, vertex, surface):
    """Return the points where rays from (z, y) in the direction (dz, dy) meet a surface."""
    length = (vertex - z) / dz
    for _ in range(8):
        height = y + length * dy
        distance = z + length * dz - vertex - sag(height, *surface)
        length = length - distance / (dz - slope(height, *surface) * dy)
    return z + length * dz, y + length * dy


def refract(dz, dy, y, surface, ratio):
    """Return the directions after refraction; ``ratio`` is the index before over that after."""
    tilt = slope(y, *surface)
    norm = np.sqrt(1.0 + tilt**2)
    nz, ny = -1.0 / norm, tilt / norm  # the normal, against the ray
    cosine = -(nz * dz + ny * dy)
    along = ratio * cosine - np.sqrt(1.0 - ratio**2 * (1.0 - cosine**2))
    return ratio * dz + along * nz, ratio * dy + along * ny


def trace(rear, y):
    """Return the points of rays: start, front surface, rear surface, screen in the focus."""
    front = (0.0, 0.0)  # a plane
    start = np.full(y.shape, -10.0)
    dz, dy = np.ones_like(y), np.zeros_like(y)
    z1, y1 = intersect(start, y, dz, dy, 0.0, front)
    dz, dy = refract(dz, dy, y1, front, 1.0 / INDEX)
    z2, y2 = intersect(z1, y1, dz, dy, THICKNESS, rear)
    dz, dy = refract(dz, dy, y2, rear, INDEX)
    length = (THICKNESS + FOCUS - z2) / dz
    return [(start, y), (z1, y1), (z2, y2), (z2 + length * dz, y2 + length * dy)]


def spot(rear, y):
    """Return the heights in mm at which the rays meet the screen."""
    return trace(rear, y)[-1][1]


def draw(lenses, y):
    """Draw the rays of each lens, and where they meet the screen."""
    _, axes = plt.subplots(3, 1, figsize=(7, 8.5), layout="constrained", height_ratios=(3, 3, 2))
    edge = np.linspace(-17.0, 17.0, 200)
    for axis, (name, rear) in zip(axes, lenses.items(), strict=False):
        z, heights = np.array(trace(rear, y)).swapaxes(0, 1)
        axis.plot(z, heights, color="C1", lw=0.7)
        axis.fill_betweenx(edge, 0.0, THICKNESS + sag(edge, *rear), color="C0", alpha=0.3)
        axis.axhline(0.0, color="0.5", lw=0.5, ls="--")
        axis.set(title=name, ylabel="height (mm)", xlim=(-10, 64), aspect="equal")
        axes[2].plot(y, spot(rear, y), ".-", label=name)
    axes[1].set(xlabel="distance along the axis (mm)")
    axes[2].set(xlabel="height of the ray before the lens (mm)", ylabel="miss (mm)", ylim=(-2, 3))
    axes[2].legend(loc="upper center", ncols=2)


def main():
    """Start with a sphere, optimise curvature and conic constant, and compare with Descartes."""
    y = np.linspace(-15.0, 15.0, 31)
    exact = np.array([-1.0 / (FOCUS * (INDEX - 1.0)), -(INDEX**2)])
    sphere = least_squares(lambda c, y: spot((c[0], 0.0), y), [-0.03], args=(y,)).x[0]
    found = least_squares(spot, [sphere, 0.0], jac=srcad.jacobian(spot), args=(y,), xtol=1e-15,
                          ftol=1e-15, gtol=1e-15, x_scale=[0.01, 1.0])  # fmt: skip
    for name, value, known in zip(("curvature (1/mm)", "conic constant"), found.x, exact,
                                  strict=True):  # fmt: skip
        print(f"{name:16} {value:.9f}   closed form {known:.9f}")
    blur = [1e3 * np.sqrt(np.mean(spot(rear, y) ** 2)) for rear in ((sphere, 0.0), found.x)]
    print("radius of the spot: {:.0f} µm for the sphere, {:.0e} µm after".format(*blur))
    draw({"best sphere": (sphere, 0.0), "optimised conic": tuple(found.x)}, y)
    plt.show()
    return 0 if np.allclose(found.x, exact, rtol=1e-6) and blur[1] < 1e-6 * blur[0] else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
