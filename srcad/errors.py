"""Every error that srcad raises on purpose.

Each class has a stable code and a section in ``docs/errors.md``.  A message says *what* (the
construct and the function, in the user's words), *where* (the user's file, line and column, with
a caret), *why*, and what to do instead (*help*: something that can be pasted)::

    [SRCAD-101] cannot differentiate through 'await' in 'loss'
      --> model.py:5:9
       5 |     h = await fetch(w)
         |         ^^^^^^^^^^^^^^
      why:  the rest of 'loss' runs at a time that the event loop decides.
      help: await first, then differentiate.
"""

from __future__ import annotations

import linecache
import os
import sys
from typing import Any, ClassVar, Protocol

__all__ = [
    "BackendWarning",
    "DrawingError",
    "ExportError",
    "InvalidIRError",
    "MissingRuleError",
    "MutationError",
    "NoDerivativeWarning",
    "NonFiniteError",
    "NonScalarOutputError",
    "NotCompiledError",
    "NotDifferentiableError",
    "OptionError",
    "RecompilationWarning",
    "RuleError",
    "SeedError",
    "SolverWarning",
    "SourceChangedError",
    "SourceUnavailableError",
    "SrcadError",
    "UndefinedNameError",
    "UnsupportedSyntaxError",
    "UnsupportedTypeError",
    "WrtError",
]

_WIDEST_CARET = 100


class Place(Protocol):
    """Protocol of a source location; `srcad.ir.core.Location` is one."""

    @property
    def file(self) -> str:
        """Name of the file."""

    @property
    def line(self) -> int:
        """Line, from 1."""

    @property
    def column(self) -> int:
        """Offset in the line, in UTF-8 bytes from 0 as in `ast`."""

    @property
    def end_line(self) -> int:
        """Last line, or 0."""

    @property
    def end_column(self) -> int:
        """Offset of the end in the last line, or 0."""


class SrcadError(Exception):
    """The base of every error that srcad raises on purpose.

    Parameters
    ----------
    sentence : str
        What cannot be done, and in which function.
    where : Location, optional
        The place in the user's text.
    why : str, optional
        The reason, in the user's terms.
    help : tuple of str, optional
        One to three remedies; lines after the first of one remedy are indented under it.
    second : Location, optional
        Another place that matters.
    """

    code: ClassVar[str] = "SRCAD-000"

    def __init__(
        self,
        sentence: str,
        *,
        where: Place | None = None,
        why: str | None = None,
        help: str | tuple[str, ...] = (),
        second: Place | None = None,
    ) -> None:
        self.sentence = sentence
        self.where = where
        self.second = second
        self.why = why
        self.help = (help,) if isinstance(help, str) else tuple(help)
        self.text = self._rendered()
        super().__init__(self.text)

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (
            type(self),
            self.text,
            self.sentence,
            self.where,
            self.second,
            self.why,
            self.help,
        )

    def _rendered(self) -> str:
        lines = [f"[{self.code}] {self.sentence}"]
        if self.where is not None:
            lines += rendered(self.where, "-->")
        if self.second is not None:
            lines += rendered(self.second, "and")
        if self.why:
            lines += _paragraph("why: ", self.why)
        for remedy in self.help:
            lines += _paragraph("help:", remedy)
        return "\n".join(lines)


def _rebuilt(
    cls: type[SrcadError],
    text: str,
    sentence: str,
    where: Place | None,
    second: Place | None,
    why: str | None,
    help: tuple[str, ...],
) -> SrcadError:
    """Make an unpickled error: with the text it had where it was raised."""
    error = cls(sentence, why=why, help=help)
    error.where, error.second, error.text = where, second, text
    error.args = (text,)
    return error


def _paragraph(label: str, body: str) -> list[str]:
    first, *rest = body.splitlines() or [""]
    return [f"  {label} {first}", *(f"        {line}" for line in rest)]


