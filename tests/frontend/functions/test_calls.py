"""Calls of every kind: helpers, recursion, closures, partial applications, methods, objects."""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable
from functools import partial, reduce
from math import exp
from typing import Any

import numpy
import numpy as anything
import numpy as np
import numpy.linalg as la
import pytest
from numpy import sin
from numpy import tanh as squash

import srcad
from srcad import errors, grad, gradient
from srcad.frontend.functions import recursion
from tests.language import assert_program
from tests.numeric import assert_close, assert_gradient
from tests.programs import elsewhere
from tests.programs.elsewhere import long_helper, scaled

V = np.array([0.3, -0.7, 1.1])
GAIN = 1.7


def helper(a, b=0.5, *, c=2.0):
    return a * b + c * b


def positional(a, b):
    return helper(a, b) * helper(b)


def keywords(a, b):
    return helper(b=a, a=b) + helper(a, c=b)


def starred(a, b):
    pair = (a, b)
    return helper(*pair, c=a) * helper(*[b])


def defaults_of_helpers_use_globals(a):
    return scaled(a) * a


def of_another_module(x):
    return np.sum(elsewhere.softened(x, sharpness=3.0)) * elsewhere.SCALE


def variadic(*args, **kwargs):
    total = kwargs.get("base", 0.0)
    for k, a in enumerate(args):
        total = total + (k + 1) * a
    return total


def calls_variadic(a, b):
    return variadic(a, b, a * b, base=b) * variadic(a)


def several_results(a, b):
    def both(x):
        return x * a, x + b

    p, q = both(a * b)
    return p * q


def early_returns_in_helpers(a):
    def sign_like(x):
        if x > 1:
            return x * x
        if x > 0:
            return x
        return -x

    return sign_like(a) + sign_like(2 * a) + sign_like(-a)


def factorial_like(x, n):
    if n == 0:
        return 1.0
    return x * factorial_like(x, n - 1)


def recursive(x):
    return factorial_like(x, 4)


def tree_sum(x):
    if len(x) == 1:
        return x[0] * x[0]
    k = len(x) // 2
    return tree_sum(x[:k]) * math.sin(1.0) + tree_sum(x[k:]) * 2.0


def even(x, n):
    return x if n == 0 else x * odd(x, n - 1)


def odd(x, n):
    return 1.0 if n == 0 else math.sin(x) + even(x, n - 1)


def mutually_recursive(x):
    return even(x, 5)


def global_even(x, n):
    return x * GAIN if n == 0 else global_odd(x, n - 1) * 2


def global_odd(x, n):
    return x * x + GAIN if n == 0 else global_even(x, n - 1) * 3


def mutual_recursion_that_reads_a_global(x):
    # What reads its surroundings is handed them by every call, also by one in another function.
    return global_even(x, 5) + global_odd(x, 4)


def mutual_recursion_of_closures(x):
    y, z = x * 2, x * x

    def first(n):
        return 1.0 if n <= 0 else second(n - 1) * 2

    def second(n):
        return z if n <= 0 else third(n - 1) * GAIN

    def third(n):
        return x if n <= 0 else first(n - 1) + second(n - 2)

    return first(5) + third(4) + second(2) * y


def nested_recursion(x):
    def go(y, n):
        if n <= 0:
            return y * x
        return math.sin(go(y * 0.5, n - 1)) + y

    return go(x, 3)


def closure_over_locals(a, b):
    c = a * b

    def inner(t):
        return t * c + a

    return inner(b) * inner(c)


def closure_sees_rebinding(a):
    c = a

    def inner(t):
        return t * c

    c = a * a
    return inner(3.0)


def closure_in_a_loop(a):
    total = 0.0
    for k in range(3):

        def term(t):
            return t * a**k

        total = total + term(k + 1.0)
    return total


def lambdas(a, b):
    double = lambda t: 2 * t
    return (lambda u, v=b: u * v)(double(a)) + (lambda: a * b)()


