"""What builtins on numbers and objects mean: classes, conversions, attributes."""

from __future__ import annotations

import builtins
import contextlib
import inspect
import operator
import sys
import types
from typing import Any

import numpy as np

from srcad import errors
from srcad.frontend.domain.predicates import has_dtype, is_asked, is_of_users
from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Constant,
    DictValue,
    FunctionValue,
    ListValue,
    RecordValue,
    SliceValue,
    TupleValue,
)
from srcad.frontend.machine.constants import attribute_name, known, raises, truth
from srcad.frontend.machine.folding import all_known, called
from srcad.frontend.machine.intrinsics import meaning, meaning_in
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.attributes import read_attribute
from srcad.frontend.operations.fields import class_path, has_written
from srcad.frontend.operations.operators import operate
from srcad.frontend.store.lookup import is_stable
from srcad.frontend.store.runtime_keys import class_behind, tested
from srcad.ir import primitives
from srcad.ir.core import Const, Value
from srcad.rules.registry import is_known
from srcad.types.numeric import BOOL, FLOAT, INT, Numeric
from srcad.types.structures import ListOf, Opaque, Type

Args = tuple[AbstractValue, ...]
Kwargs = dict[str, AbstractValue]


@meaning(is_known)
def is_known_(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``is_known(option)``, asked by a rule that has a shorter form for what is known now."""
    return Constant(all_known(args, kwargs))


@meaning(np.ndim)
def ndim(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.ndim(x)``: a rank is mostly known."""
    rank = rank_of(args[0])
    return None if rank is None else Constant(rank)


def rank_of(box: AbstractValue) -> int | None:
    """The number of axes of an array, a number, or nested lists of such; None if unknown."""
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


@meaning(np.shape)
def shape_(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.shape(x)``."""
    box = args[0]
    if isinstance(box, Constant) and isinstance(box.value, int | float | complex):
        return TupleValue(())
    return s.box(s.emit(primitives.shape, box)) if isinstance(box, Value) else None


@meaning(np.where)
def _where(
    s: Machine, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue | None:
    """``np.where(mask)`` of one argument is ``np.nonzero(mask)``: one array per axis."""
    return s.invoke(s, Constant(np.nonzero), args, kwargs) if len(args) == 1 else None


@meaning(isinstance)
def isinstance_(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``isinstance(x, kinds)``, decided by what is known of `x`."""
    box, kinds = args
    wanted = known(s, kinds, "a class")
    found = class_of(box)
    if found is not None:
        try:
            return Constant(issubclass(found, wanted))
        except TypeError as error:
            raises(s, TypeError, str(error))
    if s.frame.trusted:
        return Constant(False)  # a rule's general path holds for every kind
    return s.emit(isinstance, box, Constant(wanted), type=BOOL)


def class_of(box: AbstractValue) -> type | None:
    """The class of what a box stands for, where it is known."""
    match box:
        case Constant():
            return type(box.value)
        case TupleValue():
            return tuple
        case ListValue() | Value(type=ListOf()):
            return list
        case DictValue():
            return dict
        case RecordValue():
            return class_behind(box)
        case FunctionValue() | BoundValue():
            return type(class_of)
        case Value(type=Numeric() as type_):
            return _class_of_number(type_)
        case Value(type=Opaque() as type_):
            return type_.cls
        case _:
            return None


def _class_of_number(type_: Numeric) -> type | None:
    if type_.form == "array":
        return np.ndarray
    if type_.dtype is None:
        return None
    if type_.form == "numpy":
        return type_.dtype.type
    return _python_class(type_) if type_.form == "python" else None


def _python_class(type_: Numeric) -> type | None:
    return {"f": float, "i": int, "b": bool, "c": complex}.get(type_.kind)


@meaning(type)
def type_(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``type(x)``, or ``type(name, bases, members)``, which makes a class."""
    if len(args) > 1 and s.is_active(*args, *kwargs.values()):
        s.refuse(
            errors.UnsupportedTypeError,
            "cannot make a class that holds a differentiated value",
            why="its objects would share the value, and no derivative flows through a class.",
            help=("keep it in an object:  types.SimpleNamespace(k=x)",),
        )
    found = class_of(args[0]) if len(args) == 1 else None
    if found is None:
        return None
    path = None if is_stable(found) else class_path(s, args[0])
    return Constant(found, path)


@meaning(locals, globals, vars, eval, exec, compile, dir, sys._getframe, inspect.currentframe,
         inspect.stack, inspect.trace, sys._current_frames)  # fmt: skip
def looks_inside(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """What reads or runs a program by its text or its names has no one meaning here."""
    s.refuse(
        errors.UnsupportedSyntaxError,
        "cannot differentiate through a builtin that looks at the program itself",
        why="it reads names or runs text that the compiler cannot see.",
        help=("name the values that it needs",),
    )


@meaning(callable)
def callable_(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``callable(x)``."""
    box = args[0]
    if isinstance(box, Constant):
        return Constant(callable(box.value))
    if isinstance(box, RecordValue):
        return Constant(any("__call__" in vars(cls) for cls in box.cls.__mro__))
    if is_asked(box):
        return None
    return Constant(isinstance(box, FunctionValue | BoundValue))


@meaning(getattr)
def getattr_(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``getattr(x, name, default)``."""
    name = attribute_name(s, args[1])
    if len(args) > 2:
        found = hasattr_(s, args[:2], kwargs)
        if not isinstance(found, Constant):
            return None
        if not found.value:
            return args[2]
    return read_attribute(s, args[0], name)


@meaning(hasattr)
def hasattr_(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``hasattr(x, name)``."""
    name = attribute_name(s, args[1])
    box = args[0]
    if isinstance(box, Constant):
        if s.outside.written and has_written(s, box, name):
            return Constant(True)
        found = hasattr(box.value, name)
        s.guard(box.path, "has" if found else "lacks", name)
        return Constant(found)
    if isinstance(box, RecordValue) and name in box.keys:
        return Constant(True)
    answers = {hasattr(cls, name) and not _is_slot(cls, name) for cls in _classes_of(box)}
    if len(answers) != 1:
        return None
    found = answers.pop()
    if not found and is_asked(box):
        return None  # the object may have what its class has not
    if isinstance(box, RecordValue):
        s.guard(class_path(s, box), "has" if found else "lacks", name)
    return Constant(found)


def _is_slot(cls: type, name: str) -> bool:
    """Whether a class only keeps a place for an attribute: ``__slots__``."""
    return isinstance(inspect.getattr_static(cls, name, None), types.MemberDescriptorType)


def _classes_of(box: AbstractValue) -> tuple[type, ...]:
    """The classes that what a box stands for may have; none where they are not known."""
    cls = class_of(box)
    if cls is not None:
        return (cls,)
    if not isinstance(box, Value) or not isinstance(box.type, Numeric):
        return ()
    if box.type.dtype is None:
        return (bool, int, float, complex, np.bool, np.int64, np.float64, np.ndarray)
    own = _python_class(box.type)
    numbers = (own, box.type.dtype.type) if own is not None else (box.type.dtype.type,)
    return numbers if box.type.form == "number" else (*numbers, np.ndarray)


@meaning(np.asarray, np.asanyarray)
def asarray(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.asarray(x, dtype)``: another name of `x` if that is its dtype, else a copy."""
    dtype = args[1] if len(args) == 2 else kwargs.get("dtype")
    if dtype is None or len(args) + len(kwargs) != 2:
        return None
    is_same = has_dtype(args[0], dtype)
    if is_same is None:
        return None
    return s.emit(np.asarray, args[0]) if is_same else s.emit(np.astype, args[0], dtype)


@meaning(float)
def float_(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``float(x)``."""
    box = args[0] if args else Constant(0.0)
    if isinstance(box, Constant) and box.atom is None and not is_of_users(box):
        with contextlib.suppress(Exception):  # it fails at the call, as in the plain call
            return Constant(float(box.value))
    if isinstance(box, Value) and box.type == FLOAT:
        return box
    return s.emit(float, box, type=FLOAT)


@meaning(int)
def int_(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``int(x)``: no derivative flows through it, but from an integer to itself."""
    box = args[0] if args else Constant(0)
    base = (*args[1:], *kwargs.values())
    if isinstance(box, Constant) and box.atom is None and not is_of_users(box):
        with contextlib.suppress(Exception):
            return Constant(int(box.value, *[known(s, b, "a base") for b in base]))
    if (
        isinstance(box, Value)
        and isinstance(box.type, Numeric)
        and box.type.is_python
        and box.type.kind == "i"
    ):
        return box
    result = s.emit(int, box, *base, type=INT)
    s.active.discard(result)
    return result


@meaning(abs)
def abs_(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``abs(x)``."""
    box = args[0]
    if isinstance(box, Constant) and isinstance(box.value, int | float):
        return Constant(abs(box.value))
    return s.box(s.emit(operator.abs, box))


@meaning(pow)
def pow_(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``pow(x, n)``."""
    return operate(s, operator.pow, *args) if len(args) == 2 and not kwargs else None


@meaning(divmod)
def divmod_(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``divmod(x, n)``."""
    if any(map(is_asked, args)):
        return None
    return TupleValue((operate(s, operator.floordiv, *args), operate(s, operator.mod, *args)))


@meaning(bool)
def bool_(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``bool(x)``."""
    found = truth(s, args[0])
    return Constant(found) if found is not None else s.emit(bool, tested(s, args[0]), type=BOOL)


def _text_of(function: Any) -> None:
    """Text has no derivative; that of an integer or a text is known."""

    @meaning(function)
    def special(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        if args and not kwargs and all_known(args, kwargs):
            return Constant(called(function, args, kwargs))
        return s.emit(function, *args, type=Opaque(str)) if args and not kwargs else None


for _function in (str, repr, format):
    _text_of(_function)


@meaning(print)
def print_(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``print(...)``: once, where it stands."""
    s.emit(builtins.print, *args, kwargs=kwargs, effect=True)
    return Constant(None)


def _tells(module: str, name: str) -> None:
    """A function of the library that tells somebody something, and does nothing else."""

    @meaning_in(module, name)
    def special(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        cls, _, method = name.rpartition(".")
        if not cls:
            s.emit(getattr(sys.modules[module], name), *args, kwargs=kwargs, effect=True)
            return Constant(None)
        bound = s.emit(primitives.field, s.atom(args[0]), Const(method), type=Opaque())
        s.emit(primitives.apply, bound, *args[1:], kwargs=kwargs, effect=True)
        return Constant(None)


_LEVELS = ("debug", "info", "warning", "error", "critical", "exception", "log")
_tells("warnings", "warn")
for _level in _LEVELS:
    _tells("logging", _level)
    _tells("logging", f"Logger.{_level}")


@meaning(slice)
def slice_(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``slice(start, stop, step)``."""
    parts: list[AbstractValue] = [Constant(None), *args] if len(args) == 1 else list(args)
    parts += [Constant(None)] * (3 - len(parts))
    return SliceValue(*parts)
