"""Stores reuse storage exactly where nobody can tell."""

from __future__ import annotations

import operator

import numpy as np

from srcad.analysis.freshness import fresh_results
from srcad.analysis.ownership import in_place
from srcad.backends.python.backend import load
from srcad.backends.python.emitter import emit
from srcad.ir.core import Block, Call, Const, Display, Function, Value, walk
from srcad.ir.inference.builder import Builder
from srcad.ir.primitives import add_at, append, build_dict, build_list, build_tuple, updated
from srcad.types.numeric import FLOAT, INT, array_type
from srcad.types.sizes import fresh_extent
from tests.backends.check import assert_means_the_same, written

N = fresh_extent()
VECTOR = array_type(float, (N,))
GO_ON = Const(0)


def stores(function: Function) -> list[bool]:
    """Whether each store is in place, in order."""
    kinds = (updated, add_at, append, operator.add)
    calls = (op for op in walk(function.block) if isinstance(op, Call) and op.target in kinds)
    return [op.in_place for op in calls]


def zeros(b: Builder, like: Value, hint: str) -> Value:
    return b.call(np.zeros_like, like, hint=hint)


def test_store_chain_into_owned_array_in_place() -> None:
    b, v = Builder(), Value(VECTOR, "v")
    u = zeros(b, v, "u")
    for k in range(3):
        u = b.call(updated, u, Const(k), Const(1.0), hint="u")
    function = Function("f", (v,), b.finish(u))

    marked = in_place(function)

    assert stores(marked) == [True] * 3
    assert "    u[2] = 1.0\n    return u\n" in written(marked)
    assert_means_the_same(marked, np.ones(3), pure=function)


def test_parameter_never_written_in_place() -> None:
    b, v = Builder(), Value(VECTOR, "v")
    u = b.call(updated, v, Const(0), Const(1.0), hint="u")
    function = Function("f", (v,), b.finish(u))

    assert "u = v.copy()\n    u[0] = 1.0" in written(in_place(function))
    assert_means_the_same(in_place(function), np.zeros(2), pure=function)


def test_old_version_used_later_preserved() -> None:
    b, v = Builder(), Value(VECTOR, "v")
    u = zeros(b, v, "u")
    w = b.call(updated, u, Const(0), Const(1.0), hint="u")
    function = Function("f", (v,), b.finish(b.call(operator.sub, w, u)))

    assert_means_the_same(in_place(function), np.zeros(2), pure=function)


def test_view_used_later_copied_at_creation() -> None:
    b, v = Builder(), Value(VECTOR, "v")
    u = b.call(operator.mul, v, Const(2.0), hint="u")
    head = b.call(operator.getitem, u, Display("slice", (Const(0), Const(2), Const(None))),
                  hint="head")  # fmt: skip
    w = b.call(updated, u, Const(0), Const(9.0), hint="u")
    function = Function("f", (v,), b.finish(w, head))

    marked = in_place(function)

    assert stores(marked) == [True]
    assert "head = u[0:2].copy()" in written(marked)
    assert_means_the_same(marked, np.ones(3), pure=function)


def accumulation(start: str) -> Function:
    """A loop that adds into one buffer, as an adjoint does."""
    b, v, n = Builder(half="reverse"), Value(VECTOR, "v"), Value(INT, "n")
    init = zeros(b, v, "x_bar") if start == "zeros" else v
    i, buffer = Value(INT, "i"), Value(VECTOR, "x_bar")
    with b.block() as inside:
        grown = inside.call(add_at, buffer, i, Const(1.0), hint="x_bar")
        more = inside.call(operator.add, grown, v, hint="x_bar")
        body = inside.finish(GO_ON, more, params=(i, buffer))
    outs = b.for_((Display("range", (Const(0), n, Const(1))),), (init,), body)
    return Function("f", (v, n), b.finish(outs[2]))


def test_buffer_accumulation_in_place() -> None:
    function = accumulation("zeros")

    marked = in_place(function)

    assert stores(marked) == [True, True]
    assert "        x_bar[i] += 1.0\n        x_bar += v\n" in written(marked)
    assert_means_the_same(marked, np.ones(4), 3, pure=function)


def test_argument_as_loop_initial_value_copied_once() -> None:
    function = accumulation("argument")

    marked = in_place(function)

    assert stores(marked) == [True, True]
    assert "x_bar = v.copy()\n    for i" in written(marked)
    assert_means_the_same(marked, np.ones(4), 3, pure=function)


def test_array_saved_per_iteration_copied() -> None:
    b, v, n = Builder(), Value(VECTOR, "v"), Value(INT, "n")
    start = b.call(np.copy, v, hint="u")
    i, u = Value(INT, "i"), Value(VECTOR, "u")
    with b.block() as inside:
        w = inside.call(updated, u, i, Const(7.0), hint="u")
        body = inside.finish(GO_ON, w, u, params=(i, u))
    outs = b.for_((Display("range", (Const(0), n, Const(1))),), (start,), body)
    function = Function("f", (v, n), b.finish(outs[2], outs[3]))

    marked = in_place(function)

    assert_means_the_same(marked, np.zeros(3), 3, pure=function)
    assert stores(marked) == [True]


