"""Functions that call themselves, over numbers, arrays, lists, dicts, trees and closures.

`PROGRAMS` has for each a function of one number that is as smooth as its third derivative asks.
"""

import math

import numpy as np

PROGRAMS = {}


def program(function):
    """Register a function."""
    PROGRAMS[function.__name__] = function
    return function


@program
def cube_at_the_bottom(x):
    def r(x, n):
        return x**3 if n == 0 else r(x, n - 1)

    return r(x, 1)


@program
def closure(x):
    k = 2.0 * x

    def r(y, n):
        return k * y**3 if n == 0 else r(y, n - 1) + k

    return r(x, 2)


@program
def product_of_levels(x):
    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    return power(x, 5)


@program
def squares(x):
    def fast(x, n):
        if n == 0:
            return 1.0
        half = fast(x, n // 2)
        return half * half * x if n % 2 else half * half

    return fast(x, 7)


@program
def fibonacci(x):
    def fib(n):
        return x if n < 2 else fib(n - 1) * fib(n - 2)

    return fib(4)


@program
def of_an_array(x):
    def r(v, n):
        if n == 0:
            return np.sum(v**3)
        return r(np.sin(v) * v, n - 1)

    return r(x * np.array([0.5, 1.0, -0.3]), 2)


@program
def halves_of_an_array(x):
    def total(v):
        if len(v) == 1:
            return v[0] ** 3
        m = len(v) // 2
        return total(v[:m]) * total(v[m:])

    return total(x * np.array([0.5, 1.0, -0.3, 0.8]))


@program
def over_a_list(x):
    def total(xs, n):
        return 0.0 if n == len(xs) else xs[n] ** 3 + x * total(xs, n + 1)

    return total([x, 2.0 * x, x * x], 0)


@program
def head_and_tail(x):
    def product(xs):
        if not xs:
            return 1.0
        head, *tail = xs
        return np.sin(head) * product(tail)

    return product([x, 2.0 * x, 0.5])


@program
def tree_of_dicts(x):
    def total(tree):
        if "value" in tree:
            return tree["value"] ** 3
        return total(tree["left"]) * total(tree["right"])

    leaf = {"value": x}
    return total({"left": leaf, "right": {"left": {"value": 2.0 * x}, "right": leaf}})


@program
def tree_of_tuples(x):
    def total(tree):
        if isinstance(tree, tuple):
            return total(tree[0]) + np.exp(total(tree[1]) * 0.1)
        return tree**3

    return total(((x, 2.0), (x * x, x)))


@program
def nested_lists(x):
    def flat(items):
        total = 0.0
        for item in items:
            total = total + (flat(item) ** 2 if isinstance(item, list) else item**3)
        return total

    return flat([x, [2.0 * x, [x]], 0.5])


@program
def mutual(x):
    def even(y, n):
        return y**2 if n == 0 else odd(np.sin(y), n - 1)

    def odd(y, n):
        return y**3 if n == 0 else even(y * y, n - 1)

    return even(x, 3)


@program
def with_a_loop(x):
    def r(y, n):
        if n == 0:
            return y
        total = 0.0
        for k in range(n):
            total += y ** (k + 2)
        return r(total, n - 1)

    return r(0.5 * x, 2)


@program
def with_a_loop_over_calls(x):
    def r(y, n):
        total = y**3
        for k in range(n):
            total = total + 0.5 * r(y * 0.5, k)
        return total

    return r(x, 3)


@program
def with_an_array_written(x):
    def filled(a, k):
        if k == len(a):
            return a
        b = a.copy()
        b[k] = b[k - 1] * x + 0.1
        return filled(b, k + 1)

    return np.sum(filled(np.array([x, 0.0, 0.0, 0.0]), 1))


@program
def several_results(x):
    def r(n):
        if n == 0:
            return x, x * x
        a, b = r(n - 1)
        return b, a * b

    a, b = r(3)
    return a + b


@program
def until_it_is_small(x):
    def r(y):
        return y**3 if y < 0.2 else r(0.5 * np.sin(y)) * y

    return r(x)


@program
def adaptive_simpson(x):
    def f(t):
        return math.exp(x * t) * x

    def integral(a, b, depth):
        m = 0.5 * (a + b)
        whole = (b - a) / 6.0 * (f(a) + 4.0 * f(m) + f(b))
        if depth == 0:
            return whole
        return integral(a, m, depth - 1) + integral(m, b, depth - 1)

    return integral(0.0, 1.0, 2)


@program
def chebyshev(x):
    def t(n):
        if n == 0:
            return 1.0
        if n == 1:
            return x
        return 2.0 * x * t(n - 1) - t(n - 2)

    return t(5)


@program
def horner(x):
    def value(coefficients):
        if len(coefficients) == 1:
            return coefficients[0]
        return coefficients[0] + x * value(coefficients[1:])

    return value([1.0, 2.0, x, 4.0])


@program
def determinant(x):
    def det(rows):
        if len(rows) == 1:
            return rows[0][0]
        total = 0.0
        for k, head in enumerate(rows[0]):
            minor = [[*row[:k], *row[k + 1 :]] for row in rows[1:]]
            total = total + (-1) ** k * head * det(minor)
        return total

    return det([[x, 2.0, 1.0], [0.5, x * x, x], [1.0, x, 3.0]])


class Node:
    def __init__(self, value, children=()):
        self.value = value
        self.children = children

    def total(self):
        return self.value**3 + 0.5 * sum(child.total() ** 2 for child in self.children)


@program
def objects(x):
    return Node(x, (Node(2.0 * x), Node(0.3, (Node(x * x),)))).total()


@program
def caught(x):
    def r(y, n):
        if n == 0:
            raise ValueError
        try:
            return r(y * x, n - 1)
        except ValueError:
            return y**3

    return r(x, 3)
