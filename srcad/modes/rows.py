"""The table that `srcad.trace_table` returns: values and gradients of one call."""

from __future__ import annotations

import html
import linecache
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from srcad.errors import short_place_of
from srcad.ir.core import Location
from srcad.runtime import deep_copy
from srcad.startup.records import dataclass, replace

_HEAD, _TAIL = 40, 20  # rows of a long table that are printed
_WIDEST = 44
_COLUMNS = ("name", "value", "gradient", "operation", "line")


class Operand(NamedTuple):
    """An operand: its name or text, and its value where it is a number or an array."""

    name: str
    value: Any = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={shown(self.value)}"


@dataclass(eq=False)
class Row:
    """One value of a program, as one run has computed it.

    Attributes
    ----------
    name : str
        The user's name for it; ``t1``, ``t2``, ... for a temporary.
    value : number or array
        A copy of the value.
    gradient : number, array or None
        The derivative of the result by it; None where none flows from it to the result.
    op : str or None
        The operation that made it; None for an argument.
    operands : tuple of Operand
        Its operands, ``(name, value)``.
    trip : int
        How many times the operation had run when it made the value, this time included: in a loop
        the number of the iteration, unless a branch has left some out.
    where : Location or None
        Its place; `line` and `file` are parts of that.
    ssa : str
        Its name in ``srcad.inspect(f).ssa``, where every value has one of its own.
    call : Row or None
        The call of another function in which it was computed: `op` is the name of that function,
        `operands` its arguments, `where` the place of the call, `call` the call around it.  Value
        and gradient are those of the result, of several numbers a tuple, or None.
    definition : Location or None
        Of a call, the place of the function that is called.
    """

    name: str
    value: Any
    gradient: Any = None
    op: str | None = None
    operands: tuple[Operand, ...] = ()
    trip: int = 1
    where: Location | None = None
    ssa: str = ""
    call: Row | None = None
    definition: Location | None = None

    @property
    def calls(self) -> tuple[Row, ...]:
        """The calls that it was computed in, the outermost first."""
        return () if self.call is None else (*self.call.calls, self.call)

    @property
    def line(self) -> int:
        """The line in the user's file, or 0."""
        return 0 if self.where is None else self.where.line

    @property
    def file(self) -> str:
        """The user's file, or ''."""
        return "" if self.where is None else self.where.file

    @property
    def operation(self) -> str:
        """The operation with its operands: ``add(x=2.0, y=3.0)``; '' for an argument."""
        return "" if self.op is None else f"{self.op}({', '.join(map(str, self.operands))})"

    def __repr__(self) -> str:
        made = f" = {self.operation}" if self.op else ""
        return f"<{self.name}{made}: {shown(self.value)}, gradient {shown(self.gradient)}>"


class TraceTable(Sequence[Row]):
    """The rows of one run, in the order in which the values were made; arguments come first.

    ``table[0]`` and ``table[-1]`` are rows, ``table["h"]`` is the last one of that name, and
    ``table.named("h")`` are all of them.  It prints as text, and shows itself in a notebook.

    Attributes
    ----------
    rows : tuple of Row
        All rows.
    result : number
        What the function has returned.
    """

    def __init__(
        self, name: str, rows: Sequence[Row], result: Any, *, every_call: bool = False
    ) -> None:
        self.name = name
        self.rows = tuple(rows)
        self.result = result
        self.every_call = every_call

    def expanded(self) -> TraceTable:
        """Return the table that prints the rows of every call, not of the first ones only."""
        return TraceTable(self.name, self.rows, self.result, every_call=True)

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int | str) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, str):
            return self.rows[index]
        found = self.named(index)
        if not found:
            raise KeyError(index)
        return found[-1]

    def named(self, name: str) -> list[Row]:
        """All rows of a name: one for each time that it was made."""
        return [row for row in self.rows if row.name == name]

    def __repr__(self) -> str:
        return f"<srcad.trace_table of {self.name!r}: {len(self.rows)} rows>"

    def __str__(self) -> str:
        cells = [_COLUMNS, *map(_cells, self._printed())]
        widths = [max(len(row[k]) for row in cells) for k in range(len(_COLUMNS))]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
        return "\n".join(_shortened(lines))

    def _printed(self) -> Iterator[Row]:
        """Yield the rows, each call before its own, which follow for the first call only."""
        begun: set[Row] = set()
        first: dict[Location | None, Row] = {}
        for row in self.rows:
            for call in row.calls:
                if call not in begun:
                    begun.add(call)
                    yield call
                if first.setdefault(call.definition, call) is not call and not self.every_call:
                    break
            else:
                yield row

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
        rows = [_html_row(_cells(row)) for row in self._printed()]
        gap = "<tr><td colspan='5'>{}</td></tr>"
        body = [r if r.startswith("<tr>") else gap.format(r) for r in _shortened(["", *rows])[1:]]
        return (
            "<table style='font-family:monospace;white-space:pre'>"
            f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
        )


