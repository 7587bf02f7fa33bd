"""The last steps before writing: results of the caller's own, storage used again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from srcad.analysis.freshness import fresh_results, is_writable
from srcad.analysis.ownership import in_place
from srcad.ir.core import Call, Function, Routine, walk
from srcad.ir.verify import verify
from srcad.passes.dce import dce
from srcad.passes.dead_zero_stores import without_dead_zero_stores
from srcad.passes.drop_markers import drop_markers
from srcad.passes.float_literals import with_float_literals
from srcad.passes.fuse import fuse
from srcad.passes.record_lists import with_record_lists
from srcad.passes.sink import sink

# The passes over a finished function and over each routine that it calls, in order.
ORDER: tuple[Callable[[Function], Function], ...] = (
    drop_markers,
    with_float_literals,
    fuse,
    dce,
    sink,
    without_dead_zero_stores,
)


def checked(function: Function) -> Function:
    """Verify the IR where that is asked for: in all tests, and with SRCAD_VERIFY=1."""
    return verify(function) if os.environ.get("SRCAD_VERIFY", "0") not in ("", "0") else function


def finished(function: Function, own: Sequence[int]) -> Function:
    """Make a function ready to be written, with the routines that it calls.

    Parameters
    ----------
    function : Function
        After all transforms.
    own : sequence of int
        The positions of the results that must share memory with nothing else.
    """
    cleaned = checked(_cleaned(function))
    for routine in routines_of(cleaned):
        if _DONE not in routine.derived and routine.function is not None:
            routine.derived[_DONE] = True
            routine.function = checked(
                with_record_lists(in_place(checked(_cleaned(routine.function))))
            )
    made = in_place(checked(fresh_results(cleaned, own, writable=False)))
    made = made if is_writable(made) else fresh_results(made, own)
    return checked(with_record_lists(made))


def _cleaned(function: Function) -> Function:
    for change in ORDER:
        function = change(function)
    return function


_DONE = "finished"


def routines_of(function: Function) -> Iterator[Routine]:
    """Yield the routines that a function reaches, each once."""
    found: set[Routine] = set()
    pending = [function]
    while pending:
        for op in walk(pending.pop().block):
            if not isinstance(op, Call) or not isinstance(op.target, Routine):
                continue
            if op.target not in found:
                found.add(op.target)
                if op.target.function is not None:
                    pending.append(op.target.function)
                yield op.target
