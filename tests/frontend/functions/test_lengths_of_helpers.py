"""Helpers that are called with arrays of several lengths: one reading, and what it assumes."""

import numpy as np
import pytest

import srcad
from tests.numeric import assert_gradient, difference

RNG = np.random.default_rng(3)


def layer(x, w, b):
    z = x @ w + b
    return np.tanh(z) + 0.1 * np.sin(z) * z


def network(p, x):
    h = layer(x, p["w1"], p["b1"])
    h = layer(h, p["w2"], p["b2"])
    return np.sum(layer(h, p["w3"], p["b3"]) ** 2)


def parameters(*widths):
    found = {}
    for k, (n, m) in enumerate(zip(widths, widths[1:], strict=False), 1):
        found[f"w{k}"], found[f"b{k}"] = RNG.normal(size=(n, m)), RNG.normal(size=m)
    return found


def pairs_in(derivative):
    """The number of functions of helpers in a text, two for each pair."""
    return derivative.source.count("\ndef ") - 1


def slope(f, x, direction, *rest):
    """The derivative of `f` by a dict of arrays, along a direction."""

    def moved(t):
        return f({k: x[k] + t * direction[k] for k in x}, *rest)

    return difference(moved, (0.0,))


@pytest.mark.parametrize("widths", [(4, 4, 4, 4), (3, 5, 4, 2), (3, 5, 1, 2), (1, 1, 1, 1)])
def test_layers_of_several_widths_agree_with_differences(widths):
    p, x = parameters(*widths), RNG.normal(size=(6, widths[0]))
    v = {k: RNG.normal(size=np.shape(p[k])) for k in p}
    gradient = srcad.grad(network)

    found = gradient(p, x)

    assert all(np.shape(found[k]) == np.shape(p[k]) for k in p)
    want = slope(network, p, v, x)
    np.testing.assert_allclose(sum(np.sum(found[k] * v[k]) for k in p), want, rtol=1e-6)


def test_layers_of_several_widths_share_one_pair():
    p, x = parameters(3, 5, 4, 2), RNG.normal(size=(6, 3))
    both = srcad.value_and_grad(network)

    both(p, x)

    assert pairs_in(both) == 2


def test_one_derivative_is_called_with_other_widths():
    gradient = srcad.grad(network)
    for widths in ((3, 5, 4, 2), (4, 4, 4, 4), (3, 1, 4, 2), (2, 6, 3, 1), (3, 5, 4, 2)):
        p, x = parameters(*widths), RNG.normal(size=(6, widths[0]))
        v = {k: RNG.normal(size=np.shape(p[k])) for k in p}
        found = gradient(p, x)
        want = slope(network, p, v, x)
        np.testing.assert_allclose(sum(np.sum(found[k] * v[k]) for k in p), want, rtol=1e-6)


def mixed(x, y):
    d = x - y
    return np.sin(d) * np.cosh(0.3 * d) + np.exp(0.1 * d) * np.tanh(d)


def of_broadcast_arguments(x, y, z):
    return np.sum(mixed(x, y) * 2.0) + np.sum(mixed(x, z) ** 2) + np.sum(mixed(z, y))


@pytest.mark.parametrize(
    ("n", "m", "k"), [(4, 4, 4), (4, 1, 4), (1, 4, 4), (4, 4, 1), (1, 1, 1), (4, 1, 1), (1, 1, 4)]
)
def test_lengths_of_one_are_broadcast(n, m, k):
    args = RNG.normal(size=n), RNG.normal(size=m), RNG.normal(size=k)

    for which in range(3):
        gradient = srcad.grad(of_broadcast_arguments, wrt=which)
        for shuffled in (args, args):
            rest = list(shuffled)
            x = rest.pop(which)

            def of_one(x, rest=rest, which=which):
                return of_broadcast_arguments(*rest[:which], x, *rest[which:])

            want = difference(of_one, (x,))
            np.testing.assert_allclose(gradient(*args), want, rtol=1e-6, atol=1e-8)


def test_one_derivative_is_called_with_lengths_that_broadcast():
    gradient = srcad.grad(of_broadcast_arguments)
    for n, m, k in ((4, 4, 4), (4, 1, 4), (4, 4, 1), (1, 1, 1), (3, 3, 3), (1, 4, 4), (4, 1, 1)):
        x, y, z = RNG.normal(size=n), RNG.normal(size=m), RNG.normal(size=k)
        found = gradient(x, y, z)
        assert found.shape == x.shape
        want = difference(lambda x: of_broadcast_arguments(x, y, z), (x,))  # noqa: B023
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-8)


