"""An option of a NumPy function means the same however it is written.

Of every option one sample and one manner are drawn, by ``SRCAD_PROOF`` for those marked `random`.
``SRCAD_OPTIONS=all`` runs every option of every sample in every manner.
"""

import functools
import os
import zlib

import numpy as np
import pytest

import srcad
from tests.language import named
from tests.marks import SEED, is_usual, some, some_by_name
from tests.numeric import assert_close, difference
from tests.rules.spellings import (
    is_expected,
    is_expected_twice,
    options,
    outcome,
    outcome_twice,
)

IS_WHOLE = os.environ.get("SRCAD_OPTIONS") == "all"
OPTIONS = options()


def chosen(name, one_in):
    """Return one case of an option, by its name, or all if ``SRCAD_OPTIONS`` asks for them."""
    found = OPTIONS[name]
    if IS_WHOLE:
        return found
    seed = 0 if is_usual(name, one_in) else SEED
    return [found[zlib.crc32(f"{name} {seed}".encode()) % len(found)]]


@pytest.mark.parametrize("name", some_by_name(OPTIONS, one_in=12, every=2))
def test_option_spellings_equivalent(name, rng):
    for case in chosen(name, one_in=12):
        with np.errstate(all="ignore"):
            found = outcome(case, rng)

        assert is_expected(case, found), (case.name, found)


@pytest.mark.parametrize("name", some_by_name(OPTIONS, one_in=48, every=8))
def test_option_spellings_equivalent_for_tangents_and_second_order(name, rng):
    for case in chosen(name, one_in=48):
        with np.errstate(all="ignore"):
            found = outcome_twice(case, rng)

        assert is_expected_twice(case, found), (case.name, found)


# ------------------------------------------------------------------------ single programs
X = np.arange(1.0, 28.0).reshape(3, 3, 3) / 10
W = np.cos(np.arange(27.0)).reshape(3, 3, 3)
TABLE = {
    "one": 1, "pair": (1, 2), "triple": (1, 2, 2), "turn": (2, 0, 1), "axes": [[1], [0]],
    "places": [0, 2, 0], "widths": {0: (1, 2)}, "unsigned": np.uint8(1), "order": "A", "none": None,
    "text": "ijk,jk->i", "shape": (9, 3), "whole": (3, 3, 3),
}  # fmt: skip
TURN = np.array([2, 0, 1])
STORE = [2, 0, 1]


@functools.cache
def kept(name):
    return TABLE[name]


def transposed_by_the_inverse(x, p):
    return np.sum(W * np.transpose(x, np.argsort(p)))


def transposed_by_a_new_array(x):
    return np.sum(W * np.transpose(x, np.array([2, 0, 1])))


def transposed_by_an_array_outside(x):
    return np.sum(W * x.transpose(TURN))


def transposed_by_a_tuple_of_a_list(x):
    return np.sum(W * np.transpose(x, tuple(STORE)))


def transposed_by_a_helper_s(x):
    return np.sum(W * np.transpose(x, kept("turn")))


def transposed_over_and_over(x, turns):
    total = 0.0
    for turn in turns:
        x = np.transpose(x, turn)
        total = total + np.sum(W * np.sin(x))
    return total


def spread_over_a_helper_s_axis(x):
    return np.sum(np.sin(np.std(x, axis=kept("one"))))


def norm_of_a_helper_s_order(x):
    return np.sum(np.linalg.norm(x[0], ord=kept("one"), axis=1))


def median_over_a_helper_s_axes(x):
    return np.sum(W[0] * np.median(x * W, axis=kept("one"))) + np.median(x * W, kept("pair"))[0]


def rolled_by_a_helper_s_pair(x):
    return np.sum(W * np.roll(x, kept("pair"), (0, 1)))


def rolled_by_an_unsigned_number(x):
    return np.sum(W * np.roll(x, kept("unsigned"), 0))


def tiled_by_a_helper_s_triple(x):
    return np.sum(np.tile(x, kept("triple")) * np.tile(W, (1, 2, 2)) ** 2)


def padded_by_a_helper_s_dict(x):
    return np.sum(np.pad(x, kept("widths"))[1:4] * W)


