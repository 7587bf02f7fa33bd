"""Pickling of objects that need the source of functions.

A function that a module has under its name is pickled by that name.  cloudpickle and loky send
functions of ``__main__``, lambdas and local functions by value: then the texts of the files of all
such functions that the object reaches are pickled with it.  On arrival every code object gets its
text back.  The front end proves the text as it does any other: it has to compile to the code.
"""

from __future__ import annotations

import copyreg
import functools
import importlib
import marshal
import pickle
import sys
from collections.abc import Iterable, Iterator, Sequence
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from srcad.errors import RuleError, SourceUnavailableError, SrcadError
from srcad.frontend.source.arrived import FILE_OF_SENT, interned, lines_of_arrived
from srcad.frontend.source.code import nested_codes
from srcad.frontend.source.definition import definition
from srcad.ir.core import Location
from srcad.rules import registry
from srcad.startup.identifiers import is_instance, module_of
from srcad.startup.records import dataclass
from srcad.startup.short_tracebacks import is_ours
from srcad.types.reading import namespace
from srcad.types.sources import is_filled

Text = tuple[str, str, tuple[tuple[str, int], ...]]


class Pickled:
    """An object that is pickled by its constructor arguments, with the source of functions."""

    __slots__ = ()

    def _constructor_arguments(self) -> tuple[Any, ...]:
        """Return the arguments of which an equal object can be made."""
        raise NotImplementedError

    def _construct(self, *arguments: Any) -> None:
        """Initialise an unpickled object."""
        type(self).__init__(self, *arguments)

    def __reduce__(self) -> Any:
        arguments = self._constructor_arguments()
        texts = texts_of(arguments) if functions_are_sent_by_value() else ()
        named = tuple(Named.of(argument) for argument in arguments)
        return copyreg.__newobj__, (type(self),), (named, texts)  # type: ignore[attr-defined]

    def __setstate__(self, state: tuple[tuple[Any, ...], Sequence[Text]]) -> None:
        arguments, texts = state
        arguments = tuple(a.found() if isinstance(a, Named) else a for a in arguments)
        locate(arguments, texts)
        self._construct(*arguments)


@dataclass(frozen=True)
class Named:
    """A function that is pickled by name, with its file and line for the error of its absence."""

    module: str
    qualname: str
    file: str
    line: int

    @staticmethod
    def of(value: Any) -> Any:
        """Return the name of a function that an importable module has, or the value itself."""
        if not isinstance(value, FunctionType) or not is_sent_by_name(value):
            return value
        code = value.__code__
        return Named(value.__module__, value.__qualname__, code.co_filename, code.co_firstlineno)

    def found(self) -> Any:
        """Import the function.

        Raises
        ------
        SourceUnavailableError
            There is no such module here, or it has no such function.
        """
        try:
            found: Any = importlib.import_module(self.module)
            for part in self.qualname.split("."):
                found = getattr(found, part)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{self.module}.".startswith(f"{error.name}."):
                raise
            raise self._absent(f"there is no module {error.name!r} in this process") from None
        except AttributeError:
            why = f"the module {self.module!r} of this process has no {self.qualname!r}"
            raise self._absent(why) from None
        return found

    def _absent(self, why: str) -> SourceUnavailableError:
        return SourceUnavailableError(
            f"{self.qualname!r} was pickled by name, and is not found here",
            where=Location(self.file, self.line, 0, self.line, 0),
            why=f"{why}.",
            help=(
                f"install {self.module!r} where the derivative is unpickled",
                f"or let cloudpickle send it:  cloudpickle.register_pickle_by_value({self.module})",
            ),
        )


