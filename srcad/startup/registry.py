"""Registries of options, whose entries are imported when they are named.

>>> from types import SimpleNamespace
>>> tools = Registry("tool", "TOOL", {})
>>> _ = tools.register(SimpleNamespace(name="plane"))
>>> tools.names()
('plane',)
>>> tools.check("file")
Traceback (most recent call last):
...
srcad.errors.OptionError: [SRCAD-304] tool='file' does not exist
  why:  the tools are: 'plane'.
  help: leave it out, or say tool="plane"
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from srcad.errors import OptionError
from srcad.startup.locks import importing

T = TypeVar("T")


class Registry(Generic[T]):
    """Things by name; the first name is the one that is taken where none is given.

    Parameters
    ----------
    kind : str
        What the things are called, which is the name of the option.
    attribute : str
        The name of the thing in its module.
    index : mapping from str to str
        The module of each thing; ``"module:NAME"`` if it has another name there.
    """

    def __init__(self, kind: str, attribute: str, index: Mapping[str, str]) -> None:
        self.kind = kind
        self._attribute = attribute
        self._index = dict(index)
        self._known: dict[str, T] = {}

    def names(self) -> tuple[str, ...]:
        """All names."""
        return tuple(dict.fromkeys((*self._index, *self._known)))

    def register(self, thing: T) -> T:
        """Add a thing under its own name."""
        made: Any = thing
        self._known[made.name] = thing
        return thing

    def withdraw(self, name: str) -> None:
        """Remove the entry of a name."""
        del self._known[name]

    def check(self, name: str) -> str:
        """Return the name, if there is such a thing; nothing is loaded.

        Raises
        ------
        OptionError
            There is none; the message lists what there is.
        """
        names = self.names()
        if name not in names:
            raise OptionError(
                f"{self.kind}={name!r} does not exist",
                why=f"the {self.kind}s are: {', '.join(map(repr, names))}.",
                help=f'leave it out, or say {self.kind}="{names[0]}"',
            )
        return name

    def __getitem__(self, name: str) -> T:
        found = self._known.get(name)
        if found is None:
            module, _, attribute = self._index[self.check(name)].partition(":")
            with importing:
                loaded = importlib.import_module(module)
            found = self._known.setdefault(name, getattr(loaded, attribute or self._attribute))
        return found
