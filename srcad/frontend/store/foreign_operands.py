"""Objects that are neither numbers nor arrays nor containers, as operands.

What ``+`` or ``[...]`` or `numpy.multiply` does with such an object is known to its class alone: a
masked array, a matrix, a table of another library.  A rule of the table would be wrong for it.
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from srcad import errors, runtime
from srcad.frontend.domain.values import AbstractValue, RecordValue
from srcad.frontend.machine.machine import Machine
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Call, Const, Display, Value, values_in
from srcad.ir.traits import (
    adds_at_places,
    is_builder,
    is_indexed,
    law_of,
    law_of_operator,
    puts_in,
    sets_places,
)
from srcad.rules import registry
from srcad.startup.identifiers import label, module_of
from srcad.types.join import is_lost
from srcad.types.numeric import ARRAY_CLASSES, NUMBER, Numeric
from srcad.types.structures import OPAQUE, ListOf, Opaque, PlacesOf, TupleOf, Type

_TELLING = ("__array_ufunc__", "__array__", "__add__", "__mul__", "__matmul__", "__getitem__")
_MOST_SEARCHED = 40  # operations before this one, for a check that is there already
_REMEDIES = {
    "item": ("write it as a call:  np.linspace, np.arange, np.concatenate, np.stack",),
    "object": ("do the arithmetic with its attributes, or in a method of the class",),
    "operand": ("make it an array first:  np.asarray(...), or .filled(...) of a masked one",),
}
_WRITING = {"fill", "itemset", "partition", "put", "resize", "setfield", "setflags", "sort"}
_READ_OF_ARRAYS = {name for name in dir(np.ndarray) if name[0] != "_"} - _WRITING
_TRANSPOSED = {"T", "mT"}
_KNOWN = (numbers.Number, np.generic, np.dtype, type, str, bytes, list, tuple, dict, range, slice)


def check_operands(state: Machine, target: Any, arguments: Iterable[Arg], result: Value) -> None:
    """Refuse an operation with a derivative one of whose operands is foreign to its rule."""
    type_ = result.type
    arguments = tuple(arguments)
    reads = is_indexed(target) or _fills_entries(target)
    by_field = reads and _is_field(arguments[0], arguments[1])
    if by_field or (isinstance(type_, Numeric) and type_.kind in ("O", "V")):
        is_plain = isinstance(type_, Numeric) and type_.kind == "O"
        state.refuse(
            errors.UnsupportedTypeError,
            f"an array {'of objects' if is_plain else 'with fields'} depends on the arguments",
            why="NumPy calls Python for each entry, so no derivative can be taken of its entries.",
            help=("give it a number type:  dtype=float", "or keep the values in a list or dict"),
        )
    if isinstance(type_, ListOf):
        _check_kept(state, target, arguments, type_)
    if _is_arithmetic(target):
        for arg in arguments:
            _check_at_the_call(state, target, arg)
    for arg in _operands(arguments):
        cls = _class_of(arg)
        if cls is None or not (_is_foreign(cls) or _is_unknown(target, arg)):
            continue
        if _is_linear_map(target, cls):
            continue
        rule = registry.lookup(target)
        if rule is None or not rule.shipped:
            return  # a rule of the user's knows its operands
        state.refuse(
            errors.UnsupportedTypeError,
            f"cannot differentiate through an operation with a {label(cls)!r}",
            why="its class defines the operation.",
            help=_REMEDIES[_kind(target, arg)],
        )


def _is_field(container: Arg, index: Arg) -> bool:
    """Return True if an entry of an array is asked for by a name."""
    is_array = isinstance(container, Value) and isinstance(container.type, Numeric)
    return is_array and isinstance(index, Const) and isinstance(index.value, str)


def _check_kept(state: Machine, target: Any, arguments: tuple[Arg, ...], kept: ListOf) -> None:
    """Refuse a list of which nobody could tell which of its items are structures."""
    if puts_in(target) == "item":
        pairs = [(arguments[0], kept), (arguments[-1], kept.item)]
    elif is_builder(target) and not isinstance(kept, PlacesOf):
        pairs = [(arg, kept.item) for arg in arguments]
    else:
        joins = puts_in(target) == "items" or _adds(target)
        pairs = [(arg, kept) for arg in arguments] if joins else []
    for arg, within in pairs:
        type_ = argument_type(arg)
        if is_lost(type_, within) and any(v in state.active for v in values_in(arg)):
            state.refuse(
                errors.UnsupportedTypeError,
                "cannot keep values of different types in a list of unknown length",
                why="a derivative goes through them, and only some have parts.",
                help=("give all items one kind", "or keep them in a list each"),
            )


def type_of_objects(state: Machine, target: Any, arguments: Iterable[Arg]) -> Type | None:
    """Return the type of arithmetic without a derivative that may be that of an object.

    A date or a fraction computes in a way of its own, and its result may be anything.  None for
    arithmetic of numbers and arrays.
    """
    if not isinstance(target, BuiltinFunctionType):
        return None
    is_choice = law_of(target) in ("largest", "smallest")
    if not is_choice and not _computes(target):
        return None
    arguments = tuple(arguments)
    if is_choice:
        return OPAQUE if any(map(_is_of_class, map(argument_type, arguments))) else None
    objects = [a.type for a in arguments if isinstance(a, Value) and isinstance(a.type, Opaque)]
    moves = any(v in state.active for a in arguments for v in values_in(a))
    if not objects or moves or state.frame.trusted:
        return None
    if all(map(_is_sparse, objects)):  # with an array it may make an array
        types = [argument_type(a) for a in arguments]
        scalar = all(t in objects or (isinstance(t, Numeric) and t.is_scalar) for t in types)
        return objects[0] if scalar else None
    return OPAQUE


def _adds(target: Any) -> bool:
    """Return True for ``+`` and ``+=``."""
    return law_of_operator(registry.operator_of(target) or target) == "sum"


def _computes(target: Any) -> bool:
    """Return True if a function is one of Python's operators, other than a comparison."""
    row = registry.row_of_operator(target)
    return row is not None and bool(row.special) and not row.answers


