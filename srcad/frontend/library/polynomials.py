"""Polynomial objects of NumPy; `prelude.polynomials` has them in Python.

`numpy.polynomial` is not imported before it is used.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from srcad import errors
from srcad.frontend.domain.values import AbstractValue, Constant, MethodValue, RecordValue
from srcad.frontend.machine.dispatch import (
    Args,
    Kwargs,
    apply,
    attribute,
    has_stand_in,
    means_in,
    stands_in,
)
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.construction import construct
from srcad.ir.core import Value
from srcad.types.structures import Opaque

_PRELUDE = "srcad.frontend.prelude.polynomials"
_CLASSES = {
    "numpy": "poly1d",
    "numpy.polynomial.polynomial": "Polynomial",
    "numpy.polynomial.chebyshev": "Chebyshev",
    "numpy.polynomial.legendre": "Legendre",
    "numpy.polynomial.hermite": "Hermite",
    "numpy.polynomial.hermite_e": "HermiteE",
    "numpy.polynomial.laguerre": "Laguerre",
}
_SERIES = ("full", "domain", "window", "symbol", "kept")
_METHODS = (
    "__call__", "copy", "degree", "truncate", "cutdeg", "trim", "mapparms", "integ", "deriv",
    "linspace", "roots",
)  # fmt: skip


def _in_prelude(name: str) -> Any:
    return getattr(importlib.import_module(_PRELUDE), name)


def _is_read(state: Machine, args: Args, kwargs: Kwargs) -> bool:
    """Return True if the call or its result is active."""
    if state.is_active(*args, *kwargs.values()) or state.inactive.are_read:
        return True
    state.inactive.left = True
    return False


def _register_class(module: str, name: str, written: str) -> None:
    @means_in(_PRELUDE, written)
    def made(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        return construct(state, _in_prelude(written), None, args, kwargs)

    @means_in(module, name)
    def read(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        return made(state, args, kwargs) if _is_read(state, args, kwargs) else None


def _register_function(module: str, name: str) -> None:
    @means_in(module, name)
    def read(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        if not _is_read(state, args, kwargs):
            return None
        return apply(state, Constant(_in_prelude(name)), args, kwargs)


def _register_method(module: str, cls: str, name: str) -> None:
    @means_in(module, f"{cls}.{name}")
    def read(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
        own = stood_in(state, args[0]) if _is_read(state, args, kwargs) else None
        if own is None:
            return None
        return apply(state, attribute(state, own, name), args[1:], kwargs)


for _module, _name in _CLASSES.items():
    _register_class(_module, _name, _name[0].upper() + _name[1:])
for _name in ("mapdomain", "mapparms"):
    _register_function("numpy.polynomial.polyutils", _name)
for _name in _METHODS:
    _register_method("numpy.polynomial._polybase", "ABCPolyBase", _name)
for _name in ("__call__", "integ", "deriv"):
    _register_method("numpy", "poly1d", _name)


@means_in(_PRELUDE, "made_like")
def made_like(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Return an object with other coefficients."""
    series, full, kept = args
    assert isinstance(series, RecordValue)
    others = {"full": full, "kept": kept}
    parts = zip(series.keys, series.items, strict=True)
    return RecordValue(series.cls, series.keys, tuple(others.get(k, part) for k, part in parts))


@means_in(_PRELUDE, "stood_in")
def beside_polynomial(state: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """Return the stand-in of an operand."""
    (box,) = args
    if isinstance(box, Value) and isinstance(box.type, Opaque):
        state.refuse(
            errors.UnsupportedTypeError,
            "cannot differentiate through an operation of a polynomial with an unknown object",
            why="the operand is made at the call, and its coefficients are known there only.",
            help=("pass its coefficients:  q.coef",),
        )
    return stood_in(state, box) or box


def stood_in(state: Machine, box: AbstractValue) -> AbstractValue | None:
    """Return the stand-in of a captured object."""
    if not isinstance(box, Constant) or not has_stand_in(type(box.value)):
        return None
    return _standing_in(state, box)


def _standing_in(state: Machine, box: Constant) -> RecordValue:
    cls = type(box.value)
    if box.path is not None:
        state.guard(box.path, "class", cls)
    if cls.__name__ == "poly1d":
        coeffs = attribute(state, box, "coeffs")
        if isinstance(coeffs, MethodValue):
            coeffs = apply(state, coeffs, (), {})
        parts = (coeffs, attribute(state, box, "_variable"))
        return RecordValue(_in_prelude("Poly1d"), ("full", "variable"), parts)
    read = tuple(attribute(state, box, name) for name in ("coef", "domain", "window", "_symbol"))
    return RecordValue(_in_prelude(cls.__name__), _SERIES, (*read, Constant(sys.maxsize)))


for _module, _name in _CLASSES.items():
    stands_in(_module, _name)(_standing_in)
