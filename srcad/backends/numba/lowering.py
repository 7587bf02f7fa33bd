"""Lowering of a function of the IR to loop nests: operations, control flow, lists."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from srcad.backends.interface import NotCovered
from srcad.backends.numba import layouts, linear  # noqa: F401 - linear registers lowerings
from srcad.backends.numba.builder import Builder, converted, covered_dtype, zero_of
from srcad.backends.numba.calls import raised, simple, table
from srcad.backends.numba.elementwise import lowering_by_row
from srcad.backends.numba.fusion import rename
from srcad.backends.numba.loops import (
    ONE,
    ZERO,
    Access,
    Affine,
    Apply,
    Assign,
    Break,
    Constant,
    Dim,
    Expr,
    Integer,
    Lines,
    Load,
    Node,
    Region,
    Storage,
    loads,
    named,
    names_of,
    whole,
)
from srcad.backends.numba.printing import dtype_name
from srcad.backends.numba.representations import (
    BOOL,
    INT64,
    Array,
    Column,
    Items,
    Known,
    Number,
    Parts,
    Rep,
    at,
    constant,
    integer,
    of_storage,
)
from srcad.ir import primitives
from srcad.ir.core import (
    UNDEF,
    Arg,
    Atom,
    Block,
    Call,
    Const,
    Display,
    For,
    Function,
    If,
    Location,
    Try,
    Value,
    While,
)
from srcad.ir.text import target_name
from srcad.ir.traits import is_part
from srcad.rules.registry import (
    row_of,
    row_of_operator,
)
from srcad.startup.records import dataclass, field
from srcad.types.numeric import Numeric, array_type
from srcad.types.sizes import Extent, at_least, constant_extent, fresh_extent, settled
from srcad.types.structures import OPAQUE, Fixed, ListOf, TupleOf, Type

_TABLE = {**table(), **layouts.table()}


def _lowering_of(target: Any) -> Callable[[Any, Call], Rep] | None:
    """Return the lowering of a callee; None if the backend does not cover it."""
    try:
        found = _TABLE.get(target)
    except TypeError:
        return None
    by_row = lowering_by_row(target) if found is None else None
    return found if by_row is None else simple(by_row)


def is_lowered(target: Any) -> bool:
    """Return True if the backend covers calls of a function, at least with some options."""
    return _lowering_of(target) is not None


def _is_comparison(target: Any) -> bool:
    """Return True for one of Python's comparisons."""
    row = row_of_operator(target)
    return row is not None and row.answers != ""


class _Promoted(Exception):  # noqa: N818 - the loop is lowered again
    """The dtype of a carried number changes in an iteration."""


# How a part is found: an item at a position or key, a field, or all of a list as an array.
Step = tuple[Literal["item", "field", "list"], Any]


def _steps_of(type_: TupleOf) -> list[Step]:
    """Return the access paths of the items of a structure."""
    if type_.keys is None:
        return [("item", k) for k in range(len(type_.items))]
    kind: Literal["item", "field"] = "item" if type_.cls is dict else "field"
    return [(kind, key) for key in type_.keys]


def _is_list_of_numbers(type_: Type) -> bool:
    if type(type_) is not ListOf or not isinstance(type_.item, Numeric):
        return False
    return type_.item.shape == () and type_.item.dtype is not None


@dataclass(eq=False)
class Parameter:
    """A parameter of the compiled function: its path in the user's arguments, and its type."""

    name: str
    path: tuple[Step, ...]
    type: Numeric


@dataclass(eq=False)
class Lowered:
    """A function as loop nests.

    `head` binds lengths of the arguments, and `results` are the values of the function.
    """

    parameters: list[Parameter]
    head: list[str]
    body: list[Node]
    results: list[Rep]
    builder: Builder


@dataclass(eq=False)
class Carried:
    """A carried variable: its name, its representation, and those of a structure's items."""

    name: str
    rep: Rep
    source: str | None = None
    copy: Node | None = None
    parts: list[Carried] | None = None

    @property
    def names(self) -> set[str]:
        """Names of its numbers and arrays."""
        if self.parts is None:
            return {self.name}
        return {name for part in self.parts for name in part.names}


