"""Refusing a derivative by numbers inside objects that are not taken apart.

Of a subclass of a container or of an array only the class knows what its items and its arithmetic
are.  Where arithmetic leads from the numbers of such an argument to the result, its gradient is not
None; where they only select (a length, an index, a comparison), it is.
"""

from __future__ import annotations

import enum
import numbers
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np

from srcad.analysis.activity import Facts, activity
from srcad.analysis.activity_trees import Activity, part
from srcad.analysis.arguments import arguments, differentiable_arguments, rule_of
from srcad.arguments.request import Request
from srcad.arguments.signature import LARGEST_DICT
from srcad.errors import UnsupportedTypeError
from srcad.frontend.domain.frames import NumbersNeeded
from srcad.frontend.lower import Lowered
from srcad.ir.core import Arg, Call, Const, Display, Function, Value, walk
from srcad.ir.operations import operation_of
from srcad.ir.traits import is_attribute, is_structure
from srcad.startup.identifiers import label
from srcad.types import objects
from srcad.types.numeric import ARRAY_CLASSES, Numeric, number_base
from srcad.types.sources import Path, follow, spelled
from srcad.types.structures import Opaque, is_holder, is_text

_DESCRIBING = frozenset(
    {"shape", "ndim", "size", "dtype", "itemsize", "nbytes", "flags", "strides", "mask", "name"}
)  # attributes of which no derivative flows


def refuse_hidden(
    lowered: Lowered, request: Request, given: Mapping[str, Any], active: Iterable[str]
) -> None:
    """Refuse a result that is computed from numbers inside objects that are not taken apart.

    Raises
    ------
    UnsupportedTypeError
        It is.
    NumbersNeeded
        It is computed from numbers of subclasses of `int` and `float`: they can be read as these.
    """
    if lowered.raises:
        return
    function = lowered.function
    calls = [op for op in walk(function.block) if isinstance(op, Call)]
    members = _members(given, active)
    if members and any(is_member(members, arg) for arg in _operands(function)):
        raise NumbersNeeded
    if not lowered.hidden:
        return
    still = frozenset(op.result for op in calls if _describes(op))
    (result,) = function.block.results
    for value, path in lowered.hidden.items():
        if any(kind == "attr" and name in _DESCRIBING for kind, name in path):
            continue
        facts = activity(function, {value: True}, [False], told=_dependence, still=still)
        found = facts.of(result)
        if (part(found, 0) if request.has_aux else found) is not False:
            _refuse(lowered, value, path, given)


def _members(given: Mapping[str, Any], active: Iterable[str]) -> list[Any]:
    """Return the enumeration members, numbers among them, in the differentiated arguments."""
    found = (objects.own_numbers(given.get(name)) for name in active)
    return [one for some in found for one in some if isinstance(one, enum.Enum)]


def is_member(members: Iterable[Any], arg: Arg) -> bool:
    """Return True for one of these members, also in a display."""
    if isinstance(arg, Display):
        return any(is_member(members, item) for item in arg.items)
    return isinstance(arg, Const) and any(arg.value is one for one in members)


def _operands(function: Function) -> Iterator[Arg]:
    """Yield the arguments from which a derivative may flow, and what paths and loops hand on."""
    yield from function.block.results
    for op in walk(function.block):
        if isinstance(op, Call) and not is_structure(op.target):
            yield from _flows(op)
        for block in op.blocks:
            yield from block.results
        yield from getattr(op, "inits", ())


def _describes(op: Call) -> bool:
    """Return True for an attribute that says nothing of the numbers."""
    if not is_attribute(op.target) or not isinstance(op.args[1], Const):
        return False
    return op.args[1].value in _DESCRIBING


def _dependence(op: Call, facts: Facts) -> Activity | None:
    """Return True if a result depends on hidden numbers, also where it is an object."""
    type_ = op.result.type
    if is_text(type_) or (isinstance(type_, Numeric) and type_.kind == "b"):
        return False
    return any(facts.of(arg) is not False for arg in _flows(op))


def _flows(op: Call) -> Iterable[Arg]:
    """Return the arguments from which a derivative may flow; all of them of what is not known."""
    row = operation_of(op.target)
    is_unknown = rule_of(op.target) is None and (row is None or row.flows is None)
    return (arguments(op) if is_unknown else differentiable_arguments(op)).values()


