"""Conditionals on one test become one."""

from __future__ import annotations

import operator

import numpy as np

from srcad.ir.core import UNDEF, Block, Const, Function, If, Value, walk
from srcad.ir.evaluate import evaluate
from srcad.ir.inference.builder import Builder
from srcad.ir.verify import verify
from srcad.passes.fuse import fuse
from srcad.types.numeric import FLOAT


def two_conditionals(between: str) -> Function:
    """A primal conditional and its adjoint, with something between them."""
    b, x = Builder(), Value(FLOAT, "x")
    test = b.call(operator.gt, x, Const(0.0))
    with b.block() as arm:
        t = arm.call(np.exp, x, hint="t")
        then = arm.finish(arm.call(np.sin, t), t)
    y, t = b.if_(test, then, Block((), (), (x, UNDEF)))
    seed = Const(2.0)
    if between == "independent":
        seed = b.call(operator.mul, x, Const(3.0))
    if between == "dependent":
        seed = b.call(operator.mul, y, Const(3.0))
    if between == "effect":
        b.call(print, y, effect=True)
    b.half = "reverse"
    with b.block() as arm:
        then = arm.finish(arm.call(operator.mul, seed, t))
    (g,) = b.if_(test, then, Block((), (), (seed,)))
    return Function("f", (x,), b.finish(y, g))


def conditionals(function: Function) -> int:
    return sum(isinstance(op, If) for op in walk(function.block))


def test_reverse_branch_fused_with_primal_branch() -> None:
    for between in ("nothing", "independent"):
        function = two_conditionals(between)
        fused = verify(fuse(function))

        assert conditionals(fused) == 1
        for x in (-1.0, 0.5):
            assert evaluate(fused, x) == evaluate(function, x)


def test_dependent_conditionals_not_fused() -> None:
    function = two_conditionals("dependent")

    assert conditionals(fuse(function)) == 2


def test_side_effect_between_fused_conditionals_keeps_order() -> None:
    function = two_conditionals("effect")
    fused = verify(fuse(function))

    assert evaluate(fused, 0.5) == evaluate(function, 0.5)
