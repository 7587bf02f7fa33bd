"""The type of the result of an elementwise call, the bulk of all calls.

Its shape is decided from the extents of the operands.  Its form and dtype depend on nothing but the
forms, dtypes and ranks of the operands and on the constants among them: they are asked of NumPy
once, on stand-ins with one entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Const, Display
from srcad.ir.inference.cases import Case, agreed, cases, in_case
from srcad.ir.inference.memo import concluded, question, remembered
from srcad.ir.inference.probe import filled
from srcad.ir.traits import law_of_operator
from srcad.types.join import type_of_constant
from srcad.types.numeric import NUMBER, Form, Numeric, Shape
from srcad.types.sizes import Extent, constant_extent, fresh_extent, is_one, resolved, same
from srcad.types.structures import TupleOf, Type


def broadcast(shapes: list[tuple[Extent, ...] | None]) -> tuple[Extent, ...] | None:
    """Return the shape to which these shapes broadcast, or None when it is not known."""
    known = [s for s in shapes if s is not None]
    if len(known) < len(shapes):
        return None
    rank = max(map(len, known), default=0)
    result = []
    for axis in range(-rank, 0):
        extents = [s[axis] for s in known if len(s) >= -axis]
        result.append(_broadcast_extent(extents))
    return tuple(result)


def _broadcast_extent(extents: list[Extent]) -> Extent:
    first = extents[0]
    if all(resolved(e) == resolved(first) for e in extents[1:]):
        return first
    wide = [e for e in extents if is_one(e) is not True]
    if not wide:
        return constant_extent(1)
    if all(same(e, wide[0]) for e in wide[1:]):
        return wide[0]
    return fresh_extent()


def elementwise_type(
    target: Any, args: tuple[Arg, ...], types: list[Type], kwargs: tuple[tuple[str, Arg], ...]
) -> Type:
    """Return the type of the result of a call that acts entry by entry.

    `types` are those of `args`: numbers, or objects of which nothing is known.
    """
    operands = [t for t in types if isinstance(t, Numeric)]
    keyword_values = [a for _, a in kwargs]
    if len(operands) < len(types) and any(
        not (isinstance(a, Const) and a.value is None)
        for a, t in zip(args, types, strict=True)
        if not isinstance(t, Numeric)
    ):
        return NUMBER
    named = [argument_type(a) for a in keyword_values]
    operands += [t for t in named if isinstance(t, Numeric)]
    is_known = not any(isinstance(a, Display) for a in keyword_values)  # a list as a mask
    shape_ = broadcast([t.shape for t in operands]) if is_known else None
    found = concluded(
        question(target, args, kwargs, None), lambda: _sampled(target, args, kwargs, operands)
    )
    if isinstance(found, TupleOf):
        parts = [t for t in found.items if isinstance(t, Numeric)]
        return TupleOf(tuple(_of_shape(t, shape_, None) for t in parts))
    if not isinstance(found, Numeric):
        return NUMBER
    value = _int_value(target, args) if found.is_python and found.kind == "i" else None
    return _of_shape(found, shape_, value)


def _of_shape(found: Numeric, shape_: Shape | None, value: Extent | None) -> Numeric:
    """Return the type of a result that has the kind of a sample."""
    form: Form = "any" if shape_ is None else "array" if shape_ else found.form
    if shape_ == found.shape and form == found.form and value is found.value:
        return found  # as for most scalars
    return Numeric(found.dtype, shape_, form, value, joined=found.joined)


def _sampled(
    target: Any, args: tuple[Arg, ...], kwargs: tuple[tuple[str, Arg], ...], operands: list[Numeric]
) -> Type:
    """Type of an elementwise call, for all that the types of its operands leave open."""
    options = cases(operands, ranks=False)
    found = [_sample(target, args, kwargs, case) for case in options]
    return agreed(options, found, operands)


def _sample(
    target: Any, args: tuple[Arg, ...], kwargs: tuple[tuple[str, Arg], ...], case: Case
) -> Any:
    """Type of an elementwise call, for one choice of all that the types leave open."""
    return remembered(
        question(target, args, kwargs, case),
        lambda: type_of_constant(
            target(*[_one(a, case) for a in args], **{name: _one(a, case) for name, a in kwargs})
        ),
    )


def _one(arg: Arg, case: Case) -> Any:
    """Return the argument itself if constant, else a stand-in with one entry."""
    if isinstance(arg, Const):
        return arg.value if not isinstance(arg.value, np.ndarray) else arg.value.ravel()[:1]
    type_ = in_case(argument_type(arg), case)
    assert isinstance(type_, Numeric)
    return filled(type_, (1,) * len(type_.shape or ()), 0)


def _int_value(target: Any, args: tuple[Arg, ...]) -> Extent | None:
    values = [t.value if isinstance(t := argument_type(a), Numeric) else None for a in args]
    if len(values) == 1 and values[0] is not None and law_of_operator(target) == "negative":
        return values[0].scaled(-1)
    if len(values) != 2 or values[0] is None or values[1] is None:
        return None
    left, right = values[0], values[1]
    if law_of_operator(target) == "sum":
        return left + right
    if law_of_operator(target) == "difference":
        return left - right
    if law_of_operator(target) == "product" and not left.terms:
        return right.scaled(left.constant)
    if law_of_operator(target) == "product" and not right.terms:
        return left.scaled(right.constant)
    constants = not left.terms and not right.terms and right.constant != 0
    if law_of_operator(target) == "floor" and constants:
        return constant_extent(left.constant // right.constant)
    if law_of_operator(target) == "remainder" and constants:
        return constant_extent(left.constant % right.constant)
    return None
