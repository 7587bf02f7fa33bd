"""The table of rules as a page: every function that has one, with its formula, topic by topic."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import textwrap
from collections import defaultdict
from pathlib import Path
from types import MethodDescriptorType, MethodType
from typing import Any

import numpy as np

import srcad.rules
from srcad.rules.formulas import always_none, straight_formula
from srcad.rules.registry import qualified_name, rows
from srcad.rules.row import Rule
from srcad.rules.stubs import written
from srcad.startup.locks import importing
from tests.rules import keywords

_HEAD = """# Functions that have a rule

The functions on this page are differentiated, under all of their names and as methods of arrays.
A function of your own needs no rule if its Python source is available. For a function that is
missing, [a rule of your own](quickstart.md#rules-of-your-own) takes a few lines. [Special
points](special-points.md) compares the answers of srcad at kinks with those of other systems.

A *derivative* is the rule of an elementwise function. Its partial derivatives are listed; `y` is
the result. A *linear*, *bilinear* (linear in each operand) or *adjoint* rule computes cotangents;
`y_bar` is the cotangent of the result. Parameters through which a derivative flows are **bold**;
the other listed parameters may be passed, and parameters that are not listed are refused. The last
column has the derivatives at special points, such as kinks.
"""
_KEYWORDS = """## Keywords that rules do not take

Parameters of these functions that their rules do not list, with the reason for each.

| keyword | functions | reason |
| --- | --- | --- |"""
_PACKAGE = "srcad.rules"
_FOLDER = Path(srcad.rules.__file__).parent
_WIDTH = 118
_LONGEST = 110


def page() -> str:
    """Every function that has a rule, as Markdown: a table for every file of rows."""
    topics: dict[str, dict[tuple[int, str], list[Rule]]] = defaultdict(dict)
    for row in _shipped():
        if not _spelled(row.target).startswith("srcad"):
            topics[_topic(row)].setdefault((row.line, row.kind), []).append(row)
    lines = [_HEAD]
    for topic in sorted(topics):
        lines += _section(topic, list(topics[topic].values()))
    lines += [_KEYWORDS, *keywords.table(_differentiated()), ""]
    return "\n".join(lines)


def _differentiated() -> list[Rule]:
    return [row for row in _shipped() if row.function is not None]


def _shipped() -> list[Rule]:
    """The rows of all files of this folder and of those in it."""
    for found in pkgutil.walk_packages([str(_FOLDER)], f"{_PACKAGE}."):
        with importing:
            importlib.import_module(found.name)
    return [row for row in rows() if row.shipped and _FOLDER in Path(row.file).parents]


def _topic(row: Rule) -> str:
    """The file of a row as the page names it: ``linalg``, ``scipy.special``."""
    return ".".join(Path(row.file).relative_to(_FOLDER).with_suffix("").parts)


def _section(name: str, groups: list[list[Rule]]) -> list[str]:
    """The heading and the table of one topic, and the functions without a derivative."""
    path = f"srcad/rules/{name.replace('.', '/')}.py"
    about = (sys.modules[f"{_PACKAGE}.{name}"].__doc__ or "").partition("\n")[0]
    lines = [f"## {name.capitalize()}\n", about.replace("``", "`"), ""]
    lines += [f"In [`{path}`](../{path}).\n"]
    methods = [row for group in groups for row in group if isinstance(row.target, MethodType)]
    if methods:
        lines += _families(methods)
    groups = [group for group in groups if group[0] not in methods]
    carrying = [group for group in groups if group[0].kind != "nondifferentiable"]
    if carrying:
        lines += ["| function | kind | derivative | parameters | at special points |",
                  "| --- | --- | --- | --- | --- |"]  # fmt: skip
        lines += [_line(group) for group in carrying] + [""]
    constant = [row for group in groups for row in group if row.kind == "nondifferentiable"]
    if constant:
        lines += ["Supported, without a derivative:\n",
                  _filled(sorted({_spelled(row.target) for row in constant}))]  # fmt: skip
    return lines


def _families(found: list[Rule]) -> list[str]:
    """Return a table of the objects whose methods have rules, with their shapes."""
    by_owner: dict[str, list[Rule]] = defaultdict(list)
    for row in found:
        by_owner[qualified_name(row.target).rpartition(".")[0]].append(row)
    lines = ["| distribution | parameters | methods |", "| --- | --- | --- |"]
    for owner, of_owner in by_owner.items():
        first = of_owner[0]
        shapes = getattr(first.target.__self__, "shapes", None)
        named = (
            [*shapes.split(", "), *first.parameters[1 + shapes.count(",") + 1 :]]
            if shapes
            else first.parameters[1:]
        )
        parameters = ", ".join(name for name in named if name != "allow_singular")
        methods = ", ".join(_code(row.target.__name__) for row in of_owner)
        lines.append(f"| {_code(owner)} | {parameters} | {methods} |")
    return [*lines, ""]


def _line(group: list[Rule]) -> str:
    """One line of a table: the functions that share a rule."""
    row = group[0]
    names = ", ".join(_code(name) for name in dict.fromkeys(_spelled(r.target) for r in group))
    cells = names, row.kind, _derivative(row), _parameters(row), _kinks(row)
    return f"| {' | '.join(cells)} |"


def _derivative(row: Rule) -> str:
    """The formulas of a rule that is short, and what its docstring says of it."""
    found = straight_formula(row.function) if row.function is not None else ()
    text = "; ".join(found)
    note = (getattr(row.function, "__doc__", None) or "").partition("\n\n")[0]
    note = " ".join(note.split()).replace("``", "`").replace("|", "\\|")
    if len(text) > _LONGEST or not text:
        return note or ("by cases" if not text else "in the file")
    return f"{_code(text)}. {note}" if note else _code(text)


def _parameters(row: Rule) -> str:
    """The parameters that a rule understands; in bold those that a derivative flows through."""
    constant = always_none(row.function) if row.function is not None else set()
    active = {name for k, name in enumerate(row.active) if k not in constant}
    shown = {name: name.replace("*", "\\*") for name in (*row.parameters, *row.keywords)}
    return ", ".join(f"**{text}**" if n in active else text for n, text in shown.items())


def _kinks(row: Rule) -> str:
    """The agreed derivatives at special points."""
    if callable(row.kinks):
        pairs = row.kinks(lambda *args, **named: (*args, *named.values()))
        return "; ".join(f"{_numbers(args)}: {_numbers(slope)}" for args, slope in pairs)
    points = (row.kinks or {}).items()
    return "; ".join(f"{_numbers(point)}: {_numbers(slope)}" for point, slope in points)


def _numbers(value: Any) -> str:
    """Numbers, and tuples and lists of them, in short."""
    match value:
        case np.ndarray():
            return _numbers(value.tolist())
        case tuple():
            inner = ", ".join(map(_numbers, value))
            return inner if len(value) == 1 else f"({inner})"
        case list():
            return f"[{', '.join(map(_numbers, value))}]"
        case float():
            return f"{value:.4g}"
    return repr(value) if isinstance(value, str) else str(value)


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|") if text else ""


def _spelled(target: Any) -> str:
    """How a function is written in a program, with the usual ``np``."""
    name = written(target)
    if isinstance(target, MethodDescriptorType):
        name = f"{target.__objclass__.__module__}.{target.__qualname__}"
    return f"np.{name.removeprefix('numpy.')}" if name.startswith("numpy.") else name


def _filled(names: list[str]) -> str:
    """The names as code, in lines that are not too long."""
    words = " ".join(_code(name) for name in names)
    return textwrap.fill(words, _WIDTH, break_long_words=False) + "\n"
