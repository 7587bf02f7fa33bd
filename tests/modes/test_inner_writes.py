"""Functions that write into their arguments, under a derivative inside another."""

import numpy as np
import pytest

from srcad import grad, hvp, jacobian, jvp, pullback
from srcad.errors import MutationError

X, Y = np.array([1.2, 0.3]), np.array([0.7, -0.4])


def f(x, x2):
    x2[1] -= np.sin(x2[0])
    return np.sum(x * x) * x2[1] + np.cos(x[1])


def by_both(a, b):
    g = grad(f, (0, 1))(a, b)
    return np.sum(g[0]) + 2.0 * np.sum(g[1])


def by_the_first(a, b):
    return np.sum(grad(f, 0)(a, b)) + b[1]


def by_the_second(a, b):
    return np.sum(grad(f, 1)(a, b)) + b[1]


def pulled(a, b):
    y, back = pullback(lambda z: f(z, b), a)
    return y


def pulled_by_one(a, b):
    y, back = pullback(f, a, b, wrt=0)
    return y * np.sum(back(1.0)[0]) + b[1]


def pushed(a, b):
    y, dot = jvp(f, (a, b), (np.ones(2), None))
    return y + 2.0 * dot + b[1]


def twice(a, b):
    return np.sum(hvp(f, 0)(a, b, v=np.ones(2)) * a) + b[1]


PROGRAMS = (by_both, by_the_first, by_the_second, pulled_by_one, pushed, twice)


def differences(s, x, y, h=1e-6):
    steps = np.eye(2) * h
    return (
        [(s(x + d, y.copy()) - s(x - d, y.copy())) / 2 / h for d in steps],
        [(s(x, y + d) - s(x, y - d)) / 2 / h for d in steps],
    )


@pytest.mark.parametrize("s", PROGRAMS)
def test_distinct_arguments_gradient_and_unchanged(s):
    x, y = X.copy(), Y.copy()

    found = grad(s, (0, 1))(x, y)

    np.testing.assert_allclose(found, differences(s, x, y), rtol=1e-6, atol=1e-7)
    assert (x == X).all()
    assert (y == Y).all()


@pytest.mark.parametrize("s", PROGRAMS)
def test_one_array_passed_twice_is_refused(s):
    x = X.copy()

    with pytest.raises(MutationError, match="shares memory"):
        grad(s, (0, 1))(x, x)


@pytest.mark.parametrize("s", PROGRAMS)
def test_overlapping_views_rejected_disjoint_views_accepted(s):
    base = np.arange(1.0, 5.0) / 5.0

    with pytest.raises(MutationError, match="shares memory"):
        grad(s, (0, 1))(base[:2], base[1:3])

    found = grad(s, (0, 1))(base[:2], base[2:])
    np.testing.assert_allclose(found, differences(s, base[:2], base[2:]), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("wrt", [0, (0, 1)])
@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_jacobian_of_gradient_with_array_passed_twice_rejected(wrt, mode):
    with pytest.raises(MutationError, match="shares memory"):
        jacobian(grad(f, wrt), (0, 1), mode)(X, X)


def test_same_value_passed_twice_rejected_with_location():
    def s(a):
        return np.sum(grad(f, 0)(a, a))

    def both(a):
        return np.sum(grad(f, (0, 1))(a, a)[0])

    def unused(x, b, c):
        b[0] += x[0]
        return np.sum(x) * c[0]

    def copies(a, b):
        return np.sum(grad(unused, 0)(a, b, b))

    for program, args in ((s, (X,)), (both, (X,)), (copies, (X, Y))):
        with pytest.raises(MutationError, match="shares memory"):
            grad(program)(*args)


def test_captured_array_overlapping_argument_rejected():
    def s(a):
        def inner(y, b):
            b[0] = y[0] * y[1]
            return b[0] * y[0] * a[0]

        return np.sum(grad(inner)(np.ones(2) * a[1], a))

    with pytest.raises(MutationError, match="shares memory"):
        grad(s)(X)


def test_write_into_work_array():
    def work(x, buffer):
        buffer[0] = x[0] * x[1]
        buffer[1] = np.sin(x[0])
        return buffer[0] * buffer[1]

    def s(x, y):
        buffer = np.zeros(2)
        return np.sum(grad(work)(x * y, buffer)) + np.sum(buffer)

    np.testing.assert_allclose(grad(s, (0, 1))(X, Y), differences(s, X, Y), rtol=1e-6, atol=1e-7)


def test_write_into_external_array_rejected():
    with pytest.raises(MutationError, match="outside the differentiated function"):
        grad(pulled)(X, Y)
