"""Assignments in all forms, operators and comparisons."""

from __future__ import annotations

import numpy as np

from tests.corpus.points import at, at_each

V = np.array([0.3, -0.7, 1.1])
M = np.array([[0.2, -0.5, 0.9], [1.2, 0.4, -0.3]])

two_numbers = at_each((0.7, 1.3), (1.4, 0.4))


@two_numbers
def unpack(a, b):
    """A tuple unpacked."""
    u, v = a * b, a + b
    return u * v


@two_numbers
def unpack_nested(a, b):
    """A tuple in a tuple unpacked."""
    (u, v), w = (a * b, a - b), a
    return u * v * w


@two_numbers
def unpack_starred(a, b):
    """A star takes the rest."""
    first, *rest = a * b, a + b, a - b
    return first * rest[0] * rest[1]


@two_numbers
def unpack_starred_in_the_middle(a, b):
    """A star takes what is in the middle."""
    first, *middle, last = a, b, a * b, a + b, 2.0
    return first * middle[0] + middle[1] * last * len(middle)


@at(V)
def unpack_an_array(x):
    """The entries of an array unpacked."""
    u, v, w = x
    return u * v + w * w


@at(M)
def unpack_rows(m):
    """The rows of a matrix unpacked."""
    top, bottom = m
    return np.sum(top * bottom)


@at(0.7)
def chained(a):
    """Two names bound at once, of which one is bound again."""
    u = v = a * a
    u = u + 1.0
    return u * v


@at(0.7)
def annotated(a):
    """Annotations, with a value and without."""
    u: float = a * a
    v: "np.ndarray"
    v = u + 1
    return v * u


@at(0.7)
def walrus(a):
    """Names bound inside expressions."""
    if (u := a * a) > 0.0:
        return u * 3.0 + (v := u + 1.0) * v
    return u


@two_numbers
def swapped(a, b):
    """Two names that change places."""
    a, b = b, a * b
    return a - b * b


@two_numbers
def augmented_numbers(a, b):
    """Every augmented assignment of floats."""
    s = a
    s += b
    s *= a
    s -= 2.0
    s /= b
    s **= 2
    return s


@at(0.7)
def augmented_integers(a):
    """Every augmented assignment of integers."""
    n = 7
    n //= 2
    n %= 2
    n <<= 2
    n |= 1
    return a * n


@at(V)
def augmented_array(x):
    """Augmented assignments into a fresh array."""
    y = x * 2.0
    y += x
    y *= 3.0
    y -= np.sin(x)
    y /= 2.0
    return np.sum(y * y)


@at(M)
def augmented_buffer_in_a_loop(m):
    """An array that a loop adds rows to."""
    total = np.zeros(3)
    for row in m:
        total += row * row
    return np.sum(total * total)


@at(0.7)
def shadowed_builtins(a):
    """Names of builtins bound to numbers."""
    sum = a * a
    list = sum + 1
    return sum * list


@at(V)
def same_name_other_kind(x):
    """One name for an array, a number, a tuple and a number."""
    y = x * x
    y = np.sum(y)
    y = (y, y * 2.0)
    y = y[0] * y[1]
    return y


@two_numbers
def reused_argument(a, b):
    """Arguments that are bound again."""
    a = a * b
    a = a * a
    return a + b


@two_numbers
def arithmetic(a, b):
    """The operators of arithmetic."""
    return (a + b) * (a - b) / (b * b + 1) + a**3 - -a + (+b) + a**b + 2.0**a


@two_numbers
def floor_and_modulo(a, b):
    """Quotients rounded down, and their rests."""
    return (a * 3.0) % 1.3 * b + (a * 5.3) // 1.0 + divmod(a, 0.45)[1]


@at(M, V)
def matrix_product(m, x):
    """The product of a matrix and a vector."""
    return np.sum(np.tanh(m @ x))


@two_numbers
def comparison_chain(a, b):
    """A chain of comparisons."""
    return a * b if -5 < a < b <= 5 else a - b


@two_numbers
def boolean_operators(a, b):
    """`and`, `or` and `not` in a test."""
    if (a > 0 and b > 0) or not a < 5:
        return a * b
    return a - b


@two_numbers
def value_of_or(a, b):
    """`and` and `or` as values."""
    c = 0.0
    return (c or a) * (a and b)


@at(0.7)
def short_circuit(a):
    """What `and` does not reach is not computed."""
    n = 0
    if n != 0 and a / n > 1.0:
        return a
    return a * a


@two_numbers
def ternaries(a, b):
    """Conditional expressions within each other."""
    return (a if a > b else b) * (a * b if a < 0 else (b if b > 0 else a))


@at(0.7)
def is_and_in(a, flag=None):
    """Identity and membership."""
    u = a if flag is None else -a
    v = u * 2 if "p" in {"p": 1} else u
    return v * v if 3 not in (1, 2) and flag is not False else v


@at(0.7)
def bit_operations(a):
    """Operators on the bits of integers."""
    k = (5 & 3) | (1 ^ 2) + (~1) + (1 << 3) + (16 >> 2)
    return a * k
