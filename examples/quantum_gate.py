"""
Pulses that make a quantum gate
===============================

Shape two microwave pulses that make a NOT gate of a transmon, and keep out of its third level.

The state is complex: each time step multiplies the propagator by the exponential of a Hermitian
matrix, computed from its eigenvalues. ``srcad.value_and_grad`` differentiates the complex loop by
the real amplitudes of the pulses. A Gaussian pulse of the same length leaks into the third level.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import srcad

LEVELS, STEPS, DURATION = 3, 48, 12.0  # levels of the transmon, time steps, ns
ANHARMONICITY = -2.0 * np.pi * 0.2  # rad/ns
LOWER = np.diag(np.sqrt(np.arange(1.0, LEVELS)), 1)
NUMBER = np.diag(np.arange(LEVELS) * 1.0)
DRIFT = 0.5 * ANHARMONICITY * NUMBER @ (NUMBER - np.eye(LEVELS)) + 0j
DRIVE_X = 0.5 * (LOWER + LOWER.T) + 0j
DRIVE_Y = 0.5j * (LOWER.T - LOWER)
GATE = np.array([[0.0, 1.0], [1.0, 0.0]])


def propagators(pulses):
    """Return the propagator, shape (3, 3), after each time step; pulses (2, n) are in rad/ns."""
    dt = DURATION / STEPS
    U = np.eye(LEVELS) + 0j
    history = [U]
    for k in range(STEPS):
        hamiltonian = DRIFT + pulses[0, k] * DRIVE_X + pulses[1, k] * DRIVE_Y
        energies, states = np.linalg.eigh(hamiltonian)
        phases = np.exp(-1j * dt * energies)
        U = (states * phases) @ states.conj().T @ U
        history.append(U)
    return history


def infidelity(flat):
    """Return one minus the average fidelity of the gate on the first two levels."""
    U = propagators(flat.reshape(2, STEPS))[-1][:2, :2]
    overlap = np.abs(np.sum(GATE * U)) ** 2
    inside = np.sum(np.abs(U) ** 2)
    return 1.0 - (overlap + inside) / 6.0


def cost(flat):
    """Return the infidelity, with a small penalty for pulses that jump or do not start at zero."""
    padded = np.zeros((2, STEPS + 2))
    padded[:, 1:-1] = flat.reshape(2, STEPS)
    return infidelity(flat) + 1e-9 * np.sum(np.diff(padded, axis=1) ** 2)


def gaussian():
    """Return a Gaussian pulse of area pi; the other channel is small, and not zero everywhere."""
    time = (np.arange(STEPS) + 0.5) / STEPS - 0.5
    x = np.exp(-0.5 * (time / 0.2) ** 2)
    return np.stack((x * np.pi / (np.sum(x) * DURATION / STEPS), 1e-3 * np.ones(STEPS)))


def draw(pulses):
    """Draw each pair of pulses, and the populations of the levels that it moves."""
    _, axes = plt.subplots(2, 2, figsize=(9, 6), layout="constrained", sharex=True, sharey="row")
    time = np.linspace(0.0, DURATION, STEPS + 1)
    for (top, bottom), (name, pair) in zip(axes.T, pulses.items(), strict=True):
        for row, label in zip(pair, "XY", strict=True):
            top.stairs(1e3 * row / (2.0 * np.pi), time, label=label)
        top.set(title=name)
        populations = np.abs(np.array(propagators(pair))[:, :, 0]) ** 2
        for level, curve in enumerate(populations.T):
            bottom.semilogy(time[1:], curve[1:], label=f"level {level}")
        bottom.set(xlabel="time (ns)", ylim=(1e-8, 2))
    axes[0, 0].set(ylabel="amplitude (MHz)")
    axes[1, 0].set(ylabel="population, from level 0")
    axes[0, 0].legend()
    axes[1, 0].legend(loc="lower right")


def main():
    """Optimise the pulses from a Gaussian, and compare both."""
    start = gaussian()
    found = minimize(srcad.value_and_grad(cost), start.ravel(), jac=True, method="L-BFGS-B",
                     options={"maxiter": 150, "ftol": 1e-15, "gtol": 1e-9})  # fmt: skip
    pulses = {"Gaussian pulse": start, "optimised pulses": found.x.reshape(2, STEPS)}
    errors = []
    for name, pair in pulses.items():
        U = propagators(pair)[-1]
        leaked = np.mean(np.abs(U[2, :2]) ** 2)
        errors.append(infidelity(pair.ravel()))
        print(f"{name:16} infidelity {abs(errors[-1]):.1e}, leaked {leaked:.1e}")
    unitary = np.max(np.abs(U @ U.conj().T - np.eye(LEVELS)))
    print(f"{found.nit} iterations; the propagator is unitary up to {unitary:.0e}")
    draw(pulses)
    plt.show()
    return 0 if errors[0] > 1e-3 and errors[1] < 1e-6 and unitary < 1e-12 else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
