"""Operators and builtins that an object's class defines: ``__add__``, ``__float__``."""

from __future__ import annotations

import inspect
import numbers
import operator
import sys
import types
from typing import Any

from srcad import errors
from srcad.frontend.domain.predicates import is_hashable
from srcad.frontend.domain.values import AbstractValue, BoundValue, Constant, RecordValue
from srcad.frontend.machine.dispatch import (
    Args,
    Kwargs,
    apply,
    has_stand_in,
    meaning_of,
    stand_in,
)
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations import construction
from srcad.frontend.operations.fields import class_path, is_generated, method
from srcad.frontend.operations.identity import identity
from srcad.frontend.store.foreign_operands import ask_the_other
from srcad.frontend.store.lookup import STABLE_MODULES, is_library
from srcad.ir.core import Value
from srcad.rules.registry import row_of, row_of_operator
from srcad.startup.identifiers import label, module_of
from srcad.types.numeric import Numeric
from srcad.types.sources import is_installed


def special(
    state: Machine, box: AbstractValue, name: str, *args: AbstractValue
) -> AbstractValue | None:
    """``box.__name__(*args)`` where the class of an object defines it in Python.

    An object that is not made here runs its own method; only a derivative needs it to be read, or
    the use of what it returns.
    """
    _check_not_opaque(state, box, name, *args)
    is_read = state.is_active(*args) or state.inactive.are_read
    if isinstance(box, Constant) and has_stand_in(type(box.value)):
        if is_read:
            return special(state, stand_in(state, box), name, *args)
        state.inactive.left = True
    if isinstance(box, Constant) and is_read:
        if _is_opaque(type(box.value), name):
            return None  # no derivative reaches it: it runs its own method
        return _special_of_enclosing(state, box, name, args)
    if isinstance(box, Constant) and _method_of(box, name) is not None:
        state.inactive.left = True
    if not isinstance(box, RecordValue):
        return None
    found = inspect.getattr_static(box.cls, name, None)
    if not isinstance(found, types.FunctionType) or is_generated(found):
        return None
    own = BoundValue(method(state, box.cls, name, found, class_path(state, box)), (box,))
    return _unless_declined(apply(state, own, args, {}))


def _check_not_opaque(state: Machine, box: AbstractValue, name: str, *args: AbstractValue) -> None:
    """Refuse a method of an array or table of a library if a derivative flows into it."""
    if not isinstance(box, RecordValue | Constant) or not state.is_active(*args):
        return
    cls = box.cls if isinstance(box, RecordValue) else type(box.value)
    if state.is_active(box) or not _is_opaque(cls, name):
        return
    package = _definer(cls, name).__module__.partition(".")[0]
    by_method = ("or with its method:  s.to_numpy()",) if hasattr(cls, "to_numpy") else ()
    state.refuse(
        errors.UnsupportedTypeError,
        f"cannot differentiate through arithmetic with a {label(cls)!r}",
        why=f"{package} defines it, and the source of a library's arrays and tables is not read.",
        help=("make it an array first:  np.asarray(s)", *by_method),
    )


def _is_opaque(cls: type, name: str) -> bool:
    """Return True if a library defines both a method and how NumPy treats the objects.

    A series or a table computes with indices, missing values and types of its own. To read all of
    that takes long, and ends in compiled code.
    """
    protocols = (one for one in _ARRAY_PROTOCOLS if getattr(cls, one, None) is not None)
    return any(_is_of_library(cls, one) for one in protocols) and _is_of_library(cls, name)


def _is_of_library(cls: type, name: str) -> bool:
    """Return True if a file of an installed package has the class that defines a member.

    What rules and meanings know, arrays of NumPy among them, does not count.
    """
    module = _definer(cls, name).__module__
    file = getattr(sys.modules.get(module), "__file__", None)
    is_other = module.partition(".")[0] not in STABLE_MODULES
    return file is not None and is_other and is_installed(file)


def _definer(cls: type, name: str) -> type:
    return next((base for base in cls.__mro__ if name in vars(base)), object)


def _special_of_enclosing(
    state: Machine, box: Constant, name: str, args: Args
) -> AbstractValue | None:
    found = _method_of(box, name)
    if found is None:
        return None
    path = None if box.path is None else (*box.path, ("attr", name), ("attr", "__func__"))
    if path is not None:
        state.guard(path, "code", found)
    return _unless_declined(apply(state, Constant(found, path), (box, *args), {}))


def _method_of(box: Constant, name: str) -> types.FunctionType | None:
    """Return a special method of an object outside, if its class defines it in Python."""
    found = inspect.getattr_static(type(box.value), name, None)
    is_number = isinstance(box.value, numbers.Number)
    of_users = isinstance(found, types.FunctionType) and not is_library(found) and not is_number
    return found if of_users else None


def _unless_declined(result: AbstractValue) -> AbstractValue | None:
    declined = isinstance(result, Constant) and result.value is NotImplemented
    return None if declined else result


_ARRAY_PROTOCOLS = ("__array_ufunc__", "__array_function__", "__dataframe__")


_ARRAY_LIKE = (
    "__array_ufunc__", "__array__", "__array_interface__", "__array_struct__", "__buffer__",
    "__len__",
)  # fmt: skip


_COMPARED = frozenset({"__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"})


