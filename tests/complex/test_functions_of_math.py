"""Functions of math cast complex numbers of NumPy to their real parts, as `float` does."""

import math

import numpy as np
import pytest

import srcad

Z, Z_DOT = np.complex128(1.5 + 0.5j), np.complex128(0.7 - 0.3j)
FUNCTIONS = [math.log1p, math.log, math.atan, math.gamma, math.erf, math.exp, math.fabs]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_derivative_at_a_complex_number_is_that_at_its_real_part(function):
    def f(z):
        return function(z)

    y, y_dot = srcad.jvp(f, (Z,), (Z_DOT,))

    slope = (function(1.5 + 1e-6) - function(1.5 - 1e-6)) / 2e-6
    assert y == function(1.5)
    assert y_dot == pytest.approx(0.7 * slope, rel=1e-8)
    assert srcad.grad(f)(Z) == pytest.approx(slope, rel=1e-8)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_derivative_of_a_function_of_two_complex_numbers_is_that_at_their_real_parts():
    y, y_dot = srcad.jvp(lambda z, w: math.hypot(z, w), (Z, 2 * Z), (Z_DOT, 2 * Z_DOT))

    assert y == pytest.approx(1.5 * math.sqrt(5))
    assert y_dot == pytest.approx(0.7 * math.sqrt(5))


def test_complex_number_of_python_is_refused_as_by_math():
    with pytest.raises(TypeError):
        srcad.jvp(lambda z: math.log1p(z), (1.5 + 0.5j,), (1j,))
