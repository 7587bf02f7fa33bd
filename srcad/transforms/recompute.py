"""Save or recompute: bring the primal values that a reverse block reads into its scope.

In this order: what the reverse block has anyway costs nothing; an index, an element or a view of
something unchanged and cheap arithmetic on what is there are computed again; all else is saved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from srcad.ir.core import Atom, Call, Display, Op, Value, values_in
from srcad.ir.inference.builder import atom_type
from srcad.ir.substitute import substituted_call
from srcad.ir.traits import (
    answers,
    costs_nothing,
    is_indexed,
    law_of_operator,
)
from srcad.rules.registry import row_of
from srcad.startup.records import dataclass, field, replace
from srcad.types.numeric import Numeric

_LIGHT = ("sum", "difference", "product", "negative")
_BUDGET = 3


@dataclass(frozen=True, eq=False)
class BlockContext:
    """The place of a block: values defined by the iteration around it, and its loop depth.

    `free` are the values of the iteration that its reverse has anyway.
    """

    local: Mapping[Value, Call | None] = field(default_factory=dict)
    free: frozenset[Value] = frozenset()
    depth: int = 0
    known: dict[Value, bool] = field(default_factory=dict)

    def inside(self, local: Mapping[Value, Call | None]) -> BlockContext:
        """Where a block inside a conditional stands."""
        return BlockContext({**self.local, **local}, self.free, self.depth)

    def has(self, array: Value) -> bool:
        """Return True if an array is available in the reverse iteration without being saved."""
        if array in self.free or array not in self.local:
            return True
        if array not in self.known:
            call = self.local[array]
            cheap = call is not None and is_cheap(call)
            self.known[array] = cheap and all(map(self.has, call.operands if call else ()))
        return self.known[array]


@dataclass(eq=False)
class Plan:
    """How the values that a reverse block needs of its primal block come into its scope.

    `local` are the values defined in the primal block, with the call that makes them if one does;
    `free` are those among them that the reverse block has anyway (the items of a loop); `given` are
    the parameters of a function, which its caller keeps alive as a rule.
    """

    local: dict[Value, Call | None]
    free: frozenset[Value]
    around: BlockContext = field(default_factory=BlockContext)
    given: frozenset[Value] = frozenset()
    saved: dict[Value, None] = field(default_factory=dict)
    again: dict[Value, Call] = field(default_factory=dict)

    def decide(self, needs: Sequence[Value], *, everything: bool = False) -> None:
        """Choose between saving and recomputing for everything in `needs`."""
        wanted = [v for v in needs if v not in self.free]
        if everything:
            self.saved.update(dict.fromkeys(wanted))
            return
        plans = {value: self._leaves(value) for value in wanted}
        self.saved.update((value, None) for value in wanted if plans[value] is None)
        for value in wanted:
            call = self.local.get(value)
            if call is not None and is_light(call):
                self.saved.update(dict.fromkeys(plans[value] or ()))
        shared = Counter(leaf for leaves in plans.values() for leaf in leaves or ())
        while True:
            self._recompute_available(plans)
            rest = [v for v in wanted if v not in self.saved and v not in self.again]
            if not rest:
                return
            self._save_one(rest, plans, shared)

    def _recompute_available(self, plans: dict[Value, frozenset[Value] | None]) -> None:
        for value, leaves in plans.items():
            if leaves is not None and self.saved.keys() >= leaves:
                self._recompute(value)

    def _save_one(
        self, rest: list[Value], plans: dict[Value, frozenset[Value] | None], shared: Counter[Value]
    ) -> None:
        """Save the one leaf that several need, or else the first value itself."""
        value = rest[0]
        missing = [leaf for leaf in plans[value] or () if leaf not in self.saved]
        if len(missing) == 1 and (shared[missing[0]] > 1 or missing[0] in rest):
            self.saved[missing[0]] = None
        else:
            self.saved[value] = None

    def _leaves(self, value: Value) -> frozenset[Value] | None:
        """Return the local values from which a value can be recomputed cheaply.

        None if it cannot.
        """
        found: set[Value] = set()
        call = self.local.get(value)
        if call is not None and is_light(call):
            inner = [v for v in call.operands if v in self.local and v not in self.free]
            costs = [self._gather(v, found, 0) for v in inner]
            if self.given and all(v in self.given or _is_number(v) for v in inner):
                return frozenset(inner)
            return None if None in costs or found else frozenset()
        cost = self._gather(value, found, 0)
        return None if cost is None or cost > _BUDGET else frozenset(found)

    def _gather(self, value: Value, found: set[Value], cost: int) -> int | None:
        call = self.local.get(value)
        if call is None or not is_cheap(call):
            return None
        cost += 0 if costs_nothing(call.target) or _is_int(value) else 1
        if cost > _BUDGET or self._is_entry_of_version(value, call):
            return None
        for operand in call.operands:
            if operand not in self.local or operand in self.free:
                continue
            inner = self._gather(operand, found, cost)
            if inner is None:
                if _is_number(operand):
                    found.add(operand)
                    continue
                if costs_nothing(call.target) and _is_view(value, operand):
                    found.add(operand)
                    continue
                return None
            cost = inner
        return cost

    def _is_entry_of_version(self, value: Value, call: Call) -> bool:
        """Return True if a number is read from an array that would have to be saved whole."""
        if not is_indexed(call.target) or not _is_number(value):
            return False
        array = call.args[0]
        return isinstance(array, Value) and array not in self.local and not self.around.has(array)

    def _recompute(self, value: Value) -> None:
        if value in self.again or value in self.saved or value in self.free:
            return
        call = self.local[value]
        assert call is not None
        for operand in call.operands:
            if operand in self.local:
                self._recompute(operand)
        self.again[value] = call

    def wanted(self, needs: Iterable[Value]) -> set[Value]:
        """Return the values that the reverse block reads, and those that it recomputes."""
        found = set(needs)
        for call in self.again.values():
            found.update(call.operands)
        return found

    def copies(self, mapping: dict[Value, Atom]) -> list[Op]:
        """Return the ops that compute again, on what the reverse block has.

        `mapping` is completed.
        """
        ops: list[Op] = []
        for value, call in self.again.items():
            result = Value(value.type, value.hint)
            copy = replace(substituted_call(call, mapping), result=result, half="reverse")
            mapping[value] = result
            ops.append(copy)
        return ops


def is_cheap(call: Call) -> bool:
    """Return True if computing a call again is cheaper than keeping its result."""
    if call.effect:
        return False
    try:
        hash(call.target)
    except TypeError:
        return False
    if is_indexed(call.target):
        return not _is_fancy(call)
    if costs_nothing(call.target) or row_of(call.target).cost == "nothing":
        return True
    return (
        law_of_operator(call.target) not in ("", "power") or answers(call.target)
    ) and _is_python(call.result.type)


def is_light(call: Call) -> bool:
    """Return True if a call is one sum, difference or product that makes a matrix.

    Making it again from what is at hand takes less time than keeping all of them does.
    """
    type_ = call.result.type
    if law_of_operator(call.target) not in _LIGHT or not isinstance(type_, Numeric) or call.effect:
        return False
    return type_.form == "array" and type_.dtype is not None and len(type_.shape or ()) >= 2


def _is_fancy(call: Call) -> bool:
    """Return True if a read copies: by arrays of integers or masks."""
    return any(
        isinstance(v.type, Numeric) and v.type.shape != () for v in values_in(call.args[1])
    ) or (isinstance(call.args[1], Display) and _has_list(call.args[1]))


def _has_list(display: Display) -> bool:
    return display.kind == "list" or any(
        isinstance(item, Display) and _has_list(item) for item in display.items
    )


def _is_python(type_: Any) -> bool:
    return isinstance(type_, Numeric) and type_.form == "python"


def _is_view(value: Value, whole: Value) -> bool:
    """Return True if a part of an array is an array, so that keeping the whole costs no more."""
    both = isinstance(value.type, Numeric) and isinstance(whole.type, Numeric)
    return both and not _is_number(value)


def _is_int(value: Value) -> bool:
    type_ = value.type
    return isinstance(type_, Numeric) and type_.form == "python" and type_.kind in "ib"


def is_python_int(atom: Atom) -> bool:
    """Return True if an atom certainly is one of Python's integers."""
    type_ = atom_type(atom)
    return isinstance(type_, Numeric) and type_.form == "python" and type_.kind == "i"


def _is_number(value: Value) -> bool:
    return isinstance(value.type, Numeric) and value.type.shape == ()
