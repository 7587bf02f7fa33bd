"""Methods of lists, dicts and records; which methods a value has."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from srcad import errors
from srcad.frontend.domain.predicates import has_dtype, is_list
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    ListValue,
    RecordValue,
    TupleValue,
)
from srcad.frontend.library import array_writes
from srcad.frontend.machine.constants import known
from srcad.frontend.machine.dispatch import apply
from srcad.frontend.machine.folding import text_method
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations import lists
from srcad.frontend.operations.dicts import DICT, Method
from srcad.frontend.operations.indexing import getitem
from srcad.frontend.prelude import builtins
from srcad.frontend.store.parameter_names import by_name
from srcad.ir.core import Value
from srcad.rules.registry import function_of_method
from srcad.types.numeric import FLOAT, INT, Numeric

WRITING = frozenset(["partition", "resize", "setfield", "setflags", "itemset", "byteswap"])


def _function(function: Any) -> Method:
    def method(
        state: Machine,
        receiver: Any,
        args: tuple[AbstractValue, ...],
        kwargs: dict[str, AbstractValue],
    ) -> AbstractValue:
        given, kwargs = by_name(function, (receiver, *args), kwargs)
        args = given[1:]
        if "out" in kwargs:
            stored = array_writes.into(state, Constant(function), (receiver, *args), kwargs)
            if stored is not None:
                return stored
        return state.box(state.emit(function, receiver, *args, kwargs=kwargs))

    return method


def _conj(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """``x.conj()`` of real numbers is `x` itself, not a new array as that of ``np.conj(x)``."""
    kind = receiver.type.kind if isinstance(receiver.type, Numeric) else "?"
    if args or kwargs or kind == "c":
        return _function(np.conj)(state, receiver, args, kwargs)
    if kind not in "biuf":
        state.refuse(
            errors.UnsupportedTypeError,
            "cannot tell whether this is real or complex",
            why="the method returns a real array itself, and a new one of complex numbers.",
            help=("write np.conj(x), which always makes a new array",),
        )
    return state.identity(receiver)


def _clip(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """``x.clip(0.0)`` is ``np.clip(x, 0.0, None)``: the function needs both bounds."""
    if len(args) == 1 and "max" not in kwargs:
        args = (*args, Constant(None))
    elif len(args) == 1:
        args = (args[0], kwargs["max"])
        kwargs = {name: box for name, box in kwargs.items() if name != "max"}
    return _function(np.clip)(state, receiver, args, kwargs)


def _compress(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """``x.compress(mask, 0)`` is ``np.compress(mask, x, 0)``."""
    names = ("condition", "axis", "out")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    condition = given.pop("condition")
    return apply(state, Constant(np.compress), (condition, receiver), given)


def _take(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """``x.take(indices)`` is ``np.take(x, indices)``, also of flags."""
    return apply(state, Constant(np.take), (receiver, *args), kwargs)


def _shape_arguments(args: tuple[AbstractValue, ...]) -> AbstractValue:
    if len(args) == 1:
        return args[0]
    return TupleValue(args)


def _reshape(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return state.emit(np.reshape, receiver, _shape_arguments(args), kwargs=kwargs)


def _transpose(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    if not args or (len(args) == 1 and isinstance(args[0], Constant) and args[0].value is None):
        return state.emit(np.transpose, receiver)
    return state.emit(np.transpose, receiver, _shape_arguments(args))


def _astype(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    names = ("dtype", "order", "casting", "subok", "copy")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    dtype, copy = given["dtype"], given.get("copy", Constant(True))
    order = known(state, given.get("order", Constant("K")), "the order of the entries")
    casting = known(state, given.get("casting", Constant("unsafe")), "the rule of casting")
    is_same = has_dtype(receiver, dtype)
    if casting != "unsafe":
        state.refuse(
            errors.UnsupportedSyntaxError,
            "cannot read the option 'casting' of 'astype'",
            why="whether the cast is allowed is not asked for here.",
            help=("leave it out, or assert np.can_cast(...) before",),
        )
    copies = known(state, copy, "whether to copy")
    if order != "K" and receiver.type.form != "numpy":
        make = np.array if copies else np.asarray
        return state.emit(make, receiver, kwargs={"dtype": dtype, "order": Constant(order)})
    if copies or is_same is False:
        return state.emit(np.astype, receiver, dtype)
    if is_same:
        return state.identity(receiver)
    return state.emit(np.astype, receiver, dtype, kwargs={"copy": copy})


def _copy(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """``x.copy()`` is laid out in C order, ``np.copy(x)`` as `x` is; a number stays one."""
    if isinstance(receiver.type, Numeric) and receiver.type.form == "numpy":
        return state.box(receiver)
    rank = receiver.type.shape if isinstance(receiver.type, Numeric) else None
    if rank is not None and len(rank) < 2:
        return state.emit(np.copy, receiver)
    order = args[0] if args else kwargs.get("order", Constant("C"))
    return state.emit(np.copy, receiver, kwargs={"order": order})


def _flatten(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return state.emit(np.copy, state.emit(np.ravel, receiver, *args, kwargs=kwargs))


def _item(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    shape = receiver.type.shape if isinstance(receiver.type, Numeric) else None
    if (
        len(args) == 1
        and not isinstance(args[0], TupleValue)
        and (shape is None or len(shape) != 1)
    ):
        receiver = state.emit(np.ravel, receiver)  # one number counts all entries
    if args:
        entry = getitem(state, receiver, _shape_arguments(args))
        of_objects = isinstance(receiver.type, Numeric) and receiver.type.kind == "O"
        return entry if of_objects else as_python(state, entry)
    if shape == ():
        return as_python(state, receiver)
    flat = state.emit(np.reshape, receiver, Constant(()))
    return as_python(state, flat)


def as_python(state: Machine, box: AbstractValue) -> AbstractValue:
    """``float(x)`` or ``int(x)`` of a number; a text, a date or an object as Python has it."""
    if isinstance(box, Value) and isinstance(box.type, Numeric) and box.type.kind in "iu":
        # `int` cuts a derivative
        return state.emit(operator.index if state.is_active(box) else int, box, type=INT)
    if isinstance(box, Value) and isinstance(box.type, Numeric) and box.type.kind in "bcMmOSUV":
        return state.apply(state.field(box, "item"))
    return state.emit(float, box, type=FLOAT)


def _tolist(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    if not state.is_active(receiver):
        return state.apply(state.field(receiver, "tolist"))
    axes = None if receiver.type.shape is None else len(receiver.type.shape)
    if axes == 0:
        return as_python(state, receiver)
    if axes not in (1, 2):
        state.refuse(
            errors.UnsupportedSyntaxError,
            "cannot differentiate through 'tolist'",
            why="it is read for arrays that are known to have at most two axes.",
            help=("loop over the array, or index it",),
        )
    return apply(
        state, Constant(builtins.numbers_of if axes == 1 else builtins.rows_of), (receiver,), {}
    )


def _writes(name: str) -> Method:
    def method(
        state: Machine,
        receiver: Any,
        args: tuple[AbstractValue, ...],
        kwargs: dict[str, AbstractValue],
    ) -> AbstractValue:
        return state.refuse(
            errors.MutationError,
            f"cannot call '.{name}', which changes an array in place",
            why="others may hold the array.",
            help=("use the function that returns a new array, for example np.sort(x)",),
        )

    return method


ARRAY: dict[str, Method] = {
    **{name: _writes(name) for name in WRITING},
    "conj": _conj,
    "conjugate": _conj,
    "clip": _clip,
    "compress": _compress,
    "take": _take,
    "reshape": _reshape,
    "transpose": _transpose,
    "astype": _astype,
    "copy": _copy,
    "flatten": _flatten,
    "item": _item,
    "tolist": _tolist,
    "view": lambda state, r, a, k: array_writes.view(state, r, a, k),
    "fill": lambda state, r, a, k: array_writes.fill(state, r, a, k),
    "sort": lambda state, r, a, k: array_writes.sort(state, r, a, k),
    "put": lambda state, r, a, k: array_writes.put_items(state, r, a, k),
    "__add__": lambda state, r, a, k: state.box(state.emit(operator.add, r, *a)),
}


def _writes_list(write: Callable[..., object]) -> Method:
    """Return a method of lists that returns None."""

    def method(
        state: Machine,
        receiver: Any,
        args: tuple[AbstractValue, ...],
        kwargs: dict[str, AbstractValue],
    ) -> AbstractValue:
        write(state, receiver, *args, **kwargs)
        return Constant(None)

    return method


def _pop(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return lists.pop(state, receiver, args[0] if args else Constant(-1))


def _list_copy(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    if isinstance(receiver, ListValue):
        return ListValue(receiver.items)
    return lists.as_copy(state, receiver)


def _index(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return lists.found_in_list(state, operator.indexOf, receiver, args[0])


def _count(
    state: Machine, receiver: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return lists.found_in_list(state, operator.countOf, receiver, args[0])


LIST: dict[str, Method] = {
    "append": _writes_list(lists.append),
    "extend": _writes_list(lists.extend),
    "insert": _writes_list(lists.insert),
    "remove": _writes_list(lists.remove),
    "reverse": _writes_list(lists.reverse),
    "clear": _writes_list(lists.clear),
    "sort": _writes_list(lists.sort),
    "pop": _pop,
    "copy": _list_copy,
    "index": _index,
    "count": _count,
}


# --------------------------------------------------------------------------- records
def _replace(
    state: Machine,
    receiver: RecordValue,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue:
    arrays = {**dict(zip(receiver.keys, receiver.items, strict=True)), **kwargs}
    return RecordValue(receiver.cls, receiver.keys, tuple(arrays[k] for k in receiver.keys))


RECORD: dict[str, Method] = {
    "_replace": _replace,
    "_asdict": lambda state, r, a, k: DictValue(r.keys, r.items),
}


def is_number_or_array(box: AbstractValue) -> bool:
    return isinstance(box, Value) and isinstance(box.type, Numeric)


METHODS: tuple[tuple[Callable[[AbstractValue], bool], dict[str, Method]], ...] = (
    (is_number_or_array, ARRAY),
    (is_list, LIST),
    (lambda box: isinstance(box, TupleValue), {"index": _index, "count": _count}),
    (lambda box: isinstance(box, DictValue), DICT),
    (lambda box: isinstance(box, RecordValue), RECORD),
)


def read_method(
    state: Machine,
    receiver: AbstractValue,
    name: str,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue | None:
    """``receiver.name(*args)`` of an array, a container or a text that is known; else None."""
    if isinstance(receiver, Constant) and receiver.atom is None:
        return text_method(receiver.value, name, args, kwargs)
    for kind, known_here in METHODS:
        if kind(receiver) and name in known_here:
            return known_here[name](state, receiver, args, kwargs)
    function = function_of_method(name) if is_number_or_array(receiver) else None
    return None if function is None else _function(function)(state, receiver, args, kwargs)