def _is_of_class(type_: Type) -> bool:
    """Return True if a value is an object of a known class, or has such items."""
    match type_:
        case Opaque(cls):
            return cls is not None
        case ListOf(item):
            return _is_of_class(item)
        case TupleOf(items):
            return any(map(_is_of_class, items))
    return False


def _is_sparse(type_: Opaque) -> bool:
    return type_.cls is not None and type_.cls.__module__.startswith("scipy.sparse")


def _is_arithmetic(target: Any) -> bool:
    """Return True if every argument is an operand."""
    module = getattr(target, "__module__", None)
    return isinstance(target, np.ufunc) or (module == "_operator" and not is_indexed(target))


def _check_at_the_call(state: Machine, target: Any, arg: Arg) -> None:
    """Have an operand looked at of which is known only at run time what it is."""
    if not isinstance(arg, Value) or arg in state.active or arg.type != OPAQUE:
        return
    latest = state.builder.ops[-_MOST_SEARCHED:]
    if any(
        isinstance(op, Call) and op.target is runtime.check_numeric and op.args[0] is arg
        for op in latest
    ):
        return
    rule = registry.lookup(target)
    if rule is not None and rule.shipped:
        sparse = {"sparse": Const(True)} if target is operator.matmul else {}
        state.emit(runtime.check_numeric, arg, kwargs=sparse, effect=True)


def as_number(state: Machine, box: Value, name: str) -> AbstractValue | None:
    """Return a differentiated value of unknown type, as the array that has `name`.

    That is what a function with a rule of its own returns.  None for what is known, and for names
    that no array has or that write into it.  Inside a rule nothing is marked as differentiated;
    there it is what is transposed.
    """
    names = _READ_OF_ARRAYS if state.active else _TRANSPOSED
    if box.type != OPAQUE or name not in names or (state.active and box not in state.active):
        return None
    return state.box(state.emit(runtime.checked_numeric, box, type=NUMBER, hint=box.hint))


def ask_the_other(
    state: Machine, left: AbstractValue, right: AbstractValue, reflected: str
) -> None:
    """Have an operand of which is known only at run time what it is be a number or an array.

    Where it is an object, its class may be asked before that of the other operand.  If a call that
    was left as it stands may have made it, the function is refused, and read once more with it.
    """
    if isinstance(right, RecordValue) and hasattr(right.cls, reflected):
        other = left
    elif isinstance(left, RecordValue) and _is_overridden(left.cls, reflected):
        other = right
    else:
        return
    if not isinstance(other, Value) or not isinstance(other.type, Opaque):
        return
    if state.inactive.may_open:
        state.inactive.is_open = True
        state.refuse(
            errors.UnsupportedTypeError,
            "cannot tell which class defines this operator",
            why="the class of an operand that only the call knows may be asked first.",
            help=("make the object with a call that is read, in the function itself",),
        )
    state.emit(runtime.check_numeric, other, effect=True)


def _is_overridden(cls: type, name: str) -> bool:
    """Return True if a class that refines another says anew what a method does."""
    refined: list[type] = cls.__subclasses__()
    return any(name in vars(one) or _is_overridden(one, name) for one in refined)


def _kind(target: Any, arg: Arg) -> str:
    if isinstance(arg, Value) and isinstance(arg.type, TupleOf):
        return "object"
    return "item" if is_indexed(target) else "operand"


def _class_of(arg: Arg) -> type | None:
    """Return the class of an operand that is an object, where it is known."""
    if isinstance(arg, Const):
        return type(arg.value)
    if isinstance(arg, Display):
        return None
    return arg.type.cls if isinstance(arg.type, Opaque | TupleOf) else None


def _operands(arguments: Iterable[Arg]) -> Iterator[Arg]:
    """Yield the arguments, and what the lists and tuples among them hold."""
    for arg in arguments:
        yield arg
        if isinstance(arg, Display) and arg.kind in ("list", "tuple"):
            yield from _operands(arg.items)


def _fills_entries(target: Any) -> bool:
    return sets_places(target) or adds_at_places(target)


def _is_unknown(target: Any, arg: Arg) -> bool:
    """Return True if an operand, or a value to store, is an object of a user's class."""
    type_ = arg.type if isinstance(arg, Value) else None
    if not isinstance(type_, TupleOf) or issubclass(type_.cls, tuple | list | dict):
        return False
    module = module_of(target).partition(".")[0]
    counts = module in ("numpy", "math", "_operator") or isinstance(target, np.ufunc)
    return counts or _fills_entries(target)


def _is_foreign(cls: type) -> bool:
    """Return True if objects of a class do arithmetic, or have items, in a way of their own."""
    if cls in ARRAY_CLASSES or issubclass(cls, _KNOWN):
        return False
    return any(hasattr(cls, name) for name in _TELLING)


def _is_linear_map(target: Any, cls: type) -> bool:
    """Return True if this is the product with a sparse matrix, which has a transpose."""
    return target is operator.matmul and _is_sparse(Opaque(cls))
