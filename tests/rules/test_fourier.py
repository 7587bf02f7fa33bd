"""Fourier transforms in programs: filters, spectra, dynamic options."""

import functools

import numpy as np
import pytest

import srcad
from srcad.testing import check_grads

X = np.cos(np.arange(12.0) ** 1.5).reshape(3, 4)
V = np.sin(np.arange(12.0)).reshape(3, 4)


@functools.cache
def kept():
    return 0


def low_pass(x, h):
    return np.sum(np.sin(np.fft.irfft(np.fft.rfft(x) * h, len(x))))


@pytest.mark.parametrize("length", [5, 6])
def test_a_filter_of_a_real_signal(length):
    x, h = X.ravel()[:length], np.array([1.0, 0.5 + 0.2j, -0.3j, 0.1])[: length // 2 + 1]

    check_grads(low_pass, (x, h), order=2 if length == 5 else 1)


def test_fft_power_spectrum_generated_code():
    def power(x):
        return np.sum(np.abs(np.fft.fft(x, norm="ortho")) ** 2)

    gradient = srcad.grad(power)

    np.testing.assert_allclose(gradient(X), 2 * X, rtol=1e-12)
    assert "np.fft.ifft(" in gradient.source
    assert '"ortho"' in gradient.source


@pytest.mark.parametrize("transform", [np.fft.fft, np.fft.rfft, np.fft.ifft, np.fft.ihfft])
@pytest.mark.parametrize("axis", [0, -1])
def test_fft_along_dynamic_axis_is_complex(transform, axis):
    """Its dtype was unknown, and what is unknown is taken for real: conjugates were left out."""

    def f(x, k):
        return np.sum(np.real(transform(x, axis=k) ** 3))

    slope = np.sum(srcad.grad(f)(X, axis) * V)

    h = 1e-6
    assert slope == pytest.approx((f(X + h * V, axis) - f(X - h * V, axis)) / (2 * h), rel=1e-6)


@pytest.mark.parametrize("shape", [(3, 4), (9, 2), (10, 12)])
def test_fft_code_shared_by_truncation_and_padding(shape):
    x = np.cos(np.arange(float(np.prod(shape)))).reshape(shape)
    v = np.sin(np.arange(x.size)).reshape(shape)

    slope = np.sum(SPECTRUM(x) * v)

    h = 1e-6
    assert slope == pytest.approx((spectrum(x + h * v) - spectrum(x - h * v)) / (2 * h), rel=1e-6)


def spectrum(x):
    return np.sum(np.abs(np.fft.rfft2(x, (8, 8))) ** 2)


SPECTRUM = srcad.grad(spectrum)


def test_fft_axis_from_opaque_helper():
    def f(x):
        return np.sum(np.abs(np.fft.fft(x, axis=kept()) ** 2))

    slope = np.sum(srcad.grad(f)(X) * V)

    h = 1e-6
    assert slope == pytest.approx((f(X + h * V) - f(X - h * V)) / (2 * h), rel=1e-6)
