"""The backends: what generated code runs on, by name.

The first one covers every function, and stands in for the others where they do not.
"""

from __future__ import annotations

from srcad.arguments.options import Numba
from srcad.backends.interface import Backend
from srcad.startup.registry import Registry

BACKENDS: Registry[Backend] = Registry(
    "backend",
    "BACKEND",
    {
        "numpy": "srcad.backends.python.backend",
        "numba": "srcad.backends.numba.backend",
        "auto": "srcad.backends.numba.backend:AUTO",
    },
)


def backend_of(asked: str | Numba) -> Backend:
    """Return the backend of a name, or the compiled one with some options."""
    if isinstance(asked, str):
        return BACKENDS[asked]
    compiled = BACKENDS["numba"]
    assert compiled.configure is not None
    return compiled.configure(asked)
