"""Parallel loops: independent iterations with enough work for several cores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from srcad.backends.numba.loops import (
    Assign,
    Guard,
    Lines,
    Nest,
    Node,
    Region,
    Storage,
    defined_in,
    walk,
)
from srcad.types.sizes import example_of

LEAST_ENTRIES = 100_000  # fewer entries take less time than starting threads


def mark_parallel(body: list[Node], storages: Mapping[str, Storage]) -> None:
    """Mark the outermost nests with independent iterations for parallel execution.

    In such a nest, each use of an array that it writes has the loop variable as index on the same
    axis, or the array or number is private to an iteration.  Nests that reduce to a number, and
    nests with few entries in the example that caused the compilation, are not marked.

    Parameters
    ----------
    body : list of Node
        Statements after fusion and contraction; they are changed.
    storages : mapping from str to Storage
        The arrays by name.
    """
    everywhere = _uses(body)
    _mark(body, storages, everywhere)


def _uses(body: list[Node]) -> Counter[str]:
    """Return the number of accesses to each storage."""
    return Counter(a.storage for node in body for a in node.accesses())


def _mark(body: list[Node], storages: Mapping[str, Storage], everywhere: Counter[str]) -> None:
    for node in body:
        if isinstance(node, Region):
            for _, inner in node.parts:
                _mark(inner, storages, everywhere)
        elif isinstance(node, Nest) and _entries(node) >= LEAST_ENTRIES:
            node.is_parallel = _is_independent(node, storages, everywhere)


def _entries(nest: Nest) -> int:
    """Return the number of entries of a nest in the example; 0 if unknown."""
    size = nest.dim.size.constant if not nest.dim.size.terms else None
    if size is None and nest.dim.extent is not None:
        size = example_of(nest.dim.extent)
    inner = [_entries(node) for node in nest.body if isinstance(node, Nest)]
    return (size or 0) * max(inner, default=1)


def _is_independent(nest: Nest, storages: Mapping[str, Storage], everywhere: Counter[str]) -> bool:
    nodes = list(walk(nest.body))
    if any(isinstance(node, Guard | Lines | Region) for node in nodes):
        return False
    here = _uses(nest.body)
    started = {n.storage for n in nodes if isinstance(n, Assign) and not n.index and n.how == "="}
    inner = defined_in(nest) - {nest.variable}
    written = {node.storage for node in nodes if isinstance(node, Assign)}
    for name in written:
        is_private = here[name] == everywhere[name]
        storage = storages.get(name)
        if storage is None or not storage.dims:
            if not is_private or name not in started:
                return False
            continue
        if is_private and not storage.given and not storage.escapes:
            continue
        indices = [a.index for node in nodes if not isinstance(node, Nest)
                   for a in node.accesses() if a.storage == name]  # fmt: skip
        if not _at_own_places(indices, nest.variable, inner):
            return False
    return True


def _at_own_places(indices: Sequence[object], variable: str, inner: set[str]) -> bool:
    """Return True if all indices have one axis with the same integer of the loop's variable."""
    first = indices[0]
    if not isinstance(first, tuple):
        return False
    for k, index in enumerate(first):
        if variable not in index.names or inner.intersection(index.names):
            continue
        if all(isinstance(i, tuple) and i[k] == index for i in indices):
            return True
    return False
