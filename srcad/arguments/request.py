"""Requests: which derivative, by which arguments of which callable."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from srcad.arguments.options import Backend, options_of
from srcad.arguments.wrt import VARIADIC, Seeker, WrtEntry, bound_method, place_of_argument
from srcad.errors import SeedError, SourceUnavailableError, WrtError
from srcad.rules import registry
from srcad.startup.identifiers import is_name, plain, quoted, shown
from srcad.startup.records import dataclass, replace
from srcad.startup.short_tracebacks import on_purpose
from srcad.types import objects
from srcad.types.reading import looked_up, signature

Parameter = inspect.Parameter


@dataclass(frozen=True)
class Request:
    """Which derivative is asked for.

    Attributes
    ----------
    mode : str
        The name of a mode (`srcad.modes.registry`).
    wrt : tuple of int or str, or None
        Parameters by position or name; None for every positional argument of the call.
    single : bool
        Whether the one gradient comes back itself, not in a tuple.
    has_aux : bool
        Whether the function returns a pair of which only the first is differentiated.
    backend : str or Numba
        The name of a backend (`srcad.backends.registry`), or the options of the compiled one.
    holomorphic : bool
        Whether the complex derivative of a complex number is asked for.
    arity : int
        The number of positional arguments of the call, where `wrt` is None.
    outward : tuple of inspect.Parameter
        The parameters that `wrt` goes by, where these are not the callable's own.
    check_finite : bool
        Whether an infinity or nan in the value or in a gradient is an error.
    chunk_size : int, optional
        How many directions of a Jacobian are taken together; all of them without it.
    """

    mode: str = "grad"
    wrt: tuple[int | str, ...] | None = (0,)
    single: bool = True
    has_aux: bool = False
    backend: Backend = "numpy"
    holomorphic: bool = False
    arity: int = 0
    outward: tuple[Parameter, ...] = ()
    check_finite: bool = False
    chunk_size: int | None = None

    @property
    def lenient(self) -> bool:
        """True if None comes back for an argument through which no derivative can flow."""
        return self.wrt is None

    def of(self, function: Any, parameters: Sequence[Parameter]) -> Request:
        """Return the request with the parameters that a wrapper shows, by which its `wrt` goes."""
        if self.wrt is None:
            return self
        return replace(self, outward=outward_of(function, parameters))

    def places(
        self,
        function: Any,
        parameters: Sequence[Parameter],
        given: Mapping[str, Collection[Any]] | None = None,
    ) -> tuple[WrtEntry, ...]:
        """Return the places to differentiate by, found in the signature.

        Parameters
        ----------
        function, parameters
            The callable, and its own parameters.
        given : mapping from str to collection, optional
            What a call passes in ``*args`` (any items) and ``**kw`` (the keywords).  Without it
            `wrt` is only checked against the signature.

        Raises
        ------
        WrtError
            There is no such parameter, or the call does not pass it.
        """
        if self.wrt is None:
            return tuple(place_of_argument(parameters, k) for k in range(self.arity))
        seeker = Seeker(
            name_of(function),
            parameters,
            self.outward or parameters,
            given,
            _names_read(function),
            bound_method(function, self.mode),
        )
        found = (seeker.place(entry) for entry in self.wrt)
        return tuple(place for place in found if place is not None)

    def opened(
        self, function: Any, parameters: Sequence[Parameter], arguments: Mapping[str, Any]
    ) -> dict[str, bool | Collection[Any]]:
        """Return the arguments in which objects are taken apart: those that are differentiated by.

        In some of the items, if these are all that is asked for of a parameter.  Where None may
        come back for an argument, an object without any float stays as it is.
        """
        passed = {p.name: arguments[p.name] for p in parameters if p.kind in VARIADIC}
        places = self.places(function, parameters, passed)
        if self.lenient:
            held = {p: argument_at(parameters, arguments, p) for p in places}
            places = tuple(
                p for p in places if objects.holds_floats(held[p]) or objects.own_numbers(held[p])
            )
        found: dict[str, bool | Collection[Any]] = {}
        for parameter in {p.parameter for p in places}:
            items = [p.item for p in places if p.parameter == parameter]
            found[parameters[parameter].name] = None in items or frozenset(items)
        return found


def _names_read(function: Any) -> tuple[str, ...]:
    """Return the variables outside that a function names."""
    code, space = code_of(function), looked_up(function, "__globals__", ())
    if code is None:
        return ()
    return (*code.co_freevars, *(name for name in code.co_names if name in space))


def argument_at(
    parameters: Sequence[Parameter], arguments: Mapping[str, Any], place: WrtEntry
) -> Any:
    """Return the argument of a call that stands at a place."""
    found = arguments[parameters[place.parameter].name]
    return found if place.item is None else found[place.item]


class _Unset:
    """An argument that was not given."""

    def __repr__(self) -> str:
        return "0"


UNSET: Any = _Unset()


def requested(
    mode: str,
    spelled: Sequence[Any],
    *,
    has_aux: bool = False,
    backend: Backend = "numpy",
    holomorphic: bool = False,
    check_finite: bool = False,
    chunk_size: int | None = None,
) -> Request:
    """Return the request of one of `wrt`, `argnums` and `argnum`, or of the first argument."""
    given = [wrt for wrt in spelled if wrt is not UNSET] or [0]
    if len(given) > 1:
        what = "wrt, argnums and argnum are spellings of one argument: give only one of them"
        raise on_purpose(TypeError(what))
    single = not isinstance(given[0], tuple | list)
    entries = wrt_entries(given[0])
    return Request(
        mode,
        entries,
        single,
        has_aux,
        options_of(backend),
        holomorphic,
        check_finite=bool(check_finite),
        chunk_size=chunk_size,
    )


def wrt_entries(wrt: Any) -> tuple[int | str, ...]:
    """Return the entries of `wrt`: a position, a name, or several of these."""
    entries = tuple(wrt) if isinstance(wrt, tuple | list) else (wrt,)
    for entry in entries:
        if isinstance(entry, bool) or not isinstance(entry, int | np.integer | str):
            raise WrtError(
                f"wrt={shown(entry)} is neither a position nor a name",
                why="arguments are named by int or str.",
                help="wrt=0, wrt='x' or wrt=(0, 'x')",
            )
    return tuple(entry if isinstance(entry, str) else int(entry) for entry in entries)


def directions_of(
    function: Any, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[int, ...]:
    """Return the positions of the arguments that have a tangent.

    Raises
    ------
    SeedError
        There is not one tangent, or None, for each argument.
    """
    name = name_of(function)
    for given, what in ((primals, "arguments"), (tangents, "tangents")):
        if not isinstance(given, tuple | list):
            raise SeedError(
                f"jvp of {name!r} takes its {what} in a tuple, not as a {type(given).__name__}",
                help="put it into one:  srcad.jvp(f, (x,), (x_dot,))",
            )
    if len(primals) != len(tangents):
        raise SeedError(
            f"jvp of {name!r} has {len(primals)} arguments and {len(tangents)} tangents",
            why="there is one tangent for each argument.",
            help="pass None for an argument that is a constant",
        )
    return tuple(k for k, dot in enumerate(tangents) if dot is not None)


# -------------------------------------------------------------------------------- callables
def name_of(function: Any) -> str:
    """Return the name of a callable in messages and in generated code."""
    name = looked_up(function, "__name__")
    if isinstance(name, str):
        return plain(name)
    inner = looked_up(function, "func")
    return name_of(inner) if inner is not None else plain(type(function).__name__)


def module_of_callable(function: Any) -> str:
    """Return the module that a callable belongs to, or ''."""
    found = looked_up(function, "__module__")
    return plain(found) if isinstance(found, str) else ""


def parameters_of(function: Any) -> tuple[Parameter, ...] | None:
    """Return the parameters of a callable; None where it has no signature that can be relied on.

    Whether a parameter has a default is part of it; what the default is, is not.
    """
    if isinstance(function, FunctionType):
        defaults, keywords = function.__defaults__ or (), function.__kwdefaults__ or ()
        key = (id(function.__code__), len(defaults), *keywords)
        known = _PARAMETERS.get(key)
        if known is not None and known[0]() is function.__code__:
            return known[1]
        _check_names(function.__code__)
        found = _without_values(inspect.signature(_bare(function)))
        if len(_PARAMETERS) >= _MOST_SIGNATURES:
            _PARAMETERS.clear()
        _PARAMETERS[key] = (weakref.ref(function.__code__), found)
        return found
    if isinstance(function, functools._lru_cache_wrapper):
        return parameters_of(function.__wrapped__)
    if _is_opaque(function):
        return None
    try:
        return _without_values(signature(function, follow_wrapped=False))
    except (TypeError, ValueError):
        return None


def _check_names(code: CodeType) -> None:
    count = code.co_argcount + code.co_kwonlyargcount
    for name in code.co_varnames[:count]:
        if not is_name(name) and not name.startswith("."):  # the implicit one of a generator
            raise SourceUnavailableError(
                f"{quoted(code.co_name)} has a parameter that no 'def' can have: {quoted(name)}",
                why="its code object was made by a program, not by the compiler of Python.",
                help="write the function as a 'def'",
            )


def _bare(function: FunctionType) -> FunctionType:
    """Return the function without what others have written on it: a signature, what it wraps."""
    made = FunctionType(
        function.__code__, {}, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def outward_of(function: Any, parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Return the parameters that a wrapper shows, which are those of what it wraps.

    () if its own.
    """
    if not any(p.kind in VARIADIC for p in parameters):
        return ()
    try:
        shown = _without_values(signature(function))
    except (TypeError, ValueError):
        return ()
    return () if shown == tuple(parameters) else shown


