"""Reverse mode as the modes share it: gradients of one number, and of parts of arguments."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from srcad import runtime
from srcad.analysis.activity_trees import position
from srcad.analysis.memory_order import MemoryOrder
from srcad.arguments.request import Parameter, Request
from srcad.arguments.signature import LARGEST_DICT
from srcad.arguments.wrt import WrtEntry, spelled_steps, type_at
from srcad.errors import SrcadError, UnsupportedTypeError, WrtError
from srcad.frontend.lower import lower_inline
from srcad.ir.core import Atom, Block, Call, Const, Display, Function, Op, Value, walk
from srcad.ir.inference.builder import Builder, atom_type
from srcad.ir.traits import built_parts, is_builder, is_stop, is_structure
from srcad.modes import holomorphic
from srcad.modes.mode import Mode, Part, Problem, Results, Run
from srcad.modes.results import (
    aux_of,
    scalar_output,
    summed_output,
    with_results,
    with_types_of_texts,
    without_sum,
)
from srcad.modes.steps import warn_of_steps
from srcad.startup.identifiers import label, shown
from srcad.startup.records import replace
from srcad.transforms.silent import is_repeatable, silenced
from srcad.transforms.vjp import vjp
from srcad.types import objects
from srcad.types.numeric import Numeric
from srcad.types.structures import OPAQUE, TEXT, Fixed, ListOf, Opaque, TupleOf, Type, numbers_in

ONE = Const(1.0)


def derived(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function of the result, one real number, and of its gradient by each of `wrt`."""
    if request.holomorphic:
        holomorphic.refuse_real(function, wrt, has_aux=request.has_aux)
    else:
        function = scalar_output(function, has_aux=request.has_aux)
    made = vjp(function, wrt, lower_inline, seed=ONE, has_aux=request.has_aux)
    return holomorphic.conjugated(made) if request.holomorphic else made


def is_inert(gradient: Atom, block: Block) -> bool:
    """Return True if every leaf of a gradient is None: no derivative flows."""
    if isinstance(gradient, Const):
        return gradient.value is None
    made = next((op for op in block.ops if gradient in op.results), None)
    if not isinstance(made, Call) or not is_builder(made.target):
        return False
    return all(not hasattr(p, "items") and is_inert(p, block) for p in built_parts(made))


def with_layouts(made: Function, places: Sequence[WrtEntry], odd: Collection[WrtEntry]) -> Function:
    """Bring gradients into the memory order that is promised, where arguments have another."""
    if not odd:
        return made
    y, *gradients = made.block.results
    builder = Builder(ops=list(made.block.ops), where=made.where, half="reverse")
    for k, place in enumerate(places):
        gradient = gradients[k]
        if place in odd and isinstance(gradient, Value):
            x: Atom = made.params[place.parameter]
            for key in place.keys:
                x = _read(builder, x, key)
            gradients[k] = builder.call(
                runtime.copy_in_order_of, gradient, x, type=gradient.type, hint=gradient.hint
            )
    block = Block((), tuple(builder.ops), (y, *gradients))
    return Function(made.name, made.params, block, made.where)


def in_c_order(made: Function, problem: Problem, odd: Collection[WrtEntry]) -> Function:
    """Bring gradients into C order that may have come out in another one.

    The arguments that they belong to are in C order, but for the `odd` ones.
    """
    places = problem.distinct
    elsewhere = {place.parameter for place in odd}
    ordered = {
        p
        for k, p in enumerate(made.params)
        if k not in elsewhere and (k in problem.wrt or k >= len(problem.lowered.params))
    }
    orders = MemoryOrder(made.block, ordered)
    builder = Builder(ops=list(made.block.ops), where=made.where, half="reverse")
    y, *gradients = made.block.results
    found = [
        gradient if place in odd else _in_order(builder, orders, gradient)
        for place, gradient in zip(places, gradients, strict=True)
    ]
    block = Block((), tuple(builder.ops), (y, *found))
    return Function(made.name, made.params, block, made.where)


def _in_order(builder: Builder, orders: MemoryOrder, atom: Any) -> Any:
    """Return a gradient, or the structure of gradients, in C order."""
    if not isinstance(atom, Value):
        return atom
    if isinstance(atom.type, TupleOf):
        made = next((op for op in builder.ops if atom in op.results), None)
        if not isinstance(made, Call) or not is_builder(made.target):
            return atom
        args = tuple(_parts_in_order(builder, orders, arg) for arg in made.args)
        if args == made.args:
            return atom
        builder.ops.append(replace(made, args=args, result=(again := Value(atom.type, atom.hint))))
        return again
    if not isinstance(atom.type, Numeric) or atom.type.form != "array" or orders.is_in_order(atom):
        return atom
    if atom.type.shape is None:  # np.ascontiguousarray adds an axis to an array without one
        order = (("order", Const("C")),)
        return builder.call(np.asarray, atom, kwargs=order, hint=atom.hint, type=atom.type)
    return builder.call(np.ascontiguousarray, atom, hint=atom.hint)


