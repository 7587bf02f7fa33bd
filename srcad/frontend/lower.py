"""Entry points of the front end: interpret a user's callable, and expand a rule in place."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import FunctionType
from typing import Any

import srcad.frontend.handlers  # noqa: F401 - registers the handlers of the dispatch
from srcad import runtime
from srcad.arguments.request import Parameter, name_of
from srcad.errors import SrcadError
from srcad.frontend.domain.frames import Dicts, Inactive, NotConstant, Unreachable
from srcad.frontend.domain.guards import Capture, Guard
from srcad.frontend.domain.outside_places import Outside
from srcad.frontend.domain.structure import mutable_parts
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    Frame,
    ListValue,
    RecordValue,
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
from srcad.frontend.functions.kept_functions import (
    CalledFunction,
    Helpers,
    called_functions,
    settle_lengths,
)
from srcad.frontend.functions.opaque_calls import refuse_hits
from srcad.frontend.interpreter import Interpreter
from srcad.frontend.machine.constants import box_of_arg, spread
from srcad.frontend.machine.dispatch import apply
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside import unseen_reads, work_arrays
from srcad.frontend.outside.places import begin, guard_paths, outermost_frame
from srcad.frontend.source.syntax import is_generator
from srcad.frontend.store import stopped
from srcad.frontend.store.aliases import holds_objects
from srcad.frontend.store.lookup import first_content, object_at
from srcad.frontend.store.structures import without_library_classes
from srcad.frontend.store.written_arguments import matrices, overlaid, written_parameters
from srcad.ir.core import Arg, Atom, Block, Const, Function, Location, Op, Value
from srcad.ir.inference.builder import Builder
from srcad.rules import registry
from srcad.rules.row import AlwaysRaisesError
from srcad.startup.identifiers import plain
from srcad.startup.records import dataclass, field
from srcad.types.sizes import ShapeEnvironment
from srcad.types.sources import Path
from srcad.types.structures import OPAQUE, Fixed, ListOf, Opaque, Type

BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, eq=False)
class Lowered:
    """A function as IR.

    The parameters of `function` are the user's parameters in the order of the signature (``*args``
    is one tuple, ``**kwargs`` one dict), then one per capture.  It has one result.  `raises` says
    that every path raises; `written` are the parameters that the function writes into.  `hidden`
    are the values of objects that are differentiated by and are not taken apart, and their paths,
    `called` the functions of the user that the function calls.
    """

    function: Function
    captures: tuple[Capture, ...]
    guards: tuple[Guard, ...]
    active: frozenset[Value]
    raises: bool = False
    written: frozenset[str] = frozenset()
    hidden: Mapping[Value, Path] = field(default_factory=dict)
    called: tuple[CalledFunction, ...] = ()


def machine_for(environment: ShapeEnvironment, **given: Any) -> Machine:
    """Return a machine that knows all the forms of the language."""
    made = Interpreter(environment, **given)
    made.frames.append(outermost_frame(made))
    made.inactive.outermost = made.builder
    return made


@dataclass(frozen=True, eq=False)
class Signature:
    """The arguments that a function is interpreted for.

    Attributes
    ----------
    types, environment
        The type of every parameter, in order; where assumptions about lengths are recorded.
    active, items
        The parameters through which derivatives are taken; the items of those where not all are.
    arguments : mapping from str to object
        The arguments of the call that caused the compilation (for objects of the user's classes).
    overlaps, ordered
        Parameters that share memory, read as views of one copy; those whose arrays lie in C order.
    helpers : bool
        Whether functions that are called stay functions, where that can be.
    """

    types: Mapping[str, Type]
    environment: ShapeEnvironment
    active: tuple[str, ...] = ()
    items: Mapping[str, Collection[Any]] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    overlaps: Sequence[Sequence[str]] = ()
    ordered: Collection[str] = ()
    helpers: bool = False


def lower(
    function: Any,
    parameters: Sequence[Parameter],
    signature: Signature,
    inactive: Inactive,
    dicts: Dicts,
    outside: Outside,
) -> Lowered:
    """Interpret a callable once; `srcad.pipeline` says with which options it is tried again.

    Parameters
    ----------
    function : callable
        A plain function, a method, a partial or an object with ``__call__``.
    parameters : sequence of inspect.Parameter
        Its parameters.
    signature : Signature
        Their types, and what is known of the arguments.
    inactive, dicts, outside
        Which calls without derivative are interpreted, which dicts may get any key, and what the
        function writes outside; they record what was met.

    Returns
    -------
    Lowered
        The IR and its assumptions.

    Raises
    ------
    Again
        The function writes outside where that was not known.
    SrcadError
        Something in the function cannot be interpreted or differentiated.
    """
    machine = machine_for(
        signature.environment,
        root=function,
        inactive=inactive,
        outside=outside,
        dicts=dicts,
        arguments=dict(signature.arguments),
        helpers=Helpers(kept=signature.helpers),
    )
    params = {name: Value(type_, name) for name, type_ in signature.types.items()}
    where, name = None, name_of(function)
    if isinstance(function, FunctionType) and registry.lookup(function) is None:
        callee = _callee(machine, function)
        boxes = _arguments(machine, params, signature)
        begin_places(machine)
        result = _result(machine, callee, boxes)
        name = plain(function.__name__)
        where = Location(callee.frame.file, callee.node.lineno, function=name)
    else:
        frame = Frame(name=name, file="", globals={}, path=())
        machine.frames.append(frame)
        boxes = _arguments(machine, params, signature)
        frame.env.update({key: box for key, box in boxes.items() if key not in params})
        begin_places(machine)
        result = _result_of_call(machine, function, parameters, boxes)
    return lowered(machine, name, tuple(params.values()), result, where)


def _arguments(
    state: Machine, params: dict[str, Value], signature: Signature
) -> dict[str, AbstractValue]:
    """Return the boxes of the parameters; those that overlap are views of one copy."""
    state.differentiated = frozenset(signature.active)
    for name, value in params.items():
        state.paths[value] = (("param", name),)
        if name in signature.active:
            state.activate(value)
    boxes = {
        name: _argument(state, value, state.arguments.get(name)) for name, value in params.items()
    }
    for name, items in signature.items.items():
        boxes[name] = stopped.differentiated_in(state, boxes[name], items)
    state.handed.update(part for box in boxes.values() for part in mutable_parts(box))
    state.compact.update(matrices(boxes[name] for name in signature.ordered))
    boxes.update(
        overlaid(state, [[params[name] for name in group] for group in signature.overlaps])
    )
    return boxes


def lowered(
    state: Machine,
    name: str,
    params: tuple[Value, ...],
    result: Atom | None,
    where: Location | None,
) -> Lowered:
    """Return the function that was read, with its assumptions.

    Without a result every path raises.
    """
    refuse_hits(state)
    unseen_reads.settle(state)
    guard_paths(state)
    settle_lengths(state)
    atom = Const(None) if result is None else result
    ops = tuple(work_arrays.checked(state, params))
    block = Block((), ops, (atom,))
    made = Function(name, (*params, *(c.value for c in state.captures)), block, where)
    written = frozenset(written_parameters(state))
    return Lowered(
        made,
        tuple(state.captures),
        tuple(state.guards),
        frozenset(state.active),
        result is None,
        written,
        state.hidden,
        called_functions(state),
    )


def begin_places(state: Machine) -> None:
    """Read what places hold first of which one path only will be seen to write them."""
    work_arrays.begin(state)
    for place in state.outside.first.values():
        box = first_content(state, place)
        if box is not None:
            begin(state, place, box)


def _callee(state: Machine, function: FunctionType) -> Callee:
    """Return the function, unless a call of it has no one result."""
    callee = callee_of(state, function, ())
    if is_generator(callee.node):
        where = Location(callee.frame.file, callee.node.lineno, callee.node.col_offset)
        refuse_without_result(plain(function.__name__), where)
    return callee


def separations(state: Machine, boxes: Mapping[str, AbstractValue]) -> list[Op]:
    """Return checks that a written object of the caller's has one name only."""
    objects = [part for box in boxes.values() for part in mutable_parts(box)]
    types = [part.type for part in objects if isinstance(part, Value)]
    if len(objects) < 2 and not any(isinstance(t, ListOf) and holds_objects(t.item) for t in types):
        return []
    with state.block() as checks:  # in front of the body: *args is a tuple that is built there
        everything = [state.atom(box) for box in boxes.values() if next(mutable_parts(box), None)]
        for source, where in state.objects.arguments.items():
            checks.where = where
            checks.call(
                runtime.check_distinct_objects, source, *everything, effect=True, type=OPAQUE
            )
    return checks.ops


def _argument(state: Machine, value: Value, given: Any) -> AbstractValue:
    if isinstance(value.type, Opaque) and given is not None:
        return object_at(state, state.paths[value], given, value)
    if isinstance(value.type, Fixed):
        return Constant(value.type.value, state.paths[value], atom=None)
    return state.box(value)


def _result(state: Machine, callee: Callee, boxes: dict[str, AbstractValue]) -> Atom | None:
    """Return the result of the function; None if every path raises."""
    start = len(state.builder.ops)
    try:
        box = _read(state, callee, boxes)
        state.frames.append(callee.frame)  # who returns it, should it be refused
        return state.atom(without_library_classes(state, box))
    except Unreachable:
        return None
    except NotConstant as problem:
        raise problem.error from None
    finally:
        state.builder.ops[start:start] = separations(state, boxes)


def _read(state: Machine, callee: Callee, boxes: dict[str, AbstractValue]) -> AbstractValue:
    if is_recursive(state, callee):
        state.frames.append(callee.frame)
        found = recursion.call_recursive(state, callee, boxes)
        if found is not None:
            return found
        state.frames.pop()
    state.inlining.append((callee.key, size_of(boxes.values())))
    callee.frame.env = dict(boxes)
    return read_body(state, callee.node, callee.frame)


def _result_of_call(
    state: Machine,
    function: Any,
    parameters: Sequence[Parameter],
    boxes: Mapping[str, AbstractValue],
) -> Atom | None:
    """Return the result of the callable; None if every path raises."""
    try:
        return state.atom(
            without_library_classes(state, _called(state, function, parameters, boxes))
        )
    except Unreachable:
        return None
    except NotConstant as problem:
        raise problem.error from None


def _called(
    state: Machine,
    function: Any,
    parameters: Sequence[Parameter],
    boxes: Mapping[str, AbstractValue],
) -> AbstractValue:
    positional: list[AbstractValue] = []
    keywords: dict[str, AbstractValue] = {}
    left_out = _defaults_beyond_rule(function, parameters, boxes)
    for parameter in parameters:
        box = boxes[parameter.name]
        if parameter.name in left_out:
            continue
        if parameter.kind is Parameter.VAR_POSITIONAL:
            positional.extend(spread(state, box))
        elif parameter.kind is Parameter.VAR_KEYWORD:
            keywords.update(zip(box.keys, box.items, strict=True))  # type: ignore[union-attr]
        elif parameter.kind is Parameter.KEYWORD_ONLY:
            keywords[parameter.name] = box
        else:
            positional.append(box)
    return apply(state, Constant(function, ()), tuple(positional), keywords)


# ------------------------------------------------------------------------------ rules
def lower_inline(
    builder: Builder,
    function: Any,
    args: list[Arg | None],
    kwargs: Mapping[str, Arg] | None = None,
    *,
    all_real: bool = True,
) -> Any:
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
    where, start = builder.where, len(builder.ops)

    def read(environment: ShapeEnvironment) -> Any:
        machine = machine_for(environment, builder=builder, all_real=all_real, stops_all=True)
        boxes = tuple(box_of_arg(machine, a) for a in args)
        named = {k: box_of_arg(machine, a) for k, a in (kwargs or {}).items()}
        return unboxed(machine, inline(machine, callee_of(machine, function, None), boxes, named))

    environment = ShapeEnvironment()
    try:
        return read(environment)
    except NotConstant as problem:
        raise problem.error from None
    except Unreachable:
        del builder.ops[start:]
        raise AlwaysRaisesError(plain(function.__name__)) from None
    except SrcadError:
        if not environment.spreads:
            raise
        builder.where = where
        del builder.ops[start:]
        return read(ShapeEnvironment(arrays_known=True))  # as `pipeline` does for a program
    finally:
        builder.where = where


def unboxed(state: Machine, box: AbstractValue) -> Any:
    """Return a box as nested Python structures of atoms."""
    if isinstance(box, Structure) and box.source is not None:
        return box.source
    match box:
        case Constant():
            return None if box.value is None else state.constant(box)
        case TupleValue(items):
            return tuple(unboxed(state, item) for item in items)
        case ListValue(items):
            return [unboxed(state, item) for item in items]
        case DictValue(keys, items) | RecordValue(keys=keys, items=items):
            return {k: unboxed(state, item) for k, item in zip(keys, items, strict=True)}
        case _:
            return state.atom(box)


def _defaults_beyond_rule(
    function: Any, parameters: Sequence[Parameter], boxes: Mapping[str, AbstractValue]
) -> set[str]:
    """Return the parameters that a rule does not name and that have their default values."""
    rule = registry.lookup(function) if isinstance(function, FunctionType) else None
    if rule is None or rule.has_rest:
        return set()
    positional = [p.name for p in parameters if p.kind in BY_POSITION]
    values = function.__defaults__ or ()
    defaults = dict(zip(positional[len(positional) - len(values) :], values, strict=True))
    defaults.update(function.__kwdefaults__ or {})
    named = {*rule.keywords, *rule.parameters, *positional[: len(rule.parameters)]}
    return {name for name, value in defaults.items()
            if name not in named and _is_constant(boxes[name], value)}  # fmt: skip


def _is_constant(box: AbstractValue, value: Any) -> bool:
    """Return True if a box stands for a constant that is equal to `value`."""
    return isinstance(box, Constant) and type(box.value) is type(value) and bool(box.value == value)
