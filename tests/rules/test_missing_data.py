"""Where data are missing: what leaves nan out gets the gradient of what it leaves in."""

import cmath
import math

import numpy as np
import pytest
import scipy.stats

import srcad
from tests.marks import some
from tests.numeric import difference

nan = np.nan
t = np.array([1.0, nan, 3.0, 4.0])
y = np.array([2.0, 1.0, nan, 8.0])
A = np.array([[1.0, 2.0], [nan, 1.0], [3.0, 1.5], [0.5, 2.0]])
Y = np.array([[1.0, 2.0, nan], [nan, 1.0, 4.0]])
T = np.array([[1.0, nan, 3.0], [2.0, 1.0, 0.5]])

PROGRAMS = {
    "nansum": lambda p: np.nansum((y - p * t) ** 2),
    "nansum rr": lambda p: (lambda r: np.nansum(r * r))(y - p * t),
    "nanmean": lambda p: np.nanmean((y - p * t) ** 2),
    "nanmean ax": lambda p: np.sum(np.nanmean((Y - p * T) ** 2, axis=0)),
    "nanmean kd": lambda p: np.sum(np.nanmean((Y - p * T) ** 2, axis=1, keepdims=True)),
    "nanmax": lambda p: np.nanmax((y - p * t) ** 2),
    "nanmin": lambda p: np.nanmin(y * p * t),
    "nanstd": lambda p: np.nanstd(y - p * t),
    "nanvar": lambda p: np.nanvar(y - p * t),
    "nancumsum": lambda p: np.sum(np.nancumsum(y * np.exp(p * t))),
    "nan_to_num": lambda p: np.sum(np.nan_to_num((y - p * t) ** 2)),
    "where isnan": lambda p: np.sum(np.where(np.isnan(y * t), 0.0, (y - p * t) ** 2)),
    "where isfinite": lambda p: np.sum(
        np.where(np.isfinite(y) & np.isfinite(t), (y - p * t) ** 2, 0.0)
    ),
    "where ~isnan": lambda p: np.sum(np.where(~np.isnan(y) & ~np.isnan(t), np.sin(y - p * t), 0.0)),
    "where x==x": lambda p: np.sum(np.where(t == t, p * t, 0.0)),
    "sum where": lambda p: np.sum((y - p * t) ** 2, where=~np.isnan(y - t)),
    "mean where": lambda p: np.mean((y - p * t) ** 2, where=np.isfinite(y - t)),
    "fmax": lambda p: np.sum(np.fmax(p * t, -1.0)),
    "fmin.accumulate": lambda p: np.sum(np.fmin.accumulate(p * y)),
    "fmax.accumulate": lambda p: np.sum(np.fmax.accumulate(p * t * t)),
    "fmax.accumulate ax": lambda p: np.sum(np.fmax.accumulate(p * T, axis=-1)[:, 1:] ** 2),
    "index": lambda p: np.sum((y - p * t)[~np.isnan(y - t)] ** 2),
    "matmul": lambda p: np.nansum((y - A @ np.array([p, 2 * p])) ** 2),
    "reshape": lambda p: np.nansum(((y - p * t) ** 2).reshape(2, 2)),
    "getitem": lambda p: np.nansum((y - p * t)[1:] ** 2),
    "slices": lambda p: np.nansum((y * p)[1:] * (p * t)[:-1]),
    "sqrt": lambda p: np.nansum(np.sqrt((y - p * t) ** 2)),
    "log": lambda p: np.nansum(np.log(p * t)),
    "div": lambda p: np.nansum(y / (p * t)),
    "pow": lambda p: np.nansum((p * t) ** y),
    "exp": lambda p: np.nansum(np.exp(-p * t) * y),
    "hypot": lambda p: np.nansum(np.hypot(y, p * t)),
    "tanh stack": lambda p: np.nansum(np.stack([np.tanh(p * t), y * p])),
    "both": lambda p: np.nanmean((y - p * t) ** 2) + np.nansum(p * t),
    "where zero": lambda p: np.nansum(np.where(t > 2, p * t, y * p * p)),
    "nansum where kw": lambda p: np.nansum(
        (y - p * t) ** 2, where=np.array([True, True, True, False])
    ),
    "loop": lambda p: sum([np.nansum((Y[k] - p * T[k]) ** 2) for k in range(2)]),
    "abs": lambda p: np.nanmean(np.abs(y - p * t)),
    "maximum": lambda p: np.nansum(np.maximum(p * t, y)),
    "clip": lambda p: np.nansum(np.clip(p * t, 0, 2.5) * y),
    "matrix": lambda p: np.nansum((A @ np.array([[p, 1.0], [1.0, p]])) ** 2),
    "active matrix": lambda p: np.nansum((A * p) @ np.array([p, 1.0])),
    "dot": lambda p: np.nanmean(np.tanh(np.dot(A, np.array([p, 2.0])))),
    "product of two": lambda p: np.nansum((p * t) * (p * y)),
}


