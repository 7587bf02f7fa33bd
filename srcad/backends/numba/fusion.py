"""Loop fusion and array contraction, decided by the accesses of the nests.

Two nests over equal lengths become one if every conflict of their accesses (the same storage, not
two reads, not two sums) happens within one iteration: some axis is indexed by the same integer,
which depends on the variable of the loop.  Then an array that is used inside one nest only, always
at the index of its loop, loses that axis; without axes it is a variable.

Source: Kennedy and Allen (2001), *Optimizing Compilers for Modern Architectures*, chapter 8 (loop
fusion) and section 8.6 (array contraction).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from srcad.backends.numba.loops import (
    ONE,
    ZERO,
    Access,
    Affine,
    Assign,
    Guard,
    Lines,
    Load,
    Nest,
    Node,
    Region,
    Storage,
    bodies,
    change,
    defined_in,
    may_leave,
    named,
    same_dim,
    walk,
)
from srcad.startup.records import dataclass, field

_FARTHEST = 40  # nests between two that are merged: more are not looked at


# ----------------------------------------------------------------------------- accesses
@dataclass(eq=False)
class Footprint:
    """The accesses of a node, by storage, and the names that it binds."""

    by_storage: dict[str, list[Access]] = field(default_factory=dict)
    defines: set[str] = field(default_factory=set)
    is_barrier: bool = False

    def add(self, other: Footprint, names: Mapping[str, Affine]) -> None:
        """Add the accesses of another node, with other integers for some names."""
        for storage, accesses in other.by_storage.items():
            self.by_storage.setdefault(storage, []).extend(
                Access(a.storage, a.kind, _renamed(a.index, names)) for a in accesses
            )
        self.defines |= other.defines
        self.is_barrier |= other.is_barrier


def _renamed(
    index: tuple[Affine, ...] | None, names: Mapping[str, Affine]
) -> tuple[Affine, ...] | None:
    return index if index is None else tuple(i.replaced(names) for i in index)


@dataclass(eq=False)
class Fusion:
    """Fuses the nests of a function.

    `aliases` tells the storages of which one may be another one's memory: all names of one group
    conflict with each other, wherever they are indexed.
    """

    aliases: Mapping[str, str]

    def footprint(self, node: Node) -> Footprint:
        """Return the accesses of a node."""
        found = Footprint(defines=defined_in(node))
        for access in node.accesses():
            group = self.aliases.get(access.storage, access.storage)
            found.by_storage.setdefault(group, []).append(access)
        found.is_barrier = _is_barrier(node)
        return found

    def fused(self, body: list[Node]) -> list[Node]:
        """Return the body with its nests fused, outer loops first."""
        result: list[Node] = []
        seen: list[Footprint] = []
        for node in body:
            mine = self.footprint(node)
            target = self._target(node, mine, result, seen)
            if target is None:
                place = self._early_place(node, mine, result, seen)
                result.insert(place, node)
                seen.insert(place, mine)
                continue
            host = result[target]
            assert isinstance(host, Nest)
            assert isinstance(node, Nest)
            names = {node.variable: named(host.variable)}
            for inner in node.body:
                change(inner, names, None)
            host.body += node.body
            seen[target].add(mine, names)
        for node in result:
            if isinstance(node, Nest):
                node.body = self.fused(node.body)
            elif isinstance(node, Region):
                node.parts = [(header, self.fused(inner)) for header, inner in node.parts]
        return result

    def _early_place(
        self, node: Node, mine: Footprint, result: list[Node], seen: list[Footprint]
    ) -> int:
        """Return the position for the definition of a number: before loops that do not change it.

        What starts a sum would stand between the loop of the sum and those before it.
        """
        place = len(result)
        if not isinstance(node, Assign) or node.index:
            return place
        for k in range(len(result) - 1, max(-1, len(result) - 1 - _FARTHEST), -1):
            if conflict(seen[k], mine):
                break
            if isinstance(result[k], Nest):
                place = k
        return place

    def _target(
        self, node: Node, mine: Footprint, result: list[Node], seen: list[Footprint]
    ) -> int | None:
        """Return the position of the nest to fuse a node with; None if there is none."""
        if not isinstance(node, Nest) or mine.is_barrier:
            return None
        for k in range(len(result) - 1, max(-1, len(result) - 1 - _FARTHEST), -1):
            host = result[k]
            is_alike = isinstance(host, Nest) and same_dim(host.dim, node.dim)
            if is_alike and not seen[k].is_barrier and self._may_fuse(host, seen[k], node, mine):  # type: ignore[arg-type]
                return k
            if conflict(seen[k], mine):
                return None
        return None

    def _may_fuse(self, a: Nest, mine: Footprint, b: Nest, yours: Footprint) -> bool:
        names = {b.variable: named(a.variable)}
        inner = (mine.defines | yours.defines) - {a.variable, b.variable}
        innermost = not any(isinstance(n, Nest) for n in (*a.body, *b.body))
        for storage, left in mine.by_storage.items():
            for y in yours.by_storage.get(storage, ()):
                for x in left:
                    if x.kind == y.kind == "read":
                        continue
                    index = _renamed(y.index, names)
                    if x.kind == y.kind == "add":
                        if innermost and x.index and index and x.index[-1] != index[-1]:
                            return False  # shifted sums of one loop: it would not be vectorised
                        continue
                    if x.storage != y.storage or not _same_iteration(
                        x.index, index, a.variable, inner
                    ):
                        return False
        return True


def _same_iteration(
    a: tuple[Affine, ...] | None, b: tuple[Affine, ...] | None, variable: str, inner: set[str]
) -> bool:
    """Return True if two accesses overlap only within the same iteration of a loop."""
    if a is None or b is None or len(a) != len(b):
        return False
    for left, right in zip(a, b, strict=True):
        if left == right and variable in left.names and not inner.intersection(left.names):
            return True
    return False


def conflict(a: Footprint, b: Footprint) -> bool:
    """Return True if two nodes must stay in their order."""
    if a.is_barrier or b.is_barrier:
        return True
    small, large = (a, b) if len(a.by_storage) < len(b.by_storage) else (b, a)
    for storage, accesses in small.by_storage.items():
        others = large.by_storage.get(storage)
        if others is None:
            continue
        kinds = {x.kind for x in (*accesses, *others)}
        if kinds not in ({"read"}, {"add"}):
            return True
    return False


def _is_barrier(node: Node) -> bool:
    """Return True if no statement may be moved across a node: a guard, or an exit of a loop."""
    if isinstance(node, Nest):
        return any(map(_is_barrier, node.body))
    return (
        isinstance(node, Guard)
        or may_leave(node)
        or (
            isinstance(node, Region)
            and not node.is_loop
            and any(_is_barrier(inner) for body in bodies(node) for inner in body)
        )
    )


# -------------------------------------------------------------------------- contraction
def uses(node: Node) -> dict[str, list[tuple[Affine, ...] | None]]:
    """Return the indices at which each storage is used in a node; None for the whole of it."""
    found: dict[str, list[tuple[Affine, ...] | None]] = {}
    for access in node.accesses():
        found.setdefault(access.storage, []).append(access.index)
    return found


def without_unit_axes(body: list[Node], storages: Mapping[str, Storage]) -> None:
    """Remove axes of length 1 that are indexed only with 0.

    Parameters
    ----------
    body : list of Node
        The statements of a function; they are changed.
    storages : mapping from str to Storage
        The arrays by name; their lengths are changed.
    """
    found: dict[str, list[tuple[Affine, ...] | None]] = {}
    for node in body:
        for name, indices in _indices(node).items():
            found.setdefault(name, []).extend(indices)
    dropped: dict[str, int] = {}
    for name, indices in found.items():
        storage = storages.get(name)
        if storage is None or storage.escapes or storage.given:
            continue
        for k, dim in enumerate(storage.dims):
            if dim.size == ONE and all(i is not None and i[k] == ZERO for i in indices):
                dropped[name] = k
    if dropped:
        for node in body:
            _drop(node, dropped)
        for name, k in dropped.items():
            del storages[name].dims[k]
        without_unit_axes(body, storages)


def _indices(node: Node) -> dict[str, list[tuple[Affine, ...] | None]]:
    """Return the indices of all loads and stores in a node and its bodies."""
    found: dict[str, list[tuple[Affine, ...] | None]] = {}
    for one in walk([node]):
        if not isinstance(one, Nest | Region):
            for access in one.accesses():
                if access.index != ():
                    found.setdefault(access.storage, []).append(access.index)
    return found


def contract(body: list[Node], storages: Mapping[str, Storage]) -> None:
    """Array contraction: remove axes that one loop alone indexes, with its own variable.

    Parameters
    ----------
    body : list of Node
        Statements after fusion; they are changed.
    storages : mapping from str to Storage
        The arrays by name; their lengths are changed.
    """
    found = [uses(node) for node in body]
    where: dict[str, list[int]] = {}
    for k, one in enumerate(found):
        for name in one:
            where.setdefault(name, []).append(k)
    local: dict[int, list[str]] = {}
    for name, places in where.items():
        storage = storages.get(name)
        if storage is None or storage.escapes or storage.given or len(places) != 1:
            continue
        local.setdefault(places[0], []).append(name)
    for k, names in local.items():
        node = body[k]
        if isinstance(node, Nest):
            _without_axis(node, names, found[k], storages)
    for k, names in local.items():
        for inner in bodies(body[k]):
            contract(inner, {name: storages[name] for name in names})


def _without_axis(
    nest: Nest,
    names: Sequence[str],
    found: Mapping[str, list[tuple[Affine, ...] | None]],
    storages: Mapping[str, Storage],
) -> None:
    """Remove one axis of each storage that the loop of a nest indexes uniformly."""
    dropped: dict[str, int] = {}
    for name in names:
        axis = _common_axis(nest, found[name], len(storages[name].dims))
        if axis is not None:
            dropped[name] = axis
    if not dropped:
        return

    _drop(nest, dropped)
    for name, k in dropped.items():
        del storages[name].dims[k]


def _drop(node: Node, dropped: Mapping[str, int]) -> None:
    """Remove an axis from the indices of some storages in a node."""

    def load(one: Load) -> Load:
        k = dropped.get(one.storage)
        return one if k is None else Load(one.storage, (*one.index[:k], *one.index[k + 1 :]))

    change(node, {}, load)
    for one in walk([node]):
        if isinstance(one, Assign) and one.storage in dropped:
            k = dropped[one.storage]
            one.index = (*one.index[:k], *one.index[k + 1 :])


def _common_axis(nest: Nest, indices: list[tuple[Affine, ...] | None], rank: int) -> int | None:
    """Return the axis that all uses of a storage index with one loop variable or constant."""
    if not rank or any(i is None or len(i) != rank for i in indices):
        return None
    inner = defined_in(nest) - {nest.variable}
    first = indices[0]
    assert first is not None
    for k, index in enumerate(first):
        if inner.intersection(index.names) or (index.terms and nest.variable not in index.names):
            continue
        if all(i is not None and i[k] == index for i in indices):
            return k
    return None


# ------------------------------------------------------------------------------ renaming
def rename(body: list[Node], old: str, new: str) -> None:
    """Rename a storage in a body."""
    for node in body:
        for one in walk([node]):
            if isinstance(one, Assign) and one.storage == old:
                one.storage = new
            if isinstance(one, Lines):
                one.lines = tuple(
                    line.replace("{" + old + "}", "{" + new + "}") for line in one.lines
                )
                one.touched = tuple(
                    Access(new, a.kind, a.index) if a.storage == old else a for a in one.touched
                )

        def load(found: Load) -> Load:
            return Load(new, found.index) if found.storage == old and found.index else found

        change(node, {}, load)
