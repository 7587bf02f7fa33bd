"""Which inputs the tangents of a function depend on: a second meaning of the IR of forward mode.

The tangent of an input is a `Support`, the set of that one input.  Tangents are linear in one
another: a sum has the inputs of both its terms, and a factor changes nothing.  So the ops of a
derived function run as they are, the primal on numbers and the tangents on arrays of such sets.
Both branches of a conditional count, unless constants, options, lengths and the indices of loops
decide its test.  What cannot run on sets depends on all that goes in.

The same run on linear forms, which record the factors of the tangents, returns the derivatives
themselves.  A tangent of zero is no term of a form.  So ``0 * inf`` does not occur where forward
mode computes it, and the other entries of a row stay finite beside an infinite one.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from srcad import runtime
from srcad.ir.core import (
    BREAK,
    Arg,
    Block,
    Call,
    Const,
    Display,
    For,
    Function,
    If,
    Loop,
    Routine,
    Try,
    Value,
)
from srcad.ir.evaluate import Env, argument_value
from srcad.ir.library_operations import is_elementwise
from srcad.ir.primitives import rebuilt
from srcad.ir.traits import (
    answers,
    is_part,
    is_shape,
    law_of,
    measures,
    sets_places,
    sums_at_places,
)
from srcad.startup.records import dataclass, field, replace
from srcad.types.numeric import Numeric
from srcad.types.objects import attributes
from srcad.types.structures import Type

_MOST_TRIPS = 10_000  # of a loop in an arm that the call does not take
_MOST_CALLS = 3
_COPIES = (runtime.converted_like, runtime.deep_copy, runtime.copy_in_order_of)
_CONVERSIONS = (bool, int, float, len, min, max, divmod)


class Support:
    """A set of inputs, used as an entry of an array of tangents.

    The inputs are bits of a number, counted from `start`: neighbours need few.
    """

    __slots__ = ("bits", "start")

    def __init__(self, start: int, bits: int = 1) -> None:
        self.start = start
        self.bits = bits

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # the array takes it entry by entry
        if other is self or not isinstance(other, Support):
            return self
        low, high = (self, other) if self.start <= other.start else (other, self)
        bits = low.bits | high.bits << (high.start - low.start)
        return low if bits == low.bits else Support(low.start, bits)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self + other if isinstance(other, Support) else self

    def __neg__(self) -> Support:
        return self

    __radd__ = __sub__ = __rsub__ = __add__
    __rmul__ = __truediv__ = __mul__

    def conjugate(self) -> Support:
        """Return the same inputs: a conjugate depends on them."""
        return self

    def with_unknown_factors(self) -> Support:
        """Return the inputs of an operation with unknown partial derivatives."""
        return self

    def inputs(self) -> np.ndarray[Any, np.dtype[np.intp]]:
        data = self.bits.to_bytes((self.bits.bit_length() + 7) // 8, "little")
        flags = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
        return np.flatnonzero(flags) + self.start


_SERIALS = itertools.count()


class Form(Support):
    """A linear form of the inputs, used as an entry of an array of tangents.

    It is a node of a graph: a sum of earlier forms with factors.  An input has no terms.
    """

    __slots__ = ("serial", "terms")

    def __init__(self, start: int = -1, terms: tuple[tuple[Form, Any], ...] = ()) -> None:
        self.start = start
        self.terms = terms
        self.serial = next(_SERIALS)

    def __add__(self, other: Any) -> Any:
        return self._sum(other, 1.0, 1.0)

    def __sub__(self, other: Any) -> Any:
        return self._sum(other, 1.0, -1.0)

    def __rsub__(self, other: Any) -> Any:
        return self._sum(other, -1.0, 1.0)

    def _sum(self, other: Any, factor: float, factor_of_other: float) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if isinstance(other, Form):
            return Form(terms=((self, factor), (other, factor_of_other)))
        return self if factor == 1.0 else -self

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if isinstance(other, Form):
            return (self + other).with_unknown_factors()
        return Form(terms=((self, float(other) if isinstance(other, int) else other),))

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self * np.divide(1.0, other)

    def __neg__(self) -> Form:
        return Form(terms=((self, -1.0),))

    __radd__ = __add__
    __rmul__ = __mul__

    def conjugate(self) -> Form:
        """Return an unknown form: it is no multiple of this one if a factor is complex."""
        return self.with_unknown_factors()

    def with_unknown_factors(self) -> Form:
        """Return a form of the same inputs in which each derivative is nan."""
        return Form(terms=((self, np.nan),))

    def derivatives(self) -> dict[int, Any]:
        """Return the derivative by each input that the form depends on; nan if unknown."""
        found: dict[int, Any] = {}
        totals: dict[int, Any] = {self.serial: 1.0}
        pending = [(-self.serial, self)]  # later forms first: all that read a form precede it
        while pending:
            negative, form = heapq.heappop(pending)
            total = totals.pop(-negative)
            if form.start >= 0:
                found[form.start] = total
            for term, factor in form.terms:
                if term.serial in totals:
                    totals[term.serial] += total * factor
                else:
                    totals[term.serial] = total * factor
                    heapq.heappush(pending, (-term.serial, term))
        return found


def units(shape: tuple[int, ...], start: int, kind: Callable[[int], Support] = Support) -> Any:
    """Return the tangent of an input: each of its numbers depends on itself."""
    if shape == ():
        return kind(start)
    found = np.empty(int(np.prod(shape)), object)
    found[:] = [kind(start + k) for k in range(found.size)]
    return found.reshape(shape)


def supports(function: Function, arguments: Sequence[Any], *, branches: bool = True) -> list[Any]:
    """Return the results of a function if some of its arguments hold supports.

    With `branches`, those count that the call does not take.
    """
    env: Env = dict(zip(function.params, arguments, strict=True))
    decided = {p for p, argument in env.items() if is_option(argument)}
    with np.errstate(all="ignore"):
        return _Run(branches, False, 0, decided).block(function.block, env)


def is_option(argument: Any) -> bool:
    """Return True if an argument is a number, text or None for which a pattern is cached."""
    return isinstance(argument, bool | int | str | np.integer | np.bool_ | None)


@dataclass(frozen=True)
class _Run:
    """An interpreter of blocks: of those that the call runs, or of branches that it skips."""

    # whether the branches that the call does not take are run as well
    branches: bool
    # whether the call itself would not run these blocks
    is_guess: bool
    # the number of routines around
    depth: int
    # the values that are the same for all arguments of these shapes and options
    decided: set[Value] = field(default_factory=set)

    def block(self, block: Block, env: Env) -> list[Any]:
        """Run a block with its parameters in `env`; return its results."""
        for op in block.ops:
            match op:
                case Call():
                    env[op.result] = self._call(op, env)
                    self._decide(op.result, self._is_decided_call(op))
                case Try():
                    env.update(zip(op.outputs, self._try(op, env), strict=True))
                    self._decide_all(op.outputs, itertools.repeat(False))
                case If():
                    env.update(zip(op.outputs, self._if(op, env), strict=True))
                case _:
                    assert isinstance(op, Loop)
                    env.update(zip(op.outputs, self._loop(op, env), strict=True))
        return [argument_value(atom, env) for atom in block.results]

    # ------------------------------------------------------------------------- decided values
    def _decide(self, value: Value, decided: bool) -> None:
        (self.decided.add if decided else self.decided.discard)(value)

    def _decide_all(self, values: Sequence[Value], decided: Iterable[bool]) -> None:
        for value, is_decided in zip(values, decided, strict=False):
            self._decide(value, is_decided)

    def _is_decided(self, arg: Arg) -> bool:
        if isinstance(arg, Display):
            return all(map(self._is_decided, arg.items))
        return isinstance(arg, Const) or arg in self.decided

    def _is_decided_call(self, op: Call) -> bool:
        if isinstance(op.target, Routine) or op.effect or not op.args:
            return False
        first = op.args[0]
        rest = [*op.args[1:], *(arg for _, arg in op.kwargs)]
        known = self._is_decided(first)
        if not known and (measures(op.target) or is_shape(op.target)):
            known = isinstance(first, Value) and _is_of_known_shape(first.type)
        return known and _is_decidable(op.target) and all(map(self._is_decided, rest))

    # ------------------------------------------------------------------------- control flow
    def _if(self, op: If, env: Env) -> list[Any]:
        taken, other = (
            (op.then, op.orelse) if argument_value(op.test, env) else (op.orelse, op.then)
        )
        found = self.block(taken, env)
        if self._is_decided(op.test):
            self._decide_all(op.outputs, map(self._is_decided, taken.results))
            return found
        self._decide_all(op.outputs, itertools.repeat(False))
        if not self.branches:
            return found
        guess = replace(self, is_guess=True)
        try:
            guessed = guess.block(other, dict(env))
        except Exception:  # for these arguments the branch has no meaning: NumPy may raise anything
            return found
        return [_united(a, b) for a, b in zip(found, guessed, strict=True)]

    def _try(self, op: Try, env: Env) -> list[Any]:
        try:
            return self.block(op.then, env)
        except op.catches as error:
            env[op.error] = error
        return self.block(op.orelse, env)

    def _loop(self, op: Loop, env: Env) -> list[Any]:
        state = [argument_value(a, env) for a in op.inits]
        collected: list[list[Any]] = [[] for _ in op.body.results[1 + len(state) :]]
        items = [self._is_decided(s) for s in op.seqs] if isinstance(op, For) else []
        carried = [self._is_decided(a) for a in op.inits]
        ends = self._has_decided_length(op)
        tag = trips = 0
        for row in self._rows(op, state, env, carried):
            env.update(zip(op.body.params, (*row, *state), strict=True))
            self._decide_all(op.body.params, (*items, *carried))
            tag, *rest = self.block(op.body, env)
            state[:] = rest[: len(state)]
            next_tag, *next_carried = op.body.results[: 1 + len(state)]
            ends = ends and self._is_decided(next_tag) and self._has_decided_test(op)
            carried[:] = map(self._is_decided, next_carried)
            for parts, value in zip(collected, rest[len(state) :], strict=True):
                parts.append(value)
            trips += 1
            if tag >= BREAK:
                break
            if self.is_guess and trips > _MOST_TRIPS:
                raise RecursionError
        if isinstance(op, For) and op.backward:
            collected = [parts[::-1] for parts in collected]
        ends = ends and self._has_decided_test(op)
        self._decide_all(op.outputs, (ends, ends, *(ends and one for one in carried)))
        return [tag, trips, *state, *collected]

    def _has_decided_length(self, op: Loop) -> bool:
        """Return True if only a jump can make the number of iterations another one."""
        if not isinstance(op, For):
            return True  # the test of each iteration tells
        if op.count is not None and not self._is_decided(op.count):
            return False
        return all(self._is_decided(s) or _has_known_length(s) for s in op.seqs)

    def _has_decided_test(self, op: Loop) -> bool:
        return isinstance(op, For) or self._is_decided(op.test.results[0])

    def _rows(
        self, op: Loop, state: list[Any], env: Env, carried: list[bool]
    ) -> Iterator[tuple[Any, ...]]:
        if not isinstance(op, For):
            while True:
                env.update(zip(op.test.params, state, strict=True))
                self._decide_all(op.test.params, carried)
                if not self.block(op.test, env)[0]:
                    return
                yield ()
        count = None if op.count is None else argument_value(op.count, env)
        if not op.seqs:
            assert count is not None
            yield from [()] * count
            return
        rows = list(zip(*(argument_value(s, env) for s in op.seqs), strict=False))[:count]
        yield from rows[::-1] if op.backward else rows

    # ------------------------------------------------------------------------- calls
    def _call(self, op: Call, env: Env) -> Any:
        args = [argument_value(a, env) for a in op.args]
        kwargs = {name: argument_value(a, env) for name, a in op.kwargs}
        if isinstance(op.target, Routine):
            return self._routine(op, args)
        if not any(map(_holds, (*args, *kwargs.values()))):
            return op.target(*args, **kwargs)
        if law_of(op.target) == "cast" or any(op.target is copy for copy in _COPIES):
            return args[0]
        if any(op.target is part for part in (np.real, np.imag)):
            return _part_of_complex(op.target, args[0])
        if sets_places(op.target) or sums_at_places(op.target):
            args[0] = _as_objects(args[0])
        try:
            return op.target(*args, **kwargs)
        except (TypeError, ValueError, AttributeError, ArithmeticError):
            return _dense(op.target, args, kwargs)

    def _routine(self, op: Call, args: list[Any]) -> tuple[Any, ...]:
        function = op.target.function
        assert function is not None
        if self.is_guess and self.depth >= _MOST_CALLS:
            raise RecursionError
        inner: Env = dict(zip(function.params, args, strict=True))
        pairs = zip(function.params, op.args, strict=True)
        decided = {param for param, arg in pairs if self._is_decided(arg)}
        run = replace(self, depth=self.depth + 1, decided=decided)
        return tuple(run.block(function.block, inner))


def _is_decidable(target: Any) -> bool:
    """Return True if the result of a call depends on its operands and on nothing else."""
    return (
        is_elementwise(target)
        or answers(target)
        or is_part(target)
        or measures(target)
        or is_shape(target)
        or any(target is one for one in _CONVERSIONS)
    )


def _is_of_known_shape(type_: Type) -> bool:
    """Return True if the shapes of the arguments decide the shape of a value."""
    if not isinstance(type_, Numeric) or type_.shape is None:
        return False
    symbols = (symbol for extent in type_.shape for symbol, _ in extent.terms)
    return all(symbol.example is not None for symbol in symbols)


def _has_known_length(seq: Arg) -> bool:
    return isinstance(seq, Value) and _is_of_known_shape(seq.type)


# ------------------------------------------------------------------------------- structures
def _parts(value: Any) -> Sequence[Any] | None:
    """Return the parts of a container; None of anything else."""
    if isinstance(value, tuple | list):
        return value
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, np.ndarray | np.generic | float | int | str | Support | None):
        return None
    held = attributes(value)
    return None if held is None else list(held[1])


def _is_set(value: Any) -> bool:
    return isinstance(value, Support) or (isinstance(value, np.ndarray) and value.dtype == object)


def _holds(value: Any) -> bool:
    if _is_set(value):
        return True
    parts = _parts(value)
    return parts is not None and any(map(_holds, parts))


def _as_objects(value: Any) -> Any:
    return value.astype(object) if isinstance(value, np.ndarray) else value


def _mapped(change: Any, value: Any, *others: Any) -> Any:
    """Return a container with changed parts; of containers that differ the first is taken."""
    parts = _parts(value)
    if parts is None:
        return change(value, *others)
    rest = [_parts(other) for other in others]
    if any(r is None or len(r) != len(parts) for r in rest):
        return value
    items = [_mapped(change, *row) for row in zip(parts, *rest, strict=True)]
    if isinstance(value, list):
        return items
    if isinstance(value, tuple):
        return tuple.__new__(type(value), items)
    keys = tuple(value) if isinstance(value, dict) else _names(value)
    return rebuilt(dict if isinstance(value, dict) else type(value), keys, tuple(items))


def _names(value: Any) -> tuple[str, ...]:
    held = attributes(value)
    assert held is not None
    return held[0]


def _united(value: Any, other: Any) -> Any:
    """Return the result of the call, with the dependences that the other branch would add."""
    return _mapped(_both, value, other)


def _both(value: Any, other: Any) -> Any:
    if not (_is_set(value) or _is_set(other)) or np.shape(value) != np.shape(other):
        return value
    total = np.add(np.asarray(value, object), np.asarray(other, object))
    return total[()] if isinstance(total, np.ndarray) else total


def _part_of_complex(part: Any, value: Any) -> Any:
    """Return the real or imaginary parts, with the dependences of the complex numbers.

    NumPy's imaginary part of an array of objects is zero.
    """

    def change(entry: Any) -> Any:
        return entry.with_unknown_factors() if isinstance(entry, Support) else part(entry)

    return np.frompyfunc(change, 1, 1)(value)


def _dense(target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return a result of which every number depends on all that goes in."""
    total: list[Support] = []

    def plain(value: Any) -> Any:
        if not _is_set(value):
            return value
        entries = np.asarray(value, object).ravel()
        total.extend(entry for entry in set(entries) if isinstance(entry, Support))
        return np.ones(np.shape(value))[()]

    found = target(
        *(_mapped(plain, a) for a in args),
        **{name: _mapped(plain, a) for name, a in kwargs.items()},
    )
    union = total[0]
    for one in total[1:]:
        union = union + one
    union = union.with_unknown_factors()

    def filled(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return np.full(value.shape, union, object)
        return union if isinstance(value, float | complex) else value

    return _mapped(filled, found)
