"""As deep a recursion as the code nests: ``a + b + c + ...`` is a tree as deep as it is long."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_DEEP = 20_000


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Raise the recursion limit to 20,000 inside a block.

    >>> with deep_recursion():
    ...     sys.getrecursionlimit() >= 20_000
    True
    """
    before = sys.getrecursionlimit()
    if before < _DEEP:
        sys.setrecursionlimit(_DEEP)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
