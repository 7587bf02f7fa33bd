"""What gradients through solvers cost, relative to careful adjoints by hand.

    python -m benchmarks.solvers [names] [--rounds 21]

The plain call, srcad and the adjoint by hand are interleaved in one process: in every round each is
timed once, in random order, and medians of quotients are printed.  An adjoint by hand calls the
same solver, has the Jacobian or Hessian as a formula, solves one linear system with it, and has the
products with the derivatives by the parameters as formulas.  That of an integral calls `quad` once
for the derivative of the integrand by each parameter, with the tolerances of the value.  That of an
initial value problem goes back through the accepted steps of RK45, stage by stage; for Radau it
solves the adjoint equations backwards, with the same method and tolerances.

    python -m benchmarks.solvers --first

prints the seconds of CPU of the first gradient and of the first Hessian by four parameters, each in
a new process, after the imports, with compiled files written and used.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402 - after the number of threads is set
from scipy.integrate import RK45, quad, solve_ivp  # noqa: E402
from scipy.optimize import least_squares, minimize, root  # noqa: E402

import srcad  # noqa: E402
from benchmarks.run import Run, called, child, report, seconds  # noqa: E402


@dataclass(frozen=True)
class Problem:
    """A function that calls a solver, and its gradient by hand."""

    function: Callable[..., Any]
    by_hand: Callable[..., Any]  # returns the gradient by the first argument
    make: Callable[[], tuple[Any, ...]]  # returns the arguments
    limit: float  # of the time of srcad, relative to that by hand
    apart: float = 1e-6  # relative to the largest entry, in units of the arguments


# ------------------------------------------------------------------------------------ roots
def bratu(p, u):
    """The residual of the equation of Bratu between walls, with three parameters."""
    padded = np.concatenate((np.zeros(1), u, np.zeros(1)))
    bent = (padded[2:] - 2.0 * u + padded[:-2]) * (len(u) + 1) ** 2
    return p[0] * bent + p[1] * np.exp(u) + p[2] * u**2


def jacobian_of_bratu(p, u):
    """Its Jacobian by `u`."""
    n = len(u)
    jac = np.zeros((n, n))
    entries = jac.reshape(-1)
    side = p[0] * (n + 1) ** 2
    entries[:: n + 1] = -2.0 * side + p[1] * np.exp(u) + 2.0 * p[2] * u
    entries[1 :: n + 1] = side
    entries[n :: n + 1] = side
    return jac


def heat(p, start):
    """The sum of the squares of the solution."""
    u = root(lambda u: bratu(p, u), start, jac=lambda u: jacobian_of_bratu(p, u), tol=1e-12).x
    return np.sum(u**2)


def heat_by_hand(p, start):
    """The gradient by `p`."""
    u = root(lambda u: bratu(p, u), start, jac=lambda u: jacobian_of_bratu(p, u), tol=1e-12).x
    w = np.linalg.solve(jacobian_of_bratu(p, u).T, -2.0 * u)
    padded = np.concatenate((np.zeros(1), u, np.zeros(1)))
    bent = (padded[2:] - 2.0 * u + padded[:-2]) * (len(u) + 1) ** 2
    return np.array([w @ bent, w @ np.exp(u), w @ u**2])


def heat_of(n):
    """Return the arguments for `n` unknowns."""
    return lambda: (np.array([1.0, 1.5, 0.3]), np.zeros(n))


# ------------------------------------------------------------------------------------ minima
def coupled(q, couplings, fields, start):
    """The sum of the squares where the energy of coupled unknowns is least."""
    scaled = couplings * q[0]

    def energy(z):
        return 0.5 * z @ (scaled @ z) + 0.25 * q[1] * np.sum(z**4) - q[2] * (fields @ z)

    def slope(z):
        return scaled @ z + q[1] * z**3 - q[2] * fields

    z = minimize(energy, start, jac=slope, tol=1e-6).x
    return np.sum(z**2)


def coupled_by_hand(q, couplings, fields, start):
    """The gradient by `q`."""
    scaled = couplings * q[0]

    def energy(z):
        return 0.5 * z @ (scaled @ z) + 0.25 * q[1] * np.sum(z**4) - q[2] * (fields @ z)

    def slope(z):
        return scaled @ z + q[1] * z**3 - q[2] * fields

    z = minimize(energy, start, jac=slope, tol=1e-6).x
    curvature = scaled.copy()
    curvature.reshape(-1)[:: len(z) + 1] += 3.0 * q[1] * z**2
    w = np.linalg.solve(curvature, -2.0 * z)
    return np.array([w @ (couplings @ z), w @ z**3, -(w @ fields)])


def couplings_of(n):
    """Return the arguments for `n` unknowns."""
    rng = np.random.default_rng(20240607)
    a = rng.normal(size=(n, n))
    matrix = a @ a.T / n + np.eye(n)
    return np.array([1.0, 0.7, 1.2]), matrix, rng.normal(size=n), np.zeros(n)


# ------------------------------------------------------------------------------------ integrals
def swing(p):
    """The integral of a damped oscillation with three parameters."""
    return quad(lambda t: p[0] * np.exp(-p[1] * t) * np.cos(p[2] * t), 0.0, 3.0)[0]


def swing_by_hand(p):
    """The gradient by `p`."""
    a, k, w = p
    options = {"epsabs": 1.49e-8, "epsrel": 1.49e-8}
    quad(lambda t: p[0] * np.exp(-p[1] * t) * np.cos(p[2] * t), 0.0, 3.0)
    return np.array(
        [
            quad(lambda t: np.exp(-k * t) * np.cos(w * t), 0.0, 3.0, **options)[0],
            quad(lambda t: -t * a * np.exp(-k * t) * np.cos(w * t), 0.0, 3.0, **options)[0],
            quad(lambda t: -t * a * np.exp(-k * t) * np.sin(w * t), 0.0, 3.0, **options)[0],
        ]
    )


# ------------------------------------------------------------------------- initial value problems
def orbit(t, y, p):
    """The slope of a body in a central field, slowed down in both directions."""
    pull = p[0] / (y[0] ** 2 + y[1] ** 2) ** 1.5
    return np.array([y[2], y[3], -pull * y[0] - p[1] * y[2], -pull * y[1] - p[2] * y[3]])


def end_of_orbit(p, rtol):
    """The sum of the squares at the end."""
    start, options = [1.0, 0.0, 0.0, 1.1], {"rtol": rtol, "atol": 1e-2 * rtol}
    sol = solve_ivp(orbit, (0.0, 6.0), start, args=(p,), **options)
    return np.sum(sol.y[:, -1] ** 2)


def end_of_orbit_by_hand(p, rtol):
    """The gradient by `p`, along the accepted steps."""
    start, options = [1.0, 0.0, 0.0, 1.1], {"rtol": rtol, "atol": 1e-2 * rtol}
    sol = solve_ivp(orbit, (0.0, 6.0), start, args=(p,), **options)
    t, states = sol.t, sol.y.T
    y_bar, p_bar = 2.0 * states[-1], np.zeros(3)
    k, z = np.empty((6, 4)), np.empty((6, 4))
    for step in range(len(t) - 2, -1, -1):
        h, y = t[step + 1] - t[step], states[step]
        for i in range(6):
            z[i] = y + h * (RK45.A[i, :i] @ k[:i])
            k[i] = orbit(t[step] + RK45.C[i] * h, z[i], p)
        k_bar = h * np.outer(RK45.B, y_bar)
        for i in range(5, -1, -1):
            (u, v, a, b), w = z[i], k_bar[i]
            square = u**2 + v**2
            cube = square * np.sqrt(square)
            along = w[2] * u + w[3] * v
            turned = 3.0 * p[0] * along / (cube * square)
            z_bar = np.array(
                [
                    turned * u - p[0] / cube * w[2],
                    turned * v - p[0] / cube * w[3],
                    w[0] - p[1] * w[2],
                    w[1] - p[2] * w[3],
                ]
            )
            p_bar += np.array([-along / cube, -w[2] * a, -w[3] * b])
            y_bar = y_bar + z_bar
            k_bar[:i] += h * np.outer(RK45.A[i, :i], z_bar)
    return p_bar


def reaction(t, y, p):
    """The slopes of Robertson's reaction of three substances."""
    first, second, third = p[0] * y[0], p[1] * y[1] * y[2], p[2] * y[1] ** 2
    return np.array([second - first, first - second - third, third])


