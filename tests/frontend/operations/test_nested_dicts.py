"""Dicts in dicts under the same keys: every part is taken from the dict that holds it."""

import numpy as np
import pytest

from tests.language import assert_program, named


def descent(tree, x):
    if "leaf" in tree:
        return tree["leaf"]
    p = 1 / (1 + np.exp(tree["thr"] - x))
    return p * descent(tree["right"], x) + (1 - p) * descent(tree["left"], x)


def same_key_twice(p):
    return p["a"]["a"] * p["a"]["b"] + p["b"]


def same_key_thrice(p):
    q = p["a"]
    r = q["a"]
    return r["a"] * r["b"] + 2 * q["b"] + 3 * p["b"]


def name_rebound(p, x):
    p = p["p"]
    q = p["p"]
    return x * p["q"] + q["q"] ** 2


def pairs_in_pairs(p):
    p, y = p
    p, z = p
    return p * y + z**2


BRANCH = {"thr": -0.2, "left": {"leaf": 0.3}, "right": {"leaf": -1.0}}
TREE = {"thr": 0.1, "left": {"leaf": 1.0}, "right": BRANCH}
PROGRAMS = [
    (descent, TREE, 0.3),
    (descent, BRANCH, 0.3),
    (descent, {"thr": 0.2, "right": TREE, "left": BRANCH}, 0.3),
    (same_key_twice, {"a": {"a": 2.0, "b": 3.0}, "b": 5.0}),
    (same_key_thrice, {"a": {"a": {"a": 2.0, "b": 7.0}, "b": 3.0}, "b": 5.0}),
    (name_rebound, {"p": {"p": {"q": 2.0}, "q": 3.0}}, 1.5),
    (pairs_in_pairs, ((2.0, 3.0), 5.0)),
]


@pytest.mark.parametrize(**named(PROGRAMS))
def test_nested_dict_entries_resolved_from_enclosing_dict(program):
    assert_program(*program)
