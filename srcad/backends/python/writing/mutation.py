"""Stores as statements: ``u[i] = v``, ``x_bar[i] += g``, ``items.append(v)``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Protocol

from srcad.backends.python.naming.coalesce import Webs
from srcad.backends.python.naming.names import Globals, attribute
from srcad.backends.python.plan.expressions import Nesting
from srcad.backends.python.writing.spelling import binary_sign, filled_statement, index_expression
from srcad.ir.core import Arg, Call, Const, Display, Value
from srcad.ir.operations import operation_of
from srcad.ir.traits import is_store
from srcad.startup.identifiers import is_name
from srcad.types.numeric import Numeric
from srcad.types.structures import PlacesOf


class StoreWriter(Protocol):
    """The part of the writer that a store needs."""

    webs: Webs
    nesting: Nesting
    space: Globals

    def expr(self, arg: Arg) -> ast.expr:
        """Return the expression for an argument."""

    def name(self, value: Value) -> ast.Name:
        """Return a variable that is written."""

    def assign(self, value: Value, node: ast.expr) -> ast.stmt:
        """Return an assignment."""


def mutation(writer: StoreWriter, op: Call, result: Value) -> list[ast.stmt]:
    """Write into the first argument's storage, or into a copy of it."""
    first = op.args[0]
    atom = first if isinstance(first, Display) else writer.nesting.resolve(first)
    statements: list[ast.stmt] = []
    if not op.in_place:
        statements.append(writer.assign(result, _copied(writer, op)))
    elif not isinstance(atom, Value) or not writer.webs.same(atom, result):
        statements.append(writer.assign(result, writer.expr(first)))
    statements.append(_store(writer, op, result))
    return statements


def _copied(writer: StoreWriter, op: Call) -> ast.expr:
    source = writer.expr(op.args[0])
    if isinstance(op.result.type, PlacesOf):
        return _function(attribute(source, "copy"))
    if is_store(op.target, "list"):
        return ast.List([ast.Starred(source, ast.Load())], ast.Load())
    type_ = getattr(op.args[0], "type", None)
    flat = isinstance(type_, Numeric) and type_.shape is not None and len(type_.shape) < 2
    if op.half == "primal" and not flat and isinstance(type_, Numeric):
        return _function(attribute(writer.space.numpy(), "copy"), source)  # laid out as it is
    return _function(attribute(source, "copy"))


def _function(function: ast.expr, *args: ast.expr) -> ast.expr:
    return ast.Call(function, list(args), [])


def _store(writer: StoreWriter, op: Call, result: Value) -> ast.stmt:
    row = operation_of(op.target)
    form = row.stored if row is not None else None
    sign = binary_sign(op.target)
    if form is None:
        assert sign is not None
        return ast.AugAssign(writer.name(result), sign(), writer.expr(op.args[1]))
    special = _FORMS.get(form)
    if special is not None:
        return special(writer, op, result)
    operands = [writer.expr(result), *map(writer.expr, op.args[1:])]
    return filled_statement(form, operands, writer.space)


def _deleted(writer: StoreWriter, op: Call, result: Value) -> ast.stmt:
    if op.args[1] == Const(-1) and not isinstance(result.type, PlacesOf):
        return _call(attribute(writer.expr(result), "pop"))
    index = index_expression(writer, op.args[1])
    return ast.Delete([ast.Subscript(writer.expr(result), index, ast.Del())])


def _place(writer: StoreWriter, op: Call, result: Value) -> ast.Subscript:
    """Return ``y[i]``, or ``y[i][j]`` for a store through a view."""
    *outer, last = _path(op)
    view = writer.expr(result)
    for index in outer:
        view = ast.Subscript(view, index_expression(writer, index), ast.Load())
    return ast.Subscript(view, index_expression(writer, last), ast.Store())


def _path(op: Call) -> tuple[Arg, ...]:
    row = operation_of(op.target)
    is_path = row is not None and row.stored in ("a[i][j] = c", "a[i][j] += c")
    path = op.args[1]
    return path.items if is_path and isinstance(path, Display) else (path,)


def _set(writer: StoreWriter, op: Call, result: Value) -> ast.stmt:
    place = _place(writer, op, result)
    return ast.Assign([place], writer.expr(op.args[2]))


def _added(writer: StoreWriter, op: Call, result: Value) -> ast.stmt:
    place, value = _place(writer, op, result), writer.expr(op.args[2])
    positive = _without_sign(value)
    sign, value = (ast.Add(), value) if positive is None else (ast.Sub(), positive)
    return ast.AugAssign(place, sign, value)


# The forms that need more care than to put the operands in.
_FORMS: dict[str, Callable[[StoreWriter, Call, Value], ast.stmt]] = {
    "del a[b]": _deleted,
    "a[b] = c": _set,
    "a[b] += c": _added,
    "a[i][j] = c": _set,
    "a[i][j] += c": _added,
}


def stored_outside(writer: StoreWriter, op: Call) -> ast.stmt:
    """Write to an object outside the function: ``net.h = h``, ``history.append(y)``."""
    owner, *where = (writer.expr(arg) for arg in op.args)
    name = op.args[1].value if isinstance(op.args[1], Const) else None
    if op.target is list.append:
        return _call(attribute(owner, "append"), *where)
    if op.target is operator.setitem:
        index = index_expression(writer, op.args[1])
        return ast.Assign([ast.Subscript(owner, index, ast.Store())], where[1])
    if is_name(name) and not str(name).startswith("__"):
        return ast.Assign([ast.Attribute(owner, name, ast.Store())], where[1])
    return _call(writer.space.expression(setattr), owner, *where)


def _without_sign(node: ast.expr) -> ast.expr | None:
    """``e`` for ``-e``, ``2 * e`` for ``-2 * e``; None where no sign is in front."""
    if isinstance(node, ast.UnaryOp):
        return node.operand if isinstance(node.op, ast.USub) else None
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult | ast.Div):
        return None
    left = _without_sign(node.left)
    return None if left is None else ast.BinOp(left, node.op, node.right)


def _call(function: ast.expr, *args: ast.expr) -> ast.stmt:
    return ast.Expr(ast.Call(function, list(args), []))
