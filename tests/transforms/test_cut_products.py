"""Rows of data with nan that a mask cuts after a sum of products, a reduction or a running sum."""

import numpy as np
import pytest

import srcad
from tests.marks import some
from tests.numeric import difference

DATA = np.array([[1.0, 2.0, 0.5], [np.nan, 3.0, 1.5]])
OTHER = np.array([[1.0, 0.5], [0.3, 2.0], [1.1, 0.2]])
STACK = np.stack([DATA, 2 * DATA])
W = np.array([1.3, 0.4, 0.9])


def cut(y):
    return np.sum(
        np.where(np.isnan(y), 0.0, y) * np.linspace(1.0, 2.0, np.size(y)).reshape(y.shape)
    )


PRODUCTS = {
    "tensordot": lambda w: cut(np.tensordot(DATA, w, 1)),
    "tensordot, first axes": lambda w: cut(np.tensordot(DATA.T * w[:, None], OTHER, ([0], [0]))),
    "tensordot by keywords": lambda w: cut(np.tensordot(a=DATA, b=w, axes=1)),
    "einsum": lambda w: cut(np.einsum("ij,j->i", DATA, w)),
    "einsum, data last": lambda w: cut(np.einsum("j,ij->i", w, DATA)),
    "einsum of three": lambda w: cut(np.einsum("ij,j,j", DATA, w, np.sin(w))),
    "einsum, ellipsis": lambda w: cut(np.einsum("...j,j", DATA, w)),
    "inner": lambda w: cut(np.inner(DATA, w)),
    "matmul": lambda w: cut(DATA @ w),
    "matmul, columns": lambda w: cut(w @ DATA.T),
    "matmul, data last": lambda w: cut(OTHER.T @ (DATA.T * w[:, None])),
    "outer": lambda w: cut(np.outer(DATA[1], w)),
    "outer of matrices": lambda w: cut(np.outer(DATA * w, DATA[:, 1:] * w[1:])),
    "kron": lambda w: cut(np.kron(DATA, w)),
    "convolve": lambda w: cut(np.convolve(DATA[1], w)),
    "correlate": lambda w: cut(np.correlate(DATA[1], w, "full")),
    "linalg.matmul": lambda w: cut(np.linalg.matmul(DATA, w[:, None])),
    "linalg.vecdot": lambda w: cut(np.linalg.vecdot(DATA, w)),
    "linalg.tensordot": lambda w: cut(np.linalg.tensordot(DATA, w, axes=1)),
    "linalg.outer": lambda w: cut(np.linalg.outer(DATA[1], w)),
    "linalg.multi_dot": lambda w: cut(np.linalg.multi_dot([DATA, np.outer(w, w), w])),
    "vecdot": lambda w: cut(np.vecdot(DATA, w)),
    "vdot": lambda w: cut(np.array([np.vdot(row, w) for row in DATA])),
}
if hasattr(np, "matvec"):
    PRODUCTS |= {
        "matvec": lambda w: cut(np.matvec(DATA, w)),
        "matvec of a stack": lambda w: cut(np.matvec(STACK, w)),
        "vecmat": lambda w: cut(np.vecmat(w, DATA.T)),
    }

ALONG = {
    "prod": lambda w: cut(np.prod(DATA * w, 1)),
    "max": lambda w: cut(np.max(DATA * w, 1)),
    "maximum.reduce": lambda w: cut(np.maximum.reduce(DATA * w, 1)),
    "ptp": lambda w: cut(np.ptp(DATA * w, 1)),
    "std": lambda w: cut(np.std(DATA * w, 1)),
    "var": lambda w: cut(np.var(DATA * w, axis=1, ddof=1)),
    "norm": lambda w: cut(np.linalg.norm(DATA * w, axis=1)),
    "vector_norm": lambda w: cut(np.linalg.vector_norm(DATA * w, axis=1)),
    "average": lambda w: cut(np.average(DATA * w, 1)),
    "weighted average": lambda w: cut(np.average(DATA * w, 1, weights=[1.0, 2.0, 3.0])),
    "median": lambda w: cut(np.median(DATA * w, 1)),
    "quantile": lambda w: cut(np.quantile(DATA * w, 0.3, axis=1)),
    "percentiles": lambda w: cut(np.percentile(DATA * w, [30, 60], axis=1)),
    "trapezoid": lambda w: cut(np.trapezoid(DATA * w, axis=1)),
    "gradient": lambda w: cut(np.gradient(DATA * w, axis=1)),
    "sort": lambda w: cut(np.sort(DATA * w, 1)),
    "partition": lambda w: cut(np.partition(DATA * w, 1, axis=1)),
    "logaddexp.reduce": lambda w: cut(np.logaddexp.reduce(DATA * w, 1)),
    "hypot.reduce": lambda w: cut(np.hypot.reduce(DATA * w, 1)),
    "cumsum": lambda w: cut(np.cumsum(DATA * w, 1)),
    "cumprod": lambda w: cut(np.cumprod(DATA * w, 1)),
    "cumprod, first axis": lambda w: cut(np.cumprod(DATA * w, axis=0)),
    "cumprod of one row": lambda w: cut(np.cumprod((DATA * w)[1, ::-1])),
    "multiply.accumulate": lambda w: cut(np.multiply.accumulate(DATA * w, 1)),
    "maximum.accumulate": lambda w: cut(np.maximum.accumulate(DATA * w, 1)),
    "minimum.accumulate of one row": lambda w: cut(np.minimum.accumulate((DATA * w)[1, ::-1])),
}
if hasattr(np, "cumulative_prod"):
    ALONG["cumulative_prod"] = lambda w: cut(np.cumulative_prod(DATA * w, axis=1))


def check(f):
    want = difference(f, (W,))
    got = srcad.grad(f)(W)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(srcad.jvp(f, (W,), (W,))[1], np.sum(want * W), rtol=1e-6)


@pytest.mark.parametrize("name", some(PRODUCTS, 6))
def test_nan_cut_after_a_product_contributes_nothing(name):
    check(PRODUCTS[name])


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("name", some(ALONG, 6))
def test_nan_cut_after_a_function_along_an_axis_contributes_nothing(name):
    check(ALONG[name])


def test_entries_taken_by_a_mask_of_the_data():
    taken = ~np.isnan(DATA).any(axis=1)

    def f(w):
        return np.sum(np.tensordot(DATA, w, 1)[taken] ** 2) + np.nansum(np.einsum("ij,j", DATA, w))

    check(f)


def test_product_with_nan_that_is_not_cut_is_nan():
    assert np.isnan(srcad.grad(lambda w: np.sum(np.tensordot(DATA, w, 1)))(W)[0])
