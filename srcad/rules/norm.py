"""Norms of vectors and matrices, of every order.

A norm that is 0 has the derivative 0; entries that tie for a maximum share it equally.
"""

import numpy as np

from srcad.rules.declare import adjoint
from srcad.rules.linalg import inverse_or_nan, of_stretches, transposed
from srcad.rules.reduction import kept, shared


@adjoint(
    np.linalg.norm, entries="reduced",
    samples=lambda f, v, m, t: [
        f(v), f(m), f(t), f(v, keepdims=True), f(m, keepdims=True), f(t, 2, (1,)),
        *[f(m, k) for k in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)],
        *[f(m, k, keepdims=True) for k in ("fro", "nuc", 1, -1, 2, -2, np.inf)],
        *[f(v, k) for k in (1, 2, 3, 2.5, np.inf, -np.inf, -1)],
        *[f(v, k, keepdims=True) for k in (1, 2, 3, np.inf, -np.inf)],
        *[f(t, k, 0) for k in (None, 1, 2, 3, np.inf)],
        *[f(t, k, -1, keepdims=True) for k in (None, 1, 2, 3, np.inf)],
        *[f(t, k, (0, 2)) for k in (None, "fro", 1, 2, "nuc", np.inf, -1, -2)],
        *[f(t, k, (2, 1), True) for k in (None, "fro", 1, 2, "nuc", np.inf, -1, -2)],
        f(t, "nuc", (2, 1)), f(t, 2, (0, 2), keepdims=True)],
    kinks=lambda f: [
        (f([0, 0, 0]), [0, 0, 0]), (f([[0, 0], [0, 0]]), [[0, 0], [0, 0]]),
        (f([0, 1, -2], 1), [0, 1, -1]), (f([0, 0], 1), [0, 0]), (f([0, 0], 3), [0, 0]),
        (f([2, -2, 1], np.inf), [0.5, -0.5, 0]), (f([[0, 0], [0, 0]], "nuc"), [[1, 0], [0, 1]])],
)  # fmt: skip
def norm(y_bar, y, x, ord=None, axis=None, keepdims=False):
    if axis is None and (ord is None or np.ndim(x) == 1):
        if ord is None:
            return x * (y_bar / (y + (y == 0)))
        return vector(y_bar, y, x, ord, None, keepdims)
    axes = (0, 1) if axis is None else axis
    if isinstance(axis, (int, np.integer)) or np.size(axes) == 1:
        return vector(y_bar, y, x, 2 if ord is None else ord, axes, keepdims)
    return matrix(y_bar, y, x, "fro" if ord is None else ord, axes, keepdims)


@adjoint(
    np.linalg.vector_norm, entries="reduced",
    samples=lambda f, t: [f(t, axis=(0, 1), ord=3), f(t), f(t, axis=1, keepdims=True),
        f(t, axis=(0, -1), keepdims=True, ord=1)],
)  # fmt: skip
def vector_norm(y_bar, y, x, *, axis=None, keepdims=False, ord=2):
    return vector(y_bar, y, x, ord, axis, keepdims)


@adjoint(np.linalg.matrix_norm, samples=lambda f, t: [f(t, ord="nuc"), f(t, keepdims=True)])
def matrix_norm(y_bar, y, x, *, keepdims=False, ord="fro"):
    return matrix(y_bar, y, x, ord, (-2, -1), keepdims)


