"""Modules that are loaded when something of them is first asked for.

A short function in a fresh process needs half of the compiler: the reader of loops, the standard
library's `dataclasses` and the like are for those that use them.

>>> Later("colorsys").rgb_to_hsv(0.0, 0.0, 0.0)
(0.0, 0.0, 0.0)
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from srcad.startup.locks import importing

__all__ = ["Later"]


class Later:
    """Stands for a module; its attributes are those of the module.

    Threads that ask at once wait for the same import.

    Parameters
    ----------
    name : str
        The full name of the module.

    Raises
    ------
    AttributeError
        The module has no attribute of that name.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self._module: ModuleType | None = None

    def __getattr__(self, attribute: str) -> Any:
        if self._module is None:
            with importing:
                self._module = importlib.import_module(self.__name__)
        return getattr(self._module, attribute)