def _refuse(lowered: Lowered, value: Value, path: Path, given: Mapping[str, Any]) -> NoReturn:
    name = lowered.function.name
    if number_base(_holder(path, given)[0]) is not None:
        raise NumbersNeeded
    uses = (op for op in walk(lowered.function.block) if value in op.operands)
    where = next((op.where for op in uses if op.where is not None), lowered.function.where)
    holder, steps = _holder(path, given)
    cls = type(holder)
    if cls is dict:
        raise UnsupportedTypeError(
            f"argument {spelled(steps)!r} of {name!r} is a dict of more than {LARGEST_DICT} "
            "entries",
            where=where,
            why="each entry of a dict is a variable of its own.",
            help="join entries in arrays, or in dicts inside the dict",
        )
    raise UnsupportedTypeError(
        f"cannot differentiate by {spelled(path)!r} in {name!r}",
        where=where,
        why=_reason(holder, spelled(steps)),
        help=_remedy(holder, spelled(steps)),
    )


def _holder(path: Path, given: Mapping[str, Any]) -> tuple[Any, Path]:
    """Return the outermost object on the way that is not taken apart, and its path."""
    for count in range(1, len(path) + 1):
        found = follow(given[path[0][1]], path[1:count])
        if not _has_parts(found):
            return found, path[:count]
    whole = follow(given[path[0][1]], path[1:])
    closed = (one for one in objects.inside(whole) if _is_closed(one))
    return next(closed, whole), path


def _is_closed(value: Any) -> bool:
    """Return True for an object of which `is_holder` is true, and which is not taken apart."""
    plain = isinstance(value, np.ndarray) and type(value) in ARRAY_CLASSES
    if plain and value.dtype.kind not in "OV":
        return False
    own = type(value) in (int, float, complex, bool) or isinstance(value, np.generic)
    return not own and is_holder(Opaque(type(value))) and not _has_parts(value)


def _has_parts(value: Any) -> bool:
    """Return True for an object with parts that may be followed."""
    cls = type(value)
    if isinstance(value, np.ndarray | np.generic | int | float | complex):
        return False
    if isinstance(value, list | tuple | dict):
        named = isinstance(value, tuple) and hasattr(cls, "_fields")
        return named or (cls in (list, tuple, dict) and len(value) <= LARGEST_DICT)
    return objects.attributes(value) is not None


def _reason(holder: Any, spelling: str) -> str:
    cls = type(holder)
    if isinstance(holder, np.ndarray | np.generic) and holder.dtype.kind in "OV":
        kind = "objects" if holder.dtype.kind == "O" else "records with fields"
        return f"the result is computed from {spelling!r}, an array that holds {kind}."
    for base in (dict, list, tuple, np.ndarray, float, int, complex):
        if isinstance(holder, base):
            return (
                f"the result is computed from the numbers of {spelling!r}, and only its class "
                f"{label(cls)!r}, a subclass of {base.__name__!r}, says what is done with them."
            )
    if isinstance(holder, set | frozenset | numbers.Number):
        return f"the result is computed from {spelling!r}, a {label(cls)}."
    closed = objects.why_closed(cls)
    reason = closed or "it holds too much."
    return f"{spelling!r}, a {label(cls)}, is not taken apart into its attributes: {reason}"


def _remedy(holder: Any, spelling: str) -> str:
    if isinstance(holder, np.ndarray | np.generic):
        if holder.dtype.kind == "V":
            return f"pass the arrays of its fields as arguments:  {spelling}['name']"
        if isinstance(holder, np.ma.MaskedArray):
            return f"pass an array and the mask as arguments:  {spelling}.data, {spelling}.mask"
        if holder.dtype.kind == "O":
            return f"pass an array of numbers, or a list:  np.array({spelling}, dtype=float)"
        return f"pass a plain array:  np.asarray({spelling})"
    if isinstance(holder, set | frozenset):
        return f"pass a list:  list({spelling})"
    if isinstance(holder, numbers.Number) and not isinstance(holder, float | int | complex):
        return f"pass a float:  float({spelling})"
    for base in (dict, list, tuple, float, int, complex):
        if isinstance(holder, base):
            return f"pass a plain {base.__name__}:  {base.__name__}({spelling})"
    return "differentiate by its arrays:  def f(W): ...  with the object made of W inside"
