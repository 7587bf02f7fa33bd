"""Norms, pseudo-inverses, eigenvalues, singular values and QR by SciPy.

The formulas are those of the functions of `numpy.linalg`.
"""

import numpy as np
from scipy import linalg

from srcad.rules import linalg as plain
from srcad.rules import norm as norms
from srcad.rules.conjugates import REAL_ONLY, may_be_complex
from srcad.rules.declare import adjoint
from srcad.rules.gaps import VALUES
from srcad.rules.linalg import (
    adjoined,
    of_turn,
    pinv_cotangent,
    qr_cotangent,
    scaled,
    transposed,
    triangle,
)
from srcad.rules.row import NoPartial, Result
from srcad.rules.scipy import IS_BEFORE_1_18
from srcad.rules.scipy.linalg_systems import overwrites

VALUES.update(dict.fromkeys((linalg.eigh, linalg.eigvalsh, linalg.eig, linalg.eigvals), 0))
VALUES.update({linalg.svd: 1, linalg.svdvals: 0})

SUBSET = NoPartial(
    "its rule is for all eigenvectors of a pair of matrices: leave out subset_by_index"
)
_PAIR = dict.fromkeys(
    ("b", "homogeneous_eigvals"),
    "its rule is for one matrix: of a pair with a regular b, pass np.linalg.solve(b, a)",
)
_LEFT = "its rule is for the right vectors; the left ones are np.linalg.inv(v).conj().T"
TYPE = NoPartial("its rule is for type=1, a @ v = w * b @ v")
FULL_MODE = NoPartial(
    "the last columns of a full q are not unique: pass mode='economic', or take r alone"
)
FULL_RQ = NoPartial(
    "the first rows of a full q are not unique: pass mode='economic', or take r alone"
)
_PIVOTING = "its rule is for pivoting=False: use scipy.linalg.qr, and multiply by its q"
RAW = NoPartial("mode='raw' returns the reflectors of LAPACK; use mode='economic'")


@adjoint(
    linalg.norm,
    samples=lambda f, v, m, t: [
        f(v), f(m), *[f(m, k) for k in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)],
        *[f(v, k) for k in (1, 3, np.inf)], f(m, 2, keepdims=True), f(m, None, 0),
        f(m, 1, -1, True), f(t, "fro", (1, 2))],
)  # fmt: skip
def norm(y_bar, y, a, ord=None, axis=None, keepdims=False, check_finite=True):
    return norms.norm(y_bar, y, a, ord, axis, keepdims)


# ------------------------------------------------------------------------ pseudo-inverses
@adjoint(
    linalg.pinv, real_only=True, result=Result(lambda return_rank=False: 2 if return_rank else 1),
    samples=lambda f, m, t: [
        f(m), f(m.T), f(t), f(m, atol=1e-9, return_rank=True), f(m, rtol=1e-9)],
)  # fmt: skip
def pinv(y_bar, y, a, *, atol=None, rtol=None, return_rank=False, check_finite=True):
    """At matrices with a rank that does not change nearby; `atol` and `rtol` decide the rank."""
    if return_rank:
        return None if y_bar[0] is None else pinv_cotangent(y_bar[0], y[0], a)
    return pinv_cotangent(y_bar, y, a)


@adjoint(
    linalg.pinvh, real_only=True, result=Result(lambda return_rank=False: 2 if return_rank else 1),
    samples=lambda f, square: [
        f(square(3)), f(square(3), lower=False), f(square(3), return_rank=True),
        f(square(3), 1e-9), f(square(3), rtol=1e-9)],
)  # fmt: skip
def pinvh(
    y_bar, y, a, atol=None, rtol=None, lower=True, return_rank=False, check_finite=True
):  # fmt: skip
    """Of a symmetric matrix one triangle is read."""
    if not return_rank:
        return of_pinvh(y_bar, y, a, lower)
    return None if y_bar[0] is None else of_pinvh(y_bar[0], y[0], a, lower)


def of_pinvh(y_bar, y, a, lower):
    half = np.tril(a) if lower else np.triu(a)
    rest = np.tril(a, -1) if lower else np.triu(a, 1)
    bar = pinv_cotangent(y_bar, y, half + adjoined(rest))
    return triangle(bar, "L" if lower else "U")


