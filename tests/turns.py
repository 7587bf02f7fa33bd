"""``python -m tests.turns``: compare the tests of all turns of ``.ci/run`` with all tests.

Turns 1 to 6 are collected as for the newest Python, turns 1 to 12 as for the others; both must have
every test of ``-m ''``.  The exit status is 1 if a test is missing.
"""

from __future__ import annotations

import subprocess
import sys


def ids(*options: str) -> set[str]:
    """The names of the tests that pytest chooses with some options."""
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, *options], stdout=subprocess.PIPE, text=True, check=True)
    return {line for line in done.stdout.splitlines() if "::" in line}


def main() -> int:
    """Print how many tests each way of taking turns has, and what is missing."""
    every = ids("-m", "")
    ways = {
        "newest": [ids("--rota", f"{k}/6") for k in range(1, 7)],
        "older": [ids("-m", "", "--share", f"{k}/12") for k in range(1, 13)],
    }
    missing = 0
    for name, turns in ways.items():
        left = every - set().union(*turns)
        missing += len(left)
        sizes = ", ".join(str(len(turn)) for turn in turns)
        print(f"{name}: {sizes} of {len(every)} tests; {len(left)} are in no turn")
        print(*sorted(left)[:20], sep="\n", end="\n" if left else "")
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main())
