"""What NumPy has said about stand-ins, remembered by the kinds of the operands.

A type is asked for again and again: in every compilation, and in every trip of a loop that is read
until its types settle.  The answer depends on the function and on what the stand-ins are made from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from srcad.ir.choices import Choice, chosen
from srcad.ir.core import Arg, Const, Display
from srcad.types import Extent, ListOf, Numeric, TupleOf, Type

Lengths = Callable[[Extent], Any]

_ANSWERS: dict[Any, Any] = {}
_FORGOTTEN = [0]  # how many answers were not kept
_MOST = 8192
_FUNCTIONS = (FunctionType, BuiltinFunctionType, type, np.ufunc, type(np.sum))
_SCALARS = (np.generic, float, int, complex)
_SIMPLE = frozenset({bool, int, float, complex, str, type(None), type(Ellipsis)})


def remembered(key: Any, ask: Callable[[], Any]) -> Any:
    """The answer to a question about stand-ins; None if asking raises."""
    is_new = is_hashable(key)
    if is_new and key in _ANSWERS:
        return _ANSWERS[key]
    try:
        with np.errstate(all="ignore"):
            found = ask()
    except Warning:  # that is an error by the user's own filters, which may change
        _FORGOTTEN[0] += 1
        return None
    except Exception:
        found = None
    if is_new:
        _keep(key, found)
    return found


def concluded(key: Any, conclude: Callable[[], Any]) -> Any:
    """What follows from several answers; remembered only if each of them is."""
    if not is_hashable(key):
        return conclude()
    if key in _ANSWERS:
        return _ANSWERS[key]
    before = _FORGOTTEN[0]
    found = conclude()
    if _FORGOTTEN[0] == before:
        _keep(key, found)
    return found


def _keep(key: Any, found: Any) -> None:
    if len(_ANSWERS) >= _MOST:
        _ANSWERS.clear()
    _ANSWERS[key] = found


def is_hashable(key: Any) -> bool:
    """Whether a key can be looked up."""
    try:
        hash(key)
    except TypeError:
        return False
    return True


def question(
    target: Any,
    args: Iterable[Arg],
    kwargs: Iterable[tuple[str, Arg]],
    choice: Choice | None,
    lengths: Lengths | None = None,
) -> Any:
    """The key of a call: all that its stand-ins depend on.

    `choice` says what is taken for what the types leave open; without one it stays open.
    `lengths` says what stands for a length; without it only ranks matter.  What may change, or
    is not known to be the same again, makes a list of the key's part: that has no hash.
    """
    return (
        lengths is None,
        target if isinstance(target, _FUNCTIONS) else [target],
        *(_kind(a, choice, lengths) for a in args),
        *((name, _kind(a, choice, lengths)) for name, a in kwargs),
    )


def _kind(arg: Arg, choice: Choice | None, lengths: Lengths | None) -> Any:
    if isinstance(arg, Display):
        return (arg.kind, *(_kind(a, choice, lengths) for a in arg.items))
    if isinstance(arg, Const):
        value = arg.value
        if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, _SCALARS)):
            return value
        return (type(value), repr(value)) if type(value) in _SIMPLE else [value]
    return _kind_of_type(arg.type if choice is None else chosen(arg.type, choice), lengths)


def _kind_of_type(type_: Type, lengths: Lengths | None) -> Any:
    match type_:
        case Numeric(dtype, tuple(shape), form, value):
            if lengths is None:
                return form, dtype, len(shape)
            number = None if value is None else lengths(value)
            return form, dtype, tuple(lengths(e) for e in shape), number
        case Numeric(dtype, None, form):
            return form, dtype, None
        case TupleOf(items):
            return (tuple, *(_kind_of_type(t, lengths) for t in items))
        case ListOf(item):
            return list, _kind_of_type(item, lengths)
        case _:
            return []


def outline(result: Any) -> Any:
    """A result without its contents, which nobody reads."""
    if type(result) is np.ndarray:
        return np.broadcast_to(np.zeros((), result.dtype), result.shape)
    if isinstance(result, tuple):
        return tuple(outline(part) for part in result)
    return result
