"""Try the changes one by one, and say what each touches."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.recipes.change import Change, Touched, changes, copies, run, touched


def tried(change: Change, folder: Path) -> Touched:
    """Make a change in a copy of srcad, and see that it works, that it is needed, and is small."""
    before, after = copies(change, folder)
    found = touched(change, before, after)
    (program,), (missing,) = change.of("program"), change.of("fails")
    without, done = run(program.text, before), run(program.text, after)
    assert done.returncode == 0, done.stderr
    assert without.returncode != 0, "the program needs nothing of the change"
    assert missing.where in without.stderr, without.stderr
    assert len(found.sources) == change.allowed, f"other source files: {found.sources}"
    lines = [line for lines in found.indices.values() for line in lines]
    assert len(found.indices) <= 1, f"more than one index: {found.indices}"
    assert len(lines) <= 1, f"more than one line: {lines}"
    return found


def main(names: Sequence[str]) -> int:
    """Try the changes of these names, or all."""
    known = changes()
    for name in names or known:
        change = known[name]
        print(f"{change.recipe}: {change.about}")
        if not change.is_for_this_python:
            print("    needs a newer Python")
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = tried(change, Path(folder))
        for path, count in found.sources.items():
            print(f"    {path}: {count} lines")
        for path, lines in found.indices.items():
            print(f"    {path}: {' '.join(line.strip() for line in lines)}")
    return 0
