"""The machine that reads a program: how it appends calls and makes values of abstract values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Choice,
    Conflict,
    Constant,
    DictValue,
    FunctionValue,
    GeneratorValue,
    Holder,
    IteratorValue,
    ListValue,
    MethodValue,
    RecordValue,
    RepeatedView,
    Stale,
    Super,
    Text,
    TupleValue,
    Unbound,
)
from srcad.frontend.machine.dispatch import reify
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside.unseen_reads import note_call
from srcad.frontend.store import stale
from srcad.frontend.store.aliases import note_element
from srcad.frontend.store.foreign_operands import check_operands, type_of_objects
from srcad.frontend.store.lookup import object_at, text_at
from srcad.frontend.store.memory_effects import note
from srcad.frontend.store.origins import note_part
from srcad.frontend.store.structures import built, is_ours, without_library_classes
from srcad.ir.core import UNDEF, Arg, Atom, Call, Const, Display, Value
from srcad.ir.traits import is_attribute
from srcad.types.numeric import Numeric
from srcad.types.sources import Path, Unreadable, read
from srcad.types.structures import OPAQUE, TEXT, Fixed, Opaque, PlacesOf, TupleOf, Type

# The parts of a structure of known type: a box for each.


def unfolded(state: Machine, value: Value, type_: TupleOf) -> AbstractValue:
    """Return the parts of a structure."""
    fields = type_.keys is not None and type_.cls is not dict
    keys: tuple[Any, ...] = type_.keys if type_.keys is not None else tuple(range(len(type_.items)))
    parts = tuple(
        _constant_part(state, value, t, fields, key) or _part(state, value, type_, k)
        for k, (key, t) in enumerate(zip(keys, type_.items, strict=True))
    )
    if type_.cls is dict:
        return DictValue(keys, parts, value)
    if type_.keys is not None:
        return RecordValue(type_.cls, keys, parts, value)
    return ListValue(parts, value) if type_.cls is list else TupleValue(parts, value)


def _constant_part(
    state: Machine, value: Value, type_: Type, fields: bool, key: Any
) -> Constant | None:
    """Return a part that is known before the call: code, a flag, or a string of the arguments."""
    if isinstance(type_, Fixed):
        path = _path_of_part(state, value, fields, key) or state.found_at(type_)
        return Constant(type_.value, path)
    path = _path_of_part(state, value, fields, key) if type_ == TEXT else None
    if path is None:
        return None
    try:
        found = read(path, state.root, state.arguments)
    except Unreadable:
        return None
    return text_at(state, path, found) if type(found) is str else None


def _part(state: Machine, value: Value, whole: TupleOf, k: int) -> AbstractValue:
    type_, key = whole.items[k], k if whole.keys is None else whole.keys[k]
    named = isinstance(key, str) and key.isidentifier()
    part = state.builder.part(value, whole, k, type=type_, hint=key if named else None)
    is_active = value in state.active and not isinstance(type_, PlacesOf)  # no key is (`building`)
    if is_active:
        state.active.add(part)
    note_part(state, value, key, part)
    read = state.builder.ops[-1]
    assert isinstance(read, Call)
    note_element(state, read.target, read.args, part)
    path = _path_of_part(state, value, is_attribute(read.target), key)
    if path is None:
        return state.box(part)
    state.paths[part] = path
    if is_active:
        state.active.discard(part)
        state.activate(part)
    return _object(state, part, path) if isinstance(type_, Opaque) else state.box(part)


def _path_of_part(state: Machine, value: Value, fields: bool, key: Any) -> Path | None:
    path = state.paths.get(value)
    return None if path is None else (*path, ("attr" if fields else "item", key))


def _object(state: Machine, part: Value, path: Path) -> AbstractValue:
    """Return an object inside a structure from outside, of a known class, as it is."""
    try:
        found = read(path, state.root, state.arguments)
    except Unreadable:
        return state.box(part)
    return object_at(state, path, found, part)


def carries_texts(target: Any) -> bool:
    """Return True if a call does the same with every string: it keeps it, or writes it down."""
    is_error = isinstance(target, type) and issubclass(target, BaseException)
    return is_error or target is str.format or is_ours(target)


_WITHOUT_VALUE = (
    Conflict | Choice | MethodValue | BoundValue | GeneratorValue | Super | RepeatedView
)


class Interpreter(Machine):
    """A `Machine` that knows memory: every call that it appends is noted in the store."""

    def emit(
        self,
        target: Any,
        *args: AbstractValue | Arg,
        kwargs: Mapping[str, AbstractValue | Arg] | None = None,
        effect: bool = False,
        type: Type | None = None,
        hint: str | None = None,
    ) -> Value:
        """Append a call and keep track of activity and of views."""
        if self.dicts.opened and not is_ours(target):
            args = tuple(
                a if isinstance(a, Const | Display) else without_library_classes(self, a)
                for a in args
            )
        if carries_texts(target):
            args = tuple(a.carry() if isinstance(a, Text) else a for a in args)
        arguments = tuple(self.arg(a) for a in args)
        keywords = tuple((k, self.arg(a)) for k, a in (kwargs or {}).items())
        if type is None:  # asking for the type of what has an effect must not run it
            type = OPAQUE if effect else type_of_objects(self, target, arguments)
        result = self.builder.call(
            target, *arguments, kwargs=keywords, effect=effect, type=type, hint=hint
        )
        note(self, target, arguments, keywords, result)
        note_element(self, target, arguments, result)
        note_call(self, target, arguments, keywords, result)
        if self.carries(target, self.builder.ops[-1].operands, result):
            self.active.add(result)
            check_operands(self, target, arguments, result)
        return result

    def atom(self, box: AbstractValue | Atom) -> Atom:
        """Return the box as one value or constant (a structure is built)."""
        if isinstance(box, FunctionValue | Holder):
            return reify(self, box)
        if isinstance(box, Stale):
            stale.refuse_stale(self, box)
        if isinstance(box, _WITHOUT_VALUE) or (
            isinstance(box, IteratorValue) and box.kind != "range"
        ):
            stale.refuse_to_hold(self, box)
        match box:
            case Value() | Const():
                return box
            case Constant():
                return self.constant(box)
            case TupleValue() | ListValue() | DictValue() | RecordValue():
                return box.source if box.source is not None else built(self, box)
            case Unbound():
                return UNDEF
            case _:
                return built(self, box)

    def box(self, value: Value | Const) -> AbstractValue:
        """Return the box of a value: what its type already tells is unfolded."""
        if isinstance(value, Const):
            return Constant(value.value, spelling=value.spelling)
        type_ = value.type
        if isinstance(type_, Fixed):
            return Constant(type_.value, self.paths.get(value) or self.found_at(type_), atom=value)
        if isinstance(type_, Numeric) and type_.value is not None and type_.is_python:
            return value if type_.value.terms else Constant(type_.value.constant)
        if isinstance(type_, TupleOf):
            return unfolded(self, value, type_)
        return value
