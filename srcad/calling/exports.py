"""From a derivative that was compiled to a file of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from srcad.arguments.request import Parameter, Request, name_of
from srcad.arguments.wrt import VARIADIC
from srcad.backends.python.backend import generated_parts
from srcad.calling.cache import Entry
from srcad.calling.patterns import current_default
from srcad.errors import ExportError
from srcad.exporting.derivative import Derivative
from srcad.exporting.literals import literal
from srcad.exporting.module import module_text
from srcad.pipeline import places_of
from srcad.startup.identifiers import dotted
from srcad.types.reading import looked_up

_LONGEST = 60
KEYWORD = Parameter.KEYWORD_ONLY


def module_of(
    function: Any,
    request: Request,
    entry: Entry | None,
    arguments: Sequence[Any] | None,
    recipe: Sequence[str] | None,
) -> str:
    """Return the text of a module that computes what an entry of the cache does.

    Parameters
    ----------
    function, request
        What is differentiated, and how.
    entry : Entry, optional
        The pattern; None if there is none.
    arguments : sequence, optional
        The arguments that it was asked for with, one per parameter.
    recipe : sequence of str, optional
        How the file is written again.

    Raises
    ------
    ExportError
        Something that the derivative uses cannot be written to a file, or there is no entry.
    """
    if entry is None:
        name = name_of(function)
        raise ExportError(
            f"no derivative of {name!r} has been compiled yet",
            why="a file is for arguments of certain types.",
            help=f"pass some:  srcad.{request.mode}({name}).export(path, *arguments)",
        )
    made = _derivative(function, request, entry, arguments)
    return module_text(made, recipe or _recipe(made))


def _derivative(
    function: Any, request: Request, entry: Entry, arguments: Sequence[Any] | None
) -> Derivative:
    pattern, artifact, parameters = entry.pattern, entry.artifact, entry.parameters
    request = request.of(function, parameters)
    types = dict(zip((p.name for p in parameters), pattern.types, strict=True))
    places = places_of(function, parameters, request, types)
    defaults = {
        p.name: current_default(function, p.name) for p in parameters if p.default is not p.empty
    }
    return Derivative(
        function,
        request,
        parameters,
        places,
        defaults,
        pattern.types,
        pattern.assumptions,
        pattern.captures,
        pattern.guards,
        pattern.ordered,
        pattern.written,
        pattern.overlaps,
        [_in_numpy(text, loaded) for text, loaded in artifact.parts],
        artifact.join,
        artifact.lowered,
        arguments,
    )


def _in_numpy(text: str, loaded: Any) -> tuple[str, Any]:
    """Return code and function of a part, in the NumPy form of a compiled one."""
    numpy_form = getattr(loaded, "numpy_form", None)
    return (text, loaded) if numpy_form is None else (generated_parts(loaded)[1], numpy_form())


def _recipe(derivative: Derivative) -> list[str]:
    """Return the command that writes the file again."""
    function, request = derivative.function, derivative.request
    module = looked_up(function, "__module__") or "module"
    path = dotted(f"{module}.{getattr(function, '__qualname__', name_of(function))}")
    place = path if path == "..." else f"{module}:{path.removeprefix(module + '.')}"
    words = [f"python -m srcad export {place}"]
    if request.mode != "grad":
        words.append(f"--mode {request.mode}")
    if request.wrt != (0,) and request.wrt is not None:
        words.append(f"--wrt {','.join(map(str, request.wrt))}")
    spelled = _spelled(derivative)
    words += [f'--args "{spelled}"', "-o file.py"]
    return [" ".join(words)]


def _spelled(derivative: Derivative) -> str:
    """Return the arguments, if they are short."""
    if derivative.arguments is None:
        return "..."
    texts = []
    for parameter, value in zip(derivative.parameters, derivative.arguments, strict=True):
        text = literal(value)
        if text is None or parameter.kind in VARIADIC:
            return "..."
        texts.append(f"{parameter.name}={text}" if parameter.kind is KEYWORD else text)
    spelled = ", ".join(texts)
    return spelled if len(spelled) <= _LONGEST and '"' not in spelled else "..."
