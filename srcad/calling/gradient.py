"""The objects that the public functions return: callables with their generated source.

The instances' ``__call__`` is a slot that holds the dispatcher itself, so that a call goes straight
from the user to generated code.
"""

from __future__ import annotations

import ast
import inspect
import sys
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

import numpy as np

import srcad.modes.nested  # noqa: F401 - functions may call derivatives that were unpickled
from srcad.arguments.aliasing import overlapping
from srcad.arguments.options import Backend, Numba, setting_of_helpers
from srcad.arguments.request import (
    Parameter,
    Request,
    code_of,
    name_of,
    parameters_of,
    parameters_of_call,
    wrt_entries,
)
from srcad.arguments.signature import describe
from srcad.arguments.wrt import POSITIONAL, VARIADIC
from srcad.backends.interface import NotCovered
from srcad.calling import captured, exports, finite, nodes
from srcad.calling.cache import Entry, Family, record_of
from srcad.calling.causes import Cause, cause_of
from srcad.calling.conditions import guarded_code
from srcad.calling.inspection import Artifact, CacheInfo, Inspection, artifact_of
from srcad.calling.patterns import Failure, Pattern, current_default
from srcad.calling.quiet import SilentForm, run_with_retry, with_silent_form
from srcad.calling.showing import (
    Code,
    Documentation,
    documented,
    highlighted,
    signature_of,
    text_of,
)
from srcad.errors import BackendWarning, SourceUnavailableError, SrcadError
from srcad.exporting import module
from srcad.frontend.domain.guards import Guard
from srcad.frontend.source.definition import definition
from srcad.frontend.source.pickling import Pickled
from srcad.modes.registry import MODES
from srcad.pipeline import Compiled, compiled, compiled_for_types
from srcad.startup.records import replace
from srcad.startup.short_tracebacks import short_traceback
from srcad.types import objects
from srcad.types.numeric import array_type, int_type
from srcad.types.sizes import ShapeEnvironment
from srcad.types.structures import TEXT, Fixed, ListOf, TupleOf, Type

# Cache entries: a compiled derivative with the pattern of its assumptions.

# Guess the types of arguments without an example, from how the code uses them.
#
# A parameter that is subscripted with texts is a dict, one that is unpacked a tuple, one that a
# loop unpacks a list of tuples, one that counts (``range(n)``) an integer; everything else is a
# float64 array of unknown rank. The text that is written from this is for reading only.

ARRAY = array_type(np.float64, None)


def guessed(tree: ast.AST) -> dict[str, Type]:
    r"""Return the types of the names of which the code says more than that they are arrays.

    >>> import ast
    >>> tree = ast.parse("def f(p, layers, n, x):\n"
    ...                  "    for W, b in layers: x = W @ x + b\n"
    ...                  "    return p['a'] * x ** p['b'] * range(n)").body[0]
    >>> for name, type_ in sorted(guessed(tree).items()):
    ...     print(name, type_)
    layers list[(float64[...], float64[...])]
    n int
    p dict(a: float64[...], b: float64[...])
    """
    found: dict[str, Type] = {}
    keys: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
                keys.setdefault(name, []).append(key)
            case ast.Call(func=ast.Name(id="range"), args=arguments):
                found.update({a.id: int_type(None) for a in arguments if isinstance(a, ast.Name)})
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Name(id=name)):
                found[name] = _tuple(parts)
            case ast.For(target=ast.Tuple(elts=parts), iter=ast.Name(id=name)):
                found[name] = ListOf(_tuple(parts))
    for name, used in keys.items():
        names = tuple(dict.fromkeys(used))
        found[name] = TupleOf(tuple(ARRAY for _ in names), names, dict)
    return found


def _tuple(parts: list[ast.expr]) -> TupleOf:
    return TupleOf(tuple(ARRAY for _ in parts))


# The form of a derivative that is written without example arguments: for reading only.


def readable(function: Any, request: Request) -> Artifact:
    """Return the compilation for arguments of the likeliest types; a note if that fails."""
    parameters = parameters_of(function) or ()
    request = request.of(function, parameters)
    try:
        guesses = guessed(definition(function).tree) if isinstance(function, FunctionType) else {}
        count = len(request.outward) - sum(p.kind not in VARIADIC for p in parameters)
        types = {
            p.name: guesses.get(p.name) or _assumed_type(function, p, count) for p in parameters
        }
        made = compiled_for_types(function, parameters, request, types, ShapeEnvironment(), {})
    except SrcadError as error:
        return _undecided(function, error)
    return artifact_of(name_of(function), made)


