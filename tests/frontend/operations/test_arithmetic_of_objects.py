"""Arithmetic of dates, fractions and other objects, none of which carries a derivative."""

import collections
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from srcad import errors, grad, jvp

DAYS = [date(2020, 1, 1), date(2022, 2, 1), date(2023, 2, 1)]


def days_since_the_first(r, days):
    return np.sum(r ** np.array([(d - days[0]).days / 365 for d in days]))


def longest_span(r, days):
    return r ** ((max(days) - min(days)).days / 365)


def span_by_steps(r, days):
    total = timedelta()
    for start, stop in zip(days, days[1:], strict=False):
        total += stop - start
    return r ** (total.days / 365)


def months_of_a_loop(r, day):
    s = 0.0
    while day < date(2021, 1, 1):
        day = day + timedelta(100)
        s += r**day.month
    return s


@pytest.mark.parametrize(
    ("f", "known"),
    [
        (days_since_the_first, DAYS),
        (longest_span, DAYS),
        (span_by_steps, DAYS),
        (months_of_a_loop, DAYS[0]),
        (lambda r, d: r * (d[1] - d[0]).total_seconds() * 1e-8, DAYS),
        (lambda r, d: r ** abs(d[0] - d[1]).days, DAYS),
        (lambda r, f: r ** (f * 2 + 1).numerator, Fraction(1, 3)),
        (lambda r, f: r**(-f).denominator + (f + 1) * r, Fraction(1, 3)),
        (lambda r, x: r * float((x * 2 + 1).normalize()), Decimal("1.5")),
        (lambda r, s: r * len((s | {7}).union({9})), {1, 2}),
        (lambda r, c: r * (c + c)["x"], collections.Counter("xxy")),
    ],
)
def test_arithmetic_of_objects_is_an_inactive_call(f, known):
    want = (f(0.9 + 1e-6, known) - f(0.9 - 1e-6, known)) / 2e-6

    assert grad(f)(0.9, known) == pytest.approx(want, rel=1e-6)
    assert jvp(f, (0.9, known), (1.0, None))[1] == pytest.approx(want, rel=1e-6)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_product_of_matrices_is_no_product_of_entries():
    """It was wrong: the product of two `numpy.matrix` was taken for one entry by entry."""
    matrix = np.asarray([[1.0, 2.0], [3.0, 4.0]]).view(np.matrix)

    with pytest.raises(errors.UnsupportedTypeError, match="an operation with a '.*matrix'"):
        grad(lambda r, m: np.sum((m * m) * r))(0.9, matrix)


def test_multiple_of_sparse_matrix_stays_sparse():
    sparse = pytest.importorskip("scipy.sparse")
    a = sparse.csr_array(np.array([[1.0, 2.0], [0.0, 3.0]]))

    found = grad(lambda x, a: np.sum((a * 2.0) @ x) + np.sum((a + a).toarray() @ x))(np.ones(2), a)

    np.testing.assert_allclose(found, 4.0 * np.array([1.0, 5.0]))
