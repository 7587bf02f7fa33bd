"""The table: what is kept of a text, how it is read and written, and what differs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

VARIES = "varies"  # with the version of Python or NumPy: whatever is written is right
TABLE = Path(__file__).with_name("table.txt")
REFUSAL = re.compile(r"\w+(-\d+)?")  # a code, or the name of an exception
PLACE = re.compile(r"(?m)^( *#.*?)( *\.\.\.)?(  \(.*)?$")  # of a comment: text, file and line
PLACE_ALONE = re.compile(r"(?m)^ *# \([^()]*:\d+\)\n")
COMMENT = re.compile(r"(?m)^( *# .{30}).*$")  # how much more there is depends on the place

Table = dict[str, str]


def normal(text: str) -> str:
    """A text without file names and line numbers, which change when a test is moved."""
    return COMMENT.sub(r"\1", PLACE.sub(r"\1", PLACE_ALONE.sub("", text)))


def digest(text: str) -> str:
    """Ten digits for a text; a refusal stands for itself."""
    if REFUSAL.fullmatch(text):
        return text
    return hashlib.sha256(normal(text).encode()).hexdigest()[:10]


def written(table: Mapping[str, str]) -> str:
    """The table as text, sorted by name."""
    return "".join(f"{name}  {kept}\n" for name, kept in sorted(table.items()))


def read(text: str) -> Table:
    """The table from its text."""
    lines = (line.rpartition("  ") for line in text.splitlines())
    return {name: kept for name, _, kept in lines}


def renewed(old: Mapping[str, str], new: Mapping[str, str]) -> Table:
    """The new table; what varies goes on to do so."""
    return {k: VARIES if old.get(k) == VARIES else kept for k, kept in new.items()}


def varying(old: Mapping[str, str], new: Mapping[str, str]) -> Table:
    """The old table, with what is another text here marked as varying."""
    return {k: kept if new.get(k, kept) == kept else VARIES for k, kept in old.items()}


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Name, what was and what is for each program that differs; an empty text where it is not."""
    for name in sorted({*old, *new}):
        before, after = old.get(name, ""), new.get(name, "")
        if before not in (after, VARIES):
            yield name, before, after
