# ruff: noqa: D103 - the primals and their adjoints are formulas
"""One formula over a whole array."""

from __future__ import annotations

import numpy as np

from benchmarks.problems.registry import problem


def gelu_by_hand(x):
    u = 0.7978845608028654 * (x + 0.044715 * x**3)
    t = np.tanh(u)
    a = 0.5 * x
    b = 1.0 + t
    y_bar = 2.0 * (a * b)
    u_bar = y_bar * a * (1.0 - t * t)
    v = 0.7978845608028654 * u_bar
    return (0.5 * (y_bar * b) + v + (0.044715 * v) * (3.0 * x**2),)


@problem(gelu_by_hand, lambda rng: (rng.normal(size=10_000),), (0,), 1.1)
def gelu(x):
    u = 0.7978845608028654 * (x + 0.044715 * x**3)
    y = 0.5 * x * (1.0 + np.tanh(u))
    return np.sum(y * y)


def softmax_by_hand(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    s = np.sum(e, axis=-1, keepdims=True)
    p = e / s
    p_bar = 2.0 * p
    return (p * (p_bar - np.sum(p_bar * p, axis=-1, keepdims=True)),)


@problem(softmax_by_hand, lambda rng: (rng.normal(size=(4, 4, 32, 32)),), (0,), 1.5)
def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    p = e / np.sum(e, axis=-1, keepdims=True)
    return np.sum(p * p)
