"""How derivatives are asked for: keywords of compiled functions, `argnum`, `wrt` of a pullback."""

import functools

import numpy as np
import pytest

import srcad
from srcad import differentiate, elementwise_grad, grad, gradient, pullback, value_and_grad
from srcad.errors import NonScalarOutputError, UnsupportedSyntaxError, WrtError

X = np.array([1.0, 2.0, 3.0])
A = np.arange(6.0).reshape(2, 3) + 1.0
ORDER = 1


def square(a, b):
    return a * a * b**3


def slope(function, x):
    h = 1e-6
    found = np.empty(x.shape)
    for k in np.ndindex(x.shape):
        e = np.zeros(x.shape)
        e[k] = h
        found[k] = (function(x + e) - function(x - e)) / (2 * h)
    return found


@pytest.mark.parametrize(
    ("function", "x", "keywords"),
    [
        (np.linalg.norm, X, {"ord": 2}),
        (np.linalg.norm, X, {"ord": 1}),
        (np.linalg.norm, X, {"ord": 3, "keepdims": False}),
        (np.linalg.norm, A, {"ord": "fro"}),
        (np.sum, X, {"where": np.array([True, False, True])}),
        (np.mean, A, {"axis": None}),
        (np.var, X, {"ddof": 1}),
        (np.std, X, {"ddof": 1, "axis": 0}),
        (np.max, X, {"axis": 0}),
    ],
)
def test_keywords_of_a_function_without_source(function, x, keywords):
    expected = slope(lambda v: function(v, **keywords), x)
    value, found = value_and_grad(function)(x, **keywords)

    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    assert value == function(x, **keywords)
    np.testing.assert_allclose(gradient(function, x, **keywords)[0], expected, rtol=1e-6, atol=1e-7)


def test_calls_with_other_keywords_compiled_separately():
    g = grad(np.linalg.norm)

    np.testing.assert_allclose(g(X, ord=1), np.ones(3))
    np.testing.assert_allclose(g(X), X / np.linalg.norm(X))
    np.testing.assert_allclose(g(X, ord=2), X / np.linalg.norm(X))
    np.testing.assert_allclose(g(X, ord=np.inf), [0.0, 0.0, 1.0])
    np.testing.assert_allclose(g(x=X, ord=1), np.ones(3))
    np.testing.assert_allclose(grad(np.linalg.norm, wrt="x")(ord=1, x=X), np.ones(3))


def test_the_pullback_of_a_function_without_source_with_keywords():
    y, back = pullback(np.sum, A, axis=0)

    np.testing.assert_array_equal(y, A.sum(axis=0))
    np.testing.assert_array_equal(back(X)[0], np.broadcast_to(X, A.shape))
    np.testing.assert_array_equal(
        pullback(np.sum, A, axis=1, keepdims=True)[1](np.ones((2, 1)))[0], np.ones((2, 3))
    )


def test_keywords_with_partial_and_elementwise_grad():
    np.testing.assert_array_equal(elementwise_grad(np.clip)(X, a_min=1.5, a_max=2.5), [0, 1, 0])
    np.testing.assert_allclose(
        grad(functools.partial(np.linalg.norm, ord=1))(X, axis=0), np.ones(3)
    )


def test_source_of_builtin_derivative_with_keywords():
    assert "def grad_norm(x, ord)" in grad(np.linalg.norm).inspect(X, ord=2).adjoint_source
    assert "norm" in srcad.inspect(np.linalg.norm, X, ord=2).primal_source


@pytest.mark.parametrize("transform", [grad, value_and_grad, elementwise_grad])
def test_argnum_is_a_spelling_of_wrt(transform):
    assert transform(square, argnum=1)(2.0, 3.0) == transform(square, wrt=1)(2.0, 3.0)
    assert transform(square, argnum=1).__name__ == transform(square, argnums=1).__name__


def test_argnum_in_other_transforms():
    @differentiate(argnum=1)
    def f(a, b):
        return a * b * b

    def outer(x):
        return grad(square, argnum=1)(x, x)

    assert f.grad(2.0, 3.0) == 12.0
    assert grad(outer)(2.0) == pytest.approx(slope(outer, np.array(2.0)).item())


def test_argnum_and_argnums_together_rejected():
    with pytest.raises(TypeError, match="give only one of them"):
        grad(square, argnum=1, argnums=1)
    with pytest.raises(TypeError, match="give only one of them"):
        value_and_grad(square, 0, argnum=1)


