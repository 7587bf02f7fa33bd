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

import operator
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from srcad import runtime
from srcad.ir import primitives
from srcad.ir.argument_types import argument_type
from srcad.ir.called_lengths import in_lengths_of_call
from srcad.ir.constructors import Constructors
from srcad.ir.core import (
    UNDEF,
    Arg,
    Atom,
    Block,
    Call,
    Const,
    Display,
    For,
    Half,
    If,
    Location,
    Op,
    Routine,
    Value,
    While,
)
from srcad.ir.inference.cases import of_any_lengths
from srcad.ir.inference.elementwise import elementwise_type
from srcad.ir.inference.grids import type_of_grid
from srcad.ir.inference.lengths import exact_type, gives_type_of
from srcad.ir.inference.probe import AXES, by_running, fallback, parameter_names
from srcad.ir.library_operations import (
    is_elementwise,
    is_ufunc_of_library,
)
from srcad.ir.operations import operation_of
from srcad.ir.traits import is_indexed
from srcad.rules import gaps, registry
from srcad.startup.identifiers import module_of
from srcad.startup.records import dataclass, field
from srcad.types.join import join
from srcad.types.numeric import INT, NUMBER, Numeric
from srcad.types.sizes import fresh_extent, has_index
from srcad.types.structures import OPAQUE, ListOf, Opaque, TupleOf, Type, Undefined, freshened

# The type of a call's result, asked of NumPy itself.
#
# Instead of one shape formula per function, a call is run on two sets of small stand-in arguments
# whose lengths and contents differ. What comes back in both runs tells the result's form and
# dtype, and every length that can be explained in both runs by the same expression of the
# operands' extents is that expression. A result whose shape depends on data disagrees between the
# runs and stays unknown. Elementwise functions, the bulk of all calls, take a short cut:
# broadcasting is decided from the extents.

# Parts of SciPy in which those with a rule that comes with srcad have no effect.
_PURE_PARTS = ("scipy.fft.", "scipy.integrate.", "scipy.optimize.", "scipy.spatial.")
_PURE_MODULES = frozenset({"numpy", "math", "cmath", "_operator", "builtins"})


def result_type(target: Any, args: tuple[Arg, ...], kwargs: tuple[tuple[str, Arg], ...]) -> Type:
    """Return the type of ``target(*args, **kwargs)``; `OPAQUE` or `NUMBER` where nothing is known.

    An entry of an array of objects may be anything, an array too.
    """
    found = _result_type(target, args, kwargs)
    is_entry = isinstance(found, Numeric) and found.kind == "O" and found.form != "array"
    return OPAQUE if is_entry else found


def _result_type(target: Any, args: tuple[Arg, ...], kwargs: tuple[tuple[str, Arg], ...]) -> Type:
    hashable = _hashable(target)
    row = operation_of(target)
    special = row.result if row is not None else None
    if special is None and is_indexed(target):
        special = _getitem_type
    found = special(args) if special is not None else None
    if found is not None:
        return found
    types = [argument_type(a) for a in args]
    if is_elementwise(target) and all(isinstance(t, Numeric | Opaque) for t in types):
        return elementwise_type(target, args, types, kwargs)
    exact = exact_type(target, args, kwargs) if hashable else None
    if exact is not None:
        return exact
    if not may_run(target):
        return fallback(target, args, kwargs)
    found = by_running(target, args, kwargs)
    if target is np.linalg.lstsq and isinstance(found, TupleOf):
        x, _, *rest = found.items  # residuals are there if the rank is full
        return found.of((x, NUMBER, *rest))
    if not _counts(target, args, kwargs):
        return found
    return OPAQUE if target is tuple else of_any_lengths(found)


def _counts(target: Any, args: tuple[Arg, ...], kwargs: tuple[tuple[str, Arg], ...]) -> bool:
    """Return True if the shape of a result depends on the contents of the operands."""
    given = [*args, *(a for _, a in kwargs)]
    if target is np.arange:
        values = [a.type for a in given if isinstance(a, Value)]
        floats = any(isinstance(t, Numeric) and t.kind not in "iu" for t in values)
        return floats or any(map(_is_any_integer, given))
    if not is_indexed(target) and any(map(_is_any_span, given)):
        return True
    if target is np.where and len(args) == 1:
        return True
    if registry.declared_result(target).any_lengths:
        return True
    named = [*zip(parameter_names(target), args, strict=False), *kwargs]
    return any(name in AXES and _is_any_integer(arg) for name, arg in named)


def _is_any_span(arg: Arg) -> bool:
    """Return True if an argument is a range or a slice with an unknown end."""
    is_span = isinstance(arg, Display) and arg.kind in ("range", "slice")
    return is_span and _is_any_integer(arg)


def _is_any_integer(arg: Arg) -> bool:
    """Return True if an argument is an integer, or an array of integers, of which none is known."""
    if isinstance(arg, Display):
        return any(map(_is_any_integer, arg.items))
    type_ = arg.type
    if isinstance(type_, ListOf):
        type_ = type_.item
    if not isinstance(arg, Value) or not isinstance(type_, Numeric) or type_.kind not in "iu":
        return False
    return type_.value is None or has_index(type_.value)


