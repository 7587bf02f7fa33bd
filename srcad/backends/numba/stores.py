"""Dead store elimination for array entries, and removal of redundant copies of entries.

A reverse pass restores an array entry by entry, and reads the entries that the forward pass has
saved.  Often no restored entry is read again, and what was saved still stands in the array::

    for i in range(n):                        for i in range(n):
        t = x[i]                                  t = x[i]
        x[i] = np.sqrt(t)                         x[i] = np.sqrt(t)
        old[i] = t                            for i in range(n - 1, -1, -1):
        new[i] = x[i]                             x_bar[i] = x_bar[i] * (0.5 / x[i])
    for i in range(n - 1, -1, -1):
        x_bar[i] = x_bar[i] * (0.5 / new[i])
        x[i] = old[i]

Both rewrites need a dependence test: a proof that no later access has the same index.  The bounds
of the loops around two accesses, the order of their iterations and the equality of the indices are
linear inequalities.  There is no dependence if Fourier-Motzkin elimination finds a contradiction.

Source: Kennedy and Allen (2001), *Optimizing Compilers for Modern Architectures*, chapter 3
(dependence testing); Dantzig and Eaves (1973), *Fourier-Motzkin elimination and its dual*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from srcad.backends.numba.loops import (
    ONE,
    Affine,
    Assign,
    Break,
    Expr,
    Guard,
    Lines,
    Load,
    Nest,
    Node,
    Region,
    Storage,
    bodies,
    change,
    loads,
    named,
    names_of,
    walk,
)
from srcad.startup.records import dataclass

_MOST_INEQUALITIES = 200
_MOST_ACCESSES = 60  # of one array: the accesses are compared in pairs
_OTHER = "'"  # marks the variables of the second access


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop around a statement; `trips` is None if their number is not known."""

    variable: str
    trips: Affine | None
    is_backward: bool = False


@dataclass(frozen=True, eq=False)
class Use:
    """A read or a store of an array.

    Attributes
    ----------
    statement : Assign or Guard
        The statement, which stands at `position` in the text.
    loops : tuple of Loop
        The loops around it, the outermost first.
    index : tuple of Affine
        The indices of the entry.
    """

    statement: Assign | Guard
    position: int
    loops: tuple[Loop, ...]
    index: tuple[Affine, ...]


def without_useless_stores(
    body: list[Node],
    storages: Mapping[str, Storage],
    groups: Mapping[str, str],
    results: Iterable[Expr],
) -> None:
    """Remove dead stores to arrays, and arrays that are copies of entries of another array.

    Parameters
    ----------
    body : list of Node
        The statements of a function; they are changed.
    storages : mapping from str to Storage
        The arrays by name.
    groups : mapping from str to str
        The name of the group of storages that may share memory with each.
    results : iterable of Expr
        What the function returns.
    """
    kept = {load.storage for expr in results for load in loads(expr)}
    kept.update(name for expr in results for name in names_of(expr))
    members: dict[str, int] = {}
    for group in groups.values():
        members[group] = members.get(group, 0) + 1
    private = {
        name
        for name, one in storages.items()
        if one.dims
        and not (one.given or one.escapes or one.is_argument or one.is_result)
        and name not in kept
        and members[groups[name]] == 1
    }
    while True:
        _without_unread_numbers(body, storages, kept)
        found = Uses(body, private)
        if not (_without_copies(body, found, storages) or _without_unread_stores(body, found)):
            return


