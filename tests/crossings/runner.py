"""The cells of the tables, and the command that checks them.

``python -m tests.crossings [--programs WORD ...] [--modes NAME ...] [--operands NAME ...]
[--surroundings [NAME ...]] [--pairs] [--seed S] [--share K/N] [--limit COUNT]`` checks programs by
modes, or, with ``--surroundings``, the samples of the rule table by surroundings and makes of
arguments; ``--pairs`` differentiates derivatives.  Cells are in an order drawn by the seed, and a
share has one in so many of them.  It prints the matrix, and each failure as a program of its own.
The exit status is 1 if a cell is wrong or crashed, or refused and not listed in ``expected.txt``.
"""

from __future__ import annotations

import argparse
import inspect
import random
import tempfile
import textwrap
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.crossings.checker import (
    Case,
    Mode,
    NotApplicable,
    Program,
    Verdict,
    check,
    is_float,
    leaves,
    mapped,
)
from tests.crossings.inside import INSIDE
from tests.crossings.modes import MODES
from tests.crossings.operands import OPERANDS, made
from tests.crossings.programs import PROGRAMS
from tests.crossings.surroundings import SAMPLES, SURROUNDINGS, Call, literal, path_of
from tests.generator.checker import loaded
from tests.generator.shrink import shrunk
from tests.rules.samples import CALLS

EXPECTED = Path(__file__).with_name("expected.txt")
BAD = ("wrong", "crashed")
DERIVATIVES = (
    "grad", "value_and_grad", "gradient", "pullback", "vjp", "elementwise_grad", "jvp", "hvp",
    "jacobian", "jacfwd", "jacrev", "hessian",
)  # fmt: skip
OF_CALLS = ("pullback", "jvp")  # the modes of the table of calls, if none are named


def nudged(tree: Any, attempt: int) -> Any:
    """A structure with numbers moved a little, in their own memory; the first time as it is."""
    if not attempt:
        return tree
    rng = np.random.default_rng(attempt)

    def one(leaf: Any) -> Any:
        if not is_float(leaf):
            return leaf
        move = 0.02 * rng.normal(size=np.shape(leaf))
        if isinstance(leaf, np.ndarray) and leaf.flags.writeable:
            leaf += (move * (1 + np.abs(leaf))).astype(leaf.dtype)
            return leaf
        return np.asarray(leaf + move * (1 + abs(leaf))).astype(np.asarray(leaf).dtype)[()]

    moved = mapped(one, tree)
    return mapped(lambda x: x.item() if type(x) is np.float64 and x.ndim == 0 else x, moved)


