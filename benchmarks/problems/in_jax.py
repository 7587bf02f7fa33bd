# ruff: noqa: D103 - the primals are formulas
"""The problems in JAX, on the CPU in float64, in the forms that its documentation recommends.

Loops are ``lax.fori_loop`` and ``lax.scan``, writes are ``.at[].set``, and arrays are put on the
device once.  A problem without an entry in `PRIMALS` runs unchanged with `np` bound to
``jax.numpy``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

jax.config.update("jax_enable_x64", True)
# Asynchronous dispatch passes each program to another thread, which makes small ones slower.
jax.config.update("jax_cpu_enable_async_dispatch", False)

PRIMALS: dict[str, Callable[..., Any]] = {}


def primal(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register the JAX form of the problem of the same name."""
    PRIMALS[function.__name__] = function
    return function


def gradients(
    name: str, plain: Callable[..., Any], args: tuple[Any, ...], wrt: tuple[int, ...]
) -> Callable[[], Any]:
    """Return a compiled function without arguments; `plain` is the primal on ``jax.numpy``."""
    function = PRIMALS.get(name, plain)
    if name == "gmm":  # the index arrays are constants
        *args, rows, columns = args
        function = _with_constants(function, rows, columns)
    static = [k for k, arg in enumerate(args) if isinstance(arg, int)]
    given = [arg if k in static else jnp.asarray(arg) for k, arg in enumerate(args)]
    compiled = jax.jit(jax.grad(function, argnums=wrt), static_argnums=static)
    return lambda: jax.block_until_ready(compiled(*given))


def _with_constants(function: Callable[..., Any], *constants: Any) -> Callable[..., Any]:
    return lambda *args: function(*args, *constants)


@primal
def for1000(a, b):
    def step(_, x):
        return x + 0.01 * (a * x * (1.0 - x) - b * jnp.sin(x))

    return lax.fori_loop(0, 1000, step, 0.1) ** 2


@primal
def lse_loop(x):
    def step(s, entry):
        return s + jnp.exp(entry) * (1.0 + entry**2), None

    return jnp.log(lax.scan(step, 0.0, x)[0])


@primal
def jacobi_2d(A, B, T):
    def average(u):
        return 0.2 * (u[1:-1, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + u[2:, 1:-1] + u[:-2, 1:-1])

    def step(_, carried):
        A, B = carried
        B = B.at[1:-1, 1:-1].set(average(A))
        return A.at[1:-1, 1:-1].set(average(B)), B

    A, B = lax.fori_loop(1, T, step, (A, B))
    return jnp.sum(A * A)


@primal
def seidel_2d(A, T):
    """Scan over the rows (carried: the new row above) and along a row (carried: the left cell)."""

    def cell(left, rest):
        new = rest + left / 9.0
        return new, new

    def row(above, given):
        old, below = given
        rest = (
            above[:-2] + above[1:-1] + above[2:]
            + old[1:-1] + old[2:]
            + below[:-2] + below[1:-1] + below[2:]
        ) / 9.0  # fmt: skip
        new = old.at[1:-1].set(lax.scan(cell, old[0], rest)[1])
        return new, new

    def sweep(_, A):
        return A.at[1:-1].set(lax.scan(row, A[0], (A[1:-1], A[2:]))[1])

    A = lax.fori_loop(0, T, sweep, A)
    return jnp.sum(A * A)


@primal
def lstm(main, extra, state, seq):
    H = state.shape[1]

    def step(carried, given):
        inp, gold = given
        x = inp * extra[0]
        s = list(carried)
        for i in range(0, len(s), 2):
            g = jnp.concatenate((x, s[i], x, s[i])) * main[i] + main[i + 1]
            forget, keep, out = (jax.nn.sigmoid(g[k * H : (k + 1) * H]) for k in range(3))
            c = s[i + 1] * forget + keep * jnp.tanh(g[3 * H :])
            x = out * jnp.tanh(c)
            s[i], s[i + 1] = x, c
        y = x * extra[1] + extra[2]
        y = y - jnp.log(jnp.sum(jnp.exp(y)) + 2.0)
        return tuple(s), jnp.sum(gold * y)

    initial = tuple(state[i] for i in range(state.shape[0]))
    terms = lax.scan(step, initial, (seq[:-1], seq[1:]))[1]
    return -jnp.sum(terms) / ((seq.shape[0] - 1) * H)


@primal
def cholesky(A):
    n = A.shape[0]

    def outer(L, given):
        a, i = given

        def inner(row, given):
            above, j = given
            entry = (a[j] - row @ above) / jnp.where(j < i, above[j], 1.0)
            return row.at[j].set(jnp.where(j < i, entry, 0.0)), None

        row = lax.scan(inner, jnp.zeros(n), (L, jnp.arange(n)))[0]
        row = row.at[i].set(jnp.sqrt(a[i] - row @ row))
        return L.at[i].set(row), None

    L = lax.scan(outer, jnp.zeros((n, n)), (A, jnp.arange(n)))[0]
    return jnp.sum(L) + jnp.sum(jnp.triu(A, 1))


@primal
def gmm(alphas, means, icf, x, gamma, m, constant, rows, columns):
    n, d = x.shape
    Q = jnp.exp(icf[:, :d])
    Q_sums = jnp.sum(icf[:, :d], axis=1)
    L = jnp.zeros((icf.shape[0], d, d)).at[:, rows, columns].set(icf[:, d:])
    centred = x[None, :, :] - means[:, None, :]
    q = centred * Q[:, None, :] + jnp.matmul(centred, jnp.swapaxes(L, 1, 2))
    inner = alphas[:, None] + Q_sums[:, None] - 0.5 * jnp.sum(q * q, axis=2)
    lse = jax.nn.logsumexp(inner, axis=0)
    norm = jnp.sum(Q * Q) + jnp.sum(icf[:, d:] * icf[:, d:])
    prior = 0.5 * gamma * gamma * norm - m * jnp.sum(Q_sums)
    return constant + jnp.sum(lse) - n * jax.nn.logsumexp(alphas) + prior
