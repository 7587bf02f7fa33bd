"""Binding targets, and the writes that are read as new versions.

A list that grows is a new list, bound wherever the old one was reachable; a write into an array is
a new version of it (`stores`).  Any other write is refused.
"""

from __future__ import annotations

import ast
import operator
from typing import Any, NoReturn

from srcad import errors, runtime
from srcad.frontend.branches import guarded_stores
from srcad.frontend.branches.choices import choose
from srcad.frontend.domain.frames import Unreachable
from srcad.frontend.domain.predicates import is_list
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    FunctionValue,
    Holder,
    ListValue,
    SliceValue,
    Stale,
    TupleValue,
)
from srcad.frontend.machine.constants import (
    as_list,
    iterates_user_code,
    raises,
    require_items,
    spread,
)
from srcad.frontend.machine.dispatch import Meaning, evaluate, executes, means
from srcad.frontend.machine.machine import Machine
from srcad.frontend.machine.order import evaluate_next
from srcad.frontend.operations import array_stores, outside_containers
from srcad.frontend.operations.attributes import read_attribute
from srcad.frontend.operations.containers import is_container, set_item
from srcad.frontend.operations.dicts import update
from srcad.frontend.operations.fields import (
    has_attributes,
    set_attribute,
    set_attribute_of_function,
)
from srcad.frontend.operations.indexing import getitem
from srcad.frontend.operations.lists import extend
from srcad.frontend.operations.operators import operate
from srcad.frontend.operations.special_methods import of_augmented
from srcad.frontend.operations.unknown_memory import augment_unknown
from srcad.frontend.store.binding import bind
from srcad.frontend.store.missing_rules import refuse_without_rule
from srcad.frontend.store.object_writes import write
from srcad.frontend.store.origins import may_be_array
from srcad.ir.core import Const, Value
from srcad.ir.traits import law_of_operator
from srcad.rules.registry import operator_of, operators
from srcad.types.numeric import NUMBER, Numeric
from srcad.types.structures import TEXT, ListOf, Opaque


@executes(ast.Assign)
def assignment(state: Machine, node: ast.Assign) -> None:
    box = evaluate(state, node.value)
    if len(node.targets) == 1:
        assign(state, node.targets[0], box)
        return
    with state.kept(box) as kept:
        for target in node.targets:
            assign(state, target, kept.box)


@executes(ast.AnnAssign)
def annotated(state: Machine, node: ast.AnnAssign) -> None:
    """``name: annotation = value``; the annotation is not evaluated."""
    if node.value is not None:
        assign(state, node.target, evaluate(state, node.value))


def assign(state: Machine, target: ast.expr, box: AbstractValue) -> None:
    match target:
        case ast.Name(id=name):
            bind(state, name, box)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            _unpack(state, parts, box, target)
        case ast.Subscript():
            store(state, target, box)
        case ast.Attribute():
            _assign_attribute(state, target, box)
        case _:
            refuse_write(state, target, "write to this")


def _assign_attribute(state: Machine, target: ast.Attribute, box: AbstractValue) -> None:
    """``object.name = value`` of an object that was made in the function, or is an argument."""
    box, owner = evaluate_next(state, box, target.value)
    if target.attr == "shape" and isinstance(owner, Value) and may_be_array(owner):
        array_stores.set_shape(state, owner, box)
        return
    if isinstance(owner, FunctionValue) and set_attribute_of_function(
        state, owner, target.attr, box
    ):
        return
    if not has_attributes(owner):
        refuse_write(state, target, "write to an attribute")
    set_attribute(state, owner, target.attr, box)


def _augment_attribute(
    state: Machine, target: ast.Attribute, operation: Any, node: ast.expr
) -> None:
    """``object.name op= value``."""
    owner = evaluate(state, target.value)
    if not has_attributes(owner):
        refuse_write(state, target, "write to an attribute")
    with state.kept(owner) as kept:
        old, value = evaluate_next(state, read_attribute(state, owner, target.attr), node)
        new = augment(state, operation, old, value)
    if new is not None:
        set_attribute(state, kept.box, target.attr, new)


