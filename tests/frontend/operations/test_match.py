"""``match``: every kind of pattern, on what is known now and on what is known at the call."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from srcad import errors, grad
from tests.language import assert_program, named

V = np.array([0.3, -0.7, 1.1, 0.5])
CALLS: list[str] = []


@dataclass
class Circle:
    r: float


@dataclass
class Box:
    w: float
    h: float


class Pair(NamedTuple):
    first: float
    second: float


class Holder:
    __match_args__ = ("value",)

    def __init__(self, value):
        self.value = value


def area(shape):
    match shape:
        case Circle(r):
            return math.pi * r**2
        case Box(w, h) if w == h:
            return w * h * 1.0
        case Box(w=w, h=h):
            return w * h
        case (a, b, c):
            s = (a + b + c) / 2
            return math.sqrt(s * (s - a) * (s - b) * (s - c))
        case {"kind": "ellipse", "axes": (a, b), **rest}:
            return math.pi * a * b * len(rest)
        case _:
            raise TypeError("no shape")


def every_shape(a):
    ellipse = {"kind": "ellipse", "axes": [a, 2.0], "colour": "red"}
    boxes = area(Box(a, 2.0)) + area(Box(h=a, w=a))
    return area(Circle(a)) + boxes + area((3.0, 4.0, 4.0 + a)) + area(ellipse)


def values(a):
    match a:
        case 0.0:
            return a
        case math.pi | 2.5:
            return a * 3
        case -1.0:
            return a * 4
        case float() as x if x > 1:
            return x * x
        case float(x):
            return x * x * x
    return 0.0


def flags(a):
    y = a
    match a > 0.5:
        case True:
            y = y * a
        case False:
            y = y * 3
    match (None, a > 100):
        case (None, True):
            y = 0.0
        case (None, x) if not x:
            y = y * a
    return y


def sequences(a):
    total = 0.0
    for items in ([], [a], (a, 2.0), [a, 1.0, a, 3.0], "ab", 7):
        match items:
            case []:
                total += 1.0
            case [x]:
                total += x * x
            case [x, y]:
                total += x * y
            case [x, *middle, y]:
                total += x * y * middle[1] * len(middle)
            case str():
                total *= 2
            case other:
                total *= other
    return total


def growing(a, n):
    items = [a]
    for k in range(n):
        items.append(items[-1] * a + k)
    match items:
        case [x]:
            return x * x
        case [x, y]:
            return x * y
        case [x, *rest, y]:
            return x * rest[0] * y * len(rest)
    return 0.0


def commands(a, program):
    for command in program.split(";"):
        match command.split():
            case ["add", text]:
                a = a + float(text)
            case ["mul", text] if float(text) != 0:
                a = a * float(text)
            case ["square" | "sq"]:
                a = a * a
            case ["stop", *_]:
                break
            case []:
                continue
            case _:
                raise ValueError(command)
    return a


def a_program(a):
    return commands(a, "add 1.5;sq;;mul 3;stop now;add 9")


def alternatives(a, b):
    match (a, b):
        case (1.0, x) | (x, 1.0):
            y = x * x
        case (x, _) if x > b:
            y = x * b
        case (x, z):
            y = x + z * z
    return y * x


def captures_outlive_the_loop(v):
    total = 0.0
    for item in v:
        match item:
            case x if x > 0:
                total += x * x
            case x:
                total -= x
    return total * x


def named_tuple_and_object(a):
    match Pair(a, a * a):
        case (x, y):
            s = x * y
    match Pair(a, 2.0):
        case Pair(x, second=2.0):
            s = s * x
    match Holder(2.0):
        case Holder(k):
            return s * k
    return s


def array_is_no_sequence(v):
    match v:
        case [_, *_]:
            return v[0]
        case _:
            return np.sum(v * v)


def subject_runs_once(a):
    match note(3) * a:
        case 0.0:
            return a
        case x if x > 100:
            return x
        case x:
            return x * x


def note(k):
    CALLS.append("note")
    return k


PROGRAMS = [
    (every_shape, 0.7),
    (values, 0.7),
    (values, 1.7),
    (flags, 0.7),
    (flags, 0.2),
    (sequences, 0.7),
    *((growing, 0.7, n) for n in range(4)),
    (a_program, 0.7),
    (alternatives, 0.7, 0.3),
    (alternatives, 0.2, 0.3),
    (captures_outlive_the_loop, V),
    (captures_outlive_the_loop, -V),
    (named_tuple_and_object, 0.7),
    (array_is_no_sequence, V),
    (subject_runs_once, 0.7),
]


@pytest.mark.parametrize(**named(PROGRAMS))
def test_a_match_statement_has_its_gradient(program: tuple[Any, ...]) -> None:
    assert_program(*program)


def test_the_slope_at_a_matched_value_is_that_of_its_case() -> None:
    assert grad(values)(2.5) == 3.0
    assert grad(values)(-1.0) == 4.0


def test_the_subject_is_evaluated_once() -> None:
    CALLS.clear()

    grad(subject_runs_once)(0.7)

    assert CALLS == ["note"]


def test_no_case_that_matches_raises_as_the_plain_call_does() -> None:
    with pytest.raises(ValueError, match="jump 3"):
        grad(commands)(0.7, "jump 3")


def test_more_positions_than_the_class_names_are_refused() -> None:
    def f(a):
        match Circle(a):
            case Circle(r, s):
                return r * s

    with pytest.raises(errors.UnsupportedSyntaxError, match="2 positions"):
        grad(f)(0.7)
