"""Products of vectors, matrices and arrays of any rank.

Leading axes of `matmul` broadcast; `unbroadcast` sums over them again where the operands' shapes
differ.  A cotangent meets the conjugates of the other operands.
"""

import ast
import operator

import numpy as np

from srcad.rules.conjugates import conj
from srcad.rules.declare import adjoint, bilinear
from srcad.rules.registry import is_known, static
from srcad.rules.row import NoPartial, Sign
from srcad.rules.shape import ones, span
from srcad.runtime import unbroadcast

MATRICES = NoPartial(
    "its rule is for vectors and matrices; for two numbers or stacks write np.dot(a, b)"
)


@static
def first(count):
    """The first `count` axes."""
    return tuple(range(count))


# ------------------------------------------------------------------------ matrices
@bilinear(
    operator.matmul, np.matmul, np.linalg.matmul, entries="contracted", order="stacks",
    sign=Sign("@", ast.MatMult, operator.imatmul), special=("__matmul__", "__rmatmul__"),
    samples=lambda f, v, w, m, t, array: [
        f(v, array(4)), f(m, v), f(w, m), f(m, array(4, 2)), f(t, v), f(w, t), f(t, array(4, 2)),
        f(array(5, 3), t), f(t, array(2, 4, 5)), f(t, array(1, 4, 5)), f(array(1, 4), array(4, 1)),
        f(array(2, 1, 3, 4), array(5, 4, 2))],
)  # fmt: skip
def matmul(y_bar, a, b):
    """``y = a @ b``: ``a_bar = y_bar @ b.T`` and ``b_bar = a.T @ y_bar``.

    Shapes: ``a`` (..., n, k) or (k,); ``b`` (..., k, m) or (k,).
    Source: Giles (2008), *Collected matrix derivative results*, section 2.2.2.
    """
    a, b = conj(a), conj(b)
    if np.ndim(a) == 1 and np.ndim(b) == 1:
        return y_bar * b, y_bar * a
    if np.ndim(b) == 1:
        return matrix_vector(y_bar, a, b)
    if np.ndim(a) == 1:
        return vector_matrix(y_bar, a, b)
    if np.ndim(a) == 2 and np.ndim(b) == 2:
        return y_bar @ b.T, a.T @ y_bar
    a_bar = unbroadcast(y_bar @ np.swapaxes(b, -1, -2), a)
    if np.ndim(b) == 2:
        rows = first(np.ndim(a) - 1)
        return a_bar, np.tensordot(a, y_bar, (rows, rows))
    return a_bar, unbroadcast(np.swapaxes(a, -1, -2) @ y_bar, b)


def matrix_vector(y_bar, a, b):
    """The cotangents of ``a @ b``, ``a`` (..., n, k) and ``b`` (k,)."""
    if np.ndim(a) == 2:
        return np.outer(y_bar, b), a.T @ y_bar
    return y_bar[..., None] * b, np.tensordot(y_bar, a, np.ndim(a) - 1)


def vector_matrix(y_bar, a, b):
    """The cotangents of ``a @ b``, ``a`` (k,) and ``b`` (..., k, m)."""
    if np.ndim(b) == 2:
        return b @ y_bar, np.outer(a, y_bar)
    a_bar = np.tensordot(np.moveaxis(b, -2, 0), y_bar, np.ndim(b) - 1)
    return a_bar, a[:, None] * y_bar[..., None, :]


