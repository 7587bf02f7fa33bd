"""Programs with integrals of functions that read differentiated values."""

import numpy as np
from scipy.integrate import dblquad, fixed_quad, nquad, quad, quad_vec, tplquad
from scipy.optimize import brentq, minimize_scalar

from tests.solvers.registry import registry

PROGRAMS, program = registry()


A2 = np.array([0.8, 1.3])


@program(0.7, 1.3)
def limits(a, b):
    return quad(lambda x: np.exp(-x * x) * x, a, b)[0]


@program(0.7, 1.3)
def captured(a, b):
    return quad(lambda x: np.exp(-a * x * x) * np.cos(b * x), 0.0, 2.0)[0] ** 2


@program(0.7, 1.3)
def further_arguments(a, b):
    def f(x, p, q):
        return p * np.sin(q * x) + x * p**2

    value, _ = quad(f, 0.0, b, args=(a, b))
    return value * a


@program(A2, 1.3)
def of_arrays(a, b):
    return quad(lambda x: np.sum(np.exp(-a * x) * np.cos(b * x)), 0.0, 2.0)[0]


@program(0.7, 1.3)
def infinite(a, b):
    return quad(lambda x: np.exp(-a * x * x + b * x), -np.inf, np.inf)[0]


@program(0.7, 1.3)
def half_infinite(a, b):
    return quad(lambda x: np.exp(-a * x) * x**b, a, np.inf, epsabs=1e-12, epsrel=1e-12)[0]


@program(0.7, 1.3)
def with_points(a, b):
    return quad(lambda x: np.abs(x - 0.5) ** a * b, 0.0, 2.0, points=[0.5])[0]


@program(0.7, 1.3)
def in_other_units(a, b):
    return quad(lambda x: a * 1e-3 * np.exp(-b * 1e-9 * x), 0.0, 1e9)[0] * 1e-6


@program(0.7, 1.3)
def far_tails(a, b):
    return quad(lambda x: np.exp(-b * (x - a) ** 2 / 2) * x**2, -np.inf, np.inf)[0]


@program(0.7, 1.3)
def full_output(a, b):
    value, _, info = quad(lambda x: np.exp(-a * x) * b, 0.0, 2.0, full_output=1)
    return value * info["neval"]


@program(0.7, 1.3)
def cosine_weight(a, b):
    return quad(lambda x: np.exp(-a * x) * b, 0.0, 2.0, weight="cos", wvar=3.0)[0]


@program(0.7, 1.3)
def sine_weight_to_infinity(a, b):
    return quad(lambda x: np.exp(-a * x) * b, 0.0, np.inf, weight="sin", wvar=3.0)[0]


@program(0.7, 1.3)
def algebraic_weight(a, b):
    return quad(lambda x: np.exp(-a * x) * b, 0.0, 2.0, weight="alg", wvar=(-0.5, 0.5))[0]


@program(0.7, 1.3)
def principal_value(a, b):
    return quad(lambda x: np.exp(-a * x) * b, 0.0, 2.0, weight="cauchy", wvar=1.0)[0]


@program(A2, 1.3)
def vector(a, b):
    return np.sum(quad_vec(lambda x: np.exp(-a * x) * np.cos(b * x), 0.0, b)[0] ** 2)


@program(0.7, 1.3)
def double(a, b):
    inner = (lambda x: a * x, lambda x: 1.0 + x * b)
    return dblquad(lambda y, x: np.exp(-a * x * y) * b * x, 0.0, b, *inner)[0]


@program(0.7, 1.3)
def triple(a, b):
    return tplquad(
        lambda z, y, x, c: np.exp(-a * x * y) * c * z,
        *(0.0, 1.0, 0.0, lambda x: a * x, lambda x, y: y * a, lambda x, y: 1.0 + x * b),
        args=(b,),
        epsrel=1e-9,
    )[0]


@program(0.7, 1.3)
def several(a, b):
    ranges = [lambda x, c: (0.0, x * c + 1), (0.0, b)]
    opts = [{"epsrel": 1e-9}, {"epsrel": 1e-10}]
    return nquad(lambda y, x, c: np.exp(-c * x * y) * b, ranges, args=(a,), opts=opts)[0]


@program(0.7, 1.3)
def fixed(a, b):
    return fixed_quad(lambda x: np.exp(-a * x) * np.cos(b * x), 0.0, b, n=3)[0]


@program(0.7, 1.3)
def nested(a, b):
    return quad(lambda x: quad(lambda y: np.exp(-a * x * y) * b, 0.0, x)[0], 0.0, 1.0)[0]


@program(0.7, 1.3)
def root_of_an_integral(a, b):
    def rest(z):
        return quad(lambda x: np.exp(-a * x), 0.0, z)[0] - 0.4 * b

    return brentq(rest, 0.0, 3.0, xtol=1e-14)


@program(0.7, 1.3)
def integral_of_a_root(a, b):
    def root(x):
        return brentq(lambda z: z**3 + a * z - b * x, 0.0, 5.0, xtol=1e-15)

    return quad(root, 0.0, b)[0]


@program(0.7, 1.3)
def integral_to_a_root(a, b):
    end = brentq(lambda z: z**3 + a * z - b, 0.0, 5.0, xtol=1e-15)
    return quad(lambda x: np.sin(a * x), 0.0, end)[0]


@program(0.7, 1.3)
def minimum_of_integrals(a, b):
    def objective(z):
        return quad(lambda x: (a * x - z) ** 2 * x**b, 0.0, 1.0)[0]

    return minimize_scalar(objective, tol=1e-12).x
