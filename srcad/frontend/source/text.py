"""The text of one file, parsed once: its definitions and what its statements compile to."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import Any

from srcad.frontend.source.code import nested_codes
from srcad.startup.records import dataclass, once

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_REWRITER = "_pytest.assertion.rewrite"


@dataclass(frozen=True)
class Unit:
    """A unit that may have been compiled at once: a statement of the module, or a part.

    `part` is a class or function in the statement that was compiled by itself, as tools do that
    reload a program piece by piece.
    """

    statement: int
    part: ast.stmt | None = None


@dataclass(frozen=True, eq=False)
class Candidate:
    """A definition in a file.

    `line` is that of its first decorator, as in a code object; `statement` is the number of the
    statement of the module that contains it; `around` are the classes and functions that do,
    outermost first, with itself; `start` and `end` enclose its body.
    """

    node: Definition
    line: int
    name: str
    statement: int
    around: tuple[ast.stmt, ...]
    start: tuple[int, int]
    end: tuple[int, int]

    @property
    def units(self) -> Iterator[Unit]:
        """The units that may have been compiled at once, the most likely first."""
        yield Unit(self.statement)
        yield from (Unit(self.statement, part) for part in self.around)

    def class_in(self, unit: Unit) -> str | None:
        """Return the class whose name goes into the private names, if this unit was compiled."""
        inside = self.around if unit.part is None else self.around[self.around.index(unit.part) :]
        return next((n.name for n in reversed(inside) if isinstance(n, ast.ClassDef)), None)


def parse(text: str) -> ast.Module | None:
    """Return the tree of a text, or None if it is no Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def compiled_module(module: ast.Module, file: str, flags: int) -> CodeType:
    """Compile a module with these flags only."""
    code: CodeType = compile(
        module, file.replace("\0", " "), "exec", flags=flags, dont_inherit=True
    )
    return code


def compiled_below_imports(
    body: list[ast.stmt], names: Iterable[str], file: str, flags: int
) -> CodeType | None:
    """Compile statements as below an import of these names; None where they do not compile."""
    imports = ast.Import(
        [ast.alias(name, lineno=1, col_offset=0) for name in names], lineno=1, col_offset=0
    )
    module = ast.Module([imports, *body] if imports.names else body, [])
    try:
        code = compiled_module(module, file, flags)
    except (SyntaxError, ValueError):
        return None
    return code


class Text:
    """A file's lines with their tree, its definitions and their code objects, each made once."""

    def __init__(self, file: str, lines: list[str]) -> None:
        self.file = file
        self.lines = lines
        self._codes: dict[Any, list[CodeType]] = {}
        self._candidates: dict[int, list[Candidate]] = {}

    @once
    def tree(self) -> ast.Module:
        """Return the tree of the whole file; empty if the file is no Python (any more)."""
        return parse("".join(self.lines)) or ast.Module(body=[], type_ignores=[])

    @once
    def candidates(self) -> list[Candidate]:
        """Every function and lambda in the file."""
        return [c for k in range(len(self.tree.body)) for c in self._candidates_in(k)]

    def candidates_at(self, line: int) -> list[Candidate]:
        """Return the functions and lambdas that begin on a line."""
        found = []
        for k, node in enumerate(self.tree.body):
            if _first_line(node) <= line <= (node.end_lineno or line):
                found += [c for c in self._candidates_in(k) if c.line == line]
        return found

    def _candidates_in(self, statement: int) -> list[Candidate]:
        if statement not in self._candidates:
            node = self.tree.body[statement]
            self._candidates[statement] = list(_definitions(node, statement))
        return self._candidates[statement]

    def codes(
        self, unit: Unit, flags: int, methods: frozenset[str], rewritten: bool
    ) -> list[CodeType]:
        """Return the code objects in what a unit compiles to.

        `flags` are those of ``from __future__``; `methods` are the names that were not imported
        in what was compiled; `rewritten` says that pytest has rewritten the module's asserts,
        which is then done here by pytest's own function.
        """
        names = tuple(name for name in self.imports if name not in methods)
        as_pytest_has_it = rewritten and unit.part is None
        key = (flags, rewritten) if as_pytest_has_it else (unit, flags, names)
        if key not in self._codes:
            module: CodeType | None
            if as_pytest_has_it:
                tree = self._as_pytest_has_it()
                module = compiled_module(tree, self.file, flags)
            else:
                body = [unit.part or self.tree.body[unit.statement]]
                module = compiled_below_imports(body, names, self.file, flags)
            self._codes[key] = [] if module is None else list(nested_codes(module))
        return self._codes[key]

    @once
    def imports(self) -> list[str]:
        """Return the names that the module's own imports bind.

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
    pending: list[tuple[ast.AST, tuple[ast.stmt, ...]]] = [(statement, ())]
    while pending:
        node, around = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            around = (*around, node)
        if isinstance(node, Definition):
            yield _candidate(node, number, around)
        pending.extend((child, around) for child in ast.iter_child_nodes(node))


def _candidate(node: Definition, statement: int, around: tuple[ast.stmt, ...]) -> Candidate:
    if isinstance(node, ast.Lambda):
        line, name, first, last = node.lineno, "<lambda>", node.body, node.body
        start = (first.lineno, first.col_offset)
    else:
        line, name = _first_line(node), node.name
        start, last = (node.lineno, node.col_offset), node.body[-1]  # type: ignore[assignment]
    end = (last.end_lineno or 0, last.end_col_offset or 0)
    return Candidate(node, line, name, statement, around, start, end)


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