@pytest.mark.parametrize(
    ("wrt", "expected"),
    [(1, (108.0,)), ((0, 1), (108.0, 108.0)), ("b", (108.0,)), (["b", "a"], (108.0, 108.0))],
)
def test_a_pullback_by_some_arguments(wrt, expected):
    assert pullback(square, 2.0, 3.0, wrt=wrt)[1](1.0) == expected
    assert pullback(square, 2.0, b=3.0, wrt=wrt)[1](1.0) == expected
    assert differentiate(square).pullback(2.0, 3.0, wrt=wrt)[1](1.0) == expected
    assert srcad.vjp(square, 2.0, 3.0, wrt=wrt)[1](1.0) == expected


def test_pullback_with_invalid_wrt_rejected():
    with pytest.raises(WrtError, match="is no parameter"):
        pullback(square, 2.0, 3.0, wrt="c")
    with pytest.raises(WrtError, match="neither a position nor a name"):
        pullback(square, 2.0, 3.0, wrt=1.5)


def derivative(f, k=0):
    return srcad.grad(f, wrt=k)


def derivative_by_keyword(f, *, k=1):
    def g(*args):
        return srcad.value_and_grad(f, argnums=k)(*args)[1]

    return g


class Options:
    which = 1


OPTIONS = Options()


def by_a_default(x):
    return derivative(square)(x, x)


def by_an_argument(x):
    return derivative(square, 1)(x, x) + derivative(square, "a")(x, 2 * x)


def by_a_keyword_default(x):
    return derivative_by_keyword(square)(x, x) * derivative_by_keyword(square, k=0)(x, x)


def by_a_global(x):
    return srcad.grad(square, wrt=ORDER)(x, x)


def by_an_attribute(x):
    return srcad.grad(square, OPTIONS.which)(x, x)


def by_a_loop(x):
    total = 0.0
    for k in range(2):
        total += srcad.grad(square, wrt=k)(x, x)
    return total


def by_a_list(x):
    first, second = srcad.grad(square, wrt=[0, ORDER])(x, x)
    return first * second


def by_its_own_default(x, k=1):
    return srcad.grad(square, wrt=k)(x, x)


@pytest.mark.parametrize(
    "outer",
    [by_a_default, by_an_argument, by_a_keyword_default, by_a_global, by_an_attribute, by_a_loop,
     by_a_list, by_its_own_default],
)  # fmt: skip
def test_inner_wrt_from_external_integer(outer):
    assert grad(outer)(1.5) == pytest.approx(slope(outer, np.array(1.5)).item(), rel=1e-6)


def test_inner_wrt_integer_change_detected(monkeypatch):
    def outer(x, k):
        return srcad.grad(square, wrt=k)(x, 2.0)

    g = grad(outer)

    assert (g(3.0, 0), g(3.0, 1), g(3.0, 0)) == (16.0, 72.0, 16.0)
    assert grad(by_a_global)(2.0) == pytest.approx(3 * 4 * 2.0**3)
    monkeypatch.setitem(globals(), "ORDER", 0)
    assert grad(by_a_global)(2.0) == pytest.approx(2 * 4 * 2.0**3)


def test_dynamic_inner_wrt_rejected():
    def outer(x):
        return srcad.grad(square, wrt=int(x))(x, x)

    with pytest.raises(UnsupportedSyntaxError, match="'wrt' of a gradient"):
        grad(outer)(1.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.array([np.sum(x * x)]),
        lambda x: x[:1] * 2,
        lambda x: np.sum(x * x, keepdims=True),
        lambda x: np.dot(x[None, :], x),
    ],
)
def test_one_entry_array_result_error_suggests_item(function):
    with pytest.raises(NonScalarOutputError) as refusal:
        grad(function)(X)

    assert "return y.item()" in str(refusal.value)
    assert "autograd takes it for one" in str(refusal.value)
    assert grad(lambda x: function(x).item())(X).shape == X.shape


def test_multi_entry_array_result_error_omits_item():
    with pytest.raises(NonScalarOutputError) as refusal:
        grad(lambda x: 2 * x)(X)

    assert ".item()" not in str(refusal.value)
    assert "elementwise_grad" in str(refusal.value)
