"""Reading what may turn out to be refused: then it is as if nothing had been read."""

from __future__ import annotations

from collections.abc import Callable

from srcad import errors
from srcad.frontend.boxes import Box
from srcad.frontend.scope import Session


def unless_refused(s: Session, build: Callable[[], Box]) -> Box | errors.SrcadError:
    """What was read, or the refusal; then nothing has happened."""
    builder, before, count = s.builder, s.snapshot(), len(s.builder.ops)
    objects = s.objects.copy()
    where = builder.where
    try:
        return build()
    except errors.SrcadError as error:
        s.builder = builder
        del builder.ops[count:]
        s.restore(before)
        s.objects = objects
        builder.where = where
        return error
