"""Arguments that a function writes into, and those that share memory."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from srcad.frontend.boxes import Box
from srcad.frontend.places import Step
from srcad.frontend.scope import Session
from srcad.frontend.storage import Origin, inner_values, note_laid_out
from srcad.ir import primitives
from srcad.ir.core import Const, Value
from srcad.overlaps import backward_axes, places
from srcad.types import INT, Numeric, TupleOf


def written_parameters(s: Session) -> Iterator[str]:
    """The parameters into whose arrays the function writes."""
    for value in s.written_objects:
        path = s.paths.get(value)
        if path is not None and path[0][0] == "param":
            yield path[0][1]


def matrices(boxes: Iterable[Box]) -> Iterator[Value]:
    """The arrays of two axes or more inside some boxes: those whose order is looked at."""
    for box in boxes:
        for value in inner_values(box):
            if isinstance(value.type, Numeric) and len(value.type.shape or ()) > 1:
                yield value


def overlaid(s: Session, groups: Sequence[Sequence[Value]]) -> dict[str, Box]:
    """Bind arrays that share memory to views of one copy of it, by the parameters' names."""
    found: dict[str, Box] = {}
    for k, group in enumerate(groups):
        found.update(_overlaid(s, group, f"%base{k}"))
    return found


def _overlaid(s: Session, group: Sequence[Value], name: str) -> dict[str, Box]:
    types = [value.type for value in group]
    kinds = [Numeric(np.dtype(int), t.shape, "array") for t in types if isinstance(t, Numeric)]
    where = s.emit(places, *group, effect=True, type=TupleOf((INT, *kinds)))
    parts = [
        s.builder.call(primitives.item, where, Const(k), type=t)
        for k, t in enumerate((INT, *kinds))
    ]
    dtype = types[0].dtype if isinstance(types[0], Numeric) else None
    base = s.emit(np.zeros, parts[0], kwargs={"dtype": Const(dtype)})
    for value, place in reversed(list(zip(group, parts[1:], strict=True))):
        base = s.emit(primitives.updated, base, place, value)
    found: dict[str, Box] = {name: base}
    for value, place in zip(group, parts[1:], strict=True):
        view, steps = base, list[Step]()
        for step in _steps(s, value, place):
            view = s.emit(step.target, view, *step.args, hint=value.hint)
            steps.append(step)
        s.origins[view] = Origin(frozenset({base}), tuple(steps))
        note_laid_out(s, view, value)
        found[value.hint or ""] = view
    s.origins[base] = Origin(frozenset({base}))
    return found


def _steps(s: Session, value: Value, place: Value) -> Iterator[Step]:
    """The steps from the copy to one of its views.

    What is gathered lies in order.  A view that runs backwards is turned once more, so that it does
    here, too: NumPy adds in another order there, and rounds otherwise.
    """
    path = s.paths.get(value)
    given = s.arguments.get(path[0][1]) if path is not None else None
    axes = backward_axes(given) if isinstance(given, np.ndarray) else ()
    if path is not None:
        s.guard(path, "backward", axes)
    turns = [Step(np.flip, (Const(axis),)) for axis in axes]
    for turn in turns:
        place = s.emit(turn.target, place, *turn.args)
    yield Step(operator.getitem, (place,))
    yield from turns
