"""What loops that are cut into segments keep, and what they cost.

    python -m benchmarks.checkpoints [--trips N] [--state N] [--rounds N]

Peaks are those of `tracemalloc`; times are medians of quotients to the plain loop in the same
process, interleaved.  The plain loop keeps some gigabytes at full size; its peak is measured at a
tenth of the trips, and multiplied.  Gradients are compared to the last bit.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402 - after the number of threads is set

import srcad  # noqa: E402
from srcad import checkpointed_range  # noqa: E402


# --------------------------------------------------------------------------------- a small state
def growth(x: Any, a: float, n: int) -> Any:
    """A state that grows in every trip."""
    for _ in range(n):
        x = x + 0.001 * np.tanh(a * x)
    return np.sum(x)


def growth_cut(x: Any, a: float, n: int) -> Any:
    """The same in segments."""
    for _ in checkpointed_range(n):
        x = x + 0.001 * np.tanh(a * x)
    return np.sum(x)


def growth_cut_twice(x: Any, a: float, n: int) -> Any:
    """The same in segments of segments."""
    for _ in checkpointed_range(n, levels=2):
        x = x + 0.001 * np.tanh(a * x)
    return np.sum(x)


# ----------------------------------------------------------------------------------- in place
def stencil(x: Any, a: float, n: int) -> Any:
    """A stencil that writes into its array."""
    u = x.copy()
    for _ in range(n):
        u[1:-1] += 0.01 * a * (u[2:] - 2.0 * u[1:-1] + u[:-2]) * u[1:-1]
    return np.sum(u * u)


def stencil_cut(x: Any, a: float, n: int) -> Any:
    """The same in segments."""
    u = x.copy()
    for _ in checkpointed_range(n):
        u[1:-1] += 0.01 * a * (u[2:] - 2.0 * u[1:-1] + u[:-2]) * u[1:-1]
    return np.sum(u * u)


def stencil_cut_twice(x: Any, a: float, n: int) -> Any:
    """The same in segments of segments."""
    u = x.copy()
    for _ in checkpointed_range(n, levels=2):
        u[1:-1] += 0.01 * a * (u[2:] - 2.0 * u[1:-1] + u[:-2]) * u[1:-1]
    return np.sum(u * u)


# ---------------------------------------------------------------------------- a dict of arrays
def orbit(x: Any, a: float, n: int) -> Any:
    """Positions and momenta in a dict."""
    s = {"q": x, "p": 0.5 * x}
    for _ in range(n):
        p = s["p"] - 0.001 * a * np.sin(s["q"])
        s = {"q": s["q"] + 0.001 * p, "p": p}
    return np.sum(s["q"] * s["p"])


def orbit_cut(x: Any, a: float, n: int) -> Any:
    """The same in segments."""
    s = {"q": x, "p": 0.5 * x}
    for _ in checkpointed_range(n):
        p = s["p"] - 0.001 * a * np.sin(s["q"])
        s = {"q": s["q"] + 0.001 * p, "p": p}
    return np.sum(s["q"] * s["p"])


def orbit_cut_twice(x: Any, a: float, n: int) -> Any:
    """The same in segments of segments."""
    s = {"q": x, "p": 0.5 * x}
    for _ in checkpointed_range(n, levels=2):
        p = s["p"] - 0.001 * a * np.sin(s["q"])
        s = {"q": s["q"] + 0.001 * p, "p": p}
    return np.sum(s["q"] * s["p"])


GROUPS = (
    (growth, growth_cut, growth_cut_twice),
    (stencil, stencil_cut, stencil_cut_twice),
    (orbit, orbit_cut, orbit_cut_twice),
)


def peak(gradient: Callable[..., Any], *args: Any) -> float:
    """The most megabytes that a call has in use."""
    tracemalloc.start()
    gradient(*args)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1e6


def timed(gradients: list[Callable[..., Any]], rounds: int, *args: Any) -> list[float]:
    """The medians of the times of some calls in units of that of the first."""
    quotients: list[list[float]] = [[] for _ in gradients]
    for _ in range(rounds):
        times = []
        for gradient in gradients:
            start = time.perf_counter()
            gradient(*args)
            times.append(time.perf_counter() - start)
        for found, seconds in zip(quotients, times, strict=True):
            found.append(seconds / times[0])
    return [statistics.median(found) for found in quotients]


def main() -> None:
    """Print a line for each loop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trips", type=int, default=100_000)
    parser.add_argument("--state", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    x, n = np.linspace(0.1, 1.0, options.state), options.trips
    print(f"{'loop':20s} {'peak in MB':>12s} {'time':>8s}")
    for group in GROUPS:
        gradients = [srcad.grad(f, wrt=("x", "a")) for f in group]
        wanted = gradients[0](x, 1.5, n)
        for gradient in gradients[1:]:
            got = gradient(x, 1.5, n)
            assert np.array_equal(got[0], wanted[0])
            assert got[1] == wanted[1]
        times = timed(gradients, options.rounds, x, 1.5, n)
        peaks = [10 * peak(gradients[0], x, 1.5, n // 10)]
        peaks += [peak(gradient, x, 1.5, n) for gradient in gradients[1:]]
        for f, megabytes, ratio in zip(group, peaks, times, strict=True):
            print(f"{f.__name__:20s} {megabytes:12.1f} {ratio:7.2f}x", flush=True)


if __name__ == "__main__":
    main()
