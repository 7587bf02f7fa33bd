"""Polynomial objects of NumPy: made of active coefficients, or outside of the function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Hermite, HermiteE, Laguerre, Legendre, Polynomial

import srcad
from srcad.errors import UnsupportedTypeError
from tests.marks import some

KINDS = (Polynomial, Chebyshev, Legendre, Hermite, HermiteE, Laguerre)
T = np.linspace(0.0, 1.0, 5)
C = np.array([0.7, -1.2, 0.4])
LINE = Polynomial([1.0, 2.0])
CURVE = Chebyshev([1.0, 2.0, 3.0], domain=[0, 2])
SQUARE = np.poly1d([1.0, 2.0, 3.0])

PROGRAMS = {
    "call": lambda kind, c: kind(c)(T) ** 2,
    "derivative": lambda kind, c: kind(c, domain=[0, 2]).deriv()(T) ** 2,
    "integral": lambda kind, c: kind(c, domain=[0, 2]).integ(lbnd=0.3)(T) ** 2,
    "product": lambda kind, c: (kind(c) * kind([1.0, c[0]]) + 2.0)(T) ** 2,
    "power": lambda kind, c: (kind(c) ** 3)(T),
    "difference": lambda kind, c: (1 - kind(c) / 2.0 - c[1] * kind([1.0, 3.0, 4, 5]))(T) ** 2,
    "coefficients": lambda kind, c: (kind(c) * kind(c)).coef ** 2,
    "of points": lambda kind, c: kind([1.0, 2.0, 3.0], window=[-1, c[2]])(c) ** 2,
}
CASES = [(kind, name) for name in PROGRAMS for kind in KINDS]


def slope(function: Any, x: np.ndarray, step: float = 1e-3) -> np.ndarray:
    """The gradient by differences; the error is of the fourth order."""

    def central(e: np.ndarray, h: float) -> Any:
        return (function(x + h * e) - function(x - h * e)) / (2 * h)

    return np.array([(4 * central(e, step / 2) - central(e, step)) / 3 for e in np.eye(x.size)])


def assert_derivatives_are_right(f: Any, x: np.ndarray = C) -> None:
    value, gradient = srcad.value_and_grad(f)(x)

    assert value == f(x)
    np.testing.assert_allclose(gradient, slope(f, x), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(srcad.jvp(f, (x,), (x,))[1], gradient @ x, rtol=1e-8)


@pytest.mark.parametrize(
    "case",
    some(CASES, lambda _, case: case in (CASES[0], CASES[7], CASES[14], CASES[20], CASES[39])),
    ids=lambda case: f"{case[0].__name__}-{case[1]}",
)
def test_polynomial_of_coefficients(case):
    kind, name = case

    assert_derivatives_are_right(lambda c: np.sum(PROGRAMS[name](kind, c)))


@pytest.mark.parametrize(
    "case",
    some([case for case in CASES if case[1] in ("product", "power")], 1),
    ids=lambda case: f"{case[0].__name__}-{case[1]}",
)
def test_second_derivative_of_products(case):
    kind, name = case

    def f(c):
        return np.sum(PROGRAMS[name](kind, c))

    hessian = srcad.hessian(f)(C)

    np.testing.assert_allclose(hessian, slope(srcad.grad(f), C), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(LINE(x) ** 2) + np.sum(LINE.deriv()(x)),
        lambda x: np.sum((CURVE * CURVE.integ())(x)),
        lambda x: np.sum((SQUARE * SQUARE + 1)(x)) + np.sum(SQUARE.deriv()(x)),
        lambda x: np.sum((LINE * x[0])(x)) + LINE.coef[1] * x[1],
        lambda x: np.sum(Polynomial([1.0, 2.0])(x)) * np.poly1d([1.0, 2.0])(x[0]),
    ],
)
def test_polynomial_outside(f):
    assert_derivatives_are_right(f)


def with_loop(c):
    p = Polynomial(c)
    for _ in range(3):
        p = p * LINE + c[0]
    return p(0.3) + p.degree() * c[1]


@pytest.mark.parametrize(
    "f",
    [
        lambda c: np.sum(np.poly1d(c)(T) ** 2),
        lambda c: np.sum(
            ((np.poly1d(c) * np.poly1d(c).deriv() + np.poly1d(c).integ()) ** 2 - 3 * np.poly1d(c))(
                T
            )
        ),
        lambda c: np.poly1d(c)[1] * np.poly1d(c)[0] ** 2 + np.poly1d(c)[7],
        lambda c: np.sum(np.poly1d(c, True)(T)) + np.sum((np.poly1d(c) * SQUARE).coeffs ** 2),
        lambda c: Polynomial(c)(0.2) if Polynomial(c) == Polynomial(c.copy()) else c[0],
        lambda c: np.poly1d(c)(0.2) if np.poly1d(c) != SQUARE else c[0],
        lambda c: sum(Polynomial(c) * 2.0) + len(LINE * Polynomial(c)) * c[0],
        lambda c: Polynomial(c).trim(0.5)(0.3) + Polynomial(c).truncate(2).degree() * c[0],
        lambda c: sum(p(0.3) for p in (Polynomial(c), Polynomial(c).deriv(), Chebyshev(c))),
        lambda c: np.polynomial.polyutils.mapdomain(0.3, c[:2], [0.0, 1.0]) ** 2,
        with_loop,
    ],
)
def test_operations_of_polynomials(f):
    assert_derivatives_are_right(f)


@pytest.mark.parametrize(
    "f",
    [
        lambda c: np.sum((Polynomial(c - C) * Polynomial(1 + c))(T)),
        lambda c: np.sum((np.poly1d(c - C) * np.poly1d(1 + c))(T)) + np.sum(np.poly1d(c - C)(T)),
        lambda c: np.sum((Chebyshev(c - C) * Chebyshev(1 + c)).deriv()(T)),
    ],
)
def test_coefficients_of_zero_have_a_derivative(f):
    """NumPy cuts them off the product."""
    assert_derivatives_are_right(f)


def test_polynomial_as_auxiliary_result_is_of_numpy():
    def f(c):
        return np.sum(c), (Polynomial(c) * LINE, np.poly1d(c))

    _, (product, other) = srcad.grad(f, has_aux=True)(C)

    assert type(product) is Polynomial
    assert product == Polynomial(C) * LINE
    assert type(other) is np.poly1d
    assert other == np.poly1d(C)


def test_polynomials_of_different_kinds_raise_as_in_numpy():
    with pytest.raises(TypeError, match="Polynomial types differ"):
        srcad.grad(lambda c: (Polynomial(c) * CURVE)(0.3))(C)


@pytest.mark.parametrize(
    "f",
    [
        lambda c: np.sum(c * np.poly1d(c)),
        lambda c: np.sum(np.sin(np.poly1d(c))),
        lambda c: Polynomial(c)(Polynomial(c))(0.3),
    ],
)
def test_operations_of_arrays_with_polynomials_refused(f):
    with pytest.raises(UnsupportedTypeError):
        srcad.grad(f)(C)
