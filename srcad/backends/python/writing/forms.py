"""Filling operands into the form that an operation's row says Python writes it in.

>>> import ast
>>> from srcad.backends.python.naming.names import Globals
>>> operands = [ast.Name("items"), ast.Constant(2.0)]
>>> ast.unparse(filled_expression("[*a, b]", operands, Globals({})))
'[*items, 2.0]'
"""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Sequence
from typing import Any

from srcad.backends.python.naming.names import Globals

_OPERANDS = "abc"


def filled_expression(form: str, operands: Sequence[ast.expr], space: Globals) -> ast.expr:
    """Return the expression with the operands in the places of ``a``, ``b`` and ``c``."""
    statement = _parsed(form)
    assert isinstance(statement, ast.Expr), form
    found = _filled(statement.value, operands, space)
    assert isinstance(found, ast.expr)
    return found


def filled_statement(form: str, operands: Sequence[ast.expr], space: Globals) -> ast.stmt:
    """Return the statement with the operands in the places of ``a``, ``b`` and ``c``."""
    found = _filled(_parsed(form), operands, space)
    assert isinstance(found, ast.stmt)
    return found


@functools.cache
def _parsed(form: str) -> ast.stmt:
    (statement,) = ast.parse(form).body
    return statement


def _filled(node: Any, operands: Sequence[ast.expr], space: Globals) -> Any:
    if isinstance(node, list):
        return [_filled(part, operands, space) for part in node]
    if isinstance(node, ast.Name):
        return _named(node.id, operands, space)
    if not isinstance(node, ast.AST):
        return node
    parts = {name: _filled(part, operands, space) for name, part in ast.iter_fields(node)}
    return type(node)(**parts)


def _named(name: str, operands: Sequence[ast.expr], space: Globals) -> ast.expr:
    """Return the meaning of a name in a form: an operand, NumPy, or one of Python's functions."""
    if name in _OPERANDS:
        return operands[_OPERANDS.index(name)]
    return space.numpy() if name == "np" else space.expression(getattr(builtins, name))
