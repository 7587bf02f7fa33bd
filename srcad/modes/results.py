"""Results of functions: checks for one real number, pairs with aux, sums."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import partial
from types import FunctionType

import numpy as np

from srcad import runtime
from srcad.analysis import kinds
from srcad.analysis.arguments import rule_of
from srcad.errors import NonScalarOutputError, SrcadError, no_result, one_number, real_number
from srcad.frontend.lower import lower_inline
from srcad.ir import primitives
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Atom, Block, Call, Const, Function, Op, Value
from srcad.ir.inference.builder import Builder, atom_type
from srcad.ir.substitute import substituted_block
from srcad.ir.traits import built_parts, is_structure
from srcad.passes.dce import dce
from srcad.rules.row import AlwaysRaisesError
from srcad.startup.identifiers import is_name
from srcad.startup.records import replace
from srcad.types.numeric import NUMBER, Numeric
from srcad.types.sizes import is_one
from srcad.types.structures import TEXT, Fixed, ListOf, Opaque, TupleOf, Type, Undefined

_ARTICLES: dict[type, str] = {list: "a list", dict: "a dict", tuple: "a tuple", str: "a str"}


def scalar_output(function: Function, *, has_aux: bool = False) -> Function:
    """Make sure that the result is one real number: now, or where types do not tell, at the call.

    With `has_aux` this is about the first part of the pair that the function returns.

    Raises
    ------
    NonScalarOutputError
        The result is known to be something else.
    """
    builder = _at_end(function)
    (result,) = function.block.results
    y = _pair(function, builder)[0] if has_aux else result
    type_ = atom_type(y)
    if kinds.is_real_number(function, y):
        return function
    if not _may_be_scalar(type_):
        raise not_scalar(function, type_, y)
    builder.call(
        runtime.check_real_scalar, y, Const(function.name), effect=True, type=Opaque(type(None))
    )
    return _with(function, builder, result)


def _may_be_scalar(type_: Type) -> bool:
    if isinstance(type_, Opaque | Undefined):
        return getattr(type_, "cls", None) is None
    return isinstance(type_, Numeric) and type_.kind in "?fiu" and type_.shape in ((), None)


def describe_result(type_: Type, y: Atom) -> str:
    """Return a result in the user's words."""
    if isinstance(y, Const) and y.value is None:
        return "None"
    if isinstance(type_, Numeric):
        if type_.kind in "bc" and type_.shape == ():
            return {"b": "a bool", "c": "a complex number"}[type_.kind]
        count = 0 if type_.shape is None else len(type_.shape)
        return f"an array ({type_})" if count else f"a {type_}"
    if isinstance(type_, TupleOf | ListOf):
        cls = type_.cls if isinstance(type_, TupleOf) else list
        return _ARTICLES.get(cls, f"a {cls.__name__}")
    if isinstance(type_, Fixed):
        return repr(type_.value) if type_.value is None else f"a {type(type_.value).__name__}"
    known = type_.cls if isinstance(type_, Opaque) else None
    return "an object" if known is None else _ARTICLES.get(known, f"a {known.__name__}")


def not_scalar(function: Function, type_: Type, y: Atom) -> NonScalarOutputError:
    """Return the refusal of a result that is not one real number."""
    name, result = function.name, describe_result(type_, y)
    if result == "None":
        sentence, reason, remedy = no_result(name)
        return NonScalarOutputError(sentence, where=function.where, why=reason, help=remedy)
    if isinstance(type_, Fixed) or type_ == TEXT or result == "a bool":
        return NonScalarOutputError(
            f"the gradient needs one real number, and {name!r} returns {result}",
            where=function.where,
            why="a gradient says how a number changes, and this is none.",
            help="return the number:  return y",
        )
    called = name if is_name(name) else "f"
    shape = (type_.shape or ()) if isinstance(type_, Numeric) else ()
    one_entry = bool(shape) and all(is_one(extent) for extent in shape)
    if isinstance(type_, Numeric) and type_.kind == "c" and not shape:
        why, remedies = real_number(called)
        return NonScalarOutputError(
            f"the gradient needs one real number, and {name!r} returns {result}",
            where=function.where,
            why=why,
            help=remedies,
        )
    why, remedies = one_number(called, one_entry=one_entry)
    summed = f"or differentiate their sum:  srcad.elementwise_grad({called})"
    return NonScalarOutputError(
        f"the gradient needs one real number, and {name!r} returns {result}",
        where=function.where,
        why=why,
        help=(*remedies, summed) if shape and not one_entry else remedies,
    )