def jacobian_of_reaction(t, y, p):
    """The Jacobian by `y`."""
    a, b, c = p[0], p[1] * y[2], p[1] * y[1]
    d = 2.0 * p[2] * y[1]
    return np.array([[-a, b, c], [a, -b - d, -c], [0.0, d, 0.0]])


STIFF = {"method": "Radau", "rtol": 1e-6, "atol": 1e-10}


def end_of_reaction(p):
    """A sum of squares at the end."""
    sol = solve_ivp(
        reaction, (0.0, 40.0), [1.0, 0.0, 0.0], args=(p,), jac=jacobian_of_reaction, **STIFF
    )
    return np.sum(sol.y[:, -1] ** 2)


def end_of_reaction_by_hand(p):
    """The gradient by `p`: the adjoint equations, solved backwards."""
    sol = solve_ivp(
        reaction, (0.0, 40.0), [1.0, 0.0, 0.0], args=(p,), jac=jacobian_of_reaction,
        dense_output=True, **STIFF,
    )  # fmt: skip

    def back(t, v):
        y, w = sol.sol(t), v[:3]
        by_p = np.array(
            [w @ [-y[0], y[0], 0.0], w @ [y[1] * y[2], -y[1] * y[2], 0.0],
             w @ [0.0, -(y[1] ** 2), y[1] ** 2]]
        )  # fmt: skip
        return np.concatenate((-jacobian_of_reaction(t, y, p).T @ w, -by_p))

    def jacobian_of_back(t, v):
        y, jac = sol.sol(t), np.zeros((6, 6))
        jac[:3, :3] = -jacobian_of_reaction(t, y, p).T
        jac[3, :2] = y[0], -y[0]
        jac[4, :2] = -y[1] * y[2], y[1] * y[2]
        jac[5, 1:3] = y[1] ** 2, -(y[1] ** 2)
        return jac

    start = np.concatenate((2.0 * sol.y[:, -1], np.zeros(3)))
    return solve_ivp(back, (40.0, 0.0), start, jac=jacobian_of_back, **STIFF).y[3:, -1]