def filled(n, x):
    out = np.zeros(n)
    for i in range(n):
        out[i] = np.sin(x[i]) * x[i] + np.cosh(0.1 * i * x[i])
    return out


def of_slices(x):
    n = len(x)
    return np.sum(filled(n, x) ** 2) + np.sum(filled(n - 1, x[1:])) + filled(2, x[:2])[1]


def test_lengths_passed_as_integers_agree_with_differences():
    for n in (5, 3, 2):
        assert_gradient(srcad.gradient, of_slices, RNG.normal(size=n))


def pieces(x, keep):
    part = x[keep]
    return np.sum(np.sin(part) * part + np.cosh(0.1 * part) * np.exp(0.01 * part))


def of_masks(x, y):
    return pieces(x, x > 0.0) + 2.0 * pieces(y, y < 0.5) + pieces(x[1:] - x[:-1], x[1:] > 0.1)


def test_lengths_that_only_the_call_knows_agree_with_differences():
    x, y = RNG.normal(size=6), RNG.normal(size=4)

    assert_gradient(srcad.gradient, of_masks, x, y)


def inner(x, w):
    z = x @ w
    return np.sin(z) * np.cosh(0.1 * z) + np.tanh(z) * z


def outer(x, u, w):
    return np.sum(inner(x, u) ** 2) * np.sum(inner(x, w)) + np.sum(inner(x[:1], u))


def of_helpers_in_helpers(p, x, y):
    return outer(x, p["u"], p["w"]) + outer(y, p["w"], p["u"]) + np.sum(inner(y, p["w"]))


@pytest.mark.parametrize(("n", "m"), [(2, 3), (3, 3), (1, 3)])
def test_helpers_in_helpers_agree_with_differences(n, m):
    p = {"u": 0.5 * RNG.normal(size=(3, n)), "w": 0.5 * RNG.normal(size=(3, m))}
    v = {k: RNG.normal(size=np.shape(p[k])) for k in p}
    x, y = RNG.normal(size=(4, 3)), RNG.normal(size=(2, 3))

    found = srcad.grad(of_helpers_in_helpers)(p, x, y)

    want = slope(of_helpers_in_helpers, p, v, x, y)
    np.testing.assert_allclose(sum(np.sum(found[k] * v[k]) for k in p), want, rtol=1e-6)


SCALE = np.array([0.5, 1.5, 2.5])


def scaled(x, s):
    z = x * SCALE * s
    return np.sin(z) * np.cosh(0.1 * z) + np.tanh(z) * z


def of_a_global(x, y):
    return np.sum(scaled(x, 1.0)) + np.sum(scaled(y, 2.0) ** 2)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (1, 3), (3, 1), (1, 1)])
def test_lengths_of_a_global_array_are_not_assumed_of_another_call(n, m):
    assert_gradient(srcad.gradient, of_a_global, RNG.normal(size=n), RNG.normal(size=m))


@pytest.mark.parametrize(
    "second",
    [
        lambda f, x, y, v: srcad.hvp(f)(x, y, v),
        lambda f, x, y, v: srcad.hessian(f)(x, y) @ v,
        lambda f, x, y, v: srcad.grad(lambda x, y: srcad.grad(f)(x, y) @ v)(x, y),
        lambda f, x, y, v: srcad.jvp(srcad.grad(f), (x, y), (v, None))[1],
    ],
    ids=["hvp", "hessian", "grad of grad", "jvp of grad"],
)
@pytest.mark.parametrize(("n", "m"), [(3, 3), (3, 1), (1, 3)])
def test_second_derivatives_of_helpers_of_several_lengths(second, n, m):
    x, y, v = RNG.normal(size=n), RNG.normal(size=m), RNG.normal(size=n)

    def f(x, y):
        return of_broadcast_arguments(x, y, 0.5 * y)

    found = second(f, x, y, v)

    want = (srcad.grad(f)(x + 1e-6 * v, y) - srcad.grad(f)(x - 1e-6 * v, y)) / 2e-6
    np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-7)


def vector_of_parts(x, y):
    return np.concatenate([mixed(x, y), 2.0 * mixed(x, y[:1]), mixed(x[:1], y) * 0.5])


@pytest.mark.parametrize("mode", ["fwd", "rev"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_jacobians_of_helpers_of_several_lengths(mode, n):
    x, y = RNG.normal(size=n), RNG.normal(size=n)

    found = srcad.jacobian(vector_of_parts, mode=mode)(x, y)

    steps = 1e-6 * np.eye(n)
    want = [(vector_of_parts(x + h, y) - vector_of_parts(x - h, y)) / 2e-6 for h in steps]
    np.testing.assert_allclose(found, np.transpose(want), rtol=1e-6, atol=1e-8)