def rendered(where: Place, arrow: str) -> list[str]:
    """Render a place: its address, then the line with a caret where the text is available."""
    source = linecache.getline(where.file, where.line).rstrip("\n")
    start = _characters(source, where.column)
    if where.end_column == 0 and not source[:start].strip():
        start = len(source) - len(source.lstrip())
    place = place_of(where.file, where.line)
    lines = [f"  {arrow} {place if cell_of(where.file) else f'{place}:{start + 1}'}"]
    if not source.strip():
        return lines
    number = str(where.line)
    gap = " " * max(3, len(number) + 1)
    on_one_line = where.end_line in (0, where.line)
    known = on_one_line and where.end_column > 0
    end = _characters(source, where.end_column) if known else len(source.rstrip())
    width = min(max(end - start, 1), _WIDEST_CARET)
    blank = "".join("\t" if c == "\t" else " " for c in source[:start])
    lines.append(f"{number.rjust(len(gap) + 1)} | {source}")
    lines.append(f"{gap}  | {blank}{'^' * width}")
    return lines


def _characters(line: str, offset: int) -> int:
    """Return the column in characters of an offset that `ast` counts in UTF-8 bytes."""
    return len(line.encode()[:offset].decode(errors="ignore"))


def place_of(file: str, line: int) -> str:
    """Return a source location as text: ``model.py:7`` or ``cell 2, line 7``."""
    cell = cell_of(file)
    return f"cell {cell}, line {line}" if cell else f"{short_path(file)}:{line}"


def short_place_of(file: str, line: int) -> str:
    """Return a source location without folders."""
    return f"{file_title(file)}, line {line}" if cell_of(file) else f"{file_title(file)}:{line}"


def file_title(file: str) -> str:
    """Return the last part of a path, or ``cell 2`` for a cell of a notebook."""
    cell = cell_of(file)
    return f"cell {cell}" if cell else file.replace("\\", "/").rpartition("/")[2]


def cell_of(file: str) -> str:
    """Return the number of the notebook's cell that has a file name; '' for a file.

    IPython knows the number that is shown beside the cell, which is that of its last run.
    """
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    compiler = getattr(get(), "compile", None) if get is not None else None
    format_name = getattr(compiler, "format_code_name", None)
    found = format_name(file) if format_name is not None else None  # ("Cell", "In[2]")
    number = str(found[1]).removeprefix("In[").removesuffix("]") if found else ""
    return number if number.isdigit() else ""


def short_path(file: str) -> str:
    """Return the path as seen from the working directory where the file lies below it."""
    folder = os.getcwd() + os.sep
    return file[len(folder) :] if file.startswith(folder) else file


# ------------------------------------------------------------------ 1xx: the user's program
class UnsupportedSyntaxError(SrcadError):
    """A construct of the language that srcad does not differentiate (yet)."""

    code = "SRCAD-101"


class MutationError(SrcadError):
    """A write into an array or container that srcad cannot follow (yet)."""

    code = "SRCAD-102"


class UnsupportedTypeError(SrcadError, TypeError):
    """A value of a kind that carries no derivative that srcad can represent."""

    code = "SRCAD-103"


class UndefinedNameError(SrcadError, NameError):
    """A name that nothing binds."""

    code = "SRCAD-104"


# --------------------------------------------------------------------- 2xx: rules
class MissingRuleError(SrcadError):
    """A call on the way of a derivative to a function that has neither a rule nor a source."""

    code = "SRCAD-201"


class NotDifferentiableError(SrcadError):
    """A derivative that does not exist, or of which no formula is known."""

    code = "SRCAD-202"


class RuleError(SrcadError, TypeError):
    """A rule that cannot be registered or applied."""

    code = "SRCAD-203"


# --------------------------------------------------------------- 3xx: how srcad is called
class NonScalarOutputError(SrcadError, TypeError):
    """`grad` of a function with a result that is not one real number."""

    code = "SRCAD-301"


