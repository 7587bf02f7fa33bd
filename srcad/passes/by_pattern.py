"""Rewrites in one line: ``pattern -> replacement if guard``, in the syntax of Python.

A pattern has the holes of `srcad.passes.patterns`: ``x_`` binds an argument, and the same one where
it stands again; ``__`` is whatever else a call is given.  Here ``c_`` and ``d_`` bind literal
numbers and nothing else, and what a replacement makes of these alone is computed now.
``(t_ := a_ - b_)`` binds the result of a call beside its parts, for guards: ``once(t_)`` says that
nobody else reads it.

A guard is an expression of the functions that are given with the lines; ``c_`` is a number in it,
every other hole an argument, and ``r`` the walk.  Operations have the names that a user writes, or
one that is given with the lines and may stand for several; a replacement makes such a call by the
method of the rewriter that has this name.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from srcad.ir.core import Arg, Call, Const
from srcad.passes.patterns import hole_of, sides
from srcad.passes.rewrites import NUMBER, Wanted, add_rewrite, number
from srcad.passes.rewriting import Rewriter
from srcad.startup.records import dataclass

Found = dict[str, Arg]
Fits = Callable[[Rewriter, Arg | Call, Found], bool]
Makes = Callable[[Rewriter, Found], Any]

_NUMBERS = ("c_", "d_")
_WRITTEN: dict[type[ast.AST], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.USub: operator.neg,
    ast.NotEq: operator.ne,
}


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
        What a name of an operation stands for.

    Raises
    ------
    ValueError
        A line is no rewrite, or says something that cannot stand there.
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
        return eval(code, self.space, {**given, "r": r, "once": r.used_once} if r else given)

    # ------------------------------------------------------------------------- forms
    def call(self, node: ast.expr) -> tuple[tuple[Any, ...], list[ast.expr], bool]:
        """Return the callee of a pattern, its arguments, and whether there may be more of them."""
        match node:
            case ast.BinOp(left, op, right) | ast.Compare(left, [op], [right]) if (
                type(op) in _WRITTEN
            ):
                return (_WRITTEN[type(op)],), [left, right], False
            case ast.UnaryOp(op, operand) if type(op) in _WRITTEN:
                return (_WRITTEN[type(op)],), [operand], False
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
        holes = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)
                 if hole_of(name.id)}  # fmt: skip
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
