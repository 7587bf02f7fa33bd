"""One-pass iterables: generators and iterators."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from typing import Any

import numpy as np

from srcad import errors
from srcad.frontend.branches import try_regions
from srcad.frontend.domain.predicates import is_static_number
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    GeneratorValue,
    IteratorValue,
    ListValue,
    TupleValue,
)
from srcad.frontend.functions.inlining import bind_parameters, callee_of
from srcad.frontend.machine.constants import raises
from srcad.frontend.machine.dispatch import apply
from srcad.frontend.machine.machine import Machine
from srcad.frontend.prelude import iterators
from srcad.frontend.source.syntax import own_nodes
from srcad.ir.core import Value, walk
from srcad.types.reading import answers
from srcad.types.structures import Opaque

# What can be iterated over again and again, with the same items.
REUSABLE: tuple[type, ...] = (
    list, tuple, str, bytes, dict, set, frozenset, range, np.ndarray, type({}.keys()),
    enum.EnumMeta,
)  # fmt: skip


# ------------------------------------------------------------------------------ making
def generator_of_call(
    state: Machine, callee: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> GeneratorValue:
    """Return the generator that a call of a generator function returns: nothing has run yet."""
    return GeneratorValue(callee, bind_parameters(state, callee, args, kwargs))


def prelude_generator(state: Machine, function: Any, *args: AbstractValue) -> GeneratorValue:
    """Return a generator function of the prelude, called with these boxes."""
    return generator_of_call(state, callee_of(state, function, None), args, {})


# ------------------------------------------------------------------------------ what is lazy
def one_shot(state: Machine, box: AbstractValue) -> GeneratorValue | None:
    """Return the generator behind an iterable that may be run through once only.

    None for sequences.
    """
    if isinstance(box, GeneratorValue):
        if box.manages:
            raises(state, TypeError, "'_GeneratorContextManager' object is not iterable")
        return box
    if isinstance(box, IteratorValue) and box.kind == "zip":
        return _zipped(state, box)
    if is_drawn(box):
        if state.is_active(box):
            state.refuse(
                errors.UnsupportedTypeError,
                "cannot loop over a value that is known only at run time",
                why="its items carry derivatives, and their types are unknown.",
                help=("make it an array first:  np.array(...)", "or a list:  list(...)"),
            )
        return prelude_generator(state, iterators.drawn, box)
    return None


def is_lazy(box: AbstractValue) -> bool:
    """Return True if an iterable has to be run through item by item, once."""
    parts = box.parts if isinstance(box, IteratorValue) else ()
    return isinstance(box, GeneratorValue) or is_drawn(box) or any(map(is_lazy, parts))


def is_drawn(box: AbstractValue) -> bool:
    """Return True if the items have to be asked of a run-time object one by one."""
    if isinstance(box, Constant):
        found = type(box.value) if box.path is not None or box.atom is not None else None
        if found is None:
            return False
        return not issubclass(found, REUSABLE) or answers(found, "__iter__")
    if not isinstance(box, Value) or not isinstance(box.type, Opaque):
        return False
    return box.type.cls is None or not issubclass(box.type.cls, REUSABLE)


def _zipped(state: Machine, box: IteratorValue) -> GeneratorValue | None:
    """``zip`` of which one part is run through once: the others are indexed."""
    lazy = [k for k, part in enumerate(box.parts) if is_lazy(part)]
    if not lazy:
        return None
    parts = [p if k == lazy[0] else indexable(state, p) for k, p in enumerate(box.parts)]
    before, after = TupleValue(tuple(parts[: lazy[0]])), TupleValue(tuple(parts[lazy[0] + 1 :]))
    return prelude_generator(state, iterators.zipped, before, parts[lazy[0]], after)


def indexable(state: Machine, box: AbstractValue) -> AbstractValue:
    """Return a sequence with the items of an iterable; of a generator, only if nobody can tell."""
    if isinstance(box, ListValue | TupleValue) and box.source is None:
        kinds = {isinstance(item, Value) for item in box.items}
        numbers = all(isinstance(i, Value) or is_static_number(i) for i in box.items)
        return state.box(state.atom(box)) if numbers and len(kinds) == 2 else box
    if not isinstance(box, IteratorValue) and not is_lazy(box):
        return box
    count, writes, seen = (
        len(state.builder.ops),
        len(state.writes),
        try_regions.visible_objects(state),
    )
    if isinstance(box, GeneratorValue) and _is_endless(box):
        refuse_listing(state)
    result = apply(state, Constant(list), (box,), {})
    made_now = [op for outer in state.builder.ops[count:] for op in (outer, *_inside(outer))]
    acts = any(getattr(op, "effect", False) for op in made_now)
    acts = acts or any(id(what) in seen for what, _, _ in state.writes[writes:])
    if isinstance(box, GeneratorValue) and acts:
        refuse_listing(state)
    return result


def _inside(op: Any) -> Iterator[Any]:
    for block in op.blocks:
        yield from walk(block)


def _is_endless(box: GeneratorValue) -> bool:
    """Return True if a generator's text holds a loop without a test."""
    tests = [n.test for n in own_nodes(box.callee.node) if isinstance(n, ast.While)]
    return any(isinstance(t, ast.Constant) and bool(t.value) for t in tests)


def refuse_listing(state: Machine) -> None:
    """Refuse two generators of which a list of one cannot be made beforehand."""
    state.refuse(
        errors.UnsupportedSyntaxError,
        "cannot run two generators in step",
        why="their code alternates, and the order of their effects would change.",
        help=("make a list of one of them first:  zip(list(first), second)",),
    )
