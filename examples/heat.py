"""
Heat: find the initial state
============================

Reconstruct the temperature of a plate at the start from noisy measurements after it has diffused.

The simulation is a loop of explicit time steps that write into one array. Its adjoint, which
``srcad.value_and_grad`` generates, runs the loop in reverse; L-BFGS-B uses the gradient. A time
step is a symmetric matrix, so that the adjoint, which ``srcad.vjp`` gives alone, must be the
simulation itself. The animation shows the true plate, the reconstructed one, and the difference
over time.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation
from scipy.optimize import minimize

import srcad

N, STEPS = 64, 30  # cells along each side of the plate, time steps
ALPHA = 0.2  # diffusivity * time step / cell size**2; stable below 0.25
SIGMA = 0.005  # standard deviation of the measurement, K


def step(u):
    """Advance the temperature ``u``, shape (n, n), by one time step; the edge is at 0 K."""
    u[1:-1, 1:-1] += ALPHA * (
        u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
    )


def diffuse(start, steps):
    """Return the temperature after some time steps."""
    u = np.zeros((N, N))
    u[1:-1, 1:-1] = start.reshape(N - 2, N - 2)
    for _ in range(steps):
        step(u)
    return u


def misfit(start, measured, weight):
    """Return the squared misfit, with the total variation of the initial state as a penalty."""
    u = diffuse(start, STEPS)
    first = diffuse(start, 0)
    dx, dy = np.diff(first, axis=0)[:, :-1], np.diff(first, axis=1)[:-1, :]
    variation = np.sum(np.sqrt(dx**2 + dy**2 + 1e-4))
    return 0.5 * np.sum((u - measured) ** 2) / SIGMA**2 + weight * variation


def plate():
    """Return an initial state in K: a disc, a ring and a bar, shape ((n - 2)**2,)."""
    y, x = np.mgrid[: N - 2, : N - 2] - (N - 3) / 2
    disc = np.hypot(x + 12, y + 12) < 9
    ring = np.abs(np.hypot(x - 12, y + 10) - 8) < 2.5
    bar = (np.abs(x) < 20) & (np.abs(y - 15) < 4)
    return (1.0 * disc + 0.8 * ring + 0.6 * bar).ravel()


def animate(true, found):
    """Draw both plates as they cool, and their difference."""
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.6), layout="constrained")
    panels = []
    for axis, title, span in zip(axes, ("true", "reconstructed", "difference"),
                                 ((0, 1), (0, 1), (-0.5, 0.5)), strict=True):  # fmt: skip
        panel = axis.imshow(np.zeros((N, N)), vmin=span[0], vmax=span[1],
                            cmap="RdBu_r" if span[0] else "inferno")  # fmt: skip
        axis.set(title=title, xlabel="cell", ylabel="cell" if title == "true" else "")
        figure.colorbar(panel, ax=axis, location="bottom", label="temperature (K)",
                        ticks=np.linspace(*span, 3))  # fmt: skip
        panels.append(panel)

    def show(frame):
        states = [diffuse(start, frame) for start in (true, found)]
        for panel, u in zip(panels, (*states, states[1] - states[0]), strict=True):
            panel.set_data(u)
        figure.suptitle(f"time step {frame}")

    show(0)
    figure.animation = FuncAnimation(figure, show, frames=range(0, STEPS + 1, 2), interval=120)


def main():
    """Cool a plate, measure it, and reconstruct its initial state."""
    rng = np.random.default_rng(1)
    true = plate()
    measured = diffuse(true, STEPS) + rng.normal(0.0, SIGMA, (N, N))
    objective = srcad.value_and_grad(misfit)
    found = minimize(objective, np.zeros(true.size), (measured, 1.0), "L-BFGS-B", jac=True,
                     bounds=[(0.0, None)] * true.size, options={"maxiter": 500})  # fmt: skip

    late, adjoint = srcad.vjp(diffuse, true, STEPS, wrt=0)
    (start,) = adjoint(measured)
    exact = diffuse(measured[1:-1, 1:-1], STEPS)[1:-1, 1:-1].ravel()
    deviation = np.max(np.abs(start - exact)) / np.max(np.abs(exact))

    blurred = np.linalg.norm(late[1:-1, 1:-1].ravel() - true)
    error = np.linalg.norm(found.x - true) / np.linalg.norm(true)
    print(f"{found.nit} iterations; adjoint and simulation differ by {deviation:.0e}")
    print(f"error {error:.1%}; of the measured state {blurred / np.linalg.norm(true):.1%}")
    animate(true, found.x)
    plt.show()
    return 0 if deviation < 1e-10 and error < 0.2 else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
