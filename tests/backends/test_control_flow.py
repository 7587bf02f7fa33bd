"""Loops, exits and conditionals come back as native Python."""

from __future__ import annotations

import operator

import numpy as np

from srcad.ir.core import (
    BREAK,
    CONTINUE,
    NONE,
    UNDEF,
    Atom,
    Block,
    Const,
    Display,
    Function,
    Location,
    Routine,
    Value,
)
from srcad.ir.inference.builder import Builder
from srcad.ir.primitives import build_tuple, item
from srcad.types.numeric import FLOAT, INT, array_type
from srcad.types.sizes import fresh_extent
from srcad.types.structures import ListOf, TupleOf
from tests.backends.check import assert_means_the_same, written

ZERO, ONE = Const(0), Const(1)
GO_ON = Const(NONE)


def counting(n: Atom) -> Display:
    """The display ``range(n)``."""
    return Display("range", (ZERO, n, ONE))


def test_a_swap_in_a_loop_is_a_parallel_assignment() -> None:
    b, n = Builder(), Value(INT, "n")
    a, c = Value(FLOAT, "a"), Value(FLOAT, "c")
    body = Block((Value(INT, "i"), a, c), (), (GO_ON, c, a))
    outs = b.for_((counting(n),), (Const(1.0), Const(2.0)), body)
    function = Function("f", (n,), b.finish(outs[2], outs[3]))

    assert "        a, c = c, a\n" in written(function)
    for trips in (0, 1, 4):
        assert_means_the_same(function, trips)


def fibonacci() -> Function:
    b, n = Builder(), Value(INT, "n")
    a, c = Value(FLOAT, "a"), Value(FLOAT, "c")
    with b.block() as inside:
        total = inside.call(operator.add, a, c)
        body = inside.finish(GO_ON, c, total, params=(Value(INT), a, c))
    outs = b.for_((counting(n),), (Const(0.0), Const(1.0)), body)
    return Function("fib", (n,), b.finish(outs[2]))


def test_a_recurrence_of_two_needs_no_temporary() -> None:
    function = fibonacci()

    assert written(function) == (
        "def fib(n):\n"
        "    a, c = 0.0, 1.0\n"
        "    for _ in range(n):\n"
        "        a, c = c, a + c\n"
        "    return a\n"
    )
    assert_means_the_same(function, 7)


def leaving(tag: int) -> Function:
    """A loop that leaves, or skips, where the item is negative."""
    b, xs = Builder(), Value(array_type(float, (fresh_extent(),)), "xs")
    x, s = Value(FLOAT, "x"), Value(FLOAT, "s")
    with b.block() as inside:
        negative = inside.call(operator.lt, x, Const(0.0))
        with inside.block() as rest:
            grown = rest.call(operator.add, s, x, hint="s")
            stay = rest.finish(GO_ON, grown)
        outs = inside.if_(negative, Block((), (), (Const(tag), s)), stay)
        body = inside.finish(*outs, params=(x, s))
    outs = b.for_((xs,), (Const(0.0),), body)
    return Function("f", (xs,), b.finish(outs[2]))


def test_break_emitted_natively_without_nesting() -> None:
    function = leaving(BREAK)

    assert written(function) == (
        "def f(xs):\n"
        "    s = 0.0\n"
        "    for x in xs:\n"
        "        if x < 0.0:\n"
        "            break\n"
        "        s = s + x\n"
        "    return s\n"
    )
    assert_means_the_same(function, np.array([1.0, 2.0, -1.0, 5.0]))


def test_continue_emitted_natively() -> None:
    function = leaving(CONTINUE)

    assert "            continue\n        s = s + x\n" in written(function)
    assert_means_the_same(function, np.array([1.0, 2.0, -1.0, 5.0]))


def test_guard_after_possible_exit_removed() -> None:
    b, n = Builder(), Value(INT, "n")
    i, s = Value(INT, "i"), Value(FLOAT, "s")
    with b.block() as inside:
        odd = inside.call(operator.eq, inside.call(operator.mod, i, Const(2)), ONE)
        with inside.block() as arm:
            late = arm.call(operator.gt, i, Const(4))
            outs = arm.if_(late, Block((), (), (Const(BREAK),)), Block((), (), (GO_ON,)))
            then = arm.finish(*outs)
        (tag,) = inside.if_(odd, then, Block((), (), (GO_ON,)))
        goes_on = inside.call(operator.eq, tag, GO_ON)
        with inside.block() as rest:
            stay = rest.finish(GO_ON, rest.call(operator.add, s, Const(1.0), hint="s"))
        outs = inside.if_(goes_on, stay, Block((), (), (tag, s)))
        body = inside.finish(*outs, params=(i, s))
    outs = b.for_((counting(n),), (Const(0.0),), body)
    function = Function("f", (n,), b.finish(outs[2]))

    assert written(function) == (
        "def f(n):\n"
        "    s = 0.0\n"
        "    for i in range(n):\n"
        "        if i % 2 == 1:\n"
        "            if i > 4:\n"
        "                break\n"
        "        s = s + 1.0\n"
        "    return s\n"
    )
    assert_means_the_same(function, 9)


