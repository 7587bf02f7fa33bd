"""Loop headers: the value of a name at the start of every iteration."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from srcad.frontend.branches.carried_memory import CarriedMemory
from srcad.frontend.domain.representation import is_representable, representing_type, without_value
from srcad.frontend.domain.structure import (
    is_mutable,
    parts_of_view,
    rebuilt,
    same_structure,
    with_parts,
)
from srcad.frontend.domain.values import (
    UNBOUND,
    AbstractValue,
    Code,
    Conflict,
    Constant,
    DictValue,
    Frame,
    ListValue,
    RepeatedView,
    Stale,
    Structure,
    Unbound,
)
from srcad.frontend.machine.constants import is_one_constant
from srcad.frontend.machine.machine import Machine
from srcad.frontend.source.syntax import (
    holds_functions,
    names_bound_in_iteration,
    read_counts,
    stored_names,
)
from srcad.frontend.store.cells import are_equivalent_functions
from srcad.frontend.store.runtime_keys import as_mapping, part_names, with_run_time_keys
from srcad.ir.core import Const, Value
from srcad.ir.inference.builder import atom_type
from srcad.types.join import is_lost, join, take_lengths_for_equal
from srcad.types.numeric import Numeric, form_subsumes, same_dtype
from srcad.types.sizes import Extent, Symbol, resolved, symbol_extent
from srcad.types.structures import ListOf, Opaque, PlacesOf, TupleOf, Type, Undefined

# The partial order of types: subsumption and join.


class VaryingLength(Symbol):
    """A length that differs from iteration to iteration."""

    __slots__ = ()


def type_subsumes(known: Type, end: Type) -> bool:
    """Return True if everything that is an `end` is a `known`."""
    if isinstance(end, Undefined) or known == end:
        return True
    if isinstance(known, Numeric) and isinstance(end, Numeric):
        if not _dtypes_subsume(known, end):
            return False
        if not form_subsumes(known.form, end.form):
            return False
        if known.shape is None:
            return True
        if end.shape is None or len(end.shape) != len(known.shape):
            return False
        return all(_extent_subsumes(a, b) for a, b in zip(known.shape, end.shape, strict=True))
    if isinstance(known, ListOf) and isinstance(end, ListOf):
        return _list_subsumes(known, end)
    if isinstance(known, TupleOf) and isinstance(end, TupleOf):
        if (known.keys, known.cls, len(known.items)) != (end.keys, end.cls, len(end.items)):
            return False
        return all(type_subsumes(a, b) for a, b in zip(known.items, end.items, strict=True))
    return isinstance(known, Opaque)


def _dtypes_subsume(known: Numeric, end: Numeric) -> bool:
    """Return True if a number with the dtypes of `known` may have any of `end`."""
    if known.dtype is not None:
        return same_dtype(known.dtype, end.dtype)
    if known.has_complex or end.has_complex:
        return known.has_complex
    return not known.joined or (end.dtypes != frozenset() and end.dtypes <= known.joined)


def _list_subsumes(known: ListOf, end: ListOf) -> bool:
    if isinstance(known, PlacesOf) and isinstance(end, PlacesOf):
        return type_subsumes(known.key, end.key)
    return type(known) is type(end) and type_subsumes(known.item, end.item)


def _extent_subsumes(known: Extent, end: Extent) -> bool:
    return _is_loose(known) or resolved(known) == resolved(end)


def _is_loose(extent: Extent) -> bool:
    return (
        len(extent.terms) == 1
        and isinstance(extent.terms[0][0], VaryingLength)
        and extent.constant == 0
    )


def is_steady(type_: Type) -> bool:
    """Return True if a type has no lengths of one loop, so that another may begin with it.

    Nor objects that others may hold, of which more is known than the type.
    """
    if isinstance(type_, ListOf):
        return isinstance(type_.item, Numeric) and is_steady(type_.item)
    return isinstance(type_, Numeric) and not any(map(_is_loose, type_.shape or ()))


def has_no_shape(type_: Type) -> bool:
    """Return True if a value may be a number or an array, or anything."""
    return isinstance(type_, Opaque) or (isinstance(type_, Numeric) and type_.shape is None)


def loses_shape(type_: Type, wider: Type) -> bool:
    """Return True if a type is that of an array, and a wider one does not tell how many axes."""
    return isinstance(type_, Numeric) and bool(type_.shape) and has_no_shape(wider)


def is_array_of_known_lengths(type_: Type) -> bool:
    """Return True for an array with a dtype, and lengths that are the same in every iteration."""
    if not isinstance(type_, Numeric) or type_.dtype is None or not type_.shape:
        return False
    symbols = [symbol for extent in type_.shape for symbol, _ in resolved(extent).terms]
    return type_.form == "array" and all(isinstance(s.example, int) for s in symbols)


def widened_type(a: Type, b: Type) -> Type:
    """Return the join of two types; lengths that differ become unknown lengths."""
    take_lengths_for_equal(a, b)
    result = join(a, b)
    if isinstance(result, PlacesOf):
        keys = [t.key for t in (a, b) if isinstance(t, PlacesOf)]
        return PlacesOf(result.item, widened_type(keys[0], keys[-1]))
    if isinstance(result, ListOf):
        items = [t.item for t in (a, b) if isinstance(t, ListOf)]
        return ListOf(widened_type(items[0], items[-1]))
    if not isinstance(result, Numeric) or result.shape is None:
        return result
    assert isinstance(a, Numeric | Undefined)
    assert isinstance(b, Numeric | Undefined)
    shapes = [t.shape for t in (a, b) if isinstance(t, Numeric) and t.shape is not None]
    extents = tuple(
        _widened_extent([shape[k] for shape in shapes]) for k in range(len(result.shape))
    )
    return result.of_shape(extents, result.form)


def _widened_extent(extents: list[Extent]) -> Extent:
    first = extents[0]
    if all(resolved(e) == resolved(first) for e in extents):
        local = any(s.example is None and not isinstance(s, VaryingLength) for s, _ in first.terms)
        return symbol_extent(VaryingLength("n")) if local else first
    return first if _is_loose(first) else symbol_extent(VaryingLength("n"))


def _is_code(box: AbstractValue) -> bool:
    """Return True if a box is a function, or may be one, of which there is no value."""
    if isinstance(box, Constant):
        return callable(box.value) and not is_representable(box)
    return isinstance(box, Code)


def header(
    state: Machine,
    start: AbstractValue,
    hint: str | None = None,
    memory: CarriedMemory | None = None,
) -> AbstractValue:
    """Return the first guess: the value of the name before the loop."""
    found = memory.header(start) if memory is not None else None
    if found is None:
        found = _header(state, start, hint, memory)
        if is_mutable(found) and found is not start:
            state.objects.names[found] = state.objects.name_of(start)
        if memory is not None:
            memory.note(start, found)
    return found


def _header(
    state: Machine, start: AbstractValue, hint: str | None, memory: CarriedMemory | None
) -> AbstractValue:
    if isinstance(start, Value):
        return _param(state, start.type, hint or start.hint, start in state.active)
    if isinstance(start, Constant):
        if isinstance(start.value, bool):
            return start
        if type(start.value) in (int, float):
            return _param(state, atom_type(Const(start.value)), hint, False)
        return start
    if isinstance(start, Structure):
        return rebuilt(start, tuple(header(state, item, None, memory) for item in start.items))
    if isinstance(start, Code) and parts_of_view(start):
        return with_parts(
            start, tuple(_header_of_part(state, p, memory) for p in parts_of_view(start))
        )
    return start


def _header_of_part(
    state: Machine, part: AbstractValue, memory: CarriedMemory | None
) -> AbstractValue:
    """Return the captured values of a function.

    A number stays until an iteration captures another.
    """
    return part if isinstance(part, Constant) else header(state, part, None, memory)


def _param(state: Machine, type_: Type, hint: str | None, active: bool) -> Value:
    value = Value(without_value(type_), hint)
    if active:
        state.active.add(value)
    return value


def subsumes(state: Machine, known: AbstractValue, end: AbstractValue) -> bool:
    """Return True if a header holds for the value after an iteration."""
    known, end = with_run_time_keys(known, end)
    if known is end or isinstance(known, Stale | RepeatedView):
        return True
    if isinstance(end, Stale):
        return False
    if isinstance(known, Value):
        return _value_subsumes(state, known, end)
    if isinstance(known, Constant) and isinstance(end, Constant):
        return is_one_constant(state, known, end)
    if same_structure(known, end):
        assert isinstance(known, Structure)
        assert isinstance(end, Structure)
        return all(subsumes(state, a, b) for a, b in zip(known.items, end.items, strict=True))
    if isinstance(known, Code) and isinstance(end, Code):
        parts = zip(parts_of_view(known), parts_of_view(end), strict=True)
        return are_equivalent_functions(state, known, end) and all(
            subsumes(state, a, b) for a, b in parts
        )
    if isinstance(known, Unbound):
        return not (is_representable(end) or _is_code(end) or isinstance(end, Structure))
    return isinstance(known, Conflict) or isinstance(end, Unbound)


def _value_subsumes(state: Machine, known: Value, end: AbstractValue) -> bool:
    if isinstance(end, Unbound):
        return True
    if not is_representable(end) and not isinstance(end, Structure):
        return not _is_code(end)
    if any(v in state.active for v in _values(end)) and (
        known not in state.active or is_lost(representing_type(end), known.type)
    ):
        return False
    return type_subsumes(known.type, representing_type(end))


def _values(box: AbstractValue) -> Iterator[Value]:
    if isinstance(box, Value):
        yield box
    elif isinstance(box, Structure | Code):
        for item in parts_of_view(box):
            yield from _values(item)


def wider_header(
    state: Machine, known: AbstractValue, type_: Type, *, active: bool, hint: str | None
) -> Value | None:
    """Return a header of a wider type for a variable that starts as `known`.

    None if it is not wider, or not so.
    """
    active = active or any(v in state.active for v in _values(known))
    if isinstance(known, Unbound):
        return _param(state, type_, hint, active)
    if isinstance(known, Value):
        if known.type == type_ and active == (known in state.active):
            return None
        return _param(state, type_, hint, active) if type_subsumes(type_, known.type) else None
    if not isinstance(known, Structure) or not is_representable(known):
        return None
    return (
        _param(state, type_, hint, active)
        if type_subsumes(type_, representing_type(known))
        else None
    )


Same = dict[tuple[int, int], tuple[AbstractValue, AbstractValue, AbstractValue]]


def widened(
    state: Machine,
    known: AbstractValue,
    end: AbstractValue,
    name: str | None = None,
    same: Same | None = None,
) -> AbstractValue:
    """Return a header that holds for both; `same` has those that were made for several names."""
    same = {} if same is None else same
    if (id(known), id(end)) not in same:
        wider = _widened(state, known, end, name, same)
        if is_mutable(wider) and wider is not known:
            same_object = state.objects.name_of(known) if is_mutable(known) else None
            state.objects.names[wider] = same_object
        same[id(known), id(end)] = (known, end, wider)
    return same[id(known), id(end)][2]


def _at_first(state: Machine, known: AbstractValue, type_: Type, *, active: bool) -> Type:
    """Return the type of a header; one that becomes active first keeps its shape.

    Calls with constant arguments are not interpreted, so the shape after the first iteration may be
    unknown where that of an active value is known.
    """
    if active and isinstance(known, Value) and known not in state.active:
        return known.type if loses_shape(known.type, type_) else type_
    return type_


def _widened(
    state: Machine, known: AbstractValue, end: AbstractValue, name: str | None, same: Same
) -> AbstractValue:
    known, end = with_run_time_keys(known, end)
    if known is end or isinstance(known, Stale):
        return known
    if isinstance(end, Stale):
        return end
    if isinstance(known, Unbound):
        return _first_binding(state, end, name)
    if same_structure(known, end):
        assert isinstance(known, Structure)
        assert isinstance(end, Structure)
        rows = zip(known.items, end.items, part_names(known, name), strict=True)
        return rebuilt(known, tuple(widened(state, a, b, hint, same) for a, b, hint in rows))
    if are_equivalent_functions(state, known, end):
        parts = zip(parts_of_view(known), parts_of_view(end), strict=True)
        return with_parts(known, tuple(widened(state, a, b, None, same) for a, b in parts))
    if not is_representable(known) or not is_representable(end):
        return Conflict(known, end)
    active = any(v in state.active for box in (known, end) for v in _values(box))
    hint = name or next((b.hint for b in (known, end) if isinstance(b, Value) and b.hint), None)
    type_ = widened_type(representing_type(known), representing_type(end))
    structured = isinstance(known, Structure) or isinstance(end, Structure)
    lost = structured and isinstance(type_, Opaque)
    if active and (lost or any(is_lost(representing_type(box), type_) for box in (known, end))):
        if isinstance(known, DictValue) and isinstance(end, DictValue):
            return _of_any_keys(state, known, end, name, same)
        return Conflict(known, end)  # structures that differ: nothing is known of what is inside
    return _param(state, _at_first(state, known, type_, active=active), hint, active)


def _of_any_keys(
    state: Machine, a: DictValue, b: DictValue, name: str | None, same: Same
) -> AbstractValue:
    """Return a dict to which an iteration adds keys: one of any keys, where it has to be read."""
    is_read = state.dicts.is_needed(state.builder.where)
    return widened(state, as_mapping(a), as_mapping(b), name, same) if is_read else Conflict(a, b)


def _first_binding(state: Machine, end: AbstractValue, hint: str | None = None) -> AbstractValue:
    if isinstance(end, Structure) and not isinstance(end, ListValue):
        return rebuilt(end, tuple(_first_binding(state, item) for item in end.items))
    if isinstance(end, Code):
        parts = parts_of_view(end)
        first = (p if isinstance(p, Constant) else _first_binding(state, p) for p in parts)
        return with_parts(end, tuple(first)) if parts else end
    if not is_representable(end):
        return UNBOUND if isinstance(end, Value) else end
    active = any(v in state.active for v in _values(end))
    hint = hint or (end.hint if isinstance(end, Value) else None)
    return _param(state, widened_type(representing_type(end), representing_type(end)), hint, active)


def assigned_names(node: ast.For | ast.While, frame: Frame) -> list[str]:
    """Return the names that an iteration binds, but for those that live within one iteration."""
    names = [name for name in stored_names(node) if name in frame.local]
    if frame.node is None or frame.hidden or holds_functions(frame.node):
        return names
    everywhere, here, short = (
        read_counts(frame.node),
        read_counts(node),
        names_bound_in_iteration(node),
    )
    return [n for n in names if n not in short or everywhere[n] != here[n]]
