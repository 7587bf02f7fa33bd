"""Printing of loop nests as Python code; arrays are allocated before their first use."""

from __future__ import annotations

import linecache
from collections.abc import Mapping, Sequence
from typing import Any

from srcad.backends.numba.loops import (
    Affine,
    Apply,
    Assign,
    Break,
    Constant,
    Expr,
    Guard,
    Integer,
    Lines,
    Load,
    Nest,
    Node,
    Region,
    Storage,
    bodies,
    defined_in,
    walk,
)
from srcad.backends.python.writing.text import WIDTH, one_line
from srcad.ir.core import Location
from srcad.startup.identifiers import printable
from srcad.startup.records import dataclass, field

# Precedences as in Python's grammar, the loosest first.
_CHOICE, _NOT, _COMPARE, _OR, _XOR, _AND, _SUM, _PRODUCT, _UNARY, _ATOM = range(10)
_INFIX = {
    "<": _COMPARE,
    "<=": _COMPARE,
    ">": _COMPARE,
    ">=": _COMPARE,
    "==": _COMPARE,
    "!=": _COMPARE,
    "|": _OR,
    "^": _XOR,
    "&": _AND,
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT,
    "/": _PRODUCT,
    "//": _PRODUCT,
    "%": _PRODUCT,
}


# ---------------------------------------------------------------------------- expressions
@dataclass(eq=False)
class Printer:
    """Writes expressions; `names` are other names for loop variables."""

    names: dict[str, str] = field(default_factory=dict)

    def affine(self, value: Affine) -> str:
        """Return an affine integer as Python code."""
        if any(name in self.names for name, _ in value.terms):
            terms = tuple((self.names.get(name, name), k) for name, k in value.terms)
            return str(Affine(terms, value.constant))
        return str(value)

    def expr(self, expr: Expr, above: int = _CHOICE) -> str:
        """Return an expression as Python code, in parentheses if its context binds tighter."""
        text, mine = self._text(expr)
        return f"({text})" if mine < above else text

    def _text(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Load(storage, ()):
                return self.names.get(storage, storage), _ATOM
            case Load(storage, index):
                return f"{storage}[{', '.join(map(self.affine, index))}]", _ATOM
            case Constant(text):
                return text, _UNARY if text.startswith("-") else _ATOM
            case Integer(value):
                text = self.affine(value)
                if len(value.terms) + bool(value.constant) > 1:
                    return text, _SUM
                is_product = " * " in text
                return text, _PRODUCT if is_product else (_UNARY if text.startswith("-") else _ATOM)
            case Apply():
                return self._applied(expr)
        raise AssertionError(expr)

    def _applied(self, expr: Apply) -> tuple[str, int]:
        match expr:
            case Apply("neg", (x,)):
                return f"-{self.expr(x, _UNARY)}", _UNARY
            case Apply("not", (x,)):
                return f"not {self.expr(x, _NOT)}", _NOT
            case Apply("if", (test, a, b)):
                first, condition = self.expr(a, _NOT), self.expr(test, _NOT)
                return f"{first} if {condition} else {self.expr(b)}", _CHOICE
            case Apply(form, (a, b)) if form in _INFIX:
                level = _INFIX[form]
                left = self.expr(a, level + (level == _COMPARE))
                return f"{left} {form} {self.expr(b, level + 1)}", level
        return f"{expr.form}({', '.join(map(self.expr, expr.args))})", _ATOM


# ----------------------------------------------------------------------------- allocation
def allocations(body: list[Node], storages: Mapping[str, Storage]) -> dict[int, list[Storage]]:
    """Return the arrays to allocate before each node, by identity of the node.

    An array is made in the body that contains all of its uses, before the first; further out, in
    front of loops, if its lengths are known there and no other name comes to stand for it.
    """
    made: dict[int, list[Storage]] = {}
    _place(body, set(storages), storages, made, [])
    return made


def _place(
    body: Sequence[Node],
    names: set[str],
    storages: Mapping[str, Storage],
    made: dict[int, list[Storage]],
    around: list[Node],
) -> None:
    users: dict[str, list[Node]] = {}
    for node in body:
        for name in dict.fromkeys(a.storage for a in node.accesses()):  # in the order of first use
            if name in names:
                users.setdefault(name, []).append(node)
    deeper: dict[int, set[str]] = {}
    for name, nodes in users.items():
        storage = storages[name]
        if storage.given or not storage.dims:
            continue
        inner = [one for one in bodies(nodes[0]) if _uses(one, name)]
        if len(nodes) == len(inner) == 1 and not storage.is_result:
            deeper.setdefault(id(inner[0]), set()).add(name)
        else:
            made.setdefault(id(_outermost(nodes[0], storage, around)), []).append(storage)
    for node in body:
        for one in bodies(node):
            if id(one) in deeper:
                _place(one, deeper[id(one)], storages, made, [*around, node])


def _outermost(node: Node, storage: Storage, around: list[Node]) -> Node:
    """Return the node for the allocation of an array first used in `node`."""
    if storage.escapes:
        return node
    for outer in reversed(around):
        if isinstance(outer, Nest) and outer.is_parallel:
            break  # each core has its own
        defined = defined_in(outer)
        if any(name in defined for dim in storage.dims for name in dim.size.names):
            break
        node = outer
    return node


def _uses(body: Sequence[Node], name: str) -> bool:
    return any(a.storage == name for node in body for a in node.accesses())


# ------------------------------------------------------------------------------ statements
@dataclass(eq=False)
class Writer:
    """Writes statements as lines, with the user's lines as comments."""

    storages: Mapping[str, Storage]
    made: Mapping[int, list[Storage]]
    taken: set[str]
    lines: list[str] = field(default_factory=list)
    line_map: dict[int, Location] = field(default_factory=dict)
    printer: Printer = field(default_factory=Printer)
    _depth: int = 0
    _shown: tuple[str, int] | None = None

    def write(self, body: Sequence[Node], indent: str) -> None:
        """Write the statements of a body."""
        for node in body:
            for storage in self.made.get(id(node), ()):
                shape = ", ".join(str(d.size) for d in storage.dims)
                comma = "," if len(storage.dims) == 1 else ""
                dtype = dtype_name(storage.dtype)
                self._line(f"{indent}{storage.name} = np.empty(({shape}{comma}), np.{dtype})")
            self._node(node, indent)

    def _node(self, node: Node, indent: str) -> None:
        match node:
            case Assign():
                self._comment(node.where, indent)
                self._assign(node, indent)
            case Guard(test):
                self._line(f"{indent}if {self.printer.expr(test)}:")
                self._line(f"{indent}    raise Deopt")
            case Break():
                self._line(f"{indent}break")
            case Lines(lines):
                self._comment(node.where, indent)
                for line in lines:
                    self._line(indent + self._filled(line))
            case Nest():
                self._nest(node, indent)
            case Region():
                self._region(node, indent)

    def _region(self, node: Region, indent: str) -> None:
        self._comment(node.where, indent)
        for header, body in node.parts:
            if header == "else:" and not body:
                continue
            self._line(indent + header)
            outer = dict(self.printer.names)
            self.write(body, indent + "    ")
            self.printer.names = outer
            if not body:
                self._line(f"{indent}    pass")

    def _filled(self, line: str) -> str:
        return line.replace("{", "").replace("}", "")

    def _assign(self, node: Assign, indent: str) -> None:
        load = Load(node.storage, node.index)
        target = self.printer.expr(load)
        value = node.value
        if node.how == "+=" and isinstance(value, Apply) and value.form == "neg":
            self._line(f"{indent}{target} -= {self.printer.expr(value.args[0])}")
        elif node.how.endswith("="):
            self._line(f"{indent}{target} {node.how} {self.printer.expr(value)}")
        else:
            self._line(f"{indent}{target} = {node.how}({target}, {self.printer.expr(value)})")

    def _nest(self, node: Nest, indent: str) -> None:
        for one in walk([node]):
            if isinstance(one, Assign):
                self._comment(one.where, indent)
                break
        name = self._loop_variable()
        self.printer.names[node.variable] = name
        function = "numba.prange" if node.is_parallel else "range"
        self._line(f"{indent}for {name} in {function}({self.printer.affine(node.dim.size)}):")
        self._depth += 1
        self.write(node.body, indent + "    ")
        self._depth -= 1

    def _loop_variable(self) -> str:
        letters = "ijklmopq"
        depth = self._depth
        name = letters[depth] if depth < len(letters) else f"i{depth}"
        while name in self.taken:
            name += "_"
        return name

    def _comment(self, where: Location | None, indent: str) -> None:
        if where is None or not where.file or (where.file, where.line) == self._shown:
            return
        self._shown = where.file, where.line
        text = linecache.getline(where.file, where.line).strip()
        if text:
            width = max(WIDTH - len(indent), 40)
            self._line(f"{indent}{one_line(f'# {printable(text)}', width)}", where)

    def _line(self, line: str, where: Location | None = None) -> None:
        self.lines.append(line)
        if where is not None:
            self.line_map[len(self.lines)] = where


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype in NumPy and in Numba."""
    return "bool_" if dtype.kind == "b" else str(dtype.name)
