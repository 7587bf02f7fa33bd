"""One change, and two copies of srcad: without it and with it."""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
SOURCES = ("new", "append", "out")


@dataclass(frozen=True)
class Section:
    """One part of a change: what is done, to which file, where, and the text."""

    kind: str
    path: str
    where: str
    text: str


@dataclass(frozen=True)
class Change:
    """What somebody who follows a recipe does."""

    name: str
    recipe: str
    about: str
    sections: tuple[Section, ...]

    def of(self, *kinds: str) -> list[Section]:
        """The sections of some kinds, in order."""
        return [section for section in self.sections if section.kind in kinds]

    @property
    def allowed(self) -> int:
        """How many source files its recipe names."""
        return max([int(section.path) for section in self.of("sources")], default=1)

    @property
    def is_for_this_python(self) -> bool:
        """Whether the change says something that this Python understands."""
        needed = [tuple(map(int, section.path.split("."))) for section in self.of("needs")]
        return all(sys.version_info[:2] >= version for version in needed)


def changes() -> dict[str, Change]:
    """All changes, by name."""
    return {file.stem: _read(file) for file in sorted(FOLDER.glob("*.txt"))}


def _read(file: Path) -> Change:
    head, *parts = file.read_text().split("\n== ")
    recipe, _, about = head.strip().partition(": ")
    return Change(file.stem, recipe, " ".join(about.split()), tuple(map(_section, parts)))


def _section(part: str) -> Section:
    head, _, text = part.partition("\n")
    kind, _, rest = head.partition(" ")
    if kind == "fails":
        return Section(kind, "", rest, "")
    path, _, where = rest.partition(" ")
    return Section(kind, path, where.removeprefix("behind "), text.strip("\n") + "\n")


# ------------------------------------------------------------------------------- two copies
def copies(change: Change, folder: Path) -> tuple[Path, Path]:
    """A copy of srcad without the change and one with it."""
    before, after = folder / "before", folder / "after"
    for copy in (before, after):
        shutil.copytree(ROOT / "srcad", copy / "srcad")
    for section in change.of("out"):
        _take_out(before, section.path)
    write(change, after)
    return before, after


def write(change: Change, copy: Path) -> None:
    """Write the files and lines of a change into a copy; what is taken out is there already."""
    for section in change.of("new"):
        assert not (copy / section.path).exists(), f"{section.path} is there already"
        (copy / section.path).parent.mkdir(exist_ok=True)
        (copy / section.path).write_text(section.text)
    for section in change.of("append"):
        between = "\n" if section.text[0].isspace() else "\n\n"
        with (copy / section.path).open("a") as file:
            file.write(between + section.text)
    for section in change.of("line"):
        _put_in(copy / section.path, section)


def _take_out(copy: Path, path: str) -> None:
    """Remove a file, and the line that imports its module."""
    (copy / path).unlink()
    line = "import " + path.removesuffix(".py").replace("/", ".") + "\n"
    for file in copy.rglob("*.py"):
        text = file.read_text()
        if line in text:
            file.write_text(text.replace(line, ""))


def _put_in(file: Path, section: Section) -> None:
    lines = file.read_text().splitlines(keepends=True)
    places = [k for k, line in enumerate(lines) if line.strip() == section.where.strip()]
    assert len(places) == 1, f"{section.path} has {len(places)} lines {section.where!r}"
    lines.insert(places[0] + 1, section.text)
    file.write_text("".join(lines))


def run(program: str, copy: Path) -> subprocess.CompletedProcess[str]:
    """Run a program with a copy of srcad."""
    file = copy / "program.py"
    file.write_text(program)
    environment = os.environ | {"PYTHONPATH": str(copy), "SRCAD_VERIFY": "1"}
    return subprocess.run([sys.executable, str(file)], env=environment, cwd=copy,
                          capture_output=True, text=True, check=False)  # fmt: skip


# ----------------------------------------------------------------------------- what it touches
@dataclass(frozen=True)
class Touched:
    """The files that differ between two copies, and the lines that are new in those of an index."""

    sources: dict[str, int]
    indices: dict[str, list[str]]


def touched(change: Change, before: Path, after: Path) -> Touched:
    """What a change touches: found by comparing the copies, not by what it says of itself."""
    own = {section.path for section in change.of(*SOURCES)}
    differ = [str(path) for path in _differ(before, after)]
    new = {path: _new_lines(before / path, after / path) for path in differ}
    return Touched(
        {path: len(lines) for path, lines in new.items() if path in own},
        {path: lines for path, lines in new.items() if path not in own},
    )


def _differ(before: Path, after: Path) -> Iterator[Path]:
    """The files that differ, or stand in one copy only."""
    files = {f.relative_to(copy) for copy in (before, after) for f in copy.glob("srcad/**/*.py")}
    for path in sorted(files):
        there = (before / path).exists() and (after / path).exists()
        if not there or not filecmp.cmp(before / path, after / path, shallow=False):
            yield path


def _new_lines(before: Path, after: Path) -> list[str]:
    """The lines of a file that were not there, but for imports."""
    old = before.read_text().splitlines() if before.exists() else []
    left = list(old)
    new = []
    for line in after.read_text().splitlines():
        if line in left:
            left.remove(line)
        else:
            new.append(line)
    assert not left, f"{after} has lost {left}"
    return [line for line in new if not (old and line.startswith(("from ", "import ")))]
