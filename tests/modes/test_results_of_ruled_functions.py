"""Jacobians and `elementwise_grad` of functions that end in a rule of the user's."""

import math

import numpy as np
import pytest
from scipy import linalg

import srcad
from srcad import rules

X = np.array([0.3, 0.5])
WEIGHTS = np.array([1.0, 2.0])


def square(x):
    return x * x


def sine(x):
    return np.sin(x)


def entry_by_entry(x):
    return np.array([math.sin(t) for t in x.tolist()])


def outer(x):
    return np.outer(x, x)


def total(x):
    return np.sum(x * x)


@pytest.fixture(autouse=True)
def _rules():
    rules.adjoint(square)(lambda y_bar, y, x: y_bar * 2 * x)
    rules.derivative(sine)(lambda x: np.cos(x))
    rules.derivative(entry_by_entry)(lambda x: np.cos(x))
    rules.adjoint(outer)(lambda y_bar, y, x: y_bar @ x + y_bar.T @ x)
    rules.adjoint(total)(lambda y_bar, y, x: y_bar * 2 * x)


def differences(f, step=1e-6):
    columns = [(f(X + step * e) - f(X - step * e)) / (2 * step) for e in np.eye(2)]
    return np.stack(columns, axis=-1)


FUNCTIONS = [square, sine, entry_by_entry, outer, total, lambda x: sine(x), lambda x: square(x + 1)]


@pytest.mark.parametrize("mode", [srcad.jacrev, srcad.jacfwd, srcad.jacobian])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_jacobian_of_function_with_rule(f, mode):
    found = mode(f)(X)

    assert found.shape == differences(f).shape
    np.testing.assert_allclose(found, differences(f), atol=1e-8)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_elementwise_grad_of_function_with_rule(f):
    expected = differences(lambda x: np.sum(f(x)))

    np.testing.assert_allclose(srcad.elementwise_grad(f)(X), expected, atol=1e-8)


@pytest.mark.parametrize("outer_mode", ["rev", "fwd"])
@pytest.mark.parametrize("inner", [srcad.jacrev, srcad.jacfwd])
def test_jacobian_inside_of_function_with_rule(inner, outer_mode):
    second = srcad.jacobian(lambda x: inner(square)(x) @ WEIGHTS, mode=outer_mode)

    np.testing.assert_allclose(second(X), np.diag(2 * WEIGHTS), rtol=1e-14)


def test_jacobian_of_tuple_and_list_of_functions_with_rules():
    for pair in (lambda x: (square(x), sine(x)), lambda x: [square(x), sine(x)]):
        first, second = srcad.jacrev(pair)(X)

        np.testing.assert_allclose(first, np.diag(2 * X), rtol=1e-14)
        np.testing.assert_allclose(second, np.diag(np.cos(X)), rtol=1e-14)


# ------------------------------------------------------------------------ functions of a library
MATRIX = np.array([[4.0, -1.0, 0.2], [0.3, 5.0, -1.3], [0.2, -0.7, 7.0]])


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(linalg.qr, marks=pytest.mark.random),
        pytest.param(linalg.lu, marks=pytest.mark.random),
        pytest.param(linalg.svd, marks=pytest.mark.random),
        pytest.param(np.linalg.qr, marks=pytest.mark.random),
        np.linalg.slogdet,
    ],
)
def test_library_function_alone_has_known_number_of_results(f):
    tangents = srcad.jvp(f, (MATRIX,), (MATRIX.T,))[1]
    blocks = srcad.jacobian(f)(MATRIX)

    expected = srcad.jvp(lambda a: f(a), (MATRIX,), (MATRIX.T,))[1]
    assert len(tangents) == len(blocks) == len(f(MATRIX))
    for tangent, block, other in zip(tangents, blocks, expected, strict=True):
        np.testing.assert_allclose(tangent, other, rtol=1e-12)
        np.testing.assert_allclose(np.tensordot(block, MATRIX.T, 2), other, rtol=1e-9, atol=1e-12)
