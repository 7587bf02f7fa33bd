"""Generators, and what goes over them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.corpus.points import at

V = np.array([0.3, -0.7, 1.1, 0.5])
LOG: list[Any] = []


def note(k):
    LOG.append(k)
    return k


def counts(n):
    for k in range(n):
        yield float(note(k))


def scaled(x, n):
    for k in range(n):
        yield x * k


def powers(x):
    power = x
    while True:
        yield power
        power = power * x


def pair(x):
    yield x
    yield x * x


def until(v, limit):
    for x in v:
        if x > limit:
            return
        yield x * x


def nested(v):
    for x in v:
        yield from pair(x)
    yield 2.0


def windows(v, width):
    for k in range(len(v) - width + 1):
        yield v[k : k + width]


# ------------------------------------------------------------------------------ generators
@at(0.7)
def loop(a):
    """A loop over a generator."""
    total = 0.0
    for t in scaled(a, 4):
        total += t * a
    return total


@at(0.7)
def loop_with_exits(a):
    """A loop over an endless generator, which skips items and is left."""
    total = 0.0
    for p in powers(a):
        if p > 0.4:
            continue
        if p < 0.035:
            break
        total = total * a + p
    return total


@at(0.7)
def loop_with_return(a):
    """A return from a loop over an endless generator."""
    for p in powers(a):
        if p < 0.1:
            return p * 3
    return 0.0


@at(0.7, 1.0)
@at(0.7, 100.0)
def loop_with_else(a, limit):
    """The `else` of a loop over a generator."""
    for t in scaled(a, 4):
        if t > limit:
            y = t * t
            break
    else:
        y = a
    return y * t


@at(V)
def generator_that_returns(v):
    """A generator that returns before its end."""
    total = 0.0
    for x in until(v, 1.0):
        total += x
    return total


@at(V)
def inner_loop(v):
    """A loop over a generator within a loop."""
    total = 0.0
    for x in v:
        for p in powers(x):
            if abs(p) < 0.1 or p > 3:
                break
            total += p * x
    return total


@at(V)
def return_from_inner_loop(v):
    """A return from a loop over a generator within a loop."""
    for x in v:
        for y in pair(x):
            if y > 1.0:
                return y * x
    return 0.0


@at(V)
def generator_of_generator(v):
    """A generator that yields from another."""
    total = 1.0
    for x in nested(v):
        total = total * 0.5 + x
    return total


@at(V)
def generator_in_generator(v):
    """A local generator that goes over another."""

    def squares():
        for x in until(v, 0.6):
            yield x * x

    return sum(x * y for x in squares() for y in pair(x))


@at(V)
def windowed(v):
    """A generator of views."""
    return sum(np.sum(w) ** 2 for w in windows(v, 2))


@at(0.7)
def names_live_on(a):
    """The name bound by a loop over a generator lives on behind it."""
    for t in pair(a):
        last = t * 2
    return last * t


@at(0.7)
def local_generator(a):
    """A generator that sees a later value of a name outside it."""
    scale = 2.0

    def doubled():
        for k in range(3):
            yield scale * a * k

    scale = 3.0
    return sum(doubled())


@at(0.7)
def expression(a):
    """A generator expression with a condition."""
    terms = (a * k for k in range(4) if k != 2)
    return sum(terms)


@at(V)
def nested_expression(v):
    """A generator expression with two loops."""
    return sum(x * y for x in v for y in v if x > y)


@at(0.7)
def unpacked(a):
    """A generator that is unpacked."""
    x, y = pair(a)
    return x * y


@at(0.7)
def listed(a):
    """Generators that are made into lists and tuples."""
    items = list(scaled(a, 4))
    first, *rest = tuple(pair(a))
    return items[2] * items[3] + first * rest[0]


@at(0.7)
def stepped(a):
    """An iterator that is asked for items one by one."""
    numbers = iter([a, a * a, 3.0])
    x = next(numbers)
    return x * next(numbers) + sum(numbers)


@at(V)
def first_that_fits(v):
    """The first item that fits, or a default."""
    found = next((x * x for x in v if x > 0.4), 0.0)
    return found + next((x for x in v if x > 100), v[0])


@at(0.7)
def enumerated(a):
    """The items of a generator with their numbers."""
    return sum(k * t for k, t in enumerate(scaled(a, 4), 1))


@at(0.7)
def in_step(a):
    """Generators in step with other sequences, of which the shortest ends the loop."""
    total = 0.0
    for k, p, w in zip(range(3), powers(a), (1.0, a, 2.0), strict=False):
        total += k * p * w
    for p, q in zip(powers(a), pair(a), strict=False):
        total += p * q
    return total


@at(0.7)
def without_derivative(a):
    """Generators that yield constants and note what they do."""
    total = 0.0
    for k in counts(4):
        total += k * a
    for k, x in zip(counts(3), [a, a * a, 1.0], strict=True):
        total += k * x
    for k, x in enumerate(iter([1.0, 2.0])):
        total += k * x * a
    return total
