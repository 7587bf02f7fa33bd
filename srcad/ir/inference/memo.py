"""Memo of results of NumPy calls on example operands, keyed by the kinds of the operands.

A type is asked for again and again: in every compilation, and in every iteration of a loop that is
read until its types settle.  The answer depends on the function and on what the stand-ins are made
from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from srcad.ir.core import Arg, Display, Value
from srcad.ir.inference.cases import Case, in_case
from srcad.types.numeric import Numeric
from srcad.types.sizes import Extent, has_index
from srcad.types.structures import ListOf, TupleOf, Type

Lengths = Callable[[Extent], Any]

_ANSWERS: dict[Any, Any] = {}
_NEW, _UNKNOWABLE = object(), object()
_FORGOTTEN = [0]  # how many answers were not kept
_MOST = 8192
_FUNCTIONS = (FunctionType, BuiltinFunctionType, type, np.ufunc, type(np.sum))
_SCALARS = (np.generic, float, int, complex)
_SIMPLE = frozenset({bool, int, float, complex, str, type(None), type(Ellipsis)})


def remembered(key: Any, ask: Callable[[], Any]) -> Any:
    """Return the answer to a question about stand-ins; None if asking raises."""
    found = _known(key)
    if found is not _NEW and found is not _UNKNOWABLE:
        return found
    is_new = found is _NEW
    try:
        with np.errstate(all="ignore"):
            found = ask()
    except Warning:  # that is an error by the user's own filters, which may change
        _FORGOTTEN[0] += 1
        return None
    except Exception:  # a function that is tried with stand-ins may raise anything
        found = None
    if is_new:
        _keep(key, found)
    return found


def concluded(key: Any, conclude: Callable[[], Any]) -> Any:
    """Return a conclusion from several memoised results; memoised only if all of them are."""
    found = _known(key)
    if found is not _NEW:
        return conclude() if found is _UNKNOWABLE else found
    before = _FORGOTTEN[0]
    found = conclude()
    if _FORGOTTEN[0] == before:
        _keep(key, found)
    return found


def _keep(key: Any, found: Any) -> None:
    if len(_ANSWERS) >= _MOST:
        _ANSWERS.clear()
    _ANSWERS[key] = found


def _known(key: Any) -> Any:
    """Return the answer, `_NEW`, or `_UNKNOWABLE`: a key that cannot be looked up."""
    try:
        return _ANSWERS.get(key, _NEW)
    except TypeError:
        return _UNKNOWABLE


def question(
    target: Any,
    args: Iterable[Arg],
    kwargs: Iterable[tuple[str, Arg]],
    case: Case | None,
    lengths: Lengths | None = None,
) -> Any:
    """Return the key of a call: all that its stand-ins depend on.

    `case` says what is taken for what the types leave open; without one it stays open.
    `lengths` says what stands for a length; without it only ranks matter.  What may change, or
    is not known to be the same again, makes a list of the key's part: that has no hash.
    """
    return (
        lengths is None,
        target if isinstance(target, _FUNCTIONS) else [target],
        *[_kind(a, case, lengths) for a in args],
        *[(name, _kind(a, case, lengths)) for name, a in kwargs],
    )


def _kind(arg: Arg, case: Case | None, lengths: Lengths | None) -> Any:
    if isinstance(arg, Value):
        return _kind_of_type(arg.type if case is None else in_case(arg.type, case), lengths)
    if isinstance(arg, Display):
        return (arg.kind, *[_kind(a, case, lengths) for a in arg.items])
    value = arg.value
    if type(value) in _SIMPLE:
        return type(value), repr(value)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, _SCALARS)):
        return value
    return [value]


def _kind_of_type(type_: Type, lengths: Lengths | None) -> Any:
    if isinstance(type_, Numeric):
        shape, value, dtype = type_.shape, type_.value, type_.dtype_key
        if shape is None or lengths is None:
            return type_.form, dtype, None if shape is None else len(shape)
        number = None if value is None or has_index(value) else lengths(value)
        return type_.form, dtype, tuple(lengths(e) for e in shape), number
    if isinstance(type_, TupleOf):
        return (tuple, *[_kind_of_type(t, lengths) for t in type_.items])
    return (list, _kind_of_type(type_.item, lengths)) if isinstance(type_, ListOf) else []


def outline(result: Any) -> Any:
    """Return a result without its contents: only type and shape are of use."""
    if type(result) is np.ndarray:
        return np.broadcast_to(np.zeros((), result.dtype), result.shape)
    if isinstance(result, tuple):
        return tuple(outline(part) for part in result)
    return result