def _assumed_type(function: Any, parameter: Parameter, count: int) -> Type:
    """Return the assumed type of an argument: a float64 array, or that of its default.

    A wrapper passes `count` arguments on.
    """
    value: Any = {}
    if parameter.kind is parameter.VAR_POSITIONAL:
        return TupleOf((array_type(np.float64, None),) * count, None, tuple)
    if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        has_default = parameter.default is not parameter.empty
        value = current_default(function, parameter.name) if has_default else 0.0
        if isinstance(value, float | np.ndarray):
            return array_type(np.float64, None)
        if type(value) is str:
            return Fixed(value)
    return describe(value, (("param", parameter.name),), ShapeEnvironment())


def _undecided(function: Any, error: SrcadError) -> Artifact:
    """Return the user's text with a note where the compiler needs to know the arguments."""
    known = code_of(function) is not None and not isinstance(error, SourceUnavailableError)
    text = text_of(function) if known else ""
    note = f"# decided at the call: {' '.join(error.sentence.split())}\n"
    return Artifact(
        name_of(function),
        text=note + text,
        primal_text=note + text,
        adjoint_text=note + text,
        note=note,
    )


def compile_entry(family: Family, function: Any, arguments: Sequence[Any]) -> Entry:
    """Compile what a family of patterns is asked for, for the pattern of these arguments."""
    if "optree" in sys.modules or any(map(objects.holds_library_dict, arguments)):
        found = nodes.entry_for_nodes(family, function, arguments)
        if found is not None:
            return found
    named = dict(zip((p.name for p in family.parameters), arguments, strict=True))
    made = compiled(
        function, family.parameters, family.request, named, of_any_lengths=family.is_full
    )
    run = made.run
    if made.silent is not None:
        run = with_silent_form(run, SilentForm(made.silent, made.results.repeats))
    if family.request.check_finite:
        run = finite.checked(run, made, family.request, name_of(function))
    artifact = artifact_of(name_of(function), made)
    if made.not_covered is not None and not made.not_covered.is_choice:
        _warn_of_backend(family, function, made.not_covered)
    cause = _cause(family, function, named)
    return Entry(
        _pattern(made, function, arguments),
        run,
        artifact,
        family.parameters,
        why=_reason(family, cause),
        cause=cause,
    )


def _warn_of_backend(family: Family, function: Any, found: NotCovered) -> None:
    """Warn once that a derivative runs on NumPy, if compiled code was asked for by name."""
    if family.has_warned_of_backend or not isinstance(family.request.backend, Numba):
        return
    family.has_warned_of_backend = True
    where, code = found.where, code_of(function)
    file, line = ("", 0) if code is None else (code.co_filename, code.co_firstlineno)
    if where is not None and where.file:
        file, line = where.file, where.line
    warnings.warn_explicit(
        f"the {family.request.mode} of {name_of(function)!r} runs on NumPy: {found} is not "
        "compiled. Ask for NumPy with backend='numpy', or for what is available with "
        "backend='auto'; backend=srcad.Numba(strict=True) makes this an error",
        BackendWarning,
        file,
        line,
    )


def _pattern(made: Compiled, function: Any, arguments: Sequence[Any]) -> Pattern:
    """Return the assumptions that were made."""
    lowered = made.lowered
    written = tuple(k for k, name in enumerate(made.types) if name in lowered.written)
    texts = {g.path: g for g in lowered.guards if made.types.get(_argument_of(g)) == TEXT}
    guards = (guard for guard in lowered.guards if guard.path not in texts)
    return Pattern(
        tuple(
            Fixed(texts[path].expected) if (path := (("param", name),)) in texts else type_
            for name, type_ in made.types.items()
        ),
        made.assumptions,
        tuple((c.path, c.value.type) for c in lowered.captures),
        tuple(_without_function(guard, code_of(function)) for guard in guards),
        ordered=made.ordered,
        written=written,
        overlaps=overlapping(arguments, written),
    )


