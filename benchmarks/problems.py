# ruff: noqa: D103 - the primals and their adjoints are formulas
"""Plain NumPy functions with a hand-written adjoint beside each: the measure of generated code.

The adjoints are straight: forward and reverse sweep line by line, nothing computed that the result
does not need, values that a loop overwrites kept in lists, no buffers reused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Problem:
    """A primal, its adjoint by hand, the arguments, and what is differentiated."""

    primal: Callable[..., Any]
    by_hand: Callable[..., Any]
    make: Callable[[np.random.Generator], tuple[Any, ...]]
    wrt: tuple[int, ...]
    limit: float | None = None


PROBLEMS: dict[str, Problem] = {}


def problem(
    by_hand: Callable[..., Any],
    make: Callable[..., Any],
    wrt: tuple[int, ...],
    limit: float | None = None,
) -> Any:
    """Register a primal."""

    def register(primal: Callable[..., Any]) -> Callable[..., Any]:
        PROBLEMS[primal.__name__] = Problem(primal, by_hand, make, wrt, limit)
        return primal

    return register


# --------------------------------------------------------------------------------- scalar code
def rosenbrock_by_hand(x, y):
    a = 1.0 - x
    b = y - x**2
    b_bar = 100.0 * (2.0 * b)
    x_bar = -b_bar * (2.0 * x)
    return x_bar - 2.0 * a, b_bar


@problem(rosenbrock_by_hand, lambda rng: (-1.2, 1.0), (0, 1))
def rosenbrock(x, y):
    return (1.0 - x) ** 2 + 100.0 * (y - x**2) ** 2


def for1000_by_hand(a, b):
    x = 0.1
    x_saved = []
    for _ in range(1000):
        x_saved.append(x)
        x = x + 0.01 * (a * x * (1.0 - x) - b * math.sin(x))
    x_bar, a_bar, b_bar = 2.0 * x, 0.0, 0.0
    for x in reversed(x_saved):
        t = 0.01 * x_bar
        rest = 1.0 - x
        a_bar += t * x * rest
        b_bar -= t * math.sin(x)
        x_bar = x_bar + t * a * rest - t * a * x - t * b * math.cos(x)
    return a_bar, b_bar


@problem(for1000_by_hand, lambda rng: (1.7, 0.4), (0, 1), 1.15)
def for1000(a, b):
    x = 0.1
    for _ in range(1000):
        x = x + 0.01 * (a * x * (1.0 - x) - b * math.sin(x))
    return x * x


def lse_loop_by_hand(x):
    n = x.shape[0]
    s = 0.0
    e_saved = []
    for i in range(n):
        e = math.exp(x[i])
        e_saved.append(e)
        s += e * (1.0 + x[i] ** 2)
    s_bar = 1.0 / s
    x_bar = np.zeros_like(x)
    for i in range(n - 1, -1, -1):
        e = e_saved[i]
        e_bar = s_bar * (1.0 + x[i] ** 2)
        x_bar[i] += s_bar * e * (2.0 * x[i])
        x_bar[i] += e_bar * e
    return (x_bar,)


@problem(lse_loop_by_hand, lambda rng: (rng.normal(size=1000),), (0,), 1.15)
def lse_loop(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += math.exp(x[i]) * (1.0 + x[i] ** 2)
    return math.log(s)


# ---------------------------------------------------------------------------------- array code
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


def _network(
    rng: np.random.Generator, batch: int, n_in: int, hidden: int, n_out: int
) -> tuple[Any, ...]:
    labels = np.eye(n_out)[rng.integers(0, n_out, batch)]
    return (
        rng.normal(size=(n_in, hidden)) / math.sqrt(n_in),
        rng.normal(size=hidden),
        rng.normal(size=(hidden, n_out)) / math.sqrt(hidden),
        rng.normal(size=n_out),
        rng.normal(size=(batch, n_in)),
        labels,
    )


def mlp_tiny_by_hand(W1, b1, W2, b2, X, Y):
    h = np.tanh(X @ W1 + b1)
    e = h @ W2 + b2 - Y
    e_bar = 2.0 * e / e.size
    b2_bar = np.sum(e_bar, axis=0)
    W2_bar = h.T @ e_bar
    a_bar = (e_bar @ W2.T) * (1.0 - h * h)
    return X.T @ a_bar, np.sum(a_bar, axis=0), W2_bar, b2_bar


@problem(mlp_tiny_by_hand, lambda rng: _network(rng, 8, 8, 16, 1), (0, 1, 2, 3), 1.15)
def mlp_tiny(W1, b1, W2, b2, X, Y):
    h = np.tanh(X @ W1 + b1)
    e = h @ W2 + b2 - Y
    return np.mean(e * e)


def mlp_by_hand(W1, b1, W2, b2, X, Y):
    a = X @ W1 + b1
    h = np.maximum(a, 0.0)
    z = h @ W2 + b2
    z = z - np.max(z, axis=1, keepdims=True)
    e = np.exp(z)
    s = np.sum(e, axis=1, keepdims=True)
    logp_bar = -Y / X.shape[0]
    s_bar = -np.sum(logp_bar, axis=1, keepdims=True) / s
    z_bar = logp_bar + s_bar * e
    b2_bar = np.sum(z_bar, axis=0)
    W2_bar = h.T @ z_bar
    a_bar = (z_bar @ W2.T) * (a > 0.0)
    return X.T @ a_bar, np.sum(a_bar, axis=0), W2_bar, b2_bar


@problem(mlp_by_hand, lambda rng: _network(rng, 64, 784, 128, 10), (0, 1, 2, 3), 1.1)
def mlp(W1, b1, W2, b2, X, Y):
    h = np.maximum(X @ W1 + b1, 0.0)
    z = h @ W2 + b2
    z = z - np.max(z, axis=1, keepdims=True)
    logp = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.sum(Y * logp) / X.shape[0]


def _process(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    x = np.sort(rng.uniform(0.0, 10.0, n))
    y = np.sin(x) + 0.1 * rng.normal(size=n)
    return np.array([0.1, 0.2, -3.0]), (x[:, None] - x[None, :]) ** 2, y


def gp_nll_by_hand(theta, D2, y):
    n = y.shape[0]
    scale, inverse, noise = np.exp(theta[1]), np.exp(-2.0 * theta[0]), np.exp(theta[2])
    E = np.exp(-0.5 * D2 * inverse)
    L = np.linalg.cholesky(scale * E + noise * np.eye(n))
    z = np.linalg.solve(L, y)
    w = np.linalg.solve(L.T, z)
    L_bar = -np.outer(w, z)
    L_bar[np.diag_indices(n)] += 1.0 / np.diag(L)
    P = np.tril(L.T @ L_bar)
    P[np.diag_indices(n)] *= 0.5
    S = np.linalg.solve(L.T, np.linalg.solve(L.T, P.T).T)
    K_bar = 0.5 * (S + S.T)
    E_bar = scale * K_bar
    theta_bar = np.zeros_like(theta)
    theta_bar[0] = np.sum(E_bar * E * (-0.5 * D2)) * (-2.0 * inverse)
    theta_bar[1] = np.sum(K_bar * E) * scale
    theta_bar[2] = np.trace(K_bar) * noise
    return (theta_bar,)


@problem(gp_nll_by_hand, lambda rng: _process(rng, 200), (0,), 1.1)
def gp_nll(theta, D2, y):
    n = y.shape[0]
    K = np.exp(theta[1]) * np.exp(-0.5 * D2 * np.exp(-2.0 * theta[0])) + np.exp(theta[2]) * np.eye(
        n
    )
    L = np.linalg.cholesky(K)
    z = np.linalg.solve(L, y)
    return 0.5 * (z @ z) + np.sum(np.log(np.diag(L)))


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