def one_number(called: str, *, one_entry: bool) -> tuple[str, tuple[str, ...]]:
    """Why an array is no result for a gradient, and what to do: it may have one entry."""
    if one_entry:
        return (
            "an array of one entry is not a number here; autograd takes it for one.",
            ("return its entry:  return y.item()", "or the sum over it:  return np.sum(y)"),
        )
    seeded = f"y, back = srcad.pullback({called}, ...);  back(y_bar)"
    return (
        "a gradient belongs to one number; several outputs have a Jacobian.",
        (
            "reduce it to one number:  return np.sum(...)",
            f"or take all derivatives of all outputs:  srcad.jacobian({called})",
            f"or seed the outputs yourself:  {seeded}",
        ),
    )


def real_number(called: str) -> tuple[str, tuple[str, ...]]:
    """Why a complex number is no result for a gradient, and what to do."""
    return (
        "a gradient says where a number grows, and complex ones are not ordered.",
        (
            "return a real number:  return abs(y) ** 2, or y.real",
            f"or ask for the derivative of a holomorphic function:  "
            f"srcad.grad({called}, holomorphic=True)",
            f"or seed the result yourself:  y, back = srcad.pullback({called}, ...);  back(y_bar)",
        ),
    )


def no_result(name: str) -> tuple[str, str, str]:
    """Return the refusal of a function that returns None: what, why, and what to do."""
    return (
        f"the gradient needs one real number, and {name!r} returns nothing",
        "a path of it ends without 'return', so that its result is None.",
        "return the number:  return y",
    )


class WrtError(SrcadError, ValueError):
    """A `wrt` that names no parameter, or only parameters through which nothing flows."""

    code = "SRCAD-302"


class SeedError(SrcadError, ValueError):
    """A seed that does not have the shape or structure of the result."""

    code = "SRCAD-303"


class OptionError(SrcadError, ValueError):
    """An option with a value that does not exist."""

    code = "SRCAD-304"


class DrawingError(SrcadError, RuntimeError):
    """A drawing that needs a program which is not installed, or which fails."""

    code = "SRCAD-305"


# --------------------------------------------------------------------- 4xx: source
class SourceUnavailableError(SrcadError, OSError):
    """A function without Python source, or with source that cannot be found."""

    code = "SRCAD-401"


class SourceChangedError(SourceUnavailableError):
    """A function that was changed in its file since it was imported."""

    code = "SRCAD-402"


# ------------------------------------------------------------------------ 5xx: what came out
class NonFiniteError(SrcadError, FloatingPointError):
    """A value or a gradient that is infinite or no number, where ``check_finite=True`` asks."""

    code = "SRCAD-501"


# ----------------------------------------------------------------------- 6xx: exported files
class ExportError(SrcadError, ValueError):
    """A derivative that cannot be written to a file of its own."""

    code = "SRCAD-601"


# ------------------------------------------------------------------- 7xx: compiled backends
class NotCompiledError(SrcadError):
    """A function that is not compiled, where ``Numba(strict=True)`` asks for that."""

    code = "SRCAD-701"


# ----------------------------------------------------------------------------- warnings
class NoDerivativeWarning(UserWarning):
    """A gradient that is zero, as all that is made of the argument are steps, or that is nan.

    It is nan where it couples eigenvectors or singular vectors of equal values.
    """


class SolverWarning(RuntimeWarning):
    """A solver has not converged, or the derivative of its solution does not exist.

    The derivative is that at the point that was returned; it is nan where the equations of the
    solution are singular.
    """


class BackendWarning(UserWarning):
    """A derivative requested from a compiled backend runs as NumPy code."""


class RecompilationWarning(UserWarning):
    """A function that is compiled again and again, because of one argument in most cases."""


# --------------------------------------------------------------------- 9xx: defects
class InvalidIRError(SrcadError):
    """A defect of srcad, never of the user's program."""

    code = "SRCAD-901"
