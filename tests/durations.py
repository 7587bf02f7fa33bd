"""``python -m tests.durations FILE...``: the most expensive files and tests of some runs.

The files are written by ``pytest --cpu FILE``.  ``--write tests/slow.txt`` writes down the names of
the tests above 0.1 s that are not marked `random`, if the run was one of ``-m 'not random'``.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

LIMIT = 0.1  # seconds of CPU of a test that is not marked


def write(file: Path, seconds: Counter[str]) -> None:
    """Write the list of slow tests; functions that it names stay, and stand for all their cases.

    These are functions with few cases of a long table, which are others when the table grows.
    """
    old = file.read_text().splitlines() if file.exists() else []
    functions = {name for name in old if name in {test.partition("[")[0] for test in seconds}}
    functions -= {name for name in old if name in seconds}
    slow = {name for name, spent in seconds.items() if spent > LIMIT}
    slow = functions | {name for name in slow if name.partition("[")[0] not in functions}
    file.write_text("".join(f"{name}\n" for name in sorted(slow)))
    print(f"{len(slow)} names of {len(seconds)} tests")


def main() -> None:
    """Print sums, or write the list."""
    parser = argparse.ArgumentParser(prog="python -m tests.durations", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--write", type=Path, metavar="LIST", help="write the slow tests to a file")
    parser.add_argument("--count", type=int, default=10, help="how many files are printed")
    given = parser.parse_args()
    seconds: Counter[str] = Counter()
    for file in given.files:
        seconds.update(json.loads(file.read_text()))
    whole = seconds.pop("", 0.0)
    if given.write:
        write(given.write, seconds)
        return
    by_file: Counter[str] = Counter()
    for name, spent in seconds.items():
        by_file[name.partition("::")[0]] += spent
    for name, spent in by_file.most_common(given.count):
        print(f"{spent:8.1f}  {name}")
    print(f"{whole:8.1f}  of {len(seconds)} tests, with collection")


if __name__ == "__main__":
    main()
