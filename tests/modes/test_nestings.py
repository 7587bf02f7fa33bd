"""Every public derivative inside every other, on functions with rules that read their results.

The functions act entry by entry, so that derivatives of any order are known in closed form: those
of ``f = p(t)``, where ``t' = q(t)``, follow from ``f' = p'(t) q(t)``.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.special
from numpy.polynomial import Polynomial

import srcad
from tests.marks import some

X = np.array([0.3, 0.7, 1.1])
W = np.array([0.9, -1.3, 0.6])  # weights of entries, so that sums tell them apart
U = np.array([-0.7, 1.2, 0.4])
V = np.array([1.1, 0.8, -0.5])


# ------------------------------------------------------------------------------- functions
def _by_recurrence(t: np.ndarray, q: Polynomial) -> list[np.ndarray]:
    """Return ``t`` and its derivatives up to the fourth, where ``t' = q(t)``."""
    p, found = Polynomial([0.0, 1.0]), []
    for _ in range(5):
        found.append(p(t))
        p = p.deriv() * q
    return found


def _of_gaussian(x: np.ndarray) -> list[np.ndarray]:
    factors = [1, 2 * x, 2 + 4 * x**2, 12 * x + 8 * x**3, 12 + 48 * x**2 + 16 * x**4]
    return [factor * np.exp(x**2) for factor in factors]


def _of_root(x: np.ndarray) -> list[np.ndarray]:
    factors = [1, 1 / 2, -1 / 4, 3 / 8, -15 / 16]
    return [factor * x ** (0.5 - k) for k, factor in enumerate(factors)]


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], list[np.ndarray]]] = {
    "exp": (lambda x: np.exp(2 * x), _by_recurrence(np.exp(2 * X), Polynomial([0, 2]))),
    "gaussian": (lambda x: np.exp(x * x), _of_gaussian(X)),
    "tanh": (lambda x: np.tanh(x), _by_recurrence(np.tanh(X), Polynomial([1, 0, -1]))),
    "sqrt": (lambda x: np.sqrt(x), _of_root(X)),
    "tan": (lambda x: np.tan(x), _by_recurrence(np.tan(X), Polynomial([1, 0, 1]))),
    "reciprocal": (lambda x: 1 / x, _by_recurrence(1 / X, Polynomial([0, 0, -1]))),
    "expit": (
        lambda x: scipy.special.expit(x),
        _by_recurrence(1 / (1 + np.exp(-X)), Polynomial([0, 1, -1])),
    ),
}


# ------------------------------------------------------------------------------- derivatives
@dataclass(frozen=True)
class Inner:
    """A derivative of ``f`` as a function of ``x``, and what it is in closed form.

    Entry by entry it is the sum of ``factor * f^(k)`` for the pairs of `terms`; with `has_sum` the
    number ``sum(W * f)`` is added.  With `is_matrix` this is the diagonal of a matrix.
    """

    make: Callable[[Any], Callable[[Any], Any]]
    terms: tuple[tuple[Any, int], ...]
    has_sum: bool = False
    is_matrix: bool = False

    def derivative(self, f: list[np.ndarray], order: int) -> np.ndarray:
        """Return the derivatives of the entries, each by the entry of `x` at its place."""
        return sum(factor * f[k + order] for factor, k in self.terms)


def _weighted(f: Any) -> Any:
    return lambda x: np.sum(W * f(x))


def _value_and_grad(f: Any) -> Any:
    d = srcad.value_and_grad(_weighted(f))

    def both(x: Any) -> Any:
        value, slope = d(x)
        return value + slope

    return both


def _gradient(f: Any) -> Any:
    total = _weighted(f)
    return lambda x: srcad.gradient(total, x)[0]


def _pullback(f: Any) -> Any:
    def both(x: Any) -> Any:
        y, back = srcad.pullback(f, x)
        return y + back(W)[0]

    return both


def _jvp(f: Any) -> Any:
    def both(x: Any) -> Any:
        y, y_dot = srcad.jvp(f, (x,), (W,))
        return y + y_dot

    return both


def _hvp(f: Any) -> Any:
    d = srcad.hvp(_weighted(f))
    return lambda x: d(x, V)


