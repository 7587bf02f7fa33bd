"""Test objectives of optimisation, written as collections of such functions are.

Each is a class that knows its bounds and counts its calls; ``fun(x, *args)`` is the objective.
The formulas are those of Jamil and Yang (2013), *A literature survey of benchmark functions for
global optimisation problems*.
"""

from __future__ import annotations

import numpy as np
from numpy import abs, arange, asarray, cos, exp, pi, prod, sin, sqrt, sum


class Objective:
    """What all objectives have: a dimension, bounds and a counter of calls."""

    def __init__(self, dimensions=2):
        self.dimensions = dimensions
        self.nfev = 0
        self.fglob = 0.0
        self._bounds = list(zip([-10.0] * self.dimensions, [10.0] * self.dimensions, strict=True))
        self.custom_bounds = None

    @property
    def N(self):
        return self.dimensions

    @property
    def xmin(self):
        return asarray([low for low, _ in self._bounds])

    def fun(self, x, *args):
        raise NotImplementedError


class Ackley(Objective):
    def fun(self, x, *args):
        self.nfev += 1
        a, b, c = 20.0, 0.2, 2 * pi
        u = -b * sqrt(sum(x**2) / self.N)
        v = sum(cos(c * x)) / self.N
        return -a * exp(u) - exp(v) + a + exp(1)


class Adjiman(Objective):
    def fun(self, x, *args):
        self.nfev += 1
        return cos(x[0]) * sin(x[1]) - x[0] / (x[1] ** 2.0 + 1)


class Alpine(Objective):
    def fun(self, x, *args):
        self.nfev += 1
        return sum(abs(x * sin(x) + 0.1 * x))


class Beale(Objective):
    def fun(self, x, *args):
        self.nfev += 1
        return (
            (1.5 - x[0] + x[0] * x[1]) ** 2
            + (2.25 - x[0] + x[0] * x[1] ** 2) ** 2
            + (2.625 - x[0] + x[0] * x[1] ** 3) ** 2
        )


class BiggsExp(Objective):
    def fun(self, x, *args):
        self.nfev += 1
        t = arange(1, 11.0) * 0.1
        y = exp(-t) - 5 * exp(-10 * t)
        vec = (exp(-t * x[0]) - 5 * exp(-t * x[1]) - y) ** 2
        return sum(vec)


class Bird(Objective):
    def fun(self, x, *args):
        self.nfev += 1
        return (
            sin(x[0]) * exp((1 - cos(x[1])) ** 2)
            + cos(x[1]) * exp((1 - sin(x[0])) ** 2)
            + (x[0] - x[1]) ** 2
        )


class Brown(Objective):
    def fun(self, x, *args):
        self.nfev += 1
        x0, x1 = x[:-1], x[1:]
        return sum((x0**2.0) ** (x1**2.0 + 1.0) + (x1**2.0) ** (x0**2.0 + 1.0))


class Colville(Objective):
    def __init__(self, dimensions=4):
        Objective.__init__(self, dimensions)
        self.global_optimum = [[1 for _ in range(self.N)]]

    def fun(self, x, *args):
        self.nfev += 1
        return (
            100 * (x[0] - x[1] ** 2) ** 2
            + (1 - x[0]) ** 2
            + (1 - x[2]) ** 2
            + 90 * (x[3] - x[2] ** 2) ** 2
            + 10.1 * ((x[1] - 1) ** 2 + (x[3] - 1) ** 2)
            + 19.8 * (x[1] - 1) * (x[3] - 1)
        )


class Corana(Objective):
    def fun(self, x, *args):
        self.nfev += 1
        d = [1.0, 1000.0, 10.0, 100.0]
        r = 0
        for j in range(self.N):
            zj = np.floor(abs(x[j] / 0.2) + 0.49999) * np.sign(x[j]) * 0.2
            if abs(x[j] - zj) < 0.05:
                r += 0.15 * ((zj - 0.05 * np.sign(zj)) ** 2) * d[j]
            else:
                r += d[j] * x[j] * x[j]
        return r


class DeVilliers(Objective):
    def fun(self, x, *args):
        self.nfev += 1
        t = 0.1 * arange(24)
        y = 60.137 * 1.371**t * sin(3.112 * t + 1.761)
        return sum((x[0] * (x[1] ** t) * sin(x[2] * t + x[3]) - y) ** 2.0)

    def __init__(self, dimensions=4):
        super().__init__(dimensions)
        self._bounds = list(zip([1.0] * self.N, [60.0] * self.N, strict=True))


class Griewank(Objective):
    def fun(self, x, *args):
        self.nfev += 1
        i = arange(1.0, np.size(x) + 1.0)
        return sum(x**2 / 4000) - prod(cos(x / sqrt(i))) + 1


