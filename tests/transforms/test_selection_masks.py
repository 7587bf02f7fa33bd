"""Entries that no mask takes have no part in a gradient, however singular the function is there."""

from __future__ import annotations

import numpy as np
import pytest

import srcad
from tests.marks import some
from tests.numeric import difference

X = np.array([-1.0, 4.0, 0.25, -2.0])
W = np.array([1.0, 2.0, 3.0, 4.0])
SELECTIONS = {
    "index": lambda x: np.sum(np.sqrt(x)[x > 0]),
    "sum where": lambda x: np.sum(np.sqrt(x), where=x > 0),
    "lower triangle": lambda x: np.sum(np.tril(np.sqrt(x.reshape(2, 2)), -1)),
    "upper triangle": lambda x: np.sum(np.triu(np.sqrt(x.reshape(2, 2)), 1)),
    "select": lambda x: np.sum(np.select([x > 0], [np.sqrt(x)], 0.0)),
    "reversed": lambda x: np.sum(np.where(x[::-1] > 0, np.sqrt(x)[::-1], 0.0)),
    "new axis": lambda x: np.sum(np.where(x[:, None] > 0, np.sqrt(x)[:, None], 0.0)),
    "concatenated": lambda x: np.sum(np.concatenate([np.sqrt(x), x])[np.append(x, x) > 0]),
    "extract": lambda x: np.sum(np.extract(x > 0, np.sqrt(x))),
    "compress": lambda x: np.sum(np.compress(x > 0, np.sqrt(x))),
    "delete": lambda x: np.sum(np.delete(np.sqrt(x), x < 0)),
    "choose": lambda x: np.sum(np.choose(x > 0, [x, np.sqrt(x)])),
    "mean where": lambda x: np.mean(np.sqrt(x), where=x > 0),
    "max where": lambda x: np.max(np.sqrt(x), where=x > 0, initial=0.0),
    "prod where": lambda x: np.prod(np.sqrt(x), where=x > 0),
    "std where": lambda x: np.std(np.sqrt(x), where=x > 0),
    "mean of an index": lambda x: np.sqrt(x)[x > 0].mean(),
    "two reads": lambda x: np.sum(np.log(x)[x > 0] * np.sqrt(x)[x > 0]),
    "one value read twice": lambda x: (lambda y: np.sum(y[x > 1]) + np.sum(y[x > 0.1]))(np.log(x)),
    "after a product": lambda x: np.sum((np.sqrt(x) * W)[x > 0]),
    "rows": lambda x: np.sum(np.sqrt(np.outer(x, W))[x > 0]),
    "store": lambda x: np.sum(stored(np.sqrt(x), x <= 0)),
    "store at an index": lambda x: np.sum(stored(np.sqrt(x), [0, 3])),
    "reshaped": lambda x: np.sum(np.sqrt(x).reshape(2, 2)[x.reshape(2, 2) > 0]),
    "transposed": lambda x: np.sum(np.sqrt(x.reshape(2, 2)).T[x.reshape(2, 2).T > 0]),
    "flip": lambda x: np.sum(np.where(np.flip(x) > 0, np.flip(np.sqrt(x)), 0.0)),
    "stack": lambda x: np.sum(np.stack([np.sqrt(x), x])[np.stack([x, x]) > 0]),
    "broadcast": lambda x: np.sum(np.broadcast_to(np.sqrt(x), (3, 4)), where=x > 0),
    "roll": lambda x: np.sum(np.roll(np.sqrt(x), 1)[np.roll(x, 1) > 0]),
    "tile": lambda x: np.sum(np.where(np.tile(x, 2) > 0, np.tile(np.sqrt(x), 2), 0.0)),
    "repeat": lambda x: np.sum(np.where(np.repeat(x, 2) > 0, np.repeat(np.sqrt(x), 2), 0.0)),
    "take": lambda x: np.sum(np.where(x[[0, 1, 0]] > 0, np.take(np.sqrt(x), [0, 1, 0]), 0.0)),
    "slice": lambda x: np.sum(np.sqrt(x)[1:][x[1:] > 0]),
    "ravel": lambda x: np.sum(np.ravel(np.sqrt(x).reshape(2, 2))[x > 0]),
    "astype": lambda x: np.sum(np.sqrt(x).astype(float).copy()[x > 0]),
    "hstack": lambda x: np.sum(np.hstack([np.sqrt(x), np.log(x)])[np.hstack([x, x]) > 0]),
    "rot90": lambda x: np.sum(np.rot90(np.sqrt(x.reshape(2, 2)))[np.rot90(x.reshape(2, 2)) > 0]),
}


def stored(y, places):
    y[places] = 0.0
    return y


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero")
@pytest.mark.parametrize("name", some(SELECTIONS, 8))
def test_entries_that_are_not_selected_have_no_part(name):
    f = SELECTIONS[name]

    gradient = srcad.grad(f)(X)

    np.testing.assert_allclose(gradient, difference(f, (X,), h=1e-5), rtol=1e-6, atol=1e-9)
    assert srcad.jvp(f, (X,), (W,))[1] == pytest.approx(gradient @ W)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_second_derivative_of_selected_entries():
    hessian = srcad.hessian(lambda x: np.sum((np.sqrt(x) * x)[x > 0]))(X)

    np.testing.assert_allclose(np.diag(hessian), [0.0, 0.375, 1.5, 0.0])


def square_of_root(x):
    y = np.sqrt(x) ** 2
    y[x < 0] = 0.0
    return np.sum(y)


def square_beside_a_store(x):
    y = np.sqrt(x) ** 2
    y[1] = 0.0
    return np.sum(y)


