"""`inspect(f, *args).helpers`, and reports on programs with functions that stay functions."""

from __future__ import annotations

import os
import re
from unittest import mock

import numpy as np
import pytest

import srcad


def force(p, x):
    a = np.sin(x) * p["k"] + np.cos(x)
    return a * np.tanh(a) + a * a - 0.5 * a


def small(x):
    return np.sin(x) * x


class Model:
    def __init__(self, k):
        self.k = k

    def step(self, x):
        y = 1.0 * x
        for _ in range(len(x)):
            y = y + 0.1 * force({"k": self.k}, y)
        return 1.0 * y


def loss(k, x):
    model = Model(k)
    s = 0.0
    for _ in range(3):
        x = model.step(x)
        s = s + np.sum(force({"k": k}, x)) + np.sum(small(x))
    return s + np.sum(small(2.0 * x)) + np.sum(model.step(x)) + sum(map(lambda v: v * v, x))


X = np.array([0.3, 0.8, -0.4])


def test_each_function_has_a_line_variants_calls_and_a_reason():
    helpers = srcad.inspect(loss, 1.3, X).helpers

    known = {str(h): (h.line, h.variants, h.calls, h.stands) for h in helpers}
    line = loss.__code__.co_firstlineno + 6
    assert known == {
        "Model.__init__": (
            Model.__init__.__code__.co_firstlineno,
            0,
            1,
            "in place: it changes an object that it is given",
        ),
        "Model.step": (Model.step.__code__.co_firstlineno, 1, 2, "a pair"),
        "force": (force.__code__.co_firstlineno, 1, 2, "a pair"),
        "small": (small.__code__.co_firstlineno, 0, 2, "in place: it is small"),
        "lambda": (line, 0, 1, "in place: it is a lambda"),
    }
    assert [h.reason is None for h in helpers] == [False, True, True, False, False]


def test_functions_print_as_a_table():
    helpers = srcad.inspect(loss, 1.3, X).helpers
    lines = str(helpers).splitlines()

    assert lines[0].split() == ["function", "line", "variants", "calls", "in", "the", "text"]
    place = f"test_functions_called.py:{force.__code__.co_firstlineno}"
    assert lines[3].split() == ["force", place, "1", "2", "a", "pair"]
    assert "<td>Model.step</td>" in helpers._repr_html_()
    assert str(srcad.inspect(np.sin, 1.0).helpers) == "no functions are called"


def two_kinds(x, y):
    total = np.sum(force({"k": 1.5}, x) + force({"k": 1.5}, 2.0 * x))
    return total + force({"k": y}, y) + force({"k": y}, 2.0 * y)


def test_function_for_two_kinds_of_arguments_has_two_variants():
    (helper,) = srcad.inspect(two_kinds, X, 0.7, wrt=(0, 1)).helpers

    assert (helper, helper.variants, helper.calls) == ("force", 2, 4)


def recursive(x, n):
    return np.sum(x * x) if n == 0 else np.sum(np.sin(x)) * recursive(x * 0.5, n - 1)


def test_recursive_function_is_a_pair():
    (helper,) = srcad.inspect(recursive, X, 3).helpers

    assert (helper, helper.calls, helper.stands) == ("recursive", 1, "a pair")


def masked(x):
    return np.sum(np.where(x > 0.1, force({"k": 0.2}, x), force({"k": 0.2}, 2.0 * x)))


def with_inner_gradient(x):
    return np.sum(srcad.grad(lambda x: np.sum(force({"k": 0.2}, x)))(x) ** 2)


def outside(x):
    NOTED.append(1)
    return np.sum(force({"k": 0.2}, x)) + np.sum(force({"k": 0.2}, 2.0 * x))


NOTED: list[int] = []


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (masked, "a derivative leaves out entries of what it takes or returns"),
        (with_inner_gradient, "a derivative is taken inside the function"),
        (outside, "objects outside are written into"),
    ],
)
def test_function_in_place_says_why(f, reason):
    helpers = srcad.inspect(f, X).helpers

    assert {h.stands for h in helpers if h == "force"} == {f"in place: {reason}"}


def double(model):
    model.k = 2.0 * model.k


def doubled_twice(model):
    double(model)
    double(model)
    return model.k


def after_doubling(x):
    model = Model(x)
    return doubled_twice(model) + np.sum(force({"k": model.k}, X))


def test_function_that_calls_one_in_place_has_its_reason():
    helpers = srcad.inspect(after_doubling, 0.7).helpers

    reasons = {str(h): h.reason for h in helpers if h.startswith("double")}
    why = "it changes an object that it is given"
    assert reasons == {"double": why, "doubled_twice": why}


def test_settings_that_read_all_in_place_are_the_reason():
    checked = srcad.grad(loss, check_finite=True)
    with mock.patch.dict(os.environ, SRCAD_HELPERS="inline"):
        inline = srcad.inspect(loss, 1.3, X).helpers

    found = checked.inspect(1.3, X).helpers
    assert {h.reason for h in found} == {"check_finite=True checks each operation"}
    assert {h.reason for h in inline} == {"SRCAD_HELPERS is 'inline'"}


def test_forward_mode_has_functions_and_no_pairs():
    derivative = srcad.jacobian(loss, mode="fwd")

    helpers = derivative.inspect(1.3, X).helpers

    assert {h.stands for h in helpers if h.reason is None} == {"a function"}


# ------------------------------------------------------------------------- other reports
def test_ssa_and_definitions_have_the_functions_that_are_called():
    found = srcad.inspect(loss, 1.3, X)

    assert re.findall(r"^(\w+)\(", found.ssa, re.M) == ["loss", "Model_step", "force"]
    assert re.findall(r"^(\w+)\(", found.adjoint_ssa, re.M)[0].startswith("loss")
    assert "force_adjoint(" in found.adjoint_ssa
    assert found.definition("a").line == force.__code__.co_firstlineno + 1


def test_graph_has_a_frame_for_each_function_that_is_called():
    graph = srcad.inspect(loss, 1.3, X).graph

    assert len(re.findall(r'label="(Model\.step|force)\b', graph)) == 2
    nodes = dict(re.findall(r'(\w+) \[label="([^"]*)"', graph))
    calls = {nodes[node] for out, node in re.findall(r"(out_\d) -> (v\d+)", graph)}
    assert {call.partition("= ")[2].partition("(")[0] for call in calls} == {"Model_step", "force"}
    assert graph.count('[label="return"') == 3


def of_small(x):
    return np.sum(small(x) + small(2.0 * x))


def test_graph_colours_what_is_put_in_place():
    colours = []
    for setting in ("", "inline"):
        with mock.patch.dict(os.environ, SRCAD_HELPERS=setting):
            colours.append(srcad.inspect(of_small, X).graph.count("filled"))

    assert colours[0] == colours[1] > 4


def test_trace_table_has_rows_of_functions_called_in_loops():
    table = srcad.trace_table(loss, 1.3, X)

    rows = table.named("a")
    assert len(rows) == 3 * 3 + 3 + 3
    assert {row.line for row in rows} == {force.__code__.co_firstlineno + 1}
    np.testing.assert_array_equal(rows[0].value, np.sin(X) * 1.3 + np.cos(X))
    e = 1e-6
    slopes = [(loss(1.3, X + d) - loss(1.3, X - d)) / (2 * e) for d in e * np.eye(3)]
    np.testing.assert_allclose(table[1].gradient, slopes, rtol=1e-7)
