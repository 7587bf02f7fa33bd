"""The modes, by name."""

from __future__ import annotations

from srcad.modes.mode import Mode
from srcad.startup.registry import Registry

MODES: Registry[Mode] = Registry(
    "mode",
    "MODE",
    {
        "grad": "srcad.modes.grad",
        "value_and_grad": "srcad.modes.value_and_grad",
        "elementwise_grad": "srcad.modes.elementwise_grad",
        "pullback": "srcad.modes.pullback",
        "jvp": "srcad.modes.jvp",
        "hvp": "srcad.modes.hvp",
        "trace_table": "srcad.modes.trace_table",
        "jacobian": "srcad.modes.jacobian",
        "jacfwd": "srcad.modes.jacfwd",
        "jacrev": "srcad.modes.jacrev",
        "hessian": "srcad.modes.hessian",
        "tangents": "srcad.modes.tangents",
        "products": "srcad.modes.products",
        "sparse_jacobian": "srcad.modes.sparse_jacobian",
        "sparse_hessian": "srcad.modes.sparse_hessian",
        "sparsity": "srcad.modes.sparsity",
    },
)
