"""Programs with roots of functions that read differentiated values."""

import functools
from dataclasses import dataclass

import numpy as np
from scipy.optimize import (
    bisect,
    brenth,
    brentq,
    fixed_point,
    fsolve,
    newton,
    ridder,
    root,
    root_scalar,
    toms748,
)

from tests.solvers.registry import registry

PROGRAMS, program = registry()


@program(1.3, 4.0)
def brent(p, c):
    return brentq(lambda z: z**3 + p * z - c, 0.0, 5.0, xtol=1e-14) ** 2


@program(1.3, 4.0)
def brent_args(p, c):
    def g(z, a, b):
        return z**3 + a * z - b

    return brenth(g, 0.0, 5.0, args=(p, c), xtol=1e-14) * p


@program(1.3, 4.0)
def full(p, c):
    z, r = ridder(lambda z: z**3 + p * z - c, 0.0, 5.0, xtol=1e-13, full_output=True)
    return z * c if r.converged else 0.0


@program(1.3, 4.0)
def default(p, c):
    f = lambda z, q=p: z**3 + q * z - c
    return toms748(f, 0.0, 5.0, xtol=1e-13)


@program(1.3, 4.0)
def one_arg(p, c):
    return bisect(lambda z, c: z**3 + p * z - c, 0.0, 5.0, args=(c,), xtol=1e-13)


@program(1.3, 4.0)
def nested_function(p, c):
    k = 3

    def power(z):
        return z**k * p

    def g(z):
        return power(z) - c

    return brentq(g, 0.0, 5.0, xtol=1e-14)


@program({"a": 1.3, "n": 3, "s": "x"}, 4.0)
def captured_dict(d, c):
    return brentq(lambda z: z ** d["n"] + d["a"] * z - c, 0.0, 5.0, xtol=1e-14)


@dataclass
class Gas:
    a: float
    b: float
    name: str = "N2"

    def eq(self, v, p):
        return (p + self.a / v**2) * (v - self.b) - 2.0


@program(0.3, 0.1)
def method_of_object(a, b):
    g = Gas(a, b)
    return newton(g.eq, 1.5, args=(1.2,), tol=1e-13)


@program(Gas(0.3, 0.1), 1.2)
def object_argument(g, p):
    return brentq(g.eq, 0.5, 5.0, args=(p,), xtol=1e-14) + g.a


class Callable_:
    def __init__(self, a):
        self.a = a

    def __call__(self, z):
        return np.cos(z) - self.a * z


@program(0.8, 1.0)
def callable_object(a, c):
    return root_scalar(Callable_(a), bracket=(0.0, 2.0), xtol=1e-14).root * c


def outside(z, a, c):
    return z * np.exp(z) - a * c


@program(0.8, 1.0)
def with_partial(a, c):
    return root_scalar(functools.partial(outside, a=a, c=c), x0=0.3, x1=0.6, xtol=1e-14).root


@program(0.8, 1.0)
def module_function(a, c):
    sol = root_scalar(outside, args=(a, c), method="brentq", bracket=[0, 3], xtol=1e-14)
    assert sol.converged
    return sol.root


@program(0.8, 1.0)
def with_fprime(a, c):
    return newton(
        lambda z: z * np.exp(z) - a * c, 0.4, fprime=lambda z: (1 + z) * np.exp(z), tol=1e-13
    )


@program(0.8, 1.0)
def fprime_true(a, c):
    return root_scalar(
        lambda z: (z * np.exp(z) - a * c, (1 + z) * np.exp(z)), x0=0.5, fprime=True, xtol=1e-14
    ).root


@program(np.array([0.8, 1.0, 2.0]), 1.1)
def newton_array(a, c):
    return np.sum(newton(lambda z: z * np.exp(z) - a * c, np.ones(3), tol=1e-14) ** 2)


