"""Functions of srcad itself as they are written out into an exported module.

Types, decorators and everything that is only of use inside srcad are taken off: an error of srcad
becomes the builtin error that it also is.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any

from srcad.errors import SrcadError
from srcad.startup.records import dataclass

WIDTH = 88
Node = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


@dataclass(frozen=True)
class Edit:
    """A part of a text, by offsets in bytes, and its replacement."""

    start: int
    end: int
    text: str


def edited(text: str, edits: list[Edit]) -> str:
    """Return the text with parts of it replaced; of parts that overlap the outer one counts."""
    data = text.encode()
    last = len(data)
    for edit in sorted(edits, key=lambda e: (-e.end, e.start)):
        if edit.end <= last:
            data = data[: edit.start] + edit.text.encode() + data[edit.end :]
            last = edit.start
    return data.decode()


class Offsets:
    """From lines and columns of a text to offsets in bytes."""

    def __init__(self, text: str) -> None:
        self.starts = [0]
        for line in text.encode().splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node: Any) -> tuple[int, int]:
        """Where a node stands."""
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset


def call_lines(head: str, arguments: Sequence[str], indent: int = 0) -> list[str]:
    """Return the lines of a call in ruff's layout, with `head` in front of the bracket.

    >>> call_lines("return f", ["x", "y"])
    ['return f(x, y)']
    """
    joined = ", ".join(arguments)
    line = f"{head}({joined})"
    if indent + len(line) <= WIDTH:
        return [line]
    if indent + 4 + len(joined) <= WIDTH:
        return [f"{head}(", f"    {joined}", ")"]
    return [f"{head}(", *(f"    {argument}," for argument in arguments), ")"]


# ------------------------------------------------------------------------------- names in a text
def free_names(tree: ast.AST) -> list[str]:
    """Return the names that are read in a tree and bound nowhere in it, in order."""
    bound, read = set[str](), dict[str, None]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                read[node.id] = None
            else:
                bound.add(node.id)
        bound.update(_bound_besides(node))
    return [name for name in read if name not in bound]


def _bound_besides(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds which is no name itself."""
    if isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
        yield node.name or ""
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)


def reads_early(text: str) -> bool:
    """Return True if a variable is read above the line that first binds it, as a loop may do."""
    for function in ast.parse(text).body:
        names = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
        first: dict[str, int] = {}
        for node in names:
            if isinstance(node.ctx, ast.Store):
                first[node.id] = min(node.lineno, first.get(node.id, node.lineno))
        if any(n.lineno < first.get(n.id, 0) for n in names if isinstance(n.ctx, ast.Load)):
            return True
    return False


