"""The table of rules as a page: every function that has one, by the module it is written in."""

from __future__ import annotations

import importlib
import pkgutil
import textwrap
from collections import defaultdict
from pathlib import Path

from srcad.rules.registry import ROOM, index_name, rows
from srcad.rules.stubs import written

_HEAD = """# Functions that have a rule

What stands here is differentiated, under any name and as a method of an array where NumPy has one.
A function of your own needs no rule: its source is read. For what is missing,
[a rule of your own](quickstart.md) takes a few lines; more of NumPy, FFTs, complex numbers and
SciPy are planned.
"""
_INDEX = '''"""Which file has the rows of functions of a name.

Written by ``pytest tests/rules --update-golden``.  A function without a row costs no file, and the
rows of a library are read when one of its functions is met.
"""

NAMES = {'''
_WIDTH = 118


def page() -> str:
    """Every function that has a rule, as Markdown.

    Returns
    -------
    str
        A section for every module, with the functions that carry a derivative first.
    """
    groups: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for row in rows():
        module, _, name = written(row.target).rpartition(".")
        if row.shipped and not module.startswith("srcad"):
            groups[module or "Python: builtins and operators"][
                row.kind == "nondifferentiable"
            ].append(name)
    lines = [_HEAD]
    for module in sorted(groups, key=lambda name: (not name.startswith("numpy"), name)):
        carrying, constant = (sorted(set(names)) for names in groups[module])
        lines.append(f"## {module}\n")
        if carrying:
            lines += ["With a derivative:\n", _filled(carrying)]
        if constant:
            lines += ["Read, without a derivative (counts, tests, positions, steps):\n",
                      _filled(constant)]  # fmt: skip
    return "\n".join(lines)


def _filled(names: list[str]) -> str:
    """The names as code, in lines that are not too long."""
    lines, line = [], ""
    for name in names:
        word = f"`{name}`"
        if len(line) + len(word) >= _WIDTH:
            lines.append(line.rstrip())
            line = ""
        line += word + " "
    return "\n".join([*lines, line.rstrip()]) + "\n"


def index() -> str:
    """The text of `srcad.rules.index`, made of the files themselves.

    Returns
    -------
    str
        For every file of rows, the names of the functions that it has rows for.
    """
    room = Path(__file__).parent
    names: dict[str, set[str]] = defaultdict(set)
    for found in pkgutil.walk_packages([str(room)], f"{ROOM}."):
        importlib.import_module(found.name)
    for row in rows():
        if row.shipped:
            file = ".".join(Path(row.file).relative_to(room).with_suffix("").parts)
            names[file].add(index_name(row.target))
    lines = [_INDEX]
    for file in sorted(names):
        lines.append(_entry(file, " ".join(sorted(names[file]))))
    return "\n".join([*lines, "}"]) + "\n"


def _entry(file: str, words: str) -> str:
    """One entry of the index, in as many lines as it takes."""
    line = f'    "{file}": "{words}",'
    if len(line) <= 100:
        return line
    *texts, last = [words] if len(words) <= 90 else textwrap.wrap(words, 88)
    texts = [f'        "{text} "' for text in texts] + [f'        "{last}"']
    return "\n".join([f'    "{file}": (', *texts, "    ),"])