class Uses:
    """The reads and stores of the arrays of a function that nothing else can change."""

    def __init__(self, body: list[Node], private: set[str]) -> None:
        self.reads: dict[str, list[Use]] = {}
        self.stores: dict[str, list[Use]] = {}
        self.private = set(private)
        self.changing = _changing(body)
        self._count = 0
        self._collect(body, ())
        self.private = {
            name
            for name in self.private
            if len(self.reads.get(name, ())) + len(self.stores.get(name, ())) <= _MOST_ACCESSES
        }

    def _collect(self, body: Sequence[Node], loops: tuple[Loop, ...]) -> None:
        for node in body:
            self._count += 1
            inner = loops
            if isinstance(node, Nest):
                inner = (*loops, Loop(node.variable, node.dim.size))
            elif isinstance(node, Region) and node.is_loop:
                variable = node.defines[0] if node.defines else ""
                inner = (*loops, Loop(variable, node.trips, node.is_backward))
            elif isinstance(node, Lines):
                self.private -= {access.storage for access in node.touched}
            elif isinstance(node, Assign):
                self._note_store(node, loops)
            elif isinstance(node, Guard):
                self._note_reads(node.test, node, loops)
            for part in bodies(node):
                self._collect(part, inner)

    def _note_store(self, node: Assign, loops: tuple[Loop, ...]) -> None:
        self._note_reads(node.value, node, loops)
        if node.index:
            use = Use(node, self._count, loops, node.index)
            self.stores.setdefault(node.storage, []).append(use)
            if node.how != "=":
                self.reads.setdefault(node.storage, []).append(use)

    def _note_reads(self, expr: Expr, statement: Assign | Guard, loops: tuple[Loop, ...]) -> None:
        for load in loads(expr):
            use = Use(statement, self._count, loops, load.index)
            if load.index:
                self.reads.setdefault(load.storage, []).append(use)

    def may_follow(self, first: Use, second: Use) -> bool:
        """Return True unless `second` certainly never meets the entry of `first` after it."""
        if len(first.index) != len(second.index):
            return True
        common = 0
        for a, b in zip(first.loops, second.loops, strict=False):
            if a is not b:
                break
            common += 1
        for depth in range(common):
            if self._may_meet(first, second, common, depth):
                return True
        comes_later = second.position > first.position
        return comes_later and self._may_meet(first, second, common, None)

    def _may_meet(self, first: Use, second: Use, common: int, later: int | None) -> bool:
        """Return False if no two such iterations have one index.

        The loops outside of `later` are in one iteration, and that one in a later iteration of the
        second use; None if all common loops are in one iteration.
        """
        shared = {loop.variable for loop in first.loops[: common if later is None else later]}
        mine = {loop.variable: loop.variable for loop in first.loops}
        yours = {
            loop.variable: loop.variable if loop.variable in shared else loop.variable + _OTHER
            for loop in second.loops
        }
        inequalities = [
            *self._bounds(first.loops, mine, ""),
            *self._bounds(second.loops, yours, _OTHER),
        ]
        if later is not None:
            loop = first.loops[later]
            if loop.trips is None:
                return True
            step = named(yours[loop.variable]) - named(loop.variable)
            inequalities.append((step.scaled(-1) if loop.is_backward else step) - ONE)
        for a, b in zip(first.index, second.index, strict=True):
            left, right = self._seen(a, mine, ""), self._seen(b, yours, _OTHER)
            inequalities += [left - right, right - left]
        return not contradictory(inequalities)

    def _bounds(
        self, loops: tuple[Loop, ...], names: Mapping[str, str], mark: str
    ) -> Iterator[Affine]:
        for loop in loops:
            if loop.trips is not None:
                variable = named(names[loop.variable])
                yield variable
                yield self._seen(loop.trips, names, mark) - variable - ONE

    def _seen(self, value: Affine, names: Mapping[str, str], mark: str) -> Affine:
        """Rename the names in an index that may have different values in the two accesses."""
        by = {}
        for name in value.names:
            if name in names:
                by[name] = named(names[name])
            elif name in self.changing:
                by[name] = named(name + mark)
        return value.replaced(by)


def _changing(body: list[Node]) -> set[str]:
    """Return the names with several values: loop variables, and numbers that are bound again."""
    changing: set[str] = set()
    bound: set[str] = set()

    def collect(nodes: Sequence[Node], is_inside: bool) -> None:
        for node in nodes:
            names: tuple[str, ...] = ()
            if isinstance(node, Nest):
                changing.add(node.variable)
            elif isinstance(node, Assign):
                names = () if node.index else (node.storage,)
            elif isinstance(node, Lines | Region):
                names = node.defines
            is_loop = isinstance(node, Nest) or (isinstance(node, Region) and node.is_loop)
            changing.update(n for n in names if is_inside or is_loop or n in bound)
            bound.update(names)
            for one in bodies(node):
                collect(one, is_inside or is_loop)

    collect(body, False)
    return changing


def contradictory(inequalities: Iterable[Affine]) -> bool:
    """Return True if no integers make all of these numbers at least 0.

    >>> i, j = named("i"), named("j")
    >>> contradictory([i - j - ONE, j - i])
    True
    >>> contradictory([i - j, j - i])
    False
    """
    left = set(inequalities)
    while left and len(left) < _MOST_INEQUALITIES:
        if any(not one.terms and one.constant < 0 for one in left):
            return True
        left = _without_one_name({one for one in left if one.terms})
    return False


def _without_one_name(inequalities: set[Affine]) -> set[Affine]:
    """Eliminate the name that takes the fewest combinations of two inequalities."""
    signs: dict[str, list[int]] = {}
    for one in inequalities:
        for name, k in one.terms:
            signs.setdefault(name, [0, 0])[k > 0] += 1
    if not signs:
        return set()
    name = min(sorted(signs), key=lambda n: signs[n][0] * signs[n][1])
    factors = {one: dict(one.terms).get(name, 0) for one in inequalities}
    left = {one for one, k in factors.items() if k == 0}
    for low, k in factors.items():
        if k > 0:
            left.update(low.scaled(-m) + high.scaled(k) for high, m in factors.items() if m < 0)
    return left


