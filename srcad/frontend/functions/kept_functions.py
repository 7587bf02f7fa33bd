"""Helpers that stay functions: each is interpreted once per abstract signature, as a `Routine`.

A helper is interpreted apart from its callers.  Its parameters are those of its arguments, and of
the variables that it captures.  Another call with arguments of the same kinds calls the same
routine.  A helper that cannot be a routine, as it mutates its arguments, say, is inlined.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NoReturn

from srcad import errors
from srcad.errors import short_place_of
from srcad.frontend.branches.loop_header import VaryingLength
from srcad.frontend.domain.frames import NotConstant, Unreachable
from srcad.frontend.domain.representation import without_value
from srcad.frontend.domain.structure import (
    components,
    is_mutable,
    rebuilt,
    same_structure,
    with_parts,
)
from srcad.frontend.domain.values import (
    AbstractValue,
    AttributesValue,
    BoundValue,
    Constant,
    DictValue,
    Frame,
    FunctionValue,
    ListValue,
    MethodValue,
    RecordValue,
    Structure,
    Text,
    TupleValue,
    ViewValue,
)
from srcad.frontend.functions.inlining import Callee, read_body, reading
from srcad.frontend.functions.recursion import values_in_order
from srcad.frontend.machine.constants import is_one_constant
from srcad.frontend.machine.dispatch import unless_refused
from srcad.frontend.machine.machine import Machine
from srcad.frontend.source.syntax import read_counts
from srcad.frontend.store.cells import are_equivalent_functions
from srcad.frontend.store.known_layout import layout
from srcad.frontend.store.origins import origin
from srcad.frontend.store.ownership import with_beginnings
from srcad.ir.called_lengths import (
    in_lengths_of_argument,
    in_lengths_of_call,
    own_lengths,
)
from srcad.ir.core import (
    NONE,
    Block,
    Call,
    Const,
    Function,
    If,
    Location,
    Op,
    Routine,
    Value,
    free_values,
    walk,
)
from srcad.ir.inference.builder import atom_type
from srcad.ir.memory import has_storage
from srcad.ir.substitute import substituted_block
from srcad.ir.traits import never_returns
from srcad.startup.records import dataclass, field, replace
from srcad.types.join import join
from srcad.types.numeric import Numeric, form_subsumes, same_dtype
from srcad.types.sizes import CalledEnvironment, Extent, IndexSymbol, Symbol, resolved
from srcad.types.sources import Path
from srcad.types.structures import ListOf, TupleOf, Type

MOST_VARIANTS = 8  # of one function, each for other kinds of arguments

Capture = tuple[Frame, str]


@dataclass(frozen=True, eq=False)
class Called:
    """A call: arguments by parameter, and captured variables.

    Of what it reads of the live functions around it, values and structures may be `variable` from
    call to call; the rest is `fixed`.
    """

    callee: Callee
    bound: dict[str, AbstractValue]
    variable: dict[Capture, AbstractValue]
    fixed: list[tuple[Capture, AbstractValue]]
    errstate: Any

    @property
    def given(self) -> tuple[AbstractValue, ...]:
        """All values that have a header."""
        return (*self.bound.values(), *self.variable.values())


@dataclass(eq=False)
class Helper:
    """A function interpreted for one kind of arguments.

    `headers` stand for what it is given, by parameter, and `captured` for what it reads of live
    functions around it.  The result is `result`, in which the `leaves` are what the routine
    computes.  `lengths` has the symbols for the lengths of its parameters.
    """

    headers: dict[str, AbstractValue]
    captured: dict[Capture, AbstractValue]
    fixed: list[tuple[Capture, AbstractValue]]
    errstate: Any
    routine: Routine
    lengths: CalledEnvironment = field(default_factory=CalledEnvironment)
    result: AbstractValue = field(default_factory=lambda: Constant(None))
    leaves: list[Value] = field(default_factory=list)
    extra: tuple[Value, ...] = ()

    @property
    def boxes(self) -> tuple[AbstractValue, ...]:
        """The headers, in the order of `Called.given`."""
        return (*self.headers.values(), *self.captured.values())


@dataclass(eq=False)
class CalledFunction:
    """A function of the user that is called: its name and line, and where it is called.

    `routines` are its readings that others call by reference, `in_place` says why it has none, or
    why these are put in the place of their calls.
    """

    name: str
    where: Location
    sites: set[Any] = field(default_factory=set)
    routines: tuple[Routine, ...] = ()
    in_place: str | None = None


@dataclass(eq=False)
class Helpers:
    """The helpers of one compilation, by key; `refused` has the reasons for inlining.

    `deciding` are the parameters whose value alone decides a branch: a constant that is passed for
    one has a variant of its own, or is inlined for functions in `inlined_for_constants`.

    `running` are those that are being read, and what stands for their arguments.  `called` are all
    functions of the user that are called.  Where helpers are not `kept`, all are read in place.
    """

    kept: bool = True
    known: dict[Any, list[Helper]] = field(default_factory=dict)
    refused: dict[Any, errors.SrcadError] = field(default_factory=dict)
    deciding: dict[Any, frozenset[str]] = field(default_factory=dict)
    inlined_for_constants: set[Any] = field(default_factory=set)
    running: list[tuple[Any, Helper]] = field(default_factory=list)
    called: dict[Any, CalledFunction] = field(default_factory=dict)


class _InPlace(errors.SrcadError):
    """A function must be inlined.

    Those that call it are, too, where it is so `everywhere`, or where it `writes` into a parameter
    of theirs.
    """

    def __init__(self, why: str, writes: Iterable[str] = (), *, everywhere: bool = False) -> None:
        super().__init__(why)
        self.writes = frozenset(writes)
        self.everywhere = everywhere


class _InPlaceHere(errors.SrcadError):
    """One call must be inlined, others of the same function need not be."""


def _in_place(why: str, writes: Iterable[str] = (), *, everywhere: bool = False) -> NoReturn:
    raise _InPlace(why, writes, everywhere=everywhere)


def call_helper(
    state: Machine, callee: Callee, bound: dict[str, AbstractValue]
) -> AbstractValue | None:
    """Call a user function as a routine; return None if it must be inlined."""
    helpers = state.helpers
    if helpers is None or not helpers.kept or callee.frame.trusted:
        return None
    assert isinstance(helpers, Helpers)
    if not isinstance(callee.node, ast.FunctionDef):
        return _noted(helpers, callee, "it is a lambda")
    outside = state.outside
    if outside.written or outside.first or outside.work:
        return _noted(helpers, callee, "objects outside are written into")
    if callee.key in helpers.refused:
        _give_up_callers(helpers, helpers.refused[callee.key], bound)
        return None
    bound = {name: bound[name] for name in _names_of_parameters(callee) if name in bound}
    variable, fixed = _surroundings(callee, bound)
    if not state.is_active(*bound.values(), *variable.values()):
        return _noted(helpers, callee, "it is given nothing that is differentiated by")
    where = state.builder.where
    call = Called(callee, bound, variable, fixed, where.errstate if where else ())

    found = unless_refused(state, lambda: _called(state, helpers, call))
    if isinstance(found, errors.SrcadError):
        state.builder.where = where
        if isinstance(found, _InPlaceHere):
            return None
        helpers.refused[callee.key] = found
        _give_up_callers(helpers, found, bound)
        return None
    return found


def _noted(helpers: Helpers, callee: Callee, why: str) -> AbstractValue | None:
    """Record the reason for inlining a function; return None."""
    helpers.called[callee.key].in_place = why
    return None


def note_call(state: Machine, callee: Callee, in_place: str | None = None) -> None:
    """Record a call of a user function, and the reason for inlining it, if known."""
    if state.helpers is None or callee.frame.trusted:
        return
    where = Location(callee.frame.file, callee.node.lineno, function=callee.frame.name)
    found = state.helpers.called.setdefault(callee.key, CalledFunction(_title(callee), where))
    site = state.builder.where
    found.sites.add(site and (site.file, site.line, site.column))
    found.in_place = in_place or found.in_place


def settle_lengths(state: Machine) -> None:
    """Link lengths that are the same in all calls of a helper, after all calls were interpreted."""
    if state.helpers is not None:
        for variants in state.helpers.known.values():
            for helper in variants:
                helper.lengths.settle()


def called_functions(state: Machine) -> tuple[CalledFunction, ...]:
    """Return the called functions, each once, in the order of first calls.

    One that is made several times, by a function around it, is one function.
    """
    helpers = state.helpers
    if helpers is None:
        return ()
    found: dict[Any, CalledFunction] = {}
    for key, called in helpers.called.items():
        place = called.where.file, called.where.line, called.name
        one = found.setdefault(place, CalledFunction(called.name, called.where))
        one.sites |= called.sites
        readings = (*helpers.known.get(key, ()), *state.routines.get(key, ()))
        more = (reading.routine for reading in readings)
        one.routines = tuple(dict.fromkeys((*one.routines, *more)))
        refused = helpers.refused.get(key)
        why = called.in_place
        if isinstance(refused, _InPlace):
            why = refused.sentence
        elif refused is not None:
            why = f"it cannot be read by itself: {refused.sentence}"
        one.in_place = why or one.in_place
    return tuple(found.values())


def _give_up_callers(
    helpers: Helpers, refused: errors.SrcadError, bound: dict[str, AbstractValue]
) -> None:
    """Inline the current function if one of its callees must be inlined because of it."""
    if not helpers.running or not isinstance(refused, _InPlace):
        return
    if refused.everywhere:
        raise refused
    _, caller = helpers.running[-1]
    written = [part for name in refused.writes if name in bound for part in _all_parts(bound[name])]
    names = [
        name
        for name, box in caller.headers.items()
        if any(part is own for part in written for own in _all_parts(box))
    ]
    if names:
        _in_place(refused.sentence, names)


def _called(state: Machine, helpers: Helpers, call: Called) -> AbstractValue:
    known = helpers.known.setdefault(call.callee.key, [])
    helper = next((one for one in known if _fits(state, one, call)), None)
    if helper is None:
        if len(known) >= MOST_VARIANTS:
            _in_place("it is called with too many kinds of arguments")
        if helpers.deciding.get(call.callee.key):
            return _called_for_constants(state, helpers, call)
        like = next((one for one in known if _fits(state, one, call, loosely=True)), None)
        helper = _read(state, helpers, call, like)
        if like is not None and _asks_for_classes(helper) and not _asks_for_classes(like):
            helper, like = _read(state, helpers, call, None), None
        helpers.deciding[call.callee.key] = _deciding(helper, call)
        if helpers.deciding[call.callee.key]:
            return _called_for_constants(state, helpers, call)
        if like is not None:
            known.remove(like)
            _take_place(helper, like)
        known.append(helper)
    return _result_of(state, helper, call)


def _signature(helper: Helper) -> str:
    """Return the types of the parameters, and the constants: ``x: float64[:], n=5``."""
    words = []
    for name, header in helper.headers.items():
        if isinstance(header, Value):
            words.append(f"{name}: {_kind(header.type)}")
        elif isinstance(header, Constant) and isinstance(header.value, int | float | str | None):
            words.append(f"{name}={header.value!r}")
    return ", ".join(words)


def _kind(type_: Type) -> str:
    """Return a type with the lengths that are known."""
    text = str(type_)
    if not isinstance(type_, Numeric) or not type_.shape or "[" not in text:
        return text
    lengths = (n if n.isdigit() else ":" for n in map(str, type_.shape))
    return f"{text.partition('[')[0]}[{', '.join(lengths)}]"


def _called_for_constants(state: Machine, helpers: Helpers, call: Called) -> AbstractValue:
    """Call a variant for the constants that decide its branches."""
    key = call.callee.key
    if key in helpers.inlined_for_constants:
        raise _InPlaceHere("a constant decides its branches")
    try:
        helper = _read(state, helpers, call, None, helpers.deciding[key])
        result = _result_of(state, helper, call)
    except errors.SrcadError as error:
        helpers.inlined_for_constants.add(key)
        raise _InPlaceHere(error.sentence) from error
    helper.routine.title = f"{helper.routine.title}; {_signature(helper)}"
    helpers.known[key].append(helper)
    return result


def _asks_for_classes(helper: Helper) -> bool:
    """Return True if a variant finds out at run time of which class a number is."""
    assert helper.routine.function is not None
    ops = walk(helper.routine.function.block)
    return any(isinstance(op, Call) and op.target in (isinstance, type) for op in ops)


def _deciding(helper: Helper, call: Called) -> frozenset[str]:
    """Return the parameters that decide a branch by themselves, where constants are passed."""
    names: dict[Value, frozenset[str]] = {
        header: frozenset({name})
        for name, header in helper.headers.items()
        if isinstance(header, Value) and isinstance(call.bound[name], Constant)
    }
    if not names:
        return frozenset()
    assert helper.routine.function is not None
    found: set[str] = set()
    for op in walk(helper.routine.function.block):
        if isinstance(op, If):
            found |= names.get(op.test, frozenset()) if isinstance(op.test, Value) else set()
        elif isinstance(op, Call) and op.operands and names.keys() >= set(op.operands):
            names[op.result] = frozenset().union(*(names[v] for v in op.operands))
    return frozenset(found)


def _routine(callee: Callee, headers: dict[str, AbstractValue]) -> Routine:
    """Return the routine of a function, with its name and comment in generated code."""
    title = _title(callee)
    place = short_place_of(callee.frame.file, callee.node.lineno)
    described = f"{title}  ({place})"
    first = next(iter(headers.values()), None)
    if "." in title and isinstance(first, RecordValue):
        held = [k for k, box in zip(first.keys, first.items, strict=True) if isinstance(box, Value)]
        (own, *_) = headers
        if held:
            described += "; " + ", ".join(f"{own}.{k} is {k}" for k in held)
    return Routine(title.replace(".", "_"), helper=True, title=described)


def _title(callee: Callee) -> str:
    """Return the name of a function, of a method with that of its class."""
    name = callee.frame.name
    around = callee.qualname.split(".")[:-1]
    return f"{around[-1]}.{name}" if around and around[-1].isidentifier() else name


def _take_place(helper: Helper, other: Helper) -> None:
    """Replace another variant by this one, which is more general."""
    if helper.extra == other.extra and len(helper.leaves) == len(other.leaves):
        for lengths in other.lengths.calls:
            if len(lengths) != len(helper.lengths.places) or not helper.lengths.admits(lengths):
                return
        for lengths in other.lengths.calls:
            helper.lengths.add(lengths)
        other.routine.function = helper.routine.function
        helper.routine = other.routine


def refuse_recursion(state: Machine, callee: Callee) -> None:
    """Stop interpreting a helper that calls itself."""
    if state.helpers is not None and any(key == callee.key for key, _ in state.helpers.running):
        _in_place("it calls itself")


# ---------------------------------------------------------------------- what it is given
def _names_of_parameters(callee: Callee) -> list[str]:
    """Return the names of parameters in the order of the signature, however they are passed."""
    parameters = callee.parameters
    named = [*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs]
    rest = [a for a in (parameters.vararg, parameters.kwarg) if a is not None]
    return [a.arg for a in (*named, *rest)]


def _surroundings(
    callee: Callee, bound: dict[str, AbstractValue]
) -> tuple[dict[Capture, AbstractValue], list[tuple[Capture, AbstractValue]]]:
    """Return the captured variables of a function: those that may vary, and the others."""
    variable: dict[Capture, AbstractValue] = {}
    fixed: list[tuple[Capture, AbstractValue]] = []
    seen: set[tuple[int, int]] = set()
    todo: list[tuple[ast.AST, Frame | None]] = [(callee.node, callee.frame.outer)]
    todo += [(f.node, f.frame) for box in bound.values() for f in _functions(box)]
    while todo:
        node, around = todo.pop()
        if around is None or (id(node), id(around)) in seen:
            continue
        seen.add((id(node), id(around)))
        for name in sorted(read_counts(node)):
            frame = _holder_of(around, name)
            if frame is None:
                continue
            box = frame.env[name]
            todo += [(f.node, f.frame) for f in _functions(box)]
            if isinstance(box, Value | Structure):
                variable[frame, name] = box
            else:
                fixed.append(((frame, name), box))
    return variable, fixed


def _holder_of(frame: Frame | None, name: str) -> Frame | None:
    while frame is not None and name not in frame.env:
        frame = frame.outer
    return frame


def _functions(box: AbstractValue) -> Iterator[FunctionValue]:
    if isinstance(box, FunctionValue) and box.names is None:
        yield box
    for part in components(box):
        yield from _functions(part)


def _header(
    state: Machine, box: AbstractValue, hint: str | None, known: dict[int, AbstractValue]
) -> AbstractValue:
    """Return the header of an argument: its abstract value inside the function."""
    if id(box) in known:
        return known[id(box)]
    match box:
        case Value():
            return _parameter(state, box, hint)
        case Constant():
            if isinstance(box, Text):
                _in_place("a string of the arguments is passed to it")
            if hint is not None and box.path is None and type(box.value) in (float, complex):
                return Value(atom_type(Const(box.value)), hint)
            return box
        case ViewValue() | AttributesValue():
            _in_place("a view of a dict is passed to it")
        case TupleValue() | ListValue() | DictValue() | RecordValue():
            count = range(len(box.items))
            names = getattr(box, "keys", None) or [f"{hint}_{k}" for k in count if hint]
            items = tuple(
                _header_of_item(state, item, names[k] if names else None, known)
                for k, item in enumerate(box.items)
            )
            found: AbstractValue = _at_its_place(state, box, rebuilt(box, items))
        case FunctionValue() | BoundValue() | MethodValue():
            parts = tuple(_header_of_item(state, p, None, known) for p in components(box))
            found = with_parts(box, parts) if parts else box
        case _:
            _in_place("it is passed something that is no value")
    if is_mutable(found):
        known[id(box)] = found
    return found


def _at_its_place(state: Machine, box: Structure, header: Structure) -> Structure:
    """Give the header of an outside object its access path, for attributes of its class."""
    path = _place_of(state, box)
    if path is None or not isinstance(header, RecordValue) or box.source is None:
        return header
    source = Value(box.source.type, box.source.hint)
    state.paths[source] = path
    return replace(header, source=source)


def _place_of(state: Machine, box: AbstractValue) -> Path | None:
    known = isinstance(box, RecordValue) and box.source is not None
    return state.paths.get(box.source) if known else None  # type: ignore[union-attr, arg-type]


def _header_of_item(
    state: Machine, box: AbstractValue, name: Any, known: dict[int, AbstractValue]
) -> AbstractValue:
    """Return the header of a part; numbers that are constants stay constants."""
    if isinstance(box, Constant) and not isinstance(box, Text):
        return box
    hint = name if isinstance(name, str) and name.isidentifier() else None
    return _header(state, box, hint, known)


def _parameter(state: Machine, box: Value, hint: str | None) -> Value:
    doubts = (state.inactive.unknown, state.inactive.items, state.partial, state.perhaps_unbound)
    if any(box in doubt for doubt in doubts) or box in state.hidden:
        _in_place("it is not certain what is passed to it")
    made = Value(_parameter_type(box.type), hint or box.hint)
    if box in state.active:
        state.active.add(made)
    return made


def _parameter_type(type_: Type) -> Type:
    """Return the type of a parameter: an index of a loop may be any integer."""
    extent = type_.value if isinstance(type_, Numeric) else None
    varies = extent and any(isinstance(s, IndexSymbol | VaryingLength) for s, _ in extent.terms)
    return without_value(type_) if varies else type_


def _fits(state: Machine, helper: Helper, call: Called, *, loosely: bool = False) -> bool:
    """Return True if a variant fits these arguments and captured variables.

    Taken `loosely`, a number of Python is like one of NumPy.
    """
    if helper.errstate != call.errstate or len(helper.fixed) != len(call.fixed):
        return False
    names = helper.headers.keys() == call.bound.keys()
    if not names or helper.captured.keys() != call.variable.keys():
        return False
    rows = zip(helper.fixed, call.fixed, strict=True)
    if not all(known == now and _is_same(state, a, b) for (known, a), (now, b) in rows):
        return False
    together: dict[int, AbstractValue] = {}
    pairs = list(zip(helper.boxes, call.given, strict=True))
    if not all(_holds(state, known, box, together, loosely=loosely) for known, box in pairs):
        return False
    return helper.lengths.admits(_lengths_of(helper, _matched(helper, call)[0]))


def _is_same(state: Machine, a: AbstractValue, b: AbstractValue) -> bool:
    """Return True if a captured variable is unchanged."""
    if a is b:
        return True
    if isinstance(a, Constant) and isinstance(b, Constant):
        return is_one_constant(state, a, b)
    return are_equivalent_functions(state, a, b) and all(
        _is_same(state, x, y) for x, y in zip(components(a), components(b), strict=True)
    )


def _holds(
    state: Machine,
    known: AbstractValue,
    given: AbstractValue,
    together: dict[int, AbstractValue],
    *,
    loosely: bool,
) -> bool:
    """Return True if a header fits an argument.

    `together` has the objects that were met: two names of one object stay two names of one.  A part
    that is a constant stays one in another reading (`_header_of_item`).
    """

    def parts_hold(parts: Iterable[AbstractValue]) -> bool:
        pairs = list(zip(parts, components(given), strict=True))
        if loosely and any(isinstance(a, Value) and isinstance(b, Constant) for a, b in pairs):
            return False
        return all(_holds(state, a, b, together, loosely=loosely) for a, b in pairs)

    if isinstance(known, Value):
        return _holds_for_value(state, known, given, loosely=loosely)
    if isinstance(known, Constant) and isinstance(given, Constant):
        return not isinstance(given, Text) and (
            known is given or is_one_constant(state, known, given)
        )
    if is_mutable(known) and together.setdefault(id(known), given) is not given:
        return False
    if _place_of(state, known) != _place_of(state, given):
        return False
    if isinstance(known, Structure) and not isinstance(given, ViewValue | AttributesValue):
        return same_structure(known, given) and parts_hold(known.items)
    if known is given:
        return True
    return are_equivalent_functions(state, known, given) and parts_hold(components(known))


def _holds_for_value(state: Machine, known: Value, given: AbstractValue, *, loosely: bool) -> bool:
    """Return True if a parameter fits an argument, which may be a literal number."""
    if not isinstance(given, Constant):
        return isinstance(given, Value) and _is_like(state, known, given, loosely=loosely)
    if type(given.value) not in (float, complex) or (loosely and given.path is not None):
        return False
    return _is_type(known.type, atom_type(Const(given.value)), loosely=loosely)


def _is_like(state: Machine, known: Value, given: Value, *, loosely: bool) -> bool:
    doubts = (state.inactive.unknown, state.inactive.items, state.partial, state.perhaps_unbound)
    if any(given in doubt for doubt in doubts) or given in state.hidden:
        return False
    if (known in state.active) != (given in state.active):
        return False
    return _is_type(known.type, _parameter_type(given.type), loosely=loosely)


def _is_type(known: Type, given: Type, *, loosely: bool) -> bool:
    known = in_lengths_of_argument(known, given)
    if _resolved_type(known) == _resolved_type(given):
        return True
    if not isinstance(known, Numeric) or not isinstance(given, Numeric):
        return False
    if known.dtype is None or not form_subsumes("number", known.form):
        return False
    covered = loosely and form_subsumes("number", given.form)
    covered = covered or form_subsumes(known.form, given.form)
    scalar = known.shape == given.shape == () and known.kind in "fc"
    return covered and scalar and same_dtype(known.dtype, given.dtype)


def _resolved_type(type_: Type) -> Type:
    if isinstance(type_, Numeric) and type_.shape is not None:
        value = None if type_.value is None else resolved(type_.value)
        return replace(type_, shape=tuple(map(resolved, type_.shape)), value=value)
    return type_


# ----------------------------------------------------------------------------- reading it
def _read(
    state: Machine,
    helpers: Helpers,
    call: Called,
    like: Helper | None,
    constants: Collection[str] = (),
) -> Helper:
    """Interpret a function for these arguments, and for those of another variant.

    The arguments that `constants` names are no parameters: it is for them only.
    """
    known: dict[int, AbstractValue] = {}
    headers = {
        name: _header(state, box, None if name in constants else name, known)
        for name, box in call.bound.items()
    }
    captured = {key: _header(state, box, key[1], known) for key, box in call.variable.items()}
    routine = _routine(call.callee, headers)
    helper = Helper(headers, captured, call.fixed, call.errstate, routine)
    for value in _parameters(helper):
        value.type = _with_own_lengths(value.type, helper.lengths)
    if like is not None:
        _widen(like, helper)
    count, loops = len(state.written_objects), len(state.made_in_loops)
    ops, result = _body(state, helpers, helper, call)
    body = Block((), tuple(ops), ())
    _refuse_effects(body)
    made = {v for op in walk(body) for v in op.results}
    made.update(v for op in walk(body) for block in op.blocks for v in block.params)
    made.update(state.made_in_loops[loops:])
    why = "it writes into an array that is not its own"
    _refuse_changes(helper, state.written_objects[count:], why)
    if not made.issuperset(state.written_objects[count:]):
        _in_place(why)
    del state.written_objects[count:]  # they are its own, and nothing of the functions that call it
    _finish(state, helper, call.callee, body, Computed(state, helper, made, result))
    return helper


def _body(
    state: Machine, helpers: Helpers, helper: Helper, call: Called
) -> tuple[list[Op], AbstractValue]:
    """Interpret the statements of a function on headers."""
    for (frame, name), header in helper.captured.items():
        frame.env[name] = header
    before, writes, changed = state.snapshot(), state.outside.count, len(state.written)
    assumed, state.assumed = state.assumed, {}  # it is called where other tests hold, too
    frame = replace(
        call.callee.frame,
        env=dict(helper.headers),
        exit=NONE,
        tags=frozenset(),
        functions=[],
        missed=set(),
    )
    helpers.running.append((call.callee.key, helper))
    try:
        with state.block() as builder, reading(state, call.callee.key, call.bound.values()):
            result = read_body(state, call.callee.node, frame)
        if state.outside.count != writes or state.outside.written:
            _in_place("it writes into an object outside", everywhere=True)
        _refuse_changes(helper, state.written[changed:], "it changes an object that it is given")
        for other, env in zip(state.frames, before, strict=True):
            if any(other.env.get(name) is not box for name, box in env.items()):
                _in_place("it writes into something that is not its own")
    except Unreachable:
        _in_place("no path through it returns")
    except NotConstant as problem:
        _in_place(str(problem))
    finally:
        helpers.running.pop()
        state.assumed = assumed
        for (holder, name), box in call.variable.items():
            holder.env[name] = box
    return builder.ops, result


def _parameters(helper: Helper) -> list[Value]:
    """Return the values of the headers, each once."""
    return list(dict.fromkeys(v for box in helper.boxes for v in values_in_order(box)))


def _with_own_lengths(type_: Type, lengths: CalledEnvironment) -> Type:
    """Return the type of a parameter with the symbols of a helper for its lengths."""
    if not isinstance(type_, Numeric):
        return type_
    shape = None if type_.shape is None else tuple(map(lengths.own, type_.shape))
    value = None if type_.value is None else lengths.own(type_.value, (("value", None),))
    return replace(type_, shape=shape, value=value)


def _lengths_of(helper: Helper, given: Mapping[Value, AbstractValue]) -> tuple[Extent, ...]:
    """Return the lengths of the arguments of a call, in the order of `CalledEnvironment.places`."""
    pairs = ((param.type, given[param]) for param in _parameters(helper))
    arrays = ((known, box.type) for known, box in pairs if isinstance(box, Value))
    return tuple(length for known, type_ in arrays for _, length in own_lengths(known, type_))


def _refuse_changes(helper: Helper, changed: Iterable[AbstractValue], why: str) -> None:
    """Inline a function that mutates an argument."""
    ids = set(map(id, changed))
    boxes = ((name, part) for name, box in helper.headers.items() for part in _all_parts(box))
    names = {name for name, part in boxes if id(part) in ids}
    held = (part for box in helper.captured.values() for part in _all_parts(box))
    if names or any(id(part) in ids for part in held):
        _in_place(why, names)


def _all_parts(box: AbstractValue) -> Iterator[AbstractValue]:
    yield box
    for part in components(box):
        yield from _all_parts(part)


def _widen(like: Helper, helper: Helper) -> None:
    """Widen the parameters to fit the arguments of another variant."""
    for box, other in zip(helper.boxes, like.boxes, strict=True):
        for a, b in zip(values_in_order(box), values_in_order(other), strict=True):
            if in_lengths_of_argument(a.type, b.type) != b.type:
                a.type = join(a.type, b.type)


def _refuse_effects(body: Block) -> None:
    for op in walk(body):
        if isinstance(op, Call) and op.effect and not never_returns(op.target):
            _in_place("it has an effect", everywhere=True)


def _finish(
    state: Machine, helper: Helper, callee: Callee, body: Block, computed: Computed
) -> None:
    """Complete a variant: its parameters, results, and facts about the results."""
    params = list(dict.fromkeys(v for box in helper.boxes for v in values_in_order(box)))
    free = [v for v in free_values(body) if v not in params]
    if any(v in state.partial or v in state.perhaps_unbound for v in free):
        _in_place("what it reads may not be there")
    if not {c.value for c in state.captures}.issuperset(free):
        _in_place("it reads a value of the functions around it that is no variable of theirs")
    computed.symbols = {s for v in (*params, *free) for s in _symbols(v.type)}
    computed.note(computed.result)
    helper.leaves, helper.result = list(computed.found), computed.result
    if not helper.leaves:
        _in_place("it computes nothing")
    copies = {v: Value(v.type, v.hint) for v in free}
    state.active.update(copy for value, copy in copies.items() if value in state.active)
    block = substituted_block(replace(body, results=tuple(helper.leaves)), copies)
    helper.extra = tuple(free)
    every = (*params, *copies.values())
    where = Location(callee.frame.file, callee.node.lineno, function=callee.frame.name)
    helper.routine.function = Function(helper.routine.name, every, block, where)
    helper.routine.signature = _signature(helper)


@dataclass(eq=False)
class Computed:
    """Values of a result that the function computes, as opposed to its arguments.

    `made` is what the function defines, `objects` the memory of what was `found`; `symbols` are the
    lengths that its callers know.
    """

    state: Machine
    helper: Helper
    made: set[Value]
    result: AbstractValue
    found: dict[Value, None] = field(default_factory=dict)
    objects: set[Value] = field(default_factory=set)
    symbols: set[Symbol] = field(default_factory=set)

    def __post_init__(self) -> None:
        parts = [part for box in self.helper.boxes for part in _all_parts(box)]
        self.given = {id(part) for part in parts}

    def note(self, box: AbstractValue) -> None:
        """Note the values of a part of the result."""
        if id(box) in self.given or box in self.found:
            return
        if isinstance(box, Value):
            self._note_value(box)
        elif isinstance(box, Constant):
            if box.atom is not None or isinstance(box, Text):
                _in_place("its result may be something that others hold")
        elif isinstance(box, Structure) and not isinstance(box, ViewValue | AttributesValue):
            for item in box.items:
                self.note(item)
        else:
            _in_place("its result is no value")

    def _note_value(self, value: Value) -> None:
        if value not in self.made or not _is_plain_result(value.type):
            _in_place("its result may be something that others hold")
        if not self.symbols.issuperset(_symbols(value.type)):
            _in_place("the length of its result is known to itself only")
        if has_storage(value):
            memory = with_beginnings(self.state, origin(self.state, value).everything)
            if not self.made.issuperset(memory) or not self.objects.isdisjoint(memory):
                _in_place("its result may share memory with something else")
            self.objects.update(memory)
        self.found[value] = None


def _is_plain_result(type_: Type) -> bool:
    """Return True for numbers, arrays, and lists of numbers."""
    if isinstance(type_, ListOf):
        return type(type_) is ListOf and isinstance(type_.item, Numeric) and type_.item.is_python
    return isinstance(type_, Numeric) and type_.kind not in "OV"


def _symbols(type_: Type) -> Iterator[Symbol]:
    match type_:
        case Numeric(shape=shape, value=value):
            for extent in (*(shape or ()), *(() if value is None else (value,))):
                yield from (symbol for symbol, _ in resolved(extent).terms)
        case TupleOf(items):
            for item in items:
                yield from _symbols(item)
        case ListOf(item):
            yield from _symbols(item)


# ----------------------------------------------------------------------------- calling it
def _result_of(state: Machine, helper: Helper, call: Called) -> AbstractValue:
    """Emit the call of a helper, and return its result."""
    given, boxes = _matched(helper, call)
    helper.lengths.add(_lengths_of(helper, given))
    assert helper.routine.function is not None
    params = helper.routine.function.params
    args = [state.atom(given[p]) for p in params[: len(params) - len(helper.extra)]]
    outside = in_lengths_of_call(helper.routine, (*args, *helper.extra))
    types = tuple(outside(leaf.type) for leaf in helper.leaves)
    whole = state.emit(helper.routine, *args, *helper.extra, type=TupleOf(types))
    state.origins.pop(whole, None)
    if any(leaf in state.active for leaf in helper.leaves):
        state.active.add(whole)
    new: dict[Value, Value] = {}
    for k, leaf in enumerate(helper.leaves):
        part = new[leaf] = state.item(whole, k, type=types[k], hint=leaf.hint)
        state.origins.pop(part, None)
        (state.active.add if leaf in state.active else state.active.discard)(part)
        if has_storage(leaf):
            state.layouts[part] = layout(state, leaf)
        if leaf in state.compact:
            state.compact.add(part)

    def change(box: AbstractValue) -> AbstractValue | None:
        if id(box) in boxes:
            return boxes[id(box)]
        return new.get(box) if isinstance(box, Value) else None

    return _renewed(helper.result, change, {})


def _renewed(box: AbstractValue, change: Any, done: dict[int, AbstractValue]) -> AbstractValue:
    """Return the result of a call: objects that the function has made are new ones."""
    if id(box) not in done:
        found = change(box)
        if found is None and isinstance(box, Structure):
            found = rebuilt(box, tuple(_renewed(item, change, done) for item in box.items))
        done[id(box)] = box if found is None else found
    return done[id(box)]


def _matched(
    helper: Helper, call: Called
) -> tuple[dict[Value, AbstractValue], dict[int, AbstractValue]]:
    """Return the arguments of a call by parameter, and by the identity of each header."""
    given: dict[Value, AbstractValue] = {}
    boxes: dict[int, AbstractValue] = {}
    for known, box in zip(helper.boxes, call.given, strict=True):
        _match(known, box, given, boxes)
    return given, boxes


def _match(
    known: AbstractValue,
    box: AbstractValue,
    given: dict[Value, Any],
    boxes: dict[int, AbstractValue],
) -> None:
    """Record the headers of the parts of an argument."""
    if not isinstance(known, Constant):
        boxes[id(known)] = box
    if isinstance(known, Value):
        given[known] = box
        return
    parts = known.items if isinstance(known, Structure) else components(known)
    others = box.items if isinstance(box, Structure) else components(box)
    for a, b in zip(parts, others, strict=True):
        _match(a, b, given, boxes)