def read_at_places_twice(x, places):
    return np.sum(np.sin(x[places]))


def added_at_places_twice(x, places):
    y = x.copy()
    y[places] += x[0, 0, 0]
    return np.sum(np.sin(y * W))


def multiplied_along_a_list_of_axes(x, axes):
    return np.sum(np.sin(np.tensordot(x, W, axes)))


def product_over_axes(x, axis):
    return np.sum(np.prod(x, axis=axis))


def summed_beside_a_length_of_one(x, axis):
    columns = np.sum(x, axis=(1, 2))[:, None]
    return np.sum(np.sin(np.sum(x, axis=axis) * columns))


def einsum_of_lists(x):
    return np.sum(np.sin(np.einsum(x, [0, 1, 2], W, [1, 2, 3])))


def einsum_of_lists_with_an_ellipsis(x):
    return np.sum(np.sin(np.einsum(x, [Ellipsis, 7], W[0], (7, 30), [30, Ellipsis])))


def einsum_of_a_text(x, text):
    return np.sum(np.sin(np.einsum(text, x, W[0])))


def einsum_of_an_entry(x):
    return np.sum(np.sin(np.einsum(TABLE["text"], x, W[0])))


def padded_of_any_rank(x):
    return np.sum(np.pad(np.reshape(x, kept("shape")), 2)[1:8] ** 2)


def points_of_any_rank(x):
    return np.sum(np.trapezoid(np.reshape(x, kept("shape")), x[0, 0]))


def points_at_a_helper_s_positions(x):
    return np.trapezoid(x[0, 0], kept("places"), x[1, 1, 1])


@pytest.mark.parametrize(
    **named(
        [
            (transposed_by_the_inverse, X, np.array([1, 2, 0])),
            (transposed_by_a_new_array, X),
            (transposed_by_an_array_outside, X),
            (transposed_by_a_tuple_of_a_list, X),
            (transposed_by_a_helper_s, X),
            (transposed_over_and_over, X, np.array([[2, 0, 1], [1, 0, 2]])),
            (spread_over_a_helper_s_axis, X),
            (norm_of_a_helper_s_order, X),
            (median_over_a_helper_s_axes, X),
            (rolled_by_a_helper_s_pair, X),
            (rolled_by_an_unsigned_number, X),
            (tiled_by_a_helper_s_triple, X),
            (padded_by_a_helper_s_dict, X),
            (read_at_places_twice, X, ([0, 2, 0], [1, 1, 1])),
            (read_at_places_twice, X, (1, [0, 2, 0])),
            (added_at_places_twice, X, ([0, 0], [1, 1])),
            (added_at_places_twice, X, (slice(0, 2), [0, 0])),
            (added_at_places_twice, X, [0, 2, 0]),
            (added_at_places_twice, X, (1, 2)),
            (multiplied_along_a_list_of_axes, X, [[1], [0]]),
            (multiplied_along_a_list_of_axes, X, np.array([[1, 2], [0, 2]])),
            (multiplied_along_a_list_of_axes, X, (1, [0])),
            (product_over_axes, X, (0, 2)),
            (product_over_axes, X, np.int64(1)),
            (summed_beside_a_length_of_one, X[:1], np.int64(0)),
            (einsum_of_lists, X),
            (einsum_of_lists_with_an_ellipsis, X),
            (einsum_of_a_text, X, "ijk,jk->i"),
            (einsum_of_an_entry, X),
            (padded_of_any_rank, X),
            (points_of_any_rank, X),
            (points_at_a_helper_s_positions, X),
        ]
    )
)
def test_dynamic_option_gradient(program):
    f, *args = program

    value, bar = srcad.value_and_grad(f)(*args)

    assert value == f(*args)
    assert_close(bar, difference(f, tuple(args)), rtol=1e-6, atol=1e-7)


def test_unsupported_dynamic_option_raises_at_call():
    def f(x, name):
        return np.sum(np.sin(np.reshape(x, (9, 3), order=kept(name))))

    with pytest.raises(srcad.errors.SrcadError, match="depends on the memory layout"):
        srcad.grad(f)(X, "order")


