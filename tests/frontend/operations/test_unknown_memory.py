"""``op=`` of what a call without derivative has returned: whose memory that is, is found out."""

from __future__ import annotations

import functools
import json
import operator
from collections import OrderedDict, deque

import numpy as np
import pytest
import scipy.linalg

from srcad import grad
from srcad.errors import MutationError
from srcad.testing import check_grads
from tests.language import assert_program, named
from tests.numeric import assert_close

X = np.array([0.5, 1.5, 2.5])
HELD = np.array([1.0, 2.0, 3.0])


class Holder:
    """An object that hands out what it holds."""

    weights = np.ones(3)

    def __init__(self, w):
        self.w = w

    @property
    def shown(self):
        return self.w

    def get(self):
        return self.w

    def __add__(self, other):
        return self.w

    @classmethod
    def of_class(cls):
        return cls.weights

    def drawn(self, n):
        return np.random.default_rng(1).normal(size=n)


HOLDER = Holder(np.array([1.0, 2.0, 3.0]))


def same(a):
    return a


def number():
    return 2.0


def count(items):
    return len(items)


def fresh(n):
    return np.ones(n)


def held():
    return HELD


def held_part():
    return HELD[1:]


def held_reshaped():
    return HELD.reshape(3, 1)


def in_dict():
    return {"a": HELD, "n": 3}


@functools.lru_cache
def table(n):
    return np.full(3, float(n))


@pytest.fixture(autouse=True)
def _as_before():
    yield
    HELD[:] = HOLDER.w[:] = 1.0, 2.0, 3.0
    Holder.weights[:] = 1.0
    table.cache_clear()


# ------------------------------------------------------------------------ the same memory
def returned_argument(x):
    a = np.ones(3)
    b = same(a)
    b *= x
    return np.sum(a * x)


def returned_argument_on_one_path(x):
    a = np.ones(3)
    b = same(a) if x[0] > 0 else np.zeros(3)
    b *= x
    return np.sum(a * x)


def returned_by_a_partial(x):
    a = np.ones(3)
    b = functools.partial(same)(a)
    b *= x
    return np.sum(a * x)


def changed_between_two_uses(x):
    a = np.ones(3)
    y = np.sum(np.sin(a) * x)
    b = same(a)
    b *= 2.0
    return y + np.sum(np.sin(a) * x)


def changed_in_a_loop(x):
    a = np.ones(3)
    b = same(a)
    for _ in range(3):
        b *= 1.5
        x = x * a
    return np.sum(x * b)


def fresh_between_two_uses(x):
    b = fresh(3)
    y = np.sum(b * x)
    b *= 2.0
    return y + np.sum(b * x)


def fresh_in_a_loop(x):
    b, y = fresh(3), 0.0
    for _ in range(3):
        y = y + np.sum(b * x)
        b *= 2.0
    return y


def filled_between_two_uses(x):
    a = np.ones(3)
    y = np.sum(a * x)
    b = same(a)
    b.fill(5.0)
    return y + np.sum(a * x)


def sorted_between_two_uses(x):
    a = np.array([3.0, 1.0, 2.0])
    y = np.sum(a * x)
    same(a).sort()
    return y + np.sum(a * x)


def through_a_comprehension(x):
    a = np.ones(3)
    rows = [same(a) for _ in range(2)]
    rows[0] *= x
    return np.sum(rows[1] * x)


def pair(a):
    return a, 2.0


def of_an_unpacked_pair(x):
    a = np.ones(3)
    b, c = pair(a)
    b *= x
    return np.sum(a * x) + c


def of_a_factor_of_the_library(x):
    q, r = scipy.linalg.qr(np.diag([1.0, 2.0, 4.0]))
    r /= 2.0
    return np.sum(r @ x) + np.sum(q @ x)


def by_the_operator_module(x):
    a = np.ones(3)
    b = same(a)
    c = operator.imul(b, x)
    return np.sum(a * x) + np.sum(c)


def by_the_operator_module_through_a_view(x):
    a = x.copy()
    operator.iadd(a[1:], x[1:])
    return np.sum(a * a)


