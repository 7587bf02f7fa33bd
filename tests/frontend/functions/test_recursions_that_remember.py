"""Recursive functions that write into their surroundings: memos, totals, lists of results."""

import numpy as np
import pytest

import srcad
from srcad.errors import MutationError
from tests.language import assert_program, named
from tests.numeric import assert_close, assert_gradient, difference

X = np.array([0.7, 1.2, -0.4])


def dict_of_the_enclosing_function(x):
    memo = {}

    def fib(k):
        if k not in memo:
            memo[k] = x if k < 2 else 0.5 * fib(k - 1) + x * fib(k - 2)
        return memo[k]

    return fib(7)


def dict_handed_down(x):
    def fib(k, memo=None):
        memo = {} if memo is None else memo
        if k in memo:
            return memo[k]
        memo[k] = x if k < 2 else 0.5 * fib(k - 1, memo) + x * fib(k - 2, memo)
        return memo[k]

    return fib(7)


def total_of_the_enclosing_function(x):
    total = 0.0

    def visit(n):
        nonlocal total
        if n > 0:
            total += x**n
            visit(n - 1)

    visit(3)
    return total


def table_of_nan(x):
    table = np.full(5, np.nan)

    def value(k):
        if np.isnan(table[k]):
            table[k] = x if k < 2 else 0.5 * value(k - 1) + x * value(k - 2)
        return table[k]

    return value(4)


def list_of_none(x):
    table = [None] * 8

    def value(k):
        if table[k] is None:
            table[k] = x if k < 2 else 0.5 * value(k - 1) + x * value(k - 2)
        return table[k]

    return value(7)


def hanoi(n, a, b, c, x, out):
    if n == 0:
        return
    hanoi(n - 1, a, c, b, x, out)
    out.append(np.sin(x * n) * (a + 2 * b))
    hanoi(n - 1, c, b, a, x, out)


def list_of_results(x):
    out = []
    hanoi(3, 0, 1, 2, x, out)
    return np.sum(np.array(out) ** 2)


def pairs_as_keys(x):
    memo = {}

    def price(i, j):
        if (i, j) not in memo:
            if i == 3:
                memo[i, j] = max(x * 1.1**j * 0.9 ** (i - j) - 1.0, 0.0)
            else:
                memo[i, j] = 0.5 * price(i + 1, j + 1) + 0.4 * price(i + 1, j)
        return memo[i, j]

    return price(0, 0)


class Series:
    def __init__(self, x):
        self.x, self.known = x, {}

    def term(self, k):
        if k not in self.known:
            self.known[k] = self.x if k < 2 else self.term(k - 1) + self.x * self.term(k - 2)
        return self.known[k]


def attribute_of_an_object(x):
    return Series(x).term(6)


def counter_of_the_enclosing_function(x):
    steps = 0

    def root(y):
        nonlocal steps
        steps += 1
        return y if steps > 5 else root(0.5 * (y + x / y))

    return root(1.0)


def missing_key(x):
    memo = {0: 1.0, 1: x}

    def legendre(n):
        try:
            return memo[n]
        except KeyError:
            pass
        memo[n] = ((2 * n - 1) * x * legendre(n - 1) - (n - 1) * legendre(n - 2)) / n
        return memo[n]

    return legendre(5)


def two_functions(x):
    memo = {}

    def even(k):
        if k not in memo:
            memo[k] = x if k == 0 else odd(k - 1) * x
        return memo[k]

    def odd(k):
        if k not in memo:
            memo[k] = even(k - 1) + x
        return memo[k]

    return even(6)


class Node:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right


TREE = Node(1.0, Node(2.0), Node(0.3, Node(0.7)))


def walk_over_objects(x):
    total = 0.0

    def visit(node):
        nonlocal total
        if node is None:
            return
        visit(node.left)
        total += np.sin(node.value * x)
        visit(node.right)

    visit(TREE)
    return total


def one_by_one(x):
    memo = {}

    def best(i):
        if i >= len(x):
            return 0.0
        if i not in memo:
            memo[i] = x[i] ** 2 + 0.5 * best(i + 1) + 0.25 * best(i + 2)
        return memo[i]

    return best(0)


def made_in_a_recursion(x):
    def power(f, n):
        if n <= 0:
            return lambda z: z
        g = power(f, n - 1)
        return lambda z: f(g(z))

    return power(np.sin, 3)(x).sum()


def written_by_a_recursion(x):
    xs = []

    def go(n):
        if n == 0:
            return 0.0
        xs.append(x[0] * n)
        return go(n - 1)

    return go(3) + sum(xs)


def given_to_a_recursion(x):
    def go(xs, n):
        if n == 0:
            return 0.0
        xs.append(x[0] * n)
        return go(xs, n - 1)

    items = [x[1]]
    return go(items, 3) + sum(items)


@pytest.mark.parametrize(
    **named(
        [
            (dict_of_the_enclosing_function, 1.3),
            (dict_handed_down, 1.3),
            (total_of_the_enclosing_function, 0.7),
            (table_of_nan, 1.3),
            (list_of_none, 1.3),
            (list_of_results, 0.7),
            (pairs_as_keys, 1.3),
            (attribute_of_an_object, 0.9),
            (counter_of_the_enclosing_function, 0.9),
            (missing_key, 0.6),
            (two_functions, 0.8),
            (walk_over_objects, 0.8),
            (one_by_one, X),
            (made_in_a_recursion, X),
            (written_by_a_recursion, X),
            (given_to_a_recursion, X),
        ]
    )
)
def test_recursion_that_writes_into_its_surroundings_is_unrolled(program):
    assert_program(*program)


def of_any_order(x, n):
    memo = {}

    def fib(k):
        if k not in memo:
            memo[k] = x if k < 2 else 0.5 * fib(k - 1) + x * fib(k - 2)
        return memo[k]

    return fib(n)


def test_unrolled_recursion_serves_other_counts():
    derivative = srcad.grad(of_any_order)

    for n in (5, 7, 2):
        assert_close(derivative(1.3, n), difference(of_any_order, (1.3, n)))


def test_unrolled_recursion_serves_other_lengths():
    derivative = srcad.grad(one_by_one)

    for x in (X, X[:2], np.append(X, 0.9)):
        assert_close(derivative(x), difference(one_by_one, (x,)))


def test_second_derivative_of_unrolled_recursion():
    first = srcad.grad(dict_of_the_enclosing_function)

    assert_gradient(lambda f, x: (srcad.grad(f)(x),), first, 1.3)


def with_default(x, memo={}):  # noqa: B006 - a memo that outlives the call
    def fib(k):
        if k not in memo:
            memo[k] = x if k < 2 else 0.5 * fib(k - 1) + x * fib(k - 2)
        return memo[k]

    return fib(5)


KNOWN = {}


def with_a_global_memo(x):
    def fib(k):
        if k not in KNOWN:
            KNOWN[k] = x if k < 2 else 0.5 * fib(k - 1) + x * fib(k - 2)
        return KNOWN[k]

    return fib(5)


@pytest.mark.parametrize("f", [with_default, with_a_global_memo])
def test_memo_that_outlives_the_call_rejected(f):
    with pytest.raises(MutationError):
        srcad.grad(f)(1.3)


def test_recursion_too_long_to_unroll_rejected():
    with pytest.raises(MutationError, match="writes into 'memo'") as caught:
        srcad.grad(of_any_order)(1.3, 3000)

    assert "functools.cache" in str(caught.value)
