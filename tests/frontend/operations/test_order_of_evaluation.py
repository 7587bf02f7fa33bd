"""Side effects of displays, comprehensions and calls happen in Python's order."""

import numpy as np
import pytest

from srcad import value_and_grad

LOG = []


def note(name, value):
    LOG.append(name)
    return value


def dict_display(x):
    return {note("k1", "p"): note("v1", x), note("k2", "q"): note("v2", 2.0)}["p"] * x


def dict_display_with_mapping(x):
    d = {note("k1", "p"): note("v1", x), **note("s", {"q": 2.0}), note("k2", "r"): note("v2", x)}
    return d["r"] * d["q"]


def dict_display_with_dynamic_key(x):
    return {note("k1", x > 0.0): note("v1", x), note("k2", 7): note("v2", x * x)}[7]


def dict_comprehension(x):
    return {note("k" + c, c): note("v" + c, x) for c in "ab" if note("if", True)}["b"] * x


def nested_dict_comprehension(x):
    d = {note("k", (i, j)): note("v", x * i * j) for i in range(2) for j in range(3)}
    return d[1, 2] * x


def dict_comprehension_over_an_array(x):
    values = np.arange(70.0) * x
    d = {note("k", int(v > 3.0)): note("v", v * v) for v in values}
    return d[1]


def key_read_before_value_writes(x):
    keys = ["a"]

    def replaced(value):
        keys[0] = "b"
        return value

    return {keys[0]: replaced(x * x)}["a"]


def key_of_comprehension_read_before_value_writes(x):
    keys = ["a"]

    def replaced(value):
        keys[0] = "b"
        return value

    return {keys[0]: replaced(x * x) for _ in range(1)}["a"]


def assigned_item(x):
    d = {}
    note("d", d)[note("k", "p")] = note("v", x)
    return d["p"] * x


def call_with_unpacking(x):
    def h(*args, **kw):
        return args[0] * kw["z"]

    return note("h", h)(note("a", x), *note("s", (1.0,)), w=note("w", 1), **note("kw", {"z": x}))


PROGRAMS = [
    dict_display,
    dict_display_with_mapping,
    dict_display_with_dynamic_key,
    dict_comprehension,
    nested_dict_comprehension,
    dict_comprehension_over_an_array,
    key_read_before_value_writes,
    key_of_comprehension_read_before_value_writes,
    assigned_item,
    call_with_unpacking,
]


@pytest.mark.parametrize("f", PROGRAMS)
def test_side_effects_in_python_evaluation_order(f):
    LOG.clear()
    value = f(3.0)
    expected = LOG[:]
    LOG.clear()

    y, slope = value_and_grad(f)(3.0)

    assert LOG == expected
    assert y == value
    LOG.clear()
    h = 1e-6
    assert slope == pytest.approx((f(3.0 + h) - f(3.0 - h)) / (2 * h), rel=1e-6)