# Masks that were made outside of the function, and with which something else may be done.
present = ~np.isnan(t)
entries = ~np.isnan(T)
rows = entries.all(axis=1)
as_list = present.tolist()
settings = {"mask": present, "index": (rows, 0)}


def stored(p):
    z = np.exp(p * t)
    z[~present] = 0.0
    return np.sum(z)


def copied(p):
    z = p * p * t
    np.copyto(z, 0.0, where=~present)
    return np.sum(z)


def in_a_loop(p):
    total = 0.0
    for k in range(2):
        total = total + np.sum((p * T[k])[entries[k]])
    return total


def helped(p):
    def chosen(z, mask):
        return z[mask]

    return np.sum(chosen(p * t, present) ** 2)


MASKS = {
    "where": lambda p: np.sum(np.where(present, p * t, 0.0)),
    "where not": lambda p: np.sum(np.where(~present, p, p * p * t)),
    "where in where": lambda p: np.sum(np.where(present, np.where(t > 2, p * t, p * p * t), 0.0)),
    "where list": lambda p: np.sum(np.where(as_list, p * p * t, 0.0)),
    "index": lambda p: np.sum((p * p * t)[present]),
    "index list": lambda p: np.sum((p * p * t)[as_list]),
    "index entry": lambda p: np.sum((p * p * t)[settings["mask"]]),
    "index tuple": lambda p: np.sum((p * p * T)[settings["index"]]),
    "index rows": lambda p: np.sum((p * p * T)[rows, :]),
    "index view": lambda p: np.sum((p * t)[::-1][present[::-1]] ** 2),
    "index of both": lambda p: np.sum((p * p * t)[present & (t < 3.5)]),
    "index compared": lambda p: np.sum((p * p * t)[t > 0]),
    "where compared": lambda p: np.sum(np.where(t > 0, p * p * t, 0.0)),
    "where by places": lambda p: np.sum(np.where((np.arange(4) < 1), p * p * t, 0.0)),
    "sum where": lambda p: np.sum(p * p * t, where=present),
    "sum of method": lambda p: (p * p * t).sum(where=present),
    "mean where": lambda p: np.mean((p * t) ** 2, where=present),
    "var where": lambda p: np.var(p * t, where=present),
    "std where": lambda p: np.std(p * t, where=present),
    "prod where": lambda p: np.prod(p * t, where=present),
    "max where": lambda p: np.max(p * p * t, where=present, initial=-1.0),
    "min where": lambda p: np.min(p * p * t, where=present, initial=99.0),
    "compress": lambda p: np.sum(np.compress(present, p * p * t)),
    "compress rows": lambda p: np.sum(np.compress(rows, p * p * T, axis=0)),
    "extract": lambda p: np.sum(np.extract(present, p * p * t)),
    "delete": lambda p: np.sum(np.delete(p * p * t, ~present)),
    "store": stored,
    "copyto": copied,
    "loop": in_a_loop,
    "helper": helped,
    "sum of rows": lambda p: np.sum(np.sum(p * p * T, axis=1)[rows]),
    "mean of rows": lambda p: np.sum(np.where(rows, np.mean(p * p * T, axis=1), 0.0)),
    "norm of rows": lambda p: np.sum(np.linalg.norm(p * p * T, axis=1)[rows]),
    "prod of rows": lambda p: np.sum(np.prod(p * T, axis=1)[rows]),
    "max of rows": lambda p: np.sum(np.max(p * p * T, axis=-1)[rows]),
    "var of rows": lambda p: np.sum(np.var(p * T, axis=1)[rows]),
    "matrix": lambda p: np.sum((T @ np.array([p, p * p, 1.0]))[rows] ** 2),
    "ravel": lambda p: np.sum((p * p * T).ravel()[entries.ravel()]),
    "cumsum": lambda p: np.sum(np.cumsum((p * p * t)[::-1])[[True, True, False, False]]),
}


