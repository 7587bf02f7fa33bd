"""``has_aux``: a function returns a pair, and its second part comes back as it was made."""

import numpy as np
import pytest

from srcad import differentiate, grad, hessian, hvp, jacfwd, jacobian, jacrev, jvp, pullback
from srcad.errors import NonFiniteError, NonScalarOutputError, SeedError

X = np.array([0.5, 2.0])


def pair(x, k=3.0):
    return x**2 * k, {"x": x, "name": "pair", "n": 3}


def test_pullback_returns_aux_last():
    y, back, aux = pullback(pair, X, has_aux=True)

    assert y.tolist() == [0.75, 12.0]
    assert back(np.array([1.0, 10.0]))[0].tolist() == [3.0, 120.0]
    assert back(1.0)[0].tolist() == [3.0, 12.0]
    assert aux["x"].tolist() == X.tolist()
    assert (aux["name"], aux["n"]) == ("pair", 3)


def test_jvp_returns_aux_after_tangent():
    y, y_dot, aux = jvp(pair, (X, 2.0), (np.ones(2), None), has_aux=True)

    assert y.tolist() == [0.5, 8.0]
    assert y_dot.tolist() == [2.0, 8.0]
    assert aux["name"] == "pair"


def test_aux_may_be_argument():
    assert jvp(lambda x: (x**3, x), (2.0,), (1.0,), has_aux=True) == (8.0, 12.0, 2.0)
    y, back, aux = pullback(lambda x: (x**3, x), 2.0, has_aux=True)
    assert (y, back(1.0), aux) == (8.0, (12.0,), 2.0)


def test_aux_may_be_non_differentiable():
    def f(x):
        return np.sum(x), str(x.shape) + repr(sorted(np.argsort(-x)))

    assert pullback(f, X, has_aux=True)[2].startswith("(2,)")
    assert jvp(f, (X,), (X,), has_aux=True)[2].startswith("(2,)")


def test_pair_result_without_has_aux_takes_pair_seed():
    y, back = pullback(lambda x: (x * 2.0, x * 3.0), 1.0)
    assert back((1.0, 1.0)) == (5.0,)

    y, back, _ = pullback(lambda x: (x * 2.0, x * 3.0), 1.0, has_aux=True)
    with pytest.raises(SeedError):
        back((1.0, 1.0))


@pytest.mark.parametrize("order", [jacobian, jacfwd, jacrev])
def test_jacobian_with_aux(order):
    found, aux = order(pair, has_aux=True)(X)

    np.testing.assert_array_equal(found, np.diag(6.0 * X))
    assert aux["n"] == 3


def test_hessian_with_aux():
    def f(x):
        return np.sum(x**3), "aux"

    assert hessian(f, has_aux=True)(X)[1] == "aux"
    assert hvp(f, has_aux=True)(X, X)[1] == "aux"


def test_inside_a_differentiated_function():
    def by_tangent(x):
        _, y_dot, aux = jvp(lambda z: (z**3, z * x), (x,), (1.0,), has_aux=True)
        return y_dot + aux

    def by_pullback(x):
        _, back, aux = pullback(lambda z: (z**3, z * x), x, has_aux=True)
        return back(1.0)[0] + aux

    assert grad(by_tangent)(2.0) == grad(by_pullback)(2.0) == 16.0


def test_a_decorated_function():
    decorated = differentiate(pair)

    assert decorated.jvp((2.0,), (1.0,), has_aux=True)[:2] == (12.0, 12.0)
    assert decorated.pullback(2.0, has_aux=True)[2]["n"] == 3


def test_finite_check_ignores_aux():
    def f(x):
        return np.sum(x**2), x / 0.0

    with np.errstate(all="ignore"):
        assert pullback(f, X, has_aux=True, check_finite=True)[1](1.0)[0].tolist() == [1.0, 4.0]
        assert jvp(f, (X,), (X,), has_aux=True, check_finite=True)[1] == 8.5
        with pytest.raises(NonFiniteError):
            jvp(lambda x: (np.sum(x) / 0.0, x), (X,), (X,), has_aux=True, check_finite=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda f: pullback(f, X, has_aux=True),
        lambda f: jvp(f, (X,), (X,), has_aux=True),
        lambda f: jacobian(f, has_aux=True)(X),
    ],
)
def test_has_aux_with_non_pair_result_rejected(call):
    with pytest.raises(NonScalarOutputError, match=r"return a pair \(y, aux\)"):
        call(lambda x: x * 2.0)