def of_call(state: Machine, function: Any, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Return the result of a builtin or operator that hands on to a method of its operand."""
    if not is_hashable(function):
        return None
    if len(args) == 2 and names_of_operator(function):
        return of_objects(state, function, *args)
    if not args or not isinstance(args[0], RecordValue):
        return None
    name = _name_of_method(function)
    return special(state, args[0], name, *args[1:], *kwargs.values()) if name else None


def _name_of_method(function: Any) -> str:
    """Return the method that a builtin or a function of `math` or `operator` calls, or ''."""
    module = module_of(function)
    names = row_of(function).special if module in ("builtins", "math", "_operator") else ()
    if names:
        return names[0]
    # Others of `operator` are named after it; some do more than to call it, and have meanings.
    if module != "_operator" or meaning_of(function) is not None:
        return ""
    name = f"__{label(function).strip('_')}__"
    return name if getattr(operator, name, None) is function else ""


def names_of_operator(target: Any) -> tuple[str, ...]:
    """Return the methods of the left and the right operand for an operator between two; or ()."""
    row = row_of(target) if target is divmod else row_of_operator(target)
    return row.special if row is not None and len(row.special) == 2 else ()


def of_objects(
    state: Machine, target: Any, left: AbstractValue, right: AbstractValue
) -> AbstractValue | None:
    """Return an operator that the class of an operand defines."""
    kinds = (RecordValue, Constant)
    names = names_of_operator(target)
    if not names or not (isinstance(left, kinds) or isinstance(right, kinds)):
        return None
    own, reflected = names
    _check_not_opaque(state, left, own, right)
    _check_not_opaque(state, right, reflected, left)
    _refuse_entry_by_entry(state, left, right)
    ask_the_other(state, left, right, reflected)
    if _goes_first(left, right, reflected):
        found = special(state, right, reflected, left)
        found = special(state, left, own, right) if found is None else found
    else:
        found = special(state, left, own, right)
        found = special(state, right, reflected, left) if found is None else found
    if found is None and row_of(target).answers == "equality":
        return _same_object(state, left, right, negated=target is operator.ne)
    return found


def dispatches_to_class(target: Any, left: AbstractValue, right: AbstractValue) -> bool:
    """Return True if an operator is left to the call, and to a class of the user's."""
    names = names_of_operator(target)
    return any(
        isinstance(box, Constant) and _method_of(box, name) is not None
        for box, name in zip((left, right), names, strict=False)
    )


def _refuse_entry_by_entry(state: Machine, left: AbstractValue, right: AbstractValue) -> None:
    """Refuse ``array op object`` where NumPy, which is asked first, makes arrays of objects of it.

    It hands over to classes with ``__array_ufunc__ = None`` (NEP 13) or a higher priority; of its
    numbers an object sees the Python ones, unless it is a sequence.
    """
    if not isinstance(left, Value) or not isinstance(right, RecordValue | Constant):
        return
    if not isinstance(left.type, Numeric) or left.type.form == "python":
        return
    cls = right.cls if isinstance(right, RecordValue) else type(right.value)
    is_users = (isinstance(right, RecordValue) and not issubclass(cls, tuple)) or (
        isinstance(right, Constant) and construction.is_readable(cls)
    )
    hands_over = getattr(cls, "__array_ufunc__", False) is None
    if not is_users or hands_over or getattr(cls, "__array_priority__", 0) > 0:
        return
    is_number = left.type.form in ("numpy", "number") or left.type.shape == ()
    if is_number and not any(hasattr(cls, name) for name in _ARRAY_LIKE):
        return
    state.refuse(
        errors.UnsupportedTypeError,
        f"NumPy applies this operator to a {label(cls)!r} entry by entry",
        why="an array on the left is asked first, and takes the object for one of many.",
        help=(
            "say in the class that it does arithmetic of its own:  __array_ufunc__ = None",
            "or write the object on the left",
        ),
    )


def _goes_first(left: AbstractValue, right: AbstractValue, reflected: str) -> bool:
    """Return True if the right operand is asked first: of a class that refines the left one's."""
    first, second = (
        b.cls
        if isinstance(b, RecordValue)
        else type(b.value)
        if isinstance(b, Constant)
        else object
        for b in (left, right)
    )
    if first is second or not issubclass(second, first):
        return False
    getter = inspect.getattr_static
    return reflected in _COMPARED or (
        getter(second, reflected, None) is not getter(first, reflected, None)
    )


def of_augmented(
    state: Machine, target: Any, old: AbstractValue, value: AbstractValue
) -> AbstractValue | None:
    """``old op= value`` where the class of `old` says what that does to it."""
    names = names_of_operator(target)
    if not names or not isinstance(old, RecordValue | Constant):
        return None
    return special(state, old, names[0].replace("__", "__i", 1), value)


def _same_object(
    state: Machine, left: AbstractValue, right: AbstractValue, *, negated: bool
) -> AbstractValue | None:
    """``left == right`` of objects whose classes do not say what is equal."""
    classes = [b.cls for b in (left, right) if isinstance(b, RecordValue)]
    plain = vars(object)["__eq__"]
    if len(classes) == 2 and all(inspect.getattr_static(c, "__eq__") is plain for c in classes):
        return identity(state, left, right, negated=negated)
    return None
