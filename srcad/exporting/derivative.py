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
from srcad.types.sources import EACH, Path, Step, read
from srcad.types.structures import TEXT, Fixed, ListOf, Opaque, TupleOf, Type

CLASS: Step = ("attr", "__class__")
# The function of a bound method, which is found in the class.
_FUNCTION: Step = ("attr", "__func__")


@dataclass(frozen=True)
class InClass:
    """Location of a member in the class of an argument, or of a part of one.

    Attributes
    ----------
    holder : path
        The object that is of this class.
    cls, steps
        The class, and the path from there.
    name : str, optional
        The attribute that is read, if an object could have its own of this name.
    """

    holder: Path
    cls: type
    steps: Path
    name: str | None


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

    def outside(self, path: Path) -> Any:
        """Return the captured value at a path, or the class member of an argument.

        Raises
        ------
        Unreadable
            There is nothing, or an argument is needed to find it.
        """
        found = self.in_class(path)
        if found is not None:
            return read(found.steps, found.cls)
        return read(path, self.function, {p.name: None for p in self.parameters})

    def in_class(self, path: Path) -> InClass | None:
        """Return the class member that a path from an argument reads; None for other paths."""
        if not path or path[0][0] != "param":
            return None
        types = dict(zip((p.name for p in self.parameters), self.types, strict=True))
        type_: Type | None = types[path[0][1]]
        for k, step in enumerate(path[1:], 1):
            cls, own = _class_of(type_)
            is_method = path[k + 1 : k + 2] == (_FUNCTION,)
            if step == CLASS or is_method:
                steps = (step, *path[k + 2 :]) if is_method else path[k + 1 :]
                return None if cls is None else InClass(path[:k], cls, steps, _name(steps, own))
            type_ = _part(type_, step)
        return None


def _part(type_: Type | None, step: Step) -> Type | None:
    """Return the type of a part of an argument."""
    if isinstance(type_, ListOf):
        return type_.item if step == EACH else None
    if not isinstance(type_, TupleOf) or step == EACH:
        return None
    keys = range(len(type_.items)) if type_.keys is None else type_.keys
    return dict(zip(keys, type_.items, strict=True)).get(step[1])


def _name(steps: Path, own: Sequence[str]) -> str | None:
    """Return the attribute that is read of a class, unless its objects have their own."""
    name = steps[0][1] if steps and steps[0][0] == "attr" else "__"
    return None if name in own or name.startswith("__") else name


def _class_of(type_: Type | None) -> tuple[type | None, Sequence[str]]:
    """Return the class of an argument that its check names, and the attributes of each object."""
    match type_:
        case TupleOf():
            return type_.cls, type_.keys or ()
        case Fixed():
            return type(type_.value), ()
        case Opaque():
            return type_.cls, ()
    return None, ()


@dataclass(eq=False)
class Piece:
    """Generated code of one module.

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
