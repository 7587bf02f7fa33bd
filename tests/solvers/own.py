"""Programs with solvers of one's own: `rules.adjoint` with functions, and `rules.implicit`."""

import dataclasses
import functools
import operator

import numpy as np

import srcad
from srcad import rules
from tests.solvers.registry import registry

PROGRAMS, program = registry()


# ------------------------------------------------------------------------------- solvers
def by_newton(fun, x0, args=()):
    """One equation; the slope by differences."""
    x = x0
    for _ in range(60):
        slope = (fun(x + 1e-7, *args) - fun(x - 1e-7, *args)) / 2e-7
        x = x - fun(x, *args) / slope
    return x


@rules.adjoint(by_newton, active=("fun", "args"))
def by_newton_rule(x_bar, x, fun, x0, args=()):
    slope = srcad.grad(lambda z: fun(z, *args))(x)
    _, back = srcad.pullback(operator.call, fun, x, *args)
    bars = back(-x_bar / slope)
    return bars[0], bars[2:]


def of_system(fun, x0):
    """Equations; the Jacobian by differences."""
    x = np.array(x0, float)
    for _ in range(40):
        columns = [(fun(x + e) - fun(x - e)) / 2e-7 for e in 1e-7 * np.eye(x.size)]
        x = x - np.linalg.solve(np.stack(columns, 1), fun(x))
    return x


@rules.adjoint(of_system, active=("fun",))
def of_system_rule(x_bar, x, fun, x0):
    seed = np.linalg.solve(srcad.jacobian(fun)(x).T, x_bar)
    half = srcad.pullback(operator.call, fun, x)[1](seed)[0]
    return -0.25 * half - half * 0.5 - (half - 0.75 * half)


def of_cubic(c, *, steps=60):
    """A root without a function as argument."""
    x = 1.0
    for _ in range(steps):
        x = x - (x**3 + x - c) / (3 * x * x + 1)
    return x


@rules.implicit(of_cubic)
def of_cubic_residual(x, c, *, steps=60):
    return x**3 + x - c


def any_system(fun, x0, args=(), tol=1e-10):
    """Equations with further arguments."""
    return of_system(lambda x: fun(x, *args), x0)


@rules.implicit(any_system)
def any_system_residual(x, fun, x0, args=(), tol=1e-10):
    return fun(x, *args)


def minimized(objective, x0, *args):
    """A minimum by Newton's method."""
    x = np.array(x0, float)
    for _ in range(30):
        slope = srcad.grad(objective)(x, *args)
        x = x - np.linalg.solve(srcad.hessian(objective)(x, *args), slope)
    return x


@rules.implicit(minimized)
def minimized_residual(x, objective, x0, *args):
    return srcad.grad(objective)(x, *args)


def pair(a, b):
    """A fixed point of an array and a number."""
    x, y = np.ones(2), 1.0
    for _ in range(200):
        x, y = np.tanh(a * x * y) * 0.5 + 0.3, 0.3 * np.sum(x) * b
    return x, y


@rules.implicit(pair)
def pair_residual(s, a, b):
    x, y = s
    return np.tanh(a * x * y) * 0.5 + 0.3 - x, 0.3 * np.sum(x) * b - y


def state(a, b):
    """The same in a dict."""
    x, y = pair(a, b)
    return {"x": x, "y": y}


@rules.implicit(state)
def state_residual(s, a, b):
    x, y = pair_residual((s["x"], s["y"]), a, b)
    return {"x": x, "y": y}


@dataclasses.dataclass
class Cubic:
    a: float
    b: float
    n: int = 3

    def at(self, z):
        return z**self.n + self.a * z - self.b

    def __call__(self, z):
        return self.at(z)


# ------------------------------------------------------------------------------- programs
A2 = np.array([0.8, 1.3])


@program(0.7, 1.3)
def captured(a, b):
    return by_newton(lambda z: z**3 + a * z - b, 1.0) * b


@program(0.7, 1.3)
def by_arguments(a, b):
    return by_newton(lambda z, p: z**3 + a * z - p, 1.0, (b,)) * b


