"""Lengths and integers that are known before the call as expressions of symbols.

An *extent* is the length of one axis: a linear expression of *symbols* plus a constant.
A symbol stands for a length (or an integer argument) that is read at the call.  Questions
about extents (`same`, `is_one`, `at_least`) are answered from the example that caused the
compilation; every answer that the example decided is recorded as an *assumption*, which the
cache checks before it runs the compiled code again.  A symbol without an example (the length
of ``x[mask]``) decides nothing: the answer is then `None`, and code must not depend on it.  A loop
index has no example either, but bounds: what holds at its bounds holds in every iteration.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

from srcad.startup.records import dataclass, field

Relation = Literal["==", "!=", ">="]
_SERIALS = itertools.count()


class Symbol:
    """A length or an integer that is read at the call; compared by identity.

    `example` is its value in the call that caused the compilation, or a tuple of values when
    the symbol stands for one length of every item of a list.  `source` says where the cache
    finds it again.  `link` is set once an assumption has decided the symbol.  `slices` holds the
    lengths of slices that are no linear expression, by their start, stop, step and axis.
    """

    __slots__ = ("environment", "example", "link", "name", "serial", "slices", "source")

    def __init__(
        self,
        name: str,
        example: int | tuple[int, ...] | None = None,
        source: object = None,
        environment: ShapeEnvironment | None = None,
    ) -> None:
        self.name = name
        self.example = example
        self.source = source
        self.environment = environment
        self.link: Extent | None = None
        self.serial = next(_SERIALS)
        self.slices: dict[tuple[Extent | None, ...], Extent] = {}

    def __repr__(self) -> str:
        return self.name


class IndexSymbol(Symbol):
    """A loop index: at least `low` and at most `high` in every iteration; None if unknown."""

    __slots__ = ("high", "low")

    def __init__(self, name: str, low: Extent | None, high: Extent | None) -> None:
        super().__init__(name)
        self.low = low
        self.high = high


@dataclass(frozen=True)
class Extent:
    """A linear expression ``sum(coefficient * symbol) + constant``.

    Its terms are in the order in which the symbols were made: equal expressions are equal.
    """

    terms: tuple[tuple[Symbol, int], ...] = ()
    constant: int = 0

    def __add__(self, other: Extent) -> Extent:
        return _combined(self, other, 1)

    def __sub__(self, other: Extent) -> Extent:
        return _combined(self, other, -1)

    def scaled(self, factor: int) -> Extent:
        """Return the expression times an integer."""
        if factor == 0:
            return Extent()
        terms = tuple((symbol, k * factor) for symbol, k in self.terms)
        return Extent(terms, self.constant * factor)

    def __str__(self) -> str:
        parts = [s.name if k == 1 else f"{k}*{s.name}" for s, k in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return "+".join(parts).replace("+-", "-")


def _combined(a: Extent, b: Extent, sign: int) -> Extent:
    if not b.terms:
        return Extent(a.terms, a.constant + sign * b.constant) if b.constant else a
    terms: dict[Symbol, int] = dict(a.terms)
    for symbol, k in b.terms:
        terms[symbol] = terms.get(symbol, 0) + sign * k
    kept = tuple((s, terms[s]) for s in sorted(terms, key=_serial) if terms[s])
    return Extent(kept, a.constant + sign * b.constant)


def _serial(symbol: Symbol) -> int:
    return symbol.serial


@lru_cache(1024)
def constant_extent(value: int) -> Extent:
    """Return the extent that is always `value`."""
    return Extent((), int(value))


def symbol_extent(symbol: Symbol) -> Extent:
    """Return the extent that is one symbol."""
    return Extent(((symbol, 1),), 0)


def fresh_extent(name: str = "n") -> Extent:
    """Return a length of which nothing is known but that it is the same wherever it is named."""
    return symbol_extent(Symbol(name))


def resolved(extent: Extent) -> Extent:
    """Return the extent with every decided symbol replaced."""
    for symbol, _ in extent.terms:
        if symbol.link is not None:
            break
    else:
        return extent
    result = Extent((), extent.constant)
    for symbol, k in extent.terms:
        if symbol.link is None:
            result = result + Extent(((symbol, k),), 0)
        else:
            result = result + resolved(symbol.link).scaled(k)
    return result


@dataclass(frozen=True)
class Assumption:
    """An assumption of the compiled code: ``left relation right``."""

    left: Extent
    relation: Relation
    right: Extent


@dataclass(eq=False)
class ShapeEnvironment:
    """The assumptions of one compilation, in the order in which they were made.

    With `items_known`, lists from outside are described item by item, as tuples are; `has_lists`
    says that there is a list which that would tell more about.  With `arrays_known`, arrays of few
    entries are looped over entry by entry; `spreads` says that a sequence of unknown length was
    spread.  A later environment has a larger `serial`.
    """

    assumptions: list[Assumption] = field(default_factory=list)
    items_known: bool = False
    has_lists: bool = False
    spreads: bool = False
    arrays_known: bool = False
    serial: int = field(default_factory=_SERIALS.__next__)

    def assume(self, left: Extent, relation: Relation, right: Extent) -> None:
        """Record an assumption once."""
        entry = Assumption(left, relation, right)
        if entry not in self.assumptions:
            self.assumptions.append(entry)


@dataclass(eq=False)
class CalledEnvironment(ShapeEnvironment):
    """The assumptions about the lengths of the parameters of a helper.

    The helper has a symbol for each length, in the order of `places`; `calls` has the lengths that
    these symbols stand for in each call.  An assumption holds for all calls, and is recorded in
    the environments of their lengths, too.
    """

    places: list[Symbol] = field(default_factory=list)
    calls: list[tuple[Extent, ...]] = field(default_factory=list)

    def assume(self, left: Extent, relation: Relation, right: Extent) -> None:
        """Record an assumption once, and for the lengths of each call."""
        entry = Assumption(left, relation, right)
        if entry not in self.assumptions:
            self.assumptions.append(entry)
            for lengths in self.calls:
                self._assume_of(entry, lengths)

    def own(self, length: Extent, source: object = None) -> Extent:
        """Return a symbol of the helper for a length of the first call.

        Constants are returned unchanged, and so are lengths that vary in a loop or between the
        items of a list.
        """
        length = resolved(length)
        symbols = [symbol for symbol, _ in length.terms]
        varies = any(type(s) is not Symbol or isinstance(s.example, tuple) for s in symbols)
        if not symbols or varies:
            return length
        first = self.calls[0] if self.calls else ()
        values, symbol = _examples(length), None
        if values is None:  # without an example, nothing would tell that two are equal
            known = zip(self.places, first, strict=True)
            symbol = next((own for own, other in known if other == length), None)
        if symbol is None:
            symbol = Symbol(symbols[0].name, None if values is None else values[0], source, self)
        self.places.append(symbol)
        self.calls = [(*first, length)]
        return symbol_extent(symbol)

    def admits(self, lengths: Sequence[Extent]) -> bool:
        """Return True if the lengths of another call satisfy the assumptions."""
        known: dict[Symbol, Extent] = {}
        for symbol, length in zip(self.places, lengths, strict=True):
            first = known.setdefault(symbol, length)
            if first is not length and resolved(first - length) != Extent():
                return False
        return all(
            _is_so(in_lengths(one.left - one.right, known), one.relation)
            for one in self.assumptions
        )

    def add(self, lengths: tuple[Extent, ...]) -> None:
        """Add a call; `admits` must hold for its lengths."""
        lengths = tuple(map(resolved, lengths))
        if lengths not in [tuple(map(resolved, known)) for known in self.calls]:
            self.calls.append(lengths)
            for one in self.assumptions:
                self._assume_of(one, lengths)

    def settle(self) -> None:
        """Link each symbol that stands for the same length in all calls to that length."""
        found: dict[Symbol, set[Extent]] = {symbol: set() for symbol in self.places}
        for lengths in self.calls:
            for symbol, length in zip(self.places, lengths, strict=True):
                found[symbol].add(resolved(length))
        for symbol, of_calls in found.items():
            if symbol.link is None and len(of_calls) == 1:
                (symbol.link,) = of_calls

    def examples(self, extent: Extent) -> tuple[int, ...] | None:
        """Return the values of an extent in all calls; None if one has no example."""
        found: list[int] = []
        for lengths in self.calls:
            known = dict(zip(self.places, lengths, strict=True))
            values = _examples(in_lengths(extent, known))
            if values is None:
                return None
            found += values
        return tuple(found)

    def _assume_of(self, one: Assumption, lengths: Sequence[Extent]) -> None:
        known = dict(zip(self.places, lengths, strict=True))
        left, right = in_lengths(one.left, known), in_lengths(one.right, known)
        if one.relation == "==":
            found = same(left, right)
        elif one.relation == "!=":
            found = settled(left, right) is False
        else:
            found = at_least(left - right, 0)
        assert found, f"{left} {one.relation} {right}"


def in_lengths(extent: Extent, known: Mapping[Symbol, Extent]) -> Extent:
    """Return an extent with the symbols of a helper replaced by the lengths of a call."""
    if not extent.terms:
        return extent
    (symbol, k), constant = extent.terms[0], extent.constant
    if k == 1 and constant == 0 and len(extent.terms) == 1:
        return known.get(symbol, extent)
    result = Extent((), extent.constant)
    for symbol, k in extent.terms:
        result = result + known.get(symbol, symbol_extent(symbol)).scaled(k)
    return result


def _is_so(difference: Extent, relation: Relation) -> bool:
    """Return True if a difference of extents, or its value in the example, has a relation to 0."""
    difference = resolved(difference)
    values: tuple[int, ...] | None = (difference.constant,)
    if difference.terms:
        known = _environment_of(difference) is not None
        values = _examples(difference) if known else None
    if values is None:
        return False
    tests = {"==": lambda v: v == 0, "!=": lambda v: v != 0, ">=": lambda v: v >= 0}
    return all(map(tests[relation], values))


_examples_asked = [0]


def count_of_examples() -> int:
    """Return how many decisions have used lengths of the example or bounds so far."""
    return _examples_asked[0]


def _examples(extent: Extent) -> tuple[int, ...] | None:
    """Return the extent's value in the example (one per list item), or None if it has none."""
    _examples_asked[0] += 1
    environment = _environment_of(extent)
    if isinstance(environment, CalledEnvironment):
        return environment.examples(extent)
    width = 1
    for symbol, _ in extent.terms:
        if symbol.example is None:
            return None
        if isinstance(symbol.example, tuple):
            width = max(width, len(symbol.example))
    totals = [extent.constant] * width
    for symbol, k in extent.terms:
        values = symbol.example
        column = values if isinstance(values, tuple) else (values,) * width
        if len(column) != width:
            return None
        totals = [t + k * int(v or 0) for t, v in zip(totals, column, strict=True)]
    return tuple(totals)


