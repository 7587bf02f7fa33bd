"""Programs with minima under bounds and constraints, and with linear least squares.

`LOOSE` are programs with results that differ from the solution by more than rounding.
"""

import numpy as np
from scipy.optimize import (
    Bounds,
    LinearConstraint,
    NonlinearConstraint,
    least_squares,
    lsq_linear,
    minimize,
    minimize_scalar,
    nnls,
)

from tests.solvers.registry import registry

PROGRAMS, program = registry()
LOOSE = {
    "cobyla",
    "disk",
    "equality",
    "equality_given_twice",
    "cobyqa",
    "trust_constr",
    "minimum_at_active_bounds",
}


A2 = np.array([0.8, 1.0])
A3 = np.array([0.5, 1.4, -0.3])
X = np.arange(5.0)
D = np.array([0.9, 2.1, 2.9, 4.2, 5.1])
M = np.stack([np.ones(5), X, np.sin(X)]).T
TIGHT = {"method": "SLSQP", "tol": 1e-14}


# ---------------------------------------------------------------------------- linear least squares
@program(D, 1.1)
def linear(y, c):
    r = lsq_linear(M * c + 0.1 * c**2, y)
    return np.sum(r.x**3) + r.cost * c + np.sum(r.fun**3)


@program(M + 0.2, D)
def linear_in_the_matrix(a, y):
    return np.sum(lsq_linear(a, y).x ** 3)


@program(D, 1.1)
def linear_with_bounds(y, c):
    r = lsq_linear(
        M + 0.2 * c, y, bounds=([-1.0, 0.0, -0.1], [0.1, 3.0, 5.0]), method="bvls", tol=1e-15
    )
    return np.sum(r.x**2) * c + r.cost + r.fun[1]


@program(D, 0.15)
def linear_with_active_bounds(y, c):
    upper = np.array([c**2, 3.0, 0.1])
    r = lsq_linear(M + 0.2, y, (-1.0, upper), method="bvls", tol=1e-15)
    return np.sum(r.x**2) + r.cost * c + r.fun[1]


@program(M, D)
def nonnegative(a, y):
    x, norm = nnls(a + 0.3, y * np.array([1, 1, 1, 1, 0.2]))
    return np.sum(x**2) + norm * x[0]


# ---------------------------------------------------------------------------- bounds
@program(A2, 0.6)
def minimum_at_active_bounds(a, c):
    r = minimize(
        lambda z: np.sum((z - a) ** 4 + (z * c - 1) ** 2) + 0.3 * z[0] * z[1],
        np.zeros(2),
        bounds=[(0, c**2), (None, None)],
        options={"ftol": 1e-16, "gtol": 1e-12},
    )
    return np.sum(r.x * a) + r.fun * c


@program(A2, 0.6)
def bounds_object(a, c):
    r = minimize(
        lambda z: np.sum((z - a) ** 4 + (z * c + 1) ** 2),
        np.array([0.9, 0.9]),
        bounds=Bounds(c * a, [2.0, 2.0]),
        **TIGHT,
    )
    return np.sum(r.x * a) * r.fun


@program(A2, 0.6)
def interval_with_active_end(a, c):
    r = minimize_scalar(
        lambda z: (z - a[0]) ** 4 + (z * c - 1) ** 2 + a[1] * z,
        bounds=(a[0] * c, 3.0),
        options={"xatol": 1e-13},
    )
    return r.x * c + r.fun


@program(D, 0.5)
def residuals_with_active_bounds(y, c):
    r = least_squares(
        lambda p: p[0] + p[1] * X - y + p[0] ** 2 * 0.1,
        np.array([0.1, 0.5]),
        bounds=(np.array([0.0, 0.0]), np.array([c * y[0] ** 2, 3.0])),
        method="dogbox",
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
    )
    return np.sum(r.x**2) + r.cost * c + np.sum(r.fun**3)


# ---------------------------------------------------------------------------- constraints
@program(A2, 1.1)
def equality(a, c):
    r = minimize(
        lambda z: np.sum((z - a) ** 4 + c * z**2),
        np.ones(2),
        constraints={"type": "eq", "fun": lambda z: z[0] * c + z[1] ** 2 - a[0]},
        **TIGHT,
    )
    return r.x[0] * r.x[1] + r.fun * c


