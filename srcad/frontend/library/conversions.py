"""Builtins on numbers, and conversions between kinds of values."""

from __future__ import annotations

import builtins
import contextlib
import operator
import sys
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from srcad.frontend.domain.predicates import has_dtype, has_user_protocol, is_of_users
from srcad.frontend.domain.values import AbstractValue, Constant, ListValue, SliceValue, TupleValue
from srcad.frontend.machine.constants import known, truth
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, means, means_in, means_object
from srcad.frontend.machine.folding import all_known, result_of
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.operators import operate
from srcad.frontend.store.runtime_keys import tested
from srcad.ir.core import Value
from srcad.ir.memory import module_of
from srcad.rules.conjugates import conj, may_be_complex
from srcad.rules.registry import is_known
from srcad.types.numeric import BOOL, FLOAT, INT, Numeric
from srcad.types.structures import ListOf, Opaque, Type


@means(is_known)
def is_known_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``is_known(option)`` in a rule that has a shorter form for constants."""
    return Constant(all_known(args, kwargs))


@means(np.ndim)
def ndim(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.ndim(x)``: a rank is mostly known."""
    rank = rank_of(args[0])
    return None if rank is None else Constant(rank)


def rank_of(box: AbstractValue) -> int | None:
    """Return the number of axes of an array, a number, or nested lists of such; None if unknown."""
    match box:
        case Constant(value=int() | float() | complex()):
            return 0
        case Constant(value=np.ndarray()):
            return int(np.ndim(box.value))
        case TupleValue(items) | ListValue(items):
            inner = rank_of(items[0]) if items else 0
            return None if inner is None else inner + 1
        case Value():
            return _rank_of_type(box.type)
        case _:
            return None


def _rank_of_type(type_: Type) -> int | None:
    if isinstance(type_, Numeric):
        return None if type_.shape is None else len(type_.shape)
    if isinstance(type_, ListOf):
        inner = _rank_of_type(type_.item)
        return None if inner is None else inner + 1
    return None


@means(np.shape)
def shape_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.shape(x)``."""
    box = args[0]
    if isinstance(box, Constant) and isinstance(box.value, int | float | complex):
        return TupleValue(())
    return state.box(state.shape(box)) if isinstance(box, Value) else None


@means(np.where)
def _where(
    state: Machine, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue | None:
    """``np.where(mask)`` of one argument is ``np.nonzero(mask)``: one array per axis."""
    return apply(state, Constant(np.nonzero), args, kwargs) if len(args) == 1 else None


@means(np.asarray, np.asanyarray)
def asarray(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.asarray(x, dtype)``: another name of `x` if that is its dtype, else a copy."""
    dtype = args[1] if len(args) == 2 else kwargs.get("dtype")
    if dtype is None or len(args) + len(kwargs) != 2:
        return None
    is_same = has_dtype(args[0], dtype)
    if is_same is None:
        return None
    return state.emit(np.asarray, args[0]) if is_same else state.emit(np.astype, args[0], dtype)


@means(float)
def float_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    box = args[0] if args else Constant(0.0)
    state.use_as_number(box)
    if isinstance(box, Constant) and box.atom is None and not is_of_users(box):
        with contextlib.suppress(Exception):  # it fails at the call, as in the plain call
            return Constant(float(box.value))
    if isinstance(box, Value) and box.type == FLOAT:
        return box
    return state.emit(float, box, type=FLOAT)


@means(int)
def int_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``int(x)``: no derivative flows through it, but from an integer to itself."""
    box = args[0] if args else Constant(0)
    base = (*args[1:], *kwargs.values())
    state.use_as_number(box)
    if isinstance(box, Constant) and box.atom is None and not is_of_users(box):
        with contextlib.suppress(Exception):
            return Constant(int(box.value, *[known(state, b, "a base") for b in base]))
    if (
        isinstance(box, Value)
        and isinstance(box.type, Numeric)
        and box.type.is_python
        and box.type.kind == "i"
    ):
        return box
    result = state.emit(int, box, *base, type=INT)
    state.active.discard(result)
    return result


@means(abs)
def abs_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    box = args[0]
    state.use_as_number(box)
    if isinstance(box, Constant) and isinstance(box.value, int | float):
        return Constant(abs(box.value))
    return state.box(state.emit(operator.abs, box))


@means(pow)
def pow_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``pow(x, n)``."""
    return operate(state, operator.pow, *args) if len(args) == 2 and not kwargs else None