def _environment_of(extent: Extent) -> ShapeEnvironment | None:
    """Return the latest environment among those of the symbols: a helper's before its caller's."""
    found = None
    for symbol, _ in extent.terms:
        environment = symbol.environment
        if found is None or (environment is not None and environment.serial > found.serial):
            found = environment
    return found


def same(a: Extent, b: Extent) -> bool | None:
    """Return True if two extents are equal: True, False (known to differ) or None (unknown).

    Two lengths that are equal in the example are assumed equal from then on.
    """
    difference = resolved(a - b)
    if not difference.terms:
        return difference.constant == 0
    values, environment = _examples(difference), _environment_of(difference)
    if values is None or environment is None or any(values):
        return None
    environment.assume(*_decidable(a, "==", b))
    _link(difference, environment)
    return True


def differ(a: Extent, b: Extent) -> bool:
    """Return True if two extents are not equal in the example, or never are."""
    difference = resolved(a - b)
    values = _examples(difference)
    return values is not None and any(values)


def settled(a: Extent, b: Extent) -> bool | None:
    """Return True if two extents are equal, where the example also decides that they differ."""
    found = same(a, b)
    if found is not None:
        return found
    values, environment = _examples(resolved(a - b)), _environment_of(resolved(a - b))
    if values is None or environment is None or not all(values):
        return None
    environment.assume(*_decidable(a, "!=", b))
    return False


