# ruff: noqa: D103 - the primals and their adjoints are formulas
"""Loops over the entries of arrays, most of which they write."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.problems.registry import problem


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
        e = e_saved.pop()
        e_bar = s_bar * (1.0 + x[i] ** 2)
        x_bar[i] += s_bar * e * (2.0 * x[i])
        x_bar[i] += e_bar * e
    return (x_bar,)


@problem(
    lse_loop_by_hand,
    lambda rng, n: (rng.normal(size=n),),
    {"n=100": (100,), "n=1000": (1000,), "n=10000": (10_000,)},
    (0,),
    {"n=1000": 1.15},
)
def lse_loop(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += math.exp(x[i]) * (1.0 + x[i] ** 2)
    return math.log(s)


# -------------------------------------------------------------------------------------- stencils
def jacobi_2d_by_hand(A, B, T):
    A, B = A.copy(), B.copy()
    for _ in range(1, T):  # linear: nothing is saved
        B[1:-1, 1:-1] = 0.2 * _cross(A)
        A[1:-1, 1:-1] = 0.2 * _cross(B)
    A_bar = 2.0 * A
    B_bar = np.zeros_like(B)
    for _ in range(1, T):
        _cross_back(A_bar, B_bar)
        _cross_back(B_bar, A_bar)
    return A_bar, B_bar


def _cross(u):
    return u[1:-1, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + u[2:, 1:-1] + u[:-2, 1:-1]


def _cross_back(v_bar, u_bar):
    """The adjoint of writing the mean of five neighbours in `u` inside `v`."""
    t_bar = 0.2 * v_bar[1:-1, 1:-1]
    v_bar[1:-1, 1:-1] = 0.0
    u_bar[1:-1, 1:-1] += t_bar
    u_bar[1:-1, :-2] += t_bar
    u_bar[1:-1, 2:] += t_bar
    u_bar[2:, 1:-1] += t_bar
    u_bar[:-2, 1:-1] += t_bar


@problem(
    jacobi_2d_by_hand,
    lambda rng, n, steps: (rng.normal(size=(n, n)), rng.normal(size=(n, n)), steps),
    {"N30_T20": (30, 20), "N150_T50": (150, 50)},
    (0, 1),
)
def jacobi_2d(A, B, T):
    A = A.copy()
    B = B.copy()
    for _ in range(1, T):
        B[1:-1, 1:-1] = 0.2 * (
            A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]
        )
        A[1:-1, 1:-1] = 0.2 * (
            B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1]
        )
    return np.sum(A * A)


def seidel_2d_by_hand(A, T):
    n = A.shape[0]
    A_bar = 2.0 * _swept(A, T)
    for _ in range(T):
        for i in range(n - 2, 0, -1):
            for j in range(n - 2, 0, -1):
                t_bar = A_bar[i, j] / 9.0
                A_bar[i, j] = 0.0
                A_bar[i - 1, j - 1] += t_bar
                A_bar[i - 1, j] += t_bar
                A_bar[i - 1, j + 1] += t_bar
                A_bar[i, j - 1] += t_bar
                A_bar[i, j] += t_bar
                A_bar[i, j + 1] += t_bar
                A_bar[i + 1, j - 1] += t_bar
                A_bar[i + 1, j] += t_bar
                A_bar[i + 1, j + 1] += t_bar
    return (A_bar,)


def _swept(A, T):
    A = A.copy()
    n = A.shape[0]
    for _ in range(T):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = (
                    A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
                    + A[i, j - 1] + A[i, j] + A[i, j + 1]
                    + A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                ) / 9.0  # fmt: skip
    return A


@problem(
    seidel_2d_by_hand,
    lambda rng, n, steps: (rng.normal(size=(n, n)), steps),
    {"N12_T4": (12, 4), "N50_T8": (50, 8)},
    (0,),
)
def seidel_2d(A, T):
    A = A.copy()
    n = A.shape[0]
    for _ in range(T):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = (
                    A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
                    + A[i, j - 1] + A[i, j] + A[i, j + 1]
                    + A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                ) / 9.0  # fmt: skip
    return np.sum(A * A)
