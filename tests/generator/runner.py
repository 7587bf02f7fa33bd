"""``python -m tests.generator --count N --seed S --jobs J``: generate and check programs.

The last line reads ``N passed, M failed, K dropped``; the exit status is 1 if a program failed or
more than 2 % were dropped.  Failing programs are written to a folder, the first ones are shrunk.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import signal
import tempfile
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType

os.environ.setdefault("SRCAD_VERIFY", "1")
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import srcad  # noqa: E402 - after the environment is set
from tests.generator.checker import Outcome, check  # noqa: E402 - after the environment is set
from tests.generator.features import REQUIRED, features  # noqa: E402
from tests.generator.program import Program, program  # noqa: E402
from tests.generator.shrink import shrunk  # noqa: E402

LIMIT = 30  # seconds for one program


def _expire(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"no answer after {LIMIT} seconds")


def settle() -> None:
    """Import everything, and keep it out of the way of the garbage collector."""
    srcad.grad(float)
    gc.freeze()


def one(seed: int, folder: Path) -> tuple[int, Outcome, set[str]]:
    """Check the program of a seed, under a time limit."""
    made = program(seed)
    return seed, limited(made, folder), features(made)


def limited(made: Program, folder: Path) -> Outcome:
    """Check under a time limit."""
    signal.signal(signal.SIGALRM, _expire)
    signal.alarm(LIMIT)
    try:
        return check(made, folder)
    except TimeoutError as error:
        return Outcome("failed", "raises TimeoutError", str(error))
    finally:
        signal.alarm(0)


def smallest(seed: int, kind: str, folder: Path, seconds: float) -> str:
    """The shrunk text of a failing program."""
    made = program(seed)
    folder = folder / "shrinking"
    folder.mkdir(exist_ok=True)

    def fails(text: str) -> bool:
        return limited(replace(made, text=text), folder).kind == kind

    return shrunk(made.text, fails, seconds)


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.generator", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=Path, help="where failing programs are written")
    parser.add_argument("--small", action="store_true", help="only the small programs")
    parser.add_argument(
        "--show", type=int, metavar="SEED", help="print one program and its outcome"
    )
    parser.add_argument("--shrink", type=int, default=2, help="how many failures are shrunk")
    parser.add_argument("--seconds", type=float, default=30.0, help="the time for each shrinking")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """Run the command line."""
    options = arguments(argv)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="srcad-programs-"))
    folder.mkdir(parents=True, exist_ok=True)
    if options.show is not None:
        print(program(options.show).text, limited(program(options.show), folder), sep="\n")
        return 0
    step = 3 if options.small else 1
    seeds = range(options.seed - options.seed % step, options.seed + options.count * step, step)
    seeds = seeds[: options.count]
    counts: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    failures: list[tuple[int, Outcome]] = []
    with multiprocessing.get_context("spawn").Pool(options.jobs, settle) as pool:
        check_one = partial(one, folder=folder)
        for seed, outcome, found in pool.imap_unordered(check_one, seeds, chunksize=4):
            counts[outcome.status] += 1
            seen.update(found)
            if outcome.status == "refused":
                print(f"seed {seed} refused: {outcome.kind}"[:200], flush=True)
            if outcome.status == "failed":
                failures.append((seed, outcome))
                (folder / f"failing_{seed}.py").write_text(program(seed).text)
                print(f"seed {seed}: {outcome.kind}: {outcome.message}"[:200], flush=True)
            if sum(counts.values()) % 500 == 0:
                print(f"{sum(counts.values())} of {len(seeds)}: {dict(counts)}", flush=True)
    report(options, folder, seen, failures)
    print(f"{counts['refused']} refused (at most 3 % may be)")
    total = f"{counts['passed']} passed, {counts['failed']} failed, {counts['dropped']} dropped"
    print(total)
    few = counts["dropped"] <= 0.02 * options.count and counts["refused"] <= 0.03 * options.count
    return int(counts["failed"] > 0 or not few)


def report(
    options: argparse.Namespace,
    folder: Path,
    seen: Counter[str],
    failures: list[tuple[int, Outcome]],
) -> None:
    """Print the features, the failures by kind and the smallest failing programs."""
    if not options.small:
        for name in REQUIRED:
            share = 100 * seen[name] / options.count
            print(f"{share:6.1f} %  {name}{'   <-- below 5 %' if share < 5 else ''}")
    kinds = Counter((o.kind, " ".join(o.message.split())[:100]) for _, o in failures)
    for (kind, message), number in kinds.most_common(25):
        first = min(
            s for s, o in failures if (o.kind, " ".join(o.message.split())[:100]) == (kind, message)
        )
        print(f"{number:5d} x {kind}: {message}   (seed {first})")
    if failures:
        print(f"failing programs: {folder}")
    shown: set[str] = set()
    for seed, outcome in sorted(failures, key=lambda f: (f[0] % 3, f[0])):
        if len(shown) >= options.shrink or outcome.kind in shown:
            continue
        shown.add(outcome.kind)
        small = smallest(seed, outcome.kind, folder, options.seconds)
        print(f"--- seed {seed}, {outcome.kind}, shrunk:\n{small}")
