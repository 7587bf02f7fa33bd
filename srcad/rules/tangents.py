"""Tangents in closed form, for rows where they are cheaper or plainer than the rule's transpose.

A formula is ``f(*dots, y, *params)``: the tangents of the active parameters, in the order of the
row, then the
result, then the arguments.  A tangent that is zero comes as None.  Forward mode transposes a rule
that gives cotangents and has no formula here, or of whose results only some are needed.  The
formula of a function that has partial derivatives is taken where all of its operands move.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from srcad.rules.conjugates import ORDER, conj, may_be_complex, real_part
from srcad.rules.gaps import over_gaps
from srcad.rules.linalg import (
    FULL_MATRICES,
    adjoined,
    between_levels,
    cofactors,
    half_triangle,
    lower_inverse,
    of_fixed_levels,
    of_fixed_stretches,
    of_levels,
    of_moved_stretches,
    of_stretches,
    triangle_of_product,
)
from srcad.rules.reduction import count as entries
from srcad.rules.reduction import distances, kept, selected, taking_part
from srcad.rules.running import before

Formula = TypeVar("Formula", bound=Callable[..., Any])
FORMULAS: dict[Any, Callable[..., Any]] = {}


def tangent_of(*targets: Any) -> Callable[[Formula], Formula]:
    """Register the tangent of functions."""

    def register(formula: Formula) -> Formula:
        FORMULAS.update(dict.fromkeys(targets, formula))
        return formula

    return register


def added(a, b):
    """The sum of two tangents, each of which may be zero."""
    if a is None:
        return b
    return a if b is None else a + b


# ------------------------------------------------------------------------ quotients
@tangent_of(operator.truediv, np.divide)
def divide(a_dot, b_dot, y, a, b):
    """``a = y b``, so ``y_dot b = a_dot - y b_dot``."""
    return (a_dot - b_dot * y) / b


@tangent_of(operator.index)
def index(a_dot, y, a):
    return a_dot


# ------------------------------------------------------------------------ systems
@tangent_of(np.linalg.solve)
def solve(a_dot, b_dot, y, a, b):
    """``a y = b``, so ``a y_dot = b_dot - a_dot y``."""
    if a_dot is None:
        return np.linalg.solve(a, b_dot)
    if np.ndim(b) == 1 and np.ndim(a) > 2:
        rows = a_dot @ y[..., None]
        right = -rows if b_dot is None else b_dot[:, None] - rows
        return np.linalg.solve(a, right)[..., 0]
    return np.linalg.solve(a, -(a_dot @ y) if b_dot is None else b_dot - a_dot @ y)


@tangent_of(np.linalg.inv)
def inv(a_dot, y, a):
    return -(y @ a_dot @ y)


@tangent_of(np.linalg.det)
def det(a_dot, y, a):
    if np.ndim(a) == 2:
        return np.sum(a_dot * conj(cofactors(a)))
    return np.sum(a_dot * conj(cofactors(a)), axis=(-2, -1))


# ------------------------------------------------------------------------ factorisations
@tangent_of(np.linalg.cholesky)
def cholesky(a_dot, y, a, *, upper=False):
    """``l_dot = l @ half(inv(l) @ a_dot @ inv(l).T)``: the lower triangle, half of its diagonal.

    Source: Murray (2016), *Differentiation of the Cholesky decomposition*, equation 8.
    """
    lower = adjoined(y) if upper else y
    inverse = lower_inverse(lower)
    inner = triangle_of_product(inverse, 0.5 * (a_dot + adjoined(a_dot)))
    lower_dot = lower @ half_triangle(inner)
    return adjoined(lower_dot) if upper else lower_dot


@tangent_of(triangle_of_product)
def product_in_a_triangle(lower_dot, a_dot, y, lower, a):
    found = None if a_dot is None else triangle_of_product(lower, a_dot)
    if lower_dot is None:
        return found
    product = lower @ a @ adjoined(lower_dot)
    return added(found, np.tril(lower_dot @ a @ adjoined(lower) + product))


@tangent_of(lower_inverse)
def inverse_of_triangle(a_dot, y, a):
    """The tangent is a triangle, too."""
    return -(y @ a_dot @ y)


def symmetric(a_dot, uplo):
    """The matrix of which one triangle is read, and of a diagonal the real part."""
    if uplo == "L":
        both = np.tril(a_dot) + adjoined(np.tril(a_dot, -1))
    else:
        both = np.triu(a_dot) + adjoined(np.triu(a_dot, 1))
    if not may_be_complex(a_dot):
        return both
    return np.where(np.eye(np.shape(a_dot)[-1], dtype=bool), np.real(both), both)


@tangent_of(np.linalg.eigh)
def eigh(a_dot, y, a, UPLO="L"):
    """``inner = v.T a_dot v``: its diagonal, and ``v`` times the rest, divided by the gaps.

    Complex vectors keep their phases.

    Source: Giles (2008), *Collected matrix derivative results*, section 3.1.
    """
    w, v = y
    moved = symmetric(a_dot, UPLO) @ v
    w_dot = real_part(np.sum(conj(v) * moved, axis=-2))
    return w_dot, v @ over_gaps(adjoined(v) @ moved, w, w)


@tangent_of(of_levels, of_fixed_levels)
def weights_of_levels(a_dot, g_dot, w_dot, v_dot, y, a, g, w, v, uplo):
    """Weights without a tangent are fixed."""
    found = None if g_dot is None else of_levels(a, g_dot, w, v, uplo)
    if a_dot is None:
        return found
    inner = adjoined(v) @ symmetric(a_dot, uplo) @ v
    turns = between_levels(inner, g, w, g_dot is None)
    return added(v @ turns @ adjoined(v), found)


@tangent_of(of_stretches, of_fixed_stretches)
def weights_of_stretches(a_dot, g_dot, u_dot, s_dot, vh_dot, y, a, g, u, s, vh):
    """Weights without a tangent are fixed."""
    found = None if g_dot is None else of_stretches(a, g_dot, u, s, vh)
    if a_dot is None:
        return found
    inner = adjoined(u) @ a_dot @ adjoined(vh)
    return added(of_moved_stretches(a_dot, inner, g, u, s, vh, g_dot is None), found)


@tangent_of(np.linalg.svd)
def svd(a_dot, y, a, full_matrices=True, compute_uv=True, *, hermitian=False):
    """The parts that turn both bases in opposite directions, and in one.

    Source: Townsend (2016), *Differentiating the singular value decomposition*.
    """
    if hermitian:
        a_dot = symmetric(a_dot, "L")
    if not compute_uv:
        u, _, vh = np.linalg.svd(a, full_matrices=False, hermitian=hermitian)
        return real_part(np.sum(conj(u) * (a_dot @ adjoined(vh)), axis=-2))
    u, s, vh = y
    tall, wide = np.shape(a)[-2] > np.shape(a)[-1], np.shape(a)[-2] < np.shape(a)[-1]
    if full_matrices and (tall or wide):
        return FULL_MATRICES, FULL_MATRICES, FULL_MATRICES
    moved = a_dot @ adjoined(vh)
    inner = adjoined(u) @ moved
    opposite = over_gaps((inner + adjoined(inner)) / 2, s, s)
    alike = over_gaps((inner - adjoined(inner)) / 2, -s, s)
    u_dot = u @ (opposite + alike)
    vh_dot = (alike - opposite) @ vh
    if may_be_complex(a):  # of the phases, only what turns ``u @ vh`` is given
        u_dot = u_dot + u * (1j * np.imag(np.diagonal(inner, 0, -2, -1)) / s)[..., None, :]
    if tall:
        u_dot = u_dot + (moved - u @ inner) / s[..., None, :]
    if wide:
        vh_dot = vh_dot + (adjoined(u) @ a_dot - inner @ vh) / s[..., :, None]
    return u_dot, real_part(np.sum(conj(u) * moved, axis=-2)), vh_dot


@tangent_of(over_gaps)
def quotients(
    k_dot, rows_dot, columns_dot, y, k, rows, columns, dropped=None, place="", exact=False
):
    """``y gap = k``, so ``y_dot gap = k_dot - y gap_dot``."""
    moved = k_dot
    if rows_dot is not None:
        moved = added(moved, y * rows_dot[..., :, None])
    if columns_dot is not None:
        moved = added(moved, -y * columns_dot[..., None, :])
    return over_gaps(moved, rows, columns, dropped, place, True)


# ------------------------------------------------------------------------ extremes
@tangent_of(np.max, np.amax, np.min, np.amin)
def max(a_dot, initial_dot, y, a, axis=None, *, keepdims=False, initial=None, where=None):
    """The mean of the tangents of the entries that are the result; see the rule."""
    if may_be_complex(a):
        return ORDER
    owners = (a == kept(y, a, axis, keepdims)) | (a != a)
    if where is not None:
        owners = owners & where
    if initial is None:
        return reduced(a_dot * owners, axis, keepdims) / count(owners, a, axis, keepdims)
    return or_initial(a_dot, initial_dot, a, owners, axis, keepdims)


@tangent_of(np.nanmax, np.nanmin)
def nanmax(a_dot, initial_dot, y, a, axis=None, *, keepdims=False, initial=None, where=None):
    """As of `max`; 0 where there are no numbers."""
    if may_be_complex(a):
        return ORDER
    owners = a == kept(y, a, axis, keepdims)
    if where is not None:
        owners = owners & where
    return or_initial(a_dot, initial_dot, a, owners, axis, keepdims)


def or_initial(a_dot, initial_dot, a, owners, axis, keepdims):
    """The mean of the tangents of the owners; that of `initial` where there are none."""
    heads = count(owners, a, axis, keepdims)
    dot = None
    if a_dot is not None:
        dot = reduced(a_dot * owners, axis, keepdims) / (heads + (heads == 0))
    return dot if initial_dot is None else added(dot, initial_dot * (heads == 0))


def reduced(a, axis, keepdims):
    if keepdims:
        return np.sum(a, axis=axis, keepdims=True)
    return np.sum(a) if axis is None else np.sum(a, axis=axis)


def count(owners, a, axis, keepdims):
    """How many flags are set, in the floats of `a`."""
    if axis is None and not keepdims:
        return int(np.count_nonzero(owners))
    if keepdims:
        return np.sum(owners, axis=axis, keepdims=True, dtype=a.dtype.type)
    return np.sum(owners, axis=axis, dtype=a.dtype.type)


# ------------------------------------------------------------------------ spreads
@tangent_of(np.var)
def var(a_dot, y, a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=None):
    """The mean of the products of distances from the mean and tangents, twice."""
    moved = reduced(selected(distances(a, axis, where), where) * a_dot, axis, keepdims)
    return 2 * moved / (entries(a, axis, keepdims, where) - ddof)


@tangent_of(np.std)
def std(a_dot, y, a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=None):
    """For equal numbers: 0."""
    moved = reduced(selected(distances(a, axis, where), where) * a_dot, axis, keepdims)
    return moved / (entries(a, axis, keepdims, where) - ddof) / (y + (y == 0))


@tangent_of(np.nanvar)
def nanvar(a_dot, y, a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=None):
    numbers = taking_part(np.logical_not(np.isnan(a)), where)
    return var(a_dot, y, a, axis, ddof=ddof, keepdims=keepdims, where=numbers)


@tangent_of(np.nanstd)
def nanstd(a_dot, y, a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=None):
    numbers = taking_part(np.logical_not(np.isnan(a)), where)
    return std(a_dot, y, a, axis, ddof=ddof, keepdims=keepdims, where=numbers)


# ------------------------------------------------------------------------ without nan
# The tangents of entries that are left out are zero already.
@tangent_of(np.nansum)
def nansum(
    a_dot, initial_dot, y, a, axis=None, dtype=None, *, keepdims=False, initial=None, where=None
):
    dot = None if a_dot is None else reduced(a_dot, axis, keepdims)
    if initial is None or initial_dot is None:
        return dot
    return added(dot, initial_dot if np.ndim(y) == 0 else initial_dot * np.ones_like(y))


@tangent_of(np.nanmean)
def nanmean(a_dot, y, a, axis=None, dtype=None, *, keepdims=False, where=None):
    numbers = taking_part(np.logical_not(np.isnan(a)), where)
    return reduced(a_dot, axis, keepdims) / count(numbers, a, axis, keepdims)


# ------------------------------------------------------------------------ along an axis
@tangent_of(np.sort)
def sort(a_dot, y, a, axis=-1, *, kind=None, stable=None):
    if may_be_complex(a):
        return ORDER
    if axis is None:
        return np.ravel(a_dot)[np.argsort(np.ravel(a), kind="stable")]
    if np.ndim(a) == 1:
        return a_dot[np.argsort(a, kind="stable")]
    return np.take_along_axis(a_dot, np.argsort(a, axis=axis, kind="stable"), axis)


@tangent_of(np.cumprod)
def cumprod(a_dot, y, a, axis=None, dtype=None):
    """``y[i] = a[i] * y[i - 1]``: one sweep from the start, without division."""
    if np.ndim(a) == 1:
        return carried(a_dot * before(a), a)
    if axis is None or np.ndim(a) == 0:
        return carried(np.ravel(a_dot) * before(np.ravel(a)), np.ravel(a))
    moved = np.moveaxis(a, axis, 0)
    rest = np.moveaxis(before(np.moveaxis(a, axis, -1)), -1, 0)
    return np.moveaxis(carried(np.moveaxis(a_dot, axis, 0) * rest, moved), 0, axis)


def carried(dots, a):
    """Along the first axis, ``s[i] = dots[i] + a[i] * s[i - 1]``, in the place of `dots`."""
    for i in range(1, np.shape(a)[0]):
        dots[i] += a[i] * dots[i - 1]
    return dots


@tangent_of(np.trapezoid)
def trapezoid(y_dot, x_dot, dx_dot, integral, y, x=None, dx=1.0, axis=-1):
    """The integral is linear in the values, and in the points or their distance."""
    total = None if y_dot is None else np.trapezoid(y_dot, x, dx, axis)
    if x is not None:
        return total if x_dot is None else added(total, np.trapezoid(y, x_dot, 1.0, axis))
    return total if dx_dot is None else added(total, dx_dot * np.trapezoid(y, None, 1.0, axis))
