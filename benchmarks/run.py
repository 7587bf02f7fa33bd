"""How fast generated code is, how fast it is made, and what a call costs.

    python -m benchmarks.run [ratio] [dispatch] [growth] [compile] [import]

Ratios are to the hand-written adjoint in the same process: in every round each of the two is timed
once, in random order, and the median of the quotients is printed.  Give absolute times no weight.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402 - after the number of threads is set

import srcad  # noqa: E402
from benchmarks.problems import PROBLEMS, Problem  # noqa: E402
from benchmarks.problems.loops import lse_loop  # noqa: E402

Run = Callable[[], Any]


# ----------------------------------------------------------------------------------- timing
def seconds(run: Run, number: int) -> float:
    """The time of one call, averaged over a few."""
    start = time.perf_counter()
    for _ in range(number):
        run()
    return (time.perf_counter() - start) / number


def repetitions(run: Run, budget: float = 2e-3) -> int:
    """How many calls fill a time budget in seconds."""
    run()
    return max(1, min(20_000, int(budget / max(seconds(run, 1), 1e-8))))


def paired(first: Run, second: Run, rounds: int, budget: float = 2e-3) -> list[tuple[float, float]]:
    """The times of two calls, taken together in every round, in random order."""
    number = repetitions(second, budget)
    first()
    found = []
    for _ in range(rounds):
        times = {k: seconds((first, second)[k], number) for k in random.sample((0, 1), 2)}
        found.append((times[0], times[1]))
    return found


def quotient(pairs: list[tuple[float, float]]) -> float:
    """The median of the quotients."""
    return statistics.median(a / b for a, b in pairs)


def excess(pairs: list[tuple[float, float]]) -> float:
    """The median of the differences, in microseconds."""
    return statistics.median(a - b for a, b in pairs) * 1e6


def report(label: str, value: float, unit: str, limit: float | None = None, note: str = "") -> None:
    """Print one line: what was measured, and whether it keeps its limit."""
    verdict = ""
    if limit is not None:
        verdict = f"limit {limit:g}: {'ok' if value <= limit else 'MISSED'}"
    print(f"{label:44} {value:10.2f} {unit:5} {verdict:20} {note}".rstrip(), flush=True)


# ------------------------------------------------------------------------------------ parts
def ratio(rounds: int) -> None:
    """Generated code against the hand-written adjoint, dispatch included."""
    for name, problem in PROBLEMS.items():
        args = problem.make(np.random.default_rng(20240607))
        g = srcad.grad(problem.primal, wrt=problem.wrt)
        error = difference(problem, args, g(*args))
        if error > 1e-6:
            print(f"{name}: the gradient differs by {error:.1e}")
            continue
        pairs = paired(called(g, args), called(problem.by_hand, args), rounds)
        by_hand = statistics.median(b for _, b in pairs) * 1e6
        report(name, quotient(pairs), "", problem.limit, f"by hand {by_hand:.1f} us")


def called(function: Callable[..., Any], args: tuple[Any, ...]) -> Run:
    """A call as a function without arguments."""
    return lambda: function(*args)


def difference(problem: Problem, args: tuple[Any, ...], gradient: Any) -> float:
    """How far two gradients are apart, relative to the largest entry."""
    worst = 0.0
    for got, want in zip(gradient, problem.by_hand(*args), strict=True):
        scale = float(np.max(np.abs(want))) or 1.0
        worst = max(worst, float(np.max(np.abs(np.asarray(got) - want))) / scale)
    return worst


def dispatch(rounds: int) -> None:
    """What finding the compiled code costs: the call against the bare compiled function.

    A difference of two times that are much longer than it: many short rounds, because what the
    machine does meanwhile changes from one millisecond to the next.
    """
    for name, limit in (("rosenbrock", None), ("mlp_tiny", 2.5)):
        problem = PROBLEMS[name]
        args = problem.make(np.random.default_rng(1))
        g = srcad.grad(problem.primal, wrt=problem.wrt)
        g(*args)
        pairs = paired(called(g, args), called(g.specialize(*args), args), 200 * rounds, 2e-4)
        report(f"dispatch of {name}", excess(pairs), "us", limit)
    problem = PROBLEMS["rosenbrock"]
    g = srcad.grad(problem.primal, wrt=problem.wrt)
    pairs = paired(called(g, (-1.2, 1.0)), called(problem.by_hand, (-1.2, 1.0)), 200 * rounds, 2e-4)
    report("rosenbrock above the one by hand", excess(pairs), "us", 1.0)
    if importlib.util.find_spec("numba") is None:
        return
    for name in ("lse_loop", "mlp_tiny"):
        problem = PROBLEMS[name]
        args = problem.make(np.random.default_rng(1))
        g = srcad.grad(problem.primal, wrt=problem.wrt, backend="numba")
        g(*args)
        kernel = g.specialize(*args).__globals__["kernel"]
        pairs = paired(called(g, args), called(kernel, args), 200 * rounds, 2e-4)
        report(f"compiled {name} above its kernel", excess(pairs), "us", 1.0)


def growth(rounds: int) -> None:
    """Reading elements in a loop stays linear, at order 2 too."""
    first = srcad.grad(lse_loop)

    def slope(x):
        return np.sum(first(x) ** 2)

    rng = np.random.default_rng(0)
    small, large = (rng.normal(size=50_000),), (rng.normal(size=100_000),)
    for order, g in ((1, first), (2, srcad.grad(slope))):
        g(np.ones(10))
        pairs = paired(called(g, large), called(g, small), max(5, rounds // 2))
        report(f"lse_loop from 50,000 to 100,000, order {order}", quotient(pairs), "fold", 2.2)


def compilation(rounds: int) -> None:
    """The time of the first gradient, warm and in a fresh process; growth with the length."""
    limits: dict[int, float | None] = {20: 40.0, 200: None, 2000: None}
    times: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first_gradient(folder, "warm_up", straight_line(20))
        for count, limit in limits.items():
            names = [f"statements_{count}_{k}" for k in range(1 if count == 2000 else 5)]
            times[count] = min(first_gradient(folder, n, straight_line(count)) for n in names)
            report(f"first gradient of {count} statements", times[count] * 1e3, "ms", limit)
        report("2,000 statements against 200", times[2000] / times[200], "fold", 15.0)
        terms = "def f(x):\n    return " + " + ".join(f"x * {k}.5" for k in range(2000)) + "\n"
        report("one sum of 2,000 terms", first_gradient(folder, "terms", terms) * 1e3, "ms")
        (folder / "fresh.py").write_text(straight_line(20))
        fresh = statistics.median(child(FRESH, folder) for _ in range(max(3, rounds // 3)))
        report("first thing in a fresh process", fresh * 1e3, "ms", 120.0)


FRESH = """
import time, numpy, fresh
start = time.perf_counter()
import srcad
srcad.grad(fresh.f)(0.3)
print(time.perf_counter() - start)
"""
IMPORT = """
import time, numpy
start = time.perf_counter()
import srcad
print(time.perf_counter() - start)
"""


def straight_line(count: int) -> str:
    """A function of `count` statements."""
    lines = ["import numpy as np", "", "def f(x):", "    v0 = x"]
    forms = ("np.sin({0}) * {1}", "{0} + 0.5 * {1}", "{0} * {1} - 0.1", "np.tanh({0}) + {1}")
    for k in range(1, count):
        form = forms[k % 4].format(f"v{k - 1}", f"v{max(0, k - 3)}")
        lines.append(f"    v{k} = {form}")
    return "\n".join([*lines, f"    return v{count - 1}", ""])


def first_gradient(folder: Path, name: str, text: str) -> float:
    """The seconds that the first call of a new gradient takes."""
    path = folder / f"{name}.py"
    path.write_text(text)
    space: dict[str, Any] = {"__name__": name}
    exec(compile(text, str(path), "exec"), space)
    start = time.perf_counter()
    srcad.grad(space["f"])(0.3)
    return time.perf_counter() - start


def child(code: str, folder: Path) -> float:
    """The number that a fresh process prints, with compiled files written and used."""
    apart = ("PYTHONDONTWRITEBYTECODE", "SRCAD_VERIFY")
    environment = {k: v for k, v in os.environ.items() if k not in apart}
    root = str(Path(__file__).resolve().parent.parent)
    environment["PYTHONPATH"] = os.pathsep.join((str(folder), root))
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout)


def importing(rounds: int) -> None:
    """What importing srcad adds to importing NumPy."""
    child(IMPORT, Path())
    taken = statistics.median(child(IMPORT, Path()) for _ in range(max(5, rounds // 2)))
    report("import srcad", taken * 1e3, "ms", 30.0)


PARTS: dict[str, Callable[[int], None]] = {
    "ratio": ratio,
    "dispatch": dispatch,
    "growth": growth,
    "compile": compilation,
    "import": importing,
}


def main() -> None:
    """Run the parts named on the command line, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
    print(f"{versions}, {platform.machine()}, {os.cpu_count()} cores")
    for part in options.parts or PARTS:
        print(f"-- {part}")
        PARTS[part](options.rounds)


if __name__ == "__main__":
    main()
