"""A derived function in all directions of a basis: in one sweep, or in several of a few each."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from srcad.errors import UnsupportedTypeError
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Atom, Call, Const, Display, Function, Op, Routine, Value
from srcad.ir.inference.builder import Builder
from srcad.ir.substitute import substituted_ops
from srcad.ir.traits import law_of_operator
from srcad.modes.basis import Basis, packed
from srcad.modes.blocks import unit_vectors
from srcad.startup.records import dataclass
from srcad.transforms.batched_loops import takes_turns
from srcad.transforms.silent import is_repeatable
from srcad.types.numeric import INT, Numeric

Flat = Callable[[Builder, dict[Value, Atom]], list[Atom]]


@dataclass(eq=False)
class Sweep:
    """Ops of a batched function that are to run in all directions of a basis.

    `params` are its parameters with the axis, and then the number of directions; where there is
    one direction only, they have none, and there is no number.
    """

    ops: Sequence[Op]
    params: Sequence[Value]
    basis: Basis
    suffix: str
    chunk_size: int | None

    def __post_init__(self) -> None:
        if self.basis.is_one_number:
            return
        if self.chunk_size is not None or takes_turns(self.ops):
            self.basis.pad()

    def results(self, builder: Builder, flat: Flat) -> list[Atom]:
        """Append the ops, and return those results that ``flat(builder, mapping)`` names."""
        if self.chunk_size is None or self.basis.is_one_number or self.basis.is_empty:
            mapping = self._mapping(builder, None)
            builder.ops.extend(substituted_ops(self.ops, mapping))
            return flat(builder, mapping)
        index, count = Value(INT, "start"), self._length()
        inside = Builder(where=builder.where, half=builder.half)
        rows = inside.call(min, Const(self.chunk_size), inside.call(operator.sub, count, index))
        mapping = self._mapping(inside, (rows, index))
        inside.ops.extend(substituted_ops(self.ops, mapping))
        body = inside.finish(Const(0), *flat(inside, mapping), params=(index,))
        seq = Display("range", (Const(0), count, Const(self.chunk_size)))
        lists = builder.for_((seq,), (), body)[2:]
        return [builder.call(np.concatenate, rows) for rows in lists]

    def _length(self) -> Atom:
        return self.basis.count if self.basis.length is None else self.basis.length

    def _mapping(self, builder: Builder, some: tuple[Atom, Atom] | None) -> dict[Value, Atom]:
        """Return the replacements of the parameters."""
        if self.basis.is_one_number:
            seeds: list[Atom] = [self._one(builder)]
            mapping: dict[Value, Atom] = {}
        else:
            seeds = unit_vectors(builder, self.basis, self.suffix, some)
            mapping = {self.params[-1]: self._length() if some is None else some[0]}
        left = iter(seeds)
        for param, tree in zip(self.params, self.basis.trees, strict=False):
            mapping[param] = packed(builder, tree, left)
        return mapping

    def _one(self, builder: Builder) -> Atom:
        """Return the seed of one number: a NumPy scalar where a Python number may raise."""
        type_ = self.basis.leaves[0].type
        one = Const(1.0 + 0j if type_.kind == "c" else 1.0)
        if type_.form != "numpy" or type_.dtype is None or not _divides_by_python(self.ops):
            return one
        return builder.call(np.complex128 if type_.kind == "c" else np.float64, one)


def _divides_by_python(ops: Iterable[Op]) -> bool:
    """Return True if a derived op, or a routine, may divide by a Python number."""
    for op in ops:
        if any(_divides_by_python(block.ops) for block in op.blocks):
            return True
        if not isinstance(op, Call):
            continue
        if isinstance(op.target, Routine):
            return True
        if op.half != "reverse":
            continue
        place = {"quotient": 1, "power": 0}.get(law_of_operator(op.target))
        if place is not None and _may_be_python(op.args[place]):
            return True
    return False


def _may_be_python(arg: Arg) -> bool:
    type_ = argument_type(arg)
    return not isinstance(arg, Const) and not (
        isinstance(type_, Numeric) and type_.form in ("numpy", "array")
    )


def split_by_dependence(ops: Sequence[Op], late: Sequence[Value]) -> tuple[list[Op], list[Op]]:
    """Return the ops that read nothing of what some parameters lead to, and the others."""
    seen: set[Value] = set(late)
    early: list[Op] = []
    behind: list[Op] = []
    for op in ops:
        read = {*op.operands, *(v for block in op.blocks for v in block.free)}
        if seen.isdisjoint(read):
            early.append(op)
        else:
            behind.append(op)
            seen.update(op.results)
    return early, behind


def refuse_effects(function: Function) -> None:
    """Refuse effects: code in several sweeps runs several times.

    Raises
    ------
    UnsupportedTypeError
        Somebody would notice.
    """
    if not is_repeatable(function):
        raise UnsupportedTypeError(
            f"the directions of {function.name!r} are not taken in chunks: it has effects",
            where=function.where,
            why="a part of it runs once for each chunk, and its effects would happen as often.",
            help="leave out chunk_size, or the effects",
        )
