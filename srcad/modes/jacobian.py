"""``jacobian``: the Jacobian in the direction that takes fewer sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from srcad.analysis.kinds import may_be_complex
from srcad.arguments.request import Request
from srcad.ir.core import Function
from srcad.ir.inference.builder import atom_type
from srcad.modes.jacfwd import with_columns
from srcad.modes.jacrev import with_rows
from srcad.modes.mode import Mode
from srcad.modes.results import with_known_lists
from srcad.modes.reverse import in_one_function
from srcad.types.sizes import example_of
from srcad.types.structures import TupleOf, Type, numbers_in


def with_fewer_sweeps(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function of the result and of its Jacobian by each of `wrt`.

    The example that caused the compilation decides: forwards if there are no more numbers in the
    arguments than in the result.
    """
    function = with_known_lists(function)
    type_ = atom_type(function.block.results[0])
    if request.has_aux and isinstance(type_, TupleOf):
        type_ = type_.items[0]
    twice = not request.holomorphic
    outputs = _count(type_, twice=twice)
    inputs = [_count(function.params[k].type, twice=twice) for k in wrt]
    known = [n for n in inputs if n is not None]
    if any(number.kind == "?" for number in numbers_in(type_)) and may_be_complex(function):
        outputs = None  # forwards it does not matter which they are
    forwards = outputs is None or (len(known) == len(inputs) and sum(known) <= outputs)
    derive = with_columns if forwards else with_rows
    return derive(function, request, wrt)


def _count(type_: Type, *, twice: bool) -> int | None:
    """How many numbers a value of a type holds in the example; complex ones may count twice."""
    total = 0
    for number in numbers_in(type_):
        if number.shape is None:
            return None
        lengths = list(map(example_of, number.shape))
        if None in lengths:
            return None
        directions = 2 if twice and number.kind == "c" else 1
        total += directions * prod(n for n in lengths if n is not None)
    return total


MODE = Mode(
    "jacobian",
    "Jacobian",
    with_fewer_sweeps,
    partial(in_one_function, gives_value=False, laid_out=False),
    nests=True,
)
