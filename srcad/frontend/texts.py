"""The text of one file, parsed once: its definitions and what its statements compile to."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cached_property
from types import CodeType

from srcad.frontend.codes import nested_codes
from srcad.records import dataclass

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_REWRITER = "_pytest.assertion.rewrite"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A definition in a file.

    `line` is that of its first decorator, as in a code object; `statement` is the number of the
    statement of the module that contains it; `start` and `end` enclose its body.
    """

    node: Definition
    line: int
    name: str
    statement: int
    class_name: str | None
    start: tuple[int, int]
    end: tuple[int, int]


def parse(text: str) -> ast.Module | None:
    """The tree of a text, or None if it is no Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def with_imports(names: list[str], first: int, text: str) -> str | None:
    """The text on line `first`, below an import of these names; None where there is no room."""
    if not names:
        return "\n" * (first - 1) + text
    if first == 1:
        return None
    return f"import {', '.join(names)}" + "\n" * (first - 1) + text


class Text:
    """A file's lines with their tree, its definitions and their code objects, each made once."""

    def __init__(self, file: str, lines: list[str]) -> None:
        self.file = file
        self.lines = lines
        self._codes: dict[tuple[int, int, bool], list[CodeType]] = {}

    @cached_property
    def tree(self) -> ast.Module:
        """The tree of the whole file; empty if the file is no Python (any more)."""
        return parse("".join(self.lines)) or ast.Module(body=[], type_ignores=[])

    @cached_property
    def candidates(self) -> list[Candidate]:
        """Every function and lambda in the file."""
        return [c for k, node in enumerate(self.tree.body) for c in _definitions(node, k)]

    def codes(self, statement: int, flags: int, rewritten: bool) -> list[CodeType]:
        """The code objects that a statement of the module compiles to.

        `flags` are those of ``from __future__``; `rewritten` says that pytest has rewritten the
        module's asserts, which is then done here by pytest's own function.
        """
        key = (-1 if rewritten else statement, flags, rewritten)
        if key not in self._codes:
            what = self._as_pytest_has_it() if rewritten else self._statement(statement)
            module = compile(what, self.file, "exec", flags=flags, dont_inherit=True)
            self._codes[key] = list(nested_codes(module))
        return self._codes[key]

    def _statement(self, statement: int) -> str:
        node = self.tree.body[statement]
        first = _first_line(node)
        lines = self.lines[first - 1 : node.end_lineno]
        column = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
        if column or (first > 1 and self._continues(statement, first)):
            return "".join(self.lines)
        return with_imports(self.imports, first, "".join(lines)) or "".join(self.lines)

    @cached_property
    def imports(self) -> list[str]:
        """The names that the module's own imports bind.

        The compiler calls their attributes in another way than methods.
        """
        names: dict[str, None] = {}
        pending: list[ast.AST] = list(self.tree.body)
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Import | ast.ImportFrom):
                names.update({(a.asname or a.name.partition(".")[0]): None for a in node.names})
            elif not isinstance(node, Definition | ast.ClassDef | ast.expr):
                pending.extend(ast.iter_child_nodes(node))
        return sorted(name for name in names if name != "*")

    def _continues(self, statement: int, first: int) -> bool:
        """Whether an earlier statement ends on the line where this one begins."""
        return statement > 0 and (self.tree.body[statement - 1].end_lineno or 0) >= first

    def _as_pytest_has_it(self) -> ast.Module:
        text = "".join(self.lines)
        tree = ast.parse(text)
        rewriter = sys.modules[_REWRITER]
        rewriter.rewrite_asserts(tree, text.encode(), self.file, None)
        return tree


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([d.lineno for d in decorators], default=node.lineno)


def _definitions(statement: ast.stmt, number: int) -> Iterator[Candidate]:
    pending: list[tuple[ast.AST, str | None]] = [(statement, None)]
    while pending:
        node, class_name = pending.pop()
        inner = class_name
        if isinstance(node, Definition):
            yield _candidate(node, number, class_name)
        elif isinstance(node, ast.ClassDef):
            inner = node.name
        pending.extend((child, inner) for child in ast.iter_child_nodes(node))


def _candidate(node: Definition, statement: int, class_name: str | None) -> Candidate:
    if isinstance(node, ast.Lambda):
        line, name, first, last = node.lineno, "<lambda>", node.body, node.body
        start = (first.lineno, first.col_offset)
    else:
        line, name = _first_line(node), node.name
        start, last = (node.lineno, node.col_offset), node.body[-1]  # type: ignore[assignment]
    end = (last.end_lineno or 0, last.end_col_offset or 0)
    return Candidate(node, line, name, statement, class_name, start, end)


def spell_private_names(tree: ast.AST, class_name: str) -> None:
    """Give private names (``__x``) inside a class the name of the class, as the compiler does.

    https://docs.python.org/3/reference/expressions.html#private-name-mangling
    """
    prefix = class_name.lstrip("_")
    if not prefix:
        return
    for node in ast.walk(tree):
        for field in ("attr", "id", "arg"):
            name = getattr(node, field, None)
            if isinstance(name, str) and name.startswith("__") and not name.endswith("__"):
                setattr(node, field, f"_{prefix}{name}")
