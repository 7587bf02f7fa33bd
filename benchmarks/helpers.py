"""Derivatives of programs with helpers, as pairs beside helpers that are inlined.

    python -m benchmarks.helpers [--rounds N] [NAME ...]

For each program: the ratio of times of `srcad.value_and_grad` (medians of CPU time, interleaved in
one process), of peaks of `tracemalloc`, and of calls of Python functions while compiling; lines of
both texts, and the number of functions in the first.  Gradients of both are compared.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402 - after the number of threads is set

import srcad  # noqa: E402
from benchmarks import with_helpers  # noqa: E402

SLICE = 3e-3  # seconds that a derivative is timed per round


class Built(NamedTuple):
    """A compiled derivative."""

    run: Callable[..., Any]  # computes value and gradient
    text: str  # that was generated
    calls: int  # of Python functions while it was compiled


def fresh(name: str, folder: Path) -> Callable[..., Any]:
    """A program from a copy of its file, which nothing was compiled of yet."""
    copy = folder / f"copy_{len(list(folder.iterdir()))}.py"
    copy.write_text(Path(with_helpers.__file__).read_text())
    names = {"__name__": copy.stem}
    exec(compile(copy.read_text(), str(copy), "exec"), names)
    found: Callable[..., Any] = names["PROGRAMS"][name][0]  # type: ignore[index]
    return found


def built(f: Callable[..., Any], args: tuple[Any, ...], helpers: str) -> Built:
    """Compile a derivative, with helpers as pairs (``""``) or ``"inline"``."""
    both = srcad.value_and_grad(f)
    calls = 0

    def count(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal calls
        calls += event == "call"

    with mock.patch.dict(os.environ, SRCAD_HELPERS=helpers):
        sys.setprofile(count)
        try:
            both(*args)
        finally:
            sys.setprofile(None)
        return Built(both, str(both.source), calls)


def seconds(run: Callable[..., Any], args: tuple[Any, ...], number: int) -> float:
    """The CPU time of one call."""
    start = time.process_time()
    for _ in range(number):
        run(*args)
    return (time.process_time() - start) / number


def peak(run: Callable[..., Any], args: tuple[Any, ...]) -> int:
    """The peak of a call, in bytes."""
    run(*args)
    tracemalloc.start()
    try:
        run(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def leaves(x: Any) -> list[Any]:
    """The arrays and numbers of a structure."""
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, list | tuple):
        return [leaf for part in x for leaf in leaves(part)]
    return [np.asarray(x)]


class Row(NamedTuple):
    """One program: ratios of pairs to inlined helpers, microseconds, lines, number of functions."""

    time: float
    memory: float
    calls: float
    microseconds: float
    lines: int
    lines_inlined: int
    functions: int


def measured(name: str, rounds: int) -> Row:
    """Compile a program in both ways, compare the results, and measure."""
    args = with_helpers.PROGRAMS[name][1]
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        built(fresh(name, folder), args, "inline")  # reads the rules
        pairs = built(fresh(name, folder), args, "")
        inlined = built(fresh(name, folder), args, "inline")
    for a, b in zip(leaves(pairs.run(*args)), leaves(inlined.run(*args)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12 * np.max(np.abs(b), initial=1.0))
    number = max(1, int(SLICE / seconds(inlined.run, args, 3)))
    times = [
        (seconds(pairs.run, args, number), seconds(inlined.run, args, number))
        for _ in range(rounds)
    ]
    return Row(
        statistics.median(a / b for a, b in times),
        peak(pairs.run, args) / peak(inlined.run, args),
        pairs.calls / inlined.calls,
        1e6 * statistics.median(a for a, _ in times),
        len(pairs.text.splitlines()),
        len(inlined.text.splitlines()),
        pairs.text.count("\ndef ") + 1,
    )


def main(argv: list[str] | None = None) -> None:
    """Print a row for each program, and the geometric means."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.helpers", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=31)
    given = parser.parse_args(argv)
    print(f"{'':22}{'time':>6}{'memory':>8}{'calls':>7}{'us':>10}  lines  functions")
    rows = {name: measured(name, given.rounds) for name in given.names or with_helpers.PROGRAMS}
    for name, row in sorted(rows.items(), key=lambda pair: pair[1].time):
        numbers = f"{row.time:6.2f}{row.memory:8.2f}{row.calls:7.2f}{row.microseconds:10.1f}"
        print(f"{name:22}{numbers}  {row.lines:4} {row.lines_inlined:4} {row.functions:5}")
    for k, word in enumerate(("time", "memory", "calls")):
        logs = [math.log(row[k]) for row in rows.values()]
        print(f"geometric mean of {word}: {math.exp(sum(logs) / len(logs)):.3f}")
    lines = sum(row.lines for row in rows.values())
    print(f"lines: {lines / sum(row.lines_inlined for row in rows.values()):.2f}")


if __name__ == "__main__":
    main()
