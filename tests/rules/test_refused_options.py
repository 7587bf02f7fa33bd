"""Options, and numbers of axes, that a rule is not for: refused in both modes, by the row."""

import inspect

import numpy as np
import pytest
from scipy import fft, linalg

import srcad
from srcad.errors import NotDifferentiableError, UnsupportedTypeError
from srcad.rules.registry import qualified_name, rows
from tests.marks import some
from tests.rules import samples

ROWS = [row for row in rows() if row.shipped and not row.saves]
OPTIONS = [(row, name) for row in ROWS for name in row.refuses]
BOUNDED = [row for row in ROWS if row.max_rank is not None]


def of_number(row, change=lambda array: array, **options):
    """The function of a number that multiplies the first argument of a sample call of a row."""
    _, args, kwargs = samples.calls_of(row)[0] if row.samples else (None, (np.eye(3),), {})
    k = next(k for k, arg in enumerate(args) if holds_array(arg))
    is_tuple = isinstance(args[k], tuple)
    items = args[k] if is_tuple else args
    place = next(k for k, item in enumerate(items) if isinstance(item, np.ndarray))
    array, options, target = change(items[place]), {**kwargs, **options}, row.target
    left, right = items[:place], items[place + 1 :]
    before, after = args[:k], args[k + 1 :]

    def call_of_tuple(t):
        return target(*before, (*left, t * array, *right), *after, **options)

    def call(t):
        return target(*left, t * array, *right, **options)

    return call_of_tuple if is_tuple else call


def holds_array(arg):
    return any(isinstance(item, np.ndarray) for item in (arg if isinstance(arg, tuple) else [arg]))


def messages(f):
    """What is raised for a reverse and for a forward derivative."""
    found = []
    for derive in (
        lambda: srcad.pullback(f, 1.0)[1](f(1.0)),
        lambda: srcad.jvp(f, (1.0,), (1.0,)),
    ):
        with pytest.raises((NotDifferentiableError, UnsupportedTypeError)) as raised:
            derive()
        found.append(str(raised.value))
    return found


def another(value):
    """A value of an option that is not the default one."""
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, int):
        return -1 if value == 0 else 0
    return "lstsq"


def name_of(case):
    row, *option = case if isinstance(case, tuple) else (case,)
    return " ".join((qualified_name(row.target), *option))


@pytest.mark.parametrize("case", some(OPTIONS, 1, every=6), ids=name_of)
def test_option_without_a_rule_refused_in_both_modes(case):
    row, option = case
    default = inspect.signature(row.function).parameters[option].default

    for text in messages(of_number(row, **{option: another(default)})):
        assert f"{qualified_name(row.target)} is not differentiable with" in text
        assert repr(option) in text
        assert row.refuses[option] in text


@pytest.mark.parametrize("row", some(BOUNDED, 1, every=4), ids=name_of)
def test_stack_of_operands_refused_in_both_modes(row):
    def stacked(array):
        return np.broadcast_to(array, (2,) * (row.max_rank + 1 - array.ndim) + array.shape)

    for text in messages(of_number(row, stacked)):
        assert f"at an operand of {row.max_rank + 1} axes" in text
        assert f"at most {row.max_rank} axes" in text


def default_written(t):
    return linalg.inv(t * np.array([[2.0, 1.0], [0.5, 3.0]]), overwrite_a=False)


def default_by_position(t):
    return linalg.inv(t * np.array([[2.0, 1.0], [0.5, 3.0]]), 0)


@pytest.mark.parametrize("f", [default_written, default_by_position])
def test_option_at_its_default_accepted(f):
    expected = -f(1.0)  # of a multiple the inverse is divided by it

    np.testing.assert_allclose(srcad.jvp(f, (1.0,), (1.0,))[1], expected)
    np.testing.assert_allclose(srcad.jacobian(f)(1.0), expected)


def test_tangent_of_transform_in_place_does_not_change():
    z = np.array([1.0 + 2.0j, 0.5 - 1.0j, 2.0 + 0.0j])
    tangent = z.copy()

    with pytest.raises(NotDifferentiableError, match="overwrite_x"):
        srcad.jvp(lambda z: fft.fft(z, overwrite_x=True), (z.copy(),), (tangent,))

    np.testing.assert_array_equal(tangent, z)


MATRIX = np.array([[3.0, 1.0, 0.5], [0.2, 2.0, 0.3], [0.1, 0.4, 1.5]])
PIVOTS = np.array([0, 1, 2])


def of_rank(rank):
    """An array of which the compiler does not know the number of axes."""
    return np.broadcast_to(MATRIX, (2,) * (rank - 2) + MATRIX.shape)


def pair_of_rank(rank):
    return [of_rank(rank), PIVOTS]


def item_of_a_list(b, rank):
    return np.sum(linalg.lu_solve([of_rank(rank), PIVOTS], b) ** 2)


def item_of_a_tuple(b, rank):
    return np.sum(linalg.lu_solve((of_rank(rank), PIVOTS), b) ** 2)


def list_of_any_length(b, rank):
    return np.sum(linalg.lu_solve(pair_of_rank(rank), b) ** 2)


def active_operand(b, rank):
    return np.sum(linalg.polar(b * of_rank(rank))[1])


@pytest.mark.parametrize("f", [item_of_a_list, item_of_a_tuple, list_of_any_length, active_operand])
def test_operand_of_unknown_rank_looked_at_when_it_runs(f):
    b = np.array([0.3, 0.7, -0.4])
    derivative = srcad.grad(f)
    step = 1e-6 * np.eye(3)
    expected = [(f(b + e, 2) - f(b - e, 2)) / 2e-6 for e in step]

    np.testing.assert_allclose(derivative(b, 2), expected, rtol=1e-6, atol=1e-8)
    with pytest.raises((UnsupportedTypeError, NotDifferentiableError), match="at most 2 axes"):
        derivative(b, 3)


def with_option(x, in_place):
    return np.sum(linalg.inv(x, overwrite_a=in_place))


def test_option_that_is_not_known_looked_at_when_it_runs():
    found = srcad.grad(with_option)(MATRIX, False)

    np.testing.assert_allclose(found, srcad.grad(lambda x: np.sum(linalg.inv(x)))(MATRIX))
    with pytest.raises((UnsupportedTypeError, NotDifferentiableError), match="overwrite_a"):
        srcad.grad(with_option)(MATRIX, True)


def changes_its_length(a, b):
    return np.sum(linalg.lstsq(a, b)[1])


def test_residuals_of_least_squares_are_there_or_not_for_one_derivative():
    a, b = np.ones((4, 1)), np.arange(4.0).reshape(4, 1)
    derivative = srcad.grad(changes_its_length)

    np.testing.assert_allclose(derivative(a, b), -2 * (b - 1.5) * 1.5)
    np.testing.assert_array_equal(derivative(a[:1], b[:1]), [[0.0]])
