"""Inspection of compiled functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from srcad.calling import graph, saved
from srcad.calling.graph import Graph
from srcad.calling.saved import Saved
from srcad.calling.showing import Code, highlighted
from srcad.errors import UndefinedNameError
from srcad.frontend.source.definition import definition
from srcad.ir.core import Call, Function, Value, walk
from srcad.ir.location import Location
from srcad.ir.text import Printer, target_name, text
from srcad.pipeline import Compiled
from srcad.startup.records import dataclass, field, once


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


def artifact_of(name: str, made: Compiled) -> Artifact:
    """Make the record of a compilation of the function of this name."""
    lowered, last = made.lowered, made.texts[-1]
    texts = [written.text for written in made.texts]
    text = "\n\n".join(texts)
    parts = tuple(zip(texts, made.loaded, strict=True))
    if lowered.raises:
        return Artifact(name, text, None, lowered.function, primal_text=text, adjoint_text=text,
                       backend=made.backend, parts=parts, join=made.results.run)  # fmt: skip
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
    graph : Graph
        The function as a graph, in the language of Graphviz.
    active : frozenset of str
        The names through which derivatives flow.
    line_map : dict
        The line of the user's file for every line of `adjoint_source` that has one.
    """

    def __init__(
        self, artifact: Artifact, function: Any, arguments: Mapping[str, Any] | None = None
    ) -> None:
        self._artifact = artifact
        self._function = function
        self._arguments = arguments or {}

    def __repr__(self) -> str:
        saved = ", ".join(self.saved) or "nothing"
        return f"<srcad.inspect of {self._artifact.name!r}: saved {saved}>"

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
        """Return the function, one op per line."""
        return Code(_text(self._artifact.lowered, self._artifact))

    @once
    def adjoint_ssa(self) -> str:
        """Return the adjoint, one op per line."""
        return Code(_text(self._artifact.adjoint, self._artifact))

    @property
    def ast(self) -> ast.AST:
        """The syntax tree of the user's function."""
        return definition(self._function).tree

    @once
    def saved(self) -> Saved:
        """Return the values that the primal half passes to the adjoint."""
        kept = self._artifact
        found: Saved = saved.saved_values(kept.primal, kept.primal_text, self._function,
                                          self._arguments, len(kept.saved))  # fmt: skip
        return found

    @once
    def graph(self) -> Graph:
        """Return the function as a graph: DOT text, which a notebook draws."""
        function = self._artifact.lowered
        if function is None:
            return graph.Graph(f"// {self._artifact.note}")
        found: Graph = graph.graph_of(function, self._artifact.varied)
        return found

    @property
    def active(self) -> frozenset[str]:
        """The names through which derivatives flow."""
        return self._artifact.active

    @property
    def line_map(self) -> Mapping[int, int]:
        """From lines of `adjoint_source` to lines of the user's file."""
        return {line: where.line for line, where in self._artifact.adjoint_map.items()}

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
        if function is not None:
            printer = Printer()
            printer.function(function)
            for op in walk(function.block):
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
    return artifact.note if function is None else text(function)


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
