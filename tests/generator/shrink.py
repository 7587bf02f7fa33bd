"""A smaller program that still fails in the same way."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator

Fails = Callable[[str], bool]


def shrunk(text: str, fails: Fails, seconds: float = 60.0) -> str:
    """Delete and simplify, one step at a time, while the failure stays."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for candidate in _candidates(text):
            if time.monotonic() > deadline:
                break
            if len(candidate) < len(text) and fails(candidate):
                text = candidate
                break
        else:
            break
    return text


def _candidates(text: str) -> Iterator[str]:
    """All programs that are one step smaller, the largest steps first."""
    tree = ast.parse(text)
    edits = sorted(_edits(tree), key=lambda e: -e[0])
    for _, edit in edits:
        smaller = copy.deepcopy(tree)
        edit(smaller)
        try:
            yield ast.unparse(ast.fix_missing_locations(smaller)) + "\n"
        except (ValueError, TypeError, AttributeError):
            continue


Edit = Callable[[ast.AST], None]


def _edits(tree: ast.Module) -> Iterator[tuple[int, Edit]]:
    """Edits as functions of a fresh copy, with the size of what they remove."""
    kept = {id(n) for part in tree.body if _is_arguments(part) for n in ast.walk(part)}
    for index, node in enumerate(ast.walk(tree)):
        if id(node) in kept:
            continue
        for field, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield from _body_edits(index, field, value)
            elif isinstance(value, ast.expr) and not isinstance(node, ast.FormattedValue):
                yield from _expression_edits(index, field, value)
            elif isinstance(value, list) and value and isinstance(value[0], ast.expr):
                for k, item in enumerate(value):
                    yield from _expression_edits(index, field, item, k)


def _is_arguments(node: ast.stmt) -> bool:
    """Whether this says what the program is called with: that stays as it is."""
    return isinstance(node, ast.Assign) or getattr(node, "name", "") == "make_arguments"


def _at(tree: ast.AST, index: int) -> ast.AST:
    for k, node in enumerate(ast.walk(tree)):
        if k == index:
            return node
    raise IndexError(index)


def _size(node: ast.AST) -> int:
    return sum(1 for _ in ast.walk(node))


def _body_edits(index: int, field: str, body: list[ast.stmt]) -> Iterator[tuple[int, Edit]]:
    for k, statement in enumerate(body):
        if isinstance(statement, ast.FunctionDef) and statement.name in ("f", "make_arguments"):
            continue

        def delete(tree: ast.AST, k: int = k) -> None:
            inner = getattr(_at(tree, index), field)
            del inner[k]
            if not inner and field == "body":
                inner.append(ast.Pass())

        def unwrap(tree: ast.AST, k: int = k) -> None:
            inner = getattr(_at(tree, index), field)
            inner[k : k + 1] = inner[k].body

        if not isinstance(statement, ast.Pass):
            yield _size(statement), delete
        if isinstance(statement, ast.If | ast.For | ast.While | ast.With):
            yield 3, unwrap


def _expression_edits(
    index: int, field: str, value: ast.expr, position: int | None = None
) -> Iterator[tuple[int, Edit]]:
    if isinstance(value, ast.Constant | ast.Name):
        return
    parts = [p for p in ast.walk(value) if isinstance(p, ast.expr) and p is not value]
    parts = [p for p in parts if not isinstance(getattr(p, "ctx", None), ast.Store)][:6]
    for part in parts:

        def replace(tree: ast.AST, part: ast.expr = part) -> None:
            node, new = _at(tree, index), copy.deepcopy(part)
            if position is None:
                setattr(node, field, new)
            else:
                getattr(node, field)[position] = new

        yield _size(value) - _size(part), replace
