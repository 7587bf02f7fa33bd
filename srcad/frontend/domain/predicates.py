"""Questions about callees, constants and boxes that need no state."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Choice,
    Constant,
    DictValue,
    FunctionValue,
    GeneratorValue,
    IteratorValue,
    ListValue,
    MethodValue,
    RecordValue,
    Stale,
    Text,
    TupleValue,
)
from srcad.ir.core import Value
from srcad.ir.memory import keeps_last
from srcad.ir.traits import is_inert
from srcad.rules import registry
from srcad.startup.identifiers import is_instance, label, module_of
from srcad.types.numeric import Numeric
from srcad.types.reading import answers
from srcad.types.structures import ListOf, Opaque, Undefined

# What a class built on one of Python's containers may say of its objects.
_PROTOCOL = (
    "__len__", "__bool__", "__iter__", "__contains__", "__getitem__", "__eq__", "__hash__",
    "__reversed__", "__lt__", "__gt__", "__le__", "__ge__", "__add__", "__mul__",
)  # fmt: skip
# What a class may say of an object that no path leads to.
_ANSWERS = (
    "__len__", "__bool__", "__iter__", "__contains__", "__getitem__", "__float__", "__int__",
    "__index__", "__complex__", "__str__", "__format__",
)  # fmt: skip

# Code and plain data: what an object that is reached anew at every call may not be, to be asked.
_PLAIN = (
    int, float, complex, str, bytes, tuple, list, dict, type(None), type, FunctionType,
    BuiltinFunctionType, ModuleType, enum.Enum,
)  # fmt: skip


def is_plain(value: Any) -> bool:
    """Return True if a constant may be bound into generated code as it is (not the user's data)."""
    if value is None or is_instance(value, bool | int | float | complex | str | bytes | type):
        return True
    if is_instance(value, type(Ellipsis) | type(NotImplemented)):
        return True
    module = module_of(value) or module_of(type(value))
    stable = {"numpy", "math", "cmath", "builtins", "_operator", "operator"}
    is_code = callable(value) and type(value).__hash__ is not None  # a polynomial is data
    described = is_code or type(value).__name__.endswith("DType")
    return module.partition(".")[0] in stable and described


def is_hashable(value: Any) -> bool:
    """Return True if a value can be looked up in a table."""
    if isinstance(type.__getattribute__(type(value), "__hash__"), FunctionType):
        return registry.knows(value)  # a class of the user's says what its hash is
    try:
        hash(value)
    except TypeError:
        return False
    return True


def is_nondifferentiable(target: Any, operands: Iterable[Value] = ()) -> bool:
    """Return True if the table declares that no derivative flows through this call."""
    if not is_hashable(target):
        return False
    if keeps_last(target) or is_inert(target):
        return True
    row = registry.row_of(target)
    if row.kind in ("", "nondifferentiable"):
        return row.kind != "" or row.entries == "made"
    types = (value.type for value in operands)
    return row.steps and not any(isinstance(t, Numeric) and t.has_complex for t in types)


def is_static_number(box: AbstractValue) -> bool:
    """Return True if a box is a number (not a flag) that is known at compile time."""
    return isinstance(box, Constant) and isinstance(box.value, int | float | complex)


def described_value(box: AbstractValue) -> str:
    """Describe a box in the user's words."""
    match box:
        case Value():
            return _describe_value(box)
        case Constant(value):
            return _describe_object(value)
        case TupleValue() | ListValue():
            kind = "tuple" if isinstance(box, TupleValue) else "list"
            return f"a {kind} of {len(box.items)}"
        case DictValue():
            return "a dict"
        case RecordValue():
            return f"a {label(box.cls)}"
        case Choice():
            return " or ".join(dict.fromkeys(map(described_value, (box.left, box.right))))
        case FunctionValue() | BoundValue() | MethodValue():
            return "a function"
        case IteratorValue() | GeneratorValue() | Stale():
            return "an array that was written into" if isinstance(box, Stale) else "an iterator"
        case _:
            return "nothing"


def _describe_value(value: Value) -> str:
    if isinstance(value.type, Opaque | Undefined):
        return "an object"
    return "a list" if isinstance(value.type, ListOf) else f"a number or array ({value.type})"


def _describe_object(value: Any) -> str:
    return f"{value!r}" if is_plain(value) and not callable(value) else "a function or object"


def has_dtype(box: AbstractValue, dtype: AbstractValue) -> bool | None:
    """Return True if an array certainly has a dtype, or certainly another; None: not known.

    `dtype` is what a user may write for one, but None, which means different things.
    """
    if not isinstance(box, Value) or not isinstance(box.type, Numeric) or box.type.dtype is None:
        return None
    if box.type.form != "array" or not isinstance(dtype, Constant) or dtype.value is None:
        return None
    try:
        return bool(np.dtype(dtype.value) == box.type.dtype)
    except TypeError:
        return None  # it fails at the call, as in the plain call


def is_of_users(box: Constant) -> bool:
    """Return True if an object is reached anew at every call, and is no code or plain data.

    Or if it is held, and its class says what a builtin returns for it.
    """
    if isinstance(box, Text):
        return False
    if box.path is None:
        return not isinstance(box.value, _PLAIN) and answers(type(box.value), *_ANSWERS)
    return not isinstance(box.value, _PLAIN) or answers(type(box.value), *_PROTOCOL)


def has_user_protocol(box: AbstractValue) -> bool:
    """Return True if the result of a builtin is up to a class that is asked at the call."""
    if isinstance(box, Constant):
        return is_of_users(box)
    if not isinstance(box, Value) or not isinstance(box.type, Opaque):
        return False
    return box.type.cls is None or module_of(box.type.cls) not in ("builtins", "numpy")


def text_class(box: AbstractValue) -> type | None:
    """`str` or `bytes` where a box certainly is one."""
    if isinstance(box, Text):
        return str
    for cls in (str, bytes):
        if isinstance(box, Constant) and isinstance(box.value, cls):
            return cls
        if isinstance(box, Value) and box.type == Opaque(cls):
            return cls
    return None


def is_index(box: AbstractValue) -> bool:
    """Return True if an object of a class of its own stands for an integer."""
    cls: type | None = None
    if isinstance(box, Constant):
        cls = type(box.value)
    elif isinstance(box, Value) and isinstance(box.type, Opaque):
        cls = box.type.cls
    return has_user_protocol(box) and not issubclass(cls or int, int) and hasattr(cls, "__index__")


def is_list(box: AbstractValue) -> bool:
    """Return True if a box is a list (of known items or not)."""
    return isinstance(box, ListValue) or (isinstance(box, Value) and isinstance(box.type, ListOf))
