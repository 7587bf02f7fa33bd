"""How generated code and derivatives show themselves: in notebooks, to `help` and to `inspect`."""

from __future__ import annotations

import functools
import html
import inspect
import io
import keyword
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from types import MethodType
from typing import Any, ClassVar, Protocol, TypeVar

from srcad.errors import SrcadError
from srcad.frontend.source.definition import definition
from srcad.startup.identifiers import printable
from srcad.types.reading import signature

_COLOURS = {  # the names are those of Jupyter's themes
    "keyword": "color:var(--jp-mirror-editor-keyword-color,#008000);font-weight:bold",
    "comment": "color:var(--jp-mirror-editor-comment-color,#408080);font-style:italic",
    "string": "color:var(--jp-mirror-editor-string-color,#ba2121)",
    "number": "color:var(--jp-mirror-editor-number-color,#666666)",
}
_KINDS = {tokenize.COMMENT: "comment", tokenize.STRING: "string", tokenize.NUMBER: "number"}


class Code(str):
    """Generated text: a `str` that a notebook shows as code, not in quotes."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return highlighted(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self).rstrip("\n"))


class Row(Protocol):
    """A row of a table."""

    def cells(self) -> tuple[str, ...]:
        """Return one text for each column."""


R = TypeVar("R", bound=Row)


class Table(tuple[R, ...]):
    """A tuple of rows that prints as a table, and is one in a notebook."""

    __slots__ = ()

    columns: ClassVar[tuple[str, ...]] = ()
    empty: ClassVar[str] = ""

    def _rows(self) -> Sequence[tuple[str, ...]]:
        return [one.cells() for one in self]

    def _total(self) -> str:
        """Return the line below the table, if there is one."""
        return ""

    def __str__(self) -> str:
        if not self:
            return self.empty
        rows = [self.columns, *self._rows()]
        widths = [max(len(row[k]) for row in rows) for k in range(len(self.columns))]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, *filter(None, [self._total()])])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        def row(cells: Iterable[str], tag: str) -> str:
            texts = map(_with_indent, cells)
            return f"<tr>{''.join(f'<{tag}>{text}</{tag}>' for text in texts)}</tr>"

        body = "".join(row(cells, "td") for cells in self._rows())
        total = self._total()
        caption = f"<caption>{html.escape(total)}</caption>" if total else ""
        return (
            "<table style='font-family:monospace;white-space:nowrap'>"
            f"<thead>{row(self.columns, 'th')}</thead><tbody>{body}</tbody>"
            f"{caption}</table>"
        )


def _with_indent(cell: str) -> str:
    """Return a cell in HTML, which would drop the spaces at its beginning."""
    text = cell.lstrip(" ")
    return "&nbsp;" * (len(cell) - len(text)) + html.escape(text)


def highlighted(text: str) -> str:
    """Return the text in HTML: Python with its words in colour, anything else as it stands."""
    try:
        body = "".join(_spans(text))
    except (tokenize.TokenError, SyntaxError):
        body = html.escape(text)
    return f'<pre style="line-height:1.4"><code>{body.rstrip()}</code></pre>'


def _spans(text: str) -> Iterator[str]:
    lines = [*io.StringIO(text).readlines(), ""]
    row, column = 1, 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = _KINDS.get(token.type)
        if token.type == tokenize.NAME and keyword.iskeyword(token.string):
            kind = "keyword"
        if kind is None:
            continue
        yield html.escape(_between(lines, (row, column), token.start))
        yield f'<span style="{_COLOURS[kind]}">{html.escape(token.string)}</span>'
        row, column = token.end
    yield html.escape(_between(lines, (row, column), (len(lines), 0)))


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """Return the text between two places."""
    (row, column), (last, until) = start, end
    if row == last:
        return lines[row - 1][column:until]
    return "".join([lines[row - 1][column:], *lines[row : last - 1], lines[last - 1][:until]])


# ----------------------------------------------------------------------- of the user's functions
def text_of(function: Any) -> str:
    """Return the user's text of a function, or a note where there is none."""
    inner = function
    while isinstance(inner, MethodType | functools.partial):
        inner = inner.__func__ if isinstance(inner, MethodType) else inner.func
    try:
        return definition(inner).text
    except SrcadError as error:
        return f"# {printable(error.sentence)}\n"


def signature_of(function: Any) -> inspect.Signature:
    """Return the signature of a function; where it tells none, that of any call.

    A derivative tells its own: to look for what it wraps would compile the form that is shown.
    """
    if hasattr(type(function), "__srcad_of__"):
        own: inspect.Signature = function.__signature__
        return own
    try:
        return signature(function)
    except (TypeError, ValueError):
        kinds = (
            ("args", inspect.Parameter.VAR_POSITIONAL),
            ("kwargs", inspect.Parameter.VAR_KEYWORD),
        )
        return inspect.Signature([inspect.Parameter(name, kind) for name, kind in kinds])


def documented(function: Any) -> str:
    """Return the docstring of a function, or ''."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.getdoc(function) or ""


class Documentation:
    """``__doc__``: of the class its own, of an instance what it says of itself."""

    def __init__(self, of_class: str | None) -> None:
        self.of_class = of_class

    def __get__(self, instance: Any, owner: type | None = None) -> str | None:
        return self.of_class if instance is None else str(instance._documentation())
