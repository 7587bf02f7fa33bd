"""The user's functions that a derivative calls: which of them are functions in its text."""

from __future__ import annotations

from collections.abc import Iterable

from srcad.calling.showing import Table
from srcad.errors import short_place_of
from srcad.frontend.functions.kept_functions import CalledFunction
from srcad.ir.core import Function, Location, Routine
from srcad.passes.finish import routines_of
from srcad.transforms.routines import Pair


class HelperFunction(str):
    """The name of a function that a derivative calls, with facts about it.

    Attributes
    ----------
    where : Location
        Where the function is defined; `line` is part of that.
    variants : int
        How many functions or pairs of the text are made of it: one for each kind of arguments.
    calls : int
        How many places of the program call it.
    reason : str or None
        Why it is read in the place of its calls; None if it stays a function.
    stands : str
        ``"a pair"`` of a primal and an adjoint, ``"a function"`` where the derivative has no
        reverse pass through it, or ``"in place: "`` and the reason.
    """

    where: Location
    variants: int
    calls: int
    reason: str | None
    stands: str

    @property
    def line(self) -> int:
        """The line in the user's file."""
        return self.where.line

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the row as text."""
        place = short_place_of(self.where.file, self.where.line)
        return str(self), place, str(self.variants or ""), str(self.calls), self.stands


class HelperFunctions(Table[HelperFunction]):
    """The functions of the user that a derivative calls, in the order of their first calls.

    A tuple of names that prints as a table.
    """

    columns = ("function", "line", "variants", "calls", "in the text")
    empty = "no functions are called"


def helper_functions(
    called: Iterable[CalledFunction], function: Function | None
) -> HelperFunctions:
    """Return one row for each function that is called, given the IR that was differentiated."""
    left = set() if function is None else set(routines_of(function))
    return HelperFunctions(_row(one, [r for r in one.routines if r in left]) for one in called)


def _row(called: CalledFunction, routines: list[Routine]) -> HelperFunction:
    row = HelperFunction(called.name)
    row.where, row.calls, row.variants = called.where, len(called.sites), len(routines)
    row.reason = None if routines else called.in_place or "it is small"
    has_pair = any(isinstance(made, Pair) for one in routines for made in one.derived.values())
    row.stands = "a pair" if has_pair else "a function"
    if row.reason is not None:
        row.stands = f"in place: {row.reason}"
    return row
