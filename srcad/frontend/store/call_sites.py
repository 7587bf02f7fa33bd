"""Where a user sees what is refused: the place in his own text, and his words for a callee."""

from __future__ import annotations

import ast
import linecache
import sys
import types
from typing import Any

from srcad.frontend.machine.machine import Machine
from srcad.ir.location import Location
from srcad.rules import stubs
from srcad.startup.identifiers import label


def called_name(s: Machine, function: Any) -> str:
    """Return the name of a function as the user wrote it, its module spelled out."""
    short = label(function)
    text = _text_of_callee(s.builder.where)
    if text is None or text.rpartition(".")[2] != short:
        return stubs.written(function)
    root, dot, rest = text.partition(".")
    found = s.user_frame.globals.get(root)
    if isinstance(found, types.ModuleType):
        return f"{label(found)}{dot}{rest}"
    home = _home(found, root)
    if not dot:
        return stubs.written(function)
    return f"{home}.{text}" if home else text


def method_of_object(s: Machine, function: Any) -> str | None:
    """How a method of an object in the user's text is written as a function of its class."""
    text = _text_of_callee(s.builder.where)
    holder, _, name = (text or "").rpartition(".")
    found = s.user_frame.globals.get(holder)
    is_class = found is None or isinstance(found, type | types.ModuleType)
    return None if is_class or name != function.__name__ else f"type({holder}).{name}"


def _home(found: Any, name: str) -> str | None:
    """Return the public library module under whose name an object is found, if any."""
    module = str(getattr(type(found), "__module__", "")).partition(".")[0]
    if found is None or module in ("builtins", "__main__"):
        return None
    homes = [
        path
        for path, loaded in list(sys.modules.items())
        if path.partition(".")[0] == module
        and not any(part.startswith("_") for part in path.split("."))
        and vars(loaded).get(name) is found
    ]
    return min(homes, key=len, default=None)


def _text_of_callee(where: Location | None) -> str | None:
    """Return the text before the brackets of a call, if it is a name with dots."""
    if where is None:
        return None
    lines = [linecache.getline(where.file, k) for k in range(where.line, where.end_line + 1)]
    text = "".join(lines).encode()
    cut = len(lines[-1].encode()) - where.end_column if lines else 0
    try:
        node = ast.parse(text[where.column : len(text) - cut].strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(node, ast.Call):
        return None
    inner: ast.AST = node.func
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    return ast.unparse(node.func) if isinstance(inner, ast.Name) else None
