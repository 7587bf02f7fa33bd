# ruff: noqa: D103 - the primals and their adjoints are formulas
"""Networks, a mixture and a process: models with their loss."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.problems.registry import problem


def _regression(
    rng: np.random.Generator, batch: int, n_in: int, hidden: int, n_out: int
) -> tuple[Any, ...]:
    return (
        rng.normal(size=(n_in, hidden)),
        rng.normal(size=hidden),
        rng.normal(size=(hidden, n_out)),
        rng.normal(size=n_out),
        rng.normal(size=(batch, n_in)),
        rng.normal(size=(batch, n_out)),
    )


def mlp_tiny_by_hand(W1, b1, W2, b2, X, Y):
    h = np.tanh(X @ W1 + b1)
    e = h @ W2 + b2 - Y
    e_bar = (1.0 / e.size) * (2.0 * e)
    b2_bar = np.sum(e_bar, axis=0)
    W2_bar = h.T @ e_bar
    a_bar = (e_bar @ W2.T) * (1.0 - h * h)
    return X.T @ a_bar, np.sum(a_bar, axis=0), W2_bar, b2_bar


@problem(
    mlp_tiny_by_hand,
    _regression,
    {"8x8-16-1": (8, 8, 16, 1)},
    (0, 1, 2, 3),
    {"8x8-16-1": 1.15},
)
def mlp_tiny(W1, b1, W2, b2, X, Y):
    h = np.tanh(X @ W1 + b1)
    e = h @ W2 + b2 - Y
    return np.mean(e * e)


def _classification(
    rng: np.random.Generator, batch: int, n_in: int, hidden: int, n_out: int
) -> tuple[Any, ...]:
    X = rng.normal(size=(batch, n_in))
    labels = np.eye(n_out)[rng.integers(0, n_out, batch)]
    return (
        rng.normal(size=(n_in, hidden)) / math.sqrt(n_in),
        np.zeros(hidden),
        rng.normal(size=(hidden, n_out)) / math.sqrt(hidden),
        np.zeros(n_out),
        X,
        labels,
    )


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


@problem(
    mlp_by_hand,
    _classification,
    {"64x784-128-10": (64, 784, 128, 10)},
    (0, 1, 2, 3),
    {"64x784-128-10": 1.1},
)
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
    L_bar = np.diag(1.0 / np.diag(L)) - np.outer(w, z)
    P = np.tril(L.T @ L_bar)
    P = P - 0.5 * np.diag(np.diag(P))
    S = np.linalg.solve(L.T, np.ascontiguousarray(np.linalg.solve(L.T, P.T).T))
    K_bar = 0.5 * (S + S.T)
    E_bar = scale * K_bar
    theta_bar = np.zeros_like(theta)
    theta_bar[0] = np.sum(E_bar * E * (-0.5 * D2)) * (-2.0 * inverse)
    theta_bar[1] = np.sum(K_bar * E) * scale
    theta_bar[2] = np.sum(np.diag(K_bar)) * noise
    return (theta_bar,)


@problem(gp_nll_by_hand, _process, {"n=50": (50,), "n=200": (200,)}, (0,), {"n=200": 1.1})
def gp_nll(theta, D2, y):
    n = y.shape[0]
    K = np.exp(theta[1]) * np.exp(-0.5 * D2 * np.exp(-2.0 * theta[0])) + np.exp(theta[2]) * np.eye(
        n
    )
    L = np.linalg.cholesky(K)
    z = np.linalg.solve(L, y)
    return 0.5 * (z @ z) + np.sum(np.log(np.diag(L)))
