# ruff: noqa: D103 - the primals are formulas
"""The problems in PyTorch, on the CPU in float64, eager, as its users write them.

``cholesky`` and ``seidel_2d`` are left out: their loops over entries would time nothing but the
overhead of an operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

torch.set_num_threads(1)

PRIMALS: dict[str, Callable[..., Any]] = {}


def primal(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register the PyTorch form of the problem of the same name."""
    PRIMALS[function.__name__] = function
    return function


def gradients(
    name: str, args: tuple[Any, ...], wrt: tuple[int, ...]
) -> Callable[[], tuple[Any, ...]] | None:
    """Return a function without arguments, or None if the problem has no PyTorch form."""
    if name not in PRIMALS:
        return None
    function = PRIMALS[name]
    given = [_tensor(arg, k in wrt) for k, arg in enumerate(args)]
    inputs = [given[k] for k in wrt]

    def run() -> tuple[Any, ...]:
        return torch.autograd.grad(function(*given), inputs)

    return run


def _tensor(value: Any, active: bool) -> Any:
    if active:
        return torch.tensor(value, dtype=torch.float64, requires_grad=True)
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


@primal
def rosenbrock(x, y):
    return (1.0 - x) ** 2 + 100.0 * (y - x**2) ** 2


@primal
def for1000(a, b):
    x = torch.tensor(0.1, dtype=torch.float64)
    for _ in range(1000):
        x = x + 0.01 * (a * x * (1.0 - x) - b * torch.sin(x))
    return x * x


@primal
def lse_loop(x):
    s = 0.0
    for entry in x.unbind():
        s = s + torch.exp(entry) * (1.0 + entry**2)
    return torch.log(s)


@primal
def jacobi_2d(A, B, T):
    def average(u):
        return 0.2 * (u[1:-1, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + u[2:, 1:-1] + u[:-2, 1:-1])

    A, B = A.clone(), B.clone()
    for _ in range(1, T):
        B[1:-1, 1:-1] = average(A)
        A[1:-1, 1:-1] = average(B)
    return torch.sum(A * A)


@primal
def gelu(x):
    y = torch.nn.functional.gelu(x, approximate="tanh")
    return torch.sum(y * y)


@primal
def softmax(x):
    p = torch.softmax(x, dim=-1)
    return torch.sum(p * p)


@primal
def mlp_tiny(W1, b1, W2, b2, X, Y):
    h = torch.tanh(X @ W1 + b1)
    return torch.nn.functional.mse_loss(h @ W2 + b2, Y)


@primal
def mlp(W1, b1, W2, b2, X, Y):
    h = torch.relu(X @ W1 + b1)
    return torch.nn.functional.cross_entropy(h @ W2 + b2, Y)


@primal
def gp_nll(theta, D2, y):
    scale, noise = torch.exp(theta[1]), torch.exp(theta[2])
    kernel = scale * torch.exp(-0.5 * D2 * torch.exp(-2.0 * theta[0]))
    L = torch.linalg.cholesky(kernel + noise * torch.eye(y.shape[0], dtype=y.dtype))
    z = torch.linalg.solve_triangular(L, y[:, None], upper=False)[:, 0]
    return 0.5 * (z @ z) + torch.sum(torch.log(torch.diagonal(L)))


@primal
def gmm(alphas, means, icf, x, gamma, m, constant, rows, columns):
    n, d = x.shape
    Q = torch.exp(icf[:, :d])
    Q_sums = torch.sum(icf[:, :d], dim=1)
    L = torch.zeros((icf.shape[0], d, d), dtype=icf.dtype)
    L[:, rows, columns] = icf[:, d:]
    centred = x[None, :, :] - means[:, None, :]
    q = centred * Q[:, None, :] + centred @ L.transpose(1, 2)
    inner = alphas[:, None] + Q_sums[:, None] - 0.5 * torch.sum(q * q, dim=2)
    lse = torch.logsumexp(inner, dim=0)
    norm = torch.sum(Q * Q) + torch.sum(icf[:, d:] * icf[:, d:])
    prior = 0.5 * gamma * gamma * norm - m * torch.sum(Q_sums)
    return constant + torch.sum(lse) - n * torch.logsumexp(alphas, dim=0) + prior


@primal
def lstm(main, extra, state, seq):
    H = state.shape[1]
    s = list(state.unbind())
    total = 0.0
    for t in range(seq.shape[0] - 1):
        x = seq[t] * extra[0]
        for i in range(0, len(s), 2):
            g = torch.cat((x, s[i], x, s[i])) * main[i] + main[i + 1]
            forget, keep, out = torch.sigmoid(g[: 3 * H]).chunk(3)
            c = s[i + 1] * forget + keep * torch.tanh(g[3 * H :])
            x = out * torch.tanh(c)
            s[i], s[i + 1] = x, c
        y = x * extra[1] + extra[2]
        y = y - torch.log(torch.sum(torch.exp(y)) + 2.0)
        total = total + torch.sum(seq[t + 1] * y)
    return -total / ((seq.shape[0] - 1) * H)