@program(0.7, 1.3)
def by_keyword(a, b):
    return by_newton(lambda z, p, q: z**3 + a * z * q - p, 1.0, args=(b, a * b)) * b


@program(0.7, 1.3)
def with_partial(a, b):
    def f(z, p, q):
        return z**3 + p * z - q

    return by_newton(functools.partial(f, p=a, q=b), 1.0)


@program(0.7, 1.3)
def with_default(a, b):
    return by_newton(lambda z, a=a: z**3 + a * z - b, 1.0)


@program(0.7, 1.3)
def with_method(a, b):
    return by_newton(Cubic(a, b).at, 1.0)


@program(0.7, 1.3)
def with_object(a, b):
    return by_newton(Cubic(a, b), 1.0)


@program(Cubic(0.7, 1.3), 1.3)
def of_argument(cubic, b):
    return by_newton(cubic.at, 1.0) * b


@program(A2, 1.3)
def with_arrays(a, b):
    return np.sum(of_system(lambda z: z**3 + a * z - b, np.ones(2)) ** 2)


@program({"w": A2, "k": 0.5}, 1.3)
def with_dict(p, b):
    return np.sum(of_system(lambda z: z**3 + p["w"] * z * p["k"] - b, np.ones(2)) ** 2)


@program(0.7, 1.3)
def nested_rules(a, b):
    def outer(y):
        return y - by_newton(lambda x: x**3 + a * x - y * b, 1.0) * 0.5 - a

    return by_newton(outer, 1.0)


@program(0.7, 1.3)
def implicit_number(a, b):
    return of_cubic(a * b, steps=50) ** 2 * b


@program(A2, 1.3)
def implicit_function(a, b):
    return np.sum(any_system(lambda z, c: z**3 + a * z - b * c, [1.0, 1.0], (a * b,)) ** 2)


@program({"w": A2, "k": 0.5}, 1.3)
def implicit_dict(p, b):
    def f(z, c):
        return z**3 + p["w"] * z * p["k"] - b * c

    return np.sum(any_system(f, [1.0, 1.0], args=(b,)) ** 2)


@program(A2, 1.3)
def implicit_minimum(a, b):
    def objective(z, c):
        return np.sum(z**4 / 4) + a @ z**2 - c * np.sum(z)

    return np.sum(minimized(objective, [1.0, 1.0], b) ** 2)


@program(A2, 1.3)
def implicit_pair(a, b):
    x, y = pair(a, b)
    return np.sum(x) * y


@program(A2, 1.3)
def implicit_state(a, b):
    found = state(a, b)
    return np.sum(found["x"] ** 2) * found["y"]


@program(Cubic(0.7, 1.3), 1.3)
def implicit_method(cubic, b):
    return np.sum(any_system(cubic.at, [1.0]) * b)


def of_parameters(x0, p, *, steps=200):
    """A fixed point; the parameters are in a dict."""
    x = x0
    for _ in range(steps):
        x = np.cos(p["w"] * x + p["b"])
    return x


@rules.implicit(of_parameters)
def of_parameters_residual(x, x0, p, *, steps=200):
    return np.cos(p["w"] * x + p["b"]) - x


def of_update(update, x0, p, steps=200):
    """The same for any update."""
    x = np.asarray(x0, float)
    for _ in range(steps):
        x = update(x, p)
    return x


@rules.implicit(of_update)
def of_update_residual(x, update, x0, p, steps=200):
    return update(x, p) - x


@program({"w": 0.3, "b": 0.1}, 1.3)
def implicit_parameters(p, b):
    return of_parameters(0.5, p) * of_parameters(0.5, {"w": p["b"], "b": b}, steps=100)


@program({"w": A2 / 4, "b": 0.1}, 0.4)
def implicit_update_and_dict(p, b):
    return np.sum(
        of_update(lambda x, p: np.tanh(p["w"] * x[::-1] + p["b"] * b + b), [0, 0], p) ** 2
    )