@bilinear(
    np.dot, method="dot", entries="contracted", order="stacks",
    samples=lambda f, v, w, m, t, array: [
        f(v, array(4)), f(m, v), f(w, m), f(m, array(4, 2)), f(t, v), f(w, t), f(t, array(4, 2)),
        f(0.5, m), f(m, 0.5), f(0.5, 0.2), f(t, array(5, 4, 2)), f(v, array(2, 4, 3)),
        f(m, array(2, 3, 4, 5))],
)  # fmt: skip
def dot(y_bar, a, b):
    """A number multiplies; otherwise the last axis of ``a`` meets the last but one of ``b``."""
    a, b = conj(a), conj(b)
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return unbroadcast(y_bar * b, a), unbroadcast(y_bar * a, b)
    if np.ndim(a) == 1 and np.ndim(b) == 1:
        return y_bar * b, y_bar * a
    if np.ndim(a) == 2 and np.ndim(b) == 2:
        return y_bar @ b.T, a.T @ y_bar
    if np.ndim(b) == 1:
        return matrix_vector(y_bar, a, b)
    if np.ndim(a) == 1 and np.ndim(b) == 2:
        return vector_matrix(y_bar, a, b)
    rows = np.ndim(a) - 1
    columns = np.moveaxis(b, -2, 0)
    a_bar = np.tensordot(y_bar, columns, (span(rows, np.ndim(y_bar)), span(1, np.ndim(b))))
    b_bar = np.tensordot(a, y_bar, (first(rows), first(rows)))
    return a_bar, np.moveaxis(b_bar, 0, -2)


@bilinear(
    np.inner, order="stacks", entries="contracted",
    samples=lambda f, v, m, t, array: [
        f(v, array(4)), f(m, v), f(v, m), f(m, m), f(t, m), f(0.5, m), f(m, t), f(m, 0.5)],
)  # fmt: skip
def inner(y_bar, a, b):
    """A number multiplies; otherwise the last axes meet."""
    a, b = conj(a), conj(b)
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return unbroadcast(y_bar * b, a), unbroadcast(y_bar * a, b)
    if np.ndim(a) == 1 and np.ndim(b) == 1:
        return y_bar * b, y_bar * a
    rows = np.ndim(a) - 1
    a_bar = np.tensordot(y_bar, b, (span(rows, np.ndim(y_bar)), first(np.ndim(b) - 1)))
    b_bar = np.tensordot(y_bar, a, (first(rows), first(rows)))
    return a_bar, b_bar


@bilinear(
    np.outer,
    np.linalg.outer,
    rounds="exactly",
    order="C",
    entries="contracted",
    samples=lambda f, v, w: [f(v, w)],
)
def outer(y_bar, a, b):
    """Operands are flattened."""
    a, b = conj(a), conj(b)
    if np.ndim(a) == 1 and np.ndim(b) == 1:
        return y_bar @ b, a @ y_bar
    a_bar = y_bar @ np.ravel(b)
    return np.reshape(a_bar, np.shape(a)), np.reshape(np.ravel(a) @ y_bar, np.shape(b))


@bilinear(
    np.vdot,
    entries="contracted",
    samples=lambda f, v, m, array: [f(v, array(4)), f(m, m), f(m, array(4, 3)), f(m, array(12))],
)
def vdot(y_bar, a, b):
    """Operands are flattened, and the first one is conjugated."""
    if np.ndim(a) == 1 and np.ndim(b) == 1:
        return conj(y_bar) * b, y_bar * a
    return conj(y_bar) * np.reshape(b, np.shape(a)), y_bar * np.reshape(a, np.shape(b))


@adjoint(
    np.linalg.multi_dot, entries="contracted", order="C", lists=("arrays",),
    samples=lambda f, v, w, m, array: [
        f([m, array(4, 2)]), f([m, array(4, 2), array(2, 5)]), f([w, m, array(4, 2)]),
        f((m, array(4, 2), array(2))), f([w, m, v]), f([v, array(4)])],
)  # fmt: skip
def multi_dot(y_bar, y, arrays):
    """The cotangent of each matrix is the product of the others' transposes, with `y_bar` between.

    The first array may be a row and the last one a column: a vector.
    """
    count = len(arrays)
    if np.ndim(arrays[0]) not in (1, 2) or np.ndim(arrays[-1]) not in (1, 2):
        return MATRICES  # NumPy takes others if there are two of them
    turned = []
    for k in range(count):
        a = conj(arrays[k])
        if np.ndim(a) > 1:
            turned.append(a.T)
        else:
            turned.append(a[:, None] if k == 0 else a[None])
    g = np.reshape(y_bar, (np.shape(turned[0])[1], np.shape(turned[-1])[0]))
    bars = []
    for k in range(count):
        factors = [*turned[:k][::-1], g, *turned[k + 1 :][::-1]]
        bars.append(np.reshape(np.linalg.multi_dot(factors), np.shape(arrays[k])))
    return bars