# Questions for nan and infinities of what is differentiated: by masks, and by branches.
holes = np.array([1.0, nan, 3.0])
spoilt = np.array([1.0, np.inf, 3.0])
falling = np.array([1.0, -np.inf, 3.0])
kept = [True, False, True]


def stored_by_isinf(w):
    z = spoilt * w * w
    z[np.isinf(z)] = 0.0
    return np.sum(z)


def branch_in_a_loop(w):
    total = 0.0
    for v in holes * w:
        if not np.isnan(v):
            total += v
    return total


def branch_by_math(w):
    total = 0.0
    for v in holes * w:
        total += 0.0 if math.isnan(v) else v * v
    return total


def branch_with_continue(w):
    total = 0.0
    for v in spoilt * w:
        if not math.isfinite(v):
            continue
        total += v * w
    return total


def branch_in_a_while_loop(w):
    z = holes * w
    total, k = 0.0, 0
    while k < 3:
        v = z[k]
        k += 1
        if np.isnan(v) or v > 100.0:
            continue
        total = total + v * v
    return total


def branch_on_numbers(w):
    total = 0.0
    for h in holes:
        u = h * w
        if not math.isnan(u):
            total += np.exp(-u)
    return total


def branch_by_entries_of_a_mask(w):
    total = 0.0
    for v, is_kept in zip(holes * w, present[:3], strict=True):
        if is_kept:
            total += v * v
    return total


def branch_by_entries_of_a_list(w):
    z = holes * w
    total = 0.0
    for k in range(3):
        if kept[k]:
            total += z[k] ** 2
    return total


def branch_on_rows(w):
    total = 0.0
    for row in T * w:
        if np.any(np.isnan(row)):
            continue
        total += np.sum(row * row)
    return total


def branch_on_a_reduced_row(w):
    total = 0.0
    for row in T:
        size = np.std(row * w)
        total += size * size if size == size else 0.0
    return total


def branch_on_a_variance(w):
    total = 0.0
    for row in T:
        spread = np.var(row * w * w)
        total += spread * w if not np.isnan(spread) else 0.0
    return total


def branch_on_a_norm(w):
    total = 0.0
    for row in T:
        size = np.linalg.norm(row * w + w**2)
        if math.isfinite(size):
            total += size * size * w
    return total


def branch_on_a_product(w):
    total = 0.0
    for row in T:
        z = np.dot(row, np.array([w, w * w, 1.0]))
        if math.isfinite(z):
            total += z * z
    return total


def early_return(w):
    total = np.sum(holes * w)
    if not np.isfinite(total):
        return 3.0 * w
    return total


def places_that_are_kept(w):
    z = holes * w
    good = [k for k in range(3) if not math.isnan(z[k])]
    return sum([z[k] ** 2 for k in good])


