"""Texts, dates and objects in arrays; results asked for by position; lists that others write."""

from __future__ import annotations

import operator
import random
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcad
from srcad import gradient
from tests.numeric import assert_gradient

X = np.array([0.4, 0.9, 1.3])

LABELS = np.array(["a", "b", "a"])


# ------------------------------------------------------------------------ what arrays hold
def a_label_of_its_own(x):
    labels = np.array(["a", "b"])
    return x[0] * (2.0 if labels[0] == "a" else 3.0) + x[1] * (labels[1] != "a")


def weights_by_label(x):
    return np.sum(x * np.array([2.0 if label == "a" else 3.0 for label in np.flip(LABELS)]))


def mask_of_labels(x):
    names, counts = np.unique(LABELS, return_counts=True)
    return np.sum(x[LABELS == "a"]) * counts[0] * (names[0] == "a")


def upper_labels(x):
    return np.sum(x * x) * (2.0 if np.char.upper(LABELS)[0] == "A" else 3.0)


def one_text(x):
    return np.sum(x) * (2.0 if np.str_("a") == "a" else 3.0) * (5.0 if np.array("a") == "a" else 1)


def item_of_a_text(x):
    return np.sum(x) * (2.0 if np.array(["a"]).item() == "a" else 3.0)


def items_that_are_flags(x):
    return np.sum(x) * (2.0 if np.array([True]).item() is True else 3.0)


def nothing_in_an_array(x):
    table = np.array([None, 2.0])
    return np.sum(x) * (2.0 if table[0] is None else 3.0) * (5.0 if table[1] is None else 7.0)


def text_in_an_array_of_objects(x):
    table = np.array(["a", 2.0], dtype=object)
    return np.sum(x) * (2.0 if table[0] == "a" else 3.0)


def dates(x):
    days = np.array(["2020-01-01", "2020-02-01"], dtype="M8[D]")
    return np.sum(x) * (2.0 if days[0] == np.datetime64("2020-01-01") else 3.0)


def numbers_are_no_text(x):
    return x[0] * (2.0 if x[0] == "a" else 3.0) * (5.0 if x[0] != None else 7.0)  # noqa: E711


TEXT, PAIR = "ab", (1.0, 2.0)


def items_that_are_not_there(x):
    total = 0.0
    for _ in range(2):
        try:
            total += float(TEXT["a"])
        except TypeError as error:
            total += len(str(error))
        try:
            total += PAIR[4]
        except IndexError as error:
            total += len(str(error))
        try:
            total += [1.0, 2.0][4] + "ab"[4]
        except LookupError as error:
            total += len(str(error))
    return np.sum(x * x) * total


# ------------------------------------------------------------------ results by position
def product_into(x):
    out = np.empty(3)
    np.dot(np.eye(3) * 2.0, x * x, out)
    return np.sum(out * x)


def clipped_into(x):
    out = x * x
    np.clip(out, 0.2, 1.0, out)
    out.clip(0.3, 0.9, out)
    return np.sum(out * x)


def sums_into(x):
    out, total = np.ones(3), np.ones(())
    x.cumsum(0, None, out)
    np.max(x, None, total)
    return np.sum(out * x) * total


def inactive_into(x):
    a, b = np.arange(4.0).reshape(2, 2), np.empty(2)
    a.sum(0, None, b)
    c = np.empty(2)
    np.dot(a, b, c)
    np.median(a, 0, b)
    d = np.empty((2, 2))
    np.stack([b, c], 0, d)
    np.nan_to_num(a, False, 3.0)
    return np.sum(x) * (b[0] + 10.0 * c[1] + 100.0 * d[1, 1])


def fills(out):
    np.cumsum(np.arange(3.0), 0, None, out)
    np.fill_diagonal(out[:1, None], 5.0)


def into_by_a_helper(x):
    out = np.empty(3)
    fills(out)
    return np.sum(x * out)


def no_result_by_position(x):
    y = np.add(x, 1.0, None) * np.sin(x, None)
    return np.sum(np.clip(x, 0.5, 1.0, None)) + x.sum(0, None, None) + np.sum(y)


# --------------------------------------------------------------- lists, written by others
def methods_of_classes(x):
    items, table = [3.0, 2.0], {"a": 1.0}
    list.sort(items)
    list.append(items, 7.0)
    type(items).insert(items, 0, 5.0)
    dict.update(table, a=2.0, b=3.0)
    weights = [x[0]]
    list.append(weights, x[1])
    return np.sum(x) * (items[0] + 10.0 * items[1]) * (table["a"] + len(table)) + weights[1]


def longest(x):
    rows = [[1.0, 2.0], [3.0]]
    first = max(rows, key=len)
    first[0] = 5.0
    return np.sum(x * x) * rows[0][0] * len(first)


@pytest.mark.parametrize(
    "f",
    [
        a_label_of_its_own,
        weights_by_label,
        mask_of_labels,
        upper_labels,
        one_text,
        item_of_a_text,
        items_that_are_flags,
        nothing_in_an_array,
        text_in_an_array_of_objects,
        dates,
        numbers_are_no_text,
        items_that_are_not_there,
        product_into,
        clipped_into,
        sums_into,
        inactive_into,
        into_by_a_helper,
        no_result_by_position,
        methods_of_classes,
        longest,
    ],
)
def test_gradient(f: Callable[..., Any]) -> None:
    assert_gradient(gradient, f, X)


def shuffled(x):
    items = [1.0, 2.0, 3.0]
    np.random.default_rng(3).shuffle(items)
    return x[0] * items[0]


def shuffled_by_python(x):
    items = [1.0, 2.0, 3.0]
    random.Random(3).shuffle(items)
    return x[0] * items[0]


def kept_in_an_array(x):
    row = np.array([1.0, 2.0])
    table = np.array([row, None], dtype=object)
    row[0] = 5.0
    return x[0] * table[0][0]


def seen_through_a_proxy(x):
    row = [1.0, 2.0]
    table = types.MappingProxyType({"row": row})
    row[0] = 5.0
    return x[0] * table["row"][0]


class Kept:
    def __init__(self, row):
        self.row = row

    def grow(self):
        self.row.append(3.0)

    def __getattr__(self, name):
        raise AttributeError(name)


def kept_in_an_object(x):
    row = [1.0, 2.0]
    Kept(row).grow()
    return x[0] * len(row)


@pytest.mark.parametrize(
    "f",
    [
        shuffled,
        shuffled_by_python,
        kept_in_an_object,
        kept_in_an_array,
        seen_through_a_proxy,
    ],
)
def test_untracked_mutation_of_list_rejected(f: Callable[..., Any]) -> None:
    with pytest.raises(srcad.errors.MutationError):
        srcad.grad(f)(X)


def read_by_what_is_chosen(x):
    items = [1.0, 2.0]
    pick = operator.itemgetter(1)
    return x[0] * pick(items)


def test_list_passed_to_read_only_opaque_call() -> None:
    assert srcad.grad(read_by_what_is_chosen)(X)[0] == 2.0
