"""``iter``, ``next`` and `itertools`: generators of the prelude, read where they are used.

A call through which no derivative flows, and that holds no generator, runs as it stands.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from srcad.frontend.domain.structure import components
from srcad.frontend.domain.values import (
    AbstractValue,
    Choice,
    Constant,
    FunctionValue,
    GeneratorValue,
    IteratorValue,
    ListValue,
    TupleValue,
)
from srcad.frontend.functions.lazy_iterables import indexable, is_lazy, prelude_generator
from srcad.frontend.library.builtins import read_prelude
from srcad.frontend.machine.constants import known, spread
from srcad.frontend.machine.dispatch import Args, Kwargs, means
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.lists import known_items
from srcad.frontend.prelude import builtins, iterators
from srcad.ir.core import Value
from srcad.types.numeric import Numeric

FEW = 256  # combinations of things that are known one by one


def must_be_read(state: Machine, *boxes: AbstractValue) -> bool:
    """Return True if an iterator has to be read here: it leads to a derivative or a function."""
    here = (GeneratorValue, IteratorValue, FunctionValue, Choice)
    return state.is_active(*boxes) or any(isinstance(b, here) or is_lazy(b) for b in boxes)


@means(iter)
def iter_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    if len(args) != 1 or isinstance(args[0], GeneratorValue):
        return args[0] if len(args) == 1 else None
    return prelude_generator(state, iterators.iterated, args[0]) if state.is_active(*args) else None


@means(next)
def next_(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``next(iterator, default)``: of a sequence, item by item; of a generator, once."""
    box = args[0]
    if not isinstance(box, GeneratorValue):
        return None
    items = box.bound.get("items")
    if (
        box.callee.node.name == "iterated"
        and isinstance(items, ListValue | TupleValue)
        and items.items
        and not _is_shared_list(state, items, box)
    ):
        rest = GeneratorValue(box.callee, {"items": type(items)(items.items[1:])}, box.spent)
        state.replace_everywhere(box, rest)
        return items.items[0]
    return read_prelude(state, iterators.first if len(args) == 1 else iterators.first_or, *args)


def _is_shared_list(state: Machine, items: AbstractValue, iterator: AbstractValue) -> bool:
    """Return True if others hold the list that an iterator runs through: they may change it."""

    def holds(box: AbstractValue) -> bool:
        return box is items or (box is not iterator and any(map(holds, components(box))))

    return isinstance(items, ListValue) and any(holds(box) for _, box in state.reachable())


