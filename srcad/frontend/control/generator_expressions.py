"""Generator expressions: the functions that they are, and where they stand in calls."""

from __future__ import annotations

import ast
import functools
import itertools
import types
from typing import Any

from srcad.frontend.control import comprehensions
from srcad.frontend.domain.predicates import is_hashable
from srcad.frontend.domain.values import AbstractValue, Constant, GeneratorValue, MethodValue
from srcad.frontend.functions import lazy_iterables
from srcad.frontend.functions.inlining import callee_of_value
from srcad.frontend.machine.deferred import Deferred
from srcad.frontend.machine.dispatch import evaluate, evaluates
from srcad.frontend.machine.machine import Machine
from srcad.frontend.machine.order import calls_something
from srcad.frontend.operations.expressions import function_box
from srcad.rules import registry

_FIRST = ".0"  # as Python names it
# What may stop before it has asked for every value, or does something else between two of them.
LAZY: set[Any] = {any, all, next, iter, zip, enumerate, map, filter, functools.reduce}


@evaluates(ast.GeneratorExp)
def generator_expression(s: Machine, node: ast.GeneratorExp) -> GeneratorValue:
    """``(element for target in iterable if test)`` as the function that it is, not yet run.

    Its argument is the first iterable: what is written into that before it is asked for is seen.
    """
    body: ast.stmt = ast.Expr(ast.Yield(node.elt))
    first = evaluate(s, node.generators[0].iter)
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
        s, callee_of_value(s, function_box(s, function)), (first,), {}
    )


def consumed(s: Machine, node: ast.GeneratorExp) -> AbstractValue:
    """Evaluate a generator expression that is used up at once: a list, unless its source waits."""
    first = evaluate(s, node.generators[0].iter)
    source = ast.copy_location(Deferred(lambda _: first), node.generators[0].iter)
    head = node.generators[0]
    head = ast.comprehension(head.target, source, head.ifs, head.is_async)
    again = ast.copy_location(ast.GeneratorExp(node.elt, [head, *node.generators[1:]]), node)
    return (
        generator_expression(s, again)
        if lazy_iterables.is_lazy(first)
        else comprehensions.comprehension(s, again)
    )


def parts_in_order(node: ast.Call) -> list[ast.expr]:
    """Return the callee and the arguments.

    What a generator expression becomes depends on the callee.

    The arguments that follow it are read before its values are asked for.
    """
    seen: list[AbstractValue] = []
    given = [*node.args, *(k.value for k in node.keywords)]

    def callee(s: Machine) -> AbstractValue:
        seen.append(evaluate(s, node.func))
        return seen[-1]

    def values(place: int, inner: ast.GeneratorExp) -> ast.expr:
        waits = any(map(calls_something, given[place + 1 :]))

        def read(s: Machine) -> AbstractValue:
            return evaluate(s, inner) if waits or _may_wait(seen[-1]) else consumed(s, inner)

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
    return is_users or (is_hashable(function) and function in LAZY)
