"""Functions with a cache: read through it where nobody can tell, and refused elsewhere."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from srcad import grad
from srcad.errors import SrcadError
from tests.language import assert_program, named

X = np.array([0.5, 1.5, 2.5])
RNG = np.random.default_rng(0)
COUNTS = {"n": 0}
CACHED = []


def cached(function):
    made = functools.lru_cache(maxsize=None)(function)
    CACHED.append(made)
    return made


@pytest.fixture(autouse=True)
def _emptied():
    yield
    COUNTS["n"] = 0
    for function in CACHED:
        function.cache_clear()


@cached
def table(n):
    return np.full(3, float(n))


@cached
def counted(n):
    COUNTS["n"] += 1
    return float(COUNTS["n"])


@cached
def square(x):
    return x * x


@cached
def with_a_helper(x):
    return x * helper(3)


def helper(n):
    return 2.0 * n


@cached
def with_arrays(x):
    out = np.zeros(3)
    out[1] = x
    return np.sum(out * out)


@cached
def array_of(x):
    return np.full(3, x)


@cached
def pair_of(x):
    return x, x * x


@cached
def list_of(x):
    return [x, x]


@cached
def dict_of(x):
    return {"a": x}


@cached
def fibonacci(n, x):
    return x if n < 2 else fibonacci(n - 1, x) + fibonacci(n - 2, x) * x


@cached
def drawn(x):
    return x * RNG.normal()


@cached
def printed(x):
    print(end="")
    return x * 2.0


@cached
def tallied(x):
    COUNTS["n"] += 1
    return x * COUNTS["n"]


@cached
def printed_on_the_way_down(n, x):
    if n < 1:
        return x
    print(end="")
    return printed_on_the_way_down(n - 1, x) * x


RATE = 2.0


@cached
def at_a_rate(x):
    return RATE * x


def through_a_rate(x):
    return at_a_rate(x)


def test_cached_function_uses_current_global(monkeypatch):
    g = grad(through_a_rate)
    before = g(3.0)

    monkeypatch.setitem(globals(), "RATE", 7.0)

    assert (before, g(3.0)) == (2.0, 7.0)


def test_cached_function_uses_current_code():
    made = functools.lru_cache(lambda x: 2.0 * x)
    g = grad(lambda x: made(x))
    before = g(3.0)

    made.__wrapped__.__code__ = (lambda x: 7.0 * x).__code__

    assert (before, g(3.0)) == (2.0, 7.0)


class Tally:
    def __init__(self):
        self.n = 0

    @functools.lru_cache  # noqa: B019 - it is what is tested
    def square(self, x):
        return x * x

    @functools.lru_cache  # noqa: B019 - it is what is tested
    def counted(self, x):
        self.n += 1
        return x * self.n


# ------------------------------------------------------------------------ nobody can tell
def without_a_derivative(x):
    return np.sum(table(2) * x) * counted(1) * counted(1)


def the_same_object(x):
    return np.sum(x) * (2.0 if table(2) is table(2) else 5.0)


def changed_before_it_is_read(x):
    t = table(2)
    t += 1.0
    return np.sum(table(2) * x) - np.sum(t)


def twice(x):
    return square(x[0]) * square(x[0]) + square(x[1])


def through_a_helper(x):
    return with_a_helper(x[0]) * x[1]


def through_arrays(x):
    return with_arrays(x[0]) * x[1]


def reading_an_array(x):
    return np.sum(array_of(x[0]) * x)


def copying_an_array(x):
    a = array_of(x[0]).copy()
    a *= x
    return np.sum(a * array_of(x[0]))


def unpacking(x):
    a, b = pair_of(x[0])
    return a * b * pair_of(x[0])[1]


def reading_a_dict(x):
    return dict_of(x[0])["a"] * sum(list_of(x[1]))


def recursing(x):
    return fibonacci(6, x[0])


def of_an_object_made_here(x):
    return Tally().square(x[0]) * x[1]


def local(x):
    @functools.lru_cache
    def at(k):
        return x[k] * x[k]

    return at(0) * at(1) + at(0)


def local_and_recursive(x):
    @functools.lru_cache(maxsize=None)
    def power(k):
        return x[0] if k < 1 else power(k - 1) * x[1]

    return power(4)


@pytest.mark.parametrize(
    **named(
        [
            (without_a_derivative, X),
            (the_same_object, X),
            (twice, X),
            (through_a_helper, X),
            (through_arrays, X),
            (reading_an_array, X),
            (copying_an_array, X),
            (unpacking, X),
            (reading_a_dict, X),
            (recursing, X),
            (of_an_object_made_here, X),
            (local, X),
            (local_and_recursive, X),
        ]
    )
)
def test_cache_of_pure_function_transparent(program):
    assert_program(*program)


def test_cached_array_written_in_place_as_in_original():
    grad(changed_before_it_is_read)(X)

    assert np.array_equal(table(2), [3.0, 3.0, 3.0])


# ------------------------------------------------------------------------ somebody can
def drawing(x):
    return drawn(x[0]) - drawn(x[0])


def printing(x):
    return printed(x[0]) * printed(x[0])


def printing_in_a_recursion(x):
    return printed_on_the_way_down(3, x[0]) * printed_on_the_way_down(3, x[0])


def counting(x):
    return tallied(x[0]) * tallied(x[0])


def counting_in_an_object(x):
    tally = Tally()
    return tally.counted(x[0]) * tally.counted(x[0])


def counting_around(x):
    count = [0]

    @functools.lru_cache
    def at(k):
        count[0] += 1
        return x[k] * count[0]

    return at(0) * at(0)


def growing_a_list(x):
    items = list_of(x[0])
    items.append(x[1])
    return sum(list_of(x[0]))


def changing_a_dict(x):
    d = dict_of(x[0])
    d["a"] = d["a"] * x[1]
    return dict_of(x[0])["a"]


def changing_an_array(x):
    a = array_of(x[0])
    a *= x[1]
    return np.sum(array_of(x[0]))


def changing_a_view(x):
    a = array_of(x[0])[1:]
    a[0] = x[1]
    return np.sum(array_of(x[0]))


def changing_a_table(x):
    t = table(2)
    t += x
    return np.sum(table(2))


def changing_what_a_local_one_holds(x):
    @functools.lru_cache
    def ones(n):
        return np.ones(n)

    a = ones(3)
    a *= x
    return np.sum(ones(3))


def comparing_by_identity(x):
    return x[0] * (2.0 if list_of(x[0]) is list_of(x[0]) else 5.0)


@pytest.mark.parametrize(
    "f",
    [
        drawing,
        printing,
        printing_in_a_recursion,
        counting,
        counting_in_an_object,
        counting_around,
        growing_a_list,
        changing_a_dict,
        changing_an_array,
        changing_a_view,
        changing_a_table,
        changing_what_a_local_one_holds,
        comparing_by_identity,
    ],
)
def test_observable_cache_rejected(f):
    with pytest.raises(SrcadError):
        grad(f)(X)


def given_an_array(x):
    return np.sum(square(x))


def given_a_list(x):
    return square([x[0]])


@pytest.mark.parametrize("f", [given_an_array, given_a_list])
def test_unhashable_argument_of_cached_function_type_error(f):
    with pytest.raises(TypeError) as plain:
        f(X)
    with pytest.raises(TypeError) as ours:
        grad(f)(X)
    assert str(ours.value) == str(plain.value)
