"""Derivatives by captured variables: while a call runs, they hold its arguments."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import FunctionType, MethodType, ModuleType
from typing import Any

from srcad import errors
from srcad.frontend.domain.outside_places import OutsidePlace
from srcad.frontend.domain.values import AbstractValue, Constant
from srcad.frontend.machine.dispatch import apply
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside.places import begin, content_of
from srcad.frontend.source.code import nested_codes
from srcad.frontend.source.effects import Effects
from srcad.frontend.store.written_arguments import written_parameters
from srcad.ir.core import Block, Call, Const, Op, Routine, walk
from srcad.types.numeric import Numeric
from srcad.types.sources import Path, Unreadable, read


def called(
    s: Machine,
    names: tuple[str, ...],
    function: AbstractValue,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue:
    """Call a function while variables of these names hold given values."""
    assert isinstance(function, Constant)
    plain, path = _plain(function.value, function.path or ())
    places = {name: _place(plain, path, name) for name in names}
    for name, place in places.items():
        begin(s, place, kwargs[name])
    given = {name: box for name, box in kwargs.items() if name not in names}
    start = len(s.builder.ops)
    result = apply(s, function, args, given)
    written = set(written_parameters(s))
    for name, place in places.items():
        if name in written or content_of(s, place) is not kwargs[name]:
            s.refuse(
                errors.MutationError,
                f"cannot differentiate by {name!r}, which is written here",
                why="it is a variable outside the function.",
                help=(f"make it a parameter:  def {plain.__name__}(..., {name}): ...",),
            )
        _refuse_unread(s, name, place, s.builder.ops[start:])
    return result


def _plain(function: Any, path: Path) -> tuple[FunctionType, Path]:
    """Return the function of Python behind a method or a partial, and the way there."""
    while isinstance(function, MethodType | functools.partial):
        step = "__func__" if isinstance(function, MethodType) else "func"
        function, path = getattr(function, step), (*path, ("attr", step))
    return function, path


def _place(function: FunctionType, path: Path, name: str) -> OutsidePlace:
    """Where the variable of a name is."""
    names = function.__code__.co_freevars
    if name not in names:
        space = function.__globals__
        return OutsidePlace(space, "global", name, (*path, ("attr", "__globals__")),
                     (*path, ("global", name)), space)  # fmt: skip
    k = names.index(name)
    assert function.__closure__ is not None
    cell = function.__closure__[k]
    holder = (*path, ("attr", "__closure__"), ("item", k))
    return OutsidePlace(cell, "cell", name, holder, (*path, ("cell", name)), cell)


# ----------------------------------------------------------------------- what is not read
_NOT_SEARCHED = ("numpy", "scipy", "srcad")


def _refuse_unread(s: Machine, name: str, place: OutsidePlace, ops: Sequence[Op]) -> None:
    """Refuse calls that run as they stand and may read a variable: nothing is known of the way."""
    found = Effects(_NOT_SEARCHED)
    for one in _objects_in(s, ops, found.mentioned):
        found.see(one)
    found.search()
    reader = next((f for f in found.functions if _reads(f, name, place)), None)
    if reader is None and not found.cut:
        return
    by = "" if reader is None else f", which {reader.__name__!r} may read in a call"
    s.refuse(
        errors.UnsupportedSyntaxError,
        f"cannot differentiate by the variable {name!r}{by} that srcad does not read",
        why="the derivative would miss what it does with it.",
        help=(f"make it a parameter:  def f(..., {name}): ...",),
    )


def _objects_in(s: Machine, ops: Sequence[Op], names: set[str]) -> Iterator[Any]:
    """Yield the functions and objects of the user's that operations call or read.

    Texts are `names`.
    """
    pending, seen = [Block((), tuple(ops), ())], set[Routine]()
    while pending:
        for op in walk(pending.pop()):
            if isinstance(op, Call):
                if not isinstance(op.target, Routine):
                    yield op.target
                known = [a.value for a in op.args if isinstance(a, Const)]
                names.update(value for value in known if isinstance(value, str))
                yield from known
            if isinstance(op, Call) and isinstance(op.target, Routine) and op.target not in seen:
                seen.add(op.target)
                if op.target.function is not None:
                    pending.append(op.target.function.block)
            for value in op.operands:
                if value in s.paths and not isinstance(value.type, Numeric):
                    with suppress(Unreadable):
                        yield read(s.paths[value], s.root, s.arguments)


def _reads(function: FunctionType, name: str, place: OutsidePlace) -> bool:
    """Return True if the code of a function, or of one inside it, reads a variable."""
    codes = (function.__code__, *nested_codes(function.__code__))
    if place.kind == "cell":
        return any(cell is place.owner for cell in function.__closure__ or ())
    named = any(name in code.co_names for code in codes)
    space = function.__globals__
    if not named:
        return False
    return space is place.owner or any(
        isinstance(space.get(n), ModuleType) and vars(space[n]) is place.owner
        for code in codes
        for n in code.co_names
    )
