"""What Hessians cost in gradients, and Jacobians in calls of the function itself.

    python -m benchmarks.jacobians [names]

In every round both sides are timed once, in random order, and the median of the quotients is
printed.  The functions have 20 variables; those of a Jacobian have 20 results.  A sweep is one call
of the code that `srcad.jvp` runs.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import srcad
from benchmarks.run import called, paired, quotient, report
from srcad.api.asking import derivative

GRADIENTS = 12.0
PRIMALS = 6.0
N = 20
_RNG = np.random.default_rng(7)
A = _RNG.normal(size=(N, N)) / N
B = _RNG.normal(size=(N, N)) / N


# ------------------------------------------------------------------------ one number
def rosenbrock(x: Any) -> Any:
    """The sum over all pairs of neighbours, in arrays."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_loop(x: Any) -> Any:
    """The same, one pair after the other."""
    total = 0.0
    for k in range(len(x) - 1):
        total = total + 100.0 * (x[k + 1] - x[k] ** 2) ** 2 + (1.0 - x[k]) ** 2
    return total


def log_sum_exp(x: Any) -> Any:
    """A smooth maximum of linear functions, and a square."""
    z = A @ x
    return np.log(np.sum(np.exp(z))) + 0.5 * x @ x


def network(x: Any) -> Any:
    """Two layers."""
    return np.sum(np.tanh(B @ np.tanh(A @ x)) ** 2)


def relaxed(x: Any) -> Any:
    """Some steps of a nonlinear diffusion, written into one array."""
    u = x.copy()
    for _ in range(10):
        u[1:-1] = u[1:-1] + 0.1 * u[1:-1] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return np.sum(u**2)


# ------------------------------------------------------------------------ many numbers
def broyden(x: Any) -> Any:
    """Broyden's tridiagonal system."""
    y = (3.0 - 2.0 * x) * x + 1.0
    y[1:] -= x[:-1]
    y[:-1] -= 2.0 * x[1:]
    return y


def layers(x: Any) -> Any:
    """Two dense layers."""
    return np.tanh(B @ np.tanh(A @ x))


def steps(x: Any) -> Any:
    """Ten steps of a nonlinear system."""
    for _ in range(10):
        x = x + 0.1 * np.tanh(A @ x)
    return x


def row_by_row(x: Any) -> Any:
    """One result after the other, of numbers."""
    y = np.zeros(len(x))
    for k in range(len(x)):
        y[k] = x[k] * x[k - 1] + np.sin(x[k])
    return y


HESSIANS = {f.__name__: f for f in (rosenbrock, rosenbrock_loop, log_sum_exp, network, relaxed)}
JACOBIANS = {f.__name__: f for f in (broyden, layers, steps, row_by_row)}


def hessian(name: str, rounds: int) -> None:
    """Print what a Hessian costs."""
    f, x = HESSIANS[name], np.linspace(0.1, 1.0, N)
    whole, gradient = srcad.hessian(f), srcad.grad(f)
    found, h = whole(x), 1e-6
    want = [(gradient(x + h * e) - gradient(x - h * e)) / (2 * h) for e in np.eye(N)]
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)
    cost = quotient(paired(called(whole, (x,)), called(gradient, (x,)), rounds))
    report(f"Hessian of {name}", cost, "grads", GRADIENTS)


def jacobian(name: str, rounds: int) -> None:
    """Print what a Jacobian costs."""
    f, x = JACOBIANS[name], np.linspace(0.1, 1.0, N)
    forwards = srcad.jacfwd(f)
    np.testing.assert_allclose(forwards(x), srcad.jacrev(f)(x), rtol=1e-12, atol=1e-14)
    plain = called(f, (x,))
    cost = quotient(paired(called(forwards, (x,)), plain, rounds))
    along = derivative(f, "jvp", 0).specialize(x)
    sweep = quotient(paired(lambda: along(x)((x,)), plain, rounds))
    report(f"Jacobian of {name}", cost, "calls", PRIMALS + sweep, f"a sweep {sweep:.1f}")


def main() -> None:
    """Measure the problems that are named, or all of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="of problems; all without them")
    parser.add_argument("--rounds", type=int, default=41)
    options = parser.parse_args()
    for name in options.names or (*HESSIANS, *JACOBIANS):
        (hessian if name in HESSIANS else jacobian)(name, options.rounds)


if __name__ == "__main__":
    main()
