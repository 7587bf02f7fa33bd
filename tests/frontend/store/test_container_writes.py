"""Lists and dicts that are written into: methods, items, slices, aliases, loops."""

from __future__ import annotations

import copy
import heapq
import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcad import errors, grad, gradient, value_and_grad
from srcad.testing import check_grads
from tests.corpus.lists import weighted
from tests.language import assert_program
from tests.numeric import assert_close, assert_gradient, difference

V = np.array([0.3, -0.7, 1.1, 0.5])


def test_second_derivatives_go_through_written_lists() -> None:
    def f(x):
        rows = [x * k for k in range(len(x))]
        rows.insert(1, x * x)
        rows.pop()
        rows.pop(0)
        rows[0] = rows[0] * rows[1]
        return np.sum(np.stack(rows) ** 2)

    assert_gradient(gradient, lambda x: np.sum(gradient(f, x)[0] * x[0]), V)


def test_different_tuple_parts_used_in_different_loops() -> None:
    """The parts that one read did not use had None for a cotangent, which was added to."""

    def f(pairs):
        s = 0.0
        for a, _ in pairs:
            s = s + a**2
        for _, b in pairs:
            s = s + b * s
        for k in range(len(pairs)):
            s = s + pairs[k][0] * s
        return s

    assert_gradient(gradient, f, [(1.0, 2.0), (3.0, 0.5)])


# ------------------------------------------------------------------------- arguments
def test_container_argument_not_mutated() -> None:
    def f(p, xs):
        p["w"] = p["w"] * 2.0
        p["inner"]["b"] += p["w"]
        p["new"] = 3.0
        xs.append(xs[0] * xs[1])
        xs[0] = xs[1] * 2.0
        v = xs.pop(1)
        return p["w"] * p["inner"]["b"] * weighted(xs) * v

    args = ({"w": 0.7, "inner": {"b": 1.3}}, [0.7, 1.3, 0.2])
    plain = f(*copy.deepcopy(args))

    assert value_and_grad(f)(*args)[0] == plain
    assert args == ({"w": 0.7, "inner": {"b": 1.3}}, [0.7, 1.3, 0.2])
    for got, k in zip(gradient(f, *args), range(2), strict=True):
        assert_close(got, difference(lambda *a: f(*copy.deepcopy(a)), args, k), 1e-6, 1e-7)


def held_by_a_function(x):
    def make():
        items = []

        def add(v):
            items.append(v)
            return sum(items)

        return add

    add = make()
    add(x[0])
    return add(x[1])


def test_list_referenced_only_by_closure_written() -> None:
    assert_program(held_by_a_function, V)


def test_write_into_argument_passed_twice_rejected() -> None:
    def f(p, q):
        p["w"] = p["w"] * 2.0
        return p["w"] * q["w"]

    p = {"w": 3.0}

    assert gradient(f, p, {"w": 5.0}) == ({"w": 10.0}, {"w": 6.0})
    with pytest.raises(errors.MutationError, match="passed to it twice"):
        gradient(f, p, p)


def test_write_into_distinct_row_lists_of_argument() -> None:
    def f(g):
        for i in range(len(g)):
            g[i][0] = g[i][0] * g[i - 1][1]
        return sum(sum(row) for row in g)

    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]

    assert_gradient(lambda _, g: gradient(f, g), lambda g: f(copy.deepcopy(g)), rows)
    with pytest.raises(errors.MutationError, match="passed to it twice"):
        gradient(f, [rows[0]] * 3)


class Point:
    def __init__(self, v):
        self.v = v


def _relaxed(cells, w):
    for k in range(1, len(cells)):
        cells[k].v = cells[k].v + w * cells[k - 1].v
    return cells[-1].v ** 2


def _halved_rows(rows, *, w):
    for k in range(len(rows)):
        rows[k][0] = rows[k][0] * w
    return rows[0][0] * rows[1][0] * rows[1][1]


