"""The residuals of a pullback: each value with its type, its bytes and its line."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from srcad.backends.interface.saved_names import returned_items
from srcad.calling.showing import Table
from srcad.errors import short_place_of
from srcad.frontend.source.text import parse
from srcad.ir.core import (
    Call,
    Const,
    For,
    Function,
    If,
    Location,
    Op,
    Routine,
    Value,
    While,
    walk,
)
from srcad.ir.traits import is_builder, is_item
from srcad.startup.records import dataclass
from srcad.types.numeric import Numeric
from srcad.types.sizes import Extent, resolved
from srcad.types.sources import EACH, Unreadable, read
from srcad.types.structures import ListOf, TupleOf, Type

Lengths = Callable[[Extent], int | None]
_SAMPLES = {"f": 0.5, "c": 0.5j, "i": 1 << 20, "b": True}


class SavedValue(str):
    """The name of a saved value as the primal half returns it, with facts about the value.

    Attributes
    ----------
    type : str
        Its type: ``float64[3, 2]``, ``float``, ``list of bool``.
    shape : tuple of int, or None
        The shape, of a list that of an item; None where the lengths are not known.
    bytes : int or None
        Its size; None where that is known at the call only.
    per_iteration : int or None
        The bytes that an iteration adds, if a loop saves the value.
    per_call : int or None
        The bytes that each call of a recursive function adds, if it saves the value.
    helper : str or None
        The primal of the pair whose call saves this: `Saved.helpers` has what one call saves.
    is_argument : bool
        True if it is an argument, or something else that the function did not make: it is held,
        and takes no memory of its own.
    where : Location or None
        Where it is made; `line` is part of that.
    """

    type: str
    shape: tuple[int, ...] | None
    bytes: int | None
    per_iteration: int | None
    per_call: int | None = None
    helper: str | None = None
    is_argument: bool
    where: Location | None

    @property
    def line(self) -> int:
        """The line in the user's file, or 0."""
        return 0 if self.where is None else self.where.line

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the row as text."""
        size = "?" if self.bytes is None else f"{self.bytes:,}"
        if self.per_call is not None:
            size = f"{self.per_call:,} per call"
        elif self.per_iteration is not None and self.bytes is not None:
            size += f", {self.per_iteration:,} per trip"
        elif self.per_iteration is not None:
            size = f"{self.per_iteration:,} per trip"
        elif self.type.startswith("list") and self.bytes is None:
            size = "? per trip"
        return str(self), self.type, size, "an argument" if self.is_argument else self._place()

    def _place(self) -> str:
        if self.where is None or not self.where.file:
            return ""
        text = linecache.getline(self.where.file, self.where.line).strip()
        return f"{short_place_of(self.where.file, self.where.line)}  {text}".rstrip()


class Saved(Table[SavedValue]):
    """The saved values in order: a tuple of names that prints as a table.

    Attributes
    ----------
    bytes : int
        The sizes of those that are known and are no arguments, together.
    per_iteration : int
        The bytes that each iteration of the loops adds to that, as far as known.
    per_call : int
        The bytes that each call of a recursive function adds to that, as far as known.
    helpers : mapping from str to Saved
        The values that one call of each pair saves, by the name of its primal.
    """

    columns = ("saved", "type", "bytes", "line")
    empty = "nothing is saved"
    helpers: Mapping[str, Saved] = {}

    @property
    def bytes(self) -> int:
        """The sizes that are known, of what is not held anyway."""
        return sum(s.bytes or 0 for s in self if not s.is_argument)

    @property
    def per_iteration(self) -> int:
        """The bytes that each iteration adds."""
        return sum(s.per_iteration or 0 for s in self)

    @property
    def per_call(self) -> int:
        """The bytes that each call of a recursive function adds."""
        return sum(s.per_call or 0 for s in self)

    def _rows(self) -> Sequence[tuple[str, ...]]:
        rows = [one.cells() for one in self]
        for name, values in self.helpers.items():
            rows.append((f"{name}, one call", "", values._size(), ""))
            rows += [(f"  {row[0]}", *row[1:]) for row in (one.cells() for one in values)]
        return rows

    def _size(self) -> str:
        more = f", {self.per_iteration:,} per trip" if self.per_iteration else ""
        return f"{self.bytes + self.per_call:,}{more}"

    def _total(self) -> str:
        more = f", and {self.per_iteration:,} in each trip" if self.per_iteration else ""
        more += f", and {self.per_call:,} in each recursive call" if self.per_call else ""
        return f"{self.bytes:,} bytes are saved{more}; arguments are only held"


def saved_values(
    primal: Function | None, text: str, function: Any, arguments: Mapping[str, Any], count: int
) -> Saved:
    """Return the values that the primal half passes on.

    Parameters
    ----------
    primal, text
        The primal half: its result, then the `count` values that it saves.
    function, arguments
        The user's function, and its arguments where there are any: they tell the lengths.
    """
    if primal is None or not count:
        return Saved()
    values = primal.block.results[-count:]
    reader = _Reader(_lengths(function, arguments), _definitions(text))
    found, _ = reader.table(primal, values, _returned(text, values))
    found.helpers = {one.name: one.values for one in reader.read.values()}
    return found


def _returned(text: str, values: Sequence[Any]) -> list[str]:
    """Return the names of the residuals in the generated code of the primal."""
    named = returned_items(text, len(values))
    if named is None:
        return _hints(values)
    return _named(named, values)


def _hints(values: Sequence[Any]) -> list[str]:
    return [getattr(v, "hint", None) or f"t{k + 1}" for k, v in enumerate(values)]


def _named(items: Sequence[ast.expr], values: Sequence[Any]) -> list[str]:
    hints = [
        getattr(value, "hint", None) if isinstance(one, ast.Constant) else None
        for one, value in zip(items, values, strict=True)
    ]
    return [hint or ast.unparse(one) for one, hint in zip(items, hints, strict=True)]


def _definitions(text: str) -> list[ast.FunctionDef]:
    """Return the functions of generated code besides the first one."""
    tree = parse(text)
    body = [] if tree is None else tree.body
    return [one for one in body if isinstance(one, ast.FunctionDef)][1:]


@dataclass(eq=False)
class _OneCall:
    """One call of a primal: a table of its saved values, and the parameters among them."""

    name: str
    values: Saved
    held: set[Value]
    is_running: bool = True
    is_recursive: bool = False


class _Reader:
    """Makes the tables of a primal and of those that it calls, each once."""

    def __init__(self, lengths: Lengths, definitions: list[ast.FunctionDef]) -> None:
        self.lengths = lengths
        self.definitions = definitions
        self.read: dict[Routine, _OneCall] = {}

    def table(
        self, function: Function, values: Sequence[Any], names: Sequence[str]
    ) -> tuple[Saved, set[Value]]:
        """Return the table of the values that a function saves, and the parameters among them."""
        made = _Makers(function)
        rows = [self._row(name, value, made) for name, value in zip(names, values, strict=True)]
        inner = [made.behind(value)[0] for value in values]
        held = {made.root(value) for value in inner}
        for row, value in zip(rows, values, strict=True):
            self._add_call(row, value, made, held)
        return Saved(rows), held.intersection(made.params)

    def _row(self, name: str, atom: Any, made: _Makers) -> SavedValue:
        found = SavedValue(name)
        inner, loops = made.behind(atom)
        type_ = inner.type
        size = _size(type_, self.lengths)
        found.type = "list of " * loops + _spelled(type_, self.lengths)
        found.shape = _shape(type_, self.lengths)
        found.bytes = None if loops else size
        found.per_iteration = size if loops else None
        found.is_argument = made.root(inner) in made.params
        found.where = None if found.is_argument else made.places.get(inner)
        return found

    def _add_call(self, row: SavedValue, atom: Any, made: _Makers, held: set[Value]) -> None:
        """Add the size of a call's saved values to its row; record the arguments among them."""
        inner, loops = made.behind(atom)
        call = made.call_behind(inner)
        if call is None:
            return
        one = self._one_call(call.target)
        row.helper = one.name
        row.type = "list of " * loops + f"saved by {one.name}"
        params = call.target.function.params
        args = [arg for p, arg in zip(params, call.args, strict=True) if p in one.held]
        sizes: list[int | None] = []
        for arg in args:
            value = made.root(made.behind(arg)[0])
            if isinstance(value, Value) and value not in held:
                held.add(value)
                if value not in made.params:
                    sizes.append(_size(value.type, self.lengths))
        more = sum(size or 0 for size in sizes)
        if one.is_running:  # the call inside of a recursive function
            one.is_recursive = True
            row.per_call = more
            return
        size, per_trip = one.values.bytes + more, one.values.per_iteration
        if one.is_recursive:
            row.per_call = size + one.values.per_call
        elif loops:
            row.per_iteration = size + per_trip
        else:
            row.bytes, row.per_iteration = size, per_trip or None

    def _one_call(self, routine: Any) -> _OneCall:
        if routine in self.read:
            return self.read[routine]
        packed = _saved_by(routine)
        k = next((k for k, d in enumerate(self.definitions) if _is_of(d.name, routine)), None)
        definition = None if k is None else self.definitions.pop(k)
        name = routine.name if definition is None else definition.name
        direct = _Makers(routine.function).params_among(packed)  # of what a call inside holds
        one = self.read[routine] = _OneCall(name, Saved(), direct)
        names = _names_in(definition, packed)
        one.values, one.held = self.table(routine.function, packed, names)
        one.is_running = False
        return one


