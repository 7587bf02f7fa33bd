"""The form of a derivative that is written without example arguments: for reading only."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from srcad.arguments.guesses import guessed
from srcad.arguments.request import Parameter, Request, code_of, name_of, parameters_of
from srcad.arguments.signature import describe
from srcad.arguments.wrt import VARIADIC
from srcad.calling.inspection import Artifact, artifact_of
from srcad.calling.patterns import default_now
from srcad.calling.showing import text_of
from srcad.errors import SourceUnavailableError, SrcadError
from srcad.frontend.source.definition import definition
from srcad.pipeline import compiled_for_types
from srcad.types.numeric import array_type
from srcad.types.sizes import ShapeEnvironment
from srcad.types.structures import TupleOf, Type


def readable(function: Any, request: Request) -> Artifact:
    """Return the compilation for arguments of the likeliest types; a note if that fails."""
    parameters = parameters_of(function) or ()
    request = request.of(function, parameters)
    try:
        guesses = guessed(definition(function).tree) if isinstance(function, FunctionType) else {}
        count = len(request.outward) - sum(p.kind not in VARIADIC for p in parameters)
        types = {p.name: guesses.get(p.name) or _likely(function, p, count) for p in parameters}
        made = compiled_for_types(function, parameters, request, types, ShapeEnvironment(), {})
    except SrcadError as error:
        return _undecided(function, error)
    return artifact_of(name_of(function), made)


def _likely(function: Any, parameter: Parameter, count: int) -> Type:
    """Return the assumed type of an argument: a float64 array, or that of its default.

    A wrapper passes `count` arguments on.
    """
    value: Any = {}
    if parameter.kind is parameter.VAR_POSITIONAL:
        return TupleOf((array_type(np.float64, None),) * count, None, tuple)
    if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        has_default = parameter.default is not parameter.empty
        value = default_now(function, parameter.name) if has_default else 0.0
        if isinstance(value, float | np.ndarray):
            return array_type(np.float64, None)
    return describe(value, (("param", parameter.name),), ShapeEnvironment())


def _undecided(function: Any, error: SrcadError) -> Artifact:
    """Return the user's text with a note where the compiler needs to know the arguments."""
    known = code_of(function) is not None and not isinstance(error, SourceUnavailableError)
    text = text_of(function) if known else ""
    note = f"# decided at the call: {' '.join(error.sentence.split())}\n"
    return Artifact(name_of(function), text=note + text, primal_text=note + text,
                   adjoint_text=note + text, note=note)  # fmt: skip
