"""Names that show one array on one path and another on the other, written into afterwards."""

import json

import numpy as np
import pytest

import srcad
from srcad.errors import MutationError
from tests.language import assert_program, named

X = np.array([0.3, 0.7, -0.4])
TESTS = [
    np.array(c) for c in ([1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0])
]
TABLE = np.ones(3)


def one_or_the_other(x, c):
    y = x * 2.0
    z = y if c[0] > 0 else x
    z += 0.5
    z[0] = 3.0 * z[1]
    return np.sum(y * y) + np.sum(x**3) + np.sum(z * x)


def fresh_on_every_path(x, c):
    if c[0] > 0:
        g = np.sin(x)
    elif c[1] > 0:
        g = np.cos(x)
    else:
        g = x * 1.0
    g[::2] *= x[0]
    return np.sum(g * g)


def chosen_within_a_choice(x, c):
    y = x * 2.0
    if c[0] > 0:
        if c[1] > 0:
            z = y
        else:
            z = x
    else:
        z = np.exp(x)
    z *= x[1]
    y[1] += 0.3
    z[2] = 0.1 * z[0]
    return np.sum(y * y) + np.sum(x**3) + np.sum(z * x)


def a_view_of_the_choice(x, c):
    y = x * 2.0
    z = y[1:] if c[0] > 0 else x
    y *= x[2]
    w = z[:1]
    z[0] *= 2.0
    return np.sum(y * y) + np.sum(x**3) + np.sum(z * x[0]) + w[0]


def a_number_or_an_array(x, c):
    t = -x[0] if c[0] > 0 else x * 1.5
    u = t
    t += 0.5
    return np.sum(u * x) + np.sum(t * t)


def chosen_in_every_trip(x, c):
    y = x * 2.0
    for k in range(3):
        z = y if c[k] > 0 else x
        z[k] *= 2.0 + y[1]
        y[0] += z[1]
    return np.sum(y * y) + np.sum(x**3)


def bound_on_one_path(x, c):
    y = x * 2.0
    if c[0] > 0:
        z = y
    y[1] = y[0] * y[2]
    if c[0] > 0:
        z[0] = 2.0 * x[1]
    return np.sum(y * y) + np.sum(x**3)


def skipped_trips(x, c):
    y = x * 2.0
    for k in range(3):
        if c[k] < 0:
            continue
        z = y
        z[k] *= x[0]
    return np.sum(y * y) + np.sum(x**3)


def a_trip_returns(x, c):
    y = x * 2.0
    rows = y.reshape(3, 1)
    for k in range(3):
        if c[k] < -0.5 and k > 0:
            return np.sum(y * x) * y[0]
        rows[k] *= x[0]
    y[1] *= rows[2, 0]
    return np.sum(y * y)


def left_before_a_view_is_taken_anew(x, c):
    views = [x[::2]]
    if len(x):
        if c[0] > 0:
            if c[1] > 0:
                x[0] = 3.0 * x[1]
            else:
                return np.sum(x * x)
        else:
            x[2] = x[0]
    return np.sum(views[0] ** 2) + x[1]


def tried(x, c):
    y, z = x * 2.0, x * 3.0
    try:
        z = y
        y[0] *= x[1]
        if c[0] > 0:
            raise ValueError("no")
        y[1] *= x[0]
    except ValueError:
        z[2] = 4.0 * x[0]
    z[1] += y[2]
    return np.sum(y * z)


PROGRAMS = [
    one_or_the_other, fresh_on_every_path, chosen_within_a_choice, a_view_of_the_choice,
    a_number_or_an_array, chosen_in_every_trip, bound_on_one_path, skipped_trips, a_trip_returns,
    tried, left_before_a_view_is_taken_anew,
]  # fmt: skip


@pytest.mark.parametrize(**named([(f, X, c) for f in PROGRAMS for c in TESTS]))
def test_write_through_conditional_alias(program):
    assert_program(*program)


