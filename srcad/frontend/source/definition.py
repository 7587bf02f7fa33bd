"""The exact syntax tree of a function object, proved.

The text is whatever `linecache` has for the function's file: so modules, notebooks, doctests and
generated code all work.  A definition is accepted only if it *compiles to the function's own code
object*; text that moved up or down is accepted when one definition alone compiles to the same code
up to line numbers.  Nothing of the user's is executed.
"""

from __future__ import annotations
import __future__

import ast
import linecache
import os
import re
import sys
import warnings
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

from srcad.errors import SourceChangedError, SourceUnavailableError, SrcadError
from srcad.frontend.source.arrived import (
    FILE_OF_SENT,
    lines_of_arrived,
    lines_of_equal,
    texts_of_arrived,
    yield_to_file,
)
from srcad.frontend.source.code import called_as_methods, fingerprint, is_among, lines_of
from srcad.frontend.source.text import (
    Candidate,
    Definition,
    Text,
    Unit,
    compiled_below_imports,
    parse,
    spell_private_names,
)
from srcad.ir.core import Location
from srcad.rules.formulas import nothing_in
from srcad.startup.identifiers import dotted, plain, printable, quoted
from srcad.startup.locks import lock
from srcad.startup.records import dataclass

_FUTURE = 0
for _feature in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _feature).compiler_flag

_LOCK = lock(2)
_KNOWN: dict[int, tuple[weakref.ref[CodeType], Source]] = {}
_MADE: dict[int, tuple[weakref.ref[CodeType], ast.FunctionDef]] = {}
_TEXTS: dict[str, Text] = {}
_MOST_TEXTS = 128


@dataclass(frozen=True, eq=False)
class Source:
    """Where a function is written.

    Attributes
    ----------
    tree : ast.FunctionDef, ast.AsyncFunctionDef or ast.Lambda
        Its definition, with the line numbers of the file.
    file : str
        The name of the file, as in the code object.
    lines : sequence of str
        The lines of the whole file.
    class_name : str or None
        The class around it, whose name goes into the private names (``__x``) inside.
    """

    tree: Definition
    file: str
    lines: Sequence[str]
    class_name: str | None = None

    @property
    def name(self) -> str:
        """The name of the function; ``<lambda>`` for a lambda."""
        return "<lambda>" if isinstance(self.tree, ast.Lambda) else self.tree.name

    @property
    def text(self) -> str:
        """The user's text of the definition, decorators included, without indentation."""
        if isinstance(self.tree, ast.Lambda):
            return ast.get_source_segment("".join(self.lines), self.tree) or ""
        first = min([d.lineno for d in self.tree.decorator_list], default=self.tree.lineno)
        margin = " " * self.tree.col_offset
        lines = self.lines[first - 1 : self.tree.end_lineno]
        return "".join(line.removeprefix(margin) for line in lines)

    def line(self, number: int) -> str:
        """One line of the file, without its end."""
        return self.lines[number - 1].rstrip("\n") if 0 < number <= len(self.lines) else ""

    def location(self, node: ast.AST) -> Location:
        """Return the place of a node of the tree."""
        line = getattr(node, "lineno", self.tree.lineno)
        return Location(
            self.file,
            line,
            getattr(node, "col_offset", 0),
            getattr(node, "end_lineno", None) or line,
            getattr(node, "end_col_offset", None) or 0,
            self.name,
        )


def definition(function: Any) -> Source:
    """Find the source of a Python function.

    Parameters
    ----------
    function : function
        A plain Python function (a ``def`` or a lambda).

    Returns
    -------
    Source
        Its syntax tree and text.

    Raises
    ------
    SourceUnavailableError
        There is no text: a builtin, or a function made by ``exec``.
    SourceChangedError
        The text does not compile to the function's code.
    """
    if not isinstance(function, FunctionType):
        raise _no_python(function)
    code = function.__code__
    with _LOCK:
        known = _KNOWN.get(id(code))
        if known is not None and known[0]() is code:
            return known[1]
        found = _made(code) or _found(function)
        if found.class_name is not None:
            spell_private_names(found.tree, found.class_name)
        key = id(code)
        _KNOWN[key] = (weakref.ref(code, lambda _: _KNOWN.pop(key, None)), found)
        return found


