"""Objects where paths meet: at the end of a conditional, at the start of a trip, after a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from srcad.frontend.domain.values import (
    UNBOUND,
    AbstractValue,
    BoundValue,
    Choice,
    Constant,
    Done,
    FunctionValue,
    MethodValue,
    Stale,
    Structure,
    ViewValue,
    components,
    is_mutable,
    mapped,
    mutable_parts,
    values_of,
)
from srcad.frontend.store.aliases import Element, doubtful, element_of, unite
from srcad.frontend.store.origins import current, origin
from srcad.ir.core import Value
from srcad.ir.memory import has_storage

if TYPE_CHECKING:
    from srcad.frontend.branches.join import Meeting
    from srcad.frontend.branches.phi import Path
    from srcad.frontend.machine.machine import Machine

Became = dict[tuple[int, int], dict[int, AbstractValue]]


def settle_aliases(s: Machine, rows: list[tuple[tuple[AbstractValue, ...], AbstractValue]]) -> bool:
    """Compare the objects that were on each path with those that there are where paths meet.

    A row has a box on every path and the box that it is afterwards.  An object that goes by two
    names on one path and became two objects is both or one: writing into them is refused.
    Returns whether anything is known now that was not known before.
    """
    changed = False
    became: Became = {}
    rows = [(befores, after) for befores, after in rows if is_mutable(after)]
    for befores, after in rows:
        for path, before in enumerate(befores):
            if is_mutable(before):
                became.setdefault((path, id(before)), {})[id(after)] = after
        values = [b for b in (*befores, after) if isinstance(b, Value)]
        for other in values[1:]:
            unite(s, values[0], other)
    for befores, after in rows:
        changed = _inherit(s, after, befores, became) or changed
    for several in became.values():
        for box in several.values() if len(several) > 1 else ():
            found = s.objects.elements.get(box)
            if found is None or found.index is not None:
                doubtful(s, box)
                changed = True
    return changed


def _inherit(
    s: Machine, new: AbstractValue, olds: tuple[AbstractValue, ...], became: Became
) -> bool:
    """What is known of a box where paths meet; True if it was not known before."""
    elements = [element_of(s, old) for old in olds]
    found = [e for e in elements if e is not None]
    if not found or any(new is old for old in olds):
        return False
    containers = [e.container for e in found if e.container is not None]
    for other in containers[1:]:
        unite(s, containers[0], other)
    known = s.objects.elements.get(new)
    if known is not None and known.index is None and not known.inner:
        return False
    place = _common_place(elements, became)
    wanted = place or Element(containers[0] if containers else None, None, found[0].where)
    if known is not None and (known.container, known.index, known.inner) == (
        wanted.container, wanted.index, wanted.inner
    ):  # fmt: skip
        return False
    s.objects.elements[new] = wanted
    return True


def _common_place(elements: list[Element | None], became: Became) -> Element | None:
    """The place in a list that an object has on every path, if it is the same place."""
    first = elements[0]
    if first is None or first.container is None:
        return None
    after: set[int] = set()
    lists: dict[int, AbstractValue] = {}
    for path, element in enumerate(elements):
        if element is None or element.container is None or element.inner != first.inner:
            return None
        if not _same_index(element.index, first.index) and not first.inner:
            return None
        lists = became.get((path, id(element.container)), {})
        after |= set(lists)
    if len(after) != 1 or len(lists) != 1:
        return None
    (container,) = lists.values()
    if not isinstance(container, Value):
        return None
    return Element(container, first.index, first.where, first.inner)


def _same_index(a: AbstractValue | None, b: AbstractValue | None) -> bool:
    if isinstance(a, Constant) and isinstance(b, Constant):
        return bool(a.value == b.value)
    return a is b and a is not None


# ------------------------------------------------------------------- out of the arms
def carried_out(meeting: Meeting, box: AbstractValue, *, left: bool) -> AbstractValue | None:
    """What an arm leaves, as it can be seen where the paths meet; None if it cannot.

    What has no value of its own, but holds values that were made in the arm, holds the results of
    the conditional instead.
    """
    made = _made_in(meeting.left if left else meeting.right)
    if not _is_plain(box) or _leaks(meeting.session, box, made):
        return None
    kept, done = _in_both(meeting), Done()

    def change(part: AbstractValue) -> AbstractValue | None:
        if isinstance(part, Stale) or id(part) in kept:
            return part
        if not isinstance(part, Value):
            return None
        other: AbstractValue = UNBOUND
        if has_storage(part):
            other = _elsewhere(meeting, part, left=left) or UNBOUND
        if part is other or (other is UNBOUND and part not in made and not is_mutable(part)):
            return part
        return meeting.box(part, other, None) if left else meeting.box(other, part, None)

    found = mapped(box, change, done)
    for before, after in done.values():
        if isinstance(before, Structure) and is_mutable(before) and id(before) not in kept:
            pair = (before, UNBOUND) if left else (UNBOUND, before)
            meeting.objects.append((pair, after))
    return found


def _elsewhere(meeting: Meeting, part: Value, *, left: bool) -> Value | None:
    """The version that an array of one path has on the other, if it is there."""
    found = origin(meeting.session, part)
    if found.steps != () or not found.is_exact:
        return None
    (object_,) = found.objects
    envs = (meeting.right if left else meeting.left).envs
    return current(meeting.session, object_, envs)


def holds_made(meeting: Meeting, box: AbstractValue, *, left: bool) -> bool:
    """Whether a function holds what was made in an arm, where nobody can replace it."""
    path = meeting.left if left else meeting.right
    return _leaks(meeting.session, box, _made_in(path))


def _made_in(path: Path) -> set[Value]:
    return {result for op in path.builder.ops for result in op.results}


def _is_plain(box: AbstractValue) -> bool:
    """Whether a box is made of values, constants, functions and structures only."""
    if isinstance(box, Value | Constant | Stale):
        return True
    if isinstance(box, Structure | FunctionValue | BoundValue | MethodValue | Choice):
        return not isinstance(box, ViewValue) and all(map(_is_plain, components(box)))
    return False


def _leaks(s: Machine, box: AbstractValue, made: set[Value]) -> bool:
    """Whether a function in a box holds values by a frame that has returned."""
    frame = box.frame if isinstance(box, FunctionValue) and box.names is None else None
    while frame is not None and not any(frame is other for other in s.frames):
        if any(v in made for held in frame.env.values() for v in values_of(held)):
            return True
        frame = frame.outer
    return any(_leaks(s, part, made) for part in components(box))


def _in_both(meeting: Meeting) -> set[int]:
    """The objects that are there, and the same, on either path."""
    sides = [
        {id(part) for pair in meeting.pairs for part in mutable_parts(pair[side])}
        for side in (0, 1)
    ]
    return sides[0] & sides[1]
