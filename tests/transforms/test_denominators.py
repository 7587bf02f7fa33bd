"""Cotangents below infinite denominators: 0 where it is the limit, and nan or right elsewhere."""

import warnings

import numpy as np
import pytest

import srcad

AT = np.array([0.0, 0.5])


def far(value):
    return np.array([value, 0.7])


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def gradient(function, x):
    """The gradient of the sum of an elementwise function."""
    return srcad.pullback(function, x)[1](np.ones_like(x))[0]


def by_complex_step(function, x):
    return np.imag(function(x + 1e-30j)) / 1e-30


def hill(x):
    return 1 / (1 + (0.5 / x) ** 4)


def sum_of_hill(x):
    return np.sum(hill(x))


def over_square_of_sinh(x):
    sinh = np.sinh(x)
    return 1 / (sinh * sinh)


def hill_by_product(x):
    ratio = 0.5 / x
    return 1 / (1 + ratio * ratio)


ZERO = {
    "logistic": (lambda x: 1 / (1 + np.exp(-x)), -900.0),
    "logistic_of_multiple": (lambda x: 2.5 / (1 + 3 * np.exp(-0.5 * x)), -3000.0),
    "logistic_squared": (lambda x: 1 / (1 + np.exp(x)) ** 2, 800.0),
    "negative_power": (lambda x: (1 + np.exp(x)) ** -1.0, 800.0),
    "reciprocal": (lambda x: np.reciprocal(1 + np.exp2(x)), 1100.0),
    "bose": (lambda x: 1 / (np.exp(x) - 1), 800.0),
    "planck": (lambda x: x**3 / np.expm1(x), 800.0),
    "cosh": (lambda x: 1 / np.cosh(x), 800.0),
    "cosh_of_negative": (lambda x: 1 / np.cosh(x), -800.0),
    "sech_squared": (lambda x: np.cosh(x) ** -2, 800.0),
    "product_with_itself": (over_square_of_sinh, -800.0),
    "exponent": (lambda x: 1 / (1 + 3.0**x), 900.0),
    "hill": (hill, 0.0),
    "hill_of_sum": (lambda x: 1 / (1 + (1 + 0.5 / x) ** 3), 0.0),
    "hill_of_broadcast": (lambda x: 1 / (1 + np.broadcast_to(0.5 / x, np.shape(x)) ** 3), 0.0),
    "hill_of_multiple": (lambda x: 1 / (1 + (-2.0 * (0.5 / x)) ** 2), 0.0),
    "square_of_exponential": (lambda x: 1 / (1 + np.exp(x) ** 2), 800.0),
    "hill_by_product": (hill_by_product, 0.0),
    "hill_of_order_above_one": (lambda x: 1 / (1 + (0.5 / x) ** 1.5), 0.0),
    "negative_square": (lambda x: 1 / (1 + x**-2.0), 0.0),
    "square_of_pole_below_root": (lambda x: 1 / np.sqrt(1 + (0.5 / x) ** 4), 0.0),
}


@pytest.mark.parametrize("name", ZERO)
def test_gradient_below_infinite_denominator_is_zero(name):
    function, at = ZERO[name]
    x = far(at)

    found = gradient(function, x)

    assert found[0] == 0
    np.testing.assert_allclose(found[1], by_complex_step(function, x[1]), rtol=1e-12)
    assert srcad.grad(function)(np.float64(at)) == 0