def _argument_of(guard: Guard) -> str:
    """Return the name of the argument whose value a guard is about, or ''."""
    is_value = guard.kind == "equals" and len(guard.path) == 1 and guard.path[0][0] == "param"
    return str(guard.path[0][1]) if is_value else ""


def _without_function(guard: Guard, own: Any) -> Guard:
    """Return the guard without the function that it was made from, which would be kept alive.

    The function's own code is not held either; None stands for it.
    """
    if guard.kind != "code":
        return guard
    code = guarded_code(guard.expected)
    return replace(guard, expected=None if code is own else code)


def _cause(family: Family, function: Any, arguments: Mapping[str, Any]) -> Cause | None:
    """Return the value that the newest pattern does not serve."""
    if not family.entries:
        return None
    opened = family.request.opened(function, family.parameters, arguments)
    return cause_of(family.entries[0].pattern, function, arguments, opened)


def _reason(family: Family, cause: Cause | None) -> str:
    """Why the patterns that exist do not serve this call."""
    if not family.entries:
        return "the first call" if not family.compilations else "the rules or the cache changed"
    if family.is_full:
        return "more patterns than are kept: compiled for lengths of any kind"
    return "other lengths, integers or surroundings" if cause is None else str(cause)


# Comments at the beginning of a text that was written without arguments.

_UNKNOWN_TYPES = """\
# This is the form for arguments of unknown types. A call makes the form for its own:
"""
_DECIDED_LATER = """\
# This is the function: its derivative depends on the types of the arguments. To see it,
"""
_HOW = "# call the derivative once, or .specialize({}), and print .source again.\n"
_LONGEST_LIST = 18  # of arguments: the line has at most 88 columns


def _spelled_arguments(signature: inspect.Signature) -> str:
    """Return the arguments of a call with the required parameters; three dots for many."""
    names = [
        p.name if p.kind is not p.KEYWORD_ONLY else f"{p.name}={p.name}"
        for p in signature.parameters.values()
        if p.default is p.empty and p.kind not in VARIADIC
    ]
    listed = ", ".join(names)
    return listed if listed and len(listed) <= _LONGEST_LIST else "..."


def _named(function: Any, entry: int | str) -> str:
    """Return the parameter name of an entry of `wrt`.

    >>> _named(lambda x, *rest: x, 0), _named(lambda x, *rest: x, 2), _named(lambda x: x, "x.W")
    ('x', 'rest[1]', 'x.W')
    """
    if isinstance(entry, str):
        return entry
    if parameters_of(function) is None:
        return f"argument {entry}"
    parameters = list(signature_of(function).parameters.values())
    positional = [p.name for p in parameters if p.kind not in VARIADIC]
    before = [p.name for p in parameters if p.kind in POSITIONAL]
    variadic = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    if variadic is not None and entry >= len(before):
        return f"{variadic}[{entry - len(before)}]"
    is_known = -len(positional) <= entry < len(positional)
    return positional[entry] if is_known else f"argument {entry}"


P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R", covariant=True)


def family_of(function: Any, request: Request, parameters: tuple[Parameter, ...]) -> Family:
    """Return the compiled patterns of a request for a callable."""
    record, how = record_of(function)
    asked = request.of(function, parameters)
    return record.family(function, asked, how, parameters, compile_entry)


