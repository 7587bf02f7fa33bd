"""Batching of calls with operands of which some have a leading axis of directions.

An elementwise call aligns the ranks of its operands.  A store and a read get an index for all
directions in front.  What its row says of a target is said as a formula, like a rule.  For
everything else a loop takes one direction after the other, and stacks what comes out.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from srcad import runtime
from srcad.analysis.arguments import arguments, rule_of
from srcad.analysis.dependence import carrying
from srcad.errors import SrcadError
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Atom, Call, Const, Display, Value
from srcad.ir.library_operations import is_elementwise
from srcad.ir.memory import is_one_of
from srcad.ir.traits import (
    built_parts,
    is_shape,
    is_structure,
    law_of,
    law_of_operator,
    measures,
)
from srcad.rules.batching import formula_for
from srcad.rules.row import AlwaysRaisesError
from srcad.startup.records import replace
from srcad.transforms.batched_loops import in_direction, looped
from srcad.transforms.batched_parts import BATCHES
from srcad.transforms.batched_values import BatchedScope, Term, rank
from srcad.types.numeric import Numeric
from srcad.types.structures import OPAQUE, ListOf

# Factoring of batched sums and products: factors without the axis are multiplied first.
#
# A value of all directions is many times as long as the factors that it is multiplied by. So
# ``2.0 * x_dot * a / b`` is written ``x_dot * (2.0 * a / b)``, and ``x_dot * a - x_dot * b`` is
# ``x_dot * (a - b)``: the same number to the last bits, with one long product in the place of
# three. The terms ``base * factor / divisor`` of a value are kept beside it; dead-code elimination
# removes the products in between.

_MOST_TERMS = 3


def in_fewer_products(scope: BatchedScope, op: Call) -> tuple[Sequence[Term], Atom | None]:
    """Return the terms of the result of an elementwise call, and the result if that saves products.

    There are no terms where nothing is known.

    >>> from srcad.frontend.lower import lower_inline
    >>> from srcad.passes.dce import dce
    >>> from srcad.transforms.batched import batched
    >>> function = parse('''
    ... f(a: float64[n], b: float64[n], x_dot: float64[n]):
    ...     # reverse half
    ...     t = mul(x_dot, a)
    ...     u = mul(x_dot, b)
    ...     y_dot = sub(t, u)
    ...     return y_dot
    ... ''')
    >>> print(text(dce(batched(function, [2], lower_inline))))
    f(a, b, x_dot, k):
        t1 = sub(a, b)
        y_dot = mul(x_dot, t1)
        return y_dot
    """
    precision = _precision(op.result.type)
    if precision is None or op.kwargs:
        return (), None
    law = law_of(op.target)
    if law in ("sum", "difference"):
        return _sum(scope, op, precision, minus=law == "difference")
    if law == "negative":
        term = _single(scope, op.args[0], precision)
        return _answer(scope, term and _negated(term), term)
    if law not in ("product", "quotient"):
        return (), None
    wide, narrow = op.args
    if law == "product" and scope.tree(wide) is False:
        wide, narrow = narrow, wide
    term = _single(scope, wide, precision)
    if term is None or scope.tree(narrow) is not False or not _is_factor(narrow, precision):
        return (), None
    height = max(term.rank, rank(argument_type(narrow)) or 0)
    made = _times(scope, term, narrow) if law == "product" else _over(scope, term, narrow)
    return _answer(scope, replace(made, rank=height), term)


def _answer(
    scope: BatchedScope, made: Term | None, given: Term | None
) -> tuple[Sequence[Term], Atom | None]:
    """Return a term; it is written if what it was made of was more than a value."""
    if made is None or given is None:
        return (), None
    return (made,), None if given.is_base else _written(scope, (made,))


# ------------------------------------------------------------------------------- sums
def _sum(
    scope: BatchedScope, op: Call, precision: int, *, minus: bool
) -> tuple[Sequence[Term], Atom | None]:
    first, second = (_terms(scope, a, precision) for a in op.args)
    height = rank(op.result.type)
    both = [*first, *(_negated(t) if minus else t for t in second)]
    if not first or not second or any(term.rank != height for term in both):
        return (), None
    bases = dict.fromkeys(term.base for term in both)
    if len(bases) > _MOST_TERMS:
        return (), None
    if len(bases) == len(both):
        return both, None
    found = []
    for base in bases:
        term, *others = (t for t in both if t.base is base)
        for other in others:
            term = _together(scope, term, other)
        found.append(term)
    return found, _written(scope, found)


def _together(scope: BatchedScope, a: Term, b: Term) -> Term:
    """Return the sum of two terms of one base."""
    x, y = _factor(scope, a), _factor(scope, b)
    if a.negative == b.negative:
        factor = _narrow(scope, operator.add, x, y)
    elif a.negative:
        return replace(b, factor=_narrow(scope, operator.sub, y, x), divisor=None)
    else:
        factor = _narrow(scope, operator.sub, x, y)
    return replace(a, factor=factor, divisor=None)


def _terms(scope: BatchedScope, arg: Arg, precision: int) -> Sequence[Term]:
    """Return the terms of an operand.

    One that is read again, or is no such sum, is a term itself.
    """
    found = scope.of(arg)
    if scope.tree(arg) is not True or not isinstance(found, Value):
        return ()
    height = rank(argument_type(arg))
    if height is None or _precision(argument_type(arg)) != precision:
        return ()
    known = scope.shared.terms.get(found, ())
    if len(known) == 1 or (known and isinstance(arg, Value) and scope.shared.reads[arg] == 1):
        return known
    return (Term(found, height, height),)


def _single(scope: BatchedScope, arg: Arg, precision: int) -> Term | None:
    """Return an operand as one term."""
    terms = _terms(scope, arg, precision)
    if len(terms) > 1:
        found, height = scope.of(arg), terms[0].rank
        assert isinstance(found, Value)
        return Term(found, height, height)
    return terms[0] if terms else None


# ------------------------------------------------------------------------------- factors
def _precision(type_: object) -> int | None:
    """How many bits the real and the imaginary parts of numbers have; None for other kinds."""
    if not isinstance(type_, Numeric) or type_.dtype is None or type_.kind not in "fc":
        return None
    return np.finfo(type_.dtype).bits


def _is_factor(arg: Arg, precision: int) -> bool:
    """Return True if products of an operand with another one are as exact as those with a base."""
    type_ = argument_type(arg)
    if isinstance(arg, Const):
        return type(arg.value) in (int, float, complex)
    if not isinstance(type_, Numeric) or type_.shape is None:
        return False
    return _precision(type_) == precision or (type_.is_python and type_.kind in "fc")


def _negated(term: Term) -> Term:
    return replace(term, negative=not term.negative)


def _times(scope: BatchedScope, term: Term, narrow: Arg) -> Term:
    if term.divisor is not None:
        return replace(
            term, factor=_narrow(scope, operator.truediv, narrow, term.divisor), divisor=None
        )
    if term.factor is None:
        return replace(term, factor=narrow)
    return replace(term, factor=_narrow(scope, operator.mul, term.factor, narrow))


def _over(scope: BatchedScope, term: Term, narrow: Arg) -> Term:
    if term.factor is None and term.divisor is None:
        return replace(term, divisor=narrow)
    whole = _factor(scope, term)
    return replace(term, factor=_narrow(scope, operator.truediv, whole, narrow), divisor=None)


def _factor(scope: BatchedScope, term: Term) -> Arg:
    """Return the factor of the base of a term, without the sign."""
    if term.divisor is not None:
        return _narrow(scope, operator.truediv, Const(1.0), term.divisor)
    return Const(1.0) if term.factor is None else term.factor


def _narrow(scope: BatchedScope, target: object, a: Arg, b: Arg) -> Arg:
    if isinstance(a, Const) and isinstance(b, Const) and law_of_operator(target) != "quotient":
        return Const(target(a.value, b.value))  # type: ignore[operator]
    if law_of_operator(target) == "product" and a == Const(1.0):
        return b
    return scope.call(target, a, b)


# ------------------------------------------------------------------------------- writing
def _written(scope: BatchedScope, terms: Sequence[Term]) -> Atom:
    """Return the sum of terms; a positive one stands first if there is any."""
    first = next((t for t in terms if not t.negative), terms[0])
    total: Value = _product(scope, first, negative=first.negative)
    for term in terms:
        if term is not first:
            target = operator.sub if term.negative else operator.add
            total = scope.call(target, total, _product(scope, term, negative=False))
    return total


def _product(scope: BatchedScope, term: Term, *, negative: bool) -> Value:
    base = scope.reshaped(term.base, term.base_rank, term.rank)
    if term.divisor is not None:
        divisor = scope.call(operator.neg, term.divisor) if negative else term.divisor
        return scope.call(operator.truediv, base, divisor)
    factor = term.factor
    if factor is None:
        return scope.call(operator.neg, base) if negative else _value(base)
    if isinstance(factor, Const):
        signed = Const(-factor.value) if negative else factor
        return scope.call(operator.mul, signed, base)
    return scope.call(operator.mul, base, scope.call(operator.neg, factor) if negative else factor)


def _value(base: Arg) -> Value:
    assert isinstance(base, Value)
    return base


def batch_call(scope: BatchedScope, op: Call) -> None:
    """Append a call, and set the replacement of its result."""
    args = (*op.args, *(a for _, a in op.kwargs))
    if not any(scope.tree(a) is not False for a in args):
        scope.builder.ops.append(op)
        return
    if scope.tree(op.result) is False:
        _ask(scope, op)
        return
    found = _batched(scope, op)
    scope.put(op.result, looped(scope, op) if found is None else found)


def _batched(scope: BatchedScope, op: Call) -> Atom | None:
    """Return the call with the axis; None where no way is known."""
    try:
        special = BATCHES.get(op.target)
    except TypeError:
        return None
    if special is not None:
        found = special(scope, op)
        return _by_formula(scope, op) if found is None else found
    if is_structure(op.target):
        return _build(scope, op)
    if is_elementwise(op.target):
        return _elementwise(scope, op)
    return _by_formula(scope, op)


def _ask(scope: BatchedScope, op: Call) -> None:
    """Make a call with the same result for every direction once, for the first one."""
    if is_shape(op.target) and isinstance(argument_type(op.args[0]), Numeric):
        whole = scope.builder.shape(scope.of(op.args[0]))
        rest = Display("slice", (Const(1), Const(None), Const(None)))
        scope.builder.call(operator.getitem, whole, rest, result=op.result)
        return
    if op.target is np.size and len(op.args) == 1 and rank(argument_type(op.args[0])):
        _ask_size(scope, op)
        return
    args = [_asked(scope, op, a) for a in op.args]
    kwargs = [(name, scope.of(a)) for name, a in op.kwargs]
    scope.builder.call(op.target, *args, kwargs=kwargs, result=op.result, effect=op.effect)


def _ask_size(scope: BatchedScope, op: Call) -> None:
    """Compute the size of one direction from the shape, which is known with no direction, too."""
    axes = rank(argument_type(op.args[0]))
    assert axes is not None
    whole = scope.builder.shape(scope.of(op.args[0]))
    found: Atom = Const(1)
    for k in range(1, axes + 1):
        result = op.result if k == axes else None
        if k == 1:
            found = scope.builder.call(operator.getitem, whole, Const(k), result=result)
        else:
            length = scope.builder.call(operator.getitem, whole, Const(k))
            found = scope.builder.call(operator.mul, found, length, result=result)


_OF_MEMORY = frozenset({runtime.check_distinct_objects, runtime.check_separate_memory})


def _measures(op: Call) -> bool:
    """Return True if a call asks for the shape of one of its operands."""
    return measures(op.target) or op.target is runtime.or_zeros


def _asked(scope: BatchedScope, op: Call, arg: Arg) -> Arg:
    """Return an operand of a call that is made once, as one direction has it if it is measured.

    A list has the same length in every direction.
    """
    if is_one_of(op.target, runtime.CHECKS) and not is_one_of(op.target, _OF_MEMORY):
        return _first(scope, arg)
    is_array = isinstance(argument_type(arg), Numeric) or argument_type(arg) == OPAQUE
    return _first(scope, arg) if _measures(op) and is_array else scope.of(arg)


def _first(scope: BatchedScope, arg: Arg) -> Arg:
    """Return an operand as it is in the first direction.

    A value of unknown type has the axis of the directions, as an array has.
    """
    tree = scope.tree(arg)
    if not isinstance(arg, Value) or tree is False:
        return scope.of(arg)
    found = scope.atom(arg)
    if isinstance(found, Const):
        return found
    return in_direction(scope, found, arg.type, tree, Const(0))


# ------------------------------------------------------------------------------- entry by entry
def _elementwise(scope: BatchedScope, op: Call) -> Atom | None:
    """All operands brought to one rank, in front of their axes that of the directions."""
    ranks = [rank(argument_type(a)) for a in op.args]
    if op.kwargs:
        return None
    args = _aligned(scope, op.args, ranks)
    if args is None:
        return None
    terms, found = in_fewer_products(scope, op)
    if found is None:
        found = scope.builder.call(op.target, *args)
    if terms and isinstance(found, Value):
        scope.shared.terms[found] = terms
    return found


def _aligned(
    scope: BatchedScope, args: tuple[Arg, ...], ranks: list[int | None]
) -> list[Arg] | None:
    """Return the operands so that NumPy broadcasts those of one direction with each other."""
    unknown = [k for k, r in enumerate(ranks) if r is None]
    alone = len(args) == 1 or all(r == 0 for k, r in enumerate(ranks) if k not in unknown[:1])
    if unknown:
        carries = scope.tree(args[unknown[0]]) is not False
        if not alone or len(unknown) > 1 or not carries:
            return None
        if any(scope.tree(a) is not False for k, a in enumerate(args) if k != unknown[0]):
            return None
        return [scope.of(a) for a in args]
    most = max(r for r in ranks if r is not None)
    pairs = zip(args, ranks, strict=True)
    return [
        scope.of(a) if scope.tree(a) is False else scope.reshaped(scope.of(a), r or 0, most)
        for a, r in pairs
    ]


# ------------------------------------------------------------------------------- formulas
def _by_formula(scope: BatchedScope, op: Call) -> Atom | None:
    """By the formula for the target, if the ranks of what has the axis are known."""
    formula: Any = formula_for(op.target)
    places = [(k, a) for k, a in arguments(op).items() if scope.tree(a) is not False]
    if isinstance(formula, Mapping):
        formula = formula.get(", ".join(_name_of(op, place) for place, _ in places))
    if formula is None or not all(_is_known(a) for _, a in places):
        return None
    args = [_all_wide(scope, a) for a in op.args]
    kwargs = {name: _all_wide(scope, a) for name, a in op.kwargs}
    start = len(scope.builder.ops)
    try:
        found = scope.shared.inline(scope.builder, formula, args, kwargs)
    except (AlwaysRaisesError, SrcadError):
        found = None
    if isinstance(found, Value) and _fits(scope, op, found):
        return found
    del scope.builder.ops[start:]
    return None


def _all_wide(scope: BatchedScope, arg: Arg) -> Arg:
    """Return an argument for a formula: of a sequence all items have the axis, or none."""
    tree = scope.tree(arg)
    if tree is False or not isinstance(arg, Display):
        return scope.of(arg)
    return scope.full(arg, carrying(argument_type(arg)))


def _fits(scope: BatchedScope, op: Call, found: Value) -> bool:
    """Return True if the result of a formula has as many axes as it must have."""
    wanted = rank(scope.wide(op.result.type))
    if isinstance(op.result.type, Numeric) and not isinstance(found.type, Numeric):
        return False
    return wanted is None or rank(found.type) in (None, wanted)


def _name_of(op: Call, place: int | str) -> str:
    """Return the parameter that takes the argument at a place."""
    rule = rule_of(op.target)
    if isinstance(place, str) or rule is None:
        return str(place)
    return rule.parameters[place] if place < len(rule.parameters) else ""


def _is_known(arg: Arg) -> bool:
    """Return True if the ranks of all arrays in an argument are known."""
    if isinstance(arg, Display):
        return all(map(_is_known, arg.items))
    type_ = argument_type(arg)
    if isinstance(type_, ListOf):
        type_ = type_.item
    return isinstance(type_, Numeric) and type_.shape is not None


def _build(scope: BatchedScope, op: Call) -> Atom | None:
    """Return a structure of parts with and without the axis."""
    parts = [scope.of(part) for part in built_parts(op)]
    args = (*op.args[: len(op.args) - len(parts)], *parts)
    wide = scope.wide(op.result.type, scope.tree(op.result))
    return scope.builder.call(op.target, *args, type=wide)
