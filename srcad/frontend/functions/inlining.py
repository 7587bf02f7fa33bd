"""Calling a user's function: bind its parameters, read its body in a frame of its own.

Small or large, a function is read into its caller; one that calls itself becomes a `Routine`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FunctionType
from typing import Any, NoReturn

from srcad import errors
from srcad.frontend.branches import conditional
from srcad.frontend.domain.frames import DEAD, RETURN_NAME, Unreachable
from srcad.frontend.domain.structure import components
from srcad.frontend.domain.values import (
    AbstractValue,
    Code,
    Constant,
    DictValue,
    Frame,
    FunctionValue,
    Structure,
    TupleValue,
    Unbound,
)
from srcad.frontend.machine.constants import raises
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.statements import lower_statements, set_return
from srcad.frontend.source.definition import Source, definition
from srcad.frontend.source.syntax import bound_names, calls_itself, declared_names
from srcad.frontend.store.cells import enclosing_frame, returned
from srcad.frontend.store.lookup import reads_noted, value_of_object
from srcad.ir.core import NONE, RETURN, InlinedCall, Location, Value
from srcad.startup.deep_recursion import deep_recursion
from srcad.startup.identifiers import module_of, plain
from srcad.startup.records import dataclass, field
from srcad.types.numeric import Numeric
from srcad.types.sources import Path, Step, is_filled

TRUSTED_PREFIX = "srcad."


@dataclass(eq=False)
class Callee:
    """A function about to be read: its tree, its surroundings, its defaults.

    A default value is read, and guarded, only where no argument is given.
    `around` has the names that a local function holds of functions that have returned, `parts`
    are all things that it holds.  `qualname` is how it is called, with the class of a method.
    """

    node: ast.FunctionDef | ast.Lambda
    frame: Frame
    defaults: tuple[Callable[[], AbstractValue], ...] = ()
    kw_defaults: dict[str, Callable[[], AbstractValue]] = field(default_factory=dict)
    key: Any = None
    around: Frame | None = None
    parts: tuple[AbstractValue, ...] = ()
    qualname: str = ""

    @property
    def parameters(self) -> ast.arguments:
        return self.node.args


def callee_of(state: Machine, function: FunctionType, path: Path | None) -> Callee:
    """Return a function object of the user, found in its file.

    Another code at its place is seen.
    """
    if path:
        state.guard(path, "code", function)
    trusted = module_of(function).startswith(TRUSTED_PREFIX) and path is None
    source = _source_of(state, function)
    node = source.tree
    if not isinstance(node, ast.FunctionDef | ast.Lambda):
        refuse_without_result(plain(function.__name__), source.location(node))
    names = function.__code__.co_freevars
    cells = dict(zip(names, function.__closure__ or (), strict=True))
    frame = Frame(
        name=plain(function.__name__),
        file=source.file,
        globals=function.__globals__,
        cells={name: cell.cell_contents for name, cell in cells.items() if is_filled(cell)},
        unfilled={name: k for k, name in enumerate(names) if not is_filled(cells[name])},
        closure=cells,
        local=bound_names(node),
        declared=declared_names(node),
        path=path,
        trusted=trusted,
        node=node,
    )

    def default(value: Any, *step: Any) -> Callable[[], AbstractValue]:
        return partial(_default, state, frame, function, value, step)

    given = function.__defaults__ or ()
    defaults = tuple(default(value, "default", k) for k, value in enumerate(given))
    named = (function.__kwdefaults__ or {}).items()
    kw_defaults = {name: default(value, "kwdefault", name) for name, value in named}
    key = id(function.__code__), id(function.__globals__), *map(id, cells.values())
    return Callee(node, frame, defaults, kw_defaults, key, qualname=plain(function.__qualname__))


def _source_of(state: Machine, function: FunctionType) -> Source:
    """Return the source of a function; an error without a location has that of the call."""
    try:
        return definition(function)
    except errors.SourceUnavailableError as error:
        if error.where is not None or state.builder.where is None:
            raise
        kind, sentence, why = type(error), error.sentence, error.why
        raise kind(sentence, where=state.builder.where, why=why, help=error.help) from None


def _default(
    state: Machine, frame: Frame, function: FunctionType, value: Any, step: Step
) -> AbstractValue:
    """Return the default value of a parameter."""
    if frame.path is not None:
        return value_of_object(state, value, (*frame.path, step))
    noted = reads_noted(state, frame)
    if noted is not None:
        noted.add(function, (step,), value)
    return value_of_object(state, value, None)


def refuse_without_result(name: str, where: Location | None) -> NoReturn:
    """Refuse a generator or a coroutine, which has no single result."""
    raise errors.UnsupportedSyntaxError(
        f"cannot differentiate through {name!r}",
        where=where,
        why="it is a generator or a coroutine: it has no one result.",
        help=("return a list or an array",),
    )


def is_recursive(state: Machine, callee: Callee) -> bool:
    """Return True if a function calls itself, directly or through others."""
    here = size_of_enclosing(state, callee.key) is not None
    return here or callee.key in state.routines or calls_itself(callee.node)


@contextmanager
def reading(state: Machine, key: Any, given: Iterable[AbstractValue]) -> Iterator[None]:
    """Note meanwhile that a function is being read, and how large the structures are it got."""
    state.inlining.append((key, size_of(given)))
    try:
        yield
    finally:
        state.inlining.pop()


def size_of_enclosing(state: Machine, key: Any) -> int | None:
    """How large the structures are that the innermost reading of a function got, if any."""
    return next((size for known, size in reversed(state.inlining) if known == key), None)


def size_of(given: Iterable[AbstractValue]) -> int:
    """How many structures and functions of known parts there are, within each other too."""
    several = {id(box): box for box in given if isinstance(box, Structure | Code)}
    return sum(1 + size_of(components(box)) for box in several.values())


def callee_of_value(state: Machine, box: FunctionValue) -> Callee:
    """Return a function that was defined inside the one being read."""
    outer = enclosing_frame(state, box)
    frame = Frame(
        name=box.name,
        file=outer.file,
        globals=outer.globals,
        outer=outer,
        path=outer.path,
        local=bound_names(box.node),
        declared=declared_names(box.node),
        trusted=outer.trusted,
        node=box.node,
        borrowed=box.borrowed,
    )
    names = [a.arg for a in box.node.args.kwonlyargs]
    kw_defaults: dict[str, Callable[[], AbstractValue]] = {
        name: partial(_same, default)
        for name, default in zip(names, box.kw_defaults, strict=True)
        if default is not None
    }
    return Callee(
        box.node,
        frame,
        tuple(partial(_same, default) for default in box.defaults),
        kw_defaults,
        box.node,
        None if outer is box.frame else outer,
        components(box),
    )


def _same(box: AbstractValue) -> AbstractValue:
    return box


# ------------------------------------------------------------------------------ binding
def bind_parameters(
    state: Machine,
    callee: Callee,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> dict[str, AbstractValue]:
    """Return the parameters' boxes, as Python binds them.

    Where Python raises, the adjoint does, too.
    """
    parameters = callee.parameters
    positional = [a.arg for a in (*parameters.posonlyargs, *parameters.args)]
    bound = _bound_by_position(state, callee, positional, args, kwargs)
    _bind_keywords(state, callee, bound, kwargs)
    defaults = dict(zip(positional[::-1], callee.defaults[::-1], strict=False))
    defaults.update(callee.kw_defaults)
    for name, default in defaults.items():
        if name not in bound:
            bound[name] = default()
    named = [a.arg for a in parameters.kwonlyargs]
    for kind, names in (("positional", positional), ("keyword-only", named)):
        missing = [repr(name) for name in names if name not in bound]
        if missing:
            raises(state, TypeError, f"{callee.frame.name}() {_missing(missing, kind)}")
    return bound


def _missing(names: list[str], kind: str) -> str:
    """Return Python's words for missing arguments."""
    *before, last = names
    comma = "," if len(before) > 1 else ""
    listed = f"{', '.join(before)}{comma} and {last}" if before else last
    return f"missing {len(names)} required {kind} argument{'s' * (len(names) > 1)}: {listed}"


