"""What the product of a Hessian with a vector costs, in gradients.

    python -m benchmarks.hvp [names]

In every round the code that is generated for the product and that for the gradient are timed once,
in random order, and the median of the quotients is printed, with the lines of both texts; the last
line is the median of all problems.  The direction moves all active arguments of a problem.
"""

from __future__ import annotations

import argparse
import statistics

import numpy as np

import srcad
from benchmarks.forward import tangents
from benchmarks.problems import PROBLEMS
from benchmarks.run import called, paired, quotient, report

LIMIT = 4.0
MEDIAN = 2.5


def cost(name: str, rounds: int) -> float:
    """Print what a product costs."""
    found = PROBLEMS[name]
    args = found.make(np.random.default_rng(20240607))
    dots = tangents(args, found.wrt)
    v = tuple(dots[k] for k in found.wrt)
    gradient, product = srcad.grad(found.primal, found.wrt), srcad.hvp(found.primal, found.wrt)
    compiled = gradient.specialize(*args)
    directed = product.specialize(*args, v=v)
    pairs = paired(lambda: directed(*args, v=v), called(compiled, args), rounds, 5e-3)
    lines = [len(text.splitlines()) for text in (product.source, gradient.source)]
    ratio = quotient(pairs)
    report(name, ratio, "", LIMIT, f"{lines[0]} lines, the gradient {lines[1]}")
    return ratio


def main() -> None:
    """Measure the problems that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hvp", description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(PROBLEMS))
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    ratios = [cost(name, options.rounds) for name in options.names or PROBLEMS]
    report("median", statistics.median(ratios), "", MEDIAN)


if __name__ == "__main__":
    main()