def by_the_operator_module_on_a_list(x):
    items = [x]
    same_items = items
    items = operator.iadd(items, [x * 2.0])
    operator.imul(items, 2)
    return np.sum(same_items[1] * x) * len(same_items)


class Doubling:
    """An object whose call writes into what it is given."""

    def __call__(self, a):
        a *= 2.0


DOUBLING = Doubling()


def by_an_object_that_is_called(x):
    a = np.ones(3)
    y = np.sum(a * x)
    DOUBLING(a)
    return y + np.sum(a * x)


# ------------------------------------------------------------------------ nobody else's
def of_a_number(x):
    n = number()
    m = n
    n *= x[0]
    return np.sum(x * n) * m


def of_a_count(x):
    n = count([1, 2])
    for _ in range(3):
        n += 1
    return np.sum(x) * n


def of_a_fresh_array(x):
    b = fresh(3)
    b *= x
    return np.sum(x * b)


def of_a_fresh_array_by_its_largest(x):
    b = fresh(3)
    b /= b.max()
    return np.sum(x * b)


def of_a_draw_of_a_global_generator(x):
    b = HOLDER.drawn(3)
    b *= 2.0
    b += 1.0
    return np.sum(b * x)


def of_what_was_loaded(x):
    settings = json.loads('{"rate": 0.5, "trips": 3}')
    rate = settings["rate"]
    for _ in range(settings["trips"]):
        x = x * (1 + rate)
        rate *= 0.5
    return np.sum(x)


def of_a_number_in_a_deque(x):
    b = deque([2.0])[0]
    b *= x[0]
    return b * x[1]


def of_a_copy(x):
    b = np.array(in_dict()["a"])
    b *= x
    return np.sum(b * HELD)


def of_a_text(x):
    name = str(count("ab"))
    name += "_x"
    return np.sum(x) * len(name)


@pytest.mark.parametrize(
    **named(
        [
            (returned_argument, X),
            (returned_argument_on_one_path, X),
            (returned_by_a_partial, X),
            (changed_between_two_uses, X),
            (changed_in_a_loop, X),
            (fresh_between_two_uses, X),
            (fresh_in_a_loop, X),
            (filled_between_two_uses, X),
            (sorted_between_two_uses, X),
            (through_a_comprehension, X),
            (of_an_unpacked_pair, X),
            (of_a_factor_of_the_library, X),
            (by_the_operator_module, X),
            (by_the_operator_module_through_a_view, X),
            (by_the_operator_module_on_a_list, X),
            (by_an_object_that_is_called, X),
            (of_a_number, X),
            (of_a_count, X),
            (of_a_fresh_array, X),
            (of_a_fresh_array_by_its_largest, X),
            (of_a_draw_of_a_global_generator, X),
            (of_what_was_loaded, X),
            (of_a_number_in_a_deque, X),
            (of_a_copy, X),
            (of_a_text, X),
        ]
    )
)
def test_in_place_change_visible_through_all_aliases(program):
    f, x = program

    assert_program(f, x)


RNG = np.random.default_rng(0)


def scaled_draw(x):
    b = RNG.normal(size=3)
    b *= x
    return np.sum(b)


def test_global_generator_draw_written_in_place():
    want = np.random.default_rng(0).normal(size=3)

    assert_close(grad(scaled_draw)(X), want)


def changed_alone(x):
    b = held()
    b *= 2.0
    return np.sum(HELD * x)


def test_unused_global_array_written_in_place_as_in_original():
    assert_close(grad(changed_alone)(X), np.array([2.0, 4.0, 6.0]))
    assert_close(HELD, np.array([2.0, 4.0, 6.0]))


# ------------------------------------------------------------------------ nobody knows whose
def of_a_global(x):
    b = held()
    b *= x
    return np.sum(HELD * x)


def of_a_part_of_a_global(x):
    b = held_part()
    b *= x[1:]
    return np.sum(HELD * x)


def of_a_reshaped_global(x):
    b = held_reshaped()
    b *= x[:, None]
    return np.sum(HELD * x)


def of_a_property(x):
    b = HOLDER.shown
    b *= x
    return np.sum(HOLDER.w * x)


def of_a_sum_with_an_object(x):
    b = HOLDER + 1
    b *= x
    return np.sum(HOLDER.w * x)