@dataclass(frozen=True)
class ProgramCell:
    """A registered program in a mode, with its first array made in one of the ways."""

    program: str
    mode: str
    operand: str = "C"
    inside: str | None = None

    @property
    def name(self) -> str:
        """The line of ``expected.txt`` without the code."""
        around = f" of {self.inside}" if self.inside else ""
        return f"{self.program} | {self.operand} | {self.mode}{around}"

    @property
    def row(self) -> str:
        """The row of the matrix."""
        return self.mode

    @property
    def column(self) -> str:
        """The column of the matrix."""
        return self.inside or self.operand

    def make(self, attempt: int) -> Program:
        """The program at a point."""
        make = PROGRAMS[self.program]
        f, first = make()
        stops = "stop_gradient" in getattr(getattr(f, "__code__", None), "co_names", ())

        def args() -> tuple[Any, ...]:
            return tuple(self._in_operand(nudged(make()[1], attempt)))

        if self.inside:
            if stops:
                raise NotApplicable("a part counts as constant")
            wrt = [k for k, x in enumerate(first) if any(map(is_float, leaves(x)))]
            if not wrt or any(not isinstance(x, float | np.ndarray) for x in first):
                raise NotApplicable("an argument is a structure")
            rng = np.random.default_rng(0)
            v = tuple(
                None if not is_float(x) else np.asarray(rng.normal(size=np.shape(x)))[()]
                for x in first
            )
            v = tuple(float(d) if isinstance(d, np.float64) else d for d in v)
            f = INSIDE[self.inside](f, wrt[0], v)
        return Program(f, args, stops=stops)

    def _in_operand(self, args: tuple[Any, ...]) -> Iterator[Any]:
        operand, used = OPERANDS[self.operand], self.operand == "C"
        if operand.read != "{0}":
            raise NotApplicable("programs read their arguments themselves")
        for x in args:
            if not used and isinstance(x, np.ndarray) and x.dtype == float:
                used = True
                try:
                    x = made(operand, x)
                except (IndexError, ValueError) as error:
                    raise NotApplicable(str(error)) from None
            yield x
        if not used:
            raise NotApplicable("no argument is an array")

    def check(self, seed: int) -> Verdict:
        """Check the cell."""
        mode = MODES[self.mode]
        if self.inside or self._takes_a_derivative():
            mode = Mode(mode.function, mode.form, mode.scalar, mode.ones, mode.single, nearly=True)
        return check(self.make, mode, seed)

    def _takes_a_derivative(self) -> bool:
        """Return True if the program calls a derivative, which is rounded as its own text is."""
        code = getattr(PROGRAMS[self.program]()[0], "__code__", None)
        return not set(getattr(code, "co_names", ())).isdisjoint(DERIVATIVES)

    def paste(self, seed: int) -> str:
        """A program that shows the failure, from the root of the repository."""
        mode = MODES[self.mode]
        case = Case(self.make(0), mode, np.random.default_rng([seed, 0]))
        lines = [
            "import numpy as np", "import srcad", "from tests.crossings.modes import *",
            "from tests.crossings.modes import Given, selected",
            "from tests.crossings.runner import ProgramCell, weighed", "",
            f"program = {ProgramCell(self.program, self.mode, self.operand, self.inside)}.make(0)",
        ]  # fmt: skip
        f = (
            "program.f"
            if case.f is case.program.f
            else f"weighed(program.f, {_shown(case.weights)})"
        )
        lines += [f"u = {_shown(case.u)}", f"v = {_shown(case.given.v)}",
                  f"given = Given({f}, program.make(), {case.wrt}, u, v)"]  # fmt: skip
        source = textwrap.dedent(inspect.getsource(mode.function)).partition("\n")[2]
        call = f"print({self.mode}(given))"
        try:
            own = textwrap.indent(inspect.getsource(case.program.f), "# ")
        except (OSError, TypeError):
            own = ""
        return "\n".join([*lines, "", source, call, own])


@dataclass(frozen=True)
class CallCell:
    """A sample of the rule table in one of its surroundings, of one make of arguments."""

    number: int
    surrounding: str
    operand: str
    mode: str

    @property
    def name(self) -> str:
        """The line of ``expected.txt`` without the code."""
        path = path_of(SAMPLES[self.number][0])
        where = f"{self.surrounding} | {self.operand} | {self.mode}"
        return f"{path} {_place_among(self.number)} | {where}"

    @property
    def row(self) -> str:
        """The row of the matrix."""
        return self.surrounding

    @property
    def column(self) -> str:
        """The column of the matrix."""
        return self.operand

    def text(self) -> str:
        """The program."""
        return Call(self.number, OPERANDS[self.operand]).program(self.surrounding)

    def check(self, seed: int) -> Verdict:
        """Check the cell."""
        try:
            return self.check_text(self.text(), seed)
        except NotApplicable as error:
            return Verdict("absent", str(error))

    def check_text(self, text: str, seed: int) -> Verdict:
        """Check a program in place of that of the cell."""
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            module = stack.enter_context(loaded(text, folder, "crossed_call"))

            def make(attempt: int) -> Program:
                def args() -> tuple[Any, ...]:
                    try:
                        return nudged(module.make_arguments(), attempt)
                    except Exception as error:
                        raise NotApplicable(f"the argument cannot be made: {error}") from None

                return Program(module.f, args, self.number >= len(CALLS))

            return check(make, MODES[self.mode], seed)

    def paste(self, seed: int, seconds: float = 20.0) -> str:
        """The program, as small as it fails in the same way."""
        found = self.check(seed)

        def fails(text: str) -> bool:
            try:
                verdict = self.check_text(text, seed)
            except Exception:
                return False
            return (verdict.status, verdict.kind) == (found.status, found.kind)

        text = shrunk(self.text(), fails, seconds)
        return f"{text}\n# then in the mode {self.mode!r}: {MODES[self.mode].form}\n"


