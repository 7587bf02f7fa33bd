"""Assignment in all forms, operators, comparisons, boolean operators: each with its gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcad import gradient
from tests.numeric import assert_gradient

V = np.array([0.3, -0.7, 1.1])
M = np.array([[0.2, -0.5, 0.9], [1.2, 0.4, -0.3]])


def unpack(a, b):
    u, v = a * b, a + b
    return u * v


def unpack_nested(a, b):
    (u, v), w = (a * b, a - b), a
    return u * v * w


def unpack_starred(a, b):
    first, *rest = a * b, a + b, a - b
    return first * rest[0] * rest[1]


def unpack_starred_in_the_middle(a, b):
    first, *middle, last = a, b, a * b, a + b, 2.0
    return first * middle[0] + middle[1] * last * len(middle)


def unpack_an_array(x):
    u, v, w = x
    return u * v + w * w


def unpack_rows(m):
    top, bottom = m
    return np.sum(top * bottom)


def chained(a):
    u = v = a * a
    u = u + 1.0
    return u * v


def annotated(a):
    u: float = a * a
    v: "np.ndarray"
    v = u + 1
    return v * u


def walrus(a):
    if (u := a * a) > 0.0:
        return u * 3.0 + (v := u + 1.0) * v
    return u


def swapped(a, b):
    a, b = b, a * b
    return a - b * b


def augmented_numbers(a, b):
    s = a
    s += b
    s *= a
    s -= 2.0
    s /= b
    s **= 2
    return s


def augmented_integers(a):
    n = 7
    n //= 2
    n %= 2
    n <<= 2
    n |= 1
    return a * n


def augmented_array(x):
    y = x * 2.0
    y += x
    y *= 3.0
    y -= np.sin(x)
    y /= 2.0
    return np.sum(y * y)


def augmented_buffer_in_a_loop(m):
    total = np.zeros(3)
    for row in m:
        total += row * row
    return np.sum(total * total)


def shadowed_builtins(a):
    sum = a * a
    list = sum + 1
    return sum * list


def same_name_other_kind(x):
    y = x * x
    y = np.sum(y)
    y = (y, y * 2.0)
    y = y[0] * y[1]
    return y


def reused_argument(a, b):
    a = a * b
    a = a * a
    return a + b


def arithmetic(a, b):
    return (a + b) * (a - b) / (b * b + 1) + a**3 - -a + (+b) + a**b + 2.0**a


def floor_and_modulo(a, b):
    return (a * 3.0) % 1.3 * b + (a * 5.3) // 1.0 + divmod(a, 0.45)[1]


def matrix_product(m, x):
    return np.sum(np.tanh(m @ x))


def comparison_chain(a, b):
    return a * b if -5 < a < b <= 5 else a - b


def boolean_operators(a, b):
    if (a > 0 and b > 0) or not a < 5:
        return a * b
    return a - b


def value_of_or(a, b):
    c = 0.0
    return (c or a) * (a and b)


def short_circuit(a):
    n = 0
    if n != 0 and a / n > 1.0:
        return a
    return a * a


def ternaries(a, b):
    return (a if a > b else b) * (a * b if a < 0 else (b if b > 0 else a))


def is_and_in(a, flag=None):
    u = a if flag is None else -a
    v = u * 2 if "p" in {"p": 1} else u
    return v * v if 3 not in (1, 2) and flag is not False else v


def bit_operations(a):
    k = (5 & 3) | (1 ^ 2) + (~1) + (1 << 3) + (16 >> 2)
    return a * k


NUMBERS: list[Callable[..., Any]] = [
    unpack,
    unpack_nested,
    unpack_starred,
    unpack_starred_in_the_middle,
    swapped,
    augmented_numbers,
    reused_argument,
    arithmetic,
    floor_and_modulo,
    comparison_chain,
    boolean_operators,
    value_of_or,
    ternaries,
]
ONE_NUMBER = [
    chained,
    annotated,
    walrus,
    augmented_integers,
    shadowed_builtins,
    short_circuit,
    is_and_in,
    bit_operations,
]
VECTORS = [unpack_an_array, augmented_array, same_name_other_kind]
MATRICES = [unpack_rows, augmented_buffer_in_a_loop]


@pytest.mark.parametrize("f", NUMBERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("args", [(0.7, 1.3), (1.4, 0.4)], ids=str)
def test_of_two_numbers(f: Callable[..., Any], args: tuple[float, float]) -> None:
    assert_gradient(gradient, f, *args)


@pytest.mark.parametrize("f", ONE_NUMBER, ids=lambda f: f.__name__)
def test_of_one_number(f: Callable[..., Any]) -> None:
    assert_gradient(gradient, f, 0.7)


@pytest.mark.parametrize("f", VECTORS, ids=lambda f: f.__name__)
def test_of_a_vector(f: Callable[..., Any]) -> None:
    assert_gradient(gradient, f, V)


@pytest.mark.parametrize("f", MATRICES, ids=lambda f: f.__name__)
def test_of_a_matrix(f: Callable[..., Any]) -> None:
    assert_gradient(gradient, f, M)


def test_of_a_matrix_and_a_vector() -> None:
    assert_gradient(gradient, matrix_product, M, V)


def test_the_primal_value_is_bit_for_bit(rng: np.random.Generator) -> None:
    from srcad import value_and_grad

    for f in NUMBERS:
        a, b = rng.uniform(0.3, 1.5, 2).tolist()
        value, _ = value_and_grad(f)(a, b)

        assert value == f(a, b)
        assert type(value) is type(f(a, b))