def _decidable(a: Extent, relation: Relation, b: Extent) -> tuple[Extent, Relation, Extent]:
    """Return a relation of two extents that the call decides: without symbols in common."""
    a, b = resolved(a), resolved(b)
    if all(symbol.example is not None for extent in (a, b) for symbol, _ in extent.terms):
        return a, relation, b
    return a - b, relation, Extent()


def _link(difference: Extent, environment: ShapeEnvironment) -> None:
    """Make use of ``difference == 0`` where one symbol can be solved for exactly.

    In the environment of a helper, only the symbols of the helper are linked.
    """
    is_called = isinstance(environment, CalledEnvironment)
    for symbol, k in reversed(difference.terms):
        if abs(k) == 1 and (symbol.environment is environment or not is_called):
            rest = difference - Extent(((symbol, k),), 0)
            symbol.link = rest.scaled(-k)
            return


def example_of(extent: Extent) -> int | None:
    """Return the length in the example that caused the compilation.

    Nothing is assumed of others.
    """
    values = _examples(resolved(extent))
    return values[0] if values is not None and len(values) == 1 else None


def is_one(extent: Extent) -> bool | None:
    """Return True if a length is 1 (assumed from the example where it is not a constant)."""
    extent = resolved(extent)
    one = constant_extent(1)
    if not extent.terms:
        return extent.constant == 1
    values, environment = _examples(extent), _environment_of(extent)
    if values is None or environment is None:
        return None
    if all(v == 1 for v in values):
        return same(extent, one)
    if any(v == 1 for v in values):
        return None
    environment.assume(extent, "!=", one)
    return False


