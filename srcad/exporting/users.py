"""A function of the user's as text that stands by itself, and what it reads."""

from __future__ import annotations

import ast
import builtins
import textwrap
from types import FunctionType
from typing import Any

from srcad.errors import ExportError
from srcad.exporting.written_out import Edit, Offsets, edited, free_names
from srcad.frontend.source.definition import definition
from srcad.startup.identifiers import plain
from srcad.startup.records import dataclass, field

_WRITES = ("STORE_GLOBAL", "DELETE_GLOBAL")


@dataclass(eq=False)
class PlainFunction:
    """A function as a ``def`` without decorators and types.

    `reads` are the values of its globals and cells by name; `defaults` are those of its parameters
    by the names that the text has for them.
    """

    name: str
    text: str
    reads: dict[str, Any]
    defaults: dict[str, Any] = field(default_factory=dict)


def plain_function(function: FunctionType) -> PlainFunction:
    """Return the text of a function.

    Raises
    ------
    SourceUnavailableError
        It has none.
    ExportError
        It writes to globals or cells, or reads one that holds nothing.
    """
    source = definition(function)
    if isinstance(source.tree, ast.Lambda):
        name, text = "f", _of_lambda(source.tree, source.text)
    else:
        name = source.tree.name
        text = textwrap.dedent(
            "".join(source.lines[source.tree.lineno - 1 : source.tree.end_lineno])
        )
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    if any(isinstance(node, ast.Global | ast.Nonlocal) for node in ast.walk(tree)):
        raise ExportError(
            f"{plain(function.__name__)!r} writes to a variable outside itself",
            why="a file of its own has other variables.",
            help="return the value instead",
        )
    defaults: dict[str, Any] = {}
    text = _stripped(text, tree, function, defaults)
    again = ast.parse(text).body[0]
    reads = {
        name: _outside(function, name)
        for name in free_names(again)
        if name not in defaults and _is_outside(function, name)
    }
    return PlainFunction(name, text if text.endswith("\n") else text + "\n", reads, defaults)


def _of_lambda(tree: ast.Lambda, text: str) -> str:
    """Return a lambda as a ``def``."""
    arguments = ast.unparse(tree.args)
    return f"def f({arguments}):\n    return {ast.unparse(tree.body)}\n"


def _stripped(
    text: str, tree: ast.FunctionDef, function: FunctionType, defaults: dict[str, Any]
) -> str:
    """Return the text without types; a default that is no literal becomes a name."""
    at, edits = Offsets(text), []
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None:
            start = at.span(node)[0] + len(node.arg.encode())
            edits.append(Edit(start, at.span(node)[1], ""))
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            start, end = at.span(node.returns)
            arrow = text.encode()[:start].rindex(b"->")
            edits.append(Edit(len(text.encode()[:arrow].rstrip()), end, ""))
    plain_ones = [*tree.args.posonlyargs, *tree.args.args][-len(tree.args.defaults) or None :]
    values = [*(function.__defaults__ or ())]
    names = [a.arg for a in plain_ones][-len(values) :] if values else []
    nodes: list[Any] = list(tree.args.defaults)
    for arg, default in zip(tree.args.kwonlyargs, tree.args.kw_defaults, strict=True):
        if default is not None:
            names.append(arg.arg)
            nodes.append(default)
            values.append((function.__kwdefaults__ or {})[arg.arg])
    for name, node, value in zip(names, nodes, values, strict=True):
        if not isinstance(node, ast.Constant) or node.value is not value:
            defaults[f"default_{name}"] = value
            edits.append(Edit(*at.span(node), f"default_{name}"))
    return edited(text, edits)


def _is_outside(function: FunctionType, name: str) -> bool:
    if name in function.__code__.co_freevars or name in function.__globals__:
        return True
    if not hasattr(builtins, name):
        raise ExportError(
            f"{plain(function.__name__)!r} reads {name!r}, which is not defined",
            why="it cannot be written to a file.",
            help=f"define {name} first",
        )
    return False


def _outside(function: FunctionType, name: str) -> Any:
    """Return the current value of a name that a function reads."""
    if name in function.__code__.co_freevars:
        assert function.__closure__ is not None
        cell = function.__closure__[function.__code__.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:
            raise ExportError(
                f"{plain(function.__name__)!r} reads {name!r}, which holds nothing yet",
                help=f"define {name} first",
            ) from None
    return function.__globals__[name]
