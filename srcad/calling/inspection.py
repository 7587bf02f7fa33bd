"""Inspection of compiled functions."""

from __future__ import annotations

import ast
import linecache
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from srcad.calling import saved
from srcad.calling.functions_called import HelperFunctions, helper_functions
from srcad.calling.saved import Saved
from srcad.calling.showing import Code, highlighted
from srcad.errors import DrawingError, UndefinedNameError
from srcad.frontend.functions.kept_functions import CalledFunction
from srcad.frontend.source.definition import definition
from srcad.ir.core import (
    Arg,
    Block,
    Call,
    For,
    Function,
    If,
    Location,
    Op,
    Routine,
    Try,
    Value,
    While,
    values_in,
    walk,
)
from srcad.ir.text import Printer, target_name, text
from srcad.passes.finish import routines_of
from srcad.pipeline import Compiled
from srcad.startup.records import dataclass, field, once

# The graph of a program: what flows where, with control flow as frames; as DOT text or a drawing.
#
# DOT is the language of Graphviz, whose program ``dot`` draws it where it is installed.

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
                help=(
                    "install it:  apt install graphviz, or brew install graphviz",
                    "or take the text:  python -m srcad graph --dot module:function",
                ),
            )
        done = subprocess.run(
            [program, f"-T{form}"], input=self.encode(), capture_output=True, check=False
        )
        if done.returncode:
            raise DrawingError(f"dot does not draw this: {done.stderr.decode().strip()}")
        return done.stdout

    def _repr_svg_(self) -> str | None:
        return self.drawn().decode() if shutil.which("dot") else None


def graph_of(function: Function, active: Collection[Value]) -> Graph:
    """Return the graph of an IR function, with active values in colour.

    Functions that it calls are frames of their own; a dashed edge leads from a function to a call.
    """
    writer = _Writer(function, active)
    lines = [
        f"digraph {_quoted(function.name)} {{",
        '  node [shape=box fontname="monospace" fontsize=10];',
        '  edge [fontname="monospace" fontsize=9];',
        *writer.lines(),
        "}",
    ]
    return Graph("\n".join(lines))


def _functions_called(function: Function) -> dict[Routine, Function]:
    """Return the routines that a function calls, directly or through others, and their bodies."""
    found = {routine: routine.function for routine in routines_of(function)}
    return {routine: body for routine, body in found.items() if body is not None}


class _Writer:
    """Writes nodes and edges, each value once."""

    def __init__(self, function: Function, active: Collection[Value]) -> None:
        self.function = function
        self.active = active
        self.called = _functions_called(function)
        self.outs = {routine: f"out_{k + 1}" for k, routine in enumerate(self.called)}
        self.nodes: dict[Value, str] = {}
        self.frames = 0
        bodies = [function, *self.called.values()]
        self.read = {v for body in bodies for op in walk(body.block) for v in op.operands}
        self.printer = Printer()

    def lines(self) -> Iterator[str]:
        """Return the lines for parameters, operations and results, and for functions called."""
        yield from self._function(self.function, "out", "  ")
        for routine, body in self.called.items():
            title = routine.title or f"{routine.name} {_place(body.where)}".rstrip()
            yield from self._open(title, "  ")
            yield from self._function(body, self.outs[routine], "    ")
            yield "  }"

    def _function(self, function: Function, out: str, indent: str) -> Iterator[str]:
        self.printer = Printer()
        self.printer.function(function)
        for param in function.params:
            yield self._declared(param, indent)
        yield from self._block(function.block, indent)
        yield f'{indent}{out} [label="return" shape=ellipse];'
        yield from self._edges(function.block.results, out, indent)

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
        if op.target in self.outs:
            yield f"{indent}{self.outs[op.target]} -> {node} [style=dashed constraint=false];"

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


