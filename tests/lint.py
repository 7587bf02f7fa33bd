"""What a careful author would not have written, found in generated code by its syntax tree."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

WIDTH = 88
PLACE = re.compile(r"(?<=\S)  \([^()]+:\d+\)$")  # of a comment: file and line, shown in full


def code_lines(text: str) -> int:
    """The lines of a module's functions that are neither blank nor only a comment."""
    tree = ast.parse(text)
    skipped = {
        line
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    rows = enumerate(text.splitlines(), 1)
    return sum(
        bool(r.strip()) and not r.lstrip().startswith("#") and n not in skipped for n, r in rows
    )


def findings(text: str, user_names: frozenset[str] = frozenset()) -> list[str]:
    """Every finding in a module's text; `user_names` are the primal's own."""
    rows = [PLACE.sub("", row) for row in text.splitlines()]
    found = [f"line {len(row)} wide: {row}" for row in rows if len(row) > WIDTH]
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found += _function(node, user_names)
        if isinstance(node, ast.BinOp):
            found += _neutral(node)
        if isinstance(node, ast.Import | ast.ImportFrom) and "srcad" in ast.unparse(node):
            found.append(f"a run-time helper: {ast.unparse(node)}")
        if isinstance(node, ast.Name) and node.id in ("unbroadcast", "converted_like"):
            found.append(f"a run-time helper: {node.id}")
    return found


def _is(node: ast.expr, value: float) -> bool:
    return (
        isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value == value
    )


def _neutral(node: ast.BinOp) -> Iterator[str]:
    """``* 1``, ``/ 1``, ``** 1``, ``+ 0``, ``- 0``."""
    either = (node.left, node.right)
    one = isinstance(node.op, ast.Mult) and any(_is(side, 1) for side in either)
    zero = isinstance(node.op, ast.Add) and any(_is(side, 0) for side in either)
    right = isinstance(node.op, ast.Div | ast.Pow) and _is(node.right, 1)
    minus = isinstance(node.op, ast.Sub) and _is(node.right, 0)
    if one or zero or right or minus:
        yield f"neutral: {ast.unparse(node)}"


def _function(function: ast.FunctionDef, user_names: frozenset[str]) -> Iterator[str]:
    stores: Counter[str] = Counter()
    loads: Counter[str] = Counter()
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            (loads if isinstance(node.ctx, ast.Load) else stores)[node.id] += 1
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            loads[node.target.id] += 1
    params = {a.arg for a in function.args.args}
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign):
            continue
        for name in _bound(node):
            if not loads[name] and name != "_":
                yield f"unused: {ast.unparse(node)}"
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name) and isinstance(value, ast.Name):
            rebound = stores[target.id] > 1 or stores[value.id] + (value.id in params) > 1
            if not rebound:
                yield f"only a copy: {ast.unparse(node)}"
    for body in _bodies(function):
        for first, second in zip(body, body[1:], strict=False):
            yield from _pair(first, second, stores, loads, user_names)
        yield from _zeros(body)


def _bound(node: ast.Assign) -> Iterator[str]:
    for target in node.targets:
        for part in ast.walk(target):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id


def _bodies(function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(function):
        for field in ("body", "orelse"):
            body = getattr(node, field, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                yield body


def _pair(
    first: ast.stmt,
    second: ast.stmt,
    stores: Counter[str],
    loads: Counter[str],
    user_names: frozenset[str],
) -> Iterator[str]:
    """A temporary that is used once, on the very next line."""
    if not isinstance(first, ast.Assign) or not isinstance(first.targets[0], ast.Name):
        return
    name = first.targets[0].id
    if second.lineno != (first.end_lineno or 0) + 1:
        return
    if name in user_names or stores[name] > 1 or loads[name] > 1:
        return
    if not isinstance(second, ast.Assign | ast.AugAssign | ast.Return | ast.Expr):
        return
    if isinstance(second, ast.Return) and isinstance(second.value, ast.Tuple | ast.Dict):
        return
    used = [n for n in ast.walk(second) if isinstance(n, ast.Name) and n.id == name]
    width = first.col_offset + len(ast.unparse(second)) + len(ast.unparse(first.value)) - len(name)
    if used and width <= WIDTH:
        yield f"used once on the next line: {ast.unparse(first)}"


def _zeros(body: list[ast.stmt]) -> Iterator[str]:
    """A zero that is overwritten, or added to, before anything reads it."""
    for k, node in enumerate(body):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        if not (
            _is(node.value, 0)
            or ast.unparse(node.value).startswith(("np.zeros", "zeros_like", "zero_cotangent"))
        ):
            continue
        name = node.targets[0].id
        for later in body[k + 1 :]:
            uses = [n for n in ast.walk(later) if isinstance(n, ast.Name) and n.id == name]
            if not uses:
                continue
            plain = isinstance(later, ast.Assign | ast.AugAssign)
            if plain and all(isinstance(n.ctx, ast.Store) for n in uses):
                yield f"zeros overwritten: {ast.unparse(node)}; {ast.unparse(later)}"
            break
