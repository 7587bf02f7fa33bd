"""IR parser: read a function from text as `srcad.ir.text` prints it, for doctests and tests.

>>> from srcad.ir.text import text
>>> function = parse('''
... f(x: float, a: float64[3], n: int):
...     for k in range(0, n, 1) [y = x] -> tag, count, y_1:
...         t = getitem(a, k)
...         y_2 = mul(y, t)
...         yield 0, y_2
...     # reverse half
...     y_bar = mul(y_1, 2.0)
...     return y_bar
... ''')
>>> print(function.params[1].type, function.block.ops[-1].half)
float64[3] reverse
>>> print(text(function))
f(x, a, n):
    for k in range(0, n, 1) [y = x] -> tag, count, y_1:
        t = getitem(a, k)
        y_2 = mul(y, t)
        yield 0, y_2
    y_bar = mul(y_1, 2.0)
    return y_bar

Parameters have types (``float``, ``float64``, ``float64[3, n]``, ``list[float]``), and the other
types are inferred.  A comment in a line of its own begins with the half of the ops that follow:
``# primal`` or ``# reverse``.  Callees are functions of `srcad.ir.primitives`, `operator`, `np` and
`builtins`, looked up in this order, or have a dotted name (``math.log``).  ``undef`` and
``checkpoint`` are the constants `UNDEF` and `CHECKPOINT`.  ``try`` and calls in place are not read.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
import re
from typing import Any, cast

import numpy as np

from srcad import runtime
from srcad.ir import primitives
from srcad.ir.argument_types import argument_type
from srcad.ir.core import CHECKPOINT, UNDEF, Arg, Atom, Block, Const, Display, Function, Half, Value
from srcad.ir.inference.builder import Builder, atom_type, result_type
from srcad.types.numeric import BOOL, COMPLEX, FLOAT, INT, Numeric, array_type
from srcad.types.sizes import Extent, constant_extent, fresh_extent
from srcad.types.structures import ListOf, Type

_CALL = re.compile(r"(\w+) = ([\w.]+)\((.*)\)")
_IF = re.compile(r"if (\w+) -> (.*):")
_FOR = re.compile(
    r"for (backward )?(?:first (\w+) )?(.*?) in (.*) \[(.*?) = (.*)\] -> (.*):"
)  # fmt: skip
_WHILE = re.compile(r"while \[(.*)\] -> (.*):")
_PARAMETERS = re.compile(r"(?:test|body)\((.*)\):")
_END = re.compile(r"(?:return|yield)\b(.*)")
_SLICE = re.compile(r"(?<=[(, ])(\w*):(\w*)(?::(\w*))?(?=[,)])")

_CONSTANTS = {"undef": UNDEF, "checkpoint": CHECKPOINT}
_PYTHON = {"float": FLOAT, "int": INT, "bool": BOOL, "complex": COMPLEX}
_MODULES = (primitives, operator, np, builtins, runtime)


def parse(source: str, **callees: Any) -> Function:
    """Build the function that a text describes.

    Parameters
    ----------
    source : str
        A head with the types of the parameters, and an indented block that ends with ``return``.
    **callees : callable
        Callees that are in none of the modules, by name.

    Raises
    ------
    ValueError
        A line is no operation, or a type or callee is unknown.
    """
    rows = [(len(row) - len(row.lstrip()), row.strip()) for row in source.splitlines()]
    return _Parser([row for row in rows if row[1]], callees).function()


class _Parser:
    """A recursive-descent parser over the lines that are left, each with its indentation."""

    def __init__(self, rows: list[tuple[int, str]], callees: dict[str, Any]) -> None:
        self.rows = rows
        self.callees = callees
        self.values: dict[str, Value] = {}
        self.extents: dict[str, Extent] = {}
        self.half: Half = "primal"

    def function(self) -> Function:
        indent, head = self.rows.pop(0)
        (tree,) = ast.parse(f"def {head} pass").body
        assert isinstance(tree, ast.FunctionDef)
        params = tuple(
            self.define(arg.arg, self.type(cast("ast.expr", arg.annotation)))
            for arg in tree.args.args
        )
        return Function(tree.name, params, self.block(indent))

    def define(self, name: str, type_: Type) -> Value:
        self.values[name] = Value(type_, name)
        return self.values[name]

    # ------------------------------------------------------------------------- types
    def type(self, node: ast.expr) -> Type:
        match node:
            case ast.Name(name) if name in _PYTHON:
                return _PYTHON[name]
            case ast.Name(name) if name in np.sctypeDict:
                return Numeric(np.dtype(name), (), "numpy")
            case ast.Subscript(ast.Name("list"), item):
                return ListOf(self.type(item))
            case ast.Subscript(ast.Name(name), lengths):
                axes = lengths.elts if isinstance(lengths, ast.Tuple) else [lengths]
                return array_type(name, tuple(map(self.extent, axes)))
        raise ValueError(f"no type: {ast.unparse(node)!r}")

    def extent(self, node: ast.expr) -> Extent:
        if isinstance(node, ast.Name):
            return self.extents.setdefault(node.id, fresh_extent(node.id))
        return constant_extent(ast.literal_eval(node))

    # ------------------------------------------------------------------------- blocks
    def block(self, indent: int, params: tuple[Value, ...] = ()) -> Block:
        """Read the lines that are indented further."""
        builder = Builder()
        while self.rows and self.rows[0][0] > indent:
            depth, row = self.rows.pop(0)
            end = _END.fullmatch(row)
            if end is not None:
                return builder.finish(*self.atoms(end[1]), params=params)
            if row.startswith("#"):
                self.half = cast("Half", row.split()[1])
            else:
                builder.half = self.half
                self.op(builder, row, depth)
        return builder.finish(params=params)

    def op(self, builder: Builder, row: str, depth: int) -> None:
        if found := _CALL.fullmatch(row):
            args, kwargs = self.arguments(found[3])
            target = self.callee(found[2])
            self.values[found[1]] = builder.call(target, *args, kwargs=kwargs, hint=found[1])
        elif found := _IF.fullmatch(row):
            (test,) = self.atoms(found[1])
            then = self.block(depth)
            self.rows.pop(0)  # else:
            self.name(builder.if_(test, then, self.block(depth)), found[2])
        elif found := _FOR.fullmatch(row):
            self.loop(builder, found, depth)
        elif found := _WHILE.fullmatch(row):
            inits = self.atoms(found[1])
            test_block, body = self.part(depth, inits), self.part(depth, inits)
            self.name(builder.while_(inits, test_block, body), found[2])
        else:
            raise ValueError(f"no operation: {row!r}")

    def loop(self, builder: Builder, found: re.Match[str], depth: int) -> None:
        seqs, inits = self.arguments(found[4])[0], self.atoms(found[6])
        count = self.atoms(found[2])[0] if found[2] else None
        types = [*map(_item_type, seqs), *map(atom_type, inits)]
        names = [*_names(found[3]), *_names(found[5])]
        params = tuple(map(self.define, names, types))
        body = self.block(depth, params)
        outputs = builder.for_(tuple(seqs), inits, body, backward=bool(found[1]), count=count)
        self.name(outputs, found[7])

    def part(self, depth: int, inits: tuple[Atom, ...]) -> Block:
        """Read the test or the body of a ``while``."""
        found = _PARAMETERS.fullmatch(self.rows.pop(0)[1])
        assert found is not None
        params = tuple(map(self.define, _names(found[1]), map(atom_type, inits)))
        return self.block(depth + 2, params)

    def name(self, outputs: tuple[Value, ...], names: str) -> None:
        for value, name in zip(outputs, _names(names), strict=True):
            value.hint = name
            self.values[name] = value

    # ------------------------------------------------------------------------- arguments
    def callee(self, name: str) -> Any:
        first, _, rest = name.partition(".")
        if rest:
            return operator.attrgetter(rest)({"np": np, "math": math}[first])
        if name in self.callees:
            return self.callees[name]
        for module in _MODULES:
            if hasattr(module, name):
                return getattr(module, name)
        raise ValueError(f"no callee: {name!r}")

    def arguments(self, text: str) -> tuple[list[Arg], list[tuple[str, Arg]]]:
        node = ast.parse(_SLICE.sub(_slice_call, f"_({text})"), mode="eval").body
        assert isinstance(node, ast.Call)
        kwargs = [(str(one.arg), self.arg(one.value)) for one in node.keywords]
        return [*map(self.arg, node.args)], kwargs

    def atoms(self, text: str) -> tuple[Atom, ...]:
        return cast("tuple[Atom, ...]", tuple(self.arguments(text)[0]))

    def arg(self, node: ast.expr) -> Arg:
        match node:
            case ast.Tuple(items):
                return Display("tuple", tuple(map(self.arg, items)))
            case ast.List(items):
                return Display("list", tuple(map(self.arg, items)))
            case ast.Call(ast.Name("slice" | "range" as kind), items):
                return Display(kind, tuple(map(self.arg, items)))
            case ast.Name(name) if name in self.values:
                return self.values[name]
            case ast.Name(name):
                return _CONSTANTS.get(name) or Const(self.callee(name))
        return Const(ast.literal_eval(node))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _slice_call(found: re.Match[str]) -> str:
    start, stop, step = (part or "None" for part in found.groups())
    return f"slice({start}, {stop}, {step})"


def _item_type(seq: Arg) -> Type:
    if isinstance(seq, Display) and seq.kind == "range":
        return INT
    type_ = argument_type(seq)
    return (
        type_.item
        if isinstance(type_, ListOf)
        else result_type(operator.getitem, (seq, Const(0)), ())
    )
