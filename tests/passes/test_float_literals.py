"""Constants of the reverse half are floats where they meet floats."""

import numpy as np

import srcad


def loss(x):
    h = np.tanh(3 * x)
    return np.mean(h * h) + np.sum(x**3)


def text_for(x):
    g = srcad.grad(loss)
    g(x)
    return g.source


def test_integer_literals_of_rules_emitted_as_floats():
    text = text_for(np.array([0.3, 0.7]))

    assert "(1.0 - " in text
    assert "6.0 * h" in text
    assert "np.tanh(3 * x)" in text  # what the user has written stays


def test_float_literals_bitwise_same_results():
    for dtype in (np.float32, np.float64):
        x = np.linspace(-1.0, 1.0, 7, dtype=dtype)
        h = np.tanh(3 * x)

        gradient = srcad.grad(loss)(x)

        want = 2 * h / h.size * (1 - h * h) * 3 + 3 * x * x
        assert gradient.dtype == dtype
        np.testing.assert_allclose(gradient, want, rtol=8 * np.finfo(dtype).eps)


def test_integers_stay_integers():
    def counts(x, n):
        return x * (n * 2 + 1)

    assert srcad.grad(counts)(0.5, 3) == 7.0
