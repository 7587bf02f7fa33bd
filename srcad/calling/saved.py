"""The residuals of a pullback: each value with its type, its bytes and its line."""

from __future__ import annotations

import ast
import html
import linecache
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from srcad.backends.interface.saved_names import returned_items
from srcad.errors import short_place_of
from srcad.ir.core import Const, For, Function, If, Location, Op, Value, While, walk
from srcad.types.numeric import Numeric
from srcad.types.sizes import Extent, resolved
from srcad.types.sources import EACH, Unreadable, read
from srcad.types.structures import ListOf, TupleOf, Type

Lengths = Callable[[Extent], int | None]
_COLUMNS = ("saved", "type", "bytes", "line")
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
    is_argument: bool
    where: Location | None

    @property
    def line(self) -> int:
        """The line in the user's file, or 0."""
        return 0 if self.where is None else self.where.line

    def cells(self) -> tuple[str, ...]:
        """Return the name, and what is known, as text."""
        size = "?" if self.bytes is None else f"{self.bytes:,}"
        if self.per_iteration is not None:
            size = f"{self.per_iteration:,} per trip"
        elif self.type.startswith("list") and self.bytes is None:
            size = "? per trip"
        return str(self), self.type, size, "an argument" if self.is_argument else self._place()

    def _place(self) -> str:
        if self.where is None or not self.where.file:
            return ""
        text = linecache.getline(self.where.file, self.where.line).strip()
        return f"{short_place_of(self.where.file, self.where.line)}  {text}".rstrip()


class Saved(tuple[SavedValue, ...]):
    """The saved values in order: a tuple of names that prints as a table.

    Attributes
    ----------
    bytes : int
        The sizes of those that are known and are no arguments, together.
    per_iteration : int
        The bytes that each iteration of the loops adds to that, as far as known.
    """

    __slots__ = ()

    @property
    def bytes(self) -> int:
        """The sizes that are known, of what is not held anyway."""
        return sum(s.bytes or 0 for s in self if not s.is_argument)

    @property
    def per_iteration(self) -> int:
        """The bytes that each iteration adds."""
        return sum(s.per_iteration or 0 for s in self)

    def _total(self) -> str:
        more = f", and {self.per_iteration:,} in each trip" if self.per_iteration else ""
        return f"{self.bytes:,} bytes are saved{more}; arguments are only held"

    def __str__(self) -> str:
        if not self:
            return "nothing is saved"
        rows = [_COLUMNS, *(one.cells() for one in self)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(_COLUMNS))]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, self._total()])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        def row(cells: Iterable[str], tag: str) -> str:
            return f"<tr>{''.join(f'<{tag}>{html.escape(c)}</{tag}>' for c in cells)}</tr>"

        body = "".join(row(one.cells(), "td") for one in self)
        return (
            "<table style='font-family:monospace;white-space:nowrap'>"
            f"<thead>{row(_COLUMNS, 'th')}</thead><tbody>{body}</tbody>"
            f"<caption>{html.escape(self._total())}</caption></table>"
        )


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
    lengths = _lengths(function, arguments)
    made = _Makers(primal)
    return Saved(
        _saved_value(name, value, made, lengths)
        for name, value in zip(_returned(text, values), values, strict=True)
    )


def _returned(text: str, values: Sequence[Any]) -> list[str]:
    """Return the names of the residuals in the generated code of the primal."""
    named = returned_items(text, len(values))
    if named is None:
        return [getattr(v, "hint", None) or f"t{k + 1}" for k, v in enumerate(values)]
    hints = [
        getattr(value, "hint", None) if isinstance(one, ast.Constant) else None
        for one, value in zip(named, values, strict=True)
    ]
    return [hint or ast.unparse(one) for one, hint in zip(named, hints, strict=True)]


def _saved_value(name: str, atom: Any, made: _Makers, lengths: Lengths) -> SavedValue:
    found = SavedValue(name)
    inner, loops = made.behind(atom)
    type_ = inner.type
    size = _size(type_, lengths)
    found.type = "list of " * loops + _spelled(type_, lengths)
    found.shape = _shape(type_, lengths)
    found.bytes = None if loops else size
    found.per_iteration = size if loops else None
    found.is_argument = inner in made.params
    found.where = None if found.is_argument else made.places.get(inner)
    return found


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
