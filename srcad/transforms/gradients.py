"""Gradients: the results of reverse mode in the structure and the kind of the arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from srcad import runtime
from srcad.analysis.activity_trees import Activity, fully_active, part
from srcad.analysis.arguments import has_float
from srcad.ir.core import Atom, Block, Const, Value
from srcad.ir.inference.builder import Builder, atom_type
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.sweep import (
    Slot,
    bar_hint,
    cotangent_type,
    item_type,
    leaf_paths,
    type_at,
    zero_of,
)
from srcad.types.numeric import Numeric, same_dtype
from srcad.types.structures import ListOf, TupleOf, Type

Leaves = dict[Slot, Atom]


def gradient_leaves(scope: ReverseScope, params: Iterable[Value]) -> Leaves:
    """Return the cotangents of all leaves of the parameters, at the end of the sweep."""
    found: Leaves = {}
    for param in dict.fromkeys(params):
        for path in leaf_paths(param.type, scope.sweep.facts.active(param)):
            bar = scope.total((param, path))
            if bar is not None:
                found[param, path] = scope.ready(bar, param, path)
    return found


def gradient(scope: ReverseScope, param: Value, leaves: Leaves) -> Atom:
    """Return the gradient of a parameter: None for inert leaves, zeros for unused floats."""
    facts = scope.sweep.facts
    varied = facts.varied.get(param, False)
    return _gradient(scope, (param, ()), varied, facts.active(param), leaves)


def _gradient(
    scope: ReverseScope, slot: Slot, varied: Activity, tree: Activity, leaves: Leaves
) -> Atom:
    param, path = slot
    type_ = type_at(param.type, path)
    if isinstance(type_, TupleOf) and fully_active(type_) is not False:
        parts = [
            _gradient(scope, (param, (*path, k)), part(varied, k), part(tree, k), leaves)
            for k in range(len(type_.items))
        ]
        return scope.build_like(type_, parts)
    if varied is False or (tree is False and not has_float(type_)):
        return Const(None)
    bar = leaves.get(slot)
    value = scope.at(param, path)
    if isinstance(type_, ListOf):
        return _list_gradient(scope, type_, tree, value, bar)
    return _leaf(scope, type_, tree, value, bar, bar_hint(param) if not path else None)


def _leaf(
    scope: ReverseScope,
    type_: Type,
    tree: Activity,
    value: Value,
    bar: Atom | None,
    hint: str | None,
) -> Atom:
    if bar is not None and tree is not False:
        return converted(scope, type_, bar, value, hint)
    return _unused(scope, type_, value) if has_float(type_) else Const(None)


# ------------------------------------------------------------------------------- lists
def _list_gradient(
    scope: ReverseScope, type_: ListOf, tree: Activity, value: Value, bar: Atom | None
) -> Atom:
    if bar is not None and _is_complete(type_, tree, atom_type(bar)):
        return bar
    inside = Builder(half="reverse", where=scope.builder.where)
    inner = ReverseScope(scope.sweep, Block(), inside)
    item = Value(type_.item)
    if bar is None:
        result = _item(inner, type_.item, False, item, None)
        return scope.builder.for_((value,), (), inside.finish(Const(0), result, params=(item,)))[2]
    known = Value(item_type(atom_type(bar), type_.item, tree))
    result = _item(inner, type_.item, tree, item, known)
    body = inside.finish(Const(0), result, params=(item, known))
    return scope.builder.for_((value, bar), (), body)[2]


def _is_complete(wanted: Type, tree: Activity, found: Type) -> bool:
    """Return True if a cotangent is already the gradient, complete and of the right kind."""
    if isinstance(wanted, ListOf):
        return isinstance(found, ListOf) and _is_complete(wanted.item, tree, found.item)
    if isinstance(wanted, TupleOf):
        if not isinstance(found, TupleOf) or len(found.items) != len(wanted.items):
            return False
        triples = enumerate(zip(wanted.items, found.items, strict=True))
        return all(_is_complete(w, part(tree, k), f) for k, (w, f) in triples)
    if tree is False:
        return not has_float(wanted)
    target = cotangent_type(wanted)
    return isinstance(target, Numeric) and _is_like(found, target)


def _item(
    scope: ReverseScope, type_: Type, tree: Activity, value: Value, bar: Value | None
) -> Atom:
    if isinstance(type_, TupleOf):
        parts = [
            _item(
                scope,
                t,
                part(tree, k),
                scope.at(value, (k,)),
                None if bar is None else scope.child(type_, bar, k),
            )
            for k, t in enumerate(type_.items)
        ]
        return scope.build_like(type_, parts)
    if isinstance(type_, ListOf):
        return _list_gradient(scope, type_, tree, value, bar)
    return _leaf(scope, type_, tree, value, bar, None)


# ------------------------------------------------------------------------------- kinds
def _unused(scope: ReverseScope, type_: Type, value: Atom) -> Atom:
    """Zeros in the kind of an argument that the result does not depend on."""
    if isinstance(type_, Numeric):
        if type_.form == "python":
            return zero_of(type_)
        if type_.form == "numpy" and type_.dtype is not None:
            return scope.call(type_.dtype.type, Const(0.0))
        if type_.form == "array" and type_.kind in "fc":
            return scope.call(np.zeros_like, value)
    return scope.call(runtime.zero_cotangent, value)


def converted(scope: ReverseScope, type_: Type, bar: Atom, value: Value, hint: str | None) -> Atom:
    """Return a cotangent in the kind of the argument.

    Nothing is written where it already has it.
    """
    target = cotangent_type(type_)
    if not isinstance(target, Numeric) or _is_like(atom_type(bar), target):
        return bar
    if target.form == "python" and target.kind == "f":
        return scope.builder.call(float, bar, hint=hint)
    if target.form == "python" and target.kind == "c":
        return scope.builder.call(complex, bar, hint=hint)
    if target.form == "numpy" and target.dtype is not None:
        return scope.builder.call(target.dtype.type, bar, hint=hint)
    given = value.type
    is_array = isinstance(given, Numeric) and given.form == "array" and target.kind == "f"
    if is_array and isinstance(given, Numeric) and scope.sweep.is_surely_real:
        dtype = () if given.dtype == target.dtype else (("dtype", Const(target.dtype)),)
        return scope.builder.call(np.full_like, value, bar, kwargs=dtype, hint=hint, type=target)
    return scope.builder.call(runtime.converted_like, bar, value, hint=hint, type=target)


def _is_like(found: Any, target: Numeric) -> bool:
    """Return True if a cotangent of the argument's shape certainly has its kind too."""
    if not isinstance(found, Numeric) or found.form != target.form:
        return False
    if target.form in ("any", "number"):
        return False
    return found.dtype is not None and same_dtype(found.dtype, target.dtype)
