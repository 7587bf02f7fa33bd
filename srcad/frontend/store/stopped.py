"""Values through which nothing flows: `stop_gradient`, and arguments that are not asked for."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from srcad.frontend.domain.memory import Origin
from srcad.frontend.domain.structure import is_mutable, rebuilt
from srcad.frontend.domain.values import AbstractValue, Constant, DictValue, RecordValue, Structure
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.origins import origin
from srcad.ir.core import Value


def stopped(state: Machine, box: AbstractValue) -> AbstractValue:
    """Return the result of `stop_gradient`: the same parts without derivatives.

    A list, dict or object of which a part is differentiated is another one from here on, though
    Python has one; so neither may be written into.
    """
    result = constant_of(state, box)
    _note(state, box, result)
    return result


def _note(state: Machine, box: AbstractValue, result: AbstractValue) -> None:
    if not isinstance(box, Structure) or not isinstance(result, Structure) or box is result:
        return
    if is_mutable(box):
        state.objects.stopped += [box, result]
    for before, after in zip(box.items, result.items, strict=True):
        _note(state, before, after)


def constant_of(state: Machine, box: AbstractValue) -> AbstractValue:
    """Return the same parts as new values through which nothing flows."""
    if isinstance(box, Structure):
        items = tuple(constant_of(state, item) for item in box.items)
        same = all(a is b for a, b in zip(items, box.items, strict=True))
        return box if same else rebuilt(box, items)
    if isinstance(box, Constant) and box.atom is not None:  # an object that is read as it is
        state.active.discard(box.atom)
    stops = state.inactive.on_copies or state.stops_all or bool(state.outside.unseen)
    if not isinstance(box, Value) or (box not in state.active and not stops):
        return box
    result = state.builder.stop(box, type=box.type, hint=box.hint)
    state.origins[result] = Origin(origin(state, box).everything, None)
    return result


def differentiated_in(
    state: Machine, box: AbstractValue, wanted: Collection[tuple[Any, ...]]
) -> AbstractValue:
    """Return a structure of which only the parts behind these keys are differentiated by."""
    if not isinstance(box, Structure) or () in wanted:
        return box
    keys = box.keys if isinstance(box, DictValue | RecordValue) else range(len(box.items))
    parts: list[AbstractValue] = []
    for key, part in zip(keys, box.items, strict=True):
        inside = {path[1:] for path in wanted if path[0] == key}
        parts.append(differentiated_in(state, part, inside) if inside else constant_of(state, part))
    return rebuilt(box, tuple(parts))
