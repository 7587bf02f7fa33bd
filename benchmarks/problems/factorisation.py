# ruff: noqa: D103 - the primals and their adjoints are formulas
"""A factorisation in place, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.problems.registry import problem


def _positive_definite(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    M = rng.normal(size=(n, n))
    return (M @ M.T / n + 2.0 * np.eye(n),)


def _factorised(A):
    A = A.copy()
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])
    return A


def cholesky_by_hand(A):
    L = _factorised(A)
    L_bar = np.ones_like(L)
    for i in range(L.shape[0] - 1, 0, -1):
        L_bar[i, i] = L_bar[i, i] * 0.5 / L[i, i]
        t_bar = L_bar[i, i]
        L_bar[i, :i] -= t_bar * L[i, :i]
        L_bar[i, :i] -= t_bar * L[i, :i]
        for j in range(i - 1, -1, -1):
            t_bar = L_bar[i, j] / L[j, j]
            L_bar[j, j] -= t_bar * L[i, j]
            L_bar[i, j] = t_bar
            L_bar[i, :j] -= t_bar * L[j, :j]
            L_bar[j, :j] -= t_bar * L[i, :j]
    L_bar[0, 0] = L_bar[0, 0] * 0.5 / L[0, 0]
    return (L_bar,)


@problem(cholesky_by_hand, _positive_definite, {"N=20": (20,), "N=60": (60,)}, (0,))
def cholesky(A):
    A = A.copy()
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])
    return np.sum(A)
