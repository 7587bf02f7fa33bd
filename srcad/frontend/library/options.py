"""Options of NumPy functions that determine the type of the result."""

from __future__ import annotations

import string
import sys
from typing import Any, NoReturn

import numpy as np

from srcad import errors
from srcad.frontend.domain.values import AbstractValue, Constant, ListValue, TupleValue
from srcad.frontend.machine.constants import known
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, means, means_in
from srcad.frontend.machine.machine import Machine
from srcad.ir.core import Value
from srcad.rules.row import Rule
from srcad.types.numeric import Numeric
from srcad.types.structures import Opaque


def require_known(state: Machine, rule: Rule, args: Args, kwargs: Kwargs) -> None:
    """Require static values of the options that determine the number or shape of results.

    Raises
    ------
    NotConstant
        An option is dynamic.
    """
    given = {**dict(zip(rule.parameters, args, strict=False)), **kwargs}
    for name in rule.result.options if rule.result is not None else ():
        known(state, given.get(name, Constant(None)), f"the option {name!r}")


@means_in("scipy.linalg._decomp_cholesky", "cho_factor")
def cho_factor(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``scipy.linalg.cho_factor``: its second result is the option `lower`.

    The pair as a whole is SciPy's, which may hold the option as an array.
    """
    lower = args[1] if len(args) > 1 else kwargs.get("lower", Constant(False))
    if not isinstance(lower, Constant) or not state.is_active(*args, *kwargs.values()):
        return None
    function = sys.modules["scipy.linalg._decomp_cholesky"].cho_factor
    pair = state.emit(function, *args, kwargs=kwargs)
    factor = state.box(state.item(pair, 0, hint="factor"))
    return TupleValue((factor, lower), source=pair)


@means_in("scipy.linalg._decomp_cholesky", "cho_solve")
def cho_solve(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``scipy.linalg.cho_solve``: its rule is told the option `lower` of `cho_factor`."""
    pair = args[0] if args else kwargs.get("c_and_lower")
    if not isinstance(pair, TupleValue) or pair.source is None:
        return None
    if len(pair.items) != 2 or not isinstance(pair.items[1], Constant):
        return None
    function = Constant(sys.modules["scipy.linalg._decomp_cholesky"].cho_solve)
    pair = TupleValue(pair.items)
    if args:
        return apply(state, function, (pair, *args[1:]), kwargs)
    return apply(state, function, args, {**kwargs, "c_and_lower": pair})


@means(np.average)
def average(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Call ``np.average`` with ``returned=True``: the reverse pass reads the sum of weights."""
    weights = args[2] if len(args) > 2 else kwargs.get("weights")
    are_given = isinstance(weights, Value) and isinstance(weights.type, Numeric)
    if not are_given or len(args) > 3 or "returned" in kwargs:
        return None
    if not state.is_active(*args, *kwargs.values()):
        return None
    pair = apply(state, Constant(np.average), args, {**kwargs, "returned": Constant(True)})
    return pair.items[0] if isinstance(pair, TupleValue) else None


@means(np.einsum)
def einsum(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``np.einsum``: its subscripts are known, and a text."""
    if not args or not state.is_active(*args, *kwargs.values()):
        return None
    first = args[0]
    if isinstance(first, Constant) and isinstance(first.value, str):
        return None
    if len(args) < 2 or (isinstance(first, Value) and isinstance(first.type, Opaque)):
        _refuse_subscripts(state)
    pairs = len(args) // 2
    labels = [_labels(state, box) for box in args[1 : 2 * pairs : 2]]
    output = _labels(state, args[-1]) if len(args) % 2 else None
    text = _text(labels, output)
    return apply(state, Constant(np.einsum), (Constant(text), *args[: 2 * pairs : 2]), kwargs)


def _labels(state: Machine, box: AbstractValue) -> tuple[Any, ...]:
    """Return the axes of one operand, as numbers and an ellipsis."""
    if not isinstance(box, ListValue | TupleValue):
        _refuse_subscripts(state)
    found = tuple(known(state, item, "a subscript of np.einsum") for item in box.items)
    if not all(label is Ellipsis or label in range(len(string.ascii_letters)) for label in found):
        _refuse_subscripts(state)
    return found


def _text(labels: list[tuple[Any, ...]], output: tuple[Any, ...] | None) -> str:
    """Subscripts as text; letters sort as the numbers do, for a result that is not spelled out."""
    numbers = {n for term in (*labels, output or ()) for n in term if n is not Ellipsis}
    few = all(n < len(string.ascii_lowercase) for n in numbers)
    letters = string.ascii_lowercase if few else string.ascii_uppercase + string.ascii_lowercase

    def term(numbers: tuple[Any, ...]) -> str:
        return "".join("..." if n is Ellipsis else letters[n] for n in numbers)

    text = ",".join(map(term, labels))
    return text if output is None else f"{text}->{term(output)}"


def _refuse_subscripts(state: Machine) -> NoReturn:
    state.refuse(
        errors.UnsupportedSyntaxError,
        "the subscripts of np.einsum are not known before the call",
        why="the derivative is compiled for one value of them.",
        help=("write them as a text, or pass that text as an argument of its own",),
    )