def _parts_in_order(builder: Builder, orders: MemoryOrder, arg: Any) -> Any:
    if not isinstance(arg, Display):
        return _in_order(builder, orders, arg)
    items = tuple(_parts_in_order(builder, orders, item) for item in arg.items)
    return arg if items == arg.items else replace(arg, items=items)


def with_zeros_for_stopped(made: Function, lowered: Function, wrt: Sequence[int]) -> Function:
    """Give a stopped integer the gradient zero, since arithmetic leads from it."""
    y, *gradients = made.block.results
    stopped = {
        v
        for op in walk(lowered.block)
        if isinstance(op, Call) and is_stop(op.target)
        for v in op.operands
    }
    for k, place in enumerate(wrt):
        type_ = lowered.params[place].type
        number = isinstance(type_, Numeric) and type_.is_scalar and type_.kind in "iu"
        if number and is_inert(gradients[k], made.block) and lowered.params[place] in stopped:
            gradients[k] = Const(0.0)
    return with_results(made, (y, *gradients))


def with_gradients_of_parts(
    function: Function,
    places: Sequence[WrtEntry],
    wrt: Sequence[int],
    rows: Type | None = None,
) -> Function:
    """Return the derived function with one gradient for each of these places.

    With `rows`, the type of a result, a gradient is a Jacobian: in the structure of the result.
    """
    y, *found = function.block.results
    by_parameter = dict(zip(wrt, found, strict=True))
    builder = Builder(ops=list(function.block.ops), where=function.where, half="reverse")
    parts = [_rows_at(builder, function, by_parameter[p.parameter], p, rows) for p in places]
    block = Block((), tuple(builder.ops), (y, *parts))
    return Function(function.name, function.params, block, function.where)


def _rows_at(
    builder: Builder, function: Function, jacobian: Atom, place: WrtEntry, rows: Type | None
) -> Atom:
    """Return the entry at a position of each part of a result."""
    if not place.keys or not isinstance(rows, TupleOf):
        return _at(builder, function, jacobian, place)
    type_ = atom_type(jacobian)
    if not isinstance(type_, TupleOf):  # no part of the result is a number
        return jacobian
    parts = [
        _rows_at(builder, function, builder.part(jacobian, type_, k), place, item)
        for k, item in enumerate(rows.items)
    ]
    return builder.build_like(type_, parts)


def _with_second_derivatives_of_parts(function: Function, problem: Problem) -> Function:
    """Return the derived function with the rows and columns of the Hessian of these parts.

    A row has the structure of its place, and each part of it that of the place of the column.
    """
    y, *found = function.block.results
    wrt, columns = list(problem.wrt), [problem.distinct[k] for k in problem.order]
    builder = Builder(ops=list(function.block.ops), where=function.where, half="reverse")
    single = problem.request.single
    in_rows = len(wrt) > 1 or (not single and len(columns) == 1)  # see `hessian.with_second`

    def block(row: WrtEntry, column: WrtEntry) -> Atom:
        whole = found[wrt.index(row.parameter)]
        if in_rows:
            whole = part_of(builder.ops, whole, wrt.index(column.parameter)) or Const(None)
        rows = type_at(function.params[row.parameter].type, row.keys)
        return _rows_at(builder, function, _at(builder, function, whole, row), column, rows)

    parts: list[Atom] = []
    for row in problem.distinct:
        blocks = [block(row, column) for column in columns]
        parts.append(blocks[0] if single else builder.build_tuple(*blocks))
    results = Block((), tuple(builder.ops), (y, *parts))
    return Function(function.name, function.params, results, function.where)


def _at(builder: Builder, function: Function, gradient: Atom, place: WrtEntry) -> Atom:
    for count, key in enumerate(place.keys, 1):
        part = part_of(builder.ops, gradient, key)
        if part is None:
            return Const(None)
        if part is not gradient:
            gradient = part
            continue
        if isinstance(atom_type(gradient), ListOf):
            name = function.params[place.parameter].hint or "argument"
            steps = place.steps[: count - (place.item is not None)]
            text = Const(spelled_steps(str(place.item or name), steps))
            nothing = Opaque(type(None))
            builder.call(runtime.check_part, gradient, Const(key), text, effect=True, type=nothing)
        gradient = _read(builder, gradient, key)
    return gradient