QUESTIONS = {
    "where isinf": lambda w: np.sum(np.where(np.isinf(spoilt * w), 0.0, spoilt * w)),
    "where isneginf": lambda w: np.sum(np.where(np.isneginf(falling * w), 0.0, falling * w * w)),
    "sum where": lambda w: np.sum(spoilt * w, where=~np.isinf(spoilt * w)),
    "mean where": lambda w: np.mean((spoilt * w) ** 2, where=~np.isinf(spoilt * w)),
    "index isposinf": lambda w: (lambda z: np.sum(z[~np.isposinf(z)] ** 2))(spoilt * w),
    "index of places": lambda w: (lambda z: np.sum(z[np.flatnonzero(z == z)] ** 2))(holes * w),
    "take": lambda w: (lambda z: np.sum(np.take(z, np.nonzero(z == z)[0]) ** 2))(holes * w),
    "where xor": lambda w: np.sum(
        np.where(np.isinf(spoilt * w) ^ np.isnan(spoilt * w), 0.0, spoilt * w)
    ),
    "select": lambda w: np.sum(np.select([np.isnan(holes * w)], [0.0], holes * w)),
    "select two": lambda w: np.sum(
        np.select([np.isnan(holes * w), holes > 2.5], [0.0, holes * w * w], holes * w)
    ),
    "choose": lambda w: np.sum(np.choose(np.isnan(holes * w), [holes * w * w, 0.0])),
    "where of numbers": lambda w: sum(
        [np.where(np.isnan(v), 0.0, v * v) for v in (w, w * holes[1], w * holes[2])]
    ),
    "comprehension": lambda w: sum([v * v for v in holes * w if v == v]),
    "comprehension of a list": lambda w: sum(
        [v * v for v in [h * w for h in holes] if not math.isnan(v)]
    ),
    "generator": lambda w: sum(np.exp(-v) for v in holes * w if not v != v),
    "comprehension of spreads": lambda w: sum(
        s * s for s in [np.std(row * w) for row in T] if s == s
    ),
    "filter": lambda w: sum(filter(lambda v: not np.isnan(v), holes * w)),
    "cmath": lambda w: sum([v * v for v in holes * w if not cmath.isnan(v)]),
    **{f.__name__: f for f in (
        stored_by_isinf, branch_in_a_loop, branch_by_math, branch_with_continue,
        branch_in_a_while_loop, branch_on_numbers, branch_by_entries_of_a_mask,
        branch_by_entries_of_a_list, branch_on_rows, branch_on_a_reduced_row, branch_on_a_variance,
        branch_on_a_norm, branch_on_a_product,
        early_return, places_that_are_kept,
    )},
}  # fmt: skip


def stored_by_comparison(w):
    z = spoilt * w
    z[z > 1e300] = 0.0
    return np.sum(z * w)


def put_by_comparison(w):
    z = spoilt * w
    np.putmask(z, z > 1e300, 0.0)
    return np.sum(z * w)


def product_compared(w):
    z = np.array([[1.0, np.inf], [2.0, 3.0]]) @ np.array([w, w * w])
    return np.sum(np.where(z < 1e300, z, 0.0))


# Masks that ask for no nan themselves, and depend on what the derivative is taken by.
COMPARED = {
    "abs below inf": lambda w: np.sum(np.where(np.abs(spoilt * w) < np.inf, spoilt * w, 0)),
    "below a bound": lambda w: np.sum(np.where(spoilt * w < 1e300, np.sin(spoilt * w), 0)),
    "not inf": lambda w: np.sum(np.where(spoilt * w != np.inf, spoilt * w, 0.0)),
    "equal": lambda w: np.sum(np.where(holes * w == holes * w, holes * w * w, 0.0)),
    "close": lambda w: np.sum(np.where(np.isclose(spoilt * w, np.inf), 0.0, spoilt * w)),
    "index": lambda w: np.sum((holes * w)[holes * w > 0] ** 2),
    "greater": lambda w: np.sum(np.where(np.greater(holes * w, 0.0), holes * w, 0.0)),
    "between": lambda w: (lambda z: np.sum(z[(z > -np.inf) & (z < np.inf)]))(spoilt * w),
    "sum where": lambda w: np.sum(spoilt * w, where=spoilt * w < 1e300),
    "mean where": lambda w: np.mean((holes * w) ** 2, where=holes * w > -1.0),
    "compress": lambda w: np.sum(np.compress(holes * w > 0, holes * w)),
    "select": lambda w: np.sum(np.select([spoilt * w > 1e300], [0.0], spoilt * w)),
    "behind a reshape": lambda w: np.sum((spoilt * w).reshape(-1, 1)[spoilt * w < 1e300]),
    **{f.__name__: f for f in (stored_by_comparison, put_by_comparison, product_compared)},
}