class Gradient(Pickled, Generic[P, R]):
    """A derivative of a function: a callable that compiles itself for the arguments it gets.

    It is made by `srcad.grad`, `srcad.value_and_grad` and `srcad.elementwise_grad`.  Its types are
    the function's parameters and what a call of it returns.

    Attributes
    ----------
    function : callable
        The function that is differentiated.
    request : Request
        Which derivative it is.
    """

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
            """Compute the derivative."""
    else:  # a slot of this name hides the signature from pyright
        __slots__ = ("__call__", "__dict__", "__weakref__", "function", "given", "request")

    def __init__(self, function: Any, request: Request) -> None:
        self.given = function
        self.function = function = _with_captured(undecorated(function), request.wrt)
        self.request = request
        parameters = parameters_of(function)
        if parameters is None:
            self.__call__ = self._called(self._by_count())  # type: ignore[method-assign]
            return
        self._connect(family_of(function, request, parameters))

    def _connect(self, family: Family) -> None:
        """Let calls go to the patterns that the family has now."""
        alive, function, request = weakref.ref(self), self.function, self.request

        def now() -> Family:
            return family_of(function, request, parameters_of(function) or family.parameters)

        def rebind() -> None:
            me = alive()
            if me is not None:
                me._connect(now())

        dispatch = family.dispatcher(function, now, rebind)
        self.__call__ = self._called(dispatch)  # type: ignore[method-assign]

    def _called(self, dispatch: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that a call of the object runs."""
        return dispatch

    def _by_count(self) -> Callable[..., Any]:
        """Return the dispatcher of a callable that has a rule and no signature."""
        function, request = self.function, self.request

        def dispatch(*args: Any, **kwargs: Any) -> Any:
            with short_traceback():
                family = family_of(function, request, parameters_of_call(len(args), kwargs))
                found = family.found(function, family.bound(function, args, kwargs))
                if isinstance(found, Failure):
                    raise found.error from None
                return run_with_retry(found)

        return dispatch

    # ------------------------------------------------------------------------- what it is
    def __repr__(self) -> str:
        wrt = ", ".join(map(str, self.request.wrt or ()))
        return f"<srcad.{self.request.mode} of {name_of(self.function)!r} by {wrt}>"

    @property
    def __name__(self) -> str:
        """The name of the generated function."""
        return f"{self.request.mode}_{name_of(self.function)}"

    def __getattr__(self, name: str) -> Any:
        if name == "__qualname__":
            return self.__name__
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the function."""
        return signature_of(self.function).replace(return_annotation=inspect.Signature.empty)

    def _documentation(self) -> str:
        kind = MODES[self.request.mode].title
        names = ", ".join(_named(self.function, entry) for entry in self.request.wrt or ())
        title = f"{kind} of {name_of(self.function)}"
        if names:
            title += f" with respect to {names}"
        return f"{title}.\n\n{documented(self.function)}".rstrip()

    def _repr_html_(self) -> str:
        return highlighted(self.source)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.source.rstrip("\n"))

    @property
    def __wrapped__(self) -> Any:
        """The generated function, for `inspect.getsource` and the like."""
        entry = self._newest()
        if entry is not None:
            return entry.run
        made = readable(self.function, self.request).function
        if made is None:
            raise AttributeError("__wrapped__")
        return made

    def __srcad_of__(self) -> tuple[Any, Request]:
        """Describe the derivative in one line."""
        return self.function, self.request

    def _constructor_arguments(self) -> tuple[Any, ...]:
        return self.given, self.request

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: Gradient[Concatenate[Any, Q], R], instance: object, owner: type | None = None
    ) -> Gradient[Q, R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        with short_traceback():
            return type(self)(MethodType(self.function, instance), self.request)

    # ------------------------------------------------------------------------- looking inside
    def _families(self) -> list[Family]:
        record, how = record_of(self.function)
        asked = self.request.of(self.function, parameters_of(self.function) or ())
        return [
            family
            for (request, wrapping, _, helpers), family in record.families.items()
            if (request, wrapping, helpers) == (asked, how, setting_of_helpers())
        ]

    def _newest(self) -> Any:
        """Return the pattern that was compiled last.

        A name tells wrappers of the same code apart.
        """
        name = name_of(self.function)
        named = (e for f in self._families()[::-1] for e in f.entries if e.artifact.name == name)
        return next(named, None)

    @property
    def source(self) -> str:
        """The generated code: of the last specialisation, else of the generic form."""
        entry = self._newest()
        if entry is not None:
            return Code(entry.artifact.text)
        artifact = readable(self.function, self.request)
        if artifact.text == artifact.note:  # there is no source, and will be none
            return Code(artifact.text)
        what = _DECIDED_LATER if artifact.note else _UNKNOWN_TYPES
        how = _HOW.format(_spelled_arguments(self.__signature__))
        return Code(what + how + artifact.text)

    def specialize(self, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """Return the bare compiled function for arguments like these: it checks nothing.

        Parameters
        ----------
        *args, **kwargs
            Arguments of the pattern that the function will be called with.

        Returns
        -------
        callable
            A function of the same arguments.
        """
        with short_traceback():
            family, arguments = self._bound(args, kwargs)
            return family.entry_for(self.function, arguments).bare(self.function)

    def inspect(self, *args: Any, **kwargs: Any) -> Inspection:
        """Return a report on the compilation: see `srcad.inspect`."""
        with short_traceback():
            if not args and not kwargs:
                return Inspection(readable(self.function, self.request), self.function)
            family, arguments = self._bound(args, kwargs)
            artifact = family.entry_for(self.function, arguments).artifact
            named = dict(zip((p.name for p in family.parameters), arguments, strict=True))
            return Inspection(artifact, self.function, named)

    def export(self, path: Any, /, *args: Any, **kwargs: Any) -> None:
        """Write the derivative to a file that needs NumPy alone, and compares itself when run.

        Nothing of the user's is executed.

        Parameters
        ----------
        path : str or path
            The file: a new one, or one that srcad has written.
        *args, **kwargs
            Arguments of the pattern that the file is for; without any, it is for the pattern
            that was compiled last.

        Raises
        ------
        ExportError
            Something that the derivative uses cannot be written to a file, or nothing has been
            compiled yet, or the file holds something else.

        Examples
        --------
        >>> import pathlib, tempfile, srcad
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder) / "slope.py"
        ...     srcad.grad(lambda x: x**3).export(file, 2.0)
        ...     "def grad_f(x):" in file.read_text()
        True
        """
        with short_traceback():
            module.write(path, exported(self, args, kwargs))

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Family, Sequence[Any]]:
        parameters = parameters_of(self.function) or parameters_of_call(len(args), kwargs)
        family = family_of(self.function, self.request, parameters)
        return family, family.bound(self.function, args, kwargs)

    def cache_info(self) -> CacheInfo:
        """Return the compiled patterns, and why each was compiled."""
        infos = [family.info() for family in self._families()]
        return CacheInfo(
            sum(i.compilations for i in infos),
            tuple(p for i in infos for p in i.patterns),
            tuple(r for i in infos for r in i.reasons),
        )

    def cache_clear(self) -> None:
        """Drop all compiled code."""
        for family in self._families():
            family.clear()
            self._connect(family)


Gradient.__doc__ = Documentation(Gradient.__doc__)  # type: ignore[assignment]


def exported(
    gradient: Gradient[..., Any], args: Any, kwargs: Any, recipe: Sequence[str] | None = None
) -> str:
    """Return the text of a module that computes a derivative: see `Gradient.export`."""
    function, request = gradient.function, gradient.request
    arguments: Sequence[Any] | None = None
    entry = gradient._newest()
    if args or kwargs:
        family, arguments = gradient._bound(args, kwargs)
        entry = family.entry_for(function, arguments)
    if entry is not None and "optree" in sys.modules:
        nodes.refuse_export(entry, name_of(function))
    return str(exports.module_of(function, request, entry, arguments, recipe))


# ------------------------------------------------------------- shared with decorated functions
def undecorated(function: Any) -> Any:
    """Return the function behind a `Differentiable`."""
    is_one = hasattr(type(function), "__srcad_primal__")
    return function.__srcad_primal__() if is_one else function


def _with_captured(function: Any, wrt: Sequence[int | str] | None) -> Any:
    """Return the function with the captured variables that `wrt` names as parameters."""
    named = any(isinstance(entry, str) for entry in wrt or ())
    return captured.with_captured(function, wrt) if named else function


def of_arguments(
    mode: str,
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    wrt: Any = None,
    backend: Backend = "numpy",
    *,
    has_aux: bool = False,
    check_finite: bool = False,
) -> Callable[..., Any] | Failure:
    """Return the call of a derivative, ready to be made: by `wrt`, or all positional arguments."""
    entries = None if wrt is None else wrt_entries(wrt)
    function = _with_captured(function, entries)
    arity = len(args) if wrt is None else 0
    request = Request(
        mode, entries, False, has_aux, backend, arity=arity, check_finite=check_finite
    )
    parameters = parameters_of(function) or parameters_of_call(len(args), kwargs)
    family = family_of(function, request, parameters)
    return family.found(function, family.bound(function, args, kwargs))


def along(found: Callable[..., Any], tangents: Sequence[Any]) -> Any:
    """Run what `of_arguments` found for ``jvp``, in silence if an infinite slope is an error."""
    return run_with_retry(found, tangents)


def inspection(
    function: Any, request: Request, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Inspection:
    """Inspect a function: compiled for these arguments, or in its generic form."""
    return Gradient(function, replace(request, mode="pullback")).inspect(*args, **kwargs)
