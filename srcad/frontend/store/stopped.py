"""Values through which nothing flows: `stop_gradient`, and arguments that are not asked for."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from srcad.frontend.domain.memory import Origin
from srcad.frontend.domain.structure import rebuilt
from srcad.frontend.domain.values import AbstractValue, DictValue, Structure, TupleValue
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.origins import origin
from srcad.ir.core import Value


def constant_of(s: Machine, box: AbstractValue) -> AbstractValue:
    """The same parts as new values through which nothing flows."""
    if isinstance(box, Structure):
        return rebuilt(box, tuple(constant_of(s, item) for item in box.items))
    if not isinstance(box, Value) or box not in s.active:
        return box
    result = s.builder.stop(box, type=box.type, hint=box.hint)
    s.origins[result] = Origin(origin(s, box).everything, None)
    return result


def differentiated_in(s: Machine, box: AbstractValue, items: Collection[Any]) -> AbstractValue:
    """``*args`` or ``**kw`` of which only these items are differentiated by."""
    if not isinstance(box, TupleValue | DictValue):
        return box
    keys = box.keys if isinstance(box, DictValue) else range(len(box.items))
    parts = zip(keys, box.items, strict=True)
    return rebuilt(box, tuple(b if k in items else constant_of(s, b) for k, b in parts))