def _unpack(state: Machine, parts: list[ast.expr], box: AbstractValue, node: ast.expr) -> None:
    stars = [k for k, p in enumerate(parts) if isinstance(p, ast.Starred)]
    if stars and isinstance(box, Value) and isinstance(box.type, ListOf):
        _unpack_list(state, parts, stars[0], box)
        return
    items = _items_to_unpack(state, box, len(parts), bool(stars), node)
    least = len(parts) - len(stars)
    if len(items) < least or (len(items) > least and not stars):
        raises(state, ValueError, runtime.unpacking_message(len(items), least, bool(stars)))
    if not stars:
        _assign_each(state, parts, items)
        return
    star = stars[0]
    stop = len(items) - (len(parts) - star - 1)
    star_node = parts[star]
    assert isinstance(star_node, ast.Starred)
    rest = ListValue(tuple(items[star:stop]))
    targets = [*parts[:star], star_node.value, *parts[star + 1 :]]
    _assign_each(state, targets, (*items[:star], rest, *items[stop:]))


def _assign_each(state: Machine, targets: list[ast.expr], items: tuple[AbstractValue, ...]) -> None:
    """Bind targets one after the other; a store may change what a later one is given."""
    with state.kept(TupleValue(items)) as kept:
        for k, target in enumerate(targets):
            held = kept.box
            assert isinstance(held, TupleValue)
            assign(state, target, held.items[k])


def _unpack_list(state: Machine, parts: list[ast.expr], star: int, box: Value) -> None:
    """Unpack ``a, *rest, b = items`` of a list of unknown length."""
    after = len(parts) - star - 1
    _require_count(state, box, star + after, star=True)
    for k, part in enumerate(parts):
        if isinstance(part, ast.Starred):
            stop = Constant(k - len(parts) + 1) if k < len(parts) - 1 else Constant(None)
            assign(
                state,
                part.value,
                getitem(state, box, SliceValue(Constant(k), stop, Constant(None))),
            )
        else:
            assign(state, part, getitem(state, box, Constant(k if k < star else k - len(parts))))


def _require_count(state: Machine, box: Value, count: int, *, star: bool = False) -> None:
    """Raise a ValueError at the call unless there are so many items; with a star at least."""
    length = state.emit(len, box)

    def fails() -> AbstractValue:
        args = (length, Const(count), *((Const(True),) if star else ()))
        message = state.emit(runtime.unpacking_message, *args, type=TEXT)
        state.raise_(state.emit(ValueError, message))
        raise Unreachable

    test = state.emit(operator.ge if star else operator.eq, length, Const(count))
    choose(state, test, lambda: Constant(None), fails)


def _items_to_unpack(
    state: Machine, box: AbstractValue, count: int, star: bool, node: ast.expr
) -> tuple[AbstractValue, ...]:
    if iterates_user_code(box):
        box = as_list(state, box)
    require_items(state, box, unpacked=True)
    unknown = isinstance(box, Value) and (
        isinstance(box.type, ListOf | Opaque)
        or (isinstance(box.type, Numeric) and (box.type.shape is None or len(box.type.shape) > 0))
    )
    if not unknown or star:
        return spread(state, box, node)
    assert isinstance(box, Value)
    if isinstance(box.type, Opaque):
        if state.is_active(box) and state.inactive.may_open:
            refuse_without_rule(state, tuple, (box,), {})  # the call that made it is read instead
        if state.is_active(box):
            return _items_of_a_result(state, box, count)
        value = state.emit(tuple, box, effect=True)
        parts = [state.emit(operator.getitem, value, Const(k), type=Opaque()) for k in range(count)]
        if box.type.cls is None:  # whose it is what the tuple holds is known as of the box itself
            state.inactive.unknown.discard(value)
        state.inactive.items.difference_update(parts)  # the items of a tuple stay
        return tuple(parts)
    if isinstance(box.type, Numeric) and box.type.shape and not box.type.shape[0].terms:
        return spread(state, box, node)

    _require_count(state, box, count)
    return tuple(getitem(state, box, Constant(k)) for k in range(count))


def _items_of_a_result(state: Machine, box: Value, count: int) -> tuple[AbstractValue, ...]:
    """Return the items of an array that a function with a rule of its own returned."""
    box = state.emit(runtime.checked_numeric, box, type=NUMBER, hint=box.hint)
    _require_count(state, box, count)
    return tuple(getitem(state, box, Constant(k)) for k in range(count))


def store(state: Machine, target: ast.Subscript, box: AbstractValue) -> None:
    """``container[index] = value``."""
    box, container = evaluate_next(state, box, target.value)
    with state.kept(box) as kept:
        container, index = evaluate_next(state, container, target.slice)
        box = kept.box
    store_item(state, container, index, box, target)