def _bound_by_position(
    state: Machine,
    callee: Callee,
    positional: list[str],
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> dict[str, AbstractValue]:
    bound: dict[str, AbstractValue] = dict(zip(positional, args, strict=False))
    extra = args[len(positional) :]
    if callee.parameters.vararg is not None:
        bound[callee.parameters.vararg.arg] = TupleValue(tuple(extra))
    elif extra:
        raises(state, TypeError, f"{callee.frame.name}() {_too_many(callee, args, kwargs)}")
    return bound


def _too_many(
    callee: Callee, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> str:
    """Return Python's words for too many positional arguments."""
    parameters = callee.parameters
    count = len(parameters.posonlyargs) + len(parameters.args)
    least = count - len(callee.defaults)
    takes = f"{count}" if least == count else f"from {least} to {count}"
    plural = "s" if count != 1 or least != count else ""
    given = f"{len(args)}"
    named = sum(a.arg in kwargs for a in parameters.kwonlyargs)
    if named:
        given += f" positional argument{'s' * (len(args) != 1)} (and {named} keyword-only argument"
        given += f"{'s' * (named != 1)})"
    verb = "was" if len(args) == 1 and not named else "were"
    return f"takes {takes} positional argument{plural} but {given} {verb} given"


def _bind_keywords(
    state: Machine,
    callee: Callee,
    bound: dict[str, AbstractValue],
    kwargs: dict[str, AbstractValue],
) -> None:
    parameters = callee.parameters
    names = {a.arg for a in (*parameters.args, *parameters.kwonlyargs)}
    others: dict[str, AbstractValue] = {}
    for name, box in kwargs.items():
        if name in names and name not in bound:
            bound[name] = box
        elif name in names:
            message = f"{callee.frame.name}() got multiple values for argument {name!r}"
            raises(state, TypeError, message)
        elif parameters.kwarg is not None:
            others[name] = box
        else:
            message = f"{callee.frame.name}() got an unexpected keyword argument {name!r}"
            raises(state, TypeError, message)
    if parameters.kwarg is not None:
        bound[parameters.kwarg.arg] = DictValue(tuple(others), tuple(others.values()))


def inline(
    state: Machine,
    callee: Callee,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue:
    """Read the body of a function here, with its parameters bound to these boxes."""
    bound = bind_parameters(state, callee, args, kwargs)
    frame = callee.frame
    frame.env = dict(bound)
    return read_body(state, callee.node, frame)


def read_body(state: Machine, node: ast.FunctionDef | ast.Lambda, frame: Frame) -> AbstractValue:
    """Read a function's statements in its frame; the box of its result."""
    frame.site = where = state.builder.where
    frame.call = call = _noted_call(state, node, frame)
    state.frames.append(frame)
    try:
        with deep_recursion():
            body: list[ast.stmt] = (
                [
                    ast.Return(
                        node.body,
                        lineno=node.lineno,
                        col_offset=node.col_offset,
                        end_lineno=node.end_lineno,
                        end_col_offset=node.end_col_offset,
                    )
                ]
                if isinstance(node, ast.Lambda)
                else node.body
            )
            lower_statements(state, body)
            finish_body(state)
        if frame.exit == DEAD:
            raise Unreachable
        result = frame.env.get(RETURN_NAME, Constant(None))
        if call is not None:
            items = result.items if isinstance(result, TupleValue) else (result,)
            numbers = [number for number in map(_number, items) if number is not None]
            call.results = tuple(numbers) if len(numbers) == len(items) else ()
    finally:
        state.frames.pop()
        returned(state, frame)
        state.builder.where = where
    return Constant(None) if isinstance(result, Unbound) else result


def _noted_call(
    state: Machine, node: ast.FunctionDef | ast.Lambda, frame: Frame
) -> InlinedCall | None:
    """Return a record of an inlined call for trace tables; None where helpers stay functions."""
    where = state.builder.where
    if where is None or frame.trusted or state.helpers is None or state.helpers.kept:
        return None
    given = ((name, _number(box)) for name, box in frame.env.items())
    definition = Location(frame.file, node.lineno, node.col_offset, function=frame.name)
    return InlinedCall(frame.name, where, definition, tuple(given))


def _number(box: AbstractValue) -> Value | None:
    return box if isinstance(box, Value) and isinstance(box.type, Numeric) else None


def finish_body(state: Machine) -> None:
    """Let a path that runs off the end return None."""
    frame = state.frame
    if frame.exit == NONE:
        set_return(state, Constant(None))
        frame.ends(RETURN)
    elif isinstance(frame.exit, Value) and NONE in frame.tags:
        conditional.on_tag(state, frame.exit, NONE, lambda: set_return(state, Constant(None)))
        frame.ends(RETURN)