def square_in_a_triangle(x):
    return np.sum(np.triu(np.sqrt(np.outer(x, np.ones(2))) ** 2))


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero")
@pytest.mark.parametrize("f", [square_of_root, square_beside_a_store, square_in_a_triangle])
def test_cotangent_that_is_zero_by_value_is_not_cut(f):
    # The slope of ``sqrt(x)**2`` at 0 is 1, which the chain rule does not find: nan, not 0.
    gradient = srcad.grad(f)(np.array([0.0, 4.0]))

    assert np.isnan(gradient[0])


def test_no_mask_is_written_for_regular_functions():
    g = srcad.grad(lambda x: np.sum(np.sin(x)[x > 0]))
    g(X)

    assert "np.where" not in g.source


# All entries are regular here: a mask of too few would put a wrong number for one of them.
SQUARE = np.array([[4.0, 9.0], [16.0, 25.0]])
FIRST = np.array([True, False])


def in_a_loop(x):
    y = np.sqrt(x[0])
    s = 0.0
    for k in range(3):
        s = s + np.sum(y[x[0] > 2.0 + 3 * k]) * (k + 1)
    return s


def within_an_iteration(x):
    s = 0.0
    for k in range(2):
        y = np.sqrt(x[k])
        s = s + np.sum(y[x[k] > 10 * k + 5]) * (k + 1)
    return s


def in_branches(x):
    y = np.sqrt(x[0])
    if x[0, 0] > 1.0:
        return np.sum(y[x[0] > 5.0])
    return np.sum(y[x[0] < 5.0])


def part_of_a_larger_array(x):
    larger = np.zeros((3, 2))
    larger[1:] = np.sqrt(x)
    return np.sum(larger[np.array([True, True, False])]) + np.sum(larger, where=FIRST)


def stored_in_a_larger_array(x):
    larger = np.zeros((3, 2))
    root = np.sqrt(x)
    larger[1:] = root
    return np.sum(larger[np.array([True, True, False])]) + np.sum(root[1])


def several_stores(x):
    y = np.sqrt(x)
    y[0] = 0.0
    y[FIRST, 1] = x[1, 1]
    return np.sum(y * y)


def product_into_a_masked_place(x):
    place = np.zeros((2, 2))
    np.multiply(np.sqrt(x[0]), x, where=x > 5.0, out=place)
    return np.sum(place * x)


USES = {
    "compress columns": lambda x: np.sum(np.compress(FIRST, np.sqrt(x), axis=1)),
    "delete columns": lambda x: np.sum(np.delete(np.sqrt(x), x[0] > 5.0, axis=1)),
    "extract of fewer": lambda x: np.sum(np.extract(x[0] > 5.0, np.sqrt(x))),
    "compress by method": lambda x: np.sum(np.sqrt(x).compress(x[0] > 5.0, axis=-1)),
    "loop": in_a_loop,
    "branches": in_branches,
    "compress all": lambda x: np.sum(np.compress(FIRST, np.sqrt(x))),
    "delete rows": lambda x: np.sum(np.delete(np.sqrt(x), x[0] > 5.0, axis=0)),
    "extract of a column": lambda x: np.sum(np.extract(np.array([[True], [False]]), np.sqrt(x))),
    "rows": lambda x: np.sum(np.sqrt(x)[x[:, 0] > 5.0]),
    "columns": lambda x: np.sum(np.sqrt(x)[:, x[0] > 5.0]),
    "rows of a transpose": lambda x: np.sum(np.sqrt(x).T[x[0] > 5.0]),
    "where of columns": lambda x: np.sum(np.sqrt(x).reshape(4).reshape(2, 2).T, where=FIRST),
    "where of rows": lambda x: np.sum(np.sqrt(x), where=np.array([[True], [False]])),
    "joined rows": lambda x: np.sum(np.concatenate([np.sqrt(x), x])[np.append(FIRST, FIRST)]),
    "stacked": lambda x: np.sum(np.stack([np.sqrt(x[0]), np.log(x[1])]), where=FIRST),
    "broadcast rows": lambda x: np.sum(np.broadcast_to(np.sqrt(x[0]), (2, 2))[FIRST]),
    "where of a column": lambda x: np.sum(np.where((x[0] > 5.0)[:, None], np.sqrt(x), 0.0)),
    "select": lambda x: np.sum(np.select([x[0] > 5.0, x > 20.0], [np.sqrt(x), np.log(x)])),
    "choose": lambda x: np.sum(np.choose(x[0] > 5.0, [np.sqrt(x), np.log(x)])),
    "rolled": lambda x: np.sum(np.roll(np.sqrt(x), 1, axis=0)[FIRST]),
    "triangle": lambda x: np.sum(np.triu(np.sqrt(x))) + np.sum(np.tril(np.sqrt(x[0]))),
    "once whole": lambda x: np.sum(np.sqrt(x)[x > 5.0]) + np.sum(np.sqrt(x)[0]),
    "within an iteration": within_an_iteration,
    "comprehension": lambda x: sum([np.sum(np.sqrt(row)[row > 5.0]) for row in x]),
    "part of a larger array": part_of_a_larger_array,
    "stored in a larger array": stored_in_a_larger_array,
    "several stores": several_stores,
    "product into a masked place": product_into_a_masked_place,
}


@pytest.mark.parametrize("name", some(USES, 6))
def test_selected_entries_keep_their_derivatives(name):
    f = USES[name]

    np.testing.assert_allclose(srcad.grad(f)(SQUARE), difference(f, (SQUARE,), h=1e-4), rtol=1e-6)
