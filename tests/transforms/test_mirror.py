"""Overwritten arrays are put back slice by slice where that saves less."""

import numpy as np

import srcad


def prefix(x):
    a = np.outer(x, x) + 3.0 * np.eye(x.size)
    for i in range(1, x.size):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[j, :j]
            a[i, j] /= a[j, j]
    return np.sum(a * a)


def in_branches(x):
    u = x * 1.0
    for k in range(x.size):
        if x[k] > 0.0:
            u[k] = u[:k] @ u[:k] + x[k]
        else:
            u[0] = np.tanh(u @ u)
    return np.sum(u * u)


def two_buffers(x):
    a, b = x * 1.0, x * 2.0
    for k in range(1, 4):
        a[k % 2] = 0.1 * (b[:3] @ b[1:])
        b[k] = a[:3] @ b[:3]
        a, b = b, a
    return np.sum(a * b)


def limited(x):
    u = x * 1.0
    for k in range(1, x.size):
        if u[k - 1] > 0.0:
            if x[k] > -0.5:
                u[k] = u[k - 1] * x[k]
            else:
                v = u * 2.0
                u[k] -= v[k - 1] * u[0] ** 2
    return np.sum(u * u)


def until_it_is_small(x):
    u = x * 2.0
    k = 1
    while u[0] > 0.1 and k < 30:
        if k % 3:
            u[0] = u[0] * np.cos(u[k % 4]) * 0.7
        else:
            u[k % 4] += u[0] * u[1]
        k += 1
    return np.sum(u * u)


def left_by_a_return(x):
    u = x * 1.0
    for e in x:
        if e > 5.0:
            return 0.5
        u[1] = 0.8
    return np.sum(u * u)


def differences(f, x, step=1e-6):
    found = np.zeros_like(x)
    for k in range(x.size):
        e = np.zeros_like(x)
        e[k] = step
        found[k] = (f(x + e) - f(x - e)) / (2 * step)
    return found


X = np.array([1.3, -0.7, 0.9, 0.4])


def branches_around_the_loop(x):
    u = np.outer(x, x)
    for row in u:
        np.clip(row, -0.5, 0.5, out=row)
        row[0] = np.sum(np.cos(u) ** 2)
    if x[0] > 0.0:
        np.subtract(u, np.sin(u[::-1]), out=u)
    u[u < 0.3] = x[1]
    return np.sum(u * u)


def test_slice_restoring_pullback_correct_and_reusable():
    for f in (prefix, in_branches, two_buffers, branches_around_the_loop, limited,
              until_it_is_small, left_by_a_return):  # fmt: skip
        y, back = srcad.pullback(f, X)
        first, second = back(1.0)[0], back(1.0)[0]

        assert y == f(X)
        np.testing.assert_array_equal(first, second)
        np.testing.assert_allclose(first, differences(f, X), rtol=1e-6, atol=1e-6)


def test_no_iteration_saves_whole_array_or_prefix():
    text = srcad.inspect(prefix, X).adjoint_source

    assert "a[i, :j].copy()" not in text
    assert "a.copy())" not in text


def test_branch_saves_only_used_entry():
    """The whole array was saved in every trip, because it is at hand around the branch."""
    for f in (limited, until_it_is_small):
        text = srcad.grad(f).inspect(X).adjoint_source

        assert "u.copy()" not in text


def test_no_iteration_saves_array_for_shape_only():
    """Zeros for what a path has not made, and sums to a shape, need no old version."""
    text = srcad.grad(left_by_a_return).inspect(X).adjoint_source

    assert "copy" not in text
    assert "deep_copy" not in text


def test_second_derivatives():
    for f in (prefix, limited):
        srcad.testing.check_grads(f, (X,), order=2)


def carried_and_written(c, x):
    for _ in x:
        x = np.tanh(x)
    v = 0.2 + x
    v[1] *= c
    return np.sum(v * v) * c


def test_nested_derivative_with_captured_array():
    """The array is defined in the caller of the inner derivative; the pass knew none such."""
    inner = srcad.grad(carried_and_written, wrt=0)

    srcad.testing.check_grads(inner, (0.7, X), order=1)