Cell = ProgramCell | CallCell


def _shown(value: Any) -> str:
    return literal(value) or repr(value)


def _place_among(number: int) -> int:
    """Which sample of its function a call is."""
    target = SAMPLES[number][0]
    return sum(1 for call in SAMPLES[:number] if call[0] is target or call[0] == target)


# ------------------------------------------------------------------------------- tables
def cells_of_programs(programs: list[str], modes: list[str], operands: list[str]) -> list[Cell]:
    """Programs by modes, for some makes of the first array."""
    return [
        ProgramCell(program, mode, operand)
        for program in chosen(PROGRAMS, programs)
        for mode in modes or [name for name, mode in MODES.items() if not mode.slow]
        for operand in operands or ["C"]
    ]


def cells_of_pairs(programs: list[str], modes: list[str]) -> list[Cell]:
    """Programs by modes, each of a derivative inside."""
    outer = modes or [name for name, mode in MODES.items() if not mode.slow and mode.order == 1]
    return [
        ProgramCell(program, mode, "C", inside)
        for program in chosen(PROGRAMS, programs)
        for mode in outer
        for inside in INSIDE
    ]


def cells_of_calls(
    surroundings: list[str], operands: list[str], modes: list[str], words: list[str]
) -> list[Cell]:
    """Samples of the rule table by surroundings and makes of arguments, in two modes."""
    numbers = [
        k for k, call in enumerate(SAMPLES)
        if not words or any(word in str(path_of(call[0])) for word in words)
    ]  # fmt: skip
    return [
        CallCell(number, surrounding, operand, mode)
        for number in numbers
        for surrounding in surroundings or SURROUNDINGS
        for operand in operands or OPERANDS
        for mode in modes or OF_CALLS
    ]


def chosen(names: Any, words: list[str]) -> list[str]:
    """The names that contain one of the words; all without words."""
    return [name for name in names if not words or any(word in name for word in words)]


def drawn(cells: list[Cell], seed: int, share: str, limit: int | None = None) -> list[Cell]:
    """One in so many cells, in an order that the seed decides."""
    which, of = (int(number) for number in share.split("/"))
    cells = list(cells)
    random.Random(seed).shuffle(cells)
    return cells[which - 1 :: of][:limit]


def expected() -> dict[str, str]:
    """The cells that are refused, with their codes."""
    if not EXPECTED.exists():
        return {}
    lines = [line for line in EXPECTED.read_text().splitlines() if line]
    return {name: code for name, _, code in (line.rpartition(" | ") for line in lines)}


def complaint(cell: Cell, verdict: Verdict, table: dict[str, str]) -> str | None:
    """What is to be changed because of a verdict; None if it is the expected one."""
    if verdict.status in BAD:
        return f"{verdict.status}: {cell.name}: {verdict.kind}: {verdict.message}"
    if verdict.status in ("unsteady", "absent"):
        return None
    listed = table.get(cell.name)
    found = verdict.kind if verdict.status == "refused" else None
    if listed == found:
        return None
    if found is None:
        return f"not refused: remove from expected.txt: {cell.name} | {listed}"
    return f"refused: put into expected.txt: {cell.name} | {found}"


