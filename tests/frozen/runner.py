"""``python -m tests.frozen``: compare what srcad writes now with the table.

The exit status is 1 if the text of a program has changed; programs that are new or gone since the
table was written are only named.
"""

from __future__ import annotations

import argparse
import difflib
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from tests.frozen import programs
from tests.frozen.collected import collected
from tests.frozen.programs import Programs
from tests.frozen.table import (
    TABLE,
    Table,
    differences,
    digest,
    normal,
    read,
    renewed,
    varying,
    written,
)  # fmt: skip

ROOT = Path(__file__).resolve().parents[2]
Source = Callable[[], Programs]
WRITTEN: tuple[Source, ...] = (
    programs.goldens, programs.problems, programs.kernels, programs.corpus, programs.attacks,
    collected,
)  # fmt: skip
ALL = (*WRITTEN, programs.all_random)
SHORT = (*WRITTEN, programs.some_random)


def texts(sources: Iterable[Source], names: Collection[str] | None = None) -> dict[str, str]:
    """What is generated for all programs of some sources, or for those with these names."""
    return shared_texts(sources, "1/1", names)[0]


def shared_texts(
    sources: Iterable[Source], share: str, names: Collection[str] | None = None
) -> tuple[dict[str, str], set[str]]:
    """The same for the K-th of every N programs, with the names of the others."""
    which, of = (int(number) for number in share.split("/"))
    made: dict[str, str] = {}
    left: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for source in sources:
            for name, program in source():
                if names is None or name in names:
                    if name in made or name in left:
                        raise ValueError(f"two programs are called {name}")
                    if (len(made) + len(left) + 1 - which) % of:
                        left.add(name)
                    else:
                        made[name] = program.text()
    return made, left


def texts_of(checkout: Path, names: Collection[str]) -> dict[str, str]:
    """What another checkout generates for its programs with these names."""
    command = [sys.executable, "-m", "tests.frozen", "--texts"]
    done = subprocess.run(
        command, cwd=checkout, input=json.dumps(list(names)), text=True, check=True,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    found: dict[str, str] = json.loads(done.stdout)
    return found


def compared(old: Table, new: Table) -> tuple[list[str], str]:
    """The names of programs with another text, and a report."""
    found = list(differences(old, new))
    lines = [f"{name}: {before or 'new'} -> {after or 'gone'}" for name, before, after in found]
    changed = [name for name, before, after in found if before and after]
    lines.append(f"{len(changed)} of {len(new)} programs have changed")
    return changed, "\n".join(lines)


def shown(name: str, old: str, new: str) -> str:
    """What has changed in the text of a program."""
    before, after = (normal(text).splitlines() for text in (old, new))
    names = {"fromfile": f"old {name}", "tofile": f"new {name}"}
    return "\n".join(difflib.unified_diff(before, after, **names, lineterm=""))


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.frozen", description=__doc__)
    parser.add_argument("--short", action="store_true", help="only some of the random programs")
    parser.add_argument("--share", default="1/1", help="K/N: the K-th of every N programs")
    parser.add_argument("--update", action="store_true", help="write the table")
    parser.add_argument("--varies", action="store_true", help="mark what differs as varying")
    parser.add_argument("--against", type=Path, metavar="PATH", help="show texts of this checkout")
    parser.add_argument("--texts", action="store_true", help="texts of the names on the input")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """Compare, or write the table."""
    options = arguments(argv)
    if options.texts:
        json.dump(texts(ALL, set(json.load(sys.stdin))), sys.stdout)
        return 0
    found, left = shared_texts(SHORT if options.short else ALL, options.share)
    new = {name: digest(text) for name, text in found.items()}
    old = read(TABLE.read_text())
    new |= {name: old[name] for name in left & set(old)}  # taken to be as they were
    if options.short:  # the other random programs are taken to be as they were
        new = {k: v for k, v in old.items() if k.startswith("random")} | new
    if options.update or options.varies:
        TABLE.write_text(written(renewed(old, new) if options.update else varying(old, new)))
        print(f"{len(found)} programs")
        return 0
    changed, report = compared(old, new)
    if options.against and changed:
        before = texts_of(options.against.resolve(), changed)
        print(*(shown(name, before.get(name, ""), found[name]) for name in changed), sep="\n\n")
    print(report)
    return int(bool(changed))
