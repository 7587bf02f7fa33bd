"""Jacobians and Hessians a few directions at a time: the same numbers, in less memory."""

import tracemalloc

import numpy as np
import pytest

from srcad import grad, hessian, jacfwd, jacobian, jacrev
from srcad.errors import OptionError, UnsupportedTypeError
from tests.blocks import leaves

X = np.linspace(0.1, 1.0, 7)


def stepped(x):
    u = x.copy()
    for _ in range(4):
        u[1:-1] = u[1:-1] + 0.1 * u[1:-1] * (u[2:] - u[:-2])
    return u


def structured(p, q):
    return {"outer": np.outer(p, q), "row": np.sum(p) * q}


def turned(z):
    return np.exp(z) * z[0]


@pytest.mark.parametrize("size", [1, 3, 7, 100])
@pytest.mark.parametrize("derive", [jacfwd, jacrev])
@pytest.mark.parametrize(
    ("f", "args", "options"),
    [
        (stepped, (X,), {}),
        (structured, (X[:3], X[:2]), {"wrt": (0, 1)}),
        (lambda x: turned(1j * x).real, (X,), {}),
        (lambda x: 3.0 * x, (2.0,), {}),
    ],
)
def test_chunks_give_the_same_blocks(f, args, options, derive, size):
    got = derive(f, chunk_size=size, **options)(*args)

    want = dict(leaves(derive(f, **options)(*args)))
    assert want.keys() == dict(leaves(got)).keys()
    for way, block in leaves(got):
        assert np.shape(block) == np.shape(want[way])
        assert type(block) is type(want[way])
        np.testing.assert_allclose(block, want[way], rtol=1e-13)


def test_a_hessian_in_chunks_is_the_same():
    def f(x):
        total = 0.0
        for k in range(len(x) - 1):
            total = total + x[k] * np.sin(x[k + 1])
        return total

    np.testing.assert_allclose(hessian(f, chunk_size=3)(X), hessian(f)(X), rtol=1e-13)
    np.testing.assert_array_equal(hessian(f, chunk_size=3)(X[:1]), [[0.0]])


def test_chunks_inside_a_differentiated_function():
    def f(x):
        return np.sum(jacobian(stepped, chunk_size=2)(x) ** 2)

    def g(x):
        return np.sum(jacobian(stepped)(x) ** 2)

    np.testing.assert_allclose(grad(f)(X), grad(g)(X), rtol=1e-12)


def test_chunks_take_less_memory():
    def f(x):
        for _ in range(3):
            x = np.sin(x) * np.roll(x, 1)
        return np.array([np.sum(x), np.sum(x * x)])

    x, peaks = np.linspace(0.0, 1.0, 600), []
    for size in (None, 20):
        columns = jacfwd(f, chunk_size=size)
        columns(x)
        tracemalloc.start()
        columns(x)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert peaks[0] > 10 * peaks[1]


@pytest.mark.parametrize("size", [0, -1, 2.5, True, "2"])
def test_invalid_chunk_size_rejected(size):
    with pytest.raises(OptionError, match="number of directions, 1 or more"):
        jacobian(stepped, chunk_size=size)


@pytest.mark.parametrize("derive", [jacfwd, jacrev])
def test_function_with_side_effects_in_chunks_rejected(derive, capsys):
    def f(x):
        print("running")
        return x * x

    with pytest.raises(UnsupportedTypeError, match="it has effects"):
        derive(f, chunk_size=2)(X)

    assert capsys.readouterr().out == ""