def test_swapped_buffers_remain_distinct() -> None:
    b, v, n = Builder(), Value(VECTOR, "v"), Value(INT, "n")
    first, second = zeros(b, v, "a"), b.call(np.ones_like, v, hint="c")
    i, a, c = Value(INT, "i"), Value(VECTOR, "a"), Value(VECTOR, "c")
    with b.block() as inside:
        w = inside.call(updated, a, i, Const(7.0), hint="a")
        body = inside.finish(GO_ON, c, w, params=(i, a, c))
    outs = b.for_((Display("range", (Const(0), n, Const(1))),), (first, second), body)
    function = Function("f", (v, n), b.finish(outs[2], outs[3]))

    assert_means_the_same(in_place(function), np.zeros(4), 3, pure=function)


def test_store_in_one_branch_only() -> None:
    b, v, x = Builder(), Value(VECTOR, "v"), Value(FLOAT, "x")
    u = zeros(b, v, "u")
    test = b.call(operator.gt, x, Const(0.0))
    with b.block() as arm:
        then = arm.finish(arm.call(updated, u, Const(0), x, hint="u"))
    (w,) = b.if_(test, then, Block((), (), (u,)))
    function = Function("f", (v, x), b.finish(w))

    marked = in_place(function)

    assert stores(marked) == [True]
    for value in (-1.0, 1.0):
        assert_means_the_same(marked, np.zeros(2), value, pure=function)


def test_append_to_owned_list_in_place() -> None:
    b, n = Builder(), Value(INT, "n")
    empty = b.call(build_list, hint="items")
    i, items = Value(INT, "i"), empty
    carried = Value(b.call(append, empty, Const(1)).type, "items")
    b.ops.pop()
    with b.block() as inside:
        longer = inside.call(append, carried, i, hint="items")
        body = inside.finish(GO_ON, longer, params=(i, carried))
    outs = b.for_((Display("range", (Const(0), n, Const(1))),), (items,), body)
    function = Function("f", (n,), b.finish(outs[2]))

    marked = in_place(function)

    assert "        items.append(i)\n" in written(marked)
    assert_means_the_same(marked, 4, pure=function)


# --------------------------------------------------------------------------- fresh results
def test_gradient_aliasing_argument_copied() -> None:
    v = Value(VECTOR, "v")
    function = Function("f", (v,), Builder().finish(Const(1.0), v))

    assert "return 1.0, v.copy()" in written(fresh_results(function, (1,)))


def test_gradients_do_not_alias_each_other() -> None:
    b, v = Builder(half="reverse"), Value(VECTOR, "v")
    g = b.call(operator.mul, v, Const(2.0), hint="g")
    both = b.call(build_tuple, g, b.call(build_dict, Const(("w",)), g))
    function = fresh_results(Function("f", (v,), b.finish(both)), (0,))

    text = written(function)

    assert text.count(".copy()") == 1
    assert_means_the_same(function, np.ones(2))


def test_fresh_array_returned_without_copy() -> None:
    b, v = Builder(half="reverse"), Value(VECTOR, "v")
    g = b.call(operator.mul, v, Const(2.0))

    assert ".copy()" not in written(fresh_results(Function("f", (v,), b.finish(g)), (0,)))


def test_a_broadcast_gradient_is_made_writable() -> None:
    b, v = Builder(half="reverse"), Value(VECTOR, "v")
    g = b.call(np.broadcast_to, Const(1.0), b.call(np.shape, v), type=VECTOR)

    assert ".copy()" in written(fresh_results(Function("f", (v,), b.finish(g)), (0,)))


def collected(each: str) -> Function:
    """A list of gradients: new arrays, or the same one over and over."""
    b, v, n = Builder(half="reverse"), Value(VECTOR, "v"), Value(INT, "n")
    outside = b.call(operator.mul, v, Const(2.0))
    with b.block() as inside:
        g = inside.call(operator.mul, v, Const(3.0)) if each == "new" else outside
        body = inside.finish(GO_ON, g, params=(Value(INT),))
    outs = b.for_((Display("range", (Const(0), n, Const(1))),), (), body)
    return fresh_results(Function("f", (v, n), b.finish(outs[2])), (0,))


def test_list_of_fresh_arrays_returned_without_copy() -> None:
    assert "deep_copy" not in written(collected("new"))


def test_list_with_duplicate_array_copied() -> None:
    function = collected("same")

    first, second = load(emit(function))(np.ones(2), 2)

    assert not np.shares_memory(first, second)


def test_store_chain_into_argument_copies_once() -> None:
    b, v = Builder(), Value(VECTOR, "v")
    u = v
    for k in range(3):
        u = b.call(updated, u, Const(k), Const(1.0), hint="u")
    function = Function("f", (v,), b.finish(u))

    marked = in_place(function)

    assert stores(marked) == [True] * 3
    assert written(marked).count(".copy()") == 1
    assert_means_the_same(marked, np.zeros(3), pure=function)
