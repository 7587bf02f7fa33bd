"""Exported modules as files: write them, and compare them with a new export."""

from __future__ import annotations

import os
import re
from typing import Any

from srcad.errors import ExportError

_MARKS = re.compile(r"^# source ([0-9a-f]{16}), code ([0-9a-f]{16})$", re.MULTILINE)


def write(path: Any, text: str) -> None:
    """Write a module to a file, which is new or was written by srcad.

    Raises
    ------
    ExportError
        The file holds something else.
    """
    name = os.fspath(path)
    if os.path.exists(name) and _MARKS.search(_read(name)) is None:
        raise ExportError(
            f"{os.path.basename(name)!r} is there already, and was not written by srcad",
            why="what it holds would be lost.",
            help="choose another name, or remove the file first",
        )
    with open(name, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def staleness(path: Any, text: str) -> str | None:
    """Return why a file differs from a new export; None if it does not.

    Parameters
    ----------
    path : str or path
        The file.
    text : str
        What would be written now.
    """
    name = os.fspath(path)
    if not os.path.exists(name):
        return "it is not there"
    old, new = _read(name), text
    marks, current = _MARKS.search(old), _MARKS.search(new)
    assert current is not None
    if marks is None:
        return "it was not written by srcad"
    if marks[1] != current[1]:
        return "the source of the function has changed"
    if marks[2] != current[2]:
        return "srcad writes another text now"
    if old[marks.end() :] != new[current.end() :]:
        return "it was edited"
    return None


def _read(name: str) -> str:
    with open(name, encoding="utf-8") as file:
        return file.read()
