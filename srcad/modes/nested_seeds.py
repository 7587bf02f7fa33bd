"""Seeds and directions inside a function that is read: they have to fit what they belong to.

Shapes are compared before the call, where types tell them; what they do not tell is checked at it.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from srcad import errors
from srcad.frontend.domain.values import (
    AbstractValue,
    DictValue,
    RecordValue,
    Structure,
)
from srcad.frontend.machine.machine import Machine
from srcad.ir.core import Atom, Const
from srcad.ir.inference.builder import atom_type
from srcad.modes import seeds
from srcad.startup.records import dataclass
from srcad.transforms.sweep import cotangent_type
from srcad.types.numeric import Numeric, same_dtype
from srcad.types.sizes import same
from srcad.types.structures import ListOf, Opaque, TupleOf, Type

SEED = "the seed of the pullback"


def fitting(s: Machine, box: AbstractValue, x: Atom, what: str, *, broadcast: bool = False) -> Atom:
    """Return a seed in the structure, shapes and dtypes of `x`.

    With `broadcast` one number stands for all entries.
    """
    return _Seed(s, what, broadcast).part(box, atom_type(x), x)


@dataclass(frozen=True)
class _Seed:
    s: Machine
    what: str
    broadcast: bool

    def part(self, box: AbstractValue, type_: Type, x: Atom) -> Atom:
        """Return the seed for a part of a value."""
        match type_:
            case TupleOf():
                return self._structure(box, type_, x)
            case Numeric():
                return Const(None) if type_.kind == "b" else self._number(box, type_, x)
            case ListOf() | Opaque(cls=None):
                return self._checked(self.s.atom(box), x)
        return Const(None)

    def _structure(self, box: AbstractValue, type_: TupleOf, x: Atom) -> Atom:
        s, count = self.s, len(type_.items)
        if self.broadcast and _is_number(s, box):
            items: tuple[AbstractValue, ...] = (box,) * count
        elif isinstance(box, Structure) and _sort(box) == (type_.cls, _keys(type_), count):
            items = box.items
        else:
            self._refuse(f"needs the structure of the value: a {type_.cls.__name__} of {count}")
        parts = [
            self.part(item, t, s.part(x, type_, k))
            for k, (item, t) in enumerate(zip(items, type_.items, strict=True))
        ]
        return s.build_like(type_, parts)

    def _number(self, box: AbstractValue, type_: Numeric, x: Atom) -> Atom:
        seed = self.s.atom(box)
        given = atom_type(seed)
        if isinstance(given, Opaque) and given.cls is None:
            return self._checked(seed, x)
        if not isinstance(given, Numeric):
            self._refuse(f"is no number, and the value is a {type_}")
        return self._converted(self._shaped(seed, given, type_, x), type_)

    def _shaped(self, seed: Atom, given: Numeric, type_: Numeric, x: Atom) -> Atom:
        """Return the seed in the shape of the value."""
        if given.shape is None or type_.shape is None:
            return self._checked(seed, x)
        if len(given.shape) == len(type_.shape):
            found = [same(m, n) for m, n in zip(given.shape, type_.shape, strict=True)]
            if False not in found:
                return self._checked(seed, x) if None in found else seed
        if self.broadcast and given.shape == ():
            return self.s.emit(np.broadcast_to, seed, self.s.shape(x))
        return self._refuse(f"is a {given}, and the value is a {type_}")

    def _converted(self, seed: Atom, type_: Numeric) -> Atom:
        """Return the seed in the kind and dtype of a cotangent of the value."""
        target, given, s = cotangent_type(type_), atom_type(seed), self.s
        assert isinstance(target, Numeric)
        if not isinstance(given, Numeric) or target.dtype is None:
            return seed
        alike = given.form == target.form and same_dtype(given.dtype, target.dtype)
        if alike or target.form == "any":
            return seed
        if target.form == "python":
            kind = complex if target.kind == "c" else float
            return Const(kind(seed.value)) if isinstance(seed, Const) else s.emit(kind, seed)
        if target.form == "numpy":
            return s.emit(target.dtype.type, seed)
        seed = seed if given.form == "array" else s.emit(np.asarray, seed)
        return s.emit(np.astype, seed, Const(target.dtype))

    def _checked(self, seed: Atom, x: Atom) -> Atom:
        """Return the seed; its shape is compared with that of the value at run time."""
        self.s.emit(seeds.fits, seed, x, Const(self.what), effect=True, type=Opaque(type(None)))
        return seed

    def _refuse(self, problem: str) -> NoReturn:
        self.s.refuse(errors.SeedError, f"{self.what} {problem}",
                      why="it has the structure and the shape of the value that it belongs to.",
                      help=("pass one of that shape",))  # fmt: skip


def _is_number(s: Machine, box: AbstractValue) -> bool:
    if isinstance(box, Structure):
        return False
    type_ = atom_type(s.atom(box))
    return isinstance(type_, Numeric) and type_.shape == ()


def _keys(type_: TupleOf) -> tuple[object, ...] | None:
    return None if type_.keys is None else tuple(type_.keys)


def _sort(box: Structure) -> tuple[type, tuple[object, ...] | None, int]:
    """Return the class, keys and length of a structure."""
    kind = type(box).__name__
    match box:
        case RecordValue():
            return box.cls, box.keys, len(box.items)
        case DictValue():
            return dict, box.keys, len(box.items)
    return (list if kind == "ListValue" else tuple), None, len(box.items)
