"""
Smoke that forms a picture
==========================

Find the wind that turns a disc of smoke into a star.

The fluid is incompressible: each time step carries velocity and smoke along the flow, with
bilinear interpolation (Stam's "stable fluids", 1999), and removes the divergence by a Fourier
transform. The unknowns are the velocities of all cells at the start. ``srcad.value_and_grad``
differentiates the whole simulation, L-BFGS-B uses it, and ``srcad.testing.check_grads`` compares
the gradient with finite differences.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation
from scipy.optimize import minimize

import srcad
from srcad.testing import check_grads

N, STEPS = 56, 20  # cells along each side, which is periodic, and time steps
ROWS, COLUMNS = np.mgrid[:N, :N].astype(float)
WAVES = np.fft.fftfreq(N)
KX, KY = WAVES[None, :], WAVES[:, None]
SQUARE = np.maximum(KX**2 + KY**2, 1e-12)


def project(vx, vy):
    """Return the part of a velocity field without divergence."""
    fx, fy = np.fft.fft2(vx), np.fft.fft2(vy)
    along = (KX * fx + KY * fy) / SQUARE
    return np.fft.ifft2(fx - KX * along).real, np.fft.ifft2(fy - KY * along).real


def advect(field, vx, vy):
    """Return a field, carried along by one time step."""
    y, x = ROWS - vy, COLUMNS - vx
    top, left = np.floor(y), np.floor(x)
    down, right = y - top, x - left
    i, j = top.astype(int) % N, left.astype(int) % N
    below, beside = (i + 1) % N, (j + 1) % N
    upper = (1.0 - right) * field[i, j] + right * field[i, beside]
    lower = (1.0 - right) * field[below, j] + right * field[below, beside]
    return (1.0 - down) * upper + down * lower


def simulate(wind, smoke):
    """Return the smoke after each time step; ``wind`` has the velocities, shape (2 * n * n,)."""
    vx, vy = project(*wind.reshape(2, N, N))
    frames = [smoke]
    for _ in range(STEPS):
        vx, vy = project(advect(vx, vx, vy), advect(vy, vx, vy))
        smoke = advect(smoke, vx, vy)
        frames.append(smoke)
    return frames


def mismatch(wind, smoke, target):
    """Return the mean squared difference from the target, with a penalty for a rough wind."""
    final = simulate(wind, smoke)[-1]
    v = wind.reshape(2, N, N)
    roughness = np.mean(np.diff(v, axis=1) ** 2) + np.mean(np.diff(v, axis=2) ** 2)
    return np.mean((final - target) ** 2) + 0.02 * roughness


def shape(radius_at):
    """Return smoke inside a curve in polar coordinates, with a soft edge."""
    x, y = COLUMNS - (N - 1) / 2, (N - 1) / 2 - ROWS
    distance = radius_at(np.arctan2(y, x)) - np.hypot(x, y)
    return 1.0 / (1.0 + np.exp(-1.5 * distance))


def animate(frames, target, wind):
    """Draw the target, the wind at the start, and the smoke over time."""
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
    axes[0].imshow(target, cmap="magma", vmin=0, vmax=1)
    axes[0].set(title="target")
    vx, vy = project(*wind.reshape(2, N, N))
    axes[1].quiver(COLUMNS[::3, ::3], ROWS[::3, ::3], vx[::3, ::3], vy[::3, ::3],
                   angles="xy", width=0.006)  # fmt: skip
    axes[1].set(title="wind at the start", aspect="equal", xlim=(0, N - 1), ylim=(N - 1, 0))
    picture = axes[2].imshow(frames[0], cmap="magma", vmin=0, vmax=1)
    for axis in axes:
        axis.set(xticks=[], yticks=[])

    def show(k):
        picture.set_data(frames[min(k, STEPS)])
        axes[2].set_title(f"smoke at time step {min(k, STEPS)}")

    show(STEPS)
    figure.animation = FuncAnimation(figure, show, frames=STEPS + 10, interval=120)


def main():
    """Find the wind, check its gradient, and show the smoke."""
    smoke = shape(lambda angle: np.full(angle.shape, 14.0))
    target = shape(lambda angle: 14.0 * (1.0 + 0.45 * np.sin(5.0 * angle)) / np.sqrt(1.1))
    objective = srcad.value_and_grad(mismatch)
    start = np.random.default_rng(0).normal(0.0, 0.002, 2 * N * N)
    found = minimize(objective, start, (smoke, target), jac=True, method="L-BFGS-B",
                     options={"maxiter": 120, "maxfun": 130})  # fmt: skip
    wind = found.x

    check_grads(mismatch, (0.5 * wind, smoke, target), wrt=0, order=1, eps=1e-6, atol=1e-9)
    frames = simulate(wind, smoke)
    before, after = (np.mean((state - target) ** 2) for state in (smoke, frames[-1]))
    print(f"mean squared difference {before:.4f} -> {after:.5f} in {found.nfev} evaluations")
    animate(frames, target, wind)
    plt.show()
    return 0 if after < 0.1 * before else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
