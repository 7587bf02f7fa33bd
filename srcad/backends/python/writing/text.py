"""Syntax trees as text: the only importer of astor.

What astor prints is parsed again and compared with the tree; on any difference `ast.unparse` prints
instead (then without comments).
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence
from typing import Any

with warnings.catch_warnings():
    # astor reads deprecated names of `ast` when it is imported on Python 3.12 and later.
    warnings.simplefilter("ignore")
    import astor
    from astor.code_gen import SourceGenerator

WIDTH = 88
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_SIGNS = "+ - * / // % @ ** | & ^ << >> == != < <= > >= and or if else"
_BREAKABLE = frozenset(f" {sign} " for sign in _SIGNS.split(" "))


class Comment(ast.stmt):
    """A line of its own that is no code: a text, and behind it the place that it is from."""

    def __init__(self, text: str, place: str = "") -> None:
        super().__init__()
        self.text, self.place = text, place


class _Generator(SourceGenerator):  # type: ignore[misc]
    """astor's printer, with comments and plain string literals."""

    def visit_Comment(self, node: Comment) -> None:  # noqa: N802 - astor's protocol
        for line in _comment(node, WIDTH - 4 * self.indentation):
            self.newline()
            self.write(line)

    def visit_Constant(self, node: ast.Constant) -> None:  # noqa: N802 - astor's protocol
        value = node.value
        if isinstance(value, str):
            self.write(_quoted(value))
        elif isinstance(value, bytes):
            self.write(repr(value))
        else:
            super().visit_Constant(node)

    def decorators(self, node: ast.stmt, extra: int) -> None:
        """Blank lines before a definition, and its header right above it."""
        self.newline(extra=extra)
        for line in getattr(node, "header", ()):
            self.write(one_line(f"# {line}"))
            self.newline()


def _comment(node: Comment, width: int) -> list[str]:
    """Return the lines of a comment; the source location is never truncated."""
    if not node.place:
        return [one_line(f"# {node.text}", width)]
    place = one_line(node.place)
    room = width - len(place) - 2
    if room < _LEAST_TEXT and len(node.text) + 2 > room:  # the location has a line of its own
        return [one_line(f"# {node.text}", max(width, _LEAST_TEXT)), f"# {place}"]
    return [f"{one_line(f'# {node.text}', room)}  {place}"]


_LEAST_TEXT = 40  # columns of the user's line beside its location


def _quoted(text: str) -> str:
    """Return a string literal, in double quotes where that needs no escapes."""
    plain = repr(text)
    if plain[0] == "'" and '"' not in text:
        return '"' + plain[1:-1].replace("\\'", "'") + '"'
    return plain


def one_line(text: str, width: int = WIDTH) -> str:
    """Return a text on one line of printable characters, cut at `width`."""
    line = "".join(c if c.isprintable() else " " for c in text.strip())
    return line if len(line) <= width else f"{line[: width - 3].rstrip()}..."


def render(tree: ast.Module) -> tuple[str, ast.Module]:
    """Return the text of a module, and the tree that the text parses to."""
    text: str = astor.to_source(
        tree, source_generator_class=_Generator, pretty_source=_pretty_source
    )
    text = text.strip("\n") + "\n"
    bare = without_comments(tree)
    try:
        parsed = ast.parse(text)
    except SyntaxError:
        parsed = None
    if parsed is None or not same_tree(bare, parsed):
        text = ast.unparse(ast.fix_missing_locations(bare)) + "\n"
        parsed = ast.parse(text)
    return text, parsed


