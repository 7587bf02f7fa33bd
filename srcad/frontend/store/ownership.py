"""Whose an array is that is written into: the function's own, or one that others hold."""

from __future__ import annotations

from typing import NoReturn

from srcad import errors
from srcad.frontend.domain.values import AbstractValue
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside import work_arrays
from srcad.ir.core import Value


def check_owner(state: Machine, objects: frozenset[Value]) -> None:
    """Refuse to write into arrays that others hold; note which are written into."""
    for object_ in with_beginnings(state, objects):
        if is_unowned(state, object_):
            restart_for_ownership(state)
            refuse_shared_write(state)
        if object_ in state.inactive.kept:
            refuse_memoized(state)
        if object_ in state.outside.given:
            state.refuse(
                errors.MutationError,
                "cannot write into an array that a list outside holds",
                why="it was appended there, and its position is not tracked.",
                help=("append a copy:  history.append(y.copy())",),
            )
        if is_captured(state, object_):
            state.inactive.hit = object_
            _refuse_outside(state, object_)
        state.written_objects.append(object_)
    for object_ in objects:
        state.note_write(object_)


def _refuse_outside(state: Machine, object_: Value) -> NoReturn:
    """Refuse a write into a captured array, and record the array: it may be a work array."""
    try:
        state.refuse(
            errors.MutationError,
            "cannot write into an array from outside the function",
            why="only a work array may be written into: each of its entries must certainly be "
            "written before it is read in the same call, and it must not be stored elsewhere.",
            help=(
                "write all of it first:  work[:] = 0.0",
                "or write into a copy:  y = y.copy()",
                "or pass the array as an argument",
            ),
        )
    except errors.MutationError as error:
        work_arrays.note_refused(state, object_, error)
        raise


def with_beginnings(state: Machine, objects: frozenset[Value]) -> frozenset[Value]:
    """Return the arrays, and those that they may have been before a loop or a choice."""
    return objects.union(*(state.began.get(one, frozenset()) for one in objects))


def is_captured(state: Machine, object_: Value) -> bool:
    """Return True if an object is one from outside the function, and no argument."""
    path = state.paths.get(object_)
    return (path is not None and path[0][0] != "param") or any(
        c.value is object_ for c in state.captures
    )


def is_held_outside(state: Machine, object_: Value) -> bool:
    """Return True if others hold an object, so that a write into it is refused."""
    return (
        is_captured(state, object_)
        or is_unowned(state, object_)
        or object_ in state.inactive.kept
        or object_ in state.outside.given
    )


def is_unowned(state: Machine, object_: Value) -> bool:
    """Return True if the owner of an object is unknown at compile time."""
    return object_ in state.inactive.unknown


def restart_for_ownership(state: Machine) -> None:
    """Have the calls that were left as they stand read, once, since it matters what they return."""
    if state.inactive.may_open:
        state.inactive.is_open = True
        refuse_shared_write(state)


def refuse_shared_write(state: Machine) -> NoReturn:
    """Refuse to write into an object that may have aliases."""
    state.refuse(
        errors.MutationError,
        "cannot tell which array is changed in place here",
        why="it comes from a call that srcad does not read, and may go by other names, too.",
        help=("take a copy of it first:  y = np.array(y)", "or write it out:  y = y + other"),
    )


def refuse_memoized(state: Machine) -> NoReturn:
    """Refuse to write into the result of a memoized function."""
    state.refuse(
        errors.MutationError,
        "cannot change the result of a function with a cache",
        why="every later call of it with these arguments would return the changed one.",
        help=("change a copy:  y = y.copy()", "or take the cache away"),
    )


def refuse_identity(state: Machine, left: AbstractValue, right: AbstractValue) -> None:
    """Refuse to say whether two results of functions with a cache are one object."""
    if left is not right and _is_kept(state, left) and _is_kept(state, right):
        state.refuse(
            errors.UnsupportedSyntaxError,
            "cannot tell whether these are one object",
            why="a function with a cache has returned them: what it holds decides that.",
            help=("compare their values", "or take the cache away"),
        )


def _is_kept(state: Machine, box: AbstractValue) -> bool:
    if not isinstance(box, Value):
        return box in state.inactive.kept
    found = state.origins.get(box)
    return box in state.inactive.kept or (
        found is not None and not state.inactive.kept.isdisjoint(found.objects)
    )