def _read(builder: Builder, whole: Atom, key: Any) -> Value:
    """Read a part of a structure or list."""
    type_ = atom_type(whole)
    if isinstance(type_, TupleOf):
        k = position(type_, key)
        if k is not None:
            return builder.part(whole, type_, k)
    return builder.item(whole, key)


def part_of(ops: Sequence[Op], gradient: Atom, key: Any) -> Atom | None:
    """Return the part of a gradient behind a key; the whole where parts are not known."""
    if gradient == Const(None):
        return None
    made = next((op for op in ops if gradient in op.results), None)
    if not isinstance(made, Call) or not is_structure(made.target):
        return gradient
    k = position(made.result.type, key)
    if k is None:
        return gradient
    part = built_parts(made)[k]
    assert not hasattr(part, "kind")
    return part


def gradient_at(made: Function, gradient: Atom, keys: Sequence[Any]) -> Atom | None:
    """Return the gradient of a part as far as the derived function builds it.

    None: nothing flows.
    """
    for key in keys:
        part = part_of(made.block.ops, gradient, key)
        if part is None or part is gradient:
            return part
        gradient = part
    return gradient


# From the gradients of all parameters to those that were asked for, checked and in order.

# Refusing to differentiate by an argument through which nothing flows.


def refuse_inert(
    made: Function,
    parameters: Sequence[Parameter],
    places: Sequence[WrtEntry],
    wrt: Sequence[int],
    types: Mapping[str, Type],
) -> None:
    """Refuse an argument that `wrt` names and that carries no derivative."""
    gradients = dict(zip(wrt, made.block.results[1:], strict=True))
    for place in places:
        gradient = gradient_at(made, gradients[place.parameter], place.keys)
        name = parameters[place.parameter].name
        type_ = type_at(types[name], place.keys)
        inert_part = place.keys and not any(numbers_in(type_)) and type_ != OPAQUE
        if gradient is None or inert_part or is_inert(gradient, made.block):
            raise _refusal(made, _described(name, place), type_)


def _described(name: str, place: WrtEntry) -> str:
    """Return an argument, or a part of one, as the user sees it."""
    if isinstance(place.item, int):
        name = str(place.parameter + place.item)
        return spelled_steps(name, place.steps)
    return repr(spelled_steps(place.item or name, place.steps))


def _refusal(made: Function, argument: str, type_: Type) -> SrcadError:
    if isinstance(type_, Opaque) and type_.cls is dict:
        return UnsupportedTypeError(
            f"argument {argument} of {made.name!r} is a dict of more than {LARGEST_DICT} entries",
            where=made.where,
            why="each entry of a dict is a variable of its own.",
            help="join entries in arrays, or in dicts inside the dict",
        )
    if isinstance(type_, Opaque) and type_ != TEXT:
        kind = "a " + label(type_.cls) if type_.cls else "an object"
        cls = type_.cls or object
        if cls is np.ndarray:
            kind = "an array of objects, of text or of records"
        closed = objects.why_closed(cls)
        of_user = closed is not None and not objects.is_of_library(cls)
        return UnsupportedTypeError(
            f"argument {argument} of {made.name!r} is {kind}, which has no derivative",
            where=made.where,
            why=f"it is not taken apart into its attributes: {closed}"
            if of_user
            else "srcad differentiates by numbers, arrays of numbers and containers of these.",
            help="differentiate by its arrays:  def f(W): ...  with the object made of W inside"
            if of_user
            else "pass its numbers as an array of numbers:  np.asarray(x, float)",
        )
    if type_ == TEXT:
        why = "it is a string, which is no number."
    elif isinstance(type_, Fixed):
        why = f"it is {shown(type_.value)}, which is no number."
    elif isinstance(type_, Numeric) and type_.kind in "iu":
        why = "it is an integer that is used only as a count, an index or in comparisons."
    else:
        why = "the result is not computed from it by arithmetic."
    return WrtError(
        f"no derivative flows through argument {argument} of {made.name!r}",
        where=made.where,
        why=why,
        help="name another argument in wrt, or use srcad.gradient, which returns None for it",
    )


