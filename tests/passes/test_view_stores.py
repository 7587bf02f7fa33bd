"""Writes through views: the values, the derivatives, and no copy of a view in a loop."""

from __future__ import annotations

import itertools
import linecache
import re
from typing import Any

import numpy as np
import pytest

import srcad
from srcad.arguments.options import numba_is_installed
from tests.marks import some

X = np.array([0.7, 0.4, 0.9, 0.55, 0.3, 0.8])
H = 1e-6

# An array, and a view of it that has five entries or more.
VIEWS = {
    "slice": ("np.zeros(9)", "y[1:]"),
    "reversed": ("np.zeros(6)", "y[::-1]"),
    "row": ("np.zeros((3, 6))", "y[1]"),
    "nested": ("np.ones(12)", "y[1:][2:]"),
    "last row": ("np.ones((3, 6))", "y[-1]"),
    "column": ("np.ones((6, 6))", "y[:, 1]"),
    "step": ("np.zeros(12)", "y[::2]"),
    "step back": ("np.ones(14)", "y[10:0:-2]"),
    "nested reversed": ("np.ones(12)", "y[1:][::-1]"),
    "slice of a row": ("np.ones((6, 8))", "y[1][2:]"),
    "to the end": ("np.ones(9)", "y[:-2]"),
    "flip": ("np.ones(7)", "np.flip(y)"),
    "transposed": ("np.ones((6, 6))", "y.T[:, 0]"),
    "ellipsis": ("np.ones((6, 6))", "y[..., ::-1][1]"),
}

BODIES = {
    "loop": """
    for i in range(5):
        v[i] = x[i] * x[i]""",
    "straight": """
    v[0] = x[0] * x[1]
    v[2] = x[2] * 3.0
    v[1] = v[0] * x[1]""",
    "branches": """
    for i in range(5):
        if x[i] > 0.5:
            v[i] = x[i] * x[i]
        elif i > 1:
            v[i] = v[i - 1] * x[i]""",
    "recurrence": """
    for i in range(1, 5):
        v[i] = np.sin(v[i - 1]) + x[i] * v[i]""",
    "in place": """
    for i in range(5):
        v[i] += x[i] * x[i]
        v[i] *= x[0]""",
    "view and array": """
    for i in range(4):
        v[i] = x[i] * x[i]
        y[..., i] = y[..., i] * x[i] + v[i + 1]
        v[i] -= 0.5 * v[i]""",
    "negative": """
    for i in range(1, 5):
        v[-i] = x[i] * v[-i - 1]""",
    "slices": """
    for i in range(4):
        v[i:i + 2] = v[i:i + 2] * x[i] + x[i + 1]""",
    "whole": """
    v[:] = v * x[0] + x[1]
    v[1:3] += x[2:4]
    v *= x[1]""",
    "while": """
    i = 0
    while i < 5:
        v[i] = x[i] * x[i]
        i += 1""",
    "old values": """
    w = v * 1.0
    for i in range(5):
        v[i] = x[i] * x[i] + w[i]
    y = y * np.sum(w)""",
    "beyond the end": """
    for i in range(5):
        try:
            v[i] = x[i] * x[i]
            v[i + 20] = 3.0
        except IndexError:
            v[i] = x[i]""",
}


def made(view: str, body: str) -> Any:
    """A function that writes through a view, and reads the array and the view afterwards."""
    array, taken = VIEWS[view]
    text = f"""def f(x):
    y = {array}
    v = {taken}{BODIES[body]}
    return np.sum(y * y * y) + np.sum(np.sin(v) + v * v) * x[0]
"""
    file = f"<{view}, {body}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {"np": np}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def differences(f: Any) -> Any:
    return np.stack([(f(X + H * e) - f(X - H * e)) / (2 * H) for e in np.eye(X.size)], axis=-1)


PAIRS = list(itertools.product(VIEWS, BODIES))
FIRST = [("slice", "loop"), ("reversed", "straight"), ("row", "recurrence"), ("nested", "branches")]
pairs = pytest.mark.parametrize("pair", some(PAIRS, lambda _, pair: pair in FIRST))


