"""What a builtin makes of an object is asked of the object's class, at every call."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcad
from srcad import gradient
from tests.numeric import assert_gradient

X = np.array([0.4, 0.9])


class Odd:
    """Objects with ways of their own."""

    def __init__(self, size):
        self.size = size

    def __reversed__(self):
        return iter((5.0 * self.size, 6.0))

    def __iter__(self):
        return iter((1.0, 2.0))

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return 7.0 + index

    def __divmod__(self, other):
        return 2.0 * self.size, 3.0

    def __rdivmod__(self, other):
        return 4.0, 5.0 * self.size

    def __index__(self):
        return self.size

    def __copy__(self):
        return Odd(3 * self.size)

    def __deepcopy__(self, memo):
        return Odd(4 * self.size)


class Open:
    """Objects that have what their class has not."""

    def __init__(self, size):
        self.size = size

    def grow(self):
        self.size = 3 * self.size

    def __getattr__(self, name):
        if name == "rate":
            return 5.0
        raise AttributeError(name)


class Slotted:
    __slots__ = ("rate", "size")

    def __init__(self, size):
        self.size = size


class Callable_:
    def __call__(self, v):
        return v


odd = Odd(1)
opened = Open(1)
numbers = range(3, 9)


def backwards(x):
    return list(reversed(odd))[0] + sum(v * k for k, v in enumerate(reversed(Odd(2))))


def backwards_in_a_loop(x):
    total = 0.0
    for v in reversed(odd):
        total += v
    return total


def parts_of_a_division(x):
    a, b = divmod(odd, 3)
    return a + 2.0 * b + divmod(3, odd)[1]


def in_a_base(x):
    return 1.0 * int("101", odd.size + 1)


def in_a_base_by_name(x):
    return 1.0 * int("101", base=odd.size + 1)


def counts(x):
    return 1.0 + len(range(odd)) + sum(k for k, _ in enumerate(x, odd))


def places(x):
    return [2.0, 3.0, 5.0][odd] * numbers[odd] * float("258"[odd])


def text_from_a_place(x):
    return 1.0 * len("abcd"[odd:])


def what_it_has(x):
    made = Open(2.0)
    return getattr(made, "size", 7.0) + getattr(made, "rate", 7.0) + getattr(made, "none", 7.0)


def whether_it_has(x):
    made = Open(2.0)
    return 1.0 + hasattr(made, "size") + 2.0 * hasattr(made, "rate") + 4.0 * hasattr(made, "none")


def what_it_keeps_a_place_for(x):
    return getattr(Slotted(2.0), "rate", 7.0)


def matched(x):
    match Open(2.0):
        case Open(size=2.0):
            return 2.0
    return 3.0


def whether_it_can_be_called(x):
    return 1.0 + callable(Callable_()) + 2.0 * callable(Open(1.0)) + 4.0 * callable(odd)


def copies(x):
    return 1.0 * copy.copy(odd).size + 10.0 * copy.deepcopy(odd).size


def a_copy_of_its_own(x):
    other = copy.copy(opened)
    other.grow()
    made = Open(2.0)
    again = copy.deepcopy([made, made])
    again[0].grow()
    return opened.size + 10.0 * other.size + 100.0 * made.size + 1000.0 * again[1].size


FACTORS = [
    backwards,
    backwards_in_a_loop,
    parts_of_a_division,
    in_a_base,
    in_a_base_by_name,
    counts,
    places,
    text_from_a_place,
    what_it_has,
    whether_it_has,
    what_it_keeps_a_place_for,
    matched,
    whether_it_can_be_called,
    copies,
    a_copy_of_its_own,
]


@pytest.mark.parametrize("factor", FACTORS, ids=lambda f: f.__name__)
def test_builtin_dispatches_to_class_method(factor: Callable[[Any], float], monkeypatch) -> None:
    def f(x):
        return np.sum(x * x) * factor(x)

    for size in (1, 2):
        monkeypatch.setattr(odd, "size", size)  # in the same object
        monkeypatch.setattr(opened, "size", size)
        assert_gradient(gradient, f, X)


def callable_if_its_class_says_so(x):
    return x * (2.0 if callable(Wrapped(x)) else 3.0) * (1.0 if callable(Called(x)) else 5.0)


class Wrapped:
    def __init__(self, v):
        self.v = v


class Called(Wrapped):
    def __call__(self):
        return self.v


def item_by_an_object(x):
    return (x, 2.0 * x)[odd] * [x, x * x][odd]


def backwards_as_it_says(x):
    return sum(v * k for k, v in enumerate(reversed(Pair(x))))


class Pair:
    def __init__(self, v):
        self.v = v

    def __reversed__(self):
        return iter([self.v, self.v * self.v, 3.0 * self.v])


def copied_as_it_says(x):
    return copy.copy(Doubled(x)).v * copy.deepcopy(Doubled(x)).v


class Doubled:
    def __init__(self, v):
        self.v = v

    def __copy__(self):
        return Doubled(2.0 * self.v)

    def __deepcopy__(self, memo):
        return Doubled(3.0 * self.v)


@pytest.mark.parametrize(
    "f",
    [
        callable_if_its_class_says_so,
        item_by_an_object,
        backwards_as_it_says,
        copied_as_it_says,
    ],
)
def test_builtin_of_active_object_dispatches_to_class(f: Callable[[float], float]) -> None:
    srcad.testing.check_grads(f, (0.7,), order=1)


def copied_by_its_state(x):
    return copy.copy(Stateful(x)).v * x


class Stateful:
    def __init__(self, v):
        self.v = v

    def __getstate__(self):
        return {"v": 2.0 * self.v}


def test_copy_via_pickle_protocol_rejected() -> None:
    with pytest.raises(srcad.errors.UnsupportedSyntaxError, match="Stateful"):
        srcad.grad(copied_by_its_state)(0.7)


# ------------------------------------------------------------------------ whose operator it is
class Length:
    """Objects whose classes disagree about what a difference is."""

    def __init__(self, level):
        self.level = level

    @classmethod
    def made(cls, value):
        return cls(np.sin(value))

    def __sub__(self, other):
        return Length(self.level - 0.5 * getattr(other, "level", other))

    def __rsub__(self, other):
        return Length(2.0 * getattr(other, "level", other) - self.level)

    def __lt__(self, other):
        return self.level < other.level


class Short(Length):
    pass


class Backward(Length):
    def __rsub__(self, other):
        return Length(5.0 * other.level - self.level)


def backward(value):
    return Backward(np.sin(value))


def number(value):
    return float(json.loads("0.5")) * value


def made_on_the_left(a, b):
    return (Length.made(b) - Short(2.0 * a)).level


def made_on_the_left_in_a_loop(a, b):
    left, total = Length.made(b), 0.0
    for _ in range(3):
        left = left - Short(a)
        total = total + left.level
    return total


def refined_on_the_right(a, b):
    return (Length(2.0 * a) - backward(b)).level


def compared_from_the_right(a, b):
    return 2.0 * a if Length.made(b) < Short(a) else 3.0 * a


def number_on_the_left(a, b):
    return (number(b) - Length(a)).level + (json.loads("1.5") - Length(a)).level


@pytest.mark.parametrize(
    "f",
    [
        made_on_the_left,
        made_on_the_left_in_a_loop,
        refined_on_the_right,
        compared_from_the_right,
        number_on_the_left,
    ],
)
def test_builtin_of_opaque_call_result_dispatches_to_class(f: Callable[..., float]) -> None:
    """What calls without derivative return was taken for a number, which has no class to ask."""
    for wrt in (0, (0, 1)):
        value, slopes = srcad.value_and_grad(f, wrt=wrt)(0.3, 0.7)
        assert value == f(0.3, 0.7)
        slope = slopes if wrt == 0 else slopes[0]
        step = (f(0.3 + 1e-6, 0.7) - f(0.3 - 1e-6, 0.7)) / 2e-6
        assert slope == pytest.approx(step, rel=1e-6)
    second = srcad.grad(srcad.grad(f, wrt=0), wrt=0)(0.3, 0.7)
    assert second == pytest.approx(0.0, abs=1e-9)


def test_operation_with_opaque_object_rejected_at_call() -> None:
    def f(a):
        return (json.loads("0.5", parse_float=Length) - Short(a)).level

    with pytest.raises(srcad.errors.UnsupportedTypeError, match="operation with a 'Length'"):
        gradient(f, 0.3)
