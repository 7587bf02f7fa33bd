"""Which inputs the tangents of a function depend on: a second meaning of the IR of forward mode.

The tangent of an input is a `Support`, the set of that one input.  Tangents are linear in one
another: a sum has the inputs of both its terms, and a factor changes nothing.  So the ops of a
derived function run as they are, the primal on numbers and the tangents on arrays of such sets.
Both arms of a conditional count.  What cannot run on sets depends on all that goes in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from srcad import runtime
from srcad.ir.core import BREAK, Block, Call, For, Function, If, Loop, Routine, Try
from srcad.ir.evaluate import Env, argument_value
from srcad.ir.primitives import rebuilt
from srcad.ir.traits import sets_places, sums_at_places
from srcad.startup.records import dataclass
from srcad.types.objects import attributes

_MOST_TRIPS = 10_000  # of a loop in an arm that the call does not take
_MOST_CALLS = 3
_CASTS = (
    float,
    np.float64,
    np.float32,
    np.astype,
    runtime.converted_like,
    runtime.deep_copy,
    runtime.copy_in_order_of,
)


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

    def inputs(self) -> np.ndarray[Any, np.dtype[np.intp]]:
        data = self.bits.to_bytes((self.bits.bit_length() + 7) // 8, "little")
        flags = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
        return np.flatnonzero(flags) + self.start


def units(shape: tuple[int, ...], start: int) -> Any:
    """Return the tangent of an input: each of its numbers depends on itself."""
    if shape == ():
        return Support(start)
    found = np.empty(int(np.prod(shape)), object)
    found[:] = [Support(start + k) for k in range(found.size)]
    return found.reshape(shape)


def supports(function: Function, arguments: Sequence[Any]) -> list[Any]:
    """Return the results of a function if some of its arguments hold supports."""
    env: Env = dict(zip(function.params, arguments, strict=True))
    with np.errstate(all="ignore"):
        return _Run(False, 0).block(function.block, env)


@dataclass(frozen=True)
class _Run:
    """One way of running blocks: as the call does, or to see what an arm would depend on."""

    is_guess: bool
    depth: int

    def block(self, block: Block, env: Env) -> list[Any]:
        """Run a block with its parameters in `env`; return its results."""
        for op in block.ops:
            match op:
                case Call():
                    env[op.result] = self._call(op, env)
                case Try():
                    env.update(zip(op.outputs, self._try(op, env), strict=True))
                case If():
                    env.update(zip(op.outputs, self._if(op, env), strict=True))
                case _:
                    assert isinstance(op, Loop)
                    env.update(zip(op.outputs, self._loop(op, env), strict=True))
        return [argument_value(atom, env) for atom in block.results]

    # ------------------------------------------------------------------------- control flow
    def _if(self, op: If, env: Env) -> list[Any]:
        taken, other = (
            (op.then, op.orelse) if argument_value(op.test, env) else (op.orelse, op.then)
        )
        found = self.block(taken, env)
        try:
            guessed = _Run(True, self.depth).block(other, dict(env))
        except Exception:  # for these arguments the arm has no meaning: NumPy may raise anything
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
        tag = trips = 0
        for row in self._rows(op, state, env):
            env.update(zip(op.body.params, (*row, *state), strict=True))
            tag, *rest = self.block(op.body, env)
            state[:] = rest[: len(state)]
            for items, value in zip(collected, rest[len(state) :], strict=True):
                items.append(value)
            trips += 1
            if tag >= BREAK:
                break
            if self.is_guess and trips > _MOST_TRIPS:
                raise RecursionError
        if isinstance(op, For) and op.backward:
            collected = [items[::-1] for items in collected]
        return [tag, trips, *state, *collected]

    def _rows(self, op: Loop, state: list[Any], env: Env) -> Iterator[tuple[Any, ...]]:
        if not isinstance(op, For):
            while True:
                env.update(zip(op.test.params, state, strict=True))
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
            return self._routine(op.target, args)
        if not any(map(_holds, (*args, *kwargs.values()))):
            return op.target(*args, **kwargs)
        if any(op.target is cast for cast in _CASTS):
            return args[0]
        if sets_places(op.target) or sums_at_places(op.target):
            args[0] = _as_objects(args[0])
        try:
            return op.target(*args, **kwargs)
        except (TypeError, ValueError, AttributeError, ArithmeticError):
            return _dense(op.target, args, kwargs)

    def _routine(self, routine: Routine, args: list[Any]) -> tuple[Any, ...]:
        assert routine.function is not None
        if self.is_guess and self.depth >= _MOST_CALLS:
            raise RecursionError
        inner: Env = dict(zip(routine.function.params, args, strict=True))
        return tuple(_Run(self.is_guess, self.depth + 1).block(routine.function.block, inner))


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

    def filled(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return np.full(value.shape, union, object)
        return union if isinstance(value, float | complex) else value

    return _mapped(filled, found)
