"""Whose memory a value is: arrays, views of them, and what a write leaves behind.

A write makes a new version of the array that it goes to.  Every name that shows the same memory
must see it: an alias is bound to the new version, a view is taken anew, and a name of which it is
not known what it shows becomes `Stale`: reading it afterwards is refused.

An `Origin` says of a value which arrays its memory may belong to (each is called by the value that
it was when it was made) and, where there is only one, by which `Step`s it is reached from there.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from srcad import errors
from srcad.frontend.boxes import Box, FunctionBox, Stale, inner_boxes, mapped
from srcad.frontend.places import Step, are_disjoint, is_number_index, parts_of
from srcad.ir import primitives
from srcad.ir.core import Arg, Atom, Const, Value, values_in
from srcad.ir.memory import (
    ALWAYS_VIEWS,
    LAYOUT_VIEWS,
    has_storage,
    is_one_of,
    makes_new_array,
    reads_a_copy,
    reads_a_view,
)
from srcad.records import dataclass
from srcad.types import Numeric

if TYPE_CHECKING:
    from srcad.frontend.scope import Env, Frame, Session

LIST_STORES = frozenset(
    {primitives.append, primitives.extended, primitives.inserted, primitives.replaced,
     primitives.without}
)  # fmt: skip
BUILDERS = frozenset(
    {primitives.build_tuple, primitives.build_list, primitives.build_dict, primitives.build_record}
)
_SAME = frozenset({primitives.identity, np.asarray, np.asanyarray})
READ_ONLY = frozenset({np.diagonal, np.broadcast_to, np.diag})
_PURE_PARTS = frozenset({len, primitives.shape, primitives.is_, primitives.contains})
_COMPACT: frozenset[Any] = frozenset(
    {np.zeros, np.ones, np.empty, np.full, np.arange, np.linspace, np.eye, np.identity,
     np.concatenate, np.stack, np.vstack, np.hstack, np.outer, np.dot, np.matmul,
     operator.matmul, np.tile}
)  # fmt: skip


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


def origin(s: Session, value: Value) -> Origin:
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


def is_number(value: Any) -> bool:
    """Whether a value that may be an array of no axes is taken for the number in it."""
    return isinstance(value.type, Numeric) and value.type.form == "any" and value.type.shape == ()


# ------------------------------------------------------------------------------ noting
def note(
    s: Session,
    target: Any,
    args: tuple[Arg, ...],
    kwargs: tuple[tuple[str, Arg], ...],
    result: Value,
) -> None:
    """Note whose memory the result of a call is."""
    if not has_storage(result):
        return
    first = args[0] if args else None
    if is_array(first) and _note_view(s, target, args, kwargs, result):
        return
    if makes_new_array(target, result.type, kwargs) or is_one_of(target, _PURE_PARTS):
        shape = result.type.shape if isinstance(result.type, Numeric) else None
        flat = shape is not None and len(shape) <= 1
        c_order = target is np.copy and ("order", Const("C")) in kwargs
        if flat or c_order or is_one_of(target, _COMPACT) or _all_compact(s, args):
            s.compact.add(result)
        return
    values = [v for arg in (*args, *(a for _, a in kwargs)) for v in values_in(arg)]
    held = frozenset().union(*(origin(s, v).everything for v in values))
    if is_one_of(target, LIST_STORES) and isinstance(first, Value):
        parent = origin(s, first)
        added = frozenset().union(*(origin(s, v).everything for v in values if v is not first))
        s.origins[result] = Origin(parent.objects, parent.steps, parent.holds | added)
    elif is_one_of(target, BUILDERS):
        s.origins[result] = Origin(frozenset({result}), (), held)
    elif held:
        s.origins[result] = Origin(held | {result}, None)


def _note_view(
    s: Session,
    target: Any,
    args: tuple[Arg, ...],
    kwargs: tuple[tuple[str, Arg], ...],
    result: Value,
) -> bool:
    """Note a view of an array; False where the result is none."""
    first = args[0]
    assert isinstance(first, Value)
    parent = origin(s, first)
    step = _view_step(s, target, first, args[1:], kwargs)
    if target is operator.getitem:
        if reads_a_copy(args[1]):
            return True
        step = Step(target, (args[1],)) if reads_a_view(args[1]) else None
    elif step is None:
        return False
    s.origins[result] = Origin(parent.objects, _followed(parent, step))
    return True


def _followed(parent: Origin, step: Step | None) -> tuple[Step, ...] | None:
    if parent.steps is None or step is None:
        return None
    return parent.steps if step.target is primitives.identity else (*parent.steps, step)


def _view_step(
    s: Session,
    target: Any,
    first: Value,
    args: tuple[Arg, ...],
    kwargs: tuple[tuple[str, Arg], ...],
) -> Step | None:
    if is_one_of(target, _SAME) and not args and not kwargs:
        return Step(primitives.identity)
    if target is np.diag and isinstance(first.type, Numeric) and len(first.type.shape or ()) == 1:
        return None
    if is_one_of(target, ALWAYS_VIEWS) or is_one_of(target, READ_ONLY):
        return Step(target, args, kwargs)
    flat = (
        target is np.reshape
        and isinstance(first.type, Numeric)
        and len(first.type.shape or (0, 0)) < 2
    )
    if is_one_of(target, LAYOUT_VIEWS) and (flat or is_compact(s, first)) and not kwargs:
        return Step(target, args)
    return None


def is_compact(s: Session, value: Value) -> bool:
    """Whether the memory of an array certainly is in C order without gaps."""
    if value in s.compact:
        return True
    where = origin(s, value)
    laid_out = where.steps is not None and all(map(_keeps_compact, where.steps))
    return laid_out and bool(where.objects) and where.objects <= s.compact


def _keeps_compact(step: Step) -> bool:
    """Whether a view of an array in C order is one: another shape, or one row of rows."""
    if step.target is operator.getitem:
        return all(is_number_index(part) for part in parts_of(step.args[0]))
    return is_one_of(step.target, LAYOUT_VIEWS)


def _all_compact(s: Session, args: tuple[Arg, ...]) -> bool:
    arrays = [v for arg in args for v in values_in(arg) if is_array(v)]
    return all(is_compact(s, v) for v in arrays)


def note_meeting(s: Session, a: Atom, b: Atom, output: Value) -> None:
    """Note whose memory a value is that is `a` on one path and `b` on the other."""
    origins = {origin(s, atom) for atom in (a, b) if isinstance(atom, Value)}
    bound = isinstance(a, Value) and isinstance(b, Value)
    if bound and len({(o.objects, o.steps) for o in origins}) == 1:
        first = next(iter(origins))
        found = Origin(first.objects, first.steps, frozenset().union(*(o.holds for o in origins)))
    else:
        found = Origin(frozenset().union(*(o.everything for o in origins)), None)
    if found.objects:
        s.origins[output] = found


def note_container(s: Session, value: Value) -> None:
    """Note that a list or tuple is an object of its own, whatever it holds."""
    s.origins[value] = Origin(frozenset({value}), (), origin(s, value).everything)


def note_version(s: Session, old: Value, new: Value) -> None:
    """Note that a list is the same object that it was before it was written into."""
    before, after = origin(s, old), origin(s, new)
    s.origins[new] = Origin(
        before.objects, before.steps, before.holds | (after.everything - {new} - before.objects)
    )


# ------------------------------------------------------------------------------ writing
def current(s: Session, object_: Value, envs: Sequence[Env] | None = None) -> Value | None:
    """The version that an array has now, if it is bound to a name."""
    for env in [frame.env for frame in s.frames] if envs is None else envs:
        for box in env.values():
            for value in inner_values(box):
                found = origin(s, value)
                if found.steps == () and found.objects == {object_}:
                    return value
    return None


def inner_values(box: Box) -> Iterator[Value]:
    """The values that a box is made of, wherever they stand."""
    if isinstance(box, Value):
        yield box
    for part in inner_boxes(box):
        yield from inner_values(part)


def realised(s: Session, root: Value, steps: Sequence[Step], hint: str | None = None) -> Value:
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


def overwritten(s: Session, old: Value, new: Value) -> None:
    """An array of which nothing is known beyond its value got a new version: others are stale."""
    _check_owner(s, origin(s, old).objects)
    s.origins[new] = Origin(frozenset({new}))
    _follow(s, origin(s, old).objects, {old: new}, None, ())


def perhaps_written(s: Session, value: Value) -> None:
    """What may be a number, which stays as it is, or an array, which has changed, is stale."""
    objects = origin(s, value).objects
    _check_owner(s, objects)
    _follow(s, objects, {}, None, ())


def rewritten(s: Session, old: Value, new: Value, place: tuple[Step, ...]) -> None:
    """An array (`old`, by itself) got a new version: everything that shows it follows."""
    found = origin(s, old)
    _check_owner(s, found.objects)
    s.origins[new] = found
    _follow(s, found.objects, {old: new}, new, place)


def _check_owner(s: Session, objects: frozenset[Value]) -> None:
    captured = {c.value: c for c in s.captures}
    for object_ in objects:
        if object_ in captured or _is_captured(s, object_):
            s.refuse(
                errors.MutationError,
                "cannot write into an array from outside the function",
                why="a global or enclosing array would change with every gradient.",
                help=("write into a copy:  y = y.copy()", "or pass the array as an argument"),
            )
        s.written_objects += (object_, *s.began.get(object_, ()))
        s.note_write(object_)


def _is_captured(s: Session, object_: Value) -> bool:
    path = s.paths.get(object_)
    return path is not None and path[0][0] != "param"


def _follow(
    s: Session,
    objects: frozenset[Value],
    new: dict[Value, Value],
    root: Value | None,
    place: tuple[Step, ...],
) -> None:
    """Bind the new versions wherever the old ones, or views of them, are reachable."""
    where = s.builder.where
    taken: dict[Value, Box] = dict(new)

    def change(box: Box) -> Box | None:
        if not isinstance(box, Value):
            return None
        if box in taken:
            return taken[box]
        found = origin(s, box)
        if found.everything.isdisjoint(objects):
            return None
        if root is None or not found.is_exact or found.objects.isdisjoint(objects):
            taken[box] = Stale(box, where)
        elif found.steps == ():
            taken[box] = root
        elif are_disjoint(found.steps or (), place):
            return None
        else:
            taken[box] = realised(s, root, found.steps or (), box.hint)
        return taken[box]

    for frame in s.frames:
        for name, box in list(frame.env.items()):
            frame.env[name] = mapped(box, change)
    _refuse_hidden(s, objects)


def _refuse_hidden(s: Session, objects: frozenset[Value]) -> None:
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


def _left_frames(s: Session) -> list[Frame]:
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


def _functions_frames(box: Box) -> list[Any]:
    if isinstance(box, FunctionBox):
        return [box.frame]
    return [frame for part in inner_boxes(box) for frame in _functions_frames(part)]


# ------------------------------------------------------------------------------ structures
def note_part(s: Session, value: Value, key: Any, part: Value) -> None:
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
