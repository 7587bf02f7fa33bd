"""Gradients by objects, against differences and against the same functions of plain arrays."""

import copy

import numpy as np
import pytest

import srcad
from srcad.arguments.leaves import leaf_at, leaves, with_leaf
from tests.marks import named_some, some
from tests.programs.objects import PROGRAMS

_ALWAYS = "mlp bodies kalman frozen shapes tree mixed setter"


def directions(args, rng):
    """A random direction for every float in the arguments."""
    return [
        (k, steps, rng.normal(size=np.shape(leaf)))
        for k, arg in enumerate(args)
        for steps, leaf in leaves(arg)
    ]


def moved(args, along, by):
    """The arguments, a step along a direction away."""
    args = list(copy.deepcopy(args))
    for k, steps, dot in along:
        leaf = leaf_at(args[k], steps)
        new = leaf + by * dot
        args[k] = with_leaf(
            args[k],
            steps,
            np.asarray(new, leaf.dtype) if isinstance(leaf, np.ndarray) else type(leaf)(new),
        )
    return args


def flat(value):
    """All floats in a value, one after the other."""
    return np.concatenate([np.ravel(leaf) for _, leaf in leaves(value)])


@pytest.mark.parametrize("name", named_some(PROGRAMS, _ALWAYS.split()))
def test_gradients_by_objects_agree_with_differences(name, rng):
    f, args = PROGRAMS[name]()
    want, before = f(*copy.deepcopy(args)), flat(list(args))

    value, back = srcad.pullback(f, *args)
    gradients = back(1.0)

    along, h = directions(args, rng), 1e-3 if name == "mixed" else 1e-5
    slope = sum(np.sum(leaf_at(gradients[k], steps) * dot) for k, steps, dot in along)
    difference = (f(*moved(args, along, h)) - f(*moved(args, along, -h))) / (2 * h)
    assert value == want
    assert np.array_equal(flat(list(args)), before)
    assert np.isclose(slope, difference, rtol=2e-4 if name == "mixed" else 1e-6, atol=1e-7)


@pytest.mark.parametrize("name", named_some(PROGRAMS, ["mlp", "gp", "frozen", "tree"]))
def test_tangents_of_objects_agree_with_gradients(name, rng):
    f, args = PROGRAMS[name]()
    gradients = srcad.gradient(f, *args)
    dots = [g if any(True for _ in leaves(a)) else None for g, a in zip(gradients, args)]

    _, y_dot = srcad.jvp(f, args, dots)

    squares = sum(np.sum(np.square(leaf)) for _, leaf in leaves(gradients))
    assert np.isclose(y_dot, squares, rtol=1e-5)


# ----------------------------------------------------------- the same functions of plain arrays
def flat_mlp(W1, b1, W2, b2, temp, x, y):
    h = np.tanh(np.maximum(x @ W1.T + b1, 0) @ W2.T + b2) / temp
    h = h - np.max(h, axis=1, keepdims=True)
    logp = h - np.log(np.sum(np.exp(h), axis=1, keepdims=True))
    return -np.mean(logp[np.arange(len(y)), y])


def flat_rnn(Wx, Wh, b, W, c, h, xs, ys):
    rows = []
    for x in xs:
        h = np.tanh(Wx @ x + Wh @ h + b)
        rows.append(h @ W.T + c)
    return np.mean((np.stack(rows) - ys) ** 2)


def flat_kalman(F, H, logq, logr, x, P, zs):
    total = 0.0
    for z in zs:
        x, P = F @ x, F @ P @ F.T + np.exp(logq) * np.eye(2)
        S = H @ P @ H.T + np.exp(logr) * np.eye(1)
        K = P @ H.T @ np.linalg.inv(S)
        r = z - H @ x
        x, P = x + K @ r, (np.eye(2) - K @ H) @ P
        total += 0.5 * (r @ np.linalg.solve(S, r) + np.log(np.linalg.det(S)))
    return total


def flat_gp(l1, s1, l2, s2, s, X, y):
    d = X[:, None] - X[None]
    K = s1**2 * np.exp(-0.5 * (d / l1) ** 2) * (s2**2 * np.exp(-0.5 * (d / l2) ** 2))
    K = K + s**2 * np.eye(len(X))
    L = np.linalg.cholesky(K)
    return 0.5 * y @ np.linalg.solve(K, y) + np.sum(np.log(np.diag(L)))


def flat_chain(k, x, v, dt):
    x, v = x.copy(), v.copy()
    for _ in range(4):
        f = -k * x
        f[1:] += k * (x[:-1] - x[1:])
        v += dt * f
        x += dt * v
    return 0.5 * np.sum(v**2) + 0.5 * k * np.sum(x**2)


@pytest.mark.parametrize("other", some([flat_mlp, flat_kalman, flat_rnn, flat_gp, flat_chain], 2))
def test_an_object_has_the_gradients_of_its_arrays(other):
    """Each attribute has the gradient that it has as an argument of its own."""
    f, (model, *rest) = PROGRAMS[other.__name__.removeprefix("flat_")]()
    parts = [leaf for _, leaf in leaves(model)]

    g = srcad.grad(f)(model, *rest)
    want = srcad.grad(other, wrt=tuple(range(len(parts))))(*parts, *rest)

    assert other(*parts, *rest) == pytest.approx(f(copy.deepcopy(model), *rest), rel=1e-14)
    for (_, found), expected in zip(leaves(g), want, strict=True):
        assert np.allclose(found, expected, rtol=1e-10, atol=1e-13)