@pairs
def test_value_and_gradient(pair):
    f = made(*pair)

    value, gradient = srcad.value_and_grad(f)(X)

    assert value == f(X)
    np.testing.assert_allclose(gradient, differences(f), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("pair", some(PAIRS, lambda _, pair: pair == FIRST[0], every=2))
def test_tangents_and_hessian(pair):
    f = made(*pair)
    v = np.arange(1.0, 7.0)

    value, tangent = srcad.jvp(f, (X,), (v,))

    assert value == f(X)
    np.testing.assert_allclose(tangent, differences(f) @ v, rtol=1e-5, atol=1e-5)
    hessian = differences(srcad.grad(f))
    np.testing.assert_allclose(srcad.hessian(f)(X), hessian, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("pair", some(PAIRS, lambda _, pair: pair == FIRST[0], every=4))
def test_jacobian_of_written_array(pair):
    f = made(*pair)

    def g(x):
        return f(x) * x[:2]

    np.testing.assert_allclose(srcad.jacrev(g)(X), differences(g), rtol=1e-5, atol=1e-5)


def in_loops(source: str) -> str:
    """The lines of a text that an iteration of a loop runs."""
    lines, depth, found = source.splitlines(), None, []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if depth is not None and indent <= depth:
            depth = None
        if depth is not None:
            found.append(line)
        elif re.match(r"\s*(for|while)\b", line):
            depth = indent
    return "\n".join(found)


LINEAR_READS = ["branches", "in place", "negative"]
LENGTHY = re.compile(r"copy\(|zeros|(?<!\])\[[^\]\s]*:[^\]\s]*\] \+?= ")
LINEAR_PAIRS = [
    *itertools.product(VIEWS, ["loop", "while"]),
    *itertools.product(["slice", "reversed", "step", "to the end", "flip", "row"], LINEAR_READS),
]


@pytest.mark.parametrize("pair", some(LINEAR_PAIRS, lambda _, pair: pair in FIRST))
def test_iteration_copies_no_view(pair):
    gradient = srcad.grad(made(*pair))
    gradient(X)

    assert "[" in in_loops(gradient.source)
    assert not LENGTHY.search(in_loops(gradient.source)), gradient.source


def test_written_view_is_one_statement():
    def f(x):
        y = np.zeros(x.size + 1)
        v = y[1:]
        for i in range(x.size):
            v[i] = x[i] * x[i]
        return np.sum(y)

    gradient = srcad.grad(f)

    np.testing.assert_array_equal(gradient(X), 2 * X)
    assert "y_bar[1:][i] = 0.0" in gradient.source


def shared(x):
    y = np.ones(7)
    v, w = y[1:], y[::-1]
    for i in range(6):
        v[i] = x[i] * x[i]
        w[0] = w[1] + v[i] * x[0]
    return np.sum(v * w[:6]) + y[3]


def of_argument(x):
    v = x[1:]
    z = x.copy()
    u = z[1:]
    for i in range(5):
        u[i] = v[i] * z[i]
    return np.sum(z * x)


def written(v, x):
    for i in range(x.size):
        v[i] = x[i] * v[i]


def in_helper(x):
    y = np.ones(8)
    written(y[1:], x)
    written(y[:-1][::-1], x)
    return np.sum(y * y)


def two_axes(x):
    y = np.ones((3, 4))
    v = y[1:]
    for i in range(2):
        for j in range(3):
            v[i, j] = x[i] * x[j] * v[i, j + 1]
    return np.sum(y * y)


@pytest.mark.parametrize("f", [shared, of_argument, in_helper, two_axes])
def test_aliases_of_written_view(f):
    value, gradient = srcad.value_and_grad(f)(X)

    assert value == f(X)
    np.testing.assert_allclose(gradient, differences(f), rtol=1e-5, atol=1e-6)


def test_place_outside_of_view_raises_as_plain_call():
    def f(x):
        y = np.zeros(9)
        v = y[1:3]
        for i in range(x.size):
            v[i] = x[i]
        return np.sum(y)

    with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0 with size 2"):
        f(X)
    with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0 with size 2"):
        srcad.grad(f)(X)


def masked(x):
    y = np.ones(x.size + 1)
    v = y[1:]
    v[x > 0.5] = 2.0
    v[np.array([0, 2])] = x[:2]
    return np.sum(y * y) * x[0]


@pytest.mark.skipif(not numba_is_installed(), reason="Numba is not installed")
@pytest.mark.parametrize("f", [masked, shared, made("nested", "recurrence"), made("row", "slices")])
def test_compiled_code_writes_through_views(f):
    backend = srcad.Numba(strict=True)
    value, gradient = srcad.value_and_grad(f, backend=backend)(X)

    np.testing.assert_allclose(value, f(X), rtol=1e-14)  # sums add in another order
    np.testing.assert_allclose(gradient, differences(f), rtol=1e-5, atol=1e-6)
