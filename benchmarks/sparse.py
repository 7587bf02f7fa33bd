"""What sparse derivatives cost: in calls of the function, in gradients, and in a stiff solver.

    python -m benchmarks.sparse

Burgers' equation on a line has three entries in each row of its Jacobian, the chained Rosenbrock
function as many in its Hessian.  The pattern is found by the first call and timed by itself.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import srcad
from benchmarks.run import called, paired, quotient, report

NU = 0.001


def burgers(u):
    """The right-hand side of Burgers' equation on a line, between walls."""
    h = 1.0 / (u.shape[0] + 1)
    padded = np.concatenate((np.zeros(1), u, np.zeros(1)))
    left, right = padded[:-2], padded[2:]
    return NU * (right - 2.0 * u + left) / h**2 - u * (right - left) / (2.0 * h)


def rosenbrock(x):
    """The chained Rosenbrock function."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def cost(label: str, derivative: Any, unit: Any, x: Any, limit: float) -> None:
    """The first call in seconds, later ones in calls of another function."""
    start = time.perf_counter()
    derivative(x)
    first = time.perf_counter() - start
    unit(x)
    pairs = paired(called(derivative, (x,)), called(unit, (x,)), 41, 5e-3)
    report(label, quotient(pairs), "", limit, f"the first call takes {first * 1e3:.0f} ms")


def solver(n: int) -> None:
    """Radau's method with our Jacobian, and with SciPy's differences by the same pattern."""
    u = np.sin(np.pi * np.linspace(0, 1, n + 2)[1:-1])
    jacobian = srcad.jacobian(burgers, sparse=True)
    pattern = srcad.sparsity(burgers)(u)
    jacobian(u)

    def ours() -> Any:
        return solve_ivp(lambda t, u: burgers(u), (0.0, 0.5), u, method="Radau",
                         jac=lambda t, u: jacobian(u))  # fmt: skip

    def by_differences() -> Any:
        return solve_ivp(lambda t, u: burgers(u), (0.0, 0.5), u, method="Radau",
                         jac_sparsity=pattern)  # fmt: skip

    a, b = ours(), by_differences()
    print(f"evaluations {a.nfev} and {b.nfev}, Jacobians {a.njev} and {b.njev}")
    pairs = paired(by_differences, ours, 5)
    report("Radau: differences against ours", quotient(pairs), "fold")


def main() -> None:
    """Measure everything."""
    rng = np.random.default_rng(0)
    cost("Burgers, n = 10,000: Jacobian in calls", srcad.jacobian(burgers, sparse=True), burgers,
         0.1 * rng.normal(size=10_000), 15.0)  # fmt: skip
    small = rng.normal(size=50)
    dense, sparse = srcad.jacobian(burgers)(small), srcad.jacobian(burgers, sparse=True)(small)
    print("n = 50: largest difference to the dense one", np.max(np.abs(sparse.toarray() - dense)))
    cost("Rosenbrock, n = 5,000: Hessian in gradients", srcad.hessian(rosenbrock, sparse=True),
         srcad.grad(rosenbrock), rng.normal(size=5_000), 10.0)  # fmt: skip
    for n in (1_000, 10_000):
        solver(n)


if __name__ == "__main__":
    main()
