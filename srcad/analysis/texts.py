"""Numbers that are read from a text which was made of numbers: ``float(str(x))``.

No derivative flows through a text, but what is read from it depends on what it was made of.  So
texts are followed like derivatives, also into the objects that are made of them, up to a number
that reaches the result.  A text that is only shown, raised, compared or measured is no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from srcad.analysis.activity import Facts, activity
from srcad.analysis.activity_trees import Activity, fully_active, part
from srcad.analysis.arguments import arguments
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Call, Function, Routine, Value, walk
from srcad.ir.inference.builder import atom_type
from srcad.ir.traits import answers, is_part, is_store, is_structure, keeps_structure
from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf, Opaque, PlacesOf, TupleOf, Type, is_text

_MEASURES = frozenset({len, hash})


def read_from_text(
    function: Function,
    varied: dict[Value, Activity],
    wanted: Sequence[Activity],
    known: frozenset[Routine] = frozenset(),
) -> Call | None:
    """Return the first call on the way to a result that reads a text which depends on the input.

    `known` are the routines that are looked into.
    """
    calls = [op for op in walk(function.block) if isinstance(op, Call)]
    made = any(is_text(op.result.type) or isinstance(op.target, Routine) for op in calls)
    if not made and not any(_is_told(p.type, tree) for p, tree in varied.items()):
        return None
    facts = activity(function, varied, wanted, told=lambda op, found: told(op, found) or None)
    for op in calls:
        if isinstance(op.target, Routine):
            found = _read_in_routine(op, op.target, facts, known)
            if found is not None:
                return found
        elif facts.active(op.result) and _reads(op, facts):
            return op
    return None


def told(op: Call, facts: Facts) -> Activity:
    """Return the parts of the result of a call that depend on the input through a string."""
    args = arguments(op).values()
    if isinstance(op.target, Routine):
        depends = any(facts.of(arg) is not False for arg in args)
        return _texts_and_numbers(op.result.type) if depends else False
    if isinstance(op.result.type, PlacesOf):
        return any(_is_told(argument_type(arg), facts.of(arg)) for arg in op.args)
    if is_text(op.result.type) and not _passes_on(op.target) and not is_part(op.target):
        return any(facts.of(arg) is not False for arg in args)
    return _reads(op, facts)


def _reads(op: Call, facts: Facts) -> bool:
    """Return True if a call makes anything but a text of a text that depends on the input."""
    if not _is_hashable(op.target) or _passes_on(op.target):
        return False
    if answers(op.target) or op.target in _MEASURES:
        return False
    type_ = op.result.type
    if is_text(type_) or (isinstance(type_, Numeric) and type_.kind in "biu"):
        return False
    args = list(op.args[:1]) if is_part(op.target) else list(arguments(op).values())
    if is_part(op.target):  # parts of a structure are followed one by one
        args = [arg for arg in args if isinstance(argument_type(arg), Opaque)]
    return any(_is_told(argument_type(arg), facts.of(arg)) for arg in args)


def _passes_on(target: Any) -> bool:
    """Return True if texts lie in the result as they do in the operands."""
    return is_structure(target) or is_store(target) or keeps_structure(target)


def _is_told(type_: Type, tree: Activity) -> bool:
    """Return True if an object in an argument depends on the input."""
    match type_:
        case TupleOf(items):
            return any(_is_told(t, part(tree, k)) for k, t in enumerate(items))
        case PlacesOf():
            return tree is not False  # a text among its keys is
        case ListOf(item):
            return _is_told(item, tree)
        case Opaque(cls):
            return cls is not None and tree is not False
    return False


def _texts_and_numbers(type_: Type) -> Activity:
    """Return the activity of a value if all of its numbers and strings depend on the input."""
    match type_:
        case TupleOf(items):
            parts = tuple(_texts_and_numbers(t) for t in items)
            return parts if any(parts) else False
        case ListOf(item):
            return _texts_and_numbers(item)
    return is_text(type_) or fully_active(type_)


def _is_hashable(target: object) -> bool:
    try:
        hash(target)
    except TypeError:
        return False
    return True


def _read_in_routine(
    op: Call, routine: Routine, facts: Facts, known: frozenset[Routine]
) -> Call | None:
    """Return the numbers that a routine reads from its string arguments."""
    inner = routine.function
    trees = [facts.of(arg) for arg in op.args]
    is_told = any(_is_told(argument_type(a), tree) for a, tree in zip(op.args, trees, strict=True))
    if inner is None or routine in known or not is_told:
        return None
    varied = dict(zip(inner.params, trees, strict=True))
    wanted = [_texts_and_numbers(atom_type(atom)) for atom in inner.block.results]
    return read_from_text(inner, varied, wanted, known | {routine})
