"""Arguments that a function writes into, and those that share memory."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

import numpy as np

from srcad import errors
from srcad.arguments.aliasing import Memory, argument_memory, backward_axes, places
from srcad.frontend.domain.access_paths import Step
from srcad.frontend.domain.memory import Origin
from srcad.frontend.domain.values import AbstractValue
from srcad.frontend.machine.constants import raises
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store import ownership
from srcad.frontend.store.origins import inner_values, note_layout_of, origin
from srcad.ir.core import Const, Display, Value
from srcad.types.numeric import INT, Numeric
from srcad.types.sources import Path, read, spelled
from srcad.types.structures import TupleOf


def written_parameters(state: Machine) -> Iterator[str]:
    """Yield the parameters with arrays that the function writes into."""
    for value in state.written_objects:
        path = state.paths.get(value)
        if path is not None and path[0][0] == "param":
            yield path[0][1]


def before_write(state: Machine, array: Value) -> None:
    """Raise as the original call for read-only arguments; refuse repeated entries."""
    where = origin(state, array)
    for object_ in ownership.with_beginnings(state, where.everything):
        path = state.paths.get(object_)
        memory = None if path is None else _memory(state, path)
        if memory == "read-only":
            state.written_objects.append(object_)
        if memory == "read-only" and where.is_exact and isinstance(object_.type, Numeric):
            raises(state, ValueError, "assignment destination is read-only")
        if path is not None and memory not in (None, "own"):
            _refuse(state, path, memory)


def _memory(state: Machine, path: Path) -> Memory | None:
    """How an argument's arrays lie, which is taken for granted; None without an example."""
    given = state.arguments.get(path[0][1]) if path[0][0] == "param" else None
    if given is None:
        return None
    found = argument_memory(read(path, state.root, state.arguments))
    state.guard(path, "memory", found)
    return found


def _refuse(state: Machine, path: Path, memory: Memory | None) -> NoReturn:
    name = spelled(path)
    repeated = memory == "repeated"
    state.refuse(
        errors.MutationError,
        f"cannot write into {name!r}, which is read-only, or holds an array that is"
        if not repeated
        else f"cannot write into {name!r}, several entries of which share memory",
        why="a write into one entry would be seen in others."
        if repeated
        else "NumPy raises where the array that is written into is that one.",
        help=(f"pass a copy:  {name}.copy()",) if len(path) == 1 else ("pass a copy of it",),
    )


def matrices(boxes: Iterable[AbstractValue]) -> Iterator[Value]:
    """Yield the arrays of two axes or more inside some boxes: those whose order is looked at."""
    for box in boxes:
        for value in inner_values(box):
            if isinstance(value.type, Numeric) and len(value.type.shape or ()) > 1:
                yield value


def overlaid(state: Machine, groups: Sequence[Sequence[Value]]) -> dict[str, AbstractValue]:
    """Bind arrays that share memory to views of one copy of it, by the parameters' names."""
    found: dict[str, AbstractValue] = {}
    for k, group in enumerate(groups):
        found.update(_overlaid(state, group, f"%base{k}"))
    return found


def _overlaid(state: Machine, group: Sequence[Value], name: str) -> dict[str, AbstractValue]:
    for value in group:
        _memory(state, state.paths[value])
    types = [value.type for value in group]
    kinds = [Numeric(np.dtype(int), t.shape, "array") for t in types if isinstance(t, Numeric)]
    where = state.emit(places, *group, effect=True, type=TupleOf((INT, *kinds)))
    parts = [state.builder.item(where, k, type=t) for k, t in enumerate((INT, *kinds))]
    dtype = types[0].dtype if isinstance(types[0], Numeric) else None
    base = state.emit(np.zeros, parts[0], kwargs={"dtype": Const(dtype)})
    for value, place in reversed(list(zip(group, parts[1:], strict=True))):
        base = state.updated(base, place, value)
    found: dict[str, AbstractValue] = {name: base}
    for value, place in zip(group, parts[1:], strict=True):
        view, steps = base, list[Step]()
        for step in _steps(state, value, place):
            view = state.emit(step.target, view, *step.args, hint=value.hint)
            steps.append(step)
        state.origins[view] = Origin(frozenset({base}), tuple(steps))
        note_layout_of(state, view, value)
        found[value.hint or ""] = view
    state.origins[base] = Origin(frozenset({base}))
    return found


def _steps(state: Machine, value: Value, place: Value) -> Iterator[Step]:
    """Yield the steps from the copy to one of its views.

    What is gathered lies in order.  A view that runs backwards is turned once more, so that it does
    here, too: NumPy adds in another order there, and rounds otherwise.
    """
    path = state.paths.get(value)
    given = state.arguments.get(path[0][1]) if path is not None else None
    axes = backward_axes(given) if isinstance(given, np.ndarray) else ()
    if path is not None:
        state.guard(path, "backward", axes)
    turns = [Step(np.flip, (Const(axis),)) for axis in axes]
    for turn in turns:
        place = state.emit(turn.target, place, *turn.args)
    if isinstance(value.type, Numeric) and value.type.is_scalar:  # what is read is a number
        yield Step(operator.getitem, (state.emit(np.reshape, place, Const(1)),))
        yield Step(np.reshape, (Display("tuple", ()),))
        return
    yield Step(operator.getitem, (place,))
    yield from turns
