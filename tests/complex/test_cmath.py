"""The functions of `cmath`, of complex numbers on both sides of their cuts, and of real ones."""

import cmath

import numpy as np
import pytest

import srcad
from srcad.testing import check_grads
from tests.marks import named_some

Z = 0.3 + 0.7j
NAMES = ("sqrt exp log log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
         "phase").split()  # fmt: skip


@pytest.mark.parametrize("name", named_some(NAMES, ["sqrt", "exp", "acos", "atanh", "phase"]))
def test_a_function_of_cmath_is_differentiated(name):
    function = getattr(cmath, name)

    def f(z):
        return abs(function(z) + 0.2j) ** 2

    for z in (Z, -Z, Z.conjugate(), 0.6):
        check_grads(f, [z], order=1)
        gradient = srcad.grad(f)(z)
        assert type(gradient) is type(z)
        assert srcad.jvp(f, (z,), (1.0,))[1] == pytest.approx(np.real(gradient), abs=1e-12)


def test_polar_coordinates_and_other_bases():
    def f(z, r):
        size, phase = cmath.polar(z)
        turned = cmath.rect(r, 2 * phase)
        return size**2 + phase * turned.real + cmath.log(z, 2 + 1j).imag + cmath.log(z, r).real

    check_grads(f, [Z, 0.7], order=2, eps=1e-3)
    assert srcad.grad(lambda z: cmath.polar(z)[0])(0j) == 0


def test_generated_code_uses_cmath():
    g = srcad.grad(lambda x: abs(cmath.sin(x)))
    g(Z)

    assert "cmath.cos(x)" in g.source
