"""A line is a rewrite: what its holes bind, what its guard asks, what its replacement makes."""

from __future__ import annotations

import ast
import importlib
from typing import Any

import pytest

from srcad.ir.core import Arg, Const, Function, Value
from srcad.ir.inference.builder import Builder
from srcad.ir.text import text
from srcad.passes import rewrites
from srcad.passes.by_pattern import rewrites_by_pattern
from srcad.passes.rewriting import Rewriter
from srcad.types.numeric import BOOL, FLOAT

X, Y, FLAG = Value(FLOAT, "x"), Value(FLOAT, "y"), Value(BOOL, "flag")
ONE, TWO = Const(1), Const(2.0)


def probe(*lines: str) -> Any:
    """An operation of its own, which no other line knows."""

    def f(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("only rewritten")

    rewrites_by_pattern("\n".join(lines), is_flag, f=(f,))
    return f


def is_flag(arg: Arg) -> bool:
    return arg is FLAG


def rewritten(target: Any, *args: Arg, then: Any = None, **kwargs: Arg) -> str:
    """What is left of a call, and of another one on its result."""
    builder = Builder(half="reverse")
    made = builder.call(target, *args, type=FLOAT, kwargs=tuple(kwargs.items()))
    if then:
        made = builder.call(*(made if arg is None else arg for arg in then), type=FLOAT)
    function = Function("g", (X, Y, FLAG), builder.finish(made))
    *ops, result = text(Rewriter().function(function)).splitlines()[1:]
    return "; ".join(line.strip() for line in (*ops, result)).replace("return ", "")


@pytest.mark.parametrize(
    ("line", "args", "expected"),
    [
        ("f(a_, b_) -> b_", (X, Y), "y"),
        ("f(a_, a_) -> a_", (X, X), "x"),
        ("f(a_, a_) -> a_", (X, Y), "t1 = f(x, y); t1"),
        ("f(a_, a_) -> a_", (TWO, Const(2.0)), "2.0"),
        ("f(a_, a_) -> a_", (TWO, Const(2)), "t1 = f(2.0, 2); t1"),
        ("f(c_, a_) -> a_", (TWO, X), "x"),
        ("f(c_, a_) -> a_", (X, TWO), "t1 = f(x, 2.0); t1"),
        ("f(c_, a_) -> a_", (Const(True), X), "t1 = f(True, x); t1"),
        ("f(c_, d_) -> 2 * c_ + d_", (ONE, TWO), "4.0"),
        ("f(c_, a_) -> (c_ + 1) * a_", (ONE, X), "t1 = mul(2, x); t1"),
        ("f(1, a_) -> a_", (Const(1.0), X), "x"),
        ("f(1, a_) -> a_", (Const(True), X), "t1 = f(True, x); t1"),
        ("f(True, a_) -> a_", (Const(True), X), "x"),
        ("f(True, a_) -> a_", (ONE, X), "t1 = f(1, x); t1"),
        ("f(a_, b_) -> a_ if is_flag(b_)", (X, FLAG), "x"),
        ("f(a_, b_) -> a_ if is_flag(b_)", (X, Y), "t1 = f(x, y); t1"),
        ("f(c_, a_) -> a_ if c_ > 1", (ONE, X), "t1 = f(1, x); t1"),
        ("f(a_) -> a_", (X, Y), "t1 = f(x, y); t1"),
        ("f(a_, __) -> a_", (X, Y, Y), "x"),
        ("f(a_, b_) -> np.sin(b_) - a_", (X, Y), "t1 = sin(y); t2 = sub(t1, x); t2"),
    ],
)
def test_pattern_line_rewrites_call(line, args, expected):
    assert rewritten(probe(line), *args) == expected


def test_pattern_distinguishes_option_from_argument():
    assert rewritten(probe("f(a_) -> a_"), X, axis=ONE) != "x"
    assert rewritten(probe("f(a_, __) -> a_"), X, axis=ONE) == "x"


def test_pattern_matches_nested_call():
    f, g = probe("f(f(a_, b_), b_) -> a_"), probe()

    assert rewritten(f, X, Y, then=(f, None, Y)).endswith("; x")
    assert not rewritten(f, X, Y, then=(f, None, X)).endswith("; x")
    assert not rewritten(g, X, Y, then=(f, None, Y)).endswith("; x")


def test_pattern_binds_result_and_operands():
    twice = probe("f(t_ := f(a_, b_), d_) -> a_ + t_")
    first = probe("(t_ := f(a_, b_)) -> a_ if not is_flag(t_)")

    assert rewritten(twice, X, Y, then=(twice, None, ONE)) == "t1 = f(x, y); t2 = add(x, t1); t2"
    assert rewritten(first, X, Y) == "x"


def test_once_guard_fails_for_reused_value():
    f = probe("f(t_ := f(a_, b_), d_) -> a_ if once(t_)")

    assert rewritten(f, X, Y, then=(f, None, ONE)).endswith("; x")
    builder = Builder(half="reverse")
    inner = builder.call(f, X, Y, type=FLOAT)
    outer = builder.call(f, inner, ONE, type=FLOAT)
    both = builder.call(f, inner, outer, type=FLOAT)
    function = Function("g", (X, Y), builder.finish(both))
    assert Rewriter().function(function) is function


def test_first_matching_pattern_applies():
    f = probe("f(c_, a_) -> a_", "# another", "", "f(a_, b_) -> b_ + a_")

    assert rewritten(f, ONE, X) == "x"
    assert rewritten(f, X, Y) == "t1 = add(y, x); t1"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("f(a_)", "pattern -> replacement"),
        ("g(a_) -> a_", "no operation"),
        ("f(g(a_)) -> a_", "no operation"),
        ("a_ -> a_", "no operation"),
        ("a_ in b_ -> a_", "no operation"),
    ],
)
def test_malformed_pattern_line_rejected(line, complaint):
    with pytest.raises(ValueError, match=complaint):
        probe(line)


def lines() -> list[Any]:
    importlib.import_module("srcad.passes.simplify")
    importlib.import_module("srcad.passes.algebra")
    tried = {rewrite for some in rewrites._REWRITES.values() for rewrite, _ in some}
    return [
        rewrite for rewrite in tried if hasattr(rewrite, "prepared") and "f(" not in rewrite.text
    ]


def test_simplifier_pattern_lines_well_formed():
    found = lines()
    for line in found:
        _, guard, _ = line.prepared()
        bound = {name.id for name in ast.walk(line.pattern) if isinstance(name, ast.Name)}
        template, _, _ = line.replacement.partition(" if ")
        wanted = {name.id for name in ast.walk(ast.parse(template)) if isinstance(name, ast.Name)}
        known = bound | set(line.space) | set(line.names) | {"r", "once"}
        assert wanted | set(guard.co_names if guard else ()) <= known, line.text

    assert len(found) > 70
