"""
An arm that throws, by Newton-CG
================================

Find the torques with which an arm of two links throws a ball at a target, with least effort.

The motion of the double pendulum is integrated by a loop, the flight of the ball is a parabola.
The unknowns are the torques of shoulder and elbow in 40 intervals. ``srcad.hvp`` multiplies their
Hessian by a vector without forming it, as the method ``Newton-CG`` of SciPy needs. ``srcad.grad``
alone serves 300 iterations of BFGS, for comparison, and ``srcad.testing.check_grads`` compares
both derivatives with finite differences.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import srcad
from srcad.testing import check_grads

STEPS, DURATION = 40, 0.5  # time steps, s
LINK, MASS, BALL, GRAVITY = 0.35, 1.2, 0.2, 9.81  # m, kg of each link, kg, m/s**2
SHOULDER, TARGET = 1.5, 8.0  # height of the shoulder, and distance of the target from it, in m


def accelerations(angles, speeds, torques):
    """Return the angular accelerations of two rods with a ball at the end, in rad/s**2.

    Angles are absolute, from the downward vertical; the elbow's torque acts on both links.
    """
    difference = angles[0] - angles[1]
    inertia = LINK**2 * np.array([MASS / 3.0 + MASS + BALL, MASS / 3.0 + BALL])
    coupling = LINK**2 * (0.5 * MASS + BALL)
    mixed = coupling * np.cos(difference)
    matrix = np.array([[inertia[0], mixed], [mixed, inertia[1]]])
    centrifugal = coupling * np.sin(difference) * np.array([-(speeds[1] ** 2), speeds[0] ** 2])
    weights = GRAVITY * LINK * np.array([1.5 * MASS + BALL, 0.5 * MASS + BALL])
    forces = np.array([torques[0] - torques[1], torques[1]])
    return np.linalg.solve(matrix, forces + centrifugal - weights * np.sin(angles))


def swing(torques):
    """Return angles and angular speeds at each step, by Heun's method; torques are in N m."""
    dt = DURATION / STEPS
    angles, speeds = np.array([-0.6, 0.2]), np.zeros(2)
    history = [(angles, speeds)]
    for now in torques.reshape(STEPS, 2):
        first = accelerations(angles, speeds, now)
        ahead = accelerations(angles + dt * speeds, speeds + dt * first, now)
        angles = angles + dt * (speeds + 0.5 * dt * first)
        speeds = speeds + 0.5 * dt * (first + ahead)
        history.append((angles, speeds))
    return history


def release(angles, speeds):
    """Return place and velocity of the ball: x, y, and their derivatives."""
    x, y = LINK * np.sum(np.sin(angles)), SHOULDER - LINK * np.sum(np.cos(angles))
    return x, y, LINK * np.sum(np.cos(angles) * speeds), LINK * np.sum(np.sin(angles) * speeds)


def landing(torques):
    """Return the distance in m at which the ball meets the ground."""
    x, y, vx, vy = release(*swing(torques)[-1])
    return x + vx * (vy + np.sqrt(vy**2 + 2.0 * GRAVITY * y)) / GRAVITY


def cost(torques):
    """Return the effort, and the squared miss with a large weight."""
    return 1e-3 * np.sum(torques**2) + 1e2 * (landing(torques) - TARGET) ** 2


def draw(torques, costs):
    """Draw the throw, the torques, and how the methods converge."""
    _, axes = plt.subplot_mosaic([["throw", "throw"], ["torques", "costs"]], figsize=(9, 6.5),
                                      layout="constrained")  # fmt: skip
    history = swing(torques)
    for k, (angles, _) in enumerate(history[::4]):
        x = LINK * np.cumsum([0.0, *np.sin(angles)])
        y = SHOULDER - LINK * np.cumsum([0.0, *np.cos(angles)])
        axes["throw"].plot(x, y, ".-", color=plt.cm.viridis(4 * k / len(history)), lw=2)
    x, y, vx, vy = release(*history[-1])
    time = np.linspace(0.0, (landing(torques) - x) / vx, 100)
    axes["throw"].plot(x + vx * time, y + vy * time - 0.5 * GRAVITY * time**2, "C3--")
    axes["throw"].plot(TARGET, 0.0, "k^", ms=12, clip_on=False)
    axes["throw"].set(xlabel="distance (m)", ylabel="height (m)", ylim=(0, None), aspect="equal")
    middle = (np.arange(STEPS) + 0.5) * DURATION / STEPS
    for row, name in zip(torques.reshape(STEPS, 2).T, ("shoulder", "elbow"), strict=True):
        axes["torques"].step(middle, row, where="mid", label=name)
    axes["torques"].set(xlabel="time (s)", ylabel="torque (N m)")
    best = min(curve[-1] for curve in costs.values())
    for name, curve in costs.items():
        axes["costs"].semilogy(np.array(curve) - best + 1e-12, ".-", label=name)
    axes["costs"].set(xlabel="iteration", ylabel="cost above the least one")
    axes["torques"].legend()
    axes["costs"].legend()


def main():
    """Minimise with second and with first derivatives, and compare."""
    gradient, product = srcad.grad(cost), srcad.hvp(cost)
    start = np.tile([6.0, 2.0], STEPS)
    methods = {"Newton-CG": {"hessp": product, "options": {"xtol": 1e-10}},
               "BFGS": {"options": {"maxiter": 300}}}  # fmt: skip
    results, costs = {}, {}
    for method, more in methods.items():
        curve = costs[method] = [cost(start)]
        found = results[method] = minimize(
            cost, start, jac=gradient, method=method, **more,
            callback=lambda x, curve=curve: curve.append(cost(x)),
        )  # fmt: skip
        print(f"{method:9} cost {found.fun:.9f} after {found.nit} iterations, lands at "
              f"{landing(found.x):.4f} m")  # fmt: skip

    torques = results["Newton-CG"].x
    slope = np.linalg.norm(gradient(torques))
    print(f"gradient at the end {slope:.0e}")
    check_grads(cost, (torques,), order=2)
    draw(torques, costs)
    plt.show()
    better = results["Newton-CG"].fun < results["BFGS"].fun and costs["Newton-CG"][-1] < 1.3
    return 0 if better and slope < 1e-5 else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
