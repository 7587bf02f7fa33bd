"""``value[index]``: of what is known, now; of an array or list, at the call."""

from __future__ import annotations

import ast
import functools
import operator
from typing import Any, NoReturn

import numpy as np

from srcad import errors
from srcad.frontend.branches.choices import by_case, choose
from srcad.frontend.domain.frames import Unreachable
from srcad.frontend.domain.layout import shape_of
from srcad.frontend.domain.predicates import has_user_protocol, is_index
from srcad.frontend.domain.representation import is_representable, representing_type
from srcad.frontend.domain.values import (
    AbstractValue,
    Choice,
    Constant,
    DictValue,
    Holder,
    ListValue,
    RecordValue,
    SliceValue,
    TupleValue,
)
from srcad.frontend.machine.constants import known, pinned, raises
from srcad.frontend.machine.dispatch import (
    Args,
    Kwargs,
    apply,
    attribute,
    evaluate,
    evaluates,
    means,
)
from srcad.frontend.machine.machine import Machine
from srcad.frontend.machine.order import evaluate_next
from srcad.frontend.operations.outside_containers import item
from srcad.frontend.operations.special_methods import special
from srcad.frontend.store.lookup import value_of_object
from srcad.frontend.store.runtime_keys import invoked, key_of
from srcad.ir.core import Const, Value
from srcad.types.join import is_lost, join
from srcad.types.numeric import INT, Numeric
from srcad.types.reading import answers
from srcad.types.structures import OPAQUE, Opaque

_FEW_KEYS = 16


@evaluates(ast.Slice)
def slice_(state: Machine, node: ast.Slice) -> AbstractValue:
    """``start:stop:step``."""
    parts = [
        Constant(None) if p is None else evaluate(state, p)
        for p in (node.lower, node.upper, node.step)
    ]
    return SliceValue(*parts)


@evaluates(ast.Subscript)
def subscript(state: Machine, node: ast.Subscript) -> AbstractValue:
    box, index = evaluate_next(state, evaluate(state, node.value), node.slice)
    return getitem(state, box, index)


def getitem(state: Machine, box: AbstractValue, index: AbstractValue) -> AbstractValue:
    """Read an item: of what is known, now; of an array or list, at the call."""
    if isinstance(box, Choice):
        return by_case(state, box, lambda part: getitem(state, part, index))
    if isinstance(box, Holder):
        return item(state, box, index)
    if isinstance(box, Value):
        box = state.box(box)
    if isinstance(box, DictValue):
        return _item_of_dict(state, box, index)
    if isinstance(box, TupleValue | ListValue):
        return _sequence_item(state, box, as_index(state, index))
    own = special(state, box, "__getitem__", index)
    if own is not None:
        return own
    if not has_user_protocol(box) or (isinstance(box, Constant) and isinstance(box.value, range)):
        index = as_index(state, index)
    if isinstance(box, RecordValue) and issubclass(box.cls, tuple):
        return _sequence_item(state, TupleValue(box.items), index)
    found = _item_of_object(state, box, index) if isinstance(box, Constant) else None
    return state.box(state.emit(operator.getitem, box, index)) if found is None else found


