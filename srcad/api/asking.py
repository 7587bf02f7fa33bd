"""Shared by all public functions: make a derivative by the name of its mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from srcad.arguments.options import Backend, Numba, numba_is_installed, options_of
from srcad.arguments.request import UNSET, requested
from srcad.backends.registry import BACKENDS
from srcad.calling.gradient import Gradient
from srcad.errors import OptionError
from srcad.modes.registry import MODES
from srcad.startup.identifiers import shown
from srcad.startup.short_tracebacks import on_purpose, short_traceback

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Wrt = int | str | tuple[int | str, ...] | list[int | str]


def derivative(
    function: Callable[P, Any],
    mode: str,
    wrt: Wrt = UNSET,
    *,
    argnums: Wrt = UNSET,
    argnum: Wrt = UNSET,
    has_aux: bool = False,
    check_finite: bool = False,
    backend: Backend = "numpy",
    holomorphic: bool = False,
    chunk_size: int | None = None,
) -> Gradient[P, Any]:
    """Return a derivative by the name of its mode, as a function of the same arguments.

    Parameters are those of `grad`, and the name of a mode.

    Raises
    ------
    OptionError
        There is no such mode, or no such backend.
    ImportError
        The backend needs Numba, which is not installed.

    Examples
    --------
    >>> derivative(lambda x: x * x, "value_and_grad")(3.0)
    (9.0, 6.0)
    """
    with short_traceback():
        given = checked(function, backend)
        spelled = (wrt, argnums, argnum)
        request = requested(
            MODES.check(mode),
            spelled,
            has_aux=has_aux,
            backend=backend,
            check_finite=check_finite,
            holomorphic=holomorphic,
            chunk_size=checked_chunk(chunk_size),
        )
        return Gradient(given, request)


def checked_chunk(chunk_size: Any) -> int | None:
    """Return a number of directions, or None.

    Raises
    ------
    OptionError
        It is something else.
    """
    if chunk_size is None:
        return None
    if isinstance(chunk_size, bool) or not isinstance(chunk_size, int) or chunk_size < 1:
        raise OptionError(
            f"chunk_size is a number of directions, 1 or more, not {shown(chunk_size)}",
            help="chunk_size=64, or None for all directions at once",
        )
    return chunk_size


def checked(function: Any, backend: Backend = "numpy") -> Any:
    """Return the function, which has to be callable.

    Raises
    ------
    OptionError
        There is no such backend.
    ImportError
        The backend needs Numba, which is not installed.
    TypeError
        The function is not callable.
    """
    if not isinstance(backend, Numba):
        BACKENDS.check(backend)
    if isinstance(options_of(backend), Numba) and not numba_is_installed():
        raise on_purpose(
            ImportError(
                "the backend 'numba' needs Numba:  pip install 'srcad[numba]'", name="numba"
            )
        )
    if not callable(function):
        raise on_purpose(
            TypeError(f"a function is differentiated, and {function!r} is not callable")
        )
    return function
