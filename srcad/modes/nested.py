"""Derivatives inside a function that is itself read: ``grad(f)(x)`` in the middle of a program.

The inner function is read into a block of its own, whose parameters are the arguments to
differentiate by; everything else that it names is simply in scope.  Its derivative is an ordinary
function of the IR, and its ops become part of the outer program.  So any nesting is one transform
applied again, and there is nothing that could confuse one level with another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from srcad import errors
from srcad.arguments.request import UNSET, Request, requested
from srcad.frontend.domain.structure import values_of
from srcad.frontend.domain.values import AbstractValue, BoundValue, Constant, ListValue, TupleValue
from srcad.frontend.machine.constants import known
from srcad.frontend.machine.dispatch import apply, means_object
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.lookup import value_of_object
from srcad.frontend.store.stopped import constant_of
from srcad.ir.core import Atom, Call, Function, Op, Value, free_values
from srcad.modes.registry import MODES
from srcad.modes.reverse import is_inert
from srcad.passes.substitute import substituted_block
from srcad.startup.lazy import Later
from srcad.startup.records import dataclass, replace
from srcad.transforms.vjp import as_primal

if TYPE_CHECKING:
    from srcad.modes import nested_wrt
else:
    nested_wrt = Later("srcad.modes.nested_wrt")

Meaning = Callable[[Machine, "Given"], AbstractValue]
MEANINGS: dict[Any, Meaning] = {}


@dataclass(frozen=True)
class Given:
    """The arguments of a call of one of srcad's own functions."""

    args: tuple[AbstractValue, ...]
    kwargs: dict[str, AbstractValue]

    def function(self, s: Machine) -> AbstractValue:
        """The function that is differentiated."""
        if self.args:
            return self.args[0]
        if "function" in self.kwargs:
            return self.kwargs["function"]
        return s.refuse(errors.UnsupportedSyntaxError, "cannot tell what is differentiated",
                 help=("pass the function first",))  # fmt: skip

    def known(self, s: Machine, name: str, position: int, default: Any) -> Any:
        """An option, which has to be known before the call."""
        box = self.kwargs.get(name)
        if box is None:
            box = self.args[position] if position < len(self.args) else Constant(default)
        if isinstance(box, ListValue):
            box = TupleValue(box.items)
        return known(s, box, f"{name!r} of a gradient")