@means(operator.getitem)
def getitem_by_name(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``operator.getitem(container, index)`` is ``container[index]``."""
    return getitem(state, *args) if len(args) == 2 and not kwargs else None


def as_index(state: Machine, index: AbstractValue) -> AbstractValue:
    """Return an index; what an object stands for is asked at the call."""
    index = with_slice_bounds(state, index)
    if isinstance(index, SliceValue):
        bounds = (index.start, index.stop, index.step)
        return SliceValue(*(as_index(state, bound) for bound in bounds))
    return state.box(state.emit(operator.index, index, type=INT)) if is_index(index) else index


def with_slice_bounds(state: Machine, index: AbstractValue) -> AbstractValue:
    """Return a constant slice as a slice of its bounds; any other index unchanged."""
    if not isinstance(index, Constant) or type(index.value) is not slice:
        return index
    return SliceValue(*(attribute(state, index, name) for name in ("start", "stop", "step")))


def _item_of_object(state: Machine, box: Constant, index: AbstractValue) -> AbstractValue | None:
    """Return an item, or a part of a text, of what is known at compile time."""
    if type(box.value) is str and isinstance(index, SliceValue):
        bounds = (index.start, index.stop, index.step)
        ends = [b.value for b in bounds if isinstance(b, Constant) and b.atom is None]
        return Constant(box.value[slice(*ends)]) if len(ends) == 3 else None
    if isinstance(index, Constant) and isinstance(box.value, str | tuple | list | dict | range):
        if not _is_found_without_user_code(box.value, index.value):
            return None
        try:
            found = box.value[index.value]
        except (TypeError, LookupError) as error:
            _raise_missing_item(state, box, error)
        return (
            state.box(Const(found)) if box.path is None else attribute_item(state, box, index.value)
        )
    if box.value is np.r_ or box.value is np.c_:
        return index_trick(state, box, index)
    return None


def _is_found_without_user_code(container: Any, key: Any) -> bool:
    """Return True if an item is found without code of the user's.

    Of what is missing a class may say.
    """
    if answers(type(container), "__getitem__") or answers(type(key), "__hash__", "__eq__"):
        return False
    if not isinstance(container, dict) or type(container).__getitem__ is not dict.__getitem__:
        return True
    return not hasattr(type(container), "__missing__") or dict.__contains__(container, key)


def _raise_missing_item(state: Machine, box: Constant, error: Exception) -> NoReturn:
    """There is no such item, nor will there be, as long as it is this object."""
    pinned(state, box)
    raises(state, type(error), *map(str, error.args))


def index_trick(state: Machine, maker: Constant, index: AbstractValue) -> AbstractValue:
    """``np.r_[a, b]``: entries one after the other; ``np.c_[a, b]``: columns side by side."""
    parts = index.items if isinstance(index, TupleValue) else (index,)
    if not state.is_active(*parts) or any(_is_told(part) for part in parts):
        return state.box(state.emit(operator.getitem, maker, index))
    columns = maker.value is np.c_
    arrays = [_as_part(state, part, columns=columns) for part in parts]
    axis: Kwargs = {"axis": Constant(-1)} if columns else {}
    return apply(state, Constant(np.concatenate), (ListValue(tuple(arrays)),), axis)


def _is_told(part: AbstractValue) -> bool:
    """Return True if a part is a directive to ``np.r_``, as in ``np.r_["0,2", a]``."""
    return isinstance(part, Constant) and isinstance(part.value, str)


def _as_part(state: Machine, part: AbstractValue, *, columns: bool) -> AbstractValue:
    """Return the array that one part of ``np.r_[...]`` adds; with two axes for columns."""
    if isinstance(part, SliceValue):
        array = _range(state, part)
    elif isinstance(part, TupleValue | ListValue):
        array = apply(state, Constant(np.array), (part,), {})
    else:
        array = part
    shape = shape_of(state.atom(array))
    if shape is None:
        state.refuse(
            errors.UnsupportedTypeError,
            f"cannot tell how many axes a part of 'np.{'c' if columns else 'r'}_' has",
            why="the parts are laid out by their axes.",
            help=("use np.concatenate, np.stack or np.column_stack",),
        )
    if not shape:
        row = ListValue((array,))
        return apply(state, Constant(np.array), (ListValue((row,)) if columns else row,), {})
    if columns and len(shape) == 1:
        column = TupleValue((Constant(-1), Constant(1)))
        return apply(state, Constant(np.reshape), (array, column), {})
    return array


def _range(state: Machine, part: SliceValue) -> AbstractValue:
    """``start:stop:step`` in ``np.r_``: a range, or so many places if the step is imaginary."""
    absent = [isinstance(b, Constant) and b.value is None for b in (part.start, part.step)]
    start = Constant(0) if absent[0] else part.start
    step = Constant(1) if absent[1] else part.step
    if isinstance(step, Constant) and isinstance(step.value, complex):
        count = Constant(int(abs(step.value)))
        return apply(state, Constant(np.linspace), (start, part.stop, count), {})
    return apply(state, Constant(np.arange), (start, part.stop, step), {})


def attribute_item(state: Machine, box: Constant, key: Any) -> AbstractValue:
    """Return an item of a container of the user's, reached by its path."""
    from_path = (*(box.path or ()), ("item", key))
    return value_of_object(state, box.value[key], from_path)


def _is_looked_up(box: DictValue, key: AbstractValue) -> bool:
    """Return True if a dict of numbers or functions is read by an unknown key."""
    plain = _is_count(key) or (isinstance(key, Value) and key.type == Opaque(str))
    few = 0 < len(box.keys) <= _FEW_KEYS
    return plain and few and all(_is_chosen(item) for item in box.items)


def _is_count(key: AbstractValue) -> bool:
    """Return True if a key or index is an integer, or a flag, that is known only at run time."""
    if not isinstance(key, Value) or not isinstance(key.type, Numeric) or not key.type.is_scalar:
        return False
    type_ = key.type
    return (type_.form in ("python", "numpy") and type_.kind in "iu") or (
        type_.form == "python" and type_.kind == "b"
    )


def _has_no_type(state: Machine, box: TupleValue | ListValue) -> bool:
    """Return True if no one type has all items: functions, objects of several classes."""
    if not all(map(is_representable, box.items)):
        return True
    types = [representing_type(item) for item in box.items]
    joined = functools.reduce(join, types)
    lost = isinstance(joined, Opaque) or any(is_lost(type_, joined) for type_ in types)
    return lost and state.is_active(box)


def _is_chosen(item: AbstractValue) -> bool:
    """Return True if an item can be one of several: a number, or what has no value."""
    return not is_representable(item) or isinstance(representing_type(item), Numeric)


def _looked_up(state: Machine, box: DictValue, key: AbstractValue, first: int) -> AbstractValue:
    """Return the item of an integer key, compared with one key after the other."""
    if first == len(box.keys):
        _raise_missing(state, key)
    test = state.emit(operator.eq, key, Const(box.keys[first]))
    return choose(
        state, test, lambda: box.items[first], lambda: _looked_up(state, box, key, first + 1)
    )


def _counted(
    state: Machine, box: TupleValue | ListValue, index: AbstractValue, first: int
) -> AbstractValue:
    """Return the item at an index, compared with one place after the other; from the end, too."""
    width = len(box.items)
    if first == 2 * width:
        kind = "tuple" if isinstance(box, TupleValue) else "list"
        raises(state, IndexError, f"{kind} index out of range")
    place = first if first < width else width - 1 - first
    test = state.emit(operator.eq, index, Const(place))
    return choose(
        state, test, lambda: box.items[place], lambda: _counted(state, box, index, first + 1)
    )


def _item_of_dict(state: Machine, box: DictValue, index: AbstractValue) -> AbstractValue:
    if _is_looked_up(box, index):
        return _looked_up(state, box, index, 0)
    found = _item_at_call(state, box, index)
    if found is not None:
        return found
    key = key_of(state, index)
    if key is not None and key.value in box.keys:
        return box.items[box.keys.index(key.value)]
    if key is not None or not box.keys:
        _raise_missing(state, index)
    return invoked(state, box, "__getitem__", (index,), {})


def _item_at_call(state: Machine, box: DictValue, index: AbstractValue) -> AbstractValue | None:
    """Return an item, read at the call: of a dict that is as it came and carries no derivative.

    None where that does not do, or where the key may be known before the call.
    """
    may_be_known = not isinstance(index, Value) or getattr(index.type, "value", None) is not None
    if box.source is None or may_be_known or not box.keys or state.is_active(box):
        return None
    types = [representing_type(item) for item in box.items if is_representable(item)]
    joined = functools.reduce(join, types) if types else OPAQUE
    if len(types) < len(box.items) or isinstance(joined, Opaque):
        return None
    if any(is_lost(type_, joined) for type_ in types):
        return None
    return state.box(state.emit(operator.getitem, box.source, index, type=joined))


def _raise_missing(state: Machine, key: AbstractValue | Const) -> NoReturn:
    state.raise_(state.emit(KeyError, key))
    raise Unreachable


def _sequence_item(
    state: Machine, box: TupleValue | ListValue, index: AbstractValue
) -> AbstractValue:
    if isinstance(index, SliceValue):
        bounds = [
            known(state, b, "a slice of a tuple") for b in (index.start, index.stop, index.step)
        ]
        return type(box)(box.items[slice(*bounds)])
    place = index.value if isinstance(index, Constant) else None
    if isinstance(place, int) and -len(box.items) <= place < len(box.items):
        item: AbstractValue = box.items[place]
        return item
    if isinstance(place, int) or (not box.items and _is_count(index)):
        kind = "tuple" if isinstance(box, TupleValue) else "list"
        raises(state, IndexError, f"{kind} index out of range")
    if len(box.items) <= _FEW_KEYS and _is_count(index) and _has_no_type(state, box):
        return _counted(state, box, index, 0)
    types = [item.type if isinstance(item, Value) else None for item in box.items]
    if box.source is None and (not types or any(t != types[0] for t in types)):
        known(state, index, "an index of a tuple of different things")
    value = state.atom(box)
    return state.box(state.emit(operator.getitem, value, index))
