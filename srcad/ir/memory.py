"""Memory effects of operations: which make new arrays, which return views of an operand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from srcad import runtime
from srcad.ir.core import (
    Arg,
    Atom,
    Call,
    Const,
    Display,
    Function,
    Op,
    Routine,
    Value,
    values_in,
    walk,
)
from srcad.rules.registry import effect_of, lookup, memory_of, row_of, row_of_operator
from srcad.startup import identifiers
from srcad.types.numeric import Numeric
from srcad.types.structures import TEXT, Fixed, TupleOf, Type

# Conversions, and helpers, of which the result is new if it is an array.
_CONVERSIONS = frozenset(
    {len, float, int, bool, round, range, runtime.converted_like, runtime.copy_in_order_of,
     runtime.last_writes, runtime.rounded_as_in_place, runtime.as_kept_in}
)  # fmt: skip
_LIBRARIES = ("numpy", "scipy")  # whose memory effects the table of rules tells
_PRELUDE = (".prelude.solvers", ".prelude.trajectories")
# Helpers whose result is new memory, also of a list or of what may be a number.
COPIES = frozenset({runtime.deep_copy, runtime.zero_cotangent, runtime.copy_in_order_of})


def has_storage(atom: Atom) -> bool:
    """Return True if an atom may be something that can be changed in place."""
    if isinstance(atom, Const):
        if isinstance(atom.value, tuple):
            return any(has_storage(Const(part)) for part in atom.value)
        return isinstance(atom.value, np.ndarray | list | dict)
    type_ = atom.type
    if isinstance(type_, Numeric):  # nearly always
        return type_.form in ("array", "any")
    return type_has_storage(type_)


def type_has_storage(type_: Type) -> bool:
    """Return True if something of this type can be changed in place; a tuple of numbers cannot."""
    if isinstance(type_, Numeric):
        return type_.form in ("array", "any")
    if isinstance(type_, TupleOf) and type_.keys is None and type_.cls is not list:
        return any(type_has_storage(item) for item in type_.items)
    return not isinstance(type_, Fixed) and type_ != TEXT


def makes_new_array(
    target: Any, result: Type, args: tuple[Arg, ...], kwargs: Iterable[tuple[str, Arg]] = ()
) -> bool:
    """Return True if the result of a call is certainly new memory, if it is an array."""
    if not isinstance(result, Numeric):
        return False
    names = [name for name, _ in kwargs] if kwargs else []
    if isinstance(target, np.ufunc):
        return "out" not in names
    if isinstance(target, Routine):
        return False
    if is_operator(target):
        return True
    module = module_of(target)
    if module in ("math", "cmath"):
        return True
    is_told = module.startswith(_LIBRARIES) or module.endswith(_PRELUDE)
    return is_told and _is_fresh(target, args, kwargs)


def is_operator(target: Any) -> bool:
    """Return True for Python's operators on numbers and arrays, and for conversions to numbers."""
    row = row_of_operator(target)
    if row is not None:
        return row.entries in ("each", "contracted")
    if is_one_of(target, _CONVERSIONS):
        return True
    return row_of(target).entries in ("each", "contracted") and module_of(target) == "builtins"


def makes_fresh(op: Call) -> bool:
    """Return True if the result of a call is certainly new memory, if it is an array."""
    return makes_new_array(op.target, op.result.type, op.args, op.kwargs)


def makes_new_arrays(target: Any, kwargs: Iterable[tuple[str, Arg]] = ()) -> bool:
    """Return True if the result is certainly several arrays that share no memory."""
    if isinstance(target, np.ufunc):
        return target.nout > 1 and "out" not in dict(kwargs)
    return module_of(target).startswith(_LIBRARIES) and _is_fresh(target, (), kwargs)


def _is_fresh(target: Any, args: tuple[Arg, ...], kwargs: Iterable[tuple[str, Arg]]) -> bool:
    """Return True if the table says that a call with these options makes new arrays."""
    memory = memory_of(target)
    if isinstance(memory, str):
        return memory == "fresh"
    rule = lookup(target)
    given = dict(zip(rule.parameters, args, strict=False)) if rule is not None else {}
    given |= dict(kwargs)
    return all(
        name not in given or _is_none_of(given[name], values) for name, values in memory.items()
    )


