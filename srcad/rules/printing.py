"""A row as a text: where it stands, every column that says something, and its formulas."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import textwrap
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from srcad.rules.formulas import definition
from srcad.rules.registry import qualified_name, row_of, rows
from srcad.rules.row import Columns, Result, Rule, Sign

_HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_WIDTH = 12
_PRINTED_BELOW = ("samples", "kinks", "primal", "result")  # the other columns come first
_DEFAULT = Rule(None, "")


def heading(row: Rule) -> str:
    """Return the first line about a row: name, kind, and the place of the rule."""
    return f"{qualified_name(row.target)}: {row.kind or 'facts, no rule'}  ({place_of(row)})"


def place_of(row: Rule) -> str:
    """Return file and line of a rule; the file of one of srcad's begins with ``srcad/``."""
    return f"{row.file.removeprefix(_HOME)}:{row.line}" if row.file else "no place in a file"


def formula(function: Callable[..., Any]) -> str:
    """Return the source of a rule with its decorators."""
    try:
        return textwrap.dedent(inspect.getsource(function)).rstrip()
    except OSError:
        return "(its source is not available)"


def whole(row: Rule, *more: tuple[str, str]) -> str:
    """Return all that a row says: spellings, columns not at their default, samples, formulas.

    Parameters
    ----------
    row : Rule
        A row of the table, or one that only tells facts.
    *more : tuple of str
        Names and texts of further lines.

    Returns
    -------
    str
        Lines: the `heading`, then what it says, indented.

    Examples
    --------
    >>> import numpy as np
    >>> from srcad import rules
    >>> whole(rules.rule_for(np.radians)).partition("  (")[0]
    'numpy.radians: derivative'
    """
    lines = [("spellings", ", ".join(_spellings(row)))]
    for name in Columns.__annotations__:
        value = getattr(row, name)
        if name not in _PRINTED_BELOW and value != getattr(_DEFAULT, name):
            lines.append((name, _spelled(value)))
    if row.result is not None:
        lines.append(("result", _of_result(row.result)))
    lines += [(name, _spelled(getattr(row, name))) for name in ("samples", "kinks")
              if getattr(row, name)]  # fmt: skip
    for name, function in (
        ("rule", row.function),
        ("primal", row.primal),
        ("tangent", row.tangent),
    ):
        if function is not None:
            lines.append((name, _without_decorators(function)))
    batch = row.batch if isinstance(row.batch, Mapping) else {"": row.batch}
    for operand, function in batch.items():
        if function is not None:
            name = f"batch, {operand}" if operand else "batch"
            lines.append((name, _without_decorators(function)))
    return "\n".join([heading(row), *[_line(*line) for line in (*lines, *more)]])


def _line(name: str, text: str) -> str:
    if "\n" in text:
        return f"    {name}\n{textwrap.indent(text, ' ' * 8)}"
    return f"    {name:{_WIDTH}}{text}"


def _spellings(row: Rule) -> list[str]:
    """Return the names of the functions with the same rule and the same facts."""
    if row.function is None:
        return [qualified_name(row.target)]
    same = [one for one in rows() if one.function is row.function]
    return [qualified_name(one.target) for one in same if one.line == row.line]


def _spelled(value: Any) -> str:
    if isinstance(value, Sign):
        found = value.text
        return found if value.in_place is None else f"{found}, {found}= in place"
    if isinstance(value, FunctionType):
        return _without_decorators(value)
    if isinstance(value, Mapping):
        keys: dict[str, list[str]] = {}
        for key, item in value.items():
            keys.setdefault(_spelled(item), []).append(_spelled(key))
        return "; ".join(f"{', '.join(names)}: {item}" for item, names in keys.items())
    if isinstance(value, tuple):
        return ", ".join(_spelled(item) for item in value)
    return qualified_name(value) if callable(value) else str(value)


def _of_result(result: Result) -> str:
    plain = Result()
    found = {name: getattr(result, name) for name in Result.__annotations__}
    said = {name: v for name, v in found.items() if v != getattr(plain, name)}
    return "; ".join(f"{name}: {_spelled(value)}" for name, value in said.items()) or "one array"


def _without_decorators(function: Callable[..., Any]) -> str:
    """Return the source of a function without its decorators, or of a lambda on one line."""
    node = definition(function) if isinstance(function, FunctionType) else None
    if node is None:
        return qualified_name(function)
    if isinstance(node, ast.Lambda):
        return ast.unparse(node)
    lines, first = inspect.getsourcelines(function)
    return textwrap.dedent("".join(lines[node.lineno - first :])).rstrip()


def rows_of_exact_name(word: str) -> list[Rule]:
    """Return the rows of a name as programs write it, of a full name, or of an operator's sign.

    Parameters
    ----------
    word : str
        ``"np.flip"``, ``"numpy.flip"``, ``"operator.add"``, or ``"+"``.

    Returns
    -------
    list of Rule
        One row, two for a sign that has two meanings (``-``), or none.
    """
    signs = [row for row in rows() if row.sign is not None and row.sign.text == word]
    if signs:
        own = {qualified_name(row.target): row for row in signs}
        return [own[name] for name in sorted(own) if name.startswith("operator.")]
    target = _named(word)
    found = row_of(target) if target is not None else _DEFAULT
    return [found] if found.target is not None else []


def _named(word: str) -> Any:
    """Return the object with a dotted name, as ``np.linalg.norm``; None if there is none."""
    parts = word.split(".")
    if parts[0] == "np":
        parts[0] = "numpy"
    for count in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        for part in parts[count:]:
            found = getattr(found, part, None)  # type: ignore[assignment]
        return found
    return None
