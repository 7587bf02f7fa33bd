"""
SciPy's optimisers with exact gradients
=======================================

Minimise Rosenbrock's function with SciPy, with gradients from srcad.

With ``jac=srcad.grad(f)`` SciPy needs fewer evaluations, and ends nearer to the minimum, than with
finite differences; ``srcad.value_and_grad`` with ``jac=True`` shares the work of both.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import srcad


def rosenbrock(x):
    """Return Rosenbrock's function of ``x``, shape (n,); its minimum, 0, is at ones."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def path_to_minimum(**how):
    """Return the points of a minimisation in two dimensions, shape (k, 2), from the same start."""
    points = [np.array([-1.5, 2.0])]
    minimize(rosenbrock, points[0], callback=lambda x: points.append(x.copy()), **how)
    return np.stack(points)


def draw(paths):
    """Draw the valley of Rosenbrock's function with paths, and the distances to the minimum."""
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    a, b = np.meshgrid(np.linspace(-2.0, 2.0, 200), np.linspace(-1.0, 3.0, 200))
    height = 100.0 * (b - a**2) ** 2 + (1.0 - a) ** 2
    left.contourf(a, b, np.log10(height + 1e-3), levels=20, cmap="Blues_r")
    for name, points in paths.items():
        left.plot(*points.T, ".-", markersize=4, linewidth=1, label=name)
        right.semilogy(np.linalg.norm(points - 1.0, axis=1), ".-", label=name)
    left.plot(1.0, 1.0, "k*", markersize=10)
    left.set(title="the valley and its minimum")
    right.set(xlabel="iteration", title="distance to the minimum")
    right.legend()


def main():
    """Minimise with and without gradients."""
    start = np.array([1.3, 0.7, 0.8, 1.9, 1.2, 0.6, 1.4, 0.9])
    separate = minimize(rosenbrock, start, jac=srcad.grad(rosenbrock), method="BFGS")
    together = minimize(srcad.value_and_grad(rosenbrock), start, jac=True, method="L-BFGS-B")
    plain = minimize(rosenbrock, start, method="BFGS")
    for name, result in (("grad, BFGS", separate), ("value_and_grad, L-BFGS-B", together),
                         ("finite differences, BFGS", plain)):  # fmt: skip
        print(f"{name:26} f = {result.fun:.1e} after {result.nfev:4d} evaluations of f")
    gradient = srcad.grad(rosenbrock)
    draw({
        "BFGS": path_to_minimum(jac=gradient, method="BFGS"),
        "Newton-CG, with hvp": path_to_minimum(
            jac=gradient, hessp=srcad.hvp(rosenbrock), method="Newton-CG"
        ),
        "BFGS, finite differences": path_to_minimum(method="BFGS"),
    })  # fmt: skip
    plt.show()
    good = np.allclose(separate.x, 1.0, atol=1e-4) and np.allclose(together.x, 1.0, atol=1e-3)
    return 0 if good else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
