"""Lists, dicts and objects under several names, and what a write into one leaves behind.

An object is a box, and its identity is the object's: a write binds the new box wherever the old
one is reachable.  That is not enough for an object that is held by a *value*, a list whose items
are known at the call only: such an `Element` also knows which list holds it, and at which index if
that is known.  A write through it makes a new version of the list; what else may show an item
of the same list becomes `Stale`.  Where the path is not known the write is refused, at both places.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NoReturn

from srcad import errors
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    FunctionValue,
    GeneratorValue,
    IteratorValue,
    Path,
    Stale,
    Structure,
    components,
    is_mutable,
    mapped,
    mutable_parts,
)
from srcad.frontend.outside import places
from srcad.frontend.outside.places import is_argument
from srcad.frontend.store.origins import note_version
from srcad.frontend.store.ownership import refuse_kept
from srcad.ir import primitives
from srcad.ir.core import Arg, Atom, Const, Location, Value
from srcad.ir.memory import is_one_of
from srcad.startup.records import dataclass, field
from srcad.types.structures import ListOf, TupleOf, Type

if TYPE_CHECKING:
    from srcad.frontend.machine.machine import Frame, Machine


@dataclass(frozen=True, eq=False)
class Element:
    """An object that a list holds at an index (None: it is not known where).

    `where` is the place where it went into the list, or was read from it; `inner` says that it is
    a part of an object that the list holds.
    """

    container: Value | None
    index: AbstractValue | None
    where: Location | None
    inner: bool = False


@dataclass(eq=False)
class Objects:
    """What is known of the objects of one function.

    `families` joins lists that may hold the same objects, `newer` leads from a list to its next
    version, `repeated` are lists that may hold one object twice (or share it with another list),
    `resized` those that were made longer or shorter, `wanted` those of which an item was to be
    written whose place was not known, `arguments` the caller's objects that are written into;
    `classes` tells how the classes of objects that were made are reached.
    """

    elements: dict[AbstractValue, Element] = field(default_factory=dict)
    families: dict[Value, Value] = field(default_factory=dict)
    newer: dict[Value, Value] = field(default_factory=dict)
    repeated: list[Value] = field(default_factory=list)
    resized: list[AbstractValue] = field(default_factory=list)
    wanted: list[AbstractValue] = field(default_factory=list)
    arguments: dict[Value, Location | None] = field(default_factory=dict)
    classes: dict[type, Path | None] = field(default_factory=dict)

    def copy(self) -> Objects:
        """What is known now, to go back to."""
        return Objects(
            dict(self.elements), dict(self.families), dict(self.newer), list(self.repeated),
            list(self.resized), list(self.wanted), dict(self.arguments), dict(self.classes),
        )  # fmt: skip


# ------------------------------------------------------------------------------ noting
def holds_objects(type_: Type) -> bool:
    """Whether the items of a list are objects that can be written into."""
    if isinstance(type_, TupleOf):
        named = type_.cls if type_.keys is not None or type_.cls is list else tuple
        return not issubclass(named, tuple) or any(holds_objects(t) for t in type_.items)
    return isinstance(type_, ListOf)


def note_element(s: Machine, target: Any, args: tuple[Arg, ...], result: Value) -> None:
    """Note that a value was read out of a list, or is a new version of one."""
    first = args[0] if args else None
    if not isinstance(first, Value):
        return
    if is_one_of(target, _VERSIONS):
        unite(s, first, result)
    if not is_one_of(target, _READS) or not holds_objects(result.type):
        return
    where = s.builder.where
    if isinstance(first.type, ListOf):
        whole = target is operator.getitem and not isinstance(args[1], Value | Const)
        if whole:
            repeat(s, result, first)
        else:
            index = args[1] if isinstance(args[1], Value) else s.box(args[1])  # type: ignore[arg-type]
            s.objects.elements[result] = Element(first, index, where)
    elif first in s.objects.elements or target is operator.getitem:
        known = s.objects.elements.get(first)
        container = None if known is None else known.container
        inner = target is not operator.getitem and container is not None
        s.objects.elements[result] = Element(container, None, where, inner)


_READS = frozenset({operator.getitem, primitives.item, primitives.field})
_VERSIONS = frozenset(
    {primitives.append, primitives.extended, primitives.inserted, primitives.replaced,
     primitives.without}
)  # fmt: skip


def family(s: Machine, value: Value) -> Value:
    """The representative of all lists that may hold the same objects."""
    while value in s.objects.families:
        value = s.objects.families[value]
    return value


def unite(s: Machine, a: Value, b: Value) -> None:
    """Two lists may hold the same objects."""
    first, second = family(s, a), family(s, b)
    if first is not second:
        s.objects.families[second] = first


def element_of(s: Machine, box: AbstractValue) -> Element | None:
    """Where a list holds an object, if one does."""
    found = s.objects.elements.get(box)
    source = getattr(box, "source", None)
    return s.objects.elements.get(source) if found is None and source is not None else found


def bury(s: Machine, holder: Structure) -> None:
    """The objects in a structure are now held by a value, too: writes cannot be followed there."""
    for part in holder.items:
        for inner in mutable_parts(part):
            s.objects.elements.setdefault(inner, Element(None, None, s.builder.where))


def placed(s: Machine, box: AbstractValue) -> Atom:
    """The value of something that goes into a list, which is its only place if it had none."""
    free = [part for part in mutable_parts(box) if element_of(s, part) is None]
    atom = s.atom(box)
    for part in free:
        s.objects.elements.pop(part, None)
    return atom


def held_by(s: Machine, box: AbstractValue, container: Value, index: AbstractValue | None) -> None:
    """An object went into a list; if another one holds it, it has two places."""
    for inner in mutable_parts(box):
        before = element_of(s, inner)
        if before is not None:
            repeat(s, container, *([] if before.container is None else [before.container]))
        known = index if inner is box and before is None else None
        s.objects.elements[inner] = Element(container, known, s.builder.where)


def repeat(s: Machine, result: Value, *lists: Any) -> None:
    """The same objects may be items of several lists, or of one list several times."""
    for other in lists:
        if isinstance(other, Value):
            unite(s, result, other)
    if isinstance(result.type, ListOf) and holds_objects(result.type.item):
        s.objects.repeated.append(result)


def detach(s: Machine, items: Value, index: AbstractValue) -> None:
    """An item of a list was replaced: what was read there before has left the list."""
    root = family(s, items)
    for _, box in s.reachable():
        for part in mutable_parts(box):
            element = element_of(s, part)
            if element is None or element.container is None or element.index is None:
                continue
            if family(s, element.container) is root and not _apart(element.index, index):
                s.objects.elements[part] = Element(element.container, None, element.where)


def doubtful(s: Machine, box: AbstractValue) -> None:
    """It is not known under which names an object goes: writing into it is refused."""
    for inner in mutable_parts(box):
        s.objects.elements[inner] = Element(None, None, s.builder.where)


# ------------------------------------------------------------------------------ writing
def of_family(s: Machine, value: Value, box: AbstractValue) -> bool:
    """Whether two lists may hold the same objects, or be the same list."""
    return isinstance(box, Value) and family(s, box) is family(s, value)


def resizes(s: Machine, lists: list[AbstractValue], since: int) -> bool:
    """Whether any of these lists was made longer or shorter."""
    return any(
        box in lists or any(isinstance(a, Value) and of_family(s, a, box) for a in lists)
        for box in s.objects.resized[since:]
    )


def write(
    s: Machine,
    old: AbstractValue,
    new: AbstractValue,
    *,
    keeps_places: bool = True,
    resizes: bool = True,
) -> None:
    """An object was written into: bind its new version under all its names.

    `keeps_places` says that the other items of a list stand where they stood; `resizes` that it
    may be longer or shorter now.
    """
    if resizes:
        s.objects.resized.append(old)
    check_owner(s, old)
    _refuse_hidden(s, old)
    element = element_of(s, old)
    place = None if element is None or element.inner else _place(s, element)
    first = dict(s.frames[0].env) if s.outside.written else {}
    held = s.replace_everywhere(old, new)
    if first:
        places.changed(s, first, lambda _: False)
    if element is not None and element.inner:
        _keep_inner(s, element, new, held)
    if isinstance(old, Value) and isinstance(new, Value):
        unite(s, old, new)
        note_version(s, old, new)
        if keeps_places:
            s.objects.newer[old] = new
    for before, after in held:
        _carry(s, before, after)
        if resizes and isinstance(before, IteratorValue) and before.kind == "reversed":
            _refuse_resized(s)
    if place is not None:
        container, index = place
        version = s.emit(primitives.replaced, container, index, placed(s, new), hint=container.hint)
        s.objects.elements[new] = Element(version, index, s.builder.where)
        _make_others_stale(s, new, container, index)
        write(s, container, version, resizes=False)


def _refuse_resized(s: Machine) -> NoReturn:
    s.refuse(
        errors.MutationError,
        "cannot make a list longer or shorter between 'reversed' and its use",
        why="Python goes back from the place where the list ended before.",
        help=("go through a copy:  reversed(list(x))",),
    )


def _keep_inner(
    s: Machine,
    element: Element,
    new: AbstractValue,
    held: list[tuple[AbstractValue, AbstractValue]],
) -> None:
    """A part of an item of a list was written: the item must be at hand, to be put back."""
    if not any(_is_item(s, before) for before, _ in held):
        _place(s, element)
    s.objects.elements[new] = element


def _is_item(s: Machine, box: AbstractValue) -> bool:
    element = element_of(s, box)
    return element is not None and element.index is not None


def _refuse_hidden(s: Machine, old: AbstractValue) -> None:
    """Refuse a write that a local function would see which has left its surroundings."""
    frames = [frame for _, box in s.reachable() for frame in _frames(box)]
    seen = list(s.frames)
    while frames:
        frame = frames.pop()
        if frame is None or any(frame is other for other in seen):
            continue
        seen.append(frame)
        frames += [frame.outer, *(f for box in frame.env.values() for f in _frames(box))]
        if any(_holds(box, old) for box in frame.env.values()):
            s.refuse(
                errors.MutationError,
                "cannot write into an object that a local function holds",
                why=f"{frame.name!r}, which bound it, has returned.",
                help=("pass the object as an argument",),
            )


def _frames(box: AbstractValue) -> list[Frame | None]:
    """The surroundings of the local functions in a box."""
    own: list[Frame | None] = []
    if isinstance(box, FunctionValue) and box.names is None:
        own = [box.frame]
    elif isinstance(box, GeneratorValue):
        own = [box.callee.frame]
    return own + [frame for part in components(box) for frame in _frames(part)]


def _carry(s: Machine, before: AbstractValue, after: AbstractValue) -> None:
    """A structure that holds the object has a new version: it is held where the old one was."""
    element = element_of(s, before)
    if element is None or not is_mutable(before):
        return
    container, index = _place(s, element)
    version = s.emit(primitives.replaced, container, index, placed(s, after), hint=container.hint)
    s.objects.elements[after] = Element(version, index, s.builder.where)
    _make_others_stale(s, after, container, index)
    write(s, container, version, resizes=False)


def _place(s: Machine, element: Element) -> tuple[Value, AbstractValue]:
    """The list that holds an object as it is now, and where in it."""
    container, index = _current(s, element.container), element.index
    if index is None and element.container is not None:
        s.objects.wanted.append(element.container)
    if container is None or index is None:
        _refuse_unknown_path(s, element)
    if any(of_family(s, container, value) for value in s.objects.repeated):
        _refuse_unknown_path(s, element)
    return container, index


def _current(s: Machine, container: Value | None) -> Value | None:
    """The version of a list that is there now: one that a name, or another such list, holds."""
    while container is not None:
        element = s.objects.elements.get(container)
        if element is not None and element.container is not None:
            if _current(s, element.container) is not None:
                return container
        elif any(_holds(box, container) for _, box in s.reachable()):
            return container
        container = s.objects.newer.get(container)
    return None


def _holds(box: AbstractValue, value: AbstractValue) -> bool:
    return box is value or any(_holds(part, value) for part in components(box))


def _refuse_unknown_path(s: Machine, element: Element) -> NoReturn:
    raise errors.MutationError(
        f"cannot write into an object that may have other names in {s.user_frame.name!r}",
        where=s.builder.where,
        second=element.where,
        why="a list, or another path of the program, holds it too; it is not known where.",
        help=("write before it is put there", "or write into a copy"),
    )


def _make_others_stale(
    s: Machine, new: AbstractValue, container: Value, index: AbstractValue
) -> None:
    """What may be the same item, read before, does not show the write."""
    root, where = family(s, container), s.builder.where

    def change(box: AbstractValue) -> AbstractValue | None:
        if box is new:
            return box
        if not is_mutable(box):
            return None
        element = element_of(s, box)
        if element is None or element.container is None:
            return None
        if family(s, element.container) is not root or _apart(element.index, index):
            return None
        return Stale(box, where)

    done: dict[int, tuple[AbstractValue, AbstractValue]] = {}
    for frame in s.frames:
        for name, box in frame.env.items():
            frame.env[name] = mapped(box, change, done)


def _apart(a: AbstractValue | None, b: AbstractValue) -> bool:
    if not isinstance(a, Constant) or not isinstance(b, Constant):
        return False
    return bool(a.value != b.value and (a.value < 0) == (b.value < 0))


def check_owner(s: Machine, box: AbstractValue) -> None:
    """Refuse to write into a container of the surroundings: it would change with every call."""
    if box in s.inactive.kept:
        refuse_kept(s)
    source = box if isinstance(box, Value) else getattr(box, "source", None)
    path = s.paths.get(source) if source is not None else None
    if path is not None and not is_argument(s, path):
        places.hold(s, path)
        s.refuse(
            errors.MutationError,
            "cannot write into an object from outside the function",
            why="a global or enclosing object would change with every gradient.",
            help=("pass it as an argument, or write into a copy",),
        )
    if path is not None and source is not None:
        s.objects.arguments[source] = s.builder.where
