"""Syntactic facts about writes: if a function may write into an array argument."""

from __future__ import annotations

import ast
import functools
import inspect
from typing import Any

import numpy as np

from srcad.frontend.source.syntax import nodes_of

_WRITERS = frozenset(
    ["fill", "sort", "put", "partition", "resize", "shuffle", "setfield", "itemset", "byteswap",
     "copyto", "at", "place", "putmask", "put_along_axis", "fill_diagonal", "nan_to_num"]
)  # fmt: skip


def may_write(node: ast.FunctionDef | ast.Lambda) -> bool:
    """Return True if a function may write into an array that it is given."""
    arguments = node.args
    named = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    more = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    given = {a.arg for a in (*named, *more)}
    return any(_may_write(inner, given) for inner in nodes_of(node))


def _may_write(node: ast.AST, given: set[str]) -> bool:
    if isinstance(node, ast.Subscript | ast.Attribute):
        return not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Name) and node.target.id in given
    if not isinstance(node, ast.Call):
        return False
    if any(k.arg in ("out", None) for k in node.keywords):
        return True
    if isinstance(node.func, ast.Attribute):
        owner = node.func.value
        of_array = not (isinstance(owner, ast.Name) and owner.id in ("np", "numpy"))
        if node.func.attr in _WRITERS or may_ask(node.func.attr, len(node.args), of_array=of_array):
            return True
    passed = {n.id for a in node.args for n in nodes_of(a) if isinstance(n, ast.Name)}
    return isinstance(node.func, ast.Name) and not passed.isdisjoint(given)


@functools.cache
def positional_names(function: Any, *, or_by_name: bool = False) -> tuple[str, ...]:
    """Return the parameters that can be given by position, and if asked also by name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(
        p.name
        for p in parameters
        if p.kind is p.POSITIONAL_OR_KEYWORD or (p.kind is p.POSITIONAL_ONLY and not or_by_name)
    )


def may_ask(name: str, count: int, *, of_array: bool) -> bool:
    """Return True if so many arguments of ``np.name``, or of a method, end in an ``out``."""
    function = getattr(np, name, None)
    if isinstance(function, np.ufunc):
        return count > function.nin
    if function is None or isinstance(function, type) or not callable(function):
        return False
    names = positional_names(function)
    return "out" in names and count + of_array > names.index("out")