def _is_of(name: str, routine: Routine) -> bool:
    """Return True if a function of the text may be this routine: several are numbered."""
    rest = name.removeprefix(routine.name)
    return name.startswith(routine.name) and (not rest or rest.removeprefix("_").isdigit())


def _saved_by(routine: Routine) -> Sequence[Any]:
    """Return the values in the tuple of saved ones that the primal of a pair returns last."""
    function = routine.function
    if function is None or not function.block.results:
        return ()
    packed = function.block.results[-1]
    made = next((op for op in function.block.ops if packed in op.results), None)
    return made.args if isinstance(made, Call) and is_builder(made.target) else ()


def _names_in(definition: ast.FunctionDef | None, values: Sequence[Any]) -> list[str]:
    """Return the names of values in the tuple that a function of the text returns last."""
    returned = [
        node.value.elts[-1]
        for node in ast.walk(definition or ast.Module([], []))
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple)
    ]
    for one in returned:
        if isinstance(one, ast.Tuple) and len(one.elts) == len(values):
            return _named(one.elts, values)
    return _hints(values)


class _Makers:
    """Which op makes each value of a function, and where the user wrote it."""

    def __init__(self, function: Function) -> None:
        self.params = frozenset(function.params)
        self.makers: dict[Value, Op] = {v: op for op in walk(function.block) for v in op.results}
        self.places: dict[Value, Location | None] = {
            v: op.where or function.where for v, op in self.makers.items()
        }
        for op in walk(function.block):
            if isinstance(op, For | While):
                self._note_carried(op)

    def _note_carried(self, op: For | While) -> None:
        """Trace a carried value to the operation in the body that makes it."""
        columns = zip(op.carried, op.outputs[2:], op.body.results[1:], strict=False)
        for param, output, result in columns:
            made = self.places.get(result) if isinstance(result, Value) else None
            self.places[param] = self.places[output] = made or self.places[output]

    def root(self, value: Any) -> Any:
        """Return the argument that has a value among its parts, or the value itself."""
        atom = value
        while isinstance(atom, Value) and atom not in self.params:
            op = self.makers.get(atom)
            if not isinstance(op, Call) or not is_item(op.target):
                return value
            atom = op.args[0]
        return atom if atom in self.params else value

    def params_among(self, values: Sequence[Any]) -> set[Value]:
        """Return the arguments that some values are, or are parts of."""
        return set(self.params).intersection(self.root(self.behind(value)[0]) for value in values)

    def call_behind(self, value: Any) -> Call | None:
        """Return the call of a pair's primal that saves a value, if one does."""
        op = self.makers.get(value)
        if not isinstance(op, Call) or not is_item(op.target):
            return None
        whole, index = op.args
        call = self.makers.get(whole) if isinstance(whole, Value) else None
        if not isinstance(call, Call) or not isinstance(call.target, Routine):
            return None
        function = call.target.function
        last = -1 if function is None else len(function.block.results) - 1
        is_last = isinstance(index, Const) and index.value == last
        return call if is_last and _saved_by(call.target) else None

    def behind(self, atom: Any) -> tuple[Any, int]:
        """Return the value that a list collects, or a branch yields, and the number of loops."""
        loops, seen = 0, set()
        while isinstance(atom, Value) and atom not in seen:
            seen.add(atom)
            op = self.makers.get(atom)
            inner = None
            if isinstance(op, For | While):
                k = op.outputs.index(atom)
                collected = k >= 2 + len(op.inits)
                inner = op.body.results[k - 1] if k >= 2 and collected else None
                loops += collected
            elif isinstance(op, If):
                k = op.outputs.index(atom)
                yielded = (op.then.results[k], op.orelse.results[k])
                inner = next((a for a in yielded if isinstance(a, Value)), None)
            if inner is None or isinstance(inner, Const):
                break
            atom = inner
        return atom, loops


