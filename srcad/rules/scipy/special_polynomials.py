"""Orthogonal polynomials, hypergeometric functions and spherical harmonics of SciPy.

The formulas are those of the Digital Library of Mathematical Functions (https://dlmf.nist.gov),
chapters 13 to 16 (hypergeometric functions), 14 (Legendre functions) and 18 (polynomials).  The
derivatives of polynomials are those of DLMF 18.9, without a division by ``1 - x**2``.
"""

import numpy as np
from scipy import special

from srcad.rules.declare import derivative
from srcad.rules.row import COMPLEX, NoPartial

_DEGREE = NoPartial("the degree of a polynomial is a whole number")
_PARAMETER = NoPartial("the derivative by this parameter has no closed form")


def of_degrees(f, near):
    """Samples: whole degrees, the last argument from an interval."""
    return [f(3, near(-0.8, 0.8, 4)), f(1, near(-0.8, 0.8, 1)), f(0, near(-0.8, 0.8, 1))]


def with_parameter(f, near):
    """Samples: whole degrees and parameters, the last argument from an interval."""
    return [f(3, 2, near(-0.8, 0.8, 4)), f(1, 2, near(-0.8, 0.8, 1)), f(0, 1, near(-0.8, 0.8, 1))]


def with_two_parameters(f, near):
    """Samples: whole degrees and parameters, the last argument from an interval."""
    return [f(3, 2, 1, near(-0.8, 0.8, 4)), f(1, 1, 2, near(-0.8, 0.8, 1))]


# ------------------------------------------------------------------------ polynomials
@derivative(special.eval_legendre, samples=of_degrees)
def eval_legendre(n, x):
    """DLMF 18.9.15."""
    return _DEGREE, special.eval_gegenbauer(n - 1, 1.5, x)


@derivative(special.eval_sh_legendre, samples=of_degrees)
def eval_sh_legendre(n, x):
    """DLMF 18.9.15."""
    return _DEGREE, 2 * special.eval_gegenbauer(n - 1, 1.5, 2 * x - 1)


@derivative(special.eval_chebyt, samples=of_degrees)
def eval_chebyt(n, x):
    """DLMF 18.9.21."""
    return _DEGREE, n * special.eval_chebyu(n - 1, x)


@derivative(special.eval_sh_chebyt, samples=of_degrees)
def eval_sh_chebyt(n, x):
    """DLMF 18.9.21."""
    return _DEGREE, 2 * n * special.eval_chebyu(n - 1, 2 * x - 1)


@derivative(special.eval_chebyc, samples=of_degrees)
def eval_chebyc(n, x):
    """DLMF 18.9.21."""
    return _DEGREE, n * special.eval_chebyu(n - 1, 0.5 * x)


@derivative(special.eval_chebyu, samples=of_degrees)
def eval_chebyu(n, x):
    """DLMF 18.9.19."""
    return _DEGREE, 2 * special.eval_gegenbauer(n - 1, 2.0, x)


@derivative(special.eval_sh_chebyu, samples=of_degrees)
def eval_sh_chebyu(n, x):
    """DLMF 18.9.19."""
    return _DEGREE, 4 * special.eval_gegenbauer(n - 1, 2.0, 2 * x - 1)


@derivative(special.eval_chebys, samples=of_degrees)
def eval_chebys(n, x):
    """DLMF 18.9.19."""
    return _DEGREE, special.eval_gegenbauer(n - 1, 2.0, 0.5 * x)


@derivative(special.eval_hermite, samples=of_degrees)
def eval_hermite(n, x):
    """DLMF 18.9.25."""
    return _DEGREE, 2 * n * special.eval_hermite(np.maximum(n - 1, 0), x)


@derivative(special.eval_hermitenorm, samples=of_degrees)
def eval_hermitenorm(n, x):
    """DLMF 18.9.27."""
    return _DEGREE, n * special.eval_hermitenorm(np.maximum(n - 1, 0), x)


@derivative(special.eval_laguerre, samples=of_degrees)
def eval_laguerre(n, x):
    """DLMF 18.9.23."""
    return _DEGREE, -special.eval_genlaguerre(n - 1, 1.0, x)


@derivative(special.eval_genlaguerre, samples=with_parameter)
def eval_genlaguerre(n, alpha, x):
    """DLMF 18.9.23."""
    return _DEGREE, _PARAMETER, -special.eval_genlaguerre(n - 1, alpha + 1, x)