PROBLEMS = {
    "root, 50 unknowns": Problem(heat, heat_by_hand, heat_of(50), 1.5),
    "root, 200 unknowns": Problem(heat, heat_by_hand, heat_of(200), 1.5),
    "minimize, 30 unknowns": Problem(coupled, coupled_by_hand, lambda: couplings_of(30), 1.4),
    "quad, 3 parameters": Problem(swing, swing_by_hand, lambda: (np.array([1.3, 0.4, 2.0]),), 4.0),
    "solve_ivp, RK45": Problem(
        end_of_orbit, end_of_orbit_by_hand, lambda: (np.array([1.0, 0.1, 0.2]), 1e-4), 2.0
    ),
    "solve_ivp, Radau": Problem(
        end_of_reaction,
        end_of_reaction_by_hand,
        lambda: (np.array([0.04, 1e4, 3e7]),),
        3.0,
        apart=1e-3,
    ),
}


# ------------------------------------------------------------------------------------ timing
def interleaved(runs: list[Run], rounds: int, budget: float = 4e-3) -> list[list[float]]:
    """The seconds of a call of each in every round, in random order."""
    numbers = [max(1, int(budget / max(min(seconds(run, 1) for _ in range(3)), 1e-8)))
               for run in runs]  # fmt: skip
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for k in random.sample(range(len(runs)), len(runs)):
            times[k].append(seconds(runs[k], numbers[k]))
    return times


