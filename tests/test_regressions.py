"""Bugs that were found by random programs, each as the small program that tells its story."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcad
from srcad import testing
from tests.adapter import evaluated
from tests.numeric import assert_gradient


def nothing_saved_on_one_path(a, m):
    for _ in range(3):
        if a < 0.82:
            m = np.tanh(m)
        a = m[1, 1]
    return a + np.sum(m)


def test_iteration_without_residuals_saves_nothing() -> None:
    m = np.array([[0.969, 0.681, 0.75], [0.713, 0.538, 0.411]])

    testing.check_grads(nothing_saved_on_one_path, (0.992, m), wrt=1, order=1)
    assert srcad.grad(nothing_saved_on_one_path, wrt=1)(0.992, m).shape == m.shape


def mean_of_a_list(values):
    return np.mean(values)


def test_float_list_gradient_has_float_entries() -> None:
    found = srcad.grad(mean_of_a_list)([0.458, 0.506, 1.23])

    assert [type(g) for g in found] == [float] * 3
    np.testing.assert_allclose(found, 1 / 3)


def first_above_zero(a, b):
    for e in (a, b):
        if b > 0:
            return e
        b = 1 / e
    return b


def called_in_a_loop(a, b, n):
    for _ in range(n):
        t = a * b
        first_above_zero(a, t)
    return t * 2


def test_return_in_inlined_helper_does_not_end_iteration() -> None:
    gradient = srcad.grad(called_in_a_loop, wrt=(0, 1))

    np.testing.assert_allclose(gradient(0.3, 0.2, 3), (0.4, 0.6))
    np.testing.assert_allclose(gradient(0.3, -0.2, 3), (-0.4, 0.6))


def swapped_where_ranks_are_unknown(a, b, x):
    u = x if b > 0 else a
    for _ in range(2):
        for _ in range(3):
            if x[0] > 0.5:
                continue
            a, b = b, a
            if a * b < 0.05:
                return 2.0 * np.sum(u)
            b = np.sin(a)
        if a < -9.0:
            break
        a = 0.6 * a + np.sum(u * a)
    return a * np.sum(x)


def test_missing_cotangent_of_number_is_zero() -> None:
    args = (0.1, 0.2, np.array([0.4, 0.6]))

    testing.check_grads(swapped_where_ranks_are_unknown, args, order=1)


def changed_when_float_or_scalar(a, x):
    b = a
    for k in range(3):
        b = np.mean(x * b) if k else 0.5 * b
    other = b
    b /= 1.0 + np.cos(b)
    b -= 0.3 * np.tanh(b)
    return b * other


def test_in_place_update_of_float_or_numpy_scalar() -> None:
    args = (0.3, np.array([0.4, 0.6]))

    testing.check_grads(changed_when_float_or_scalar, args, wrt=(0, 1), order=2)


def uneven_list_in_a_loop(a, x):
    total = 0.0
    for k in range(3):
        if k:
            rows = [a * x, x[1:]]
            total = total + np.sum(rows[0]) * np.sum(rows[-1])
        else:
            rows = [x[:1], a * x]
            total = total + np.sum(rows[1])
    return total


def test_loop_carried_list_of_unequal_arrays_type_converges() -> None:
    args = (0.3, np.array([0.4, 0.6, 0.9]))

    testing.check_grads(uneven_list_in_a_loop, args, wrt=(0, 1), order=1)


def sum_of_items(x):
    return np.sum([e for e in x]) + np.mean(x)


def reads_what_one_path_saves(a, k):
    if k:
        return a
    return reads_what_one_path_saves(sum_of_items(np.linspace(-0.7, 0.93, 3) * a), 1)


def recursive(a):
    return reads_what_one_path_saves(a, 0)


def test_missing_recursion_residual_not_copied() -> None:
    testing.check_grads(recursive, (0.3,), order=1)


def scalar_or_float(a, k):
    if k <= 0:
        return np.tanh(a)
    scalar_or_float(a, k - 1)
    return 0.3


def two_contributions(a):
    return 0.52 * a + scalar_or_float(a, 0)


def test_float_captured_by_recursion_has_float_gradient() -> None:
    assert type(srcad.grad(two_contributions)(0.3)) is float


def divided(b):
    b /= 2.0 + np.cos(b)
    b -= 0.1 * b
    return np.tanh(b)


def hands_over_a_float_or_a_scalar(a, x):
    total = 0.0
    for v in x:
        total = total + divided(v if v > 0.5 else a)
        if v > 0.8:
            continue
        a = 0.6 * a + 0.1 * v
    return total * a


def test_number_update_not_visible_through_alias() -> None:
    args = (0.3, np.array([0.4, 0.6, 0.9]))

    testing.check_grads(hands_over_a_float_or_a_scalar, args, wrt=(0, 1), order=1)


def reshapes_where_it_goes_on(a, x):
    for v in x:
        if v > 0:
            break
        for _ in range(2):
            x = x.reshape(1, -1)[0]
        a = x[1]
    return a * 2.0


def test_missing_iteration_residual_not_copied() -> None:
    for x in ([1.0, 2.0], [-1.0, -2.0], [-1.0, 2.0]):
        args = (0.3, np.array(x))
        testing.check_grads(reshapes_where_it_goes_on, args, wrt=(0, 1), order=1)


def test_no_consecutive_copies() -> None:
    gradient = srcad.grad(reshapes_where_it_goes_on, wrt=(0, 1))

    gradient(0.3, np.array([-1.0, -2.0]))

    assert ".copy().copy()" not in gradient.source


def test_copied_array_keeps_length():
    def f(x):
        a = 0.0
        for e in x:
            a += e
        return np.sum(np.array(x)) * math.tanh(a)

    srcad.testing.check_grads(f, (np.array([0.3, 0.4, 0.5]),), order=1)


def test_a_loop_over_an_array_that_was_copied_before() -> None:
    def f(x, a):
        y = np.array(x)
        total = 0.0
        for item in x:
            total = total * a + item
        return total * np.sum(y)

    testing.check_grads(f, (np.array([0.3, -0.7, 1.1]), 0.5), order=1)


def falls_twice(a, k):
    if k <= 0:
        return np.tanh(a)
    factors = np.tanh(np.linspace(-0.7, 0.43, 2) * a)
    return falls_twice(np.tanh(np.prod(factors) - a), k - 1) + falls_twice(a * 0.7, k - 2)


def test_second_order_of_a_recursion_with_arrays() -> None:
    # The shape of what the last call had not saved was read: None has none.
    testing.check_grads(lambda a: falls_twice(a, 3), (0.3,), order=2)


X3 = np.array([0.3, -0.7, 1.1])


def test_rank_of_product_of_scalar_or_array() -> None:
    # One rank was tried for both operands at a time: of what may have any, np.dot made a number.
    def f(b, x):
        try:
            b = 2 // 0
        except ArithmeticError:
            pass
        return np.sum(np.dot(np.full((3, 3), b), b + x) * 0.4)

    y, back = srcad.pullback(f, -0.6, X3)

    assert y == f(-0.6, X3)
    testing.check_grads(f, (-0.6, X3), wrt=(0, 1), order=1)
    assert back(1.0)[1].shape == (3,)


def turned_before_it_is_written(x, m):
    u = m
    m *= 0.3
    np.divide(0.2, (x + m).T, out=u)
    return u[0, -2]


def test_view_written_twice_has_named_base() -> None:
    # ``(x + m).T`` was written at each use of the view, also after ``m`` had been written into.
    args = (np.array([-0.494, -0.409]), np.array([[-1.137, 0.391], [1.246, -1.262]]))

    testing.check_grads(turned_before_it_is_written, args, wrt=(0, 1), order=1)
    source = srcad.grad(turned_before_it_is_written, wrt=(0, 1)).inspect(*args).adjoint_source

    code = [line for line in source.splitlines() if not line.strip().startswith("#")]
    assert sum("x + m" in line for line in code) == 1


JOINS = {
    "stack": lambda x: np.stack(x * 2, axis=1) ** 2 * W[:6].reshape(3, 2),
    "concatenate": lambda x: np.concatenate(x**2) * W[:6],
    "concatenate_flat": lambda x: np.concatenate(x**2, axis=None) * W[:6],
    "vstack": lambda x: np.vstack(x**2) * W[:6].reshape(2, 3),
    "hstack": lambda x: np.hstack(x**2) * W[:6],
    "dstack": lambda x: np.dstack(x**2) * W[:6].reshape(1, 3, 2),
    "column_stack": lambda x: np.column_stack(x**2) * W[:6].reshape(3, 2),
}
W = np.arange(1.0, 13.0)


@pytest.mark.parametrize("join", JOINS.values(), ids=JOINS)
def test_concatenated_rows_of_one_array(join: Callable[..., Any]) -> None:
    # The cotangent of the array was a list of rows: 0.5 times a list is an error, 2 times it
    # twice as long, and a mask reads something else.
    def f(x):
        y = x * 1.0
        for _ in range(2):
            y[y > 0.0] *= 2
        return np.sum(join(y))

    testing.check_grads(f, (np.array([[0.3, -0.7, 1.1], [0.4, 0.9, -0.2]]),), order=1)


def test_builtin_sum_of_floats_rounds_like_python() -> None:
    # Since Python 3.12, sum() adds floats with the care of twice the digits.
    def f(v, a, b):
        return sum(v) * a + sum([a, b, a * b, 0.1]) + sum((b, a, b), 0.3)

    args = ([0.196, 1.095, -0.231], 0.3, 0.7)

    value, _ = srcad.value_and_grad(f, wrt=(0, 1, 2))(*args)

    assert value == f(*args)
    testing.check_grads(f, args)


SUMS = {
    "ended": lambda v, a: sum([v[0], v[1], v[2], np.sin(a)]),
    "after_a_number_of_numpy": lambda v, a: sum([v[0], v[1], v[2], np.sin(a), a, 0.1, 0.7 * a]),
    "either": lambda v, a: sum([0.952, v[1], a if a > 0 else np.sin(a), -0.786 * a, v[2]]),
    "of_a_start": lambda v, a: sum([x * np.sin(a) if x > 0 else x * a for x in v], a),
    "of_a_flag": lambda v, a: sum([True, a, 0.1, v[1] * a, np.float64(2.5), v[0]]),
}


@pytest.mark.parametrize("total", SUMS.values(), ids=SUMS)
@pytest.mark.parametrize("a", [0.3, -0.7, 1.1])
def test_builtin_sum_with_numpy_scalar_rounds_like_python(
    total: Callable[..., Any], a: float
) -> None:
    # The care ends at the first number that is not Python's own; it was not taken at all.
    args = ([0.952, -0.295, -0.786], a)

    value, _ = srcad.value_and_grad(total, wrt=(0, 1))(*args)

    assert value == total(*args)
    testing.check_grads(total, args)


def growing_sums(v, a):
    total, kept = 0.0, []
    for x in v:
        kept.append(x * a)
        kept.append(0.1 * a if x > 0 else np.cos(a))
        total = total * 0.5 + sum(kept)
    return total


def test_builtin_sum_of_list_matches_python() -> None:
    args = ([0.952, -0.295, -0.786, 0.1], 0.3)

    assert srcad.value_and_grad(growing_sums)(*args)[0] == growing_sums(*args)
    testing.check_grads(growing_sums, args)


def mean_of_a_number(b, x):
    u = np.cos(x[1] * b)
    try:
        x[-2] = np.tanh(np.mean(u))
    except OSError:
        b = np.sin(np.mean(u) * x[-1])
    x[-1:] -= 0.4 * np.tanh(np.mean(u))
    return np.mean(u) + b + np.sum(x[::-1])


def test_the_cotangent_of_a_number_is_a_number() -> None:
    # It was an array without axes, which nothing may be added to in place.
    testing.check_grads(mean_of_a_number, (0.3, np.array([-0.887, 1.023])), order=1)


def leaves_from_an_inner_loop(x):
    a, total = np.tanh(x), 0.0
    for _ in range(2):
        for k in range(2):
            if a[k] > 0.9:
                return total + np.sum(a)
            a[np.arange(4) > 1] = np.sin(a[k])
        total = total + np.sum(np.sin(a)) * a[0]
    return total + a[3]


def test_unset_inner_loop_value_not_copied() -> None:
    for x in ([0.4, 0.5, -0.8, 1.0], [0.4, 2.5, -0.8, 1.0]):
        testing.check_grads(leaves_from_an_inner_loop, (np.array(x),), order=1)


def test_builtin_sum_of_static_integers_is_static() -> None:
    def f(x):
        return np.sum(x.reshape(sum((2, 1)), 1)) * x[0] if sum([1, 1, 1]) > 2 else x[1]

    testing.check_grads(f, (X3,))

    ssa = srcad.grad(f).inspect(X3).ssa

    assert "sum([" not in ssa
    assert "if " not in ssa


def written_and_doubled(x):
    x[0] = x[0] ** 2
    x *= 2
    return x.sum()


def test_cotangent_store_not_truncated_to_integer() -> None:
    """``1.0 * 2`` was folded to the integer 2, and a cotangent of these held no fractions."""
    for f in (written_and_doubled, lambda x: written_and_doubled(3 * x) * 2):
        testing.check_grads(f, (X3,), order=1)


def rows_of_what_is_bound_until_a_return(m, n):
    m = m * 2.0
    for _ in range(2):
        for row in m:
            for _ in range(n):
                return row * 0.23
        m = m * 2.0
    return m[0]


@pytest.mark.parametrize("n", [0, 1])
def test_row_view_of_used_array_is_bound(n: int) -> None:
    m = np.array([[0.969, 0.681, 0.75], [0.713, 0.538, 0.411]])

    y, back = srcad.pullback(rows_of_what_is_bound_until_a_return, m, n)
    (found, _) = back(np.ones_like(y))

    want = np.zeros_like(m)
    want[0] = 2 * 0.23 if n else 2 * 2 * 2
    np.testing.assert_allclose(found, want)


def rows_of_arrays_that_have_changed_places(a, m):
    y = m
    saved = 0.2 + y
    for _ in range(3):
        y, saved = saved, y
    rows = np.array([saved, y])
    for row in rows:
        row += a
    return np.sum(rows * rows)


def test_store_into_rows_of_unknown_layout() -> None:
    m = np.array([[0.969, 0.681, 0.75], [0.713, 0.538, 0.411]])

    assert_gradient(srcad.gradient, rows_of_arrays_that_have_changed_places, 0.5, m)


class Tally:
    """Adding in place is not what adding is, and a number times it is not its multiple."""

    def __init__(self, level):
        self.level = level

    @classmethod
    def made(cls, level):
        return cls(level)

    def __mul__(self, other):
        return Tally(self.level * other.level)

    def __rmul__(self, other):
        return other * other * self.level

    def __iadd__(self, other):
        return Tally(self.level + 2.0 * other.level)


def added_in_place(x):
    tally = Tally.made(1.5)
    tally = tally * tally
    tally += tally
    return 2.0 * x


def times_a_product(x):
    tally = Tally.made(1.5)
    return x * (tally * tally)


def test_product_of_opaque_objects_not_numeric() -> None:
    assert evaluated(added_in_place, 0.3) == 0.6
    with pytest.raises(srcad.errors.UnsupportedTypeError, match="Tally"):
        srcad.grad(times_a_product)(0.3)


def fills_and_averages(a):
    start = a
    try:
        h = np.empty(3)
        h[...] = a
        a = h.sum()
        a = a
    except IndexError:
        pass
    g = 0.5
    for _ in range(3):
        g += a * np.mean(start)
    return g - np.exp(-(np.mean(start) * np.mean(start)))


ROWS = np.array([[0.3, 0.1]])


def highest(a):
    return np.vstack((ROWS[0], (a, a**3))).max(axis=0).sum()


def test_the_dtype_of_an_array_carries_no_derivative() -> None:
    testing.check_grads(highest, (0.6,), order=2)


def test_simplified_scalar_is_not_read_only_array() -> None:
    testing.check_grads(fills_and_averages, (np.float64(0.6),), order=2, modes=("rev",))


def running_sum_of_what_is_finite(x):
    place = np.arange(x.size).reshape(x.shape)
    total = np.cumsum(np.where(place == 0, np.inf, x), -1)
    return total[np.isfinite(total)]


def test_running_sum_of_a_number_behind_a_mask_has_a_number_as_gradient() -> None:
    y, back = srcad.pullback(running_sum_of_what_is_finite, np.float64(0.3))

    (found,) = back(y)
    assert type(found) is np.float64
    assert found == 0.0


def polynomial_derivative(x):
    return np.polynomial.hermite.hermder(x)


def nuclear_norms(x):
    return np.linalg.norm(x, "nuc", (0, 2))


@pytest.mark.parametrize(
    ("f", "shape"), [(polynomial_derivative, (3, 4)), (nuclear_norms, (2, 3, 4))]
)
@pytest.mark.parametrize("factor", [1.0, 1.0 + 0.1j])
def test_gradient_of_an_array_in_c_order_is_in_c_order(f, shape, factor) -> None:
    x = np.random.default_rng(0).normal(size=shape) * factor

    y, back = srcad.pullback(f, x)
    assert back(y)[0].flags.c_contiguous


def sums_in_a_list(x, y):
    return [np.add(one, y) for one in (x, x)]


def sums_in_a_pair(x, y):
    return np.add(x, y), x * y


def sums_by_name(x, y):
    return {"sum": [np.add(x, y)], "product": x * y}


@pytest.mark.parametrize("f", [sums_in_a_list, sums_in_a_pair, sums_by_name])
def test_tangent_in_a_structure_has_the_kind_of_the_value(f) -> None:
    y, dot = srcad.jvp(f, (0.7, 1.3), (1.0, 1.0))

    def kinds(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: kinds(part) for key, part in value.items()}
        return [*map(kinds, value)] if isinstance(value, list | tuple) else type(value)

    assert kinds(dot) == kinds(y)


def finite_entries(x):
    place = np.arange(x.size).reshape(x.shape)
    line = np.atleast_1d(np.where(place == 0, np.inf, x))
    return line[np.isfinite(line)]


def mean_or_zero(x):
    place = np.arange(x.size).reshape(x.shape)
    mean = np.average(np.where(place == 0, np.nan, x))
    return np.where(np.isfinite(mean), mean, 0.0)


@pytest.mark.parametrize(("f", "shape"), [(finite_entries, ()), (mean_or_zero, (3, 2))])
def test_tangent_of_float32_that_a_mask_cuts_is_float32(f, shape) -> None:
    x = np.full(shape, 0.3, np.float32)

    y, dot = srcad.jvp(f, (x,), (x,))
    assert dot.dtype == y.dtype == np.float32


def roots(coefficients):
    return np.polynomial.chebyshev.chebroots(coefficients)


def test_gradient_of_a_list_by_what_may_be_complex_has_float_entries() -> None:
    y, back = srcad.pullback(roots, [-0.6, 0.65])

    assert [type(part) for part in back(y)[0]] == [float, float]


def test_products_of_stacks_by_multi_dot_are_refused() -> None:
    pair = [np.ones((1, 3, 4)), np.ones((1, 4, 2))]

    with pytest.raises(srcad.errors.SrcadError, match=r"write np\.dot\(a, b\)"):
        srcad.jvp(np.linalg.multi_dot, (pair,), (pair,))
