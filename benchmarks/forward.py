"""What a derivative taken forwards costs, in calls of the function itself.

    python -m benchmarks.forward [names]

In every round the function and the code that is generated for its value and tangent are timed once,
in random order, and the median of the quotients is printed; what `srcad.jvp` needs to find the code
and to check the tangents comes on top.  Each problem of ``problems/`` moves along one direction of
all its active arguments.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import numpy as np

import srcad
from benchmarks.problems import PROBLEMS
from benchmarks.run import called, excess, paired, quotient, report
from srcad.api.asking import derivative

SCALAR = 2.5
ARRAYS = 3.0


def tangents(args: tuple[Any, ...], wrt: tuple[int, ...]) -> tuple[Any, ...]:
    """A random direction for each active argument, and None for the others."""
    rng = np.random.default_rng(3)
    return tuple(
        _direction(arg, rng) if k in wrt else None for k, arg in enumerate(args)
    )  # fmt: skip


def _direction(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, dict):
        return {key: _direction(one, rng) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_direction(one, rng) for one in value)
    made = rng.normal(size=np.shape(value))
    return made if isinstance(value, np.ndarray) else float(made)


def cost(name: str, rounds: int) -> None:
    """Print what `jvp` of one problem costs, dispatch included, and of the compiled code alone."""
    found = PROBLEMS[name]
    args = found.make(np.random.default_rng(20240607))
    dots = tangents(args, found.wrt)
    value, tangent = srcad.jvp(found.primal, args, dots)
    compiled = derivative(found.primal, "jvp", found.wrt).specialize(*args)
    given = tuple(dots[k] for k in found.wrt)
    forward = called(lambda *xs: compiled(*xs)(given), args)
    if forward() != (value, tangent):
        raise SystemExit(f"{name}: the compiled code gives another tangent than jvp")
    plain = called(found.primal, args)
    pairs = paired(forward, plain, rounds, 5e-3)
    whole = excess(paired(called(srcad.jvp, (found.primal, args, dots)), forward,
                          rounds, 1e-3))  # fmt: skip
    scalar = all(np.ndim(a) == 0 for a in args if not isinstance(a, dict | list | tuple))
    micro = statistics.median(b for _, b in pairs) * 1e6
    report(name, quotient(pairs), "", SCALAR if scalar else ARRAYS,
           f"the function {micro:.1f} us, finding the code {whole:.0f} us")  # fmt: skip


def main() -> None:
    """Measure the problems that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forward", description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(PROBLEMS))
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    for name in options.names or PROBLEMS:
        cost(name, options.rounds)


if __name__ == "__main__":
    main()
