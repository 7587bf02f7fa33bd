"""Construction of loop nests: names, storages, elementwise nests, guards, equal lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcad.backends.interface import NotCovered
from srcad.backends.numba.loops import (
    ONE,
    ZERO,
    Access,
    Affine,
    Apply,
    Assign,
    Constant,
    Dim,
    Expr,
    Guard,
    Integer,
    Lines,
    Load,
    Nest,
    Node,
    Storage,
    defined_in,
    has_axis,
    loads,
    may_leave,
    named,
    names_of,
    same_dim,
    whole,
)
from srcad.backends.numba.representations import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    Array,
    Number,
    Rep,
    at,
    axes,
    of_storage,
)
from srcad.backends.python.naming.names import fresh
from srcad.ir.core import Location
from srcad.startup.identifiers import identifier
from srcad.startup.records import dataclass, field
from srcad.types.numeric import DType
from srcad.types.sizes import Extent, Symbol, is_one, resolved, same

RESERVED = frozenset(
    {"np", "math", "numba", "Deopt", "abs", "min", "max", "range", "len", "float", "int", "bool",
     "exp", "expm1", "log", "log1p", "log2", "log10", "tanh", "sin", "cos", "tan", "sinh", "cosh",
     "erf", "power", "logaddexp", "sign", "maximum", "minimum", "fmax", "fmin", "expit",
     "add_any_order", "square", "grown", "cholesky", "solve", "solve_lower", "inverse",
     "lower_inverse", "determinant", "gemm_nn", "gemm_nt", "gemm_tn", "gemm_tt", "gemv_n",
     "gemv_t", "True", "False", "None"}
)  # fmt: skip


@dataclass(eq=False)
class Builder:
    """The statements of a function while it is lowered.

    Attributes
    ----------
    storages : dict
        The arrays by name.
    symbols : dict
        The integers that the symbols of the types stand for.
    body : list of Node
        The statements of the innermost body.
    where : Location, optional
        The place of the operation that is being lowered.
    """

    storages: dict[str, Storage] = field(default_factory=dict)
    symbols: dict[Symbol, Affine] = field(default_factory=dict)
    body: list[Node] = field(default_factory=list)
    where: Location | None = None
    taken: set[str] = field(default_factory=lambda: set(RESERVED))
    groups: dict[str, str] = field(default_factory=dict)
    facts: dict[tuple[str, str], tuple[list[Node], Any]] = field(default_factory=dict)
    guards: dict[tuple[int, str], list[Node]] = field(default_factory=dict)
    changing: set[str] = field(default_factory=set)
    bounds: dict[str, Affine] = field(default_factory=dict)
    numbers: dict[Any, tuple[list[Node], str]] = field(default_factory=dict)
    branches: list[int] = field(default_factory=list)
    most: dict[str, Affine] = field(default_factory=dict)
    least: dict[str, Affine] = field(default_factory=dict)
    level: dict[str, int] = field(default_factory=dict)
    bodies: list[list[Node]] = field(default_factory=list)
    _last: dict[str, int] = field(default_factory=dict)
    _variables: int = 0

    def __post_init__(self) -> None:
        self.bodies.append(self.body)

    # ------------------------------------------------------------------------------ names
    def level_of(self, name: str) -> int:
        """Return the nesting depth, in bodies of control flow, of the definition of a name."""
        return self.level.get(name, 0)

    def fresh(self, hint: object) -> str:
        """Return an unused name."""
        name = fresh(identifier(hint or "t"), self.taken, self._last)
        self.taken.add(name)
        self.level[name] = len(self.bodies) - 1
        return name

    def variable(self) -> str:
        """Return a placeholder for the loop variable of a nest; printing gives it its letter."""
        self._variables += 1
        return f"%{self._variables}"

    def group_of(self, storage: str) -> str:
        """Return the name of the group of storages that may share memory."""
        while storage in self.groups:
            storage = self.groups[storage]
        return storage

    def share(self, a: str, b: str) -> None:
        """Note that two storages may be the same memory."""
        first, second = self.group_of(a), self.group_of(b)
        if first != second:
            self.groups[second] = first

    # -------------------------------------------------------------------------- statements
    def saved(self) -> tuple[Any, ...]:
        """Return a snapshot of the statements, for `restore`."""
        statements = [list(body) for body in self.bodies]
        return statements, dict(self.numbers), dict(self.facts), dict(self.guards)

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Remove the statements that were added since a snapshot."""
        statements, self.numbers, self.facts, self.guards = saved
        for body, before in zip(self.bodies, statements, strict=True):
            body[:] = before

    def known(self, storage: str, what: str) -> Any:
        """Return a fact about the entries of a storage that holds here, or None."""
        body, value = self.facts.get((storage, what), (None, None))
        return value if any(body is one for one in self.bodies) else None

    def learn(self, storage: str, what: str, value: Any) -> None:
        """Record a fact about the entries of a storage, for the rest of the innermost body."""
        self.facts[storage, what] = (self.body, value)

    def written(self, storage: str) -> None:
        """Discard the facts about a storage, and about those that may share its memory."""
        group = self.group_of(storage)
        self.facts = {k: v for k, v in self.facts.items() if self.group_of(k[0]) != group}
        for one in self.storages.values():
            if one.is_lower_triangle and self.group_of(one.name) == group:
                one.is_lower_triangle = False

    def emit(self, node: Node) -> None:
        """Add a statement."""
        self.body.append(node)

    def assign(
        self,
        expr: Expr,
        dtype: DType,
        hint: object,
        *,
        may_be_python: bool = False,
        extent: Extent | None = None,
    ) -> Number:
        """Bind a name to a number, and return it.

        What reads no array is computed outside of the loops that it does not depend on, and once.
        """
        if _reads_entries(expr):
            name = self.fresh(hint)
            self.emit(Assign(name, (), expr, "=", self.where))
            return Number(Load(name), dtype, may_be_python, extent)
        level = self._level(expr)
        key = (level, str(expr), dtype)
        known = self.numbers.get(key)
        if known is None or known[0] is not self.bodies[level]:
            name = self._bound(expr, hint, level)
            known = self.numbers[key] = (self.bodies[level], name)
        return Number(Load(known[1]), dtype, may_be_python, extent)

    def _level(self, expr: Expr) -> int:
        """Return the depth of the outermost body that can compute an expression.

        That is inside the branch of a condition, if there is one around.
        """
        read = {*names_of(expr), *(load.storage for load in loads(expr))}
        level = max((self.level_of(name) for name in read), default=0)
        return min(max(level, *self.branches, 0), len(self.bodies) - 1)

    def _bound(self, expr: Expr, hint: object, level: int) -> str:
        """Bind a name in an enclosing body, after the definitions of its operands."""
        name = self.fresh(hint)
        self.level[name] = level
        node = Assign(name, (), expr, "=", self.where)
        body = self.bodies[level]
        body.insert(len(body) if body is self.body else self.earliest(body, node), node)
        return name

    def guard(self, test: Expr) -> None:
        """Add a guard that raises `Deopt` if `test` holds, at the earliest possible position."""
        level = len(self.bodies) - 1 if _reads_entries(test) else self._level(test)
        body = self.bodies[level]
        key = (level, str(test))
        if self.guards.get(key) is body:
            return
        if not _reads_entries(test) and not self._is_carried(test):
            self.guards[key] = body
        body.insert(self.earliest(body, Guard(test)), Guard(test, self.where))

    def guard_always(self) -> None:
        """Add a statement that raises `Deopt` unconditionally."""
        self.emit(Guard(Constant("True"), self.where))

    def _is_carried(self, test: Expr) -> bool:
        """Return True if a test reads a variable that the loop around it may change."""
        read = {*names_of(test), *(load.storage for load in loads(test))}
        return any(name in self.changing for name in read)

    def earliest(self, body: list[Node], node: Node) -> int:
        """Return the position after the last statement of the body on which a node depends."""
        read = {self.group_of(a.storage) for a in node.accesses()}
        for k in range(len(body) - 1, -1, -1):
            if may_leave(body[k]):
                return k + 1
            if defined_in(body[k]) & read:
                return k + 1
            for access in body[k].accesses():
                if access.kind != "read" and self.group_of(access.storage) in read:
                    return k + 1
        return 0

    def storage(self, hint: object, dims: Sequence[Dim], dtype: DType) -> Storage:
        """Return a new storage."""
        made = Storage(self.fresh(hint), list(dims), dtype)
        self.storages[made.name] = made
        return made

    def nest(self, dims: Sequence[Dim], inside: Callable[[tuple[Affine, ...]], list[Node]]) -> None:
        """Add loops over lengths around the statements for their indices."""
        variables = [None if dim.size == ONE else self.variable() for dim in dims]
        body = inside(tuple(ZERO if v is None else named(v) for v in variables))
        for variable, dim in zip(reversed(variables), reversed(dims), strict=True):
            if variable is not None:
                body = [Nest(variable, dim, body)]
        for node in body:
            self.emit(node)

    def filled(
        self,
        dims: Sequence[Dim],
        entry: Callable[[tuple[Affine, ...]], Expr],
        dtype: DType,
        hint: object,
    ) -> Array:
        """Return a new array, computed entry by entry."""
        made = self.storage(hint, dims, dtype)
        self.nest(dims, lambda i: [Assign(made.name, i, entry(i), "=", self.where)])
        return of_storage(made.name, tuple(dims), dtype)

    def copied(self, array: Array, hint: object = "copy") -> Array:
        """Return a copy in C order, in a new storage."""
        return self.filled(array.dims, lambda i: at(array.entry, i), array.dtype, hint)

    def whole(self, array: Array, hint: object = "copy") -> Array:
        """Return the array itself if it is a whole storage in order; otherwise a copy."""
        return array if self.is_whole(array) else self.copied(array, hint)

    def is_whole(self, array: Array) -> bool:
        """Return True if an array is all of a storage, with its axes in order."""
        if not array.is_in_order:
            return False
        dims = self.storages[array.storage or ""].dims
        return len(dims) == len(array.dims) and all(map(same_dim, dims, array.dims))

    def zeros(self, dims: Sequence[Dim], dtype: DType, hint: object) -> Array:
        """Return a new array of zeros."""
        return self.filled(dims, lambda _: zero_of(dtype), dtype, hint)

    def call(
        self,
        line: str,
        reads: Sequence[str],
        result: Storage | None = None,
        defines: Sequence[str] = (),
    ) -> None:
        """Add a call of a library that reads whole storages and allocates its result."""
        touched = [Access(name, "read", None) for name in reads]
        if result is not None:
            touched.append(Access(result.name, "write", None))
        self.emit(Lines((line,), tuple(touched), tuple(defines), self.where))

    # ----------------------------------------------------------------------------- lengths
    def affine_of(self, extent: Extent | None) -> Affine | None:
        """Return an extent as an affine integer; None if one of its symbols has no name."""
        if extent is None:
            return None
        extent = resolved(extent)
        result = whole(extent.constant)
        for symbol, k in extent.terms:
            known = self.symbols.get(symbol)
            if known is None:
                return None
            result = result.plus(known, k)
        return result

    def note(self, extent: Extent | None, value: Affine) -> None:
        """Record the integer of a symbol, if `extent` is a symbol without one."""
        if extent is None:
            return
        extent = resolved(extent)
        if len(extent.terms) == 1 and extent.terms[0][1] == 1:
            symbol = extent.terms[0][0]
            self.symbols.setdefault(symbol, value - whole(extent.constant))

    def dim(self, extent: Extent | None, size: Affine | None = None) -> Dim:
        """Return the length of an axis from its extent in the types, by default `size`."""
        known = self.affine_of(extent)
        if known is None and size is not None:
            self.note(extent, size)
        chosen = known if known is not None else size
        if chosen is None:
            raise NotCovered("an array of a length that is not known before the call", self.where)
        return Dim(chosen, extent)

    def is_one(self, dim: Dim) -> bool:
        """Return True if a length is certainly 1; other axes are not broadcast."""
        if not dim.size.terms:
            return dim.size.constant == 1
        return dim.extent is not None and is_one(dim.extent) is True

    def same(self, a: Dim, b: Dim) -> None:
        """Require two lengths to be equal, with a guard unless it is proved."""
        if same_dim(a, b):
            return
        if a.extent is not None and b.extent is not None and same(a.extent, b.extent):
            return
        self.guard(Apply("!=", (Integer(a.size), Integer(b.size))))

    def broadcast(self, arrays: Sequence[Rep]) -> tuple[Dim, ...]:
        """Return the lengths of arrays that are broadcast together."""
        found = [a for a in arrays if isinstance(a, Array)]
        rank = max((len(a.dims) for a in found), default=0)
        result: list[Dim] = []
        for k in range(-rank, 0):
            dims = [a.dims[k] for a in found if len(a.dims) >= -k]
            longer = [d for d in dims if not self.is_one(d)] or dims
            best = next((d for d in longer if not d.size.terms), longer[0])
            for other in longer:
                if other is not best:
                    self.same(best, other)
            result.append(best)
        return tuple(result)

    def entry(self, rep: Rep, index: tuple[Affine, ...], dims: Sequence[Dim]) -> Expr:
        """Return the entry of an operand that is broadcast to these lengths, at an index."""
        if isinstance(rep, Number):
            return rep.expr
        if not isinstance(rep, Array):
            raise NotCovered("an operand that is no number", self.where)
        behind = index[len(index) - len(rep.dims) :]
        beside = dims[len(dims) - len(rep.dims) :]
        places = tuple(
            ZERO if self.is_one(mine) and not self.is_one(other) else i
            for i, mine, other in zip(behind, rep.dims, beside, strict=True)
        )
        return at(rep.entry, places)

    # -------------------------------------------------------------------------- elementwise
    def elementwise(
        self,
        make: Callable[[list[Expr]], Expr],
        operands: Sequence[Rep],
        dtype: DType,
        hint: object,
        *,
        may_be_python: bool = False,
        extent: Extent | None = None,
        into: Array | None = None,
    ) -> Number | Array:
        """Return the result of an operation that acts entry by entry.

        With `into`, an array of the shape of the result, it is written there.
        """
        arrays = [rep for rep in operands if isinstance(rep, Array)]
        if not arrays:
            exprs = [self.entry(rep, (), ()) for rep in operands]
            return self.assign(make(exprs), dtype, hint, may_be_python=may_be_python, extent=extent)
        dims = self.broadcast(operands)
        if into is None and not any(has_axis(rep.entry) for rep in arrays):
            one = self.assign(
                make([self.entry(r, axes(len(dims)), dims) for r in operands]), dtype, hint
            )
            return Array(one.expr, dims, dtype)
        if into is None:
            return self.filled(
                dims, lambda i: make([self.entry(r, i, dims) for r in operands]), dtype, hint
            )
        target = into
        self.written(target.storage or "")

        def inside(i: tuple[Affine, ...]) -> list[Node]:
            place = at(target.entry, i)
            assert isinstance(place, Load)
            value = make([self.entry(r, i, dims) for r in operands])
            return [Assign(place.storage, place.index, value, "=", self.where)]

        self.nest(dims, inside)
        return target

    def number(self, rep: Rep) -> Number:
        """Return the number as a constant or as a variable."""
        if isinstance(rep, Array) and not rep.dims:
            return self.assign(at(rep.entry, ()), rep.dtype, "t")
        if not isinstance(rep, Number):
            raise NotCovered("an array in the place of a number", self.where)
        return rep

    def named_value(self, expr: Expr, hint: object) -> Affine:
        """Bind a name to an integer that is read from an array, at the current position."""
        name = self.fresh(hint)
        self.emit(Assign(name, (), expr, "=", self.where))
        return named(name)

    def size_of(self, dims: Sequence[Dim], hint: str = "size") -> Affine:
        """Return a product of lengths as an integer."""
        constant, factors = 1, []
        for dim in dims:
            if dim.size.terms:
                factors.append(dim.size)
            else:
                constant *= dim.size.constant
        if not factors or constant == 0:
            return whole(constant)
        if len(factors) == 1:
            return factors[0].scaled(constant)
        expr: Expr = Integer(factors[0])
        for factor in factors[1:]:
            expr = Apply("*", (expr, Integer(factor)))
        if constant != 1:
            expr = Apply("*", (Integer(whole(constant)), expr))
        return self.named_here(expr, hint)

    def named_here(self, expr: Expr, hint: object) -> Affine:
        """Bind a name to an integer expression, outside the loops that do not change it."""
        read = {*names_of(expr), *(load.storage for load in loads(expr))}
        level = max((self.level_of(name) for name in read), default=0)
        level = min(level, len(self.bodies) - 1)
        key = (level, str(expr), INT64)
        known = self.numbers.get(key)
        if known is None or known[0] is not self.bodies[level]:
            name = self.fresh(hint)
            self.level[name] = level
            node = Assign(name, (), expr, "=", self.where)
            body = self.bodies[level]
            body.insert(self.earliest(body, node), node)
            known = self.numbers[key] = (body, name)
        return named(known[1])


