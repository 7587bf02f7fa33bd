"""Jacobians and gradients by nested lists and tuples: their blocks have the right places."""

import numpy as np
import pytest

import srcad

ROWS = {
    "sum": lambda x: np.sum(x, axis=1),
    "exponential": lambda x: np.exp(x)[:, 1],
    "product": lambda x: np.cumsum(x, axis=0)[:, 0] * np.prod(x[1]),
}
NESTED = {
    "lists": [[1.0, 2.0, 4.0], [3.0, 0.5, 1.0]],
    "tuples": ((1.0, 2.0, 4.0), (3.0, 0.5, 1.0)),
    "lists in a tuple": ([1.0, 2.0, 4.0], [3.0, 0.5, 1.0]),
    "tuples in a list": [(1.0, 2.0, 4.0), (3.0, 0.5, 1.0)],
}


def differences(f, x):
    """Central differences by each number of a nested sequence of 2 rows of 3."""
    at, step = np.array(x), 1e-6
    outer, inner = type(x), type(x[0])
    columns = np.empty((2, 3, *np.shape(f(x))))
    for place in np.ndindex(2, 3):
        ends = []
        for sign in (1, -1):
            moved = at.copy()
            moved[place] += sign * step
            ends.append(f(outer(inner(row) for row in moved.tolist())))
        columns[place] = (ends[0] - ends[1]) / (2 * step)
    return columns


@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize("name", ROWS)
def test_reverse_jacobian_by_nested_sequences_agrees_with_differences(name, kind):
    f, x = ROWS[name], NESTED[kind]

    found = srcad.jacobian(f, mode="rev")(x)

    assert type(found) is type(x)
    assert type(found[0]) is type(x[0])
    np.testing.assert_allclose(np.array(found), differences(f, x), rtol=1e-6, atol=1e-8)


def test_automatic_jacobian_by_lists_of_lists_agrees_with_differences():
    x = [[1.0, 2.0], [3.0, 5.0]]

    found = srcad.jacobian(lambda x: np.sum(x, axis=1))(x)

    assert np.array(found).tolist() == [[[1, 0], [1, 0]], [[0, 1], [0, 1]]]


@pytest.mark.parametrize("kind", ["lists", "tuples"])
def test_hessian_by_nested_sequences_agrees_with_differences_of_gradients(kind):
    def f(x):
        return np.sum(np.cumsum(x, axis=0)[:, 0] * np.prod(x[1]))

    x, slope = NESTED[kind], srcad.grad(f)

    found = np.array(srcad.hessian(f)(x))

    expected = differences(lambda x: np.array(slope(x)), x)
    np.testing.assert_allclose(found, expected.transpose(2, 3, 0, 1), rtol=1e-6, atol=1e-6)


def test_gradient_of_a_list_of_lists_consists_of_lists_of_floats():
    x = [[1.0, 2.0], [3.0, 5.0]]

    found = srcad.gradient(lambda x: np.prod(np.sum(x, axis=1)), x)[0]

    assert found == [[8.0, 8.0], [3.0, 3.0]]
    assert {type(number) for row in found for number in row} == {float}
    assert {type(row) for row in found} == {list}
