"""The branch trace of a run: every decision that can make a program not differentiable.

The module's text is instrumented: each comparison, each test and each function with a kink
records which side it took.  Two runs with the same trace lie on one smooth piece.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import Any

import numpy as np

Trace = list[Any]

_KINKED = {"np.maximum", "np.minimum", "np.abs", "abs", "np.max", "np.min", "np.clip"}
_METHODS = {"max", "min"}


class Instrument(ast.NodeTransformer):
    """Wraps whatever decides in a recorder."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        return _call("record_", self.generic_visit(node))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        node.values = [_call("decide_", v) for v in node.values]
        return node

    def _test(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        node.test = _call("decide_", node.test)
        return node

    visit_If = visit_While = visit_IfExp = visit_Assert = _test

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        text = ast.unparse(node.func)
        if text in _KINKED:
            return ast.Call(
                _name("kink_"), [ast.Constant(text), node.func, *node.args], node.keywords
            )
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            target = ast.parse(f"np.{node.func.attr}", mode="eval").body
            name = ast.Constant(f"np.{node.func.attr}")
            return ast.Call(
                _name("kink_"), [name, target, node.func.value, *node.args], node.keywords
            )
        return node


def _name(text: str) -> ast.Name:
    return ast.Name(text, ast.Load())


def _call(function: str, argument: Any) -> ast.Call:
    return ast.Call(_name(function), [argument], [])


def instrumented(
    text: str, name: str, *, changed: bool = False
) -> tuple[Callable[..., Any], Trace]:
    """The function ``f`` of a module's text, recording; and the list that it records into.

    If `changed`, what lies outside of it has changed as the module's ``change`` says.
    """
    trace: Trace = []

    def record_(value: Any) -> Any:
        trace.append(np.asarray(value).tobytes())
        return value

    def decide_(value: Any) -> Any:
        trace.append(bool(value))
        return value

    def kink_(what: str, function: Any, *args: Any, **keywords: Any) -> Any:
        x = np.asarray(args[0])  # looked at first: `out` may be an argument
        if what in ("np.maximum", "np.minimum"):
            trace.append(np.sign(x - np.asarray(args[1])).tobytes())
        elif what in ("np.abs", "abs"):
            trace.append(np.sign(x).tobytes())
        elif what == "np.clip":
            trace.append((x < args[1]).tobytes() + (x > args[2]).tobytes())
        else:
            kept = function(*args, **{**keywords, "keepdims": True})
            trace.append((x == kept).tobytes())
        return function(*args, **keywords)

    tree = ast.fix_missing_locations(Instrument().visit(ast.parse(text)))
    module = types.ModuleType(name)
    module.__dict__.update(record_=record_, decide_=decide_, kink_=kink_)
    exec(compile(tree, f"<instrumented {name}>", "exec"), module.__dict__)
    if changed:
        module.change()
    return module.f, trace


def traced(function: Callable[..., Any], trace: Trace, args: tuple[Any, ...]) -> tuple[Any, Trace]:
    """The value of a run and its trace."""
    trace.clear()
    value = function(*args)
    return value, list(trace)