def quotients(above: list[float], below: list[float]) -> float:
    """The median of the quotients of the rounds."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def measure(name: str, rounds: int) -> float:
    """Compare the gradients, time a problem, and return the ratio to the adjoint by hand."""
    problem = PROBLEMS[name]
    args = problem.make()
    gradient = srcad.grad(problem.function)
    want = problem.by_hand(*args)
    units = np.abs(args[0])
    apart = float(np.max(units * np.abs(gradient(*args) - want)) / np.max(units * np.abs(want)))
    if apart > problem.apart:
        raise SystemExit(f"{name}: the gradient differs by {apart:.1e}")
    runs = [called(f, args) for f in (problem.function, gradient, problem.by_hand)]
    plain, ours, hand = interleaved(runs, rounds)
    ratio = quotients(ours, hand)
    times = [statistics.median(some) * 1e3 for some in (plain, ours, hand)]
    note = (
        f"plain {times[0]:.2f} ms, srcad {times[1]:.2f} ms, by hand {times[2]:.2f} ms; "
        f"to plain {quotients(ours, plain):.2f} and {quotients(hand, plain):.2f}"
    )
    report(name, ratio, "", problem.limit, note)
    return ratio


FIRST = """
import time, numpy as np, scipy.integrate, scipy.optimize, srcad
from benchmarks.solvers import {function} as f, {make} as make
args = make()
start = time.process_time()
srcad.{mode}(f)(*args)
print(time.process_time() - start)
"""


def four(p):
    """A root with four parameters."""
    u = root(lambda u: p[0] * u**3 + p[1] * u + p[2] * u[::-1] - p[3], np.ones(3), tol=1e-12).x
    return np.sum(u**2)


def four_of() -> tuple[Any, ...]:
    """Return its arguments."""
    return (np.array([1.0, 2.0, 0.3, 1.5]),)


def four_least(p):
    """A minimum with four parameters."""
    found = minimize(
        lambda z: p[0] * np.sum(z**4) + p[1] * np.sum(z**2) + p[2] * z[0] * z[1] - p[3] * z[1],
        np.ones(3),
        tol=1e-6,
    )
    return np.sum(found.x**2)


def four_of_slopes(p):
    """The end of a trajectory with four parameters."""
    sol = solve_ivp(lambda t, y: [p[0] - p[1] * y[0] * y[1], p[2] * y[0] - p[3] * y[1]],
                    (0.0, 4.0), [1.0, 0.5])  # fmt: skip
    return np.sum(sol.y[:, -1] ** 2)


T = np.linspace(0.2, 4.0, 20)


def four_fitted(p):
    """A fit of two parameters of a trajectory to data that depend on four others."""
    data = p[0] * np.exp(-p[1] * T) + p[2] + p[3] * T

    def residuals(q):
        sol = solve_ivp(lambda t, y: -q[0] * y + q[1], (0.0, 4.0), [1.0], t_eval=T, rtol=1e-8)
        return sol.y[0] - data

    return np.sum(least_squares(residuals, np.array([0.6, 0.3])).x ** 2)


FIRSTS = {
    "four": ("root", 1.0, 3.0),
    "four_least": ("minimize", 1.0, 3.0),
    "four_of_slopes": ("solve_ivp", 1.5, 10.0),
    "four_fitted": ("a fit of a trajectory", 5.0, 10.0),
}


def first(runs: int) -> None:
    """The seconds of CPU of the first derivatives in a process: the least of a few."""
    for function, (solver, *limits) in FIRSTS.items():
        for mode, limit in zip(("grad", "hessian"), limits, strict=True):
            text = FIRST.format(function=function, make="four_of", mode=mode)
            found = [child(text, Path()) for _ in range(runs)]
            report(f"first {mode} through {solver}", min(found), "s", limit)


def main(words: list[str] | None = None) -> None:
    """Measure the problems that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.solvers", description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(PROBLEMS))
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--first", action="store_true", help="time the first derivatives")
    options = parser.parse_args(words)
    if options.first:
        first(3)
        return
    for name in options.names or PROBLEMS:
        measure(name, options.rounds)


if __name__ == "__main__":
    main()