def without_comments(tree: ast.Module) -> ast.Module:
    """Return the same statements without the comments (the nodes of statements are shared)."""
    todo: list[Any] = [tree]
    while todo:
        node = todo.pop()
        for name in ("body", "orelse"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                code = [s for s in statements if not isinstance(s, Comment)]
                setattr(node, name, code)
                todo += code
    return tree


def same_tree(left: ast.AST, right: ast.AST) -> bool:
    """Return True if two trees are the same program, without recursion."""
    todo: list[tuple[Any, Any]] = [(left, right)]
    while todo:
        a, b = todo.pop()
        kind = type(a)
        if kind is not type(b):
            return False
        if kind is list:
            if len(a) != len(b):
                return False
            todo += zip(a, b, strict=True)
        elif kind in _LEAVES:
            if a != b or (kind is not str and repr(a) != repr(b)):
                return False
        else:
            for name in _fields(kind):
                x, y = getattr(a, name, None), getattr(b, name, None)
                if type(x) is str and x == y:
                    continue
                if x is not y:
                    todo.append((x, y))
    return True


_LEAVES = frozenset({str, int, float, complex, bool, bytes, type(None), type(...)})


_KNOWN_FIELDS: dict[type[Any], tuple[str, ...]] = {}


def _fields(kind: type[Any]) -> tuple[str, ...]:
    """Return the fields that make a difference."""
    found = _KNOWN_FIELDS.get(kind)
    if found is None:
        skipped = ("kind", "type_comment", "type_params", "ctx")
        found = tuple(name for name in kind._fields if name not in skipped)
        _KNOWN_FIELDS[kind] = found
    return found


# ------------------------------------------------------------------------------- line breaks
def _pretty_source(tokens: Sequence[str]) -> str:
    """Join astor's tokens, breaking lines that are too long."""
    lines: list[str] = []
    line: list[str] = []
    for token in tokens:
        if token and not token.strip("\n"):
            lines.append(_broken(line) + token)
            line = []
        else:
            line.append(token)
    lines.append(_broken(line))
    return "".join(lines)


def _broken(tokens: list[str]) -> str:
    text = "".join(tokens)
    if len(text) <= WIDTH or text.lstrip().startswith("#"):
        return text
    indent = len(text) - len(text.lstrip())
    shown = [t for t in tokens if t]
    pieces = _filled(_parenthesised(shown) if _has_operator(shown) else shown, indent)
    if pieces is None:
        pieces = _filled(_parenthesised(shown), indent)
    return text if pieces is None else pieces


def _has_operator(tokens: list[str]) -> bool:
    """Return True if an operator stands outside all brackets."""
    depth = 0
    for token in tokens:
        depth += (token in _OPEN) - (token[:1] in _CLOSE)
        if not depth and token in _BREAKABLE:
            return True
    return False


def _filled(tokens: list[str], indent: int) -> str | None:
    """Fill lines greedily; break behind the comma or before the operator of least depth."""
    lines: list[str] = []
    current = ""
    depth = 0
    deeper = indent + (8 if tokens[-1] == ":" else 4)
    breaks: list[tuple[int, int]] = []
    for token in tokens:
        if token in _OPEN:
            depth += 1
        elif token[:1] in _CLOSE:
            depth -= 1
        if depth and token in _BREAKABLE:
            breaks.append((depth, len(current)))
        current += token
        if depth and token == ", ":
            breaks.append((depth, len(current)))
        while len(current.rstrip()) > WIDTH:
            if not breaks:
                return None
            level = min(d for d, _ in breaks)
            cut = max(place for d, place in breaks if d == level)
            lines.append(current[:cut].rstrip())
            rest = current[cut:].lstrip()
            shift = cut + len(current[cut:]) - len(rest) - deeper
            current = " " * deeper + rest
            breaks = [(d, place - shift) for d, place in breaks if place > cut]
    return "\n".join([*lines, current])


def _parenthesised(tokens: list[str]) -> list[str]:
    """Parentheses around the value of an assignment or ``return``, so that it may be broken.

    Around the targets of a loop or an assignment too, where they alone fill a line.
    """
    for k, token in enumerate(tokens):
        if token == " = " or (token.startswith(" ") and token.endswith("= ")):
            return [*_enclosed(tokens[:k]), token, "(", *tokens[k + 1 :], ")"]
        if token == "for ":
            end = tokens.index(" in ", k)
            return [*tokens[: k + 1], *_enclosed(tokens[k + 1 : end]), *tokens[end:]]
        if token.strip() == "return":
            rest = tokens[k + 1 :]
            space, rest = (rest[0], rest[1:]) if rest and rest[0] == " " else ("", rest)
            return [*tokens[: k + 1], space, "(", *rest, ")"]
    return tokens


def _enclosed(targets: list[str]) -> list[str]:
    """Targets in parentheses if they are too long for one line."""
    if ", " not in targets or len("".join(targets)) < WIDTH // 2:
        return targets
    indent = targets[:1] if not targets[0].strip() else []
    return [*indent, "(", *targets[len(indent) :], ")"]