def test_dynamic_einsum_subscripts_rejected_with_location():
    def f(x):
        return np.sum(np.einsum(kept("text"), x, W[0]))

    with pytest.raises(
        srcad.errors.UnsupportedSyntaxError, match="subscripts of np.einsum"
    ) as info:
        srcad.grad(f)(X)

    assert info.value.where.file == __file__


def test_rejection_names_numpy_function_not_rule_internals():
    def f(x):
        return np.sum(np.kron(np.reshape(x, kept("whole")), W))

    with pytest.raises(srcad.errors.SrcadError, match="numpy.kron before the call in 'f'") as info:
        srcad.grad(f)(X)

    assert info.value.where.file == __file__


@pytest.mark.parametrize(
    "f",
    some(
        [
            lambda x: np.sum(np.sin(W * np.transpose(x, TURN))),
            lambda x: np.sum(np.sin(np.std(x * W, axis=kept("one")))),
            lambda x: np.sum(np.linalg.norm(x * W, axis=kept("pair")) ** 2),
            lambda x: np.sum(np.sin(np.tensordot(x, W, kept("axes")))),
            lambda x: np.sum(np.sin(np.prod(np.cos(x), axis=kept("pair")))),
            lambda x: np.sum(np.sin(np.take(x, kept("places"), axis=kept("one")))),
            lambda x: np.sum(np.sin(np.tile(x, kept("triple")) * np.tile(W, (1, 2, 2)))),
        ],
        lambda k, _: k in (0, 5),
    ),
)
def test_dynamic_option_second_derivative(f):
    gradient, step = srcad.grad(f), 1e-5

    found = srcad.grad(lambda x: np.sum(gradient(x) * W))(X)

    want = (gradient(X + step * W) - gradient(X - step * W)) / (2 * step)
    np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-6)


AXES = (0, 1)
STEPS = [3]
PLACES = np.array([0, -1])


def test_a_range_of_axes_is_a_tuple_of_axes():
    def moved(x):
        return np.sum(W * np.sin(np.moveaxis(x, AXES, range(len(AXES)))))

    def turned(x):
        return np.sum(W * np.sin(np.transpose(x, range(x.ndim))))

    for f in (moved, turned):
        gradient = srcad.grad(f)
        assert_close(gradient(X), W * np.cos(X))
        assert_close(srcad.grad(lambda x, g=gradient: np.sum(g(x)))(X), -W * np.sin(X))


def test_axes_of_tensordot_from_a_table_at_second_order():
    table = {"axes": ((1,), (0,))}
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)

    def f(a, b):
        return np.sum(np.tensordot(a, b, axes=table["axes"]) ** 2)

    first = srcad.grad(f)
    found = srcad.gradient(lambda a, b: np.sum(first(a, b) ** 2), a, b)

    want = srcad.gradient(lambda a, b: np.sum((2.0 * (a @ b) @ b.T) ** 2), a, b)
    for bar, other in zip(found, want, strict=True):
        assert_close(bar, other)


def test_transforms_along_axes_of_an_array_have_their_second_derivative():
    def f(x):
        return np.sum(np.sin(np.fft.irfftn(x, (3, 5), PLACES, "ortho")))

    def g(x):
        return np.sum(np.sin(np.fft.irfftn(x, (3, 5), (0, -1), "ortho")))

    x = X[:2]
    found = srcad.grad(lambda x: np.sum(srcad.grad(f)(x) ** 2))(x)

    assert_close(found, srcad.grad(lambda x: np.sum(srcad.grad(g)(x) ** 2))(x))


def test_global_list_option_values_checked_per_call():
    def f(x):
        return np.sum(np.sin(np.fft.irfftn(x, STEPS, (1,))))

    gradient, x = srcad.grad(f), np.cos(np.arange(12.0)).reshape(3, 4)
    for count in (3, 4, 5, 3):
        STEPS[:] = [count]
        want = srcad.grad(lambda x, n=count: np.sum(np.sin(np.fft.irfftn(x, (n,), (1,)))))(x)
        assert_close(gradient(x), want)
