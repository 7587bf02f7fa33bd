"""Magnitudes, real and imaginary parts of what may be real or complex are real."""

import numpy as np
import pytest

import srcad
from tests.numeric import assert_close, assert_gradient, difference

REAL = np.array([[1.4, 0.3, 0.1], [0.2, 2.6, 0.5], [0.7, 0.1, 3.9]])  # of real eigenvalues
TURNING = np.array([[0.4, -1.3, 0.1], [1.2, 0.6, 0.5], [0.7, 0.1, 1.9]])  # two are conjugates


def spectral_radius(a):
    return np.max(np.abs(np.linalg.eigvals(a)))


def radius_by_builtins(a):
    return max(abs(v) for v in np.linalg.eigvals(a))


def sorted_real_parts(a):
    return np.sort(np.real(np.linalg.eigvals(a)))[-2:] @ np.array([1.0, 2.0])


def largest_real_part(a):
    return np.linalg.eigvals(a).real.max() ** 2


def clipped_imaginary_parts(a):
    return np.sum(np.clip(np.imag(np.linalg.eigvals(a)), 0.1, 5.0) ** 2)


def largest_angle(a):
    return np.max(np.angle(np.linalg.eigvals(a))) + np.trace(a) ** 2


def logarithm_of_matrix_function(a):
    w, v = np.linalg.eig(a)
    p = np.real(v @ np.diag(np.exp(0.3 * w)) @ np.linalg.inv(v))
    return np.sum(np.log(np.maximum(p, 1e-300)))


@pytest.mark.parametrize(
    ("f", "a"),
    [
        (spectral_radius, REAL),
        (spectral_radius, TURNING),
        (radius_by_builtins, TURNING),
        (sorted_real_parts, REAL),
        (largest_real_part, TURNING),
        (clipped_imaginary_parts, TURNING),
        (largest_angle, TURNING),
        (logarithm_of_matrix_function, REAL),
    ],
)
def test_order_of_real_parts_is_differentiated(f, a):
    assert srcad.value_and_grad(f)(a)[0] == f(a)
    assert_gradient(lambda f, a: (srcad.grad(f)(a),), f, a)


@pytest.mark.parametrize("f", [spectral_radius, logarithm_of_matrix_function])
def test_order_of_real_parts_in_forward_mode(f):
    value, slope = srcad.jvp(f, (REAL,), (np.cos(REAL),))

    assert value == f(REAL)
    assert_close(slope, np.sum(difference(f, (REAL,)) * np.cos(REAL)))


def test_gradient_of_single_precision_has_its_dtype():
    got = srcad.grad(spectral_radius)(REAL.astype(np.float32))

    assert got.dtype == np.float32
    assert_close(got, difference(spectral_radius, (REAL,)), rtol=1e-4, atol=1e-5)
