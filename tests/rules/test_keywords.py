"""Keywords of functions with rules: those of the rows are right, the others have a reason."""

import numpy as np
import pytest
import scipy.stats

import srcad
from srcad.errors import SrcadError
from srcad.rules.registry import rows
from srcad.rules.scipy import IS_BEFORE_1_18
from tests.language import assert_program, named
from tests.marks import some
from tests.numeric import assert_close, difference
from tests.rules import keywords

X = np.array([0.7, 1.2, -0.4])
M = np.sin(np.arange(6.0).reshape(3, 2))
N = np.cos(np.arange(6.0).reshape(3, 2))


@pytest.mark.skipif(IS_BEFORE_1_18, reason="the reasons are for the parameters of SciPy 1.18")
def test_every_keyword_of_a_function_with_a_rule_is_taken_or_has_a_reason():
    missing = {
        (row.about, keyword)
        for row in rows()
        if row.shipped and row.function is not None
        for keyword in keywords.untaken(row)
        if keywords.reason(row, keyword) is None
    }

    assert missing == set()


# ------------------------------------------------------------------------ taken
def product_with_initial(x):
    return np.prod(x, initial=2.0) + np.multiply.reduce(x, initial=x[0])


def product_by_initial(x):
    return np.sum(np.prod(M, 0, initial=x) ** 2)


def product_of_numbers_with_initial(x):
    return np.nanprod(M * x[0], 1, initial=x[1], where=M > 0.1) @ x


def sum_of_numbers_with_initial(x):
    return np.nansum(M * x[0], 1, initial=x[1], where=M > 0.1) @ x


def cross_along_first_axes(x):
    return np.sum(np.cross(x, N, axisa=0, axisb=0) ** 2)


def cross_with_result_on_another_axis(x):
    return np.sum(np.cross(x, N.T, axisa=0, axisb=-1, axisc=0)[0] ** 2)


def cross_by_position(x):
    return np.sum(np.cross(x, N, 0, 0) ** 3)


def cross_of_which_axis_goes_first(x):
    return np.sum(np.cross(x, N, axisa=1, axis=0) ** 3)


def shape_of_logpdf(c):
    return np.sum(scipy.stats.genextreme.logpdf(np.array([0.1, 0.4]), c=c))


def shape_of_isf(s):
    return np.sum(scipy.stats.lognorm.isf(np.array([0.1, 0.4]), s=s))


def shapes_in_another_order(b):
    return scipy.stats.beta.logpdf(0.3, b=b, a=2.0 * b)


def shape_of_mean(s):
    return scipy.stats.lognorm.mean(s=s)


def shape_of_frozen(s):
    return scipy.stats.lognorm(s=s, scale=s + 1).logpdf(1.2)


def array_from_generator(x):
    return np.sum(np.fromiter((v * v for v in x), float))


def array_from_first_items(x):
    return np.sum(np.fromiter(map(np.sin, x), dtype=np.float64, count=2))


@pytest.mark.parametrize(
    **named(
        [
            (product_with_initial, X),
            (product_by_initial, 1.3),
            (product_of_numbers_with_initial, X),
            (sum_of_numbers_with_initial, X),
            (cross_along_first_axes, M),
            (cross_with_result_on_another_axis, M),
            (cross_by_position, M),
            (cross_of_which_axis_goes_first, M),
            (shape_of_logpdf, 0.3),
            (shape_of_isf, 0.5),
            (shapes_in_another_order, 1.5),
            (shape_of_mean, 0.5),
            (shape_of_frozen, 0.5),
            (array_from_generator, X),
            (array_from_first_items, X),
        ]
    )
)
def test_keyword_is_differentiated(program):
    assert_program(*program)


def test_initial_of_nansum_in_forward_mode():
    value, slope = srcad.jvp(sum_of_numbers_with_initial, (X,), (np.cos(X),))

    assert value == sum_of_numbers_with_initial(X)
    assert_close(slope, difference(sum_of_numbers_with_initial, (X,)) @ np.cos(X))


def test_keyword_of_another_distribution_raises_as_scipy():
    with pytest.raises(TypeError, match="unexpected keyword"):
        srcad.grad(lambda a: scipy.stats.genextreme.logpdf(0.1, a=a))(0.3)


def test_fromiter_of_too_few_items_raises_as_numpy():
    with pytest.raises(ValueError, match="iterator too short"):
        srcad.grad(lambda x: np.sum(np.fromiter((v for v in x), float, count=5)))(X)


# ------------------------------------------------------------------------ not taken
NOT_TAKEN = [
    lambda x: np.var(x, correction=1),
    lambda x: np.sum(np.linspace(x[0], x[1], 3, retstep=True)[0]),
    lambda x: np.quantile(x, 0.4, weights=np.array([1, 2, 1]), method="inverted_cdf"),
    lambda x: np.sum(np.meshgrid(x, x, sparse=True)[0]),
    lambda x: np.sum(np.matmul(np.outer(x, x), N, axes=[(0, 1), (0, 1), (0, 1)])),
    lambda x: np.median(x, overwrite_input=True),
    lambda x: np.sum(np.trace(np.outer(x, x), dtype=np.float32)),
    lambda x: np.sum(np.exp(x, dtype=np.float64)),
    lambda x: scipy.stats.gmean(x**2, weights=np.array([1.0, 2.0, 1.0])),
    lambda x: scipy.stats.gmean(x**2, keepdims=True)[0],
]


@pytest.mark.parametrize("f", some(NOT_TAKEN, 3))
def test_keyword_that_is_not_taken_is_refused_or_right(f):
    try:
        got = srcad.grad(f)(X)
    except SrcadError:
        return

    assert_close(got, difference(f, (X,)), rtol=1e-4)