# Quotients whose limit is not 0, and calls that are no quotients: right, or nan.
OTHER = {
    "pole": (lambda x: 1 / (1 + 0.5 / x), 0.0, 2.0),
    "reciprocal_twice": (lambda x: 1 / (1 / x), 0.0, 1.0),
    "pole_below_root": (lambda x: 1 / (1 + (0.5 / x) ** 0.5), 0.0, np.inf),
    "root_below_power": (lambda x: 1 / (1 + (0.5 * x**-0.5) ** 1.5), 0.0, np.inf),
    "power_of_low_order_at_small_number": (
        lambda x: 1 / (1 + (0.5 / x) ** 1.05), 1e-156, 2.1 * 2e-156**0.05,
    ),
    "negative_power_of_small_number": (lambda x: 1 / (1 + x**-1.05), 1e-160, 1.05 * 1e-8),
    "logarithm_below": (lambda x: 1 / (1 + np.log(np.exp(x))), 800.0, -1 / 801**2),
    "root_below": (lambda x: 1 / (1 + np.exp(x) ** 0.01), 720.0, None),
    "logarithm_above": (lambda x: np.log(1 / (1 + np.exp(x))), 800.0, -1.0),
    "logarithm_above_pole": (lambda x: np.log(hill(x)), 0.0, np.inf),
    "inverse": (lambda x: 1 / (1 / (1 + np.exp(x))), 800.0, np.inf),
    "factor_that_vanishes": (
        lambda x: 1 / (1 + np.exp(x) * np.exp(-x + 1.0)), 720.0, 0.0,
    ),
    "numerator_too": (lambda x: np.exp(x) / (1 + np.exp(x)), 1000.0, 0.0),
    "read_elsewhere": (lambda x: x * (0.5 / x) + hill(x), 0.0, 0.0),
    "large_base": (lambda x: 1 / (1 + x**4), 1e150, 0.0),
    "divisor_that_overflows": (lambda x: 1 / (1 + x / (1 + np.exp(x))), 800.0, 0.0),
    "numerator_with_pole": (lambda x: (0.5 / x) ** 8 / (1 + (0.5 / x) ** 4), 0.0, None),
    "pole_of_exponential": (lambda x: 1 / (1 + np.exp(1 / x)), 0.0, 0.0),
    "product_of_poles": (lambda x: 1 / (1 + (1 / x) * (2 / x)), 0.0, 0.0),
    "pole_times_factor": (lambda x: 1 / (1 + x * (1 / x) ** 2), 0.0, 1.0),
    "pole_above_root": (lambda x: np.sqrt(1 / (1 + (0.5 / x) ** 2)), 0.0, 2.0),
    "entropy": (lambda x: x * np.log(x), 0.0, -np.inf),
    "softplus": (lambda x: np.log(1 + np.exp(x)), 1000.0, 1.0),
    "arctan": (lambda x: np.arctan(1 / x), 1e-200, -1.0),
    "root_of_square": (lambda x: np.sqrt(x**2), 0.0, None),
}  # fmt: skip


def is_right_or_nan(found, wanted):
    return np.isnan(found) or (wanted is not None and np.isclose(found, wanted, rtol=1e-9, atol=0))


@pytest.mark.parametrize("name", OTHER)
def test_gradient_that_is_not_zero_at_limit_is_right_or_nan(name):
    function, at, wanted = OTHER[name]

    of_number = srcad.grad(function)(np.float64(at))
    of_array = gradient(function, far(at))
    pushed = srcad.jvp(function, (np.float64(at),), (1.0,))[1]

    assert is_right_or_nan(of_number, wanted)
    assert is_right_or_nan(of_array[0], wanted)
    assert is_right_or_nan(pushed, wanted)


def test_tangent_of_cube_root_of_cube_is_right_or_nan():
    assert is_right_or_nan(srcad.jvp(lambda x: np.cbrt(x**3), (0.0,), (1.0,))[1], 1.0)


@pytest.mark.parametrize("order", [1.2, 2.0, 4.0])
def test_hill_function_with_parameters_at_dose_zero(order):
    def response(x, k, n):
        return np.sum(1 / (1 + (k / x) ** n))

    found = srcad.grad(response, wrt=(0, 1, 2))(AT, 0.7, order)

    assert found[0][0] == 0
    alone = srcad.grad(response, wrt=(0, 1, 2))(AT[1:], 0.7, order)
    for with_zero, without in zip(found[1:], alone[1:], strict=True):
        np.testing.assert_allclose(with_zero, without, rtol=1e-14)


@pytest.mark.parametrize("order", [0.5, 1.0])
def test_hill_function_of_low_order_at_dose_zero_is_right_or_nan(order):
    def response(x, n):
        return np.sum(1 / (1 + (0.5 / x) ** n))

    found = srcad.grad(response)(AT, order)

    assert is_right_or_nan(found[0], 2.0 if order == 1 else np.inf)


