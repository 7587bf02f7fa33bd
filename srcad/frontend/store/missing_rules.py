"""Functions that have neither a rule nor a source, met on the way of a derivative."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from srcad.errors import MissingRuleError, UnsupportedSyntaxError
from srcad.frontend.domain.structure import values_of
from srcad.frontend.domain.values import AbstractValue, Constant
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.call_sites import called_name, method_of_object
from srcad.rules import stubs
from srcad.startup.identifiers import dotted
from srcad.types.numeric import Numeric


def refuse_without_rule(
    s: Machine, function: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Refuse a function without a rule that carries a derivative."""
    if isinstance(function, np.vectorize) or _is_of_objects(function):
        refuse_entry_by_entry(s)
    full = called_name(s, function)
    quantities: list[int | str] = [k for k, box in enumerate(args) if _may_be_quantity(box)]
    quantities += [name for name, box in kwargs.items() if _may_be_quantity(box)]
    return s.refuse(
        MissingRuleError,
        f"no derivative rule for {full}, called",
        why="a value that depends on the differentiated arguments flows into it, and "
        + _reason(function),
        help=(
            "write one, with a cotangent in the place of each '...':\n"
            + stubs.stub(
                function, len(args), tuple(kwargs), quantities, method_of_object(s, function)
            ),
            "or, if no derivative is to flow through it, treat it as a constant:  "
            f"srcad.stop_gradient({dotted(full)}(...))",
        ),
    )


def refuse_entry_by_entry(s: Machine) -> NoReturn:
    """Refuse a call of a function made by ``np.vectorize`` or ``np.frompyfunc``."""
    s.refuse(
        UnsupportedSyntaxError,
        "cannot differentiate through a function that is called for each entry",
        why="np.vectorize and np.frompyfunc call it from compiled code, which srcad cannot read.",
        help=(
            "write the loop:  np.array([f(v) for v in x])",
            "or write the function with np.where, so that it takes arrays",
        ),
    )


def _is_of_objects(function: Any) -> bool:
    """Return True if ``np.frompyfunc`` has made a function."""
    return isinstance(function, np.ufunc) and not set("".join(function.types)) - set("O->")


def _reason(function: Any) -> str:
    """Why there is no rule: it is yet to be written, or the function cannot be read."""
    module = str(getattr(function, "__module__", None) or stubs.written(function))
    if module.partition(".")[0] in ("numpy", "scipy"):
        return "the table has no rule for it yet: more of NumPy and SciPy is planned."
    return "srcad can read Python only: this is compiled, or belongs to a library."


def _may_be_quantity(box: AbstractValue) -> bool:
    """Return True if an argument may be or hold a number with a derivative: no integer, no text."""
    if isinstance(box, Constant):
        return isinstance(box.value, float | complex | np.ndarray | list | tuple)
    types = [value.type for value in values_of(box)]
    return not all(isinstance(t, Numeric) and t.kind in "iub" for t in types) or not types
