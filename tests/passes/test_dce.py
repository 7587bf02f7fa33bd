"""What goes and what stays."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

import srcad
from srcad.ir.core import Block, Const, Display, For, Function, Value, walk
from srcad.ir.evaluate import evaluate
from srcad.ir.inference.builder import Builder
from srcad.ir.text import text
from srcad.ir.verify import verify
from srcad.passes.dce import dce
from srcad.types.numeric import FLOAT, INT
from tests.transforms.checking import lowered


def cleaned(f, *args) -> str:
    return text(verify(dce(lowered(f, *args)[0].function)))


def test_unused_arithmetic_removed():
    def f(x):
        unused = np.exp(x) * 2.0
        del unused
        return np.sin(x)

    assert "exp" not in cleaned(f, 1.0)


def test_unused_operations_that_may_raise_kept():
    def f(x, y):
        unused = math.log(x) + 1 / y
        del unused
        return x

    kept = cleaned(f, 1.0, 2.0)

    assert "log" in kept
    assert "truediv" in kept


def test_side_effects_kept():
    def f(x):
        print(x)
        return x * 2.0

    assert "print" in cleaned(f, 1.0)


def _loop() -> Function:
    """Two carried values that only feed each other, and one that is read."""
    x, n = Value(FLOAT, "x"), Value(INT, "n")
    body = Builder()
    item, s, p, q = Value(INT, "i"), Value(FLOAT, "s"), Value(FLOAT, "p"), Value(FLOAT, "q")
    s_1 = body.call(operator.add, s, x, hint="s")
    p_1 = body.call(operator.mul, q, x, hint="p")
    q_1 = body.call(operator.add, p, x, hint="q")
    outer = Builder(half="reverse")
    one = Const(1.0)
    block = body.finish(Const(0), s_1, p_1, q_1, p_1, params=(item, s, p, q))

    made = outer.for_((Display("range", (Const(0), n, Const(1))),), (one, one, one), block)
    return Function("f", (x, n), outer.finish(made[2]))


def test_unused_loop_carried_cycle_and_lists_removed():
    function = _loop()

    (loop,) = (op for op in walk(verify(dce(function)).block) if isinstance(op, For))

    assert len(loop.inits) == 1
    assert len(loop.outputs) == 3


def test_dce_preserves_results():
    function = _loop()

    assert evaluate(dce(function), 1.5, 4) == evaluate(function, 1.5, 4)


def test_unused_conditional_outputs_removed():
    def f(x):
        if x > 0:
            y, unused = np.sin(x), np.cosh(x)
        else:
            y, unused = x, np.exp(x)
        del unused
        return y

    kept = cleaned(f, 1.0)

    assert "cosh" not in kept
    assert "exp" not in kept


def test_values_used_from_enclosed_block_kept():
    x = Value(FLOAT, "x")
    inner = Builder()
    t = inner.call(np.sin, x)
    outer = Builder()
    outer.if_(Const(True), inner.finish(), Block())
    reverse = Builder(half="reverse")
    reverse.if_(Const(True), reverse_arm(t), Block((), (), (Const(0.0),)))
    ops = (*outer.ops, *reverse.ops)
    function = Function("f", (x,), Block((), ops, (reverse.ops[0].results[0],)))

    assert "sin" in text(dce(function))


def reverse_arm(t: Value) -> Block:
    builder = Builder(half="reverse")
    return builder.finish(builder.call(np.cos, t))


def test_redundant_raising_access_removed():
    """Statements that are there only to raise stood twice, and for arrays of known length."""

    def f(x):
        a = np.array([1.0, 2.0])
        total = 0.0
        for _ in range(2):
            y = [x[1] * 2, a[0], x[1] * 3, x[1]]
            total = total + y[2]
        return total

    g = srcad.grad(f)
    g(np.ones(3))

    rows = [row.strip() for row in g.source.splitlines()]
    assert rows.count("x[1]") == 1
    assert "a[0]" not in rows
    with pytest.raises(IndexError):
        g(np.ones(1))


def test_raising_access_in_one_branch_not_removed_in_other():
    def f(x, c):
        if c > 0:
            x[2]
            y = x[0]
        else:
            x[2]
            y = 2.0 * x[0]
        return y

    for c in (1.0, -1.0):
        with pytest.raises(IndexError):
            srcad.grad(f)(np.ones(2), c)
