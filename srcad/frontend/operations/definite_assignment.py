"""Names that a loop may leave unbound: reading one raises where the original call does.

What is bound only in a loop is not bound after a loop without an iteration, nor at the start of its
first iteration.  Where the sequences of the loop certainly have items that is settled before the
call, by an assumption; else the value is looked at, once, where it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from srcad.frontend.branches.choices import choose
from srcad.frontend.branches.loop_variables import LoopVariable
from srcad.frontend.domain.structure import components, values_of
from srcad.frontend.domain.values import AbstractValue, Choice, Constant, FunctionValue, Unbound
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.lookup import unbound
from srcad.ir.argument_types import argument_type
from srcad.ir.core import UNDEF, Arg, Atom, Const, Display, Value
from srcad.types.numeric import Numeric
from srcad.types.sizes import Extent, at_least, constant_extent
from srcad.types.structures import TupleOf


def may_be_unbound(state: Machine, start: AbstractValue) -> bool:
    return isinstance(start, Unbound) or any(v in state.perhaps_unbound for v in values_of(start))


def note_header(state: Machine, start: AbstractValue, header: AbstractValue) -> None:
    """At the start of an iteration a name may be as unbound as before the loop."""
    if may_be_unbound(state, start):
        state.perhaps_unbound.update(dict.fromkeys(values_of(header)))


def note_outputs(
    state: Machine, variables: Iterable[LoopVariable], sequences: tuple[Arg, ...] | None
) -> None:
    """After a loop a name is bound if it was so before, or if an iteration has bound it."""
    for variable in variables:
        if variable.output is None:
            continue
        if _may_be_unbound_atom(state, variable.final):
            state.perhaps_unbound[variable.output] = None
        elif _may_be_unbound_atom(state, variable.init):
            state.perhaps_unbound[variable.output] = sequences


def _may_be_unbound_atom(state: Machine, atom: Atom) -> bool:
    return atom == UNDEF if isinstance(atom, Const) else atom in state.perhaps_unbound


def require_bound(
    state: Machine,
    name: str,
    box: AbstractValue,
    missing: Callable[[], AbstractValue] | None = None,
) -> None:
    """Raise at the call where a name that is being read is not bound.

    The names of srcad's own functions are; what they hold may be captured behind a choice.
    """
    if state.frame.trusted and missing is None:
        return

    def unbound_name() -> AbstractValue:
        return unbound(state, name, local=True)

    fails = missing or unbound_name
    for value in _of_name(box):
        if value in state.unbound_if:
            test, raises_when = state.unbound_if[value]
            _raise_if(state, fails, value, test, raises_when=raises_when)
            return
        if value in state.perhaps_unbound:
            args = state.perhaps_unbound[value]
            if args is None or not all(has_items(arg) for arg in args):
                _raise_if(state, fails, value, None, raises_when=True)
            return


def _of_name(box: AbstractValue) -> list[Value]:
    """Return the values of a bound name, without those behind a choice or a function."""
    if isinstance(box, Choice):
        return [box.test]
    if isinstance(box, FunctionValue):
        held = set(map(id, box.held))
        return [v for part in components(box) if id(part) not in held for v in _of_name(part)]
    if isinstance(box, Value | Constant):
        return values_of(box)
    return [v for part in components(box) for v in _of_name(part)]


def _raise_if(
    state: Machine,
    fails: Callable[[], AbstractValue],
    value: Value,
    test: Atom | None,
    *,
    raises_when: bool,
) -> None:
    known = state.assumed.get(test) if isinstance(test, Value) else None
    if (value, state.builder) in state.bound_in or (known is not None and known != raises_when):
        return
    state.bound_in.add((value, state.builder))

    def passes() -> AbstractValue:
        return Constant(None)

    found = state.is_(value, UNDEF) if test is None else test
    choose(state, found, *((fails, passes) if raises_when else (passes, fails)))


def has_items(arg: Arg) -> bool:
    """Return True if a sequence certainly has items (perhaps by an assumption)."""
    if isinstance(arg, Display) and arg.kind == "range":
        start, stop, step = arg.items
        first, last = _extent(start), _extent(stop)
        if first is None or last is None or not isinstance(step, Const):
            return False
        return at_least(last - first if step.value > 0 else first - last, 1) is True
    type_ = argument_type(arg)
    if isinstance(type_, Numeric) and type_.shape:
        return at_least(type_.shape[0], 1) is True
    return isinstance(type_, TupleOf) and bool(type_.items)


def _extent(arg: Arg) -> Extent | None:
    if isinstance(arg, Const):
        return constant_extent(arg.value) if type(arg.value) is int else None
    type_ = argument_type(arg)
    return type_.value if isinstance(type_, Numeric) else None
