"""Dicts with run-time keys: records of `library.Mapping`.

A dict stays what it is, known key by key, as long as that does.  Where it does not, the place of
the write (or read) is noted with the refusal, and the function is read again with that place
opened: from there on the dict is a `library.Mapping`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from srcad import errors
from srcad.frontend.domain.frames import NotConstant
from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Constant,
    DictValue,
    ListValue,
    PlacesValue,
    RecordValue,
    Structure,
)
from srcad.frontend.machine.constants import known
from srcad.frontend.machine.dispatch import apply, unless_refused
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside.unseen_reads import note_truth
from srcad.frontend.prelude import containers
from srcad.frontend.store import object_writes
from srcad.frontend.store.structures import is_of_library
from srcad.ir.core import Atom, For, Op, Value, While, carried_outputs

FIELDS = ("places", "entries")


# ------------------------------------------------------------------------------ kinds
def is_mapping(box: AbstractValue) -> bool:
    """Return True if a box is a dict of which is known only at run time the keys."""
    return isinstance(box, RecordValue) and issubclass(box.cls, containers.Mapping)


def class_of_record(box: RecordValue) -> type:
    """Return the class of the object that a record stands for."""
    return box.cls.stands_for if is_of_library(box) else box.cls  # type: ignore[attr-defined]


def part_names(box: Structure, name: str | None) -> tuple[str | None, ...]:
    if not is_of_library(box) or name is None or not name.isidentifier():
        return (None,) * len(box.items)
    known = {"entries": name, "places": f"{name}_places"}
    return tuple(known.get(key) for key in getattr(box, "keys", ()))


def as_mapping(box: DictValue) -> RecordValue:
    """Return a dict of known keys as one to which any key may be added."""
    return RecordValue(containers.Mapping, FIELDS, (PlacesValue(box.keys), ListValue(box.items)))


def with_run_time_keys(a: AbstractValue, b: AbstractValue) -> tuple[AbstractValue, AbstractValue]:
    """Two boxes; where one is a dict of unknown keys, a dict of known ones is as well."""
    if is_mapping(a) and isinstance(b, DictValue):
        return a, as_mapping(b)
    if is_mapping(b) and isinstance(a, DictValue):
        return as_mapping(a), b
    return a, b


def tested(state: Machine, box: AbstractValue) -> AbstractValue:
    """What is true where a box is: of a container of the library, how many items it has."""
    if not isinstance(box, RecordValue) or not is_of_library(box):
        note_truth(state, box)
        return box
    method: Any = box.cls.__len__  # type: ignore[attr-defined]
    return apply(state, BoundValue(Constant(method), (box,)), (), {})


# ------------------------------------------------------------------------------ opening
def unless_open(state: Machine, read: Callable[[], Any]) -> Any:
    """Try to interpret with static keys; None if that fails and keys may be unknown."""
    where = state.builder.where
    if where in state.dicts.opened:
        found = unless_refused(state, lambda: _read(read))
        return None if isinstance(found, errors.SrcadError) else found
    try:
        return _read(read)
    except errors.SrcadError as error:
        state.dicts.asked.append((error, where))
        raise NotConstant(error) from None


def _read(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except NotConstant as problem:
        raise problem.error from None


def key_of(state: Machine, index: AbstractValue) -> Constant | None:
    """Return a key that is known at compile time; None: it is not, and need not be."""
    key = unless_open(state, lambda: Constant(known(state, index, "a dict key")))
    assert key is None or isinstance(key, Constant)
    return key


def call_parts(state: Machine, box: AbstractValue, name: str | None) -> None:
    """Call the parts of a container after the name that it gets, if they have none."""
    if isinstance(box, RecordValue) and is_of_library(box):
        for part, hint in zip(box.items, part_names(box, name), strict=True):
            if isinstance(part, Value) and hint is not None:
                _call(part, hint, state.builder.ops)


def _call(atom: Atom, hint: str, ops: Sequence[Op]) -> None:
    """Call a value, and what a comprehension carried that made it, by a name."""
    if not isinstance(atom, Value) or atom.hint is not None:
        return
    atom.hint = hint
    for op in ops:
        if isinstance(op, For | While) and atom in carried_outputs(op):
            k = carried_outputs(op).index(atom)
            for other in (op.inits[k], op.carried[k]):
                _call(other, hint, ops)
            _call(op.body.results[1 + k], hint, op.body.ops)


def as_run_time_dict(state: Machine, box: DictValue) -> RecordValue:
    """Return a dict, under all its names, as one whose keys is known only at run time."""
    names = [n for n, other in state.reachable() if other is box and n.isidentifier()]
    made = RecordValue(containers.Mapping, FIELDS, tuple(map(state.atom, as_mapping(box).items)))  # type: ignore[arg-type]
    call_parts(state, made, names[0] if names else None)
    object_writes.write(state, box, made, resizes=False)
    return made


def invoked(
    state: Machine,
    box: DictValue,
    name: str,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue:
    """Return a method of a dict, as one of whose keys is known only at run time."""
    method = getattr(containers.Mapping, name)
    return apply(state, BoundValue(Constant(method), (as_run_time_dict(state, box),)), args, kwargs)
