"""Complex derivatives, complex seeds and tangents, and what is refused of complex numbers."""

import math

import numpy as np
import pytest

import srcad
from srcad.errors import (
    MutationError,
    NonScalarOutputError,
    NotDifferentiableError,
    SeedError,
    UnsupportedTypeError,
)

Z = 0.3 + 0.4j


def f(z):
    return z * z * np.exp(z) / (1 + z)


def slope_of_f(z):
    return f(z) * (2 / z + 1 - 1 / (1 + z))


def test_the_complex_derivative_of_a_holomorphic_function():
    value, derivative = srcad.value_and_grad(f, holomorphic=True)(Z)

    assert value == f(Z)
    assert derivative == pytest.approx(slope_of_f(Z))
    assert type(derivative) is complex
    assert srcad.grad(f, holomorphic=True)(Z) == derivative


def test_derivatives_of_sums_of_structures_and_of_second_order():
    z = np.array([0.1j, 0.5, 1 - 1j])
    slopes = srcad.elementwise_grad(np.sin, holomorphic=True)(z)
    parts = srcad.grad(lambda p: p["a"] * p["b"] ** 2, holomorphic=True)({"a": 1j, "b": 2 + 1j})
    twice = srcad.grad(srcad.grad(lambda z: z**3, holomorphic=True), holomorphic=True)

    np.testing.assert_allclose(slopes, np.cos(z))
    assert parts == {"a": (2 + 1j) ** 2, "b": 2j * (2 + 1j)}
    assert twice(Z) == pytest.approx(6 * Z)


def test_a_complex_derivative_inside_a_differentiated_function():
    def speed(z):
        return abs(srcad.grad(f, holomorphic=True)(z)) ** 2

    step = 1e-6
    expected = sum(
        unit * (speed(Z + step * unit) - speed(Z - step * unit)) / (2 * step) for unit in (1, 1j)
    )
    assert srcad.grad(speed)(Z) == pytest.approx(expected, rel=1e-8)


def test_holomorphic_derivative_with_aux():
    derivative, aux = srcad.grad(lambda z: (z * z, z), holomorphic=True, has_aux=True)(Z)

    assert (derivative, aux) == (2 * Z, Z)


@pytest.mark.parametrize(
    ("function", "point", "error", "words"),
    [
        (abs, Z, NonScalarOutputError, "needs one complex number"),
        (lambda x: x * 1j, 2.0, UnsupportedTypeError, "is real"),
        (lambda z: z * z, np.array([Z]), NonScalarOutputError, "needs one complex number"),
    ],
)
def test_non_holomorphic_function_rejected(function, point, error, words):
    with pytest.raises(error, match=words):
        srcad.grad(function, holomorphic=True)(point)


@pytest.mark.parametrize("derive", [srcad.grad, srcad.value_and_grad, srcad.elementwise_grad])
def test_a_complex_result_is_refused_without_the_option(derive):
    with pytest.raises(NonScalarOutputError, match=r"complex"):
        derive(f)(Z)


def test_the_error_names_the_option():
    with pytest.raises(NonScalarOutputError, match=r"srcad.grad\(f, holomorphic=True\)"):
        srcad.grad(f)(Z)


# ------------------------------------------------------------------------ seeds and tangents
def test_a_pullback_takes_any_complex_seed():
    y, back = srcad.pullback(f, Z)

    assert y == f(Z)
    for seed in (1, 1j, 2 - 3j):
        (bar,) = back(seed)
        assert bar == pytest.approx(seed * slope_of_f(Z).conjugate())
        assert type(bar) is complex


def test_seeds_of_arrays_may_be_real():
    y, back = srcad.pullback(lambda z: z * 1j, np.array([1.0, 2j], np.complex64))

    (bar,) = back(np.ones(2))

    assert y.dtype == bar.dtype == np.complex64
    np.testing.assert_array_equal(bar, [-1j, -1j])


def test_complex_seeds_and_tangents_of_real_values_are_refused():
    _, back = srcad.pullback(abs, Z)
    with pytest.raises(SeedError, match="the value is real"):
        back(1j)
    with pytest.raises(SeedError, match="the value is real"):
        srcad.jvp(math.sin, (1.0,), (1j,))
    _, back = srcad.pullback(np.sin, np.ones(2))
    with pytest.raises(SeedError, match="the value is real"):
        back(np.array([1, 1j]))


def test_a_tangent_is_the_derivative_in_one_direction():
    y, y_dot = srcad.jvp(f, (Z,), (2 - 1j,))

    assert y == f(Z)
    assert y_dot == pytest.approx(slope_of_f(Z) * (2 - 1j))


