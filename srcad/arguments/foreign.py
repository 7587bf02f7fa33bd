"""Refusing arrays of other libraries as arguments.

An array of Dask or JAX has methods with the names of NumPy's, but only its library knows their
meaning: some are lazy, none has views, and their source is not the user's program.  A derivative by
one is refused at once.  An argument that is not differentiated by may be one, as long as the
function does nothing with it that has to be read; otherwise the refusal names the argument, not a
line of the library.

Classes are known by the names of their modules, so that nothing is imported.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from srcad.arguments.request import Parameter, Request, argument_at, name_of
from srcad.arguments.signature import described_parts
from srcad.arguments.wrt import VARIADIC, WrtEntry
from srcad.errors import (
    MissingRuleError,
    MutationError,
    NotDifferentiableError,
    SrcadError,
    UnsupportedSyntaxError,
    UnsupportedTypeError,
)
from srcad.startup.identifiers import label, module_of
from srcad.startup.records import dataclass
from srcad.types.sources import Path, is_installed, spelled

_NAMED = 3  # arguments whose conversion is shown
_READING = (
    MissingRuleError,
    MutationError,
    NotDifferentiableError,
    UnsupportedSyntaxError,
    UnsupportedTypeError,
)


@dataclass(frozen=True)
class Library:
    """A library with arrays of its own."""

    # the name in messages
    name: str
    # the first part of the names of its modules
    package: str
    # the conversion to a NumPy array, with {} for the array
    conversion: str
    # the class and its subclasses that the row is for; all with a shape and a dtype without it
    cls: str = ""


LIBRARIES = (
    Library("CuPy", "cupy", "{}.get()"),
    Library("Dask", "dask", "{}.compute()"),
    Library("h5py", "h5py", "{}[...]"),
    Library("JAX", "jax", "jax.pure_callback(g, result_shape_dtypes, {})", "Tracer"),
    Library("JAX", "jax", "np.asarray({})"),
    Library("JAX", "jaxlib", "np.asarray({})"),
    Library("PyTorch", "torch", "{}.detach().cpu().numpy()"),
    Library("TensorFlow", "tensorflow", "{}.numpy()"),
    Library("zarr", "zarr", "{}[...]"),
)


def library_of(cls: type) -> Library | None:
    """Return the library of a class of arrays, also of a subclass by the user; None for others."""
    bases = {base.__name__: module_of(base).partition(".")[0] for base in cls.__mro__}
    for row in LIBRARIES:
        if row.package in bases.values() and (not row.cls or bases.get(row.cls) == row.package):
            has_both = all(inspect.getattr_static(cls, n, None) for n in ("shape", "dtype"))
            return row if has_both else None
    return None


def refuse_foreign(
    function: Any, parameters: Sequence[Parameter], request: Request, arguments: Mapping[str, Any]
) -> None:
    """Refuse arrays of other libraries that are differentiated by.

    Raises
    ------
    UnsupportedTypeError
        An entry of `wrt` names one.
    """
    if request.lenient:
        return
    passed = {p.name: arguments[p.name] for p in parameters if p.kind in VARIADIC}
    for place in request.places(function, parameters, passed):
        found = _named_by(place, parameters, arguments)
        if found is not None:
            raise _refusal(function, [found])


def _named_by(
    place: WrtEntry, parameters: Sequence[Parameter], arguments: Mapping[str, Any]
) -> tuple[Path, Any] | None:
    """Return the array of another library at a place, with its path; None for anything else."""
    path: Path = (("param", parameters[place.parameter].name),)
    if place.item is not None:
        path = (*path, ("item", place.item))
    value = argument_at(parameters, arguments, place)
    if not place.steps:
        return (path, value) if library_of(type(value)) is not None else None
    inside = _arrays_in({path: value})
    return next((found for found in inside if found[0] == (*path, *place.steps)), None)


@contextmanager
def naming_foreign(function: Any, arguments: Mapping[str, Any]) -> Iterator[None]:
    """Raise refusals of a function again that name the arrays of other libraries it is given."""
    try:
        yield
    except _READING as error:
        found = list(_arrays_in({(("param", name),): v for name, v in arguments.items()}))
        if not found:
            raise
        raise _refusal(function, found, error) from error


def _arrays_in(values: Mapping[Path, Any]) -> Iterator[tuple[Path, Any]]:
    """Yield the arrays of other libraries in values at some paths, in order, each with its path."""
    todo, seen = list(values.items())[::-1], set[int]()
    while todo:
        path, value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if library_of(type(value)) is not None:
            yield path, value
        else:
            todo += [((*path, (step, key)), item) for step, key, item in _parts(value)][::-1]


def _parts(value: Any) -> list[tuple[str, Any, Any]]:
    if type(value) is list:
        return [("item", key, item) for key, item in enumerate(value)]
    parts = described_parts(value, opens=True)
    if parts is None:
        return []
    keys, items, _, step = parts
    names = range(len(items)) if keys is None else keys
    return [(step, key, item) for key, item in zip(names, items, strict=True)]


def _refusal(
    function: Any, found: Sequence[tuple[Path, Any]], error: SrcadError | None = None
) -> UnsupportedTypeError:
    path, array = found[0]
    row = library_of(type(array))
    assert row is not None
    where = None if error is None else error.where
    if where is not None and is_installed(where.file):
        where = None
    return UnsupportedTypeError(
        f"argument {spelled(path)!r} of {name_of(function)!r} is a {label(type(array))!r} of "
        f"{row.name}, not an array of NumPy",
        where=where,
        why="srcad differentiates NumPy, and does not read what other libraries do.",
        help=tuple(_conversion(*one) for one in found[:_NAMED]),
    )


def _conversion(path: Path, array: Any) -> str:
    row = library_of(type(array))
    assert row is not None
    whole = row.conversion.format(spelled(path))
    if row.cls == "Tracer":
        return f"call the derivative g outside of what JAX traces:  {whole}"
    return f"pass an array of NumPy:  {whole}"
