"""Arguments that are read-only, or several entries of which share memory, and are written into."""

import dataclasses

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import srcad
from srcad.arguments.aliasing import argument_memory
from srcad.errors import MutationError
from tests.language import assert_program

X = np.array([1.0, 2.0, 3.0])


def frozen(array):
    array = array.copy()
    array.flags.writeable = False
    return array


@dataclasses.dataclass
class Pair:
    w: np.ndarray
    b: np.ndarray


# ------------------------------------------------------------------------------- read-only
def by_name(x):
    x += 1.0
    return np.sum(x * x)


def by_item(x):
    x[0] = 3.0
    return np.sum(x * x)


def through_a_view(x):
    v = x.reshape(3, 1)[1:]
    v *= 2.0
    return np.sum(x * x)


def through_another_name(x):
    y = np.asarray(x)
    np.multiply(y, 2.0, out=y)
    return np.sum(x)


def helper(y):
    y[0] = 2.0 * y[1]


def by_a_helper(x):
    helper(x)
    return np.sum(x * x)


def sorted_in_place(x):
    x.sort()
    return x[0]


def in_the_second_trip(x):
    y = x.copy()
    for k in range(2):
        if k == 1:
            y = x
        y[k] = 0.5
    return np.sum(y * x)


@pytest.mark.parametrize(
    "f", [by_name, by_item, through_a_view, through_another_name, by_a_helper, sorted_in_place]
)
def test_write_into_read_only_argument_raises_value_error(f):
    with pytest.raises(ValueError, match="read-only"):
        f(frozen(X))

    with pytest.raises(ValueError, match="read-only"):
        srcad.grad(f)(frozen(X))


def test_write_into_read_only_zero_dimensional_argument_raises():
    with pytest.raises(ValueError, match="read-only"):
        srcad.grad(by_name)(frozen(np.array(2.0)))


def where_it_is_large(x):
    if np.sum(x) > 100.0:
        x[0] = 1.0
    return np.sum(x * x)


def caught(x):
    try:
        x[0] = 5.0
    except ValueError:
        return 2.0 * np.sum(x)
    return np.sum(x * x)


def copied_where_it_fails(x):
    try:
        x += 1.0
    except ValueError:
        x = x + 2.0
    return np.sum(x * x)


def one_of_two(x, c):
    y = x if c > 0 else x * 2.0
    y[0] = 1.0
    return np.sum(x * y)


@pytest.mark.parametrize("x", [X, frozen(X)], ids=["writeable", "read-only"])
@pytest.mark.parametrize("f", [where_it_is_large, caught, copied_where_it_fails])
def test_read_only_argument_without_executed_write_accepted(f, x):
    value = srcad.value_and_grad(f)(x)[0]

    assert value == f(x.copy() if x.flags.writeable else x)


def test_read_only_check_of_dynamically_selected_array():
    assert_program(one_of_two, X, -1)
    assert srcad.value_and_grad(one_of_two)(frozen(X), -1)[0] == one_of_two(X, -1)
    with pytest.raises(ValueError, match="read-only"):
        srcad.grad(one_of_two)(frozen(X), 1)


def test_loop_alias_of_read_only_argument_written_raises():
    assert_program(in_the_second_trip, X)
    with pytest.raises(ValueError, match="read-only"):
        srcad.grad(in_the_second_trip)(frozen(X))


def step(p):
    p["w"] -= 0.1 * p["b"]
    return np.sum(p["w"] * p["b"])


def step_of_fields(p):
    p.w -= 0.1 * p.b
    return np.sum(p.w * p.b)


@pytest.mark.parametrize(
    ("f", "made"), [(step, lambda w, b: {"w": w, "b": b}), (step_of_fields, Pair)]
)
def test_only_written_array_must_be_writeable(f, made):
    gradient = srcad.value_and_grad(f)

    assert gradient(made(X, frozen(X)))[0] == f(made(X.copy(), X))
    with pytest.raises(ValueError, match="read-only"):
        gradient(made(frozen(X), X))


def test_writeable_and_read_only_arguments_alternate():
    gradient = srcad.value_and_grad(by_item)

    for _ in range(2):
        assert gradient(X)[0] == 22.0
        with pytest.raises(ValueError, match="read-only"):
            gradient(frozen(X))


# --------------------------------------------------------------------------- repeated entries
def broadcast_and_writeable():
    array = np.broadcast_to(X, (2, 3))
    array.flags.writeable = True
    return array


REPEATED = {
    "broadcast": broadcast_and_writeable,
    "windows": lambda: sliding_window_view(np.arange(5.0), 3, writeable=True),
    "strided": lambda: as_strided(np.arange(4.0), (3, 2), (8, 8)),
}


