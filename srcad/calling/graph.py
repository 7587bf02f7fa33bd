"""The graph of a program: what flows where, with control flow as frames; as DOT text or a drawing.

DOT is the language of Graphviz, whose program ``dot`` draws it where it is installed.
"""

from __future__ import annotations

import linecache
import shutil
import subprocess
from collections.abc import Collection, Iterator, Sequence

from srcad.errors import DrawingError
from srcad.ir.core import (
    Arg,
    Block,
    Call,
    For,
    Function,
    If,
    Op,
    Try,
    Value,
    While,
    values_in,
    walk,
)
from srcad.ir.location import Location
from srcad.ir.text import Printer, target_name

_ACTIVE = 'style=filled fillcolor="#ffe8b0"'
_KINDS = {If: "if", For: "for", While: "while", Try: "try"}


class Graph(str):
    """The DOT text of a graph; a notebook shows it as a drawing where ``dot`` is installed.

    Examples
    --------
    >>> import srcad
    >>> text = srcad.inspect(lambda x: 2.0 * x, 1.0).graph
    >>> print(text.splitlines()[0], "t1 = mul(2.0, x)" in text, "v0 -> v1;" in text)
    digraph "<lambda>" { True True
    """

    __slots__ = ()

    def drawn(self, form: str = "svg") -> bytes:
        """Draw the graph by the program ``dot``.

        Parameters
        ----------
        form : str
            A format that ``dot`` knows: svg, png, pdf.

        Raises
        ------
        DrawingError
            There is no such program, or it does not draw this.
        """
        program = shutil.which("dot")
        if program is None:
            raise DrawingError(
                "cannot draw a graph without Graphviz",
                why="the program 'dot' is not installed.",
                help=("install it:  apt install graphviz, or brew install graphviz",
                      "or take the text:  python -m srcad graph --dot module:function"),
            )  # fmt: skip
        done = subprocess.run([program, f"-T{form}"], input=self.encode(), capture_output=True,
                              check=False)  # fmt: skip
        if done.returncode:
            raise DrawingError(f"dot does not draw this: {done.stderr.decode().strip()}")
        return done.stdout

    def _repr_svg_(self) -> str | None:
        return self.drawn().decode() if shutil.which("dot") else None


def graph_of(function: Function, active: Collection[Value]) -> Graph:
    """Return the graph of a function of the IR, with what a derivative flows through in colour."""
    writer = _Writer(function, active)
    lines = [
        f"digraph {_quoted(function.name)} {{",
        '  node [shape=box fontname="monospace" fontsize=10];',
        '  edge [fontname="monospace" fontsize=9];',
        *writer.lines(),
        "}",
    ]
    return Graph("\n".join(lines))


