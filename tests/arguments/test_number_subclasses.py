"""Numbers of subclasses of int, float and complex count as those of their base class."""

import enum
import math

import numpy as np
import pytest

import srcad
from srcad import gradient
from srcad.errors import UnsupportedTypeError
from srcad.testing import check_grads


class Length(float):
    unit = "m"


class Count(int):
    pass


class Wave(complex):
    pass


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Weight(float, enum.Enum):
    LIGHT = 1.5


class Odd(int):
    def __add__(self, other):
        return 7


def twice(e):
    return e + e


def in_a_loop(e, x):
    total = 0.0
    for _ in range(3):
        total = total + e * x
    return total


ARITHMETIC = [
    lambda e, x: e * x,
    lambda e, x: e**2 * x,
    lambda e, x: (e * e) ** 2 * x,
    lambda e, x: -e * x,
    lambda e, x: abs(e) * x,
    lambda e, x: float(e) * x,
    lambda e, x: np.exp(e) * x,
    lambda e, x: math.sqrt(e) * x,
    lambda e, x: sum([e, e]) * x,
    lambda e, x: max(e, 1) * x,
    lambda e, x: np.sum(np.array([e, 1.0])) * x,
    lambda e, x: (e if x > 0.0 else 2) * x,
    lambda e, x: [e, x][0] * x,
    lambda e, x: e.real * x,
    lambda e, x: twice(e) * x,
    lambda e, x: e,
    in_a_loop,
]


@pytest.mark.parametrize("e", [Level.HIGH, Count(3), Length(3.0), Weight.LIGHT])
@pytest.mark.parametrize("f", ARITHMETIC)
def test_number_subclass_gradient_equals_base_class_gradient(f, e):
    """It was None; an inner sum of members was folded to a constant."""
    plain = int(e) if isinstance(e, int) else float(e)

    found = gradient(f, e, 2.0)

    assert found == gradient(f, plain, 2.0)
    assert [type(g) for g in found] == [float, float]
    assert srcad.pullback(f, e, 2.0)[0] == f(e, 2.0)


def test_enum_member_value_and_name():
    f = lambda e, x: e.value * x * {"LOW": 2.0, "HIGH": 4.0}[e.name]  # noqa: E731

    assert gradient(f, Level.HIGH, 2.0) == (8.0, 12.0)
    assert gradient(f, Level.LOW, 2.0) == (4.0, 2.0)


def test_number_subclass_class_and_identity_preserved():
    f = lambda e, x: e * x if e is Level.HIGH and isinstance(e, Level) else x  # noqa: E731

    assert gradient(f, Level.HIGH, 2.0) == (2.0, 3.0)
    assert gradient(f, Level.LOW, 2.0)[1] == 1.0


def test_type_of_float_subclass_argument():
    f = lambda e, x: e * x if type(e) is Length else x  # noqa: E731

    assert gradient(f, Length(3.0), 2.0) == (2.0, 3.0)


SELECTING = [
    lambda e, x: x * [1.0, 2.0, 3.0, 4.0][e],
    lambda e, x: x if e is Level.HIGH else -x,
    lambda e, x: x if e == 3 else -x,
    lambda e, x: x if isinstance(e, Level) else -x,
    lambda e, x: x * {"HIGH": 2.0}[e.name],
    lambda e, x: x * {Level.HIGH: 2.0}[e],
    lambda e, x: sum([x for _ in range(e)]),
    lambda e, x: x if e > 2 else -x,
]


@pytest.mark.parametrize("f", SELECTING)
def test_enum_member_used_for_selection_has_none_gradient(f):
    assert gradient(f, Level.HIGH, 2.0) == (None, f(Level.HIGH, 2.0) / 2.0)


def test_numbers_inside_containers():
    p = {"e": Level.HIGH, "x": 2.0, "f": Length(3.0), "list": [Length(1.0), 2.0]}

    found = srcad.grad(lambda p: p["e"] * p["x"] * p["f"] * sum(p["list"]))(p)

    assert found == {"e": 18.0, "x": 27.0, "f": 18.0, "list": [18.0, 18.0]}


class Model:
    def __init__(self, w, kind):
        self.w, self.kind = w, kind


def test_model_attribute_used_for_selection_has_none_gradient():
    f = lambda m, x: m.w * x if m.kind is Level.HIGH else x  # noqa: E731

    found = srcad.grad(f)(Model(2.0, Level.HIGH), 3.0)

    assert (found.w, found.kind) == (3.0, None)
    found = srcad.grad(lambda m, x: f(m, x) * m.kind)(Model(2.0, Level.HIGH), 3.0)
    assert (found.w, found.kind) == (9.0, 6.0)


def test_all_modes():
    x = Length(3.0)
    assert srcad.value_and_grad(lambda e: e**3)(x) == (27.0, 27.0)
    assert srcad.jvp(lambda e: e**3, (x,), (1.0,)) == (27.0, 27.0)
    assert srcad.hvp(lambda e: e**3)(x, 1.0) == 18.0
    assert srcad.hessian(lambda e: e**3)(x) == 18.0
    assert srcad.grad(lambda e: srcad.grad(lambda y: y**3)(e))(x) == 18.0
    assert srcad.grad(lambda z: abs(z) ** 2)(Wave(1 + 2j)) == 2 + 4j
    check_grads(lambda e: e**3, (x,))


def test_one_gradient_object_for_numbers_and_subclasses():
    g = srcad.grad(lambda e: e**2)

    assert [g(e) for e in (2.0, Length(3.0), Count(2), 2, Level.HIGH)] == [4.0, 6.0, 4.0, 4.0, 6.0]


def test_number_subclass_with_own_arithmetic_rejected():
    with pytest.raises(UnsupportedTypeError, match="'Odd', a subclass of 'int'"):
        gradient(lambda e, x: (e + 1) * x, Odd(2), 3.0)


def test_attribute_of_active_number_subclass_rejected():
    f = lambda e, x: e * x if e.unit == "m" else x  # noqa: E731

    with pytest.raises(UnsupportedTypeError, match="attribute 'unit' of a 'Length'"):
        gradient(f, Length(2.0), 3.0)


class Other(float):
    pass


@pytest.mark.parametrize("values", [[Length(2.0)], [Length(2.0), 1.0], [Length(2.0), Other(3.0)]])
@pytest.mark.parametrize("count", [1, 50])
def test_lists_of_any_length(values, count):
    def f(p, x):
        total = 0.0
        for a in p:
            total = total + a * x
        return total

    found = gradient(f, values * count, 2.0)

    assert found == ([2.0] * len(values) * count, count * sum(values))
