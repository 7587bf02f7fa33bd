"""``python -m tests.generator.orders --count N --third M``: higher derivatives of random programs.

For each program the product of its Hessian with a random direction, taken in three ways, is that of
differences of the gradient; for the first M the third derivative along two directions, taken with
the modes nested in two orders, is that of differences of these products.

With ``--identity`` it checks the first derivative in both modes instead: ``<u, J v> = <J' u, v>``.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ.setdefault("SRCAD_VERIFY", "1")

import numpy as np

import srcad
from srcad.errors import InvalidIRError, NoDerivativeWarning, SrcadError
from tests.generator.checker import Dropped, Mismatch, Outcome, agrees, loaded
from tests.generator.differences import direction, moved, product, real_slope
from tests.generator.program import Program, program
from tests.generator.promises import overlaps
from tests.generator.traces import instrumented, traced

Run = Callable[..., Any]


def check_identity(made: Program, folder: Path) -> Outcome:
    """Compare the first derivatives of a program in both modes."""
    return _checked(made, folder, lambda module: _identity(made, module))


def check_orders(made: Program, folder: Path, *, third: bool = False) -> Outcome:
    """Compare the second derivatives of a program, and the third ones."""
    return _checked(made, folder, lambda module: _Orders(made, module).run(third=third))


def _checked(made: Program, folder: Path, compare: Callable[[ModuleType], None]) -> Outcome:
    name = f"program_{made.seed}"
    try:
        with warnings.catch_warnings(), loaded(made.text, folder, name) as module:
            warnings.simplefilter("ignore")
            warnings.simplefilter("ignore", NoDerivativeWarning)
            compare(module)
    except Mismatch as error:
        return Outcome("failed", error.args[0], str(error.args[1]))
    except Dropped:
        return Outcome("dropped")
    except SrcadError as error:
        status = "crashed" if isinstance(error, InvalidIRError) else "refused"
        return Outcome(status, error.sentence, str(error))
    except Exception as error:
        return Outcome("crashed", f"raises {type(error).__name__}", str(error))
    return Outcome("passed")


def _identity(made: Program, module: ModuleType) -> None:
    """The product of both modes, and the value that they return."""
    rng = np.random.default_rng(made.seed)
    wrt = tuple(module.WRT)
    args = module.make_arguments()
    along = {k: direction(args[k], rng) for k in wrt}
    want = module.f(*module.make_arguments())
    y, back = srcad.pullback(module.f, *module.make_arguments(), wrt=wrt)
    dots = tuple(along.get(k) for k in range(len(args)))
    y_again, y_dot = srcad.jvp(module.f, module.make_arguments(), dots)
    u = direction(y, rng)
    if not repr(want) == repr(y) == repr(y_again):
        raise Mismatch("values", f"{want!r}, {y!r}, {y_again!r}")
    left, right = product(y_dot, u), product(back(u), tuple(along.values()))
    if not np.isclose(left, right, rtol=1e-9, atol=1e-10, equal_nan=True):
        raise Mismatch("identity", f"<u, J v> = {left!r}, <J' u, v> = {right!r}")


class _Orders:
    """One program with its arguments, and the directions in which it is differentiated."""

    def __init__(self, made: Program, module: ModuleType) -> None:
        self.made, self.f, self.fresh = made, module.f, module.make_arguments
        self.wrt = tuple(module.WRT)
        rng = np.random.default_rng(made.seed)
        chosen = [self.fresh()[k] for k in self.wrt]
        self.u, self.v, self.w = (tuple(direction(x, rng) for x in chosen) for _ in range(3))
        if overlaps(tuple(chosen), ()):
            raise Dropped  # one of them cannot be moved alone

    def run(self, *, third: bool) -> None:
        """All comparisons."""
        gradient = srcad.grad(self.f, wrt=self.wrt)
        ways = {
            "forward over reverse": self.product,
            "reverse over reverse": lambda *args: self.back_along(gradient, args, self.v),
            "reverse over forward": srcad.grad(self.tangent, wrt=self.wrt),
        }
        self.compare(ways, gradient, self.v)
        if third:
            nested = {
                "forward over forward over reverse": lambda *args: self.pushed(args),
                "reverse over forward over reverse": lambda *args: self.back_along(
                    self.product, args, self.w
                ),
            }
            self.compare(nested, self.product, self.w)

    # -------------------------------------------------------------------- derivatives
    def product(self, *args: Any) -> Any:
        """The product of the Hessian with `v`."""
        return srcad.hvp(self.f, wrt=self.wrt)(*args, v=self.v)

    @property
    def tangent(self) -> Run:
        """The function whose gradient is that product."""
        f, dots = self.f, self.dots(self.v)
        return lambda *args: srcad.jvp(f, args, dots)[1]

    def pushed(self, args: tuple[Any, ...]) -> Any:
        """The tangent of the product along `w`."""
        f, wrt, v = self.f, self.wrt, self.v
        return srcad.jvp(lambda *args: srcad.hvp(f, wrt=wrt)(*args, v=v), args, self.dots(self.w))[
            1
        ]

    def back_along(self, function: Run, args: tuple[Any, ...], bar: Any) -> Any:
        """The pullback of a function that returns one derivative for each argument."""
        if function == self.product:
            f, wrt, v = self.f, self.wrt, self.v
            function = lambda *args: srcad.hvp(f, wrt=wrt)(*args, v=v)  # noqa: E731
        return srcad.pullback(function, *args, wrt=self.wrt)[1](bar)

    def dots(self, along: Any) -> tuple[Any, ...]:
        """One direction for each argument, None for constants."""
        given = dict(zip(self.wrt, along, strict=True))
        return tuple(given.get(k) for k in range(len(self.fresh())))

    # -------------------------------------------------------------------- comparing
    def compare(self, ways: dict[str, Run], below: Run, along: Any) -> None:
        """All ways to differentiate `below` along a direction, and differences."""
        f, trace = instrumented(self.made.text, f"program_{self.made.seed}")

        def at(step: float) -> tuple[Any, ...]:
            args = list(self.fresh())
            for k, dot in zip(self.wrt, along, strict=True):
                args[k] = moved(args[k], dot, step)
            return tuple(args)

        def run(step: float) -> tuple[Any, list[Any]]:
            return product(below(*at(step)), self.u), traced(f, trace, at(step))[1]

        found = {name: product(way(*self.fresh()), self.u) for name, way in ways.items()}
        want = real_slope(run)
        first = next(iter(found.values()))
        for name, got in found.items():
            if not np.isclose(got, first, rtol=1e-8, atol=1e-9):
                raise Mismatch("ways", f"{name}: {found}, differences say {want}")
        if want is None or want.error > 1e-4 * max(1.0, abs(want.value)):
            raise Dropped
        if not agrees(first, want):
            raise Mismatch("differences", f"{found}, differences say {want}")


def main(arguments: list[str]) -> int:
    """Check many programs; the exit status is 1 if any failed or crashed."""
    parser = argparse.ArgumentParser(prog="python -m tests.generator.orders")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--third", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--features", default="spine")
    parser.add_argument("--identity", action="store_true", help="check both modes, first order")
    options = parser.parse_args(arguments)
    tally: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for k in range(options.count):
            made = program(options.seed + k, options.features)
            if options.identity:
                outcome = check_identity(made, Path(folder))
            else:
                outcome = check_orders(made, Path(folder), third=k < options.third)
            tally[outcome.status] += 1
            if outcome.status not in ("passed", "dropped"):
                print(made.seed, outcome.status, outcome.kind, outcome.message[:400], flush=True)
    print(", ".join(f"{n} {status}" for status, n in tally.items()))
    return 1 if tally["failed"] or tally["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
