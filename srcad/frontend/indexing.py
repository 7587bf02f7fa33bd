"""``value[index]``: of what is known, now; of an array or list, at the call."""

from __future__ import annotations

import ast
import functools
import operator
from typing import Any, NoReturn

import numpy as np

from srcad import errors
from srcad.frontend.boxes import (
    Box,
    Choice,
    DictBox,
    ListBox,
    RecordBox,
    SliceBox,
    Static,
    TupleBox,
)
from srcad.frontend.choices import by_case, choose
from srcad.frontend.forms import lower, lower_next, lowers
from srcad.frontend.holders import item
from srcad.frontend.holding import Holder
from srcad.frontend.keyed import invoked, key_of
from srcad.frontend.known import known, pinned, raises
from srcad.frontend.layout import shape_of
from srcad.frontend.names import box_of_object
from srcad.frontend.objects import special
from srcad.frontend.questions import is_asked, is_index
from srcad.frontend.scope import Diverges, Session
from srcad.frontend.united import box_type, can_be_atom
from srcad.ir import primitives
from srcad.ir.core import Const, Value
from srcad.types.join import is_lost, join
from srcad.types.numeric import (
    INT,
    Numeric,
)
from srcad.types.structures import (
    OPAQUE,
    Opaque,
)

_FEW_KEYS = 16


@lowers(ast.Slice)
def slice_(s: Session, node: ast.Slice) -> Box:
    """``start:stop:step``."""
    parts = [
        Static(None) if p is None else lower(s, p) for p in (node.lower, node.upper, node.step)
    ]
    return SliceBox(*parts)


@lowers(ast.Subscript)
def subscript(s: Session, node: ast.Subscript) -> Box:
    """``value[index]``."""
    box, index = lower_next(s, lower(s, node.value), node.slice)
    return getitem(s, box, index)


def getitem(s: Session, box: Box, index: Box) -> Box:
    """Read an item: of what is known, now; of an array or list, at the call."""
    if isinstance(box, Choice):
        return by_case(s, box, lambda part: getitem(s, part, index))
    if isinstance(box, Holder):
        return item(s, box, index)
    if isinstance(box, Value):
        box = s.box(box)
    if isinstance(box, DictBox):
        return _item_of_dict(s, box, index)
    if isinstance(box, TupleBox | ListBox):
        return _sequence_item(s, box, as_index(s, index))
    own = special(s, box, "__getitem__", index)
    if own is not None:
        return own
    if not is_asked(box) or (isinstance(box, Static) and isinstance(box.value, range)):
        index = as_index(s, index)
    if isinstance(box, RecordBox) and issubclass(box.cls, tuple):
        return _sequence_item(s, TupleBox(box.items), index)
    found = _item_of_object(s, box, index) if isinstance(box, Static) else None
    return s.box(s.emit(operator.getitem, box, index)) if found is None else found


def as_index(s: Session, index: Box) -> Box:
    """An index; what an object stands for is asked at the call."""
    if isinstance(index, SliceBox):
        bounds = (index.start, index.stop, index.step)
        return SliceBox(*(as_index(s, bound) for bound in bounds))
    return s.box(s.emit(operator.index, index, type=INT)) if is_index(index) else index


def _item_of_object(s: Session, box: Static, index: Box) -> Box | None:
    """An item, or a part of a text, of what is known now."""
    if type(box.value) is str and isinstance(index, SliceBox):
        bounds = (index.start, index.stop, index.step)
        ends = [b.value for b in bounds if isinstance(b, Static) and b.atom is None]
        return Static(box.value[slice(*ends)]) if len(ends) == 3 else None
    if isinstance(index, Static) and isinstance(box.value, str | tuple | list | dict | range):
        try:
            found = box.value[index.value]
        except (TypeError, LookupError) as error:
            _raise_as_now(s, box, error)
        return s.box(Const(found)) if box.path is None else attribute_item(s, box, index.value)
    if box.value is np.r_ or box.value is np.c_:
        return joined(s, box, index)
    return None


