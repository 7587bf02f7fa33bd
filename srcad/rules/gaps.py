"""Quotients by the gaps between eigenvalues, or between singular values.

Vectors turn into each other at a rate ``k[i, j] / (w[j] - w[i])``.  At a gap of rounding size the
quotient has no digits: `k` is 0 there up to rounding for a projector, and the slope of the function
times the gap for a function of the matrix.  Such a pair has the quotient 0 if the cotangent
certainly does not couple both vectors, and nan with a warning otherwise.
"""

import warnings
from typing import Any

import numpy as np

from srcad.errors import NoDerivativeWarning
from srcad.rules.conjugates import conj
from srcad.rules.declare import adjoint, nondifferentiable
from srcad.runtime import unbroadcast

# The files of places such as "model.py:3", with their folders.
FILES: dict[str, str] = {}

# The functions that return eigenvalues or singular values, and which result these are.
VALUES: dict[Any, int] = {
    **dict.fromkeys((np.linalg.eigh, np.linalg.eigvalsh, np.linalg.eig, np.linalg.eigvals), 0),
    np.linalg.svd: 1,
    np.linalg.svdvals: 0,
}


def between(rows, columns):
    """``columns[j] - rows[i]``, and whether that is 0 up to rounding, for each pair."""
    gap = columns[..., None, :] - rows[..., :, None]
    largest = np.max(np.abs(columns), axis=-1, initial=0.0)[..., None, None]
    return gap, np.abs(gap) <= max(1e-9, 100 * np.finfo(gap.dtype).eps) * largest


def is_diagonal(flags):
    """Return True if no flag off the diagonal is set."""
    return np.count_nonzero(flags) == np.count_nonzero(np.diagonal(flags, 0, -2, -1))


def over_gaps(k, rows, columns, dropped=None, place="", exact=False):
    """``k[i, j] / (columns[j] - rows[i])``, and 0 on the diagonal and where pairs are `dropped`.

    Any other pair without a gap has nan, and the warning names `place`.  Without `dropped`, an
    entry that is exactly 0 stays 0 unless its gap is 0, too; if `exact`, of dropped ones only that.
    """
    gap, is_close = between(rows, columns)
    eye = np.eye(np.shape(k)[-1], dtype=bool)
    if is_diagonal(is_close):
        return np.where(eye, 0.0, k / (gap + eye))
    is_zero = True if dropped is None else dropped
    if dropped is None or exact:
        is_zero = (k == 0) & (gap != 0) & is_zero
    is_zero = eye | (is_close & is_zero)
    unknown = is_close & np.logical_not(is_zero)
    if np.any(unknown & np.isfinite(k)):
        warn_of_equal_values(place)
    quotient = k / np.where(is_close | eye, 1.0, gap)
    found = np.where(is_zero, 0.0, np.where(unknown, np.nan, quotient))
    return found.astype(np.result_type(k, gap))


def warn_of_equal_values(place):
    """Warn, at the user's line, of a derivative that couples vectors of equal values."""
    file, _, line = place.rpartition(":")
    warnings.warn_explicit(
        f"eigenvectors or singular vectors of equal values have no derivative ({place}): the "
        "result is nan, because it couples vectors whose values agree up to rounding. For a "
        "function of the matrix call scipy.linalg.expm, sqrtm, logm or polar, whose derivatives "
        "are exact there",
        NoDerivativeWarning,
        FILES.get(place, file),
        int(line or 0),
        registry=globals().setdefault("__warningregistry__", {}),
    )


@adjoint(over_gaps, active=("k", "rows", "columns"), samples=())
def quotients(y_bar, y, k, rows, columns, dropped=None, place="", exact=False):
    """A pair that is dropped need not have the quotient 0 nearby.

    A stack of numerators may have the gaps in common, or a stack of gaps the numerators.
    """
    k_bar = over_gaps(y_bar, conj(rows), conj(columns), None, place)
    gap_bar = -conj(y) * k_bar
    return (
        unbroadcast(k_bar, k),
        unbroadcast(-np.sum(gap_bar, axis=-1), rows),
        unbroadcast(np.sum(gap_bar, axis=-2), columns),
    )


def uncoupled(k, rows, columns, values_bar, turn, v_bar, other=None, other_bar=None):
    """The pairs without a gap that a cotangent does not couple.

    Parameters
    ----------
    k
        The numerators.
    rows, columns
        The values, with another sign where the quotient is by their sum.
    values_bar
        The cotangent of the values, or None if the function does not use them.
    turn, v_bar
        The matrix of which `k` is a difference, and the cotangents of the vectors, one a column.
    other, other_bar
        Those of a second basis.

    Notes
    -----
    If the values are used, a numerator of 0 says nothing: it may be the slope of a function times
    the gap.  The function ``f(w)`` of a matrix has no cotangent of the vectors where f is 0.
    """
    gap, is_close = between(rows, columns)
    if is_diagonal(is_close):
        return is_close
    used, size = np.any(v_bar != 0, axis=-2), largest(turn)
    if other is not None:
        used, size = used | np.any(other_bar != 0, axis=-2), size + largest(other)
    first, second = used[..., :, None], used[..., None, :]
    is_unused = np.logical_not(first | second)
    if values_bar is not None:
        moves = values_bar != 0
        is_fixed = np.logical_not(moves[..., :, None] | moves[..., None, :])
        return is_close & is_unused & ((gap != 0) | is_fixed)
    rounding = 64 * np.shape(k)[-1] * np.finfo(k.dtype).eps * size
    is_small = first & second & (np.abs(k) < rounding)
    return is_close & (is_unused | is_small | ((k == 0) & (gap != 0)))


nondifferentiable(uncoupled)


def largest(turn):
    """The largest magnitude in each matrix of a stack."""
    return np.max(np.abs(turn), axis=(-2, -1), keepdims=True, initial=0.0)
