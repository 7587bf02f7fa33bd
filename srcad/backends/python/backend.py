"""``numpy``: plain Python that calls NumPy, as a person would write it."""

from __future__ import annotations

import linecache
import weakref
import zlib
from collections.abc import Callable
from types import FunctionType
from typing import Any

from srcad.backends.interface import Backend
from srcad.backends.interface.tracebacks import register
from srcad.backends.python.emitter import Emitted, emit
from srcad.ir.core import Function
from srcad.startup.identifiers import printable
from srcad.startup.locks import lock

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
    namespace = dict(emitted.namespace)
    namespace["__name__"] = "srcad.generated"
    exec(code, namespace)
    function = namespace[emitted.name]
    assert isinstance(function, FunctionType)
    _register(filename, emitted.text, function)
    register(function, emitted.line_map)
    return function


def _register(filename: str, text: str, function: FunctionType) -> None:
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
