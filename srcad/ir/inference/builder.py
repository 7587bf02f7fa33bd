"""Writing IR: a cursor into a block that is being built.

>>> import operator
>>> from srcad.types.numeric import FLOAT
>>> b = Builder()
>>> x = Value(FLOAT, "x")
>>> y = b.call(operator.mul, x, x, hint="y")
>>> print(y.type)
float
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from srcad.ir.constructors import Constructors
from srcad.ir.core import (
    UNDEF,
    Arg,
    Atom,
    Block,
    Call,
    Const,
    For,
    Half,
    If,
    Location,
    Op,
    Routine,
    Value,
    While,
)
from srcad.ir.inference.infer import result_type
from srcad.startup.records import dataclass, field
from srcad.types.join import join
from srcad.types.numeric import INT, Numeric
from srcad.types.sizes import fresh_extent
from srcad.types.structures import ListOf, TupleOf, Type, Undefined


@dataclass(eq=False)
class Builder(Constructors["Arg", "Value"]):
    """Collects the ops of one block; `where` and `half` are stamped on every new op."""

    ops: list[Op] = field(default_factory=list)
    where: Location | None = None
    half: Half = "primal"

    def call(
        self,
        target: Any,
        *args: Arg,
        kwargs: Iterable[tuple[str, Arg]] = (),
        hint: str | None = None,
        effect: bool = False,
        type: Type | None = None,
        result: Value | None = None,
    ) -> Value:
        """Append ``target(*args, **kwargs)`` and return its result, which may be given."""
        kwargs = tuple(kwargs)
        if result is None and type is None:
            type = (
                _routine_type(target)
                if isinstance(target, Routine)
                else result_type(target, args, kwargs)
            )
        if result is None:
            assert type is not None
            result = Value(type, hint)
        self.ops.append(Call(target=target, args=args, result=result, kwargs=kwargs, effect=effect,
                             where=self.where, half=self.half))  # fmt: skip
        return result

    def _construct(self, target: Any, *args: Arg, **how: Any) -> Value:
        return self.call(target, *args, **how)

    def at(self, where: Location | None) -> Placing:
        """Stamp the ops made meanwhile with a place."""
        return Placing(self, where)

    @contextmanager
    def block(self) -> Iterator[Builder]:
        """Yield a builder for an inner block, at the same place in the source."""
        yield Builder(where=self.where, half=self.half)

    def if_(self, test: Atom, then: Block, orelse: Block) -> tuple[Value, ...]:
        """Append a conditional; its results have the joined types of its blocks' results."""
        pairs = zip(then.results, orelse.results, strict=True)
        outputs = tuple(Value(_joined(a, b), _common_hint(a, b)) for a, b in pairs)
        self.ops.append(If(test=test, then=then, orelse=orelse, outputs=outputs,
                           where=self.where, half=self.half))  # fmt: skip
        return outputs

    def for_(
        self,
        seqs: tuple[Arg, ...],
        inits: tuple[Atom, ...],
        body: Block,
        *,
        backward: bool = False,
        count: Atom | None = None,
        segments: tuple[Atom, ...] = (),
    ) -> tuple[Value, ...]:
        """Append a `For`; results are ``(tag, trips, carried..., lists...)``."""
        outputs = _loop_outputs(body, inits, len(seqs))
        self.ops.append(For(seqs=seqs, inits=inits, body=body, outputs=outputs, backward=backward,
                            count=count, segments=segments, where=self.where,
                            half=self.half))  # fmt: skip
        return outputs

    def while_(self, inits: tuple[Atom, ...], test: Block, body: Block) -> tuple[Value, ...]:
        """Append a `While`; results are ``(tag, trips, carried..., lists...)``."""
        outputs = _loop_outputs(body, inits, 0)
        self.ops.append(While(inits=inits, test=test, body=body, outputs=outputs,
                              where=self.where, half=self.half))  # fmt: skip
        return outputs

    def finish(self, *results: Atom, params: tuple[Value, ...] = ()) -> Block:
        """Return the block built so far, yielding `results`."""
        return Block(params, tuple(self.ops), results)


class Placing:
    """The context in which a builder's ops are stamped with a place (it is entered often)."""

    __slots__ = ("before", "builder", "where")

    def __init__(self, builder: Builder, where: Location | None) -> None:
        self.builder = builder
        self.where = where

    def __enter__(self) -> None:
        self.before, self.builder.where = self.builder.where, self.where

    def __exit__(self, *_: object) -> None:
        self.builder.where = self.before


def atom_type(atom: Atom) -> Type:
    """Return the type of an atom; `UNDEF` has none."""
    if isinstance(atom, Const) and atom.value is UNDEF.value:
        return Undefined()
    return atom.type


def _joined(a: Atom, b: Atom) -> Type:
    return join(atom_type(a), atom_type(b))


def _common_hint(a: Atom, b: Atom) -> str | None:
    for atom in (a, b):
        if isinstance(atom, Value) and atom.hint:
            return atom.hint
    return None


def _routine_type(routine: Routine) -> Type:
    if routine.function is None:
        return TupleOf(())
    return TupleOf(tuple(atom_type(r) for r in routine.function.block.results))


def outer_type(type_: Type) -> Type:
    """Return the type outside a loop of a value from inside: lengths may differ per iteration."""
    if isinstance(type_, Numeric) and type_.shape is not None:
        shape = tuple(_outer_extent(e) for e in type_.shape)
        value = type_.value if type_.value is not None and not type_.value.terms else None
        return Numeric(type_.dtype, shape, type_.form, value)
    return type_


def _outer_extent(extent: Any) -> Any:
    local = any(symbol.example is None for symbol, _ in extent.terms)
    return fresh_extent() if local else extent


def _loop_outputs(body: Block, inits: tuple[Atom, ...], items: int) -> tuple[Value, ...]:
    width = len(inits)
    carried = body.params[items:]
    tag, trips = Value(INT, "tag"), Value(INT, "trips")
    kept = tuple(
        Value(outer_type(join(atom_type(init), atom_type(result))), param.hint)
        for init, param, result in zip(inits, carried, body.results[1 : 1 + width], strict=True)
    )
    lists = tuple(
        Value(ListOf(atom_type(r)), f"{r.hint}_saved" if isinstance(r, Value) and r.hint else None)
        for r in body.results[1 + width :]
    )
    return (tag, trips, *kept, *lists)