def _is_none_of(option: Arg, values: tuple[Any, ...]) -> bool:
    return isinstance(option, Const) and option.value not in values


def returns_argument(target: Any) -> bool:
    """Return True if the result is the first argument itself, if that is an array."""
    return memory_of(target) == "argument"


def keeps_operand(op: Op) -> bool:
    """Return True if the last argument of a call escapes.

    A store into an array copies numbers and keeps no reference.
    """
    if not isinstance(op, Call) or not keeps_last(op.target):
        return False
    into = op.args[0]
    return not (isinstance(into, Value) and isinstance(into.type, Numeric))


def keeps_last(target: Any) -> bool:
    """Return True if a callee stores a reference to its last argument."""
    return effect_of(target) in ("sets", "keeps")


def stores_outside(target: Any) -> bool:
    """Return True if a call sets or deletes an attribute or an item of its first argument."""
    return effect_of(target) in ("sets", "deletes", "keeps", "removes")


def values_kept_outside(function: Function) -> set[Value]:
    """Return the values that outlive the call, because the caller or an object keeps them."""
    return {
        value
        for op in walk(function.block)
        if isinstance(op, Call) and keeps_operand(op)
        for value in values_in(op.args[-1])
        if has_storage(value)
    }


def replaced_outside(function: Function) -> dict[Call, set[Value]]:
    """Values that become unreachable when a place is overwritten: only that place held them."""
    places: dict[tuple[Value, Const], list[Call]] = {}
    elsewhere: set[Value] = set()
    for op in walk(function.block):
        if isinstance(op, Call) and keeps_operand(op):
            owner, *names, kept = op.args
            if names and isinstance(owner, Value) and isinstance(names[0], Const):
                places.setdefault((owner, names[0]), []).append(op)
            else:
                elsewhere.update(values_in(kept))
    held = [(ops, {v for op in ops for v in values_in(op.args[-1])}) for ops in places.values()]
    times = Counter(value for _, values in held for value in values)
    found: dict[Call, set[Value]] = {}
    for ops, values in held:
        only = {value for value in values if times[value] == 1} - elsewhere
        found.update(dict.fromkeys(ops, only))
    return found


def reads_a_copy(index: Arg) -> bool:
    """Return True if reading at an index certainly copies: the index contains an array."""
    return any(_is_advanced(part) for part in index_parts(index))


def _is_advanced(part: Arg) -> bool:
    if isinstance(part, Display):
        return part.kind == "list"
    if isinstance(part, Const):
        return isinstance(part.value, list | np.ndarray)
    return isinstance(part.type, Numeric) and part.type.form == "array"  # without axes, too


def reads_a_view(index: Arg) -> bool:
    """Return True if reading an array at an index certainly is a view (or a number)."""
    return all(_is_basic(part) for part in index_parts(index))


def keeps_an_axis(index: Arg) -> bool:
    """Return True if reading at an index always gives an array: a slice, ``...`` or None."""
    return any(
        part.kind == "slice"
        if isinstance(part, Display)
        else isinstance(part, Const)
        and (part.value is None or part.value is Ellipsis or isinstance(part.value, slice))
        for part in index_parts(index)
    )


def _is_basic(part: Arg) -> bool:
    if isinstance(part, Display):
        return part.kind == "slice"
    if isinstance(part, Const):
        return not isinstance(part.value, bool | list | np.ndarray | tuple)
    if not isinstance(part.type, Numeric) or part.type.form == "array":
        return False
    return part.type.is_scalar and part.type.kind in "iu"


def index_parts(index: Arg) -> tuple[Arg, ...]:
    return index.items if isinstance(index, Display) and index.kind == "tuple" else (index,)


def names_other_order(arg: Arg) -> bool:
    """Return True if an argument asks for another memory order than rows first."""
    return isinstance(arg, Const) and isinstance(arg.value, str) and arg.value in ("F", "A", "K")


def module_of(target: Any) -> str:
    """Return the module that a function belongs to."""
    name = getattr(target, "__name__", None)
    if type(name) is str and getattr(math, name, None) is target:
        return "math"
    return identifiers.module_of(target)


def is_one_of(target: Any, targets: frozenset[Any]) -> bool:
    """Membership, also for targets that cannot be hashed."""
    try:
        return target in targets
    except TypeError:
        return False
