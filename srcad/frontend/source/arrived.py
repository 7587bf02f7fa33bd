"""Sources of code objects that were unpickled by value, such as cloudpickle sends them.

The text belongs to the code object, not to a file name: this process may have another file under
the same name.  Equal code objects of equal texts are replaced by one, so that what is compiled for
the first arrival serves all later ones; a bounded number of them is kept.
"""

from __future__ import annotations

import hashlib
import io
import linecache
import os
import weakref
from collections import OrderedDict
from functools import partial
from types import CodeType

from srcad.frontend.source.code import nested_codes
from srcad.startup.locks import lock

MOST_CODES = 512
FILE_OF_SENT = "<dynamic-code>"  # the file name that cloudpickle gives to code

_LOCK = lock()
_INTERNED: OrderedDict[tuple[str, str, CodeType], CodeType] = OrderedDict()
_LINES: dict[int, tuple[weakref.ref[CodeType], list[str]]] = {}
_SHOWN: dict[str, list[str]] = {}  # by the names under which `linecache` has them


def lines_of_arrived(code: CodeType) -> list[str] | None:
    """Return the lines of the text that arrived with a code object; None for other code."""
    known = _LINES.get(id(code))
    return known[1] if known is not None and known[0]() is code else None


def lines_of_equal(code: CodeType) -> list[str]:
    """Return the lines of an equal code object that has its text; [] if there is none.

    cloudpickle replaces the methods of a class on each arrival; another thread may read them
    before they have their text.
    """
    with _LOCK:
        equal = next((known for known in _INTERNED.values() if known == code), None)
    return [] if equal is None else lines_of_arrived(equal) or []


def texts_of_arrived() -> dict[str, list[str]]:
    """Return the lines of all received sources, by file name."""
    with _LOCK:
        codes = list(_INTERNED.values())
    found = ((code.co_filename, lines_of_arrived(code)) for code in reversed(codes))
    return {file: lines for file, lines in found if lines}


def interned(code: CodeType, file: str, text: str) -> CodeType:
    """Return the code object that stands for all equal ones that arrived with the same text.

    Parameters
    ----------
    code : CodeType
        What was unpickled; it is not changed.
    file, text : str
        The file of its function where it was pickled, and the text of that whole file, or ''.

    Returns
    -------
    CodeType
        An equal code object, with a file name under which `linecache` has the text: `file`, or a
        name that contains it if this process has another text there.
    """
    with _LOCK:
        key = (file, text, code)
        known = _INTERNED.get(key)
        if known is None:
            known = _located(code, file, text)
            _INTERNED[file, text, known] = known
            while len(_INTERNED) > MOST_CODES:
                _, old = _INTERNED.popitem(last=False)
                _hide(old.co_filename)
        else:
            _INTERNED.move_to_end(key)
        return known


def _located(code: CodeType, file: str, text: str) -> CodeType:
    """Return the code, and all code inside it, with a file name and the lines of the text."""
    if not text:
        return _renamed(code, file)
    name = _shown_name(file, text)
    made = _renamed(code, name)
    lines = linecache.getlines(name)
    for one in (made, *nested_codes(made)):
        _LINES[id(one)] = (weakref.ref(one, partial(_forget, id(one))), lines)
    return made


def _forget(key: int, dead: weakref.ref[CodeType]) -> None:
    known = _LINES.get(key)
    if known is not None and known[0] is dead:
        del _LINES[key]


def _renamed(code: CodeType, name: str) -> CodeType:
    constants = tuple(_renamed(c, name) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=name, co_consts=constants)


def _shown_name(file: str, text: str) -> str:
    """Return a file name under which `linecache` has the text from now on."""
    lines = io.StringIO(text).readlines()
    linecache.checkcache(file)
    here = linecache.getlines(file)
    if here and here != lines:
        file = f"{file} (sent {hashlib.sha256(text.encode()).hexdigest()[:12]})"
        here = linecache.getlines(file)
    if here != lines:
        _SHOWN[file] = lines
        linecache.cache[file] = (len(text), None, lines, file)
    return file


def _hide(name: str) -> None:
    """Remove lines from `linecache` that no interned code has any more."""
    if name in _SHOWN and all(code.co_filename != name for code in _INTERNED.values()):
        _remove(name, _SHOWN.pop(name))


def yield_to_file(name: str) -> None:
    """Remove the lines of arrived code from `linecache` if there is a file of that name now."""
    with _LOCK:
        if name in _SHOWN and os.path.exists(name):
            _remove(name, _SHOWN.pop(name))


def _remove(name: str, lines: list[str]) -> None:
    entry = linecache.cache.get(name)
    if entry is not None and len(entry) == 4 and entry[2] is lines:
        del linecache.cache[name]