# ------------------------------------------------------------------------ eigenvalues
@adjoint(
    linalg.eig, refuses={**overwrites("a", "b"), **_PAIR, "left": _LEFT}, samples=(),
    result=Result(lambda left=False, right=True: 1 + left + right, dtype="real or complex"),
)  # fmt: skip
def eig(
    y_bar, y, a, b=None, left=False, right=True, overwrite_a=False, overwrite_b=False,
    check_finite=True, homogeneous_eigvals=False,
):  # fmt: skip
    """As of `numpy.linalg.eig`: what depends on the phases of the vectors raises."""
    return plain.eig(y_bar, y, a) if right else plain.eigvals(y_bar, y, a)


eigvals_row = adjoint(
    linalg.eigvals, refuses={**overwrites("a", "b"), **_PAIR},
    result=Result(dtype="real or complex"),
    samples=lambda f, array, spd: [
        f(array(4, 4)), f(spd(3, 3) + array(3, 3) / 9), f(array(2, 3, 3))],
)  # fmt: skip

if IS_BEFORE_1_18:

    @eigvals_row
    def eigvals_of_older(
        y_bar, y, a, b=None, overwrite_a=False, check_finite=True, homogeneous_eigvals=False
    ):
        """As of `numpy.linalg.eigvals`."""
        return plain.eigvals(y_bar, y, a)

else:

    @eigvals_row
    def eigvals(
        y_bar, y, a, b=None, overwrite_a=False, overwrite_b=False, check_finite=True,
        homogeneous_eigvals=False,
    ):  # fmt: skip
        """As of `numpy.linalg.eigvals`."""
        return plain.eigvals(y_bar, y, a)


@adjoint(
    linalg.eigh, refuses=overwrites("a", "b"),
    result=Result(lambda eigvals_only=False: 1 if eigvals_only else 2), active=("a", "b"),
    samples=lambda f, spd, array: [
        f(spd(4, 4), driver="evd"), f(spd(3, 3), lower=False, driver="ev"),
        f(spd(3, 3), eigvals_only=True),
        f(spd(4, 4), eigvals_only=True, subset_by_index=(1, 2)),
        f(spd(4, 4), subset_by_index=(1, 2)), f(spd(2, 3, 3), driver="evd"),
        f(spd(3, 3), spd(3, 3)), f(spd(3, 3), spd(3, 3), lower=False),
        f(spd(3, 3), spd(3, 3), eigvals_only=True)],
)  # fmt: skip
def eigh(
    y_bar, y, a, b=None, *, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False,
    type=1, check_finite=True, subset_by_index=None, driver=None,
):  # fmt: skip
    """Of both matrices the triangle that SciPy reads has a derivative.

    Eigenvectors of equal eigenvalues have none: nan, and a warning, where they are coupled.
    """
    if type != 1 and b is not None:
        return TYPE, TYPE
    if eigvals_only:
        return eigenvalues(y_bar, y, a, b, lower, subset_by_index)
    if subset_by_index is not None and y_bar[1] is not None:
        if b is not None:
            return SUBSET, SUBSET
        return of_some(y_bar[0], y_bar[1], y[0], y[1], a, lower, subset_by_index), None
    uplo = "L" if lower else "U"
    if b is None:
        return plain.eigh(y_bar, y, a, uplo), None
    return of_pair(y_bar[0], y_bar[1], y[0], y[1], a, uplo)


@adjoint(
    linalg.eigvalsh, refuses=overwrites("a", "b"), active=("a", "b"),
    samples=lambda f, spd: [
        f(spd(4, 4)), f(spd(2, 3, 3), lower=False), f(spd(3, 3), spd(3, 3)),
        f(spd(4, 4), subset_by_index=[0, 1]), f(spd(4, 4), driver="ev")],
)  # fmt: skip
def eigvalsh(
    y_bar, y, a, b=None, *, lower=True, overwrite_a=False, overwrite_b=False, type=1,
    check_finite=True, subset_by_index=None, driver=None,
):  # fmt: skip
    if type != 1 and b is not None:
        return TYPE, TYPE
    return eigenvalues(y_bar, y, a, b, lower, subset_by_index)


def eigenvalues(w_bar, w, a, b, lower, subset):
    """The cotangents for those of eigenvalues alone: with ``v.T b v = 1``, ``v w_bar v.T``."""
    if may_be_complex(a):
        return REAL_ONLY, REAL_ONLY
    uplo = "L" if lower else "U"
    if b is None and subset is None:
        return plain.eigvalsh(w_bar, w, a, uplo), None
    if b is None:
        v = linalg.eigh(a, lower=lower, subset_by_index=subset, check_finite=False)[1]
        return triangle(v @ scaled(w_bar, adjoined(v)), uplo), None
    v = linalg.eigh(a, b, lower=lower, subset_by_index=subset, check_finite=False)[1]
    b_bar = v @ scaled(-w * w_bar, adjoined(v))
    return triangle(v @ scaled(w_bar, adjoined(v)), uplo), triangle(b_bar, uplo)


