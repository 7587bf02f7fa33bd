"""The box of a dict or list outside that the function writes into."""

from __future__ import annotations

from typing import Any

from srcad.startup.records import dataclass

Path = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, eq=False)
class Holder:
    """A dict or list outside whose items are places: it is never taken apart.

    `path` leads to it at the call.
    """

    value: Any
    path: Path