@means(divmod)
def divmod_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``divmod(x, n)``."""
    if any(map(has_user_protocol, args)):
        return None
    return TupleValue(
        (operate(state, operator.floordiv, *args), operate(state, operator.mod, *args))
    )


@means(bool)
def bool_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    found = truth(state, args[0])
    return (
        Constant(found)
        if found is not None
        else state.emit(bool, tested(state, args[0]), type=BOOL)
    )


def _text_of(function: Any) -> None:
    """Text has no derivative; that of an integer or a text is known."""

    @means(function)
    def special(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        if args and not kwargs and all_known(args, kwargs):
            return Constant(result_of(function, args, kwargs))
        return state.emit(function, *args, type=Opaque(str)) if args and not kwargs else None


for _function in (str, repr, format):
    _text_of(_function)


@means(print)
def print_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``print(...)``: once, where it stands."""
    state.emit(builtins.print, *args, kwargs=kwargs, effect=True)
    return Constant(None)


def _only_prints(module: str, name: str) -> None:
    """Register a function of a library that only prints, logs or warns."""

    @means_in(module, name)
    def special(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        cls, _, method = name.rpartition(".")
        if not cls:
            state.emit(getattr(sys.modules[module], name), *args, kwargs=kwargs, effect=True)
            return Constant(None)
        bound = state.field(state.atom(args[0]), method, type=Opaque())
        state.apply(bound, *args[1:], kwargs=kwargs, effect=True)
        return Constant(None)


_LEVELS = ("debug", "info", "warning", "error", "critical", "exception", "log")
_only_prints("warnings", "warn")


for _level in _LEVELS:
    _only_prints("logging", _level)
    _only_prints("logging", f"Logger.{_level}")


@means(slice)
def slice_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``slice(start, stop, step)``."""
    parts: list[AbstractValue] = [Constant(None), *args] if len(args) == 1 else list(args)
    parts += [Constant(None)] * (3 - len(parts))
    return SliceValue(*parts)


# Queries of rules that serve real and complex numbers.


@means(may_be_complex)
def may_be_complex_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``may_be_complex(x)``: known at compile time, and assumed where no dtype tells."""
    return Constant(_may_be_complex(state, args[0]))


@means(conj)
def conj_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``conj(x)``: `x` itself, and nothing written, where it is real."""
    (box,) = args
    if not _may_be_complex(state, box):
        return box
    if isinstance(box, Constant):
        return Constant(np.conjugate(box.value))
    return state.box(state.emit(np.conjugate, box))


def _may_be_complex(state: Machine, box: AbstractValue) -> bool:
    if isinstance(box, Constant):
        return np.iscomplexobj(box.value)
    if not isinstance(box, Value) or not isinstance(box.type, Numeric):
        return not state.all_real
    return box.type.kind == "c" or (box.type.may_be_complex and not state.all_real)


@means_object
def of_real_part(
    state: Machine, callee: Constant, args: Args, kwargs: Kwargs
) -> AbstractValue | None:
    """Return a call of a function of `math` with complex numbers of NumPy: it takes `float` first.

    The number is cast to its real part, with a warning.  One of Python is refused by `math`.
    """
    function = callee.value
    if kwargs or not isinstance(function, BuiltinFunctionType) or module_of(function) != "math":
        return None
    if not any(map(_is_complex_scalar, args)) or not state.is_active(*args):
        return None
    real = [state.emit(float, a) if _is_complex_scalar(a) else a for a in args]
    return apply(state, callee, tuple(real), {})


def _is_complex_scalar(box: AbstractValue) -> bool:
    type_ = box.type if isinstance(box, Value) else None
    if not isinstance(type_, Numeric) or type_.form in ("array", "python"):
        return False
    return type_.kind == "c"
