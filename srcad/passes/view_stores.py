"""Stores through views: write ``y[1:][i] = v`` into the array, without a copy of the view.

In the IR a store through a view makes a new version of the view, and with it one of the array. As
code that is a copy of the view, forth and back, in each iteration of a loop. Where nothing else
reads the new version of the view, both stores are one, at a path of indices.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sequence
from typing import Any

from srcad import runtime
from srcad.ir import primitives
from srcad.ir.core import (
    CHECKPOINT,
    Arg,
    Block,
    Call,
    Const,
    Display,
    Function,
    If,
    Op,
    Value,
    values_in,
    walk,
)
from srcad.ir.definitions import calls_by_result
from srcad.ir.inference.builder import result_type
from srcad.ir.memory import index_parts, reads_a_view
from srcad.ir.traits import (
    is_indexed,
    law_of,
)
from srcad.passes.shapes import same_kind, same_shape
from srcad.startup.records import dataclass, field, replace
from srcad.types.numeric import Numeric

# The store at a path of indices for each store at an index, and for itself.
_THROUGH = {
    primitives.updated: runtime.updated_in_view,
    primitives.add_at: runtime.added_in_view,
    runtime.updated_in_view: runtime.updated_in_view,
    runtime.added_in_view: runtime.added_in_view,
}
_PATHS = frozenset(_THROUGH.values())
_ADDING = frozenset({primitives.add_at, runtime.added_in_view})
_WHOLE_VIEWS = frozenset({primitives.updated, primitives.add_at})


def with_stores_through_views(function: Function) -> Function:
    """Join the store into a view and the store of that view into its array.

    This is safe because the array reads the same afterwards: outside of the view it is unchanged,
    and the view is as it was, apart from the index written. Both reads of the view are of the same
    version of the array.

    >>> function = parse('''
    ... f(y: float64[n], i: int, v: float):
    ...     view = getitem(y, 1::)
    ...     view_1 = updated(view, i, v)
    ...     y_1 = updated(y, 1::, view_1)
    ...     return y_1
    ... ''')
    >>> print(text(with_stores_through_views(function)))
    f(y, i, v):
        y_1 = updated_in_view(y, (1::, i), v)
        return y_1
    """
    calls = [op for op in walk(function.block) if isinstance(op, Call)]
    if not any(op.target in _THROUGH and _is_array(op.args[2]) for op in calls):
        return function
    joining = _Joining(calls_by_result(calls), Counter(_reads(function.block)))
    block = joining.joined(function.block)
    return replace(function, block=_without(block, joining.unread)) if joining.unread else function


def _is_array(arg: Arg) -> bool:
    return isinstance(arg, Value) and isinstance(arg.type, Numeric) and arg.type.form == "array"


def _reads(block: Block) -> list[Value]:
    found = [v for atom in block.results for v in values_in(atom)]
    for op in walk(block):
        found += op.operands
        found += [v for inner in op.blocks for atom in inner.results for v in values_in(atom)]
    return found


@dataclass(eq=False)
class _Joining:
    """Joins the stores of all blocks of a function."""

    made: dict[Value, Call]  # each value's call, as it is after joining
    reads: Counter[Value]  # how often each value is read
    unread: set[Value] = field(default_factory=set)  # views, and versions of views, to be removed

    def joined(self, block: Block) -> Block:
        """Join the stores of a block, and of the blocks inside it."""
        ops: list[Op] = []
        here: set[Value] = set()
        for op in self._with_sums_in_branches(block.ops):
            new = op.mapped(self.joined)
            for one in self._of_array(new, here) if isinstance(new, Call) else [new]:
                ops.append(one)
                here.update(one.results)
        return replace(block, ops=tuple(ops))

    # ------------------------------------------------------------------------- single stores
    def _of_array(self, op: Call, here: set[Value]) -> list[Call]:
        """Return the stores into an array that are equivalent to one store of a whole view."""
        if op.target not in _WHOLE_VIEWS or not reads_a_view(op.args[1]):
            return [op]
        array, index, stored = op.args
        if not isinstance(stored, Value) or not _is_array(stored) or not _is_array(array):
            return [op]
        base, stores = self._chain(stored, here)
        if base is None or not stores or not self._is_view(base, op, stores):
            return [op]
        self._remove(base, stores)
        found: list[Call] = []
        for one in stores:
            path = index_parts(one.args[1]) if one.target in _PATHS else one.args[1:2]
            result = op.result if one is stores[-1] else Value(op.result.type, op.result.hint)
            args = (array, Display("tuple", (index, *path)), one.args[2])
            new = replace(op, target=_THROUGH[one.target], args=args, result=result)
            self.made[result], array = new, result
            self.reads[result] += one is not stores[-1]
            found.append(new)
        return found

    # ------------------------------------------------------------------------ conditionals
    def _with_sums_in_branches(self, ops: Sequence[Op]) -> list[Op]:
        """Move a sum into a view into the branches of the conditional that computes it."""
        found: list[Op] = []
        for op in ops:
            place = self._place_of_branches(op, found)
            if place is None:
                found.append(op)
            else:
                conditional = found[place]
                assert isinstance(op, Call)
                assert isinstance(conditional, If)
                found[place] = self._with_sum(conditional, op)
        return found

    def _place_of_branches(self, op: Op, before: Sequence[Op]) -> int | None:
        """Return the position of the conditional that computes the term added by `op`."""
        if not isinstance(op, Call) or op.target is not primitives.add_at:
            return None
        array, index, stored = op.args
        if not isinstance(stored, Value) or self.reads[stored] != 1 or not reads_a_view(index):
            return None
        place = next((k for k, one in enumerate(before) if stored in one.results), None)
        if place is None:
            return None
        conditional, made = before[place], before[place + 1 :]
        if not self._adds_in_branches(conditional, stored):
            return None
        late = {value for one in made for value in one.results} | set(conditional.results)
        if isinstance(array, Value) and array in conditional.results and self.reads[array] == 1:
            late.discard(array)
        return place if late.isdisjoint((*values_in(array), *values_in(index))) else None

    def _adds_in_branches(self, op: Op | None, stored: Value) -> bool:
        """Return True if each branch makes zeros, and adds to single places of them at most."""
        if type(op) is not If or op.test == CHECKPOINT:
            return False
        for branch in op.blocks:
            result = branch.results[op.outputs.index(stored)]
            here = {value for one in branch.ops for value in one.results}
            if not isinstance(result, Value) or result not in here:
                return False
            inner = next((one for one in branch.ops if result in one.results), None)
            base, stores = self._chain(result, here)
            zeros = (
                base is not None and law_of(base.target) == "zeros" and self.reads[base.result] == 1
            )
            adds = all(one.target in _ADDING for one in stores)
            if not (zeros and adds) and not self._adds_in_branches(inner, result):
                return False
        return True

    def _with_sum(self, conditional: If, op: Call) -> If:
        """Return the conditional that yields the array after the sum."""
        array, index, stored = op.args
        assert isinstance(stored, Value)
        outputs = list(conditional.outputs)
        self.made.pop(op.result, None)

        def summed(branch: Block) -> Block:
            by_output: dict[Value, Any] = dict(zip(outputs, branch.results, strict=True))
            before: Any = by_output.get(array, array) if isinstance(array, Value) else array
            added = by_output[stored]
            kept = [atom for one, atom in by_output.items() if one not in (array, stored)]
            self.reads.update(v for v in values_in(array) if v not in by_output)
            call = replace(
                op, args=(before, index, added), result=Value(op.result.type, op.result.hint)
            )
            zeros = self.made.get(added) if isinstance(added, Value) else None
            if zeros is not None and self._is_view(zeros, call, ()):
                self._remove(zeros, ())
                return replace(branch, results=(*kept, before))
            self.made[call.result] = call
            self.reads[call.result] += 1
            return replace(branch, ops=(*branch.ops, call), results=(*kept, call.result))

        then, orelse = map(summed, conditional.blocks)
        left = [one for one in outputs if one not in (array, stored)]
        return replace(conditional, then=then, orelse=orelse, outputs=(*left, op.result))

    def _chain(self, stored: Value, here: set[Value]) -> tuple[Call | None, list[Call]]:
        """Return the call that made an array, and the stores into it since, the first one first.

        Of the versions between them each is read by the next store only.
        """
        stores: list[Call] = []
        while stored in here and self.reads[stored] == 1:
            made = self.made.get(stored)
            if made is None or made.target not in _THROUGH or not isinstance(made.args[0], Value):
                break
            stores.insert(0, made)
            stored = made.args[0]
        return self.made.get(stored), stores

    def _is_view(self, base: Call, op: Call, stores: Sequence[Call]) -> bool:
        """Return True if stores into the result of `base` can be stores into the array.

        It reads the place that `op` overwrites, or makes zeros for sums that `op` adds there.
        """
        if op.target is primitives.updated:
            array, index = self._read_at(base)
            return array is op.args[0] and index == index_parts(op.args[1])
        if law_of(base.target) != "zeros" or not all(one.target in _ADDING for one in stores):
            return False
        view = Value(result_type(operator.getitem, op.args[:2], ()))
        return same_shape(view, base.result) and same_kind(view, base.result)

    def _read_at(self, base: Call) -> tuple[Arg | None, tuple[Arg, ...]]:
        """Return the array of which a call reads a part, and the index; ``y[1][2:]`` is one."""
        if not is_indexed(base.target):
            return None, ()
        array, index = base.args[0], index_parts(base.args[1])
        while isinstance(array, Value):
            row = self.made.get(array)
            if row is None or not is_indexed(row.target) or not _are_numbers(row.args[1]):
                break
            array, index = row.args[0], (*index_parts(row.args[1]), *index)
        return array, index

    def _remove(self, base: Call, stores: Sequence[Call]) -> None:
        """Remove stores, their initial arrays and intermediate views without other readers."""
        self.unread.update(one.result for one in stores)
        self.reads[base.result] -= 1
        last: Call | None = base
        while last is not None and not self.reads[last.result]:
            self.unread.add(last.result)
            self.reads.subtract(last.operands)
            first = last.args[0] if is_indexed(last.target) else None
            last = self.made.get(first) if isinstance(first, Value) else None
            last = last if last is not None and is_indexed(last.target) else None


def _are_numbers(index: Arg) -> bool:
    """Return True if an index names a row, or a part of lower rank, by integers."""
    return reads_a_view(index) and not any(
        isinstance(part, Display) or (isinstance(part, Const) and type(part.value) is not int)
        for part in index_parts(index)
    )


def _without(block: Block, unread: set[Value]) -> Block:
    """Return the block without the calls that make these values."""
    ops = [
        op.mapped(lambda inner: _without(inner, unread))
        for op in block.ops
        if not isinstance(op, Call) or op.result not in unread
    ]
    return replace(block, ops=tuple(ops))
