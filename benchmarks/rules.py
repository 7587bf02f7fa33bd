"""What the reverse pass of one function costs, in reverse passes that are written by hand.

    python -m benchmarks.rules [words] [--rounds N] [--clock cpu]

Each row is one function of NumPy or SciPy whose result is weighted and summed, with the reverse
pass that a careful person writes for it, as accurate, from values that the function itself has
computed.  The gradients of the two are compared first; then the passes are timed in turn in one
process, and the median of the quotients is printed.  Set ``OPENBLAS_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg, special, stats
from scipy.spatial.distance import cdist

import srcad
from benchmarks.interleaved import CLOCKS, Timed, calls_per_round, distance, interleave

RNG = np.random.default_rng(20240607)
X, Y = RNG.uniform(0.2, 0.9, 40_000), RNG.uniform(0.3, 1.2, 40_000)
W = RNG.normal(size=40_000)
M, N = RNG.normal(size=(200, 300)), RNG.normal(size=(300, 150))
WM, WR, WC = RNG.normal(size=(200, 300)), RNG.normal(size=200), RNG.normal(size=300)
WMN = RNG.normal(size=(200, 150))
B = RNG.normal(size=(200, 200))
S = B @ B.T / 200 + np.eye(200)
GRID = np.linspace(0, 1, 200)
V, V2, WB = RNG.normal(size=200), RNG.normal(size=(200, 5)), RNG.normal(size=(200, 200))
K = RNG.integers(0, 40_000, 20_000)
WK = RNG.normal(size=20_000)
W2 = RNG.normal(size=80_000)


@dataclass(frozen=True)
class Case:
    """A function, its reverse pass by hand, and the arguments; `wrt` are those with a gradient.

    ``by_hand(*args)`` returns a function of the cotangent of the result that returns the gradients.
    """

    name: str
    function: Callable[..., Any]
    by_hand: Callable[..., Callable[[float], Any]]
    args: tuple[Any, ...]
    wrt: tuple[int, ...] = (0,)


CASES: list[Case] = []


def case(name: str, function: Any, *args: Any, wrt: tuple[int, ...] = (0,)) -> Any:
    """Register the reverse pass by hand of ``function(*args)``."""

    def register(
        by_hand: Callable[..., Callable[[float], Any]],
    ) -> Callable[..., Callable[[float], Any]]:
        CASES.append(Case(name, function, by_hand, args, wrt))
        return by_hand

    return register


# ------------------------------------------------------------------------- elementwise
@case("np.exp", lambda x: np.sum(W * np.exp(x)), X)
def _(x):
    y = np.exp(x)
    return lambda g: (g * W) * y


@case("np.log", lambda x: np.sum(W * np.log(x)), X)
def _(x):
    return lambda g: (g * W) / x


@case("np.sqrt", lambda x: np.sum(W * np.sqrt(x)), X)
def _(x):
    y = np.sqrt(x)
    return lambda g: 0.5 * (g * W) / y


@case("np.sin", lambda x: np.sum(W * np.sin(x)), X)
def _(x):
    return lambda g: (g * W) * np.cos(x)


@case("np.tanh", lambda x: np.sum(W * np.tanh(x)), X)
def _(x):
    y = np.tanh(x)
    return lambda g: (g * W) * (1 - y * y)


@case("x**3", lambda x: np.sum(W * x**3), X)
def _(x):
    return lambda g: 3 * (g * W) * (x * x)


@case("x**y", lambda x, y: np.sum(W * x**y), X, Y, wrt=(0, 1))
def _(x, y):
    z = x**y

    def back(g):
        w = g * W
        return (w * y * x ** (y - 1), w * z * np.log(x))

    return back


@case("x * y / (x + y)", lambda x, y: np.sum(W * (x * y / (x + y))), X, Y, wrt=(0, 1))
def _(x, y):
    p, s = x * y, x + y

    def back(g):
        q = (g * W) / s
        r = q * p / s
        return q * y - r, q * x - r

    return back


@case("np.abs", lambda x: np.sum(W * np.abs(x)), W)
def _(x):
    return lambda g: (g * W) * np.sign(x)


@case("np.maximum", lambda x: np.sum(W * np.maximum(x, 0.0)), W)
def _(x):
    return lambda g: (g * W) * (x > 0)


@case("np.clip", lambda x: np.sum(W * np.clip(x, 0.3, 0.6)), X)
def _(x):
    return lambda g: (g * W) * ((x >= 0.3) & (x <= 0.6))


@case("np.where", lambda x, y: np.sum(W * np.where(x > 0.5, x, y)), X, Y, wrt=(0, 1))
def _(x, y):
    test = x > 0.5

    def back(g):
        w = g * W
        return (np.where(test, w, 0.0), np.where(test, 0.0, w))

    return back


@case("np.logaddexp", lambda x, y: np.sum(W * np.logaddexp(x, y)), X, Y, wrt=(0, 1))
def _(x, y):
    def back(g):
        w = g * W
        d = x - y
        return w * special.expit(d), w * special.expit(-d)

    return back


@case("special.expit", lambda x: np.sum(W * special.expit(x)), X)
def _(x):
    y = special.expit(x)
    return lambda g: (g * W) * y * special.expit(-x)  # 1 - y cancels for large x


@case("special.gammaln", lambda x: np.sum(W * special.gammaln(x)), X)
def _(x):
    return lambda g: (g * W) * special.digamma(x)


@case("special.erf", lambda x: np.sum(W * special.erf(x)), X)
def _(x):
    return lambda g: (g * W) * (2 / math.sqrt(math.pi) * np.exp(-x * x))


@case("stats.norm.logpdf", lambda x, m, s: np.sum(stats.norm.logpdf(x, m, s)), X, 0.3, 1.2,
      wrt=(1, 2))  # fmt: skip
def _(x, m, s):
    def back(g):
        z = (x - m) / s
        return g * np.sum(z) / s, g * (np.sum(z * z) - z.size) / s

    return back


# ------------------------------------------------------------------------- reductions
@case("np.sum(axis)", lambda m: np.sum(WR * np.sum(m, axis=1)), M)
def _(m):
    return lambda g: np.broadcast_to((g * WR)[:, None], m.shape).copy()


@case("np.mean(axis)", lambda m: np.sum(WC * np.mean(m, axis=0)), M)
def _(m):
    return lambda g: np.broadcast_to((g * WC) / m.shape[0], m.shape).copy()


@case("np.var(axis)", lambda m: np.sum(WC * np.var(m, axis=0)), M)
def _(m):
    def back(g):
        c = m - np.mean(m, axis=0)
        c -= np.mean(c, axis=0)  # the first mean is rounded
        return (2 * (g * WC) / m.shape[0]) * c

    return back


@case("np.std", lambda x: np.std(x), X)
def _(x):
    y = np.std(x)

    def back(g):
        c = x - np.mean(x)
        return (c - np.mean(c)) * (g / (x.size * y))

    return back


@case("np.max(axis)", lambda m: np.sum(WR * np.max(m, axis=1)), M)
def _(m):
    y = np.max(m, axis=1)

    def back(g):
        own = m == y[:, None]
        return ((g * WR) / np.sum(own, axis=1))[:, None] * own

    return back


@case("np.cumsum", lambda x: np.sum(W * np.cumsum(x)), X)
def _(x):
    return lambda g: np.cumsum((g * W)[::-1])[::-1].copy()


@case("np.linalg.norm", lambda x: np.linalg.norm(x), X)
def _(x):
    y = np.linalg.norm(x)
    return lambda g: x * (g / y)


@case("special.logsumexp", lambda m: np.sum(WR * special.logsumexp(m, axis=1)), M)
def _(m):
    y = special.logsumexp(m, axis=1)
    return lambda g: (g * WR)[:, None] * np.exp(m - y[:, None])


@case("special.softmax", lambda m: np.sum(WM * special.softmax(m, axis=1)), M)
def _(m):
    y = special.softmax(m, axis=1)

    def back(g):
        g = (g * WM) * y
        return g - y * np.sum(g, axis=1, keepdims=True)

    return back


@case("np.average", lambda x, w: np.average(x, weights=w), X, Y, wrt=(0, 1))
def _(x, w):
    s = np.sum(w)
    y = np.dot(x, w) / s
    return lambda g: (w * (g / s), (x - y) * (g / s))


@case("np.cov", lambda m: np.sum(WB * np.cov(m)), M)
def _(m):
    def back(g):
        w = g * WB
        c = m - np.mean(m, axis=1, keepdims=True)
        return (w + w.T) @ c / (m.shape[1] - 1)

    return back


@case("np.quantile", lambda x: np.quantile(x, 0.3), X)
def _(x):
    def back(g):
        place = 0.3 * (x.size - 1)
        k = int(place)
        order = np.argpartition(x, (k, k + 1))
        bar = np.zeros_like(x)
        bar[order[k]], bar[order[k + 1]] = g * (1 - (place - k)), g * (place - k)
        return bar

    return back


@case("np.sort", lambda x: np.sum(W * np.sort(x)), X)
def _(x):
    def back(g):
        bar = np.empty_like(x)
        bar[np.argsort(x)] = g * W
        return bar

    return back


# ------------------------------------------------------------------------- shapes and indices
@case("x[k]", lambda x: np.sum(WK * x[K]), X)
def _(x):
    def back(g):
        bar = np.zeros_like(x)
        np.add.at(bar, K, (g * WK))
        return bar

    return back


@case("np.concatenate", lambda x, y: np.sum(W2 * np.concatenate([x, y])), X, Y, wrt=(0, 1))
def _(x, y):
    n = x.size
    return lambda g: (g * W2[:n], g * W2[n:])


@case("np.diff", lambda x: np.sum(W[1:] * np.diff(x)), X)
def _(x):
    def back(g):
        w = g * W
        bar = np.zeros_like(x)
        bar[1:] += w[1:]
        bar[:-1] -= w[1:]
        return bar

    return back


@case("np.gradient", lambda x: np.sum(W * np.gradient(x)), X)
def _(x):
    def back(g):
        w = g * W
        bar = np.zeros_like(x)
        bar[2:] += w[1:-1] / 2
        bar[:-2] -= w[1:-1] / 2
        bar[1] += w[0]
        bar[0] -= w[0]
        bar[-1] += w[-1]
        bar[-2] -= w[-1]
        return bar

    return back


@case("np.convolve", lambda x, v: np.sum(W * np.convolve(x, v, "same")), X, V, wrt=(0, 1))
def _(x, v):
    def back(g):
        full = np.zeros(x.size + v.size - 1)
        start = (v.size - 1) // 2
        full[start : start + x.size] = g * W
        return np.correlate(full, v, "valid"), np.correlate(full, x, "valid")

    return back


@case("np.interp", lambda y: np.sum(W * np.interp(X, GRID, y)), V)
def _(y):
    def back(g):
        k = np.clip(np.searchsorted(GRID, X, "right") - 1, 0, 198)
        t = (X - GRID[k]) / (GRID[k + 1] - GRID[k])
        w = g * W
        right = w * t
        return np.bincount(k, w - right, 200) + np.bincount(k + 1, right, 200)

    return back


# ------------------------------------------------------------------------- products
@case("A @ x", lambda m, v: np.sum(WR * (m @ v)), M, WC, wrt=(0, 1))
def _(m, v):
    def back(g):
        w = g * WR
        return (np.outer(w, v), w @ m)

    return back


@case("A @ B", lambda m, n: np.sum(WMN * (m @ n)), M, N, wrt=(0, 1))
def _(m, n):
    def back(g):
        w = g * WMN
        return (w @ n.T, m.T @ w)

    return back


@case("np.einsum", lambda m, n: np.sum(WMN * np.einsum("ij,jk->ik", m, n, optimize=True)), M, N,
      wrt=(0, 1))  # fmt: skip
def _(m, n):
    def back(g):
        w = g * WMN
        return (w @ n.T, m.T @ w)

    return back


@case("np.outer", lambda u, v: np.sum(WM * np.outer(u, v)), WR, WC, wrt=(0, 1))
def _(u, v):
    def back(g):
        w = g * WM
        return (w @ v, u @ w)

    return back


@case("cdist", lambda a: np.sum(WB * cdist(a, B)), S)
def _(a):
    y = cdist(a, B)

    def back(g):
        ratio = (g * WB) / y
        return np.sum(ratio, axis=1)[:, None] * a - ratio @ B

    return back


# ------------------------------------------------------------------------- linear algebra
@case("np.linalg.solve", lambda a, b: np.sum(V * np.linalg.solve(a, b)), S, V, wrt=(0, 1))
def _(a, b):
    y = np.linalg.solve(a, b)

    def back(g):
        g = np.linalg.solve(a.T, (g * V))
        return -np.outer(g, y), g

    return back


@case("np.linalg.inv", lambda a: np.sum(WB * np.linalg.inv(a)), S)
def _(a):
    y = np.linalg.inv(a)
    return lambda g: -y.T @ (g * WB) @ y.T


@case("np.linalg.slogdet", lambda a: np.linalg.slogdet(a)[1], S)
def _(a):
    return lambda g: g * np.linalg.inv(a).T


@case("np.linalg.cholesky", lambda a: np.sum(WB * np.linalg.cholesky(a)), S)
def _(a):
    y = np.linalg.cholesky(a)

    def back(g):
        p = np.tril(y.T @ np.tril(g * WB))
        p[np.diag_indices_from(p)] *= 0.5
        s = linalg.solve_triangular(y, p, trans=1, lower=True)
        s = linalg.solve_triangular(y, s.T, trans=1, lower=True)
        return (s + s.T) / 2

    return back


@case("np.linalg.eigh", lambda a: np.sum(WB * np.linalg.eigh(a)[1]), S)
def _(a):
    w, v = np.linalg.eigh(a)

    def back(g):
        gap = w[None, :] - w[:, None]
        np.fill_diagonal(gap, np.inf)
        bar = v @ ((v.T @ (g * WB)) / gap) @ v.T
        return np.tril(bar) + np.triu(bar, 1).T

    return back


@case("np.linalg.svd", lambda m: np.sum(np.linalg.svd(m, full_matrices=False)[1] * WR), M)
def _(m):
    u, _, vh = np.linalg.svd(m, full_matrices=False)
    return lambda g: (u * (g * WR)) @ vh


@case("linalg.cho_factor", lambda a: np.sum(WB * np.tril(linalg.cho_factor(a, lower=True)[0])), S)
def _(a):
    y = np.tril(linalg.cho_factor(a, lower=True)[0])

    def back(g):
        p = np.tril(y.T @ np.tril(g * WB))
        p[np.diag_indices_from(p)] *= 0.5
        s = linalg.solve_triangular(y, p, trans=1, lower=True)
        s = linalg.solve_triangular(y, s.T, trans=1, lower=True)
        return (s + s.T) / 2

    return back


@case("linalg.cho_solve", lambda c, b: np.sum(V2 * linalg.cho_solve((c, True), b)),
      np.linalg.cholesky(S), V2, wrt=(0, 1))  # fmt: skip
def _(c, b):
    y = linalg.cho_solve((c, True), b)

    def back(g):
        b_bar = linalg.cho_solve((c, True), g * V2)
        return -np.tril(b_bar @ (c.T @ y).T + y @ (c.T @ b_bar).T), b_bar

    return back


@case("linalg.solve_triangular",
      lambda a, b: np.sum(V2 * linalg.solve_triangular(a, b, lower=True)), np.linalg.cholesky(S),
      V2, wrt=(0, 1))  # fmt: skip
def _(a, b):
    y = linalg.solve_triangular(a, b, lower=True)

    def back(g):
        g = linalg.solve_triangular(a, (g * V2), trans=1, lower=True)
        return np.tril(-g @ y.T), g

    return back


@case("linalg.expm", lambda a: np.sum(WB * linalg.expm(a)), S)
def _(a):
    return lambda g: linalg.expm_frechet(a.T, (g * WB), compute_expm=False)


# ------------------------------------------------------------------------- running
def timed(one: Case, rounds: int, clock: str) -> tuple[float, float]:
    """Return the median quotient and the seconds of the reverse pass by hand."""
    _, back = srcad.pullback(one.function, *one.args, wrt=one.wrt)
    runs = {"srcad": lambda: back(1.0), "hand": partial(one.by_hand(*one.args), 1.0)}
    gradients = [_arrays(run()) for run in runs.values()]
    apart = distance(*gradients)
    if not apart < 1e-8:
        raise SystemExit(f"{one.name}: the gradients differ by {apart:.1e}")
    found = interleave(
        {name: Timed(run, calls_per_round(run)) for name, run in runs.items()},
        rounds,
        5.0,
        CLOCKS[clock],
    )
    pairs = zip(found["srcad"], found["hand"], strict=True)
    return statistics.median(a / b for a, b in pairs), statistics.median(found["hand"])


def _arrays(gradients: Any) -> list[np.ndarray]:
    return [np.asarray(g) for g in (gradients if isinstance(gradients, tuple) else (gradients,))]


def main() -> None:
    """Print one line per function, and the largest quotient."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rules", description=__doc__)
    parser.add_argument("words", nargs="*", help="functions whose name contains one of these")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--clock", choices=list(CLOCKS), default="cpu")
    asked = parser.parse_args()
    worst = 0.0
    for one in CASES:
        if not asked.words or any(word in one.name for word in asked.words):
            quotient, seconds = timed(one, asked.rounds, asked.clock)
            worst = max(worst, quotient)
            print(f"{one.name:26} {quotient:5.2f}   {seconds * 1e6:9.1f} us by hand", flush=True)
    print(f"{'largest':26} {worst:5.2f}")


if __name__ == "__main__":
    main()
