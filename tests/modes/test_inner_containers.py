"""Derivatives inside another of functions that write into lists, dicts and objects."""

import dataclasses

import numpy as np
import pytest

from srcad import grad, hvp, jvp, pullback
from srcad.errors import MutationError

X = np.array([0.7, -0.4])


@dataclasses.dataclass
class Record:
    w: object


class Plain:
    def __init__(self, w):
        self.w = w


def differences(s, x, h=1e-6):
    return [(s(x + d) - s(x - d)) / 2 / h for d in np.eye(2) * h]


# ------------------------------------------------------------------------- arguments stay
def append(items, b):
    items.append(b * b)
    return np.sum(items[-1] * b)


def a_list(b):
    items = []
    return np.sum(grad(append, 1)(items, b)) * (1 + len(items))


def a_list_of_unknown_length(b):
    items = []
    for k in range(b.size):
        items.append(b * k)
    return np.sum(grad(append, 1)(items, b)) * (1 + len(items))


def a_list_that_is_differentiated_by(b):
    items = [b]
    return np.sum(grad(append, (0, 1))(items, b)[1]) * (1 + len(items))


def a_dict(b):
    def put(d, b):
        d["k"] = b * b
        d["new"] = b
        return np.sum(d["k"] * d["new"])

    d = {"k": b}
    return np.sum(grad(put, 1)(d, b)) * len(d) + np.sum(d["k"])


def a_list_in_a_dict(b):
    def put(d, b):
        d["items"].append(b)
        return np.sum(d["items"][0] ** 2) * len(d["others"])

    items, others = [], [2.0]
    d = {"items": items, "others": others}
    return np.sum(grad(put, 1)(d, b)) * (1 + len(items) + len(d["items"]))


def a_data_class(b):
    def put(r, b):
        r.w = b * b
        return np.sum(r.w * b)

    r = Record(2.0)
    return np.sum(grad(put, 1)(r, b)) * r.w


def dicts_in_a_list(b):
    def put(rows, b):
        rows[0]["w"] = b * b
        return np.sum(rows[0]["w"] * rows[1]["w"])

    rows = [{"w": b}, {"w": 2 * b}]
    return np.sum(grad(put, 1)(rows, b) * rows[0]["w"])


def pushed_and_pulled(b):
    items = [b]
    _, dot = jvp(append, (items, b), (None, b))
    y, back = pullback(append, items, b, wrt=1)
    bent = hvp(append, 1)(items, b, v=b)
    return (y + dot + np.sum(back(1.0)[0] * bent)) * len(items)


def in_a_loop(b):
    items, total = [], 0.0
    for _ in range(3):
        total = total + np.sum(grad(append, 1)(items, b)) * (1 + len(items))
        items.append(b)
    return total * len(items)


def in_another_inner_function(b):
    def inner(items, b):
        g = grad(append, 1)(items, b)
        items.append(g)
        return np.sum(g * items[-1]) * len(items)

    items = [b]
    return np.sum(grad(inner, 1)(items, b)) * len(items)


@pytest.mark.parametrize(
    "s",
    [
        a_list,
        a_list_of_unknown_length,
        a_list_that_is_differentiated_by,
        a_dict,
        a_list_in_a_dict,
        a_data_class,
        dicts_in_a_list,
        pushed_and_pulled,
        in_a_loop,
        in_another_inner_function,
    ],
)
def test_inner_gradient_leaves_container_arguments_unchanged(s):
    np.testing.assert_allclose(grad(s)(X), differences(s, X), rtol=1e-6)


def test_inner_gradient_writes_external_objects():
    def put(p, b):
        p.w = b * b
        return np.sum(p.w * b)

    def s(b):
        d = {"p": Plain(2.0), "items": []}

        def inner(d, b):
            d["items"].append(b)
            return put(d["p"], b)

        g = grad(inner, 1)(d, b)
        return np.sum(g) * np.sum(d["p"].w) * (1 + len(d["items"]))

    np.testing.assert_allclose(grad(s)(X), differences(s, X), rtol=1e-6)


# ------------------------------------------------------------------------- other names
def known_to_the_function(b):
    items = []

    def inner(given, b):
        given.append(b * b)
        return np.sum(given[-1] * b) * (1 + len(items))

    return np.sum(grad(inner, 1)(items, b))


def known_through_an_object(b):
    items = []
    holder = Plain(items)

    def inner(given, b):
        given.append(b * b)
        return np.sum(given[-1] * b) * (1 + len(holder.w))

    return np.sum(grad(inner, 1)(items, b))


def known_and_of_unknown_length(b):
    items = []
    for _ in range(b.size):
        items.append(b)

    def inner(given, b):
        given.append(b * b)
        return np.sum(given[-1] * b) * (1 + len(items))

    return np.sum(grad(inner, 1)(items, b))


def passed_twice(b):
    def inner(first, second, b):
        first.append(b * b)
        return np.sum(first[-1] * b) * (1 + len(second))

    items = []
    return np.sum(grad(inner, 2)(items, items, b))


def twice_in_a_dict(b):
    def inner(d, b):
        d["first"].append(b * b)
        return np.sum(d["first"][-1] * b) * (1 + len(d["second"]))

    items = []
    return np.sum(grad(inner, 1)({"first": items, "second": items}, b))


def twice_in_a_list(b):
    def inner(rows, b):
        rows[0]["w"] = b * b
        return np.sum(rows[0]["w"] * rows[1]["w"])

    row = {"w": b}
    return np.sum(grad(inner, 0)([row, row], b)[0]["w"])


def seen_through_a_view(b):
    def inner(d, values, b):
        d["new"] = b
        return np.sum(d["new"] ** 2) * len(values)

    d = {"old": b}
    return np.sum(grad(inner, 2)(d, d.values(), b))


@pytest.mark.parametrize(
    "s",
    [
        known_to_the_function,
        known_through_an_object,
        known_and_of_unknown_length,
        passed_twice,
        twice_in_a_dict,
        twice_in_a_list,
        seen_through_a_view,
    ],
)
def test_write_through_alias_in_inner_gradient_rejected(s):
    with pytest.raises(MutationError):
        grad(s)(X)


# ------------------------------------------------------------------------- arrays in containers
def of_a_dict(d, b):
    d["a"][1] -= np.sin(b[0])
    return np.sum(b * b) * d["a"][1]


def of_a_pair(pair, b):
    pair[0][1] -= np.sin(b[0])
    return np.sum(b * b) * pair[0][1] + pair[1][0]


@pytest.mark.parametrize("wrt", [0, 1, (0, 1)])
@pytest.mark.parametrize("in_dict", [False, True])
def test_container_array_overlapping_argument_rejected(in_dict, wrt):
    def s(a, b):
        if in_dict:
            return grad(of_a_dict, wrt)({"a": a}, b)[-1]
        return grad(of_a_pair, wrt)((a, b.copy()), b)[-1]

    def total(a, b):
        g = s(a, b)
        return np.sum(g["a"] if isinstance(g, dict) else g[-1]) + a[1]

    with pytest.raises(MutationError, match="shares memory"):
        grad(total)(X, X)
    with pytest.raises(MutationError, match="shares memory"):
        grad(lambda x: total(x, x))(X)


def test_overlapping_arrays_in_container_rejected():
    def s(a, b):
        return np.sum(grad(of_a_pair, 1)((a, b), np.ones(2)))

    with pytest.raises(MutationError, match="shares memory"):
        grad(s)(X, X)

    assert np.shape(grad(s)(X, X.copy())) == (2,)