_MOST_SIGNATURES = 4096
_PARAMETERS: dict[Any, tuple[weakref.ref[CodeType], tuple[Parameter, ...]]] = {}


def _without_values(signature: inspect.Signature) -> tuple[Parameter, ...]:
    """Parameters that hold on to no default and no annotation."""
    return tuple(
        Parameter(p.name, p.kind, default=p.empty if p.default is p.empty else None)
        for p in signature.parameters.values()
    )


def _is_opaque(function: Any) -> bool:
    """Return True if a callable is compiled code: its signature says more than a call means.

    So is a derivative of such a function.
    """
    if isinstance(function, functools.partial):
        return _is_opaque(function.func)
    if hasattr(type(function), "__srcad_of__"):
        return _is_opaque(function.__srcad_of__()[0])
    return anchor_of(function)[0] is function


def parameters_of_call(count: int, keywords: Iterable[str] = ()) -> tuple[Parameter, ...]:
    """Return the parameters of a callable without a signature: one per argument of the call."""
    named = [Parameter(k, Parameter.KEYWORD_ONLY) for k in keywords if is_name(k)]
    taken = {p.name for p in named}
    names = ["x"] if count == 1 else [f"x{k}" for k in range(1, count + 1)]
    names = [f"{name}_" if name in taken else name for name in names]
    return (*(Parameter(name, Parameter.POSITIONAL_ONLY) for name in names), *named)