INNER = {
    "grad": Inner(lambda f: srcad.grad(_weighted(f)), ((W, 1),)),
    "value_and_grad": Inner(_value_and_grad, ((W, 1),), has_sum=True),
    "gradient": Inner(_gradient, ((W, 1),)),
    "pullback": Inner(_pullback, ((1.0, 0), (W, 1))),
    "jvp": Inner(_jvp, ((1.0, 0), (W, 1))),
    "jacfwd": Inner(srcad.jacfwd, ((1.0, 1),), is_matrix=True),
    "jacrev": Inner(srcad.jacrev, ((1.0, 1),), is_matrix=True),
    "hessian": Inner(lambda f: srcad.hessian(_weighted(f)), ((W, 2),), is_matrix=True),
    "hvp": Inner(_hvp, ((W * V, 2),)),
    "elementwise_grad": Inner(srcad.elementwise_grad, ((1.0, 1),)),
}
_ROWS = {"grad", "value_and_grad", "gradient", "pullback", "elementwise_grad"}


def _outer_value(mode: str, g: Any, weights: np.ndarray) -> Any:
    """Return the outer derivative of ``g``; where that needs one number, of its weighted sum."""
    match mode:
        case "pullback":
            return srcad.pullback(g, X)[1](weights)[0]
        case "jvp":
            return srcad.jvp(g, (X,), (V,))[1]
        case "jacfwd" | "jacrev":
            return getattr(srcad, mode)(g)(X)
        case "elementwise_grad":
            return srcad.elementwise_grad(g)(X)

    def total(x: Any) -> Any:
        return np.sum(weights * g(x))

    match mode:
        case "gradient":
            return srcad.gradient(total, X)[0]
        case "value_and_grad":
            return srcad.value_and_grad(total)(X)[1]
        case "hvp":
            return srcad.hvp(total)(X, V)
    return getattr(srcad, mode)(total)(X)


def _outer_expected(
    mode: str, inner: Inner, f: list[np.ndarray], weights: np.ndarray
) -> np.ndarray:
    """Return the same from the closed forms."""
    weights = np.ones_like(weights) if mode == "elementwise_grad" else weights
    own = np.diagonal(weights) if inner.is_matrix else weights
    slope, curvature = (inner.derivative(f, order) for order in (1, 2))
    if mode in ("hessian", "hvp"):
        diagonal = own * curvature + (np.sum(weights) * W * f[2] if inner.has_sum else 0)
        return np.diag(diagonal) if mode == "hessian" else diagonal * V
    if mode in _ROWS:
        return own * slope + (np.sum(weights) * W * f[1] if inner.has_sum else 0)
    jacobian = np.diag(slope) + (W * f[1] if inner.has_sum else 0)
    if inner.is_matrix:
        jacobian = np.eye(3)[:, :, None] * jacobian[:, None, :]
    return jacobian @ V if mode == "jvp" else jacobian


NESTINGS = [
    f"{outer} of {inner} of {name}" for name in FUNCTIONS for inner in INNER for outer in INNER
]
DEFAULT = {
    "elementwise_grad of elementwise_grad of exp",
    "grad of elementwise_grad of tanh",
    "hvp of elementwise_grad of reciprocal",
    "jacrev of elementwise_grad of gaussian",
    "elementwise_grad of pullback of sqrt",
}


