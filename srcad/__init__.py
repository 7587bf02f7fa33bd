"""Differentiate plain NumPy Python by rewriting its source.

>>> import srcad
>>> srcad.grad(lambda x: 3 * x**2 + 2 * x + 1)(2.0)
14.0
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from srcad.startup.locks import importing

if TYPE_CHECKING:
    from srcad import errors, rules, testing
    from srcad.api.checkpoints import checkpoint, checkpointed_range
    from srcad.api.gradients import differentiate, elementwise_grad, grad, gradient, value_and_grad
    from srcad.api.jacobians import hessian, hvp, jacfwd, jacobian, jacrev, sparsity
    from srcad.api.looking import inspect, trace_table
    from srcad.api.marks import cotangent, hook, stop_gradient
    from srcad.api.products import jvp, pullback, vjp
    from srcad.arguments.options import Numba
    from srcad.errors import BackendWarning, SolverWarning

__version__ = "0.1.0"

__all__ = [
    "BackendWarning",
    "Numba",
    "SolverWarning",
    "checkpoint",
    "checkpointed_range",
    "cotangent",
    "differentiate",
    "elementwise_grad",
    "errors",
    "grad",
    "gradient",
    "hessian",
    "hook",
    "hvp",
    "inspect",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "pullback",
    "rules",
    "sparsity",
    "stop_gradient",
    "testing",
    "trace_table",
    "value_and_grad",
    "vjp",
]

_HOMES = {
    "BackendWarning": "srcad.errors",
    "Numba": "srcad.arguments.options",
    "SolverWarning": "srcad.errors",
    "checkpoint": "srcad.api.checkpoints",
    "checkpointed_range": "srcad.api.checkpoints",
    "cotangent": "srcad.api.marks",
    "differentiate": "srcad.api.gradients",
    "elementwise_grad": "srcad.api.gradients",
    "grad": "srcad.api.gradients",
    "gradient": "srcad.api.gradients",
    "hessian": "srcad.api.jacobians",
    "hook": "srcad.api.marks",
    "hvp": "srcad.api.jacobians",
    "inspect": "srcad.api.looking",
    "jacfwd": "srcad.api.jacobians",
    "jacobian": "srcad.api.jacobians",
    "jacrev": "srcad.api.jacobians",
    "jvp": "srcad.api.products",
    "pullback": "srcad.api.products",
    "sparsity": "srcad.api.jacobians",
    "stop_gradient": "srcad.api.marks",
    "trace_table": "srcad.api.looking",
    "value_and_grad": "srcad.api.gradients",
    "vjp": "srcad.api.products",
}


if not TYPE_CHECKING:  # a type checker knows the names that are imported above, and no others

    def __getattr__(name: str) -> Any:
        """Load the compiler when the first of its names is used."""
        if name not in __all__:
            elsewhere = importlib.import_module("srcad.startup.names_elsewhere")
            message = elsewhere.without_attribute(name)
            raise AttributeError(message, name=name, obj=sys.modules[__name__])
        home = _HOMES.get(name)
        with importing:
            if home is None:
                return importlib.import_module(f"srcad.{name}")
            found = globals()[name] = getattr(importlib.import_module(home), name)
        return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