def requested_gradients(made: Function, problem: Problem, *, laid_out: bool = True) -> Function:
    """Return the derived function with one gradient for each thing that is differentiated by.

    Gradients that are `laid_out` are in the memory order of their argument.

    Raises
    ------
    WrtError, UnsupportedTypeError
        No derivative flows through an argument that was named.
    """
    wrt, lowered, request = problem.wrt, problem.lowered, problem.request
    rows = _type_of_rows(made, request)
    made = with_zeros_for_stopped(made, lowered, wrt)
    if not request.lenient:
        whole = [p if rows is None else replace(p, keys=()) for p in problem.places]
        refuse_inert(made, problem.parameters, whole, wrt, problem.types)
        if problem.arguments:
            warn_of_steps(problem.function, lowered, made, problem.parameters, wrt, request.has_aux)
    places = problem.distinct
    if request.mode == "hessian" and any(place.keys for place in places):
        made = _with_second_derivatives_of_parts(made, problem)
    else:
        made = with_gradients_of_parts(made, places, wrt, rows)
    if not laid_out:
        return made
    copied = {*problem.not_in_c_order, *problem.inside_others}
    made = with_layouts(made, places, copied)
    return in_c_order(made, problem, copied) if problem.arguments else made


def _type_of_rows(made: Function, request: Request) -> Type | None:
    """Return the type of a structured result, which is the structure of the Jacobian."""
    if not request.mode.startswith("jac"):
        return None
    type_ = atom_type(made.block.results[0])
    if request.has_aux and isinstance(type_, TupleOf):
        type_ = type_.items[0]
    return type_ if isinstance(type_, TupleOf) else None


def in_one_function(
    made: Function, problem: Problem, *, gives_value: bool, laid_out: bool = True
) -> Results:
    """One function for both halves, which returns the gradients, perhaps after the value.

    The value is wanted for itself, or to be looked at.
    """
    gives_value = gives_value or problem.request.check_finite
    asked = requested_gradients(made, problem, laid_out=laid_out)
    answer = _answer(asked, problem, gives_value=gives_value)
    name = f"{problem.request.mode}_{problem.written_name}"
    part = Part(name, answer, own=(int(gives_value),))
    return Results(
        (part,),
        run=_as_it_is,
        silenced=lambda: (replace(part, function=silenced(part.function)),),
        repeats=is_repeatable(answer),
    )


def _as_it_is(loaded: Run) -> Run:
    return loaded


def _answer(function: Function, problem: Problem, *, gives_value: bool) -> Function:
    """Return the derived function with the requested results.

    These are the gradients, or the value and them; with aux the pair ``(gradients, aux)`` or
    ``((value, aux), gradients)``.  The gradients are one value, or a tuple.
    """
    aux: Atom | None = None
    if problem.request.has_aux and not gives_value:
        function, aux = aux_of(function)
    y, *found = function.block.results
    builder = Builder(ops=list(function.block.ops), where=function.where, half="reverse")
    gradients = _in_requested_order(builder, found, problem.order)
    single = problem.request.single
    answer = gradients[0] if single else builder.build_tuple(*gradients)
    results: tuple[Atom, ...] = (answer,)
    if gives_value:
        results = (y, answer)
    elif aux is not None:
        results = (answer, aux)
    block = Block((), tuple(builder.ops), results)
    return Function(function.name, function.params, block, function.where)


def _in_requested_order(
    builder: Builder, gradients: Sequence[Atom], order: Sequence[int]
) -> list[Atom]:
    """Return the gradients as they are asked for; a structure that stands there twice is copied.

    Arrays are copied where results are told apart.
    """
    answer: list[Atom] = []
    for k in order:
        gradient = gradients[k]
        is_repeated = gradient in answer and isinstance(gradient, Value)
        if is_repeated and not isinstance(atom_type(gradient), Numeric):
            gradient = builder.call(runtime.deep_copy, gradient, type=atom_type(gradient))
        answer.append(gradient)
    return answer


# ``grad``, ``value_and_grad`` and ``elementwise_grad``: gradients by one reverse pass.


def of_the_sum(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function of the result and of the gradients of its sum."""
    function = with_types_of_texts(function)
    summed = summed_output(function, complex_too=request.holomorphic, has_aux=request.has_aux)
    return without_sum(derived(summed, replace(request, has_aux=True), wrt))


_gradients = partial(in_one_function, gives_value=False)
_with_value = partial(in_one_function, gives_value=True)

GRAD = Mode("grad", "Gradient", derived, _gradients, nests=True)
VALUE_AND_GRAD = Mode(
    "value_and_grad", "Value and gradient", derived, _with_value, gives_value=True, nests=True
)
ELEMENTWISE_GRAD = Mode(
    "elementwise_grad", "Gradient of the sum", of_the_sum, _gradients, nests=True
)
