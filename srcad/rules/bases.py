"""Polynomials in the bases of `np.polynomial`: one formula each for all of them.

A polynomial is linear in its coefficients, which come from the lowest degree up; its derivative by
``x`` is the polynomial that the derivative of the coefficients gives.  Derivatives and integrals
are matrices times the coefficients: the derivatives and integrals of the basis.
"""

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial

from srcad.rules.conjugates import conj, may_be_complex
from srcad.rules.declare import adjoint, bilinear, linear
from srcad.rules.registry import static
from srcad.rules.row import NoPartial, Result

SEVERAL = NoPartial("polynomials have a rule for coefficients with one axis")

NUMBER = NoPartial("coefficients are an array of at least one axis here, not a number")


@static
def one_less(degree):
    """The degree of the derivative."""
    return max(degree - 1, 0)


def add_rules(val, vander, der, integral, roots):
    """Add the rules of one basis."""

    @adjoint(
        val, entries="evaluated",
        samples=lambda f, v, w, m: [f(v, w), f(m, w), f(0.7, v), f(v, w[:1])],
    )  # fmt: skip
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

    @adjoint(
        roots, order="gaps", result=Result(dtype="real or complex", any_lengths=True),
        samples=lambda f, near, array: [f(near(1.0, 2.0, 4)), f(array(3)), f(array(2))],
    )  # fmt: skip
    def roots_of_polynomial(y_bar, y, c):
        if np.ndim(c) != 1:
            return SEVERAL
        slope = val(y, der(c))
        bar = -conj((vander(y, np.size(c) - 1) / slope[:, None]).T) @ y_bar
        return bar if may_be_complex(c) else np.real(bar)


add_rules(
    polynomial.polyval,
    polynomial.polyvander,
    polynomial.polyder,
    polynomial.polyint,
    polynomial.polyroots,
)
add_rules(
    chebyshev.chebval,
    chebyshev.chebvander,
    chebyshev.chebder,
    chebyshev.chebint,
    chebyshev.chebroots,
)
add_rules(legendre.legval, legendre.legvander, legendre.legder, legendre.legint, legendre.legroots)
add_rules(hermite.hermval, hermite.hermvander, hermite.hermder, hermite.hermint, hermite.hermroots)
add_rules(
    hermite_e.hermeval,
    hermite_e.hermevander,
    hermite_e.hermeder,
    hermite_e.hermeint,
    hermite_e.hermeroots,
)
add_rules(laguerre.lagval, laguerre.lagvander, laguerre.lagder, laguerre.lagint, laguerre.lagroots)


# ------------------------------------------------------------------------ products
_BASES = {
    "polynomial": (polynomial.polymul, polynomial.polypow),
    "chebyshev": (chebyshev.chebmul, chebyshev.chebpow),
    "legendre": (legendre.legmul, legendre.legpow),
    "hermite": (hermite.hermmul, hermite.hermpow),
    "hermite_e": (hermite_e.hermemul, hermite_e.hermepow),
    "laguerre": (laguerre.lagmul, laguerre.lagpow),
}


def padded_product(basis, a, b):
    """The product of two polynomials, with the coefficients of 0 that NumPy cuts off.

    The basis ``"poly1d"`` are powers, from the highest one down.
    """
    if basis == "poly1d":
        return padded_product("polynomial", a[::-1], b[::-1])[::-1]
    c = _BASES[basis][0](a, b)
    return np.concatenate((c, np.zeros(len(a) + len(b) - 1 - len(c), c.dtype)))


def padded_power(basis, a, n):
    """A power of a polynomial, in the same way."""
    if basis == "poly1d":
        return padded_power("polynomial", a[::-1], n)[::-1]
    c = _BASES[basis][1](a, n)
    return np.concatenate((c, np.zeros((len(a) - 1) * n + 1 - len(c), c.dtype)))


def products_of_basis(basis, b, n):
    """The products of `b` with the first `n` polynomials of a basis, as rows."""
    return np.stack([padded_product(basis, unit, b) for unit in np.eye(n, dtype=b.dtype)])


def sums_of_products(basis, matrix, n):
    """The adjoint of `products_of_basis`: for `n` coefficients, from the cotangent of the rows."""
    units = np.eye(n, dtype=matrix.dtype)
    return np.stack([np.sum(matrix * products_of_basis(basis, e, len(matrix))) for e in units])


@bilinear(padded_product, active=("a", "b"), result=Result(any_lengths=True), samples=())
def product_of_polynomials(y_bar, basis, a, b):
    a_bar = conj(products_of_basis(basis, b, np.size(a))) @ y_bar
    return a_bar, conj(products_of_basis(basis, a, np.size(b))) @ y_bar


@linear(products_of_basis, active=("b",), result=Result(any_lengths=True), samples=())
def rows_of_products(y_bar, basis, b, n):
    return sums_of_products(basis, y_bar, np.size(b))


@linear(sums_of_products, active=("matrix",), result=Result(any_lengths=True), samples=())
def sums_of_rows(y_bar, basis, matrix, n):
    return products_of_basis(basis, y_bar, np.shape(matrix)[0])


@adjoint(padded_power, active=("a",), result=Result(any_lengths=True), samples=())
def power_of_polynomial(y_bar, y, basis, a, n):
    if n == 0:
        return np.zeros_like(a)
    lower = padded_power(basis, a, n - 1)
    return n * (conj(products_of_basis(basis, lower, np.size(a))) @ y_bar)
