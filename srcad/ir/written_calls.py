"""Source text of calls, for remedies that can be pasted."""

from __future__ import annotations

import ast
import linecache

from srcad.ir.core import Call, Location

_LONGEST = 60  # characters of a call that a message repeats


def call_at(where: Location | None) -> ast.Call | None:
    """Return the call at a source location; None if there is none, or no source."""
    if where is None:
        return None
    lines = [linecache.getline(where.file, k) for k in range(where.line, where.end_line + 1)]
    text = "".join(lines).encode()
    cut = len(lines[-1].encode()) - where.end_column if lines else 0
    try:
        node = ast.parse(text[where.column : len(text) - cut].strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return node if isinstance(node, ast.Call) else None


def text_of_call(where: Location | None) -> str | None:
    """Return the text of a call, if it is short."""
    node = call_at(where)
    return None if node is None else _short(node)


def text_with_constant(op: Call, name: str, place: int | str) -> str | None:
    """Return the text of a call with one argument inside ``srcad.stop_gradient``.

    `name` is that of the function, `place` the argument.  None if the text is long, or may be the
    call of another function, or its arguments are written in another way.
    """
    node = call_at(op.where)
    if node is None or any(isinstance(argument, ast.Starred) for argument in node.args):
        return None
    function = node.func
    called = getattr(function, "attr", getattr(function, "id", None))
    if called != name.rpartition(".")[2] or len(node.keywords) != len(op.kwargs):
        return None
    if isinstance(place, str):
        given = [keyword for keyword in node.keywords if keyword.arg == place]
        for keyword in given:
            keyword.value = _stopped(keyword.value)
        return _short(node) if given else None
    if isinstance(function, ast.Attribute) and len(node.args) == len(op.args) - 1:
        if place == 0:  # of a method: the object that it belongs to
            function.value = _stopped(function.value)
            return _short(node)
        place -= 1
    elif len(node.args) != len(op.args):
        return None
    node.args[place] = _stopped(node.args[place])
    return _short(node)


def _stopped(node: ast.expr) -> ast.Call:
    stop = ast.Attribute(ast.Name("srcad", ast.Load()), "stop_gradient", ast.Load())
    return ast.Call(stop, [node], [])


def _short(node: ast.Call) -> str | None:
    text = ast.unparse(node)
    return text if len(text) <= _LONGEST else None
