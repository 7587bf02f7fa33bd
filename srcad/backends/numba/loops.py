"""Loop nests: affine indices, expressions of one entry, statements, and their memory accesses.

This is what the compiled backend writes.  A value of the IR that is an array is a *storage*; a
number is a storage without axes.  Whatever decides on the order of statements (`fusion`) asks for
the accesses of a node, and never looks at its text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from srcad.ir.core import Location
from srcad.startup.records import dataclass
from srcad.types.sizes import Extent, resolved

AXIS = "@"  # an axis of a view in an entry: "@0", "@1", ...


# -------------------------------------------------------------------------- affine integers
@dataclass(frozen=True)
class Affine:
    """An integer ``sum(coefficient * name) + constant``; its terms are sorted by name."""

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    def __add__(self, other: Affine) -> Affine:
        return self.plus(other, 1)

    def __sub__(self, other: Affine) -> Affine:
        return self.plus(other, -1)

    def plus(self, other: Affine, factor: int) -> Affine:
        """Return the sum with a multiple of another one."""
        terms = dict(self.terms)
        for name, k in other.terms:
            terms[name] = terms.get(name, 0) + factor * k
        kept = tuple((name, terms[name]) for name in sorted(terms) if terms[name])
        return Affine(kept, self.constant + factor * other.constant)

    def scaled(self, factor: int) -> Affine:
        """Return a multiple."""
        return Affine().plus(self, factor)

    def replaced(self, by: Mapping[str, Affine]) -> Affine:
        """Substitute integers for some of the names."""
        if not any(name in by for name, _ in self.terms):
            return self
        result = Affine((), self.constant)
        for name, k in self.terms:
            result = result.plus(by.get(name) or named(name), k)
        return result

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the terms."""
        return tuple(name for name, _ in self.terms)

    def __str__(self) -> str:
        parts: list[str] = []
        for name, k in sorted(self.terms, key=_positive_first):
            size = name if abs(k) == 1 else f"{abs(k)} * {name}"
            sign = ("- " if k < 0 else "+ ") if parts else ("-" if k < 0 else "")
            parts.append(sign + size)
        if self.constant or not parts:
            sign = ("- " if self.constant < 0 else "+ ") if parts else ""
            parts.append(f"{sign}{abs(self.constant) if parts else self.constant}")
        return " ".join(parts)


def _positive_first(term: tuple[str, int]) -> tuple[bool, str]:
    return term[1] < 0, term[0]


def named(name: str) -> Affine:
    """Return the affine integer of one name."""
    return Affine(((name, 1),))


def whole(value: int) -> Affine:
    """Return a constant integer."""
    return Affine((), int(value))


ZERO, ONE = whole(0), whole(1)


@dataclass(frozen=True, eq=False)
class Dim:
    """The length of an axis, as an affine integer and as an extent of the types."""

    size: Affine
    extent: Extent | None = None


def same_dim(a: Dim, b: Dim) -> bool:
    """Return True if two lengths are certainly equal."""
    if a.size == b.size:
        return True
    return (
        a.extent is not None and b.extent is not None and resolved(a.extent) == resolved(b.extent)
    )


# ------------------------------------------------------------------------- expressions
@dataclass(frozen=True, eq=False)
class Load:
    """An entry of a storage; of a 0-d storage, its only entry."""

    storage: str
    index: tuple[Affine, ...] = ()


@dataclass(frozen=True, eq=False)
class Constant:
    """A constant in generated code."""

    text: str


@dataclass(frozen=True, eq=False)
class Integer:
    """An affine integer as an operand."""

    value: Affine


@dataclass(frozen=True, eq=False)
class Apply:
    """An operation on expressions.

    `form` is an operator (``+``), ``if`` for a choice (condition, then, else), or the name of a
    function.
    """

    form: str
    args: tuple[Expr, ...]


Expr = Load | Constant | Integer | Apply


def loads(expr: Expr) -> Iterator[Load]:
    """Yield the loads in an expression."""
    if isinstance(expr, Load):
        yield expr
    elif isinstance(expr, Apply):
        for arg in expr.args:
            yield from loads(arg)


def names_of(expr: Expr) -> Iterator[str]:
    """Yield the names of integers in the indices of an expression."""
    if isinstance(expr, Load):
        for index in expr.index:
            yield from index.names
    elif isinstance(expr, Integer):
        yield from expr.value.names
    elif isinstance(expr, Apply):
        for arg in expr.args:
            yield from names_of(arg)


def replaced(expr: Expr, by: Mapping[str, Affine]) -> Expr:
    """Substitute integers for names in the indices of an expression."""
    match expr:
        case Load(storage, index) if index:
            return Load(storage, tuple(i.replaced(by) for i in index))
        case Load(storage, ()) if storage in by:
            return Integer(by[storage])
        case Integer(value):
            return Integer(value.replaced(by))
        case Apply(form, args):
            return Apply(form, tuple(replaced(arg, by) for arg in args))
    return expr


def with_loads(expr: Expr, change: Callable[[Load], Expr]) -> Expr:
    """Substitute expressions for the loads of an expression."""
    match expr:
        case Load():
            return change(expr)
        case Apply(form, args):
            return Apply(form, tuple(with_loads(arg, change) for arg in args))
    return expr


def has_axis(expr: Expr) -> bool:
    """Return True if an entry depends on its index in the array."""
    return any(name.startswith(AXIS) for name in names_of(expr))


# ---------------------------------------------------------------------------- statements
Kind = Literal["read", "write", "add"]
Index = tuple[Affine, ...] | None  # None: anywhere


@dataclass(frozen=True)
class Access:
    """A read or write of a storage; the index is None for all entries."""

    storage: str
    kind: Kind
    index: Index