# ------------------------------------------------------------------------------- sizes
def _lengths(function: Any, arguments: Mapping[str, Any]) -> Lengths:
    """Return the number that an extent is for these arguments."""

    def length(extent: Extent) -> int | None:
        extent = resolved(extent)
        total = extent.constant
        for symbol, factor in extent.terms:
            path: Any = symbol.source
            if path is None or EACH in path:
                return None
            try:
                total += factor * int(read(path, function, arguments))
            except (Unreadable, TypeError):
                return None
        return total

    return length


def _shape(type_: Type, lengths: Lengths) -> tuple[int, ...] | None:
    if not isinstance(type_, Numeric) or type_.shape is None:
        return None
    found = [lengths(extent) for extent in type_.shape]
    return None if None in found else tuple(n for n in found if n is not None)


def _size(type_: Type, lengths: Lengths) -> int | None:
    """Return the bytes of a value: of an array its data, of a number the object, of a flag 0."""
    if isinstance(type_, TupleOf):
        parts = [_size(item, lengths) for item in type_.items]
        return None if None in parts else sum(n for n in parts if n is not None)
    if not isinstance(type_, Numeric) or type_.dtype is None:
        return None
    if type_.is_python:
        return 0 if type_.kind == "b" else sys.getsizeof(_SAMPLES.get(type_.kind, 0.5))
    if type_.form == "numpy":
        return 0 if type_.kind == "b" else sys.getsizeof(type_.dtype.type(0))
    shape = _shape(type_, lengths)
    return None if shape is None else int(np.prod(shape, dtype=np.int64)) * type_.dtype.itemsize


def _spelled(type_: Type, lengths: Lengths) -> str:
    """Return a type with the lengths that are known as numbers."""
    if isinstance(type_, TupleOf) and type_.keys is None:
        return f"({', '.join(_spelled(item, lengths) for item in type_.items)})"
    if isinstance(type_, ListOf):
        return f"list of {_spelled(type_.item, lengths)}"
    shape = _shape(type_, lengths)
    if shape is None or not isinstance(type_, Numeric) or type_.form != "array":
        return str(type_)
    return f"{'?' if type_.dtype is None else type_.dtype.name}{list(shape)}"
