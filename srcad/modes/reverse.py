"""Reverse mode as the modes share it: gradients of one number, and of parts of arguments."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from srcad import runtime
from srcad.analysis.activity_trees import position
from srcad.analysis.memory_order import MemoryOrder
from srcad.arguments.request import Request
from srcad.arguments.wrt import WrtEntry
from srcad.frontend.lower import lower_inline
from srcad.ir.core import Atom, Block, Call, Const, Display, Function, Op, Value, walk
from srcad.ir.inference.builder import Builder, atom_type
from srcad.ir.traits import built_parts, is_builder, is_stop, is_structure
from srcad.modes import holomorphic
from srcad.modes.mode import Problem
from srcad.modes.results import scalar_output, with_results
from srcad.startup.records import replace
from srcad.transforms.vjp import vjp
from srcad.types.numeric import Numeric
from srcad.types.structures import TupleOf

ONE = Const(1.0)


def derived(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function of the result, one real number, and of its gradient by each of `wrt`."""
    if request.holomorphic:
        holomorphic.refuse_real(function, wrt, has_aux=request.has_aux)
    else:
        function = scalar_output(function, has_aux=request.has_aux)
    made = vjp(function, wrt, lower_inline, seed=ONE, has_aux=request.has_aux)
    return holomorphic.conjugated(made) if request.holomorphic else made


def is_inert(gradient: Atom, block: Block) -> bool:
    """Return True if every leaf of a gradient is None: no derivative flows."""
    if isinstance(gradient, Const):
        return gradient.value is None
    made = next((op for op in block.ops if gradient in op.results), None)
    if not isinstance(made, Call) or not is_builder(made.target):
        return False
    return all(not hasattr(p, "items") and is_inert(p, block) for p in built_parts(made))


def with_layouts(made: Function, places: Sequence[WrtEntry], odd: Collection[WrtEntry]) -> Function:
    """Bring gradients into the memory order that is promised, where arguments have another."""
    if not odd:
        return made
    y, *gradients = made.block.results
    builder = Builder(ops=list(made.block.ops), where=made.where, half="reverse")
    for k, place in enumerate(places):
        gradient = gradients[k]
        if place in odd and isinstance(gradient, Value):
            x: Atom = made.params[place.parameter]
            for key in place.keys:
                x = _read(builder, x, key)
            gradients[k] = builder.call(runtime.laid_out, gradient, x,
                                        type=gradient.type, hint=gradient.hint)  # fmt: skip
    block = Block((), tuple(builder.ops), (y, *gradients))
    return Function(made.name, made.params, block, made.where)


def in_c_order(made: Function, problem: Problem, odd: Collection[WrtEntry]) -> Function:
    """Bring gradients into C order that may have come out in another one.

    The arguments that they belong to are in C order, but for the `odd` ones.
    """
    places = problem.distinct
    elsewhere = {place.parameter for place in odd}
    ordered = {
        p
        for k, p in enumerate(made.params)
        if k not in elsewhere and (k in problem.wrt or k >= len(problem.lowered.params))
    }
    orders = MemoryOrder(made.block, ordered)
    builder = Builder(ops=list(made.block.ops), where=made.where, half="reverse")
    y, *gradients = made.block.results
    found = [
        gradient if place in odd else _in_order(builder, orders, gradient)
        for place, gradient in zip(places, gradients, strict=True)
    ]
    block = Block((), tuple(builder.ops), (y, *found))
    return Function(made.name, made.params, block, made.where)


def _in_order(builder: Builder, orders: MemoryOrder, atom: Any) -> Any:
    """Return a gradient, or the structure of gradients, in C order."""
    if not isinstance(atom, Value):
        return atom
    if isinstance(atom.type, TupleOf):
        made = next((op for op in builder.ops if atom in op.results), None)
        if not isinstance(made, Call) or not is_builder(made.target):
            return atom
        args = tuple(_parts_in_order(builder, orders, arg) for arg in made.args)
        if args == made.args:
            return atom
        builder.ops.append(replace(made, args=args, result=(again := Value(atom.type, atom.hint))))
        return again
    if not isinstance(atom.type, Numeric) or atom.type.shape is None or orders.is_in_order(atom):
        return atom
    return builder.call(np.ascontiguousarray, atom, hint=atom.hint)


def _parts_in_order(builder: Builder, orders: MemoryOrder, arg: Any) -> Any:
    if not isinstance(arg, Display):
        return _in_order(builder, orders, arg)
    items = tuple(_parts_in_order(builder, orders, item) for item in arg.items)
    return arg if items == arg.items else replace(arg, items=items)


def with_zeros_for_stopped(made: Function, lowered: Function, wrt: Sequence[int]) -> Function:
    """Give a stopped integer the gradient zero, since arithmetic leads from it."""
    y, *gradients = made.block.results
    stopped = {
        v
        for op in walk(lowered.block)
        if isinstance(op, Call) and is_stop(op.target)
        for v in op.operands
    }
    for k, place in enumerate(wrt):
        type_ = lowered.params[place].type
        number = isinstance(type_, Numeric) and type_.is_scalar and type_.kind in "iu"
        if number and is_inert(gradients[k], made.block) and lowered.params[place] in stopped:
            gradients[k] = Const(0.0)
    return with_results(made, (y, *gradients))


def with_gradients_of_parts(
    function: Function, places: Sequence[WrtEntry], wrt: Sequence[int]
) -> Function:
    """Return the derived function with one gradient for each of these places."""
    y, *found = function.block.results
    by_parameter = dict(zip(wrt, found, strict=True))
    builder = Builder(ops=list(function.block.ops), where=function.where, half="reverse")
    parts = [_at(builder, by_parameter[p.parameter], p.keys) for p in places]
    block = Block((), tuple(builder.ops), (y, *parts))
    return Function(function.name, function.params, block, function.where)


def _at(builder: Builder, gradient: Atom, keys: Sequence[Any]) -> Atom:
    """One gradient, or that of a part."""
    for key in keys:
        part = part_of(builder.ops, gradient, key)
        if part is None:
            return Const(None)
        gradient = _read(builder, gradient, key) if part is gradient else part
    return gradient


def _read(builder: Builder, whole: Atom, key: Any) -> Value:
    """Read a part of a structure or list."""
    type_ = atom_type(whole)
    if isinstance(type_, TupleOf):
        k = position(type_, key)
        if k is not None:
            return builder.part(whole, type_, k)
    return builder.item(whole, key)


def part_of(ops: Sequence[Op], gradient: Atom, key: Any) -> Atom | None:
    """Return the part of a gradient behind a key; the whole where parts are not known."""
    if gradient == Const(None):
        return None
    made = next((op for op in ops if gradient in op.results), None)
    if not isinstance(made, Call) or not is_structure(made.target):
        return gradient
    k = position(made.result.type, key)
    if k is None:
        return gradient
    part = built_parts(made)[k]
    assert not hasattr(part, "kind")
    return part


def gradient_at(made: Function, gradient: Atom, keys: Sequence[Any]) -> Atom | None:
    """Return the gradient of a part as far as the derived function builds it.

    None: nothing flows.
    """
    for key in keys:
        part = part_of(made.block.ops, gradient, key)
        if part is None or part is gradient:
            return part
        gradient = part
    return gradient
