"""``numpy``: plain Python that calls NumPy, as a person would write it."""

from __future__ import annotations

import importlib
import linecache
import weakref
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

from srcad.backends.interface import Backend
from srcad.backends.interface.tracebacks import line_map_of, register
from srcad.backends.python.emitter import Emitted, emit
from srcad.ir.core import Function, Location
from srcad.startup.identifiers import printable
from srcad.startup.locks import lock
from srcad.startup.short_tracebacks import on_purpose

# Written text as a callable, and the text where tracebacks and debuggers look for it.

# Reentrant: a function may die, and be released, while another one is registered.
_lock = lock(3)
_users: dict[str, int] = {}
_unused: set[str] = set()  # texts of functions that died since the last one was registered


def load(emitted: Emitted, label: str | None = None) -> Callable[..., Any]:
    """Compile the generated code.

    The text is in `linecache` under ``<srcad label hash>`` as long as the function lives, so that
    tracebacks, debuggers and `inspect.getsource` show it.

    Parameters
    ----------
    emitted : Emitted
        What `emit` returned.
    label : str, optional
        Module and name for the file name, as in ``model.loss``.

    Returns
    -------
    callable
        The function of that name.
    """
    checksum = zlib.crc32(emitted.text.encode())
    filename = f"<srcad {printable(label or emitted.name)} {checksum:08x}>"
    code = compile(emitted.tree, filename, "exec", dont_inherit=True)
    return _run(code, emitted.name, emitted.text, emitted.namespace, emitted.line_map)


def _run(
    code: CodeType,
    name: str,
    text: str,
    objects: Mapping[str, Any],
    line_map: Mapping[int, Location],
) -> FunctionType:
    """Execute the definition of a function, and register its text and its lines."""
    namespace = dict(objects)
    namespace["__name__"] = "srcad.generated"
    exec(code, namespace)
    function = namespace[name]
    assert isinstance(function, FunctionType)
    register_text(code.co_filename, text, function)
    register(function, line_map)
    return function


# Generated functions in pickles.


def generated_parts(function: Any) -> tuple[Any, ...]:
    """Return the arguments of `reloaded` for a generated function; modules are named.

    Of a compiled function these are the arguments for its NumPy form.

    Raises
    ------
    TypeError
        It is no generated function: a derivative with effects is evaluated if it is checked.
    """
    numpy_form = getattr(function, "numpy_form", None)
    function = function if numpy_form is None else numpy_form()
    if not isinstance(function, FunctionType):
        raise on_purpose(TypeError("cannot pickle a pullback that is evaluated op by op"))
    space, file = function.__globals__, function.__code__.co_filename
    modules: dict[str, str] = {}
    objects: dict[str, Any] = {}
    for name, value in space.items():
        if isinstance(value, ModuleType):
            modules[name] = value.__name__
        elif not name.startswith("__") and getattr(value, "__globals__", None) is not space:
            objects[name] = value
    text = "".join(linecache.getlines(file))
    return function.__name__, text, file, modules, objects, dict(line_map_of(function))


def reloaded(
    name: str,
    text: str,
    file: str,
    modules: Mapping[str, str],
    objects: Mapping[str, Any],
    line_map: Mapping[int, Location],
) -> FunctionType:
    """Return a function that equals the one of which `generated_parts` were taken."""
    imported = {alias: importlib.import_module(module) for alias, module in modules.items()}
    return _run(_compiled(text, file), name, text, {**objects, **imported}, line_map)


@lru_cache(maxsize=128)
def _compiled(text: str, file: str) -> CodeType:
    return compile(text, file, "exec", dont_inherit=True)


def register_text(filename: str, text: str, function: FunctionType) -> None:
    """Show a text in tracebacks and debuggers as long as the function lives."""
    with _lock:
        while _unused:
            linecache.cache.pop(_unused.pop(), None)
        _users[filename] = _users.get(filename, 0) + 1
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    weakref.finalize(function, _release, filename).atexit = False


def _release(filename: str) -> None:
    """Give a text up.

    It stays where it is until the next one is registered: a function may die at any moment, also
    while `linecache` goes over its own entries, and that must not lose one meanwhile.
    """
    with _lock:
        _users[filename] -= 1
        if not _users[filename]:
            del _users[filename]
            _unused.add(filename)


def as_it_is(function: Function) -> Function:
    """Every function is covered."""
    return function


def write(function: Function, name: str) -> Emitted:
    return emit(function, name=name)


BACKEND = Backend("numpy", as_it_is, write, load)