@dataclass(eq=False)
class Lowering:
    """Lowers one function."""

    builder: Builder = field(default_factory=Builder)
    env: dict[Value, Rep] = field(default_factory=dict)
    sinks: dict[Value, Items] = field(default_factory=dict)
    made: dict[Value, Call] = field(default_factory=dict)
    growing: dict[str, list[Node]] = field(default_factory=dict)
    tested: set[Value] = field(default_factory=set)  # whether they are None

    # ------------------------------------------------------------------------- functions
    def function(self, function: Function) -> Lowered:
        """Lower a function.

        Raises
        ------
        NotCovered
            It contains something that the compiled backend does not cover.
        """
        b = self.builder
        self.tested = _tested_for_none(function.block)
        used = set(function.block.free)
        parameters: list[Parameter] = []
        head: list[str] = []
        for k, value in enumerate(function.params):
            if value in used:
                self.env[value] = self._parameter(
                    value.type, value.hint, (("item", k),), parameters, head
                )
        self.ops(function.block)
        results = [self.rep(atom) for atom in function.block.results]
        finished = [self.escaping(rep) for rep in results]
        return Lowered(parameters, head, b.body, finished, b)

    def _parameter(
        self,
        type_: Type,
        hint: object,
        path: tuple[Step, ...],
        parameters: list[Parameter],
        head: list[str],
    ) -> Rep:
        if isinstance(type_, TupleOf):
            named_parts = zip(type_.items, _steps_of(type_), strict=True)
            parts = [
                self._parameter(
                    t, hint if type_.keys is None else step[1], (*path, step), parameters, head
                )
                for t, step in named_parts
            ]
            return Parts(tuple(parts))
        if _is_list_of_numbers(type_):
            vector = array_type(type_.item.dtype, (fresh_extent("n"),))  # type: ignore[union-attr]
            array = self._parameter(vector, hint, (*path, ("list", None)), parameters, head)
            assert isinstance(array, Array)
            return self.items_of(array, type_.item)  # type: ignore[union-attr]
        if isinstance(type_, Fixed):
            is_number = isinstance(type_.value, bool | int | float)
            return constant(type_.value) if is_number else Known(type_.value)
        if not isinstance(type_, Numeric) or type_.shape is None:
            raise NotCovered(f"an argument that is a {type_}")
        if type_.cls is not None or type_.dtype is None or type_.dtype.kind not in "fiub":
            raise NotCovered(f"an argument of type {type_}")
        name = self.builder.fresh(hint or "x")
        parameters.append(Parameter(name, path, type_))
        if type_.shape == ():
            return self._number_parameter(name, type_)
        return self._array_parameter(name, type_, head)

    def _number_parameter(self, name: str, type_: Numeric) -> Number:
        dtype = covered_dtype(type_.dtype)
        if type_.value is not None:
            self.builder.note(type_.value, named(name))
        return Number(Load(name), dtype, type_.form not in ("numpy", "array"), type_.value)

    def _array_parameter(self, name: str, type_: Numeric, head: list[str]) -> Array:
        b = self.builder
        assert type_.shape is not None
        assert type_.dtype is not None
        if type_.dtype.kind not in "iu":
            covered_dtype(type_.dtype)
        sizes = []
        for k, extent in enumerate(type_.shape):
            size = b.fresh(f"n_{name}" if len(type_.shape) == 1 else f"n{k}_{name}")
            head.append(f"{size} = {name}.shape[{k}]")
            b.note(extent, named(size))
            sizes.append(named(size))
        dims = [b.dim(extent, size) for extent, size in zip(type_.shape, sizes, strict=True)]
        b.storages[name] = Storage(name, dims, type_.dtype, True, True, True)
        return of_storage(name, tuple(dims), type_.dtype)

    def escaping(self, rep: Rep) -> Rep:
        """Return a result with each array in a whole storage of its own."""
        if isinstance(rep, Parts):
            return Parts(tuple(self.escaping(one) for one in rep.items))
        if isinstance(rep, Array):
            made = self.builder.whole(rep, "result")
            assert made.storage is not None
            storage = self.builder.storages[made.storage]
            storage.escapes = storage.is_result = True
            return made
        if isinstance(rep, Items):
            array = self.escaping(self.array_of_items(rep, None, None))
            assert isinstance(array, Array)
            return self.items_of(array, rep.type)
        if isinstance(rep, Number) or (isinstance(rep, Known) and rep.value is None):
            return rep
        raise NotCovered("a result that is an object")

    # ------------------------------------------------------------------------- operations
    def ops(self, block: Block) -> None:
        """Lower the operations of a block into the innermost body."""
        for op in block.ops:
            if op.where is not None:
                self.builder.where = op.where
                if any(how not in ("ignore", "warn") for _, how in op.where.errstate):
                    raise NotCovered("a part under np.errstate", op.where)
            try:
                self.op(op)
            except NotCovered as found:
                if found.where is None:
                    found.where = op.where
                raise

    def op(self, op: Any) -> None:
        """Lower one operation."""
        match op:
            case Call():
                self.env[op.result] = self.call(op)
                if op.target is primitives.not_ or _is_comparison(op.target):
                    self.made[op.result] = op
            case Try():
                raise NotCovered("a try statement", op.where)
            case If():
                self.conditional(op)
            case For() | While():
                self.loop(op)

    def call(self, op: Call) -> Rep:
        """Lower a call."""
        lowering = _lowering_of(op.target)
        if op.target is primitives.raise_:
            return raised(self, op)
        if op.effect and lowering is None:
            raise NotCovered("a call with effects", op.where)
        if lowering is None:
            raise NotCovered(f"a call of {target_name(op.target)}", op.where)
        return lowering(self, op)

    def rep(self, arg: Arg | None) -> Rep:
        """Return the representation of an argument."""
        if isinstance(arg, Value):
            found = self.env.get(arg)
            if found is None:
                raise NotCovered("a value that is an object", self.builder.where)
            return found
        if isinstance(arg, Const):
            value = arg.value
            if isinstance(value, tuple | list):
                return Parts(tuple(self.rep(Const(v)) for v in value))
            if isinstance(value, bool | int | float | np.generic):
                return constant(value)
            return Known(value)
        if isinstance(arg, Display) and arg.kind in ("tuple", "list"):
            return Parts(tuple(self.rep(one) for one in arg.items))
        raise NotCovered("an argument that is an object", self.builder.where)

    # ------------------------------------------------------------------ constant arguments
    def known(self, arg: Arg) -> Any:
        """Return the value of a constant argument, else NotImplemented."""
        if isinstance(arg, Const):
            return arg.value
        if isinstance(arg, Display) and arg.kind in ("tuple", "list"):
            items = [self.known(one) for one in arg.items]
            return NotImplemented if NotImplemented in items else tuple(items)
        rep = self.env.get(arg) if isinstance(arg, Value) else None
        if isinstance(rep, Number) and rep.constant is not None:
            return rep.constant
        if isinstance(rep, Known):
            return rep.value
        if isinstance(arg, Value) and isinstance(arg.type, Fixed):
            return arg.type.value
        return NotImplemented

    def options(self, op: Call, names: Sequence[str], *, start: int) -> dict[str, Any]:
        """Return the keyword and positional options of a call by name."""
        found: dict[str, Any] = {}
        pairs = [*zip(names, op.args[start:], strict=False), *op.kwargs]
        if len(op.args) - start > len(names):
            raise NotCovered(f"{target_name(op.target)} with more arguments", op.where)
        for name, arg in pairs:
            value = self.known(arg)
            if value is NotImplemented:
                raise NotCovered(f"{name}= that is not known before the call", op.where)
            if name == "dtype" and value in (float, np.float64, np.dtype(np.float64)):
                continue
            if value is not np._NoValue:
                found[name] = value
        return found

    def integer_of(self, arg: Arg) -> Affine:
        """Return an argument as an integer."""
        return self.number_size(self.rep(arg))

    def number_size(self, rep: Rep) -> Affine:
        """Return a number as an affine integer for lengths and indices."""
        if not isinstance(rep, Number) or rep.dtype.kind not in "iu":
            raise NotCovered("a length that is no integer", self.builder.where)
        found = rep.affine
        return found if found is not None else self.builder.named_here(rep.expr, "n")

    def extent_of(self, arg: Arg) -> Extent | None:
        """Return the value of an integer argument as an extent of the types; None if unknown."""
        if isinstance(arg, Value) and isinstance(arg.type, Numeric) and arg.type.value is not None:
            return arg.type.value
        rep = self.rep(arg)
        if isinstance(rep, Number) and rep.constant is not None:
            return constant_extent(rep.constant)
        return rep.extent if isinstance(rep, Number) else None

    def sizes_of(self, arg: Arg | None) -> list[Affine]:
        """Return the lengths of a shape argument."""
        rep = self.rep(arg)
        items = rep.items if isinstance(rep, Parts) else (rep,)
        return [self.number_size(one) for one in items]

    def shape_of(self, arg: Arg | None, type_: Type) -> tuple[Dim, ...]:
        """Return the lengths of a shape argument, with their extents in the types."""
        sizes = self.sizes_of(arg)
        shape = type_.shape if isinstance(type_, Numeric) else None
        dims = []
        for k, size in enumerate(sizes):
            extent = shape[k] if shape is not None and len(shape) == len(sizes) else None
            self.builder.note(extent, size)
            if extent is None or not at_least(extent, 0):
                if size.terms:
                    self.builder.guard(Apply("<", (Integer(size), Integer(ZERO))))
                elif size.constant < 0:
                    raise NotCovered("a negative length", self.builder.where)
            dims.append(Dim(size, extent))
        return tuple(dims)

    def count_of(self, start: Affine, stop: Affine, step: int, extent: Extent | None) -> Affine:
        """Return the number of integers in a range."""
        b = self.builder
        length = stop - start
        if step == 1 and extent is not None and at_least(extent, 0):
            return length
        if not length.terms:
            return whole(len(range(0, length.constant, step)))
        shifted = length + whole(step - 1 if step > 0 else step + 1)
        size: Expr = Integer(shifted)
        if step != 1:
            size = Apply("//", (size, Integer(whole(step))))
        if step > 1 and extent is not None and at_least(extent, 0):
            return b.named_here(size, "count")
        found = b.named_here(Apply("max", (size, Integer(ZERO))), "count")
        if step == 1:  # an upper bound of it, where it is positive
            b.most[found.names[0]] = length
        b.least[found.names[0]] = ZERO
        return found

    # ----------------------------------------------------------------------- control flow
    @contextmanager
    def inside(self, *, is_branch: bool = False) -> Iterator[list[Node]]:
        """Lower into a new body; integers recorded for symbols are forgotten after it."""
        b = self.builder
        outer = b.body, b.symbols
        b.body, b.symbols = [], dict(b.symbols)
        b.bodies.append(b.body)
        if is_branch:
            b.branches.append(len(b.bodies) - 1)
        try:
            yield b.body
        finally:
            b.bodies.pop()
            if is_branch:
                b.branches.pop()
            b.body, b.symbols = outer

    def test_of(self, atom: Atom) -> Expr:
        """Return the condition of a statement."""
        rep = self.rep(atom)
        if isinstance(rep, Array) and not rep.dims:
            rep = self.builder.number(rep)
        if not isinstance(rep, Number):
            if isinstance(rep, Known):
                return constant(bool(rep.value)).expr
            raise NotCovered("the truth of an array or a list", self.builder.where)
        if rep.affine is not None:
            return Apply("!=", (rep.expr, Integer(ZERO)))
        return converted(rep.expr, rep.dtype, BOOL)

    def conditional(self, op: If) -> None:
        """Lower ``if``: both branches, or if that fails the one that the lengths decide."""
        b = self.builder
        before = b.saved()
        try:
            self._both_branches(op)
        except NotCovered:
            decided = self._decided(op.test)
            if decided is None:
                raise
            b.restore(before)
            block = op.then if decided else op.orelse
            self.ops(block)
            for output, atom in zip(op.outputs, block.results, strict=True):
                self.env[output] = Known(UNDEF.value) if atom == UNDEF else self.rep(atom)

    def _decided(self, test: Atom) -> bool | None:
        """Evaluate a comparison of lengths for the example; return None for other tests."""
        made = self.made.get(test) if isinstance(test, Value) else None
        if made is None:
            return None
        if made.target is primitives.not_:
            inner = self._decided(made.args[0])  # type: ignore[arg-type]
            return None if inner is None else not inner
        left, right = (self.extent_of(arg) for arg in made.args)
        if left is None or right is None:
            return None
        if row_of(made.target).answers == "equality":
            found = settled(left, right)
            return found if found is None or made.target is operator.eq else not found
        if made.target in (operator.gt, operator.le):
            left, right = right, left
        positive = made.target in (operator.lt, operator.gt)
        less = at_least(right - left, 1)
        if less:
            return positive
        return (not positive) if at_least(left - right, 0) else None

    def _both_branches(self, op: If) -> None:
        b = self.builder
        test = self.test_of(op.test)
        text, reads = self._name_of_test(test)
        arms: list[tuple[list[Node], list[Rep | None]]] = []
        for block in (op.then, op.orelse):
            with self.inside(is_branch=True) as body:
                if _always_raises(block):
                    b.guard_always()
                    reps: list[Rep | None] = [None] * len(block.results)
                else:
                    self.ops(block)
                    reps = [None if a == UNDEF else self.rep(a) for a in block.results]
                arms.append((body, reps))
        after: list[Node] = []
        for k, output in enumerate(op.outputs):
            first, second = arms[0][1][k], arms[1][1][k]
            self.env[output] = self._merged(
                output.hint,
                output.type,
                self._with_zeros(op, output, (first, second), arms),
                (arms[0][0], arms[1][0]),
                after,
            )
        b.emit(Region([(f"if {text}:", arms[0][0]), ("else:", arms[1][0])], reads, (), op.where))
        for node in after:
            b.emit(node)

    def _with_zeros(
        self,
        op: If,
        output: Value,
        reps: tuple[Rep | None, Rep | None],
        arms: list[tuple[list[Node], list[Rep | None]]],
    ) -> tuple[Rep | None, Rep | None]:
        """Return zeros for a cotangent that one branch alone contributes to.

        In the other branch it is 0.0, or None and the code after the conditional tests for it.
        A None that is not tested is never read.
        """
        found = list(reps)
        for k, (rep, other) in enumerate((reps, reps[::-1])):
            found[k] = self._zeros_for(rep, other, op, output in self.tested, arms[k][0])
        return found[0], found[1]

    def _zeros_for(
        self, rep: Rep | None, other: Rep | None, op: If, is_tested: bool, body: list[Node]
    ) -> Rep | None:
        """Return zeros like `other` if `rep` is a cotangent without a contribution, else `rep`."""
        if other is None:
            return rep
        if isinstance(rep, Parts) and isinstance(other, Parts):
            if len(rep.items) != len(other.items):
                return rep
            pairs = zip(rep.items, other.items, strict=True)
            found = [self._zeros_for(one, like, op, is_tested, body) for one, like in pairs]
            return Parts(tuple(found))  # type: ignore[arg-type]
        if isinstance(rep, Known) and rep.value is None and is_tested:
            return self._zeros_as(other, body, op.where)
        is_number = isinstance(rep, Number) and _is_zero(rep.expr) and op.half == "reverse"
        if is_number and isinstance(other, Array):
            return self._zeros_as(other, body, op.where)
        return rep

    def _zeros_as(self, rep: Rep, body: list[Node], where: Location | None) -> Rep:
        """Return zeros like a number, an array or parts, made in the body of a branch."""
        b = self.builder
        if isinstance(rep, Known):
            return rep
        if isinstance(rep, Number):
            return Number(zero_of(rep.dtype), rep.dtype)
        if isinstance(rep, Parts):
            return Parts(tuple(self._zeros_as(one, body, where) for one in rep.items))
        if isinstance(rep, Items):
            raise NotCovered("a list of cotangents of one branch", where)
        level = len(b.bodies) - 1
        if any(b.level_of(n) > level for d in rep.dims for n in d.size.names):
            raise NotCovered("zeros of a length that depends on a condition", where)
        outer, b.body = b.body, body
        made = b.zeros(rep.dims, rep.dtype, "zeros")
        b.body = outer
        return made

    def _name_of_test(self, test: Expr) -> tuple[str, tuple[str, ...]]:
        if isinstance(test, Load) and not test.index:
            return test.storage, (test.storage,)
        number = self.builder.assign(test, BOOL, "test")
        assert isinstance(number.expr, Load)
        return number.expr.storage, (number.expr.storage,)

    def _merged(
        self,
        hint: object,
        type_: Type,
        reps: tuple[Rep | None, Rep | None],
        bodies: tuple[list[Node], list[Node]],
        after: list[Node],
    ) -> Rep:
        """Return the representation of a value after a conditional, from those of the branches."""
        b = self.builder
        if any(isinstance(r, Number | Array | Parts | Items) for r in reps):
            is_none = any(isinstance(r, Known) and r.value is None for r in reps)
            if is_none and not isinstance(type_, Numeric | TupleOf | ListOf):
                raise NotCovered("a value that is None by a condition", b.where)
            reps = tuple(None if _is_none(r) else r for r in reps)  # type: ignore[assignment]
        known = [r for r in reps if r is not None]
        if not known:
            return Known(UNDEF.value)
        if all(isinstance(r, Known) for r in known):
            if len(known) == 2 and known[0].value is not known[1].value:  # type: ignore[union-attr]
                raise NotCovered("an object that depends on a condition", b.where)
            return known[0]
        if all(isinstance(r, Parts) for r in known):
            return self._merged_parts(hint, type_, reps, bodies, after)  # type: ignore[arg-type]
        if all(isinstance(r, Items) for r in known):
            return self._merged_lists(known)  # type: ignore[arg-type]
        if all(isinstance(r, Number) for r in known):
            return self._merged_numbers(hint, type_, reps, bodies)  # type: ignore[arg-type]
        if all(isinstance(r, Array) for r in known):
            return self._merged_arrays(hint, type_, reps, bodies, after)  # type: ignore[arg-type]
        raise NotCovered("a value that is an array or a number, by a condition", b.where)

    def _merged_parts(
        self,
        hint: object,
        type_: Type,
        reps: tuple[Parts | None, Parts | None],
        bodies: tuple[list[Node], list[Node]],
        after: list[Node],
    ) -> Parts:
        counts = {len(r.items) for r in reps if r is not None}
        if len(counts) != 1:
            raise NotCovered("a tuple whose length depends on a condition", self.builder.where)
        parts = []
        for k in range(counts.pop()):
            first, second = (None if r is None else r.items[k] for r in reps)
            inner = type_.items[k] if isinstance(type_, TupleOf) else type_
            parts.append(self._merged(hint, inner, (first, second), bodies, after))
        return Parts(tuple(parts))

    def _merged_lists(self, lists: list[Items]) -> Items:
        """Return a list of one branch only, to be used under the same condition again."""
        b = self.builder
        items = lists[0]
        if any(other.columns is not items.columns or other.count != items.count for other in lists):
            raise NotCovered("a list that depends on a condition", b.where)
        level = len(b.bodies) - 1
        todo = [items]
        while todo:
            one = todo.pop()
            todo += one.parts.values()
            storages = [b.storages[c.storage] for c in one.columns]
            storages += [b.storages[c] for c in one.counts if isinstance(c, str)]
            sizes = [d.size for s in storages if not s.given for d in s.dims]
            if any(b.level_of(name) > level for size in sizes for name in size.names):
                raise NotCovered("a list whose length depends on a condition", b.where)
        return items

    def _merged_numbers(
        self,
        hint: object,
        type_: Type,
        reps: tuple[Number | None, Number | None],
        bodies: tuple[list[Node], list[Node]],
    ) -> Number:
        b = self.builder
        known = [r for r in reps if r is not None]
        dtypes = {r.dtype for r in known}
        dtype = known[0].dtype if len(dtypes) == 1 else np.result_type(*dtypes)
        if len(dtypes) > 1 and BOOL in dtypes:
            raise NotCovered("a flag or a number, by a condition", b.where)
        name = b.fresh(hint or "value")
        for rep, body in zip(reps, bodies, strict=True):
            value = zero_of(dtype) if rep is None else converted(rep.expr, rep.dtype, dtype)
            body.append(Assign(name, (), value, "=", b.where))
        extent = type_.value if isinstance(type_, Numeric) else None
        return Number(Load(name), dtype, any(r.may_be_python for r in known), extent)

    def _merged_arrays(
        self,
        hint: object,
        type_: Type,
        reps: tuple[Array | None, Array | None],
        bodies: tuple[list[Node], list[Node]],
        after: list[Node],
    ) -> Array:
        b = self.builder
        known = [r for r in reps if r is not None]
        if len({(r.dtype, len(r.dims)) for r in known}) != 1:
            raise NotCovered("an array whose rank depends on a condition", b.where)
        dtype, rank = known[0].dtype, len(known[0].dims)
        name = b.fresh(hint or "array")
        storage = Storage(name, [], dtype, True, True)
        b.storages[name] = storage
        level = len(b.bodies) - 1
        dims: list[Dim | None] = []
        for k in range(rank):
            extent = type_.shape[k] if isinstance(type_, Numeric) and type_.shape else None
            sizes = {r.dims[k].size for r in known}
            affine = sizes.pop() if len(sizes) == 1 else b.affine_of(extent)
            is_known = affine is not None and all(b.level_of(n) <= level for n in affine.names)
            dims.append(Dim(affine, extent) if affine is not None and is_known else None)
        for rep, body in zip(reps, bodies, strict=True):
            if rep is not None:
                self._move(rep, name, body)
                continue
            lengths = ["0" if d is None else str(d.size) for d in dims]
            line = f"{{{name}}} = np.empty(({', '.join(lengths)},), np.{dtype_name(dtype)})"
            names = [n for d in dims if d is not None for n in d.size.names]
            touched = [Access(n, "read", ()) for n in names]
            body.append(Lines((line,), (*touched, Access(name, "write", None)), (name,)))
        result: list[Dim] = []
        for k, dim in enumerate(dims):
            if dim is not None:
                result.append(dim)
                continue
            extent = type_.shape[k] if isinstance(type_, Numeric) and type_.shape else None
            size = b.fresh("n")
            after.append(
                Lines(
                    (f"{size} = {{{name}}}.shape[{k}]",),
                    (Access(name, "read", None), Access(size, "write", ())),
                    (size,),
                )
            )
            b.note(extent, named(size))
            result.append(Dim(named(size), extent))
        storage.dims = list(result)
        return of_storage(name, tuple(result), dtype)

    def _move(self, rep: Array, name: str, body: list[Node]) -> str:
        """Bind a name to an array at the end of a body; return the array's storage."""
        b = self.builder
        outer, b.body = b.body, body
        made = b.whole(rep)
        b.body = outer
        assert made.storage is not None
        source = b.storages[made.storage]
        source.escapes = True
        if source.is_argument:
            b.storages[name].is_argument = True
        b.share(made.storage, name)
        body.append(
            Lines(
                (f"{{{name}}} = {{{made.storage}}}",),
                (Access(made.storage, "read", None), Access(name, "write", None)),
                (name,),
            )
        )
        return made.storage

    # ------------------------------------------------------------------------------ loops
    def loop(self, op: For | While) -> None:
        """Lower a loop, again with promoted dtypes if carried numbers change theirs."""
        b = self.builder
        promoted: dict[Any, Any] = {}
        before = b.saved()
        sinks = dict(self.sinks)
        for _ in range(4):
            try:
                self._loop_once(op, promoted)
            except _Promoted:
                b.restore(before)
                self.sinks = dict(sinks)
                continue
            return
        raise NotCovered("a number of several types", op.where)

    def _loop_once(self, op: For | While, promoted: dict[Any, Any]) -> None:
        b = self.builder
        count = b.fresh("k")
        trips = self._trips(op) if isinstance(op, For) else None
        carried = [
            self._carry_in(p, self.rep(i), k, promoted)
            for k, (p, i) in enumerate(zip(op.carried, op.inits, strict=True))
        ]
        lists = self._lists(op, count, trips)
        level = len(b.bodies)
        b.level[count] = level
        if trips is not None:
            b.bounds[count] = trips
        with self.inside() as body:
            for param, one in zip(op.carried, carried, strict=True):
                self.env[param] = one.rep
                b.changing.update(one.names)
            if isinstance(op, While):
                self._leave_unless(op)
            else:
                self._bind_items(op, count)
            self.ops(op.body)
            for items, atom in zip(lists, op.body.results[1 + len(op.inits) :], strict=True):
                self._collect(items, self.rep(atom), count, level)
            self._moves(op, carried, body, promoted)
            tag = self.rep(op.body.results[0])
        assert isinstance(tag, Number)
        done = self._finish_loop(op, body, count, trips, tag)
        self.env[op.outputs[1]] = integer(done)
        for one, output in zip(carried, op.outputs[2:], strict=False):
            self.env[output] = self._carried_out(one, output)
        for items, output in zip(lists, op.outputs[2 + len(op.inits) :], strict=True):
            items.count = done
            if isinstance(op, For) and op.backward and trips is not None and done != trips:
                if items.index or items.counts:
                    raise NotCovered("lists of a loop that runs backward and ends early", op.where)
                items.offset = trips - done
                if items.parts:
                    raise NotCovered("lists of a loop that runs backward and ends early", op.where)
            self.env[output] = items

    def _leave_unless(self, op: While) -> None:
        """Add the test of a ``while`` loop to its body."""
        for p, q in zip(op.test.params, op.body.params, strict=True):
            self.env[p] = self.env[q]
        self.ops(op.test)
        test = Apply("not", (self.test_of(op.test.results[0]),))
        text, reads = self._name_of_test(test)
        self.builder.emit(Region([(f"if {text}:", [Break()])], reads))

    def _finish_loop(
        self, op: For | While, body: list[Node], count: str, trips: Affine | None, tag: Number
    ) -> Affine:
        """Add a loop with this body, and return its number of iterations."""
        b = self.builder
        ends_early = tag.constant != 0
        outer_level = len(b.bodies) - 1
        done = trips
        if isinstance(op, While) or ends_early:
            counter = count if isinstance(op, While) else b.fresh("done")
            b.emit(Assign(counter, (), Integer(ZERO), "=", op.where))
            body.append(Assign(counter, (), Integer(ONE), "+=", op.where))
            done = named(counter)
            b.level[counter] = outer_level
        if ends_early:
            name, stop = b.fresh("tag"), b.fresh("stop")
            b.emit(Assign(name, (), Integer(ZERO), "=", op.where))
            body.append(Assign(name, (), tag.expr, "=", op.where))
            body.append(Assign(stop, (), Apply(">=", (Load(name), Integer(whole(2)))), "="))
            body.append(Region([(f"if {stop}:", [Break()])], (stop,)))
            b.level[name] = outer_level
        self.env[op.outputs[0]] = Number(Load(name), INT64) if ends_early else integer(0)
        assert done is not None
        if trips is None:
            b.emit(Region([("while True:", body)], (), (), op.where, is_loop=True))
            return done
        backward = isinstance(op, For) and op.backward
        span = f"{trips - ONE}, -1, -1" if backward else str(trips)
        header = f"for {count} in range({span}):"
        names = trips.names, (count,)
        b.emit(Region([(header, body)], *names, op.where, True, trips, backward))
        return done

    def _trips(self, op: For) -> Affine:
        """Return the maximal number of iterations."""
        found = [size for seq in op.seqs if (size := self._size_of_sequence(seq, op)) is not None]
        if op.count is not None:
            return self.integer_of(op.count)
        if not found:
            raise NotCovered("a loop over a list whose length is not known", op.where)
        if len(set(found)) == 1:
            return found[0]
        if op.backward:
            for other in found[1:]:
                self.builder.guard(Apply("!=", (Integer(other), Integer(found[0]))))
            return found[0]
        shortest = Apply("min", tuple(Integer(one) for one in dict.fromkeys(found)))
        return self.builder.named_here(shortest, "count")

    def _size_of_sequence(self, seq: Arg, op: For) -> Affine | None:
        """Return the number of items of a sequence; None if unknown."""
        if isinstance(seq, Display) and seq.kind == "range":
            start, stop, step = seq.items
            size = self.rep(step)
            if not isinstance(size, Number) or not size.constant:
                raise NotCovered("a range whose step is not known", op.where)
            first, last = self.extent_of(start), self.extent_of(stop)
            extent = None if first is None or last is None else last - first
            return self.count_of(
                self.integer_of(start), self.integer_of(stop), size.constant, extent
            )
        rep = self.rep(seq)
        if isinstance(rep, Items):
            return rep.count
        if isinstance(rep, Array) and rep.dims:
            return rep.dims[0].size
        raise NotCovered("a loop over an object", op.where)

    def _bind_items(self, op: For, count: str) -> None:
        b = self.builder
        for seq, item in zip(op.seqs, op.items, strict=True):
            extent = item.type.value if isinstance(item.type, Numeric) else None
            if isinstance(seq, Display) and seq.kind == "range":
                start, step = self.integer_of(seq.items[0]), self.rep(seq.items[2])
                assert isinstance(step, Number)
                value = start + named(count).scaled(step.constant or 1)
                b.note(extent, value)
                self.env[item] = integer(value, extent)
                continue
            rep = self.rep(seq)
            place = integer(named(count))
            if isinstance(rep, Items):
                self.env[item] = self.item_at(rep, place, item.type)
            else:
                assert isinstance(rep, Array)
                index = (named(count), *(named(f"@{k}") for k in range(len(rep.dims) - 1)))
                row = Array(at(rep.entry, index), rep.dims[1:], rep.dtype)
                self.env[item] = row
                if not row.dims:
                    self.env[item] = b.assign(row.entry, row.dtype, item.hint)

    # --------------------------------------------------------------------- carried values
    def _carry_in(self, param: Value, rep: Rep, key: Any, promoted: dict[Any, Any]) -> Carried:
        b = self.builder
        if isinstance(rep, Known) and key in promoted:
            return self._undefined(param, promoted[key])
        if isinstance(rep, Number):
            dtype = promoted.get(key, rep.dtype)
            name = b.fresh(param.hint or "carried")
            b.level[name] += 1  # it changes in the body
            b.emit(Assign(name, (), converted(rep.expr, rep.dtype, dtype), "=", b.where))
            extent = param.type.value if isinstance(param.type, Numeric) else None
            return Carried(name, Number(Load(name), dtype, True, extent))
        if isinstance(rep, Array):
            made = rep if b.is_whole(rep) and self._is_own(rep) else b.copied(rep, param.hint)
            name = b.fresh(param.hint or "carried")
            b.storages[name] = Storage(name, list(made.dims), made.dtype)
            b.nest(made.dims, lambda i: [Assign(name, i, at(made.entry, i), "=", b.where)])
            if isinstance(param.type, Numeric) and param.type.shape is not None:
                for extent, dim in zip(param.type.shape, made.dims, strict=False):
                    b.note(extent, dim.size)
            return Carried(name, of_storage(name, made.dims, made.dtype), made.storage, b.body[-1])
        if isinstance(rep, Known):
            return Carried("", rep)
        if isinstance(rep, Parts):
            items = (
                param.type.items if isinstance(param.type, TupleOf) else (OPAQUE,) * len(rep.items)
            )
            parts = [
                self._carry_in(Value(t, param.hint), one, (key, k), promoted)
                for k, (one, t) in enumerate(zip(rep.items, items, strict=True))
            ]
            return Carried("", Parts(tuple(p.rep for p in parts)), parts=parts)
        if isinstance(rep, Items):
            array = self.array_of_items(rep, None, None)
            name = b.fresh(param.hint or "carried")
            b.storages[name] = Storage(name, list(array.dims), array.dtype)
            b.nest(array.dims, lambda i: [Assign(name, i, at(array.entry, i), "=", b.where)])
            return Carried(name, self.items_of(of_storage(name, array.dims, array.dtype), rep.type))
        raise NotCovered("an object that a loop changes", b.where)

    def _undefined(self, param: Value, wanted: Any) -> Carried:
        """Return a carried number or array that has no value before the first iteration."""
        b = self.builder
        if isinstance(wanted, Array):
            made = b.zeros(wanted.dims, wanted.dtype, param.hint or "carried")
            assert made.storage is not None
            return Carried(made.storage, made)
        name = b.fresh(param.hint or "carried")
        b.level[name] += 1
        b.emit(Assign(name, (), zero_of(wanted), "=", b.where))
        return Carried(name, Number(Load(name), wanted, True))

    def items_of(self, array: Array, type_: Any) -> Items:
        """Return a vector as a list of numbers."""
        assert array.storage is not None
        column = Column(array.storage, array.dtype, ())
        size = array.dims[0].size
        return Items([column], type_, (), size, [size])

    def _moves(
        self, op: For | While, carried: list[Carried], body: list[Node], promoted: dict[Any, Any]
    ) -> None:
        """Add the assignments of the carried variables for the next iteration."""
        b = self.builder
        own = {name for one in carried for name in one.names}
        numbers: list[Assign] = []
        arrays: list[tuple[Carried, Array]] = []
        for key, one, rep in self._leaf_pairs(carried, op):
            if isinstance(one.rep, Items):
                arrays.append(self._moved_items(one, rep, op))
            elif isinstance(one.rep, Number):
                numbers += self._moved_number(one, rep, key, promoted, own, op)
            elif isinstance(one.rep, Array):
                arrays += self._moved_array(one, rep, op)
            else:
                self._moved_known(one, rep, key, promoted, op)
        sources = {one.name for one, _ in arrays}
        ready = [(one, b.copied(rep) if rep.storage in sources else rep) for one, rep in arrays]
        for one, rep in ready:  # before the numbers, which their indices may name
            self._copy_into(one.name, rep)
        for node in numbers:
            b.emit(node)
        for one in _leaf_carried(carried):
            if one.source is not None and one.name not in sources:
                self._unite(one, body)

    def _unite(self, one: Carried, body: list[Node]) -> None:
        """Use one storage for a carried array that is only updated in place."""
        b = self.builder
        assert one.source is not None
        assert isinstance(one.rep, Array)
        rename(body, one.name, one.source)
        for outer in b.bodies:
            if one.copy in outer:
                outer.remove(one.copy)
        one.rep = of_storage(one.source, one.rep.dims, one.rep.dtype)
        self._forget(one.name, one.source)

    def _moved_known(
        self, one: Carried, rep: Rep, key: Any, promoted: dict[Any, Any], op: For | While
    ) -> None:
        """Check a carried object: the same one, or None before the first iteration only."""
        b = self.builder
        assert isinstance(one.rep, Known)
        if isinstance(rep, Known) and rep.value is one.rep.value:
            return
        if _is_none(one.rep) and isinstance(rep, Number):
            promoted[key] = rep.dtype
            raise _Promoted
        if _is_none(one.rep) and isinstance(rep, Array):
            level = len(b.bodies) - 2
            if all(b.level_of(n) <= level for d in rep.dims for n in d.size.names):
                promoted[key] = rep
                raise _Promoted
        raise NotCovered("an object that a loop changes", op.where)

    def _copy_into(self, name: str, array: Array) -> None:
        b = self.builder
        b.nest(array.dims, lambda i: [Assign(name, i, at(array.entry, i), "=", b.where)])

    def _moved_number(
        self,
        one: Carried,
        rep: Rep,
        key: Any,
        promoted: dict[Any, Any],
        own: set[str],
        op: For | While,
    ) -> list[Assign]:
        """Return the assignments of a carried number for the next iteration."""
        b = self.builder
        assert isinstance(one.rep, Number)
        if not isinstance(rep, Number):
            raise NotCovered("a number that becomes an array in a loop", op.where)
        if rep.dtype != one.rep.dtype:
            if BOOL in (rep.dtype, one.rep.dtype):
                raise NotCovered("a flag that becomes a number in a loop", op.where)
            wanted = np.result_type(rep.dtype, one.rep.dtype)
            if wanted != one.rep.dtype:
                promoted[key] = wanted
                raise _Promoted
        expr = converted(rep.expr, rep.dtype, one.rep.dtype)
        if isinstance(expr, Load) and expr.storage == one.name:
            return []
        names = {*names_of(expr), *(load.storage for load in loads(expr))}
        if names & (own - {one.name}):
            expr = b.assign(expr, rep.dtype, one.name).expr
        return [Assign(one.name, (), expr, "=", b.where)]

    def _moved_array(self, one: Carried, rep: Rep, op: For | While) -> list[tuple[Carried, Array]]:
        """Return a carried array with its next value; an empty list if changed in place."""
        b = self.builder
        assert isinstance(one.rep, Array)
        if not isinstance(rep, Array):
            raise NotCovered("an array that becomes a number in a loop", op.where)
        if rep.dtype != one.rep.dtype or len(rep.dims) != len(one.rep.dims):
            raise NotCovered("an array whose dtype or rank a loop changes", op.where)
        if b.is_whole(rep) and rep.storage == one.name:
            return []
        for mine, other in zip(one.rep.dims, rep.dims, strict=True):
            b.same(mine, other)
        return [(one, rep)]

    def _leaf_pairs(
        self, carried: list[Carried], op: For | While
    ) -> Iterator[tuple[Any, Carried, Rep]]:
        """Yield the leaves of carried variables: key, variable, representation in the result."""

        def of(key: Any, one: Carried, rep: Rep) -> Iterator[tuple[Any, Carried, Rep]]:
            if one.parts is None:
                yield key, one, rep
                return
            if not isinstance(rep, Parts) or len(rep.items) != len(one.parts):
                raise NotCovered("a tuple whose length a loop changes", op.where)
            for k, (part, inner) in enumerate(zip(one.parts, rep.items, strict=True)):
                yield from of((key, k), part, inner)

        for k, (one, atom) in enumerate(zip(carried, op.body.results[1:], strict=False)):
            yield from of(k, one, one.rep if atom == UNDEF else self.rep(atom))

    def _moved_items(self, one: Carried, rep: Rep, op: For | While) -> tuple[Carried, Array]:
        """Return a carried list of numbers as an array, and its next value."""
        assert isinstance(one.rep, Items)
        if not isinstance(rep, Items) or rep.count != one.rep.count:
            raise NotCovered("a list whose length a loop changes", op.where)
        array = self.array_of_items(rep, None, None)
        if array.dtype != one.rep.columns[0].dtype or len(array.dims) != 1:
            raise NotCovered("a list whose items a loop changes", op.where)
        return one, array

    def _is_own(self, array: Array) -> bool:
        storage = self.builder.storages[array.storage or ""]
        return not storage.is_argument

    def _forget(self, old: str, new: str) -> None:
        """Rename a storage in the environment and drop facts about it."""
        for value, rep in self.env.items():
            self.env[value] = _renamed_rep(rep, old, new)
        self.builder.written(old)
        self.builder.written(new)

    def _carried_out(self, one: Carried, output: Value) -> Rep:
        b = self.builder
        if one.parts is not None:
            items = (
                output.type.items
                if isinstance(output.type, TupleOf)
                else (OPAQUE,) * len(one.parts)
            )
            return Parts(
                tuple(
                    self._carried_out(p, Value(t, output.hint))
                    for p, t in zip(one.parts, items, strict=True)
                )
            )
        rep = one.rep
        if isinstance(rep, Array) and isinstance(output.type, Numeric) and output.type.shape:
            for length, dim in zip(output.type.shape, rep.dims, strict=False):
                b.note(length, dim.size)
        if isinstance(rep, Number):
            extent = output.type.value if isinstance(output.type, Numeric) else None
            b.level[one.name] = len(b.bodies) - 1
            return Number(rep.expr, rep.dtype, rep.may_be_python, extent)
        return rep

    # ------------------------------------------------------------------------------ lists
    def _lists(self, op: For | While, count: str, trips: Affine | None) -> list[Items]:
        """Return the lists that a loop collects."""
        found: list[Items] = []
        first = 2 + len(op.inits)
        atoms = op.body.results[1 + len(op.inits) :]
        for output, atom in zip(op.outputs[first:], atoms, strict=True):
            mine = self.sinks.pop(output, None)
            type_ = output.type.item if isinstance(output.type, ListOf) else None
            if mine is None:
                is_open = trips is None or _may_end_early(op)
                mine = Items([], type_, (), None, [], is_open)
                capacity = whole(64) if trips is None or is_open else trips
            else:
                if trips is None:
                    raise NotCovered("a list of lists of a while loop", op.where)
                capacity = self._most(trips, mine)
            mine.capacities.append(capacity)
            found.append(mine)
            self._expect_lists(op, atom, mine, count)
        return found

    def _expect_lists(self, op: For | While, atom: Atom, items: Items, count: str) -> None:
        """Register the destinations of lists that are items of a list."""
        if not isinstance(atom, Value):
            return
        if isinstance(atom.type, ListOf):
            self.sinks[atom] = Items(
                items.columns,
                None,
                (*items.index, named(count)),
                None,
                list(items.capacities),
                items.grows,
                items.counts,
            )
            return
        makers = (one for one in op.body.ops if isinstance(one, Call) and one.result is atom)
        made = next(makers, None)
        if made is None or made.target is not primitives.build_tuple:
            return
        for k, part in enumerate(made.args):
            if isinstance(part, Value) and isinstance(part.type, ListOf):
                of_part = Items([], part.type, items.index, None, items.capacities, items.grows)
                items.parts[k] = of_part
                self._expect_lists(op, part, of_part, count)

    def _most(self, trips: Affine, items: Items) -> Affine:
        """Return an upper bound of a count, computable before the outermost loop."""
        level = len(self.builder.bodies) - 1 - len(items.capacities)
        return self._bounded(trips, level, "a list of lists")

    def _collect(self, items: Items, rep: Rep, count: str, level: int) -> None:
        """Add an item to a list, at the end of the body of its loop."""
        if isinstance(rep, Items):  # an inner list: it has been collected where it was made
            if rep.columns is not items.columns:
                raise NotCovered("a list that is kept in a list", self.builder.where)
            self._collect_count(items, rep, count, level)
            return
        if items.parts and isinstance(rep, Parts):
            for k, one in items.parts.items():
                self._collect(one, rep.items[k], count, level)
            left = (one for k, one in enumerate(rep.items) if k not in items.parts)
            rep = Parts(tuple(left))
        leaves = list(_leaves(rep))
        if not items.columns:
            items.columns += [self._column(leaf, items, level) for leaf in leaves]
        if [leaf.dtype for leaf in leaves] != [c.dtype for c in items.columns]:
            raise NotCovered("a list of items of several types", self.builder.where)
        if items.grows and items.columns:
            self._grow(items, count)
        for leaf, column in zip(leaves, items.columns, strict=True):
            self._keep(leaf, column, (*items.index, named(count)))

    def _keep(self, leaf: Number | Array, column: Column, index: tuple[Affine, ...]) -> None:
        """Store one number or array of an item in its column."""
        b = self.builder
        if isinstance(leaf, Number):
            b.emit(Assign(column.storage, index, leaf.expr, "=", b.where))
            return
        if column.lengths is not None:
            for k, dim in enumerate(leaf.dims):
                b.emit(Assign(column.lengths, (*index, whole(k)), Integer(dim.size), "="))
        entry = leaf.entry
        b.nest(
            leaf.dims, lambda i: [Assign(column.storage, (*index, *i), at(entry, i), "=", b.where)]
        )

    def _collect_count(self, items: Items, inner: Items, count: str, level: int) -> None:
        """Store the number of items of an inner list."""
        b = self.builder
        depth = len(items.index)
        assert inner.count is not None
        outermost = level - depth - 1
        if all(b.level_of(name) <= outermost for name in inner.count.names):
            items.counts.insert(0, inner.count)
            return
        made = b.storage("counts", [Dim(c) for c in items.capacities], INT64)
        items.counts.insert(0, made.name)
        index = (*items.index, named(count))
        b.emit(Assign(made.name, index, Integer(inner.count), "=", b.where))

    def _column(self, leaf: Number | Array, items: Items, level: int) -> Column:
        b = self.builder
        outermost = level - len(items.index) - 1
        capacities = [Dim(c) for c in items.capacities]
        dims = leaf.dims if isinstance(leaf, Array) else ()
        most: list[Dim] = []
        lengths = None
        for dim in dims:
            size = dim.size
            if any(b.level_of(n) > outermost for n in size.names):
                known = b.affine_of(dim.extent)
                if known is not None and all(b.level_of(n) <= outermost for n in known.names):
                    size = known
                else:
                    size = self._bounded(size, outermost, "a list of arrays")
                    lengths = lengths or b.storage(
                        "lengths", (*capacities, Dim(whole(len(dims)))), INT64
                    )
            most.append(Dim(size))
        made = b.storage("saved", (*capacities, *most), leaf.dtype)
        if items.grows:
            made.given = made.escapes = True
            shape = ", ".join(str(d.size) for d in made.dims)
            line = f"{{{made.name}}} = np.empty(({shape},), np.{dtype_name(leaf.dtype)})"
            touched = (Access(made.name, "write", None),)
            b.bodies[outermost].append(Lines((line,), touched, (made.name,)))
            if lengths is not None:
                raise NotCovered("a growing list of arrays of several lengths", b.where)
        return Column(made.name, leaf.dtype, tuple(dims), None if lengths is None else lengths.name)

    def _bounded(self, size: Affine, level: int, what: str) -> Affine:
        """Return an upper bound of an integer in terms of names bound outside a level."""
        b = self.builder
        result = size
        for _ in range(16):
            inside = [n for n in result.names if b.level_of(n) > level]
            if not inside:
                if result == size or not result.terms:
                    return result
                return b.named_here(Apply("max", (Integer(result), Integer(ZERO))), "capacity")
            name = inside[-1]
            k = dict(result.terms)[name]
            bound = b.bounds.get(name)
            if bound is not None:
                result = result.replaced({name: bound - ONE if k > 0 else ZERO})
            elif k > 0 and name in b.most:
                result = result.replaced({name: b.most[name]})
            elif name in b.least and k < 0:
                result = result.replaced({name: b.least[name]})
            else:
                break
        raise NotCovered(f"{what} whose lengths are not known before the loop", b.where)

    def _grow(self, items: Items, count: str) -> None:
        """Enlarge the columns of a list if they are full, at the start of an iteration."""
        b = self.builder
        first = items.index[0].names[0] if items.index else count
        names = [column.storage for column in items.columns]
        grown: list[Node] = [
            Lines(
                (f"{{{name}}} = grown({{{name}}})",),
                (Access(name, "read", None), Access(name, "write", None)),
                (name,),
            )
            for name in names
        ]
        known = self.growing.get(first)
        if known is not None:  # all lists of a loop are full at the same time
            known += grown
            return
        self.growing[first] = grown
        full = b.fresh("full")
        touched = (
            Access(names[0], "read", None),
            Access(first, "read", ()),
            Access(full, "write", ()),
        )
        test = Lines((f"{full} = {first} >= {{{names[0]}}}.shape[0]",), touched, (full,))
        body = b.bodies[min(b.level_of(first), len(b.bodies) - 1)]
        place = b.earliest(body, test)
        body[place:place] = [test, Region([(f"if {full}:", grown)], (full,))]

    def item_at(self, items: Items, place: Number, type_: Type | None = None) -> Rep:
        """Return an item of a list."""
        b = self.builder
        index = place.affine
        if index is None or not items.capacities:
            raise NotCovered("an item of a list", b.where)
        index = index + items.offset
        item = type_ if type_ is not None else items.type
        if isinstance(item, ListOf):
            return Items(
                items.columns,
                item.item,
                (*items.index, index),
                self._inner_count(items, index),
                items.capacities,
                items.grows,
                items.counts,
            )
        columns = iter(items.columns)
        full = (*items.index, index)
        if items.parts and isinstance(item, TupleOf):
            return Parts(
                tuple(
                    self.item_at(items.parts[k], integer(index), t)
                    if k in items.parts
                    else self._item(t, columns, full)
                    for k, t in enumerate(item.items)
                )
            )
        return self._item(item, columns, full)

    def _inner_count(self, items: Items, index: Affine) -> Affine | None:
        b = self.builder
        depth = len(items.index)
        if depth >= len(items.counts):
            return None
        found = items.counts[depth]
        if isinstance(found, Affine):
            return found
        return b.named_value(Load(found, (*items.index, index)), "count")

    def _item(
        self, type_: Type | None, columns: Iterator[Column], index: tuple[Affine, ...]
    ) -> Rep:
        b = self.builder
        if isinstance(type_, TupleOf):
            return Parts(tuple(self._item(t, columns, index) for t in type_.items))
        column = next(columns, None)
        if column is None:
            raise NotCovered("an item of a list that was not collected", b.where)
        if not column.dims:
            return b.assign(Load(column.storage, index), column.dtype, "saved", may_be_python=True)
        dims = []
        shape = type_.shape if isinstance(type_, Numeric) else None
        for k, dim in enumerate(column.dims):
            extent = shape[k] if shape is not None and k < len(shape) else dim.extent
            if column.lengths is None:
                storage = b.storages[column.storage]
                size = storage.dims[len(index) + k].size
            else:
                name = b.fresh("n")
                b.emit(Assign(name, (), Load(column.lengths, (*index, whole(k))), "="))
                b.level[name] = len(b.bodies) - 1
                size = named(name)
            b.note(extent, size)
            dims.append(Dim(size, extent))
        entry = Load(column.storage, (*index, *(named(f"@{k}") for k in range(len(dims)))))
        return Array(entry, tuple(dims), column.dtype)

    # ------------------------------------------------------------------------------ masks
    def with_places(self, array: Array, items: list[Any], type_: Any) -> list[Any]:
        """Replace the masks of an index by the positions of their true entries."""
        b = self.builder
        found: list[Any] = []
        axis = 0
        for item in items:
            if isinstance(item, Array) and item.dtype.kind == "b":
                for mine, other in zip(array.dims[axis:], item.dims, strict=False):
                    b.same(mine, other)
                places = self.places_of(item)
                found += places
                axis += len(item.dims)
                if isinstance(type_, Numeric) and type_.shape and len(items) == 1:
                    b.note(type_.shape[0], places[0].dims[0].size)
                continue
            found.append(item)
            axis += item is not None and item is not Ellipsis
        return found

    def places_of(self, mask: Array) -> list[Array]:
        """Return the positions of the true entries of a mask, by axis."""
        b = self.builder
        what = f"where {mask.entry}"
        known: list[Array] | None = b.known(mask.storage or "", what)
        if known is not None:
            return known
        copy = b.whole(mask)
        assert copy.storage is not None
        made = [b.storage("places", [], INT64) for _ in mask.dims]
        names = tuple(one.name for one in made)
        for one in made:
            one.given = True
            one.dims = list(mask.dims[:1])
        touched = [Access(copy.storage, "read", None), *(Access(n, "write", None) for n in names)]
        left = ", ".join(f"{{{n}}}" for n in names) + ("," if len(names) == 1 else "")
        b.emit(Lines((f"{left} = np.nonzero({{{copy.storage}}})",), tuple(touched), names, b.where))
        size = b.fresh("n")
        b.emit(
            Lines(
                (f"{size} = {{{names[0]}}}.shape[0]",),
                (Access(names[0], "read", None), Access(size, "write", ())),
                (size,),
            )
        )
        b.level[size] = len(b.bodies) - 1
        dim = Dim(named(size))
        for one in made:
            one.dims = [dim]
        found = [of_storage(n, (dim,), INT64) for n in names]
        if mask.storage is not None:
            b.learn(mask.storage, what, found)
        return found

    # ------------------------------------------------------------------------- lists again
    def array_of_items(self, items: Items, dtype: Any, op: Call | None) -> Array:
        """Return the items of a list as one array."""
        b = self.builder
        if len(items.columns) != 1 or items.count is None or items.columns[0].lengths:
            raise NotCovered("an array of a list", b.where)
        (column,) = items.columns
        if isinstance(items.type, ListOf) or items.counts:
            raise NotCovered("an array of a list of lists", b.where)
        storage = b.storages[column.storage]
        front = items.index
        extent = None
        if op is not None and isinstance(op.result.type, Numeric) and op.result.type.shape:
            extent = op.result.type.shape[0]
            b.note(extent, items.count)
        dims = (Dim(items.count, extent), *storage.dims[len(front) + 1 :])
        places = [named(f"@{k}") for k in range(len(dims))]
        entry = Load(column.storage, (*front, places[0] + items.offset, *places[1:]))
        found = Array(entry, dims, column.dtype)
        wanted = column.dtype if dtype is None else dtype
        return b.filled(
            dims, lambda i: converted(at(found.entry, i), column.dtype, wanted), wanted, "items"
        )


