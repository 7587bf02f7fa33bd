"""Loop-invariant code motion.

>>> import numpy as np
>>> import srcad
>>> def damped(x, n):
...     for _ in range(n):
...         x = x * (np.sin(1) + np.cos(1))
...     return x
>>> g = srcad.grad(damped)
>>> float(g(1.0, 2))
1.909297426825682
>>> print(g.source.splitlines()[2])
    total = np.sin(1) + np.cos(1)

A call moves only if no derivative flows through it and the move is not observable: a loop may have
no iteration, so that the call must neither raise nor warn, for any values of its operands.  This is
known of some functions, of calls with literal operands (they are evaluated), and of all calls that
precede any other that may fail in an iteration, if there certainly is an iteration.  An array moves
if it is only read: each iteration had one of its own.  The primal computes the same bits, and a
reverse sweep has one value to read instead of one per iteration.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from srcad.analysis.trips import length_of
from srcad.ir.core import (
    Block,
    Call,
    Const,
    Display,
    For,
    Function,
    Loop,
    Op,
    Try,
    Value,
    While,
    walk,
)
from srcad.ir.inference.raising import fails_for_values, may_raise
from srcad.ir.memory import has_storage, makes_fresh
from srcad.ir.traits import law_of_operator, row_with_infinities
from srcad.passes.purity import is_mergeable
from srcad.startup.records import changed, dataclass, field, replace
from srcad.types.numeric import Numeric
from srcad.types.sizes import resolved

_SMALL = 1e100  # squares of such numbers are finite
_TRIED = ("sum", "difference", "product", "quotient", "negative", "power")


@dataclass(eq=False)
class _Hoist:
    """The state of the walk.

    `varied` are values that may depend on what is differentiated by, or change from iteration to
    iteration; `known` are the numbers that some calls of literals make; `tries` counts the ``try``
    around.
    """

    varied: set[Value]
    known: dict[Value, Any] = field(default_factory=dict)
    tries: int = 0

    def block(self, block: Block) -> Block:
        """Return a block with invariant calls moved in front of its loops."""
        ops: list[Op] = []
        for op in block.ops:
            if isinstance(op, For | While):
                moved, op = self.loop(op)
                ops += moved
            elif op.blocks:
                self.tries += isinstance(op, Try)
                op = op.mapped(self.block)
                self.tries -= isinstance(op, Try)
            self._note(op)
            ops.append(op)
        return changed(block, ops=tuple(ops))

    def _note(self, op: Op) -> None:
        if not isinstance(op, Call) or any(v in self.varied for v in op.operands):
            self.varied.update(op.results)

    def loop(self, loop: Loop) -> tuple[list[Op], Loop]:
        """Return the calls that move in front of a loop, and the loop without them."""
        for inner in loop.blocks:
            self.varied.update(inner.params)
        inside = tuple(map(self.block, loop.blocks))
        body = inside[-1]
        moved = self._movable(loop, body)
        if moved:
            gone = set(map(id, moved))
            body = replace(body, ops=tuple(op for op in body.ops if id(op) not in gone))
        blocks = iter((*inside[:-1], body))
        return moved, loop.mapped(lambda _: next(blocks))

    def _movable(self, loop: Loop, body: Block) -> list[Op]:
        stays = {v for op in body.ops for v in op.results}
        sure = isinstance(loop, For) and not self.tries and _runs_at_least_once(loop)
        moved: list[Op] = []
        for op in body.ops:
            if isinstance(op, Call) and self._may_move(op, stays, body, sure=sure):
                moved.append(op)
                stays.difference_update(op.results)
            else:
                sure = sure and isinstance(op, Call) and not may_raise(op)
        return moved

    def _may_move(self, op: Call, stays: set[Value], body: Block, *, sure: bool) -> bool:
        operands = op.operands
        if op.half != "primal" or not isinstance(op.result.type, Numeric) or not is_mergeable(op):
            return False
        if any(v in stays or v in self.varied or not _is_numeric(v) for v in operands):
            return False
        quiet = self._is_quiet(op) or (sure and not may_raise(op) and not fails_for_values(op))
        return quiet and (not has_storage(op.result) or _is_only_read(op.result, body))

    def _is_quiet(self, op: Call) -> bool:
        """Return True if a call certainly neither raises nor warns."""
        if op.kwargs:
            return False
        if all(isinstance(a, Const) or a in self.known for a in op.args):
            return self._is_tried(op)
        types = [getattr(arg, "type", None) for arg in op.args]
        floats = all(isinstance(t, Numeric) and t.kind == "f" for t in types)
        return row_with_infinities(op.target).fails == "never" and floats

    def _is_tried(self, op: Call) -> bool:
        """Return True if a call of literals makes a finite number; it is called to see."""
        if not isinstance(op.target, np.ufunc) and law_of_operator(op.target) not in _TRIED:
            return False
        values: list[Any] = [
            a.value if isinstance(a, Const) else self.known[a]
            for a in op.args
            if not isinstance(a, Display)
        ]
        if not all(type(v) in (int, float, np.float64) and abs(v) < _SMALL for v in values):
            return False
        try:
            with np.errstate(all="raise"):
                found = op.target(*values)
        except (ArithmeticError, ValueError, TypeError):
            return False
        if type(found) not in (int, float, np.float64) or not math.isfinite(found):
            return False
        self.known[op.result] = found
        return True


def hoisted(function: Function, wrt: Sequence[int]) -> Function:
    """Move loop-invariant calls in front of loops, if no derivative flows through them.

    The logarithm stays, as it warns of a negative `a`.

    >>> function = parse('''
    ... f(x: float, a: float, n: int):
    ...     for k in range(0, n, 1) [y = x] -> tag, count, y_n:
    ...         t = tanh(a)
    ...         u = log(a)
    ...         v = mul(t, u)
    ...         y_1 = mul(y, v)
    ...         yield 0, y_1
    ...     return y_n
    ... ''')
    >>> print(text(hoisted(function, wrt=[0])))
    f(x, a, n):
        t = tanh(a)
        for k in range(0, n, 1) [y = x] -> tag, count, y_n:
            u = log(a)
            v = mul(t, u)
            y_1 = mul(y, v)
            yield 0, y_1
        return y_n
    """
    if not any(isinstance(op, For | While) for op in walk(function.block)):
        return function
    hoist = _Hoist({function.params[k] for k in wrt})
    block = hoist.block(function.block)
    return function if block is function.block else replace(function, block=block)


def _is_numeric(value: Value) -> bool:
    """Return True if a value is a number or an array, which no other code may write into."""
    return isinstance(value.type, Numeric)


def _runs_at_least_once(loop: For) -> bool:
    """Return True if a loop certainly runs at least once."""
    if loop.count is not None or not loop.seqs:
        return False
    lengths = [length_of(seq) for seq in loop.seqs]
    return all(
        n is not None and not resolved(n).terms and resolved(n).constant > 0 for n in lengths
    )


def _is_only_read(array: Value, body: Block) -> bool:
    """Return True if nothing keeps an array, or a view of it, beyond one read."""
    if array in body.results:
        return False
    for op in walk(body):
        if array in op.operands and not (isinstance(op, Call) and _makes_its_own(op)):
            return False
        if any(array in inner.results for inner in op.blocks):
            return False
    return True


def _makes_its_own(op: Call) -> bool:
    """Return True if the result of a call shares no memory with its operands."""
    return makes_fresh(op) or not has_storage(op.result)