# ------------------------------------------------------------------------ dtypes
@pytest.mark.parametrize(
    "x", [0.5, 2, np.float32(0.5), np.array([0.5, 0.2]), np.array([0.5, 0.2], np.float32), [0.5]]
)
def test_a_real_argument_has_a_real_gradient(x):
    def g(x):
        return np.sum(np.abs(np.exp(1j * np.asarray(x)) + x) ** 2)

    gradient = srcad.grad(g)(x)

    lifted = float if isinstance(x, int) else type(x)
    assert type(gradient) is lifted
    assert not np.iscomplexobj(gradient)
    if isinstance(x, np.ndarray | np.generic):
        assert gradient.dtype == x.dtype


@pytest.mark.parametrize("kind", [complex, np.complex64, np.complex128])
def test_complex_argument_gradient_keeps_type(kind):
    gradient = srcad.grad(lambda z: abs(z) ** 2 + z.real)(kind(Z))

    assert type(gradient) is kind
    assert gradient == pytest.approx(2 * Z + 1, rel=1e-6)


def test_an_unused_complex_argument_has_zeros():
    found = srcad.gradient(lambda a, b: a * 2.0, 1.0, 1j)

    assert found == (2.0, 0j)
    assert type(found[1]) is complex


# ------------------------------------------------------------------------ what turns complex
def test_loop_carried_variable_becomes_complex():
    def g(x):
        psi = 1.0
        for t in x:
            psi = psi * np.exp(1j * t) + t
        return abs(psi) ** 2

    x = np.array([0.1, 0.5, 0.7])
    expected = [(g(x + e) - g(x - e)) / 2e-6 for e in np.eye(3) * 1e-6]

    np.testing.assert_allclose(srcad.grad(g)(x), expected, rtol=1e-8)


def test_value_complex_on_one_path():
    def g(x, flag):
        y = x if flag else 1j * x
        return abs(y * (1 + 2j) + 0.3)

    for flag in (True, False):
        expected = (g(0.5 + 1e-6, flag) - g(0.5 - 1e-6, flag)) / 2e-6
        assert srcad.grad(g)(0.5, flag) == pytest.approx(expected, rel=1e-8)


def test_recursion_becoming_complex():
    def turned(z, n):
        return z if n == 0 else turned(z * z + 1j, n - 1)

    def g(x):
        return abs(turned(x, 3))

    expected = (g(0.3 + 1e-6) - g(0.3 - 1e-6)) / 2e-6
    assert srcad.grad(g)(0.3) == pytest.approx(expected, rel=1e-8)
    dot = srcad.jvp(g, (0.3,), (1.0,))[1]
    assert dot == pytest.approx(expected, rel=1e-8)
    assert not np.iscomplexobj(dot)


def test_sign_of_possibly_complex_value_rejected():
    """It was taken for constant, as that of real numbers is."""

    def g(x):
        acc = 0
        for t in x:
            acc = np.sign(acc + 1) * t * (1 + 1j) + acc
        return abs(acc)

    with pytest.raises(UnsupportedTypeError, match="real or a complex number"):
        srcad.grad(g)(np.array([0.1, 0.5]))


def test_a_write_into_the_real_part_is_refused():
    """It was taken for a write into the array itself, whose imaginary part was lost."""

    def g(x):
        z = np.full(3, 1j)
        z.real[0] = x
        return np.sum(np.abs(z) ** 2)

    with pytest.raises(MutationError, match="the real part of complex numbers"):
        srcad.grad(g)(0.5)


@pytest.mark.parametrize(
    "function", [np.max, np.sort, np.ptp, lambda z: np.clip(z, 0, 1), lambda z: np.maximum(z, 0)]
)
def test_ordering_of_complex_numbers_rejected(function):
    with pytest.raises(NotDifferentiableError, match="real part"):
        srcad.grad(lambda z: np.sum(np.abs(function(z))))(np.array([1j, 2.0]))


def test_complex_masks_and_stores_keep_zeros():
    def g(x):
        z = np.where(x > 0, np.log(x + 0j) * 1j, 0)
        return np.sum(z.imag)

    np.testing.assert_array_equal(srcad.grad(g)(np.array([0.0, 0.5])), [0.0, 2.0])


def test_complexness_of_product_not_inferred_from_one_factor():
    """Whether a product is complex was asked of one factor, whose shape it has, in both modes."""

    def g(z, x, flag):
        b = z if flag else x
        return np.mean(np.abs(b * x))

    z, x = np.array([0.3 + 1j, -0.5j, 1.2]), np.array([0.4, -0.7, 1.1])
    dz, dx = np.array([1j, 0.5, -1 + 0.2j]), np.array([0.3, 1.0, -0.4])
    for flag in (True, False):
        expected = (
            g(z + 1e-6 * dz, x + 1e-6 * dx, flag) - g(z - 1e-6 * dz, x - 1e-6 * dx, flag)
        ) / 2e-6
        z_bar, x_bar = srcad.grad(g, wrt=(0, 1))(z, x, flag)
        found = np.vdot(z_bar, dz).real + x_bar @ dx
        assert found == pytest.approx(expected, rel=1e-8)
        dot = srcad.jvp(g, (z, x, flag), (dz, dx, None))[1]
        assert dot == pytest.approx(expected, rel=1e-8)