@derivative(special.eval_gegenbauer, samples=with_parameter)
def eval_gegenbauer(n, alpha, x):
    """DLMF 18.9.19."""
    return _DEGREE, _PARAMETER, 2 * alpha * special.eval_gegenbauer(n - 1, alpha + 1, x)


@derivative(special.eval_jacobi, samples=with_two_parameters)
def eval_jacobi(n, alpha, beta, x):
    """DLMF 18.9.15."""
    below = special.eval_jacobi(n - 1, alpha + 1, beta + 1, x)
    return _DEGREE, _PARAMETER, _PARAMETER, 0.5 * (n + alpha + beta + 1) * below


@derivative(special.lpmv, samples=with_parameter)
def lpmv(m, v, x, *, y):
    """DLMF 14.10.2 and 14.10.5: of these terms, none cancel near 1 and -1."""
    square = (1 - x) * (1 + x)
    above = special.lpmv(m + 1, v, x) / np.sqrt(square)
    return _DEGREE, _PARAMETER, -above - m * x * y / square


if hasattr(special, "sph_harm_y"):  # SciPy 1.15

    @derivative(
        special.sph_harm_y,
        result=COMPLEX,
        samples=lambda f, near: [
            f(2, 1, near(0.4, 2.5, 4), near(0.4, 2.5, 4)), f(1, -1, near(0.4, 2.5, 4), 0.5)],
    )  # fmt: skip
    def sph_harm_y(n, m, theta, phi, *, y):
        """``i m y`` by `phi`; by `theta` the ladder of DLMF 14.30.1, 14.10.1, also at the poles."""
        above = np.maximum((n - m) * (n + m + 1) + 0 * theta, 0)
        below = np.maximum((n + m) * (n - m + 1) + 0 * theta, 0)
        up = np.sqrt(above) * special.sph_harm_y(n, m + 1, theta, phi)
        down = np.sqrt(below) * special.sph_harm_y(n, m - 1, theta, phi)
        turn = np.exp(1j * phi)
        return _DEGREE, _DEGREE, 0.5 * (up / turn - down * turn), 1j * m * y


# ------------------------------------------------------------------------ hypergeometric functions
@derivative(special.hyp0f1, samples=lambda f, near: [f(2, near(-0.8, 0.8, 4)), f(1, 0.5)])
def hyp0f1(v, z):
    """DLMF 16.3.1."""
    return _PARAMETER, special.hyp0f1(v + 1, z) / v


@derivative(special.hyp1f1, samples=lambda f, near: [f(2, 3, near(-0.8, 0.8, 4)), f(1, 2, 0.5)])
def hyp1f1(a, b, x):
    """DLMF 13.3.15."""
    return _PARAMETER, _PARAMETER, a * special.hyp1f1(a + 1, b + 1, x) / b


@derivative(
    special.hyp2f1, samples=lambda f, near: [f(2, 3, 4, near(-0.8, 0.8, 4)), f(1, 2, 3, 0.5)]
)
def hyp2f1(a, b, c, z):
    """DLMF 15.5.1."""
    above = special.hyp2f1(a + 1, b + 1, c + 1, z)
    return _PARAMETER, _PARAMETER, _PARAMETER, a * b * above / c


@derivative(special.hyperu, samples=lambda f, near: [f(2, 3, near(0.4, 2.0, 4)), f(1, 2, 0.5)])
def hyperu(a, b, x):
    """DLMF 13.3.22."""
    return _PARAMETER, _PARAMETER, -a * special.hyperu(a + 1, b + 1, x)


@derivative(
    special.wright_bessel, samples=lambda f, near: [f(2, 3, near(0.4, 2.0, 4)), f(1, 2, 0.5)]
)
def wright_bessel(a, b, x):
    """DLMF 10.46.1."""
    return _PARAMETER, _PARAMETER, special.wright_bessel(a, a + b, x)


if hasattr(special, "log_wright_bessel"):  # SciPy 1.14

    @derivative(
        special.log_wright_bessel,
        samples=lambda f, near: [f(2, 3, near(0.4, 2.0, 4)), f(1, 2, 0.5)],
    )
    def log_wright_bessel(a, b, x, *, y):
        """DLMF 10.46.1."""
        return _PARAMETER, _PARAMETER, np.exp(special.log_wright_bessel(a, a + b, x) - y)
