"""ndarray methods, attributes, operators; every reading index; arrays built from numbers."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcad import errors, grad, gradient, testing, value_and_grad
from tests.marks import some
from tests.numeric import assert_gradient

V = np.array([0.3, -0.7, 1.1, 0.45])
M = np.array([[0.25, -0.5, 0.9, 0.15], [1.2, 0.4, -0.3, -0.85], [-0.6, 0.75, 1.4, 0.55]])
T = np.arange(24.0).reshape(2, 3, 4) / 10 - 0.93
W = np.array([0.9, -0.2, 0.5, 1.3])

# Each maps a matrix to an array or number; the test differentiates the weighted sum of it.
INDEXES: dict[str, Callable[[Any], Any]] = {
    "integer": lambda m: m[1],
    "negative": lambda m: m[-1] * m[-3],
    "two integers": lambda m: m[1, 2] * m[-1, 0],
    "chained": lambda m: m[1][2],
    "slice": lambda m: m[1:],
    "slice to": lambda m: m[:-1, 1:3],
    "step": lambda m: m[::2, ::3],
    "negative step": lambda m: m[::-1, ::-2],
    "bounded negative step": lambda m: m[2:0:-1],
    "empty": lambda m: m[3:],
    "column": lambda m: m[:, 1],
    "new axis": lambda m: m[None, :, None] * m[:, np.newaxis],
    "ellipsis": lambda m: m[..., 0] * m[0, ..., 1],
    "list": lambda m: m[[0, 2]],
    "repeats": lambda m: m[np.array([0, 2, 0, 0])],
    "negative integers": lambda m: m[np.array([-1, 0])],
    "two arrays": lambda m: m[np.array([0, 1, 0]), np.array([3, 2, 3])],
    "array and slice": lambda m: m[np.array([0, 0]), 1:3],
    "slice and array": lambda m: m[:, np.array([1, 1, 0])],
    "outer": lambda m: m[np.array([[0], [2]]), np.array([0, 1])],
    "ix": lambda m: m[np.ix_([0, 2], [1, 3])],
    "mask": lambda m: m[m > 0.2],
    "row mask": lambda m: m[np.array([True, False, True])],
    "column mask": lambda m: m[:, np.array([True, False, True, True])],
    "row mask of values": lambda m: m[m[:, 0] > 0],
    "where": lambda m: m[np.where(m > 0.3)],
    "argsort": lambda m: m[0][np.argsort(m[0])],
    "argmax": lambda m: m[0, np.argmax(m[0])],
    "take": lambda m: np.take(m, [0, 1, 1], axis=1),
    "item": lambda m: m[1, 1].item() * m[0].item(2),
    "flat view": lambda m: m.ravel()[3:7] * m.flatten()[2],
}

METHODS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda m: m.sum() * m.sum(axis=0)[1] * m.sum(1, keepdims=True),
    "mean": lambda m: m.mean() * m.mean(axis=-1),
    "prod": lambda m: m.prod(axis=0),
    "max": lambda m: m.max() * m.max(axis=1),
    "min": lambda m: m.min(axis=(0, 1)),
    "var": lambda m: m.var() * m.var(axis=0, ddof=1),
    "std": lambda m: m.std(axis=1),
    "cumsum": lambda m: m.cumsum() * m.cumsum(axis=1).sum(),
    "cumprod": lambda m: m[0].cumprod(),
    "dot": lambda m: m.dot(m.T),
    "T": lambda m: m.T @ m,
    "transpose": lambda m: m.transpose() * m.transpose(1, 0)[0, 0] * m.transpose((1, 0)).sum(),
    "reshape": lambda m: m.reshape(4, 3) * m.reshape((2, 6)).sum() * m.reshape(-1)[2],
    "ravel": lambda m: m.ravel() * m.T.ravel(),
    "squeeze": lambda m: m[:, None].squeeze(),
    "swapaxes": lambda m: m.swapaxes(0, 1),
    "repeat": lambda m: m.repeat(2, axis=0),
    "trace": lambda m: m.trace() * m.diagonal(),
    "clip": lambda m: m.clip(-0.55, 0.83),
    "round": lambda m: (1.03 * m).round() * m,
    "copy": lambda m: m.copy() * m,
    "astype": lambda m: m.astype(float) * m.astype(np.float64),
    "shape": lambda m: m * m.shape[0] + m.ndim * m.size * m.shape[-1] * len(m),
    "take": lambda m: m.take([0, 2], axis=1),
    "any": lambda m: m * m.any() if m.any() else m,
    "operators": lambda m: (m + 1) * (2 - m) / (3 + m * m) - -m + 2**m + (m * m) ** 1.5 + m**2,
    "reflected": lambda m: 1 / (2 + m * m) + 3 - m + (2 * m),
    "comparisons": lambda m: (m > 0) * m + (m <= 0.5) * 2 * m,
    "abs": lambda m: abs(m) * np.abs(m),
    "modulo": lambda m: m % 0.71 + m // 0.37,
    "outer product": lambda m: m[:, 0, None] * m[0],
    "empty_like": lambda m: np.ones_like(m) * m + np.zeros(3)[:, None] + np.full((3, 4), 2.0) * m,
    "full_like": lambda m: np.full_like(m, m[0, 0]) * m,
    "eye": lambda m: np.eye(3) @ m + np.arange(4) * m + np.linspace(0, 1, 4) * m,
}

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "where": lambda m: np.where(m > 0, np.sqrt(np.abs(m)), m * 2),
    "maximum": lambda m: np.maximum(m, 0.1) + np.minimum(m, m * m),
    "concatenate": lambda m: np.concatenate([m, m * 2], axis=1) * np.concatenate((m, m), -1),
    "stack": lambda m: (
        np.stack([m, np.sin(m)], axis=1) * np.vstack([m, m]).sum() + np.hstack((m, m)).sum()
    ),
    "split": lambda m: np.split(m, 2, axis=1)[0] * np.split(m, [1, 3], axis=1)[1],
    "tile": lambda m: np.tile(m, (2, 1)) * np.repeat(m, 2, axis=0),
    "flip": lambda m: np.flip(m, 0) * np.roll(m, 1, axis=1) * np.flipud(m) * np.fliplr(m),
    "expand": lambda m: (
        np.expand_dims(m, 0) * np.moveaxis(m, 0, 1)[0, 0] * np.broadcast_to(m[0], (3, 4))
    ),
    "products": lambda m: (
        np.dot(m, m.T) * np.inner(m, m) + np.outer(m[0], m[1])[:3, :3] * np.matmul(m, m.T)
    ),
    "tensordot": lambda m: (
        np.tensordot(m, m, axes=([1], [1])) + np.einsum("ij,kj->ik", m, m) * np.trace(m)
    ),
    "einsum": lambda m: (
        np.einsum("ij,ij->", m, m) * np.einsum("ij->j", m) + np.einsum("i,i", m[0], m[1])
    ),
    "diag": lambda m: (
        np.diag(m) * np.diag(np.diag(m)).sum() + np.tril(m).sum() * np.triu(m, 1).sum()
    ),
    "diff": lambda m: np.diff(m, axis=1)[:, 0] * np.sort(m, axis=1)[:, 1],
    "pad": lambda m: np.pad(m, 1) * np.pad(m, ((1, 1), (1, 1))),
    "kron": lambda m: np.kron(m[:2, :2], m[1:, 2:]),
    "linalg": lambda m: (
        np.linalg.norm(m) * np.linalg.norm(m, axis=1) + np.linalg.det(m @ m.T + np.eye(3))
    ),
    "solve": lambda m: (
        np.linalg.solve(m @ m.T + np.eye(3), m[:, 0]) + np.linalg.inv(m @ m.T + np.eye(3))[0]
    ),
    "cholesky": lambda m: (
        np.linalg.cholesky(m @ m.T + np.eye(3)) + np.linalg.slogdet(m @ m.T + np.eye(3))[1]
    ),
    "array of rows": lambda m: np.array([m[0], m[1] * 2]) @ np.array([m[0, 0], 1.0, 2.0, m[1, 1]]),
    "asarray": lambda m: np.asarray(m) * np.asarray([m[0, 0], 2.0, 1.0, m[0, 1]]),
    "errstate": lambda m: np.sum(np.log1p(m * m)) * m,
    "meshgrid of constants": lambda m: m * np.outer(np.arange(3), np.arange(4)),
    "sum where": lambda m: np.sum(m, axis=0, where=m > 0),
    "float": lambda m: float(m[0, 0]) * m + float(np.sum(m)) * math.sin(m[1, 1]),
}
ALL = {**INDEXES, **METHODS, **FUNCTIONS}


@pytest.mark.parametrize("name", some(ALL, lambda k, _: k % 3 == 0))
def test_matrix_operation_gradient(name: str) -> None:
    g = ALL[name]

    def f(m):
        y = g(m)
        return np.sum(np.sin(y) * 1.3 + y * y)

    grad(f).cache_clear()  # they share their code: what was compiled for others is asked first
    assert_gradient(gradient, f, M)


@pytest.mark.random
def test_matrix_operations_sharing_generated_code() -> None:
    """After some patterns the code is made for lengths of any kind."""
    for g in ALL.values():

        def f(m):
            y = g(m)
            return np.sum(np.sin(y) * 1.3 + y * y)

        testing.check_grads(f, (M,), order=1)


@pytest.mark.parametrize("name", some(INDEXES, lambda k, _: k % 3 == 0))
def test_second_order_of_indexing(name: str) -> None:
    g = INDEXES[name]

    def f(m):
        return np.sum(np.sin(g(m)))

    grad(f).cache_clear()
    assert_gradient(gradient, lambda m: np.sum(grad(f)(m) * np.cos(M)), M)


def test_indexes_that_are_arguments() -> None:
    def f(x, i, rows, mask):
        return x[i] * np.sum(x[rows] * x[rows]) + np.sum(x[mask]) + np.sum(x[i:])

    got = gradient(f, V, 2, np.array([0, 1, 0]), V > 0)

    assert got[1:] == (None, None, None)
    assert_gradient(lambda f, x: gradient(f, x), lambda x: f(x, 2, np.array([0, 1, 0]), V > 0), V)


def test_three_axes() -> None:
    def f(t):
        u = np.transpose(t, (2, 0, 1)) * np.moveaxis(t, -1, 0)
        return (
            np.sum(np.sum(u, axis=(0, 2)) ** 2)
            + np.sum(t[:, 1, ::-1] @ t[1, 0])
            + t[..., None, 0].sum()
        )

    assert_gradient(gradient, f, T)


def test_batched_products() -> None:
    def f(t, m):
        return np.sum(np.sin(t @ m)) + np.sum(t @ np.swapaxes(t, 1, 2))

    assert_gradient(gradient, f, T, np.ascontiguousarray(M.T))


def test_gradients_of_zero_dimensional_arrays() -> None:
    x = np.array(0.7)

    g = grad(lambda x: x * x * 2.0)(x)

    assert isinstance(g, np.ndarray)
    assert g.shape == ()
    assert g == pytest.approx(2.8)


def test_errstate_covers_the_reverse_half() -> None:
    def f(x):
        with np.errstate(all="ignore"):
            y = np.sqrt(x)
        return np.sum(y)

    with np.errstate(all="raise"):
        assert grad(f)(np.array([0.0]))[0] == np.inf


def test_static_shape_conditions_folded() -> None:
    def f(x):
        if x.ndim == 1:
            return np.sum(x * x)
        if isinstance(x, np.ndarray) and x.shape[1] == 4:
            return np.sum(x)
        return np.sum(x, axis=0)

    assert_gradient(gradient, f, V)
    assert_gradient(gradient, f, M)


def test_element_access_in_loop_accumulates_into_one_buffer() -> None:
    def f(x):
        s = 0.0
        for i in range(len(x)):
            s += math.sin(x[i]) * x[i]
        return s

    g = grad(f)
    g(np.ones(5))
    loops = [n for n in ast.walk(ast.parse(g.source)) if isinstance(n, ast.For)]
    calls = {
        ast.unparse(n.func) for loop in loops for n in ast.walk(loop) if isinstance(n, ast.Call)
    }
    writes = [n for loop in loops for n in ast.walk(loop) if isinstance(n, ast.AugAssign)]

    assert any(isinstance(w.target, ast.Subscript) for w in writes)
    assert not [name for name in calls if "copy" in name or "zeros" in name]


def _listed(x: Any) -> list[Any]:
    return [x[0], x[1] * 2, x[2]]


def _rows(x: Any) -> list[Any]:
    return [[x[0], x[1] * 2], [x[2], x[3] * x[0]]]


LISTS: dict[str, Callable[[Any], Any]] = {
    "trapezoid": lambda x: np.trapezoid(_listed(x)) * x[0],
    "norm": lambda x: np.linalg.norm(_listed(x)) + np.linalg.norm((x[0], x[1])),
    "norm of a matrix": lambda x: np.linalg.norm(_rows(x)) + np.linalg.norm(_rows(x), ord=2),
    "norm of rows": lambda x: np.linalg.norm([x[:2], x[2:]]) + np.linalg.norm([1.0, 2.0]) * x[0],
    "norm of a long list": lambda x: np.linalg.norm([v * v for v in x]),
    "dot": lambda x: np.dot(_listed(x), _listed(x)),
    "inner": lambda x: np.vdot(_listed(x), x[:3]) * np.inner(_listed(x), _listed(x)),
    "matmul": lambda x: np.sum(np.matmul(_rows(x), _rows(x)) * x[0]),
    "solve": lambda x: np.sum(np.linalg.solve(_rows(x), [x[0], x[1]]) * x[:2]),
    "powers": lambda x: np.sum(np.square(_listed(x)) * np.power(_listed(x), [2, 3, 1])),
    "square of one": lambda x: np.sum(np.square([x[0]]) * x),
    "sum": lambda x: np.sum(_listed(x)) * np.mean(_rows(x)),
}


@pytest.mark.parametrize("name", LISTS)
def test_list_of_numbers_converted_by_numpy(name: str) -> None:
    assert_gradient(gradient, LISTS[name], V)


ROWS_AND_COLUMNS: dict[str, Callable[[Any, Any], Any]] = {
    "arrays": lambda x, m: np.r_[x, x * x],
    "numbers": lambda x, m: np.r_[x[0], 2.0, x[1] * x[2], np.float64(3.0)],
    "one part": lambda x, m: np.r_[x],
    "ranges": lambda x, m: np.r_[0:3, x, 1:2:3j] * 2.0,
    "a list": lambda x, m: np.r_[[x[0], x[1]], x],
    "matrices": lambda x, m: np.r_[m, 2.0 * m],
    "columns": lambda x, m: np.c_[x, np.ones(x.size), x * x],
    "columns of a matrix": lambda x, m: np.c_[m.T, x],
    "columns of numbers": lambda x, m: np.c_[x[0], 2.0, x[1]],
    "a bound": lambda x, m: np.r_[0.0 : x[0] : 4j, x[1]],
}


@pytest.mark.parametrize("f", ROWS_AND_COLUMNS.values(), ids=ROWS_AND_COLUMNS)
def test_r_and_c_concatenation_gradient(f) -> None:
    """What ``np.r_`` and ``np.c_`` join carried no derivative: they were taken for an index."""

    def total(x, m):
        joined = f(x, m)
        return np.sum(np.sin(joined) * np.cos(np.arange(joined.size)).reshape(joined.shape))

    value, _ = value_and_grad(total, wrt=(0, 1))(V, M)

    assert value == total(V, M)
    testing.check_grads(total, (V, M), wrt=(0, 1), order=1)


def test_c_concatenation_adjoint_uses_numpy_calls() -> None:
    def f(a, b):
        return np.sum((np.c_[np.ones(a.size), a] @ b) ** 2)

    text = grad(f, wrt=(0, 1)).inspect(V, np.ones(2)).adjoint_source

    assert "np.outer(g, b)" in text
    assert "ndim" not in text


LISTED: dict[str, Callable[[Any], Any]] = {
    "points": lambda x: np.trapezoid([1.0, 2.0, 4.0, 3.0], x=x),
    "values by name": lambda x: np.trapezoid(x=x, y=[1.0, 2.0, 4.0, 3.0]),
    "ufunc": lambda x: np.sum(np.multiply([1.0, 2.0, 4.0, 3.0], x)),
    "nested": lambda x: np.sum(np.matmul([[1.0, 2.0, 4.0, 3.0]] * 2, x) ** 2),
    "where": lambda x: np.sum(np.where([True, False, True, False], x, [1.0, 2.0, 3.0, 4.0]) ** 2),
    "clip": lambda x: np.sum(np.clip(x, [-1.0] * 4, [0.2] * 4)),
    "broadcast": lambda x: np.sum(np.broadcast_arrays(x, M)[0] * M),
    "bytes": lambda x: x.nbytes * x[0] + x.itemsize * x[1],
}


@pytest.mark.parametrize("f", LISTED.values(), ids=LISTED)
def test_list_operand_converted_to_array_in_rule(f) -> None:
    """``y[1:] + y[:-1]`` of a list is a longer list: the gradient had another shape."""
    assert value_and_grad(f)(V)[0] == f(V)
    testing.check_grads(f, (V,), order=1)


def test_an_array_of_objects_is_refused() -> None:
    with pytest.raises(errors.UnsupportedTypeError, match="array of objects"):
        gradient(lambda x: np.sum(np.array([x[0], x[1]], dtype=object)), V)


FIELDS: dict[str, Callable[[Any], Any]] = {
    "slogdet": lambda x: np.linalg.slogdet(np.diag(x) + 0.1).logabsdet,
    "eigh": lambda x: np.linalg.eigh(np.diag(x) + 0.1).eigenvalues[0],
    "svd": lambda x: np.linalg.svd(np.diag(x) + 0.1).S[0],
}


@pytest.mark.parametrize("f", FIELDS.values(), ids=FIELDS)
def test_decomposition_result_attributes_gradient(f) -> None:
    """They were taken for methods, and refusing to return one failed without a place."""
    testing.check_grads(f, (V,), order=1)


@pytest.mark.parametrize("widths", [1, (1, 2), [2, 0], ((1, 2),)], ids=str)
def test_pad_widths_and_take_indices_as_arguments(widths: Any) -> None:
    # Widths known only at run time were taken for pairs of pairs, a tuple of places for one.
    def f(x, widths, places):
        return np.sum(np.pad(x, widths) ** 2 * 3.0) * np.sum(np.take(x, places))

    value, slope = value_and_grad(f)(V, widths, (1, 2, 1))

    assert value == f(V, widths, (1, 2, 1))
    places = np.array([0.0, 2.0, 1.0, 0.0])
    want = 6.0 * V * (V @ places) + 3.0 * np.sum(V**2) * places
    np.testing.assert_allclose(slope, want, rtol=1e-14)


def test_variadic_rule_loops_over_arguments() -> None:
    # Of two vectors of one length the loop was one at run time, and its list had no known parts.
    def f(x):
        a, b = np.meshgrid(x, 2.0 * x)
        return np.sum(a * b**2)

    assert_gradient(gradient, f, np.array([0.3, -0.5, 0.8]))


def test_an_array_in_another_byte_order_has_extremes() -> None:
    # Its dtype was asked of a sum, which takes no byte order.
    x = np.array([[0.3, -0.5], [0.8, 0.1]], ">f8")

    found = grad(lambda x: np.sum(np.max(x, axis=0)))(x)

    np.testing.assert_array_equal(found, [[0.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize("name", ["T", "shape", "copy"])
def test_python_float_lacks_array_attributes(name: str) -> None:
    def f(x):
        try:
            getattr(x, name)
        except AttributeError:
            return 5.0 * x
        return 3.0 * x

    assert grad(f)(2.0) == 5.0
    assert grad(f)(np.float64(2.0)) == 3.0
    with pytest.raises(AttributeError, match=f"'float' object has no attribute '{name}'"):
        grad(lambda x: x * getattr(x, name))(2.0)


def test_a_copy_of_a_numpy_number_is_a_number() -> None:
    value, slope = value_and_grad(lambda x: x.copy() * 2)(np.float32(0.5))

    assert type(value) is np.float32
    assert slope == 2.0