def _is_none(rep: Rep | None) -> bool:
    return isinstance(rep, Known) and (rep.value is None or rep.value is UNDEF.value)


def _tested_for_none(block: Block) -> set[Value]:
    """Return the values of which some use, or an item of them, is tested by ``is None``."""
    sources: dict[Value, Sequence[Any]] = {}
    tested: list[Any] = []
    for op in block.all_ops:
        sources.update(_sources(op))
        if isinstance(op, Call) and op.target is primitives.is_:
            tested += op.args
    found: set[Value] = set()
    while tested:
        value = tested.pop()
        if isinstance(value, Value) and value not in found:
            found.add(value)
            tested += sources.get(value, ())
    return found


def _sources(op: Any) -> Iterator[tuple[Value, Sequence[Any]]]:
    """Yield the values that an operation hands on, with those that each may be (an item of)."""
    if isinstance(op, If):
        yield from zip(
            op.outputs, zip(op.then.results, op.orelse.results, strict=True), strict=True
        )
    elif isinstance(op, For | While):
        for k, atom in enumerate(op.body.results[1:]):
            yield op.outputs[k + 2], (atom, *op.inits[k : k + 1])
        for k, param in enumerate(op.carried):
            yield param, (op.inits[k], op.body.results[k + 1])
        if isinstance(op, For):
            yield from zip(op.items, ((seq,) for seq in op.seqs), strict=True)
    elif isinstance(op, Call) and (is_part(op.target) or op.target is primitives.identity):
        yield op.result, op.args[:1]


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, Constant) and expr.text in ("0.0", "-0.0")


