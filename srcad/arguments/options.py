"""Options of the compiled backend."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any, Literal

from srcad.errors import OptionError
from srcad.startup.identifiers import shown
from srcad.startup.records import dataclass

_FLAGS = ("strict", "wait", "parallel")


@dataclass(frozen=True)
class Numba:
    """Options of the compiled backend: ``backend=srcad.Numba(strict=True)``.

    ``backend="numba"`` stands for ``Numba()``.

    Parameters
    ----------
    strict : bool
        If True, a function that is not covered is an error.  Otherwise the NumPy code of the whole
        function runs, and a `BackendWarning` says so.
    wait : bool
        If True, the first call waits until Numba has compiled.  Otherwise the NumPy code runs
        until a thread in the background has compiled.
    cache : str or path, optional
        The folder in which compiled code is kept for other processes.  Without it that is the
        folder that the environment variable ``SRCAD_CACHE_DIR`` names, if it is set.
    parallel : bool
        If True, loops over 100,000 entries or more run on several cores, if their iterations are
        independent.

    Raises
    ------
    OptionError
        An option has a value that does not exist.

    Examples
    --------
    >>> Numba(strict=True) == Numba(), Numba(strict=True).strict
    (False, True)
    """

    strict: bool = False
    wait: bool = True
    cache: str | os.PathLike[str] | None = None
    parallel: bool = False

    def __post_init__(self) -> None:
        for name in _FLAGS:
            if not isinstance(getattr(self, name), bool):
                raise OptionError(
                    f"{name} is True or False, not {shown(getattr(self, name))}",
                    help=f"srcad.Numba({name}=True)",
                )
        if self.cache is not None and not isinstance(self.cache, str | os.PathLike):
            raise OptionError(
                f"cache is a folder, not {shown(self.cache)}",
                help='srcad.Numba(cache="folder")',
            )
        if self.cache is not None:
            object.__setattr__(self, "cache", os.fspath(self.cache))


Backend = Literal["numpy", "numba"] | Numba


def options_of(backend: Any) -> Any:
    """Return the options that the name of a backend stands for; other names stay as they are."""
    return Numba() if isinstance(backend, str) and backend == "numba" else backend


def numba_is_installed() -> bool:
    """Return True if Numba can be imported; it is not imported."""
    return importlib.util.find_spec("numba") is not None


def compiler_is_disabled() -> bool:
    """Return True if ``NUMBA_DISABLE_JIT`` turns Numba off; it is not imported."""
    config = sys.modules.get("numba.core.config")
    if config is not None:
        return bool(getattr(config, "DISABLE_JIT", False))
    try:
        return bool(int(os.environ.get("NUMBA_DISABLE_JIT", "0")))
    except ValueError:
        return False  # as in Numba, which warns of it


def setting_of_helpers() -> str:
    """Return how functions that are called are read: "inline" keeps none of them.

    The variable of the environment is for bisecting a doubt; it is read at each compilation.
    """
    return os.environ.get("SRCAD_HELPERS", "")
