"""Objects of the standard library that are called: getters of `operator`, managers of `contextlib`.

``itemgetter(1)(pair)`` is ``pair[1]``; what `contextlib.contextmanager` makes of a generator
function returns a manager that runs the generator around the body of a ``with``.
"""

from __future__ import annotations

import contextlib
import operator
import sys
from types import FunctionType
from typing import Any

import numpy as np

from srcad.frontend.domain.predicates import is_plain
from srcad.frontend.domain.structure import mutable_parts
from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Constant,
    DictValue,
    FunctionValue,
    GeneratorValue,
    TupleValue,
)
from srcad.frontend.functions import lazy_iterables
from srcad.frontend.functions.inlining import callee_of
from srcad.frontend.machine.constants import pinned
from srcad.frontend.machine.dispatch import apply, means, means_in
from srcad.frontend.machine.machine import Machine
from srcad.frontend.prelude import builtins as prelude
from srcad.frontend.store.lookup import below
from srcad.ir.core import Value
from srcad.startup.records import replace
from srcad.types.numeric import Numeric

_GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
# The code of what the decorator makes of every generator function.
_MANAGING = getattr(contextlib.contextmanager(lambda: iter(())), "__code__")  # noqa: B009


def call_getter(
    state: Machine,
    callee: Constant,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue | None:
    """Return the call of such an object; None where it is another one, or need not be read."""
    function = callee.value
    if isinstance(function, _GETTERS):
        return _got(state, callee, args, kwargs)
    if isinstance(function, FunctionType) and function.__code__ is _MANAGING:
        given = (*args, *kwargs.values())
        if state.is_active(*given) or any(mutable_parts(box) for box in given):
            inner = callee_of(
                state, _decorated(function), below(callee.path, ("attr", "__wrapped__"))
            )
            return replace(
                lazy_iterables.generator_of_call(state, inner, args, kwargs), manages=True
            )
    return None


def _decorated(function: FunctionType) -> FunctionType:
    found = function.__wrapped__  # type: ignore[attr-defined]
    assert isinstance(found, FunctionType)
    return found


def _got(
    state: Machine,
    callee: Constant,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue | None:
    """Return the attributes or items of a constant getter, taken apart as `pickle` does."""
    maker, given = callee.value.__reduce__()[:2]
    named = getattr(maker, "keywords", {})
    if named:
        maker, given = maker.func, (*maker.args, *given)
    if not state.is_active(*args) or not all(map(is_plain, (*given, *named.values()))):
        return None
    pinned(state, callee)
    bound = {name: Constant(value) for name, value in named.items()}
    getter = _MAKERS[maker](state, tuple(map(Constant, given)), bound)
    return apply(state, getter, args, kwargs)


@means(operator.itemgetter)
def itemgetter(
    state: Machine, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue | None:
    """``operator.itemgetter(*keys)``."""
    function = prelude.item_of if len(args) == 1 else prelude.items_of
    return BoundValue(Constant(function), args if len(args) == 1 else (TupleValue(args),))


@means(operator.attrgetter)
def attrgetter(
    state: Machine, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue | None:
    """``operator.attrgetter(*names)``, of which each may lead through several attributes."""
    if not all(isinstance(name, Constant) and type(name.value) is str for name in args):
        return None
    steps = [
        TupleValue(tuple(Constant(part) for part in name.value.split(".")))  # type: ignore[union-attr]
        for name in args
    ]
    if len(args) == 1:
        return BoundValue(Constant(prelude.attribute_of), (steps[0],))
    return BoundValue(Constant(prelude.attributes_of), (TupleValue(tuple(steps)),))


@means(operator.methodcaller)
def methodcaller(
    state: Machine, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue | None:
    """``operator.methodcaller(name, *args, **kwargs)``."""
    name, *others = args
    given = DictValue(tuple(kwargs), tuple(kwargs.values()))
    return BoundValue(Constant(prelude.method_called), (name, TupleValue(tuple(others)), given))


_MAKERS: dict[Any, Any] = {
    operator.itemgetter: itemgetter,
    operator.attrgetter: attrgetter,
    operator.methodcaller: methodcaller,
}


@means_in("scipy._lib._array_api", "array_namespace")
def array_namespace(
    state: Machine, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue | None:
    """Return the module in which SciPy looks up functions for NumPy's arrays."""
    arrays = [box for box in args if not (isinstance(box, Constant) and is_plain(box.value))]
    known = {k: box for k, box in kwargs.items() if isinstance(box, Constant)}
    if len(known) < len(kwargs):
        return None
    if not all(isinstance(box, Value) and isinstance(box.type, Numeric) for box in arrays):
        return None
    function = sys.modules["scipy._lib._array_api"].array_namespace
    return Constant(function(np.empty(0), **{k: b.value for k, b in known.items()}))


@means(contextlib.contextmanager)
def contextmanager(
    state: Machine, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue | None:
    """``contextlib.contextmanager`` of a function that is defined inside."""
    return (
        BoundValue(Constant(prelude.managed), args) if isinstance(args[0], FunctionValue) else None
    )


@means(prelude.managed)
def managed(
    state: Machine, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue | None:
    """Return the manager that such a function returns."""
    function, *others = args
    generator = apply(state, function, tuple(others), kwargs)
    return replace(generator, manages=True) if isinstance(generator, GeneratorValue) else generator