def differences(f, p, step=1e-4):
    return (8 * (f(p + step) - f(p - step)) - (f(p + 2 * step) - f(p - 2 * step))) / (12 * step)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_nan_entries_ignored_in_gradient(name):
    f = PROGRAMS[name]
    value, gradient = srcad.value_and_grad(f)(0.7)

    assert value == f(0.7)
    np.testing.assert_allclose(gradient, differences(f, 0.7), rtol=1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "name", ["nansum", "nansum rr", "nanmean ax", "nanvar", "nan_to_num", "where isnan", "index",
             "sqrt", "exp", "matmul"],
)  # fmt: skip
def test_nan_entries_ignored_in_second_derivative(name):
    gradient = srcad.grad(PROGRAMS[name])

    np.testing.assert_allclose(srcad.grad(gradient)(0.7), differences(gradient, 0.7), rtol=1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", MASKS)
def test_external_mask_equivalent_to_isnan_mask(name):
    f = MASKS[name]
    value, gradient = srcad.value_and_grad(f)(0.7)
    second = differences(srcad.grad(f), 0.7)

    assert value == f(0.7)
    np.testing.assert_allclose(gradient, differences(f, 0.7), rtol=1e-6)
    np.testing.assert_allclose(srcad.jvp(f, (0.7,), (1.0,))[1], gradient, rtol=1e-12)
    np.testing.assert_allclose(srcad.grad(srcad.grad(f))(0.7), second, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(srcad.hessian(f)(0.7), second, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(srcad.hvp(f)(0.7, 1.0), second, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", QUESTIONS)
def test_entries_found_by_a_question_for_nan_have_no_part_in_the_gradient(name):
    f = QUESTIONS[name]
    value, gradient = srcad.value_and_grad(f)(2.0)

    assert value == f(2.0)
    np.testing.assert_allclose(gradient, differences(f, 2.0), rtol=1e-6)
    np.testing.assert_allclose(srcad.jvp(f, (2.0,), (1.0,))[1], gradient, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "name", some(COMPARED, lambda _, name: name in ("below a bound", "index", "product_compared"))
)
def test_entries_of_data_left_out_by_a_comparison_have_no_part_in_the_gradient(name):
    f = COMPARED[name]
    value, gradient = srcad.value_and_grad(f)(2.0)

    assert value == f(2.0)
    np.testing.assert_allclose(gradient, differences(f, 2.0), rtol=1e-6)
    np.testing.assert_allclose(srcad.jvp(f, (2.0,), (1.0,))[1], gradient, rtol=1e-12)
    np.testing.assert_allclose(srcad.hessian(f)(2.0), differences(srcad.grad(f), 2.0), atol=1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "name",
    some(
        QUESTIONS,
        lambda _, name: (
            name in ("select", "comprehension", "branch_on_numbers", "branch_on_a_reduced_row")
        ),
    ),
)
def test_entries_found_by_a_question_for_nan_have_no_part_in_the_hessian(name):
    gradient = srcad.grad(QUESTIONS[name])

    expected = differences(gradient, 2.0)
    np.testing.assert_allclose(srcad.hessian(QUESTIONS[name])(2.0), expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(srcad.grad(gradient)(2.0), expected, rtol=1e-6, atol=1e-9)


def test_no_nan_handling_of_numbers_that_both_branches_read():
    def f(w):
        total = 0.0
        for v in holes[::2] * w:
            total = total * w if np.isnan(v) else total + v
        return total

    gradient = srcad.grad(f)

    assert gradient(2.0) == 4.0
    assert gradient.source.count("!= 0") == 1


@pytest.mark.parametrize(
    "question", [np.isnan, np.isinf, np.isfinite, np.isposinf, np.isneginf, math.isnan, math.isinf,
                 math.isfinite, cmath.isnan, cmath.isinf, cmath.isfinite],
)  # fmt: skip
def test_rows_of_questions_for_nan_say_so(question):
    assert srcad.rules.rule_for(question).answers == "nan"


@pytest.mark.parametrize("mask", [present, as_list, np.array([1.0, 0.0, 1.0, 0.0]) > 0])
def test_mask_argument_zeroes_gradient(mask):
    def f(x, w, mask):
        return np.sum(np.where(mask, np.sin(x * w), 0.0))

    x_bar, w_bar = srcad.grad(f, wrt=(0, 1))(t, 0.7, mask)

    chosen = np.asarray(mask)
    np.testing.assert_array_equal(x_bar[~chosen], 0.0)
    assert np.isclose(w_bar, np.sum(t[chosen] * np.cos(t[chosen] * 0.7)))


def test_a_list_of_booleans_is_a_mask_as_the_array_is():
    x = np.array([1.0, 2.0, 3.0, 0.5])

    f = srcad.grad(lambda w, mask: np.sum(np.where(mask, x * w, 0.0)))

    assert f(0.7, as_list) == f(0.7, np.array(as_list)) == 4.5
    assert srcad.jvp(lambda w: np.sum(np.where(as_list, x * w, 0.0)), (0.7,), (1.0,))[1] == 4.5


def test_nan_summed_without_mask_gives_nan_gradient():
    assert np.isnan(srcad.grad(lambda p: np.nansum(p * t) + np.sum(p * t))(0.7))


@pytest.mark.parametrize("reduce", [np.nansum, np.nanmean, np.nanmax, np.nanmin, np.nanstd])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_gradient_of_missing_entries_is_zero(reduce, dtype):
    x = np.array([1.0, nan, 3.0, 5.5], dtype)

    gradient = srcad.grad(lambda x: reduce(x))(x)

    assert gradient.dtype == dtype
    assert gradient[1] == 0.0
    assert np.all(np.isfinite(gradient))


def test_an_infinite_cotangent_does_not_reach_missing_entries():
    x = np.array([0.0, nan])

    with np.errstate(divide="ignore"):
        gradient = srcad.grad(lambda x: np.sqrt(np.nansum(x)))(x)

    assert gradient.tolist() == [np.inf, 0.0]


def test_no_nan_handling_without_missing_data():
    def loss(p):
        return np.sum(np.where(p > 0, p * p, 0.0)) + np.mean(np.exp(p) * p)

    gradient = srcad.grad(loss)
    gradient(np.array([1.0, -1.0]))

    assert "!= 0" not in gradient.source


def test_no_nan_handling_when_both_branches_nan():
    gradient = srcad.grad(lambda p: np.sum(np.where(t > 2, p * t, p * p * t)))
    gradient(0.7)

    assert "!= 0" not in gradient.source


# ------------------------------------------------------------------- zeros that are no selection
def quotient_of_quotient(x):
    y = 1 / (1 + 0.5 / x)
    return np.where(np.isinf(y), 0, y)


def quotient_without_nan(x):
    y = 1 / (1 + 0.5 / x)
    return np.where(np.isnan(y), 0, y)


def inverse_twice(x):
    y = 1 / (1 / x)
    return y[~np.isnan(y)]


def square_of_root(x):
    y = np.sqrt(x)
    return np.where(np.isinf(y), 0, y) ** 2


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (quotient_of_quotient, 2.0),
        (quotient_without_nan, 2.0),
        (inverse_twice, 1.0),
        (square_of_root, 1.0),
    ],
)
def test_zero_by_underflow_under_selection_is_right_or_nan(f, slope):
    def total(x):
        return np.sum(f(x))

    with np.errstate(all="ignore"):
        found = srcad.grad(total)(np.array([0.0, 1.0]))[0]

    assert found == slope or np.isnan(found)


# ------------------------------------------------------------------------ products and polynomials
_GAP = np.array([np.nan, 1.0, 2.0])
_GAPS = np.array([[np.nan, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, np.inf, 1.0]])
_CUT = {
    "cross": lambda v: np.cross(_GAP, np.array([0.5, -1.0, 2.0]) * np.sum(v[1:])),
    "cross of both": lambda v: np.cross(v, _GAP * v[0]),
    "cross of rows": lambda v: np.linalg.cross(_GAPS * v, v),
    "cross with broadcasting": lambda v: np.cross(v, _GAPS),
    "polyval": lambda v: np.polyval(v, _GAP),
    "polyval of both": lambda v: np.polyval(v, _GAPS * v[0]),
    "hermval": lambda v: np.polynomial.hermite.hermval(_GAP, v),
    "legval by name": lambda v: np.polynomial.legendre.legval(x=_GAPS, c=v),
}


@pytest.mark.parametrize("case", _CUT)
def test_nan_of_points_and_products_is_cut_by_mask(case):
    call = _CUT[case]

    def f(v):
        y = call(v)
        return np.sum(np.where(np.isfinite(y), y, 0.0) * np.cos(np.arange(y.size)).reshape(y.shape))

    v = np.array([0.3, 1.2, -0.4])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(srcad.grad(f)(v), difference(f, (v,)), rtol=1e-6, atol=1e-8)


# ------------------------------------------------------------------------ degrees of freedom
@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.nanvar(a, ddof=1),
        lambda a: np.nanstd(a, ddof=1),
        lambda a: np.sum(np.nanvar(a, axis=1, ddof=2, keepdims=True)),
    ],
    ids=["nanvar", "nanstd", "nanvar along axis"],
)
def test_degrees_of_freedom_of_spread_without_nan(f, mode):
    a = np.array([[1.0, nan, 3.5, 4.0], [2.0, 1.0, 0.5, -2.0]])
    direction = np.array([[0.3, 1.0, -0.7, 0.2], [1.1, -0.4, 0.6, 0.5]])
    h = 1e-5

    slope = srcad.jvp(f, (a,), (direction,))[1] if mode == "forward" else None
    if slope is None:
        slope = np.sum(srcad.grad(f)(a) * direction)

    want = (f(a + h * direction) - f(a - h * direction)) / (2 * h)
    np.testing.assert_allclose(slope, want, rtol=1e-8)


def with_literal(x, rule):
    return rule(np.where(np.arange(x.size) == 0, np.inf, x))


def with_number_given(x, rule, number=np.inf):
    return rule(np.where(np.arange(x.size) == 0, number, x))


def with_literal_second(x, rule):
    return rule(np.where(np.arange(x.size) > 0, x, np.inf))


@pytest.mark.parametrize("program", [with_literal, with_number_given, with_literal_second])
@pytest.mark.parametrize(
    ("rule", "slope"),
    [
        (scipy.stats.gamma(2.0).cdf, lambda v: v * np.exp(-v)),
        (lambda v: scipy.stats.gamma.cdf(v, 2.0), lambda v: v * np.exp(-v)),
        (lambda v: np.exp(-v * v), lambda v: -2.0 * v * np.exp(-v * v)),
        (lambda v: 1.0 / np.hypot(v, 1.0), lambda v: -v / (v * v + 1.0) ** 1.5),
    ],
    ids=["frozen", "gamma", "gauss", "hypot"],
)
def test_entries_replaced_by_infinity_have_no_part_in_the_gradient(program, rule, slope):
    x = np.array([0.5, 1.2, 0.4])

    with np.errstate(all="ignore"):
        found = srcad.grad(lambda x: np.sum(program(x, rule)))(x)

    np.testing.assert_allclose(found, [0.0, *slope(x[1:])], rtol=1e-12)