def anchor_of(function: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the object that identifies compilations, and how the callable wraps it.

    For everything written in Python that is the code object, so that closures share what was
    compiled for the first of them.  A rule is for one function: functions with a rule share
    nothing, though a decorator of their library may have given them the same code.
    """
    if isinstance(function, FunctionType):
        ruled = registry.lookup(function) is not None
        return function.__code__, ("ruled", function) if ruled else ()
    if isinstance(function, MethodType):
        anchor, how = anchor_of(function.__func__)
        return anchor, ("method", *how)
    if isinstance(function, functools.partial):
        anchor, how = anchor_of(function.func)
        return anchor, ("partial", len(function.args), tuple(function.keywords), *how)
    if isinstance(function, functools._lru_cache_wrapper):
        anchor, how = anchor_of(function.__wrapped__)
        return anchor, ("lru_cache", *how)
    if hasattr(type(function), "__srcad_anchor__"):
        found: tuple[Any, tuple[Any, ...]] = function.__srcad_anchor__()
        return found
    wrapped = getattr(type(function), "__srcad_of__", None)
    if wrapped is not None:
        inner, request = wrapped(function)
        anchor, how = anchor_of(inner)
        return anchor, ("srcad", request, *how)
    call = inspect.getattr_static(type(function), "__call__", None)
    if isinstance(call, FunctionType):
        return call.__code__, ("object", type(function))
    return function, ()


def code_of(function: Any) -> CodeType | None:
    """Return the code object behind a callable, if it is written in Python."""
    anchor, _ = anchor_of(function)
    return anchor if isinstance(anchor, CodeType) else None
