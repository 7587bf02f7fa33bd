"""A loop over things that are known one by one beside things of which the call knows how many."""

import numpy as np
import pytest

from srcad import grad
from srcad.errors import MutationError
from tests.language import assert_program, named

WEIGHTS = (1.5, 2.0, 0.5)
X = np.array([0.5, 1.0, 2.0])


def tuple_first(x):
    s = 0.0
    for w, v in zip(WEIGHTS, x):
        s = s + w * v * v
    return s


def tuple_last(x):
    s = 0.0
    for v, w in zip(x, WEIGHTS):
        s = s + w * v * v
    return s


def given(weights, x):
    s = 0.0
    for k, (w, v) in enumerate(zip(weights, x)):
        s = s + k * w * v * v
    return s


def summed(x):
    return sum(w * v for w, v in zip(WEIGHTS, x))


def computed(x):
    total = 0.0
    for w, v in zip((1.0, x[0], x[-1] ** 2), x[1:]):
        total += w * v
    return total


def layers(params, x):
    s = 0.0
    for (w, b), v in zip(params, x):
        s = s + np.sum(w * v + b * b)
    return s


def named_parts(params, x):
    s = 0.0
    for (name, p), v in zip(params.items(), x):
        s = s + p * v * len(name)
    return s


def keys_of_a_dict(params, x):
    s = 0.0
    for name, v in zip(params, x):
        s = s + params[name] * v * v
    return s


def in_a_loop(x):
    s = 0.0
    for v in x:
        for w, u in zip(WEIGHTS, x):
            s = s + w * u * v
    return s


def mapped(x):
    return sum(map(lambda w, v: w * v * v, WEIGHTS, x))


def collected(x):
    return sum(dict(zip(("a", "b", "c"), x * x)).values())


def nothing(x):
    s = x[0]
    for w, v in zip((), x):
        s = s + w * v
    return s


PAIRS = ((np.ones(2), 1.0), (np.array([1.0, 3.0]), 2.0))
PROGRAMS = [
    *[(f, X[:n]) for f in (tuple_first, tuple_last, summed, in_a_loop, mapped) for n in (2, 3)],
    (tuple_first, np.append(X, 3.0)),
    (tuple_first, X.astype(np.float32)),
    (given, WEIGHTS, X),
    (given, (1, 2.0, np.float64(3.0)), X[:2]),
    (given, WEIGHTS, [1.0, 2.0]),
    (computed, X),
    (layers, PAIRS, X),
    (layers, PAIRS, X[:1]),
    (named_parts, {"a": 1.0, "bc": 2.0}, X),
    (keys_of_a_dict, {"a": 1.0, "bc": 2.0}, X),
    (collected, X),
    (nothing, X),
]


@pytest.mark.parametrize(**named(PROGRAMS))
def test_zip_of_tuple_with_dynamic_length_iterable(program):
    f, *args = program
    rough = any(getattr(a, "dtype", None) == np.float32 for a in args)
    if rough:
        np.testing.assert_allclose(grad(f)(*args), grad(f)(*[a.astype(float) for a in args]))
    else:
        assert_program(*program)


def test_zip_loop_target_written_in_place_rejected():
    def f(x):
        parts = (np.ones(2), np.zeros(2))
        for part, v in zip(parts, x):
            part += v * v
        return np.sum(parts[0])

    with pytest.raises(MutationError, match="cannot tell what this holds"):
        grad(f)(X)
