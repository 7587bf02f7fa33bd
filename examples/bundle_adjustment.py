"""
Bundle adjustment with a sparse Jacobian
========================================

Reconstruct cameras and points in space from their images, with some thousand unknowns.

Each observation depends on one camera and one point, so few entries of the Jacobian are nonzero:
``srcad.sparsity`` finds them from the function. ``srcad.jacobian(..., sparse=True)`` computes them
with as many directions as a colouring of the columns needs, and SciPy's least squares uses it.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import srcad

CAMERAS, POINTS, FOCAL, SIGMA = 12, 300, 800.0, 0.5  # focal length and noise in pixels


def rotate(vectors, rotation):
    """Return vectors, shape (n, 3), turned by rotation vectors, shape (n, 3): Rodrigues."""
    angle = np.sqrt(np.sum(rotation**2, axis=1, keepdims=True) + 1e-20)
    axis = rotation / angle
    along = np.sum(axis * vectors, axis=1, keepdims=True) * axis
    turned = np.cos(angle) * vectors + np.sin(angle) * np.cross(axis, vectors)
    return turned + (1.0 - np.cos(angle)) * along


def project(unknowns, camera, point):
    """Return the pixels, shape (n, 2), at which cameras see points."""
    poses = unknowns[: 6 * CAMERAS].reshape(CAMERAS, 6)[camera]
    places = unknowns[6 * CAMERAS :].reshape(POINTS, 3)[point]
    seen = rotate(places, poses[:, :3]) + poses[:, 3:]
    return FOCAL * seen[:, :2] / seen[:, 2:]


def residuals(unknowns, camera, point, pixels):
    """Return the deviations of all coordinates in units of their standard deviation."""
    return ((project(unknowns, camera, point) - pixels) / SIGMA).ravel()


def scene(rng):
    """Return cameras on an arc around a spiral of points, shape (6 * cameras + 3 * points,)."""
    turn = np.linspace(0.0, 6.0 * np.pi, POINTS)
    points = np.stack((np.cos(turn), turn / 6.0 - 1.5, np.sin(turn)), axis=1)
    points += rng.normal(0.0, 0.05, points.shape)
    poses = np.zeros((CAMERAS, 6))
    poses[:, 1] = np.linspace(-1.2, 1.2, CAMERAS)  # turned about the vertical axis
    poses[:, 5] = 6.0  # distance from the centre
    return np.concatenate((poses.ravel(), points.ravel()))


def align(points, target):
    """Return points, scaled, turned and moved to fit a target (the images leave this open)."""
    a, b = points - points.mean(axis=0), target - target.mean(axis=0)
    u, s, vt = np.linalg.svd(a.T @ b)
    return a @ u @ vt * s.sum() / np.sum(a**2) + target.mean(axis=0)


def draw(true, start, found, before, after, pattern):
    """Draw the points from above, the residuals, and the pattern of the Jacobian."""
    _, axes = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
    for axis, points, title in zip(axes[0], (start, found), ("start", "adjusted"), strict=True):
        axis.scatter(*true.T[[0, 2]], s=20, facecolors="none", edgecolors="k", label="true")
        axis.scatter(*points.T[[0, 2]], s=4, color="C3", label="estimated")
        axis.set(
            title=f"Points from above, {title}", xlabel="x (m)", ylabel="z (m)", aspect="equal"
        )
        axis.set(xlim=(-1.8, 1.8), ylim=(-1.8, 1.8))
    axes[0, 0].legend(loc="upper left")
    left, right = axes[1]
    bins = np.geomspace(1e-2, 1e3, 60)
    left.hist(SIGMA * np.abs(before), bins, alpha=0.6, label="start")
    left.hist(SIGMA * np.abs(after), bins, alpha=0.6, label="adjusted")
    left.set(xscale="log", xlabel="deviation (pixel)", ylabel="coordinates", title="Residuals")
    left.legend()
    right.spy(pattern[:600], markersize=0.5, aspect="auto")
    right.set(xlabel="unknown", ylabel="coordinate", title="Jacobian, first 600 rows")
    right.xaxis.tick_bottom()


def main():
    """Make images of a scene, disturb it, and reconstruct it."""
    rng = np.random.default_rng(9)
    true = scene(rng)
    camera, point = np.nonzero(rng.uniform(size=(CAMERAS, POINTS)) < 0.6)
    pixels = project(true, camera, point) + rng.normal(0.0, SIGMA, (camera.size, 2))
    disturbance = np.concatenate((np.full(6 * CAMERAS, 0.05), np.full(3 * POINTS, 0.2)))
    start = true + disturbance * rng.normal(size=true.size)
    jacobian = srcad.jacobian(residuals, sparse=True)
    pattern = srcad.sparsity(residuals)(start, camera, point, pixels)
    rows, columns = pattern.shape
    print(
        f"{rows} residuals, {columns} unknowns, {pattern.nnz / rows / columns:.2%} may be nonzero"
    )
    found = least_squares(residuals, start, jacobian, args=(camera, point, pixels), x_scale="jac",
                          ftol=1e-10, max_nfev=60)  # fmt: skip

    places = [x[6 * CAMERAS :].reshape(POINTS, 3) for x in (true, start, found.x)]
    fitted = align(places[2], places[0])
    error = np.sqrt(np.mean(np.sum((fitted - places[0]) ** 2, axis=1)))
    freedom = rows - columns + 7  # place, direction and scale of the scene are open
    chi_square = 2.0 * found.cost / freedom
    print(f"{found.nfev} evaluations; reduced chi-square {chi_square:.3f}")
    print(f"the points are off by {error:.4f} m (root mean square)")
    args = camera, point, pixels
    draw(places[0], places[1], fitted, residuals(start, *args), residuals(found.x, *args), pattern)
    plt.show()
    return 0 if abs(chi_square - 1.0) < 0.06 and error < 0.02 else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
