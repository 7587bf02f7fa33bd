"""Jacobians and Hessians with complex numbers: against differences in both parts."""

import numpy as np
import pytest

import srcad
from srcad import grad, hessian, jacfwd, jacobian, jacrev
from srcad.errors import OptionError, UnsupportedTypeError
from tests.complex.programs import PROGRAMS
from tests.complex.test_programs import USUAL, leaves
from tests.marks import some

M = np.array([[1 + 2j, -0.5, 0.3j], [0.2, 1j, 0.7 - 0.1j], [0.4j, 1.0, -1 + 1j]])
X = np.array([0.3, 0.7, -0.2])
Z = X + 1j * np.array([0.1, -0.4, 0.5])
H = 1e-5


def along(f, x, direction):
    """The slopes of all results along each entry, by differences."""
    moves = [direction * H * e.reshape(np.shape(x)) for e in np.eye(np.size(x))]
    columns = [(f(x + move) - f(x - move)) / (2 * H) for move in moves]
    return np.stack(columns, -1).reshape(np.shape(columns[0]) + np.shape(x))


def turned(x):
    return M @ np.exp(1j * x) * x[0]


def two_level(x):
    state = np.ones(2, complex)
    for angle in x:
        c, s = np.cos(angle), np.sin(angle)
        state = np.array([[c, 1j * s], [1j * s, c]]) @ state
    return state


def products(x):
    z = np.exp(1j * x)
    return np.array([np.vdot(z, M @ z), np.vdot(M[0], z), z @ z])


def stored(x):
    y = np.zeros((2, 3), complex)
    for k in range(3):
        y[k % 2, k] = x[k] * 1j * x[k - 1] + x[0]
    return y


def solved(x):
    return np.linalg.solve(M + np.diag(x), x.astype(complex))


def spread(x):
    return np.outer(x, np.conj(M @ x))


@pytest.mark.parametrize("derive", [jacfwd, jacrev, jacobian])
@pytest.mark.parametrize("f", [turned, two_level, products, stored, solved, spread])
def test_complex_results_of_real_arguments(f, derive):
    found = derive(f)(X)

    assert found.dtype == np.complex128
    np.testing.assert_allclose(found, along(f, X, 1.0), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("derive", [jacfwd, jacrev, jacobian])
def test_real_jacobian_through_complex_intermediate(derive):
    def f(x):
        return np.abs(M @ np.exp(1j * x)) ** 2

    found = derive(f)(X)

    assert found.dtype == np.float64
    np.testing.assert_allclose(found, along(f, X, 1.0), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("derive", [jacfwd, jacrev, jacobian])
@pytest.mark.parametrize("z", [Z, 0.3 + 0.4j])
def test_the_rows_of_real_results_are_their_gradients(derive, z):
    def f(z):
        return np.abs(z * z) ** 2 * np.real(np.sum(z)) + np.angle(z)

    found = derive(f)(z)

    want = along(f, z, 1.0) + 1j * along(f, z, 1j)
    assert type(found) is type(z)
    np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("derive", [jacfwd, jacrev, jacobian])
@pytest.mark.parametrize(
    "f", [lambda z: M @ (z * z) * np.exp(z[0]), lambda z: z[0] * z[1], lambda z: np.outer(z, z)]
)
def test_holomorphic_functions_have_complex_derivatives(f, derive):
    found = derive(f, holomorphic=True)(Z)

    np.testing.assert_allclose(found, along(f, Z, 1.0), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("derive", [jacfwd, jacrev, jacobian])
def test_a_holomorphic_function_of_one_number(derive):
    z = 0.3 + 0.4j

    found = derive(lambda z: z**3, holomorphic=True)(z)

    assert type(found) is complex
    assert abs(found - 3 * z * z) < 1e-15


@pytest.mark.parametrize("derive", [jacfwd, jacrev, jacobian])
def test_single_precision_stays(derive):
    def f(z):
        return np.abs(M.astype(np.complex64) @ z) ** 2

    assert derive(f)(Z.astype(np.complex64)).dtype == np.complex64
    assert derive(turned)(X.astype(np.float32)).dtype == np.complex64


def test_hessians():
    def f(x):
        return np.sum(np.abs(M @ np.exp(1j * x)) ** 2)

    def g(z):
        return np.sum(z**3) * np.exp(z[0])

    complex_slope = grad(g, holomorphic=True)
    want = along(complex_slope, Z, 1.0)

    np.testing.assert_allclose(hessian(f)(X), along(grad(f), X, 1.0), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(hessian(g, holomorphic=True)(Z), want, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("case", some(PROGRAMS, lambda _, case: case[0].__name__ in USUAL))
def test_the_jacobian_of_a_program_of_one_number_is_its_gradient(case):
    f, args = case
    on = tuple(range(len(args)))

    want = leaves(grad(f, on)(*args))

    for got, bar in zip(leaves(jacobian(f, on, "fwd")(*args)), want, strict=True):
        np.testing.assert_allclose(got, bar, rtol=1e-8, atol=1e-10)
    if f.__name__ != "variational_circuit":  # of that nobody knows how many numbers it returns
        for got, bar in zip(leaves(jacobian(f, on, "rev")(*args)), want, strict=True):
            np.testing.assert_allclose(got, bar, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("derive", [jacfwd, jacrev, jacobian])
def test_complex_jacobian_without_holomorphic_option_rejected(derive):
    with pytest.raises(UnsupportedTypeError, match="makes complex numbers of complex numbers"):
        derive(turned)(Z)
    with pytest.raises(UnsupportedTypeError, match="holomorphic=True needs complex"):
        derive(turned, holomorphic=True)(X)
    with pytest.raises(UnsupportedTypeError, match="holomorphic=True needs complex"):
        derive(np.abs, holomorphic=True)(Z)


def test_the_hessian_of_a_real_function_of_complex_numbers_is_refused():
    with pytest.raises(UnsupportedTypeError, match="makes complex numbers of complex numbers"):
        hessian(lambda z: np.sum(np.abs(z) ** 4))(Z)


def test_a_sparse_matrix_is_real():
    with pytest.raises(OptionError, match="a sparse matrix of derivatives is real"):
        srcad.jacobian(turned, sparse=True, holomorphic=True)