@dataclass(frozen=True)
class Made:
    """Pickled form of a function that srcad has compiled from user statements.

    `module` holds its globals, `held` are the contents of its closure and its defaults.  The code
    is that of one version of Python, and so is the rest of a pickle that holds it.
    """

    code: bytes
    name: str
    module: str
    held: tuple[Any, ...]
    defaults: tuple[Any, ...] | None

    @staticmethod
    def of(value: Any) -> Any:
        """Replace compiled functions by their code, also inside lists."""
        if type(value) in (list, tuple):
            return type(value)(Made.of(item) for item in value)
        is_made = isinstance(value, FunctionType) and value.__qualname__.startswith("factory")
        if not is_made or is_found_by_name(value) or functions_are_sent_by_value():
            return value
        held = tuple(Made.of(cell.cell_contents) for cell in value.__closure__ or ())
        module = str(value.__globals__.get("__name__"))
        code = marshal.dumps(value.__code__)
        return Made(code, value.__name__, module, held, value.__defaults__)

    @staticmethod
    def found(value: Any) -> Any:
        """Replace code by functions, also inside lists."""
        if type(value) in (list, tuple):
            return type(value)(map(Made.found, value))
        if not isinstance(value, Made):
            return value
        space = vars(importlib.import_module(value.module))
        closure = tuple(CellType(Made.found(part)) for part in value.held)
        code = marshal.loads(value.code)
        return FunctionType(code, space, value.name, value.defaults, closure)


# ------------------------------------------------------------------------- sending
def functions_are_sent_by_value() -> bool:
    """Return True if the pickler that asks is one of cloudpickle.

    A method of the pickler is the caller of `__reduce__`.  Plain `pickle` sends functions of
    ``__main__`` by name; then no text is needed.
    """
    frame: Any = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code):
        frame = frame.f_back
    pickler = None if frame is None else frame.f_locals.get("self")
    return is_instance(pickler, pickle.Pickler) and hasattr(pickler, "reducer_override")


_BY_VALUE = ("cloudpickle", "joblib.externals.cloudpickle")


def is_sent_by_name(value: Any) -> bool:
    """Return True if cloudpickle sends an object by its module and name."""
    module = getattr(value, "__module__", None)
    if module == "__main__" or not is_found_by_name(value):
        return False
    for library in _BY_VALUE:
        listing: Any = getattr(sys.modules.get(library), "list_registry_pickle_by_value", tuple)
        registered: Iterable[str] = listing()
        if any(f"{module}.".startswith(f"{name}.") for name in registered):
            return False
    return True


