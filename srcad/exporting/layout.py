"""Line breaking for exported modules: sorted imports, and code within the width of a line.

Helpers of srcad and functions of the user's are copied as they are written, which may be in longer
lines.  A statement with such a line is broken at its brackets, and kept only if it parses to the
same tree; comments and docstrings are filled.
"""

from __future__ import annotations

import ast
import io
import sys
import textwrap
import tokenize
from collections.abc import Iterable

from srcad.backends.python.writing.text import same_tree
from srcad.exporting.written_out import WIDTH


# ------------------------------------------------------------------------------- imports
def import_lines(lines: Iterable[str], own: Iterable[str] = ()) -> list[str]:
    """Return import statements in the order and layout of isort; `own` are the user's modules.

    >>> import_lines(["from b import y", "import numpy as np", "import os", "from b import X"])
    ['import os', '', 'import numpy as np', 'from b import X, y']
    """
    own = frozenset(own)
    groups: list[list[ast.Import | ast.ImportFrom]] = [[], [], []]
    for node in ast.parse("\n".join(lines)).body:
        assert isinstance(node, ast.Import | ast.ImportFrom)
        top = _module_of(node).partition(".")[0]
        groups[0 if top in sys.stdlib_module_names else 2 if top in own else 1].append(node)
    texts = [_sorted(group) for group in groups if group]
    return [line for k, group in enumerate(texts) for line in ([""] * (k > 0) + group)]


def _module_of(node: ast.Import | ast.ImportFrom) -> str:
    return node.names[0].name if isinstance(node, ast.Import) else node.module or ""


def _sorted(nodes: list[ast.Import | ast.ImportFrom]) -> list[str]:
    """Return whole modules, then parts of modules; parts without another name share a line."""
    whole = sorted({ast.unparse(n) for n in nodes if isinstance(n, ast.Import)}, key=str.lower)
    parts: dict[tuple[str, str], set[str]] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                shared = "" if alias.asname is None else f"{alias.name} as {alias.asname}"
                parts.setdefault((node.module or "", shared), set()).add(shared or alias.name)
    found = [(module, sorted(names, key=_kind_first)) for (module, _), names in parts.items()]
    found.sort(key=lambda one: (one[0].lower(), _kind_first(one[1][0])))
    return whole + [line for module, names in found for line in _from(module, names)]


