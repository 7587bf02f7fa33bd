"""A mode: one kind of derivative, from the lowered function to the code of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from srcad.arguments.request import Parameter, Request, name_of
from srcad.arguments.signature import is_in_c_order
from srcad.arguments.wrt import WrtEntry
from srcad.ir.core import Function
from srcad.startup.identifiers import is_name
from srcad.startup.records import dataclass
from srcad.types.structures import Type

Run = Callable[..., Any]


@dataclass(frozen=True)
class Problem:
    """A derivative to compile: the function that was read, and the request.

    Attributes
    ----------
    function : callable
        The user's function.
    lowered : Function
        The same in the IR.
    request : Request
        Which derivative is asked for.
    parameters, types
        The parameters, and the types of the arguments by name.
    places : sequence of WrtEntry
        What to differentiate by, in the order of the answer; one may stand there twice.
    arguments : mapping from str to object
        The arguments of the call that caused the compilation; empty where there is none.
    """

    function: Any
    lowered: Function
    request: Request
    parameters: Sequence[Parameter]
    types: Mapping[str, Type]
    places: Sequence[WrtEntry]
    arguments: Mapping[str, Any]

    @property
    def wrt(self) -> list[int]:
        """The positions of the parameters to differentiate by."""
        return list(dict.fromkeys(p.parameter for p in self.places))

    @property
    def distinct(self) -> list[WrtEntry]:
        """The places to differentiate by, each once."""
        return list(dict.fromkeys(self.places))

    @property
    def order(self) -> list[int]:
        """For each entry of the answer, which of the distinct places it is for."""
        distinct = self.distinct
        return [distinct.index(place) for place in self.places]

    @property
    def not_in_c_order(self) -> list[WrtEntry]:
        """The places with arrays that are not in C order."""
        values = [self.arguments.get(self.parameters[p.parameter].name) for p in self.distinct]
        pairs = zip(self.distinct, values, strict=True)
        return [place for place, value in pairs if not is_in_c_order(value)]

    @property
    def inside_others(self) -> list[WrtEntry]:
        """The places that are parts of others."""
        return [p for p in self.distinct if any(p.is_inside(other) for other in self.distinct)]

    @property
    def written_name(self) -> str:
        """The function's name as generated code may use it."""
        name = name_of(self.function)
        return name if is_name(name) else "f"


@dataclass(frozen=True)
class Part:
    """One function that is to be written.

    `own` are the positions of its results that share memory with nothing else.  Its first
    `passed` parameters are the last results of the part before it, and have their names.
    """

    name: str
    function: Function
    own: Sequence[int]
    passed: int = 0


@dataclass(frozen=True)
class Results:
    """The functions of a derivative, and how a call runs them.

    Attributes
    ----------
    parts : sequence of Part
        The functions, in the order in which they are shown; the last one is the adjoint.
    run : callable
        ``run(*loaded)`` makes what is called, with the arguments and then what the function
        captures, of the loaded parts.
    saved : tuple of str
        What the first part hands to the last one.
    silenced : callable, optional
        The parts of a form whose reverse half is silent, for calls where NumPy is told to raise.
    repeats : bool
        Whether nobody notices that the parts have run twice.
    """

    parts: Sequence[Part]
    run: Callable[..., Run]
    saved: tuple[str, ...] = ()
    silenced: Callable[[], Sequence[Part]] | None = None
    repeats: bool = False


@dataclass(frozen=True)
class Mode:
    """One kind of derivative.

    Attributes
    ----------
    name : str
        The name by which it is asked for.
    title : str
        What it is called in the documentation of a derivative.
    derive : callable
        ``derive(function, request, wrt)`` returns the derived function of the IR.  Its parameters
        and results are between it and `results`; if the mode nests, they are the parameters of
        `function`, and its result before one derivative per parameter in `wrt`.
    results : callable
        ``results(made, problem)`` says what of the derived function is written.
    gives_value : bool
        Whether the value comes back beside the derivative.
    nests : bool
        Whether it may be asked for inside a function that is differentiated itself: its answer
        are the derivatives that `derive` makes, beside the value if it gives that.
    """

    name: str
    title: str
    derive: Callable[[Function, Request, Sequence[int]], Function]
    results: Callable[[Function, Problem], Results]
    gives_value: bool = False
    nests: bool = False
