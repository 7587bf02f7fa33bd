"""The page of what is tested: forms by modes, from the lists and the table of refused cells.

Nothing is differentiated here; `pytest tests/crossings/test_page.py --update-golden` writes it.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.crossings.inside import INSIDE
from tests.crossings.modes import MODES
from tests.crossings.operands import OPERANDS
from tests.crossings.programs import PROGRAMS
from tests.crossings.runner import OF_CALLS, expected
from tests.crossings.surroundings import SAMPLES, SURROUNDINGS

ERRORS = Path(__file__).resolve().parents[2] / "docs" / "errors.md"
FORMS = {
    "gradient": "gradient",
    "tangent": "`jvp`",
    "blocks": "Jacobian",
    "curvature": "Hessian",
    "bend": "product with a Hessian",
}
SOURCES = {
    "golden": "programs of the golden files",
    "science": "programs of scientists",
    "statistics": "statistics",
    "data": "data analysis",
    "matrices": "linear algebra",
    "complex": "complex numbers",
    "recursion": "recursions",
    "kinds": "numbers of several kinds",
    "helpers": "functions that call functions of their own",
    "object": "objects",
    "objective": "objects that count their calls",
}
_HEAD = """# What is tested

Most defects are found where two things meet that are right alone. srcad is therefore tested by
crossing: each program of the test suite in each mode, each sample of [each rule](rules.md) in each
surrounding of a call and with each make of an argument. This page is written from the lists in
`tests/crossings`, and a test fails when it is out of date.

## How a cell is checked

A cell is one program in one mode with one make of its first array. It is right if

* the value equals that of the plain call to the last bit (compiled code: up to rounding),
* the arguments are as they were before,
* the derivative has the structure, the shapes and the dtypes of the argument,
* it shares memory with no argument and no result,
* its product with a random direction agrees with central differences of the plain function, of two
  step sizes. A second derivative is compared with differences of the gradient, which has a cell of
  its own.

Where the step sizes or the two sides of a kink disagree, the point is moved and the cell is checked
again, at four points at most. A cell may also be refused: by an [error](errors.md) with a location
and a remedy. The refused cells that are known are listed with their codes in
`tests/crossings/expected.txt`; a wrong number and a crash are never expected.

`python -m tests.crossings --share 1/40` checks one cell in 40. The default tests have a fixed
sample. The list of refused cells grows with the shares that are run: a cell without a code has been
found right, or has not been drawn yet.
"""
_TAIL = """
## What is not crossed

* Options with each other, for instance `chunk_size` with `has_aux`, and three modes inside each
  other.
* `backend="numba"` and exported files that check themselves in a new process, unless these modes
  are named: they take seconds for each cell.
* Programs with makes of arguments other than C order, unless `--operands` names them.
* Programs with each other, as in `f(g(x))`.
* Hooks, and `stop_gradient` in derivatives of the second order.
* Speed and memory.
"""


def page() -> str:
    """The page, as Markdown."""
    modes = [name for name, mode in MODES.items() if not mode.slow]
    refused = list(_refused(modes))
    parts = [_HEAD, *_counts(modes), *_forms(modes, refused), *_modes(modes, refused), _TAIL]
    return "\n".join(parts).rstrip("\n") + "\n"


def form_of(program: str) -> str:
    """The form of syntax that a program of the corpus shows, or the source of another program."""
    source, _, name = program.partition(" ")
    return name.partition(".")[0] if source == "corpus" else SOURCES[source]


def _refused(modes: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield form, mode and code of the refused cells of programs by modes."""
    for name, code in expected().items():
        program, *operand, mode = name.split(" | ")
        if operand == ["C"] and mode in modes:
            yield form_of(program), mode, code


def _counts(modes: list[str]) -> list[str]:
    outer = [name for name in modes if MODES[name].order == 1]
    calls = len(SAMPLES) * len(SURROUNDINGS) * len(OPERANDS) * len(OF_CALLS)
    programs = len(PROGRAMS)
    return [
        "## How many cells there are",
        "",
        "| table | cells |",
        "| --- | --- |",
        f"| {programs} programs by {len(modes)} modes | {programs * len(modes):,} |",
        f"| programs by {len(outer)} modes by {len(INSIDE)} derivatives inside "
        f"| {programs * len(outer) * len(INSIDE):,} |",
        f"| {len(SAMPLES):,} samples of rules by {len(SURROUNDINGS)} surroundings by "
        f"{len(OPERANDS)} makes of an argument by {len(OF_CALLS)} modes | {calls:,} |",
        "",
        "Cells that do not exist are among them, as a mode by name of a function without names.",
        "",
        _wrapped(f"The makes of an argument are {', '.join(OPERANDS)}."),
        "",
        _wrapped(f"The surroundings of a call are {', '.join(map(_words, SURROUNDINGS))}."),
        "",
    ]


def _forms(modes: list[str], refused: list[tuple[str, str, str]]) -> list[str]:
    """Forms by the forms of derivatives that modes return."""
    sizes = Counter(map(form_of, PROGRAMS))
    widths = Counter(_column(mode) for mode in modes)
    lines = [
        "## Forms by modes",
        "",
        "The number of cells, and of those that are refused, with the code.",
        "",
        f"| form | programs | {' | '.join(FORMS.values())} |",
        f"| --- | --- |{' --- |' * len(FORMS)}",
    ]
    for form in sorted(sizes):
        cells = []
        for column in FORMS:
            codes = Counter(c for f, m, c in refused if f == form and _column(m) == column)
            cells.append(_cell(sizes[form] * widths[column], codes))
        lines.append(f"| {form} | {sizes[form]} | {' | '.join(cells)} |")
    return [*lines, ""]


def _modes(modes: list[str], refused: list[tuple[str, str, str]]) -> list[str]:
    """Modes with the cells that each has, and those of other derivatives inside."""
    lines = [
        "## Modes",
        "",
        _wrapped(
            "Each is a function in `tests/crossings/modes.py`. Those of the first order are also "
            f"crossed with derivatives inside: {', '.join(f'`{name}`' for name in INSIDE)}."
        ),
        "",
        "| mode | returns | cells |",
        "| --- | --- | --- |",
    ]
    for mode in modes:
        codes = Counter(code for _, other, code in refused if other == mode)
        lines.append(f"| `{mode}` | {FORMS[_column(mode)]} | {_cell(len(PROGRAMS), codes)} |")
    return lines


def _column(mode: str) -> str:
    """The form of a mode's derivative, whatever stands in front of it."""
    return re.split(r"[ ,]+", MODES[mode].form)[-1]


def _cell(count: int, codes: Counter[str]) -> str:
    texts = [f"{number} [{code}]({_link(code)})" for code, number in sorted(codes.items())]
    return "; ".join([f"{count:,}", *texts])


def _link(code: str) -> str:
    heading = next(
        line for line in ERRORS.read_text().splitlines() if line.startswith(f"## {code} ")
    )
    return "errors.md#" + heading.removeprefix("## ").lower().replace(" ", "-")


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def _words(name: str) -> str:
    return name.replace("_", " ")
