"""Whose memory a value is: arrays, views of them, and what a write leaves behind.

A write makes a new version of the array that it goes to.  Every name that shows the same memory
must see it: an alias is bound to the new version, a view is taken anew, and a name of which it is
not known what it shows becomes `Stale`: reading it afterwards is refused.

An `Origin` says of a value which arrays its memory may belong to (each is called by the value that
it was when it was made) and, where there is only one, by which `Step`s it is reached from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from srcad import errors, runtime
from srcad.frontend.domain.access_paths import Step, are_disjoint
from srcad.frontend.domain.values import (
    AbstractValue,
    Done,
    FunctionValue,
    GeneratorValue,
    Stale,
    components,
    mapped,
)
from srcad.frontend.outside import places
from srcad.frontend.store.either import chosen_again
from srcad.frontend.store.ownership import (
    ask_whose,
    check_owner,
    is_captured,
    is_unowned,
    with_beginnings,
)
from srcad.ir import primitives
from srcad.ir.core import Atom, Value
from srcad.ir.memory import has_storage
from srcad.startup.records import dataclass, replace
from srcad.types.numeric import Numeric

if TYPE_CHECKING:
    from srcad.frontend.machine.machine import Env, Frame, Machine

LIST_STORES = frozenset(
    {primitives.append, primitives.extended, primitives.inserted, primitives.replaced,
     primitives.without}
)  # fmt: skip
BUILDERS = frozenset(
    {primitives.build_tuple, primitives.build_list, primitives.build_dict, primitives.build_record}
)
READ_ONLY = frozenset({np.diagonal, np.broadcast_to, np.diag})


@dataclass(frozen=True)
class Origin:
    """The arrays that a value may share memory with, and how it is reached from the only one.

    A list or tuple is an object too; `holds` are the arrays that it may hold.
    """

    objects: frozenset[Value]
    steps: tuple[Step, ...] | None = ()
    holds: frozenset[Value] = frozenset()

    @property
    def everything(self) -> frozenset[Value]:
        """The arrays that a write through the value, or through an item of it, may reach."""
        return self.objects | self.holds

    @property
    def is_exact(self) -> bool:
        """Whether it is known which memory the value shows."""
        return self.steps is not None and len(self.objects) == 1


NOWHERE = Origin(frozenset())


def origin(s: Machine, value: Value) -> Origin:
    """Whose memory a value is: its own, unless something else was noted."""
    if not has_storage(value):
        return NOWHERE
    found = s.origins.get(value)
    return Origin(frozenset({value})) if found is None else found


def is_array(value: Any) -> bool:
    """Whether a value may be an array that can be written into."""
    return (
        isinstance(value, Value) and isinstance(value.type, Numeric) and value.type.form != "python"
        and has_storage(value)
    )  # fmt: skip


# ------------------------------------------------------------------------------ noting
def note_join(s: Machine, a: Atom, b: Atom, output: Value) -> None:
    """Note whose memory a value may be that is `a` on one path and `b` on the other."""
    origins = {origin(s, atom) for atom in (a, b) if isinstance(atom, Value)}
    bound = isinstance(a, Value) and isinstance(b, Value)
    if bound and len({(o.objects, o.steps) for o in origins}) == 1:
        first = next(iter(origins))
        found = Origin(first.objects, first.steps, frozenset().union(*(o.holds for o in origins)))
    else:
        found = Origin(frozenset().union(*(o.everything for o in origins)), None)
    if found.objects:
        s.origins[output] = found


def note_own(s: Machine, output: Value, *before: Value) -> None:
    """Note that nothing else shows the memory of a value, whichever array it was before."""
    objects = frozenset().union(*(origin(s, value).objects for value in before))
    holds = frozenset().union(*(origin(s, value).holds for value in before))
    s.origins[output] = Origin(frozenset({output}), (), holds)
    s.began[output] = with_beginnings(s, objects)
    note_laid_out(s, output, *before)


def note_laid_out(s: Machine, value: Value, *others: Atom) -> None:
    """Note that a value lies in memory as others do, if they all lie in the same way."""
    arrays = tuple(other for other in others if isinstance(other, Value))
    if len(arrays) == len(others):
        s.laid_like[value] = arrays


def note_container(s: Machine, value: Value) -> None:
    """Note that a list or tuple is an object of its own, whatever it holds."""
    s.origins[value] = Origin(frozenset({value}), (), origin(s, value).everything)


def note_version(s: Machine, old: Value, new: Value) -> None:
    """Note that a list is the same object that it was before it was written into."""
    before, after = origin(s, old), origin(s, new)
    s.origins[new] = Origin(
        before.objects, before.steps, before.holds | (after.everything - {new} - before.objects)
    )


# ------------------------------------------------------------------------------ writing
def current(s: Machine, object_: Value, envs: Sequence[Env] | None = None) -> Value | None:
    """The version that an array has now, if it is bound to a name.

    A name that is bound on one path only tells it where no other does.
    """
    partial = None
    for env in [frame.env for frame in s.frames] if envs is None else envs:
        for box in env.values():
            for value in inner_values(box):
                found = origin(s, value)
                if found.steps == () and found.objects == {object_}:
                    if value not in s.partial:
                        return value
                    partial = partial or value
    return partial


def inner_values(box: AbstractValue) -> Iterator[Value]:
    """The values that a box is made of, wherever they stand."""
    if isinstance(box, Value):
        yield box
    for part in components(box):
        yield from inner_values(part)


def realised(s: Machine, root: Value, steps: Sequence[Step], hint: str | None = None) -> Value:
    """The view of an array that some steps lead to."""
    value, half = root, s.builder.half
    s.builder.half = "repeated" if half == "primal" else half
    for k, step in enumerate(steps):
        name = hint if k == len(steps) - 1 else None
        value = s.emit(step.target, value, *step.args, kwargs=step.keywords, hint=name)
    s.builder.half = half
    where = origin(s, root)
    if steps and where.steps is not None:  # also where the steps are copies of overlaid memory
        s.origins[value] = Origin(where.objects, (*where.steps, *steps))
    return value


def overwritten(s: Machine, old: Value, new: Value) -> None:
    """An array of which nothing is known beyond its value got a new version: others are stale."""
    where = origin(s, old)
    check_owner(s, where.objects)
    s.origins[new] = Origin(frozenset({new}))
    s.laid_as[new] = Step(primitives.identity), (old,)
    _follow(s, where.objects, {old: new}, None, where.steps or () if where.is_exact else ())


def written_in_part(s: Machine, value: Value) -> None:
    """Note that what follows may leave some of an array written when it fails."""
    for object_ in origin(s, value).everything:
        s.note_write(object_)


def perhaps_written(s: Machine, value: Value) -> None:
    """What may be a number, which stays as it is, or an array, which has changed, is stale."""
    objects = origin(s, value).objects
    if is_doubtful(s, value):
        ask_whose(s)
        s.emit(runtime.no_array, value, effect=True)
        return
    check_owner(s, objects)
    _follow(s, objects, {}, None, ())


def rewritten(s: Machine, old: Value, new: Value, place: tuple[Step, ...]) -> None:
    """An array (`old`, by itself) got a new version: everything that shows it follows."""
    found = origin(s, old)
    check_owner(s, found.objects)
    s.origins[new] = found
    s.laid_as[new] = Step(primitives.identity), (old,)
    _follow(s, found.objects, {old: new}, new, place)


def seen_from(s: Machine, value: Value) -> tuple[Value, tuple[Step, ...]]:
    """The array under a name of which a value certainly is a view, and the steps that lead there.

    That is known also where nobody knows which array that is.
    """
    named = {one for frame in s.frames for box in frame.env.values() for one in inner_values(box)}
    best: tuple[Value, tuple[Step, ...]] = value, ()
    for base, steps in bases(s, value):
        if base in named:
            best = base, steps
    return best


def bases(s: Machine, value: Value) -> Iterator[tuple[Value, tuple[Step, ...]]]:
    """The arrays of which a value is a view, the nearest first, with the steps from there."""
    steps: tuple[Step, ...] = ()
    while value in s.laid_as:
        step, sources = s.laid_as[value]
        if step is None:
            return
        (value,) = sources
        steps = steps if step.target is primitives.identity else (step, *steps)
        yield value, steps


def is_doubtful(s: Machine, value: Value) -> bool:
    """Whether names that are not known here may show the memory of a value."""
    return any(is_unowned(s, one) for one in with_beginnings(s, origin(s, value).everything))


def is_outside(s: Machine, value: Value) -> bool:
    """Whether calls that are not read may know the memory of a value."""
    everything = with_beginnings(s, origin(s, value).everything)
    if any(is_unowned(s, one) or is_captured(s, one) for one in everything):
        return True
    return any(not origin(s, one).everything.isdisjoint(everything) for one in s.inactive.handed)


def _follow(
    s: Machine,
    objects: frozenset[Value],
    new: dict[Value, Value],
    root: Value | None,
    place: tuple[Step, ...],
) -> None:
    """Bind the new versions wherever the old ones, or views of them, are reachable."""
    where = s.builder.where
    taken: dict[Value, AbstractValue] = dict(new)

    def change(box: AbstractValue) -> AbstractValue | None:
        if not isinstance(box, Value):
            return None
        if box not in taken:
            if origin(s, box).everything.isdisjoint(objects):
                return None
            if root is not None:
                now = _shown(s, objects, root, place, box, box)
            elif _is_beside(origin(s, box), objects, place):
                return None
            else:
                now = next((realised(s, new[base], steps, box.hint)
                            for base, steps in bases(s, box) if base in new), None)  # fmt: skip
            taken[box] = Stale(box, where) if now is None else now
        return taken[box]

    done: Done = {}
    before = dict(s.frames[0].env) if s.outside.written else {}
    for frame in s.frames:
        for name, box in list(frame.env.items()):
            frame.env[name] = mapped(box, change, done)
    refuse_hidden(s, with_beginnings(s, objects))
    if before:
        places.changed(s, before, lambda box: _may_show(s, box, objects))


def _is_beside(where: Origin, objects: frozenset[Value], place: tuple[Step, ...]) -> bool:
    """Whether a view certainly shows nothing of what was written at a place of the one array."""
    if not where.is_exact or where.objects != objects or len(objects) != 1:
        return False
    return are_disjoint(where.steps or (), place)


def _may_show(s: Machine, box: AbstractValue, objects: frozenset[Value]) -> bool:
    """Whether a box may show some of these arrays; of what is not bound nobody knows."""
    values = list(inner_values(box))
    shown = any(not origin(s, value).everything.isdisjoint(objects) for value in values)
    return shown or not values


def _shown(
    s: Machine,
    objects: frozenset[Value],
    root: Value,
    place: tuple[Step, ...],
    was: Value,
    value: Value,
) -> Value | None:
    """What shows the memory that `was` showed, in the place of `value`; None if nobody knows."""
    found = origin(s, was)
    if found.everything.isdisjoint(objects):
        return value
    if not found.is_exact:
        chosen = s.either.get(was)
        if chosen is None:
            return None
        return chosen_again(
            s, chosen, value, lambda side: _shown(s, objects, root, place, side, value)
        )
    assert found.steps is not None
    if found.objects.isdisjoint(objects):
        return _with_latest(s, value, objects, root)  # a container that may hold the array
    if are_disjoint(found.steps, place):
        return value
    return realised(s, root, found.steps, value.hint) if found.steps else root


def _with_latest(s: Machine, items: Value, objects: frozenset[Value], root: Value) -> Value | None:
    """The list of a dict's values with what was stored last as it is now, if that was written."""
    latest = s.dicts.latest.get(items)
    if latest is None or objects != {latest.object_}:
        return None
    new = s.emit(primitives.replaced, items, latest.place, root, hint=items.hint)
    s.dicts.latest[new] = replace(latest, value=root)
    return new