@program(A3, 0.7)
def budget(a, c):
    constraints = (
        {"type": "eq", "fun": lambda w: np.sum(w) - c},
        {"type": "ineq", "fun": lambda w, s: s - np.sum(w**2), "args": (2.0 * c,)},
    )
    r = minimize(
        lambda w: np.sum((w - a) ** 2) + 0.1 * np.sum(w**4),
        np.full(3, 0.2),
        bounds=[(0, None)] * 3,
        constraints=constraints,
        **TIGHT,
    )
    return np.sum(r.x**2 * a) + r.fun


@program(A3, 0.7)
def disk(a, c):
    limit = NonlinearConstraint(lambda z: np.sum(z**2), -np.inf, c**2)
    r = minimize(
        lambda z: np.sum((z - a) ** 2) + 0.1 * z[0] ** 4, np.zeros(3), constraints=limit, **TIGHT
    )
    return np.sum(r.x * np.arange(1, 4)) + r.fun


@program(A3, 0.7)
def planes(a, c):
    fixed = LinearConstraint([[1.0, 1.0, 1.0], [1.0, -1.0, 0.0]], [0.0, -1.0], [1.0, -0.2])
    moved = LinearConstraint(np.array([[c, 1.0, 2.0]]), a[0] * c, np.inf)
    r = minimize(
        lambda z: np.sum((z - a) ** 2) + 0.1 * z[0] ** 4,
        np.zeros(3),
        jac=lambda z: 2 * (z - a) + 0.4 * np.array([z[0] ** 3, 0, 0]),
        constraints=[fixed, moved],
        **TIGHT,
    )
    return np.sum(r.x * np.arange(1, 4)) + r.fun


@program(A2, 1.1)
def trust_constr(a, c):
    r = minimize(
        lambda z: np.sum((z - a) ** 2 + 0.1 * z**4),
        np.zeros(2),
        method="trust-constr",
        constraints=NonlinearConstraint(
            lambda z: [z[0] * c + z[1], z[0] - z[1]], [-1, -9], [0.5, 9]
        ),
        options={"gtol": 1e-10, "xtol": 1e-12, "barrier_tol": 1e-10},
    )
    return np.sum(r.x * a) + r.fun


@program(A2, 1.1)
def cobyla(a, c):
    r = minimize(
        lambda z: np.sum((z - a) ** 2 + 0.1 * z**4),
        np.zeros(2),
        method="COBYLA",
        constraints=[{"type": "ineq", "fun": lambda z: [0.5 - z[0] * c - z[1], 9 - z[0]]}],
        options={"tol": 1e-10, "maxiter": 5000},
    )
    return np.sum(r.x * a) + r.fun


@program(A2, 1.1)
def cobyqa(a, c):
    r = minimize(
        lambda z: np.sum((z - a) ** 2 + 0.1 * z**4),
        np.zeros(2),
        method="COBYQA",
        constraints=LinearConstraint([[c, 1.0]], ub=0.5),
        options={"final_tr_radius": 1e-9},
    )
    return np.sum(r.x * a) + r.fun


@program(A2, 0.3)
def linear_program(a, c):
    constraints = [
        {"type": "ineq", "fun": lambda z: c - a @ z},
        {"type": "ineq", "fun": lambda z: z - 0.1 * c},
    ]
    r = minimize(
        lambda z: -np.sum(z * np.array([1.0, 3.0])), np.zeros(2), constraints=constraints, **TIGHT
    )
    return np.sum(r.x**2) + r.fun


@program(A3, 0.7)
def equality_given_twice(a, c):
    constraints = [
        {"type": "eq", "fun": lambda z: np.sum(z) - c},
        LinearConstraint(np.ones((1, 3)), c, c),
        {"type": "ineq", "fun": lambda z: z - 0.1 * a},
    ]
    r = minimize(
        lambda z: np.sum((z - a) ** 2) + 0.1 * z[0] ** 4,
        np.array([0.3, 0.3, 0.1]),
        method="trust-constr",
        constraints=constraints,
        options={"gtol": 1e-10, "xtol": 1e-12, "barrier_tol": 1e-10},
    )
    return np.sum(r.x * np.arange(1, 4)) + r.fun
