"""Repeat calls silently: under ``np.errstate(all="raise")``, or with warnings as errors.

An infinity of the adjoint is a value, and the user hears of it from nobody unless the primal says
so itself.  The code that runs as a rule is not burdened with that: where it raises, the call is
made again with another form of it, whose reverse half is silent, and takes integers that no float
can hold for infinite.  What must not run twice is asked for its surroundings beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Self

from srcad.backends.interface.tracebacks import add_note
from srcad.modes.calm import is_calm
from srcad.modes.mode import Run
from srcad.startup.locks import COMPILING
from srcad.startup.records import dataclass

FLOATING = (FloatingPointError, RuntimeWarning, OverflowError)


@dataclass(eq=False)
class Quiet:
    """The silent form of a compiled function, made when it is first needed.

    `make` makes it; `repeats` says whether the function may run twice.
    """

    make: Callable[[], Run]
    repeats: bool
    made: Run | None = None

    def form(self) -> Run:
        """Return the silent form."""
        if self.made is None:
            with COMPILING:
                self.made = self.make()
        return self.made


def with_quiet(run: Run, quiet: Quiet) -> Run:
    """Return a compiled function that knows its silent form."""
    run.__dict__["srcad_quiet"] = quiet
    return run


def quiet_of(run: Run) -> Quiet | None:
    """Return the silent form of a compiled function, if there is one."""
    found: Quiet | None = getattr(run, "srcad_quiet", None)
    return found


def form_now(run: Run) -> Run:
    """Return a compiled function, or its silent form if that is what the surroundings ask for."""
    quiet = quiet_of(run)
    return run if quiet is None or is_calm() else quiet.form()


def again(call: Run) -> Run | None:
    """Return the call with which one is repeated that has raised.

    None where nothing is to be repeated.
    """
    run, args = (call.func, call.args) if isinstance(call, partial) else (call, ())
    quiet = quiet_of(run)
    return partial(quiet.form(), *args) if quiet is not None and quiet.repeats else None


class repeated:  # noqa: N801 - reads like contextlib's own
    """Run a call, and hold the `call` with which to repeat it if it raised, None if not.

    Another error gets the user's line.  A class, as `noted` is: a function that ran the call would
    stand between the user and the error as one more frame.
    """

    __slots__ = ("_first", "call")

    def __init__(self, first: Run) -> None:
        self._first = first
        self.call: Run | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, FLOATING):
            self.call = again(self._first)
        if error is not None and self.call is None:
            add_note(error)
        return self.call is not None
