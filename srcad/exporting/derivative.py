"""A compiled derivative as the exporter sees it, and the draft of the file."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from srcad.arguments.aliasing import Pairs
from srcad.arguments.request import Parameter, Request, name_of
from srcad.arguments.wrt import WrtEntry
from srcad.backends.registry import BACKENDS
from srcad.errors import ExportError
from srcad.exporting.definitions import Definitions
from srcad.exporting.written_out import identifiers
from srcad.frontend.domain.guards import Guard
from srcad.ir.core import Call, Function, Value, walk
from srcad.passes.finish import finished
from srcad.runtime import CHECKS
from srcad.startup.identifiers import is_name
from srcad.startup.records import dataclass, field
from srcad.types.sizes import Assumption
from srcad.types.sources import Path
from srcad.types.structures import TEXT, Opaque, Type


@dataclass(frozen=True)
class Derivative:
    """A compiled derivative, as far as a file needs to know it.

    Attributes
    ----------
    function, request, parameters, places
        The callable, what is asked for, its parameters, and what it is differentiated by.
    defaults : mapping from str to object
        The defaults that the parameters have now.
    types, assumptions, captures, guards, ordered, written, overlaps
        What the compiled code takes for granted: see `srcad.calling.patterns.Pattern`.
    parts : sequence of (str, function)
        The generated texts, each with the function that was loaded from it.
    join : callable
        What makes of the parts what a call runs.
    primal : Function
        The function in the IR.
    arguments : sequence, optional
        The arguments that it was asked for with, one per parameter.
    """

    function: Any
    request: Request
    parameters: Sequence[Parameter]
    places: Sequence[WrtEntry]
    defaults: Mapping[str, Any]
    types: Sequence[Type]
    assumptions: Sequence[Assumption]
    captures: Sequence[tuple[Path, Type]]
    guards: Sequence[Guard]
    ordered: Sequence[str]
    written: tuple[int, ...]
    overlaps: Pairs
    parts: Sequence[tuple[str, Callable[..., Any]]]
    join: Callable[..., Any]
    primal: Function
    arguments: Sequence[Any] | None = None

    @property
    def name(self) -> str:
        """The function's name as the file may use it."""
        name = name_of(self.function)
        return name if is_name(name) else "f"


@dataclass(eq=False)
class Piece:
    """A generated text, and what is known of it.

    Attributes
    ----------
    text, space, own
        The text, the objects that it names, and the names of its own functions.
    parameters, names
        The parameters of its first function, and the names of variables that this one contains.
    """

    text: str
    space: Mapping[str, Any]
    own: list[str]
    parameters: list[str]
    names: frozenset[str]


@dataclass(eq=False)
class Draft:
    """An exported module in the making.

    Attributes
    ----------
    name : str
        The function that is called.
    pieces, inner
        The generated texts, the primal as the last one, and the name of each.
    captured : list of str
        How what is read besides the arguments is written.
    keywords : list of str
        What of it the caller has to pass.
    after : list of str
        Lines that stand behind all definitions.
    """

    derivative: Derivative
    definitions: Definitions
    name: str
    pieces: list[Piece]
    inner: list[str]
    captured: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    @property
    def primal(self) -> str:
        """The name of the function that is differentiated."""
        return self.inner[-1]

    def reads(self, k: int) -> bool:
        """Return True if a parameter of the generated functions is read by one of them."""
        return any(
            piece.parameters[k] in piece.names for piece in (self.pieces[0], self.pieces[-1])
        )


def drafted(derivative: Derivative) -> Draft:
    """Return the pieces of a module, with the names of their functions.

    Raises
    ------
    ExportError
        The function writes to objects outside itself, which the file does not have.
    """
    _refuse_writes(derivative)
    name, backend = derivative.name, BACKENDS[BACKENDS.names()[0]]
    pieces = [_piece(text, _globals(derivative, loaded)) for text, loaded in derivative.parts]
    primal = backend.write(backend.prepare(finished(derivative.primal, ())), name)
    pieces.append(_piece(primal.text, primal.namespace))
    taken = {parameter.name for parameter in derivative.parameters}
    taken |= {"main", "example", "value", "derivative", "rng"}
    for piece in pieces:
        taken |= identifiers(_code_of(piece.text)) - set(piece.space) - set(piece.own)
    definitions = Definitions(taken, name, {p.name for p in derivative.parameters})
    public = definitions.fresh(f"{derivative.request.mode}_{name}")
    inner = []
    for piece in pieces:
        hidden = f"_{public}" if piece.own[0] == public else piece.own[0]
        inner.append(definitions.fresh_as_it_is(hidden))
    return Draft(derivative, definitions, public, pieces, inner)


def _refuse_writes(derivative: Derivative) -> None:
    """Refuse a write to a captured value, or to a part of it."""
    captured = derivative.primal.params[len(derivative.parameters) :]
    outside = {value for value in captured if value.type != TEXT}
    for op in walk(derivative.primal.block):
        if outside.isdisjoint(v for v in op.operands if isinstance(v, Value)):
            continue
        if isinstance(op, Call) and op.effect and op.target not in CHECKS:
            raise ExportError(
                f"{derivative.name!r} writes to an object outside itself",
                where=op.where,
                why="a file of its own has other objects, or none.",
                help="return what is to be kept, and write it where the function is called",
            )
        outside.update(v for v in op.results if isinstance(v.type, Opaque))


def _globals(derivative: Derivative, loaded: Any) -> Mapping[str, Any]:
    if not isinstance(loaded, FunctionType):
        raise ExportError(
            f"the derivative of {derivative.name!r} is no Python text",
            help="export what the backend 'numpy' writes:  backend='numpy'",
        )
    return loaded.__globals__


def _piece(text: str, space: Mapping[str, Any]) -> Piece:
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    head, own = functions[0], [function.name for function in functions]
    hidden = {"__builtins__", "__name__", *own}
    outside = {name: v for name, v in space.items() if name not in hidden}
    names = frozenset(node.id for node in ast.walk(head) if isinstance(node, ast.Name))
    return Piece(text, outside, own, [arg.arg for arg in head.args.args], names)


def _code_of(text: str) -> str:
    """Return the text without comments (and texts with a hash in them)."""
    return "\n".join(line.partition("#")[0] for line in text.splitlines())
