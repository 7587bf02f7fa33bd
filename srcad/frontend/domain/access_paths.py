"""Ways from an array to a place in it: the views that are taken one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from srcad.frontend.domain.values import AbstractValue
from srcad.ir import primitives
from srcad.ir.core import Arg, Const, Value
from srcad.ir.disjoint import index_parts
from srcad.ir.traits import is_indexed
from srcad.startup.records import dataclass
from srcad.types.numeric import Numeric


@dataclass(frozen=True)
class Step:
    """One view: ``target(array, *args, **kwargs)``."""

    target: Any
    args: tuple[Arg, ...] = ()
    kwargs: tuple[tuple[str, Arg], ...] = ()

    @property
    def keywords(self) -> dict[str, AbstractValue | Arg]:
        return dict(self.kwargs)


SAME = Step(primitives.identity)  # the array itself, after a write or by another name


def are_disjoint(a: Sequence[Step], b: Sequence[Step]) -> bool:
    """Return True if two ways into one array certainly lead to different places."""
    for x, y in zip(a, b, strict=False):
        if x == y:
            continue
        if not is_indexed(x.target) or not is_indexed(y.target):
            return False
        return _apart(x.args[0], y.args[0])
    return False


def _apart(a: Arg, b: Arg) -> bool:
    """Return True if two basic indices name different places: some number in them differs."""
    first, second = index_parts(a), index_parts(b)
    for x, y in zip(first, second, strict=False):
        if isinstance(x, Const) and isinstance(y, Const):
            m, n = x.value, y.value
            if type(m) is int and type(n) is int and m != n and (m < 0) == (n < 0):
                return True
            if x != y:
                return False
        elif x != y:
            return False
    return False


def is_number_index(part: Arg) -> bool:
    if isinstance(part, Const):
        return type(part.value) is int
    return isinstance(part, Value) and isinstance(part.type, Numeric) and part.type.is_scalar
