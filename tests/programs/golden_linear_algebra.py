"""Functions of linear algebra whose gradients stand in ``tests/golden/linear_algebra``."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve


def layer_norm(x, gain, bias, target, eps=1e-5):
    """Half the squared error of a layer norm of the rows of `x`."""
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.var(x, axis=-1, keepdims=True)
    y = gain * (x - mean) / np.sqrt(variance + eps) + bias
    return 0.5 * np.sum((y - target) ** 2)


def gaussian_process(log_scale, log_noise, x, y):
    """The negative log likelihood of `y` at points `x`, with a squared exponential kernel."""
    scaled = x / np.exp(log_scale)
    squared = np.subtract.outer(scaled, scaled) ** 2
    K = np.exp(-0.5 * squared) + np.exp(2 * log_noise) * np.eye(x.size)
    factor = cho_factor(K, lower=True)
    alpha = cho_solve(factor, y)
    return 0.5 * (y @ alpha) + np.sum(np.log(np.diag(factor[0])))


def kalman_step(mean, P, F, Q, H, R, z):
    """The negative log likelihood of a measurement `z` after one prediction."""
    mean = F @ mean
    P = F @ P @ F.T + Q
    S = H @ P @ H.T + R
    residual = z - H @ mean
    _, log_det = np.linalg.slogdet(S)
    return 0.5 * (residual @ np.linalg.solve(S, residual) + log_det)
