"""Writing into lists, dicts and objects: the new version is bound wherever the old one was."""

from __future__ import annotations

import inspect
from typing import NoReturn

from srcad import errors
from srcad.frontend.domain.memory import Element
from srcad.frontend.domain.structure import components, is_mutable, mapped
from srcad.frontend.domain.values import (
    AbstractValue,
    AttributesValue,
    DictValue,
    Frame,
    FunctionValue,
    GeneratorValue,
    IteratorValue,
    RecordValue,
    Stale,
)
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside import places
from srcad.frontend.outside.places import is_argument
from srcad.frontend.store.aliases import element_of, indices_differ, placed
from srcad.frontend.store.origins import note_version
from srcad.frontend.store.ownership import refuse_memoized
from srcad.ir.core import Value


def of_family(state: Machine, value: Value, box: AbstractValue) -> bool:
    """Return True if two lists may hold the same objects, or be the same list."""
    return isinstance(box, Value) and state.objects.families.find(
        box
    ) is state.objects.families.find(value)


def resizes(state: Machine, lists: list[AbstractValue], since: int) -> bool:
    """Return True if any of these lists was made longer or shorter."""
    return any(
        box in lists or any(isinstance(a, Value) and of_family(state, a, box) for a in lists)
        for box in state.objects.resized[since:]
    )


def write(
    state: Machine,
    old: AbstractValue,
    new: AbstractValue,
    *,
    keeps_places: bool = True,
    resizes: bool = True,
) -> None:
    """Bind the new version of a written object under all its names.

    `keeps_places` says that the other items of a list stand where they stood; `resizes` that it
    may be longer or shorter now.
    """
    if isinstance(old, AttributesValue) and isinstance(new, DictValue):
        record = old.of
        old, new = record, _with_attributes(state, record, new)
    if resizes:
        state.objects.resized.append(old)
    check_container_owner(state, old)
    _refuse_handed(state, old)
    _refuse_hidden(state, old)
    element = element_of(state, old)
    place = None if element is None or element.inner else _place(state, element)
    first = dict(state.frames[0].env) if state.outside.written else {}
    held = state.replace_everywhere(old, new)
    if first:
        places.note_array_written(state, first, lambda _: False)
    if element is not None and element.inner:
        _keep_inner(state, element, new, held)
    if isinstance(old, Value) and isinstance(new, Value):
        state.objects.families.join(old, new)
        note_version(state, old, new)
        if keeps_places:
            state.objects.newer[old] = new
    for before, after in held:
        _carry(state, before, after)
        if resizes and isinstance(before, IteratorValue) and before.kind == "reversed":
            _refuse_resized(state)
    if place is not None:
        container, index = place
        version = state.replaced(container, index, placed(state, new), hint=container.hint)
        state.objects.elements[new] = Element(version, index, state.builder.where)
        _make_others_stale(state, new, container, index)
        write(state, container, version, resizes=False)


def _with_attributes(state: Machine, box: RecordValue, attributes: DictValue) -> RecordValue:
    """Return the object after a write into its ``__dict__``."""
    for name in attributes.keys:
        found = inspect.getattr_static(box.cls, name, None) if isinstance(name, str) else property
        if hasattr(found if isinstance(found, type) else type(found), "__set__"):
            state.refuse(
                errors.MutationError,
                f"cannot write {name!r} into the '__dict__' of an object",
                why="it is no attribute there, because the class has one of this name.",
                help=("write it by its name:  setattr(x, name, value)",),
            )
    return RecordValue(box.cls, attributes.keys, attributes.items)


def _refuse_handed(state: Machine, old: AbstractValue) -> None:
    """Refuse a write of an unrolled recursion into a container of the caller's.

    What the recursion remembers there is there in the next call, without its derivative.
    """
    if old in state.handed and any(key in state.unrolled for key, _ in state.inlining):
        state.refuse(
            errors.MutationError,
            "a recursive function writes into a container that is an argument",
            why="what it remembers there would have no derivative in the next call.",
            help=("make the container inside the function:  memo = {}",),
        )


def _refuse_resized(state: Machine) -> NoReturn:
    state.refuse(
        errors.MutationError,
        "cannot make a list longer or shorter between 'reversed' and its use",
        why="Python goes back from the place where the list ended before.",
        help=("go through a copy:  reversed(list(x))",),
    )


def _keep_inner(
    state: Machine,
    element: Element,
    new: AbstractValue,
    held: list[tuple[AbstractValue, AbstractValue]],
) -> None:
    """Put back an item of a list of which a part was written."""
    if not any(_is_item(state, before) for before, _ in held):
        _place(state, element)
    state.objects.elements[new] = element


def _is_item(state: Machine, box: AbstractValue) -> bool:
    element = element_of(state, box)
    return element is not None and element.index is not None