def with_results(function: Function, results: tuple[Atom, ...]) -> Function:
    return replace(function, block=replace(function.block, results=results))


def aux_of(function: Function) -> tuple[Function, Atom]:
    """Return the second part of the pair that is a function's first result."""
    builder = _at_end(function)
    _, aux = _pair(function, builder)
    return replace(function, block=replace(function.block, ops=tuple(builder.ops))), aux


def first_part(function: Function) -> Atom:
    """Return the first part of a result ``(y, aux)``, as it was made."""
    return _pair(function, _at_end(function))[0]


def with_separate_parts(function: Function) -> Function:
    """Return the function with the two parts of its result ``(y, aux)`` as its results."""
    builder = _at_end(function)
    parts = _pair(function, builder)
    return replace(function, block=Block((), tuple(builder.ops), parts))


def with_known_lists(function: Function) -> Function:
    """Return the function with a place in its result for each item of a list of known items.

    These are lists written out, and those that a number of ``append`` has filled outside of loops.
    What a function with a rule of the user's returns has the type that its text tells.
    """
    return _with_known_parts(function, opens_lists=True)


def with_types_of_texts(function: Function) -> Function:
    """Return the function with known types of results of functions with a rule of the user's."""
    return _with_known_parts(function, opens_lists=False)


def _with_known_parts(function: Function, *, opens_lists: bool) -> Function:
    builder = _at_end(function)
    (y,) = function.block.results
    known: dict[Atom, Call] = {op.result: op for op in function.block.ops if isinstance(op, Call)}
    typed: dict[Value, Value] = {}
    opened = _opened(builder, known, typed, y, opens_lists=opens_lists)
    return function if opened is y else _with_types(_with(function, builder, opened), typed)


def _opened(
    builder: Builder,
    known: Mapping[Atom, Call],
    typed: dict[Value, Value],
    value: Atom,
    *,
    opens_lists: bool,
) -> Atom:
    """Return a value with its lists unpacked; add values of inferred types to `typed`."""
    opened_part = partial(_opened, builder, known, typed, opens_lists=opens_lists)
    type_ = atom_type(value)
    if isinstance(type_, ListOf):
        items = _items_of(known, value) if opens_lists else None
        if items is None:
            return value
        return builder.build_record(list, (), *map(opened_part, items))
    op = known.get(value)
    if isinstance(type_, Opaque) and op is not None:
        found = _type_of_text(op)
        return value if found is None else typed.setdefault(op.result, Value(found, "y"))
    if not isinstance(type_, TupleOf) or op is None or not is_structure(op.target):
        return value
    parts = [part for part in built_parts(op) if isinstance(part, Value | Const)]
    opened = [opened_part(part) for part in parts]
    return value if opened == parts else builder.build_like(type_, opened)


def _with_types(function: Function, typed: Mapping[Value, Value]) -> Function:
    """Return the function with results of calls as values of known types, checked at the call."""
    ops: list[Op] = []
    for op in function.block.ops:
        if isinstance(op, Call) and op.result in typed:
            unchecked = Value(op.result.type, op.result.hint)
            ops.append(replace(op, result=unchecked))
            ops.append(
                Call(
                    target=runtime.checked_numeric,
                    args=(unchecked,),
                    result=typed[op.result],
                    where=op.where,
                    half=op.half,
                )
            )
        else:
            ops.append(op)
    return replace(
        function, block=substituted_block(replace(function.block, ops=tuple(ops)), typed)
    )


