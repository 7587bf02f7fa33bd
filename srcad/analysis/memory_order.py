"""Arrays that certainly lie in C order without gaps, as gradients do that are handed out.

What turns axes (``x.T``, `np.moveaxis`) gives views in another order, and functions entry by entry
lay out their results as their operands are.  What is not known to be in order is not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from srcad.ir.core import (
    Arg,
    Atom,
    Block,
    Call,
    Const,
    Display,
    For,
    If,
    Routine,
    Value,
    While,
    carried_outputs,
    free_values,
)
from srcad.ir.library_operations import is_elementwise
from srcad.ir.memory import index_parts, makes_fresh, names_other_order
from srcad.ir.traits import (
    is_in_c_order,
    is_indexed,
    is_part,
    is_store,
    operands_in_loop_order,
    order_of,
)
from srcad.types.numeric import Numeric
from srcad.types.sizes import same


class _Order(NamedTuple):
    """Memory order of an array: if its axes are in C order, and if there are no gaps.

    What is `given` shows memory that is not the function's own, or cannot be written into.  It is
    copied before it is handed out or written into, and the copy is in C order without gaps.  What
    is `stretched` repeats entries along an axis, which not all functions take for an order.
    """

    axes: bool
    gapless: bool
    given: bool = False
    stretched: bool = False

    @property
    def is_fine(self) -> bool:
        """True if it is in C order without gaps when it is handed out."""
        return self.gapless or self.given


_ORDERS = "memory orders of its results"
_IN_ORDER = _Order(axes=True, gapless=True)
_UNKNOWN = _Order(axes=False, gapless=False)
_GIVEN = _Order(axes=False, gapless=False, given=True)


class MemoryOrder:
    """Memory orders of the values of a block; `ordered` are the parameters in C order."""

    def __init__(self, block: Block, ordered: Collection[Value]) -> None:
        self.given = set(free_values(block))
        self.known: dict[Value, _Order] = dict.fromkeys(self.given, _GIVEN)
        self.known.update(dict.fromkeys(ordered, _GIVEN._replace(axes=True)))
        self.several: dict[Value, tuple[_Order, ...]] = {}
        self._read(block)

    def is_in_order(self, atom: Atom) -> bool:
        """Return True if an array certainly lies in C order without gaps when it is handed out."""
        return self._of(atom).is_fine

    # --------------------------------------------------------------------------- ops in order
    def _read(self, block: Block) -> None:
        for op in block.ops:
            match op:
                case Call():
                    fresh = _rank(op.result) == 1 and makes_fresh(op)
                    self.known[op.result] = _IN_ORDER if fresh else self._of_call(op)
                case If():
                    self._read(op.then)
                    self._read(op.orelse)
                    for output, *ends in zip(
                        op.outputs, op.then.results, op.orelse.results, strict=True
                    ):
                        self.known[output] = _worst(map(self._of, ends))
                case For():
                    self._loop(op, op.carried, op.body)
                case While():
                    self._read(op.test)
                    self._loop(op, op.body.params, op.body)

    def _loop(self, loop: For | While, carried: Sequence[Value], body: Block) -> None:
        """Note that a carried value is in order if it enters so and each iteration keeps it so."""
        entering = [self._of(init) for init in loop.inits]
        while True:
            self.known.update(zip(carried, entering, strict=True))
            self._read(body)
            leaving = [self._of(end) for end in body.results[1 : 1 + len(carried)]]
            both = [_worst(pair) for pair in zip(entering, leaving, strict=True)]
            if both == entering:
                break
            entering = both
        self.known.update(zip(carried_outputs(loop), entering, strict=True))

    # --------------------------------------------------------------------------- one call
    def _of(self, arg: Arg) -> _Order:
        if isinstance(arg, Display):
            return _worst(map(self._of, arg.items))
        if isinstance(arg, Const):
            return _GIVEN if isinstance(arg.value, np.ndarray) else _IN_ORDER
        rank = _rank(arg)
        if rank == 0:
            return _IN_ORDER
        found = self.known.get(arg, _UNKNOWN)
        return found._replace(axes=True) if rank == 1 else found

    def _of_call(self, call: Call) -> _Order:
        if isinstance(call.target, Routine):
            self.several[call.result] = self._of_routine(call)
            return _UNKNOWN
        if (one := self._of_result(call)) is not None:
            return one
        if any(map(names_other_order, (*call.args[1:], *(arg for _, arg in call.kwargs)))):
            shows = order_of(call.target) in ("shows", "reshaped")
            return _UNKNOWN._replace(given=shows and self._of(call.args[0]).given)
        return self._in_usual_order(call)

    def _of_routine(self, call: Call) -> tuple[_Order, ...]:
        """Return the orders of the results of a helper, in its callers' memory if it is given."""
        function = call.target.function
        if function is None or not call.target.helper:
            return ()
        pairs = zip(function.params, call.args, strict=True)
        ordered = tuple(p for p, arg in pairs if self._of(arg).axes)
        noted = call.target.derived.get(_ORDERS)
        if noted is None or noted[0] is not function:
            noted = call.target.derived[_ORDERS] = function, {}
        if ordered not in noted[1]:
            inner = MemoryOrder(function.block, ordered)
            found = map(inner._of, function.block.results)
            noted[1][ordered] = tuple(_UNKNOWN if one.given else one for one in found)
        orders: tuple[_Order, ...] = noted[1][ordered]
        return orders

    def _of_result(self, call: Call) -> _Order | None:
        """Return the order of one of several results of a helper; None of anything else."""
        whole = call.args[0] if call.args else None
        if not isinstance(whole, Value) or whole not in self.several or len(call.args) < 2:
            return None
        k, orders = getattr(call.args[1], "value", None), self.several[whole]
        return orders[k] if is_part(call.target) and type(k) is int and k < len(orders) else None

    def _in_usual_order(self, call: Call) -> _Order:
        target, order = call.target, order_of(call.target)
        if is_in_c_order(target, call.args):
            found = _IN_ORDER
        elif order == "part":
            whole = self._of(call.args[0])
            stretched = whole.stretched or target is np.broadcast_to
            return _Order(whole.axes, False, whole.given or stretched, stretched)
        elif is_elementwise(target):
            found = self._entry_by_entry(call)
        elif order in ("follows", "keeps", "stacks"):
            stacks = order == "stacks"
            decisive = operands_in_loop_order(call.args) if stacks else call.args[:1]
            whole = _worst(map(self._of, decisive))
            in_order = whole.axes and not whole.stretched
            in_order = in_order or (target is np.copy and call.half != "primal")
            found = _IN_ORDER if in_order else _UNKNOWN
        elif order in ("shows", "reshaped"):
            found = self._of(call.args[0])
        elif is_store(target, "array"):
            place = self._of(call.args[0])
            found = _Order(axes=place.axes or place.given, gapless=place.is_fine)
        elif is_indexed(target):
            return self._of_part(call)
        elif order == "turned":
            found = _UNKNOWN._replace(given=self._of(call.args[0]).given)
        else:
            found = _UNKNOWN
        return found

    def _entry_by_entry(self, call: Call) -> _Order:
        """NumPy keeps C order where one operand of full size has it.

        Unless the memory of another one, made on the way, is used again for the result.
        """
        arrays = [v for v in call.operands if _rank(v) != 0]
        if all(self._of(v).axes for v in arrays):
            return _IN_ORDER
        known = any(self._of(v).axes and _has_shape_of(v, call.result) for v in arrays)
        others = [v for v in arrays if not self._of(v).axes]
        return _IN_ORDER if known and self.given.issuperset(others) else _UNKNOWN

    def _of_part(self, call: Call) -> _Order:
        """Memory order of ``x[k]``, ``x[1:]``, ``x[None]`` and of rows selected by an array."""
        whole = self._of(call.args[0])
        parts = index_parts(call.args[1])
        first = [part for part in parts if part not in (Const(None), Const(Ellipsis))]
        if len(parts) == 1 and whole.axes and _rank(parts[0]) not in (0, None):
            return _IN_ORDER
        if not all(_is_slice(part) or _rank(part) == 0 for part in first):
            return _UNKNOWN
        if not whole.axes:
            return _UNKNOWN._replace(given=whole.given)
        ahead = [_rank(part) == 0 for part in first]
        start = ahead.index(False) if False in ahead else len(first)
        rest = first[start:]
        runs = Const(Ellipsis) not in parts and len(rest) <= 1 and all(map(_is_run, rest))
        return whole._replace(gapless=whole.gapless and runs)


def _worst(found: Iterable[_Order]) -> _Order:
    both = list(found)
    given = all(one.given for one in both)
    stretched = any(one.stretched for one in both)
    return _Order(all(one.axes for one in both), all(one.is_fine for one in both), given, stretched)


def _rank(arg: Arg) -> int | None:
    if isinstance(arg, Const):
        return 0 if isinstance(arg.value, int | float | np.number) else None
    type_ = arg.type if isinstance(arg, Value) else None
    return len(type_.shape) if isinstance(type_, Numeric) and type_.shape is not None else None


def _has_shape_of(value: Value, result: Value) -> bool:
    a, b = getattr(value.type, "shape", None), getattr(result.type, "shape", None)
    return a is not None and b is not None and len(a) == len(b) and all(map(same, a, b))


def _is_slice(part: Arg) -> bool:
    return isinstance(part, Display) and part.kind == "slice"


def _is_run(part: Arg) -> bool:
    """Return True if a slice takes entries that lie side by side."""
    return isinstance(part, Display) and part.items[2] in (Const(None), Const(1))