def two_lambdas_on_one_line(a):
    f, g = (lambda t: t * t), (lambda t: t + 3.0)
    return f(a) * g(a)


def functions_as_arguments(a):
    def twice(f, x):
        return f(f(x))

    return twice(lambda t: t * t + a, a) + twice(math.sin, a)


def returned_function(a):
    def adder(k):
        def add(t):
            return t + k

        return add

    return adder(a)(a * a) * adder(2.0)(a)


def list_of_functions(a):
    y = a
    for f in [math.sin, lambda t: t * t, elsewhere.scaled]:
        y = f(y) + a
    return y


def partial_application(a, b):
    f = functools.partial(helper, b=b)
    g = partial(helper, a, c=3.0)
    return f(a) * g(b) + f(b, c=a)


def with_reduce(a, b):
    return reduce(lambda s, t: s * t + a, [a, b, a * b], 1.0)


def with_map_and_sorted(a, b):
    return sum(map(lambda t: t * t, (a, b))) * max(a, b) + min(a, b, a * b)


def module_names(x):
    y = anything.cos(x) + numpy.sin(x) * sin(x)
    return anything.sum(squash(y)) * exp(y[0]) * la.norm(y)


def of_math(a):
    return (
        math.sqrt(a) * math.log(a + 2)
        + math.atan2(a, 2.0)
        + math.pow(a, 3)
        + math.hypot(a, 1.0)
        + math.pi * a
    )


def of_operator(a, b):
    return operator.mul(a, b) + operator.add(a, operator.neg(b)) + operator.pow(a, 2)


def uses_a_global(a):
    return a * GAIN


def long_body(x):
    return long_helper(x, x * 2.0) + long_helper(x + 1.0, x)


@functools.lru_cache
def cached(n):
    return 0.5 * n


def with_a_cached_constant(a):
    return a * cached(3)


def decorated_helper(a):
    def wrapper(*args):
        return helper(*args) * 2.0

    return wrapper(a) * a


class Layer:
    """An object whose arrays are read as constants."""

    def __init__(self, W, b):
        self.W, self.b = W, b
        self.activation = np.tanh

    def forward(self, x):
        return self.activation(self.W @ x + self.b)

    def __call__(self, x):
        return self.forward(x) * self.scale

    @property
    def scale(self):
        return 0.5

    @staticmethod
    def doubled(x):
        return 2 * x

    @classmethod
    def named(cls, x):
        return cls.doubled(x) + 1.0


LAYER = Layer(np.eye(3) * 0.4, np.array([0.1, 0.2, 0.3]))


def methods_and_callables(x):
    return np.sum(LAYER(x) * LAYER.forward(x)) + np.sum(Layer.doubled(x)) * np.sum(LAYER.named(x))


ONE: list[Callable[..., Any]] = [
    defaults_of_helpers_use_globals,
    early_returns_in_helpers,
    recursive,
    mutually_recursive,
    mutual_recursion_that_reads_a_global,
    mutual_recursion_of_closures,
    nested_recursion,
    closure_sees_rebinding,
    closure_in_a_loop,
    two_lambdas_on_one_line,
    functions_as_arguments,
    returned_function,
    list_of_functions,
    of_math,
    uses_a_global,
    with_a_cached_constant,
    decorated_helper,
]
TWO = [
    positional,
    keywords,
    starred,
    calls_variadic,
    several_results,
    closure_over_locals,
    lambdas,
    partial_application,
    with_reduce,
    with_map_and_sorted,
    of_operator,
]
VECTOR = [of_another_module, tree_sum, module_names, long_body, methods_and_callables]