def writes_into_a_table_in_a_loop(x):
    y = TABLE
    for k in range(2):
        y[k] = x[k]
        y = y * 1.0
    return np.sum(y * x)


def writes_into_a_table_on_one_path(x):
    y = TABLE if x[0] > 0 else x * 2.0
    y[1] = x[0]
    return np.sum(y * x)


@pytest.mark.parametrize("f", [writes_into_a_table_in_a_loop, writes_into_a_table_on_one_path])
def test_write_into_conditionally_external_array_rejected(f):
    # In a loop the write was once read as one into an array of the function's own.
    with pytest.raises(MutationError, match="from outside the function"):
        srcad.grad(f)(X)
    assert np.array_equal(TABLE, np.ones(3))


def an_item_of_a_list_that_grows(x, c):
    rows = []
    for k in range(3):
        rows.append(np.sin(x) * c[k])
    g = rows[-1]
    for _ in range(2):
        np.exp(g[1:] * 0.1, out=g[::2])
    return np.sum(g * g) * x[0]


def a_copy_of_a_transposed_view(x, c):
    m = np.outer(x, c)
    s = np.swapaxes(m, 0, 1)
    s[1:-1] += 0.2 * s[2:]
    h = s.ravel()
    h -= x[1]
    return np.sum(s * m) + np.sum(h * h)


def numbers_by_key(x, c):
    table, total, k = {0: x[0], 1: 0.9, 2: np.sin(x[1])}, 0.0, 0
    while k < 3:
        total = total * table[k] + x[k] * c[k]
        k += 1
    return total * x[2]


def a_key_that_is_missing(x, c):
    table, total = {0: x[0], 1: 0.9}, 0.0
    for k in range(len(x)):
        try:
            total += table[k] * x[k]
        except KeyError as error:
            total *= x[1] * error.args[0]
    return total * c[0]


def no_trip_at_all(x, c):
    y = x
    for k in range(3, 1):
        y = np.cos(y) * k
        y.nonsense()
    y[0] *= c[1]
    return np.sum(x * x)


def an_item_or_an_argument(x, c):
    rows = []
    for k in range(3):
        rows.append(np.sin(x) * k)
    a = rows[-1]  # which of them is not asked: once read without end
    z = a if c[1] > 0 else x
    z[0] *= 2.0
    return np.sum(z * z)


MORE = [
    an_item_or_an_argument,
    an_item_of_a_list_that_grows, a_copy_of_a_transposed_view, numbers_by_key,
    a_key_that_is_missing, no_trip_at_all,
]  # fmt: skip


@pytest.mark.parametrize(**named([(f, X, TESTS[1]) for f in MORE]))
def test_conditional_alias_resolved_at_runtime(program):
    assert_program(*program)


def rows_of_a_loop(x, c):
    m = np.outer(x, c)
    if c[0] > 0:
        for _ in range(1):
            np.putmask(m, np.arange(9).reshape(m.shape) > 3, m * 0.5)
        m.fill(x[1])
    t = m.T.reshape(-1)
    np.copyto(m, np.sin(m))
    np.put(t, np.array([5, 0]), x[0])
    return np.sum(m * m * m) + np.sum(t * t)


def perhaps_bound_in_a_loop(x, c):
    y, z = x * 2.0, x
    for k in range(int(c[1] + 0.5)):
        z = np.sin(z) * (k + 1)
    z[1] *= y[0]
    x[0] = y[1] * z[2]
    return np.sum(x * z)


def entries_named_twice(x, c):
    m = np.outer(x, c)
    np.multiply.at(m, (np.array([1, 1, -1]), 1), x[0])
    np.multiply.at(m, ([0, 1, 0], [1, 2, 1]), [x[0], 2.0 * x[1], x[0] * x[2]])
    np.divide.at(m, ([[0], [1]], [1, 2]), m[:2, :2] + 9.0)
    return np.sum(m * m * m)