@program(np.array([0.8, 1.0]), 1.1)
def fsolve_list(a, c):
    def f(u):
        x, y = u
        return [x * np.cos(y) - a[0] * c, x * y - y - a[1]]

    x, y = fsolve(f, [1.0, 1.0], xtol=1e-13)
    return x * y + x


@program(np.array([0.8, 1.0]), 1.1)
def fsolve_full(a, c):
    x, info, ok, msg = fsolve(lambda u: u**3 + u - a * c, np.ones(2), full_output=True, xtol=1e-13)
    return np.sum(x * a) + 0 * ok


@program(np.array([0.8, 1.0]), 1.1)
def fsolve_scalar(a, c):
    return np.sum(fsolve(lambda u: u**3 + u - a[0] * c, 1.0, xtol=1e-13))


@program(np.array([0.8, 1.0]), 1.1)
def root_jac(a, c):
    def f(u):
        return u**3 + u - a * c, np.diag(3 * u**2 + 1)

    return np.sum(root(f, np.ones(2), jac=True, tol=1e-13).x)


@program(np.array([0.8, 1.0]), 1.1)
def root_jac_function(a, c):
    s = root(
        lambda u, a: u**3 + u - a * c,
        np.ones(2),
        args=(a,),
        jac=lambda u, a: np.diag(3 * u**2 + 1),
        method="lm",
        tol=1e-13,
    )
    return s.x[0] * s["x"][1] if s.success else 0.0


@program(np.array([0.8, 1.0]), 1.1)
def krylov(a, c):
    return np.sum(
        root(
            lambda u: u**3 + 2 * u + 0.1 * u[::-1] - a * c,
            np.ones(2),
            method="krylov",
            options={"fatol": 1e-13},
        ).x
        ** 2
    )


@program(np.array([[0.8, 1.0], [0.3, 0.9]]), 1.1)
def matrix_unknown(a, c):
    return np.sum(
        root(lambda u: u @ u + 3 * u - a * c, np.zeros((2, 2)), method="df-sane", tol=1e-13).x ** 2
    )


@program(0.8, 1.1)
def fixed(a, c):
    return fixed_point(lambda z: a * np.cos(z * c), 0.5, xtol=1e-14)


@program(np.array([0.8, 1.0]), 1.1)
def fixed_array(a, c):
    return np.sum(fixed_point(lambda z: a * np.cos(z * c) + 0.1 * z[::-1], np.ones(2), xtol=1e-14))


@program(np.array([0.8, 1.0]), 1.1)
def in_a_loop(a, c):
    t = 0.0
    for v in a:
        t = t + brentq(lambda z: z**3 + z * c - v, 0.0, 3.0, xtol=1e-14) ** 2
    return t


@program(0.8, 1.1)
def in_a_branch(a, c):
    z = 0.3
    if a < c:
        z = brentq(lambda z: z**3 + z * c - a, 0.0, 3.0, xtol=1e-14)
    return z * a


@program(0.8, 1.1)
def nested_roots(a, c):
    def outer(y):
        x = brentq(lambda x: x**3 + x - y * c, -3.0, 3.0, xtol=1e-15)
        return x + y - a

    return brentq(outer, 0.0, 2.0, xtol=1e-15)


@program(np.array([0.8, 1.0]), 1.1)
def helper(a, c):
    def solve(b):
        return root(lambda u: u**3 + u - b, np.ones(2), tol=1e-13).x

    return np.sum(solve(a) * solve(a * c))


@program(1.0, 0.5)
def kepler(M, e):
    E = newton(lambda E: E - e * np.sin(E) - M, M, tol=1e-14)
    return np.cos(E) - e


@program(np.array([0.8, 1.0]), 1.1)
def equilibrium(k, c):
    p = {"k": k, "c": c}
    q = [c, 2.0]
    f = lambda u: np.array([p["k"][0] * u[0] ** 2 - u[1] * q[0], u[0] + 2 * u[1] - q[1]])
    x = fsolve(f, np.array([0.5, 0.5]), xtol=1e-13)
    return x[0] + x[1] ** 2