@means_object
def transforms(
    s: Machine, callee: Constant, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue | None:
    """What a call of an object of srcad's own means; None for all other objects."""
    value = callee.value
    if isinstance(value, Request):
        return differentiated(s, value, args[0], args[1:], kwargs)
    kind = type(value)
    if hasattr(kind, "__srcad_of__"):
        inner, request = value.__srcad_of__()
        return differentiated(s, request, _attribute(s, callee, inner), args, kwargs)
    if hasattr(kind, "__srcad_primal__"):
        return apply(s, _attribute(s, callee, value.__srcad_primal__()), args, kwargs)
    meaning = MEANINGS.get(value) if callable(getattr(value, "__hash__", None)) else None
    return None if meaning is None else meaning(s, Given(args, kwargs))


def _attribute(s: Machine, callee: Constant, function: Any) -> AbstractValue:
    """The function inside one of srcad's objects, guarded like the user's other objects."""
    if callee.path is None:
        return Constant(function)
    if hasattr(type(callee.value), "__srcad_of__"):
        s.guard((*callee.path, ("attr", "request")), "equals", callee.value.request)
    return value_of_object(s, function, (*callee.path, ("attr", "function")))


def means_inside(target: Any) -> Callable[[Meaning], Meaning]:
    """Register what a call of a function means inside a function that is read."""

    def register(meaning: Meaning) -> Meaning:
        MEANINGS[target] = meaning
        return meaning

    return register


def gradient_function(s: Machine, request: Request, function: AbstractValue) -> AbstractValue:
    """``grad(f)`` as a value: a function that is still to be called."""
    return BoundValue(Constant(request), (function,))


def gradient_of_options(mode: str) -> Meaning:
    """What a call of a function with the options of ``grad`` means."""

    def meaning(s: Machine, given: Given) -> AbstractValue:
        spelled = [given.known(s, "wrt", 1, UNSET)]
        spelled += [given.known(s, name, 9, UNSET) for name in ("argnums", "argnum")]
        has_aux = bool(given.known(s, "has_aux", 9, False))
        request = requested(mode, spelled, has_aux=has_aux)
        return gradient_function(s, request, given.function(s))

    return meaning


def gradient_now(s: Machine, given: Given) -> AbstractValue:
    """Call ``gradient(f, *args)``."""
    return differentiated(s, Request("grad", None, False), given.args[0], given.args[1:],
                          given.kwargs)  # fmt: skip


def pullback_now(s: Machine, given: Given) -> AbstractValue:
    """Call ``pullback(f, *args)``."""
    return refuse_nested(s, "pullback")


def jvp_now(s: Machine, given: Given) -> AbstractValue:
    """Call ``jvp(f, primals, tangents)``."""
    return refuse_nested(s, "jvp")


def refuse_nested(s: Machine, mode: str) -> NoReturn:
    """A mode that is not for functions that are differentiated themselves."""
    s.refuse(errors.UnsupportedSyntaxError, f"cannot call {mode!r}",
             why=f"a {mode} inside a differentiated function is not supported yet.",
             help=("use srcad.grad or srcad.value_and_grad",))  # fmt: skip


def stopped(s: Machine, given: Given) -> AbstractValue:
    """``stop_gradient(x)``: the same parts as new values through which nothing flows."""
    return constant_of(s, given.args[0])


# ------------------------------------------------------------------------------ differentiation
def differentiated(
    s: Machine,
    request: Request,
    function: AbstractValue,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue:
    """Call the derivative of a function here."""
    mode = MODES[request.mode]
    if not mode.nests:
        refuse_nested(s, mode.name)
    keys = nested_wrt.sought(s, request, function, len(args), kwargs)
    places = list(dict.fromkeys(keys))
    inner = _Inner(s, request, function, args, kwargs, places)
    found = dict(zip(places, inner.gradients(), strict=True))
    if not request.lenient and any(found[key] is None for key in keys):
        s.refuse(errors.WrtError, "no derivative flows through an argument of the inner gradient",
                 why="it is a flag, a count or an index.",
                 help=("differentiate by another argument",))  # fmt: skip
    gradients = [found[key] for key in keys]
    boxes = tuple(Constant(None) if g is None else s.box(g) for g in gradients)
    answer = boxes[0] if request.single else TupleValue(boxes)
    if mode.gives_value:
        return TupleValue((inner.result, answer))
    return answer if inner.aux is None else TupleValue((answer, inner.aux))


class _Inner:
    """The inner function: read into a block, derived, and written into the outer block."""

    def __init__(
        self,
        s: Machine,
        request: Request,
        function: AbstractValue,
        args: tuple[AbstractValue, ...],
        kwargs: dict[str, AbstractValue],
        places: list[nested_wrt.Key],
    ) -> None:
        self.s = s
        boxes: dict[nested_wrt.Key, AbstractValue] = dict(enumerate(args))
        boxes.update(kwargs.items())
        self.atoms = [s.atom(boxes[place]) for place in places]
        self.params = [_parameter(a, place) for a, place in zip(self.atoms, places, strict=True)]
        s.active.update(self.params)
        with s.block() as builder:
            for place, param in zip(places, self.params, strict=True):
                boxes[place] = s.box(param)
            positional = tuple(boxes[k] for k in range(len(args)))
            self.result = apply(s, function, positional, {k: boxes[k] for k in kwargs})
            self.y, self.aux = self._split(request)
            y = s.atom(self.y)
            self.kept = self._escaping(builder.ops)
            if self.kept:
                kept = builder.build_tuple(*self.kept)
                y = builder.build_tuple(y, kept)
        self.request = replace(request, has_aux=bool(self.kept))
        block = builder.finish(y)
        self.function = Function(
            nested_wrt.name_of_box(function), tuple(self.params), block, s.builder.where
        )

    def _split(self, request: Request) -> tuple[AbstractValue, AbstractValue | None]:
        if not request.has_aux:
            return self.result, None
        if isinstance(self.result, TupleValue) and len(self.result.items) == 2:
            return self.result.items
        return self.s.refuse(
            errors.NonScalarOutputError,
            "has_aux=True needs a function that returns a pair",
            help=("return the number and the rest:  return y, aux",),
        )

    def _escaping(self, ops: Sequence[Op]) -> list[Value]:
        """Values made inside that something outside has come to hold (the aux, names, lists)."""
        made = {v for op in ops for v in op.results}
        boxes = [box for _, box in self.s.reachable()]
        held = [*boxes, self.y, *([] if self.aux is None else [self.aux])]
        found = [v for b in held for v in values_of(b) if v in made]
        return [] if found == values_of(self.y) else list(dict.fromkeys(found))

    def gradients(self) -> list[Atom | None]:
        """Append the derived function's ops, and return its gradients (None: nothing flows)."""
        s, derive = self.s, MODES[self.request.mode].derive
        made = as_primal(derive(self.function, self.request, range(len(self.params))))
        mapping: dict[Value, Atom] = dict(zip(made.params, self.atoms, strict=True))
        block = substituted_block(made.block, mapping)
        for op in block.ops:
            s.builder.ops.append(op)
            if _carries(s, op):
                s.active.update(v for v in op.results if not _is_flag(v))
        return [None if is_inert(g, block) else g for g in block.results[1:]]


def _carries(s: Machine, op: Op) -> bool:
    if isinstance(op, Call):
        return any(s.carries(op.target, [v], r) for v in op.operands for r in op.results)
    inside = (v for block in op.blocks for v in free_values(block))
    return any(v in s.active for v in (*op.operands, *inside))


def _is_flag(value: Value) -> bool:
    return getattr(value.type, "kind", "") == "b"


def _parameter(atom: Atom, place: nested_wrt.Key) -> Value:
    hint = atom.hint if isinstance(atom, Value) else None
    return Value(atom.type, hint or (place if isinstance(place, str) else None))