def reads_of(expr: Expr) -> Iterator[Access]:
    """Yield the accesses of an expression."""
    for load in loads(expr):
        yield Access(load.storage, "read", load.index)
    for name in names_of(expr):
        yield Access(name, "read", ())


@dataclass(eq=False)
class Assign:
    """``storage[index] = value``, or an update such as ``+=``.

    `how` is ``=``, ``+=``, or the name of a function of what is there and the value, say
    ``add_any_order``.
    """

    storage: str
    index: tuple[Affine, ...]
    value: Expr
    how: str = "="
    where: Location | None = None

    def accesses(self) -> Iterator[Access]:
        """Yield the accesses of the statement."""
        yield from reads_of(self.value)
        for index in self.index:
            for name in index.names:
                yield Access(name, "read", ())
        if self.how == "=":
            yield Access(self.storage, "write", self.index)
        elif self.how in ("+=", "add_any_order"):
            yield Access(self.storage, "add", self.index)
        else:
            yield Access(self.storage, "read", self.index)
            yield Access(self.storage, "write", self.index)


@dataclass(eq=False)
class Guard:
    """Raise `Deopt` if a condition holds, which runs the NumPy code."""

    test: Expr
    where: Location | None = None

    def accesses(self) -> Iterator[Access]:
        """Yield the accesses of the condition."""
        yield from reads_of(self.test)


@dataclass(eq=False)
class Lines:
    """Statements as text with their accesses: calls of libraries, bindings of arrays.

    In the lines, ``{name}`` is a storage; `defines` are the names that they bind.
    """

    lines: tuple[str, ...]
    touched: tuple[Access, ...]
    defines: tuple[str, ...] = ()
    where: Location | None = None

    def accesses(self) -> Iterator[Access]:
        """Yield the listed accesses."""
        yield from self.touched


@dataclass(eq=False)
class Break:
    """``break`` out of a loop of the user's."""

    def accesses(self) -> Iterator[Access]:
        """Yield no accesses."""
        yield from ()


@dataclass(eq=False)
class Nest:
    """A loop over one axis, its iterations ordered by the dependences of accesses alone.

    One that `is_parallel` runs on several cores.
    """

    variable: str
    dim: Dim
    body: list[Node]
    is_parallel: bool = False

    def accesses(self) -> Iterator[Access]:
        """Yield the accesses of the body, and those of the length."""
        for name in self.dim.size.names:
            yield Access(name, "read", ())
        for node in self.body:
            yield from node.accesses()


@dataclass(eq=False)
class Region:
    """A loop or a conditional of the user's function: header lines, each with its body.

    `reads` are the integers and conditions that the headers name, `defines` the loop variables.
    The variable of a loop takes the values from 0 to `trips` - 1, from the last one if it
    `is_backward`; a ``while`` loop has neither.
    """

    parts: list[tuple[str, list[Node]]]
    reads: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    where: Location | None = None
    is_loop: bool = False
    trips: Affine | None = None
    is_backward: bool = False

    def accesses(self) -> Iterator[Access]:
        """Yield the accesses inside, anywhere in the storages."""
        for name in self.reads:
            yield Access(name, "read", ())
        for _, body in self.parts:
            for node in body:
                for access in node.accesses():
                    yield Access(access.storage, access.kind, () if access.index == () else None)


Node = Assign | Guard | Lines | Break | Nest | Region


def bodies(node: Node) -> list[list[Node]]:
    """Return the bodies of a node."""
    if isinstance(node, Nest):
        return [node.body]
    return [body for _, body in node.parts] if isinstance(node, Region) else []


def walk(body: Sequence[Node]) -> Iterator[Node]:
    """Yield every node, outer before inner."""
    for node in body:
        yield node
        for inner in bodies(node):
            yield from walk(inner)


def may_leave(node: Node) -> bool:
    """Return True if a statement may leave the innermost loop."""
    if isinstance(node, Break):
        return True
    is_branch = isinstance(node, Region) and not node.is_loop
    return is_branch and any(may_leave(inner) for body in bodies(node) for inner in body)


def defined_in(node: Node) -> set[str]:
    """Return the names of numbers, loop variables and arrays that are bound in a node."""
    found: set[str] = set()
    for one in walk([node]):
        if isinstance(one, Assign) and not one.index:
            found.add(one.storage)
        elif isinstance(one, Nest):
            found.add(one.variable)
        elif isinstance(one, Lines | Region):
            found.update(one.defines)
    return found


def change(node: Node, names: Mapping[str, Affine], load: Callable[[Load], Expr] | None) -> None:
    """Substitute integers for names, and expressions for loads, in a node and its bodies."""
    for one in walk([node]):
        match one:
            case Assign():
                one.value = _changed(one.value, names, load)
                one.index = tuple(i.replaced(names) for i in one.index)
            case Guard():
                one.test = _changed(one.test, names, load)
            case Nest():
                one.dim = Dim(one.dim.size.replaced(names), one.dim.extent)


def _changed(expr: Expr, names: Mapping[str, Affine], load: Callable[[Load], Expr] | None) -> Expr:
    result = replaced(expr, names) if names else expr
    return result if load is None else with_loads(result, load)


@dataclass(eq=False)
class Storage:
    """An array (or a number) that statements write and read.

    `escapes` is set where another name may come to stand for it: it is neither contracted nor made
    once for all iterations.  A `given` one is bound elsewhere: an argument, the result of a call,
    or a carried variable; into an argument nothing is written.
    """

    name: str
    dims: list[Dim]
    dtype: Any
    escapes: bool = False
    given: bool = False
    is_argument: bool = False
    is_result: bool = False
    is_lower_triangle: bool = False
