"""The modes, by name."""

from __future__ import annotations

from srcad.modes.mode import Mode
from srcad.startup.registry import Registry

MODES: Registry[Mode] = Registry(
    "mode",
    "MODE",
    {
        "grad": "srcad.modes.reverse:GRAD",
        "value_and_grad": "srcad.modes.reverse:VALUE_AND_GRAD",
        "elementwise_grad": "srcad.modes.reverse:ELEMENTWISE_GRAD",
        "pullback": "srcad.modes.pullback",
        "jvp": "srcad.modes.jvp",
        "hvp": "srcad.modes.hvp",
        "trace_table": "srcad.modes.trace_table",
        "jacobian": "srcad.modes.jacobian",
        "jacfwd": "srcad.modes.jacfwd",
        "jacrev": "srcad.modes.jacrev",
        "hessian": "srcad.modes.hessian",
        "tangents": "srcad.modes.products:TANGENTS",
        "products": "srcad.modes.products:PRODUCTS",
        "sparse_jacobian": "srcad.modes.sparse:JACOBIAN",
        "sparse_hessian": "srcad.modes.sparse:HESSIAN",
        "sparsity": "srcad.modes.sparse:PATTERN",
    },
)