def _type_of_text(op: Call) -> Numeric | None:
    """Infer the result type of a function with a user's rule from its source.

    Such a function is called as it stands; here it is read for the type alone.  Where it cannot be
    read, a rule of partial derivatives says that the result has the shape of the operands.
    """
    rule = rule_of(op.target)
    if rule is None or rule.shipped or not isinstance(op.target, FunctionType):
        return None
    type_: Type = Opaque()
    scratch = Builder(where=op.where)
    try:
        found = lower_inline(scratch, op.target, list(op.args), dict(op.kwargs))
        type_ = atom_type(found) if isinstance(found, Value | Const) else type_
    except (SrcadError, AlwaysRaisesError):
        if rule.kind == "derivative":
            type_ = _type_of_operands(op)
    return type_ if isinstance(type_, Numeric) and type_.shape is not None else None


def _type_of_operands(op: Call) -> Type:
    """Return the type of numbers of the shape that operands broadcast to."""
    scratch = Builder(where=op.where)
    total: Arg = Const(0.0)
    for arg in op.args:
        total = scratch.call(np.add, total, arg)
    type_ = argument_type(total)
    return NUMBER.of_shape(type_.shape, type_.form) if isinstance(type_, Numeric) else type_


def _items_of(known: Mapping[Atom, Call], items: Atom) -> list[Atom] | None:
    op = known.get(items)
    if op is None:
        return None
    if op.target is primitives.append:
        before, last = op.args
        found = _items_of(known, before) if isinstance(before, Value) else None
        return [*found, last] if found is not None and isinstance(last, Value | Const) else None
    if op.target is not primitives.build_list:
        return None
    written = [item for item in op.args if isinstance(item, Value | Const)]
    return written if len(written) == len(op.args) else None


def _pair(function: Function, builder: Builder) -> tuple[Atom, Atom]:
    """Return the parts of a result ``(y, aux)``."""
    result = function.block.results[0]
    type_ = atom_type(result)
    if not isinstance(type_, TupleOf) or len(type_.items) != 2 or type_.keys is not None:
        raise NonScalarOutputError(
            f"has_aux=True needs {function.name!r} to return a pair (y, aux), and it returns "
            f"{describe_result(type_, result)}",
            where=function.where,
            help="return the differentiated part and the rest:  return y, aux",
        )
    made = next((op for op in function.block.ops if result in op.results), None)
    if isinstance(made, Call) and is_structure(made.target):
        y, aux = built_parts(made)
        assert isinstance(y, Value | Const)
        assert isinstance(aux, Value | Const)
        return y, aux
    y = builder.item(result, 0)
    return y, builder.item(result, 1)


def summed_output(
    function: Function, *, complex_too: bool = False, has_aux: bool = False
) -> Function:
    """Return the function with the pair of two things as its result: a sum, and its result.

    The sum is that of all numbers in the result; with `has_aux` of those in the first part of it.
    """
    (result,) = function.block.results
    builder = _at_end(function)
    y = _pair(function, builder)[0] if has_aux else result
    total = _total(function, builder, y, "b" if complex_too else "bc")
    return _with(function, builder, builder.build_tuple(total, result))


def without_sum(made: Function) -> Function:
    """Return a derived function with the result itself in the place of the pair with its sum."""
    builder = _at_end(made)
    _, result = _pair(made, builder)
    results = (result, *made.block.results[1:])
    return dce(replace(made, block=Block((), tuple(builder.ops), results)))


def _total(function: Function, builder: Builder, y: Atom, refused: str) -> Atom:
    type_ = atom_type(y)
    if isinstance(type_, TupleOf):
        count = len(type_.items)
        parts = [
            _total(function, builder, builder.part(y, type_, k), refused) for k in range(count)
        ]
        total: Atom = parts[0] if parts else Const(0.0)
        for part in parts[1:]:
            total = builder.call(operator.add, total, part)
        return total
    if isinstance(type_, Numeric) and type_.kind not in refused:
        return y if type_.shape == () else builder.call(np.sum, y)
    raise not_scalar(function, type_, y)


def _at_end(function: Function) -> Builder:
    return Builder(ops=list(function.block.ops), where=function.where)


def _with(function: Function, builder: Builder, y: Atom) -> Function:
    return replace(function, block=Block((), tuple(builder.ops), (y,)))
