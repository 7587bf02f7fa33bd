"""Conjugates, in rules that serve real numbers too: of those nothing is written.

The gradient of a real number by a complex one is ``df/dRe + i df/dIm``, and the inner product of
two cotangents is ``Re(conj(u) * v)``.  So a cotangent goes back by the conjugate of what a tangent
goes forward by: ``x_bar = y_bar * conj(partial)``.
"""

from typing import Any

import numpy as np

from srcad.rules.row import NoPartial

# Of numbers that are not ordered.
ORDER = NoPartial("NumPy orders complex numbers by their real part, then by the imaginary one")

PARTS = NoPartial("the parts of a complex number are taken one by one: use .real and .imag")


REAL_ONLY = NoPartial("its rule is for real numbers, not for complex ones")


def may_be_complex(x: Any) -> bool:
    """Return True if numbers are complex, or may be as far as is known before the call."""
    return np.iscomplexobj(x)


def conj(x: Any) -> Any:
    """The conjugate; `x` itself if it is real."""
    return np.conjugate(x) if np.iscomplexobj(x) else x


def real_part(x: Any) -> Any:
    """The real part; `x` itself if it is real."""
    return np.real(x) if may_be_complex(x) else x
