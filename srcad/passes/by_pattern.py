"""Pattern-matching rewrites in one line: ``pattern -> replacement if guard``, in Python's syntax.

A pattern has holes: ``x_`` binds an argument, the same one at each occurrence; ``__`` stands for
all other arguments of a call.  Here ``c_`` and ``d_`` bind literal numbers and nothing else, and a
part of a replacement with no other holes is folded.
``(t_ := a_ - b_)`` binds the result of a call beside its parts, for guards: ``once(t_)`` says that
it has no other use.

A guard is an expression of the functions that are given with the lines; ``c_`` is a number in it,
every other hole an argument, and ``r`` the walk.  Operations have the names that a user writes, or
one that is given with the lines and may stand for several; a replacement makes such a call by the
method of the rewriter that has this name.
"""

from __future__ import annotations

import ast
import copy
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from srcad.ir.core import Arg, Call, Const
from srcad.passes.rewrites import NUMBER, Wanted, add_rewrite, number
from srcad.passes.rewriting import Rewriter
from srcad.rules.registry import operator_of
from srcad.startup.records import dataclass

# Patterns over Python syntax: Python text with holes, matched against a syntax tree.
#
# ``a_`` binds one expression, statement or name; ``xs__`` binds a sequence of any length, of
# which there is at most one among its neighbours; ``_`` and ``__`` bind nothing. A name that
# stands twice has to bind the same twice.


Matches = dict[str, Any]
Syntax = str | ast.AST
_SKIPPED = frozenset({"ctx", "kind", "type_comment", "type_params"})