def of_some(w_bar, v_bar, w, v, a, lower, subset):
    """The cotangent for those of some eigenvectors, which needs all of them.

    The signs of the others do not matter.
    """
    if may_be_complex(a):
        return REAL_ONLY
    first, last = subset[0], subset[1]
    all_w, all_v = linalg.eigh(a, lower=lower, check_finite=False)
    vectors, bars = among_all(v, v_bar, all_v, first, last + 1)
    values_bar = None if w_bar is None else padded(w_bar, all_w, first, last + 1)
    inner = of_turn(adjoined(vectors) @ bars, bars, all_w, values_bar)
    bar = vectors @ inner @ adjoined(vectors)
    if w_bar is not None:
        bar = bar + v @ scaled(w_bar, adjoined(v))
    return triangle(bar, "L" if lower else "U")


def among_all(v, v_bar, all_v, start, stop):
    """All vectors, with the selected ones in their places, and the cotangents of all."""
    vectors = np.concatenate((all_v[..., :start], v, all_v[..., stop:]), -1)
    return vectors, padded(v_bar, all_v, start, stop)


def padded(bar, whole, start, stop):
    """The cotangent of all values or vectors for that of those selected."""
    before, behind = np.zeros_like(whole[..., :start]), np.zeros_like(whole[..., stop:])
    return np.concatenate((before, bar, behind), -1)


def of_pair(w_bar, v_bar, w, v, a, uplo):
    """The cotangents where ``a v = b v w`` and ``v.T b v = 1``.

    With ``moved = v.T da v - v.T db v w``: ``dw`` is its diagonal, and ``dv = v (moved / gaps -
    diagonal(v.T db v) / 2)``.  Both cotangents are symmetric: the part of ``v.T v_bar`` that is, is
    that of the lengths and angles, which `b` alone changes.
    """
    if may_be_complex(v):
        return REAL_ONLY, REAL_ONLY
    if v_bar is None:
        a_bar = v @ scaled(w_bar, adjoined(v))
        b_bar = v @ scaled(-w * w_bar, adjoined(v))
        return triangle(a_bar, uplo), triangle(b_bar, uplo)
    eye = np.eye(np.shape(a)[-1], dtype=bool)
    turn = adjoined(v) @ v_bar
    inner = of_turn(turn, v_bar, w, w_bar)
    if w_bar is not None:
        inner = inner + w_bar[..., None] * eye
    of_b = inner * (w[..., None, :] + w[..., :, None]) / 2 + (turn + adjoined(turn)) / 4
    a_bar = triangle(v @ inner @ adjoined(v), uplo)
    return a_bar, triangle(-v @ of_b @ adjoined(v), uplo)


# ------------------------------------------------------------------------ singular values
@adjoint(linalg.svdvals, refuses=overwrites("a"), samples=lambda f, m, t: [f(m), f(m.T), f(t)])
def svdvals(y_bar, y, a, overwrite_a=False, check_finite=True):
    return plain.svdvals(y_bar, y, a)


@adjoint(
    linalg.svd, refuses=overwrites("a"),
    result=Result(lambda compute_uv=True: 3 if compute_uv else 1, static=("full_matrices",)),
    samples=lambda f, m, t, square: [
        f(m, full_matrices=False), f(m.T, full_matrices=False), f(m, compute_uv=False),
        f(square(3)), f(t, False), f(m, False, lapack_driver="gesvd")],
)  # fmt: skip
def svd(
    y_bar, y, a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True,
    lapack_driver="gesdd",
):  # fmt: skip
    return plain.svd(y_bar, y, a, full_matrices, compute_uv)


# ------------------------------------------------------------------------ QR
def count_of_qr(mode="full", pivoting=False):
    """The number of results of `scipy.linalg.qr`."""
    return (1 if mode == "r" else 2) + pivoting


