"""What a function reaches outside itself is asked for anew by every call of its gradient."""

from __future__ import annotations

import enum
import functools
import pathlib
import sys
import types
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from srcad import grad, gradient
from tests.numeric import assert_gradient

X = np.array([0.4, 0.9])


class Mode(enum.Enum):
    FAST = 2.0
    SLOW = 3.0


class Flags(enum.Flag):
    A = 1
    B = 2


class Thing:
    """Objects that are what they are: equal only to themselves."""

    rate = 2.0

    def __init__(self, size):
        self.size = size

    def own_rate(self):
        return type(self).rate


class Number:
    """Objects that say themselves what they are equal to, and what number they are."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Number) and self.value == other.value

    def __hash__(self):
        return hash(self.value)

    def __lt__(self, other):
        return self.value < other.value

    def __float__(self):
        return float(self.value)

    def __int__(self):
        return self.value

    def __call__(self, v):
        return v * self.value


class Counting(type):
    """A class of classes."""

    @property
    def rate(cls):
        return STATE["rate"]


class Counted(metaclass=Counting):
    limit = 2.0


class Pair(NamedTuple):
    """Objects that are made inside, and read what is outside."""

    first: float

    def scaled(self):
        return self.first * STATE["rate"]


FIRST, SECOND = Thing(2), Thing(3)
MODES = [Mode.FAST]
ONE, HELD = Number(2), Number(2)
NUMBERS = {"all": [{"one": HELD}]}
STATE: dict[str, Any] = {}


def start() -> None:
    """Set everything as it is before the first call."""
    global mode, flags, thing, number, fraction, path, steps, function
    mode, flags, thing, number = Mode.FAST, Flags.A, FIRST, Number(2)
    fraction, path, steps, function = Fraction(1, 2), pathlib.PurePath("a"), range(2), np.sin
    STATE["rate"], Thing.rate, Counted.limit = 2.0, 2.0, 2.0
    MODES[0], HELD.value = Mode.FAST, 2
    OUTSIDE.rate, OUTSIDE.scaled = 2.0, lambda v: 2 * v
    vars(OUTSIDE).pop("late", None)
    for name in ("defined_late", "abs"):
        globals().pop(name, None)


def change() -> None:
    """Change everything that `start` has set."""
    global mode, flags, thing, fraction, path, steps, function, defined_late, abs
    mode, flags, thing, number.value = Mode.SLOW, Flags.B, SECOND, 3
    fraction, path, steps, function = Fraction(1, 4), pathlib.PurePath("bb"), range(3), np.cos
    STATE["rate"], Thing.rate, Counted.limit = 3.0, 3.0, 3.0
    MODES[0], HELD.value = Mode.SLOW, 3
    OUTSIDE.rate, OUTSIDE.scaled, OUTSIDE.late = 3.0, (lambda v: 3 * v), 5.0
    defined_late = 4.0

    def abs(v):
        return 7.0


OUTSIDE = types.ModuleType("outside_of_functions")


# ------------------------------------------------------------------------- imports inside
def imported_name(x):
    from outside_of_functions import rate

    return rate


def imported_module(x):
    import outside_of_functions as settings

    return settings.rate


def imported_function(x):
    from outside_of_functions import scaled

    return scaled(1.5)


def called_import(x):
    return __import__("outside_of_functions").rate


def imported_if_it_is_there(x):
    try:
        from outside_of_functions import late
    except ImportError:
        late = 0.5
    return late


# ------------------------------------------------------------- names that are not there yet
def defined_later(x):
    try:
        return defined_late
    except NameError:
        return 0.5


def builtin_until_redefined(x):
    return abs(-2.0)


# -------------------------------------------------------------------------- which object
def the_same_member(x):
    return 2.0 if mode is Mode.FAST else 3.0


def an_equal_member(x):
    return 2.0 if mode == Mode.FAST else 3.0


def another_member(x):
    return 2.0 if mode != Mode.FAST else 3.0


def one_of_some_members(x):
    return 2.0 if mode in (Mode.FAST, None) else 3.0


def one_of_a_set(x):
    return 2.0 if mode in {Mode.FAST} else 3.0


def one_of_a_set_of_objects(x):
    return 2.0 if FIRST in {thing} else 3.0


def how_many_objects(x):
    return 1.0 * len({FIRST, thing})


def how_many_of_a_list(x):
    return 1.0 + [thing].count(FIRST) + 2.0 * (thing, SECOND).count(FIRST)


def place_of_an_object(x):
    return 2.0 + [thing, SECOND, FIRST].index(SECOND)


def one_object_on_either_path(x):
    chosen = FIRST if x[0] > 100 else thing
    return chosen.size


def one_object_before_a_loop_and_after_it(x):
    chosen = FIRST
    for _ in range(2):
        chosen = thing
    return chosen.size


def one_object_in_some_trips(x):
    chosen = FIRST
    for v in x:
        if v > 0.5:
            chosen = thing
    return chosen.size


def by_member(x):
    return {Mode.FAST: 2.0, Mode.SLOW: 3.0}[mode]


def matched_member(x):
    match mode:
        case Mode.FAST:
            return 2.0
        case _:
            return 3.0


def place_of_a_member(x):
    place = 1.0
    for member in Mode:
        if member is mode:
            break
        place = place + 1.0
    return place


def table_of_members(x):
    return {member: 2.0 * member.value for member in Mode}[mode]


def a_flag(x):
    return 2.0 if flags == Flags.A else 3.0


def the_same_object(x):
    return 2.0 if thing is FIRST else 3.0


def not_the_same_object(x):
    return 2.0 if thing is not FIRST else 3.0


def an_equal_object(x):
    return 2.0 if thing == FIRST else 3.0


def by_object(x):
    return {FIRST: 2.0, SECOND: 3.0}[thing]


def the_same_function(x):
    return 2.0 if function is np.sin else 3.0


# -------------------------------------------------------------------------- what it says
def equal_as_it_says(x):
    return 2.0 if number == ONE else 3.0


def among_equals(x):
    return 2.0 if number in (ONE,) else 3.0


def less_as_it_says(x):
    return 2.0 if ONE < number else 3.0


def as_a_float(x):
    return float(number)


def as_an_int(x):
    return int(number) * 1.5


def of_another_class_of_numbers(x):
    return float(fraction)


def in_a_text(x):
    return len(f"{path}") * 1.5


def sum_of_a_range(x):
    return sum(steps) + 1.0


# ------------------------------------------------------------------------- what is in lists
def member_of_a_list(x):
    return MODES[0].value


def object_of_a_list(x):
    return float(NUMBERS["all"][0]["one"])


# ---------------------------------------------------------------------------- its class
def method_of_what_is_made_here(x):
    return Pair(x[0]).scaled()


def what_its_type_holds(x):
    return type(thing).rate


def what_its_type_holds_in_a_method(x):
    return Thing(1).own_rate()


def what_a_base_holds(x):
    return type(thing).__mro__[0].rate


def what_a_class_of_classes_says(x):
    return Counted.rate


def what_such_a_class_holds(x):
    return Counted.limit


FACTORS = [
    imported_name,
    imported_module,
    imported_function,
    called_import,
    imported_if_it_is_there,
    defined_later,
    builtin_until_redefined,
    the_same_member,
    an_equal_member,
    another_member,
    one_of_some_members,
    one_of_a_set,
    one_of_a_set_of_objects,
    how_many_objects,
    how_many_of_a_list,
    place_of_an_object,
    one_object_on_either_path,
    one_object_before_a_loop_and_after_it,
    one_object_in_some_trips,
    by_member,
    matched_member,
    place_of_a_member,
    table_of_members,
    a_flag,
    the_same_object,
    not_the_same_object,
    an_equal_object,
    by_object,
    the_same_function,
    equal_as_it_says,
    among_equals,
    less_as_it_says,
    as_a_float,
    as_an_int,
    of_another_class_of_numbers,
    in_a_text,
    sum_of_a_range,
    member_of_a_list,
    object_of_a_list,
    method_of_what_is_made_here,
    what_its_type_holds,
    what_its_type_holds_in_a_method,
    what_a_base_holds,
    what_a_class_of_classes_says,
    what_such_a_class_holds,
]


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, OUTSIDE.__name__, OUTSIDE)
    start()
    yield
    start()


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize("factor", FACTORS, ids=lambda f: f.__name__)
def test_external_state_change_detected(factor: Callable[[Any], float]) -> None:
    def f(x):
        return np.sum(x * x) * factor(x)  # it is read, as it might make something of `x`

    before = f(X)
    assert_gradient(gradient, f, X)

    change()

    assert f(X) != before
    assert_gradient(gradient, f, X)


def same_as_first(x, thing):
    return np.sum(x * x) * (2.0 if thing is FIRST else 3.0)


def test_argument_identity_checked_on_each_call() -> None:
    for thing in (FIRST, SECOND, FIRST, Thing(2)):
        assert_gradient(gradient, functools.partial(same_as_first, thing=thing), X)


def twice(v):
    return 2 * v


def thrice(v):
    return 3 * v


def calls(x, function):
    return np.sum(x * function(x))


def test_changed_code_of_function_argument_detected(monkeypatch) -> None:
    np.testing.assert_allclose(grad(calls)(X, twice), 4 * X)

    monkeypatch.setattr(twice, "__code__", thrice.__code__)  # as reloading a module does

    np.testing.assert_allclose(grad(calls)(X, twice), 6 * X)


def test_closure_variable_assigned_after_definition() -> None:
    def f(x):
        return late * x

    slope = grad(f)
    with pytest.raises(NameError, match="cannot access free variable 'late'"):
        slope(1.0)
    late = 3.0
    assert slope(1.0) == 3.0


# ----------------------------------------------------------------- what is never reached
def with_a_module_that_is_not_there(x):
    try:
        import no_such_module as arrays
    except ImportError:
        arrays = np
    return arrays.sum(arrays.sin(x))


def with_an_attribute_that_is_not_there(x):
    try:
        total = np.no_such_function
    except AttributeError:
        total = np.sum
    return total(x * x)


def without_its_argument(v):
    return v


def with_wrong_calls_behind_a_loop(x):
    for _ in range(2):
        return np.sum(x * x)
    without_its_argument()
    without_its_argument(x, x)
    without_its_argument(w=x)
    return without_its_argument(x, v=x)


def with_wrong_constants(x):
    if x[0] > 100:
        return len(3) + ~1.5 + isinstance(x, 3) + functools.reduce(max, [])
    return np.sum(x * x)


@pytest.mark.parametrize(
    "f",
    [
        with_a_module_that_is_not_there,
        with_an_attribute_that_is_not_there,
        with_wrong_calls_behind_a_loop,
        with_wrong_constants,
    ],
)
def test_external_lookup_error_raised_only_when_reached(f: Callable[..., Any]) -> None:
    assert_gradient(gradient, f, X)


OPTIONS: dict[str, Any] = {}
AXES: tuple[int, ...] = ()
NAMES: list[str] = []


def with_options(x):
    return np.sum(np.sum(x, **OPTIONS) ** 2)


def with_axes(x):
    return np.sum(np.sum(x, *AXES) ** 2)


def with_default(x, axis=None):
    return np.sum(np.sum(x, axis) ** 2)


def with_options_of_own(x):
    return with_default(x, **OPTIONS)


def with_count(x):
    return np.sum(x) * (1 + len(NAMES)) + (np.sum(x**2) if NAMES else 0.0)


@pytest.mark.parametrize("f", [with_options, with_axes, with_options_of_own, with_count])
def test_empty_container_outside_replaced_by_another(f, monkeypatch):
    x = np.arange(6.0).reshape(2, 3) + 0.5
    assert_gradient(gradient, f, x)

    monkeypatch.setitem(f.__globals__, "OPTIONS", {"axis": 0})
    monkeypatch.setitem(f.__globals__, "AXES", (0,))
    monkeypatch.setitem(f.__globals__, "NAMES", ["a"])

    assert_gradient(gradient, f, x)


def test_default_that_is_given_is_no_input():
    def scaled(x, scale=np.ones(2)):  # noqa: B008
        return np.sum(scale * x)

    def f(x):
        return scaled(x, 3.0)

    g = grad(f)

    assert np.array_equal(g(X), [3.0, 3.0])
    assert "def grad_f(x):" in g.source