@pytest.mark.parametrize("nesting", some(NESTINGS, lambda _, nesting: nesting in DEFAULT, every=7))
def test_derivative_inside_derivative_agrees_with_closed_form(nesting: str):
    mode, inside, name = nesting.split(" of ")
    f, derivatives = FUNCTIONS[name]
    inner = INNER[inside]
    weights = np.outer(U, W) + np.diag(V) if inner.is_matrix else U

    found = _outer_value(mode, inner.make(f), weights)

    expected = _outer_expected(mode, inner, derivatives, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


# ------------------------------------------------------------------------------- other programs
def test_third_derivative_of_sqrt_by_elementwise_grad():
    e = srcad.elementwise_grad

    found = e(e(e(lambda x: np.sqrt(x))))(X)

    np.testing.assert_allclose(found, 3 / 8 * X**-2.5, rtol=1e-12)


def test_elementwise_grad_of_matrix_inside_elementwise_grad():
    e, x = srcad.elementwise_grad, np.outer(X, W)

    found = e(e(lambda x: np.exp(2 * x)))(x)

    np.testing.assert_allclose(found, 4 * np.exp(2 * x), rtol=1e-12)


def test_elementwise_grad_of_pair_inside_gradient():
    d = srcad.elementwise_grad(lambda y: (np.tanh(y), {"a": np.exp(y)}))

    found = srcad.grad(lambda x: np.sum(d(x)))(X)

    t = np.tanh(X)
    np.testing.assert_allclose(found, -2 * t * (1 - t**2) + np.exp(X), rtol=1e-12)


def test_elementwise_grad_by_two_arguments_inside_gradient():
    d = srcad.elementwise_grad(lambda y, z: np.tanh(y) * np.exp(z), wrt=(0, 1))

    def total(x):
        y_bar, z_bar = d(x, 2 * x)
        return np.sum(y_bar + z_bar)

    t, e = np.tanh(X), np.exp(2 * X)
    slope = 1 - t**2
    expected = (-2 * t * slope + 3 * slope + 2 * t) * e
    np.testing.assert_allclose(srcad.grad(total)(X), expected, rtol=1e-12)


def test_value_kept_by_function_inside_elementwise_grad():
    def total(x):
        seen = []

        def f(y):
            z = np.tanh(y)
            seen.append(z)
            return z

        slopes = srcad.elementwise_grad(f)(x)
        return np.sum(slopes * seen[0])

    t = np.tanh(X)
    slope = 1 - t**2
    np.testing.assert_allclose(srcad.grad(total)(X), slope**2 - 2 * t**2 * slope, rtol=1e-12)


def test_elementwise_grad_of_writes_inside_elementwise_grad():
    def f(y):
        z = np.empty(3)
        for i in range(3):
            z[i] = np.exp(2 * y[i])
        return z

    found = srcad.elementwise_grad(srcad.elementwise_grad(f))(X)

    np.testing.assert_allclose(found, 4 * np.exp(2 * X), rtol=1e-12)


def test_holomorphic_elementwise_grad_inside_another():
    z = np.array([0.3 + 0.2j, 0.5 - 0.1j])
    e = srcad.elementwise_grad

    found = e(e(lambda z: np.exp(2 * z), holomorphic=True), holomorphic=True)(z)

    np.testing.assert_allclose(found, 4 * np.exp(2 * z), rtol=1e-12)


@pytest.mark.random
def test_elementwise_grad_inside_compiled_function():
    pytest.importorskip("numba")
    d = srcad.elementwise_grad(lambda y: np.tanh(y))

    value, found = srcad.value_and_grad(lambda x: np.sum(W * d(x)), backend="numba")(X)

    t = np.tanh(X)
    np.testing.assert_allclose(value, np.sum(W * (1 - t**2)), rtol=1e-12)
    np.testing.assert_allclose(found, -2 * W * t * (1 - t**2), rtol=1e-12)


# ------------------------------------------------------------------------------- NumPy's functions
@pytest.mark.parametrize(
    ("derivative", "args", "expected"),
    [
        (srcad.grad(srcad.grad(np.sin)), (1.0,), -np.sin(1.0)),
        (srcad.grad(srcad.elementwise_grad(np.sin)), (1.0,), -np.sin(1.0)),
        (srcad.hvp(srcad.grad(np.sin)), (1.0, 2.0), -2 * np.cos(1.0)),
        (srcad.grad(srcad.hvp(np.sin)), (1.0, 2.0), -2 * np.cos(1.0)),
        (srcad.jacrev(srcad.jacfwd(np.sin)), (1.0,), -np.sin(1.0)),
        (srcad.grad(srcad.grad(np.power, wrt=1), wrt=1), (2.0, 3.0), 8 * np.log(2.0) ** 2),
        (srcad.grad(srcad.grad(functools.partial(np.power, 2.0))), (3.0,), 8 * np.log(2.0) ** 2),
        (srcad.jacobian(srcad.grad(np.prod)), (X,), np.prod(X) / np.outer(X, X) * (1 - np.eye(3))),
        (srcad.grad(srcad.grad(scipy.special.erf)), (0.5,), -2 / np.sqrt(np.pi) * np.exp(-0.25)),
    ],
    ids=str,
)
def test_derivative_of_derivative_of_compiled_function(derivative, args, expected):
    np.testing.assert_allclose(derivative(*args), expected, rtol=1e-12)


def test_derivative_of_compiled_function_takes_keyword():
    found = srcad.jacobian(srcad.grad(np.var))(X, ddof=1)

    np.testing.assert_allclose(found, np.eye(3) - 1 / 3, atol=1e-14)