if hasattr(np, "matvec"):  # NumPy 2.2

    @bilinear(
        np.matvec, entries="contracted",
        samples=lambda f, v, m, t, array: [f(m, v), f(t, array(2, 1, 4)), f(t, v)],
    )  # fmt: skip
    def matvec(y_bar, x1, x2):
        """Matrices times vectors on the last axis; the axes before them broadcast."""
        x1_bar = y_bar[..., None] * conj(x2)[..., None, :]
        x2_bar = np.matvec(np.swapaxes(conj(x1), -1, -2), y_bar)
        return unbroadcast(x1_bar, x1), unbroadcast(x2_bar, x2)

    @bilinear(np.vecmat, entries="contracted", samples=lambda f, w, m, t, array: [
        f(w, m), f(array(2, 3), t), f(w, t), f(array(2, 3), m)])  # fmt: skip
    def vecmat(y_bar, x1, x2):
        """Conjugated vectors on the last axis times matrices; the axes before them broadcast."""
        x2_bar = x1[..., None] * y_bar[..., None, :]
        return unbroadcast(np.matvec(x2, conj(y_bar)), x1), unbroadcast(x2_bar, x2)


@bilinear(
    np.linalg.vecdot, entries="contracted",
    samples=lambda f, m, array: [f(m, array(3, 1), axis=0), f(m, m), f(array(4), m)],
)  # fmt: skip
def vecdot_along(y_bar, a, b, *, axis=-1):
    """Vectors on one axis, the first one conjugated; the other axes broadcast."""
    g = np.expand_dims(y_bar, axis)
    return unbroadcast(conj(g) * b, a), unbroadcast(g * a, b)


@bilinear(np.vecdot, entries="contracted", samples=lambda f, v, m: [f(m, v), f(v, m)])
def vecdot(y_bar, a, b):
    return vecdot_along(y_bar, a, b)


# ------------------------------------------------------------------------ tensors
@static
def plan(axes, rank_a, rank_b):
    """The axes for the two cotangents of `np.tensordot`.

    Returns
    -------
    tuple
        For each operand: the axes of ``y`` and of the *other* operand that are contracted, and the
        permutation that puts the axes of the cotangent back (None if they are in place).
    """
    if isinstance(axes, int):
        of_a, of_b = [*range(rank_a - axes, rank_a)], [*range(axes)]
    else:
        of_a, of_b = ([k] if isinstance(k, int) else list(k) for k in axes)
        of_a, of_b = [k % rank_a for k in of_a], [k % rank_b for k in of_b]
    free_a = [k for k in range(rank_a) if k not in of_a]
    free_b = [k for k in range(rank_b) if k not in of_b]
    of_y = [*range(len(free_a) + len(free_b))]
    rows, columns = of_y[: len(free_a)], of_y[len(free_a) :]
    return (
        (tuple(columns), tuple(free_b), _back(free_a, of_a, of_b)),
        (tuple(rows), tuple(free_a), _back(free_b, of_b, of_a)),
    )


@static
def _back(free, contracted, partner):
    """The inverse of ``free`` axes followed by the contracted ones in the order of their partners.

    ``tensordot(y_bar, b)`` keeps the contracted axes in the order of the other operand's axes.
    """
    mates = sorted(zip(partner, contracted, strict=True))
    made = [*free, *(axis for _, axis in mates)]
    order = [made.index(axis) for axis in range(len(made))]
    return None if order == sorted(order) else tuple(order)


