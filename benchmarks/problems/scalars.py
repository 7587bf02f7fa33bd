# ruff: noqa: D103 - the primals and their adjoints are formulas
"""Functions of two Python floats."""

from __future__ import annotations

import math

from benchmarks.problems.registry import problem


def rosenbrock_by_hand(x, y):
    a = 1.0 - x
    b = y - x**2
    b_bar = 100.0 * (2.0 * b)
    x_bar = -b_bar * (2.0 * x)
    return x_bar - 2.0 * a, b_bar


@problem(rosenbrock_by_hand, lambda rng: (-1.2, 1.0), {"2 floats": ()}, (0, 1))
def rosenbrock(x, y):
    return (1.0 - x) ** 2 + 100.0 * (y - x**2) ** 2


def for1000_by_hand(a, b):
    x = 0.1
    x_saved = []
    for _ in range(1000):
        x_saved.append(x)
        x = x + 0.01 * (a * x * (1.0 - x) - b * math.sin(x))
    x_bar, a_bar, b_bar = 2.0 * x, 0.0, 0.0
    for _ in range(1000):
        x = x_saved.pop()
        t = 0.01 * x_bar
        rest = 1.0 - x
        a_bar += t * x * rest
        b_bar -= t * math.sin(x)
        x_bar = x_bar + t * a * rest - t * a * x - t * b * math.cos(x)
    return a_bar, b_bar


@problem(
    for1000_by_hand,
    lambda rng: (1.7, 0.4),
    {"1000 iterations": ()},
    (0, 1),
    {"1000 iterations": 1.15},
)
def for1000(a, b):
    x = 0.1
    for _ in range(1000):
        x = x + 0.01 * (a * x * (1.0 - x) - b * math.sin(x))
    return x * x
