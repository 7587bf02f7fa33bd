"""Polynomials in the bases of `np.polynomial`: one formula each for all of them.

A polynomial is linear in its coefficients, which come from the lowest degree up; its derivative by
``x`` is the polynomial that the derivative of the coefficients gives.  Derivatives and integrals
are matrices times the coefficients: the derivatives and integrals of the basis.
"""

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial

from srcad.rules.conjugates import conj
from srcad.rules.declare import adjoint, linear
from srcad.rules.registry import static
from srcad.rules.row import NoPartial, Result

SEVERAL = NoPartial("polynomials have a rule for coefficients with one axis")

NUMBER = NoPartial("coefficients are an array of at least one axis here, not a number")


@static
def one_less(degree):
    """The degree of the derivative."""
    return max(degree - 1, 0)


def add_rules(val, vander, der, integral):
    """Add the rules of one basis."""

    @adjoint(val, samples=lambda f, v, w, m: [f(v, w), f(m, w), f(0.7, v), f(v, w[:1])])
    def value(y_bar, y, x, c, tensor=True):
        if np.ndim(c) != 1:
            return SEVERAL, SEVERAL
        basis = np.astype(vander(np.ravel(x), np.size(c) - 1), y.dtype)
        return y_bar * conj(val(x, der(c))), conj(basis.T) @ np.ravel(y_bar)

    @adjoint(vander, active=("x",), samples=lambda f, v, m: [f(v, 3), f(m, 2), f(v, 1), f(v, 0)])
    def basis_values(y_bar, y, x, deg):
        slopes = vander(x, one_less(deg)) @ der(np.eye(deg + 1, dtype=y_bar.dtype))
        bar = np.sum(y_bar * conj(slopes), axis=-1)
        return np.reshape(bar, np.shape(x)) if np.ndim(x) == 0 else bar

    @linear(
        der, active=("c",), result=Result(any_lengths=True),
        samples=lambda f, v, m: [f(v), f(v, 2), f(v, 1, 0.5), f(m), f(m, 1, axis=1), f(v, 5)],
    )  # fmt: skip
    def coefficients_of_derivative(y_bar, c, m=1, scl=1, axis=0):
        if np.ndim(c) == 0:
            return NUMBER
        n = np.shape(c)[axis]
        matrix = der(np.eye(n, dtype=y_bar.dtype), m, scl)
        return np.moveaxis(np.tensordot(y_bar, matrix, (axis, 0)), -1, axis)

    @linear(
        integral, active=("c",),
        samples=lambda f, v, m: [f(v), f(v, 2), f(v, 1, [], 0.3, 0.5), f(m), f(m, axis=1)],
    )  # fmt: skip
    def coefficients_of_integral(y_bar, c, m=1, k=None, lbnd=0, scl=1, axis=0):
        if np.ndim(c) == 0:
            return NUMBER
        n = np.shape(c)[axis]
        matrix = integral(np.eye(n, dtype=y_bar.dtype), m, [], lbnd, scl)
        return np.moveaxis(np.tensordot(y_bar, matrix, (axis, 0)), -1, axis)


add_rules(polynomial.polyval, polynomial.polyvander, polynomial.polyder, polynomial.polyint)
add_rules(chebyshev.chebval, chebyshev.chebvander, chebyshev.chebder, chebyshev.chebint)
add_rules(legendre.legval, legendre.legvander, legendre.legder, legendre.legint)
add_rules(hermite.hermval, hermite.hermvander, hermite.hermder, hermite.hermint)
add_rules(hermite_e.hermeval, hermite_e.hermevander, hermite_e.hermeder, hermite_e.hermeint)
add_rules(laguerre.lagval, laguerre.lagvander, laguerre.lagder, laguerre.lagint)
