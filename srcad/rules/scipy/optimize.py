"""Functions of `scipy.optimize` that are given in closed form: Rosenbrock's and its derivatives.

``rosen(x) = sum(100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)``, along the first axis.
"""

import numpy as np
from scipy import optimize

from srcad.rules.declare import adjoint, nondifferentiable

nondifferentiable(optimize.linear_sum_assignment)


@adjoint(
    optimize.rosen, real_only=True, samples=lambda f, v, m, array: [f(v), f(m), f(array(2))]
)  # fmt: skip
def rosen(y_bar, y, x):
    left, rest = x[:-1], x[1:] - x[:-1] ** 2
    inner = y_bar * (-400 * left * rest - 2 * (1 - left))
    return beside(x, inner, y_bar * (200 * rest))


def beside(x, left, right):
    """The sum of what belongs to all numbers but the last and of what belongs to all others."""
    zero = np.zeros_like(x[:1])
    return np.concatenate((left, zero)) + np.concatenate((zero, right))


@adjoint(optimize.rosen_der, real_only=True, samples=lambda f, v, array: [f(v), f(array(3))])
def rosen_der(y_bar, y, x):
    """The product with the Hessian, which is symmetric."""
    return product(x, y_bar)


def product(x, p):
    """The product of the Hessian, which has three diagonals, with a vector."""
    left = x[:-1]
    inner = (1200 * left**2 - 400 * x[1:] + 2) * p[:-1] - 400 * left * p[1:]
    return beside(x, inner, 200 * p[1:] - 400 * left * p[:-1])


@adjoint(
    optimize.rosen_hess_prod,
    real_only=True,
    samples=lambda f, v, w, array: [f(v, array(4)), f(w, array(3))],
)
def rosen_hess_prod(y_bar, y, x, p):
    """Linear in `p`, by a symmetric matrix; by `x`, the third derivatives."""
    left = x[:-1]
    ends = -400 * (y_bar[:-1] * p[1:] + y_bar[1:] * p[:-1])
    inner = 2400 * left * y_bar[:-1] * p[:-1] + ends
    return beside(x, inner, -400 * y_bar[:-1] * p[:-1]), product(x, y_bar)


@adjoint(optimize.rosen_hess, real_only=True, samples=lambda f, v, w: [f(v), f(w)])
def rosen_hess(y_bar, y, x):
    """The diagonal has ``1200 * x**2 - 400 * x[1:]``, and the two beside it ``-400 * x``."""
    main = np.diagonal(y_bar)[:-1]
    outer = np.diagonal(y_bar, 1) + np.diagonal(y_bar, -1)
    return beside(x, 2400 * x[:-1] * main - 400 * outer, -400 * main)
