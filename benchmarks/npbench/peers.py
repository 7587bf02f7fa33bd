"""Twelve kernels in the form that autograd can differentiate: nothing is written into.

Needs the extra ``bench``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autograd
import autograd.numpy as np

from benchmarks.npbench.registry import KERNELS, WEIGHTS, Inputs, floating

PEERS: dict[str, Callable[..., Any]] = {}


def peer(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register what has the name and the inputs of a kernel, and returns its sum."""
    assert KERNELS[function.__name__].peer
    PEERS[function.__name__] = function
    return function


def gradient_by_peer(name: str, inputs: Inputs) -> Callable[..., tuple[Any, ...]]:
    """What computes the gradients by every floating-point input."""
    found: Callable[..., tuple[Any, ...]] = autograd.grad(PEERS[name], floating(inputs))
    return found


def weighted(array):
    """Sum an array with fixed weights."""
    return np.sum(WEIGHTS[: array.size].reshape(array.shape) * array)


# --------------------------------------------------------------------------------- stencils
@peer
def jacobi_1d(steps, A, B):
    """The margins never change, so each sweep joins them to a new inside."""
    for _ in range(1, steps):
        B = np.concatenate([B[:1], 0.33333 * (A[:-2] + A[1:-1] + A[2:]), B[-1:]])
        A = np.concatenate([A[:1], 0.33333 * (B[:-2] + B[1:-1] + B[2:]), A[-1:]])
    return weighted(A) + weighted(B)


def framed(inside, old):
    """A new inside within the margin of an old array."""
    middle = np.concatenate([old[1:-1, :1], inside, old[1:-1, -1:]], axis=1)
    return np.concatenate([old[:1], middle, old[-1:]])


def averaged(A):
    """The averages over a point and its four neighbours."""
    return 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])


@peer
def jacobi_2d(steps, A, B):
    """As in one dimension."""
    for _ in range(1, steps):
        B = framed(averaged(A), B)
        A = framed(averaged(B), A)
    return weighted(A) + weighted(B)


# --------------------------------------------------------------------------- linear algebra
@peer
def gemm(alpha, beta, C, A, B):
    """The formula."""
    return weighted(alpha * np.dot(A, B) + beta * C)


@peer
def gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    """The formulas."""
    A = A + np.outer(u1, v1) + np.outer(u2, v2)
    x = x + beta * np.dot(y, A) + z
    w = w + alpha * np.dot(A, x)
    return weighted(A) + weighted(x) + weighted(w)


@peer
def trisolv(L, x, b):
    """By the general solution."""
    return weighted(np.linalg.solve(np.tril(L), b))


@peer
def cholesky(A):
    """By the factorisation of the library."""
    factor = np.linalg.cholesky(np.tril(A) + np.tril(A, -1).T)
    return weighted(factor + np.triu(A, 1))


# ------------------------------------------------------------------------------- statistics
@peer
def correlation(M, float_n, data):
    """By one product, with ones on the diagonal."""
    data = (data - np.mean(data, axis=0)) / (np.sqrt(float_n) * np.std(data, axis=0))
    off_diagonal = 1.0 - np.eye(M)
    return weighted(np.dot(data.T, data) * off_diagonal + np.eye(M)) + weighted(data)


@peer
def covariance(M, float_n, data):
    """By one product."""
    data = data - np.mean(data, axis=0)
    return weighted(np.dot(data.T, data) / (float_n - 1.0)) + weighted(data)


@peer
def arc_distance(theta_1, phi_1, theta_2, phi_2):
    """The formula."""
    temp = (
        np.sin((theta_2 - theta_1) / 2) ** 2
        + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    )
    return weighted(2 * np.arctan2(np.sqrt(temp), np.sqrt(1 - temp)))


# --------------------------------------------------------------------------------- learning
def probabilities(x):
    """The softmax along the last axis."""
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


@peer
def softmax(x):
    """The formula."""
    return weighted(probabilities(x))


@peer
def mlp(x, w1, b1, w2, b2, w3, b3):
    """Layer by layer."""
    h1 = np.maximum(np.dot(x, w1) + b1, 0)
    h2 = np.maximum(np.dot(h1, w2) + b2, 0)
    return weighted(probabilities(np.dot(h2, w3) + b3))


# ---------------------------------------------------------------------------------- physics
def separations(pos):
    """The differences of the coordinates, and the sum of their squares."""
    d = [pos[:, k : k + 1].T - pos[:, k : k + 1] for k in range(3)]
    return d, d[0] ** 2 + d[1] ** 2 + d[2] ** 2


@peer
def nbody(mass, pos, vel, Nt, dt, G, softening):
    """Energies are collected in lists; a one on the diagonal keeps its root away from zero."""
    off_diagonal = 1.0 - np.eye(len(mass))

    def accelerations(pos):
        d, squares = separations(pos)
        inv_r3 = (squares + softening**2) ** -1.5
        return np.hstack([G * np.dot(x * inv_r3, mass) for x in d])

    def energies(pos, vel):
        _, squares = separations(pos)
        bound = np.triu(mass * mass.T / np.sqrt(squares + np.eye(len(mass))) * off_diagonal)
        return 0.5 * np.sum(mass * vel**2), -G * np.sum(bound)

    vel = vel - np.mean(mass * vel, axis=0) / np.mean(mass)
    found = [energies(pos, vel)]
    acc = accelerations(pos)
    for _ in range(Nt):
        vel = vel + acc * dt / 2.0
        pos = pos + vel * dt
        acc = accelerations(pos)
        vel = vel + acc * dt / 2.0
        found.append(energies(pos, vel))
    KE, PE = (np.array([pair[k] for pair in found]) for k in range(2))
    return weighted(KE) + weighted(PE) + weighted(pos) + weighted(vel)
