"""The nouns of the IR: values, ops, blocks, functions.

Everything is immutable.  A `Value` is defined once, by an op, as a block parameter or as a
function parameter, and is compared by identity.  Control flow keeps the structure of Python:
an op may own blocks.  What a block's ops name from outside is simply in scope.

Arguments of a call are *atoms* (`Value`, `Const`) or *displays* of such (`Display`): tuples,
lists, dicts, slices and ranges that exist only to be passed, as in ``np.stack((a, b))`` or
``x[1:n]``.  A call means ``target(*args, **kwargs)`` and has one result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import numpy as np

from srcad.startup.identifiers import plain
from srcad.startup.records import changed, dataclass, field, once
from srcad.types.join import type_of_constant
from srcad.types.sizes import Extent
from srcad.types.structures import Type

# "derived" marks the reverse half of an earlier transform: no longer reversed, but not the user's;
# "repeated" a view that the user took once and that is taken again of a later version; "again" what
# a checkpoint computes once more.
Half = Literal["primal", "reverse", "derived", "repeated", "again"]

# Exit tags: how a trip of a loop ended (section "loops" of docs/design/ir.md).
# RAISED: by an exception that an enclosing ``try`` of the same function catches.
NONE, CONTINUE, BREAK, RETURN, RAISED = 0, 1, 2, 3, 4


class Value:
    """One SSA value.  `hint` is the name that the user, or a transform, would give it.

    `selected` is the number of true entries of a mask, once an array was indexed with it.
    """

    __slots__ = ("hint", "selected", "type")

    def __init__(self, type: Type, hint: str | None = None) -> None:
        self.type = type
        self.selected: Extent | None = None
        self.hint = hint if hint is None else plain(hint)

    def __repr__(self) -> str:
        return f"<{self.hint or '_'}: {self.type}>"


@dataclass(frozen=True)
class Const:
    """A constant.  `spelling` is how the user wrote it, when it is not a literal (``np.pi``)."""

    value: Any
    spelling: str | None = None

    @once
    def type(self) -> Type:
        return type_of_constant(self.value)

    def __hash__(self) -> int:
        kind = type(self.value)
        return hash((kind, self.value if kind in (int, float, bool, str) else None))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Const):
            return NotImplemented
        return same_constant(self.value, other.value)


class _NamedConstant:
    """An object that is nothing but its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


UNDEF = Const(_NamedConstant("undef"))  # no path has bound this name
CHECKPOINT = Const(
    _NamedConstant("checkpoint")
)  # the test of an `If` whose first block runs, twice
Atom = Value | Const


@dataclass(frozen=True)
class Display:
    """A tuple, list, dict, slice or range written where it is used.

    ``slice`` and ``range`` have exactly three items (start, stop, step); the items of a ``dict``
    alternate between key and value.
    """

    kind: Literal["tuple", "list", "dict", "slice", "range"]
    items: tuple[Arg, ...]


Arg = Atom | Display


def _unchanged(part: Any) -> Any:
    return part


@dataclass(frozen=True, eq=False, kw_only=True)
class Op:
    """Base class of operations: the user's source location, and the half it belongs to."""

    where: Location | None = None
    half: Half = "primal"

    @property
    def results(self) -> tuple[Value, ...]:
        """The values that the op defines."""
        raise NotImplementedError

    @once
    def operands(self) -> tuple[Value, ...]:
        """Return the values that the op itself names, without those inside its blocks."""
        raise NotImplementedError

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks that the op owns."""
        return ()

    def mapped(
        self,
        block: Callable[[Block], Block] = _unchanged,
        operand: Callable[[Any], Any] = _unchanged,
    ) -> Op:
        """Apply functions to the blocks and operands of the op; return itself if none changes."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Call(Op):
    """``result = target(*args, **kwargs)``.

    `target` is the callable itself: a NumPy function, a function of `operator` for Python's
    operators, one of `srcad.ir.primitives`, a `Routine`, or any other object.  `effect` marks
    a call that must run exactly once and in order.  `in_place` is set late (`analysis.ownership`):
    the first argument's storage may be reused for the result.
    """

    target: Any
    args: tuple[Arg, ...]
    result: Value
    kwargs: tuple[tuple[str, Arg], ...] = ()
    effect: bool = False
    in_place: bool = False

    @property
    def results(self) -> tuple[Value, ...]:
        return (self.result,)

    @once
    def operands(self) -> tuple[Value, ...]:
        """Return the values among the arguments."""
        args = (*self.args, *[a for _, a in self.kwargs]) if self.kwargs else self.args
        return tuple(_values_among(args))

    def mapped(self, block: Any = _unchanged, operand: Any = _unchanged) -> Call:
        """Apply a function to the arguments."""
        if operand is _unchanged:
            return self
        kwargs = tuple((name, operand(arg)) for name, arg in self.kwargs)
        return changed(self, args=tuple(map(operand, self.args)), kwargs=kwargs)