@bilinear(
    np.tensordot, order="C", entries="contracted",
    samples=lambda f, v, w, m, t, array: [
        f(m, array(4, 2), 1), f(t, array(3, 4, 5)), f(v, w, 0), f(m, m),
        f(t, array(4, 5, 2), ([0, 2], [2, 0])), f(t, array(4, 5, 3), ((-1, 1), (0, -1))),
        f(t, array(5, 3), (1, 1)), f(array(2, 3, 4, 5), array(5, 2, 7, 3), ((1, 0, 3), (3, 1, 0)))],
)  # fmt: skip
def tensordot(y_bar, a, b, axes=2):
    """Axes contracted in ``y`` are free in the cotangents, and the other way round."""
    a, b = conj(a), conj(b)
    if not is_known(axes):
        return tensordot_along(y_bar, a, b, axes)
    for_a, for_b = plan(axes, np.ndim(a), np.ndim(b))
    a_bar = np.tensordot(y_bar, b, (for_a[0], for_a[1]))
    b_bar = np.tensordot(y_bar, a, (for_b[0], for_b[1]))
    if for_a[2] is not None:
        a_bar = np.transpose(a_bar, for_a[2])
    if for_b[2] is not None:
        b_bar = np.transpose(b_bar, for_b[2])
    return a_bar, b_bar


def tensordot_along(y_bar, a, b, axes):
    """The cotangents for axes known only at run time: contracted axes are moved together."""
    if isinstance(axes, (tuple, list)) or np.ndim(axes) > 0:
        of_a, of_b = axes[0], axes[1]
    else:
        of_a, of_b = np.arange(np.ndim(a) - axes, np.ndim(a)), np.arange(axes)
    n = np.size(of_a)
    a_bar = np.tensordot(y_bar, np.moveaxis(b, of_b, np.arange(-n, 0)), np.ndim(b) - n)
    b_bar = np.tensordot(np.moveaxis(a, of_a, np.arange(n)), y_bar, np.ndim(a) - n)
    return np.moveaxis(a_bar, np.arange(-n, 0), of_a), np.moveaxis(b_bar, np.arange(n), of_b)


@bilinear(
    np.linalg.tensordot, order="C", entries="contracted", samples=lambda f, m: [f(m, m.T, axes=1)]
)
def tensordot_by_name(y_bar, a, b, *, axes=2):
    return tensordot(y_bar, a, b, axes)


@bilinear(
    np.kron,
    entries="contracted",
    samples=lambda f, v, w, m, t, array: [
        f(v, w), f(m, array(2, 3)), f(v, m), f(m, v), f(0.5, m), f(t, m)],
)  # fmt: skip
def kron(y_bar, a, b):
    """Split each axis of the result into (entry of a, entry of b)."""
    a, b = conj(a), conj(b)
    if np.ndim(a) < np.ndim(b):
        wide_a, wide_b = np.reshape(a, (*ones(np.ndim(b) - np.ndim(a)), *np.shape(a))), b
    elif np.ndim(b) < np.ndim(a):
        wide_a, wide_b = a, np.reshape(b, (*ones(np.ndim(a) - np.ndim(b)), *np.shape(b)))
    else:
        wide_a, wide_b = a, b
    lengths = zip(np.shape(wide_a), np.shape(wide_b), strict=True)
    g = np.reshape(y_bar, tuple(n for pair in lengths for n in pair))
    for_a, for_b = interleaved(np.ndim(wide_a))
    a_bar, b_bar = np.einsum(for_a, g, wide_b), np.einsum(for_b, g, wide_a)
    return np.reshape(a_bar, np.shape(a)), np.reshape(b_bar, np.shape(b))


@static
def interleaved(rank):
    """The subscripts that sum over the second operand's axes, and over the first's."""
    first = "".join(chr(ord("a") + n) for n in range(rank))
    second = first.upper()
    both = "".join(m + n for m, n in zip(first, second, strict=True))
    return f"{both},{second}->{first}", f"{both},{first}->{second}"


@bilinear(
    np.cross, np.linalg.cross, order="other", entries="crossed",
    samples=lambda f, w, array: [
        f(w, array(3)), f(array(2, 3), w), f(array(3, 2), array(3, 2), axis=0), f(w, array(2, 3))],
)  # fmt: skip
def cross(y_bar, a, b, *, axis=-1):
    """``y_bar . (a x b)`` is a volume, which does not change when its edges rotate.

    Vectors of length 3 on one axis; the others broadcast.
    """
    a, b = conj(a), conj(b)
    a_bar = unbroadcast(np.cross(b, y_bar, axis=axis), a)
    return a_bar, unbroadcast(np.cross(y_bar, a, axis=axis), b)