@adjoint(
    linalg.qr, refuses=overwrites("a"), result=Result(count_of_qr),
    samples=lambda f, m, t, square: [
        f(m.T, mode="economic"), f(m, mode="economic"), f(square(3)), f(m.T, mode="r"),
        f(m, mode="r"), f(t, mode="economic"), f(m.T, mode="economic", pivoting=True),
        f(m, pivoting=True), f(m.T, mode="r", pivoting=True)],
)  # fmt: skip
def qr(
    y_bar, y, a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True
):  # fmt: skip
    """The signs and the order of columns are constant."""
    if mode == "raw":
        return RAW
    k = min(np.shape(a)[-2], np.shape(a)[-1])
    if mode == "r":
        if y_bar[0] is None:
            return None
        q = linalg.qr(a, mode="economic", pivoting=pivoting, check_finite=False)[0]
        bar = qr_cotangent(None, y_bar[0][..., :k, :], q, y[0][..., :k, :])
        return in_order(bar, y[1], a) if pivoting else bar
    if mode == "full" and np.shape(a)[-2] > k:
        if y_bar[0] is not None:
            return FULL_MODE
        bar = qr_cotangent(None, y_bar[1][..., :k, :], y[0][..., :k], y[1][..., :k, :])
    else:
        bar = qr_cotangent(y_bar[0], y_bar[1], y[0], y[1])
    return in_order(bar, y[2], a) if pivoting else bar


def in_order(bar, places, a):
    """The columns put back into the order before pivoting."""
    if np.ndim(a) == 2:
        return bar[:, np.argsort(places)]
    return bar @ np.eye(np.shape(a)[-1], dtype=bar.dtype)[places]


# ------------------------------------------------------------------------ RQ
@adjoint(
    linalg.rq, refuses=overwrites("a"), max_rank=2,
    result=Result(lambda mode="full": 1 if mode == "r" else 2),
    samples=lambda f, m, square: [
        f(square(3)), f(m, mode="economic"), f(m.T), f(m.T, mode="economic"), f(m, mode="r"),
        f(m.T, mode="r")],
)  # fmt: skip
def rq(y_bar, y, a, overwrite_a=False, lwork=None, mode="full", check_finite=True):
    """The rows in reverse order and transposed, ``a[::-1].T = Q[::-1].T R[::-1, ::-1].T``, by qr.

    The signs are constant.
    """
    first = max(np.shape(a)[1] - np.shape(a)[0], 0)
    if mode == "r":
        q = linalg.rq(a, mode="economic")[1]
        return rq_cotangent(y_bar[:, first:], None, y[:, first:], q)
    if mode == "full" and first > 0:
        if y_bar[1] is not None:
            return FULL_RQ
        return rq_cotangent(y_bar[0][:, first:], None, y[0][:, first:], y[1][first:])
    return rq_cotangent(y_bar[0], y_bar[1], y[0], y[1])


def rq_cotangent(r_bar, q_bar, r, q):
    """The cotangent of ``r @ q``, with k rows of `q`, for `qr_cotangent` turned around."""
    turned_q_bar = None if q_bar is None else transposed(q_bar[::-1])
    turned_r_bar = None if r_bar is None else transposed(r_bar[::-1, ::-1])
    turned_q, turned_r = transposed(q[::-1]), transposed(r[::-1, ::-1])
    return transposed(qr_cotangent(turned_q_bar, turned_r_bar, turned_q, turned_r))[::-1]


# ------------------------------------------------------------------------ products with q
@adjoint(
    linalg.qr_multiply, refuses={**overwrites("a", "c"), "pivoting": _PIVOTING}, max_rank=2,
    real_only=True, result=Result(lambda pivoting=False: 3 if pivoting else 2),
    samples=lambda f, m, v, w, array, square: [
        f(m.T, array(2, 4)), f(m.T, v), f(m.T, array(3, 2), "left"), f(m.T, w, mode="left"),
        f(m, w), f(square(3), array(3, 3), "left", conjugate=True)],
)  # fmt: skip
def qr_multiply(
    y_bar, y, a, c, mode="right", pivoting=False, conjugate=False, overwrite_a=False,
    overwrite_c=False,
):  # fmt: skip
    """``c @ q`` or ``q @ c``, and `r`, of the economic factors."""
    if np.size(a) == 0:
        return np.zeros_like(a), np.zeros_like(c)
    g, r_bar = y_bar
    q, r = linalg.qr(a, mode="economic", check_finite=False)
    if g is None or np.size(c) == 0:
        a_bar = np.zeros_like(a) if r_bar is None else qr_cotangent(None, r_bar, q, r)
        return a_bar, None if g is None else np.zeros_like(c)
    if mode == "left":
        q_bar = np.outer(g, c) if np.ndim(c) == 1 else g @ c.T
        return qr_cotangent(q_bar, r_bar, q, r), q.T @ g
    q_bar = np.outer(c, g) if np.ndim(c) == 1 else c.T @ g
    return qr_cotangent(q_bar, r_bar, q, r), (q @ g if np.ndim(c) == 1 else g @ q.T)
