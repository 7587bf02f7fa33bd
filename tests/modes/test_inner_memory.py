"""Whose memory the results of derivatives inside another are, and what their pullbacks saved."""

import numpy as np
import pytest

from srcad import grad, jvp, pullback, value_and_grad
from srcad.errors import MutationError

X = np.array([0.7, -0.4, 1.3])


def differences(s, h=1e-6):
    return [(s(X + d) - s(X - d)) / 2 / h for d in np.eye(3) * h]


def wave(z):
    return np.sum(np.sin(z) * z)


# ------------------------------------------------------------------------- results are fresh
def a_gradient_that_is_a_value_of_the_program(b):
    g = grad(lambda u: np.sum(u * b))(b * 1.0)
    g[0] = 9.0
    return np.sum(g * b)


def a_gradient_that_is_the_seed(b):
    seed = b * 3.0
    _, back = pullback(lambda u: u, b * 1.0)
    g = back(seed)[0]
    g[0] = 1.0
    return np.sum(g * b) + np.sum(seed * b)


def two_gradients_that_are_one_value(b):
    _, back = pullback(lambda u, v: u + v, b * 1.0, b)
    g, k = back(b * 3.0)
    g[0] = 1.0
    return np.sum(g * b) + np.sum(k * b)


def a_tangent_that_is_the_direction(b):
    z, direction = b * 1.0, b * b
    y, dot = jvp(lambda u: u, (z,), (direction,))
    dot[0] = 2.0
    y[1] = 5.0
    return np.sum(z * b) + np.sum(direction * b) + np.sum(y * dot)


def what_the_function_has_made(b):
    z = b * 2.0
    g, aux = grad(lambda u: (np.sum(u * u), u * b), has_aux=True)(z)
    aux[0] = 5.0
    z[0] = 3.0
    return np.sum(aux * b) + np.sum(g)


def descent_in_place(b):
    z, total = b * 2.0, 0.0
    for k in range(3):
        y, back = pullback(wave, z)
        g = back(1.0)[0]
        z -= 0.1 * g
        z[k] = z[k] * b[0]
        total += y
    return total + np.sum(z * z)


def a_pullback_of_a_copy(b):
    z = b * 2.0
    y, back = pullback(wave, z.copy())
    z[0] = 5.0
    return np.sum(back(1.0)[0] * b) + y + np.sum(z)


def a_pullback_that_saved_nothing_of_it(b):
    z = b * 2.0
    y, back = pullback(np.sum, z)
    z[0] = 5.0
    return np.sum(back(1.0)[0] * b) + y


@pytest.mark.parametrize(
    "s",
    [
        a_gradient_that_is_a_value_of_the_program,
        a_gradient_that_is_the_seed,
        two_gradients_that_are_one_value,
        a_tangent_that_is_the_direction,
        what_the_function_has_made,
        descent_in_place,
        a_pullback_of_a_copy,
        a_pullback_that_saved_nothing_of_it,
    ],
)
def test_inner_result_written_without_aliasing(s):
    np.testing.assert_allclose(grad(s)(X), differences(s), rtol=1e-5)


# ------------------------------------------------------------------------- what is not known
def saved(b):
    z = b * 2.0
    y, back = pullback(wave, z)
    z[0] = 5.0
    return np.sum(back(1.0)[0] * b) + y


def saved_of_an_enclosing_array(b):
    w = b * 3.0
    _, back = pullback(lambda u: np.sum(u * w * w), b)
    w *= b
    return np.sum(back(1.0)[0] * b)


def saved_through_a_view(b):
    z = b * 2.0
    _, back = pullback(lambda u: u[1:] * u[:-1], z)
    z[1:] += 1.0
    return np.sum(back(b[1:])[0] * b)


def saved_in_a_list(b):
    items = []
    for k in range(b.size):
        items.append(b * k)
    _, back = pullback(lambda u: np.sum(items[1] * u * u), b)
    items[1][0] = 7.0
    return np.sum(back(1.0)[0] * b)


def saved_on_one_path(b):
    z = b * 2.0
    if b[0] > 0:
        y, back = pullback(wave, z)
    else:
        y, back = pullback(lambda u: np.sum(u**3), z)
    z[0] = 5.0
    return np.sum(back(1.0)[0] * b) + y


def saved_before_a_loop(b):
    z, total = b * 2.0, 0.0
    _, back = pullback(wave, z)
    for k in range(3):
        total = total + np.sum(back(1.0)[0] * b)
        z[k] = b[0]
    return total


def an_argument_beside_the_gradient(b):
    z = b * 2.0
    _, aux = grad(lambda u: (np.sum(u * u), u), has_aux=True)(z)
    z[0] = 5.0
    return np.sum(aux * b)


def a_view_beside_the_gradient(b):
    z = b * 2.0
    (_, aux), _ = value_and_grad(lambda u: (np.sum(u * u), u[1:]), has_aux=True)(z)
    aux[0] = 5.0
    return np.sum(z * b)


def an_argument_in_a_list(b):
    z, items = b * 2.0, []

    def inner(u):
        items.append(u)
        return np.sum(u * u)

    g = grad(inner)(z)
    items[0][0] = 3.0
    return np.sum(z * g)


@pytest.mark.parametrize(
    "s",
    [
        saved,
        saved_of_an_enclosing_array,
        saved_through_a_view,
        saved_in_a_list,
        saved_on_one_path,
        saved_before_a_loop,
        an_argument_beside_the_gradient,
        a_view_beside_the_gradient,
        an_argument_in_a_list,
    ],
)
def test_use_of_memory_written_through_alias_rejected(s):
    """The plain call sees the write through the other name, or through what was saved."""
    with pytest.raises(MutationError):
        grad(s)(X)