@adjoint(
    np.linalg.cond, real_only=True, entries="stacked",
    samples=lambda f, m, array, square: [
        f(square(3)), f(m), f(m.T, -2), f(array(2, 3, 4)), f(square(3), "fro"), f(square(3), 2),
        f(square(3), "nuc"), f(square(3), 1), f(square(3), -1), f(square(3), np.inf),
        f(square(3), -np.inf), f(array(2, 3, 3) + 3 * np.eye(3), 1)],
)  # fmt: skip
def cond(y_bar, y, x, p=None):
    """The ratio of the extreme singular values, or the product of the norms of `x` and its inverse.

    A matrix with a condition number of 1 by all of its singular values, up to rounding, has the
    derivative 0, one of an infinite condition number, or of none, has nan: the call itself raises
    no error.
    """
    if p is None or p in (2, -2):
        finite = np.all(np.isfinite(x), axis=(-2, -1), keepdims=True)
        u, s, vh = np.linalg.svd(np.where(finite, x, 0.0), full_matrices=False)
        places = np.arange(np.shape(s)[-1])
        first, last = places == 0, places == np.shape(s)[-1] - 1
        rounding = 8 * max(np.shape(x)[-2:]) * np.finfo(s.dtype).eps
        equal = s[..., :1] - s[..., -1:] <= rounding * s[..., :1]
        g = np.where(equal & (s[..., -1:] > 0), 0.0, np.expand_dims(y_bar, -1))
        ratio = np.expand_dims(y, -1)
        if p == -2:
            return of_stretches(x, g / s[..., :1] * (last - ratio * first), u, s, vh)
        return of_stretches(x, g / s[..., -1:] * (first - ratio * last), u, s, vh)
    inverse = inverse_or_nan(x)
    size = np.linalg.norm(x, p, (-2, -1))
    other = np.linalg.norm(inverse, p, (-2, -1))
    turned = transposed(inverse)
    of_inverse = matrix(y_bar * size, other, inverse, p, (-2, -1), False)
    return matrix(y_bar * other, size, x, p, (-2, -1), False) - turned @ of_inverse @ turned


def vector(y_bar, y, x, ord, axis, keepdims):
    """The cotangent of ``sum(abs(x)**ord)**(1 / ord)`` over `axis`."""
    g, size = kept(y_bar, x, axis, keepdims), kept(y, x, axis, keepdims)
    if ord == 0:
        return None
    if ord == 1:
        return g * np.sign(x)
    if ord == 2:
        return x * (g / (size + (size == 0)))
    if ord in (np.inf, -np.inf):
        return np.sign(x) * shared(g, x, np.abs(x) == size, axis, ord > 0)
    return g * np.sign(x) * (np.abs(x) / (size + (size == 0))) ** (ord - 1)


def matrix(y_bar, y, x, ord, axes, keepdims):
    """The cotangent of a matrix norm over two axes."""
    if np.ndim(x) == 2 and not keepdims and (axes == (0, 1) or axes == (-2, -1)):
        return last_two(y_bar, y, x, ord)
    g = np.moveaxis(kept(y_bar, x, axes, keepdims), axes, (-2, -1))
    size = np.moveaxis(kept(y, x, axes, keepdims), axes, (-2, -1))
    return np.moveaxis(last_two(g, size, np.moveaxis(x, axes, (-2, -1)), ord), (-2, -1), axes)


def last_two(g, size, a, ord):
    """The cotangent of the norm of the matrices on the last two axes."""
    if ord == "fro":
        return a * (g / (size + (size == 0)))
    if ord in (1, -1, np.inf, -np.inf):
        sums = np.sum(np.abs(a), axis=-2 if ord in (1, -1) else -1, keepdims=True)
        axes = None if np.ndim(a) == 2 else (-2, -1)
        return np.sign(a) * shared(g, sums, sums == extreme(sums, ord, axes), axes, ord > 0)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    if ord == "nuc":
        return g * of_stretches(a, np.ones_like(s), u, s, vh)
    if np.ndim(a) == 2:
        weights = shared(np.ravel(g)[0], s, s == extreme(s, ord, None), None, ord > 0)
    else:
        weights = shared(g[..., 0], s, s == extreme(s, ord, -1), -1, ord > 0)
    return of_stretches(a, weights, u, s, vh)


def extreme(numbers, ord, axes):
    """The largest for a positive order, the smallest for a negative one."""
    if axes is None:
        return np.max(numbers, initial=0) if ord > 0 else np.min(numbers)
    if ord > 0:
        return np.max(numbers, axis=axes, keepdims=True, initial=0)
    return np.min(numbers, axis=axes, keepdims=True)