def identifiers(text: str) -> set[str]:
    """Every name that occurs in a text, in any role."""
    return set(re.findall(r"[^\W\d]\w*", text))


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return the text with other names for what it reads and defines."""
    changed = {old: new for old, new in names.items() if old != new}
    if not changed:
        return text
    tree, at = ast.parse(text), Offsets(text)
    edits = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in changed:
            edits.append(Edit(*at.span(node), changed[node.id]))
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in changed:
            word = "def " if isinstance(node, ast.FunctionDef) else "class "
            start = at.span(node)[0] + len(word)
            edits.append(Edit(start, start + len(node.name.encode()), changed[node.name]))
    return edited(text, edits)


# ------------------------------------------------------------------------------- a module's texts
@cache
def _statements(module: ModuleType) -> tuple[str, dict[str, Any]]:
    """Return the text of a module, and its statements by the names that they bind."""
    text = inspect.getsource(module)
    found: dict[str, Any] = {}
    for statement in ast.parse(text).body:
        for node in _run(statement):
            for name in _defined(node):
                found[name] = node
    return text, found


def _run(node: ast.stmt) -> list[ast.stmt]:
    """Return the statements that are executed: of ``if TYPE_CHECKING``, those after ``else``."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and node.orelse:
        return node.orelse
    return [node]


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def home_of(value: Any, name: str) -> tuple[ModuleType, str] | None:
    """Return the module of srcad that defines a function or class, and the name there."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    own = getattr(value, "__name__", name)
    if module is None or not module.__name__.startswith("srcad."):
        return None
    return (module, own) if getattr(module, own, None) is value else None


def imported_from(module: ModuleType, name: str) -> tuple[str, str | None] | None:
    """Return the import behind a name of a module: a module, and the name in it if it is a part."""
    node = _statements(module)[1].get(name)
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        return node.module, next(a.name for a in node.names if (a.asname or a.name) == name)
    if isinstance(node, ast.Import):
        alias = next(a for a in node.names if (a.asname or a.name.partition(".")[0]) == name)
        return alias.name, None
    return None


def text_of(module: ModuleType, name: str) -> str | None:
    """Return the statement of a module that defines a name, as it is written out.

    None for an import.
    """
    text, found = _statements(module)
    node = found.get(name)
    if not isinstance(node, Node):
        return None
    lines = text.splitlines(keepends=True)
    piece = textwrap.dedent("".join(lines[node.lineno - 1 : node.end_lineno]))
    space = vars(module)
    return _plain_errors(_without_types(piece), space)


def _without_types(text: str) -> str:
    """Return the text without types; a header that fits stands on one line."""
    tree, at = ast.parse(text), Offsets(text)
    edits = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            start = at.span(node)[0]
            end = at.span(node.body[0])[0]
            inner = " " * node.body[0].col_offset
            head = header(node, text, node.col_offset)
            edits.append(Edit(start, end, f"{head}\n{inner}"))
        elif isinstance(node, ast.AnnAssign):
            start, end = at.span(node.target)[1], at.span(node.annotation)[1]
            edits.append(Edit(start, end, ""))
    return edited(text, edits)


def header(node: ast.FunctionDef, text: str, indent: int) -> str:
    """``def name(parameters):`` without types."""
    pieces = _parameters(node.args, text)
    line = f"def {node.name}({', '.join(pieces)}):"
    if indent + len(line) <= WIDTH:
        return line
    margin = " " * indent
    inner = "".join(f"{margin}    {piece},\n" for piece in pieces)
    return f"def {node.name}(\n{inner}{margin}):"


def _parameters(args: ast.arguments, text: str) -> list[str]:
    plain = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(plain) - len(args.defaults)) + list(args.defaults)
    pieces = []
    for k, (arg, default) in enumerate(zip(plain, defaults, strict=True)):
        pieces.append(arg.arg + _default(default, text))
        if k + 1 == len(args.posonlyargs):
            pieces.append("/")
    if args.vararg is not None:
        pieces.append(f"*{args.vararg.arg}")
    elif args.kwonlyargs:
        pieces.append("*")
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        pieces.append(arg.arg + _default(default, text))
    if args.kwarg is not None:
        pieces.append(f"**{args.kwarg.arg}")
    return pieces


def _default(node: ast.expr | None, text: str) -> str:
    return "" if node is None else f"={ast.get_source_segment(text, node)}"


# ------------------------------------------------------------------------------- errors
def builtin_error(cls: type[SrcadError]) -> str:
    """Return the builtin error that an error of srcad also is.

    >>> from srcad.errors import MutationError, SeedError
    >>> builtin_error(SeedError), builtin_error(MutationError)
    ('ValueError', 'ValueError')
    """
    own = [c.__name__ for c in cls.__mro__ if getattr(builtins, c.__name__, None) is c]
    return own[0] if own[0] != "Exception" else "ValueError"


def _plain_errors(text: str, space: Mapping[str, Any]) -> str:
    """Return the text with builtin errors, which say their sentence only."""
    errors = {
        name: builtin_error(value)
        for name in identifiers(text)
        if isinstance(value := space.get(name), type) and issubclass(value, SrcadError)
    }
    if not errors:
        return text
    tree, at = ast.parse(text), Offsets(text)
    edits = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.keywords:
            name = errors.get(node.func.id)
            edits += [] if name is None else [Edit(*at.span(node), _short_call(node, name, text))]
    text = edited(text, edits)
    for name, plain in errors.items():
        text = re.sub(rf"\b{name}\b", plain, text)
    return text


def _short_call(node: ast.Call, name: str, text: str) -> str:
    """Return the call of an error with its first argument only."""
    sentence = ast.get_source_segment(text, node.args[0]) or ""
    line = f"{name}({sentence})"
    if "\n" not in sentence and node.col_offset + len(line) <= WIDTH:
        return line
    full = text.splitlines()[node.lineno - 1]
    margin = " " * (len(full) - len(full.lstrip()))
    return f"{name}(\n{margin}    {sentence}\n{margin})"
