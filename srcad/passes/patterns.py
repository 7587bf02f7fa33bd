"""Patterns over Python syntax: Python text with holes, matched against a syntax tree.

``a_`` binds one expression, statement or name; ``xs__`` binds a sequence of any length, of which
there is at most one among its neighbours; ``_`` and ``__`` bind nothing.  A name that stands twice
has to bind the same twice.

>>> match("a_ * a_", "x * x")["a"].id
'x'
>>> match("a_ * a_", "x * y") is None
True
>>> len(match("f(first_, rest__)", "f(1, 2, 3)")["rest"])
2

A *rule* is ``pattern -> replacement``:

>>> print(rewritten("b_ += e_ * 1.0 -> b_ += e_", "b += g * 1.0"))
b += g
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

Found = dict[str, Any]
Syntax = str | ast.AST
_SKIPPED = frozenset({"ctx", "kind", "type_comment", "type_params"})


def match(pattern: Syntax, node: Syntax) -> Found | None:
    """Match a piece of syntax.

    Parameters
    ----------
    pattern : str or ast.AST
        Python text, an expression or one statement, with names that end in underscores as holes.
    node : str or ast.AST
        What is matched.

    Returns
    -------
    dict or None
        What the holes have bound, by their names without the underscores: a node, a text where a
        name stands (of a class, an attribute, a parameter), or for ``xs__`` a list of these; None
        if the piece is not of this form.

    Raises
    ------
    ValueError
        The pattern has two holes for sequences side by side.
    """
    found: Found = {}
    whole = parsed(pattern) if isinstance(pattern, str) else pattern
    subject = parsed(node) if isinstance(node, str) else node
    return found if _fits(whole, subject, found) else None


@lru_cache(256)
def parsed(text: str) -> ast.AST:
    """Return the syntax tree of an expression or of one statement."""
    (statement,) = ast.parse(text).body
    return statement.value if isinstance(statement, ast.Expr) else statement


def filled(template: Syntax, found: Mapping[str, Any]) -> ast.AST:
    """Return a template with its holes filled by their bindings.

    Raises
    ------
    KeyError
        Nothing was bound to a hole.
    """
    made: ast.AST = _filled(parsed(template) if isinstance(template, str) else template, found)
    return made


def rewritten(rule: str, node: Syntax) -> str | None:
    """Return the text that a rule ``pattern -> replacement`` makes of a node, or None."""
    pattern, replacement = sides(rule)
    found = match(pattern, node)
    return None if found is None else ast.unparse(filled(replacement, found))


def sides(rule: str) -> tuple[str, str]:
    """Return the pattern and the replacement of a rule.

    Raises
    ------
    ValueError
        There is no arrow in it, or more than one.
    """
    pattern, arrow, replacement = rule.partition("->")
    if not arrow or "->" in replacement:
        raise ValueError(f"a rule is 'pattern -> replacement', not {rule!r}")
    return pattern.strip(), replacement.strip()


# ------------------------------------------------------------------------------- holes
def hole_of(pattern: Any) -> tuple[str, bool] | None:
    """Return the name of a hole, and whether it takes a sequence; None for what is none.

    >>> hole_of("a_"), hole_of("xs__"), hole_of("__"), hole_of("a"), hole_of("__init__")
    (('a', False), ('xs', True), ('', True), None, None)
    """
    if isinstance(pattern, ast.Expr):
        pattern = pattern.value
    if isinstance(pattern, ast.Name):
        pattern = pattern.id
    if isinstance(pattern, ast.arg) and pattern.annotation is None:
        pattern = pattern.arg
    if not isinstance(pattern, str) or not pattern.endswith("_"):
        return None
    name = pattern.rstrip("_")
    count = len(pattern) - len(name)
    return (name, count == 2) if count <= 2 and not name.startswith("_") else None


def _bind(name: str, value: Any, found: Found) -> bool:
    """Bind a hole, or compare with its binding."""
    if not name:
        return True
    if name in found:
        return same(found[name], value)
    found[name] = value
    return True


def same(left: Any, right: Any) -> bool:
    """Return True if two pieces of syntax are equal, wherever they stand."""
    return _fits(left, right, None)


# ------------------------------------------------------------------------------- matching
def _fits(pattern: Any, node: Any, found: Found | None) -> bool:
    """Return True if a node fits a pattern, and what its holes bind.

    Without `found` nothing is a hole.
    """
    hole = None if found is None else hole_of(pattern)
    if hole is not None and found is not None and not hole[1]:
        is_one = isinstance(node, ast.AST if isinstance(pattern, ast.AST) else str)
        return is_one and _bind(hole[0], _inner(node), found)
    if isinstance(pattern, list):
        return isinstance(node, list) and _fit_all(pattern, node, found)
    if not isinstance(pattern, ast.AST):
        return type(pattern) is type(node) and repr(pattern) == repr(node)
    if type(pattern) is not type(node):
        return False
    names = [name for name in pattern._fields if name not in _SKIPPED]
    return all(_fits(getattr(pattern, n, None), getattr(node, n, None), found) for n in names)


def _inner(node: Any) -> Any:
    """Return the expression of a statement that is one."""
    return node.value if isinstance(node, ast.Expr) else node


def _fit_all(patterns: list[Any], nodes: list[Any], found: Found | None) -> bool:
    """Return a sequence, in which one hole may take any number of items."""
    holes = [None if found is None else hole_of(pattern) for pattern in patterns]
    slurps = [k for k, hole in enumerate(holes) if hole is not None and hole[1]]
    if len(slurps) > 1:
        raise ValueError("at most one hole in a sequence takes any number of items")
    if not slurps or found is None:
        pairs = zip(patterns, nodes, strict=False)
        return len(patterns) == len(nodes) and all(_fits(p, n, found) for p, n in pairs)
    k, after = slurps[0], len(patterns) - slurps[0] - 1
    end = len(nodes) - after
    if end < k:
        return False
    hole = holes[k]
    assert hole is not None
    return (
        all(_fits(p, n, found) for p, n in zip(patterns[:k], nodes[:k], strict=True))
        and _bind(hole[0], nodes[k:end], found)
        and all(_fits(p, n, found) for p, n in zip(patterns[k + 1 :], nodes[end:], strict=True))
    )


# ------------------------------------------------------------------------------- filling
def _filled(template: Any, found: Mapping[str, Any]) -> Any:
    hole = hole_of(template)
    if hole is not None:
        value = copy.deepcopy(found[hole[0]])
        is_statement = isinstance(template, ast.Expr) and isinstance(value, ast.expr)
        return ast.Expr(value) if is_statement else value
    if isinstance(template, list):
        parts: list[Any] = []
        for one in template:
            made = _filled(one, found)
            parts += made if isinstance(made, list) else [made]
        return parts
    if not isinstance(template, ast.AST):
        return template
    fields = {name: _filled(getattr(template, name), found)
              for name in template._fields if hasattr(template, name)}  # fmt: skip
    return ast.copy_location(type(template)(**fields), template)
