"""Tangents of tuples and dicts of Python floats: Python floats, whatever they were computed by."""

import pytest

import srcad


def gradient(a, b):
    return srcad.grad(lambda a, b: (a + b) * (a - b) + a**b, wrt=(0, 1))(a, b)


def gradient_of_derivative(a, b):
    return srcad.grad(srcad.grad(lambda a, b: a**b, wrt=1), wrt=(0, 1))(a, b)


def in_dict(a, b):
    first, second = gradient(a, b)
    return {"a": first, "b": (second, a * b)}


def leaves(value):
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


@pytest.mark.parametrize("function", [gradient, gradient_of_derivative, in_dict])
def test_tangent_of_structure_has_kinds_of_primal(function):
    h = 1e-6
    high = leaves(function(1.3 + h, 0.7 + h / 2))
    low = leaves(function(1.3 - h, 0.7 - h / 2))

    y, y_dot = srcad.jvp(function, (1.3, 0.7), (1.0, 0.5))

    assert [type(leaf) for leaf in leaves(y_dot)] == [float] * len(leaves(y))
    wanted = [(p - q) / (2 * h) for p, q in zip(high, low, strict=True)]
    assert leaves(y_dot) == pytest.approx(wanted, rel=1e-6)
