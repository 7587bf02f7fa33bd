"""Many directions at once through functions that join arrays, numbers and lists."""

import numpy as np
import pytest

from srcad import grad, hessian, jacobian, sparsity
from tests.marks import some

X = np.array([0.3, -0.5, 0.9])
M = np.array([[0.3, -0.5, 0.9], [1.2, 0.1, -0.7]])


def slope(f, x, h=1e-6):
    """The Jacobian by central differences."""
    columns = [(np.asarray(f(x + d)) - np.asarray(f(x - d))) / (2 * h) for d in np.eye(len(x)) * h]
    return np.stack(columns, -1)


def appended(x, start):
    """A list whose length only the call knows."""
    items = [start]
    for k in range(len(x)):
        items.append(x[k] ** 2)
    return items


JOINS = {
    # a number beside an array
    "hstack number, vector": lambda x: np.hstack((1.0, x**2)),
    "hstack vector, moving number, vector": lambda x: np.hstack((x, x[0] * x[1], X)),
    "vstack vector, matrix": lambda x: np.vstack((x**2, M * x)),
    "column_stack list, matrix": lambda x: np.column_stack(([1.0, x[0] ** 2], M * x)),
    "block of matrices and a number": lambda x: np.block([[M * x * x, x[:2, None]], [x, x[0]]]),
    # the rows of one array
    "concatenate rows of an array": lambda x: np.concatenate(np.outer(x, x)),
    # lists
    "array of a vector and a list": lambda x: np.array([x**2, [1.0, 2.0, x[0] ** 2]]),
    "concatenate with lists": lambda x: np.concatenate(([1.0], x**2, [x.std(), x[0]])),
    "append list": lambda x: np.append(x**2, [1.0, x[0] ** 2]),
    "insert numbers": lambda x: np.insert(x**2, [0, 2], [1.0, x[0] * x[1]]),
    # more of each
    "hstack vector, number": lambda x: np.hstack((x**2, 1.0)),
    "hstack numbers": lambda x: np.hstack((1.0, x[0] ** 2)),
    "hstack tuple, vector": lambda x: np.hstack(((1.0, x[0] ** 2), x)),
    "hstack matrix, nested list": lambda x: np.hstack((M * x[0], [[1.0], [x[1] ** 2]])),
    "hstack dynamic list, number": lambda x: np.hstack((appended(x, 1.0), 1.0, x)),
    "hstack dynamic list": lambda x: np.hstack(appended(x, 1.0)),
    "hstack rows of an array": lambda x: np.hstack(np.outer(x, x)),
    "vstack fixed matrix, vector": lambda x: np.vstack((M, x * x)),
    "vstack numbers": lambda x: np.vstack((1.0, x[0] ** 2)),
    "vstack number, vector": lambda x: np.vstack((1.0, x[:1] ** 2)),
    "vstack matrix, list": lambda x: np.vstack((M * x * x, [1.0, 2.0, x[0] ** 2])),
    "vstack rows of an array": lambda x: np.vstack(np.outer(x, x)),
    "column_stack numbers": lambda x: np.column_stack((1.0, x[0] ** 2)),
    "column_stack number, vector": lambda x: np.column_stack((1.0, x[:1] ** 2)),
    "column_stack matrix, vector": lambda x: np.column_stack((M * x, x[:2] ** 2)),
    "column_stack rows of an array": lambda x: np.column_stack(np.outer(x, x)),
    "column_stack dynamic list": lambda x: np.column_stack(appended(x, 1.0)),
    "dstack number, vector": lambda x: np.dstack((1.0, x[:1] ** 2)),
    "dstack rows of an array": lambda x: np.dstack(np.outer(x, x)),
    "stack numbers": lambda x: np.stack((1.0, x[0] ** 2)),
    "stack vector, list, last axis": lambda x: np.stack((x**2, [1.0, x[0] ** 2, 3.0]), axis=-1),
    "stack rows of an array": lambda x: np.stack(np.outer(x, x), 1),
    "concatenate flat": lambda x: np.concatenate((x[0] ** 2, x), axis=None),
    "concatenate nested list, last axis": lambda x: np.concatenate(
        ([[1.0], [x[0]]], x[:2, None] ** 2), axis=-1
    ),
    "append number": lambda x: np.append(x[0] ** 2, x),
    "insert into a list": lambda x: np.insert([1.0, x[0] ** 2], 1, x),
    "block vector, number": lambda x: np.block([x**2, x[0] * x[1]]),
    "block of an array": lambda x: np.block(M * x * x),
    "r_ number, vector": lambda x: np.r_[x[0] ** 2, x, 2.0],
    "c_ list, vector": lambda x: np.c_[[1.0, x[0] ** 2, 3.0], x**2],
    "array of a list and a vector": lambda x: np.array([[1.0, x[0] ** 2, 3.0], x**2]),
}


@pytest.mark.parametrize("name", some(JOINS, 10))
def test_joined_numbers_and_lists_have_the_axis_of_directions(name):
    join = JOINS[name]
    want = slope(join, X)

    for mode in ("fwd", "rev"):
        found = jacobian(join, mode=mode)(X)

        np.testing.assert_allclose(found, want, atol=1e-8, err_msg=mode)


@pytest.mark.parametrize("name", some(JOINS, 2))
def test_hessian_through_joined_numbers_and_lists(name):
    def f(x):
        y = JOINS[name](x)
        return np.sum(np.sin(y) * np.arange(1.0, y.size + 1.0).reshape(y.shape))

    np.testing.assert_allclose(hessian(f)(X), slope(grad(f), X), atol=1e-7)


def test_hessian_of_a_polynomial_with_fixed_leading_coefficient():
    t = np.linspace(0.1, 2.0, 6)

    def f(p):
        return np.sum(np.tanh(np.polyval(np.hstack((1.0, p)), t)))

    np.testing.assert_allclose(hessian(f)(X), slope(grad(f), X), atol=1e-7)


def test_hessian_of_a_chain_that_starts_at_a_fixed_point():
    def f(q):
        place = np.concatenate([[0.0], np.cumsum(np.exp(q))])
        return np.sum(np.sin(place) * place)

    np.testing.assert_allclose(hessian(f)(X), slope(grad(f), X), atol=1e-6)


def test_sparse_jacobian_of_an_array_beside_numbers():
    pytest.importorskip("scipy")

    def f(x):
        return np.concatenate((x**2, [x[0], 2.0]))

    found = jacobian(f, sparse=True)(X)

    np.testing.assert_allclose(found.toarray(), slope(f, X), atol=1e-8)
    assert sparsity(lambda x: np.hstack((x[1], x)))(X).toarray()[0].tolist() == [0, 1, 0]


def test_dtype_of_a_join_rounds_all_directions():
    found = jacobian(lambda x: np.stack((x, x * x), dtype=np.float32), mode="fwd")(X)

    assert found[1, 2, 2] == np.float32(1.8)