def _shortened(lines: list[str]) -> list[str]:
    """Return the first and the last lines of many."""
    left_out = len(lines) - 1 - _HEAD - _TAIL
    if left_out <= 1:
        return lines
    return [*lines[: _HEAD + 1], f"... {left_out:,} more rows ...", *lines[-_TAIL:]]


def _html_row(cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in cells)}</tr>"


def _cells(row: Row) -> tuple[str, ...]:
    name = row.name if row.trip == 1 else f"{row.name} ({row.trip})"
    name = "  " * len(row.calls) + name.lstrip()
    gradient = "" if row.gradient is None else shown(row.gradient)
    return name, shown(row.value), gradient, row.operation, _place(row.where)


def _place(where: Location | None) -> str:
    if where is None or not where.file:
        return ""
    text = linecache.getline(where.file, where.line).strip()
    return f"{short_place_of(where.file, where.line)}  {text}".rstrip()


def shown(value: Any) -> str:
    """Return a value in one short line: numbers in full, large arrays by shape and dtype."""
    if isinstance(value, np.ndarray):
        if value.size <= 6:
            text = np.array2string(value, precision=6, separator=", ").replace("\n", "")
            text = " ".join(text.split())
            if len(text) <= _WIDEST:
                return text
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, float | np.floating):
        exact = repr(float(value))
        return exact if len(exact) <= 10 else f"{float(value):.8g}"
    if isinstance(value, dict):
        return _short("{" + ", ".join(f"{k!r}: {shown(v)}" for k, v in value.items()) + "}")
    if isinstance(value, tuple | list):
        items = ", ".join(map(shown, value))
        return _short(f"[{items}]" if isinstance(value, list) else f"({items})")
    return _short(" ".join(str(value).split()))


def _short(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."


@dataclass(frozen=True)
class Template:
    """The static part of a row: its name, operation and place, without values.

    Attributes
    ----------
    row : Row
        The row, without values.
    call : int or None
        The number of the call that it stands in.
    returned : tuple of pairs
        The numbers of the calls that return the value, each with its place in the result.
    is_call : bool
        Whether the row is that of a call.
    """

    row: Row
    call: int | None = None
    returned: tuple[tuple[int, int], ...] = ()
    is_call: bool = False


class Recorder:
    """Notes the values of one run; what `note` returns is told the gradient."""

    def __init__(self, templates: Sequence[Template]) -> None:
        self.templates = templates
        self.rows: list[Row] = []
        self.runs: dict[int, int] = {}
        self.latest: dict[int, Row] = {}
        self.results: dict[Row, dict[int, Row]] = {}

    def note(self, k: int, value: Any, *operands: Any) -> Any:
        """Add a row of the `k`-th value, or begin the `k`-th call."""
        template = self.templates[k]
        made = template.row
        self.runs[k] = self.runs.get(k, 0) + 1
        given = iter(map(deep_copy, operands))
        known = tuple(
            o if o.value is not _LATER else Operand(o.name, next(given)) for o in made.operands
        )
        call = None if template.call is None else self.latest[template.call]
        row = self.latest[k] = replace(
            made, value=deep_copy(value), operands=known, trip=self.runs[k], call=call
        )
        if template.is_call:
            self.results[row] = {}
        else:
            self.rows.append(row)
        for number, place in template.returned:
            self.results[self.latest[number]][place] = row
        return _GradientReceiver(row)

    def leaves(self) -> Iterator[Row]:
        """Return the rows of the arguments, in order."""
        return (row for row in self.rows if row.op is None)

    def finish(self) -> None:
        """Give the calls the values and gradients of their results."""
        for row, made in self.results.items():
            found = [made[place] for place in sorted(made)]
            if len(found) == 1:
                row.value, row.gradient = found[0].value, found[0].gradient
            elif found:
                row.value = tuple(one.value for one in found)
                row.gradient = tuple(one.gradient for one in found)


_LATER = object()


def later(name: str) -> Operand:
    """Return an operand with a value that is known at run time."""
    return Operand(name, _LATER)


@dataclass(eq=False)
class _GradientReceiver:
    """Takes the gradient of a row."""

    row: Row

    def __call__(self, bar: Any) -> None:
        self.row.gradient = bar
