"""Calls under ``np.errstate(all="raise")``, or where warnings are errors.

An infinity of the adjoint is a value, and the user hears of it from nobody unless the primal says
so itself.  The code that runs as a rule is not burdened with that: where it raises, the call is
made again with another form of it, whose reverse half is silent.  What must not run twice is asked
for its surroundings beforehand.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy._core import umath

from srcad.startup.records import dataclass

Run = Callable[..., Any]
FLOATING = (FloatingPointError, RuntimeWarning)
_LOUD = ("raise", "call", "print", "log")
# Where NumPy keeps what `np.geterr` tells; were it elsewhere, that would be asked at each call.
_handling: Callable[[], Any] = getattr(getattr(umath, "_extobj_contextvar", None), "get", object)


@dataclass
class _Known:
    """How NumPy and `warnings` were set when they were last found to be calm."""

    handling: Any = None
    filter: Any = None


_known = _Known()


@dataclass(eq=False)
class Quiet:
    """The silent form of a compiled function, made when it is first needed.

    `make` makes it; `repeats` says whether the function may run twice.
    """

    make: Callable[[], Run]
    repeats: bool
    made: Run | None = None

    def form(self) -> Run:
        """The silent form."""
        if self.made is None:
            self.made = self.make()
        return self.made


def with_quiet(run: Run, quiet: Quiet) -> Run:
    """A compiled function that knows its silent form."""
    run.__dict__["srcad_quiet"] = quiet
    return run


def quiet_of(run: Run) -> Quiet | None:
    """What stands in for a compiled function where it raises; None where nothing does."""
    found: Quiet | None = getattr(run, "srcad_quiet", None)
    return found


def form_now(run: Run) -> Run:
    """A compiled function, or its silent form if that is what the surroundings ask for."""
    quiet = quiet_of(run)
    return run if quiet is None or is_calm() else quiet.form()


def is_calm() -> bool:
    """Whether no infinity or nan of an operation becomes an exception or a call."""
    filters = warnings.filters
    if _handling() is _known.handling and filters and filters[0] is _known.filter:
        return True
    return _looked()


def _looked() -> bool:
    """The same, after looking at all settings; remembered while they stay."""
    states = np.geterr()
    if states["under"] != "ignore" or any(state in _LOUD for state in states.values()):
        return False
    if "warn" in states.values() and _warnings_raise():
        return False
    _known.handling = _handling()
    _known.filter = warnings.filters[0] if warnings.filters else None
    return True


def _warnings_raise() -> bool:
    """Whether a RuntimeWarning may be raised."""
    for action, message, category, module, _ in warnings.filters:
        if issubclass(RuntimeWarning, category):
            if action == "error":
                return True
            if message is None and module is None:
                return False
    return False


def again(call: Run) -> Run | None:
    """The call with which one is repeated that has raised; None where nothing is to be repeated."""
    run, args = (call.func, call.args) if isinstance(call, partial) else (call, ())
    quiet = quiet_of(run)
    return partial(quiet.form(), *args) if quiet is not None and quiet.repeats else None


def raises_now() -> bool:
    """Whether NumPy is told to raise."""
    return "raise" in np.geterr().values()
