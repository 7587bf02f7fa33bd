"""``python -m tests.generator --count N --seed S --jobs J``: generate and check programs.

``--features all`` lets programs write into arrays, change containers and catch exceptions, too;
``--features mixed`` makes every fourth program one of ``spine`` and the others of ``all``.

The last line reads ``N passed, M failed, C crashed, R refused, K dropped``; the exit status is 1 if
a program failed or crashed, or if more than 2 % were dropped or 6 % (`--most-refused`) refused.
Features of which more than 10 % of the programs are refused are printed.  Failing programs are
written to a folder, the first ones are shrunk.

``--tally FILE`` writes down what became of the programs, and judges only whether any failed;
``--total FILE FILE ...`` adds up such files and judges all of them together.  With ``--against FILE
...``, files that another checkout wrote of the same seeds, each program that had passed there and
does not pass here is printed, and the exit status is 1 if there are any.  To run these programs on
the `srcad` of another checkout, link this folder `tests` into an empty folder and run there, with
that checkout as `PYTHONPATH`.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import re
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
from tests.generator.everything import FAMILIES  # noqa: E402
from tests.generator.features import REQUIRED  # noqa: E402
from tests.generator.program import Program, program  # noqa: E402
from tests.generator.shrink import shrunk  # noqa: E402
from tests.generator.written import WRITTEN, all_features  # noqa: E402

LIMIT = 30  # seconds of CPU for one program: what else the machine does is no fault of it
ENOUGH = 150  # programs that use a feature, to say how many of them are refused
Row = tuple[int, str, str, str, list[str]]  # seed, status, kind, message, features
STATUSES = ("passed", "failed", "crashed", "refused", "dropped")


def _expire(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"no answer after {LIMIT} seconds")


def settle() -> None:
    """Import everything, and keep it out of the way of the garbage collector."""
    srcad.grad(float)
    gc.freeze()


def program_of(seed: int, options: argparse.Namespace) -> Program:
    """The program of a seed."""
    kind = options.features
    if kind == "mixed":
        kind = "all" if seed % 4 else "spine"
    return program(seed, kind)


def one(seed: int, options: argparse.Namespace) -> tuple[int, Outcome, set[str]]:
    """Check the program of a seed, under a time limit."""
    made = program_of(seed, options)
    return seed, limited(made, options), all_features(made)


def limited(made: Program, options: argparse.Namespace, folder: Path | None = None) -> Outcome:
    """Check under a time limit."""
    signal.signal(signal.SIGPROF, _expire)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        folder = folder or options.folder
        return check(made, folder, alone=options.alone, helpers=options.helpers)
    except TimeoutError as error:
        return Outcome("crashed", "raises TimeoutError", str(error))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def smallest(seed: int, kind: str, options: argparse.Namespace) -> str:
    """The shrunk text of a program with this outcome."""
    made = program_of(seed, options)
    folder = options.folder / "shrinking"
    folder.mkdir(exist_ok=True)

    def fails(text: str) -> bool:
        return limited(replace(made, text=text), options, folder).kind == kind

    return shrunk(made.text, fails, options.seconds)


def _features(text: str) -> str:
    if text in ("spine", "all", "mixed") or set(text.split(",")) <= set(FAMILIES):
        return text
    raise argparse.ArgumentTypeError(f"{text}: neither spine, all, mixed nor some of {FAMILIES}")


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.generator", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=Path, help="where failing programs are written")
    parser.add_argument(
        "--features",
        type=_features,
        default="spine",
        help=f"spine, all, mixed or some of {FAMILIES}",
    )
    parser.add_argument("--alone", action="store_true", help="check only the programs themselves")
    parser.add_argument(
        "--helpers", action="store_true", help="compare helpers that are kept and put in place"
    )
    parser.add_argument("--refusals", type=int, default=0, help="how many refusals are shrunk")
    parser.add_argument(
        "--most-refused", type=float, default=6.0, help="the percentage that may be refused"
    )
    parser.add_argument("--tally", type=Path, help="write the outcomes to a file")
    parser.add_argument("--total", type=Path, nargs="+", help="only add up such files")
    parser.add_argument("--against", type=Path, nargs="+", help="compare with such files")
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
    options.folder = options.folder or Path(tempfile.mkdtemp(prefix="srcad-programs-"))
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.show is not None:
        made = program_of(options.show, options)
        print(made.text, limited(made, options), sep="\n")
        return 0
    if options.total:
        return totalled(options)
    step = 3 if options.small else 1
    seeds = range(options.seed - options.seed % step, options.seed + options.count * step, step)
    tally = Tally(options)
    check_one, chosen = partial(one, options=options), seeds[: options.count]
    if options.jobs == 1:
        settle()
        for seed in chosen:
            tally.add(*check_one(seed))
    else:
        with multiprocessing.get_context("spawn").Pool(options.jobs, settle) as pool:
            for result in pool.imap_unordered(check_one, chosen, chunksize=4):
                tally.add(*result)
    tally.report()
    if options.tally:
        options.tally.write_text(json.dumps(tally.rows))
    return tally.verdict()


def totalled(options: argparse.Namespace) -> int:
    """Judge the programs of several runs."""
    tally = Tally(options)
    rows = [row for path in options.total for row in json.loads(path.read_text())]
    options.count, options.features, options.shrink = len(rows), "all", 0
    if options.against:
        return compared(rows, [row for p in options.against for row in json.loads(p.read_text())])
    for seed, status, kind, message, features in rows:
        tally.add(seed, Outcome(status, kind, message), set(features))
    tally.report()
    return tally.verdict()


def compared(rows: list[Row], before: list[Row]) -> int:
    """Print the programs that passed before and do not pass now; 1 if there are any."""
    passed = {seed for seed, status, *_ in before if status == "passed"}
    same = {seed for seed, *_ in before} & {seed for seed, *_ in rows}
    worse = [(seed, *rest) for seed, status, *rest in rows if seed in passed and status != "passed"]
    for seed, kind, message, _ in sorted(worse):
        print(f"seed {seed}: {kind}: {message}"[:200])
    counts = [
        Counter(status for seed, status, *_ in some if seed in same) for some in (before, rows)
    ]
    for name, count in zip(("before", "now"), counts, strict=True):
        print(f"{name}: " + ", ".join(f"{count[status]} {status}" for status in STATUSES))
    print(f"{len(worse)} of {len(same)} programs passed before and do not pass now")
    return int(bool(worse))


class Tally:
    """What became of the programs."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.rows: list[Row] = []
        self.counts: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.found: dict[str, list[tuple[int, Outcome]]] = {k: [] for k in STATUSES}

    def add(self, seed: int, outcome: Outcome, features: set[str]) -> None:
        """Count one program; keep it if it failed."""
        self.rows.append((seed, outcome.status, outcome.kind, outcome.message, sorted(features)))
        self.counts[outcome.status] += 1
        self.found[outcome.status].append((seed, outcome))
        self.seen.update(features)
        if outcome.status == "refused":
            self.refused.update(features)
        if outcome.status in ("failed", "crashed") and not self.options.total:
            path = self.options.folder / f"{outcome.status}_{seed}.py"
            path.write_text(program_of(seed, self.options).text)
            print(f"seed {seed}: {outcome.kind}: {outcome.message}"[:200], flush=True)
        if self.counts.total() % 500 == 0:
            print(f"{self.counts.total()} of {self.options.count}: {self.line()}", flush=True)

    def line(self) -> str:
        """How many ended in which way."""
        return ", ".join(f"{self.counts[status]} {status}" for status in STATUSES)

    def report(self) -> None:
        """Print the features, then kinds of refusals and failures, then some of them shrunk."""
        if not self.options.small:
            self.shares()
        for status in ("refused", "failed", "crashed"):
            kinds: dict[str, list[int]] = {}
            for seed, outcome in self.found[status]:
                kinds.setdefault(_kind(outcome), []).append(seed)
            for kind, seeds in sorted(kinds.items(), key=lambda item: -len(item[1]))[:25]:
                print(f"{len(seeds):5d} x {status}: {kind}   (seed {min(seeds)})")
        bad = self.found["failed"] + self.found["crashed"]
        if bad:
            print(f"failing programs: {self.options.folder}")
        self.shrink(bad, self.options.shrink)
        self.shrink(self.found["refused"], self.options.refusals)

    def shares(self) -> None:
        """Print how many programs have each feature, and how many of these are refused."""
        every = (*REQUIRED, *WRITTEN)
        whole = {"spine": REQUIRED, "all": every, "mixed": every}.get(self.options.features)
        print("of programs  of those refused")
        for name in whole or [name for name in WRITTEN if self.seen[name]]:
            share = 100 * self.seen[name] / self.options.count
            refused = 100 * self.refused[name] / max(self.seen[name], 1)
            note = "   <-- below 5 %" if whole and share < 5 else ""
            print(f"{share:9.1f} %  {refused:13.1f} %  {name}{note}")

    def shrink(self, found: list[tuple[int, Outcome]], most: int) -> None:
        """Print the smallest programs, one of each kind, that end in the same way."""
        shown: set[str] = set()
        for seed, outcome in sorted(found, key=lambda f: (f[0] % 3, f[0])):
            if len(shown) >= most or _kind(outcome) in shown:
                continue
            shown.add(_kind(outcome))
            small = smallest(seed, outcome.kind, self.options)
            print(f"--- seed {seed}, {outcome.status}, {outcome.kind}, shrunk:\n{small}")

    def verdict(self) -> int:
        """Print the last lines; the exit status."""
        share = {k: 100 * self.counts[k] / self.options.count for k in STATUSES}
        most = self.options.most_refused
        print(
            f"{share['refused']:.1f} % refused (at most {most:g}), "
            f"{share['dropped']:.1f} % dropped (2)"
        )
        self.print_often_refused()
        print(self.line())
        few = share["dropped"] <= 2 and share["refused"] <= most
        wrong = self.counts["failed"] + self.counts["crashed"] > 0
        return int(wrong or not (few or self.options.tally))

    def print_often_refused(self) -> None:
        """Print the features of which many programs are refused, where there are enough of them."""
        for name, count in self.seen.items():
            if count >= ENOUGH and self.refused[name] > 0.1 * count:
                print(f"more than 10 % refused: {name}")


def _kind(outcome: Outcome) -> str:
    """The kind of an outcome, without the names of one program."""
    kind = re.sub(r"'[^']*'|program_\d+|line \d+", "...", outcome.kind)
    return kind if outcome.status == "refused" else f"{kind}: {_shortened(outcome.message)}"


def _shortened(message: str) -> str:
    return " ".join(re.sub(r"[-+]?\d+\.?\d*(e-?\d+)?", "#", message).split())[:100]