@dataclass(frozen=True, eq=False)
class If(Op):
    """``results = then() if test else orelse()``; both blocks yield one atom per result.

    With the test `CHECKPOINT` the first block runs, and the other one yields `UNDEF`.  Of what it
    computes nothing is saved: a reverse sweep runs it once more.
    """

    test: Atom
    then: Block
    orelse: Block
    outputs: tuple[Value, ...] = ()

    @property
    def chosen_by(self) -> Atom:
        """The value that tells which branch ran: the test."""
        return self.test

    @property
    def results(self) -> tuple[Value, ...]:
        return self.outputs

    @once
    def operands(self) -> tuple[Value, ...]:
        """Return the test, unless it is a constant."""
        return tuple(_values_among((self.test,)))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The two branches."""
        return (self.then, self.orelse)

    def mapped(self, block: Any = _unchanged, operand: Any = _unchanged) -> If:
        """Apply functions to the branches and the test."""
        return changed(
            self, test=operand(self.test), then=block(self.then), orelse=block(self.orelse)
        )


@dataclass(frozen=True, eq=False)
class Try(If):
    """``results = then()``, or ``orelse(error)`` if that raises one of the classes in `catches`.

    A conditional whose condition is discovered: its test is None.  The first result says whether
    `then` ran to its end (True) or not (False); whoever reverses the op branches on it.  What
    `then` has computed until it fails is lost; what it has done stays done.
    """

    catches: tuple[type[BaseException], ...] = ()

    @property
    def chosen_by(self) -> Atom:
        """The value that tells which branch ran: the first result."""
        return self.outputs[0]

    @property
    def error(self) -> Value:
        """The exception that was caught: the parameter of `orelse`."""
        return self.orelse.params[0]


@dataclass(frozen=True, eq=False)
class For(Op):
    """A loop over sequences in step, as ``zip`` does.

    Body parameters: one item per sequence, then the carried values.  Body results: the exit tag,
    the carried values, then the values to collect.  Op results: the last iteration's tag, the
    number of iterations, the carried values, then one list per collected value (in *index* order,
    also when the loop runs backward).  An iteration that ends with tag `BREAK` or more is the last.
    `backward` runs from the end; `count` limits the loop to the first `count` items.  `segments`
    says into how long parts, on how many levels, a reverse sweep cuts it (``every, levels``).
    """

    seqs: tuple[Arg, ...]
    inits: tuple[Atom, ...]
    body: Block
    outputs: tuple[Value, ...]
    backward: bool = False
    count: Atom | None = None
    segments: tuple[Atom, ...] = ()

    @property
    def results(self) -> tuple[Value, ...]:
        return self.outputs

    @once
    def operands(self) -> tuple[Value, ...]:
        """Return the values among the sequences, the initial values and the counts."""
        counts = self.segments if self.count is None else (self.count, *self.segments)
        return tuple(_values_among((*self.seqs, *self.inits, *counts)))

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (self.body,)

    def mapped(self, block: Any = _unchanged, operand: Any = _unchanged) -> For:
        """Apply functions to the body, the sequences, the initial values and the counts."""
        return changed(
            self,
            seqs=tuple(map(operand, self.seqs)),
            inits=tuple(map(operand, self.inits)),
            count=None if self.count is None else operand(self.count),
            segments=tuple(map(operand, self.segments)),
            body=block(self.body),
        )

    @property
    def items(self) -> tuple[Value, ...]:
        """The body parameters that are items of the sequences."""
        return self.body.params[: len(self.seqs)]

    @property
    def carried(self) -> tuple[Value, ...]:
        """The body parameters that are carried from one iteration to the next."""
        return self.body.params[len(self.seqs) :]


@dataclass(frozen=True, eq=False)
class While(Op):
    """A loop with a test.

    `test` has the carried values as parameters and yields the condition.  Body and results are
    those of `For`, without items.
    """

    inits: tuple[Atom, ...]
    test: Block
    body: Block
    outputs: tuple[Value, ...]

    @property
    def results(self) -> tuple[Value, ...]:
        return self.outputs

    @once
    def operands(self) -> tuple[Value, ...]:
        """Return the values among the initial values."""
        return tuple(_values_among(self.inits))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The test and the body."""
        return (self.test, self.body)

    def mapped(self, block: Any = _unchanged, operand: Any = _unchanged) -> While:
        """Apply functions to the test, the body and the initial values."""
        inits = tuple(map(operand, self.inits))
        return changed(self, inits=inits, test=block(self.test), body=block(self.body))

    @property
    def items(self) -> tuple[Value, ...]:
        """A while loop has no items."""
        return ()

    @property
    def carried(self) -> tuple[Value, ...]:
        """The body parameters, all carried from one iteration to the next."""
        return self.body.params


Loop = For | While