def refuse_hidden(s: Machine, objects: frozenset[Value]) -> None:
    """Refuse a write that a function which has left its surroundings would see."""
    for frame in _left_frames(s):
        for name, box in frame.env.items():
            if any(not origin(s, v).everything.isdisjoint(objects) for v in inner_values(box)):
                s.refuse(
                    errors.MutationError,
                    f"cannot write into {name!r}, which a local function holds",
                    why="the function that bound it has returned.",
                    help=("pass the array as an argument",),
                )


def _left_frames(s: Machine) -> list[Frame]:
    """The frames that local functions hold and that are not being read any more."""
    live, found = set(map(id, s.frames)), dict[int, Any]()
    todo: list[Any] = list(s.frames)
    while todo:
        frame = todo.pop()
        if id(frame) in found:
            continue
        found[id(frame)] = frame
        if frame.outer is not None:
            todo.append(frame.outer)
        for box in frame.env.values():
            todo += _functions_frames(box)
    return [frame for key, frame in found.items() if key not in live]


def _functions_frames(box: AbstractValue) -> list[Any]:
    if isinstance(box, FunctionValue) and box.names is None:
        return [box.frame]
    own = [box.callee.frame] if isinstance(box, GeneratorValue) else []
    return own + [frame for part in components(box) for frame in _functions_frames(part)]


# ------------------------------------------------------------------------------ structures
def note_part(s: Machine, value: Value, key: Any, part: Value) -> None:
    """Note whose memory a part of a structure is: the parts of an argument are arrays apart."""
    if not has_storage(part):
        return
    whole = origin(s, value)
    if whole.steps == () and whole.objects == {value}:
        first = s.parts.setdefault((value, key), part)
        if first is not part:
            s.origins[part] = Origin(frozenset({first}), None)
        return
    s.origins[part] = Origin(whole.everything, None)
