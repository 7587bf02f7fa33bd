"""Comprehensions: read as the loops that they abbreviate."""

from __future__ import annotations

import ast

from srcad.frontend.domain.values import (
    UNBOUND,
    AbstractValue,
    Constant,
    DictValue,
    ListValue,
    Unbound,
)
from srcad.frontend.machine.constants import known
from srcad.frontend.machine.dispatch import evaluates, execute
from srcad.frontend.machine.machine import Machine
from srcad.frontend.machine.order import calls_something
from srcad.frontend.operations.expressions import refuse_set

RESULT = "%items"


@evaluates(ast.ListComp)
def comprehension(s: Machine, node: ast.ListComp | ast.GeneratorExp) -> AbstractValue:
    """``[element for target in iterable if test]``; a generator that is consumed reads the same."""
    result = f"{RESULT} {id(node)}"
    call = ast.Call(
        ast.Attribute(ast.Name(result, ast.Load()), "append", ast.Load()), [node.elt], []
    )
    return _run(s, node, [ast.Expr(call)], result, ListValue(()))


@evaluates(ast.DictComp)
def dict_comprehension(s: Machine, node: ast.DictComp) -> AbstractValue:
    """``{key: value for ...}`` over things that are known one by one."""
    result = f"{RESULT} {id(node)}"
    key: ast.expr = node.key
    body: list[ast.stmt] = []
    if _may_disagree(node):
        body = [ast.Assign([ast.Name(f"{result} key", ast.Store())], key)]
        key = ast.Name(f"{result} key", ast.Load())
    target = ast.Subscript(ast.Name(result, ast.Load()), key, ast.Store())
    body.append(ast.Assign([target], node.value))
    return _run(s, node, body, result, DictValue((), ()), f"{result} key")


def _may_disagree(node: ast.DictComp) -> bool:
    """Return True if evaluating the value before the key, as an assignment does, may differ."""
    if isinstance(node.key, ast.Name | ast.Constant):
        return False
    return calls_something(node.key) or calls_something(node.value)


@evaluates(ast.SetComp)
def set_comprehension(s: Machine, node: ast.SetComp) -> AbstractValue:
    """``{element for ...}`` of things that are known at compile time."""
    items = comprehension(s, ast.copy_location(ast.ListComp(node.elt, node.generators), node))
    if isinstance(items, ListValue) and all(isinstance(i, Constant) for i in items.items):
        return Constant(frozenset(known(s, i, "a set item") for i in items.items))
    return refuse_set(s, node)


def _run(
    s: Machine,
    node: ast.expr,
    body: list[ast.stmt],
    result: str,
    empty: AbstractValue,
    *temporaries: str,
) -> AbstractValue:
    """Execute the loops of a comprehension; return the final value of the name `result`."""
    generators: list[ast.comprehension] = node.generators  # type: ignore[attr-defined]
    for generator in reversed(generators):
        for test in reversed(generator.ifs):
            body = [ast.If(test, body, [])]
        body = [ast.For(generator.target, generator.iter, body, [])]
    (loop,) = body
    _locate(loop, node)
    frame = s.frame
    targets = {n.id for g in generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    hidden = {name: frame.env.get(name, UNBOUND) for name in targets}
    local, outer_names = frame.local, frame.hidden
    frame.local = local | targets | {result, *temporaries}
    frame.hidden = frozenset({*outer_names, *targets})
    frame.env[result] = empty
    outside, s.in_comprehension = s.in_comprehension, True
    try:
        execute(s, loop)
        return frame.env.pop(result)
    finally:
        s.in_comprehension = outside
        frame.local, frame.hidden = local, outer_names
        for name in (result, *temporaries):
            frame.env.pop(name, None)
        for name, box in hidden.items():
            if isinstance(box, Unbound):
                frame.env.pop(name, None)
            else:
                frame.env[name] = box


def _locate(node: ast.AST, like: ast.expr) -> None:
    """Give the statements made here the comprehension's place; the user's nodes keep theirs."""
    for part in ast.walk(node):
        if isinstance(part, ast.expr | ast.stmt) and not hasattr(part, "lineno"):
            ast.copy_location(part, like)