def store_item(
    state: Machine,
    container: AbstractValue,
    index: AbstractValue,
    box: AbstractValue,
    target: ast.Subscript,
) -> None:
    """Write an item of an array, a list or a dict."""
    if may_be_array(container):
        assert isinstance(container, Value)
        array_stores.store(state, container, state.arg(index), box)
    elif is_container(container):
        set_item(state, container, index, box)
    else:
        refuse_write(state, target, "write into an array or container")


def refuse_write(state: Machine, node: ast.AST, what: str) -> NoReturn:
    """Refuse a write that is not read as a functional update yet."""
    state.refuse(
        errors.MutationError,
        f"cannot {what}",
        node=node,
        why="an object that others may hold would change under the derivative.",
        help=("build a new value instead, for example with np.where or np.concatenate",),
    )


@executes(ast.AugAssign)
def augmented(state: Machine, node: ast.AugAssign) -> None:
    """``target op= value``: rebinding for numbers, a write into arrays."""
    target = node.target
    operation = operator_of(type(node.op))
    if isinstance(target, ast.Subscript):
        _augmented_item(state, target, operation, node.value)
        return
    if isinstance(target, ast.Attribute):
        _augment_attribute(state, target, operation, node.value)
        return
    old = evaluate(state, ast.copy_location(ast.Name(target.id, ast.Load()), target))
    old, value = evaluate_next(state, old, node.value)
    new = augment(state, operation, old, value)
    if new is not None:
        bind(state, target.id, new)


def _augmented_item(state: Machine, target: ast.Subscript, operation: Any, node: ast.expr) -> None:
    container, index = evaluate_next(state, evaluate(state, target.value), target.slice)
    if may_be_array(container):
        container, value = evaluate_next(state, container, node)
        assert isinstance(container, Value)
        array_stores.augment_item(state, container, state.arg(index), operation, value)
        return
    if not is_container(container):
        refuse_write(state, target, "write into an array or container")
    with state.kept(container) as kept:  # reading an item may write into it: a defaultdict does
        old = getitem(state, container, index)
    both, value = evaluate_next(state, TupleValue((kept.box, old)), node)
    container, old = spread(state, both)
    with state.kept(
        container
    ) as kept:  # an item that may be an array, or a number, leaves it in doubt
        new = augment(state, operation, old, value)
    if isinstance(kept.box, Stale):
        state.refuse(
            errors.MutationError,
            "cannot write in place into an array that may be an item of a list",
            node=target,
            why="it is not known whether other items, or names, are the same array.",
            help=("make a new item:  items[i] = items[i] + value",),
        )
    if new is not None:
        store_item(state, kept.box, index, new, target)


def augment(
    state: Machine, operation: Any, old: AbstractValue, value: AbstractValue
) -> AbstractValue | None:
    """``old op= value``: what the target is bound to; None where `old` was written into."""
    if isinstance(old, Holder):
        outside_containers.augment(state, old, operation, value)
    elif isinstance(old, DictValue) and operation is operator.or_:
        update(state, old, (value,), {})
    elif is_list(old) and law_of_operator(operation) == "sum":
        extend(state, old, value)
    elif is_list(old) and law_of_operator(operation) == "product":
        write(state, old, operate(state, operation, old, value), keeps_places=False)
    elif isinstance(old, Value) and guarded_stores.is_either(state, old):
        return guarded_stores.in_each(
            state, old, lambda one: augment(state, operation, one, value) or one
        )
    elif may_be_array(old):
        assert isinstance(old, Value)
        return array_stores.augment_name(state, old, operation, value)
    else:
        own = of_augmented(state, operation, old, value)
        own = augment_unknown(state, operation, old, value) if own is None else own
        return operate(state, operation, old, value) if own is None else own
    return None


def _in_place(operation: Any) -> Meaning:
    """``operator.iadd(a, b)``: ``a += b``, and it returns `a`."""

    def special(
        state: Machine, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
    ) -> AbstractValue | None:
        if len(args) != 2:
            return None
        with state.kept(args[0]) as kept:
            new = augment(state, operation, args[0], args[1])
            return kept.box if new is None else new

    return special


for _row in operators():
    if _row.sign is not None and _row.sign.in_place is not None:
        means(_row.sign.in_place)(_in_place(_row.target))