@pytest.mark.parametrize("f", ONE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("a", [0.6, 1.4])
def test_of_one_number(f: Callable[..., Any], a: float) -> None:
    assert_gradient(gradient, f, a)


@pytest.mark.parametrize("f", TWO, ids=lambda f: f.__name__)
def test_of_two_numbers(f: Callable[..., Any]) -> None:
    assert_gradient(gradient, f, 0.7, 1.3)


@pytest.mark.parametrize("f", VECTOR, ids=lambda f: f.__name__)
def test_of_a_vector(f: Callable[..., Any]) -> None:
    assert_gradient(gradient, f, V)


def test_a_variadic_function_itself() -> None:
    assert_gradient(gradient, variadic, 0.3, 0.7, 1.1)
    assert grad(variadic, wrt="kwargs")(0.3, base=2.0) == {"base": 1.0}
    assert grad(variadic, wrt="args")(0.3, 0.4) == (1.0, 2.0)


def test_a_bound_method() -> None:
    assert_gradient(gradient, lambda x: np.sum(LAYER.forward(x)), V)
    x_bar = grad(lambda x: np.sum(LAYER.forward(x)))(V)

    class Model:
        def loss(self, x):
            return np.sum(LAYER.forward(x))

    np.testing.assert_allclose(grad(Model().loss)(V), x_bar)


def test_a_partial_application_itself() -> None:
    assert grad(functools.partial(helper, 2.0))(3.0) == 4.0


def test_a_callable_object_itself() -> None:
    class Square:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, x):
            return self.factor * x * x

    assert grad(Square(3.0))(2.0) == 12.0
    assert grad(Square(5.0))(2.0) == 20.0


def test_grad_inside_a_differentiated_function() -> None:
    def inner(x, y):
        return x**3 * y

    def outer(y):
        return grad(inner)(2.0, y) * y

    assert grad(outer)(3.0) == pytest.approx(72.0)


def test_no_perturbation_confusion() -> None:
    def f(x):
        return x * grad(lambda y: x + y)(1.0)

    assert grad(f)(2.0) == 1.0


def test_grad_of_a_closure_over_the_outer_variable() -> None:
    def f(x):
        return grad(lambda y: x * x * y * y)(3.0)

    assert grad(f)(2.0) == pytest.approx(24.0)


def test_value_and_grad_inside() -> None:
    def f(x):
        value, slope = srcad.value_and_grad(lambda t: t**3)(x)
        return value * slope

    assert grad(f)(2.0) == pytest.approx(15 * 2.0**4)


def test_stop_gradient_of_structures() -> None:
    def f(x):
        p, q = srcad.stop_gradient((x, x * x))
        return p * x + q * x

    assert grad(f)(2.0) == 6.0


def test_second_order_through_calls() -> None:
    for f in (recursive, nested_recursion, closure_in_a_loop, early_returns_in_helpers):
        assert_gradient(gradient, lambda a, f=f: grad(f)(a), 0.6)


def test_second_order_of_several_arguments() -> None:
    def f(a, b):
        return math.sin(a * b) * a

    assert_gradient(gradient, lambda a, b: grad(f)(a, b), 0.6, 1.2)
    assert_gradient(gradient, lambda a, b: grad(f, wrt=1)(a, b), 0.6, 1.2)
    assert_gradient(gradient, lambda a, b: grad(f, wrt=(0, 1))(a, b)[1] * a, 0.6, 1.2)


SCALE = 0.7


def scaled_recursion(x, depth):
    return x if depth == 0 else np.sin(SCALE * scaled_recursion(x, depth - 1))


def called_once(x):
    return scaled_recursion(x * 1.0, 2)


