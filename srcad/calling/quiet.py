"""Repeat calls silently: under ``np.errstate(all="raise")``, or with warnings as errors.

An infinity of the adjoint is a value, and the user hears of it from nobody unless the primal says
so itself.  The code that runs as a rule is not burdened with that: where it raises, the call is
made again with another form of it, whose reverse half is silent, and takes integers that no float
can hold for infinite.  What must not run twice is asked for its surroundings beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from srcad.backends.interface.tracebacks import noted
from srcad.modes.calm import errors_are_ignored
from srcad.modes.mode import Run
from srcad.startup.locks import COMPILING
from srcad.startup.records import dataclass

FLOATING = (FloatingPointError, RuntimeWarning, OverflowError)


@dataclass(eq=False)
class SilentForm:
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


def with_silent_form(run: Run, quiet: SilentForm) -> Run:
    """Return a compiled function that knows its silent form."""
    run.__dict__["srcad_quiet"] = quiet
    return run


def silent_form_of(run: Run) -> SilentForm | None:
    """Return the silent form of a compiled function, if there is one."""
    found: SilentForm | None = getattr(run, "srcad_quiet", None)
    return found


def current_form(run: Run) -> Run:
    """Return a compiled function, or its silent form if that is what the surroundings ask for."""
    quiet = silent_form_of(run)
    return run if quiet is None or errors_are_ignored() else quiet.form()


def again(call: Run) -> Run | None:
    """Return the call with which one is repeated that has raised.

    None where nothing is to be repeated.
    """
    run, args = (call.func, call.args) if isinstance(call, partial) else (call, ())
    quiet = silent_form_of(run)
    return partial(quiet.form(), *args) if quiet is not None and quiet.repeats else None


def run_with_retry(call: Run, *given: Any) -> Any:
    """Return ``call()``; if that raises a floating-point error, the result of the silent form.

    With `given`, ``call()`` is a function that is called with them.
    """
    try:
        with noted():
            return call()(*given) if given else call()
    except FLOATING:
        silent = again(call)
        if silent is None:
            raise
    with noted():
        return silent()(*given) if given else silent()