def _raise_as_now(s: Session, box: Static, error: Exception) -> NoReturn:
    """There is no such item, nor will there be, as long as it is this object."""
    pinned(s, box)
    raises(s, type(error), *map(str, error.args))


def joined(s: Session, maker: Static, index: Box) -> Box:
    """``np.r_[a, b]``: entries one after the other; ``np.c_[a, b]``: columns side by side."""
    parts = index.items if isinstance(index, TupleBox) else (index,)
    if not s.is_active(*parts) or any(_is_told(part) for part in parts):
        return s.box(s.emit(operator.getitem, maker, index))
    columns = maker.value is np.c_
    arrays = [_as_part(s, part, columns=columns) for part in parts]
    axis = {"axis": Static(-1)} if columns else {}
    return s.invoke(s, Static(np.concatenate), (ListBox(tuple(arrays)),), axis)


def _is_told(part: Box) -> bool:
    """Whether a part is a directive to ``np.r_``, as in ``np.r_["0,2", a]``."""
    return isinstance(part, Static) and isinstance(part.value, str)


def _as_part(s: Session, part: Box, *, columns: bool) -> Box:
    """What one part of ``np.r_[...]`` adds, as an array of one axis or more; of two for columns."""
    if isinstance(part, SliceBox):
        array = _range(s, part)
    elif isinstance(part, TupleBox | ListBox):
        array = s.invoke(s, Static(np.array), (part,), {})
    else:
        array = part
    shape = shape_of(s.atom(array))
    if shape is None:
        s.refuse(
            errors.UnsupportedTypeError,
            f"cannot tell how many axes a part of 'np.{'c' if columns else 'r'}_' has",
            why="the parts are laid out by their axes.",
            help=("use np.concatenate, np.stack or np.column_stack",),
        )
    if not shape:
        row = ListBox((array,))
        return s.invoke(s, Static(np.array), (ListBox((row,)) if columns else row,), {})
    if columns and len(shape) == 1:
        column = TupleBox((Static(-1), Static(1)))
        return s.invoke(s, Static(np.reshape), (array, column), {})
    return array


def _range(s: Session, part: SliceBox) -> Box:
    """``start:stop:step`` in ``np.r_``: a range, or so many places if the step is imaginary."""
    absent = [isinstance(b, Static) and b.value is None for b in (part.start, part.step)]
    start = Static(0) if absent[0] else part.start
    step = Static(1) if absent[1] else part.step
    if isinstance(step, Static) and isinstance(step.value, complex):
        count = Static(int(abs(step.value)))
        return s.invoke(s, Static(np.linspace), (start, part.stop, count), {})
    return s.invoke(s, Static(np.arange), (start, part.stop, step), {})


def attribute_item(s: Session, box: Static, key: Any) -> Box:
    """An item of a container of the user's, reached by its path."""
    from_path = (*(box.path or ()), ("item", key))
    return box_of_object(s, box.value[key], from_path)


def _is_looked_up(box: DictBox, key: Box) -> bool:
    """Whether numbers, or functions, in a dict are read by a key that only the call knows."""
    plain = _is_count(key) or (isinstance(key, Value) and key.type == Opaque(str))
    few = 0 < len(box.keys) <= _FEW_KEYS
    return plain and few and all(_is_chosen(item) for item in box.items)


def _is_count(key: Box) -> bool:
    """Whether a key or index is an integer, or a flag, that only the call knows."""
    if not isinstance(key, Value) or not isinstance(key.type, Numeric) or not key.type.is_scalar:
        return False
    type_ = key.type
    return (type_.form in ("python", "numpy") and type_.kind in "iu") or (
        type_.form == "python" and type_.kind == "b"
    )