@dataclass(frozen=True, eq=False)
class Block:
    """Parameters, ops in order, and the atoms that it yields."""

    params: tuple[Value, ...] = ()
    ops: tuple[Op, ...] = ()
    results: tuple[Atom, ...] = ()

    @once
    def all_ops(self) -> tuple[Op, ...]:
        """Every op, outer before inner, in order."""
        found: list[Op] = []
        for op in self.ops:
            found.append(op)
            for inner in op.blocks:
                found += inner.all_ops
        return tuple(found)

    @once
    def free(self) -> tuple[Value, ...]:
        """Return the values that are named but not defined in here, in order."""
        found: dict[Value, None] = {}
        bound = set(self.params)
        for op in self.ops:
            _note(op.operands, bound, found)
            for inner in op.blocks:
                _note(inner.free, bound, found)
            bound.update(op.results)
        _note((v for atom in self.results for v in values_in(atom)), bound, found)
        return tuple(found)


@dataclass(frozen=True, eq=False)
class Function:
    """A whole function: named parameters and one block, which has no parameters of its own."""

    name: str
    params: tuple[Value, ...]
    block: Block
    where: Location | None = None


@dataclass(eq=False)
class Routine:
    """A function of its own that others call by reference (so that it may call itself).

    `function` is filled once it has been lowered.  A call of it has a `TupleOf` result with one
    item per result of the function.  `user` is the user's function object, for names and errors.
    The body of a `helper`, which does not call itself, can be put in the place of its calls.
    `of` is the routine that a derived one was made of, `primal` the one that saves what an adjoint
    takes, `title` what a comment says above them, and `signature` what it adds above all but the
    first variant of a function.
    """

    name: str
    function: Function | None = None
    user: Any = None
    helper: bool = False
    of: Routine | None = None
    primal: Routine | None = None
    title: str | None = None
    signature: str = ""
    derived: dict[Any, Any] = field(default_factory=dict)

    @property
    def __name__(self) -> str:
        return self.name


def values_in(arg: Arg) -> list[Value]:
    """Return the values inside an argument."""
    return [arg] if isinstance(arg, Value) else _values_among((arg,))


def _values_among(args: Iterable[Arg]) -> list[Value]:
    found: list[Value] = []
    for arg in args:
        if isinstance(arg, Value):
            found.append(arg)
        elif isinstance(arg, Display):
            found += _values_among(arg.items)
    return found


def carried_outputs(loop: Loop) -> tuple[Value, ...]:
    """Return the op results that are the final carried values."""
    return loop.outputs[2 : 2 + len(loop.inits)]


def collected_outputs(loop: Loop) -> tuple[Value, ...]:
    """Return the op results that are collected lists."""
    return loop.outputs[2 + len(loop.inits) :]


def free_values(block: Block) -> tuple[Value, ...]:
    """Return the free variables of a block, in order."""
    return block.free


def _note(values: Iterable[Value], bound: set[Value], free: dict[Value, None]) -> None:
    for value in values:
        if value not in bound:
            free[value] = None


def walk(block: Block) -> Iterator[Op]:
    """Every op of a block, outer before inner, in order."""
    return iter(block.all_ops)


# A place in the user's text.


@dataclass(frozen=True)
class Location:
    """A place in the user's text; lines from 1, columns from 0, as in `ast`.

    `errstate` holds the arguments of the ``with np.errstate(...)`` that surrounds it: what is
    stamped with this place runs under it, in both halves.  `call` is the call that it stands in,
    where all helpers are read in place.
    """

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    function: str = ""
    errstate: tuple[tuple[str, str], ...] = ()
    call: InlinedCall | None = field(default=None, compare=False, repr=False)


@dataclass(eq=False)
class InlinedCall:
    """An inlined call of a user function.

    Attributes
    ----------
    name : str
        The name of the function.
    where, definition : Location
        The places of the call, whose `call` is the one around it, and of the function.
    arguments : tuple of pairs
        The parameters with their values; None for one that is not a single number or array.
    results : tuple of Value
        The numbers and arrays that it returns, once the body has been read.
    """

    name: str
    where: Location
    definition: Location
    arguments: tuple[tuple[str, Value | None], ...]
    results: tuple[Value, ...] = ()

    @property
    def around(self) -> tuple[InlinedCall, ...]:
        """The calls that it stands in, the outermost first, and itself."""
        outer = self.where.call
        return (self,) if outer is None else (*outer.around, self)


# When two constants are the same, and the conjugate of one.


def same_constant(a: Any, b: Any) -> bool:
    """Return True if two values are the same constant.

    Objects of other classes only by identity.
    """
    kind = type(a)
    if a is b or kind is not type(b):
        return a is b
    if kind in (str, bytes, int) or isinstance(a, np.dtype):
        return bool(a == b)
    if kind in (float, complex) or isinstance(a, np.number | np.bool):
        return repr(a) == repr(b)  # 0.0 is not -0.0, and nan is nan
    if kind is tuple:
        return len(a) == len(b) and all(map(same_constant, a, b))
    if kind in (slice, range):
        return same_constant((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    return False


def conjugate(value: Any) -> Any:
    """Return the conjugate of a complex number.

    The real part of an imaginary one has the sign of -1j.
    """
    imaginary = -value.imag
    return type(value)(complex(value.real or math.copysign(0.0, imaginary), imaginary))
