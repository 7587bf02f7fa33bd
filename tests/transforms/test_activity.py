"""What carries a derivative, leaf by leaf; what may be unbound; how many trips a loop makes."""

from __future__ import annotations

import numpy as np

from srcad.analysis.activity import activity
from srcad.analysis.activity_trees import both, either_active, fully_active
from srcad.analysis.binding import possibly_undefined
from srcad.analysis.trips import equally_long, may_exit
from srcad.ir.core import For, walk
from srcad.types.numeric import BOOL, FLOAT
from srcad.types.structures import ListOf, TupleOf
from tests.transforms.checking import lowered


def active_names(f, *args) -> set[str]:
    function = lowered(f, *args)[0].function
    facts = activity(function, {p: fully_active(p.type) for p in function.params}, [True])
    values = [*function.params, *(v for op in walk(function.block) for v in op.results)]
    return {v.hint for v in values if v.hint and facts.active(v) is not False}


def loop_of(f, *args) -> For:
    function = lowered(f, *args)[0].function
    return next(op for op in walk(function.block) if isinstance(op, For))


def test_structure_activities_intersect_per_leaf():
    pair = fully_active(TupleOf((FLOAT, BOOL, ListOf(FLOAT))))

    assert pair == (True, False, True)
    assert both(pair, (False, True, True)) == (False, False, True)
    assert either_active((False, False, True), pair) == pair
    assert both(pair, (False, True, False)) is False


def test_active_variables_depend_on_input_and_reach_result():
    def f(x, n):
        y = np.sin(x)
        idle = np.cos(x)
        count = n + 1
        if idle > 0:
            y = y * 2.0
        return y * np.ones(count)[0]

    assert active_names(f, 1.5, 3) == {"x", "y"}


def test_index_count_and_shape_carry_no_activity():
    def f(x, n):
        return x[n] * np.ones(n + 1)[0] * x.shape[0]

    assert active_names(f, np.ones(3), 1) == {"x"}


def test_swapped_variables_both_active():
    def f(a, b, n):
        for _ in range(n):
            a, b = b, a
        return a

    assert {"a", "b"} <= active_names(f, 1.0, 2.0, 3)


def test_variable_assigned_on_one_path_may_be_unbound():
    def f(x):
        if x > 0:
            y = x * 2.0
        if x > 0:
            x = x + y
        return x

    function = lowered(f, 1.0)[0].function

    assert any(v.hint == "y" for v in possibly_undefined(function.block))


def test_continue_tag_is_not_loop_exit():
    def f(x):
        s = 0.0
        for v in x:
            if v < 0:
                continue
            s = s + v
        return s

    def g(x):
        s = 0.0
        for v in x:
            if v < 0:
                break
            s = s + v
        return s

    assert not may_exit(loop_of(f, np.ones(3)))
    assert may_exit(loop_of(g, np.ones(3)))


def test_enumerate_and_zip_share_iteration_count():
    def f(x, y):
        s = 0.0
        for i, (v, w) in enumerate(zip(x, y)):
            s = s + i * v * w
        return s

    assert equally_long(loop_of(f, np.ones(3), np.ones(3)))
    assert not equally_long(loop_of(f, np.ones(3), np.ones(4)))
