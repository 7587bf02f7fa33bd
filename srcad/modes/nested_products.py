"""``pullback``, ``jvp`` and ``hvp`` inside a function that is itself read.

The tangents of a call are written where the call stands.  The reverse half of a ``pullback`` is
kept until somebody calls it: what it reads of the primal half are values like any others, which
the function that is returned holds, as a closure does; each call writes the ops once more.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import NoReturn

import numpy as np

from srcad import errors, runtime
from srcad.analysis.sharing import sharing
from srcad.arguments.request import Request, wrt_entries
from srcad.frontend.domain.memory import Origin
from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Constant,
    DictValue,
    ListValue,
    RecordValue,
    Stale,
    Structure,
    TupleValue,
)
from srcad.frontend.lower import lower_inline
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.origins import origin
from srcad.ir.core import Atom, Block, Const, Function, Value, free_values
from srcad.ir.inference.builder import atom_type
from srcad.ir.memory import has_storage
from srcad.modes import nested_wrt
from srcad.modes.inner_function import InnerFunction, append_ops, own
from srcad.modes.nested import Given, refuse_check, refuse_inert_inside
from srcad.modes.reverse import is_inert
from srcad.passes.copies import copied_block
from srcad.startup.records import dataclass, replace
from srcad.transforms.jvp import jvp
from srcad.transforms.split import split
from srcad.transforms.sweep import cotangent_type, zero_of
from srcad.transforms.vjp import as_primal, vjp
from srcad.types.numeric import Numeric, same_dtype
from srcad.types.sizes import same
from srcad.types.structures import ListOf, Opaque, TupleOf, Type

# Seeds and directions inside a function that is read: they have to fit what they belong to.
#
# Shapes are compared before the call, where types tell them; what they do not tell is checked at
# it.

SEED = "the seed of the pullback"
_NUMBERS = ("python", "numpy", "number")  # the forms that nothing can change in place


def fitting(
    state: Machine, box: AbstractValue, x: Atom, what: str, *, broadcast: bool = False
) -> Atom:
    """Return a seed in the structure, shapes and dtypes of `x`.

    With `broadcast` one number stands for all entries.
    """
    return _Seed(state, what, broadcast).part(box, atom_type(x), x)


@dataclass(frozen=True)
class _Seed:
    state: Machine
    what: str
    broadcast: bool

    def part(self, box: AbstractValue, type_: Type, x: Atom) -> Atom:
        match type_:
            case TupleOf():
                return self._structure(box, type_, x)
            case Numeric():
                return Const(None) if type_.kind == "b" else self._number(box, type_, x)
            case ListOf() | Opaque(cls=None):
                return self._checked(self.state.atom(box), x)
        return Const(None)

    def _structure(self, box: AbstractValue, type_: TupleOf, x: Atom) -> Atom:
        state, count = self.state, len(type_.items)
        if self.broadcast and _is_number(state, box):
            items: tuple[AbstractValue, ...] = (box,) * count
        elif isinstance(box, Structure) and _sort(box) == (type_.cls, _keys(type_), count):
            items = box.items
        else:
            self._refuse(f"needs the structure of the value: a {type_.cls.__name__} of {count}")
        parts = [
            self._item(item, t, state.part(x, type_, k))
            for k, (item, t) in enumerate(zip(items, type_.items, strict=True))
        ]
        return state.build_like(type_, parts)

    def _item(self, box: AbstractValue, type_: Type, x: Atom) -> Atom:
        """Return the seed of a part of a structure; None, as gradients have it, is zero."""
        if not _is_none(box):
            return self.part(box, type_, x)
        match type_:
            case TupleOf(items=items):
                state = self.state
                parts = [self._item(box, t, state.part(x, type_, k)) for k, t in enumerate(items)]
                return state.build_like(type_, parts)
            case Numeric(kind="b"):
                return Const(None)
            case Numeric(form="python"):
                return zero_of(cotangent_type(type_))
            case Numeric() | ListOf() | Opaque(cls=None):
                return self.state.emit(runtime.zero_cotangent, x, type=cotangent_type(type_))
        return Const(None)

    def _number(self, box: AbstractValue, type_: Numeric, x: Atom) -> Atom:
        seed = self.state.atom(box)
        given = atom_type(seed)
        if isinstance(given, Opaque) and given.cls is None:
            return self._checked(seed, x)
        if not isinstance(given, Numeric):
            self._refuse(f"is no number, and the value is a {type_}")
        return self._converted(self._shaped(seed, given, type_, x), type_)

    def _shaped(self, seed: Atom, given: Numeric, type_: Numeric, x: Atom) -> Atom:
        if given.shape is None or type_.shape is None:
            return self._checked(seed, x)
        if len(given.shape) == len(type_.shape):
            found = [same(m, n) for m, n in zip(given.shape, type_.shape, strict=True)]
            if False not in found:
                return self._checked(seed, x) if None in found else seed
        if self.broadcast and given.shape == ():
            return self.state.emit(np.broadcast_to, seed, self.state.shape(x))
        return self._refuse(f"is a {given}, and the value is a {type_}")

    def _converted(self, seed: Atom, type_: Numeric) -> Atom:
        """Return the seed in the kind and dtype of a cotangent of the value.

        For a number it is a number, not an array without axes: derivatives of numbers are rebound,
        and may be saved, where those of arrays are written into.
        """
        target, given, state = cotangent_type(type_), atom_type(seed), self.state
        assert isinstance(target, Numeric)
        if not isinstance(given, Numeric) or target.form == "any":
            return seed
        if target.dtype is None:
            is_point = target.form != "array" and given.form not in _NUMBERS
            return state.emit(operator.getitem, seed, Const(())) if is_point else seed
        forms = _NUMBERS if target.form == "number" else (target.form,)
        if given.form in forms and same_dtype(given.dtype, target.dtype):
            return seed
        if target.form == "python":
            kind = complex if target.kind == "c" else float
            return Const(kind(seed.value)) if isinstance(seed, Const) else state.emit(kind, seed)
        if target.form in _NUMBERS:
            return state.emit(target.dtype.type, seed)
        seed = seed if given.form == "array" else state.emit(np.asarray, seed)
        return state.emit(np.astype, seed, Const(target.dtype))

    def _checked(self, seed: Atom, x: Atom) -> Atom:
        """Return the seed; its shape is compared with that of the value at run time."""
        self.state.emit(
            runtime.fits, seed, x, Const(self.what), effect=True, type=Opaque(type(None))
        )
        return seed

    def _refuse(self, problem: str) -> NoReturn:
        self.state.refuse(
            errors.SeedError,
            f"{self.what} {problem}",
            why="it has the structure and the shape of the value that it belongs to.",
            help=("pass one of that shape",),
        )


def _is_number(state: Machine, box: AbstractValue) -> bool:
    if isinstance(box, Structure):
        return False
    type_ = atom_type(state.atom(box))
    return isinstance(type_, Numeric) and type_.shape == ()


def _keys(type_: TupleOf) -> tuple[object, ...] | None:
    return None if type_.keys is None else tuple(type_.keys)


def _sort(box: Structure) -> tuple[type, tuple[object, ...] | None, int]:
    """Return the class, keys and length of a structure."""
    kind = type(box).__name__
    match box:
        case RecordValue():
            return box.cls, box.keys, len(box.items)
        case DictValue():
            return dict, box.keys, len(box.items)
    return (list if kind == "ListValue" else tuple), None, len(box.items)


Boxes = tuple[AbstractValue, ...]
Kwargs = dict[str, AbstractValue]


# ------------------------------------------------------------------------------- forwards
def nested_jvp(state: Machine, given: Given) -> AbstractValue:
    """``jvp(f, primals, tangents)``."""
    given, has_aux = _without_options(state, given)
    function, primals, tangents = given.named(state, "function", "primals", "tangents")
    args, dots = (
        _listed(state, box, what) for box, what in ((primals, "primals"), (tangents, "tangents"))
    )
    if len(args) != len(dots):
        state.refuse(
            errors.SeedError,
            f"jvp has {len(args)} arguments and {len(dots)} tangents",
            why="there is one tangent for each argument.",
            help=("pass None for an argument that is a constant",),
        )
    places = [k for k, dot in enumerate(dots) if not _is_none(dot)]
    request = Request("jvp", tuple(places), single=False, has_aux=has_aux)
    inner = InnerFunction(state, request, function, args, {}, places)
    y_dot = pushed(inner, [dots[k] for k in places])
    aux = () if inner.aux is None else (inner.aux,)
    return TupleValue((own(state, inner.y), y_dot, *aux))


def pushed(inner: InnerFunction, dots: Sequence[AbstractValue]) -> AbstractValue:
    """Append the ops of a function and of its tangents; return the tangent of the value."""
    state, count = inner.state, 1 + len(inner.kept)
    seeds = [
        fitting(state, dot, atom, f"the tangent of argument {k + 1}")
        for k, (dot, atom) in enumerate(zip(dots, inner.atoms, strict=True))
    ]
    wrt = range(len(inner.params))
    made = as_primal(jvp(inner.with_all(), wrt, lower_inline, values=range(count)))
    given = dict(zip(made.params[len(wrt) :], seeds, strict=True))
    block = inner.write(made, given)
    inner.rename(block.results[:count])
    y_dot = block.results[count]
    return Constant(None) if is_inert(y_dot, block) else own(state, state.box(y_dot))


def nested_hvp(
    state: Machine, request: Request, function: AbstractValue, args: Boxes, kwargs: Kwargs
) -> AbstractValue:
    """``hvp(f)(x, v)``: the tangent of the gradient."""
    args, v, kwargs = _with_direction(state, args, kwargs)
    keys = nested_wrt.differentiated_arguments(state, request, function, len(args), kwargs)
    if len(set(keys)) < len(keys):
        state.refuse(
            errors.WrtError,
            "an hvp is asked for by one argument twice",
            why="a direction is given for each argument that wrt names.",
            help=("name each argument once",),
        )
    dots = (v,) if request.single else _listed(state, v, "directions")
    if len(dots) != len(keys):
        state.refuse(
            errors.SeedError,
            f"hvp by {len(keys)} arguments has {len(dots)} directions",
            why="there is one direction for each argument that wrt names.",
            help=("pass them in a tuple:  v=(v0, v1)",),
        )
    gradient = BoundValue(Constant(replace(request, mode="grad")), (function,))
    outer = Request("jvp", tuple(keys), single=False, has_aux=request.has_aux)
    inner = InnerFunction(state, outer, gradient, args, kwargs, keys)
    product = pushed(inner, dots)
    return product if inner.aux is None else TupleValue((product, inner.aux))


def _with_direction(
    state: Machine, args: Boxes, kwargs: Kwargs
) -> tuple[Boxes, AbstractValue, Kwargs]:
    """Return the arguments and the direction, which is given by name or as the last one."""
    if "v" in kwargs:
        return args, kwargs["v"], {k: box for k, box in kwargs.items() if k != "v"}
    if len(args) > 1:
        return args[:-1], args[-1], kwargs
    return state.refuse(
        errors.SeedError,
        "an hvp is called with no direction",
        why="the direction is the last argument by position, or is given by name.",
        help=("give it:  srcad.hvp(f)(x, v)  or  srcad.hvp(f)(x, *rest, v=v)",),
    )


# ------------------------------------------------------------------------------- backwards
@dataclass(frozen=True, eq=False)
class Adjoint:
    """The reverse half of a pullback: a program that is read holds it as a function.

    `function` takes what was saved and the seed; `order` says which of its gradients is which
    entry of the answer.
    """

    function: Function
    order: tuple[int, ...]

    def __srcad_apply__(self, state: Machine, args: Boxes, kwargs: Kwargs) -> AbstractValue:
        """``back(y_bar)``; what was saved, and the value, stand in front."""
        *saved, y = _listed(state, args[0], "what was saved")
        for stale in (box for box in saved if isinstance(box, Stale)):
            _refuse_written(state, stale)
        given = [*args[1:], *kwargs.values()]
        if len(given) > 1 or not set(kwargs) <= {"y_bar"}:
            state.refuse(
                errors.SeedError,
                "a pullback is called with more than a seed",
                why="there is one cotangent for each part of the value.",
                help=("pass the cotangents of several values in a tuple",),
            )
        box = given[0] if given else Constant(1.0)
        seed = fitting(state, box, state.atom(y), SEED, broadcast=True)
        atoms = [*map(state.atom, saved), seed]
        block = copied_block(
            self.function.block, dict(zip(self.function.params, atoms, strict=True))
        )
        append_ops(state, block.ops)
        bars = [
            Constant(None) if is_inert(g, block) else own(state, state.box(g))
            for g in block.results
        ]
        return TupleValue(tuple(bars[k] for k in self.order))


def nested_pullback(state: Machine, given: Given) -> AbstractValue:
    """``pullback(f, *args)``: the value, and a function that holds the saved values."""
    given, has_aux = _without_options(state, given)
    function, args = given.function(state), given.args[1:]
    kwargs = {k: box for k, box in given.kwargs.items() if k != "wrt"}
    wrt = given.known(state, "wrt", len(given.args), None)
    entries = None if wrt is None else wrt_entries(wrt)
    request = Request("pullback", entries, single=False, has_aux=has_aux, arity=len(args))
    keys = nested_wrt.differentiated_arguments(state, request, function, len(args), kwargs)
    places = list(dict.fromkeys(keys))
    inner = InnerFunction(state, request, function, args, kwargs, places)
    made = vjp(inner.with_pair(), range(len(places)), lower_inline, has_aux=bool(inner.kept))
    parts = split(made)
    gradients = dict(zip(places, parts.adjoint.block.results, strict=True))
    if not request.lenient and any(is_inert(g, parts.adjoint.block) for g in gradients.values()):
        refuse_inert_inside(state)
    block = inner.write(as_primal(parts.primal))
    inner.rename_pair(block)
    y = own(state, inner.y)
    adjoint = Adjoint(as_primal(parts.adjoint), tuple(places.index(key) for key in keys))
    saved = TupleValue((*_referred(state, block), y))
    aux = () if inner.aux is None else (inner.aux,)
    return TupleValue((y, BoundValue(Constant(adjoint), (saved,)), *aux))


def _referred(state: Machine, block: Block) -> Iterator[AbstractValue]:
    """Yield the values that the reverse half reads, with the memory that they share."""
    before = [v for v in free_values(block) if has_storage(v)]
    memory = sharing(Function("", tuple(before), block))
    for atom in block.results[1:]:
        if isinstance(atom, Value):  # the pullback reads it only where it is bound
            state.perhaps_unbound.pop(atom, None)
            state.unbound_if.pop(atom, None)
        box = own(state, state.box(atom))
        if isinstance(atom, Value) and isinstance(box, Value) and has_storage(atom):
            nodes = memory.own(atom), memory.parts(atom)
            known = [v for v in before if any(memory.shares(node, v) for node in nodes)]
            held = frozenset().union(*(origin(state, v).everything for v in known))
            state.origins[box] = Origin(held | {box}, None)
        yield box


def _refuse_written(state: Machine, stale: Stale) -> NoReturn:
    """Refuse to read what was written into since it was saved."""
    line = "" if stale.where is None else f" in line {stale.where.line}"
    state.refuse(
        errors.MutationError,
        f"cannot call a pullback after the write{line}",
        why="it may read the array that was written into, as it was or as it is.",
        help=(
            "call it before the write",
            "or give the pullback an array of its own:  pullback(f, x.copy())",
        ),
    )


# ------------------------------------------------------------------------------- shared
def _without_options(state: Machine, given: Given) -> tuple[Given, bool]:
    """Return the arguments without options, and True if the function has a second result.

    ``check_finite`` is for the outermost derivative.
    """
    if given.known(state, "check_finite", len(given.args), False):
        refuse_check(state)
    has_aux = bool(given.known(state, "has_aux", len(given.args), False))
    options = ("check_finite", "has_aux")
    return Given(given.args, {k: b for k, b in given.kwargs.items() if k not in options}), has_aux


def _listed(state: Machine, box: AbstractValue, what: str) -> Boxes:
    """Return the items of a tuple or list of known length."""
    if isinstance(box, TupleValue | ListValue):
        return box.items
    return state.refuse(
        errors.UnsupportedSyntaxError,
        f"cannot tell how many {what} there are",
        help=("write them as a tuple:  (x, y)",),
    )


def _is_none(box: AbstractValue) -> bool:
    return isinstance(box, Constant) and box.value is None
