"""Whether the gradients of the kernels are right, and what they cost.

    python -m benchmarks.npbench [kernel ...] [--size test|bench] [--time]

Each kernel is differentiated by every floating-point input.  At size ``test`` every entry is
compared with complex steps or differences, at size ``bench`` the product with random directions.
Where autograd is installed (the extra ``bench``), twelve kernels are compared with it too.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402 - after the number of threads is set

import srcad  # noqa: E402
from benchmarks.npbench import oracle  # noqa: E402
from benchmarks.npbench.registry import KERNELS, Inputs, Kernel, floating  # noqa: E402
from srcad.errors import SrcadError  # noqa: E402

try:
    from benchmarks.npbench.peers import PEERS, gradient_by_peer
except ImportError:  # autograd is optional
    PEERS = {}

SEED = 20240607
DIRECTIONS = 2
BUDGET = 0.5  # seconds of timing per function
Run = Callable[..., Any]


@dataclass(frozen=True)
class Finding:
    """What became of one kernel: ``right``, ``wrong``, ``refused`` or ``failed``, and the why."""

    verdict: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.verdict} ({self.reason})" if self.reason else self.verdict


# ------------------------------------------------------------------------------- comparison
def finding(kernel: Kernel, size: str) -> Finding:
    """Differentiate a kernel by every floating-point input and compare."""
    inputs = kernel.inputs(size, np.random.default_rng(SEED))
    given = oracle.copied(inputs)
    try:
        found = srcad.grad(kernel.function, wrt=floating(inputs))(*given)
    except SrcadError as error:
        where = f", line {error.where.line}" if error.where else ""
        return Finding("refused", f"{type(error).__name__}: {error.sentence}{where}")
    except Exception as error:  # a crash is a finding, too
        return Finding("failed", f"{type(error).__name__}: {error}")
    for before, after in zip(inputs, given, strict=True):
        if not np.array_equal(before, after):
            return Finding("wrong", "an input was changed")
    mistake = (by_entries if size == "test" else by_directions)(kernel, inputs, found)
    if not mistake and kernel.name in PEERS:
        expected = gradient_by_peer(kernel.name, inputs)(*inputs)
        mistake = differences(inputs, found, expected, 1e-9, "the peer")
    return Finding("wrong", mistake) if mistake else Finding("right")


def by_entries(kernel: Kernel, inputs: Inputs, found: Iterable[Any]) -> str:
    """Compare every entry; what is wrong, or nothing."""
    expected = [oracle.gradient(kernel, inputs, k) for k in floating(inputs)]
    return differences(inputs, found, expected, oracle.accuracy(kernel), "the oracle")


def differences(
    inputs: Inputs, found: Iterable[Any], expected: Iterable[Any], rtol: float, whose: str
) -> str:
    """Compare gradients relative to the largest entry; what is wrong, or nothing."""
    for k, got, want in zip(floating(inputs), found, expected, strict=True):
        if np.shape(got) != np.shape(inputs[k]):
            return f"input {k}: the shape is {np.shape(got)}, not {np.shape(inputs[k])}"
        error = float(np.max(np.abs(got - want)))
        if not error <= rtol * max(1e-3, float(np.max(np.abs(want)))):
            return f"input {k}: differs from {whose} by {error:.1e}"
    return ""


def by_directions(kernel: Kernel, inputs: Inputs, found: Iterable[Any]) -> str:
    """Compare the slopes in random directions of length one; what is wrong, or nothing."""
    rng = np.random.default_rng(SEED + 1)
    for k, got in zip(floating(inputs), found, strict=True):
        typical = float(np.linalg.norm(got)) / np.sqrt(np.size(got))
        for _ in range(DIRECTIONS):
            direction = rng.normal(size=np.shape(inputs[k]))
            direction /= np.linalg.norm(direction)
            want = oracle.slope(kernel, inputs, k, direction)
            error = abs(float(np.sum(got * direction)) - want)
            if not error <= 10 * oracle.accuracy(kernel) * max(1e-3, typical, abs(want)):
                return f"input {k}: differs from the oracle in a direction by {error:.1e}"
    return ""


# ----------------------------------------------------------------------------------- timing
def ratios(kernel: Kernel, size: str, *, differentiated: bool) -> tuple[float, str, str]:
    """The seconds of the primal, and the gradients' in units of it: of srcad and of the peer."""
    inputs = kernel.inputs(size, np.random.default_rng(SEED))
    runs: list[Run | None] = [kernel.function, None, None]
    if differentiated:
        runs[1] = srcad.grad(kernel.function, wrt=floating(inputs))
    if kernel.name in PEERS:
        runs[2] = gradient_by_peer(kernel.name, inputs)
    primal, *others = timed(runs, inputs)
    ours, theirs = ("" if t is None else f"{t / primal:.2f}" for t in others)
    return primal, ours, theirs


def timed(runs: list[Run | None], inputs: Inputs) -> list[Any]:
    """The median seconds of each, taken in turn; copying the inputs is not counted."""
    times: list[list[float]] = [[] for _ in runs]
    for run in runs:
        if run:
            run(*oracle.copied(inputs))
    end = time.perf_counter() + BUDGET * len(runs)
    while min(len(t) for t in times if t or t is times[0]) < 3 or time.perf_counter() < end:
        for run, taken in zip(runs, times, strict=True):
            if run:
                given = oracle.copied(inputs)
                start = time.perf_counter()
                run(*given)
                taken.append(time.perf_counter() - start)
        if len(times[0]) >= 200:
            break
    return [statistics.median(t) if t else None for t in times]


# ------------------------------------------------------------------------------------ table
def row(kernel: Kernel, size: str, *, time_it: bool) -> tuple[Finding, str]:
    """What was found, and its line of the table."""
    found = finding(kernel, size)
    cells = [kernel.name, str(found)]
    if time_it:
        primal, ours, theirs = ratios(kernel, size, differentiated=found.verdict == "right")
        cells += [f"{primal * 1e3:.2f}", ours, theirs]
    return found, "| " + " | ".join(cells) + " |"


def main(arguments: list[str] | None = None) -> None:
    """Print the table of the kernels named on the command line, or of all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.npbench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="kernel", help=", ".join(KERNELS))
    parser.add_argument("--size", choices=("test", "bench"), default="test")
    parser.add_argument("--time", action="store_true", help="print ratios to the primal, too")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in KERNELS]
    if unknown:
        parser.error(f"no kernel is called {unknown[0]!r}")
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
    print(f"{versions}, {platform.machine()}, {os.cpu_count()} cores; size {options.size}\n")
    head = ["kernel", "gradient"]
    head += ["primal (ms)", "gradient / primal", "peer's / primal"] if options.time else []
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    count: dict[str, int] = {}
    for name in options.names or KERNELS:
        found, line = row(KERNELS[name], options.size, time_it=options.time)
        count[found.verdict] = count.get(found.verdict, 0) + 1
        print(line, flush=True)
    print("\n" + ", ".join(f"{number} {verdict}" for verdict, number in count.items()))
