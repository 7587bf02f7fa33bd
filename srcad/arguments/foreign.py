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
from srcad.arguments.wrt import VARIADIC
from srcad.errors import (
    MissingRuleError,
    MutationError,
    NotDifferentiableError,
    Place,
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
    # the class that the row is for, with its subclasses; without it all with a shape and a dtype
    cls: str = ""
    # the words before the conversion
    remedy: str = "pass an array of NumPy"


LIBRARIES = (
    Library("CuPy", "cupy", "{}.get()"),
    Library("Dask", "dask", "{}.compute()"),
    Library("h5py", "h5py", "{}[...]"),
    Library(
        "JAX", "jax", "jax.pure_callback(g, shapes, {})", "Tracer", "call g from outside of JAX"
    ),
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


Found = tuple[Path, Any, Library]


def refuse_foreign(
    function: Any, parameters: Sequence[Parameter], request: Request, arguments: Mapping[str, Any]
) -> None:
    """Refuse arrays of other libraries that an entry of `wrt` names."""
    if request.lenient:
        return
    passed = {p.name: arguments[p.name] for p in parameters if p.kind in VARIADIC}
    for place in request.places(function, parameters, passed):
        path: Path = (("param", parameters[place.parameter].name),)
        if place.item is not None:
            path = (*path, ("item", place.item))
        value = argument_at(parameters, arguments, place)
        if not place.steps and (library := library_of(type(value))) is not None:
            raise _refusal(function, [(path, value, library)])
        inside = _arrays_in({path: value}) if place.steps else ()
        for found in inside:
            if found[0] == (*path, *place.steps):
                raise _refusal(function, [found])


@contextmanager
def naming_foreign(function: Any, arguments: Mapping[str, Any]) -> Iterator[None]:
    """Raise refusals of a function again that name the arrays of other libraries it is given."""
    try:
        yield
    except _READING as error:
        found = list(_arrays_in({(("param", name),): v for name, v in arguments.items()}))
        if not found:
            raise
        raise _refusal(function, found, error.where) from error


def _arrays_in(values: Mapping[Path, Any]) -> Iterator[Found]:
    """Yield the arrays of other libraries in values at some paths, in order, each with its path."""
    todo, seen = list(values.items())[::-1], set[int]()
    while todo:
        path, value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        library = library_of(type(value))
        if library is not None:
            yield path, value, library
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
    function: Any, found: Sequence[Found], where: Place | None = None
) -> UnsupportedTypeError:
    path, array, library = found[0]
    return UnsupportedTypeError(
        f"argument {spelled(path)!r} of {name_of(function)!r} is a {label(type(array))!r} of "
        f"{library.name}, not an array of NumPy",
        where=None if where is None or is_installed(where.file) else where,
        why="srcad differentiates NumPy, and does not read what other libraries do.",
        help=tuple(
            f"{one.remedy}:  {one.conversion.format(spelled(path))}"
            for path, _, one in found[:_NAMED]
        ),
    )
