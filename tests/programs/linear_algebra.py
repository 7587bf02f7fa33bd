"""Programs of linear algebra as people write them with NumPy and SciPy, and their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

RNG = np.random.default_rng(11)
X = RNG.normal(size=(8, 2))
X_NEW = RNG.normal(size=(3, 2))
Y = RNG.normal(size=8)
TIMES = np.linspace(0.0, 2.0, 7)
SERIES = RNG.normal(size=(6, 1))
PANEL = RNG.normal(size=(5, 3))
LABELS = (0, 1, 1, 2, 0, 2, 1)
MASSES = np.array([[2.0, 0.3, 0.0], [0.3, 1.5, 0.2], [0.0, 0.2, 1.0]])
STIFFNESS = np.array([[4.0, -1.0, 0.0], [-1.0, 3.0, -2.0], [0.0, -2.0, 6.0]])
POINTS = RNG.normal(size=(6, 3))


def squared_exponential(a, b, log_scale):
    gaps = a[:, None, :] - b[None, :, :]
    return np.exp(-0.5 * np.sum(gaps**2, axis=-1) * np.exp(-2.0 * log_scale))


def gaussian_process_likelihood(log_scale, log_noise):
    k = squared_exponential(X, X, log_scale) + np.exp(2.0 * log_noise) * np.eye(len(X))
    factor = linalg.cho_factor(k, lower=True)
    alpha = linalg.cho_solve(factor, Y)
    return 0.5 * Y @ alpha + np.sum(np.log(np.diag(factor[0])))


def gaussian_process_prediction(log_scale, log_noise, y):
    k = squared_exponential(X, X, log_scale) + np.exp(2.0 * log_noise) * np.eye(len(X))
    lower = linalg.cholesky(k, lower=True)
    across = squared_exponential(X_NEW, X, log_scale)
    z = linalg.solve_triangular(lower, y, lower=True)
    v = linalg.solve_triangular(lower, across.T, lower=True)
    mean = v.T @ z
    variance = 1.0 - np.sum(v**2, axis=0)
    return np.sum(mean**2) + np.sum(np.log(variance))


def kalman_filter(f, h, log_q, log_r):
    n = len(f)
    x, p = np.zeros(n), np.eye(n)
    total = 0.0
    for z in SERIES:
        x = f @ x
        p = f @ p @ f.T + np.diag(np.exp(log_q))
        s = h @ p @ h.T + np.exp(log_r) * np.eye(len(h))
        gain = linalg.solve(s, h @ p, assume_a="pos").T
        residual = z - h @ x
        x = x + gain @ residual
        p = p - gain @ h @ p
        total += residual @ linalg.solve(s, residual, assume_a="pos") + np.linalg.slogdet(s)[1]
    return 0.5 * total


def markov_chain_in_continuous_time(log_rates):
    rates = np.exp(log_rates) * (1.0 - np.eye(3))
    generator = rates - np.diag(np.sum(rates, axis=1))
    total = 0.0
    for k in range(1, len(LABELS)):
        step = linalg.expm(generator * 0.3 * k)
        total -= np.log(step[LABELS[k - 1], LABELS[k]])
    return total


def regulator_cost(a, b, log_q, log_r):
    q, r = np.diag(np.exp(log_q)), np.diag(np.exp(log_r))
    p = linalg.solve_discrete_are(a, b, q, r)
    gain = linalg.solve(r + b.T @ p @ b, b.T @ p @ a)
    return np.trace(p) + np.sum(gain**2)


def ridge_regression(x, log_penalty):
    n = x.shape[1]
    design = np.vstack([x, np.exp(0.5 * log_penalty) * np.eye(n)])
    target = np.concatenate([Y, np.zeros(n)])
    beta = linalg.lstsq(design, target)[0]
    return np.sum((Y - x @ beta) ** 2) + np.sum(np.abs(beta))


def principal_components_by_svd(data):
    centred = data - data.mean(axis=0)
    _, s, vt = np.linalg.svd(centred, full_matrices=False)
    explained = s**2 / np.sum(s**2)
    scores = centred @ vt[:2].T
    return -np.sum(explained * np.log(explained)) + np.sum(scores**4)


def principal_components_by_eigh(data):
    centred = data - data.mean(axis=0)
    w, v = linalg.eigh(centred.T @ centred / (len(data) - 1))
    whitened = centred @ v / np.sqrt(w)
    return np.sum(whitened**4) + np.log(w[-1] / w[0])


def matrix_normal_likelihood(mean, rows, columns):
    u = rows @ rows.T + np.eye(len(rows))
    v = columns @ columns.T + np.eye(len(columns))
    residual = PANEL - mean
    inner = np.linalg.multi_dot([np.linalg.inv(v), residual.T, np.linalg.inv(u), residual])
    n, p = PANEL.shape
    return 0.5 * (np.trace(inner) + n * np.linalg.slogdet(v)[1] + p * np.linalg.slogdet(u)[1])


def stationary_process(log_scale, log_noise):
    column = np.exp(-np.abs(TIMES - TIMES[0]) / np.exp(log_scale))
    k = linalg.toeplitz(column) + np.exp(log_noise) * np.eye(len(TIMES))
    lower = linalg.cholesky(k, lower=True)
    z = linalg.solve_triangular(lower, np.sin(TIMES), lower=True)
    return 0.5 * z @ z + np.sum(np.log(np.diag(lower)))


def procrustes_distance(shape):
    a = shape - shape.mean(axis=0)
    b = POINTS - POINTS.mean(axis=0)
    a, b = a / linalg.norm(a), b / linalg.norm(b)
    u, s, vt = linalg.svd(a.T @ b)
    return linalg.norm(a @ (u @ vt) * np.sum(s) - b) ** 2


def vibration(stiffness, masses):
    squares, modes = linalg.eigh(stiffness, masses)
    participation = (modes.T @ masses @ np.ones(3)) ** 2
    return np.sum(np.sqrt(squares) * participation)


def steady_state_covariance(a, noise):
    p = linalg.solve_discrete_lyapunov(a, noise @ noise.T)
    return np.log(linalg.det(p)) + np.trace(linalg.sqrtm(p))


def implicit_diffusion(conductivity, start):
    n = len(start)
    off = -conductivity[1:-1]
    band = np.zeros((3, n))
    band[0, 1:] = off
    band[1] = 1.0 + conductivity[:-1] + conductivity[1:]
    band[2, :-1] = off
    u = start
    for _ in range(4):
        u = linalg.solve_banded((1, 1), band, u)
    return np.sum(u**2)


PROGRAMS: list[tuple[Any, tuple[Any, ...]]] = [
    (gaussian_process_likelihood, (0.2, -1.0)),
    (gaussian_process_prediction, (0.2, -1.0, Y)),
    (kalman_filter, (np.array([[0.9, 0.2], [-0.1, 0.8]]), np.array([[1.0, 0.3]]),
                     np.array([-1.0, -2.0]), -0.5)),
    (markov_chain_in_continuous_time, (0.3 * RNG.normal(size=(3, 3)),)),
    (regulator_cost, (np.array([[1.1, 0.3], [0.0, 0.9]]), np.array([[0.2], [1.0]]),
                      np.array([0.1, -0.3]), np.array([0.2]))),
    (ridge_regression, (X, -0.7)),
    (principal_components_by_svd, (PANEL,)),
    (principal_components_by_eigh, (PANEL,)),
    (matrix_normal_likelihood, (0.1 * PANEL, RNG.normal(size=(5, 5)), RNG.normal(size=(3, 3)))),
    (stationary_process, (0.3, -1.5)),
    (procrustes_distance, (RNG.normal(size=(6, 3)),)),
    (vibration, (STIFFNESS, MASSES)),
    (steady_state_covariance, (np.array([[0.5, 0.2], [-0.3, 0.6]]), RNG.normal(size=(2, 2)))),
    (implicit_diffusion, (np.array([0.3, 0.5, 0.2, 0.8, 0.4, 0.6]), np.arange(5.0))),
]  # fmt: skip
