"""The statement `match`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tests.corpus.points import at

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


@at(0.7)
def every_shape(a):
    """Patterns of classes, sequences and mappings, with guards."""
    ellipse = {"kind": "ellipse", "axes": [a, 2.0], "colour": "red"}
    boxes = area(Box(a, 2.0)) + area(Box(h=a, w=a))
    return area(Circle(a)) + boxes + area((3.0, 4.0, 4.0 + a)) + area(ellipse)


@at(0.7)
@at(1.7)
def values(a):
    """Patterns of values and alternatives, with a guard."""
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


@at(0.7)
@at(0.2)
def flags(a):
    """Patterns of True, False and None."""
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


@at(0.7)
def sequences(a):
    """Patterns of sequences of every length."""
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


@at(0.7, 0)
@at(0.7, 1)
@at(0.7, 2)
@at(0.7, 3)
def growing(a, n):
    """A pattern of a list whose length the call knows."""
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


@at(0.7)
def a_program(a):
    """A small interpreter of commands in a text."""
    return commands(a, "add 1.5;sq;;mul 3;stop now;add 9")


@at(0.7, 0.3)
@at(0.2, 0.3)
def alternatives(a, b):
    """Alternatives that bind the same name."""
    match (a, b):
        case (1.0, x) | (x, 1.0):
            y = x * x
        case (x, _) if x > b:
            y = x * b
        case (x, z):
            y = x + z * z
    return y * x


@at(V)
@at(-V)
def captures_outlive_the_loop(v):
    """What a case binds lives on behind the loop."""
    total = 0.0
    for item in v:
        match item:
            case x if x > 0:
                total += x * x
            case x:
                total -= x
    return total * x


@at(0.7)
def named_tuple_and_object(a):
    """Patterns of a named tuple and of an object with positions."""
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


@at(V)
def array_is_no_sequence(v):
    """An array matches no pattern of a sequence."""
    match v:
        case [_, *_]:
            return v[0]
        case _:
            return np.sum(v * v)


@at(0.7)
def subject_runs_once(a):
    """What is matched is computed once."""
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
