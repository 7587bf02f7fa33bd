"""Memoized functions: `functools.lru_cache` and `functools.cache`.

A call with a derivative reads the function behind the cache, each time anew.  That is what the
original call does only where the function does nothing but compute, and where nobody changes, or
compares by identity, what it has returned.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from srcad import errors
from srcad.frontend.domain.predicates import is_hashable
from srcad.frontend.domain.structure import mutable_parts
from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Constant,
    DictValue,
    ListValue,
    RecordValue,
    TupleValue,
)
from srcad.frontend.functions.opaque_calls import acts_anew
from srcad.frontend.library.random_draws import is_random
from srcad.frontend.machine.constants import raises
from srcad.frontend.machine.dispatch import apply, means
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.lookup import is_library
from srcad.frontend.store.origins import inner_values, origin
from srcad.ir.core import Block, Call, Op, Routine, Value, walk
from srcad.ir.traits import calls_operand, never_returns
from srcad.rules.registry import effect_of
from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf


def once(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function behind a cache; only the reader of source text meets this call."""


def remembering(function: Any) -> Any:
    """Stand-in for the result of ``functools.lru_cache(maxsize=None)``."""


@means(functools.cache, functools.lru_cache, remembering)
def cached(
    state: Machine, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue | None:
    """``functools.lru_cache(function)``, and the decorator that ``lru_cache(maxsize=None)`` is."""
    function = args[0] if args else Constant(None)
    if isinstance(function, Constant) and not callable(function.value):
        return Constant(remembering)
    return BoundValue(Constant(once), (function,))


@means(once)
def cached_result(
    state: Machine, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue | None:
    """Return the result of a function behind a cache."""
    function, *given = args
    _check_keys(state, (*given, *kwargs.values()))
    builder, start, before = state.builder, len(state.builder.ops), state.snapshot()
    result = apply(state, function, tuple(given), kwargs)
    if any(_is_noticed(op) for op in _everything(builder.ops[start:])):
        if state.inactive.may_open:
            state.inactive.is_open = True
        _refuse(state, "it has effects, and the original function has them once for all calls.")
    for frame, env in zip(state.frames, before, strict=True):
        if any(frame.env.get(name) is not box for name, box in env.items()):
            _refuse(state, "it changes non-local state, and the original function does that once.")
    state.inactive.kept.update(mutable_parts(result))
    state.inactive.kept.update(*(origin(state, value).objects for value in inner_values(result)))
    return result


def _refuse(state: Machine, why: str) -> NoReturn:
    state.refuse(
        errors.UnsupportedSyntaxError,
        "cannot differentiate through this call of a function with a cache",
        why=why,
        help=("take the cache away", "or do nothing but compute in the function behind it"),
    )


def _everything(ops: Iterable[Op]) -> Iterator[Op]:
    """Yield the ops, those inside them, and those of the recursive functions that they call."""
    seen: set[Routine] = set()
    todo = [walk(Block((), tuple(ops), ()))]
    while todo:
        for op in todo.pop():
            yield op
            target = op.target if isinstance(op, Call) else None
            if isinstance(target, Routine) and target not in seen and target.function is not None:
                seen.add(target)
                todo.append(walk(target.function.block))


def _is_noticed(op: Op) -> bool:
    """Return True if it can be noticed how often an op runs."""
    if not isinstance(op, Call) or not op.effect:
        return False
    target = op.target
    if calls_operand(target):
        cls = getattr(getattr(op.args[0], "type", None), "cls", None)
        return cls is not functools._lru_cache_wrapper
    if never_returns(target) or (isinstance(target, type) and issubclass(target, BaseException)):
        return False
    if str(getattr(target, "__module__", "")).startswith("srcad."):
        return False
    if not is_library(target) or is_random(target):
        return True
    return acts_anew(target) or effect_of(target) == "prints"


def _check_keys(state: Machine, given: Iterable[AbstractValue]) -> None:
    """Ask the arguments of a cache for a hash first."""
    for box in given:
        if isinstance(box, TupleValue):
            _check_keys(state, box.items)
        cls = _class_without_hash(box)
        if cls is not None:
            raises(state, TypeError, f"unhashable type: {cls!r}")


def _class_without_hash(box: AbstractValue) -> str | None:
    match box:
        case ListValue() | Value(type=ListOf()):
            return "list"
        case DictValue():
            return "dict"
        case RecordValue(cls=cls) if cls.__hash__ is None:
            return cls.__name__
        case Constant(value=value) if not is_hashable(value):
            return type(value).__name__
        case Value(type=Numeric(form="array")):
            return "numpy.ndarray"
    return None