@dataclass(eq=False)
class Artifact:
    """Text and intermediate forms of one compilation, kept for whoever wants to look.

    `text` is what runs; of a pullback it is both halves.  `note` says why something is missing in
    a form that was made without arguments.  `parts` are the texts with the functions that were
    loaded from them, `join` makes of these what a call runs.  The user's function is not held:
    what is compiled for it must not keep it alive.
    """

    name: str
    text: str = ""
    function: Callable[..., Any] | None = None
    lowered: Function | None = None
    adjoint: Function | None = None
    primal_text: str = ""
    adjoint_text: str = ""
    adjoint_map: Mapping[int, Location] = field(default_factory=dict)
    saved: tuple[str, ...] = ()
    primal: Function | None = None
    active: frozenset[str] = frozenset()
    varied: frozenset[Value] = frozenset()
    backend: str = ""
    note: str = ""
    parts: Sequence[tuple[str, Callable[..., Any]]] = ()
    join: Callable[..., Any] | None = None
    called: tuple[CalledFunction, ...] = ()


def artifact_of(name: str, made: Compiled) -> Artifact:
    """Make the record of a compilation of the function of this name."""
    lowered, last = made.lowered, made.texts[-1]
    texts = [written.text for written in made.texts]
    text = "\n\n".join(texts)
    parts = tuple(zip(texts, made.loaded, strict=True))
    if lowered.raises:
        return Artifact(
            name,
            text,
            None,
            lowered.function,
            primal_text=text,
            adjoint_text=text,
            backend=made.backend,
            parts=parts,
            join=made.results.run,
            called=lowered.called,
        )
    return Artifact(
        name,
        text,
        made.run if len(texts) == 1 else None,
        lowered.function,
        made.results.parts[-1].function,
        primal_text="".join(texts[:-1]),
        adjoint_text=last.text,
        adjoint_map=last.line_map,
        saved=made.results.saved,
        primal=made.results.parts[0].function if made.results.saved else None,
        active=frozenset(value.hint for value in lowered.active if value.hint),
        varied=lowered.active,
        backend=made.backend,
        parts=parts,
        join=made.results.run,
        called=lowered.called,
    )


@dataclass(frozen=True)
class Definition:
    """The op that defines a name.

    Attributes
    ----------
    name, op : str
        The name, and the short name of the operation.
    args : tuple of str
        Its operands.
    line : int
        The line in the user's file.
    """

    name: str
    op: str
    args: tuple[str, ...]
    line: int

    def __str__(self) -> str:
        return f"{self.name} = {self.op}({', '.join(self.args)})  # line {self.line}"


