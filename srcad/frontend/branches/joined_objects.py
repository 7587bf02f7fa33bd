"""Objects at joins: after a conditional, at the start of an iteration, after a loop."""

from __future__ import annotations

from srcad.frontend.branches.branch import Branch
from srcad.frontend.domain.memory import Element
from srcad.frontend.domain.structure import components, is_mutable, mutable_parts, values_of
from srcad.frontend.domain.values import (
    AbstractValue,
    AttributesValue,
    BoundValue,
    Choice,
    Constant,
    FunctionValue,
    MethodValue,
    Stale,
    Structure,
    ViewValue,
)
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.aliases import doubtful, element_of
from srcad.frontend.store.origins import current, origin
from srcad.ir.core import Value

Became = dict[tuple[int, int], dict[int, AbstractValue]]


def settle_aliases(
    state: Machine, rows: list[tuple[tuple[AbstractValue, ...], AbstractValue]]
) -> bool:
    """Compare the objects that were on each path with those that there are where paths meet.

    A row has a box on every path and the box that it is afterwards.  An object that goes by two
    names on one path and became two objects is both or one: writing into them is refused.
    Returns whether anything is known at compile time that was not known before.
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
            state.objects.families.join(values[0], other)
    for befores, after in rows:
        changed = _inherit(state, after, befores, became) or changed
        changed = _name(state, after, befores) or changed
    for several in became.values():
        for box in several.values() if len(several) > 1 else ():
            found = state.objects.elements.get(box)
            if found is None or found.index is not None:
                doubtful(state, box)
                changed = True
    return changed


def _name(state: Machine, new: AbstractValue, olds: tuple[AbstractValue, ...]) -> bool:
    """Note which object a box is after a join.

    Returns True if that is not known any more, and has decided a comparison.
    """
    if any(new is old for old in olds):
        return False
    objects = state.objects
    first, *others = map(objects.name_of, olds)
    had = objects.names.get(new, first)
    name = first if had is first and all(first is other for other in others) else None
    objects.names[new] = name
    return name is None and had is not None and had in objects.compared


def _inherit(
    state: Machine, new: AbstractValue, olds: tuple[AbstractValue, ...], became: Became
) -> bool:
    """Record the facts about a box at a join; return True if they are new."""
    elements = [element_of(state, old) for old in olds]
    found = [e for e in elements if e is not None]
    if not found or any(new is old for old in olds):
        return False
    containers = [e.container for e in found if e.container is not None]
    for other in containers[1:]:
        state.objects.families.join(containers[0], other)
    known = state.objects.elements.get(new)
    if known is not None and known.index is None and not known.inner:
        return False
    place = _common_place(elements, became)
    wanted = place or Element(containers[0] if containers else None, None, found[0].where)
    if known is not None and (known.container, known.index, known.inner) == (
        wanted.container,
        wanted.index,
        wanted.inner,
    ):
        return False
    state.objects.elements[new] = wanted
    return True


def _common_place(elements: list[Element | None], became: Became) -> Element | None:
    """Return the place in a list that an object has on every path, if it is the same place."""
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


# ------------------------------------------------------------------- out of the branches
def version_in(state: Machine, part: Value, other: Branch) -> Value | None:
    """Return the version that an array of one branch has in the other, if it is there."""
    found = origin(state, part)
    if found.steps != () or not found.is_exact:
        return None
    (object_,) = found.objects
    return current(state, object_, other.envs)


def made_in(branch: Branch) -> set[Value]:
    """Return the values that the ops of a branch make."""
    return {result for op in branch.builder.ops for result in op.results}


def is_made_of_values(box: AbstractValue) -> bool:
    """Return True if a box is made of values, constants, functions and structures only."""
    if isinstance(box, Value | Constant | Stale):
        return True
    if isinstance(box, Structure | FunctionValue | BoundValue | MethodValue | Choice):
        follows = isinstance(box, ViewValue | AttributesValue)
        return not follows and all(map(is_made_of_values, components(box)))
    return False


def leaks(state: Machine, box: AbstractValue, made: set[Value]) -> bool:
    """Return True if a function in a box holds what was made, by a frame that has returned.

    Nobody can replace it there.
    """
    frame = box.frame if isinstance(box, FunctionValue) and box.names is None else None
    while frame is not None and not any(frame is other for other in state.frames):
        if any(v in made for held in frame.env.values() for v in values_of(held)):
            return True
        frame = frame.outer
    return any(leaks(state, part, made) for part in components(box))


def in_both(pairs: list[tuple[AbstractValue, AbstractValue]]) -> set[int]:
    """Return the objects that are there, and the same, on either path."""
    sides = [{id(part) for pair in pairs for part in mutable_parts(pair[side])} for side in (0, 1)]
    return sides[0] & sides[1]
