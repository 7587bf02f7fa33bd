"""Random programs three ways: the IR evaluator, the NumPy code, and the compiled loops.

``python -m tests.backends.numba.random_programs --features all --seed 0 --count 100`` prints one
line for each program that is wrong, and the number of programs per outcome; with ``--python`` the
loops are run by Python, without Numba.  It can be resumed at any seed.
"""

import argparse
import inspect
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import srcad
from srcad import pipeline
from srcad.backends.interface import NotCovered
from srcad.backends.numba.deopt import Deopt
from srcad.types.sources import read
from tests.adapter import evaluated_gradient
from tests.backends.numba.interpreted import fetched, interpreted, numbers
from tests.generator.checker import loaded
from tests.generator.program import program


def outcome(seed: int, features: str, folder: Path, *, compiled: bool) -> tuple[str, str]:
    """Return the outcome of a program and its reason.

    It is ``right``, ``wrong``, not ``covered``, ``refused`` by srcad itself, or left to the NumPy
    code (``deopt``).
    """
    made = program(seed, features)
    seen: list[Any] = []
    outside: list[Any] = []
    finished, lower = pipeline.finished, pipeline.lower

    def finish(*args: Any) -> Any:
        seen.append(finished(*args))
        return seen[-1]

    def lowered(*args: Any) -> Any:
        outside.append(lower(*args))
        return outside[-1]

    with warnings.catch_warnings(), loaded(made.text, folder, f"program_{seed}") as module:
        warnings.simplefilter("ignore")
        derivative = srcad.value_and_grad(module.f, wrt=module.WRT)
        try:
            with mock.patch.multiple(pipeline, finished=finish, lower=lowered):
                expected = numbers(derivative(*module.make_arguments()))
        except srcad.errors.SrcadError as error:
            return "refused", error.sentence
        try:
            if compiled:
                found = _compiled(module)
            else:
                kernel, _, parameters = interpreted(seen[-1])
                arguments = list(module.make_arguments())
                named = dict(zip(inspect.signature(module.f).parameters, arguments, strict=False))
                captures = [read(c.path, module.f, named) for c in outside[-1].captures]
                given = [fetched(p.path, [*arguments, *captures]) for p in parameters]
                with np.errstate(all="ignore"):
                    found = numbers(list(kernel(*given)))
        except NotCovered as refused:
            return "not covered", refused.reason
        except Deopt:
            return "deopt", ""
        if not same(found, expected, 1e-10):
            return "wrong", f"{found} is not {expected}"
        evaluated = numbers(evaluated_gradient(module.f, module.WRT, *module.make_arguments()))
        if not same(found, evaluated, 1e-10):
            return "wrong", f"{found} is not {evaluated} of the evaluator"
    return "right", ""


def _compiled(module: Any) -> np.ndarray:
    derivative = srcad.value_and_grad(module.f, wrt=module.WRT, backend=srcad.Numba(strict=True))
    with mock.patch("srcad.backends.numba.backend.load_numpy", side_effect=Deopt):
        try:
            return numbers(derivative(*module.make_arguments()))
        except srcad.errors.NotCompiledError as error:
            raise NotCovered(error.sentence) from None


def same(found: np.ndarray, expected: np.ndarray, rtol: float) -> bool:
    """Return True if numbers agree, relative to the largest of them."""
    largest = float(np.max(np.abs(expected[np.isfinite(expected)]), initial=1.0))
    return found.shape == expected.shape and np.allclose(
        found, expected, rtol=rtol, atol=rtol * largest, equal_nan=True
    )


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", default="spine")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--python", action="store_true")
    options = parser.parse_args(argv)
    folder = Path(tempfile.mkdtemp(prefix="srcad-compiled-"))
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.count):
        status, why = outcome(seed, options.features, folder, compiled=not options.python)
        outcomes[status] += 1
        if status == "not covered":
            reasons[why] += 1
        if status in ("wrong", "deopt"):
            print(f"seed {seed}: {status} {why}", flush=True)
    for why, number in reasons.most_common(10):
        print(f"{number:5d} {why}")
    print(", ".join(f"{number} {status}" for status, number in sorted(outcomes.items())))
    return int(outcomes["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