@pytest.mark.parametrize("made", REPEATED.values(), ids=REPEATED)
@pytest.mark.parametrize("f", [by_name, by_item, by_a_helper, where_it_is_large])
def test_write_into_self_overlapping_array_rejected(f, made):
    with pytest.raises(MutationError, match="several entries of which share memory"):
        srcad.grad(f)(made())


@pytest.mark.parametrize("made", REPEATED.values(), ids=REPEATED)
def test_self_overlapping_array_copied_as_suggested(made):
    assert_program(by_item, made().copy())


@pytest.mark.parametrize(
    "made",
    [
        *REPEATED.values(),
        lambda: frozen(X),
        lambda: np.broadcast_to(X, (2, 3)),
    ],
)
def test_unwritten_argument_in_any_memory_layout(made):
    def f(x):
        y = x.copy()
        y += 1.0
        return np.sum(x * y)

    assert srcad.value_and_grad(f)(made())[0] == f(made())


VIEWS = {
    "step": np.arange(10.0)[::2],
    "backward": np.arange(10.0)[::-1],
    "transposed": np.arange(12.0).reshape(3, 4).T,
    "axes moved": np.arange(60.0).reshape(3, 4, 5).transpose(2, 0, 1)[::2, :, ::-2],
    "interleaved": as_strided(np.arange(24.0), (3, 2), (16, 24)),
    "one long": np.broadcast_to(X, (1, 3)),
    "empty": np.broadcast_to(1.0, (0, 3)),
}


@pytest.mark.parametrize("x", VIEWS.values(), ids=VIEWS)
def test_strided_view_without_overlap_accepted(x):
    x = as_strided(x, x.shape, x.strides, writeable=x.flags.writeable)

    assert argument_memory(x) == ("own" if x.flags.writeable else "read-only")


def test_write_into_reversed_view_argument():
    assert_program(by_item, np.arange(8.0).reshape(2, 4)[::-1, ::-2])


# ------------------------------------------------------------------------------- overlapping
def test_read_only_view_of_written_argument_sees_write():
    def f(x, y):
        y *= 2.0
        return np.sum(x * y)

    base = X.copy()
    view = base[::-1]
    view.flags.writeable = False
    value = srcad.value_and_grad(f)(view, base)[0]

    assert value == f(view, base)


def test_write_into_overlapping_read_only_argument_rejected():
    def f(x, y):
        y *= 2.0
        x *= 2.0
        return np.sum(x * y)

    base = X.copy()
    view = base[:]
    view.flags.writeable = False
    with pytest.raises(MutationError, match="shares memory"):
        srcad.grad(f)(view, base)


def rows_added(x, y):
    y += 0.25
    return np.sum(np.sum(x, axis=0) ** 2)


def columns_flattened(x, y):
    y[..., 0] *= 1.5
    return np.sum(x.T.ravel()) + np.mean(y)


ORDERS = {
    "rows first": (0, 1, 2),
    "columns first": (2, 1, 0),
    "planes between": (1, 0, 2),
    "turned": (1, 2, 0),
}


@pytest.mark.parametrize("axes", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("f", [rows_added, columns_flattened])
def test_overlapping_arguments_summed_in_original_memory_order(f, axes):
    """The copy that both are read from lay in C order, and the sum differed in the last digit."""
    entries = np.random.default_rng(0).standard_normal((13, 11, 17))

    def made():
        base = np.ascontiguousarray(entries)
        x = base.copy().transpose(axes)
        return x, x[::-1]

    assert srcad.value_and_grad(f)(*made())[0] == f(*made())


def one_added(x, y):
    x += 1.0
    return x * y


def both_written(x, y):
    for _ in range(3):
        x += y
        y *= 0.5
    return x * y + x


def stored_into_a_point(x, y):
    y[...] = 3.0 * y
    return x * y


def entry_and_whole(x, y):
    x += 0.5
    y[...] *= 2.0
    x *= 1.5
    return np.sum(x * y)


@pytest.mark.parametrize("f", [one_added, both_written, stored_into_a_point])
@pytest.mark.parametrize("view", [lambda a: a, lambda a: a[...]])
def test_zero_dimensional_arguments_sharing_memory(f, view):
    """What was read from the copy was a number, and the write into it was not seen."""

    def plain(value):
        x = np.array(value)
        return f(x, view(x))

    x = np.array(1.5)
    value, gradient = srcad.value_and_grad(f)(x, view(x))

    assert value == plain(1.5)
    assert np.isclose(gradient, (plain(1.5 + 1e-6) - plain(1.5 - 1e-6)) / 2e-6)


def test_entry_argument_overlapping_its_array():
    def made():
        base = X.copy()
        return base[1, ...], base

    assert srcad.value_and_grad(entry_and_whole)(*made())[0] == entry_and_whole(*made())
    assert srcad.value_and_grad(entry_and_whole)(*made()[::-1])[0] == entry_and_whole(*made()[::-1])
