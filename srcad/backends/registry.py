"""The backends: what generated code runs on, by name.

The first one covers every function, and stands in for the others where they do not.
"""

from __future__ import annotations

from srcad.backends.interface import Backend
from srcad.startup.registry import Registry

BACKENDS: Registry[Backend] = Registry(
    "backend", "BACKEND", {"numpy": "srcad.backends.python.backend", "numba": "srcad.backends.numba.backend"}
)