def made_of(function: FunctionType, tree: ast.FunctionDef) -> None:
    """Note what a function was made of: no file has its text."""
    code = function.__code__
    key = id(code)
    _MADE[key] = (weakref.ref(code, lambda _: _MADE.pop(key, None)), tree)


def _made(code: CodeType) -> Source | None:
    """Return the text of a function that was made of a tree."""
    known = _MADE.get(id(code))
    if known is None or known[0]() is not code:
        return None
    text = ast.unparse(known[1]) + "\n"
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return Source(tree, code.co_filename, text.splitlines(keepends=True))


def _found(function: FunctionType) -> Source:
    code = function.__code__
    flags = code.co_flags & _FUTURE
    rewritten = "@pytest_ar" in function.__globals__
    if code.co_filename == FILE_OF_SENT and lines_of_arrived(code) is None:
        found = _among_arrived(code, flags, rewritten)
        if found is not None:
            return found
    lines = _lines(code, function.__globals__)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for attempt in (lines, None):
            if attempt is None:
                yield_to_file(code.co_filename)
                linecache.checkcache(code.co_filename)
                lines = _lines(code, function.__globals__)
            found = _top_level(code, lines, flags, function.__globals__) or _exact(
                code, lines, flags, rewritten
            )
            if found is not None:
                return found
        moved = _moved(code, lines, flags, rewritten)
    if moved is not None:
        return moved
    raise _arrived_with(function, lines) if lines_of_arrived(code) else _changed(function, lines)


