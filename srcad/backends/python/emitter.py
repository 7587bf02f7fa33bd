"""An IR function becomes text that a person can read.

>>> import operator
>>> from srcad.backends.python.backend import load
>>> from srcad.ir.inference.builder import Builder
>>> from srcad.ir.core import Const, Function, Value
>>> from srcad.types.numeric import FLOAT
>>> b, x = Builder(), Value(FLOAT, "x")
>>> y = b.call(operator.mul, Const(3.0), b.call(operator.pow, x, Const(2)))
>>> emitted = emit(Function("poly", (x,), b.finish(y)))
>>> print(emitted.text, end="")
def poly(x):
    return 3.0 * x ** 2
>>> load(emitted)(2.0)
12.0
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from srcad.backends.python.naming.coalesce import Webs, coalesce, moving_copies
from srcad.backends.python.naming.liveness import is_nested, visible_lists
from srcad.backends.python.naming.names import Globals, parameter_name
from srcad.backends.python.plan.expressions import Nesting
from srcad.backends.python.plan.nesting import nest
from srcad.backends.python.plan.statements import Append, Copy, Do, Return, Statement, head_atoms
from srcad.backends.python.plan.structure import Structured, structure
from srcad.backends.python.writing.text import Comment, render
from srcad.backends.python.writing.writer import Writer
from srcad.errors import short_place_of
from srcad.ir.core import (
    Arg,
    Atom,
    Call,
    Const,
    For,
    Function,
    Location,
    Op,
    Routine,
    Value,
    While,
    collected_outputs,
    walk,
)
from srcad.ir.traits import is_builder, is_item, law_of
from srcad.startup.records import dataclass

# Which variables must be bound even where they are undefined.


def weakly_read(statements: list[Statement], nesting: Nesting, webs: Webs) -> set[str]:
    """Return the variables that are handed on unread, and must be bound even if undefined."""
    names: set[str] = set()
    todo = list(statements)
    while todo:
        statement = todo.pop()
        for inner in visible_lists(statement):
            todo += inner
        if is_nested(statement, nesting):
            continue
        for atom in _passed_through(statement):
            for value in nesting.leaves([atom]):
                names.add(webs.names[value])
    return names


def _passed_through(statement: Statement) -> list[Atom]:
    match statement:
        case Append(items=items):
            return list(items)
        case Copy(sources=sources):
            return list(sources)
        case Return(values=values):
            return list(values)
        case Do(op=op) if is_builder(op.target):
            return list(head_atoms(statement))
        case _:
            return []


_ROUNDS = 3


SourceLine = Callable[[Location], str | None]


@dataclass(frozen=True)
class Emitted:
    """The result of `emit`.

    `namespace` holds the objects that the text names; `line_map` says which line of the user's a
    line of the text comes from.
    """

    name: str
    text: str
    tree: ast.Module
    namespace: dict[str, Any]
    line_map: dict[int, Location]


@dataclass(frozen=True)
class _Draft:
    """A function with names for its variables."""

    function: Function
    structured: Structured
    nesting: Nesting
    webs: Webs


def user_line(where: Location) -> str | None:
    """Return the user's line as linecache knows it."""
    return linecache.getline(where.file, where.line).strip() or None


