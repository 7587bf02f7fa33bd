"""Options of NumPy functions that determine the type of the result."""

from __future__ import annotations

import inspect
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
from srcad.types.structures import Opaque

_DECIDING: dict[Any, tuple[str, ...]] = {
    np.linalg.svd: ("full_matrices", "compute_uv"),
    np.linalg.qr: ("mode",),
    np.average: ("returned",),
    np.gradient: ("axis",),
    np.linspace: ("retstep",),
    np.meshgrid: ("indexing",),
    np.unique: ("return_index", "return_inverse", "return_counts", "axis"),
}


# The same of `scipy.linalg`, by module and name, with the places of options that have one.
_DECIDING_OF_SCIPY: dict[tuple[str, str], dict[str, int | None]] = {
    ("_decomp_svd", "svd"): {"full_matrices": 1, "compute_uv": 2},
    ("_decomp_qr", "qr"): {"mode": 3, "pivoting": 4},
    ("_decomp_lu", "lu"): {"permute_l": 1, "p_indices": 4},
    ("_decomp", "eigh"): {"eigvals_only": None},
    ("_decomp", "eig_banded"): {"eigvals_only": 2},
    ("_basic", "pinv"): {"return_rank": None},
    ("_basic", "pinvh"): {"return_rank": 4},
    ("_expm_frechet", "expm_frechet"): {"compute_expm": 3},
}


def _require_static(function: Any) -> None:
    """Have the options known that decide what a function returns."""
    names = tuple(inspect.signature(function).parameters)

    @means(function)
    def special(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        if state.is_active(*args, *kwargs.values()):
            given = (
                kwargs
                if {"xi", "varargs"} & {*names}
                else {**dict(zip(names, args, strict=False)), **kwargs}
            )
            for name in _DECIDING[function]:
                known(state, given.get(name, Constant(None)), f"the option {name!r}")
        return None


def _require_static_of_scipy(module: str, name: str, options: dict[str, int | None]) -> None:
    """Have the options known that decide what a function of SciPy returns."""

    @means_in(f"scipy.linalg.{module}", name)
    def special(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        if state.is_active(*args, *kwargs.values()):
            for option, place in options.items():
                given = kwargs.get(option, Constant(None))
                if place is not None and place < len(args):
                    given = args[place]
                known(state, given, f"the option {option!r}")
        return None


for _function in _DECIDING:
    _require_static(_function)
for (_module, _name), _options in _DECIDING_OF_SCIPY.items():
    _require_static_of_scipy(_module, _name, _options)


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
