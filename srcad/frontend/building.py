"""Structures as values of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from srcad import errors
from srcad.frontend.aliases import bury
from srcad.frontend.boxes import (
    DictBox,
    IterBox,
    ListBox,
    PlacesBox,
    RecordBox,
    SliceBox,
    Structure,
    TupleBox,
)
from srcad.ir import primitives
from srcad.ir.core import Const, Value
from srcad.types import PlacesOf

if TYPE_CHECKING:
    from srcad.frontend.scope import Session


def built(s: Session, box: Structure | SliceBox | IterBox | PlacesBox) -> Value:
    """The value of a structure, a slice, a range, or of the places of known keys."""
    match box:
        case SliceBox():
            return s.emit(slice, box.start, box.stop, box.step)
        case IterBox():
            return s.emit(range, *box.parts)
        case PlacesBox(keys):
            return s.emit(primitives.build_places, *map(Const, keys))
    parts = [s.atom(item) for item in box.items]
    if any(isinstance(p, Value) and isinstance(p.type, PlacesOf) and p in s.active for p in parts):
        s.refuse(
            errors.UnsupportedTypeError,
            "cannot keep a dict whose keys carry derivatives in a list or another dict",
            why="a key stands for a place, and these depend on the differentiated arguments.",
            help=("keep the numbers in the values:  d[k] = (x, v)",),
        )
    bury(s, box)
    match box:
        case TupleBox():
            return s.emit(primitives.build_tuple, *parts)
        case ListBox():
            return s.emit(primitives.build_list, *parts)
        case DictBox(keys):
            return s.emit(primitives.build_dict, Const(keys), *parts)
        case RecordBox(cls, keys):
            return s.emit(primitives.build_record, Const(cls), Const(keys), *parts)