class Hartmann(Objective):
    def __init__(self, dimensions=3):
        super().__init__(dimensions)
        self.a = asarray([[3.0, 10.0, 30.0], [0.1, 10.0, 35.0], [3.0, 10.0, 30.0]])
        self.p = asarray([[0.36, 0.11, 0.26], [0.46, 0.43, 0.74], [0.1, 0.87, 0.55]])
        self.c = asarray([1.0, 1.2, 3.0])

    def fun(self, x, *args):
        self.nfev += 1
        XX = np.atleast_2d(x)
        d = sum(self.a * (XX - self.p) ** 2, axis=1)
        return -sum(self.c * exp(-d))


class Langermann(Objective):
    def fun(self, x, *args):
        self.nfev += 1
        a = [3, 5, 2, 1, 7]
        b = [5, 2, 1, 4, 9]
        c = [1, 2, 5, 2, 3]
        u, v = x
        return -sum(
            [
                cw
                * exp(-(1 / pi) * ((u - aw) ** 2 + (v - bw) ** 2))
                * cos(pi * ((u - aw) ** 2 + (v - bw) ** 2))
                for aw, bw, cw in zip(a, b, c, strict=True)
            ]
        )


class Levy(Objective):
    def fun(self, x, *args):
        self.nfev += 1
        w = 1 + (x - 1) / 4
        v = sin(pi * w[0]) ** 2
        v += sum((w[:-1] - 1) ** 2 * (1 + 10 * sin(pi * w[:-1] + 1) ** 2))
        v += (w[-1] - 1) ** 2 * (1 + sin(2 * pi * w[-1]) ** 2)
        return v


class Michalewicz(Objective):
    def fun(self, x, *args):
        self.nfev += 1
        m = 10.0
        i = arange(1, self.N + 1)
        return -sum(sin(x) * sin(i * x**2 / pi) ** (2 * m))


class Paviani(Objective):
    def fun(self, x, *args):
        self.nfev += 1
        return sum(np.log(x + 3) ** 2.0 + np.log(10 + x) ** 2.0) - prod(x + 4) ** 0.2


class Penalty(Objective):
    def u(self, y, a, k, m):
        return np.where(y > a, k * (y - a) ** m, 0) + np.where(y < -a, k * (-y - a) ** m, 0)

    def fun(self, x, *args):
        self.nfev += 1
        y = 1 + (x + 1) / 4
        s = 10 * sin(pi * y[0]) ** 2 + (y[-1] - 1) ** 2
        s += sum((y[:-1] - 1) ** 2 * (1 + 10 * sin(pi * y[1:]) ** 2))
        return pi / self.N * s + sum(self.u(x, 10, 100, 4))


class Powell(Objective):
    def __init__(self, dimensions=4):
        super().__init__(dimensions)

    def fun(self, x, *args):
        self.nfev += 1
        (a, b, c, d) = x
        return (a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4


class Schwefel(Objective):
    def fun(self, x, *args):
        self.nfev += 1
        nx = len(x)
        s = 0.0
        for i in range(nx):
            partial = 0.0
            for j in range(i + 1):
                partial += x[j]
            s += partial**2
        return s


class Shekel(Objective):
    def __init__(self, dimensions=4):
        Objective.__init__(self, dimensions)
        self.A = asarray([[4.0, 4.0, 4.0, 4.0], [1.0, 1.0, 1.0, 1.0], [6.0, 2.0, 6.0, 2.0]])
        self.C = asarray([0.1, 0.2, 0.4])

    def fun(self, x, *args):
        self.nfev += 1
        return -sum(1 / (sum((x - self.A) ** 2, axis=1) + self.C))


class Trigonometric(Objective):
    def fun(self, x, *args):
        self.nfev += 1
        i = np.atleast_2d(arange(1.0, self.N + 1)).T
        inner = cos(x) + i * (1 - cos(x) - sin(x))
        return sum((self.N - sum(inner, axis=1)) ** 2)


class Weierstrass(Objective):
    def fun(self, x, *args):
        self.nfev += 1
        kmax = 3
        a, b = 0.5, 3.0
        k = np.atleast_2d(arange(kmax + 1.0)).T
        t1 = a**k * cos(2 * pi * b**k * (x + 0.5))
        t2 = self.N * sum(a**k.T * cos(pi * b**k.T))
        return sum(sum(t1, axis=0)) - t2


class Shifted(Objective):
    """An objective that is given more than its point."""

    def fun(self, x, *args):
        self.nfev += 1
        shift, scale = args
        return sum(scale * (x - shift) ** 2) + np.max(abs(x))


CASES = [
    (Ackley, 3), (Adjiman, 2), (Alpine, 3), (Beale, 2), (BiggsExp, 2), (Bird, 2), (Brown, 4),
    (Colville, 4), (Corana, 4), (DeVilliers, 4), (Griewank, 3), (Hartmann, 3), (Langermann, 2),
    (Levy, 3), (Michalewicz, 3), (Paviani, 4), (Penalty, 3), (Powell, 4), (Schwefel, 4),
    (Shekel, 4), (Trigonometric, 3), (Weierstrass, 2),
]  # fmt: skip