def _has_no_type(s: Session, box: TupleBox | ListBox) -> bool:
    """Whether no one type has all items of a sequence: functions, objects of several classes."""
    if not all(map(can_be_atom, box.items)):
        return True
    types = [box_type(item) for item in box.items]
    joined = functools.reduce(join, types)
    lost = isinstance(joined, Opaque) or any(is_lost(type_, joined) for type_ in types)
    return lost and s.is_active(box)


def _is_chosen(item: Box) -> bool:
    """Whether an item can be one of several: a number, or what has no value."""
    return not can_be_atom(item) or isinstance(box_type(item), Numeric)


def _looked_up(s: Session, box: DictBox, key: Box, first: int) -> Box:
    """The item of an integer key, compared with one key after the other."""
    if first == len(box.keys):
        _raise_missing(s, key)
    test = s.emit(operator.eq, key, Const(box.keys[first]))
    return choose(s, test, lambda: box.items[first], lambda: _looked_up(s, box, key, first + 1))


def _counted(s: Session, box: TupleBox | ListBox, index: Box, first: int) -> Box:
    """The item at an index, compared with one place after the other; from the end, too."""
    width = len(box.items)
    if first == 2 * width:
        kind = "tuple" if isinstance(box, TupleBox) else "list"
        raises(s, IndexError, f"{kind} index out of range")
    place = first if first < width else width - 1 - first
    test = s.emit(operator.eq, index, Const(place))
    return choose(s, test, lambda: box.items[place], lambda: _counted(s, box, index, first + 1))


def _item_of_dict(s: Session, box: DictBox, index: Box) -> Box:
    if _is_looked_up(box, index):
        return _looked_up(s, box, index, 0)
    found = _item_at_call(s, box, index)
    if found is not None:
        return found
    key = key_of(s, index)
    if key is not None and key.value in box.keys:
        return box.items[box.keys.index(key.value)]
    if key is not None or not box.keys:
        _raise_missing(s, index)
    return invoked(s, box, "__getitem__", (index,), {})


def _item_at_call(s: Session, box: DictBox, index: Box) -> Box | None:
    """An item, read at the call: of a dict that is as it came and carries no derivative.

    None where that does not do, or where the key may be known before the call.
    """
    may_be_known = not isinstance(index, Value) or getattr(index.type, "value", None) is not None
    if box.source is None or may_be_known or not box.keys or s.is_active(box):
        return None
    types = [box_type(item) for item in box.items if can_be_atom(item)]
    joined = functools.reduce(join, types) if types else OPAQUE
    if len(types) < len(box.items) or isinstance(joined, Opaque):
        return None
    if any(is_lost(type_, joined) for type_ in types):
        return None
    return s.box(s.emit(operator.getitem, box.source, index, type=joined))


def _raise_missing(s: Session, key: Box | Const) -> NoReturn:
    s.emit(primitives.raise_, s.emit(KeyError, key), effect=True)
    raise Diverges


def _sequence_item(s: Session, box: TupleBox | ListBox, index: Box) -> Box:
    if isinstance(index, SliceBox):
        bounds = [known(s, b, "a slice of a tuple") for b in (index.start, index.stop, index.step)]
        return type(box)(box.items[slice(*bounds)])
    place = index.value if isinstance(index, Static) else None
    if isinstance(place, int) and -len(box.items) <= place < len(box.items):
        item: Box = box.items[place]
        return item
    if isinstance(place, int) or (not box.items and _is_count(index)):
        kind = "tuple" if isinstance(box, TupleBox) else "list"
        raises(s, IndexError, f"{kind} index out of range")
    if len(box.items) <= _FEW_KEYS and _is_count(index) and _has_no_type(s, box):
        return _counted(s, box, index, 0)
    types = [item.type if isinstance(item, Value) else None for item in box.items]
    if box.source is None and (not types or any(t != types[0] for t in types)):
        known(s, index, "an index of a tuple of different things")
    value = s.atom(box)
    return s.box(s.emit(operator.getitem, value, index))
