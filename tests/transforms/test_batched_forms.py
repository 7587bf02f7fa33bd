"""Many directions at once: factors meet each other before they meet a value with the axis."""

import numpy as np
import pytest

from srcad import hessian, jacfwd, jacrev
from tests.blocks import assert_jacobian


def test_scalar_factors_combined_before_batched_directions():
    def f(x):
        return 2.0 * x * 3.0 / 7.0 - np.sin(x * x[0] * 4.0)

    columns = jacfwd(f)
    columns(np.ones(3))

    assert "(0.8571428571428571 * x_dot - " in columns.source
    assert "* (4.0 * np.cos(" in columns.source
    assert_jacobian(f, np.array([0.3, 0.5, -1.0]))


def test_terms_of_same_value_combined_by_coefficient():
    def f(x):
        return x * np.sin(x) - np.exp(x) / x + x

    columns = jacfwd(f)
    columns(np.ones(3))

    assert columns.source.count("x_dot") == 2
    assert_jacobian(f, np.array([0.3, 0.5, -1.0]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_factors_of_different_precision_not_combined(dtype):
    low, high = np.float32(1.0) / np.float32(3.0), np.float64(1.0) / 3.0

    def f(x):
        return x * low * low * high

    found = jacfwd(f)(np.ones(2, dtype))

    assert found.dtype == dtype
    want = np.float64(low) ** 2 * high if dtype is np.float64 else low * low * np.float32(high)
    np.testing.assert_allclose(np.diag(found), want, rtol=1e-15 if dtype is np.float64 else 1e-6)


@pytest.mark.filterwarnings("error")
def test_integer_factors_not_combined():
    def f(x, n):
        return x * n * n

    found = jacfwd(f)(np.ones(2), np.int64(2**40))

    np.testing.assert_array_equal(np.diag(found), 2.0**80)


def test_zero_python_number_quotient_does_not_raise():
    def f(x, a, b):
        return x * a / (b * np.ones(2))[0] if b else x * a

    def g(x, a):
        return np.where(x > 0, x, 1.0) * a / np.sqrt(x * 0.0 + a)

    np.testing.assert_array_equal(jacfwd(f)(np.ones(2), 3.0, 0.0), 3.0 * np.eye(2))
    with np.errstate(all="ignore"):
        assert np.all(np.isnan(np.diag(jacfwd(g)(np.ones(2), 0.0))))


@pytest.mark.parametrize("derive", [jacfwd, jacrev])
def test_einsum_batches_all_directions(derive):
    k = np.arange(24.0).reshape(2, 3, 4)

    def f(x):
        return np.einsum("aij,j,i->a", k, x[:4], x[4:]) + np.einsum("...i,i", x[None, :3], x[:3])

    found = derive(f)
    x = np.linspace(0.5, 1.5, 7)
    found(x)

    assert "append" not in found.source
    assert_jacobian(f, x)


def test_array_of_list_batches_all_directions():
    def f(x):
        rows = []
        for v in x:
            rows.append(np.sin(v))
        return np.array(rows)

    def empty(x):
        rows = []
        for v in x[3:]:
            rows.append(v)
        return x[0] * 2.0 + np.sum(np.array(rows))

    def of_rows(x):
        return np.sum(np.array([x * v for v in x]), axis=0)

    for one in (f, empty, of_rows):
        assert_jacobian(one, np.array([0.3, 0.5, -1.0]))
    columns = jacfwd(f)
    columns(np.ones(3))
    assert columns.source.count("for ") == 1


def test_diag_batches_all_directions():
    def f(x):
        return np.linalg.solve(np.eye(3) + np.diag(x), x)

    columns = jacfwd(f)
    columns(np.ones(3))

    assert "for " not in columns.source
    assert_jacobian(f, np.array([0.3, 0.5, 1.0]))


def test_the_hessian_of_a_product_with_several_factors_agrees_with_differences():
    def f(x):
        total = 0.0
        for k in range(len(x) - 1):
            r = np.sqrt(x[k] ** 2 + x[k + 1] ** 2)
            total = total - x[k] / r**3 + 2.0 * x[k] * x[k + 1] * 3.0 / r
        return total

    x, h = np.array([0.3, 0.5, 1.0, -0.4]), 1e-5
    rows = jacrev(f)
    want = [(rows(x + h * e) - rows(x - h * e)) / (2 * h) for e in np.eye(4)]

    np.testing.assert_allclose(hessian(f)(x), want, rtol=1e-5)


@pytest.mark.parametrize(
    "flat",
    [
        lambda a: np.ravel(a, order="F"),
        lambda a: np.reshape(a, (-1,), order="F"),
        lambda a: np.reshape(a, (6, 2), order="F")[:, 1],
    ],
    ids=["ravel", "reshape", "reshape to matrix"],
)
def test_entries_in_fortran_order_in_all_directions(flat):
    w = np.arange(12.0).reshape(3, 4) + 1.0

    def f(x):
        return flat(np.sin(x[:3, None] * w * x[3:]))

    assert_jacobian(f, np.linspace(0.1, 0.7, 7), modes=("fwd",))


CUBE = np.arange(24.0).reshape(2, 3, 4) + 1.0


@pytest.mark.parametrize(
    "part",
    [
        lambda a: a[0, :, [2, 0, 1]],
        lambda a: a[[1, 0, 1], :, 2],
        lambda a: a[1, [0, 2, 2]],
        lambda a: a[..., 1, [3, 0]],
    ],
    ids=["number first", "number last", "side by side", "behind an ellipsis"],
)
def test_number_beside_list_in_index_in_all_directions(part):
    def f(x):
        return part(np.sin(x[:2, None, None] * CUBE * x[2:]))

    assert_jacobian(f, np.linspace(0.1, 0.7, 6), modes=("fwd",))