# ------------------------------------------------------------------------------- command
def main(arguments: list[str]) -> int:
    """Check cells and print what was found."""
    options = _options().parse_args(arguments)
    if options.surroundings is not None:
        cells = cells_of_calls(
            options.surroundings, options.operands, options.modes, options.programs
        )
    elif options.pairs:
        cells = cells_of_pairs(options.programs, options.modes)
    else:
        cells = cells_of_programs(options.programs, options.modes, options.operands)
    chosen_cells = drawn(cells, options.seed, options.share, options.limit)
    print(f"{len(chosen_cells)} of {len(cells)} cells", flush=True)
    start, found, table = time.process_time(), [], expected()
    for cell in chosen_cells:
        verdict = cell.check(options.seed)
        found.append((cell, verdict))
        text = complaint(cell, verdict, table)
        if text and not (options.update and verdict.status not in BAD):
            print(text, flush=True)
        if options.seconds and time.process_time() - start > options.seconds:
            break
    print(matrix(found))
    print(summary(found, time.process_time() - start))
    return report(found, options)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.crossings", description=__doc__)
    parser.add_argument("--programs", nargs="*", default=[], help="words in their names")
    parser.add_argument("--modes", nargs="*", default=[], choices=[*MODES, []])
    parser.add_argument("--operands", nargs="*", default=[], choices=[*OPERANDS, []])
    parser.add_argument("--surroundings", nargs="*", help="the table of calls of libraries")
    parser.add_argument("--pairs", action="store_true", help="modes of derivatives inside")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", default="1/1", help="K/N: the K-th of every N cells")
    parser.add_argument("--limit", type=int, help="at most so many cells")
    parser.add_argument("--seconds", type=float, help="of CPU, after which no cell is begun")
    parser.add_argument("--pastes", type=int, default=10, help="how many programs are printed")
    parser.add_argument("--update", action="store_true", help="rewrite the lines of these cells")
    return parser


def matrix(found: list[tuple[Cell, Verdict]]) -> str:
    """How many cells are right, refused and bad, by row and column."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for cell, verdict in found:
        counts[cell.row, cell.column][verdict.status] += 1
    columns = [name for name in (*OPERANDS, *INSIDE) if any(column == name for _, column in counts)]
    rows = list(dict.fromkeys(row for row, _ in sorted(counts)))
    width = max(map(len, rows), default=0)
    lines = [
        "right/refused/bad: " + ", ".join(f"{k}={name}" for k, name in enumerate(columns)),
        " " * width + "".join(f"{k:>12}" for k in range(len(columns))),
    ]
    for row in rows:
        texts = []
        for column in columns:
            n = counts[row, column]
            texts.append(f"{n['right']}/{n['refused']}/{n['wrong'] + n['crashed']}")
        lines.append(row.ljust(width) + "".join(f"{text:>12}" for text in texts))
    return "\n".join(lines)


def summary(found: list[tuple[Cell, Verdict]], seconds: float) -> str:
    """How many cells ended in each way."""
    counts = Counter(verdict.status for _, verdict in found)
    moved = sum(verdict.redrawn for _, verdict in found if verdict.status != "absent")
    words = ", ".join(f"{status} {count}" for status, count in sorted(counts.items()))
    return f"{words}; {moved} points drawn again; {seconds:.1f} s of CPU"


def report(found: list[tuple[Cell, Verdict]], options: argparse.Namespace) -> int:
    """Print what differs from the expected table, and failures as programs."""
    table, bad = expected(), [pair for pair in found if pair[1].status in BAD]
    if options.update:
        update(found, table)
        table = expected()
    kinds: set[tuple[str, ...]] = set()
    for cell, verdict in bad:
        key = (verdict.status, verdict.kind, cell.row, cell.column)
        if key not in kinds and len(kinds) < options.pastes:
            kinds.add(key)
            print(f"\n# ---- {verdict.status}: {cell.name}")
            print(f"# {verdict.kind}: {verdict.message}")
            print(cell.paste(options.seed))
    return int(any(complaint(*pair, table) for pair in found))


def update(found: list[tuple[Cell, Verdict]], table: dict[str, str]) -> None:
    """Rewrite the lines of these cells."""
    table = dict(table)
    for cell, verdict in found:
        table.pop(cell.name, None)
        if verdict.status == "refused":
            table[cell.name] = verdict.kind
    EXPECTED.write_text("".join(f"{name} | {code}\n" for name, code in sorted(table.items())))
