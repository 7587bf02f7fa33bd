"""Expressions as long as Python compiles them, with the recursion limit as it is."""

import linecache
import sys

import pytest

import srcad

COUNT = 1000

EXPRESSIONS = {
    "terms": " + ".join(f"x * {k}.0" for k in range(COUNT)),
    "differences": " - ".join(["x"] * COUNT),
    "products": " * ".join(["x", *["1.0"] * COUNT, "y"]),
    "mixed": " + ".join(["x * y - x / y"] * (COUNT // 2)),
    "and": f"x if {' and '.join(['x > 0'] * COUNT)} else y",
    "or": f"x if {' or '.join(['x < 0'] * COUNT)} else y * x",
    "comparisons": f"x if {' <= '.join(['y'] * COUNT)} else x * y",
    "comparisons of constants": f"x if {' < '.join(map(str, range(COUNT)))} else y",
    "strings": f"x * len({' + '.join(['str(y)'] * COUNT)})",
    "bits": f"x * ({' | '.join(['1'] * COUNT)})",
}


def compiled(expression):
    text = f"def f(x, y):\n    return {expression}\n"
    name = f"<long {hash(expression)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {}
    exec(compile(text, name, "exec"), space)
    return space["f"]


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_long_expression_is_differentiated(name):
    f, before = compiled(EXPRESSIONS[name]), sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    try:
        value, gradient = srcad.value_and_grad(f)(1.0, 2.0)
        limit = sys.getrecursionlimit()
    finally:
        sys.setrecursionlimit(before)

    assert limit == 1000
    assert value == f(1.0, 2.0)
    assert gradient == pytest.approx((f(1.5, 2.0) - f(0.5, 2.0)) / 1.0)


def test_long_chained_comparison_short_circuits():
    f = compiled(f"x if {' <= '.join(['y'] * 20)} < x else 3.0 * x")

    assert srcad.grad(f)(1.0, 2.0) == 3.0
    assert srcad.grad(f)(5.0, 2.0) == 1.0