def _reads_entries(test: Expr) -> bool:
    return any(load.index for load in loads(test))


def zero_of(dtype: DType) -> Expr:
    """Return the zero of a dtype as a constant."""
    if dtype.kind == "i":
        return Integer(ZERO)
    return Constant("0.0" if dtype.kind == "f" else "False")


def converted(expr: Expr, of: DType, to: DType) -> Expr:
    """Return an expression converted to another dtype."""
    if of == to:
        return expr
    if to == FLOAT64:
        return Apply("np.float64", (expr,))
    if to == FLOAT32:
        return Apply("np.float32", (expr,))
    if to == INT64:
        return Apply("int" if of.kind == "f" else "np.int64", (expr,))
    if to == BOOL:
        zero = zero_of(of if of.kind in "fb" else INT64)
        return Apply("!=", (expr, zero))
    raise NotCovered(f"a conversion from {of} to {to}")


def covered_dtype(dtype: Any) -> DType:
    """Return a dtype if the backend supports it.

    Raises
    ------
    NotCovered
        It is another one, or is not known.
    """
    if dtype is None:
        raise NotCovered("a value of a dtype that is not known before the call")
    found: DType = np.dtype(dtype)
    if found not in (FLOAT64, FLOAT32, INT64, BOOL) or not found.isnative:
        raise NotCovered(f"a value of dtype {found}")
    return found