def may_run(target: Any) -> bool:
    """Return True if a function may be run on stand-ins: it has no effect, and is no user's."""
    if isinstance(target, np.ufunc):
        return is_ufunc_of_library(target)
    module = module_of(target)
    if (
        module.startswith("numpy.random")
        or "random" in type(getattr(target, "__self__", 0)).__module__
    ):
        return False
    if module.startswith(("srcad.rules.", "scipy.special.")):
        return True
    of_rules = module.startswith(("scipy.stats.", "scipy.linalg."))
    if registry.declared_result(target).dtype == "real or complex":
        return False
    if isinstance(target, types.MethodType) or of_rules:
        return registry.lookup(target) is not None
    if module.startswith(_PURE_PARTS):
        row = registry.lookup(target)
        return row is not None and row.shipped
    return module.partition(".")[0] in _PURE_MODULES or primitives.is_primitive(target)


def _hashable(target: object) -> bool:
    try:
        hash(target)
    except TypeError:
        return False
    return True


def _getitem_type(args: tuple[Arg, ...]) -> Type | None:
    container, index = argument_type(args[0]), args[1]
    if isinstance(container, ListOf):
        whole = isinstance(index, Display) and index.kind == "slice"
        return freshened(container if whole else container.item)
    if isinstance(container, TupleOf):
        if isinstance(index, Const) and isinstance(index.value, int):
            return container.items[index.value]
        result: Type = Undefined()
        for t in container.items:
            result = join(result, t)
        return result
    if isinstance(container, Numeric) and container.form == "any" and not container.shape:
        return NUMBER
    if not isinstance(container, Numeric):
        return type_of_grid(args[0], index) or OPAQUE
    first = _at_first(index)
    return None if first is index else result_type(operator.getitem, (args[0], first), ())


@gives_type_of(runtime.last_writes)
def _keeps_type(args: tuple[Arg, ...], kwargs: dict[str, Arg]) -> Type | None:
    read = result_type(operator.getitem, args, ())
    return Numeric(np.dtype(bool), read.shape, "array") if isinstance(read, Numeric) else None


def _at_first(index: Arg) -> Arg:
    """Return the index with 0 for unknown integers: each of them reads the same kind."""
    if isinstance(index, Display) and index.kind == "tuple":
        items = tuple(map(_at_first, index.items))
        return index if items == index.items else Display("tuple", items)
    type_ = argument_type(index)
    if isinstance(index, Const | Display) or not isinstance(type_, Numeric):
        return index
    return Const(0) if type_.is_scalar and type_.kind in "iu" else index


def _place(where: Location) -> tuple[str, Const]:
    """Return the argument that names a place of the user's in a warning."""
    name = where.file.replace("\\", "/").rpartition("/")[2]
    place = f"{name}:{where.line}"
    gaps.FILES[place] = where.file
    return "place", Const(place)


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
        if target is gaps.over_gaps and len(args) < 5 and self.where is not None:
            kwargs = (*kwargs, *(() if dict(kwargs).get("place") else (_place(self.where),)))
        if result is None and type is None:
            type = (
                _routine_type(target, args)
                if isinstance(target, Routine)
                else result_type(target, args, kwargs)
            )
        if result is None:
            assert type is not None
            result = Value(type, hint)
        self.ops.append(
            Call(
                target=target,
                args=args,
                result=result,
                kwargs=kwargs,
                effect=effect,
                where=self.where,
                half=self.half,
            )
        )
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
        self.ops.append(
            If(
                test=test,
                then=then,
                orelse=orelse,
                outputs=outputs,
                where=self.where,
                half=self.half,
            )
        )
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
        self.ops.append(
            For(
                seqs=seqs,
                inits=inits,
                body=body,
                outputs=outputs,
                backward=backward,
                count=count,
                segments=segments,
                where=self.where,
                half=self.half,
            )
        )
        return outputs

    def while_(self, inits: tuple[Atom, ...], test: Block, body: Block) -> tuple[Value, ...]:
        """Append a `While`; results are ``(tag, trips, carried..., lists...)``."""
        outputs = _loop_outputs(body, inits, 0)
        self.ops.append(
            While(
                inits=inits, test=test, body=body, outputs=outputs, where=self.where, half=self.half
            )
        )
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


def _routine_type(routine: Routine, args: tuple[Arg, ...]) -> Type:
    if routine.function is None:
        return TupleOf(())
    outside = in_lengths_of_call(routine, args)
    return TupleOf(tuple(outside(atom_type(r)) for r in routine.function.block.results))


def outer_type(type_: Type) -> Type:
    """Return the type outside a loop of a value from inside: lengths may differ per iteration."""
    if isinstance(type_, Numeric) and type_.shape is not None:
        shape = tuple(_outer_extent(e) for e in type_.shape)
        value = type_.value if type_.value is not None and not type_.value.terms else None
        return Numeric(type_.dtype, shape, type_.form, value, joined=type_.joined)
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
