"""``python -m tests.coverage``: every row of the list, and how many work."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import replace

from tests.coverage.row import ROWS, Outcome, Row, outcome, rows

KINDS = ("works", "constant", "refused", "absent", "wrong")
Counts = Counter[tuple[int, str]]


def main() -> int:
    """Print the rows; the exit status is 1 if one is not what the list says of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.coverage")
    parser.add_argument("words", nargs="*", help="only rows with one of these in topic or name")
    parser.add_argument("--priority", type=int, choices=(1, 2, 3))
    parser.add_argument("--refused", action="store_true", help="print only what does not work")
    parser.add_argument("--quick", action="store_true", help="believe the list: compile nothing")
    parser.add_argument("--update", action="store_true", help="write the list anew")
    asked = parser.parse_args()
    found: dict[Row, Outcome] = {}
    for row in rows():
        if _is_asked(row, asked):
            found[row] = Outcome(row.kind) if asked.quick else outcome(row)
            if not asked.refused or found[row].kind not in ("works", "constant"):
                print(_line(row, found[row]), flush=True)
    print(table(Counter((row.priority, one.kind) for row, one in found.items())))
    if asked.update:
        written = [replace(row, kind=found[row].kind) if row in found else row for row in rows()]
        ROWS.write_text("".join(f"{row.line}\n" for row in written))
        return 0
    return min(1, sum(row.kind != one.kind for row, one in found.items()))


def _is_asked(row: Row, asked: argparse.Namespace) -> bool:
    if asked.priority not in (None, row.priority):
        return False
    return not asked.words or any(word in f"{row.topic} {row.name}" for word in asked.words)


def _line(row: Row, found: Outcome) -> str:
    reason = f"  ({found.reason})" if found.reason else ""
    told = "" if found.kind == row.kind else f"  [the list says: {row.kind}]"
    return replace(row, kind=found.kind).line + reason + told


def table(counts: Counts) -> str:
    """The counts by priority, one line each."""
    lines = ["priority" + "".join(f"{kind:>10}" for kind in KINDS)]
    for priority in sorted({p for p, _ in counts}):
        numbers = "".join(f"{counts[priority, kind]:>10}" for kind in KINDS)
        lines.append(f"{priority:<8}{numbers}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
