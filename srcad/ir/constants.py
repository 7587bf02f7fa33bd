"""When two constants are the same, and the conjugate of one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def same_constant(a: Any, b: Any) -> bool:
    """Return True if two values are the same constant.

    Objects of other classes only by identity.
    """
    kind = type(a)
    if a is b or kind is not type(b):
        return a is b
    if kind in (str, bytes, int) or isinstance(a, np.dtype):
        return bool(a == b)
    if kind in (float, complex) or isinstance(a, np.number | np.bool):
        return repr(a) == repr(b)  # 0.0 is not -0.0, and nan is nan
    if kind is tuple:
        return len(a) == len(b) and all(map(same_constant, a, b))
    if kind in (slice, range):
        return same_constant((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    return False


def conjugate(value: Any) -> Any:
    """Return the conjugate of a complex number.

    The real part of an imaginary one has the sign of -1j.
    """
    imaginary = -value.imag
    return type(value)(complex(value.real or math.copysign(0.0, imaginary), imaginary))