def test_dynamic_exit_tag_tested_at_runtime() -> None:
    b, n = Builder(), Value(INT, "n")
    i = Value(INT, "i")
    with b.block() as inside:
        tag = inside.call(operator.mul, inside.call(int, inside.call(operator.gt, i, Const(2))),
                          Const(BREAK))  # fmt: skip
        body = inside.finish(tag, params=(i,))
    tag_out, trips = b.for_((counting(n),), (), body)[:2]
    function = Function("f", (n,), b.finish(tag_out, trips))

    for trips_wanted in (0, 2, 9):
        assert_means_the_same(function, trips_wanted)


def test_while_with_a_compound_condition_is_one_line() -> None:
    b, x = Builder(), Value(FLOAT, "x")
    tested, carried = Value(FLOAT, "y"), Value(FLOAT, "y")
    with b.block() as condition:
        small = condition.call(operator.lt, tested, Const(100.0))
        with condition.block() as more:
            also = more.finish(more.call(operator.gt, tested, Const(0.0)))
        (both,) = condition.if_(small, also, Block((), (), (small,)))
        test = condition.finish(both, params=(tested,))
    with b.block() as inside:
        body = inside.finish(GO_ON, inside.call(operator.mul, carried, Const(3.0)),
                             params=(carried,))  # fmt: skip
    outs = b.while_((x,), test, body)
    function = Function("f", (x,), b.finish(outs[2]))

    assert "    while y < 100.0 and y > 0.0:\n        y = y * 3.0\n" in written(function)
    for start in (2.0, -1.0, 500.0):
        assert_means_the_same(function, start)


def test_loop_residuals_emitted_as_list_of_tuples() -> None:
    b, n = Builder(), Value(INT, "n")
    x, y = Value(FLOAT, "x"), Value(FLOAT, "y")
    with b.block() as inside:
        body = inside.finish(GO_ON, y, inside.call(np.sin, x), x, y, params=(Value(INT), x, y))
    outs = b.for_((counting(n),), (Const(1.0), Const(2.0)), body)
    b.half = "reverse"
    old_x, old_y, total = Value(FLOAT, "x"), Value(FLOAT, "y"), Value(FLOAT, "x_bar")
    with b.block() as inside:
        more = inside.call(operator.add, total, inside.call(operator.mul, old_x, old_y),
                           hint="x_bar")  # fmt: skip
        body = inside.finish(GO_ON, more, params=(old_x, old_y, total))
    back = b.for_(outs[4:], (Const(0.0),), body, backward=True)
    function = Function("f", (n,), b.finish(back[2]))

    text = written(function)

    assert "        saved.append((x, y))\n        x, y = y, np.sin(x)\n" in text
    assert "    for x, y in reversed(saved):\n        x_bar += x * y\n" in text
    assert_means_the_same(function, 4)


def test_lists_collected_in_backward_loop_in_index_order() -> None:
    b, n = Builder(), Value(INT, "n")
    i = Value(INT, "i")
    outs = b.for_((counting(n),), (), Block((i,), (), (GO_ON, i)), backward=True)

    assert_means_the_same(Function("f", (n,), b.finish(outs[2])), 4)


def test_reversed_zip_of_unequal_lengths_truncated() -> None:
    b = Builder()
    a, c = Value(ListOf(FLOAT), "a"), Value(ListOf(FLOAT), "c")
    x, y, s = Value(FLOAT, "x"), Value(FLOAT, "y"), Value(FLOAT, "s")
    with b.block() as inside:
        product = inside.call(operator.mul, inside.call(operator.add, s, x), y)
        body = inside.finish(GO_ON, product, params=(x, y, s))
    outs = b.for_((a, c), (Const(0.0),), body, backward=True)
    function = Function("f", (a, c), b.finish(outs[2]))

    assert "reversed(list(zip(a, c)))" in written(function)
    assert_means_the_same(function, [1.0, 2.0, 3.0], [0.5, 0.25])


def test_counter_along_sequence_emitted_as_enumerate() -> None:
    b, xs = Builder(), Value(array_type(float, (fresh_extent(),)), "xs")
    n = b.call(len, xs)
    k, x, s = Value(INT, "k"), Value(FLOAT, "x"), Value(FLOAT, "s")
    with b.block() as inside:
        more = inside.call(operator.add, s, inside.call(operator.mul, k, x))
        body = inside.finish(GO_ON, more, params=(k, x, s))
    outs = b.for_((counting(n), xs), (Const(0.0),), body)
    function = Function("f", (xs,), b.finish(outs[2]))

    assert "for k, x in enumerate(xs):" in written(function)
    assert_means_the_same(function, np.array([3.0, 4.0]))