def is_found_by_name(value: Any) -> bool:
    """Return True if an imported module has an object under its own qualified name."""
    found: Any = sys.modules.get(getattr(value, "__module__", None) or "")
    for part in getattr(value, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    return found is value


def texts_of(roots: Iterable[Any]) -> tuple[Text, ...]:
    """Return file, text, and the names and lines of the functions that are sent by value.

    The text is empty for functions of which there is none, as for methods of data classes.

    Raises
    ------
    RuleError
        One of the functions has a rule that would not be known on arrival.
    """
    found: dict[tuple[str, str], dict[tuple[str, int], None]] = {}
    for value in values_reached(roots):
        if is_instance(value, _FUNCTIONS):
            _refuse_ruled(value)
        if _is_sent_by_value(value):
            try:
                text = _joined(definition(value).lines)
            except SrcadError:
                text = ""
            found.setdefault((value.__code__.co_filename, text), {})[_key(value)] = None
    return tuple((file, text, tuple(keys)) for (file, text), keys in found.items())


def _refuse_ruled(function: Any) -> None:
    rule = registry.lookup(function)
    if rule is None or rule.shipped:
        return
    if not _is_sent_by_value(function) and module_of(rule.function) != "__main__":
        return
    raise RuleError(
        f"cannot send {function.__name__!r} to another process: it has a rule",
        where=rule.place,
        why="the other process does not run the statement that registers the rule.",
        help="put the function and its rule into a module that the other process imports",
    )


def _key(function: FunctionType) -> tuple[str, int]:
    return function.__code__.co_qualname, function.__code__.co_firstlineno


_MOST_JOINED = 64
_JOINED: dict[int, tuple[Sequence[str], str]] = {}


def _joined(lines: Sequence[str]) -> str:
    """Return the text of some lines, as the same object each time: it is pickled once."""
    known = _JOINED.get(id(lines))
    if known is None or known[0] is not lines:
        if len(_JOINED) >= _MOST_JOINED:
            _JOINED.clear()
        known = _JOINED[id(lines)] = lines, "".join(lines)
    return known[1]


# ------------------------------------------------------------------------- arriving
def locate(roots: Iterable[Any], texts: Sequence[Text]) -> None:
    """Give the functions that arrived by value their texts, and one code object for equal ones."""
    if not texts:
        return
    for function in filter(_is_sent_by_value, values_reached(roots)):
        sent = [(file, text) for file, text, keys in texts if _key(function) in keys]
        sent.sort(key=lambda one: not one[1])
        code = function.__code__
        if not sent or lines_of_arrived(code) is not None:
            continue
        if code.co_filename != FILE_OF_SENT and is_found_by_name(function):
            continue  # a function of this process
        for file, text in sent:
            function.__code__ = interned(code, file, text)
            if len(sent) == 1 or _is_proved(function):
                break


def _is_proved(function: FunctionType) -> bool:
    try:
        definition(function)
    except SrcadError:
        return False
    return True


# ------------------------------------------------------------------------- reaching
_FUNCTIONS = (FunctionType, BuiltinFunctionType, np.ufunc)
_PLAIN = (int, float, complex, str, bytes, type(None), np.generic)
_LEAVES = frozenset({bool, int, float, complex, str, bytes, type(None), np.float64})


def values_reached(roots: Iterable[Any]) -> Iterator[Any]:
    """Yield objects with everything that they hold, and that functions sent by value name."""
    seen: dict[int, Any] = {}
    pending = list(roots)
    while pending:
        value = pending.pop()
        if is_instance(value, _PLAIN) or id(value) in seen:
            continue
        seen[id(value)] = value
        yield value
        pending += _parts(value)


def _is_sent_by_value(value: Any) -> bool:
    """Return True for a function of the user's that cloudpickle sends by value."""
    return is_instance(value, FunctionType) and not _is_left_out(value)


def _is_left_out(value: Any) -> bool:
    """Return True for functions and classes that are sent by name, and for those of srcad."""
    package = module_of(value).partition(".")[0]
    return package in ("builtins", registry.PACKAGE) or is_sent_by_name(value)


def _parts(value: Any) -> Iterable[Any]:
    """Return the objects that one holds, as far as functions may be among them."""
    if is_instance(value, _FUNCTIONS):
        return _parts_of_function(value) if _is_sent_by_value(value) else ()
    if is_instance(value, type):
        return () if _is_left_out(value) else (*vars(value).values(), *value.__bases__)
    if is_instance(value, ModuleType):
        return () if value.__name__ in sys.modules else tuple(vars(value).values())
    if is_instance(value, Pickled):
        return () if is_sent_by_name(value) else _arguments(value)
    if is_instance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype.hasobject else ()
    return _parts_of_object(value)


def _arguments(value: Pickled) -> Iterable[Any]:
    """Return the constructor arguments; () while the object is being unpickled."""
    try:
        return value._constructor_arguments()
    except AttributeError:
        return ()


def _parts_of_function(function: Any) -> Iterator[Any]:
    for code in (function.__code__, *nested_codes(function.__code__)):
        yield from map(function.__globals__.get, code.co_names)
    yield from (c.cell_contents for c in function.__closure__ or () if is_filled(c))
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from vars(function).values()


def _parts_of_object(value: Any) -> Iterator[Any]:
    if is_instance(value, list | tuple | set | frozenset):
        yield from (item for item in value if type(item) not in _LEAVES)
    elif is_instance(value, dict):
        yield from (key for key in dict.keys(value) if type(key) not in _LEAVES)
        yield from (item for item in dict.values(value) if type(item) not in _LEAVES)
    match value:
        case MethodType() | staticmethod() | classmethod():
            yield value.__func__
            yield getattr(value, "__self__", None)
        case functools.partial():
            yield from (value.func, value.args, value.keywords)
        case property():
            yield from (value.fget, value.fset, value.fdel)
        case functools.cached_property():
            yield value.func
        case functools._lru_cache_wrapper():
            yield value.__wrapped__
        case CellType() if is_filled(value):
            yield value.cell_contents
    yield type(value)
    yield from namespace(value).values()
    yield from _slots(value)


def _slots(value: Any) -> Iterator[Any]:
    for cls in type(value).__mro__:
        if module_of(cls) != "builtins":
            for member in tuple(vars(cls).values()):
                if isinstance(member, MemberDescriptorType):
                    try:
                        yield member.__get__(value)
                    except AttributeError:
                        continue
