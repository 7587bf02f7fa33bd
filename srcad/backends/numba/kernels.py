"""Compiling the text of loops with Numba."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np

from srcad.backends.numba import functions
from srcad.backends.numba.lowering import Parameter


class Deopt(Exception):  # noqa: N818 - no error: the NumPy text is run
    """The compiled form does not serve these arguments."""


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


def compiled(text: str, name: str, parameters: Sequence[Parameter]) -> Callable[..., Any]:
    """Return the compiled function of a text, for parameters of these types."""
    space = {key: value for key, value in vars(functions).items() if not key.startswith("_")}
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
