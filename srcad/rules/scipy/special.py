"""Special functions of SciPy.

The formulas are those of the Digital Library of Mathematical Functions (https://dlmf.nist.gov),
chapters 5 (gamma and its relatives), 7 (error functions) and 25 (zeta); a partial that has no
closed form is declared missing.
"""

import math

import numpy as np
from scipy import special

from srcad.rules.conjugates import may_be_complex
from srcad.rules.declare import derivative
from srcad.rules.row import NoPartial

_WHOLE = NoPartial("the order of polygamma is a whole number")
_REAL = NoPartial("SciPy has no function for its derivative at complex numbers")
_EXPONENT = NoPartial("the derivative of zeta by its exponent has no closed form")


# ------------------------------------------------------------------------ gamma and its relatives
@derivative(special.gamma, samples=(0.4, 3))
def gamma(x, *, y):
    return y * special.digamma(x)


@derivative(special.gammaln, samples=(0.4, 3))
def gammaln(x):
    return special.digamma(x)


@derivative(special.digamma, samples=(0.4, 3))
def digamma(x):
    if may_be_complex(x):
        return _REAL
    return special.zeta(2.0, x)


@derivative(special.polygamma, samples=lambda f, near: [f(1, near(0.4, 3.0, 4))])
def polygamma(n, x):
    return _WHOLE, special.polygamma(n + 1, x)


@derivative(special.zeta, samples=lambda f, near: [f(3, near(0.4, 3.0, 4))])
def zeta(x, q):
    """By the second argument of Hurwitz's function: DLMF 25.11.17."""
    return _EXPONENT, -x * special.zeta(x + 1, q)


# ------------------------------------------------------------------------ error functions
@derivative(special.erf, samples=(-2, 2))
def erf(x):
    return 2 / math.sqrt(math.pi) * np.exp(-x * x)


@derivative(special.erfc, samples=(-2, 2))
def erfc(x):
    return -2 / math.sqrt(math.pi) * np.exp(-x * x)


@derivative(special.erfinv, samples=(-0.8, 0.8))
def erfinv(x, *, y):
    return math.sqrt(math.pi) / 2 * np.exp(y * y)


@derivative(special.ndtr, samples=(-2, 2))
def ndtr(x):
    return np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


# ------------------------------------------------------------------------ logistic
@derivative(special.expit, samples=(-3, 3))
def expit(x, *, y):
    return y * special.expit(-x)


@derivative(special.logit, samples=(0.2, 0.8))
def logit(x):
    return 1 / (x * (1 - x))


@derivative(special.log_expit, samples=(-3, 3))
def log_expit(x):
    return special.expit(-x)


# ------------------------------------------------------------------------ entropies
@derivative(special.entr, samples=(0.2, 3))
def entr(x):
    return -np.log(x) - 1


@derivative(special.xlogy, samples=(0.4, 3))
def xlogy(x, y):
    log_y = float(np.log(y)) if isinstance(y, (int, float)) else np.log(y)
    return log_y, x / y


@derivative(special.xlog1py, samples=(0.4, 3))
def xlog1py(x, y):
    log_y = float(np.log1p(y)) if isinstance(y, (int, float)) else np.log1p(y)
    return log_y, x / (1 + y)
