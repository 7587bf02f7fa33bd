"""Constant folding of calls with exact and short results."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcad.frontend.domain.values import AbstractValue, Constant, DictValue, ListValue, TupleValue
from srcad.frontend.machine.machine import Machine
from srcad.ir.core import Const
from srcad.types.structures import Opaque


def folded(
    state: Machine, function: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue | None:
    """Return the constant that a call of constants is; None if it is an array or a float.

    An array is made anew by every call of the user's function, and may be written into.
    """
    found = result_of(function, args, kwargs)
    return state.box(Const(found)) if _is_exact(found) else None


def result_of(
    function: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> Any:
    """Return the result of a function for these constants."""
    return function(*map(_plain, args), **{k: _plain(b) for k, b in kwargs.items()})


def all_known(args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]) -> bool:
    """Return True if every input is a constant with an exact and short fold."""
    return all(_is_plain_constant(b) for b in (*args, *kwargs.values())) and bool(args)


def _is_plain_constant(box: AbstractValue) -> bool:
    if isinstance(box, TupleValue | ListValue):
        return all(_is_plain_constant(item) for item in box.items)
    if not isinstance(box, Constant) or box.atom is not None or box.path is not None:
        return False
    return _is_exact(box.value)


def _is_exact(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(_is_exact(v) for v in value)
    return isinstance(value, int | str | type | np.dtype | type(None))


def _plain(box: AbstractValue) -> Any:
    if isinstance(box, TupleValue):
        return tuple(_plain(item) for item in box.items)
    if isinstance(box, ListValue):
        return [_plain(item) for item in box.items]
    assert isinstance(box, Constant)
    return box.value


def text_method(
    receiver: Any, name: str, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue | None:
    """Return the result of a method of a constant string: a key, a test, parts; None if unknown."""
    if name == "join":  # a dict: its keys
        args = tuple(
            TupleValue(tuple(map(Constant, b.keys))) if isinstance(b, DictValue) else b
            for b in args
        )
    if type(receiver) is not str or not all(map(_is_plain_constant, (*args, *kwargs.values()))):
        return None
    try:
        return _box_of_exact(result_of(getattr(receiver, name), args, kwargs))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None  # it fails at the call, as in the plain call


def filled_in(
    state: Machine,
    template: str,
    name: str,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue | None:
    """``template.format(...)``, like an f-string."""
    if name != "format" or type(template) is not str:
        return None
    given = (Const(template), *args)
    return state.emit(str.format, *given, kwargs=kwargs, effect=True, type=Opaque(str))


def _box_of_exact(value: Any) -> AbstractValue | None:
    if isinstance(value, list | tuple):
        items = [_box_of_exact(v) for v in value]
        known = tuple(item for item in items if item is not None)
        kind = ListValue if isinstance(value, list) else TupleValue
        return kind(known) if len(known) == len(items) else None
    return Constant(value) if isinstance(value, int | str) else None