def at_least(extent: Extent, bound: int) -> bool | None:
    """Return True if a length is `bound` or more (assumed from the example).

    Of an expression in loop indices: True if it is so in every iteration, else None.
    """
    extent = resolved(extent)
    if not extent.terms:
        return extent.constant >= bound
    if any(isinstance(symbol, IndexSymbol) for symbol, _ in extent.terms):
        lowest = _lowest(extent)
        return (lowest is not None and at_least(lowest, bound)) or None
    if extent.constant >= bound and all(k > 0 and is_length(s) for s, k in extent.terms):
        return True
    values, environment = _examples(extent), _environment_of(extent)
    if values is None or environment is None or any(v < bound for v in values):
        return None
    environment.assume(Extent(extent.terms), ">=", constant_extent(bound - extent.constant))
    return True


def has_index(extent: Extent) -> bool:
    """Return True if an expression depends on a loop index."""
    return any(isinstance(symbol, IndexSymbol) for symbol, _ in resolved(extent).terms)


def _lowest(extent: Extent) -> Extent | None:
    """Return a lower bound without loop indices; None if a bound of one is unknown.

    The index of the innermost loop is replaced first: its bounds may name those around it.
    """
    _examples_asked[0] += 1
    while True:
        extent = resolved(extent)
        indices = [(s, k) for s, k in extent.terms if isinstance(s, IndexSymbol)]
        if not indices:
            return extent
        symbol, k = indices[-1]
        end = symbol.low if k > 0 else symbol.high
        if end is None:
            return None
        extent = extent + (end - symbol_extent(symbol)).scaled(k)


def is_length(symbol: Symbol) -> bool:
    """Return True if a symbol stands for a length, which is never negative."""
    source = symbol.source
    return source is None or (isinstance(source, tuple) and source[-1][0] == "shape")


def static_value(extent: Extent | None) -> int | None:
    """Return the one integer that the extent is.

    The example decides (and is recorded) if need be.
    """
    if extent is None:
        return None
    extent = resolved(extent)
    if not extent.terms:
        return extent.constant
    values = _examples(extent)
    if values is None or len(set(values)) != 1:
        return None
    return values[0] if same(extent, constant_extent(values[0])) else None
