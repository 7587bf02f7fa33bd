"""Calls of compiled code that tests dtypes, orders and lengths of its arrays itself."""

import importlib.util
import sys

import numpy as np
import pytest

import srcad
from srcad.backends.numba import running
from srcad.backends.numba.backend import with_tests
from tests.marks import some

needs_numba = pytest.mark.skipif(
    importlib.util.find_spec("numba") is None, reason="needs the extra: pip install '.[numba]'"
)
SCALE = np.array([1.0, 2.0, 0.5])
CHANGES = {
    "float32": lambda a: a.astype(np.float32),
    "int": lambda a: a.astype(np.int64),
    "fortran": lambda a: np.asfortranarray(a),
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: a[..., ::-1],
    "big-endian": lambda a: a.astype(">f8"),
    "complex": lambda a: a.astype(complex),
    "subclass": lambda a: a.view(np.recarray),
}


def residual(w, X, y):
    r = np.tanh(X @ w) - y
    return np.sum(r * r)


def scaled(x):
    return np.sum(np.tanh(x * SCALE) ** 2)


def product(x, y):
    return np.sum(np.tanh(x) * y)


def space_of(gradient):
    return gradient._newest().run.__globals__


def arguments(rng, n=5, m=3):
    return rng.normal(size=m), rng.normal(size=(n, m)), rng.normal(size=n)


def callers(gradient):
    """The names of the functions that call the kernel from now on."""
    names, space = [], space_of(gradient)
    kernel = space["kernel"]

    def noted(*args):
        names.append(sys._getframe(1).f_code.co_name)
        return kernel(*args)

    space["kernel"] = noted
    return names


@needs_numba
@pytest.mark.parametrize(("f", "count"), [(residual, 3), (scaled, 1)])
def test_kernel_tests_its_arrays(f, count, rng):
    args = arguments(rng)[:count]
    g = srcad.grad(f, backend="numba")
    expected = srcad.grad(f)(*args)
    g(*args)
    names = callers(g)

    np.testing.assert_allclose(g(*args), expected, rtol=1e-12)

    assert names == [f"grad_{f.__name__}_tested"]


@needs_numba
@pytest.mark.filterwarnings("ignore::srcad.errors.BackendWarning")
@pytest.mark.parametrize(
    "case",
    some([(name, k) for name in CHANGES for k in range(3)], lambda k, _: k % 4 == 0),
)
def test_other_arrays_have_the_result_of_numpy(case, rng):
    kind, position = case
    args = list(arguments(rng))
    g = srcad.grad(residual, backend="numba")
    g(*args)
    args[position] = CHANGES[kind](args[position])

    for _ in range(3):
        found = called(g, args)
        expected = called(srcad.grad(residual), args)

        assert type(found) is type(expected)
        if isinstance(expected, np.ndarray):
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def called(g, args):
    """The gradient, or the class of the error."""
    try:
        return g(*args)
    except Exception as error:
        return type(error)


@needs_numba
def test_arrays_that_cannot_be_written_to(rng):
    args = arguments(rng)
    g = srcad.grad(residual, backend="numba")
    expected = g(*args)
    args[1].flags.writeable = False

    np.testing.assert_allclose(g(*args), expected, rtol=1e-12)
    np.testing.assert_allclose(g(*args), expected, rtol=1e-12)


@needs_numba
def test_lengths_that_do_not_match_raise_the_error_of_numpy(rng):
    w, X, y = arguments(rng)
    g = srcad.grad(residual, backend="numba")
    g(w, X, y)

    with pytest.raises(ValueError, match="matmul"):
        g(w[:2], X, y)
    with pytest.raises(ValueError, match="broadcast"):
        g(w, X, y[:3])


@needs_numba
def test_lengths_that_broadcast_are_compiled_anew(rng):
    x = rng.normal(size=4)
    g = srcad.grad(product, backend="numba")
    g(x, x)

    for y in (x[:1], x, x[1:2], rng.normal(size=4)):
        np.testing.assert_allclose(g(x, y), y / np.cosh(x) ** 2, rtol=1e-12)
    with pytest.raises(ValueError, match="broadcast"):
        g(x, x[:3])


@needs_numba
def test_kernel_is_not_tried_first_after_many_misfits(rng):
    def weighted(x, y):
        return np.sum(np.tanh(x) * y)

    x = rng.normal(size=4)
    g = srcad.grad(weighted, backend="numba")
    g(x, x)
    spaces = [space_of(g)]
    g(x, x[:1])
    spaces.append(space_of(g))
    for _ in range(running.MOST_MISFITS + 1):
        np.testing.assert_allclose(g(x, x), x / np.cosh(x) ** 2, rtol=1e-12)
        np.testing.assert_allclose(g(x, x[:1]), x[0] / np.cosh(x) ** 2, rtol=1e-12)

    assert sorted(space["tests_arrays"] for space in spaces) == [False, True]


@needs_numba
def test_array_outside_is_tested():
    g = srcad.grad(scaled, backend="numba")
    x = np.array([0.3, -0.2, 0.7])
    before = SCALE.copy()
    g(x)
    try:
        SCALE.resize((2,), refcheck=False)

        with pytest.raises(ValueError, match="broadcast"):
            g(x)
        expected = 2 * np.tanh(x[:2] * before[:2]) / np.cosh(x[:2] * before[:2]) ** 2 * before[:2]
        np.testing.assert_allclose(g(x[:2]), expected, rtol=1e-12)
    finally:
        SCALE.resize((3,), refcheck=False)
        SCALE[:] = before


def test_tests_stand_before_the_loops():
    text = with_tests("def f(x, y):\n    return x + y\n", ["x.shape[0] == y.shape[0]", "True"])

    assert text.splitlines()[1] == "    if not (x.shape[0] == y.shape[0] and True):"
    assert with_tests("def f(x):\n    return x\n", []) == "def f(x):\n    return x\n"
