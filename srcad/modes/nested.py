"""Derivatives inside a function that is itself read: ``grad(f)(x)`` in the middle of a program.

The inner function is read into a block of its own, whose parameters are the arguments to
differentiate by; everything else that it names is simply in scope.  Its derivative is an ordinary
function of the IR, and its ops become part of the outer program.  So any nesting is one transform
applied again, and there is nothing that could confuse one level with another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from srcad import errors
from srcad.arguments.request import UNSET, Request, requested
from srcad.frontend.domain.predicates import is_hashable
from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Constant,
    FunctionValue,
    ListValue,
    MethodValue,
    TupleValue,
)
from srcad.frontend.machine.constants import known
from srcad.frontend.machine.dispatch import apply, means_object
from srcad.frontend.machine.machine import Machine
from srcad.frontend.prelude.callbacks import with_constants
from srcad.frontend.store.lookup import value_of_object
from srcad.frontend.store.stopped import stopped
from srcad.ir.core import Atom
from srcad.ir.inference.builder import atom_type
from srcad.modes import nested_wrt
from srcad.modes.inner_function import InnerFunction, own, with_keys
from srcad.modes.mode import Mode
from srcad.modes.registry import MODES
from srcad.modes.reverse import is_inert
from srcad.startup.records import dataclass, replace
from srcad.transforms.vjp import as_primal
from srcad.types.structures import Type, is_holder

Meaning = Callable[[Machine, "Given"], AbstractValue]
Inside = Callable[
    [Machine, Request, AbstractValue, tuple[AbstractValue, ...], dict[str, AbstractValue]],
    AbstractValue,
]
MEANINGS: dict[Any, Meaning] = {}
INSIDE: dict[str, Inside] = {}


@dataclass(frozen=True)
class Given:
    """The arguments of a call of one of srcad's own functions."""

    args: tuple[AbstractValue, ...]
    kwargs: dict[str, AbstractValue]

    def function(self, state: Machine) -> AbstractValue:
        if self.args:
            return self.args[0]
        if "function" in self.kwargs:
            return self.kwargs["function"]
        return state.refuse(
            errors.UnsupportedSyntaxError,
            "cannot tell which function is differentiated",
            help=("pass the function first",),
        )

    def named(self, state: Machine, *names: str) -> list[AbstractValue]:
        """Return the arguments of these names, by position or by keyword."""
        spare = names[len(self.args) :]
        if len(self.args) > len(names) or set(self.kwargs) != set(spare):
            state.refuse(
                errors.UnsupportedSyntaxError,
                "cannot tell the arguments of a derivative",
                help=(f"pass {', '.join(names)}",),
            )
        return [*self.args, *(self.kwargs[name] for name in spare)]

    def known(self, state: Machine, name: str, position: int, default: Any) -> Any:
        """Return an option, which has to be known before the call."""
        box = self.kwargs.get(name)
        if box is None:
            box = self.args[position] if position < len(self.args) else Constant(default)
        if isinstance(box, ListValue):
            box = TupleValue(box.items)
        return known(state, box, f"{name!r} of a gradient")