# ------------------------------------------------------------------------- the two rewrites
def _without_unread_stores(body: list[Node], found: Uses) -> bool:
    """Remove the stores that no read follows at the same index; return True if there were any."""
    unread: set[int] = set()
    for name in found.private:
        reads = found.reads.get(name, [])
        for store in found.stores.get(name, ()):
            own = store.statement
            assert isinstance(own, Assign)
            others = reads if own.how == "=" else [use for use in reads if use.statement is not own]
            is_sum = own.how != "=" and bool(others)  # what is read may contain the store
            if not is_sum and not any(found.may_follow(store, use) for use in others):
                unread.add(id(own))
    return _remove(body, unread)


def _remove(body: list[Node], gone: set[int]) -> bool:
    if not gone:
        return False
    for node in body:
        for one in bodies(node):
            _remove(one, gone)
    body[:] = [
        node
        for node in body
        if id(node) not in gone and not (isinstance(node, Nest) and not node.body)
    ]
    return True


def _without_copies(body: list[Node], found: Uses, storages: Mapping[str, Storage]) -> bool:
    """Read an array instead of another one that holds the same numbers; return True if any is."""
    for name in sorted(found.private):
        stores = found.stores.get(name, [])
        if len(stores) != 1 or not found.reads.get(name):
            continue
        (store,) = stores
        twin = _twin(body, store, found, storages)
        if twin is None:
            continue
        variables = [index.names[0] for index in store.index]

        def load(one: Load, name: str = name, twin: Use = twin, by: list[str] = variables) -> Expr:
            if one.storage != name:
                return one
            places = dict(zip(by, one.index, strict=True))
            return Load(_name_of(twin), tuple(index.replaced(places) for index in twin.index))

        for node in body:
            change(node, {}, load)
        _remove(body, {id(store.statement)})
        return True
    return False


def _name_of(store: Use) -> str:
    assert isinstance(store.statement, Assign)
    return store.statement.storage


def _twin(body: list[Node], store: Use, found: Uses, storages: Mapping[str, Storage]) -> Use | None:
    """Return the store of the same number into another array, which keeps it to the end."""
    variables = {loop.variable for loop in store.loops}
    indexed = {index.names[0] for index in store.index if _is_one_of(index, variables)}
    number = _stored_number(store)
    if number is None or len(indexed) != len(store.index):
        return None
    own = _name_of(store)
    for name in sorted(found.private - {own}):
        if storages[name].dtype != storages[own].dtype:
            continue
        for other in found.stores.get(name, ()):
            names = {n for index in other.index for n in index.names}
            if (
                _stored_number(other) == number
                and other.loops == store.loops
                and other.position < store.position
                and not (names - indexed) & found.changing
                and _in_one_body(body, other.statement, store.statement, number)
                and not any(found.may_follow(other, again) for again in found.stores[name])
            ):
                return other
    return None


def _is_one_of(index: Affine, variables: set[str]) -> bool:
    """Return True if an index is one loop variable."""
    return len(index.terms) == 1 and index == named(index.names[0]) and index.names[0] in variables


def _stored_number(store: Use) -> str | None:
    """Return the name of the number that is stored; None for any other expression."""
    statement = store.statement
    assert isinstance(statement, Assign)
    value = statement.value
    if statement.how != "=" or not isinstance(value, Load) or value.index:
        return None
    return value.storage


def _in_one_body(body: list[Node], first: Node, second: Node, number: str) -> bool:
    """Return True if both stand in the same body, with one binding of the number before both."""
    if any(node is first for node in body):
        places = [k for k, node in enumerate(body) if node is first or node is second]
        if len(places) != 2:
            return False
        between = body[places[0] : places[1]]
        writes = {a.storage for node in between for a in node.accesses() if a.kind != "read"}
        leaves = any(isinstance(one, Break) for node in between for one in walk([node]))
        return number not in writes and not leaves
    return any(_in_one_body(one, first, second, number) for node in body for one in bodies(node))


def _without_unread_numbers(
    body: list[Node], storages: Mapping[str, Storage], kept: set[str]
) -> None:
    """Remove numbers that nothing reads; the lengths of an array are read where it is made."""
    while True:
        read = set(kept)
        for node in walk(body):
            if isinstance(node, Region):
                read.update(node.reads)
                continue
            if isinstance(node, Nest):
                read.update(node.dim.size.names)
                continue
            for access in node.accesses():
                if access.kind == "read":
                    read.add(access.storage)
                if access.storage in storages:
                    for dim in storages[access.storage].dims:
                        read.update(dim.size.names)
        gone = {
            id(node)
            for node in walk(body)
            if isinstance(node, Assign) and not node.index and node.storage not in read
        }
        if not _remove(body, gone):
            return