def _kind_first(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest."""
    word = name.partition(" ")[0]
    is_constant = word.isupper() and len(word) > 1
    return (0 if is_constant else 1 if word[0].isupper() else 2), name


def _from(module: str, names: list[str]) -> list[str]:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return [line]
    return [f"from {module} import (", *(f"    {name}," for name in names), ")"]


# ------------------------------------------------------------------------------- long lines
def narrowed(text: str) -> str:
    """Break lines longer than `WIDTH` where the syntax tree stays the same.

    A text that is changed is marked so that formatters leave it as it is.
    """
    if _fits(text.split("\n")):
        return text
    lines = _with_comments_filled(text).removesuffix("\n").split("\n")
    edits: list[tuple[int, int, list[str]]] = []
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.stmt):
            first, last = node.lineno - 1, _last_line(node)
            if not _fits(lines[first:last]):
                edits.append((first, last, _statement(node, lines[first:last])))
    for first, last, new in sorted(edits, key=lambda edit: -edit[0]):
        lines[first:last] = new
    made = "\n".join(lines) + "\n"
    if made == text or text.startswith("# fmt: off"):
        return made
    return f"# fmt: off\n{made}# fmt: on\n"


def _fits(lines: Iterable[str]) -> bool:
    return all(len(line) <= WIDTH for line in lines)


def _with_comments_filled(text: str) -> str:
    """Wrap long comments, and move trailing ones above their code."""
    lines = text.removesuffix("\n").split("\n")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row, column = token.start
        line = lines[row - 1] if token.type == tokenize.COMMENT else ""
        if len(line) <= WIDTH:
            continue
        margin = " " * (len(line) - len(line.lstrip()))
        filled = textwrap.wrap(
            token.string.lstrip("# "),
            WIDTH,
            initial_indent=f"{margin}# ",
            subsequent_indent=f"{margin}# ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        code = line[:column].rstrip()
        lines[row - 1] = "\n".join([*filled, code] if code else filled)
    return "\n".join(lines) + "\n"


def _last_line(node: ast.stmt) -> int:
    """Return the number of the last line of a simple statement, or of the header of another."""
    body: list[ast.stmt] = getattr(node, "body", [])
    end: int = node.end_lineno or node.lineno
    return end if not body else max(node.lineno, body[0].lineno - 1)


def _statement(node: ast.stmt, lines: list[str]) -> list[str]:
    """Return the lines of a statement, or of a header, within the width."""
    margin = lines[0][: node.col_offset]
    if margin.strip():
        return lines  # it is not the first one on its line
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return [row for line in lines for row in _filled_docstring(line)]
    body = f"\n{margin}    pass" if hasattr(node, "body") else ""
    start = "if 1:\n    pass\n" if lines[0].strip().startswith(("elif ", "except ")) else ""
    broken = [row for line in lines for row in _broken(line)]
    for made in (broken, _in_brackets(node, lines), _broken(_joined(lines))):
        if _fits(made) and _is_same(made, lines, body, start):
            return made
    return broken if _is_same(broken, lines, body, start) else lines


def _is_same(made: list[str], lines: list[str], body: str, start: str) -> bool:
    """Return True if two texts of a statement, or of a header, are the same program."""
    texts = [start + textwrap.dedent("\n".join(rows) + body) for rows in (made, lines)]
    try:
        left, right = map(ast.parse, texts)
    except SyntaxError:
        return False
    return same_tree(left, right)


def _joined(lines: list[str]) -> str:
    """Return the lines of a statement as one line."""
    line = lines[0]
    for following in lines[1:]:
        line += following.strip() if line.endswith(("(", "[", "{")) else f" {following.strip()}"
    return line


def _in_brackets(node: ast.stmt, lines: list[str]) -> list[str]:
    """Put the value or test of a statement into parentheses, on lines of its own."""
    value = getattr(node, "value", None) or getattr(node, "test", None)
    if value is None or value.lineno != value.end_lineno:
        return lines
    row = value.lineno - node.lineno
    line = lines[row].encode()
    start, end = value.col_offset, value.end_col_offset
    wrapped = line[:start] + b"(" + line[start:end] + b")" + line[end:]
    return [*lines[:row], *_broken(wrapped.decode()), *lines[row + 1 :]]


# ------------------------------------------------------------------------------- brackets
_WORDS = frozenset({"and", "or", "for", "if", "else"})
_SIGNS = frozenset(["+", "-", "*", "/", "//", "%", "@", "|", "&", "==", "!=", "<", "<=", ">", ">="])


def _broken(line: str) -> list[str]:
    """Break a line at its last outermost brackets, and recursively inside them."""
    pair = None if len(line) <= WIDTH else _last_brackets(_tokens(line))
    if pair is None:
        return [line]
    opens, closes = pair
    margin = " " * (len(line) - len(line.lstrip()))
    inner = line[opens + 1 : closes].strip()
    too_long = len(margin) + 4 + len(inner) > WIDTH
    parts = _parts(inner, _tokens(inner)) if too_long else [inner]
    middle = [row for part in parts for row in _broken(f"{margin}    {part}")]
    return [line[: opens + 1], *middle, f"{margin}{line[closes:]}"]


def _tokens(line: str) -> list[tuple[str, int, int]]:
    """Return text, start and depth of the tokens of a line; an f-string is one token."""
    found: list[tuple[str, int, int]] = []
    depth = inside = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.strip()).readline):
            name = tokenize.tok_name[token.type]
            inside += name.endswith("STRING_START")
            if not inside and token.string:
                depth -= token.string in tuple(")]}")
                found.append((token.string, token.start[1], depth))
                depth += token.string in tuple("([{")
            inside -= name.endswith("STRING_END")
    except (tokenize.TokenError, SyntaxError):
        pass  # a bracket goes on in the next line
    shift = len(line) - len(line.lstrip())
    return [(text, start + shift, depth) for text, start, depth in found]


def _last_brackets(tokens: list[tuple[str, int, int]]) -> tuple[int, int] | None:
    """Return the positions of the last outermost pair of nonempty brackets."""
    opened: dict[int, int] = {}
    found: list[tuple[int, int, int]] = []
    for text, start, depth in tokens:
        if text in tuple("([{"):
            opened[depth] = start
        elif text in tuple(")]}") and depth in opened:
            opens = opened.pop(depth)
            if start > opens + 1:
                found.append((-depth, opens, start))
    return max(found)[1:] if found else None


def _parts(text: str, tokens: list[tuple[str, int, int]]) -> list[str]:
    """Split the contents of brackets after commas, or before operators if it has none."""
    outer = [(word, start) for word, start, depth in tokens if depth == 0]
    cuts = [start + 1 for word, start in outer if word == ","]
    if not cuts:
        cuts = [start for word, start in outer[1:] if word in _WORDS or word in _SIGNS]
    ends = [*cuts, len(text)]
    return [text[a:b].strip() for a, b in zip([0, *cuts], ends, strict=True) if text[a:b].strip()]


def _filled_docstring(line: str) -> list[str]:
    if len(line) <= WIDTH:
        return [line]
    margin = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(
        line, WIDTH, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
    )
