"""
SciPy's optimisers with exact gradients
=======================================

Minimise Rosenbrock's function with SciPy, with gradients from srcad.

Run it with ``pip install -e '.[examples]'`` and ``python examples/rosenbrock.py``.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

import srcad


def rosenbrock(x):
    """Return Rosenbrock's function of ``x``, shape (n,); its minimum, 0, is at ones."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def main():
    """Minimise with and without gradients."""
    start = np.array([1.3, 0.7, 0.8, 1.9, 1.2, 0.6, 1.4, 0.9])
    separate = minimize(rosenbrock, start, jac=srcad.grad(rosenbrock), method="BFGS")
    together = minimize(srcad.value_and_grad(rosenbrock), start, jac=True, method="L-BFGS-B")
    plain = minimize(rosenbrock, start, method="BFGS")
    for name, result in (("grad, BFGS", separate), ("value_and_grad, L-BFGS-B", together),
                         ("finite differences, BFGS", plain)):  # fmt: skip
        print(f"{name:26} f = {result.fun:.1e} after {result.nfev:4d} evaluations of f")
    good = np.allclose(separate.x, 1.0, atol=1e-4) and np.allclose(together.x, 1.0, atol=1e-3)
    return 0 if good else 1


if __name__ == "__main__":
    if main() != 0:
        raise SystemExit(1)
