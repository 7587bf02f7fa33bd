"""Lowering of any callable: plain functions, methods, partials and callable objects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import FunctionType
from typing import Any

from srcad import errors
from srcad.arguments.request import Parameter, name_of
from srcad.frontend.domain.frames import Dicts, Inactive, NotConstant, Unreachable
from srcad.frontend.domain.outside_places import Outside
from srcad.frontend.domain.values import AbstractValue, Constant, Frame
from srcad.frontend.lower import (
    EMPTY,
    Lowered,
    begin_places,
    lower,
    lowered,
    machine_for,
    until_settled,
)
from srcad.frontend.machine.constants import spread
from srcad.frontend.machine.dispatch import apply
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store import stopped
from srcad.frontend.store.structures import as_plain
from srcad.frontend.store.written_arguments import matrices, overlaid
from srcad.ir.core import Atom, Value
from srcad.rules import registry
from srcad.types.sizes import ShapeEnvironment
from srcad.types.structures import Opaque, Type


def lower_callable(
    function: Any,
    parameters: Sequence[Parameter],
    types: Mapping[str, Type],
    environment: ShapeEnvironment,
    *,
    active: tuple[str, ...],
    items: Mapping[str, Collection[Any]] = EMPTY,
    arguments: Mapping[str, Any],
    overlaps: Sequence[Sequence[str]] = (),
    ordered: Collection[str] = (),
) -> Lowered:
    """Read a callable for one signature.

    Calls through which no derivative flows are left as they stand.  What such a call returns, say
    an object whose attributes change afterwards, may be what the function is refused for: then it
    is read once more, and these calls with it.

    Parameters
    ----------
    function : callable
        What is called.
    parameters : sequence of inspect.Parameter
        Its parameters.
    types : mapping from str to Type
        Their types, in order.
    environment : ShapeEnvironment
        Where assumptions about lengths are recorded.
    active, items
        The parameters through which derivatives are taken; the items of those where not all are.
    arguments : mapping from str to object
        The arguments of the call that caused the compilation.
    overlaps, ordered
        Parameters that are arrays which share memory; those whose arrays all lie in C order.

    Returns
    -------
    Lowered
        The IR and what it takes for granted.
    """
    dicts = Dicts()
    read = partial(_lowered, function, parameters, types, environment, active=active, items=items,
                   arguments=arguments, overlaps=overlaps,
                   ordered=ordered, dicts=dicts)  # fmt: skip
    while True:
        try:
            return _read_twice(read)
        except errors.SrcadError as error:
            if not dicts.open(error):
                raise


def _read_twice(read: Callable[..., Lowered]) -> Lowered:
    """Read a function; again, with the calls that were left alone, where it is refused."""
    inactive = Inactive()
    try:
        return read(inactive=inactive)
    except errors.SrcadError as error:
        if not inactive.left:
            raise
        refused = error
    for one in (Inactive(are_read=True), Inactive(are_asked=True))[: 1 + inactive.is_open]:
        with suppress(errors.SrcadError):
            return read(inactive=one)
    raise refused from None


def _lowered(
    function: Any,
    parameters: Sequence[Parameter],
    types: Mapping[str, Type],
    environment: ShapeEnvironment,
    *,
    active: tuple[str, ...],
    items: Mapping[str, Collection[Any]],
    arguments: Mapping[str, Any],
    overlaps: Sequence[Sequence[str]],
    ordered: Collection[str],
    **given: Any,
) -> Lowered:
    if isinstance(function, FunctionType) and registry.lookup(function) is None:
        return lower(function, types, environment, active=active, items=items, arguments=arguments,
                     overlaps=overlaps, ordered=ordered, **given)  # fmt: skip

    def read(outside: Outside) -> Lowered:
        machine = machine_for(environment, root=function, outside=outside, **given)
        name = name_of(function)
        frame = Frame(name=name, file="", globals={}, path=())
        machine.frames.append(frame)
        machine.arguments = dict(arguments)
        values = {key: Value(type_, key) for key, type_ in types.items()}
        boxes: dict[str, AbstractValue] = {}
        machine.differentiated = frozenset(active)
        for key, value in values.items():
            machine.paths[value] = (("param", key),)
            if key in active:
                machine.activate(value)
            boxes[key] = _argument(machine, value, arguments.get(key))
        boxes |= {key: stopped.differentiated_in(machine, boxes[key], items[key]) for key in items}
        machine.compact.update(matrices(boxes[key] for key in ordered))
        boxes.update(overlaid(machine, [[values[name] for name in group] for group in overlaps]))
        frame.env.update({key: box for key, box in boxes.items() if key not in values})
        begin_places(machine)
        result = _result(machine, function, parameters, boxes)
        return lowered(machine, name, tuple(values.values()), result, None)

    return until_settled(read, environment)


def _result(
    machine: Machine,
    function: Any,
    parameters: Sequence[Parameter],
    boxes: Mapping[str, AbstractValue],
) -> Atom | None:
    """Return the result of the callable; None if every path raises."""
    try:
        return machine.atom(as_plain(machine, _called(machine, function, parameters, boxes)))
    except Unreachable:
        return None
    except NotConstant as problem:
        raise problem.error from None


def _argument(machine: Machine, value: Value, given: Any) -> AbstractValue:
    if isinstance(value.type, Opaque) and given is not None:
        return Constant(given, machine.paths[value], atom=value)
    return machine.box(value)


def _called(
    machine: Machine,
    function: Any,
    parameters: Sequence[Parameter],
    boxes: Mapping[str, AbstractValue],
) -> AbstractValue:
    positional: list[AbstractValue] = []
    keywords: dict[str, AbstractValue] = {}
    for parameter in parameters:
        box = boxes[parameter.name]
        if parameter.kind is Parameter.VAR_POSITIONAL:
            positional.extend(spread(machine, box))
        elif parameter.kind is Parameter.VAR_KEYWORD:
            keywords.update(zip(box.keys, box.items, strict=True))  # type: ignore[union-attr]
        elif parameter.kind is Parameter.KEYWORD_ONLY:
            keywords[parameter.name] = box
        else:
            positional.append(box)
    return apply(machine, Constant(function, ()), tuple(positional), keywords)
