"""Where a value is found again at the next call.

A path is a tuple of steps, taken from the function that is differentiated.  ``("param", name)`` and
``("module", name)``, a module that is imported, can only come first, and so can ``("of", owner)``,
an object that is held.  ``("global", name)``,
``("cell", name)``, ``("default", k)`` and ``("kwdefault", name)`` are taken from a function, the
first one or a helper that the steps before lead to; ``("attr", name)``, ``("item", key)`` and
``("shape", axis)`` from any object, and ``EACH`` from a list: all its items.

>>> import math
>>> read((("global", "math"), ("attr", "tau")), lambda: math.tau) == 2 * math.pi
True
"""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from srcad.startup.identifiers import printable, shown

Step = tuple[Any, ...]
Path = tuple[Step, ...]

_INSTALLED = ("site-packages", "dist-packages")
_STANDARD = os.path.dirname(os.__file__)

EACH: Step = ("each",)
EMPTY: Mapping[str, Any] = MappingProxyType({})


class Unreadable(LookupError):  # noqa: N818 - a state of the world, caught where it is expected
    """Nothing is at a path (any more)."""


def read(path: Path, function: Any, arguments: Mapping[str, Any] = EMPTY) -> Any:
    """Return the object at a path.

    Parameters
    ----------
    path : tuple
        The steps.
    function : callable
        The function that is differentiated.
    arguments : mapping of str to object
        Its bound arguments.

    Returns
    -------
    object
        The object; with a step `EACH` the list of what the rest of the path finds in all items.

    Raises
    ------
    Unreadable
        There is nothing at the path.
    """
    try:
        if path and path[0][0] == "param":
            return follow(arguments[path[0][1]], path[1:])
        return follow(function, path)
    except (LookupError, AttributeError, TypeError, ValueError) as error:
        raise Unreadable(path) from error


def follow(found: Any, steps: Sequence[Step]) -> Any:
    """Take the steps from an object."""
    for k, step in enumerate(steps):
        if step == EACH:
            rest = steps[k + 1 :]
            results = [follow(item, rest) for item in found]
            return [r for part in results for r in part] if EACH in rest else results
        found = _STEPS[step[0]](found, step[1])
    return found


def is_besides_arguments(path: Path) -> bool:
    """Return True if a path leads to something besides the arguments, such as a default."""
    return path[0][0] not in ("default", "kwdefault")


def spelled(path: Path) -> str:
    """Return the source text of a path.

    >>> spelled((("global", "net"), ("attr", "layers"), ("item", 0)))
    'net.layers[0]'
    """
    text = ""
    for kind, *key in path:
        match kind:
            case "attr":
                text = f"{text}.{printable(key[0])}" if text else printable(key[0])
            case "item":
                text = f"{text}[{shown(key[0])}]"
            case "each":
                text = f"{text}[...]"
            case "of":
                pass
            case "default" | "kwdefault":
                text = f"a default of {text}"
            case _:
                text = printable(key[0])
    return text


def is_filled(cell: Any) -> bool:
    """Return True if a cell of a closure holds something."""
    try:
        cell.cell_contents  # noqa: B018 - reading an empty cell raises
    except ValueError:
        return False
    return True


def _global(function: Any, name: str) -> Any:
    space = function.__globals__
    return space[name] if name in space else getattr(builtins, name)


def _cell(function: Any, name: str) -> Any:
    return function.__closure__[function.__code__.co_freevars.index(name)].cell_contents


_STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "item": lambda found, key: found[key],
    "attr": lambda found, name: type(found) if name == "__class__" else getattr(found, name),
    "module": lambda _, name: sys.modules[name],
    "of": lambda _, owner: owner.value,
    "shape": lambda found, axis: found.shape[axis],
    "global": _global,
    "cell": _cell,
    "default": lambda function, k: function.__defaults__[k],
    "kwdefault": lambda function, name: function.__kwdefaults__[name],
}


def is_installed(file: str) -> bool:
    """Return True if a file belongs to the standard library or to an installed package."""
    return file.startswith(_STANDARD) or any(name in file for name in _INSTALLED)
