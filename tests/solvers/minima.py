"""Programs with minima and fits of functions that read differentiated values.

A solver ends where its objective is flat to rounding: the differences of the results of `LOOSE` are
good to some four digits.
"""

import numpy as np
from scipy.optimize import curve_fit, least_squares, minimize, minimize_scalar

from tests.solvers.registry import registry

PROGRAMS, program = registry()
TIGHT = {"jac": "cs", "xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}


LOOSE = {
    "bfgs",
    "both",
    "fit_cov",
    "fit_sigma",
    "fit_x",
    "lsq",
    "lsq_fun",
    "lsq_loss",
    "scalar",
    "scalar_bounded",
    "scalar_fun",
    "value",
}


A2 = np.array([0.8, 1.0])
D = np.array([0.9, 2.1, 2.9, 4.2, 5.1])
X = np.arange(5.0)


@program(A2, 1.1)
def bfgs(a, c):
    return np.sum(
        minimize(
            lambda z: np.sum((z - a) ** 4 + (z * c - 1) ** 2) + z[0] * z[1] * 0.1,
            np.zeros(2),
            tol=1e-11,
        ).x
        ** 2
    )


@program(A2, 1.1)
def value(a, c):
    return (
        minimize(lambda z: np.sum((z - a) ** 4 + (z * c - 1) ** 2), np.zeros(2), tol=1e-11).fun * c
    )


@program(A2, 1.1)
def both(a, c):
    r = minimize(
        lambda z, b: np.sum((z - b) ** 4 + (z * c - 1) ** 2),
        np.zeros(2),
        args=(a,),
        method="BFGS",
        tol=1e-11,
    )
    return r.fun * np.sum(r.x)


@program(A2, 1.1)
def with_jac(a, c):
    def f(z):
        return np.sum((z - a) ** 4 + (z * c - 1) ** 2)

    def g(z):
        return 4 * (z - a) ** 3 + 2 * c * (z * c - 1)

    return np.sum(
        minimize(f, np.zeros(2), jac=g, method="L-BFGS-B", options={"ftol": 1e-16, "gtol": 1e-12}).x
        * a
    )


@program(A2, 1.1)
def jac_true(a, c):
    def f(z):
        return np.sum((z - a) ** 4 + (z * c - 1) ** 2), 4 * (z - a) ** 3 + 2 * c * (z * c - 1)

    return np.sum(minimize(f, np.zeros(2), jac=True, tol=1e-12).x * a)


@program(A2, 1.1)
def bounds(a, c):
    return np.sum(
        minimize(
            lambda z: np.sum((z - a) ** 4 + (z * c - 1) ** 2) + 0.3 * z[0] * z[1],
            np.zeros(2),
            bounds=[(0, 0.7), (None, None)],
            options={"ftol": 1e-16, "gtol": 1e-12},
        ).x
        * a
    )


@program(A2, 1.1)
def scalar(a, c):
    return minimize_scalar(lambda z: (z - a[0]) ** 4 + (z * c - 1) ** 2 + a[1] * z, tol=1e-12).x * c


@program(A2, 1.1)
def scalar_bounded(a, c):
    return (
        minimize_scalar(
            lambda z: (z - a[0]) ** 4 + (z * c - 1) ** 2 + a[1] * z,
            bounds=(-3, 3),
            options={"xatol": 1e-11},
        ).x
        * c
    )


@program(A2, 1.1)
def scalar_fun(a, c):
    return minimize_scalar(lambda z: (z - a[0]) ** 4 + (z * c - 1) ** 2 + a[1] * z).fun * c


@program(D, 1.1)
def lsq(y, c):
    r = least_squares(lambda p: p[0] + np.exp(p[1] * X) * c - y, np.array([0.1, 0.3]), **TIGHT)
    return np.sum(r.x**2)


@program(D, 1.1)
def lsq_cost(y, c):
    return least_squares(
        lambda p: p[0] + p[1] * X * c - y,
        np.array([0.1, 0.5]),
        **TIGHT,
    ).cost


@program(D, 1.1)
def lsq_fun(y, c):
    r = least_squares(
        lambda p: p[0] * c + np.exp(p[1] * X * 0.3) - y,
        np.array([0.1, 0.5]),
        **TIGHT,
    )
    return np.sum(r.fun**3) + r.x[0]


@program(D, 1.1)
def lsq_loss(y, c):
    return np.sum(
        least_squares(
            lambda p: p[0] + p[1] * X * c - y,
            np.array([0.1, 0.5]),
            loss="soft_l1",
            f_scale=0.3,
            **TIGHT,
        ).x
    )


@program(D, 1.1)
def lsq_bounds(y, c):
    return np.sum(
        least_squares(
            lambda p: p[0] + p[1] * X * c - y,
            np.array([0.1, 0.5]),
            bounds=([0, 0], [0.5, 3]),
            method="dogbox",
            **TIGHT,
        ).x
        ** 2
    )


@program(D, 1.1)
def lsq_args(y, c):
    return np.sum(
        least_squares(
            lambda p, y, s: (p[0] + p[1] * X - y) / s,
            [0.1, 0.5],
            args=(y,),
            kwargs={"s": c + X},
            **TIGHT,
        ).x
        ** 2
    )


@program(D, 1.1)
def fit(y, c):
    jac = lambda x, a, b: np.stack([np.ones(5), x * c]).T  # noqa: E731
    p, _ = curve_fit(lambda x, a, b: a + b * x * c, X, y, jac=jac)
    return np.sum(p**2)


@program(D, 1.1)
def fit_cov(y, c):
    p, cov = curve_fit(lambda x, a, b: a + b * x * c, X, y, p0=[1.0, 1.0])
    return np.sqrt(cov[0, 0]) + p[0]


def model(x, a, b):
    return a * np.exp(-b * x)


def slopes(x, a, b):
    return np.stack([np.exp(-b * x), -a * x * np.exp(-b * x)]).T


@program(D[::-1].copy(), 1.1)
def fit_sigma(y, c):
    p, cov = curve_fit(
        model,
        X,
        y,
        p0=[5.0, 0.3],
        sigma=0.1 + 0.1 * c * X,
        jac=slopes,
        absolute_sigma=True,
        ftol=1e-15,
        xtol=1e-15,
    )
    return cov[1, 1] * 100 + p[0] * p[1]


@program(X + 0.1, D[::-1].copy())
def fit_x(x, y):
    p, cov = curve_fit(
        model,
        x,
        y,
        p0=[5.0, 0.3],
        ftol=1e-15,
        xtol=1e-15,
        jac=slopes,
    )
    return p[0] * p[1]
