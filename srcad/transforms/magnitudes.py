"""Derivatives of even functions of a magnitude: ``f(abs(x))`` has those of ``f(x)``.

The chain rule through ``abs(x)`` has the factor ``sign(x)``, which is 0 at 0.  A first derivative
is right with it, for an even function has the slope 0 there.  The second derivative of
``abs(x)**2`` would be 0 instead of 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Block, Call, Const, Display, Op, Value
from srcad.rules.registry import row_of
from srcad.startup.records import replace
from srcad.types.numeric import Numeric
from srcad.types.sizes import is_one

_MOST_ENTRIES = 64  # of a sample, each of which changes its sign once


def without_magnitudes(made: Mapping[Value, Op], op: Call) -> Call:
    """Return the equivalent call without the magnitude, for differentiation.

    Parameters
    ----------
    made : mapping from Value to Op
        The ops of the function that is differentiated, by their results.
    op : Call
        A call of that function.

    Returns
    -------
    Call
        ``x**2`` for ``abs(x)**2``, of the same result; `op` where it is no such call.  The value is
        still computed by `op`.
    """
    if not op.args:
        return op
    row = row_of(op.target)
    if row.law == "product" or row.entries == "contracted":
        return _without_shared_magnitude(made, op)
    if op.kwargs:
        return op
    places: Sequence[int]
    if row.sign is not None and row.sign.text == "**":
        places = (0,) if len(op.args) == 2 and _is_even(op.args[1]) else ()
    elif row.symmetry == "even":
        places = range(len(op.args))
    else:
        return op
    found = {k: x for k in places if (x := _under_magnitude(made, op.args[k])) is not None}
    if not found:
        return op
    return replace(op, args=tuple(found.get(k, arg) for k, arg in enumerate(op.args)))


def _without_shared_magnitude(made: Mapping[Value, Op], op: Call) -> Call:
    """Return a product of a magnitude with itself as one of the number: ``x @ x`` of vectors.

    Only where each entry is multiplied with itself: ``abs(x) @ abs(x)`` of matrices has other
    derivatives than ``x @ x``.
    """
    under = [_under_magnitude(made, arg) for arg in op.args]
    counts = Counter(x for x in under if x is not None)
    for shared in (x for x, count in counts.items() if count > 1):
        args = tuple(x if x is shared else arg for x, arg in zip(under, op.args, strict=True))
        changed = replace(op, args=args)
        row = row_of(op.target)
        if row.law == "product" or (row.shipped and _is_even_in_each_entry(changed, shared)):
            op = changed
    return op


def _is_even_in_each_entry(op: Call, x: Value) -> bool:
    """Return True if a call has the same result with another sign of any one entry of `x`.

    It is called with samples, in which all lengths but those of 1 are 2.
    """
    values = {v: _sample_of(v, k) for k, v in enumerate(dict.fromkeys((x, *op.operands)))}
    sample = values[x]
    if sample is None or any(v is None for v in values.values()) or sample.size > _MOST_ENTRIES:
        return False

    def result(entries: Any) -> Any:
        given = {**values, x: entries}
        args = [_filled(arg, given) for arg in op.args]
        return op.target(*args, **{name: _filled(arg, given) for name, arg in op.kwargs})

    try:
        usual = result(sample)
        for place in np.ndindex(sample.shape):
            turned = sample.copy()
            turned[place] = -turned[place]
            if not np.array_equal(result(turned), usual):
                return False
    except Exception:  # a function that is tried with samples may raise anything
        return False
    return True


def _sample_of(value: Value, seed: int) -> Any:
    """Return an array of whole numbers above 0 for a value; None if its rank is unknown."""
    type_ = value.type
    if not isinstance(type_, Numeric) or type_.shape is None:
        return None
    lengths = [1 if is_one(n) else 2 for n in type_.shape]
    return np.random.default_rng(seed).integers(1, 9, lengths).astype(float)


def _filled(arg: Arg, values: Mapping[Value, Any]) -> Any:
    """Return an argument with samples for values."""
    if isinstance(arg, Display):
        parts = [_filled(one, values) for one in arg.items]
        return tuple(parts) if arg.kind == "tuple" else parts
    return arg.value if isinstance(arg, Const) else values[arg]


def _is_even(arg: Arg) -> bool:
    """Return True for an exponent that is known, and an even number."""
    value: Any = arg.value if isinstance(arg, Const) else None
    is_number = isinstance(value, int | float | np.integer | np.floating)
    return is_number and not isinstance(value, bool) and bool(value % 2 == 0)


def _under_magnitude(made: Mapping[Value, Op], arg: Arg) -> Value | None:
    """Return ``x`` if an argument is ``abs(x)`` or ``abs(abs(x))`` of real numbers."""
    found: Value | None = None
    while isinstance(arg, Value):
        call = made.get(arg)
        if not isinstance(call, Call) or not _is_magnitude(call.target):
            break
        if call.kwargs or len(call.args) != 1 or not _is_of_same_dtype(call):
            break
        arg = call.args[0]
        found = arg if isinstance(arg, Value) else None
    return found


def _is_magnitude(target: Any) -> bool:
    row = row_of(target)
    return row.symmetry == "even" and row.exponent == 1


def _is_of_same_dtype(call: Call) -> bool:
    """Return True if a magnitude is certainly one of real numbers, and has their dtype."""
    inside, outside = argument_type(call.args[0]), argument_type(call.result)
    if not isinstance(inside, Numeric) or not isinstance(outside, Numeric):
        return False
    return inside.is_real and inside.dtype_key == outside.dtype_key and inside.cls is None


def read_again(
    block: Block, made: Mapping[Value, Op]
) -> Iterator[tuple[Value, Sequence[Op] | None]]:
    """Yield the numbers under magnitudes that the derivatives of later calls read.

    With each come the ops between the magnitude and that call, or None if they are in different
    blocks.
    """
    places = {result: k for k, op in enumerate(block.ops) for result in op.results}
    for k, op in enumerate(block.ops):
        for inner in op.blocks:
            yield from read_again(inner, made)
        if not isinstance(op, Call):
            continue
        for old, x in zip(op.args, without_magnitudes(made, op).args, strict=True):
            if x is not old and isinstance(x, Value) and isinstance(old, Value):
                start = places.get(old)
                yield x, None if start is None else block.ops[start + 1 : k]
