"""Stores as statements: ``u[i] = v``, ``x_bar[i] += g``, ``items.append(v)``."""

from __future__ import annotations

import ast
import operator
from typing import Protocol

from srcad.backends.python.naming.coalesce import Webs
from srcad.backends.python.naming.names import Globals, attribute
from srcad.backends.python.plan.expressions import Nesting
from srcad.backends.python.writing.spelling import BINARY, index_expression
from srcad.ir.core import Arg, Call, Const, Display, Value
from srcad.ir.primitives import (
    add_at,
    add_at_repeated,
    append,
    extended,
    inserted,
    replaced,
    updated,
    without,
)
from srcad.startup.identifiers import is_name
from srcad.types.numeric import Numeric
from srcad.types.structures import PlacesOf


class StoreWriter(Protocol):
    """What a store needs of the writer."""

    webs: Webs
    nesting: Nesting
    space: Globals

    def expr(self, arg: Arg) -> ast.expr:
        """The expression for an argument."""

    def name(self, value: Value) -> ast.Name:
        """A variable that is written."""

    def assign(self, value: Value, node: ast.expr) -> ast.stmt:
        """An assignment."""


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
    if op.target in (replaced, inserted, without):
        return ast.List([ast.Starred(source, ast.Load())], ast.Load())
    type_ = getattr(op.args[0], "type", None)
    flat = isinstance(type_, Numeric) and type_.shape is not None and len(type_.shape) < 2
    if op.half == "primal" and not flat and isinstance(type_, Numeric):
        return _function(attribute(writer.space.numpy(), "copy"), source)  # laid out as it is
    return _function(attribute(source, "copy"))


def _function(function: ast.expr, *args: ast.expr) -> ast.expr:
    return ast.Call(function, list(args), [])


def _store(writer: StoreWriter, op: Call, result: Value) -> ast.stmt:
    target, args = op.target, op.args
    if target is append:
        return _call(attribute(writer.expr(result), "append"), writer.expr(args[1]))
    if target is extended:
        return _call(attribute(writer.expr(result), "extend"), writer.expr(args[1]))
    if target is inserted:
        return _call(attribute(writer.expr(result), "insert"), *map(writer.expr, args[1:]))
    if target is without and args[1] == Const(-1) and not isinstance(result.type, PlacesOf):
        return _call(attribute(writer.expr(result), "pop"))
    if target is without:
        index = index_expression(writer, args[1])
        return ast.Delete([ast.Subscript(writer.expr(result), index, ast.Del())])
    if target is add_at_repeated:
        add = attribute(attribute(writer.space.numpy(), "add"), "at")
        return _call(add, writer.expr(result), *map(writer.expr, args[1:]))
    if target in (updated, replaced, add_at):
        index = index_expression(writer, args[1])
        place = ast.Subscript(writer.expr(result), index, ast.Store())
        value = writer.expr(args[2])
        if target is add_at:
            positive = _without_sign(value)
            sign, value = (ast.Add(), value) if positive is None else (ast.Sub(), positive)
            return ast.AugAssign(place, sign, value)
        return ast.Assign([place], value)
    if target in BINARY:
        return ast.AugAssign(writer.name(result), BINARY[target](), writer.expr(args[1]))
    raise TypeError(f"no way to write {target!r} in place")


def kept(writer: StoreWriter, op: Call) -> ast.stmt:
    """What puts a value where somebody outside keeps it: ``net.h = h``, ``history.append(y)``."""
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
