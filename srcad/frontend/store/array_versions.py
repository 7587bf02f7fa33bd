"""Versions of arrays: after a write, every alias of the memory gets a new version.

An alias is bound to the new version, a view is taken anew, and a name of which it is not known
what it shows becomes `Stale`: reading it afterwards is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcad import errors, runtime
from srcad.frontend.domain.access_paths import SAME, Step, are_disjoint
from srcad.frontend.domain.memory import Either, Origin
from srcad.frontend.domain.structure import Done, components, mapped
from srcad.frontend.domain.values import (
    AbstractValue,
    Env,
    Frame,
    FunctionValue,
    GeneratorValue,
    Stale,
)
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside import places, work_arrays
from srcad.frontend.store.origins import bases, inner_values, is_doubtful, origin, realised
from srcad.frontend.store.ownership import check_owner, restart_for_ownership, with_beginnings
from srcad.ir.core import UNDEF, Atom, Block, Const, If, Value
from srcad.ir.traits import is_indexed
from srcad.startup.records import replace

# Values that are one array where a test holds and another where it does not.
#
# Where paths meet, a name may show the memory of one array or that of another, and both go on to
# be read. The test that chose between them is kept: what a write through such a name does, and
# what such a name is after a write through another, is decided by the same test again.

Resolve = Callable[[Value], Value | None]


def chosen_again(state: Machine, either: Either, value: Value, resolve: Resolve) -> Value | None:
    """Return a value after something has changed: `resolve` tells what it is on either path.

    `resolve` gives the value itself where nothing has changed, None where nobody knows.
    """
    blocks: list[Block] = []
    for side in (either.left, either.right):
        with state.block() as builder:
            found = value if side == UNDEF or isinstance(side, Const) else resolve(side)
        if found is None:
            return None
        blocks.append(Block((), tuple(builder.ops), (found,)))
    output = Value(value.type, value.hint)
    op = If(
        test=either.test,
        then=blocks[0],
        orelse=blocks[1],
        outputs=(output,),
        where=state.builder.where,
        half=state.builder.half,
    )
    state.builder.ops.append(op)
    take_over(state, value, output)
    return output


def bound_if(state: Machine, test: Atom, build: Callable[[], AbstractValue]) -> Value:
    """Return what is made where a test holds; nothing reads it elsewhere."""
    with state.block() as builder:
        made = build()
    assert isinstance(made, Value)
    output = Value(made.type, made.hint)
    then, orelse = Block((), tuple(builder.ops), (made,)), Block((), (), (UNDEF,))
    state.builder.ops.append(
        If(
            test=test,
            then=then,
            orelse=orelse,
            outputs=(output,),
            where=state.builder.where,
            half=state.builder.half,
        )
    )
    take_over(state, made, output)
    state.partial.add(output)
    return output


def take_over(state: Machine, old: Value, new: Value) -> None:
    """Note that a value is another version of what an ambiguous one was."""
    tables: tuple[dict[Value, Any], ...] = (
        state.origins,
        state.either,
        state.perhaps_unbound,
        state.unbound_if,
    )
    for table in tables:
        if old in table:
            table[new] = table[old]
    if old in state.active:
        state.active.add(new)


def overwritten(state: Machine, old: Value, new: Value) -> None:
    """Bind a new version of an array of which only the value is known; others are stale."""
    where = origin(state, old)
    check_owner(state, where.objects)
    state.origins[new] = Origin(frozenset({new}))
    state.laid_as[new] = SAME, (old,)
    _follow(state, where.objects, {old: new}, None, where.steps or () if where.is_exact else ())


def written_in_part(state: Machine, value: Value) -> None:
    """Note that what follows may leave some of an array written when it fails."""
    for object_ in origin(state, value).everything:
        state.note_write(object_)


def perhaps_written(state: Machine, value: Value) -> None:
    """Make stale what may be a number, which stays, or an array, which has changed."""
    objects = origin(state, value).objects
    if is_doubtful(state, value):
        restart_for_ownership(state)
        state.emit(runtime.check_not_array, value, effect=True)
        return
    check_owner(state, objects)
    _follow(state, objects, {}, None, ())


def rewritten(state: Machine, old: Value, new: Value, place: tuple[Step, ...]) -> None:
    """Bind a new version of the array `old`; everything that shows it follows."""
    found = origin(state, old)
    check_owner(state, found.objects)
    state.origins[new] = found
    state.laid_as[new] = SAME, (old,)
    _follow(state, found.objects, {old: new}, new, place)


def _follow(
    state: Machine,
    objects: frozenset[Value],
    new: dict[Value, Value],
    root: Value | None,
    place: tuple[Step, ...],
) -> None:
    """Bind the new versions wherever the old ones, or views of them, are reachable."""
    where = state.builder.where
    taken: dict[Value, AbstractValue] = dict(new)

    def change(box: AbstractValue) -> AbstractValue | None:
        if not isinstance(box, Value):
            return None
        if box not in taken:
            if origin(state, box).everything.isdisjoint(objects):
                return None
            if root is not None:
                now = _current_view(state, objects, root, place, box, box)
            elif _is_disjoint_view(origin(state, box), objects, place):
                return None
            else:
                now = next(
                    (
                        realised(state, new[base], steps, box.hint)
                        for base, steps in bases(state, box)
                        if base in new
                    ),
                    None,
                )
            taken[box] = Stale(box, where) if now is None else now
        return taken[box]

    done: Done = {}
    before = dict(state.frames[0].env) if state.outside.written else {}
    for frame in state.frames:
        for name, box in list(frame.env.items()):
            frame.env[name] = mapped(box, change, done)
    refuse_hidden(state, with_beginnings(state, objects))
    if before:
        places.note_array_written(state, before, lambda box: _may_show(state, box, objects))
        _write_through(state, before, root, place)


def _write_through(
    state: Machine, before: Env, root: Value | None, place: tuple[Step, ...]
) -> None:
    """Repeat a store into versions of work arrays on the captured arrays.

    `place` are the views from `root`, the new version, to the index that was written; `root` is
    None where the index is unknown, and the whole array is written then.
    """
    for array, new in work_arrays.changed(state, before):
        if new is not root or not place:
            work_arrays.write(state, array, Const(Ellipsis), new)
            continue
        last = place[-1]
        is_item = is_indexed(last.target)
        view = realised(state, array, place[:-1] if is_item else place)
        index = last.args[0] if is_item else Const(Ellipsis)
        work_arrays.write(state, view, index, realised(state, new, place))


def _is_disjoint_view(where: Origin, objects: frozenset[Value], place: tuple[Step, ...]) -> bool:
    """Return True if a view certainly shows nothing of the place that was written."""
    if not where.is_exact or where.objects != objects or len(objects) != 1:
        return False
    return are_disjoint(where.steps or (), place)


def _may_show(state: Machine, box: AbstractValue, objects: frozenset[Value]) -> bool:
    """Return True if a box may show some of these arrays; of what is not bound nobody knows."""
    values = list(inner_values(box))
    shown = any(not origin(state, value).everything.isdisjoint(objects) for value in values)
    return shown or not values


def _current_view(
    state: Machine,
    objects: frozenset[Value],
    root: Value,
    place: tuple[Step, ...],
    was: Value,
    value: Value,
) -> Value | None:
    """Return the value that shows what `was` showed, in the place of `value`; None if unknown."""
    found = origin(state, was)
    if found.everything.isdisjoint(objects):
        return value
    if not found.is_exact:
        chosen = state.either.get(was)
        if chosen is None:
            return None
        return chosen_again(
            state,
            chosen,
            value,
            lambda side: _current_view(state, objects, root, place, side, value),
        )
    assert found.steps is not None
    if found.objects.isdisjoint(objects):
        return _with_latest(state, value, objects, root)  # a container that may hold the array
    if are_disjoint(found.steps, place):
        return value
    return realised(state, root, found.steps, value.hint) if found.steps else root


def _with_latest(
    state: Machine, items: Value, objects: frozenset[Value], root: Value
) -> Value | None:
    """Return the list of a dict's values with the last stored one as it is now."""
    latest = state.dicts.latest.get(items)
    if latest is None or objects != {latest.object_}:
        return None
    new = state.replaced(items, latest.place, root, hint=items.hint)
    state.dicts.latest[new] = replace(latest, value=root)
    return new


def refuse_hidden(state: Machine, objects: frozenset[Value]) -> None:
    """Refuse a write that a function which has left its surroundings would see."""
    for frame in _returned_frames(state):
        for name, box in frame.env.items():
            if any(not origin(state, v).everything.isdisjoint(objects) for v in inner_values(box)):
                state.refuse(
                    errors.MutationError,
                    f"cannot write into {name!r}, which a local function holds",
                    why="the function that bound it has returned.",
                    help=("pass the array as an argument",),
                )


def _returned_frames(state: Machine) -> list[Frame]:
    """Return the frames that local functions hold and that are not being read any more."""
    live, found = set(map(id, state.frames)), dict[int, Any]()
    todo: list[Any] = list(state.frames)
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