@pytest.mark.parametrize("f", [rows_of_a_loop, perhaps_bound_in_a_loop, entries_named_twice])
@pytest.mark.parametrize("c", [*TESTS, np.array([1.0, 3.0, -1.0])], ids=str)
def test_alias_information_preserved_through_loop(f, c):
    assert_program(f, X, c)


def _made_with(x):
    y = x * 2.0

    def total():
        return np.sum(y * x)

    return total, y


def writes_in_a_loop_into_what_a_function_holds(x):
    total, t = _made_with(x)
    for _ in range(2):
        t[0] = 5.0 * x[1]
        t = t * 1.0
    return total() + np.sum(t)


def test_write_in_loop_into_captured_array_rejected():
    # The first trip writes into the function's own array: its total was that of the old one.
    with pytest.raises(MutationError, match="cannot tell what 't' holds after the write"):
        srcad.grad(writes_in_a_loop_into_what_a_function_holds)(X)


def an_entry_of_what_may_have_any_rank(x):
    y = np.cos(x * json.loads("0.5"))
    total = 0.0
    for e in y:
        y[:] = y + 0.5
        total = 0.6 * total + e  # a number, which stays as it was; of two axes, a row of y
    return total


def test_entry_or_row_alias_used_after_write_rejected():
    # It was read anew, as a row would be: the value and the gradient were silently wrong.
    with pytest.raises(MutationError, match="cannot tell what 'e' holds after the write"):
        srcad.grad(an_entry_of_what_may_have_any_rank)(X)


def left_inside(x, limit, flag):
    view = x[::1]
    if flag * np.sin(1.0) > 0:
        for e in x:
            if e > limit:
                return 0.5 * np.sum(x**2)
            view[1] = 0.8 * e
    view[0] *= 3.0
    return np.sum(view * x) + view[1]


@pytest.mark.parametrize(("limit", "flag"), [(0.0, 1.0), (0.0, -1.0), (5.0, 1.0), (5.0, -1.0)])
def test_view_recreated_only_where_base_array_bound(limit, flag):
    """A loop that is left by ``return`` in a branch has no array for the view behind the branch."""
    assert_program(left_inside, np.array([-1.169, -0.774, 0.88]), limit, flag)


def half_bound_in_a_try(x, a):
    try:
        if a > 0.0:
            z = np.tanh(a)
        else:
            shown = x
            x = x * 0.9
            z = 2.0 * x[0]
    except ValueError:
        z = 0.0
    x[1] = a
    x[0] *= 3.0
    return np.sum(x) * z + (0.0 if a > 0.0 else shown[1])


def half_bound_view_in_a_try(x, a):
    try:
        if a > 0.0:
            z = np.tanh(a)
        else:
            shown = x
            x = x[1:]
            z = 2.0 * x[0]
    except ValueError:
        z = 0.0
    x[1] = a
    return np.sum(x) * z + (0.0 if a > 0.0 else shown[2])


def read_where_it_is_not_bound(x, a):
    try:
        if a > 0.0:
            z = np.tanh(a)
        else:
            shown = x
            z = np.tanh(2.0 * a)
    except ValueError:
        z = 0.0
    return z * shown[0]


@pytest.mark.parametrize("f", [half_bound_in_a_try, half_bound_view_in_a_try])
@pytest.mark.parametrize("a", [0.7, -0.4])
def test_variable_assigned_in_one_try_branch_only(f, a):
    """An arm that may fail was taken for one that surely does: None was written into."""
    assert_program(f, np.array([0.3, -1.1, 0.8]), a)


def test_variable_unassigned_in_try_branch_raises():
    assert_program(read_where_it_is_not_bound, np.array([0.3, -1.1]), -0.4)
    with pytest.raises(UnboundLocalError):
        srcad.grad(read_where_it_is_not_bound)(np.array([0.3, -1.1]), 0.7)