def emit(
    function: Function,
    *,
    name: str | None = None,
    header: Sequence[str] = (),
    source_line: SourceLine = user_line,
) -> Emitted:
    """Write a function, with the routines that it calls.

    Parameters
    ----------
    function : Function
        After all passes: `Call.in_place` says what may be written in place.
    name : str, optional
        The name of the written function; the IR function's by default.
    header : sequence of str
        Comment lines above the function; by default its own file and line, where known.
    source_line : callable
        The user's text of a location, for the comments of the reverse half.

    Returns
    -------
    Emitted
        The text, its tree, the objects that it refers to, and the line map.
    """
    routines = list(_routines(function))
    drafts = [_draft(function)]
    of_routine: dict[Routine, _Draft] = {}
    for routine in routines:
        assert routine.function is not None
        if routine.primal in of_routine:
            _name_saved(routine.function, of_routine[routine.primal])
        of_routine[routine] = _draft(routine.function)
        drafts.append(of_routine[routine])
    taken = {n for draft in drafts for n in draft.webs.names.values()}
    taken |= {parameter_name(p.hint) for draft in drafts for p in draft.function.params}
    space = Globals(taken)
    main = space.define(name or function.name)
    names = [main, *(space.define(wanted, r) for r, wanted in _numbered(routines))]
    comment_of = _comments(source_line)
    places: dict[ast.AST, Location] = {}
    body: list[ast.stmt] = []
    for draft, written in zip(drafts, names, strict=True):
        body.append(_definition(draft, written, space, comment_of, places))
    body[0].header = tuple(header or _header(function))  # type: ignore[attr-defined]
    titled: dict[Routine, str | None] = {}
    for routine, definition in zip(routines, body[1:], strict=True):
        first = routine.of or routine
        if first not in titled and first.title is not None:
            is_second = first.signature and first.title in titled.values()
            title = f"{first.title}; {first.signature}" if is_second else first.title
            definition.header = (title,)  # type: ignore[attr-defined]
        titled[first] = first.title
    text, parsed = render(ast.Module(body, []))
    line_map = _line_map(ast.Module(body, []), parsed, places)
    return Emitted(main, text, parsed, space.namespace, line_map)


def _routines(function: Function) -> Iterator[Routine]:
    """Return the routines that a function reaches, each once.

    They are in the order of their first calls; those made of one stand together.
    """
    found: dict[Routine, list[Routine]] = {}
    todo = [function]
    for one in todo:
        for op in walk(one.block):
            if not isinstance(op, Call) or not isinstance(op.target, Routine):
                continue
            group = found.setdefault(op.target.of or op.target, [])
            if op.target not in group:
                group.append(op.target)
                if op.target.function is not None:
                    todo.append(op.target.function)
    return (routine for group in found.values() for routine in group)


def _name_saved(adjoint: Function, primal: _Draft) -> None:
    """Name the values that an adjoint unpacks as the primal does."""
    packed = primal.function.block.results[-1]
    if adjoint.params and isinstance(packed, Value):
        _SavedNames(adjoint, primal).name(adjoint.params[0], packed)


class _SavedNames:
    """Names of the saved values in an adjoint, after the variables of its primal."""

    def __init__(self, adjoint: Function, primal: _Draft) -> None:
        self.names = primal.webs.names
        self.parts: dict[Value, Sequence[Arg]] = {}  # the items of each tuple of the primal
        self.copied: dict[Value, Value] = {}  # the array that each copy was made of
        self.collected: dict[Value, Atom] = {}  # the value that a loop appends to each list
        self.items: dict[Value, list[tuple[int, Value]]] = {}  # the items read from each tuple
        self.iterated: dict[Value, list[Value]] = {}  # the loop variables over each list
        for op in walk(primal.function.block):
            self._note_made(op)
        for op in walk(adjoint.block):
            self._note_read(op)

    def _note_made(self, op: Op) -> None:
        if isinstance(op, For | While):
            atoms = op.body.results[1 + len(op.inits) :]
            self.collected.update(zip(collected_outputs(op), atoms, strict=True))
        elif isinstance(op, Call) and is_builder(op.target):
            self.parts[op.result] = op.args
        elif isinstance(op, Call) and law_of(op.target) == "copy":
            self.copied.update((op.result, arg) for arg in op.args if isinstance(arg, Value))

    def _note_read(self, op: Op) -> None:
        if isinstance(op, For):
            for seq, item in zip(op.seqs, op.items, strict=True):
                if isinstance(seq, Value):
                    self.iterated.setdefault(seq, []).append(item)
        elif isinstance(op, Call) and is_item(op.target):
            whole, index = op.args
            if isinstance(whole, Value) and isinstance(index, Const):
                self.items.setdefault(whole, []).append((index.value, op.result))

    def name(self, read: Value, made: Arg) -> None:
        """Name the items of a tuple or list of the adjoint after the variables of the primal."""
        if not isinstance(made, Value):
            return
        parts = self.parts.get(made, ())
        for index, item in self.items.get(read, ()) if parts else ():
            self._same(item, parts[index])
        for item in self.iterated.get(read, ()) if made in self.collected else ():
            self._same(item, self.collected[made])

    def _same(self, read: Value, made: Arg) -> None:
        if read.hint is None and isinstance(made, Value):
            read.hint = self.names.get(made) or self.names.get(self.copied.get(made, made))
        self.name(read, made)