class _Writer:
    """Writes nodes and edges, each value once."""

    def __init__(self, function: Function, active: Collection[Value]) -> None:
        self.function = function
        self.active = active
        self.printer = Printer()
        self.printer.function(function)
        self.nodes: dict[Value, str] = {}
        self.frames = 0
        self.read = {value for op in walk(function.block) for value in op.operands}

    def lines(self) -> Iterator[str]:
        """Return the lines for parameters, operations and results."""
        for param in self.function.params:
            yield self._declared(param, "  ")
        yield from self._block(self.function.block, "  ")
        yield '  out [label="return" shape=ellipse];'
        yield from self._edges(self.function.block.results, "out", "  ")

    def _block(self, block: Block, indent: str) -> Iterator[str]:
        for op in block.ops:
            yield from self._call(op, indent) if isinstance(op, Call) else self._frame(op, indent)

    def _call(self, op: Call, indent: str) -> Iterator[str]:
        args = [self.printer.arg(arg) for arg in op.args]
        args += [f"{name}={self.printer.arg(arg)}" for name, arg in op.kwargs]
        text = f"{self.printer.name(op.result)} = {target_name(op.target)}({', '.join(args)})"
        node = self._node(op.result)
        label = f"label={_quoted(text)} tooltip={_quoted(_place(op.where))}"
        yield f"{indent}{node} [{self._marked(op.result, label)}];"
        yield from self._edges([*op.args, *(arg for _, arg in op.kwargs)], node, indent)

    def _frame(self, op: Op, indent: str) -> Iterator[str]:
        """Yield a conditional or a loop: a frame around its blocks, and a node for each result."""
        kind = _KINDS[type(op)]
        title = f"{kind} {_place(op.where)}".rstrip()
        yield from self._open(title, indent)
        inner = indent + "  "
        for name, block in zip(_parts(op), op.blocks, strict=True):
            yield from self._open(name, inner)
            yield from self._entering(op, block, inner + "  ")
            yield from self._block(block, inner + "  ")
            yield f"{inner}}}"
        for output in op.results:
            if not isinstance(op, For | While) or output in self.read or output in op.outputs[2:]:
                yield self._declared(output, inner)
        yield f"{indent}}}"
        yield from self._leaving(op, indent)

    def _open(self, title: str, indent: str) -> Iterator[str]:
        self.frames += 1
        yield f"{indent}subgraph cluster_{self.frames} {{"
        yield f'{indent}  label={_quoted(title)} fontname="monospace" fontsize=10 color=gray;'

    def _entering(self, op: Op, block: Block, indent: str) -> Iterator[str]:
        """Yield the parameters of a block, and what they are at first."""
        sources: Sequence[Arg] = ()
        if isinstance(op, For):
            sources = (*op.seqs, *op.inits)
        elif isinstance(op, While):
            sources = op.inits
        for k, param in enumerate(block.params):
            yield self._declared(param, indent)
            if k < len(sources):
                yield from self._edges([sources[k]], self._node(param), indent)

    def _leaving(self, op: Op, indent: str) -> Iterator[str]:
        """Edges of the values that the blocks yield, and of the tests between them."""
        if isinstance(op, If):
            for block in op.blocks:
                for atom, output in zip(block.results, op.results, strict=True):
                    yield from self._edges([atom], self._node(output), indent)
            for output in op.results:
                yield from self._edges([op.test], self._node(output), indent, " [style=dashed]")
        elif isinstance(op, For | While):
            carried = op.carried
            for k, atom in enumerate(op.body.results[1:]):
                yield from self._edges([atom], self._node(op.outputs[2 + k]), indent)
                if k < len(carried):
                    back = ' [style=dotted label="next trip" constraint=false]'
                    yield from self._edges([atom], self._node(carried[k]), indent, back)

    def _edges(self, args: Sequence[Arg], node: str, indent: str, how: str = "") -> Iterator[str]:
        for value in dict.fromkeys(v for arg in args for v in values_in(arg)):
            yield f"{indent}{self._node(value)} -> {node}{how};"

    def _node(self, value: Value) -> str:
        return self.nodes.setdefault(value, f"v{len(self.nodes)}")

    def _declared(self, value: Value, indent: str) -> str:
        """Return the node of a value that is no result of a call."""
        label = f"label={_quoted(self.printer.name(value))} shape=ellipse"
        return f"{indent}{self._node(value)} [{self._marked(value, label)}];"

    def _marked(self, value: Value, label: str) -> str:
        return f"{label} {_ACTIVE}" if value in self.active else label


def _parts(op: Op) -> tuple[str, ...]:
    if isinstance(op, Try):
        return "try", "except"
    if isinstance(op, If):
        return "then", "else"
    return ("test", "trip") if isinstance(op, While) else ("trip",)


def _place(where: Location | None) -> str:
    if where is None:
        return ""
    text = linecache.getline(where.file, where.line).strip() if where.file else ""
    return f"{where.line}: {text}" if text else f"{where.line}"


def _quoted(text: str) -> str:
    """Return a text as DOT writes it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{" ".join(escaped.split())}"'