def test_second_derivative_at_pole_is_right_or_nan():
    def response(x):
        return np.sum(1 / (1 + (0.5 / x) ** 2))

    for found in (
        srcad.hessian(response)(AT),
        srcad.jacobian(srcad.grad(response), mode="rev")(AT),
    ):
        assert is_right_or_nan(found[0, 0], 8.0)
        np.testing.assert_allclose(found[1, 1], -2.0, rtol=1e-12)


def test_gradient_by_factor_of_exponential_that_overflows():
    def decay(a, b, x):
        return np.sum(1 / (1 + a * np.exp(-b * x)))

    found = srcad.grad(decay, wrt=(0, 1))(2.0, 0.5, np.array([-3000.0, 1.0]))

    wanted = srcad.grad(decay, wrt=(0, 1))(2.0, 0.5, np.array([1.0]))
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_gradient_of_sum_of_exponentials_below():
    x = np.array([800.0, 1.0, -2.0])

    found = srcad.grad(lambda x: 1 / np.sum(np.exp(x)))(x)

    np.testing.assert_array_equal(found, np.zeros(3))


MOVING = {
    "swapaxes": lambda y: np.swapaxes(y, 0, 1),
    "moveaxis": lambda y: np.moveaxis(y, 0, 1),
    "matrix_transpose": np.matrix_transpose,
    "flip": np.flip,
    "fliplr": np.fliplr,
    "rot90": np.rot90,
    "roll": lambda y: np.roll(y, 1, axis=0),
    "squeeze": lambda y: np.squeeze(y[None]),
    "expand_dims": lambda y: np.expand_dims(y, 1),
    "atleast_3d": np.atleast_3d,
    "reshape": lambda y: np.reshape(y, 4),
    "ravel": np.ravel,
    "asanyarray": np.asanyarray,
    "copy": np.copy,
    "concatenate": lambda y: np.concatenate([y, 2 * y], axis=1),
    "stack": lambda y: np.stack([y, y]),
    "append": lambda y: np.append(y, 2.0),
    "tile": lambda y: np.tile(y, 2),
    "repeat": lambda y: np.repeat(y, 2, axis=0),
    "delete": lambda y: np.delete(y, 1, axis=1),
    "diagonal": np.diagonal,
    "tril": np.tril,
    "float": lambda y: float(y[0, 0]),
}


@pytest.mark.parametrize("name", MOVING)
def test_gradient_is_zero_where_an_exponential_overflows_and_is_moved(name):
    move = MOVING[name]
    x = np.array([[800.0, 1.0], [-0.5, 0.3]])

    found = srcad.grad(lambda x: np.sum(1 / (1 + move(np.exp(x)))))(x)

    near = np.where(x > 700, 40.0, x)  # where the derivative is 0 but for 1e-17
    wanted = srcad.grad(lambda x: np.sum(1 / (1 + move(np.exp(x)))))(near)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize("name", ["swapaxes", "flip", "roll", "stack"])
def test_gradient_is_zero_at_a_pole_that_is_moved(name):
    move = MOVING[name]
    x = np.array([[0.0, 0.5], [0.25, 2.0]])

    found = srcad.grad(lambda x: np.sum(1 / (1 + move((0.5 / x) ** 4))))(x)

    count = np.size(move(x)) / 4
    wanted = count * by_complex_step(hill, np.where(x == 0, 1e-9, x))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-20)


def over_largest(x):
    return 1 / (1 + max(np.exp(x[0, 0]), np.exp(x[1, 1])))


def over_least_square(x):
    return 1 / min(1.0, x[0, 0] * x[0, 1] + 1.0)


@pytest.mark.parametrize("function", [over_largest, over_least_square])
def test_gradient_below_extremes_of_numbers(function):
    x = np.array([[0.5, -1.0], [2.0, 0.3]])
    differences = [
        (function(x + d) - function(x - d)) / 2e-6 for d in 1e-6 * np.eye(4).reshape(4, 2, 2)
    ]

    np.testing.assert_allclose(srcad.grad(function)(x).ravel(), differences, rtol=1e-7)