@pytest.mark.parametrize(
    "f",
    [
        lambda *args: _relaxed(*args),
        lambda *args, **options: _relaxed(*args, **options),
        lambda first, *rest: _relaxed(rest[0], first),
    ],
)
def test_objects_among_variadic_arguments_written(f) -> None:
    """The check of the arguments read the tuple of them before it was built."""
    args: Any = ([Point(float(k)) for k in range(1, 4)], 0.5)
    is_swapped = "first" in f.__code__.co_varnames
    made = gradient(f, *(args[::-1] if is_swapped else args))

    cells, w = made[::-1] if is_swapped else made
    value = 3.0 + 0.5 * (2.0 + 0.5 * 1.0)  # the square root of the result
    assert [cell.v for cell in cells] == pytest.approx([2 * value * c for c in (0.25, 0.5, 1.0)])
    assert w == pytest.approx(2 * value * (2.0 + 2 * 0.5 * 1.0))
    assert [cell.v for cell in args[0]] == [1.0, 2.0, 3.0]
    twice = [args[0][0]] * 2
    with pytest.raises(errors.MutationError, match="passed to it twice"):
        gradient(f, *((0.5, twice) if is_swapped else (twice, 0.5)))


def test_lists_among_variadic_arguments_written() -> None:
    rows = [[1.0, 2.0], [3.0, 4.0]]

    found = gradient(lambda *args: _halved_rows(*args, w=0.5), rows)

    assert found == ([[3.0, 0.0], [1.0, 0.75]],)
    assert rows == [[1.0, 2.0], [3.0, 4.0]]


KNOWN = [1.0]


def test_use_of_written_global_list_rejected() -> None:
    def f(x):
        KNOWN.append(x)
        return x * KNOWN[0]

    with pytest.raises(errors.MutationError, match="a list outside that is written into"):
        gradient(f, 2.0)

    assert KNOWN == [1.0]


# ------------------------------------------------------------------------- refusals
def appended_twice(x):
    row = [x[0]]
    rows = []
    for e in x:
        rows.append(row)
        row.append(e * e)
    return sum(sum(r) for r in rows)


def one_row_many_times(x):
    g = [[0.0] * len(x)] * len(x)
    for i in range(len(x)):
        g[i][0] = x[i]
    return sum(sum(r) for r in g)


def one_of_two(x):
    xs, ys = [x[0]], [x[1]]
    zs = xs if x[0] > 0 else ys
    zs.append(x[2])
    return sum(xs) * sum(ys)


def a_copy_of_rows(x):
    g = [[e] for e in x]
    h = g[:]
    h[0].append(x[1])
    return sum(g[0]) * sum(h[1])


def a_row_of_an_older_list(x):
    g = [[e, e] for e in x]
    row = g[0]
    g.pop(0)
    row[0] = x[1]
    return sum(g[0]) * sum(row)