def _refuse_hidden(state: Machine, old: AbstractValue) -> None:
    """Refuse a write that a local function would see which has left its surroundings."""
    frames = [frame for _, box in state.reachable() for frame in _frames(box)]
    seen = list(state.frames)
    while frames:
        frame = frames.pop()
        if frame is None or any(frame is other for other in seen):
            continue
        seen.append(frame)
        frames += [frame.outer, *(f for box in frame.env.values() for f in _frames(box))]
        if any(_holds(box, old) for box in frame.env.values()):
            state.refuse(
                errors.MutationError,
                "cannot write into an object that a local function holds",
                why=f"{frame.name!r}, which bound it, has returned.",
                help=("pass the object as an argument",),
            )


def _frames(box: AbstractValue) -> list[Frame | None]:
    """Return the surroundings of the local functions in a box."""
    own: list[Frame | None] = []
    if isinstance(box, FunctionValue) and box.names is None:
        own = [box.frame]
    elif isinstance(box, GeneratorValue):
        own = [box.callee.frame]
    return own + [frame for part in components(box) for frame in _frames(part)]


def _carry(state: Machine, before: AbstractValue, after: AbstractValue) -> None:
    """Bind the new version of a structure that holds the object."""
    element = element_of(state, before)
    if element is None or not is_mutable(before):
        return
    container, index = _place(state, element)
    version = state.replaced(container, index, placed(state, after), hint=container.hint)
    state.objects.elements[after] = Element(version, index, state.builder.where)
    _make_others_stale(state, after, container, index)
    write(state, container, version, resizes=False)


def _place(state: Machine, element: Element) -> tuple[Value, AbstractValue]:
    """Return the list that holds an object as it is now, and where in it."""
    container, index = _current(state, element.container), element.index
    if index is None and element.container is not None:
        state.objects.wanted.append(element.container)
    if container is None or index is None:
        _refuse_unknown_path(state, element)
    if any(of_family(state, container, value) for value in state.objects.repeated):
        _refuse_unknown_path(state, element)
    return container, index


def _current(state: Machine, container: Value | None) -> Value | None:
    """Return the present version of a list, which a name, or another such list, holds."""
    while container is not None:
        element = state.objects.elements.get(container)
        if element is not None and element.container is not None:
            if _current(state, element.container) is not None:
                return container
        elif any(_holds(box, container) for _, box in state.reachable()):
            return container
        container = state.objects.newer.get(container)
    return None


def _holds(box: AbstractValue, value: AbstractValue) -> bool:
    return box is value or any(_holds(part, value) for part in components(box))


def _refuse_unknown_path(state: Machine, element: Element) -> NoReturn:
    raise errors.MutationError(
        f"cannot write into an object that may have other names in {state.user_frame.name!r}",
        where=state.builder.where,
        second=element.where,
        why="a list, or another path of the program, holds it too; it is not known where.",
        help=("write before it is put there", "or write into a copy"),
    )


def _make_others_stale(
    state: Machine, new: AbstractValue, container: Value, index: AbstractValue
) -> None:
    """Make stale what was read before and may be the same item."""
    root, where = state.objects.families.find(container), state.builder.where

    def change(box: AbstractValue) -> AbstractValue | None:
        if box is new:
            return box
        if not is_mutable(box):
            return None
        element = element_of(state, box)
        if element is None or element.container is None:
            return None
        if state.objects.families.find(element.container) is not root or indices_differ(
            element.index, index
        ):
            return None
        return Stale(box, where)

    done: dict[int, tuple[AbstractValue, AbstractValue]] = {}
    for frame in state.frames:
        for name, box in frame.env.items():
            frame.env[name] = mapped(box, change, done)


def check_container_owner(state: Machine, box: AbstractValue) -> None:
    """Refuse to write into a container of the surroundings: it would change with every call."""
    if box in state.inactive.kept:
        refuse_memoized(state)
    if any(box is one for one in state.objects.stopped):
        state.refuse(
            errors.MutationError,
            "cannot write into an object that 'stop_gradient' has returned, or was given",
            why="both names would have to see it, and a derivative flows through one of them only.",
            help=(
                "stop its items instead:  [srcad.stop_gradient(x) for x in items]",
                "or write into it before it is stopped",
            ),
        )
    source = box if isinstance(box, Value) else getattr(box, "source", None)
    path = state.paths.get(source) if source is not None else None
    if path is not None and not is_argument(state, path):
        places.hold(state, path)
        state.refuse(
            errors.MutationError,
            "cannot write into an object from outside the function",
            why="a global or enclosing object would change with every gradient.",
            help=("pass it as an argument, or write into a copy",),
        )
    if path is not None and source is not None:
        state.objects.arguments[source] = state.builder.where
