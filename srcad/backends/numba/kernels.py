"""Compiling the text of loops with Numba."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np

from srcad.backends.numba import functions
from srcad.backends.numba.deopt import Deopt
from srcad.backends.numba.lowering import Parameter


@numba.njit
def grown(storage: Any) -> Any:
    """Return a longer copy of a list that is full."""
    longer = np.empty((2 * storage.shape[0], *storage.shape[1:]), storage.dtype)
    longer[: storage.shape[0]] = storage
    return longer


@numba.njit(forceinline=True)
def square(x: Any) -> Any:
    """Return ``x * x``."""
    return x * x


LINEAR = ("cholesky", "solve", "solve_lower", "inverse", "lower_inverse", "determinant")


def compiled(
    text: str, name: str, parameters: Sequence[Parameter], folder: str | None = None
) -> Callable[..., Any]:
    """Return the compiled function of a text, for parameters of these types."""
    space = {key: value for key, value in vars(functions).items() if not key.startswith("_")}
    if any(f"{name}(" in text for name in LINEAR):
        from srcad.backends.numba import lapack

        space.update((name, getattr(lapack, name)) for name in LINEAR)
    space.update(np=np, numba=numba, math=__import__("math"), Deopt=Deopt, grown=grown,
                 square=square)  # fmt: skip
    exec(compile(text, f"<srcad numba {name}>", "exec"), space)
    signature = tuple(_numba_type(p) for p in parameters)
    return numba.njit(signature, error_model="numpy")(space[name])  # type: ignore[no-any-return]


def _numba_type(parameter: Parameter) -> Any:
    dtype = numba.from_dtype(parameter.type.dtype)
    if parameter.type.shape == ():
        return dtype
    return numba.types.Array(dtype, len(parameter.type.shape or ()), "C")
