"""The front end's two doors: read a user's function, read a rule into code being built."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import FunctionType, MappingProxyType
from typing import Any

import srcad.frontend.handlers  # noqa: F401 - registers the handlers of the dispatch
from srcad import runtime
from srcad.frontend.domain.frames import Dicts, Inactive, NotConstant, Unreachable
from srcad.frontend.domain.guards import Capture, Guard
from srcad.frontend.domain.outside_places import Outside
from srcad.frontend.domain.structure import mutable_parts
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    IteratorValue,
    ListValue,
    RecordValue,
    SliceValue,
    Structure,
    TupleValue,
)
from srcad.frontend.functions import recursion
from srcad.frontend.functions.inlining import (
    Callee,
    callee_of,
    inline,
    is_recursive,
    read_body,
    refuse_without_result,
    size_of,
)
from srcad.frontend.functions.opaque_calls import refuse_hits
from srcad.frontend.interpreter import Interpreter
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside.doubts import Again
from srcad.frontend.outside.places import begin, surroundings, take_for_granted
from srcad.frontend.source.syntax import is_generator
from srcad.frontend.store import stopped
from srcad.frontend.store.aliases import holds_objects
from srcad.frontend.store.lookup import first_content
from srcad.frontend.store.structures import as_plain
from srcad.frontend.store.written_arguments import matrices, overlaid, written_parameters
from srcad.ir.core import Arg, Atom, Block, Const, Display, Function, Location, Op, Value
from srcad.ir.inference.builder import Builder
from srcad.rules.row import AlwaysRaisesError
from srcad.startup.identifiers import plain
from srcad.startup.records import dataclass
from srcad.types.sizes import ShapeEnvironment
from srcad.types.sources import Path
from srcad.types.structures import OPAQUE, Fixed, ListOf, Opaque, Type

EMPTY: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Lowered:
    """A function as IR.

    The parameters of `function` are the user's parameters in the order of the signature (``*args``
    is one tuple, ``**kwargs`` one dict), then one per capture.  It has one result.  `raises` says
    that every path raises; `written` are the parameters that the function writes into.  `hidden`
    are the values of objects that are differentiated by and are not taken apart, and their paths.
    """

    function: Function
    captures: tuple[Capture, ...]
    guards: tuple[Guard, ...]
    active: frozenset[Value]
    raises: bool = False
    written: frozenset[str] = frozenset()
    hidden: Mapping[Value, Path] = EMPTY


def machine_for(environment: ShapeEnvironment, **given: Any) -> Machine:
    """Return a machine that knows all the forms of the language."""
    made = Interpreter(environment, **given)
    made.frames.append(surroundings(made))
    made.inactive.outermost = made.builder
    return made


def lower(
    function: FunctionType,
    types: Mapping[str, Type],
    environment: ShapeEnvironment,
    *,
    active: tuple[str, ...] = (),
    items: Mapping[str, Collection[Any]] = EMPTY,
    arguments: Mapping[str, Any] | None = None,
    path: Path = (),
    overlaps: Sequence[Sequence[str]] = (),
    ordered: Collection[str] = (),
    inactive: Inactive | None = None,
    dicts: Dicts | None = None,
) -> Lowered:
    """Read a function for one signature.

    Parameters
    ----------
    function : function
        A plain Python function.
    types, environment
        The type of every parameter, in order; where assumptions about lengths are recorded.
    active, items
        The parameters through which derivatives are taken; the items of those where not all are.
    arguments : mapping from str to object, optional
        The arguments of the call that caused the compilation (for objects of the user's classes).
    path : tuple
        How the function is reached; its globals and cells are captured below this path.
    overlaps, ordered
        Parameters that share memory, read as views of one copy; those whose arrays lie in C order.
    inactive, dicts : optional
        Which calls without derivative are read, which dicts may get any key; told what was not.

    Returns
    -------
    Lowered
        The IR and what it takes for granted.

    Raises
    ------
    SrcadError
        Something in the function cannot be read or differentiated.
    """
    known, opened, given = inactive or Inactive(), dicts or Dicts(), dict(arguments or {})

    def read(outside: Outside) -> Lowered:
        machine = machine_for(environment, root=function, inactive=known,
                              outside=outside, arguments=given, dicts=opened)  # fmt: skip
        callee = _callee(machine, function, path)
        params = {name: Value(type_, name) for name, type_ in types.items()}
        boxes = _arguments(machine, params, active, items, ordered, overlaps)
        begin_places(machine)
        result = _result(machine, callee, boxes)
        where = Location(callee.frame.file, callee.node.lineno, function=plain(function.__name__))
        return lowered(machine, plain(function.__name__), tuple(params.values()), result, where)

    return until_settled(read, environment)


def until_settled(read: Callable[[Outside], Lowered], environment: ShapeEnvironment) -> Lowered:
    """Read a function, and again while more is found of what it writes outside."""
    outside, count = Outside(), len(environment.assumptions)
    while True:
        try:
            return read(outside)
        except Again:
            outside = outside.next()
            del environment.assumptions[count:]


def _arguments(
    s: Machine,
    params: dict[str, Value],
    active: Collection[str],
    items: Mapping[str, Collection[Any]],
    ordered: Collection[str],
    overlaps: Sequence[Sequence[str]],
) -> dict[str, AbstractValue]:
    """Return the boxes of the parameters; those that overlap are views of one copy."""
    s.differentiated = frozenset(active)
    for name, value in params.items():
        s.paths[value] = (("param", name),)
        if name in active:
            s.activate(value)
    boxes = {name: _argument(s, value, s.arguments.get(name)) for name, value in params.items()}
    boxes |= {name: stopped.differentiated_in(s, boxes[name], items[name]) for name in items}
    s.compact.update(matrices(boxes[name] for name in ordered))
    boxes.update(overlaid(s, [[params[name] for name in group] for group in overlaps]))
    return boxes


def lowered(
    s: Machine, name: str, params: tuple[Value, ...], result: Atom | None, where: Location | None
) -> Lowered:
    """Return the function that was read, with its assumptions.

    Without a result every path raises.
    """
    refuse_hits(s)
    take_for_granted(s)
    atom = Const(None) if result is None else result
    block = Block((), tuple(s.builder.ops), (atom,))
    made = Function(name, (*params, *(c.value for c in s.captures)), block, where)
    written = frozenset(written_parameters(s))
    return Lowered(made, tuple(s.captures), tuple(s.guards), frozenset(s.active), result is None,
                   written, s.hidden)  # fmt: skip


def begin_places(s: Machine) -> None:
    """Read what places hold first of which one path only will be seen to write them."""
    for place in s.outside.first.values():
        box = first_content(s, place)
        if box is not None:
            begin(s, place, box)


def _callee(s: Machine, function: FunctionType, path: Path) -> Callee:
    """Return the function, unless a call of it has no one result."""
    callee = callee_of(s, function, path)
    if is_generator(callee.node):
        where = Location(callee.frame.file, callee.node.lineno, callee.node.col_offset)
        refuse_without_result(plain(function.__name__), where)
    return callee


def separations(s: Machine, boxes: Mapping[str, AbstractValue]) -> list[Op]:
    """Return checks that a written object of the caller's has one name only."""
    objects = [part for box in boxes.values() for part in mutable_parts(box)]
    types = [part.type for part in objects if isinstance(part, Value)]
    if len(objects) < 2 and not any(isinstance(t, ListOf) and holds_objects(t.item) for t in types):
        return []
    checks = Builder()
    everything = [s.atom(box) for box in boxes.values() if next(mutable_parts(box), None)]
    for source, where in s.objects.arguments.items():
        checks.where = where
        checks.call(runtime.separate, source, *everything, effect=True, type=OPAQUE)
    return checks.ops


def _argument(s: Machine, value: Value, given: Any) -> AbstractValue:
    if isinstance(value.type, Opaque) and given is not None:
        return Constant(given, s.paths[value], atom=value)
    if isinstance(value.type, Fixed):
        return Constant(value.type.value, s.paths[value], atom=None)
    return s.box(value)


def _result(s: Machine, callee: Callee, boxes: dict[str, AbstractValue]) -> Atom | None:
    """Return the result of the function; None if every path raises."""
    start = len(s.builder.ops)
    try:
        box = _read(s, callee, boxes)
        s.frames.append(callee.frame)  # who returns it, should it be refused
        return s.atom(as_plain(s, box))
    except Unreachable:
        return None
    except NotConstant as problem:
        raise problem.error from None
    finally:
        s.builder.ops[start:start] = separations(s, boxes)


def _read(s: Machine, callee: Callee, boxes: dict[str, AbstractValue]) -> AbstractValue:
    if is_recursive(s, callee):
        s.frames.append(callee.frame)
        found = recursion.call_recursive(s, callee, boxes)
        if found is not None:
            return found
        s.frames.pop()
    s.inlining.append((callee.key, size_of(boxes.values())))
    callee.frame.env = dict(boxes)
    return read_body(s, callee.node, callee.frame)


# ------------------------------------------------------------------------------ rules
def lower_inline(
    builder: Builder, function: Any, args: list[Arg | None],
    kwargs: Mapping[str, Arg] | None = None, *, all_real: bool = True,
) -> Any:  # fmt: skip
    """Read a rule's function at the end of `builder`'s block.

    Parameters
    ----------
    builder : Builder
        Where the ops go; their place and half are the builder's.
    function : function
        The rule: a plain Python function.
    args, kwargs : arguments
        Atoms, displays, or nested tuples and lists of these.
    all_real : bool
        Whether what has no known dtype is real.

    Returns
    -------
    object
        What the rule returns: an atom, None, or nested tuples, lists and dicts of these.

    Raises
    ------
    AlwaysRaisesError
        If no path through the rule returns; nothing is written then.
    """
    machine = machine_for(ShapeEnvironment(), builder=builder, all_real=all_real)
    boxes = tuple(box_of_arg(machine, a) for a in args)
    named = {k: box_of_arg(machine, a) for k, a in (kwargs or {}).items()}
    where, start = builder.where, len(builder.ops)
    try:
        result = inline(machine, callee_of(machine, function, None), boxes, named)
    except NotConstant as problem:
        raise problem.error from None
    except Unreachable:
        del builder.ops[start:]
        raise AlwaysRaisesError(plain(function.__name__)) from None
    finally:
        builder.where = where
    return unboxed(machine, result)


def box_of_arg(s: Machine, arg: Any) -> AbstractValue:
    """Return the box of an argument."""
    match arg:
        case None:
            return Constant(None)
        case Value() | Const():
            return s.box(arg)
        case Display(kind="tuple", items=items):
            return TupleValue(tuple(box_of_arg(s, a) for a in items))
        case Display(kind="list", items=items):
            return ListValue(tuple(box_of_arg(s, a) for a in items))
        case Display(kind="dict", items=items):
            keys = tuple(k.value for k in items[::2] if isinstance(k, Const))
            return DictValue(keys, tuple(box_of_arg(s, a) for a in items[1::2]))
        case Display(kind="slice", items=(start, stop, step)):
            return SliceValue(*[box_of_arg(s, a) for a in (start, stop, step)])
        case Display(kind="range", items=items):
            return _box_of_range(items, tuple(box_of_arg(s, a) for a in items))
        case tuple():
            return TupleValue(tuple(box_of_arg(s, a) for a in arg))
        case list():
            return ListValue(tuple(box_of_arg(s, a) for a in arg))
        case _:
            return Constant(arg)


_FEW = 64  # axes of an array, as NumPy allows them


def _box_of_range(ends: Sequence[Arg], parts: tuple[AbstractValue, ...]) -> AbstractValue:
    """Return the box of a range: a tuple of its numbers if they are known and few, as axes are."""
    known = [end.value for end in ends if isinstance(end, Const)]
    numbers = range(*known) if len(known) == len(ends) else None
    if numbers is not None and len(numbers) <= _FEW:
        return TupleValue(tuple(Constant(number) for number in numbers))
    return IteratorValue("range", parts)


def unboxed(s: Machine, box: AbstractValue) -> Any:
    """Return a box as nested Python structures of atoms."""
    if isinstance(box, Structure) and box.source is not None:
        return box.source
    match box:
        case Constant():
            return None if box.value is None else s.constant(box)
        case TupleValue(items):
            return tuple(unboxed(s, item) for item in items)
        case ListValue(items):
            return [unboxed(s, item) for item in items]
        case DictValue(keys, items) | RecordValue(keys=keys, items=items):
            return {k: unboxed(s, item) for k, item in zip(keys, items, strict=True)}
        case _:
            return s.atom(box)
