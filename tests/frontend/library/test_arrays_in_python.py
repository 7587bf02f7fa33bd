"""Functions of arrays whose meaning is written in Python."""

import numpy as np
import pytest

import srcad
from srcad.frontend.machine.dispatch import means_in
from srcad.testing import check_grads
from tests.marks import some

M = np.array([[0.4, -1.3, 2.2], [0.9, 0.7, -0.5]])
WEIGHTS = np.array([[1.0, 2.0, 5.0], [3.0, 4.0, 7.0]])


# ------------------------------------------------------------------------ unstack
def columns(x):
    p, q, r = np.unstack(x**2, axis=1)
    return np.sum(p * q) + r[0]


def rows_in_a_loop(x):
    return sum(np.sum(row) * k for k, row in enumerate(np.unstack(x**2)))


def written_row(x):
    y = x**2
    parts = np.unstack(y)
    parts[1][0] = 5 * x[1, 1]
    return np.sum(y * WEIGHTS)


def written_column(x):
    y = x**2
    np.unstack(y, axis=-1)[1][:] = x[:, 0]
    return np.sum(y * WEIGHTS)


@pytest.mark.skipif(not hasattr(np, "unstack"), reason="NumPy 2.1")
@pytest.mark.parametrize("f", [columns, rows_in_a_loop, written_row, written_column])
def test_unstack_gives_views_of_an_array(f):
    assert srcad.value_and_grad(f)(M)[0] == f(M.copy())
    check_grads(f, (M,))


@pytest.mark.skipif(not hasattr(np, "unstack"), reason="NumPy 2.1")
@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_jacobian_of_unstack_has_no_loop(mode):
    made = srcad.jacobian(lambda x: np.unstack(x * x, axis=1)[2], mode=mode)

    np.testing.assert_allclose(made(M)[0], [[[0, 0, 4.4], [0, 0, 0]], [[0, 0, 0], [0, 0, -1.0]]][0])
    assert "for " not in made.source


@pytest.mark.skipif(not hasattr(np, "unstack"), reason="NumPy 2.1")
def test_unstack_of_a_number_fails_as_without_a_derivative():
    with pytest.raises(ValueError, match="at least 1-d"):
        srcad.grad(lambda x: np.unstack(np.sum(x * x))[0])(M)


# ------------------------------------------------------------------------ trim_zeros
V = np.array([0.4, -1.3, 2.2])


def padded(v):
    return np.concatenate([np.zeros(2), v[:1], np.zeros(1), v[1:], np.zeros(3)])


def trimmed(v):
    return np.sum(np.trim_zeros(padded(v**2)) * np.array([1.0, 2.0, 3.0, 4.0]))


def trimmed_in_front(v):
    y = np.trim_zeros(padded(v**2), "f")
    return np.sum(y[:4] * np.array([1.0, 2.0, 3.0, 4.0])) * len(y)


def trimmed_at_the_end(v):
    y = np.trim_zeros(padded(v**2), trim="B")
    return np.sum(y**2) * len(y)


def trimmed_and_written(v):
    y = padded(v**2)
    trimmed = np.trim_zeros(y)
    trimmed[0] = 3 * v[2]
    trimmed[1] += v[1]
    return np.sum(y * np.arange(9.0))


@pytest.mark.parametrize("f", [trimmed, trimmed_in_front, trimmed_at_the_end, trimmed_and_written])
def test_trim_zeros_gives_a_view_of_an_array(f):
    assert srcad.value_and_grad(f)(V)[0] == pytest.approx(f(V), rel=1e-15)
    check_grads(f, (V,))


def test_trim_zeros_of_zeros_is_empty():
    def f(v):
        return np.sum(np.trim_zeros(v * 0.0)) + v[0]

    assert srcad.grad(f)(V).tolist() == [1, 0, 0]


def bordered(x):
    return np.pad(x**2, ((1, 0), (2, 1)))


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.2.0", reason="along one axis before NumPy 2.2"
)
@pytest.mark.parametrize(
    "options",
    some([("fb", None), ("b", (-1, 0)), ("f", 1), ("bf", ()), ("fb", -2)], 1),
)
def test_trim_zeros_of_a_matrix(options):
    def f(x):
        y = np.trim_zeros(bordered(x), *options)
        return np.sum(y**2 * np.arange(float(y.shape[1])))

    def written(x):
        y = bordered(x)
        np.trim_zeros(y, *options)[-1] = x[0, 0]
        return np.sum(y * np.arange(6.0))

    for g in (f, written):
        assert srcad.value_and_grad(g)(M)[0] == pytest.approx(g(M), rel=1e-15)
        check_grads(g, (M,))


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.2.0", reason="along one axis before NumPy 2.2"
)
@pytest.mark.parametrize("options", [{"axis": 2}, {"axis": (0, 0)}, {"trim": "x"}])
def test_trim_zeros_fails_as_without_a_derivative(options):
    def f(x):
        return np.sum(np.trim_zeros(bordered(x), **options))

    with pytest.raises(ValueError) as expected:  # noqa: PT011 - compared below
        f(M)
    with pytest.raises(ValueError) as found:  # noqa: PT011
        srcad.grad(f)(M)
    assert str(found.value).startswith(str(expected.value))


# ------------------------------------------------------------------------ asarray_chkfinite
def checked(x):
    return np.sum(np.asarray_chkfinite(x**2) * WEIGHTS)


def checked_items(x):
    return np.sum(np.asarray_chkfinite([x[0, 0], x[0, 1] * 2], float) ** 2)


def checked_and_written(x):
    y = x**2
    z = np.asarray_chkfinite(y)
    z[0] = x[1]
    return np.sum(y * WEIGHTS)


@pytest.mark.parametrize("f", [checked, checked_items, checked_and_written])
def test_asarray_chkfinite_gives_its_argument(f):
    assert srcad.value_and_grad(f)(M)[0] == f(M)
    check_grads(f, (M,))


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_asarray_chkfinite_fails_where_its_result_is_not_used(number):
    def f(x):
        np.asarray_chkfinite(x * x)
        return np.sum(x)

    with pytest.raises(ValueError, match="must not contain infs or NaNs"):
        srcad.grad(f)(np.array([1.0, number]))
    with pytest.raises(ValueError, match="must not contain infs or NaNs"):
        srcad.jvp(f, (np.array([1.0, number]),), (np.ones(2),))


# ------------------------------------------------------------------------ versions of modules
def test_function_that_this_version_of_a_module_lacks_has_no_meaning():
    means_in("math", "of_a_later_version")(lambda state, args, kwargs: None)

    assert srcad.grad(lambda x: np.sin(x) * x)(0.0) == 0.0
