"""A statement that fails half-way: what it has bound or written before that is there afterwards."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcad import errors, grad
from srcad.testing import check_grads
from tests.language import assert_program, named

V = np.array([0.3, 0.7, 1.1, 0.5])


# ------------------------------------------------------------------------------ names
def walrus_is_bound(x):
    a = x[0]
    try:
        x[1] = (a := 2 * a) + math.sqrt(-1.0)
    except ValueError:
        pass
    return a + np.sum(x)


def target_of_a_call_is_bound(x):
    def pair(v):
        return 2 * v, v

    a = x[0]
    try:
        a, x[7] = pair(a)
    except IndexError:
        pass
    return a + np.sum(x)


def walrus_in_a_test_is_bound(x):
    a = x[0]
    try:
        if (a := 2 * a) + math.sqrt(-1.0) > 0:
            return a
    except ValueError:
        pass
    return a * x[1]


def walrus_in_a_comprehension_is_bound(x):
    a, y = x[0], [x[1]]
    try:
        y = [(a := 2 * a) + math.sqrt(0.7 - v) for v in x]
    except ValueError:
        pass
    return a * x[1] + sum(y)


# ------------------------------------------------------------------------------ arrays
def put_writes_what_comes_first(x):
    try:
        np.put(x, [0, 9], 5.0)
    except IndexError:
        pass
    return np.sum(x * x)


def method_put_writes_what_comes_first(x):
    try:
        x.put([0, 9], 5.0)
    except IndexError:
        pass
    return np.sum(x * x)


def flat_writes_what_comes_first(x):
    try:
        x.flat[[0, 9]] = 5.0
    except IndexError:
        pass
    return np.sum(x * x)


def arithmetic_raises_after_the_write(x):
    try:
        with np.errstate(all="raise"):
            x *= 1e-310
    except FloatingPointError:
        pass
    return np.sum(x)


def places_in_a_helper_that_fails_later(x):
    def half(y):
        np.multiply.at(y, [0, 0], x[1])
        return y[9]

    z = x[3]
    try:
        z = half(x)
    except IndexError:
        pass
    return z * np.sum(x)


def places_under_errstate(x):
    try:
        with np.errstate(all="raise"):
            np.multiply.at(x, [0, 1, 1], 1e-310)
    except FloatingPointError:
        x *= 2
    return np.sum(x * x)


REFUSED = [
    places_in_a_helper_that_fails_later,
    places_under_errstate,
    walrus_is_bound,
    target_of_a_call_is_bound,
    walrus_in_a_test_is_bound,
    walrus_in_a_comprehension_is_bound,
    put_writes_what_comes_first,
    method_put_writes_what_comes_first,
    flat_writes_what_comes_first,
    arithmetic_raises_after_the_write,
]


@pytest.mark.parametrize("f", REFUSED)
def test_partial_write_before_exception_rejected(f: Callable[..., Any]) -> None:
    with pytest.raises(errors.MutationError, match=r"is written when|after a failure") as caught:
        grad(f)(V)

    assert "test_failing_statements.py:" in str(caught.value)


# ------------------------------------------------------------------------------ what can be told
def bound_last(x):
    a = b = x[0]
    try:
        a, b = x[1] * 2, math.sqrt(x[0] - x[1])
    except ValueError:
        pass
    return a * b


def walrus_that_nobody_reads_later(x):
    y = x[0]
    try:
        y = (w := 2 * y) * w + math.sqrt(x[0] - x[1])
    except ValueError:
        y = y * x[2]
    return y


def walrus_before_what_cannot_fail(x):
    a = float(x[0])
    y = 1.0
    try:
        y = (a := 2.0 * a) + a
        y = y + math.sqrt(-a)
    except ValueError:
        pass
    return a * y


def list_of_values_first(x):
    items = [x[0]]
    try:
        items.extend([math.sqrt(v - 0.6) for v in (x[2], x[1], x[0])])
    except ValueError:
        pass
    return sum(items)


def one_place_or_none(x):
    try:
        np.put(x, 9, 5.0)
    except IndexError:
        x *= 2.0
    return np.sum(x * x)


def many_places_or_none(x):
    try:
        x[[0, 9]] = 5.0
    except IndexError:
        x *= 2.0
    return np.sum(x * x)


def value_of_a_manager_fails(x):
    a = x[0]
    try:
        with contextlib.nullcontext(x[9]) as a:
            a = a * 2
    except IndexError:
        a = a * 3
    return a * x[1]


def view_after_a_loop_that_failed(x):
    v = x[::-1]
    try:
        for k in range(4):
            v[k + 1] *= 2.0
    except IndexError:
        v *= x[1]
    return np.sum(x * x)


# ------------------------------------------------------------------------------ several targets
def first_target_is_bound(x):
    a = x[0]
    try:
        a, x[7] = 2 * a, 3.0
    except IndexError:
        pass
    return a + np.sum(x)


def chained_target_is_bound(x):
    a = x[0]
    try:
        a = x[7] = 2 * a
    except IndexError:
        pass
    return a + np.sum(x)


def name_of_an_earlier_trip(x):
    a, y = x[0], 0.0
    for k in range(3):
        y = y + a
        try:
            a, x[k + 2] = 2 * a, a
        except IndexError:
            y = y * 2
    return y


def swapped(x):
    try:
        x[0], x[1] = x[1], x[0]
        x[0] = x[5]
    except IndexError:
        x[2] *= x[1]
    return np.sum(x * x * x[0])


def swapped_in_a_loop(x):
    a = x[0]
    for k in range(4):
        try:
            x[k], x[k + 2] = a * x[k + 1], x[k]
        except IndexError:
            a = a * x[k]
    return a * np.sum(x * x)


def nested_targets(x):
    b, items = x[0], [x[0], x[1]]
    try:
        (b, items[0]), x[6] = (x[2], x[3]), b
    except IndexError:
        pass
    return b * sum(items) + np.sum(x)


def targets_that_are_views(x):
    v = x[::-1]
    try:
        v[0], x[0], v[4] = x[0], v[1], x[1]
    except IndexError:
        v *= x[0]
    return np.sum(x * x)


def rows_swapped(x):
    m = np.outer(x, x)
    try:
        m[0], m[1], m[7] = m[1], m[0], m[0]
    except IndexError:
        m[2] = x
    return np.sum(m * m)


def value_fails_before_all_targets(x):
    try:
        x[0], x[1] = x[1] * 2, math.sqrt(-x[0])
    except ValueError:
        x *= x[0]
    return np.sum(x * x)


def index_that_the_statement_binds(x):
    i = 0
    try:
        i, x[i] = 2, x[3] * 5
        i, x[i + 7] = 1, 2.0
    except IndexError:
        x[i] = x[1]
    return np.sum(x * x)


# ------------------------------------------------------------------------------ ufunc.at
def no_place_is_written(x):
    try:
        np.multiply.at(x, [0, 9], 5.0)
    except IndexError:
        x *= 2.0
    return np.sum(x * x)


def no_entry_is_written(x):
    m = np.outer(x, x)
    try:
        np.multiply.at(m, ([0, 1, 7], [0, 1, 1]), 2.0)
    except IndexError:
        m[0] = x
    return np.sum(m * m)


def no_place_for_so_few_values(x):
    try:
        np.multiply.at(x, [0, 1, 2], x[:2])
    except ValueError:
        x *= 2.0
    return np.sum(x * x)


def places_are_written_before_a_failure(x):
    a = x[1]
    try:
        np.multiply.at(x, np.array([0, 1, 0]), x[:3] * 2)
        a = a * x[4]
    except IndexError:
        a = x[0] * a
    return np.sum(x * x) * a


def places_in_a_loop(x):
    v = x[::-1]
    try:
        for k in range(4):
            np.multiply.at(v, [k, 0, k + 1], x[0])
    except IndexError:
        v *= x[1]
    return np.sum(x * v * v)


TOLD = [
    view_after_a_loop_that_failed,
    first_target_is_bound,
    chained_target_is_bound,
    name_of_an_earlier_trip,
    swapped,
    swapped_in_a_loop,
    nested_targets,
    targets_that_are_views,
    rows_swapped,
    value_fails_before_all_targets,
    index_that_the_statement_binds,
    no_place_is_written,
    no_entry_is_written,
    no_place_for_so_few_values,
    places_are_written_before_a_failure,
    places_in_a_loop,
    bound_last,
    walrus_that_nobody_reads_later,
    walrus_before_what_cannot_fail,
    list_of_values_first,
    one_place_or_none,
    many_places_or_none,
    value_of_a_manager_fails,
]


@pytest.mark.parametrize(**named([(f, V) for f in TOLD]))
def test_atomic_statement_that_may_raise_gradient(program: tuple[Any, ...]) -> None:
    assert_program(*program)


# -------------------------------------------------------------------- return, then finally
def a_return_in_one_attempt(x):
    c = x[0]
    try:
        a = {0: 0.4, 1: 0.9}[int(x[1] > 5)]
        return c * a
    except KeyError:
        c = 0.6 * c
    finally:
        c = np.tanh(c)
    return c


def a_return_in_a_loop(x):
    c = x[0]
    y = x * 1.0
    for k in range(3):
        try:
            if x[k] > 0.5:
                return y[0] * c
            c = c * x[k]
        finally:
            y[0] = np.sin(c) * y[1]
            c = c + 1.0
    return c * y[0]


def every_way_out_of_a_loop(x):
    c = x[0]
    d = 0.0
    for k in range(4):
        try:
            if x[k] < -0.9:
                return d * c
            if x[k] > 1.0:
                continue
            if x[k] < 0.0 and k > 2:
                break
            c = c * x[k]
        except ValueError:
            return c
        finally:
            d = d + c
            if k > 2 and x[k] > 3:
                return d
    return c * d


def a_clause_that_writes_into_what_others_see(x):
    out = []

    def g(v):
        try:
            return v * out[-1] if out else v
        finally:
            out.append(v)

    a = g(x[0])
    b = g(x[1])
    return a + b + sum(out)


RETURNS = (
    a_return_in_one_attempt, a_return_in_a_loop, every_way_out_of_a_loop,
    a_clause_that_writes_into_what_others_see,
)  # fmt: skip


@pytest.mark.parametrize("f", RETURNS, ids=lambda f: f.__name__)
def test_finally_block_sees_assignments_before_return(f):
    # After a `return` every name was taken for dead: the clause read None.
    for x in ([1.2, -0.8, -0.7], [0.3, 0.4, 0.2], [0.3, 0.4, 0.6], [0.3, -0.4, 1.6]):
        check_grads(f, (np.array([*x, -0.1]),), order=1)