def of_a_method(x):
    b = HOLDER.get()
    b *= x
    return np.sum(HOLDER.get() * x)


def of_a_class_method(x):
    b = Holder.of_class()
    b *= x
    return np.sum(Holder.weights * x)


def of_an_item_of_a_returned_dict(x):
    b = in_dict()["a"]
    b *= x
    return np.sum(HELD * x)


def of_an_array_in_a_deque(x):
    a = np.ones(3)
    b = deque([a])[0]
    b *= x
    return np.sum(a * x)


def of_an_array_that_was_appended_to_a_deque(x):
    a, items = np.ones(3), deque()
    items.append(a)
    b = items[0]
    b *= x
    return np.sum(a * x)


def of_an_array_in_an_ordered_dict(x):
    items = OrderedDict(a=np.ones(3))
    b = items["a"]
    b *= x
    return np.sum(items["a"] * x)


def at_least_of_one_axis(x):
    b = np.atleast_1d(held())
    b *= x
    return np.sum(HELD * x)


def stored_into_as_an_array(x):
    b = np.asarray(held())
    b[0] = x[0]
    return np.sum(HELD * x)


def written_into_by_out(x):
    b = np.asarray(held())
    np.multiply(b, x, out=b)
    return np.sum(HELD * x)


def on_one_path(x):
    b = held() if x[0] > 0 else np.ones(3)
    b *= x
    return np.sum(HELD * x)


def of_what_is_kept(x):
    t = table(2)
    t += x
    return np.sum(table(2))


def of_every_trip(x):
    y = 0.0
    for _ in range(3):
        b = held()
        b *= 2.0
        y = y + np.sum(b * x)
    return y


def after_it_was_read(x):
    y = np.sum(HELD * x)
    b = held()
    b *= 2.0
    return y


def filled_after_it_was_read(x):
    y = np.sum(HELD * x)
    held().fill(2.0)
    return y


def down(n, b, x):
    if n == 0:
        return np.sum(b * x)
    b *= x
    return down(n - 1, b, x)


def of_a_parameter_of_a_recursion(x):
    a = np.ones(3)
    y = down(2, same(a), x)
    return y + np.sum(a * x)


def of_a_factor_that_was_read(x):
    h, q = scipy.linalg.hessenberg(np.eye(3), calc_q=True)
    y = np.sum(h @ x)
    h /= 2.0
    return y + np.sum(q @ x)


def of_the_next_item(x):
    a = np.ones(3)
    b = next(iter([a]))
    b *= x
    return np.sum(a * x)


@pytest.mark.parametrize(
    "f",
    [
        of_a_global,
        of_a_part_of_a_global,
        of_a_reshaped_global,
        of_a_property,
        of_a_sum_with_an_object,
        of_a_method,
        of_a_class_method,
        of_an_item_of_a_returned_dict,
        of_an_array_in_a_deque,
        of_an_array_that_was_appended_to_a_deque,
        of_an_array_in_an_ordered_dict,
        at_least_of_one_axis,
        stored_into_as_an_array,
        written_into_by_out,
        on_one_path,
        of_what_is_kept,
        of_every_trip,
        after_it_was_read,
        filled_after_it_was_read,
        of_a_parameter_of_a_recursion,
        of_a_factor_that_was_read,
        of_the_next_item,
    ],
)
def test_in_place_change_of_possibly_shared_array_rejected(f):
    with pytest.raises(MutationError):
        grad(f)(X)
    assert HELD[0] == HOLDER.w[0] == Holder.weights[0] == 1.0


def of_a_factor_of_a_function_with_a_rule(x):
    q, r = scipy.linalg.qr(np.eye(3))
    y = np.sum(r @ x)
    r /= 2.0
    return y + np.sum(q @ r @ x)


def test_in_place_change_of_new_factor_differentiated():
    check_grads(of_a_factor_of_a_function_with_a_rule, [X])


def rows():
    return [HELD, HELD]


def each_row(x):
    for row in rows():
        row *= x
    return np.sum(HELD * x)


def test_in_place_change_of_rows_from_opaque_call_rejected():
    with pytest.raises(MutationError):
        grad(each_row)(X)