def test_loop_items_unpacked_in_for_target() -> None:
    b = Builder()
    params = Value(ListOf(TupleOf((FLOAT, FLOAT))), "params")
    layer, x = Value(TupleOf((FLOAT, FLOAT))), Value(FLOAT, "x")
    with b.block() as inside:
        w = inside.call(item, layer, Const(0), hint="W")
        c = inside.call(item, layer, Const(1), hint="b")
        y = inside.call(operator.add, inside.call(operator.mul, w, x), c)
        body = inside.finish(GO_ON, y, params=(layer, x))
    outs = b.for_((params,), (Const(1.0),), body)
    function = Function("f", (params,), b.finish(outs[2]))

    assert "    for W, b in params:\n        x = W * x + b\n" in written(function)
    assert_means_the_same(function, [(2.0, 1.0), (3.0, -1.0)])


def test_return_emitted_in_both_branches() -> None:
    b, x = Builder(), Value(FLOAT, "x")
    test = b.call(operator.gt, x, Const(0.0))
    with b.block() as arm:
        then = arm.finish(arm.call(operator.mul, x, x))
    (y,) = b.if_(test, then, Block((), (), (Const(0.0),)))
    function = Function("f", (x,), b.finish(y))

    assert written(function) == (
        "def f(x):\n    if x > 0.0:\n        return x * x\n    return 0.0\n"
    )
    assert_means_the_same(function, -1.0)


def test_value_defined_in_one_branch_only() -> None:
    b, x = Builder(), Value(FLOAT, "x")
    test = b.call(operator.gt, x, Const(0.0))
    with b.block() as arm:
        t = arm.call(np.exp, x, hint="t")
        then = arm.finish(t, arm.call(operator.add, t, Const(1.0)))
    y, t = b.if_(test, Block((), then.ops, then.results[::-1]), Block((), (), (x, UNDEF)))
    z = b.call(np.sin, y, hint="z")
    with b.block() as arm:
        then = arm.finish(arm.call(operator.mul, t, z))
    (w,) = b.if_(test, then, Block((), (), (z,)))
    function = Function("f", (x,), b.finish(b.call(build_tuple, w, z)))

    for start in (-1.0, 2.0):
        assert_means_the_same(function, start)


def test_a_routine_becomes_a_function_of_its_own() -> None:
    b, x, n = Builder(), Value(FLOAT, "x"), Value(INT, "n")
    power = Routine("power")
    base = b.call(operator.eq, n, ZERO)
    with b.block() as arm:
        less = arm.call(operator.sub, n, ONE)
        inner = arm.call(power, x, less, type=TupleOf((FLOAT,)))
        part = arm.call(item, inner, ZERO)
        orelse = arm.finish(arm.call(operator.mul, x, part))
    (y,) = b.if_(base, Block((), (), (Const(1.0),)), orelse)
    power.function = Function("power", (x, n), b.finish(y))
    caller = Builder()
    a = Value(FLOAT, "a")
    called = caller.call(power, a, Const(3), type=TupleOf((FLOAT,)))
    result = caller.call(item, called, ZERO)
    function = Function("cube", (a,), caller.finish(result))

    text = written(function)

    assert "    return power(a, 3)\n" in text
    assert "    return x * power(x, n - 1)\n" in text
    assert_means_the_same(function, 1.5)


def test_statements_under_errstate_run_under_it() -> None:
    b, x = Builder(), Value(FLOAT, "x")
    quiet = Location("model.py", 2, errstate=(("divide", "ignore"),))
    a = b.call(np.sqrt, x, hint="a")
    b.where = quiet
    y = b.call(np.log, a, hint="y")
    b.where = Location("model.py", 3)
    z = b.call(np.cos, y, hint="z")
    b.where, b.half = quiet, "reverse"
    g = b.call(np.divide, z, a)
    function = Function("f", (x,), b.finish(b.call(operator.mul, g, g)))

    assert written(function) == (
        "def f(x):\n"
        "    a = np.sqrt(x)\n"
        '    with np.errstate(divide="ignore"):\n'
        "        y = np.log(a)\n"
        "    z = np.cos(y)\n"
        '    with np.errstate(divide="ignore"):\n'
        "        # line 2  (model.py:2)\n"
        "        g = np.divide(z, a)\n"
        "        g_1 = g * g\n"
        "    return g_1\n"
    )
    with np.errstate(divide="ignore"):
        assert_means_the_same(function, 0.5)
