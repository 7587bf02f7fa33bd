"""What the plain call raises for its arguments, the gradient raises, whatever it needs of it."""

import math

import numpy as np
import pytest

import srcad
from tests.language import assert_program

A2, A3 = np.ones(2), np.ones(3)


def added_to_a_place(x):
    return np.sum(x) + np.argmax(x)


def looked_for_in_vain(x):
    np.argmin(x)
    return np.sum(x)


def largest_that_is_not_used(x):
    m = np.max(x)
    return np.sum(x) if x.size == 0 else m


def shifted_by_a_constant(x):
    return np.sum(x) + srcad.stop_gradient(np.min(x))


def spread_along_an_axis(x):
    return np.sum(x) + np.sum(np.argmax(x[None], axis=-1))


OF_NOTHING = [
    added_to_a_place,
    looked_for_in_vain,
    largest_that_is_not_used,
    shifted_by_a_constant,
    spread_along_an_axis,
    lambda x: (np.ptp(x), np.sum(x))[1],
    lambda x: np.sum(x) + np.nanargmax(x),
]


@pytest.mark.parametrize("f", OF_NOTHING)
@pytest.mark.parametrize("transform", [srcad.grad, srcad.value_and_grad])
def test_maximum_of_empty_array_raises(f, transform):
    """The place of the largest entry has no derivative: nobody looked for it."""
    with pytest.raises(ValueError, match=r"empty sequence|zero-size array"):
        transform(f)(np.zeros(0))


def test_maximum_of_empty_array_with_initial():
    assert srcad.grad(lambda x: np.sum(x) + np.max(x, initial=0.0))(np.zeros(0)).shape == (0,)


def test_argmax_index_of_nonempty_array():
    assert_program(added_to_a_place, np.array([0.3, 0.9, 0.1]))


PRODUCTS = [
    lambda x, w: x @ w,
    lambda x, w: np.dot(x, w),
    lambda x, w: np.einsum("i,i", x, w),
    lambda x, w: np.einsum("i,j,i->", x, x, w),
    lambda x, w: np.sum(np.outer(x, x) @ w),
    lambda x, w: np.inner(x, w),
    lambda x, w: (x + w, np.sum(x))[1],
    lambda x, w: np.sum(x * w),
]


@pytest.mark.parametrize("f", PRODUCTS)
def test_mismatched_lengths_raise(f):
    """The gradient was computed from the other operand alone, with its length."""
    gradient = srcad.grad(f)

    for _ in range(2):
        assert gradient(A2, 2.0 * A2).shape == (2,)
        with pytest.raises(ValueError):  # noqa: PT011 - what NumPy says differs
            gradient(A2, A3)


def test_axis_of_length_one_broadcasts():
    assert_program(lambda x, w: np.sum((x + w) ** 2), np.ones((2, 1)), A3)


@pytest.mark.parametrize("f", [lambda x: math.log(x), lambda x: 2.0 * math.sqrt(x)])
def test_scalar_function_with_array_raises_type_error(f):
    """It was an internal error of the reverse half."""
    with pytest.raises(TypeError):
        srcad.grad(f)(A3)


# ------------------------------------------------------------------------ messages of Python
def two_of(v):
    x, y = v
    return x * y


def four_of_list(v):
    x, y, z, w = list(v)
    return x * y * z * w


def two_of_generator(v):
    x, y = (u for u in v)
    return x * y


def two_of_argument(v):
    def inner(items):
        x, y = items
        return x * y

    return inner([u for u in v])


def star_of_one(v):
    x, *_, z = (v[0],)
    return x * z


def star_of_array(v):
    x, *_, z, w, u = v
    return x * z * w * u


def star_of_list(v):
    x, *_, z, w, u = [a for a in v if a > 0]
    return x * z * w * u


def one(x):
    return x


def one_or_two(x, y=1):
    return x * y


def three(x, y, z):
    return x * y * z


def named(x, *, y, z):
    return x * y * z


def removed(v):
    items = [1.0, 2.0]
    items.remove(7.0)
    return np.sum(v) * items[0]


def added_to_integers(v):
    a = np.zeros(3, dtype=int)
    a += v
    return np.sum(a)


def multiplied_into_integers(v):
    a = np.ones(3, dtype=int)
    a[1:] *= v[1:]
    return np.sum(a)


def added_into_integers_by_out(v):
    a = np.zeros(3, dtype=int)
    np.add(a, v, out=a)
    return np.sum(a)


AS_PLAIN = [
    two_of,
    four_of_list,
    two_of_generator,
    two_of_argument,
    star_of_one,
    star_of_array,
    star_of_list,
    removed,
    added_to_integers,
    multiplied_into_integers,
    added_into_integers_by_out,
    lambda v: np.sum(one(v, 2)),
    lambda v: np.sum(one_or_two(v, 2, 3)),
    lambda v: np.sum(three(v)),
    lambda v: np.sum(three(v, 2)),
    lambda v: np.sum(v) * three(),
    lambda v: np.sum(named(v)),
    lambda v: np.sum(named(v, 2, y=1, z=2)),
    lambda v: np.sum(named(v, 2)),
    lambda v: np.sum(v) * named(),
    lambda v: np.sum(v) * (1, 2).index(3),
    lambda v: np.sum(v) * [1, 2].index(3),
]


@pytest.mark.parametrize("f", AS_PLAIN)
def test_gradient_raises_in_words_of_plain_call(f):
    v = np.arange(1.0, 4.0)
    with pytest.raises(Exception) as expected:  # noqa: PT011 - each in its own words
        f(v)

    with pytest.raises(expected.type) as found:
        srcad.grad(f)(v)

    assert str(found.value) == str(expected.value)
