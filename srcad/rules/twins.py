"""Functions of `math` share the formulas of their NumPy twins.

In a twin's formula ``np`` means the twins: ``np.cos(x)`` is ``math.cos(x)``, of a Python number.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

# What ``np`` stands for: the twins that were declared, under the names of NumPy's functions.
TWINS = ModuleType("math")


def declare_twin(targets: tuple[Any, ...], twin: Any) -> None:
    """Let a function of Python numbers stand for NumPy's functions in the formulas of twins."""
    for target in targets:
        setattr(TWINS, target.__name__, twin)


def formula_of_twin(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same rule, in which ``np`` means the twins."""
    assert isinstance(function, FunctionType)
    names = {**function.__globals__, "np": TWINS}
    made = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__module__ = function.__module__
    return made


def own_names(function: Callable[..., Any], expression: ast.expr) -> ast.expr:
    """An expression of a rule's text as it is meant: a twin's in the names of `math`."""
    if getattr(function, "__globals__", {}).get("np") is not TWINS:
        return expression
    renamed = _Renaming().visit(ast.parse(ast.unparse(expression), mode="eval").body)
    assert isinstance(renamed, ast.expr)
    return renamed


class _Renaming(ast.NodeTransformer):
    """Puts ``math.asin`` for ``np.arcsin``."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        twin = getattr(TWINS, node.attr, None)
        if not (isinstance(node.value, ast.Name) and node.value.id == "np") or twin is None:
            return node
        return ast.Attribute(ast.Name(twin.__module__), twin.__name__)