def test_recursive_function_using_global_interpreted_once(monkeypatch):
    """A global is the same at every call: what was read for the first call serves the others."""
    counted, read = [], recursion._result_without_recursion
    monkeypatch.setattr(
        recursion, "_result_without_recursion", lambda *args: counted.append(1) or read(*args)
    )

    x = np.float64(0.4)
    grad(called_once)(x)
    readings = len(counted)
    counted.clear()
    gradient = grad(called_three_times)(x)

    assert len(counted) == readings
    slope = (called_three_times(x + 1e-6) - called_three_times(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(gradient, slope, rtol=1e-8)


def called_three_times(x):
    y = scaled_recursion(x * 1.0, 2)
    return y * scaled_recursion(y, 3) + scaled_recursion(np.cos(x), 1)


def late_binding(x):
    scale = 10.0
    functions = [lambda v: v * scale for scale in (1.0, 2.0, 3.0)]
    return functions[0](x) + scale


def test_closure_over_comprehension_variable_after_scope_rejected():
    """The function read a name of the same spelling around the comprehension instead."""
    with pytest.raises(errors.UnsupportedSyntaxError, match="'scale', which a comprehension"):
        grad(late_binding)(0.4)


def test_lambdas_created_in_comprehension():
    def f(x):
        inside = [(lambda v: v * scale)(x) for scale in (1.0, 2.0, 3.0)]
        own = [lambda v, scale=scale: v * scale for scale in (1.0, 2.0, 3.0)]
        return sum(inside) + own[1](x) ** 2

    np.testing.assert_allclose(grad(f)(0.4), 6.0 + 8.0 * 0.4)


# ------------------------------------------------------------------------ trees of known parts
def norm(tree):
    if isinstance(tree, dict):
        return sum(norm(v) for v in tree.values())
    if isinstance(tree, list | tuple):
        return sum(norm(v) for v in tree)
    return np.sum(tree**2)


def tree_map(f, tree):
    if isinstance(tree, dict):
        return {k: tree_map(f, v) for k, v in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(tree_map(f, v) for v in tree)
    return f(tree)


def leaves(tree):
    if isinstance(tree, dict):
        for key in sorted(tree):
            yield from leaves(tree[key])
    elif isinstance(tree, list | tuple):
        for part in tree:
            yield from leaves(part)
    else:
        yield tree


class Node:
    def __init__(self, value, *children):
        self.value = value
        self.children = children

    def __iter__(self):
        yield self.value
        for child in self.children:
            yield from child


def of_a_tree(x):
    tree = {"a": x, "b": [x[0], (x * 2.0, {"c": x[1]})]}
    return norm(tree) + norm(tree_map(lambda v: v * v, tree))


def of_leaves(x):
    return sum(np.sum(v**2) for v in leaves({"b": [x, x[0]], "a": (x[1],)}))


def of_nodes(x):
    tree = Node(x[0], Node(x[1], Node(x[2])), Node(x[0] * x[1]))
    return sum(value**2 for value in tree)


@pytest.mark.parametrize("f", [of_a_tree, of_leaves, of_nodes])
def test_recursion_over_nested_structure(f) -> None:
    # Every call has another kind of argument, so that it was refused as a function of its own.
    assert_program(f, np.array([0.3, -0.5, 0.8]))


def test_structural_recursion_unrolled_in_generated_code() -> None:
    x = np.array([0.3, -0.5, 0.8])
    g = grad(norm)

    assert_close(g({"a": x, "b": [x, (x * 2.0,)]}), {"a": 2 * x, "b": [2 * x, (4 * x,)]})
    assert "norm(" not in g.source.replace("grad_norm(", "")


def test_names_of_generated_code_are_the_same_in_every_process() -> None:
    # What `yield from` hands on was called by a number of this process.
    g = grad(of_nodes)
    g(np.array([0.3, -0.5, 0.8]))

    assert not re.search(r"\d{6}", g.source)


def test_diverging_double_recursion_rejected_early() -> None:
    # Reading each of them here would take two to the power of the depth.
    def walk(items, n, x):
        if n <= 0:
            return (x, len(items))
        return walk(items, n - 1, (x, x)), walk(items, n - 1, x)

    with pytest.raises(errors.SrcadError):
        grad(lambda x: walk([1.0, 2.0], int(x), x)[0])(20.0)


def test_endlessly_recursive_generator_rejected() -> None:
    def walk(n, x):
        if n > 0:
            yield n * x
            yield from walk(n - 1, x)

    with pytest.raises(errors.UnsupportedSyntaxError, match="inside itself"):
        grad(lambda x: sum(walk(int(x), x)))(3.0)
