"""The results of `python -m benchmarks`: text, Markdown, a plot, a page of the documentation."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import re
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import srcad
from benchmarks.interleaved import Row
from benchmarks.systems import BASIS, PACKAGES

BEGIN, END = "<!-- results -->", "<!-- end of results -->"
OF_BASIS = {"hand": "the hand-written adjoint", "srcad": "the NumPy code of srcad"}
# Distinguishable with colour vision deficiency (Okabe and Ito), and by shape.
MARKS = {
    "hand": ("o", "#000000"),
    "opt": ("D", "#666666"),
    "srcad": ("s", "#0072B2"),
    "srcad+numba": ("*", "#D55E00"),
    "autograd": ("^", "#CC79A7"),
    "jax.jit": ("v", "#009E73"),
    "torch": ("P", "#E69F00"),
}


# ------------------------------------------------------------------------------------- versions
def versions() -> dict[str, str]:
    """Return machine, processor, date, and versions of Python and packages."""
    found = {
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "Python": platform.python_version(),
    }
    found["srcad"] = srcad.__version__
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def processor() -> str:
    """The name of the processor."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        name = re.search(r"model name\s*:\s*(.*)", information.read_text())
        if name:
            return name[1]
    return platform.processor() or platform.machine()


def header(found: dict[str, str]) -> str:
    """Date, clock, machine and versions in three lines."""
    described = ("clock", "date", "processor", "machine")
    packages = ", ".join(f"{k} {v}" for k, v in found.items() if k not in described)
    measured = f"{found['date']}, one thread, {found['clock']} time"
    return "\n".join([measured, f"{found['processor']}, {found['machine']}", packages])


# ---------------------------------------------------------------------------------------- cells
def number(value: float | None) -> str:
    """Three significant digits."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:#.3g}".rstrip(".")


def cell(row: Row, system: str) -> str:
    """The ratio, the name of the error, or ``-`` if the system has no version of the function."""
    result = row.results.get(system)
    return "-" if result is None else result.failure or number(result.ratio)


def columns(rows: Sequence[Row]) -> list[str]:
    """The systems that have a result in some row, except for the basis."""
    known = dict.fromkeys(name for row in rows for name in row.results)
    ordered = [name for name in MARKS if name in known]
    return [name for name in ordered if name != rows[0].basis]


def grid(rows: Sequence[Row]) -> list[list[str]]:
    """The cells of a table: names of columns, a line per case, geometric means, first calls."""
    basis, systems = rows[0].basis, columns(rows)
    lines = [["function", "size", f"{basis} [us]", *systems]]
    for row in rows:
        seconds = row.results[basis].seconds
        microseconds = number(None if seconds is None else seconds * 1e6)
        lines.append([row.name, row.size, microseconds, *(cell(row, s) for s in systems)])
    lines.append(["geometric mean (sizes)", "", "", *(_mean(rows, s) for s in systems)])
    for label, summary in (("median", statistics.median), ("largest", max)):
        first = [_first_call(rows, s, summary) for s in (basis, *systems)]
        lines.append([f"first call [s], {label}", "", *first])
    return lines


def _mean(rows: Sequence[Row], system: str) -> str:
    found = [row.results[system].ratio for row in rows if system in row.results]
    ratios = [ratio for ratio in found if ratio is not None]
    return f"{number(statistics.geometric_mean(ratios))} ({len(ratios)})" if ratios else "-"


def _first_call(
    rows: Sequence[Row], system: str, summary: Callable[[Sequence[float]], float]
) -> str:
    """Summarise the first calls; of the sizes of a function the slowest, as others reuse code."""
    slowest: dict[str, float] = {}
    for row in rows:
        result = row.results.get(system)
        if result is not None and result.first_call is not None:
            slowest[row.name] = max(result.first_call, slowest.get(row.name, 0.0))
    return f"{summary(list(slowest.values())):.2f}" if slowest else "-"


def by_group(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each set."""
    return {group: found for group in BASIS if (found := [r for r in rows if r.group == group])}