def match(pattern: Syntax, node: Syntax) -> Matches | None:
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

    >>> match("a_ * a_", "x * x")["a"].id
    'x'
    >>> match("a_ * a_", "x * y") is None
    True
    >>> len(match("f(first_, rest__)", "f(1, 2, 3)")["rest"])
    2
    """
    found: Matches = {}
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
    """Return the text that a rule ``pattern -> replacement`` makes of a node, or None.

    >>> print(rewritten("b_ += e_ * 1.0 -> b_ += e_", "b += g * 1.0"))
    b += g
    """
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


def _bind(name: str, value: Any, found: Matches) -> bool:
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
def _fits(pattern: Any, node: Any, found: Matches | None) -> bool:
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


def _fit_all(patterns: list[Any], nodes: list[Any], found: Matches | None) -> bool:
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
    fields = {
        name: _filled(getattr(template, name), found)
        for name in template._fields
        if hasattr(template, name)
    }
    return ast.copy_location(type(template)(**fields), template)


Found = dict[str, Arg]
Fits = Callable[[Rewriter, Arg | Call, Found], bool]
Makes = Callable[[Rewriter, Found], Any]

_NUMBERS = ("c_", "d_")


def rewrites_by_pattern(lines: str, *guards: Callable[..., Any], **names: tuple[Any, ...]) -> None:
    """Register a rewrite for each line.

    Parameters
    ----------
    lines : str
        Lines ``pattern -> replacement`` or ``pattern -> replacement if guard``; those that are
        empty or start with ``#`` are none.
    *guards : callable
        The functions that guards and literals of replacements call, by their names.
    **names : tuple of callable
        The callees that a name of an operation stands for.

    Raises
    ------
    ValueError
        A line is no rewrite, or has a construct that is not supported there.

    Examples
    --------
    >>> def f(x, y): ...
    >>> rewrites_by_pattern("f(a_, c_) -> (c_ + 1) * a_ if c_ > 1", f=(f,))
    >>> function = parse('''
    ... g(x: float):
    ...     # reverse half
    ...     y = f(x, 2.0)
    ...     z = f(y, 1.0)
    ...     return z
    ... ''', f=f)
    >>> print(text(Rewriter().function(function)))
    g(x):
        y = mul(3.0, x)
        z = f(y, 1.0)
        return z
    """
    space = {"np": np, **{guard.__name__: guard for guard in guards}}
    kept = [line.strip() for line in lines.splitlines()]
    pairs = [sides(line) for line in kept if line and not line.startswith("#")]
    patterns = ast.parse("\n".join(f"({pattern})" for pattern, _ in pairs)).body
    for tree, (pattern, replacement) in zip(patterns, pairs, strict=True):
        assert isinstance(tree, ast.Expr)
        _Line(f"{pattern} -> {replacement}", tree.value, replacement, space, names).register()


@dataclass(eq=False)
class _Line:
    """One line; what it consists of is prepared when it is first tried."""

    text: str
    pattern: ast.expr
    replacement: str
    space: dict[str, Any]
    names: dict[str, tuple[Any, ...]]
    ready: tuple[Fits, CodeType | None, Makes] | None = None

    def register(self) -> None:
        """Put it into the table, by what is called and what the arguments have to be."""
        targets, parts, _ = self.call(_without_name(self.pattern))
        add_rewrite(self, targets, tuple(map(self.wanted, parts)))

    def __call__(self, r: Rewriter, op: Call) -> Arg | None:
        """Return the result of rewriting a call."""
        fits, guard, makes = self.ready or self.prepared()
        found: Found = {}
        if not fits(r, op, found) or (guard and not self.computed(guard, found, r)):
            return None
        made: Arg | None = makes(r, found)
        return made

    def prepared(self) -> tuple[Fits, CodeType | None, Makes]:
        """Take the line apart."""
        replacement, _, guard = self.replacement.partition(" if ")
        code = compile(guard.strip(), "<guard>", "eval") if guard else None
        made = ast.parse(replacement.strip(), mode="eval").body
        self.ready = self.fits(self.pattern), code, self.makes(made)
        return self.ready

    def computed(self, code: CodeType, found: Found, r: Rewriter | None = None) -> Any:
        """Return a guard, or a literal that is made of others."""
        given = {name: number(arg) if name in _NUMBERS else arg for name, arg in found.items()}
        return eval(code, self.space, {**given, "r": r, "once": r.is_used_once} if r else given)

    # ------------------------------------------------------------------------- forms
    def call(self, node: ast.expr) -> tuple[tuple[Any, ...], list[ast.expr], bool]:
        """Return the callee of a pattern, its arguments, and whether there may be more of them."""
        match node:
            case ast.BinOp(left, op, right) | ast.Compare(left, [op], [right]) if (
                operator_of(type(op)) is not None
            ):
                return (operator_of(type(op)),), [left, right], False
            case ast.UnaryOp(op, operand):
                return (operator_of(type(op)),), [operand], False
            case ast.Subscript(value, index):
                return (operator.getitem,), [value, index], False
            case ast.Call(function, args, []):
                is_open = bool(args) and isinstance(args[-1], ast.Name) and args[-1].id == "__"
                return self.targets(function), args[: len(args) - is_open], is_open
        raise ValueError(f"no operation: {ast.unparse(node)!r} in {self.text!r}")

    def targets(self, function: ast.expr) -> tuple[Any, ...]:
        """Return the operations that a name in a pattern stands for."""
        match function:
            case ast.Name(name) if name in self.names:
                return self.names[name]
            case ast.Attribute(ast.Name("np"), name):
                return (getattr(np, name),)
        raise ValueError(f"no operation: {ast.unparse(function)!r} in {self.text!r}")

    def wanted(self, node: ast.expr) -> Wanted:
        """Return the key of an argument by which rewrites are sorted."""
        node = _without_name(node)
        if isinstance(node, ast.Constant):
            return None if isinstance(node.value, bool) else NUMBER
        if isinstance(node, ast.Name):
            return NUMBER if node.id in _NUMBERS else None
        return self.call(node)[0]

    # ------------------------------------------------------------------------- patterns
    def fits(self, node: ast.expr) -> Fits:
        """Return a test that an argument, or the call itself, fits a part of the pattern."""
        if isinstance(node, ast.NamedExpr):
            inner, named = self.fits(node.value), _fits_hole(node.target.id, self.text)
            return lambda r, arg, found: inner(r, arg, found) and named(r, arg, found)
        if isinstance(node, ast.Constant):
            return _fits_literal(node.value)
        if isinstance(node, ast.Name):
            return _fits_hole(node.id, self.text)
        targets, parts, is_open = self.call(node)
        return _fits_call(targets, [self.fits(part) for part in parts], is_open)

    # ------------------------------------------------------------------------- replacements
    def makes(self, node: ast.expr) -> Makes:
        """Build a function that makes a part of the replacement."""
        holes = {
            name.id for name in ast.walk(node) if isinstance(name, ast.Name) if hole_of(name.id)
        }
        if isinstance(node, ast.Name):
            name = node.id
            return lambda r, found: found[name]
        if holes.issubset(_NUMBERS):
            code = compile(ast.Expression(node), "<literal>", "eval")
            return lambda r, found: Const(self.computed(code, found))
        targets, parts, _ = self.call(node)
        made = [self.makes(part) for part in parts]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            how = node.func.id
            return lambda r, found: getattr(r, how)(*[make(r, found) for make in made])
        (target,) = targets
        return lambda r, found: r.make(target, *[make(r, found) for make in made])


def _without_name(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.NamedExpr) else node


def _number(arg: Arg | Call) -> float | int | None:
    return None if isinstance(arg, Call) else number(arg)


def _fits_literal(literal: object) -> Fits:
    """Return a test that an equal number of either type passes; for a flag, only itself."""
    if isinstance(literal, bool):
        return lambda r, arg, found: isinstance(arg, Const) and arg.value is literal
    return lambda r, arg, found: _number(arg) == literal


def _fits_hole(name: str, text: str) -> Fits:
    """Bind a hole, or compare with its value; for the call itself, use its result."""
    hole = hole_of(name)
    if hole is None or hole[1]:
        raise ValueError(f"{name!r} is no hole for one argument in {text!r}")
    takes_numbers = name in _NUMBERS

    def fits(r: Rewriter, arg: Arg | Call, found: Found) -> bool:
        if takes_numbers and _number(arg) is None:
            return False
        value = arg.result if isinstance(arg, Call) else arg
        known = found.setdefault(name, value)
        return known is value or known == value

    return fits


def _fits_call(targets: tuple[Any, ...], parts: list[Fits], is_open: bool) -> Fits:
    count = len(parts)

    def fits(r: Rewriter, arg: Arg | Call, found: Found) -> bool:
        made = arg if isinstance(arg, Call) else r.call_of(arg, *targets)
        if made is None or (not is_open and (len(made.args) != count or made.kwargs)):
            return False
        for part, one in zip(parts, made.args, strict=False):
            if not part(r, one, found):
                return False
        return len(made.args) >= count

    return fits
