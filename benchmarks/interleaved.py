"""Interleaved timing: all systems in one process, each once per round, in random order.

The ratio of a system is the median over the rounds of its time divided by the time of the basis in
the same round, so that slow phases of the machine change numerator and denominator alike.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.systems import BASIS, SYSTEMS, Run, System

TOLERANCE = 1e-6  # relative to the largest entry of a gradient
SLICE = 2e-3  # seconds that a system is timed per round, at least one call
PARTS = 4  # of a slice
Clock = Callable[[], float]
# The CPU time leaves out what other processes take; it is that of all threads of this process.
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass
class Result:
    """One system on one case: times, or the reason why there are none."""

    ratio: float | None = None  # time relative to the basis
    seconds: float | None = None  # of one call, median
    first_call: float | None = None  # seconds to build and to call the first time
    failure: str = ""  # empty, or the name of the error, or what is wrong with the gradient
    message: str = ""  # the text of the error


@dataclass(frozen=True)
class Timed:
    """A system that passed the check."""

    run: Run  # computes the gradients
    number: int  # calls per round


@dataclass
class Row:
    """All systems on one case."""

    group: str  # problems or kernels
    name: str  # of the function
    size: str  # label of the size
    basis: str  # the system with ratio 1
    results: dict[str, Result] = field(default_factory=dict)  # by system; none if it has no version


def measure(
    case: Case, systems: list[System], rounds: int, budget: float, clock: str = "wall"
) -> Row:
    """Check and time the systems; after `budget` seconds no further round begins."""
    basis = SYSTEMS[BASIS[case.group]]
    row = Row(case.group, case.name, case.size, basis.name)
    runs: dict[str, Timed] = {}
    expected: list[Any] | None = None
    for system in [basis, *(s for s in systems if s.name != basis.name)]:
        result, timed, gradients = checked(system, case, expected)
        if result is not None:
            row.results[system.name] = result
        if timed is not None:
            runs[system.name] = timed
        if system is basis:
            if timed is None:
                return row
            expected = gradients
    times = interleave(runs, rounds, budget, CLOCKS[clock])
    for name, taken in times.items():
        result = row.results[name]
        result.seconds = statistics.median(taken)
        result.ratio = statistics.median(
            a / b for a, b in zip(taken, times[basis.name], strict=True)
        )
    return row


def checked(
    system: System, case: Case, expected: list[Any] | None
) -> tuple[Result | None, Timed | None, list[Any]]:
    """Build and call a system; compare the gradients, and the arguments with a copy.

    Returns the result so far (None if the system has no version of the function), the function to
    time (None if there is nothing to time) and the gradients.
    """
    before = [np.copy(arg) for arg in case.args]
    start = time.perf_counter()
    try:
        run = system.build(case)
        if run is None:
            return None, None, []
        returned = run()
        first_call = time.perf_counter() - start
        gradients = [np.array(g, dtype=float) for g in returned]
        timed = Timed(run, calls_per_round(run))
    except Exception as error:  # an error is a cell of the table
        message = " ".join(str(error).split())
        return Result(failure=type(error).__name__, message=message), None, []
    result = Result(first_call=first_call)
    if not all(np.array_equal(a, b) for a, b in zip(case.args, before, strict=True)):
        result.failure = "writes arguments"
        restore(case, before)
    elif expected is not None:
        apart = distance(gradients, expected)
        if not apart <= TOLERANCE:
            result.failure, result.message = "wrong", f"differs by {apart:.1e}"
    return result, None if result.failure else timed, gradients


def restore(case: Case, before: list[Any]) -> None:
    """Give the arrays of a case their first values again."""
    for arg, value in zip(case.args, before, strict=True):
        if isinstance(arg, np.ndarray):
            np.copyto(arg, value)


def distance(gradients: list[Any], expected: list[Any]) -> float:
    """The largest difference, relative to the largest entry of the expected gradient."""
    if [g.shape for g in gradients] != [e.shape for e in expected]:
        return float("inf")
    apart = 0.0
    for got, want in zip(gradients, expected, strict=True):
        scale = float(np.max(np.abs(want), initial=0.0)) or 1.0
        apart = max(apart, float(np.max(np.abs(got - want), initial=0.0)) / scale, key=_nan_last)
    return apart


def _nan_last(value: float) -> float:
    return float("inf") if np.isnan(value) else value


def interleave(
    runs: dict[str, Timed], rounds: int, budget: float, clock: Clock
) -> dict[str, list[float]]:
    """The seconds per call of every round.

    Objects that exist before the first round are hidden from the garbage collector: otherwise its
    time in one system would depend on what the others have imported.
    """
    times: dict[str, list[float]] = {name: [] for name in runs}
    began = time.perf_counter()
    gc.collect()
    gc.freeze()
    try:
        for _ in range(rounds):
            for name in random.sample(list(runs), len(runs)):
                times[name].append(_slice(runs[name], clock))
            if time.perf_counter() - began > budget:
                break
    finally:
        gc.unfreeze()
    return times


def calls_per_round(run: Run) -> int:
    """How many calls take `SLICE` seconds; a slow call by chance must not decide."""
    shortest, began = float("inf"), time.perf_counter()
    while time.perf_counter() - began < SLICE:
        shortest = min(shortest, _seconds(run, 1, time.perf_counter))
    return max(1, min(20_000, int(SLICE / max(shortest, 1e-8))))


def _slice(timed: Timed, clock: Clock) -> float:
    """The seconds per call in one round: the lower median of four parts, after a first call.

    The first call is not timed, because another system has filled the caches. The time slice of
    another process is longer than one here, and would make the same system slow in many rounds;
    in the median of the parts it does not count.
    """
    if timed.number < PARTS:
        return _seconds(timed.run, timed.number, clock)
    timed.run()
    calls = timed.number // PARTS
    return statistics.median_low([_seconds(timed.run, calls, clock) for _ in range(PARTS)])


def _seconds(run: Run, number: int, clock: Clock) -> float:
    start = clock()
    for _ in range(number):
        run()
    return (clock() - start) / number
