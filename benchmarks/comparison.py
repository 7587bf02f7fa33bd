"""Compare srcad with hand-written adjoints and with other systems.

Ratios are to the straight hand-written adjoint of a problem, and to the NumPy code of srcad for a
kernel. All systems run in one process and on one thread; in every round each is timed once, in
random order, and the median of the ratios is printed. A gradient is compared with that of the basis
before it is timed. A cell is `-` if the system has no version of the function, the name of the
error if it fails, and `wrong` if its gradient differs.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import warnings
from collections.abc import Sequence
from pathlib import Path

from benchmarks import tables
from benchmarks.cases import SETS, cases, labels, names
from benchmarks.interleaved import CLOCKS, Row, measure
from benchmarks.systems import SYSTEMS, installed

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
SIZE_HELP = (
    "label of a size, smallest, or largest; without it, every size of the problems and the size "
    "bench of the kernels"
)
CLOCK_HELP = "cpu: measure CPU time, on a machine with other work; default: wall"
BUDGET_HELP = "seconds after which no further round of a case begins, default: %(default)s"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = made.add_argument
    add("names", nargs="*", help="problems or kernels; without names, all of the set")
    add("--set", default="problems", choices=(*SETS, "all"), help="default: problems")
    add("--size", default="", help=SIZE_HELP)
    add("--systems", default=",".join(SYSTEMS), help="default: %(default)s")
    add("--rounds", type=int, default=15, help="default: %(default)s")
    add("--budget", type=float, default=4.0, metavar="S", help=BUDGET_HELP)
    add("--clock", default="wall", choices=tuple(CLOCKS), help=CLOCK_HELP)
    add("--json", type=Path, metavar="FILE", help="write all numbers and versions")
    add("--plot", type=Path, metavar="FILE.png", help="draw the ratios (needs matplotlib)")
    add("--markdown", type=Path, metavar="FILE", help="write the tables in Markdown")
    add("--update-docs", action="store_true", help="replace the results in docs/benchmarks.md")
    return made


def main(words: Sequence[str] | None = None) -> list[Row]:
    """Run the command line; print and return the results."""
    options = parser().parse_args(words)
    groups = list(SETS) if options.set == "all" else [options.set]
    wanted = [name for name in options.systems.split(",") if name]
    _refuse_unknown(options, groups, wanted)
    found = {"clock": options.clock, **tables.versions()}
    print(tables.header(found), flush=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = _run(options, groups, wanted)
    print(f"\n{tables.text(rows)}")
    for line in tables.failures(rows):
        print(line)
    _write(options, rows, found)
    return rows


def _refuse_unknown(options: argparse.Namespace, groups: list[str], wanted: list[str]) -> None:
    known = {name for group in groups for name in names(group)}
    for name in options.names:
        if name not in known:
            parser().error(f"unknown name {name!r}; one of: {', '.join(sorted(known))}")
    for name in wanted:
        if name not in SYSTEMS:
            parser().error(f"unknown system {name!r}; one of: {', '.join(SYSTEMS)}")
    chosen = [(g, n) for g in groups for n in names(g) if not options.names or n in options.names]
    if not any(labels(group, name, options.size) for group, name in chosen):
        parser().error(f"no size {options.size!r}")


def _run(options: argparse.Namespace, groups: list[str], wanted: list[str]) -> list[Row]:
    systems = installed(wanted)
    rows = []
    for case in cases(groups, options.names, options.size):
        row = measure(case, systems, options.rounds, options.budget, options.clock)
        rows.append(row)
        found = (f"{name} {tables.cell(row, name)}" for name in row.results)
        print(f"{row.name:17} {row.size:16} {'  '.join(found)}", flush=True)
    return rows


def _write(options: argparse.Namespace, rows: list[Row], found: dict[str, str]) -> None:
    if options.json:
        content = {"versions": found, "rows": [dataclasses.asdict(row) for row in rows]}
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    if options.plot:
        tables.plot(rows, options.plot)
    if options.markdown:
        options.markdown.write_text(
            tables.markdown(rows, found, _beside(options.markdown, options))
        )
    if options.update_docs:
        tables.update_page(PAGE, tables.markdown(rows, found, _beside(PAGE, options)))


def _beside(page: Path, options: argparse.Namespace) -> str:
    """The path of the plot relative to a page in the same folder or above; else nothing."""
    if options.plot is None:
        return ""
    plot, folder = options.plot.resolve(), page.resolve().parent
    return plot.relative_to(folder).as_posix() if plot.is_relative_to(folder) else ""
