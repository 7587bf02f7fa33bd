"""`trace_table`: what each step of a program computed, and the derivative of the result by it."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import srcad
from srcad import trace_table
from tests.generator.checker import loaded
from tests.generator.program import program
from tests.marks import some


def network(x, n, shift=0.0):
    h = x
    total = 0.0
    for _ in range(n):
        h = np.tanh(1.5 * h)
        if h[0] > 0.3:
            total += h[0] * h[1]
    last = h + shift
    return np.sum(last * last) + total


X = np.array([0.3, 0.8])


def test_trace_rows_in_evaluation_order():
    def f(x, y):
        z = x + y
        return z * x

    table = trace_table(f, 2.0, 3.0)

    assert [row.name for row in table] == ["x", "y", "z", "t1"]
    assert [row.value for row in table] == [2.0, 3.0, 5.0, 10.0]
    assert [row.gradient for row in table] == [7.0, 2.0, 2.0, 1.0]
    assert [row.operation for row in table] == ["", "", "add(x=2.0, y=3.0)", "mul(z=5.0, x=2.0)"]
    line = f.__code__.co_firstlineno
    assert [row.line for row in table] == [line, line, line + 1, line + 2]
    assert table[2].file == __file__
    assert table.result == 10.0


def test_step_gradient_equals_gradient_of_added_shift():
    table = trace_table(network, X, 4)

    expected = srcad.grad(network, wrt="shift")(X, 4, np.zeros(2))

    assert_allclose(table["last"].gradient, expected)
    assert_allclose(table["x"].gradient, srcad.grad(network)(X, 4))


def test_loop_traced_with_row_per_iteration():
    rows = trace_table(network, X, 4).named("h")

    values = [X]
    for _ in range(4):
        values.append(np.tanh(1.5 * values[-1]))
    assert [row.trip for row in rows] == [1, 2, 3, 4]
    for row, value in zip(rows, values[1:], strict=True):
        assert_allclose(row.value, value)
        assert row.op == "tanh"


def test_unused_step_has_no_gradient():
    table = trace_table(network, X, 2)

    flags = [row for row in table if row.op == "gt"]
    assert [row.value for row in flags] == [True, True]
    assert [row.gradient for row in flags] == [None, None]
    assert table["n"].value == 2


def test_array_write_traced_with_copy():
    def f(x):
        u = np.zeros(3)
        u[1:] = x
        u[0] = 2 * x[1]
        return np.sum(u * u)

    first, second, third = trace_table(f, X).named("u")

    assert first.value.tolist() == [0.0, 0.0, 0.0]
    assert second.value.tolist() == [0.0, 0.3, 0.8]
    assert third.value.tolist() == [1.6, 0.3, 0.8]
    assert third.gradient.tolist() == [3.2, 0.6, 1.6]
    assert second.gradient.tolist() == [0.0, 0.6, 1.6]


def test_recursive_calls_traced():
    def f(x, n):
        return x if n == 0 else np.sin(f(x, n - 1))

    row = trace_table(f, 0.3, 2)[-1]

    assert (row.operation, row.gradient) == ("f(x=0.3, n=2)", 1.0)


def test_an_argument_may_be_a_structure():
    table = trace_table(lambda p: p["a"] * p["b"][0], {"a": 2.0, "b": (3.0, 4.0)})

    assert table[0].gradient == {"a": 3.0, "b": (2.0, 0.0)}


class Spring:
    def __init__(self, k):
        self.k = k

    def force(self, a, b):
        d = b - a
        return self.k * d * np.sqrt(d @ d)


class Line:
    def force(self, a, b):
        return a - b


def steps(x, n):
    s = 0.0
    for k in range(n):
        s = s + x**k
    return s


def chosen(x):
    if x > 0.5:
        return x * x
    return np.exp(x)


def pair(x):
    return np.sin(x), x * x


def outer(x):
    return chosen(x) * steps(x, 2)


def printed(table):
    """The indent and the name of each printed row below the head."""
    rows = str(table).splitlines()[1:]
    return [(len(row) - len(row.lstrip())) // 2 * "-" + row.split()[0] for row in rows]


def test_rows_of_first_call_below_call():
    def f(x, n):
        a = steps(x, n)
        b = steps(a, n)
        return a * b

    table = trace_table(f, 0.3, 2)

    assert printed(table) == ["x", "n", "s", "-t1", "-s", "-t1", "-s", "s", "t3"]
    assert str(table).count("steps(") == 4  # in the column of operations and in the text of lines
    first, second = table.rows[2].call, table.rows[-2].call
    assert (first.operation, first.value, first.where.line - f.__code__.co_firstlineno) == (
        "steps(x=0.3, n=2)", 1.3, 1,
    )  # fmt: skip
    assert second.operation == "steps(x=1.3, n=2)"
    assert_allclose([first.gradient, second.gradient], [2.3 + 1.3, 1.3])
    assert all(row.call in (None, first, second) for row in table)
    assert table.named("s")[0].calls == (first,)


def test_every_call_expanded_on_request():
    table = trace_table(lambda x: steps(x, 1) + steps(2 * x, 1), 0.3)

    assert printed(table) == ["x", "s", "-t1", "-s", "t2", "s", "t4"]
    assert printed(table.expanded()) == ["x", "s", "-t1", "-s", "t2", "s", "-t3", "-s", "t4"]
    assert list(table.expanded()) == list(table)


def test_calls_in_calls_and_in_loops():
    def f(x):
        t = 0.0
        for v in x:
            t = t + outer(v)
        return t

    table = trace_table(f, np.array([0.3, 0.9]))

    inner = [row.calls for row in table.named("t1")]
    assert [[call.op for call in calls] for calls in inner] == [["outer", "chosen"]] * 2
    assert inner[0][0] is not inner[1][0]
    assert [calls[0].trip for calls in inner] == [1, 2]
    assert_allclose([calls[1].value for calls in inner], [np.exp(0.3), 0.81])
    assert_allclose([calls[1].gradient for calls in inner], [1.3, 1.9])
    assert_allclose([calls[0].value for calls in inner], [1.3 * np.exp(0.3), 1.9 * 0.81])


def test_calls_in_unrolled_loop_told_apart():
    def f(x):
        t = x
        for k in (1, 2):
            t = steps(t, k)
        return t

    table = trace_table(f, 0.3)

    calls = list(dict.fromkeys(row.call for row in table))[1:]
    assert [call.operation for call in calls] == ["steps(x=0.3, n)", "steps(x=1.0, n)"]
    assert [call.value for call in calls] == [1.0, 2.0]


def test_methods_of_one_name_are_two_functions():
    def f(x):
        first = Spring(2.0).force(x, 2 * x)
        return np.sum(Line().force(first, x))

    table = trace_table(f, X)

    assert [row.call.op for row in table if row.call] == ["force"] * 6
    assert len({row.call.definition.line for row in table if row.call}) == 2
    assert sum(name.startswith("-") for name in printed(table)) == 6


def test_call_with_several_results():
    def f(x):
        a, b = pair(x)
        return a * b

    call = trace_table(f, 0.3).named("a")[0].call

    assert (call.name, call.value) == ("a, b", (np.sin(0.3), 0.09))
    assert_allclose(call.gradient, (0.09, np.sin(0.3)))


def test_items_of_generators_have_no_names_of_the_compiler():
    def squares(x):
        yield from (v * v for v in x)

    def f(x):
        return sum(squares(x))

    assert [row.name for row in trace_table(f, X)] == ["x", "t1", "t2", "t1", "t2"]


def test_calls_without_numbers_have_no_value():
    def same(p):
        y = p["a"] * 2.0
        return {"a": y}

    def f(p):
        return same(p)["a"] + outer(p["a"])

    call = trace_table(f, {"a": 0.3}).named("y")[0].call

    assert (call.operation, call.value, call.gradient) == ("same(p)", None, None)


def test_trace_with_wrt_and_keyword_arguments():
    table = trace_table(lambda x, y, k: x * y * k, 2.0, 3.0, wrt="y", k=4.0)

    assert [row.gradient for row in table if row.op is None] == [None, 8.0, None]


def test_a_table_prints_one_line_for_each_row():
    table = trace_table(lambda x: x * x, 3.0)

    head, *lines = str(table).splitlines()
    assert head.split() == ["name", "value", "gradient", "operation", "line"]
    assert lines[1].startswith("t1    9.0    1.0       mul(x=3.0, x=3.0)  test_trace_table.py:")
    assert repr(table[1]) == "<t1 = mul(x=3.0, x=3.0): 9.0, gradient 1.0>"
    with pytest.raises(KeyError, match="nothing"):
        table["nothing"]


def test_long_table_abbreviated_in_print_only():
    table = trace_table(network, X, 100)

    lines = str(table).splitlines()
    assert len(table.named("h")) == 100
    assert len(lines) == 62
    assert "more rows" in lines[41]


def test_html_is_escaped():
    def f(x):
        return np.where(x < 2.0, x, 0.0) * len("<b>&")

    html = trace_table(f, 1.0)._repr_html_()

    assert "<b>" not in html
    assert "x &lt; 2.0, x, 0.0) * len(&quot;&lt;b&gt;&amp;&quot;)" in html


def test_effects_happen_once(capsys):
    def f(x):
        print("here")
        return x * x

    trace_table(f, 2.0)

    assert capsys.readouterr().out == "here\n"


def test_a_result_that_is_no_number_is_refused():
    with pytest.raises(srcad.errors.NonScalarOutputError):
        trace_table(lambda x: x * 2, X)


def _same(a, b):
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if hasattr(a, "__dataclass_fields__"):
        return _same(vars(a), vars(b))
    if a is None or b is None:
        return a is b
    return np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("seed", some(range(0, 60, 6), 1))
@pytest.mark.parametrize("features", ["control", "all"])
@pytest.mark.filterwarnings("ignore")
def test_trace_does_not_change_results(seed, features, tmp_path):
    made = program(seed, "all") if features == "all" else program(seed)
    with loaded(made.text, tmp_path, f"traced_{seed}") as module, np.errstate(all="ignore"):
        wrt = tuple(module.WRT)
        try:
            value, gradients = srcad.value_and_grad(module.f, wrt=wrt)(*module.make_arguments())
        except srcad.errors.SrcadError:
            pytest.skip("refused")
        with warnings.catch_warnings():
            table = trace_table(module.f, *module.make_arguments(), wrt=wrt)
        names = list(inspect.signature(module.f).parameters)

    assert _same(value, table.result)
    assert _same(list(gradients), [table.rows[k].gradient for k in wrt])
    assert [row.name for row in table.rows[: len(names)]] == names
