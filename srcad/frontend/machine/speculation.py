"""Speculative interpretation: the state is restored if the code is refused."""

from __future__ import annotations

from collections.abc import Callable

from srcad import errors
from srcad.frontend.domain.values import AbstractValue
from srcad.frontend.machine.machine import Machine


def unless_refused(
    s: Machine, build: Callable[[], AbstractValue]
) -> AbstractValue | errors.SrcadError:
    """Try to interpret; on a refusal roll back names and operations, and return the error."""
    builder, before, count = s.builder, s.snapshot(), len(s.builder.ops)
    objects, used = s.objects.copy(), set(s.inactive.used)
    where = builder.where
    try:
        return build()
    except errors.SrcadError as error:
        s.builder = builder
        del builder.ops[count:]
        s.restore(before)
        s.objects, s.inactive.used = objects, used
        builder.where = where
        return error