def test_zeros_beside_moved_entries_are_no_positive_divisors():
    x = np.array([[0.5, 1.0], [2.0, 0.3]])

    found = srcad.grad(lambda x: np.sum(1 / np.tril(np.exp(x))[1]))(x)

    np.testing.assert_allclose(found[1], -np.exp(-x[1]), rtol=1e-12)


def test_exported_hill_function_at_dose_zero(tmp_path):
    path = tmp_path / "hill_gradient.py"
    srcad.grad(sum_of_hill).export(path, AT)
    names: dict = {}

    exec(path.read_text(), names)

    np.testing.assert_allclose(names["grad_sum_of_hill"](AT), [0, 2], rtol=1e-14)


def test_narrow_floats_keep_their_dtype():
    found = srcad.grad(lambda x: np.sum(1 / (1 + np.exp(-x))))(np.array([-100, 0], np.float32))

    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [0, 0.25])


GUARDS = ("minimum", "where", "zero_at_pole", " if ")
UNGUARDED = {
    "lennard_jones": lambda x, a: 1 / x**12 - 1 / x**6,
    "sum_of_parameters": lambda x, a: 1 / (1 + (x + a) ** 4),
    "lorentz": lambda x, a: 1 / (1 + x * x),
    "quartic": lambda x, a: 1 / (1 + x**4),
    "divisor_above_zero": lambda x, a: 1 / (1 + (a / (1 + x * x)) ** 2),
    "divisor_of_entry_twice": lambda x, a: 1 / (1 + (a / (1.5 + x[1] * x[1])) ** 2),
    "divisor_is_two_and_cosine": lambda x, a: 1 / (1 + (a / (2.0 + np.cos(x))) ** 2),
    "factor_of_pole": lambda x, a: 1 / (1 + a * (2.0 / x)),
    "divisor_is_root": lambda x, a: 1 / (1 + (a / np.sqrt(2.0 + abs(x))) ** 2),
    "divisor_is_sum_of_squares": lambda x, a: 1 / (2 + (a / (np.sum(x**2) + 1e-6)) ** 3),
    "divisor_is_root_of_square": lambda x, a: 1 / (1 + (a / np.sqrt(1 + x**2)) ** 2),
    "bounded_base": lambda x, a: 1 / (1 + (3.0 * np.tanh(a / x)) ** 2),
    "divisor_is_cosh": lambda x, a: 1 / (1 + (x / np.cosh(a)) ** 2),
    "literal_divisor": lambda x, a: 1 / (1 + (x / 3.0) ** 2),
    "pole_of_order_one": lambda x, a: 1 / (1 + a / x),
    "negative_square": lambda x, a: 1 / (1 + np.exp(-0.5 * x**2)),
    "negative_absolute": lambda x, a: 1 / (1 + np.exp(-abs(x) / 3.0)),
    "quotient_of_square": lambda x, a: 1 / (1 + np.exp(-(x**2) / (2 * a**2))),
    "bounded_exponent": lambda x, a: 1 / (1 + np.exp(np.sin(x))),
    "below_maximum": lambda x, a: 1 / (1 + np.exp(x - np.max(x))),
    "shares": lambda x, a: np.cos(np.exp(x) / np.sum(np.exp(x))),
    "no_denominator": lambda x, a: (a / x) ** 4 + np.exp(x),
}


@pytest.mark.parametrize("name", UNGUARDED)
def test_gradient_of_finite_denominator_has_no_guard(name):
    function = UNGUARDED[name]
    gradient = srcad.grad(lambda x, a: np.sum(function(x, a)))

    gradient(np.ones(2), 2.0)

    code = [line for line in gradient.source.split("\n") if "#" not in line]
    assert not any(word in line for word in GUARDS for line in code)


def test_gradient_of_hill_function_has_one_guard():
    gradient = srcad.grad(sum_of_hill)

    gradient(AT)

    assert gradient.source.count("zero_at_pole(") == 1
    assert "where" not in gradient.source


def test_exponential_below_denominator_is_bounded_once():
    gradient = srcad.grad(lambda x, a: np.sum(1 / (1 + a * np.exp(x))), wrt=(0, 1))

    gradient(np.ones(2), 2.0)

    assert gradient.source.count("np.minimum(") == 1
    assert "where" not in gradient.source