@pytest.mark.parametrize(
    "f",
    [appended_twice, one_row_many_times, one_of_two, a_copy_of_rows, a_row_of_an_older_list],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_write_through_unknown_path_rejected(f: Callable[..., Any]) -> None:
    with pytest.raises(errors.MutationError, match="test_container_writes.py"):
        gradient(f, V)


def last_item_by_two_indices(xs, s):
    rows = [[x * s, s] for x in xs]
    row = rows[1]
    rows[-1][0] = 7.0 * s
    return row[0] * s


def item_replaced_after_it_was_read(xs, s):
    rows = [[x * s, s] for x in xs]
    row = rows[0]
    rows[0] = [s, s]
    row[0] = 3.0 * s * s
    return rows[0][0] * s + row[0]


def item_replaced_at_negative_index(xs, s):
    rows = [[x * s, s] for x in xs]
    row = rows[0]
    rows[-2] = [s, s]
    row[0] = 3.0 * s * s
    return rows[0][0] * s + row[0]


def other_item_replaced(xs, s):
    rows = [[x * s, s] for x in xs]
    row = rows[0]
    rows[1] = [s, s]
    row[0] = 3.0 * s * s
    return rows[0][0] * s + rows[1][0]


class Cell:
    def __init__(self, value):
        self.value = value


def last_object_by_two_indices(xs, s):
    cells = [Cell(x * s) for x in xs]
    cell = cells[1]
    cells[-1].value = 7.0 * s
    return cell.value * s


def object_replaced_after_it_was_read(xs, s):
    cells = [Cell(x * s) for x in xs]
    cell = cells[0]
    cells[0] = Cell(s)
    cell.value = 3.0 * s * s
    return cells[0].value * s + cell.value


@pytest.mark.parametrize(
    "f",
    [
        last_item_by_two_indices,
        item_replaced_after_it_was_read,
        item_replaced_at_negative_index,
        other_item_replaced,
        last_object_by_two_indices,
        object_replaced_after_it_was_read,
    ],
)
def test_item_of_list_with_two_indices_or_replaced(f):
    """Indices of either sign may be one item; a name keeps an item that its list has lost."""
    assert_program(f, [1.5, 2.5], 2.0)


def test_use_of_row_written_through_alias_rejected() -> None:
    def f(x):
        g = [[e, e] for e in x]
        row = g[0]
        i = int(x[3] > 0)
        g[i][1] = x[2]
        return sum(row)

    with pytest.raises(errors.MutationError, match="after the write"):
        gradient(f, V)


def one_list_with_two_names(a, x):
    items = [x[0] * a, x * a]
    other = items
    view = other[1][1:]
    view *= 2.0
    items[0] = 3.0 * a
    items.append(a)
    return other[0] + np.sum(other[1]) + len(other) * other[-1]


def a_number_perhaps(a, x):
    u = np.cos(a) if x[0] > 0.35 else x[:1] * a
    scale = {"p": u * 2.0, "q": u * 0.7}
    other = scale
    scale["q"] += 0.5 * np.sin(a)
    other["p"] = scale["q"] * a
    return np.sum(scale["p"] + 0.3 * sum(other.values()))


@pytest.mark.parametrize("f", [one_list_with_two_names, a_number_perhaps])
@pytest.mark.parametrize("first", [0.3, 0.5])
def test_container_identity_preserved_after_array_write(f, first):
    # The two names once became two lists: what one was given, the other did not see.
    assert_program(f, 0.4, np.array([first, 0.2, 0.1]))


def a_list_that_one_path_reads(a, b):
    items = [1.0, 0.0]
    while len(items) > 2:
        items.pop()
    items[1] = a * b
    items[0], items[1] = items
    if b > 0.0:
        return np.tanh(np.mean(items)) * items[1]
    return b


@pytest.mark.parametrize("b", [0.7, -0.7])
def test_list_cotangent_structure_equal_on_both_paths(b):
    """It was an array on one path, zeros in a list on the other: second derivatives crashed."""
    assert_program(a_list_that_one_path_reads, 0.3, b)
    check_grads(a_list_that_one_path_reads, (0.3, b), wrt=(0, 1), order=2)


def pushes(a, b):
    items = [a, b]
    heapq.heappush(items, a * b)
    return items[0] * items[-1]


def shuffles(a, b):
    items = [a, b]
    random.shuffle(items)
    return items[0] - 2.0 * items[1]


def sets(a, b):
    items = [a, b]
    operator.setitem(items, 0, a * b)
    return items[0] * items[1]


WRITES = "the library that writes into a list"


@pytest.mark.parametrize(
    ("function", "message"), [(pushes, WRITES), (sets, WRITES), (shuffles, "with 'shuffle'")]
)
def test_library_functions_mutating_lists_rejected(function, message):
    """The compiler knows these functions without loading their modules."""
    with pytest.raises(errors.MutationError, match=message):
        value_and_grad(function)(0.3, 0.7)


def test_loop_growing_dict_in_first_iterations_unrolled() -> None:
    # A loop of few trips was refused where what it carries has no one type.
    def f(x):
        state = {}
        for _ in range(4):
            for k, name in enumerate(("a", "b")):
                state[name] = 0.5 * state.get(name, 0.0) + x[k] ** 2
        return state["a"] * state["b"]

    assert_program(f, np.array([0.3, 0.8]))


def test_a_grid_of_lists_is_written_in_loops() -> None:
    # What the first reading of the loop had found out of the rows stayed when it was read again.
    def f(x):
        grid = [[0.0] * 3 for _ in range(3)]
        for i in range(3):
            for j in range(3):
                grid[i][j] += x[i] * x[j] if i != j else 1.0
        return np.linalg.det(np.array(grid)) + sum(grid[k][k] for k in range(3)) + grid[0][1]

    assert_program(f, np.array([0.3, -0.5, 0.8]))


def test_shrinking_list_second_derivatives() -> None:
    # The cotangents of a list may be held by an array; putting one of them back looked for a list.
    def f(a, values, n):
        for _ in range(n):
            if a > 5.0:
                return a
            values[0] += 0.5 * np.sin(a)
            while len(values) > 2:
                values.pop()
        total = sum(values)
        return np.sin(np.sum(np.array([0.2 * total, *[0.1 * total for _ in range(1)]])))

    first = grad(f, wrt=0)
    slope = difference(lambda a: first(a, [0.646, -0.633, 0.798], 2), (-0.794,))

    assert_close(grad(first, wrt=0)(-0.794, [0.646, -0.633, 0.798], 2), slope, rtol=1e-6)
