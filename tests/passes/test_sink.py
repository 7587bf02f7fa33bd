"""What one arm alone reads is computed there; nothing is kept for its sake."""

from __future__ import annotations

import numpy as np

import srcad
from srcad.testing import check_grads

X = np.array([0.4, -0.3, 0.9, 1.2])
W = np.array([0.5, 1.5, 0.8, 1.0])


def largest(x, w):
    best = x[0]
    for k in range(1, len(x)):
        if x[k] * w[k] > best:
            best = x[k] * w[k]
    return best


def test_entries_are_read_where_they_are_needed() -> None:
    gradient = srcad.grad(largest, wrt=(0, 1))
    check_grads(largest, (X, W), wrt=(0, 1))

    text = gradient.inspect(X, W).adjoint_source

    code = [line for line in text.splitlines() if not line.strip().startswith("#")]
    backward = code[next(k for k, line in enumerate(code) if "x_bar" in line) :]
    tests = [k for k, line in enumerate(backward) if line.strip().startswith("if ")]
    reads = [k for k, line in enumerate(backward) if " w[k]" in line or " x[k]" in line]
    assert len(tests) == 1
    assert len(reads) == 2
    assert all(k > tests[0] for k in reads)


def read_before_it_is_written(x, c):
    y = x * 1.0
    total = 0.0
    for k in range(1, len(x)):
        if c[k] > 0.0:
            total = total + y[k - 1] * y[k]
        y[k] = np.sin(y[k]) * y[k - 1]
    return total + np.sum(y)


def test_no_array_is_copied_for_a_read_that_moved() -> None:
    check_grads(lambda x: read_before_it_is_written(x, W - 0.7), (X,))

    text = srcad.grad(read_before_it_is_written).inspect(X, W).adjoint_source

    assert "copy" not in text[text.index("reversed(") :]
