"""The pair of a pullback: what is saved, and for what."""

from __future__ import annotations

import numpy as np

from srcad.frontend.lower import lower_inline
from srcad.ir.evaluate import evaluate
from srcad.ir.verify import verify
from srcad.transforms.split import PullbackParts, split
from srcad.transforms.vjp import vjp
from tests.transforms.checking import lowered


def halves(f, *args) -> PullbackParts:
    found, _ = lowered(f, *args)
    return split(vjp(found.function, tuple(range(len(args))), lower_inline))


def test_primal_and_adjoint_functions_give_value_and_gradients():
    def f(a, x):
        h = np.tanh(a * x)
        return np.sum(h * x)

    parts = halves(f, 0.3, np.arange(3.0))
    y, *saved = evaluate(verify(parts.primal), 0.3, np.arange(3.0))
    a_bar, x_bar = evaluate(verify(parts.adjoint), *saved, 1.0)

    h = np.tanh(0.3 * np.arange(3.0))
    assert y == np.sum(h * np.arange(3.0))
    np.testing.assert_allclose(a_bar, np.sum((1 - h * h) * np.arange(3.0) ** 2))
    np.testing.assert_allclose(x_bar, h + 0.3 * np.arange(3.0) * (1 - h * h))


def test_linear_function_saves_only_shapes():
    parts = halves(lambda x: 3.0 * np.sum(x + 1.0), np.ones(4))

    assert [str(v.type) for v in parts.saved] == ["(int)"]


def test_residual_of_unexecuted_branch_is_none():
    def f(a, b):
        if a > b:
            t = np.sin(a)
            y = t * t
        else:
            y = b * b
        return y

    parts = halves(f, 1.0, 2.0)
    _, *saved = evaluate(verify(parts.primal), 1.0, 2.0)

    assert None in saved
    assert evaluate(verify(parts.adjoint), *saved, 1.0) == (0.0, 4.0)


def test_shape_of_unbound_variable_not_accessed():
    def f(a, b):
        if a > 1.0:
            y = np.sum(np.linspace(0.7, 1.4, 3) * b)
        else:
            y = np.tanh(b)
        return y

    parts = halves(f, 0.5, 2.0)
    _, *saved = evaluate(verify(parts.primal), 0.5, 2.0)

    np.testing.assert_allclose(evaluate(parts.adjoint, *saved, 1.0)[1], 1 - np.tanh(2.0) ** 2)


def test_while_loop_counter_not_saved():
    def f(x, n):
        s, i = 1.0, 0
        while i < n:
            s = s * x[i]
            i += 1
        return s

    parts = halves(f, np.array([2.0, 3.0, 5.0]), 3)
    _, *saved = evaluate(parts.primal, np.array([2.0, 3.0, 5.0]), 3)

    assert [1.0, 2.0, 6.0] in [s for s in saved if isinstance(s, list)]
    assert [0, 1, 2] not in [s for s in saved if isinstance(s, list)]
