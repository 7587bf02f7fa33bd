"""Comprehensions: read as the loops that they abbreviate."""

from __future__ import annotations

import ast
import itertools
import types

from srcad.frontend.domain.values import (
    UNBOUND,
    AbstractValue,
    Constant,
    DictValue,
    GeneratorValue,
    ListValue,
    MethodValue,
    Unbound,
)
from srcad.frontend.functions import lazy_iterables
from srcad.frontend.functions.inlining import callee_of_value
from srcad.frontend.machine.constants import known
from srcad.frontend.machine.deferred import Deferred
from srcad.frontend.machine.dispatch import evaluate, evaluates, execute
from srcad.frontend.machine.machine import Machine
from srcad.frontend.machine.order import calls_something
from srcad.frontend.operations.expressions import function_box, refuse_set
from srcad.frontend.operations.lists import FILLED
from srcad.rules import registry


@evaluates(ast.ListComp)
def comprehension(state: Machine, node: ast.ListComp | ast.GeneratorExp) -> AbstractValue:
    """``[element for target in iterable if test]``; a generator that is consumed reads the same."""
    result = f"{FILLED} {id(node)}"
    call = ast.Call(
        ast.Attribute(ast.Name(result, ast.Load()), "append", ast.Load()), [node.elt], []
    )
    return _run(state, node, [ast.Expr(call)], result, ListValue(()))


@evaluates(ast.DictComp)
def dict_comprehension(state: Machine, node: ast.DictComp) -> AbstractValue:
    """``{key: value for ...}`` over things that are known one by one."""
    result = f"{FILLED} {id(node)}"
    key: ast.expr = node.key
    body: list[ast.stmt] = []
    if _may_disagree(node):
        body = [ast.Assign([ast.Name(f"{result} key", ast.Store())], key)]
        key = ast.Name(f"{result} key", ast.Load())
    target = ast.Subscript(ast.Name(result, ast.Load()), key, ast.Store())
    body.append(ast.Assign([target], node.value))
    return _run(state, node, body, result, DictValue((), ()), f"{result} key")


def _may_disagree(node: ast.DictComp) -> bool:
    """Return True if evaluating the value before the key, as an assignment does, may differ."""
    if isinstance(node.key, ast.Name | ast.Constant):
        return False
    return calls_something(node.key) or calls_something(node.value)


@evaluates(ast.SetComp)
def set_comprehension(state: Machine, node: ast.SetComp) -> AbstractValue:
    """``{element for ...}`` of things that are known at compile time."""
    items = comprehension(state, ast.copy_location(ast.ListComp(node.elt, node.generators), node))
    if isinstance(items, ListValue) and all(isinstance(i, Constant) for i in items.items):
        return Constant(frozenset(known(state, i, "a set item") for i in items.items))
    return refuse_set(state, node)


def _run(
    state: Machine,
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
    frame = state.frame
    targets = {n.id for g in generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    hidden = {name: frame.env.get(name, UNBOUND) for name in targets}
    local, outer_names = frame.local, frame.hidden
    frame.local = local | targets | {result, *temporaries}
    frame.hidden = frozenset({*outer_names, *targets})
    frame.env[result] = empty
    outside, state.in_comprehension = state.in_comprehension, True
    try:
        execute(state, loop)
        return frame.env.pop(result)
    finally:
        state.in_comprehension = outside
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


# Generator expressions: the functions that they are, and where they stand in calls.

_FIRST = ".0"  # as Python names it


@evaluates(ast.GeneratorExp)
def generator_expression(state: Machine, node: ast.GeneratorExp) -> GeneratorValue:
    """``(element for target in iterable if test)`` as the function that it is, not yet run.

    Its argument is the first iterable: what is written into that before it is asked for is seen.
    """
    body: ast.stmt = ast.Expr(ast.Yield(node.elt))
    first = evaluate(state, node.generators[0].iter)
    for generator in reversed(node.generators):
        for test in reversed(generator.ifs):
            body = ast.If(test, [body], [])
        outermost = generator is node.generators[0]
        source = ast.Name(_FIRST, ast.Load()) if outermost else generator.iter
        body = ast.For(generator.target, source, [body], [])
    arguments = ast.arguments([], [ast.arg(_FIRST)], None, [], [], None, [])
    function = ast.FunctionDef("generator", arguments, [body], [])
    for part in ast.walk(function):
        if isinstance(part, ast.expr | ast.stmt) and not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    return lazy_iterables.generator_of_call(
        state, callee_of_value(state, function_box(state, function)), (first,), {}
    )


def consumed(state: Machine, node: ast.GeneratorExp) -> AbstractValue:
    """Evaluate a generator expression that is used up at once: a list, unless its source waits."""
    first = evaluate(state, node.generators[0].iter)
    source = ast.copy_location(Deferred(lambda _: first), node.generators[0].iter)
    head = node.generators[0]
    head = ast.comprehension(head.target, source, head.ifs, head.is_async)
    again = ast.copy_location(ast.GeneratorExp(node.elt, [head, *node.generators[1:]]), node)
    return (
        generator_expression(state, again)
        if lazy_iterables.is_lazy(first)
        else comprehension(state, again)
    )


def parts_in_order(node: ast.Call) -> list[ast.expr]:
    """Return the callee and the arguments.

    What a generator expression becomes depends on the callee.

    The arguments that follow it are read before its values are asked for.
    """
    seen: list[AbstractValue] = []
    given = [*node.args, *(k.value for k in node.keywords)]

    def callee(state: Machine) -> AbstractValue:
        seen.append(evaluate(state, node.func))
        return seen[-1]

    def values(place: int, inner: ast.GeneratorExp) -> ast.expr:
        waits = any(map(calls_something, given[place + 1 :]))

        def read(state: Machine) -> AbstractValue:
            return (
                evaluate(state, inner) if waits or _may_wait(seen[-1]) else consumed(state, inner)
            )

        return ast.copy_location(Deferred(read), inner)

    lazy = {k: part for k, part in enumerate(node.args) if isinstance(part, ast.GeneratorExp)}
    if not lazy:
        return [node.func, *given]
    parts = [values(k, lazy[k]) if k in lazy else part for k, part in enumerate(given)]
    return [ast.copy_location(Deferred(callee), node.func), *parts]


def _may_wait(callee: AbstractValue) -> bool:
    """Return True if a callee may not ask for all values of an argument at once."""
    if isinstance(callee, MethodValue):
        return callee.name in ("extend", "update")
    if not isinstance(callee, Constant):
        return True
    function = callee.value
    if getattr(function, "__module__", None) == itertools.__name__:
        return True
    is_users = isinstance(function, types.FunctionType) and not registry.lookup(function)
    return is_users or registry.row_of(function).iterates in ("some", "as needed")
