"""Methods of ufuncs, as ``np.add.reduce``, and ``np.multiply(x, y, dtype=...)``.

What has a function of its own in NumPy is read as that: ``np.add.reduce`` is ``np.sum``.  A few
have rules (`srcad.rules.ufunc_methods`); the others are in Python, in `prelude.ufunc_methods`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcad import errors
from srcad.frontend.domain.predicates import is_nondifferentiable
from srcad.frontend.domain.values import AbstractValue, Constant
from srcad.frontend.machine.dispatch import Args, Kwargs, apply, means_object
from srcad.frontend.machine.machine import Machine
from srcad.frontend.prelude import ufunc_methods
from srcad.ir.core import Value
from srcad.rules.formulas import spelling
from srcad.rules.registry import lookup, row_of
from srcad.startup.identifiers import ufunc_of
from srcad.types.numeric import Numeric, same_dtype

_NAMES = {
    "reduce": ("array", "axis", "dtype", "out", "keepdims", "initial", "where"),
    "accumulate": ("array", "axis", "dtype", "out"),
    "reduceat": ("array", "indices", "axis", "dtype", "out"),
    "outer": ("A", "B"),
}
_USUAL = {"dtype": None, "out": None, "keepdims": False, "where": True}
_IN_PYTHON = {
    "reduce": ufunc_methods.reduced,
    "accumulate": ufunc_methods.accumulated,
    "reduceat": ufunc_methods.reduced_at,
}
_REAL_AND_COMPLEX = "fdFD"


@means_object
def method_of_ufunc(
    state: Machine, callee: Constant, args: Args, kwargs: Kwargs
) -> AbstractValue | None:
    """Call a method of a ufunc that has a rule, if a derivative flows through the call."""
    method = callee.value
    ufunc = ufunc_of(method)
    if ufunc is None:
        return None
    if not state.is_active(*args, *kwargs.values()) or lookup(method) is not None:
        return None
    if lookup(ufunc) is None or is_nondifferentiable(ufunc) or ufunc.signature is not None:
        return None
    name = method.__name__
    given = {**dict(zip(_NAMES[name], args, strict=False)), **kwargs}
    given = {key: box for key, box in given.items() if not _is_usual(key, box)}
    if name == "outer":
        return _outer(state, ufunc, given)
    if not {*given} <= {*_NAMES[name]} or "array" not in given or "out" in given:
        return None
    if name != "reduceat":
        given.setdefault("axis", Constant(0))
    return _along_axis(state, method, ufunc, given)


def _is_usual(name: str, box: AbstractValue) -> bool:
    return isinstance(box, Constant) and name in _USUAL and box.value is _USUAL[name]


def _outer(state: Machine, ufunc: np.ufunc, given: Kwargs) -> AbstractValue | None:
    if {*given} - {"dtype"} != {"A", "B"}:
        return None
    pair: Args = (given["A"], given["B"])
    if "dtype" in given:
        converted = _converted(state, ufunc, pair, given["dtype"])
        if converted is None:
            return None
        pair = converted
    return apply(state, Constant(ufunc_methods.outer), (Constant(ufunc), *pair), {})


def _along_axis(
    state: Machine, method: Any, ufunc: np.ufunc, given: dict[str, AbstractValue]
) -> AbstractValue:
    initial = given.get("initial")
    if isinstance(initial, Constant) and initial.value is None:
        if row_of(ufunc).law in ("sum", "product"):
            _refuse(
                state, method, "it adds in another order without an initial value.",
                "leave initial=None out",
            )  # fmt: skip
        del given["initial"]
    same = _function_of(ufunc, method)
    if row_of(same).nan == "left out" and {"where", "initial"} & {*given}:
        _refuse(state, method, "with 'where' or 'initial' it has no rule.", "use np.where before")
    loop = f"write the loop:  for v in x: result = {spelling(ufunc)}(result, v)"
    if same is None and row_of(ufunc).rounds == "by processor":
        why = "its results depend on the processor, and may differ from those of pairs of arrays."
        _refuse(state, method, why, loop)
    if same is None and ufunc.identity is not None and not _starts_with_first(method, ufunc):
        why = f"it begins with {ufunc.identity!r}, or in another way, which has no rule."
        _refuse(state, method, why, loop)
    if same is None and "where" in given:
        _refuse(state, method, "with 'where' it has no rule.", "select the entries before")
    array = given.pop("array")
    if "dtype" in given and same not in (np.sum, np.prod, np.cumsum, np.cumprod):
        array = state.emit(np.asarray, array, kwargs={"dtype": given.pop("dtype")})
    if same is not None:
        if _is_first_of_one(array, given.get("axis")) and method.__name__ == "reduce":
            del given["axis"]
        return apply(state, Constant(same), (array,), given)
    function = _IN_PYTHON[method.__name__]
    array = _in_dtype_of_results(state, ufunc, array)
    return apply(state, Constant(function), (Constant(ufunc), array), given)


def _function_of(ufunc: np.ufunc, method: Any) -> Any:
    """Return the function that does the same as a method; or None."""
    row = row_of(ufunc)
    return {"reduce": row.reduce, "accumulate": row.accumulate}.get(method.__name__)


def _in_dtype_of_results(state: Machine, ufunc: np.ufunc, array: AbstractValue) -> AbstractValue:
    """Return an array converted as NumPy does before a reduction: also where nothing is combined.

    The quotient of integers is a float, and so is the first of them.
    """
    type_ = array.type if isinstance(array, Value) else None
    given = type_.dtype if isinstance(type_, Numeric) and type_.form == "array" else None
    if given is None or given.kind not in "biu":
        return array
    wanted = ufunc.resolve_dtypes((given, given, None))[0]
    if same_dtype(given, wanted):
        return array
    return state.emit(np.astype, array, Constant(wanted))


def _is_first_of_one(array: AbstractValue, axis: AbstractValue | None) -> bool:
    """Return True if the axis is the only one of an array."""
    type_ = array.type if isinstance(array, Value) else None
    shape = type_.shape if isinstance(type_, Numeric) else None
    first = isinstance(axis, Constant) and type(axis.value) is int and axis.value in (0, -1)
    return first and shape is not None and len(shape) == 1


def _starts_with_first(method: Any, ufunc: np.ufunc) -> bool:
    """Return True if a method of a ufunc with an identity begins with the first entry."""
    if method.__name__ == "accumulate":
        return True
    return method.__name__ == "reduceat" and ufunc in (np.multiply, np.logaddexp, np.logaddexp2)


def _refuse(state: Machine, method: Any, why: str, instead: str) -> None:
    state.refuse(
        errors.UnsupportedSyntaxError,
        f"cannot differentiate this call of {spelling(method)!r}",
        why=why,
        help=(instead,),
    )


@means_object
def with_dtype(
    state: Machine, callee: Constant, args: Args, kwargs: Kwargs
) -> AbstractValue | None:
    """``np.multiply(x, y, dtype=np.float64)``: the operands are converted first."""
    ufunc = callee.value
    if not isinstance(ufunc, np.ufunc) or "dtype" not in kwargs or not state.is_active(*args):
        return None
    rest = dict(kwargs)
    dtype = rest.pop("dtype")
    if isinstance(dtype, Constant) and dtype.value is None:
        return apply(state, callee, args, rest)
    converted = _converted(state, ufunc, args, dtype)
    return None if converted is None else apply(state, callee, converted, rest)


def _converted(
    state: Machine, ufunc: np.ufunc, operands: Args, dtype: AbstractValue
) -> Args | None:
    """Return the operands of the dtype in which a ufunc computes; None where it is another one."""
    try:
        wanted = np.dtype(dtype.value) if isinstance(dtype, Constant) else None
    except TypeError:
        return None
    if wanted is None or wanted.char not in _REAL_AND_COMPLEX:
        return None
    if f"{wanted.char * ufunc.nin}->{wanted.char * ufunc.nout}" not in ufunc.types:
        return None
    kinds = [getattr(getattr(box, "type", None), "kind", "") for box in operands]
    if wanted.kind == "f" and "c" in kinds:
        return None
    convert = [not _is_of(box, wanted) for box in operands]
    weak = [_is_float(box) for box in operands]  # NumPy converts it to the dtype of the others
    if all(weak):
        weak = [False] * len(operands)
    return tuple(
        state.emit(np.asarray, box, kwargs={"dtype": dtype}) if needed and not keeps else box
        for box, needed, keeps in zip(operands, convert, weak, strict=True)
    )


def _is_of(box: AbstractValue, dtype: np.dtype[Any]) -> bool:
    """Return True if an operand is certainly an array of a dtype, or a number of NumPy's of it."""
    type_ = box.type if isinstance(box, Value) else None
    return isinstance(type_, Numeric) and type_.form in ("array", "numpy") and type_.dtype == dtype


def _is_float(box: AbstractValue) -> bool:
    return isinstance(box, Constant) and type(box.value) is float
