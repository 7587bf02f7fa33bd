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


@problem(
    gelu_by_hand,
    lambda rng, n: (rng.normal(size=n),),
    {"n=1e4": (10_000,), "n=1e6": (1_000_000,)},
    (0,),
    {"n=1e4": 1.1},
)
def gelu(x):
    u = 0.7978845608028654 * (x + 0.044715 * x**3)
    y = 0.5 * x * (1.0 + np.tanh(u))
    return np.sum(y * y)


def softmax_by_hand(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    s = np.sum(e, axis=-1, keepdims=True)
    p = e / s
    p_bar = 2.0 * p
    e_bar = p_bar / s
    s_bar = -np.sum(p_bar * p / s, axis=-1, keepdims=True)
    e_bar = e_bar + s_bar
    return (e_bar * e,)


@problem(
    softmax_by_hand,
    lambda rng, *shape: (rng.normal(size=shape),),
    {"4x4x32x32": (4, 4, 32, 32), "16x16x64x64": (16, 16, 64, 64)},
    (0,),
    {"4x4x32x32": 1.5},
)
def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    p = e / np.sum(e, axis=-1, keepdims=True)
    return np.sum(p * p)