def _may_end_early(op: For | While) -> bool:
    """Return True if a counting loop has an early exit: its range may be far too long."""
    return isinstance(op, For) and not op.backward and op.body.results[0] != Const(0)


def _leaf_carried(carried: Sequence[Carried]) -> Iterator[Carried]:
    for one in carried:
        if one.parts is None:
            yield one
        else:
            yield from _leaf_carried(one.parts)


def _always_raises(block: Block) -> bool:
    """Return True if a block ends with a ``raise`` statement of the user's."""
    return any(isinstance(op, Call) and op.target is primitives.raise_ for op in block.ops)


def _leaves(rep: Rep) -> Iterator[Number | Array]:
    if isinstance(rep, Parts):
        for one in rep.items:
            yield from _leaves(one)
    elif isinstance(rep, Number | Array):
        yield rep
    elif isinstance(rep, Known):
        raise NotCovered("a list of objects")
    else:
        raise NotCovered("a list that is kept in a tuple")


def _renamed_rep(rep: Rep, old: str, new: str) -> Rep:
    if isinstance(rep, Parts):
        return Parts(tuple(_renamed_rep(one, old, new) for one in rep.items))
    if isinstance(rep, Array) and rep.storage == old:
        assert isinstance(rep.entry, Load)
        return Array(Load(new, rep.entry.index), rep.dims, rep.dtype)
    return rep
