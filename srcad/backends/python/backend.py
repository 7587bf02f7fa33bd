"""``numpy``: plain Python that calls NumPy, as a person would write it."""

from __future__ import annotations

from srcad.backends.interface.backend import Backend
from srcad.backends.python.emitter import Emitted, emit
from srcad.backends.python.loader import load
from srcad.ir.core import Function


def as_it_is(function: Function) -> Function:
    """Every function is covered."""
    return function


def write(function: Function, name: str) -> Emitted:
    """Return the text of a function."""
    return emit(function, name=name)


BACKEND = Backend("numpy", as_it_is, write, load)
