"""Abstract values as structures: their parts, and the same with other parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from srcad.frontend.domain.values import (
    AbstractValue,
    AttributesValue,
    BoundValue,
    Choice,
    Code,
    Conflict,
    Constant,
    DictValue,
    FunctionValue,
    GeneratorValue,
    IteratorValue,
    ListValue,
    MethodValue,
    RecordValue,
    SliceValue,
    Structure,
    Super,
    TupleValue,
    Unbound,
    ViewValue,
)
from srcad.ir.core import Value
from srcad.startup.records import replace
from srcad.types.structures import ListOf


def view_of(mapping: DictValue, *, pairs: bool) -> ViewValue:
    """Return the values of a dict, or its keys and values."""
    rows = zip(mapping.keys, mapping.items, strict=True)
    items = tuple(TupleValue((Constant(k), v)) for k, v in rows) if pairs else mapping.items
    return ViewValue(items, None, mapping, pairs)


def attributes_of_record(box: RecordValue) -> AttributesValue:
    """Return the dict of the attributes of an object made in the function."""
    return AttributesValue(box.keys, box.items, None, box)


def rebuilt(box: Structure, items: tuple[AbstractValue, ...]) -> Structure:
    """Return the same structure around other items."""
    match box:
        case TupleValue():
            return TupleValue(items)
        case ListValue():
            return ListValue(items)
        case DictValue(keys):
            return DictValue(keys, items)
        case RecordValue(cls, keys):
            return RecordValue(cls, keys, items)


def same_structure(a: AbstractValue, b: AbstractValue) -> bool:
    """Return True if two boxes are structures that differ in their items only."""
    if type(a) is not type(b) or not isinstance(a, Structure) or not isinstance(b, Structure):
        return False
    if isinstance(a, ViewValue | AttributesValue):
        return False
    if isinstance(a, RecordValue) and isinstance(b, RecordValue) and a.cls is not b.cls:
        return False
    keys_a, keys_b = getattr(a, "keys", None), getattr(b, "keys", None)
    return len(a.items) == len(b.items) and keys_a == keys_b


def values_of(box: AbstractValue) -> list[Value]:
    match box:
        case Value():
            return [box]
        case Constant(atom=atom):
            return [] if atom is None else [atom]
        case _:
            return [value for part in components(box) for value in values_of(part)]


def components(box: AbstractValue) -> tuple[AbstractValue, ...]:
    match box:
        case Value() | Constant() | Unbound():  # nearly always
            return ()
        case TupleValue() | ListValue() | DictValue() | RecordValue():
            return (box.of,) if isinstance(box, ViewValue | AttributesValue) else box.items
        case SliceValue(first, second, third) | Choice(first, second, third):
            return (first, second, third)
        case BoundValue(function, args, kwargs):
            return (function, *args, *kwargs.values())
        case IteratorValue():
            return (*box.parts, *box.segments)
        case GeneratorValue():
            return tuple(box.bound.values())
        case MethodValue(receiver=inner) | Super(box=inner):
            return (inner,)
        case FunctionValue():
            return (*box.defaults, *(d for d in box.kw_defaults if d is not None), *box.held)
        case _:
            return ()


Done = dict[int, tuple[AbstractValue, AbstractValue]]


def mapped(
    box: AbstractValue,
    change: Callable[[AbstractValue], AbstractValue | None],
    done: Done | None = None,
) -> AbstractValue:
    """Return the box with every part for which `change` answers replaced by the answer.

    What was changed is noted in `done`, by identity: an object stays one object.
    """
    done = {} if done is None else done
    if id(box) not in done:
        done[id(box)] = (box, _mapped(box, change, done))
    return done[id(box)][1]


def _mapped(
    box: AbstractValue, change: Callable[[AbstractValue], AbstractValue | None], done: Done
) -> AbstractValue:
    new = change(box)
    if new is not None:
        return new
    parts = components(box)
    items = tuple(mapped(item, change, done) for item in parts)
    if all(a is b for a, b in zip(items, parts, strict=True)):
        return box
    return with_parts(box, items)


def with_parts(box: AbstractValue, parts: tuple[AbstractValue, ...]) -> AbstractValue:
    """Return a box like this one that is made of other boxes, in the order of `components`."""
    match box:
        case ViewValue(pairs=pairs):
            (now,) = parts
            return view_of(now, pairs=pairs) if isinstance(now, DictValue) else now
        case AttributesValue():
            (now,) = parts
            return attributes_of_record(now) if isinstance(now, RecordValue) else now
        case TupleValue() | ListValue() | DictValue() | RecordValue():
            return rebuilt(box, parts)
        case SliceValue():
            return SliceValue(*parts)
        case FunctionValue() | BoundValue() | MethodValue() | Choice():
            return _code_with(box, parts)
        case IteratorValue(kind=kind):
            count = len(box.parts)
            return IteratorValue(kind, parts[:count], parts[count:])
        case GeneratorValue(callee, bound, spent):
            return GeneratorValue(callee, dict(zip(bound, parts, strict=True)), spent)
        case Super(cls):
            return Super(cls, parts[0])
        case _:
            return box


def _code_with(box: Code, parts: tuple[AbstractValue, ...]) -> AbstractValue:
    if isinstance(box, MethodValue):
        return MethodValue(parts[0], box.name)
    if isinstance(box, Choice):
        test, left, right = parts
        return Choice(test, left, right) if isinstance(test, Value) else Conflict(left, right)
    if isinstance(box, BoundValue):
        width = 1 + len(box.args)
        kwargs = dict(zip(box.kwargs, parts[width:], strict=True))
        return replace(box, function=parts[0], args=parts[1:width], kwargs=kwargs)
    rest = iter(parts[len(box.defaults) :])
    kw = tuple(None if d is None else next(rest) for d in box.kw_defaults)
    new = replace(box, defaults=parts[: len(box.defaults)], kw_defaults=kw, held=tuple(rest))
    if new.names is None:
        box.frame.functions.append(new)
    return new


def is_mutable(box: AbstractValue) -> bool:
    """Return True if a box is a mutable object other than an array."""
    if isinstance(box, RecordValue):
        return not issubclass(box.cls, tuple)
    return isinstance(box, ListValue | DictValue) or (
        isinstance(box, Value) and isinstance(box.type, ListOf)
    )


def parts_of_view(box: AbstractValue) -> tuple[AbstractValue, ...]:
    """Return the boxes that a box is made of; of a view of a dict, those that it shows."""
    return box.items if isinstance(box, Structure) else components(box)


def mutable_parts(box: AbstractValue) -> Iterator[AbstractValue]:
    """Yield the objects that a box is or holds, wherever they stand."""
    if is_mutable(box):
        yield box
    for part in components(box):
        yield from mutable_parts(part)
