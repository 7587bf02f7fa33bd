"""A function of nodes that `optree` knows: read with each put together of its children."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

from srcad import errors
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    ListValue,
    RecordValue,
    Structure,
    TupleValue,
)
from srcad.frontend.machine.dispatch import apply
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations import mappings
from srcad.frontend.store.lookup import value_of_object
from srcad.startup.identifiers import label


def called(
    s: Machine,
    form_of: Callable[[int | str], Any],
    function: AbstractValue,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue:
    """Call a function with the arguments put together."""
    given = tuple(_made(s, form_of(k), box) for k, box in enumerate(args))
    named = {name: _made(s, form_of(name), box) for name, box in kwargs.items()}
    return apply(s, function, given, named)


def _made(s: Machine, form: Any, box: AbstractValue) -> AbstractValue:
    """Return a value of a form, of the box of its parts."""
    if form is None:
        return box
    assert isinstance(box, TupleValue)
    parts = tuple(_made(s, f, part) for f, part in zip(form.parts, box.items, strict=True))
    if form.cls in (OrderedDict, defaultdict):
        keys, factory = form.metadata
        if any(isinstance(part, Structure) for part in parts):
            s.refuse(
                errors.UnsupportedTypeError,
                f"cannot differentiate by a {label(form.cls)!r} that holds containers",
                why="it is read as a dict to which any key may be added: its values have one kind.",
                help=("pass a plain dict:  dict(d)",),
            )
        made_by = Constant(None) if factory is None else value_of_object(s, factory, None)
        return mappings.library_dict(s, form.cls, keys, parts, made_by)
    if form.make is not None:
        made = apply(s, value_of_object(s, form.make, None), (_known(s, form.metadata),
                     TupleValue(parts)), {})  # fmt: skip
        if not isinstance(made, RecordValue | DictValue | ListValue | TupleValue):
            s.refuse(
                errors.UnsupportedTypeError,
                f"cannot tell what is in a {label(form.cls)!r} that optree puts together",
                why="the function that does so was not read.",
                help=("write it in Python:  cls(*children)",),
            )
        return made
    if form.cls is list:
        return ListValue(parts)
    if form.cls is dict:
        return DictValue(form.keys, parts)
    return TupleValue(parts) if form.cls is tuple else RecordValue(form.cls, form.keys, parts)


def _known(s: Machine, value: Any) -> AbstractValue:
    """Metadata, which is constant."""
    if type(value) is tuple:
        return TupleValue(tuple(_known(s, part) for part in value))
    if type(value) is list:
        return ListValue(tuple(_known(s, part) for part in value))
    if type(value) is dict:
        return DictValue(tuple(value), tuple(_known(s, part) for part in value.values()))
    return value_of_object(s, value, None) if not isinstance(value, float) else Constant(value)
