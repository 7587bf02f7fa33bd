"""Bookkeeping of the forward sweep: the tangent of each value.

A tangent is `None` where it is zero, the zero that costs nothing; for a tuple, dict or record it is
a tuple of the tangents of its parts; for everything else an atom.  Values are immutable and
defined once, so one table serves all blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from srcad import runtime
from srcad.analysis.activity_trees import Activity, fully_active, part
from srcad.errors import UnsupportedSyntaxError
from srcad.ir.core import (
    UNDEF,
    Arg,
    Atom,
    Block,
    Call,
    Const,
    Display,
    For,
    If,
    Op,
    Value,
    While,
    carried_outputs,
    walk,
)
from srcad.ir.inference.builder import Builder, atom_type
from srcad.ir.traits import is_same
from srcad.startup.records import dataclass, field, replace
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.gradients import converted
from srcad.transforms.sweep import cotangent_type, is_nothing, is_scalar, zero_of
from srcad.types.numeric import Numeric
from srcad.types.structures import OPAQUE, Fixed, ListOf, Opaque, TupleOf, Type

Tangent = Any


@dataclass(eq=False)
class ForwardScope:
    """The tangents known while the ops of one block are followed.

    `scope` writes into the block; `dots` are the tangents of all values so far; `push` follows the
    ops of a block inside.  It is `hollow` at the end of a routine, which returns None in the place
    of what a branch that was not taken would have saved.  The tangents of `spelled_out` values are
    written also where they are zero; `read` are the results of routines that were read from what
    the call of the routine with tangents returns.
    """

    scope: ReverseScope
    push: Callable[[ForwardScope, Block], None]
    dots: dict[Value, Tangent] = field(default_factory=dict)
    hollow: bool = False
    spelled_out: frozenset[Value] = frozenset()
    read: set[Value] = field(default_factory=set)

    def inner(self) -> ForwardScope:
        """Return the scope of a block inside an op of this one."""
        inside = self.scope.inner(Block(), "branch")
        return replace(self, scope=inside)

    @property
    def builder(self) -> Builder:
        """The builder that operations are appended to."""
        return self.scope.builder

    def tree(self, value: Value) -> Activity:
        """Which parts of a value have a tangent that reaches the result."""
        if value in self.spelled_out:
            return fully_active(value.type)
        return self.scope.sweep.facts.active(value)

    # -------------------------------------------------------------- asking
    def of(self, arg: Arg) -> Tangent:
        """Return the tangent of an argument; None if it is zero."""
        if isinstance(arg, Value):
            return self.dots.get(arg)
        if isinstance(arg, Display) and arg.kind in ("tuple", "list"):
            return _none_if_zero(tuple(map(self.of, arg.items)))
        return None

    def put(self, value: Value, dot: Tangent) -> None:
        dot = self._opened(value.type, self.tree(value), dot)
        if dot is None:
            return
        if isinstance(dot, Value) and dot.hint is None:
            dot.hint = dot_hint(value)
        self.dots[value] = dot

    def _opened(self, type_: Type, tree: Activity, dot: Tangent) -> Tangent:
        """Return a tangent with the parts of structures taken apart."""
        if dot is None or tree is False or _is_nothing(dot):
            return None
        if not isinstance(type_, TupleOf):
            return dot
        return _none_if_zero(
            tuple(
                self._opened(t, part(tree, k), self._part(type_, dot, k))
                for k, t in enumerate(type_.items)
            )
        )

    def _part(self, type_: TupleOf, dot: Tangent, k: int) -> Tangent:
        if isinstance(dot, tuple):
            return dot[k]
        given = atom_type(dot)
        if isinstance(given, TupleOf):
            return None if is_nothing(given.items[k]) else self.scope.part(dot, given, k)
        return self.scope.part(dot, type_, k)

    def as_result(self, y: Atom) -> None:
        """Bring the tangents of the numbers in a result into their kinds."""
        if isinstance(y, Value) and self.of(y) is not None:
            self.dots[y] = self._in_kind(y.type, y, self.of(y))

    def _in_kind(self, type_: Type, y: Value, dot: Tangent) -> Tangent:
        if isinstance(dot, tuple) and isinstance(type_, TupleOf):
            return tuple(
                None if one is None else self._in_kind(t, self.scope.child(type_, y, k), one)
                for k, (t, one) in enumerate(zip(type_.items, dot, strict=True))
            )
        if isinstance(type_, Numeric) and type_.form in ("python", "numpy"):
            return converted(self.scope, type_, dot, y, dot_hint(y))
        return dot

    # -------------------------------------------------------------- spelling out
    def full(self, arg: Atom, tree: Activity | None = None) -> Atom:
        """Return the tangent of a value as one atom, with its zeros spelled out."""
        wanted = fully_active(atom_type(arg)) if tree is None else tree
        return self._full(arg, atom_type(arg), wanted, self.of(arg))

    def _full(self, atom: Atom, type_: Type, tree: Activity, dot: Tangent) -> Atom:
        if atom == UNDEF:
            return UNDEF
        if tree is False:
            return Const(None)
        if _is_nothing(dot):
            dot = None
        if isinstance(type_, TupleOf):
            parts = [
                self._full(
                    self._child(type_, atom, k),
                    t,
                    part(tree, k),
                    None if dot is None else self._part(type_, dot, k),
                )
                for k, t in enumerate(type_.items)
            ]
            return self.scope.build_like(type_, parts)
        if isinstance(dot, tuple):
            return self._of_saved(atom, tree, dot)
        if dot is None:
            return self._zeros(atom, type_, tree)
        if isinstance(type_, ListOf) and _lacks_parts(type_.item, tree, _item_of(dot)):
            return self._full_items(atom, type_, tree, dot)
        found: Atom = dot
        return found

    def _full_items(self, atom: Atom, type_: ListOf, tree: Activity, dot: Atom) -> Atom:
        """Return the tangent of a list, with the zeros of its items spelled out."""
        inside = self.inner()
        item, item_dot = Value(type_.item), Value(_item_of(dot))
        row = inside._full(item, type_.item, tree, item_dot)
        body = inside.builder.finish(Const(0), row, params=(item, item_dot))
        return self.builder.for_((atom, dot), (), body)[2]

    def _of_saved(self, atom: Atom, tree: Activity, dot: tuple[Tangent, ...]) -> Atom:
        """Return the tangent of what a routine has saved, a tuple unlike its type."""
        parts = []
        for k, one in enumerate(dot):
            wanted = part(tree, k)
            if one is None and wanted is not False:
                value = self.builder.item(atom, k, type=OPAQUE)
                one = self.builder.call(runtime.zero_cotangent, value, type=OPAQUE)
            elif isinstance(one, tuple):
                one = self._of_saved(self.builder.item(atom, k, type=OPAQUE), wanted, one)
            parts.append(Const(None) if one is None else one)
        return self.builder.build_tuple(*parts)

    def _child(self, type_: TupleOf, atom: Atom, k: int) -> Atom:
        return self.scope.child(type_, atom, k)

    def _zeros(self, atom: Atom, type_: Type, tree: Activity) -> Atom:
        if is_scalar(type_):
            return zero_of(type_)
        if isinstance(type_, Opaque) and isinstance(atom, Const):
            return Const(None)
        if atom in self.scope.sweep.undefined:
            raise UnsupportedSyntaxError(
                "forward mode needs the shape of a value that only one path has bound",
                where=self.builder.where,
                why="there its tangent is zero, and on another path it is not.",
                help="bind the name before the branch or the loop:  y = np.zeros(n)",
            )
        if isinstance(type_, Opaque) and type_.cls is None:  # what it is, is known at the call
            return self.builder.call(runtime.zero_cotangent, atom, type=type_)
        if isinstance(type_, ListOf) and self.hollow:
            return self.builder.call(runtime.zero_cotangent, atom, type=cotangent_type(type_))
        return self.scope.zeros_of(type_, tree, atom)

    def spelled(self, arg: Arg, dot: Tangent) -> Arg:
        """Return the tangent of an argument in the form of the argument, with zeros."""
        if isinstance(arg, Display):
            dots = (None,) * len(arg.items) if dot is None else dot
            parts = zip(arg.items, dots, strict=True)
            return Display(arg.kind, tuple(self.spelled(one, d) for one, d in parts))
        type_ = atom_type(arg)
        if dot is None and isinstance(type_, Fixed) and isinstance(type_.value, int | float):
            return Const(0.0)
        if dot is None and isinstance(type_, Numeric) and type_.kind == "b":
            return self._zeros(arg, type_, True)  # a flag beside numbers counts as 0 or 1
        return self._full(arg, type_, fully_active(type_), dot)


def _item_of(dot: Atom) -> Type:
    """Return the type of the items of a list of tangents."""
    type_ = atom_type(dot)
    return type_.item if isinstance(type_, ListOf) else OPAQUE


def _lacks_parts(type_: Type, tree: Activity, given: Type) -> bool:
    """Return True if a tangent is None where a part of a structure is wanted."""
    if tree is False:
        return False
    if isinstance(type_, TupleOf) and isinstance(given, TupleOf):
        parts = enumerate(zip(type_.items, given.items, strict=True))
        return any(_lacks_parts(t, part(tree, k), one) for k, (t, one) in parts)
    if isinstance(type_, ListOf) and isinstance(given, ListOf):
        return _lacks_parts(type_.item, tree, given.item)
    return is_nothing(given)


def _none_if_zero(parts: tuple[Tangent, ...]) -> Tangent:
    """Return the tangent of a structure; None if all of it is zero."""
    return parts if any(one is not None for one in parts) else None


def _is_nothing(dot: Tangent) -> bool:
    if dot is None or isinstance(dot, tuple):
        return False
    return dot == Const(None) or is_nothing(atom_type(dot))


def unbound_with_tangents(
    block: Block, active: Callable[[Value], Activity], unbound: Collection[Value]
) -> frozenset[Value]:
    """Return the values that may be unbound and that become part of a value with a tangent.

    Where they have been bound their zeros can be made; later nobody can tell their shape.
    """
    found: set[Value] = set()
    size = -1
    while size != len(found):
        size = len(found)
        for op in walk(block):
            for result, sources in _sources(op):
                if result in found or active(result) is not False:
                    found.update(s for s in sources if isinstance(s, Value) and s in unbound)
    return frozenset(found)


def _sources(op: Op) -> Iterator[tuple[Value, tuple[Arg, ...]]]:
    """Yield the values that an op may hand on as they are, each with what it may be."""
    match op:
        case Call(target=target, args=args, result=result) if is_same(target):
            yield result, args[:1]
        case If(then=then, orelse=orelse, outputs=outputs):
            for output, *arms in zip(outputs, then.results, orelse.results, strict=True):
                yield output, tuple(arms)
        case For() | While():
            after = op.body.results[1:]
            rows = zip(carried_outputs(op), op.carried, op.inits, after, strict=False)
            for output, param, init, last in rows:
                yield output, (param, init, last)
                yield param, (init, last)


def dot_hint(value: Value) -> str | None:
    """Return the name of the tangent of a value."""
    return f"{value.hint}_dot" if value.hint else None
