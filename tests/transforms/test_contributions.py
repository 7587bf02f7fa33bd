"""What a call hands to its arguments: none of those that a derivative reaches is forgotten."""

from __future__ import annotations

import numpy as np
import pytest

import srcad
from srcad import testing
from srcad.errors import MissingRuleError

X = np.array([1.0, 2.0, 3.0])

UNKNOWN = {
    "ord": lambda p, x: np.linalg.norm(x, ord=p),
    "ord by position": lambda p, x: np.linalg.norm(x, p),
    "ddof": lambda p, x: np.var(x, ddof=p),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_active_argument_missing_from_rule_rejected(name: str) -> None:
    with pytest.raises(MissingRuleError, match="no derivative for argument"):
        srcad.grad(UNKNOWN[name])(1.5, X)


LISTS = {
    "sum": lambda a, x: np.sum([[a, 2.0], [x[1], a * x[0]]]),
    "mean": lambda a, x: np.mean([[a, 2.0], [x[1], a * x[0]]]),
    "sine": lambda a, x: np.sum(np.sin([[a, 2.0], (x[1], a * x[0])])),
    "product": lambda a, x: np.sum(x * [a, 2.0, a * x[0]]),
    "broadcast": lambda a, x: np.sum(x[:, None] * [[a, 2.0]]),
    "tuple": lambda a, x: np.sum((a, 2.0, x[0]) + x * x),
    "two lists": lambda a, x: np.sum(np.multiply((a, 2.0), [x[0], a])),
    "maximum": lambda a, x: np.sum(np.maximum(x, [a, 2.5, a])),
    "where": lambda a, x: np.sum(np.where(x > 1.5, [a, 2.0, a], x)),
    "det": lambda a, x: np.linalg.det([[a, 2.0], [x[0], x[1]]]),
    "array": lambda a, x: np.sum(np.array([[[a], [x[0]]], [[x[1]], [a * a]]]) ** 2),
}


@pytest.mark.parametrize("name", LISTS)
def test_the_numbers_in_a_list_operand_get_their_cotangents(name: str) -> None:
    testing.check_grads(LISTS[name], (1.5, X), wrt=(0, 1), order=1)


def grown_list(a, x):
    rows = []
    for v in x:
        rows.append([v * a, a])
    return np.sum(np.sin(rows)) + np.mean(rows)


def test_grown_list_operand_cotangents() -> None:
    testing.check_grads(grown_list, (1.5, X), wrt=(0, 1), order=1)


READS = {
    "nothing": (lambda a: np.sin(a[()]) * a, np.array(1.5)),
    "ellipsis": (lambda a: a[...] ** 2, np.array(1.5)),
    "numpy scalar": (lambda a: a[()] ** 2, np.float64(1.5)),
    "new axis": (lambda a: np.sum(a[None] ** 2), np.array(1.5)),
    "mask": (lambda a: np.sum(a[a > 1] ** 2), np.array(1.5)),
    "result": (lambda a: np.asarray(np.sin(a))[()], 1.5),
}


@pytest.mark.parametrize("name", READS)
def test_zero_dimensional_array_indexing_gradient(name: str) -> None:
    f, a = READS[name]

    testing.check_grads(f, (a,), order=1)


RANGES = {
    "start": lambda p, x: np.sum(np.arange(p, p + 2.5) * x),
    "step": lambda p, x: np.sum(np.arange(0.0, 2.2 * p, step=p) * x),
    "stop": lambda p, x: p * np.sum(np.arange(2 * p) * x),
}


@pytest.mark.parametrize("name", RANGES)
def test_float_arange_derivative(name: str) -> None:
    testing.check_grads(RANGES[name], (1.4, X), wrt=(0, 1), order=1)


def test_integer_arange_bound_has_no_gradient() -> None:
    assert srcad.gradient(lambda n, x: np.sum(np.arange(n) * x), 3, X)[0] is None


def stored(x, places):
    y = x * x
    y[places] = x[:2]
    return y


LISTS_OF_PLACES = {
    "collected": lambda x, places: np.sum(x[[k for k in places if x[k] > 0]] ** 2),
    "written": lambda x, places: np.sum(stored(x, places) ** 2),
}


@pytest.mark.parametrize("name", LISTS_OF_PLACES)
def test_place_named_twice_by_list_gets_every_cotangent(name: str) -> None:
    testing.check_grads(LISTS_OF_PLACES[name], (X, [1, 1]), wrt=0, order=1)