def _numbered(routines: Iterable[Routine]) -> Iterator[tuple[Routine, str]]:
    """Return the names of routines: those of the second reading of a function end in 2."""
    readings: dict[str, list[Routine]] = {}
    for routine in routines:
        first = routine.of or routine
        known = readings.setdefault(first.name, [])
        if first not in known:
            known.append(first)
        k = known.index(first)
        yield routine, f"{routine.name}_{k + 1}" if k else routine.name


def _draft(function: Function) -> _Draft:
    structured = structure(function)
    nesting = nest(structured)
    webs = coalesce(function.params, structured.body, nesting, structured.uses)
    moving: frozenset[Value] = frozenset()
    for _ in range(_ROUNDS):
        more = moving | moving_copies(structured.body, nesting, webs)
        if more == moving:
            break
        moving = more
        again = nest(structured, moving, nesting)
        if again.nested == nesting.nested:  # none of them could move
            break
        nesting = again
        webs = coalesce(function.params, structured.body, nesting, structured.uses)
    return _Draft(function, structured, nesting, webs)


def _definition(
    draft: _Draft,
    name: str,
    space: Globals,
    comment_of: Callable[[Location], tuple[str, str] | None],
    places: dict[ast.AST, Location],
) -> ast.stmt:
    weak = weakly_read(draft.structured.body, draft.nesting, draft.webs)
    writer = Writer(draft.webs, draft.nesting, space, draft.structured.uses, comment_of, weak)
    body: list[Statement] = draft.structured.body
    statements = writer.block(body)
    places.update(writer.places)
    params = [ast.arg(draft.webs.names[p]) for p in draft.function.params]
    arguments = ast.arguments([], params, None, [], [], None, [])
    definition = ast.FunctionDef(name, arguments, statements, [])
    definition.type_params = []  # type: ignore[attr-defined, unused-ignore]
    return definition


# ---------------------------------------------------------------------------------- comments
def _header(function: Function) -> list[str]:
    where = function.where
    if where is None:
        return []
    return [f"{where.function or function.name}  ({short_place_of(where.file, where.line)})"]


def _comments(source_line: SourceLine) -> Callable[[Location], tuple[str, str] | None]:
    def comment(where: Location) -> tuple[str, str] | None:
        text = " ".join((source_line(where) or "").split())
        if not text or text.endswith(":"):
            return None
        return text, f"({short_place_of(where.file, where.line)})"

    return comment


def _line_map(
    tree: ast.Module, parsed: ast.Module, places: dict[ast.AST, Location]
) -> dict[int, Location]:
    """Walk both trees in step; the parsed one knows the lines."""
    found: dict[int, Location] = {}
    todo: list[tuple[Any, Any]] = [(tree, parsed)]
    while todo:
        ours, theirs = todo.pop()
        where = places.get(ours)
        if where is not None:
            simple = not hasattr(theirs, "body")
            last = theirs.end_lineno if simple and theirs.end_lineno else theirs.lineno
            for line in range(theirs.lineno, last + 1):
                found.setdefault(line, where)
        for name in ("body", "orelse"):
            mine = [s for s in getattr(ours, name, ()) if not isinstance(s, Comment)]
            todo += zip(mine, getattr(theirs, name, ()), strict=True)
    return dict(sorted(found.items()))
