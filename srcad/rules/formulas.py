"""Rules as text: what a rule returns, whether that fits, and a rule applied to expressions."""

from __future__ import annotations

import ast
import linecache
import operator
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import takewhile
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from srcad.errors import RuleError
from srcad.startup.identifiers import ufunc_of
from srcad.startup.records import dataclass

# Functions of `math` share the formulas of their NumPy twins.
#
# In a twin's formula ``np`` means the twins: ``np.cos(x)`` is ``math.cos(x)``, of a Python
# number.

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


Definition = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True)
class Place:
    """Where a rule stands; lines from 1, columns from 0."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0


# An expression of one of these kinds is never a tuple.
_NUMBER_LIKE = (ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Constant, ast.JoinedStr)


@lru_cache(maxsize=64)
def _definitions(text: str) -> dict[int, list[Definition]]:
    """Every function of a file, by the line that its code object starts on."""
    found: dict[int, list[Definition]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
            first = min([node.lineno, *(d.lineno for d in decorators)])
            found.setdefault(first, []).append(node)
    return found


def definition(function: Callable[..., Any]) -> Definition | None:
    """The syntax tree of a rule, or None where its text is not at hand or not certain."""
    code = function.__code__
    try:
        candidates = _definitions("".join(linecache.getlines(code.co_filename)))
    except SyntaxError:
        return None
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    fitting = [
        node
        for node in candidates.get(code.co_firstlineno, [])
        if getattr(node, "name", "<lambda>") == code.co_name
        and tuple(a.arg for a in _arguments(node)) == names
    ]
    return fitting[0] if len(fitting) == 1 else None


def _arguments(node: Definition) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def _returns(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions that a function returns, not those of functions inside it."""
    if isinstance(node, ast.Lambda):
        yield node.body
        return
    pending = list(reversed(getattr(node, "body", [])))
    while pending:
        inner = pending.pop()
        if isinstance(inner, ast.Return):
            yield inner.value if inner.value is not None else ast.Constant(None)
        elif not isinstance(inner, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            pending.extend(reversed(list(ast.iter_child_nodes(inner))))


def _entries(expression: ast.expr) -> list[ast.expr]:
    return list(expression.elts) if isinstance(expression, ast.Tuple) else [expression]


def check_arity(function: Callable[..., Any], kind: str, count: int, place: Place) -> None:
    """Refuse a rule that certainly does not return `count` entries.

    Raises
    ------
    RuleError
        ``Gradient is not a tuple of length N``, with the rule's file and line.
    """
    node = definition(function)
    for expression in _returns(node) if node is not None else ():
        assert node is not None
        got = _length(expression, node, kind)
        if got is None or got == count or (count == 1 and kind != "derivative"):
            continue
        names = ", ".join(a.arg for a in _arguments(node))
        raise RuleError(
            f"Gradient is not a tuple of length {count}: the rule "
            f"'{function.__name__}({names})' returns {ast.unparse(expression)!r}",
            where=Place(place.file, expression.lineno, expression.col_offset,
                        expression.end_lineno or 0, expression.end_col_offset or 0),
            why="a rule returns one entry per parameter that has no default value.",
            help="return None where there is no derivative",
        )  # fmt: skip


def _length(expression: ast.expr, node: Definition, kind: str) -> int | None:
    """How many entries an expression certainly has, or None if that cannot be told."""
    if isinstance(expression, ast.Tuple):
        starred = any(isinstance(e, ast.Starred) for e in expression.elts)
        return None if starred else len(expression.elts)
    if isinstance(expression, ast.Name):
        plain = {a.arg for a in _arguments(node)}
        return 1 if expression.id in plain else None
    if isinstance(expression, ast.BinOp):
        sequence = isinstance(expression.op, ast.Add | ast.Mult) and kind != "derivative"
        names_only = isinstance(expression.left, ast.Name | ast.Tuple | ast.List)
        return None if sequence and names_only and isinstance(expression.op, ast.Add) else 1
    return 1 if isinstance(expression, _NUMBER_LIKE) else None


def returned_formulas(function: Callable[..., Any]) -> tuple[str, ...]:
    """The entries of what a rule returns last, as text."""
    node = definition(function)
    if node is None:
        return ()
    entries = _entries(list(_returns(node))[-1])
    return tuple(ast.unparse(own_names(function, entry)) for entry in entries)


def always_none(function: Callable[..., Any]) -> frozenset[int]:
    """The entries that are None wherever a rule returns."""
    node = definition(function)
    return nothing_in(_returns(node)) if node is not None else frozenset()


def nothing_in(returned: Iterable[ast.expr]) -> frozenset[int]:
    """The positions that are None in all returned expressions; none behind ``*entries``.

    >>> returned = "(a, None, *b, None)", "(1, None, None)"
    >>> nothing_in([ast.parse(text, mode="eval").body for text in returned])
    frozenset({1})
    """
    found = [
        {
            k
            for k, e in enumerate(takewhile(lambda e: not isinstance(e, ast.Starred), entries))
            if isinstance(e, ast.Constant) and e.value is None
        }
        for entries in map(_entries, returned)
    ]
    return frozenset(set.intersection(*found)) if found else frozenset()


def straight_formula(function: Callable[..., Any]) -> tuple[str, ...]:
    """The assignments of a rule that does not branch, and its entries, as text; else nothing."""
    node = definition(function)
    steps = [] if node is None else _straight_line(node)
    if not steps:
        return ()
    *before, (_, result) = steps
    entries = ", ".join(ast.unparse(own_names(function, entry)) for entry in _entries(result))
    return *(f"{name} = {ast.unparse(own_names(function, v))}" for name, v in before), entries


# ------------------------------------------------------------------------ symbolic application
def applied(function: Callable[..., Any], call: str, operands: tuple[str, ...]) -> tuple[str, ...]:
    """A rule's formulas with expressions put for its parameters.

    Parameters
    ----------
    function : callable
        A rule whose body is assignments to names and one return.
    call : str
        What is put for the result, ``y``.
    operands : tuple of str
        One expression per positional parameter.

    Returns
    -------
    tuple of str
        The formulas, as `ast.unparse` writes them.

    Raises
    ------
    RuleError
        If the rule is not a formula, or an operand is not an expression.
    """
    node = definition(function)
    steps = [] if node is None else _straight_line(node)
    body = [(name, own_names(function, value)) for name, value in steps]
    if node is None or not body:
        raise RuleError(f"rule '{function.__name__}' is not a single formula")
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    if len(names) != len(operands):
        raise RuleError(
            f"rule '{function.__name__}' takes {len(names)} expressions "
            f"({', '.join(names)}), not {len(operands)}"
        )
    known = {name: _expression(text) for name, text in zip(names, operands, strict=True)}
    known["y"] = _expression(call)
    for name, value in body[:-1]:
        known[name] = _substituted(value, known)
    result = _substituted(body[-1][1], known)
    return tuple(ast.unparse(entry) for entry in _entries(result))


def _straight_line(node: Definition) -> list[tuple[str, ast.expr]]:
    """The assignments of a body and, under the name "", what it returns; empty if it branches."""
    if isinstance(node, ast.Lambda):
        return [("", node.body)]
    steps: list[tuple[str, ast.expr]] = []
    for statement in node.body:
        match statement:
            case ast.Expr(ast.Constant()):
                continue
            case ast.Assign([ast.Name(name)], value):
                steps.append((name, value))
            case ast.Return(ast.expr() as value):
                return [*steps, ("", value)]
            case _:
                return []
    return []


def _expression(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        raise RuleError(f"{text!r} is not an expression") from None


def _substituted(value: ast.expr, known: dict[str, ast.expr]) -> ast.expr:
    """A fresh tree; that of the rule stays as it is."""
    result = _Substitution(known).visit(_expression(ast.unparse(value)))
    assert isinstance(result, ast.expr)
    return result


class _Substitution(ast.NodeTransformer):
    """Puts expressions for names; a fresh tree each time, so that no node stands in two places."""

    def __init__(self, known: dict[str, ast.expr]) -> None:
        self.known = {name: ast.unparse(value) for name, value in known.items()}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return _expression(self.known[node.id]) if node.id in self.known else node


def spelling(target: Any) -> str:
    """How a user writes a function's name, with the usual ``np``."""
    name = getattr(target, "__name__", repr(target))
    if isinstance(target, np.ufunc):
        return f"np.{name}"
    if ufunc_of(target) is not None:
        return f"{spelling(target.__self__)}.{name}"
    module = getattr(target, "__module__", None) or ""
    if module.startswith("numpy"):
        return f"np{module.removeprefix('numpy')}.{name}"
    if module == operator.add.__module__:
        return f"operator.{name}"
    return name if module == "builtins" or "." in module else f"{module}.{name}"