def _lazily(function: Any) -> Callable[[Machine, Args, Kwargs], AbstractValue | None]:
    """Return a handler of `itertools` by a generator of the prelude with the same parameters."""

    def special(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        if kwargs or not must_be_read(state, *args):
            return None
        return prelude_generator(state, function, *args)

    return special


means(itertools.chain)(_lazily(iterators.chained))
means(itertools.takewhile)(_lazily(iterators.taken_while))
means(itertools.dropwhile)(_lazily(iterators.dropped_while))
means(itertools.starmap)(_lazily(iterators.starmapped))


@means(itertools.chain.from_iterable)
def chain_from(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``itertools.chain.from_iterable(sources)``."""
    return (
        prelude_generator(state, iterators.chained_from, *args)
        if must_be_read(state, *args)
        else None
    )


@means(itertools.count)
def count(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``itertools.count(start, step)``."""
    start = args[0] if args else kwargs.get("start", Constant(0))
    step = args[1] if len(args) > 1 else kwargs.get("step", Constant(1))
    return prelude_generator(state, iterators.counted, start, step)


@means(itertools.accumulate)
def accumulate(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``itertools.accumulate(items, function, initial=...)``."""
    if not must_be_read(state, *args, *kwargs.values()):
        return None
    function = args[1] if len(args) > 1 else kwargs.get("func", Constant(None))
    if isinstance(function, Constant) and function.value is None:
        function = Constant(operator.add)
    initial = kwargs.get("initial", Constant(None))
    if isinstance(initial, Constant) and initial.value is None:
        return prelude_generator(state, iterators.accumulated, args[0], function)
    return prelude_generator(state, iterators.accumulated_from, args[0], function, initial)


@means(itertools.islice)
def islice(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``itertools.islice(items, start, stop, step)``."""
    if not must_be_read(state, args[0]):
        return None
    none = Constant(None)
    start, stop, step = {2: (none, args[-1], none), 3: (*args[1:], none)}.get(len(args), args[1:])
    start = Constant(0) if isinstance(start, Constant) and start.value is None else start
    step = Constant(1) if isinstance(step, Constant) and step.value is None else step
    return prelude_generator(state, iterators.sliced, args[0], start, stop, step)


@means(itertools.pairwise)
def pairwise(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``itertools.pairwise(items)``."""
    if not must_be_read(state, *args):
        return None
    if is_lazy(args[0]):
        return prelude_generator(state, iterators.paired_lazily, *args)
    return prelude_generator(state, iterators.paired, indexable(state, args[0]))


@means(itertools.repeat)
def repeat(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``itertools.repeat(item, times)``."""
    times = args[1] if len(args) > 1 else kwargs.get("times")
    if times is None:
        return prelude_generator(state, iterators.forever, args[0])
    return prelude_generator(state, iterators.repeated, args[0], times)


@means(itertools.product)
def product(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``itertools.product(..., repeat=n)``: nested loops."""
    times = known(state, kwargs.get("repeat", Constant(1)), "'repeat'")
    sources = [indexable(state, a) if is_lazy(a) else a for a in args]
    return prelude_generator(state, iterators.combined, TupleValue(tuple(sources * times)))


def _counted_to(box: AbstractValue) -> AbstractValue | None:
    """Return the end of ``range(end)``."""
    if not isinstance(box, IteratorValue) or box.kind != "range":
        return None
    start, stop, step = box.parts
    if not isinstance(start, Constant) or not isinstance(step, Constant):
        return None
    return stop if (start.value, step.value) == (0, 1) else None


def _chosen(
    function: Any, pairs: Any = None, pairs_below: Any = None
) -> Callable[[Machine, Args, Kwargs], AbstractValue | None]:
    """Choose items by constant positions.

    Pairs of items of unknown number are those of a generator of the prelude, `pairs`, and
    `pairs_below` of the integers below a number.
    """

    def special(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        if not must_be_read(state, args[0]):
            return None
        sizes = [known(state, a, "a size") for a in args[1:]]
        items = known_items(state, args[0])
        if items is None and sizes == [2] and pairs is not None:
            stop = _counted_to(args[0])
            if stop is not None:
                return prelude_generator(state, pairs_below, stop)
            return prelude_generator(state, pairs, indexable(state, args[0]))
        items = spread(state, args[0]) if items is None else items
        rows = list(itertools.islice(function(items, *sizes), FEW + 1))
        return (
            TupleValue(tuple(TupleValue(tuple(row)) for row in rows)) if len(rows) <= FEW else None
        )

    return special


means(itertools.combinations)(
    _chosen(itertools.combinations, iterators.couples, iterators.couples_below)
)
means(itertools.permutations)(
    _chosen(itertools.permutations, iterators.ordered_couples, iterators.ordered_couples_below)
)
means(itertools.combinations_with_replacement)(_chosen(itertools.combinations_with_replacement))


_PLACES: dict[int, Any] = {
    1: builtins.places, 2: builtins.places_of_two, 3: builtins.places_of_three,
}  # fmt: skip


@means(np.ndindex)
def ndindex(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.ndindex(...)`` of up to three axes: nested loops."""
    counts = args
    if len(args) == 1:  # one shape, or the length of one axis
        shape = state.box(args[0]) if isinstance(args[0], Value) else args[0]
        counts = known_items(state, shape) or args
    if len(counts) not in _PLACES or not all(map(_is_count, counts)):
        return None
    return prelude_generator(state, _PLACES[len(counts)], *counts)


def _is_count(box: AbstractValue) -> bool:
    if isinstance(box, Constant):
        return isinstance(box.value, int)
    type_ = box.type if isinstance(box, Value) else None
    return isinstance(type_, Numeric) and type_.is_scalar and type_.kind in "iu"


@means(np.ndenumerate)
def ndenumerate(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.ndenumerate(array)``."""
    return prelude_generator(state, builtins.entries_of, *args) if state.is_active(*args) else None


@means(itertools.zip_longest)
def zip_longest(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``itertools.zip_longest(..., fillvalue=x)`` of things that are known one by one."""
    fill = kwargs.get("fillvalue", Constant(None))
    if not must_be_read(state, *args, fill):
        return None
    rows = itertools.zip_longest(*[spread(state, a) for a in args], fillvalue=fill)
    return TupleValue(tuple(TupleValue(row) for row in rows))
