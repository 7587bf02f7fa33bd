# ruff: noqa: D103 - the primals and their adjoints are formulas
"""The likelihood of a Gaussian mixture with a Wishart prior, in the form of ADBench."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.problems.registry import problem


def _mixture(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[Any, ...]:
    alphas, means = rng.normal(size=k), rng.random((k, d))
    icf, x = rng.normal(size=(k, d + d * (d - 1) // 2)), rng.normal(size=(n, d))
    gamma, m = 1.0, 0
    below = [(i, j) for j in range(d) for i in range(j + 1, d)]  # column by column
    rows, columns = (np.array([pair[axis] for pair in below], np.int64) for axis in (0, 1))
    freedom = d + m + 1
    gammas = sum(math.lgamma(0.5 * freedom + 0.5 * (1 - j)) for j in range(1, d + 1))
    prior = freedom * d * math.log(gamma / math.sqrt(2)) - d * (d - 1) / 4.0 * math.log(math.pi)
    constant = -n * d * 0.5 * math.log(2 * math.pi) - k * (prior - gammas)
    return alphas, means, icf, x, gamma, m, constant, rows, columns


def gmm_by_hand(alphas, means, icf, x, gamma, m, constant, rows, columns):
    n, d = x.shape
    k = alphas.shape[0]
    Q = np.exp(icf[:, :d])
    Q_sums = np.sum(icf[:, :d], axis=1)
    L = np.zeros((k, d, d))
    L[:, rows, columns] = icf[:, d:]
    inner = np.empty((n, k))
    saved = []
    for j in range(k):
        centred = x - means[j]
        q = centred * Q[j] + centred @ L[j].T
        saved.append(q)
        inner[:, j] = alphas[j] + Q_sums[j] - 0.5 * np.sum(q * q, axis=1)
    e = np.exp(inner - np.max(inner, axis=1)[:, None])
    s = np.sum(e, axis=1)
    e_alpha = np.exp(alphas - np.max(alphas))
    Q_sums_bar = -m * np.ones(k)
    Q_bar = 0.5 * gamma * gamma * (2.0 * Q)
    icf_bar = np.zeros_like(icf)
    icf_bar[:, d:] += 0.5 * gamma * gamma * (2.0 * icf[:, d:])
    alphas_bar = -n * (e_alpha / np.sum(e_alpha))
    inner_bar = (1.0 / s)[:, None] * e
    L_bar = np.zeros_like(L)
    means_bar = np.zeros_like(means)
    for j in range(k - 1, -1, -1):
        q = saved.pop()
        centred = x - means[j]
        column_bar = inner_bar[:, j]
        t_bar = np.sum(column_bar)
        alphas_bar[j] += t_bar
        Q_sums_bar[j] += t_bar
        q_bar = (-0.5 * column_bar)[:, None] * (2.0 * q)
        Q_bar[j] += np.sum(q_bar * centred, axis=0)
        L_bar[j] += q_bar.T @ centred
        centred_bar = q_bar * Q[j] + q_bar @ L[j]
        means_bar[j] -= np.sum(centred_bar, axis=0)
    icf_bar[:, d:] += L_bar[:, rows, columns]
    icf_bar[:, :d] += Q_sums_bar[:, None]
    icf_bar[:, :d] += Q_bar * Q
    return alphas_bar, means_bar, icf_bar


@problem(
    gmm_by_hand,
    _mixture,
    {"1k_d2_K5": (1000, 2, 5), "1k_d10_K25": (1000, 10, 25)},
    (0, 1, 2),
)
def gmm(alphas, means, icf, x, gamma, m, constant, rows, columns):
    n = x.shape[0]
    d = x.shape[1]
    k = alphas.shape[0]
    Q = np.exp(icf[:, :d])
    Q_sums = np.sum(icf[:, :d], axis=1)
    L = np.zeros((k, d, d))
    L[:, rows, columns] = icf[:, d:]
    inner = np.empty((n, k))
    for j in range(k):
        centred = x - means[j]
        q = centred * Q[j] + centred @ L[j].T
        inner[:, j] = alphas[j] + Q_sums[j] - 0.5 * np.sum(q * q, axis=1)
    largest = np.max(inner, axis=1)
    lse = np.log(np.sum(np.exp(inner - largest[:, None]), axis=1)) + largest
    largest_alpha = np.max(alphas)
    lse_alpha = np.log(np.sum(np.exp(alphas - largest_alpha))) + largest_alpha
    norm = np.sum(Q * Q) + np.sum(icf[:, d:] * icf[:, d:])
    prior = 0.5 * gamma * gamma * norm - m * np.sum(Q_sums)
    return constant + np.sum(lse) - n * lse_alpha + prior