def failures(rows: Sequence[Row]) -> list[str]:
    """A line for each error of a system, with the cases that end in it."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for system, result in row.results.items():
            if result.failure:
                error = f"{system}: {result.failure}: {result.message[:200]}"
                found.setdefault(error, []).append(f"{row.name} {row.size}")
    return [f"{error} ({_abridged(where)})" for error, where in found.items()]


def _abridged(cases: list[str]) -> str:
    shown, more = cases[:4], len(cases) - 4
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


# ---------------------------------------------------------------------------------------- tables
def text(rows: Sequence[Row]) -> str:
    """The tables in plain text."""
    parts = []
    for group, found in by_group(rows).items():
        lines = grid(found)
        widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
        title = f"{group}: time of a gradient relative to {OF_BASIS[BASIS[group]]}"
        parts.append("\n".join([title, *(_aligned(line, widths) for line in lines)]))
    return "\n\n".join(parts)


def _aligned(line: list[str], widths: list[int]) -> str:
    pairs = zip(line, widths, strict=True)
    padded = [c.ljust(w) if k < 2 else c.rjust(w) for k, (c, w) in enumerate(pairs)]
    return "  ".join(padded).rstrip()


def markdown(rows: Sequence[Row], found: dict[str, str], plot: str = "") -> str:
    """Versions and tables, and the plot if its path is given."""
    parts = [header(found).replace("\n", ".\n") + "."]
    for group, some in by_group(rows).items():
        names, *lines = grid(some)
        rule = ["---", "---", *("---:" for _ in names[2:])]
        table = "\n".join(f"| {' | '.join(line)} |" for line in (names, rule, *lines))
        parts += [f"### {group.capitalize()}", table]
    if plot:
        parts.append(f"![Ratios by system, logarithmic]({plot})")
    return "\n\n".join(parts) + "\n"


def update_page(page: Path, results: str) -> None:
    """Replace the text between the two marker comments of a page."""
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no markers {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n\n{results.strip()}\n\n{END}{after}")


# ------------------------------------------------------------------------------------------ plot
def plot(rows: Sequence[Row], file: Path) -> None:
    """Draw the ratios on a logarithmic axis, a line per case and a mark per system."""
    import matplotlib as mpl  # only for plots: an optional package that is slow to import

    mpl.use("Agg")
    from matplotlib import pyplot

    groups = by_group(rows)
    heights = [len(found) for found in groups.values()]
    figure, axes = pyplot.subplots(
        len(groups),
        squeeze=False,
        figsize=(9, 1.8 * len(groups) + 0.27 * sum(heights)),
        height_ratios=heights,
        layout="constrained",
    )
    for axis, (group, found) in zip(axes[:, 0], groups.items(), strict=True):
        _draw(axis, found)
        axis.set_xlabel(f"time of a gradient / {OF_BASIS[BASIS[group]]} (left is faster)")
        axis.set_title(group, loc="left", pad=26)
    figure.savefig(file, dpi=150)
    pyplot.close(figure)


def _draw(axis, rows: Sequence[Row]) -> None:  # type: ignore[no-untyped-def]
    for height, row in enumerate(rows):
        ratios = [r.ratio for r in row.results.values() if r.ratio]
        if ratios:
            axis.hlines(height, min(ratios), max(ratios), color="#dddddd", linewidth=3, zorder=0)
    for system in columns(rows):
        found = [(row.results.get(system), height) for height, row in enumerate(rows)]
        points = [(result.ratio, height) for result, height in found if result and result.ratio]
        if points:
            shape, colour = MARKS[system]
            axis.scatter(*zip(*points, strict=True), marker=shape, color=colour, s=45, label=system)
    axis.axvline(1.0, color="black", linewidth=1, label=rows[0].basis)
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.grid(axis="x", which="major", color="#eeeeee")
    axis.set_axisbelow(True)
    one_size = len({row.size for row in rows}) == 1
    names = [row.name if one_size else f"{row.name}  {row.size}" for row in rows]
    axis.set_yticks(range(len(rows)), names)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=7, frameon=False, fontsize=9)
