"""Derivatives of functions that make a pullback of a loop over complex numbers inside."""

import numpy as np
import pytest

import srcad

X = np.array([0.6, 1.1])


def repeated_product(z, c):
    w = z
    for _ in range(3):
        w = w * c
    return w


def product_of_a_pair(z, c):
    pair = (z, z)
    for _ in range(2):
        pair = (pair[1] * c, pair[0] * z)
    return pair[0] + pair[1]


def product_while(z, c):
    w, k = z, 0
    while k < 3:
        w = w * c
        k += 1
    return w


def branches(z, c):
    w = z
    for k in range(3):
        w = w * c if k > 0 else w * z
    return w


def inner(g):
    """Return a function that reads all numbers of an inner pullback at a real and a complex one."""

    def function(x):
        c = 0.3 + 1j * x[1]
        y, back = srcad.pullback(g, x[0], c)
        z_bar, c_bar = back(x[0] * 0.5j + x[1])
        return np.array([z_bar, np.real(c_bar), np.imag(c_bar), np.real(y)])

    return function


def differences(function, x, h=1e-6):
    steps = h * np.eye(x.size)
    return np.stack([(function(x + s) - function(x - s)) / (2 * h) for s in steps], axis=-1)


@pytest.mark.parametrize("mode", [srcad.jacfwd, srcad.jacrev])
@pytest.mark.parametrize("g", [repeated_product, product_of_a_pair, product_while, branches])
def test_jacobian_of_inner_pullback_of_complex_loop(g, mode):
    function = inner(g)
    np.testing.assert_allclose(mode(function)(X), differences(function, X), rtol=1e-6, atol=1e-8)


def test_jacobian_of_inner_pullback_has_tangents_by_iterations():
    """The loop has another number of iterations than there are directions."""

    def function(x):
        c = 0.3 + 1j * x[1]
        _, back = srcad.pullback(repeated_product, x[0], c)
        return np.real(back(1.0)[1])

    def by_hand(x):
        c = 0.3 + 1j * x[1]
        return np.real(3 * x[0] * np.conj(c) ** 2)

    for x in (X, np.array([0.6, 1.1, 0.2])):
        found = srcad.jacfwd(function)(x)
        np.testing.assert_allclose(found, differences(by_hand, x), rtol=1e-6, atol=1e-8)


def sum_of_powers(z, c):
    w = z
    for _ in range(2):
        w = w * c + z
    return w


def sum_of_powers_while(z, c):
    w, k = z, 0
    while k < 2:
        w = w * c + z
        k += 1
    return w


def sum_of_powers_nested(z, c):
    w = z
    for _ in range(2):
        for _ in range(2):
            w = w * c + z
    return w


def sum_of_powers_in_dict(z, c):
    d = {"w": z}
    for _ in range(2):
        d["w"] = d["w"] * c + z
    return d["w"]


@pytest.mark.filterwarnings("error::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize(
    "g", [sum_of_powers, sum_of_powers_while, sum_of_powers_nested, sum_of_powers_in_dict]
)
def test_reverse_jacobian_takes_real_part_of_complex_loop_variable(g):
    """The last cotangent of the loop is a zero, which is real; those of earlier iterations not."""

    def function(x):
        _, back = srcad.pullback(g, x[0], 0.3 + 1j * x[1])
        return np.array([np.imag(back(1.0)[1])])

    found = srcad.jacrev(function)(X)
    np.testing.assert_allclose(found, differences(function, X), rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("error::numpy.exceptions.ComplexWarning")
def test_gradient_of_inner_pullback_takes_real_part_of_complex_loop_variable():
    def function(x):
        _, back = srcad.pullback(sum_of_powers, x[0], 0.3 + 1j * x[1])
        return np.imag(back(1.0)[1])

    found = srcad.grad(function)(X)
    np.testing.assert_allclose(found, [-2.2, -1.2], rtol=1e-12)
