"""A call of a function of the user: read in place, or as a routine or generator."""

from __future__ import annotations

from typing import Any

from srcad.frontend.domain.values import AbstractValue
from srcad.frontend.functions import lazy_iterables, recursion
from srcad.frontend.functions.inlining import (
    bind_parameters,
    inline,
    is_recursive,
    reading,
)
from srcad.frontend.machine.dispatch import (
    Args,
    Kwargs,
)
from srcad.frontend.machine.machine import Machine
from srcad.frontend.source.syntax import is_generator


def called_in_place(s: Machine, callee: Any, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Call a function of the user."""
    if is_generator(callee.node):
        return lazy_iterables.generator_of_call(s, callee, args, kwargs)
    if is_recursive(s, callee):
        bound = bind_parameters(s, callee, args, kwargs)
        found = recursion.call_recursive(s, callee, bound)
        if found is not None:
            return found
    with reading(s, callee.key, (*callee.parts, *args, *kwargs.values())):
        return inline(s, callee, args, kwargs)