def _among_arrived(code: CodeType, flags: int, rewritten: bool) -> Source | None:
    """Return the definition of code that was sent without a text, in one that came before it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for file, lines in texts_of_arrived().items():
            located = code.replace(co_filename=file)
            found = _exact(located, lines, flags, rewritten) or _moved(
                located, lines, flags, rewritten
            )
            if found is not None:
                return found
    return None


def _lines(code: CodeType, space: dict[str, Any]) -> list[str]:
    lines = lines_of_arrived(code) or linecache.getlines(code.co_filename, space)
    if not lines and code.co_filename == FILE_OF_SENT:
        lines = lines_of_equal(code)
    if not lines:
        interactive = getattr(linecache, "_getlines_from_code", None)  # the prompt of 3.13
        lines = interactive(code) if interactive is not None else []
    if not lines and code.co_filename == "<string>" and space.get("__name__") == "__main__":
        lines = _command_line()
    if not lines:
        raise _no_text(code)
    return lines


@cache
def _command_line() -> list[str]:
    """Return the text behind ``python -c``, which `linecache` has from Python 3.13 on."""
    words = sys.orig_argv[1:]
    while words and words[0].startswith("-") and not words[0].startswith("--"):
        flags, letter, rest = _OPTION.fullmatch(words.pop(0)).groups("")  # type: ignore[union-attr]
        if letter and not rest and words:
            rest = words.pop(0)
        if letter == "c":
            return rest.splitlines(keepends=True)
        if letter == "m" or not (flags or letter):
            break
    return []


_OPTION = re.compile(r"-([^cmWX]*)([cmWX]?)(.*)", re.DOTALL)  # flags, and one with an argument


def _top_level(
    code: CodeType, lines: list[str], flags: int, space: dict[str, Any]
) -> Source | None:
    """Parse a ``def`` at the margin, and prove it, without the rest of the file."""
    first = code.co_firstlineno
    starts = first <= len(lines) and lines[first - 1].startswith(("def ", "@"))
    if not starts or code.co_name == "<lambda>":  # one among the defaults or decorators
        return None
    last = max(lines_of(code)[1], first)
    while last < len(lines) and (lines[last].isspace() or lines[last][0] in " \t)]}"):
        last += 1
    text = "\n" * (first - 1) + "".join(lines[first - 1 : last])
    tree = parse(text)
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        return None
    modules = {
        n for n in code.co_names if isinstance(space.get(n), ModuleType) and n.isidentifier()
    }
    if _is_compiled_from(tree.body, modules, code, flags) or _is_compiled_from(
        tree.body, modules - called_as_methods(code), code, flags
    ):
        return Source(tree.body[0], code.co_filename, lines)
    return None


def _is_compiled_from(body: list[ast.stmt], names: set[str], code: CodeType, flags: int) -> bool:
    """Return True if a definition below the imports of these names compiles to the code."""
    compiled = compiled_below_imports(body, sorted(names), code.co_filename, flags)
    return compiled is not None and is_among(code, compiled.co_consts)


def _exact(code: CodeType, lines: list[str], flags: int, rewritten: bool) -> Source | None:
    """Return the definition on the very line that compiles to the very code.

    Where pytest has rewritten the module's asserts, a function without one compiles as it stands,
    which is tried first, since pytest's function rewrites the whole file.
    """
    text = _text(code.co_filename, lines)
    methods = called_as_methods(code)
    here = [c for c in text.candidates_at(code.co_firstlineno) if c.name == code.co_name]
    for as_pytest_has_it in (False, True)[: 1 + rewritten]:
        for unit in _units(here):
            if is_among(code, text.codes(unit, flags, methods, as_pytest_has_it)):
                chosen = _containing(here, code)
                return Source(chosen.node, code.co_filename, lines, chosen.class_in(unit))
    return None


def _moved(code: CodeType, lines: list[str], flags: int, rewritten: bool) -> Source | None:
    """Return the only definition, wherever it is, that compiles to the code up to line numbers."""
    text = _text(code.co_filename, lines)
    wanted, methods = fingerprint(code), called_as_methods(code)
    matches: dict[int, Source] = {}
    named = [c for c in text.candidates if c.name == code.co_name]
    for unit in _units(named):
        group = [c for c in named if unit in c.units]
        for made in text.codes(unit, flags, methods, rewritten):
            if made.co_name == code.co_name and fingerprint(made) == wanted:
                chosen = _containing([c for c in group if c.line == made.co_firstlineno], made)
                found = Source(chosen.node, code.co_filename, lines, chosen.class_in(unit))
                matches.setdefault(id(chosen.node), found)
    return next(iter(matches.values())) if len(matches) == 1 else None


def _units(candidates: list[Candidate]) -> list[Unit]:
    """Return the candidates for the compiled source, whole statements first."""
    found = dict.fromkeys(unit for c in candidates for unit in c.units)
    return sorted(found, key=lambda unit: unit.part is not None)


def _containing(candidates: list[Candidate], code: CodeType) -> Candidate:
    """Tell definitions on one line apart: the innermost whose body contains every instruction."""
    if len(candidates) == 1:
        return candidates[0]
    positions = [p for p in code.co_positions() if None not in p and p[2:] != (0, 0)]
    around = [
        c
        for c in candidates
        if positions and all(c.start <= (p[0], p[2]) and (p[1], p[3]) <= c.end for p in positions)
    ]
    if around:
        return max(around, key=lambda c: c.start)
    if len({ast.dump(c.node) for c in candidates}) == 1:
        return candidates[0]
    raise SourceUnavailableError(
        f"cannot tell which of {len(candidates)} lambdas on line {code.co_firstlineno} is meant",
        why="Python was started without column positions (-X no_debug_ranges).",
        help="write one lambda per line, or use def",
    )


def _text(file: str, lines: list[str]) -> Text:
    known = _TEXTS.get(file)
    if known is not None and (known.lines is lines or known.lines == lines):
        return known
    if len(_TEXTS) >= _MOST_TEXTS:
        _TEXTS.pop(next(iter(_TEXTS)))
    _TEXTS[file] = made = Text(file, lines)
    return made


# -------------------------------------------------------------------------------- refusals
def _no_python(function: Any) -> SourceUnavailableError:
    name = plain(getattr(function, "__qualname__", None) or type(function).__name__)
    kind = printable(type(function).__name__)
    return SourceUnavailableError(
        f"{name!r} has no Python source",
        why=f"it is a {kind}, not a function written in Python.",
        help=f"give it a rule:  @srcad.rules.adjoint({dotted(name)})",
    )


def _arrived_with(function: FunctionType, lines: list[str]) -> SourceUnavailableError:
    code, name = function.__code__, plain(function.__name__)
    return SourceUnavailableError(
        f"the text that arrived with {name!r} is not its source",
        where=Location(code.co_filename, min(code.co_firstlineno, len(lines))),
        why=f"no definition of {quoted(code.co_name)} in it compiles to the code that arrived.",
        help="run the same version of Python here and where the derivative is pickled",
    )


def _written(code: CodeType) -> str:
    """Return the name of a function as an argument, or ``f`` for one that has none."""
    return code.co_name if code.co_name.isidentifier() else "f"


_MAGICS = {"<timed exec>": "%%time", "<magic-timeit>": "%%timeit"}


def _no_text(code: CodeType) -> SourceUnavailableError:
    sentence = f"the source of {quoted(code.co_name)} is not available"
    magic = _MAGICS.get(code.co_filename)
    if magic is not None:
        return SourceUnavailableError(
            sentence,
            why=f"a cell under {magic} is run without its text.",
            help=f"define {quoted(code.co_name)} in a cell without {magic}, "
            "and time the call of it",
        )
    if code.co_filename == FILE_OF_SENT:
        return SourceUnavailableError(
            sentence,
            why="the function was sent to this process by value, and its text was not.",
            help=(
                "make the derivative where the function is written, send the derivative, and pass "
                f"data as arguments:  d = srcad.grad({_written(code)})",
                f"or put {quoted(code.co_name)} into a module that this process can import",
            ),
        )
    if code.co_filename == "<stdin>":
        typed = hasattr(sys, "ps1")
        return SourceUnavailableError(
            sentence,
            why="the prompt of this version of Python keeps no text."
            if typed
            else "the program was read from standard input, which keeps no text.",
            help=(
                "save it to a file, and import it:  from model import f"
                if typed
                else "save it to a file, and run that:  python program.py",
                "or use IPython, or the prompt of Python 3.13"
                if typed
                else "or give the text on the command line:  python -c '...'",
            ),
        )
    return SourceUnavailableError(
        sentence,
        why=f"there is no text for {quoted(code.co_filename)}; a function made by exec() leaves "
        "none.",
        help=(
            "put the function into a file (or a notebook cell) and import it",
            "or register the text that exec() ran:  linecache.cache[filename] = "
            "(len(text), None, text.splitlines(True), filename)",
        ),
    )


def _changed(function: FunctionType, lines: list[str]) -> SourceChangedError:
    code, name = function.__code__, plain(function.__name__)
    line = min(code.co_firstlineno, len(lines))
    where = Location(code.co_filename, line, 0, line, len(lines[line - 1].encode()))
    if not os.path.exists(code.co_filename):  # a cell of a notebook, or a prompt
        return SourceChangedError(
            f"the cell of {name!r} does not say what is running",
            where=where,
            why=f"no definition of {name!r} in the cell compiles to the code that is running.",
            help=(
                f"run the cell that defines {name!r} again",
                f"or, where an extension rewrites the code of cells, put {name!r} into a file "
                "and import it",
            ),
        )
    return SourceChangedError(
        f"the file of {name!r} has changed since it was imported",
        where=where,
        why=f"no definition of {quoted(code.co_name)} in the file compiles to the code that is "
        "running.",
        help="reload it:  importlib.reload(module), or restart Python",
    )


@cache
def inert_entries(function: Callable[..., Any]) -> frozenset[int]:
    """Positions at which every ``return`` of a rule says ``None``: read from its source."""
    try:
        tree = definition(function).tree
    except SrcadError:
        return frozenset()
    returned = [n.value for n in ast.walk(tree) if isinstance(n, ast.Return)]
    tuples = [value for value in returned if isinstance(value, ast.Tuple)]
    return nothing_in(tuples) if len(tuples) == len(returned) else frozenset()