@means_object
def transforms(
    state: Machine,
    callee: Constant,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue | None:
    """Interpret a call of one of srcad's own objects; None for all other objects."""
    value = callee.value
    if isinstance(value, Request):
        return differentiated(state, value, args[0], args[1:], kwargs)
    kind = type(value)
    if hasattr(kind, "__srcad_apply__"):
        held: AbstractValue = value.__srcad_apply__(state, args, kwargs)
        return held
    if hasattr(kind, "__srcad_of__"):
        inner, request = value.__srcad_of__()
        return differentiated(state, request, _attribute(state, callee, inner), args, kwargs)
    if hasattr(kind, "__srcad_primal__"):
        return apply(state, _attribute(state, callee, value.__srcad_primal__()), args, kwargs)
    if hasattr(kind, "__srcad_called__"):
        function = _attribute(state, callee, value.function)
        return value.__srcad_called__(state, function, args, kwargs)  # type: ignore[no-any-return]
    meaning = MEANINGS.get(value) if is_hashable(value) else None
    return None if meaning is None else meaning(state, Given(args, kwargs))


def _attribute(state: Machine, callee: Constant, function: Any) -> AbstractValue:
    """Return the function inside one of srcad's objects, guarded like the user's other objects."""
    if callee.path is None:
        return Constant(function)
    if hasattr(type(callee.value), "__srcad_of__"):
        state.guard((*callee.path, ("attr", "request")), "equals", callee.value.request)
    return value_of_object(state, function, (*callee.path, ("attr", "function")))


def means_inside(target: Any) -> Callable[[Meaning], Meaning]:
    """Register a handler of calls of a mode inside a differentiated function."""

    def register(meaning: Meaning) -> Meaning:
        MEANINGS[target] = meaning
        return meaning

    return register


def mode_inside(name: str) -> Callable[[Inside], Inside]:
    """Register the handler of a derivative that is not called as a gradient is."""

    def register(inside: Inside) -> Inside:
        INSIDE[name] = inside
        return inside

    return register


def gradient_function(state: Machine, request: Request, function: AbstractValue) -> AbstractValue:
    """``grad(f)`` as a value: a function that is still to be called."""
    return BoundValue(Constant(request), (function,))


def gradient_of_options(mode: str) -> Meaning:
    """Interpret a call of a function with the options of ``grad``."""

    def meaning(state: Machine, given: Given) -> AbstractValue:
        spelled = [given.known(state, "wrt", 1, UNSET)]
        spelled += [given.known(state, name, 9, UNSET) for name in ("argnums", "argnum")]
        has_aux = bool(given.known(state, "has_aux", 9, False))
        if given.known(state, "check_finite", 9, False):
            refuse_check(state)
        holomorphic = bool(given.known(state, "holomorphic", 9, False))
        request = requested(
            mode,
            spelled,
            has_aux=has_aux,
            holomorphic=holomorphic,
            chunk_size=given.known(state, "chunk_size", 9, None),
        )
        return gradient_function(state, request, given.function(state))

    return meaning


def nested_gradient(state: Machine, given: Given) -> AbstractValue:
    """Call ``gradient(f, *args)``."""
    return differentiated(
        state, Request("grad", None, False), given.args[0], given.args[1:], given.kwargs
    )


def refuse_inert_inside(state: Machine) -> NoReturn:
    """Refuse an argument that `wrt` names and that carries no derivative."""
    state.refuse(
        errors.WrtError,
        "no derivative flows through an argument of the inner gradient",
        why="it is a flag, a count or an index.",
        help=("differentiate by another argument",),
    )


def refuse_nested(state: Machine, mode: str) -> NoReturn:
    """Refuse a mode that is not for functions that are differentiated themselves."""
    state.refuse(
        errors.UnsupportedSyntaxError,
        f"cannot call {mode!r}",
        why=f"a {mode} inside a differentiated function is not supported yet.",
        help=("use srcad.grad or srcad.value_and_grad",),
    )


def refuse_check(state: Machine) -> NoReturn:
    """Inner gradients are not looked at: they are part of the outer program."""
    state.refuse(
        errors.UnsupportedSyntaxError,
        "cannot check an inner gradient for infinities",
        why="its result is a part of the function that the outer one differentiates.",
        help=("give check_finite=True to the outermost gradient",),
    )


def nested_stop_gradient(state: Machine, given: Given) -> AbstractValue:
    """``stop_gradient(x)``: the same parts as new values through which nothing flows.

    What a function captures is taken for constant when it is called.
    """
    (x,) = given.args
    if isinstance(x, BoundValue | FunctionValue | MethodValue):
        return BoundValue(Constant(with_constants), (x,), {})
    return stopped(state, x)


# ------------------------------------------------------------------------------ differentiation
def differentiated(
    state: Machine,
    request: Request,
    function: AbstractValue,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue:
    """Call the derivative of a function here."""
    mode = MODES[request.mode]
    if request.check_finite:
        refuse_check(state)
    if mode.name in INSIDE:
        return INSIDE[mode.name](state, request, function, args, kwargs)
    if not mode.nests:
        refuse_nested(state, mode.name)
    keys = nested_wrt.differentiated_arguments(state, request, function, len(args), kwargs)
    places = list(dict.fromkeys(keys))
    inner = InnerFunction(state, request, function, args, kwargs, places)
    found = dict(zip(places, _gradients(inner, mode, request), strict=True))
    if not request.lenient and any(found[key] is None for key in keys):
        refuse_inert_inside(state)
    for key, atom in zip(places, inner.atoms, strict=True):
        if found[key] is None and is_holder(atom_type(atom)):
            _refuse_holder(state, atom_type(atom))
    gradients = [found[key] for key in keys]
    boxes = tuple(
        Constant(None) if g is None else with_keys(inner.boxes[key], own(state, state.box(g)))
        for key, g in zip(keys, gradients, strict=True)
    )
    answer = boxes[0] if request.single else TupleValue(boxes)
    if mode.gives_value:
        return TupleValue((inner.result, answer))
    return answer if inner.aux is None else TupleValue((answer, inner.aux))


def _refuse_holder(state: Machine, type_: Type) -> NoReturn:
    """Refuse an object that holds numbers and is not taken apart."""
    state.refuse(
        errors.UnsupportedTypeError,
        f"cannot differentiate by a {str(type_)!r} in an inner derivative",
        why="it is not taken apart, and only its class says what is done with its numbers.",
        help=("pass a plain dict, list, tuple, array or number",),
    )


def _gradients(inner: InnerFunction, mode: Mode, request: Request) -> list[Atom | None]:
    """Append the derived function's ops, and return its gradients (None: nothing flows)."""
    asked = replace(request, has_aux=bool(inner.kept))
    made = as_primal(mode.derive(inner.with_pair(), asked, range(len(inner.params))))
    block = inner.write(made)
    inner.rename_pair(block)
    return [None if is_inert(g, block) else g for g in block.results[1:]]
