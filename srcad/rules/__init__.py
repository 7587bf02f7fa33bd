"""The table of derivative rules: plain formulas, one file per topic; it knows no compiler.

The files for NumPy and `math` are imported here; those for SciPy when one of its functions is first
met, as srcad does not import SciPy itself.

`derivative`, `linear`, `bilinear`, `adjoint`, `tangent` and `nondifferentiable` add rows, also for
functions of one's own; they are seen from the next call on.  `declare` says how a rule reads.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from srcad.errors import RuleError
from srcad.rules import (  # noqa: F401 - each registers its rules
    arithmetic,
    casting,
    cmath,
    constant,
    convolution,
    covariance,
    einsum,
    elementwise,
    fft,
    histograms,
    indexing,
    joining,
    linalg,
    norm,
    ordering,
    padding,
    polynomials,
    product,
    quantiles,
    reduction,
    running,
    scalar,
    shape,
    slopes,
    ufunc_methods,
    unruled,
)
from srcad.rules.declare import adjoint, bilinear, derivative, linear, nondifferentiable, tangent
from srcad.rules.equations import implicit
from srcad.rules.formulas import applied, spelling
from srcad.rules.functions import ActiveFunction
from srcad.rules.registry import add_file, is_static, lookup, qualified_name, rows, static, version
from srcad.rules.row import NO_PARTIAL, NoPartial, Rule

__all__ = [
    "NO_PARTIAL",
    "ActiveFunction",
    "NoPartial",
    "Rule",
    "adjoint",
    "bilinear",
    "derivative",
    "implicit",
    "is_static",
    "linear",
    "lookup",
    "nondifferentiable",
    "rows",
    "rule_for",
    "rule_source",
    "static",
    "tangent",
    "version",
]

add_file("numpy.polynomial", f"{__name__}.bases")
add_file("scipy.fft", f"{__name__}.scipy.fourier")
add_file("scipy.integrate")
add_file("scipy.linalg")
add_file("scipy.optimize")
add_file("scipy.spatial.distance", f"{__name__}.scipy.spatial")
add_file("scipy.spatial.transform", f"{__name__}.scipy.rotations")
add_file("scipy.special", needed_by=(math.gamma, math.lgamma, np.i0))
add_file("scipy.stats")


def rule_for(target: Any) -> Rule:
    """Return the row of a function.

    Parameters
    ----------
    target : callable
        The function.

    Returns
    -------
    Rule
        Its row.

    Raises
    ------
    RuleError
        If there is none.

    Examples
    --------
    >>> import numpy as np
    >>> row = rule_for(np.add)
    >>> row.kind, row.partials
    ('derivative', ('1', '1'))
    """
    rule = lookup(target)
    if rule is None:
        raise RuleError(f"no derivative rule for {qualified_name(target)}")
    return rule


def rule_source(target: Any, *operands: str) -> str | tuple[str, ...]:
    """Apply a rule symbolically: its formulas, with expressions put for the parameters.

    Parameters
    ----------
    target : callable
        A function whose rule is of kind ``derivative``.
    *operands : str
        One expression per argument.

    Returns
    -------
    str or tuple of str
        The partial derivative; a tuple for a function of several arguments.

    Raises
    ------
    RuleError
        If the rule is of another kind, or is not a single formula.

    Examples
    --------
    >>> import numpy as np
    >>> rule_source(np.sin, "x*y**2")
    'np.cos(x * y ** 2)'
    """
    rule = rule_for(target)
    if rule.kind != "derivative" or rule.function is None:
        raise RuleError(f"{qualified_name(target)} has no partials: its rule is {rule.kind!r}")
    call = f"{spelling(target)}({', '.join(operands)})"
    formulas = applied(rule.function, call, operands)
    return formulas[0] if rule.single else formulas
