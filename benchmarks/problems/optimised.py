# ruff: noqa: D103 - the adjoints are formulas
"""Hand-optimised NumPy adjoints of the problems: the lower bound of what NumPy code can reach.

``OPTIMISED[name](*args)`` allocates buffers for arguments of these shapes and returns a function
of the arguments.  The buffers are reused: elementwise chains are blocked to fit the cache, scalar
loops run over lists, and gradients of parameters are accumulated by one matrix product after the
loop.  The gradients that are returned are overwritten by the next call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

try:
    from scipy.linalg import blas, lapack
except ImportError:  # SciPy is optional: gp_nll is left out
    blas = lapack = None

Adjoint = Callable[..., tuple[Any, ...]]
OPTIMISED: dict[str, Callable[..., Adjoint]] = {}
BLOCK = 8192  # entries of a block of an elementwise chain


def optimised(prepare: Callable[..., Adjoint]) -> Callable[..., Adjoint]:
    """Register the preparation of an adjoint under the name of its problem."""
    OPTIMISED[prepare.__name__] = prepare
    return prepare


# ------------------------------------------------------------------------------------- scalars
@optimised
def rosenbrock(*_):
    def adjoint(x, y):
        b_bar = 200.0 * (y - x * x)
        return 2.0 * (x - 1.0 - x * b_bar), b_bar

    return adjoint


@optimised
def for1000(*_):
    def adjoint(a, b):
        sin, cos = math.sin, math.cos
        x = 0.1
        x_saved, sine_saved = [], []
        for _ in range(1000):
            sine = sin(x)
            x_saved.append(x)
            sine_saved.append(sine)
            x += 0.01 * (a * x * (1.0 - x) - b * sine)
        x_bar, a_bar, b_bar = 2.0 * x, 0.0, 0.0
        for x, sine in zip(reversed(x_saved), reversed(sine_saved), strict=True):
            t = 0.01 * x_bar
            a_bar += t * x * (1.0 - x)
            b_bar -= t * sine
            x_bar += t * (a * (1.0 - 2.0 * x) - b * cos(x))
        return a_bar, b_bar

    return adjoint


# --------------------------------------------------------------------------------------- loops
@optimised
def lse_loop(*_):
    def adjoint(x):
        exp = math.exp
        s = 0.0
        slopes = []
        for entry in x.tolist():
            e = exp(entry)
            term = e * (1.0 + entry * entry)
            s += term
            slopes.append(term + 2.0 * e * entry)
        x_bar = np.array(slopes)
        x_bar *= 1.0 / s
        return (x_bar,)

    return adjoint


def _neighbours(u):
    return u[1:-1, 1:-1], u[1:-1, :-2], u[1:-1, 2:], u[2:, 1:-1], u[:-2, 1:-1]


@optimised
def jacobi_2d(A, B, T):
    A, B, A_bar, B_bar = (np.empty_like(A) for _ in range(4))
    t = np.empty((A.shape[0] - 2, A.shape[1] - 2))
    of_A, of_B, of_A_bar, of_B_bar = (_neighbours(u) for u in (A, B, A_bar, B_bar))

    def adjoint(A_given, B_given, T):
        A[...] = A_given
        B[...] = B_given
        for _ in range(1, T):
            for source, target in ((of_A, of_B[0]), (of_B, of_A[0])):
                np.add(source[0], source[1], out=t)
                for view in source[2:]:
                    np.add(t, view, out=t)
                np.multiply(t, 0.2, out=target)
        np.multiply(A, 2.0, out=A_bar)
        B_bar.fill(0.0)
        for _ in range(1, T):
            for source, target in ((of_A_bar[0], of_B_bar), (of_B_bar[0], of_A_bar)):
                np.multiply(source, 0.2, out=t)
                source.fill(0.0)
                for view in target:
                    np.add(view, t, out=view)
        return A_bar, B_bar

    return adjoint


@optimised
def seidel_2d(*_):
    def adjoint(A, T):
        A = A.tolist()
        n = len(A)
        for _ in range(T):
            for i in range(1, n - 1):
                p, q, r = A[i - 1], A[i], A[i + 1]
                for j in range(1, n - 1):
                    q[j] = (
                        p[j - 1] + p[j] + p[j + 1]
                        + q[j - 1] + q[j] + q[j + 1]
                        + r[j - 1] + r[j] + r[j + 1]
                    ) / 9.0  # fmt: skip
        A_bar = (2.0 * np.array(A)).tolist()
        for _ in range(T):
            for i in range(n - 2, 0, -1):
                _average_back(A_bar[i - 1], A_bar[i], A_bar[i + 1], n)
        return (np.array(A_bar),)

    return adjoint


def _average_back(p, q, r, n):
    """The adjoint of one row of averages over nine cells."""
    for j in range(n - 2, 0, -1):
        t = q[j] / 9.0
        q[j] = t
        p[j - 1] += t
        p[j] += t
        p[j + 1] += t
        q[j - 1] += t
        q[j + 1] += t
        r[j - 1] += t
        r[j] += t
        r[j + 1] += t


# --------------------------------------------------------------------------------- elementwise
@optimised
def gelu(x):
    n = x.shape[0]
    square, tanh, factor = (np.empty(min(n, BLOCK)) for _ in range(3))
    x_bar = np.empty(n)
    scale, cubic = 0.7978845608028654, 0.7978845608028654 * 0.044715

    def adjoint(x):
        for start in range(0, n, BLOCK):
            block = x[start : start + BLOCK]
            target = x_bar[start : start + BLOCK]
            q, t, b = square[: block.size], tanh[: block.size], factor[: block.size]
            np.multiply(block, block, out=q)
            np.multiply(q, cubic, out=t)
            np.add(t, scale, out=t)
            np.multiply(t, block, out=t)
            np.tanh(t, out=t)
            np.add(t, 1.0, out=b)
            np.multiply(b, block, out=target)  # 2 y
            np.multiply(q, 3.0 * cubic, out=q)
            np.add(q, scale, out=q)  # du/dx
            np.multiply(t, t, out=t)
            np.subtract(1.0, t, out=t)
            np.multiply(t, q, out=t)
            np.multiply(t, block, out=t)
            np.add(t, b, out=t)  # 2 dy/dx
            np.multiply(t, 0.5, out=t)
            np.multiply(target, t, out=target)
        return (x_bar,)

    return adjoint


@optimised
def softmax(x):
    length = x.shape[-1]
    rows = x.size // length
    step = max(1, min(rows, 2 * BLOCK // length))
    p_buffer, q_buffer = np.empty((step, length)), np.empty((step, length))
    sums = np.empty((step, 1))
    x_bar = np.empty_like(x)

    def adjoint(x):
        flat, flat_bar = x.reshape(rows, length), x_bar.reshape(rows, length)
        for start in range(0, rows, step):
            block, target = flat[start : start + step], flat_bar[start : start + step]
            count = block.shape[0]
            p, q, s = p_buffer[:count], q_buffer[:count], sums[:count]
            np.max(block, axis=1, keepdims=True, out=s)
            np.subtract(block, s, out=p)
            np.exp(p, out=p)
            np.sum(p, axis=1, keepdims=True, out=s)
            np.divide(p, s, out=p)
            np.multiply(p, p, out=q)
            np.sum(q, axis=1, keepdims=True, out=s)
            np.subtract(p, s, out=q)
            np.multiply(p, 2.0, out=p)
            np.multiply(p, q, out=target)
        return (x_bar,)

    return adjoint


# -------------------------------------------------------------------------------------- models
@optimised
def mlp(W1, b1, W2, b2, X, Y):
    n, hidden, n_out = X.shape[0], W1.shape[1], W2.shape[1]
    h, h_bar, mask = np.empty((n, hidden)), np.empty((n, hidden)), np.empty((n, hidden), bool)
    z, s = np.empty((n, n_out)), np.empty((n, 1))
    W1_bar, b1_bar, W2_bar, b2_bar = (np.empty_like(v) for v in (W1, b1, W2, b2))

    def adjoint(W1, b1, W2, b2, X, Y):
        np.matmul(X, W1, out=h)
        np.add(h, b1, out=h)
        np.maximum(h, 0.0, out=h)
        np.matmul(h, W2, out=z)
        np.add(z, b2, out=z)
        np.max(z, axis=1, keepdims=True, out=s)
        np.subtract(z, s, out=z)
        np.exp(z, out=z)
        np.sum(z, axis=1, keepdims=True, out=s)
        np.divide(z, s, out=z)
        np.sum(Y, axis=1, keepdims=True, out=s)
        np.multiply(z, s, out=z)
        np.subtract(z, Y, out=z)
        np.multiply(z, 1.0 / n, out=z)  # z_bar
        np.sum(z, axis=0, out=b2_bar)
        np.matmul(h.T, z, out=W2_bar)
        np.matmul(z, W2.T, out=h_bar)
        np.greater(h, 0.0, out=mask)
        np.multiply(h_bar, mask, out=h_bar)
        np.sum(h_bar, axis=0, out=b1_bar)
        np.matmul(X.T, h_bar, out=W1_bar)
        return W1_bar, b1_bar, W2_bar, b2_bar

    return adjoint


@optimised
def mlp_tiny(W1, b1, W2, b2, X, Y):
    n, hidden, n_out = X.shape[0], W1.shape[1], W2.shape[1]
    h, h_bar, e = np.empty((n, hidden)), np.empty((n, hidden)), np.empty((n, n_out))
    W1_bar, b1_bar, W2_bar, b2_bar = (np.empty_like(v) for v in (W1, b1, W2, b2))
    add, matmul, multiply, subtract = np.add, np.matmul, np.multiply, np.subtract
    add_up, tanh = np.add.reduce, np.tanh
    scale = 2.0 / (n * n_out)

    def adjoint(W1, b1, W2, b2, X, Y):
        matmul(X, W1, out=h)
        add(h, b1, out=h)
        tanh(h, out=h)
        matmul(h, W2, out=e)
        add(e, b2, out=e)
        subtract(e, Y, out=e)
        multiply(e, scale, out=e)  # e_bar
        add_up(e, 0, out=b2_bar)
        matmul(h.T, e, out=W2_bar)
        matmul(e, W2.T, out=h_bar)
        multiply(h, h, out=h)
        subtract(1.0, h, out=h)
        multiply(h_bar, h, out=h_bar)
        add_up(h_bar, 0, out=b1_bar)
        matmul(X.T, h_bar, out=W1_bar)
        return W1_bar, b1_bar, W2_bar, b2_bar

    return adjoint


def gp_nll(theta, D2, y):
    """Factorise and solve with triangular routines of LAPACK and BLAS, in place.

    ``L.T w = z`` gives ``L.T @ L_bar = L.T @ diag(1 / L_ii) - outer(z, z)``, of which the lower
    triangle is needed.  ``S`` is used in traces with symmetric matrices only, so that it need not
    be made symmetric.
    """
    n = y.shape[0]
    E = np.empty((n, n))
    K, M = np.empty((n, n), order="F"), np.empty((n, n), order="F")
    diagonal = np.arange(n)

    def adjoint(theta, D2, y):
        inverse, scale, noise = np.exp(-2.0 * theta[0]), np.exp(theta[1]), np.exp(theta[2])
        np.multiply(D2, -0.5 * inverse, out=E)
        np.exp(E, out=E)
        np.multiply(E, scale, out=K)
        K[diagonal, diagonal] += noise
        L, _ = lapack.dpotrf(K, lower=1, overwrite_a=1, clean=1)
        z = blas.dtrsv(L, y, lower=1)
        np.multiply(z[:, None], -z, out=M)
        M[...] = np.tril(M)
        M[diagonal, diagonal] = 0.5 * (1.0 - z * z)
        S = blas.dtrsm(1.0, L, M, side=0, lower=1, trans_a=1, overwrite_b=1)
        S = blas.dtrsm(1.0, L, S, side=1, lower=1, trans_a=0, overwrite_b=1).T
        noise_bar = np.add.reduce(S[diagonal, diagonal])
        np.multiply(S, E, out=S)
        scale_bar = np.sum(S)
        inverse_bar = -0.5 * scale * np.vdot(S, D2)
        return (np.array([-2.0 * inverse * inverse_bar, scale_bar * scale, noise_bar * noise]),)

    return adjoint


if lapack is not None:
    optimised(gp_nll)


# ------------------------------------------------------------------------------------- mixture
@optimised
def gmm(alphas, means, icf, x, gamma, m, constant, rows, columns):
    n, d = x.shape
    k = alphas.shape[0]
    L = np.zeros((k, d, d))
    diagonal = np.arange(d)
    q, centred = np.empty((k, n, d)), np.empty((k, n, d))
    inner, largest, s = np.empty((k, n)), np.empty(n), np.empty(n)
    L_bar = np.empty((k, d, d))
    means_bar, icf_bar = np.empty_like(means), np.empty_like(icf)

    def adjoint(alphas, means, icf, x, gamma, m, constant, rows, columns):
        Q = np.exp(icf[:, :d])
        Q_sums = np.sum(icf[:, :d], axis=1)
        L[:, rows, columns] = icf[:, d:]
        L[:, diagonal, diagonal] = Q
        for j in range(k):
            np.subtract(x, means[j], out=centred[j])
            np.matmul(centred[j], L[j].T, out=q[j])
            np.einsum("nd,nd->n", q[j], q[j], out=inner[j])
        np.multiply(inner, -0.5, out=inner)
        np.add(inner, (alphas + Q_sums)[:, None], out=inner)
        np.max(inner, axis=0, out=largest)
        np.subtract(inner, largest, out=inner)
        np.exp(inner, out=inner)
        np.sum(inner, axis=0, out=s)
        np.divide(1.0, s, out=s)
        np.multiply(inner, s, out=inner)  # inner_bar
        e_alpha = np.exp(alphas - alphas.max())
        t_bar = np.sum(inner, axis=1)
        for j in range(k):
            np.multiply(q[j], inner[j][:, None], out=q[j])  # -q_bar
            np.matmul(q[j].T, centred[j], out=L_bar[j])  # -L_bar
            np.matmul(np.sum(q[j], axis=0), L[j], out=means_bar[j])
        Q_bar = gamma * gamma * Q - L_bar[:, diagonal, diagonal]
        np.multiply(Q_bar, Q, out=icf_bar[:, :d])
        icf_bar[:, :d] += (t_bar - m)[:, None]
        np.multiply(icf[:, d:], gamma * gamma, out=icf_bar[:, d:])
        icf_bar[:, d:] -= L_bar[:, rows, columns]
        return t_bar - n * (e_alpha / np.sum(e_alpha)), means_bar, icf_bar

    return adjoint


# ------------------------------------------------------------------------------------ sequence
class _Cells:
    """Buffers of the LSTM, for all layers and steps."""

    def __init__(self, layers: int, steps: int, hidden: int) -> None:
        self.joined, self.gates, self.gates_bar = (
            np.empty((layers, steps, 4 * hidden)) for _ in range(3)
        )
        self.cell, self.output = (np.empty((layers, steps + 1, hidden)) for _ in range(2))
        self.squashed = np.empty((layers, steps, hidden))
        self.first, self.first_bar, self.last_bar = (np.empty((steps, hidden)) for _ in range(3))


@optimised
def lstm(main, extra, state, seq):
    steps, hidden, layers = seq.shape[0] - 1, state.shape[1], state.shape[0] // 2
    cells = _Cells(layers, steps, hidden)

    def adjoint(main, extra, state, seq):
        np.multiply(seq[:steps], extra[0], out=cells.first)
        cells.output[:, 0] = state[::2]
        cells.cell[:, 0] = state[1::2]
        _lstm_forward(cells, main)
        main_bar, extra_bar = np.empty_like(main), np.empty_like(extra)
        # The read-out of all steps at once.
        last = cells.output[-1, 1:]
        e = last * extra[1]
        e += extra[2]
        np.exp(e, out=e)
        y_bar = seq[1:] * (-1.0 / (steps * hidden))
        e *= (y_bar.sum(axis=1) / (e.sum(axis=1) + 2.0))[:, None]
        y_bar -= e
        extra_bar[2] = y_bar.sum(axis=0)
        extra_bar[1] = np.einsum("th,th->h", y_bar, last)
        np.multiply(y_bar, extra[1], out=cells.last_bar)
        _lstm_reverse(cells, main, _local_derivatives(cells))
        for i in range(layers):
            main_bar[2 * i + 1] = cells.gates_bar[i].sum(axis=0)
            main_bar[2 * i] = np.einsum("th,th->h", cells.gates_bar[i], cells.joined[i])
        extra_bar[0] = np.einsum("th,th->h", cells.first_bar, seq[:steps])
        return main_bar, extra_bar

    return adjoint


def _lstm_forward(cells, main):
    layers, steps, hidden = cells.squashed.shape
    multiply, add, divide, exp, tanh = np.multiply, np.add, np.divide, np.exp, np.tanh
    negative, u = np.negative, np.empty(hidden)
    for t in range(steps):
        x = cells.first[t]
        for i in range(layers):
            joined, g = cells.joined[i, t], cells.gates[i, t]
            joined[:hidden] = x
            joined[hidden : 2 * hidden] = cells.output[i, t]
            joined[2 * hidden :] = joined[: 2 * hidden]
            multiply(joined, main[2 * i], out=g)
            add(g, main[2 * i + 1], out=g)
            tanh(g[3 * hidden :], out=g[3 * hidden :])
            sigmoids = g[: 3 * hidden]
            negative(sigmoids, out=sigmoids)
            exp(sigmoids, out=sigmoids)
            add(sigmoids, 1.0, out=sigmoids)
            divide(1.0, sigmoids, out=sigmoids)
            c = cells.cell[i, t + 1]
            multiply(cells.cell[i, t], g[:hidden], out=c)
            multiply(g[hidden : 2 * hidden], g[3 * hidden :], out=u)
            add(c, u, out=c)
            squashed = cells.squashed[i, t]
            tanh(c, out=squashed)
            x = cells.output[i, t + 1]
            multiply(g[2 * hidden : 3 * hidden], squashed, out=x)


def _local_derivatives(cells):
    """The derivatives of the gates of all steps; `squashed` becomes that of the cell."""
    layers, _, hidden = cells.squashed.shape
    factors = np.empty_like(cells.gates)
    for i in range(layers):
        parts = (slice(k * hidden, (k + 1) * hidden) for k in range(4))
        forget, keep, out, change = (cells.gates[i, :, part] for part in parts)
        squashed = cells.squashed[i]
        factors[i, :, :hidden] = cells.cell[i, :-1] * forget * (1.0 - forget)
        factors[i, :, hidden : 2 * hidden] = change * keep * (1.0 - keep)
        factors[i, :, 2 * hidden : 3 * hidden] = squashed * out * (1.0 - out)
        factors[i, :, 3 * hidden :] = keep * (1.0 - change * change)
        cells.squashed[i] = out * (1.0 - squashed * squashed)
    return factors


def _lstm_reverse(cells, main, factors):
    layers, steps, hidden = cells.squashed.shape
    multiply, add = np.multiply, np.add
    state_bar = np.zeros((2 * layers, hidden))
    u, joined_bar = np.empty(hidden), np.empty(4 * hidden)
    for t in range(steps - 1, -1, -1):
        x_bar = cells.last_bar[t]
        for i in range(layers - 1, -1, -1):
            h_bar, c_bar = state_bar[2 * i], state_bar[2 * i + 1]
            g_bar, factor = cells.gates_bar[i, t], factors[i, t]
            add(x_bar, h_bar, out=h_bar)
            multiply(h_bar, cells.squashed[i, t], out=u)
            add(c_bar, u, out=c_bar)
            two = factor[: 2 * hidden].reshape(2, hidden)
            multiply(two, c_bar, out=g_bar[: 2 * hidden].reshape(2, hidden))
            multiply(factor[2 * hidden : 3 * hidden], h_bar, out=g_bar[2 * hidden : 3 * hidden])
            multiply(factor[3 * hidden :], c_bar, out=g_bar[3 * hidden :])
            multiply(c_bar, cells.gates[i, t, :hidden], out=c_bar)
            multiply(g_bar, main[2 * i], out=joined_bar)
            half = joined_bar[: 2 * hidden]
            add(half, joined_bar[2 * hidden :], out=half)
            h_bar[...] = half[hidden:]
            x_bar = half[:hidden]
        cells.first_bar[t] = x_bar


# ------------------------------------------------------------------------------- factorisation
@optimised
def cholesky(A):
    n = A.shape[0]
    L, L_bar, t = np.empty_like(A), np.empty_like(A), np.empty(n)

    def adjoint(A):
        L[...] = A
        L[0, 0] = math.sqrt(L[0, 0])
        inverse = [1.0 / L[0, 0]]
        rows = list(L)
        for i in range(1, n):
            row = rows[i]
            row[0] *= inverse[0]
            for j in range(1, i):
                row[j] = (row[j] - row[:j].dot(rows[j][:j])) * inverse[j]
            left = row[:i]
            row[i] = math.sqrt(row[i] - left.dot(left))
            inverse.append(1.0 / row[i])
        L_bar.fill(1.0)
        rows_bar = list(L_bar)
        diagonal_bar = [1.0] * n
        for i in range(n - 1, 0, -1):
            diagonal_bar[i] *= 0.5 * inverse[i]
            left, u = rows_bar[i][:i], t[:i]
            np.multiply(rows[i][:i], 2.0 * diagonal_bar[i], out=u)
            np.subtract(left, u, out=left)
            _row_back(rows, rows_bar, diagonal_bar, inverse, i, t)
        diagonal_bar[0] *= 0.5 * inverse[0]
        np.fill_diagonal(L_bar, diagonal_bar)
        return (L_bar,)

    return adjoint


def _row_back(rows, rows_bar, diagonal_bar, inverse, i, t):
    """The adjoint of the entries of row `i` left of the diagonal."""
    multiply, subtract = np.multiply, np.subtract
    row, row_bar = rows[i], rows_bar[i]
    for j in range(i - 1, -1, -1):
        entry_bar = float(row_bar[j]) * inverse[j]
        diagonal_bar[j] -= entry_bar * float(row[j])
        row_bar[j] = entry_bar
        u, left, above = t[:j], row_bar[:j], rows_bar[j][:j]
        multiply(rows[j][:j], entry_bar, out=u)
        subtract(left, u, out=left)
        multiply(row[:j], entry_bar, out=u)
        subtract(above, u, out=above)
