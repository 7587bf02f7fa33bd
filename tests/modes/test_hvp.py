"""Products of Hessians with vectors: they are the differences of gradients."""

import inspect
import pickle

import numpy as np
import pytest

import srcad
from srcad.errors import SeedError, WrtError
from tests.modes.test_jvp import (
    algebra,
    branches,
    caught,
    layers,
    lists,
    newton,
    recursive,
    spread,
    stencil,
)

V = np.array([0.5, -0.3, 1.1])
U = np.array([0.3, 1.0, -0.5, 2.0, 0.1])


def energy(u):
    return np.sum(stencil(u) ** 2)


def total(x):
    return np.sum(layers(x) ** 2)


PROGRAMS = [(newton, 2.0), (energy, U), (branches, 1.3), (caught, 0.5), (caught, 2.0),
            (recursive, 1.2), (total, V), (lists, V), (algebra, V), (spread, V)]  # fmt: skip


@pytest.mark.parametrize(("f", "x"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_hvp_matches_gradient_differences(f, x):
    v = np.random.default_rng(1).normal(size=np.shape(x))
    v, step, g = v if np.ndim(x) else float(v), 1e-5, srcad.grad(f)

    product = srcad.hvp(f)(x, v)

    want = (np.asarray(g(x + step * v)) - g(x - step * v)) / (2 * step)
    np.testing.assert_allclose(product, want, rtol=1e-6, atol=1e-8)
    assert type(product) is type(x)


# ------------------------------------------------------------------------ what is given
def cubes(x, a=1.0):
    return a * np.sum(x**3)


def test_direction_positional_or_by_keyword():
    h, x, v = srcad.hvp(cubes), np.array([1.0, 2.0]), np.array([1.0, -1.0])

    np.testing.assert_array_equal(h(x, v), [6.0, -12.0])
    np.testing.assert_array_equal(h(x, v=v), [6.0, -12.0])
    np.testing.assert_array_equal(h(x, 10.0, v=v), [60.0, -120.0])
    np.testing.assert_array_equal(h(x, v, a=10.0), [60.0, -120.0])
    np.testing.assert_array_equal(h(x, 10.0, v), [60.0, -120.0])


def test_several_arguments_take_tuple_of_directions():
    h = srcad.hvp(lambda a, b: a * a * b, wrt=(0, 1))

    assert h(2.0, 3.0, (1.0, 0.0)) == (6.0, 4.0)
    assert h.specialize(2.0, 3.0, (1.0, 0.0))(2.0, 3.0, (0.0, 1.0)) == (4.0, 0.0)


def test_keyword_v_is_direction_despite_parameter_named_v():
    h = srcad.hvp(lambda x, v: v * x**2)

    assert h(3.0, 5.0, v=2.0) == h(3.0, 5.0, 2.0) == 20.0
    assert str(inspect.signature(h)) == "(x, v_1, /, v)"


def test_scalar_direction_for_array_rejected():
    with pytest.raises(SeedError, match="shape"):
        srcad.hvp(cubes)(np.ones(2), 10.0)


def test_several_arguments_have_a_direction_each():
    h = srcad.hvp(lambda a, b: a * a * b, wrt=("b", "a"))

    assert h(2.0, 3.0, v=(1.0, 0.0)) == (0.0, 4.0)
    assert h(2.0, 3.0, v=(0.0, 1.0)) == (4.0, 6.0)


def test_structures_have_directions_of_their_structure():
    h = srcad.hvp(lambda p: p["w"] * p["w"] * np.sum(p["b"][0]))

    product = h({"w": 2.0, "b": (np.ones(2),)}, {"w": 1.0, "b": (np.zeros(2),)})

    assert product["w"] == 4.0
    np.testing.assert_array_equal(product["b"][0], [4.0, 4.0])


def test_dtypes_are_those_of_gradients():
    x = np.array([1.0, 2.0], np.float32)

    assert srcad.hvp(cubes)(x, np.ones(2)).dtype == np.float32
    assert srcad.hvp(cubes)(np.array([1, 2]), np.ones(2, int)).dtype == np.float64
    assert srcad.hvp(lambda x: x**3)(2, 1) == 12.0


def test_hvp_returns_aux():
    assert srcad.hvp(lambda x: (x**3, {"x": x}), has_aux=True)(2.0, 1.0) == (12.0, {"x": 2.0})


def test_linear_function_hvp_is_zero_and_not_aliased():
    x = np.ones(2)

    product = srcad.hvp(lambda x: np.sum(3 * x))(x, x)
    product += 1.0

    np.testing.assert_array_equal(product, [1.0, 1.0])


def test_effects_happen_once_and_arguments_stay(capsys):
    def f(x):
        print("here")
        x[0] = x[1] ** 2
        return x[0] * x[1]

    x = np.array([5.0, 2.0])
    np.testing.assert_array_equal(srcad.hvp(f)(x, np.ones(2)), [0.0, 12.0])

    np.testing.assert_array_equal(x, [5.0, 2.0])
    assert capsys.readouterr().out == "here\n"


class Well:
    def __init__(self, k):
        self.k = k

    def energy(self, x):
        return self.k * x**4

    stiffness = srcad.hvp(lambda self, x: self.k * x**4, wrt="x")


def test_methods_have_products():
    assert srcad.hvp(Well(2.0).energy)(1.0, 1.0) == 24.0
    assert Well(3.0).stiffness(1.0, 1.0) == 36.0


def test_infinite_hvp_under_errstate_raise():
    with np.errstate(all="raise"):
        assert srcad.hvp(lambda x: x**1.5)(0.0, 1.0) == np.inf


# ------------------------------------------------------------------------ the object
def test_hvp_source_signature_pickle_and_repr():
    h = srcad.hvp(cubes)
    h(np.ones((2, 1)), np.ones((2, 1)))

    assert "def hvp_cubes(x, a, " in h.source
    assert list(inspect.signature(h).parameters) == ["x", "a", "v"]
    assert list(inspect.signature(srcad.hvp(newton)).parameters) == ["a", "v"]
    assert pickle.loads(pickle.dumps(h))(2.0, 1.0) == 12.0
    assert repr(h) == "<srcad.hvp of 'cubes' by 0>"


@pytest.mark.parametrize("wrt", [0, "b", (1, 0)])
def test_specialised_hvp_called_like_hvp(wrt):
    h, v = srcad.hvp(lambda a, b: V[0] * a**3 * b, wrt), (1.0, 2.0) if wrt == (1, 0) else 2.0

    bare, alone = h.specialize(1.0, 1.0, v=v), srcad.hvp(newton)

    assert bare(2.0, 3.0, v=v) == h(2.0, 3.0, v=v)
    assert alone.specialize(2.0, 1.0)(2.0, v=2.0) == alone(2.0, 2.0)


# ------------------------------------------------------------------------ refusals
@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda x: srcad.hvp(cubes)(x), SeedError, "no direction"),
        (lambda x: srcad.hvp(cubes)(x, x[:1]), SeedError, r"shape \(1,\)"),
        (lambda x: srcad.hvp(cubes)(x, 1.0), SeedError, r"shape \(\)"),
        (lambda x: srcad.hvp(cubes, (0, 1))(x, 2.0, v=x), SeedError, "2 directions"),
        (lambda x: srcad.hvp(cubes, (0, 0))(x, v=(x, x)), WrtError, "twice"),
        (lambda x: srcad.hvp(cubes, "b"), WrtError, "'b'"),
        (lambda x: srcad.hvp(lambda x, n: x[n] ** 2, 1)(x, 1, v=1.0), WrtError, "no derivative"),
        (lambda x: srcad.hvp(lambda x: x)(x, x), srcad.errors.NonScalarOutputError, "one real"),
        (lambda x: srcad.hvp(3), TypeError, "callable"),
    ],
)  # fmt: skip
def test_mismatched_direction_rejected(call, error, match):
    with pytest.raises(error, match=match):
        call(np.ones(2))
