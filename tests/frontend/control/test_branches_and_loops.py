"""Branches and loops with every way out of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcad import grad, gradient
from tests.language import assert_program
from tests.numeric import assert_gradient

V = np.array([0.3, -0.7, 1.1, 0.5])
M = np.array([[0.2, -0.5, 0.9, 0.1], [1.2, 0.4, -0.3, -0.8], [0.6, -1.1, 0.7, 0.35]])


def branches(a):
    if a > 1:
        y = a * a
    elif a > 0:
        y = math.sin(a)
    else:
        y = -a
    return y * a


def one_sided(a):
    y = a
    if a > 0:
        y = y * a
    return y * 2


def nested_branches(a, b):
    if a > 0:
        if b > 0:
            return a * b
        c = a - b
    else:
        c = b
        if b > 1:
            c = c * c
    return c * a


def range_loop(a):
    s = 0.0
    for i in range(1, 8, 2):
        s = s * a + i
    return s


def down_loop(a):
    s = 1.0
    for i in range(5, 0, -2):
        s = math.sin(s * a) + i
    return s


def rows(m):
    s = 0.0
    for row in m:
        s = s + np.sum(row * row) * s + np.mean(row)
    return s


def entries(x):
    s = 1.0
    for e in x:
        s = s * e + e
    return s


def by_index(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i - 1]
    return s


def by_two_indices(m):
    s = 0.0
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            s += m[i, j] ** 2 * m[i][j - 1]
    return s


def over_tuple(a, b):
    s = 0.0
    for e in (a, b, a * b):
        s = s * e + e
    return s


def over_list(a, b):
    s = 1.0
    for e in [a, b, a * b]:
        s = s * e + e
    return s


def over_zip(x, m):
    s = 0.0
    for e, row in zip(x, m):
        s += e * np.sum(row * row)
    return s


def over_zip_of_three(x, y):
    s = 0.0
    for i, e, d in zip(range(10), x, y[1:]):
        s += i * e * d
    return s


def over_enumerate(x):
    s = 0.0
    for i, e in enumerate(x, start=1):
        s += i * e * e
    return s


def over_reversed(x):
    s = 1.0
    for e in reversed(x):
        s = math.sin(s) * e
    return s


def over_reversed_range(x):
    s = 1.0
    for i in reversed(range(len(x))):
        s = math.sin(s) * x[i]
    return s


def over_enumerate_of_zip(x, y):
    s = 0.0
    for i, (e, d) in enumerate(zip(x, y)):
        s += (i + 1) * e * d
    return s


def over_dict(a, b):
    s = 0.0
    d = {"p": a, "q": b}
    for k in d:
        s += d[k] * d[k]
    for k, e in d.items():
        s = s * e
    for e in d.values():
        s = s + e
    return s


def break_loop(x):
    s = 0.0
    for e in x:
        s = s + e * e
        if s > 0.5:
            break
    return s


def break_before_use(x):
    s = 1.0
    for e in x:
        if e < 0:
            break
        s = s * e
    return s


def continue_loop(x):
    s = 0.0
    for e in x:
        if e < 0:
            continue
        s = s + e * e
    return s


def continue_and_break(x):
    s = 0.1
    for i, e in enumerate(x):
        s = s + e * s
        if i == 0:
            continue
        s = s * 2.0
        if s > 3.0:
            s = s * e
            break
        s = s + 1.0
    return s


def loop_else(x):
    s = 1.0
    for e in x:
        s = s * (1.0 + e * e)
        if s > 100.0:
            break
    else:
        s = s * s
    return s


def loop_else_after_break(x):
    s = 1.0
    for e in x:
        if e < 0:
            s = s + e
            break
        s = s * e
    else:
        s = s * 100.0
    return s * s


def while_loop(a):
    x = a
    while abs(x * x - a) > 1e-13:
        x = 0.5 * (x + a / x)
    return x


def while_true(a):
    s, k = a, 0
    while True:
        s = math.sin(s) * a
        k += 1
        if k > 3:
            break
    return s


def while_else(a):
    s, k = a, 0
    while k < 3:
        s, k = s * a, k + 1
    else:
        s = s + a
    return s


def while_never(a):
    s = a
    while s > 100:
        s = s / 2
    return s * a


def return_from_loop(x):
    s = 0.0
    for e in x:
        s = s + e * e
        if s > 0.5:
            return s * 10.0
    return s


def return_from_inner_loop(m):
    s = 1.0
    for row in m:
        for e in row:
            s = s * (1.0 + 0.3 * e)
            if e < -0.4:
                return s * e
        s = s + np.sum(row)
    return s


def return_from_inner_while(a):
    s = a
    for i in range(4):
        k = 0
        while k < 3:
            s = s + a * 0.3
            if i * 3 + k == 7:
                return s * s * a
            k += 1
        s = math.sin(s)
    return s


def break_of_inner_loop_only(m):
    s = 1.0
    for row in m:
        for e in row:
            if e < 0:
                break
            s = s * (1.0 + e)
        s = s + row[0]
    return s


def swap_in_loop(a, b):
    for _ in range(3):
        a, b = b, a * b
    return a - b


def swap_in_an_odd_loop(a, b):
    for _ in range(5):
        a, b = b, a
    return a * 3.0 + b * b


def rotate_in_loop(a, b):
    c = a * b
    for _ in range(4):
        a, b, c = b, c, a
    return a + 2 * b * c


def fibonacci(a, b):
    for _ in range(6):
        a, b = b, a + b * 0.5
    return a * b


def loop_variable_after_the_loop(x):
    s = 0.0
    for i in range(3):
        s += x[i]
    for e in x:
        s = s * 1.5
    return s * i * e * x[i]


def loop_variable_reassigned(x):
    s = 0.0
    for e in x:
        e = e * e
        s += e
    return s * e


def zero_trips(a):
    s = a
    for _ in range(0):
        s = s * s
    return s * 3.0


def zero_trips_over_empty(x):
    s = np.sum(x)
    for e in x[:0]:
        s = s * e
    return s * s


def defined_in_one_branch_only(a):
    if a > 0:
        y = a * a
        z = y
    else:
        z = a
    if a > 0:
        z = z + y
    return z


def number_or_array(x):
    y = 0.0
    for i in range(3):
        y = y + x * i
    return np.sum(y * y)


def changes_kind_in_a_branch(a, x):
    y = a if a > 100 else x
    return np.sum(y * y)


def code_after_an_early_return(a):
    if a > 1:
        return a * a
    b = a * 3
    if b > 1:
        return b * a
    c = b * b
    return c


def strong_zero_of_a_branch(a):
    y = math.sqrt(a) if a > 0 else 0.0
    return y


ONE: list[Callable[..., Any]] = [
    branches,
    one_sided,
    range_loop,
    down_loop,
    while_loop,
    while_true,
    while_else,
    while_never,
    return_from_inner_while,
    zero_trips,
    defined_in_one_branch_only,
    code_after_an_early_return,
]
TWO = [
    nested_branches,
    over_tuple,
    over_list,
    over_dict,
    swap_in_loop,
    swap_in_an_odd_loop,
    rotate_in_loop,
    fibonacci,
]
VECTOR = [
    entries,
    by_index,
    over_enumerate,
    over_reversed,
    over_reversed_range,
    break_loop,
    break_before_use,
    continue_loop,
    continue_and_break,
    loop_else,
    loop_else_after_break,
    return_from_loop,
    loop_variable_after_the_loop,
    loop_variable_reassigned,
    zero_trips_over_empty,
    number_or_array,
]
MATRIX = [rows, by_two_indices, return_from_inner_loop, break_of_inner_loop_only]


@pytest.mark.parametrize("f", ONE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("a", [0.2, 0.8, 1.6])
def test_of_one_number(f: Callable[..., Any], a: float) -> None:
    assert_program(f, a)


@pytest.mark.parametrize("f", TWO, ids=lambda f: f.__name__)
@pytest.mark.parametrize("args", [(0.7, 1.3), (1.4, -0.4), (-0.3, 1.2)], ids=str)
def test_of_two_numbers(f: Callable[..., Any], args: tuple[float, float]) -> None:
    assert_program(f, *args)


@pytest.mark.parametrize("f", VECTOR, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "x", [V, np.abs(V), -V[::-1].copy()], ids=("mixed", "positive", "reversed")
)
def test_of_a_vector(f: Callable[..., Any], x: np.ndarray) -> None:
    assert_program(f, x)


@pytest.mark.parametrize("f", MATRIX, ids=lambda f: f.__name__)
@pytest.mark.parametrize("m", [M, np.abs(M)], ids=("mixed", "positive"))
def test_of_a_matrix(f: Callable[..., Any], m: np.ndarray) -> None:
    assert_gradient(gradient, f, m)


def test_zips() -> None:
    assert_gradient(gradient, over_zip, V[:3], M)
    assert_gradient(gradient, over_zip_of_three, V, np.cos(V))
    assert_gradient(gradient, over_enumerate_of_zip, V, np.cos(V))


def test_a_name_that_is_a_number_or_an_array() -> None:
    assert_gradient(gradient, changes_kind_in_a_branch, 0.3, V)


def test_an_untaken_branch_is_a_strong_zero() -> None:
    assert grad(strong_zero_of_a_branch)(0.0) == 0.0


def test_a_trip_count_may_differ_from_call_to_call() -> None:
    def f(a, n):
        s = a
        for _ in range(n):
            s = s * a
        return s

    g = grad(f)

    assert [g(2.0, n) for n in (0, 1, 2, 5)] == [1.0, 4.0, 12.0, 192.0]


def test_many_trips() -> None:
    def f(a):
        s = 0.0
        for _ in range(100_000):
            s = s * a + 1.0
        return s

    want = sum(k * 0.5 ** (k - 1) for k in range(1, 200))
    assert grad(f)(0.5) == pytest.approx(want, rel=1e-12)


def test_a_name_that_no_path_has_bound_raises_what_python_raises() -> None:
    def f(a):
        if a > 0:
            y = a
        return y * a

    assert grad(f)(2.0) == 4.0
    with pytest.raises(UnboundLocalError):
        grad(f)(-2.0)


def test_second_order_through_loops() -> None:
    for f in (range_loop, down_loop, while_true, return_from_inner_while):
        assert_gradient(gradient, lambda a, f=f: grad(f)(a), 0.8)
