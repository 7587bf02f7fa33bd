"""Queries of rules that serve real and complex numbers."""

from __future__ import annotations

import numpy as np

from srcad.frontend.domain.values import AbstractValue, Constant
from srcad.frontend.machine.dispatch import Args, Kwargs, means
from srcad.frontend.machine.machine import Machine
from srcad.ir.core import Value
from srcad.rules.conjugates import conj, may_be_complex
from srcad.types.numeric import Numeric


@means(may_be_complex)
def may_be_complex_(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``may_be_complex(x)``: known at compile time, and assumed where no dtype tells."""
    return Constant(_may_be_complex(s, args[0]))


@means(conj)
def conj_(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``conj(x)``: `x` itself, and nothing written, where it is real."""
    (box,) = args
    if not _may_be_complex(s, box):
        return box
    if isinstance(box, Constant):
        return Constant(np.conjugate(box.value))
    return s.box(s.emit(np.conjugate, box))


def _may_be_complex(s: Machine, box: AbstractValue) -> bool:
    if isinstance(box, Constant):
        return np.iscomplexobj(box.value)
    if not isinstance(box, Value) or not isinstance(box.type, Numeric):
        return not s.all_real
    return box.type.kind == "c" or (box.type.kind == "?" and not s.all_real)
