"""Sums of arrays that begin as 0 or None have the type of their terms after the loop."""

import numpy as np
import pytest

from srcad import grad, hessian
from srcad.errors import UnsupportedTypeError
from tests.language import assert_program, named
from tests.numeric import assert_gradient

C = np.array([0.3, 0.4])
V = np.cos(np.arange(8.0))
M = np.sin(np.arange(16.0)).reshape(4, 4)


def filtered(w):
    return np.sum(np.fft.irfft(np.fft.rfft(w), 6) ** 3)


def sum_of_a_generator(c):
    w = sum(a * M for a, _ in zip(c, [1, 2]))
    return np.sum(np.abs(np.fft.fft2(np.exp(1j * w), s=(8, 8))) ** 3)


def sum_of_entries(c):
    return filtered(sum(x * V for x in c))


def from_zero(c):
    w = 0
    for k in range(2):
        w = w + c[k] * V ** (k + 1)
    return filtered(w)


def from_none(c):
    w = None
    for x in c:
        w = x * V if w is None else w + x * V
    return filtered(w)


def in_place(c):
    w = 0
    for x in c:
        w += x * V
    return filtered(w)


def endless(c):
    w, k = 0, 0
    while True:
        w = w + c[k] * V
        k += 1
        if k >= len(c):
            break
    return filtered(w)


def nested(c):
    w = 0
    for x in c:
        for y in c:
            w = w + x * y * V
    return filtered(w)


def left_before_the_first_term(c):
    w = 0
    for x in c:
        if x > 0.1:
            break
        w = w + x * V
    return np.sum(w * c[0]) + c[1]


def some_terms(c):
    w = 0
    for x in c:
        if x < 0.35:
            continue
        w = w + x * V
    return np.sum(w**2)


def growing_terms(c):
    w = 0
    for k in range(3):
        w = w + c[0] * V[k : k + 1] * np.sum(V[: k + 1])
    return np.sum(w**3) + np.ndim(w) * c[1]


def more_axes_later(c):
    w = 0
    for k in range(3):
        w = np.outer(V, V) * c[0] + w if k else c[1] * V
    return np.sum(w**2) + np.ndim(w) * c[0]


PROGRAMS = [
    sum_of_a_generator, sum_of_entries, from_zero, from_none, in_place, endless, nested,
    left_before_the_first_term, some_terms, growing_terms, more_axes_later,
]  # fmt: skip


@pytest.mark.parametrize(**named([(program, C) for program in PROGRAMS]))
def test_sum_that_begins_as_zero_or_none_has_right_gradient(program):
    assert_program(*program)


def quadratic(c):
    w = 0
    for x in c:
        w = w + x * V
    return np.sum(w**2)


def test_sum_without_terms_stays_a_number():
    gradient = grad(quadratic)
    gradient(C)

    assert gradient(np.ones(0)).shape == (0,)
    assert_gradient(lambda _, c: (gradient(c),), quadratic, np.array([0.3, 0.4, 0.5]))


def test_sum_that_begins_as_zero_has_right_hessian():
    expected = 2.0 * np.sum(V**2) * np.ones((2, 2))

    np.testing.assert_allclose(hessian(quadratic)(C), expected, rtol=1e-14)


def test_code_after_a_sum_that_begins_as_zero_knows_its_shape():
    def squares(c):
        w = 0
        for x in c:
            w = w + x * V
        return np.sum(w**2)

    gradient = grad(squares)
    gradient(C)

    assert "w_bar = 2.0 * w\n" in gradient.source


def test_sum_of_a_list_of_arrays_of_other_shapes_is_right():
    def total(c, terms):
        w = 0
        for a in terms:
            w = w + a * c
        return np.sum(w**2)

    gradient = grad(total)

    for terms in ([V, V], [np.ones(1), V], [M[0], M]):
        expected = 2.0 * 0.3 * np.sum(sum(terms) ** 2)
        np.testing.assert_allclose(gradient(0.3, terms), expected, rtol=1e-14)


def test_sum_in_a_loop_that_may_not_run_is_refused_with_a_remedy_that_works():
    def transformed(c, w):
        k = 0
        while k < len(c):
            w = w + c[k] * V
            k += 1
        return filtered(w)

    with pytest.raises(UnsupportedTypeError, match="begin a sum with an array"):
        grad(lambda c: transformed(c, 0))(C)

    gradient = grad(lambda c: transformed(c, np.zeros(8)))
    assert_gradient(lambda _, c: (gradient(c),), lambda c: transformed(c, 0), C)
