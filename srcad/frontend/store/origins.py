"""Whose memory a value is: an array, or a view of one.

An `Origin` says of a value which arrays its memory may belong to (each is called by the value that
it was when it was made) and, where there is only one, by which `Step`s it is reached from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from srcad.frontend.domain.access_paths import Step
from srcad.frontend.domain.memory import NOWHERE, Origin
from srcad.frontend.domain.structure import components
from srcad.frontend.domain.values import AbstractValue, Env
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store import ownership
from srcad.ir.core import Atom, Value
from srcad.ir.memory import has_storage
from srcad.ir.traits import is_same
from srcad.types.numeric import Numeric


def origin(state: Machine, value: Value) -> Origin:
    """Whose memory a value is: its own, unless something else was noted."""
    if not has_storage(value):
        return NOWHERE
    found = state.origins.get(value)
    return Origin(frozenset({value})) if found is None else found


def may_be_array(value: Any) -> bool:
    """Return True if a value may be an array that can be written into."""
    return (
        isinstance(value, Value)
        and isinstance(value.type, Numeric)
        and value.type.form != "python"
        and has_storage(value)
    )


# ------------------------------------------------------------------------------ noting
def note_join(state: Machine, a: Atom, b: Atom, output: Value) -> None:
    """Record the memory of a value that is `a` on one path and `b` on the other."""
    origins = {origin(state, atom) for atom in (a, b) if isinstance(atom, Value)}
    bound = isinstance(a, Value) and isinstance(b, Value)
    if bound and len({(o.objects, o.steps) for o in origins}) == 1:
        first = next(iter(origins))
        found = Origin(first.objects, first.steps, frozenset().union(*(o.holds for o in origins)))
    else:
        found = Origin(frozenset().union(*(o.everything for o in origins)), None)
    if found.objects:
        state.origins[output] = found


def note_own(state: Machine, output: Value, *before: Value) -> None:
    """Note that nothing else shows the memory of a value, whichever array it was before."""
    objects = frozenset().union(*(origin(state, value).objects for value in before))
    holds = frozenset().union(*(origin(state, value).holds for value in before))
    state.origins[output] = Origin(frozenset({output}), (), holds)
    state.began[output] = ownership.with_beginnings(state, objects)
    note_layout_of(state, output, *before)


def note_layout_of(state: Machine, value: Value, *others: Atom) -> None:
    """Note that a value lies in memory as others do, if they all lie in the same way."""
    arrays = tuple(other for other in others if isinstance(other, Value))
    if len(arrays) == len(others):
        state.laid_like[value] = arrays


def note_container(state: Machine, value: Value) -> None:
    """Note that a list or tuple is an object of its own, whatever it holds."""
    state.origins[value] = Origin(frozenset({value}), (), origin(state, value).everything)


def note_version(state: Machine, old: Value, new: Value) -> None:
    """Note that a list is the same object that it was before it was written into."""
    before, after = origin(state, old), origin(state, new)
    state.origins[new] = Origin(
        before.objects, before.steps, before.holds | (after.everything - {new} - before.objects)
    )


# ------------------------------------------------------------------------------ views
def current(state: Machine, object_: Value, envs: Sequence[Env] | None = None) -> Value | None:
    """Return the version that an array has now, if it is bound to a name.

    A name that is bound on one path only tells it where no other does.
    """
    partial = None
    for env in [frame.env for frame in state.frames] if envs is None else envs:
        for box in env.values():
            for value in inner_values(box):
                found = origin(state, value)
                if found.steps == () and found.objects == {object_}:
                    if value not in state.partial:
                        return value
                    partial = partial or value
    return partial


def inner_values(box: AbstractValue) -> Iterator[Value]:
    """Yield the values that a box is made of, wherever they stand."""
    if isinstance(box, Value):
        yield box
    for part in components(box):
        yield from inner_values(part)


def realised(state: Machine, root: Value, steps: Sequence[Step], hint: str | None = None) -> Value:
    """Return the view of an array that some steps lead to."""
    value, half = root, state.builder.half
    state.builder.half = "repeated" if half == "primal" else half
    for k, step in enumerate(steps):
        name = hint if k == len(steps) - 1 else None
        value = state.emit(step.target, value, *step.args, kwargs=step.keywords, hint=name)
    state.builder.half = half
    where = origin(state, root)
    if steps and where.steps is not None:  # also where the steps are copies of overlaid memory
        state.origins[value] = Origin(where.objects, (*where.steps, *steps))
    return value


def view_path(state: Machine, value: Value) -> tuple[Value, tuple[Step, ...]]:
    """Return the array of which a value certainly is a view, and the steps to the view.

    That is known also where nobody knows which array that is.
    """
    named = {
        one for frame in state.frames for box in frame.env.values() for one in inner_values(box)
    }
    best: tuple[Value, tuple[Step, ...]] = value, ()
    for base, steps in bases(state, value):
        if base in named:
            best = base, steps
    return best


def bases(state: Machine, value: Value) -> Iterator[tuple[Value, tuple[Step, ...]]]:
    """Yield the arrays of which a value is a view, the nearest first, with the steps from there."""
    steps: tuple[Step, ...] = ()
    while value in state.laid_as:
        step, sources = state.laid_as[value]
        if step is None:
            return
        (value,) = sources
        steps = steps if is_same(step.target) else (step, *steps)
        yield value, steps


def is_doubtful(state: Machine, value: Value) -> bool:
    """Return True if names that are not known here may show the memory of a value."""
    return any(
        ownership.is_unowned(state, one)
        for one in ownership.with_beginnings(state, origin(state, value).everything)
    )


def is_outside(state: Machine, value: Value) -> bool:
    """Return True if calls that are not read may know the memory of a value."""
    everything = ownership.with_beginnings(state, origin(state, value).everything)
    if any(
        ownership.is_unowned(state, one) or ownership.is_captured(state, one) for one in everything
    ):
        return True
    return any(
        not origin(state, one).everything.isdisjoint(everything) for one in state.inactive.handed
    )


# ------------------------------------------------------------------------------ structures
def note_part(state: Machine, value: Value, key: Any, part: Value) -> None:
    """Record the memory of a part of a structure: parts of an argument are separate arrays."""
    if not has_storage(part):
        return
    whole = origin(state, value)
    if whole.steps == () and whole.objects == {value}:
        first = state.parts.setdefault((value, key), part)
        if first is not part:
            state.origins[part] = Origin(frozenset({first}), None)
        return
    state.origins[part] = Origin(whole.everything, None)