class Inspection:
    """The result of `srcad.inspect`: both halves of the generated code, and the saved values.

    Attributes
    ----------
    primal_source, adjoint_source : str
        The generated halves.
    ssa, adjoint_ssa : str
        The function and its adjoint in the compiler's own form.
    ast : ast.AST
        The syntax tree of the user's function.
    saved : Saved
        What the primal half hands to the adjoint: names with types, bytes and lines.
    helpers : HelperFunctions
        The functions that it calls: which are functions in the generated code, and which are not.
    graph : Graph
        The function as a graph, in the language of Graphviz.
    active : frozenset of str
        The names through which derivatives flow.
    line_map : dict
        The line of the user's file for every line of `adjoint_source` that has one.
    backend : str
        What the derivative runs on: ``"numpy"`` or ``"numba"``, and why it is not another one.
    """

    def __init__(
        self, artifact: Artifact, function: Any, arguments: Mapping[str, Any] | None = None
    ) -> None:
        self._artifact = artifact
        self._function = function
        self._arguments = arguments or {}

    def __repr__(self) -> str:
        saved = ", ".join(self.saved) or "nothing"
        backend = "" if self.backend in ("", "numpy") else f", runs on {self.backend}"
        return f"<srcad.inspect of {self._artifact.name!r}: saved {saved}{backend}>"

    def _shown(self) -> str:
        return f"{self.primal_source.rstrip()}\n\n\n{self.adjoint_source}".lstrip()

    def _repr_html_(self) -> str:
        return highlighted(self._shown())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self._shown().rstrip("\n"))

    @property
    def primal_source(self) -> str:
        """The generated primal half."""
        return Code(self._artifact.primal_text)

    @property
    def adjoint_source(self) -> str:
        """The generated adjoint half."""
        return Code(self._artifact.adjoint_text)

    @once
    def ssa(self) -> str:
        """Return the function, one op per line, and the functions that it calls."""
        return Code(_text(self._artifact.lowered, self._artifact))

    @once
    def adjoint_ssa(self) -> str:
        """Return the adjoint, one op per line, and the functions that it calls."""
        return Code(_text(self._artifact.adjoint, self._artifact))

    @property
    def ast(self) -> ast.AST:
        """The syntax tree of the user's function."""
        return definition(self._function).tree

    @once
    def saved(self) -> Saved:
        """Return the values that the primal half passes to the adjoint."""
        kept = self._artifact
        found: Saved = saved.saved_values(
            kept.primal, kept.primal_text, self._function, self._arguments, len(kept.saved)
        )
        return found

    @once
    def helpers(self) -> HelperFunctions:
        """Return the functions that the function calls: pairs, or in place and why."""
        found: HelperFunctions = helper_functions(self._artifact.called, self._artifact.lowered)
        return found

    @once
    def graph(self) -> Graph:
        """Return the function as a graph: DOT text, which a notebook draws."""
        function = self._artifact.lowered
        if function is None:
            return Graph(f"// {self._artifact.note}")
        found: Graph = graph_of(function, self._artifact.varied)
        return found

    @property
    def active(self) -> frozenset[str]:
        """The names through which derivatives flow."""
        return self._artifact.active

    @property
    def line_map(self) -> Mapping[int, int]:
        """From lines of `adjoint_source` to lines of the user's file."""
        return {line: where.line for line, where in self._artifact.adjoint_map.items()}

    @property
    def backend(self) -> str:
        """The backend of the derivative, and the reason if it is not the requested one."""
        loaded = [getattr(one, "runs_on", None) for _, one in self._artifact.parts]
        found = [runs_on() for runs_on in loaded if runs_on is not None]
        return max(found, key=len, default=self._artifact.backend)  # the one with a reason

    def definition(self, name: str) -> Definition:
        """Say which operation made a value.

        Parameters
        ----------
        name : str
            A name of the function, or a temporary of `ssa`.

        Returns
        -------
        Definition
            The operation, its operands, and the line.

        Raises
        ------
        UndefinedNameError
            No operation defines the name.
        """
        function = self._artifact.lowered
        bodies = [] if function is None else [function, *_functions_called(function).values()]
        for body in bodies:
            printer = Printer()
            printer.function(body)
            for op in walk(body.block):
                if any(printer.name(v) == name for v in op.results):
                    return _definition(printer, op, name)
        raise UndefinedNameError(
            f"no operation defines {name!r} in {self._artifact.name!r}",
            why="it is a parameter, or the name of nothing.",
            help="print(srcad.inspect(f).ssa) shows all names",
        )


def _definition(printer: Printer, op: Any, name: str) -> Definition:
    line = op.where.line if op.where is not None else 0
    if not isinstance(op, Call):
        return Definition(name, type(op).__name__.lower(), (), line)
    args = tuple(printer.arg(a) for a in op.args)
    return Definition(name, target_name(op.target), args, line)


def _text(function: Function | None, artifact: Artifact) -> str:
    """Return a function as text, and below it those that it calls."""
    if function is None:
        return artifact.note
    called = _functions_called(function).values()
    return "\n\n".join(text(one) for one in (function, *called))


@dataclass(frozen=True)
class CacheInfo:
    """The compilations of one function, newest last.

    Attributes
    ----------
    compilations : int
        How many times the compiler has run.
    patterns : tuple of str
        The argument types of each pattern that is kept.
    reasons : tuple of str
        Why each of them was compiled.
    """

    compilations: int
    patterns: tuple[str, ...]
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        rows = [f"{self.compilations} compilations, {len(self.patterns)} kept"]
        rows += [f"  {p}  ({w})" for p, w in zip(self.patterns, self.reasons, strict=True)]
        return "\n".join(rows)
