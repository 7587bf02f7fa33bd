"""The table of rules: one row per function, and where the rows of a library's functions stand.

`declare` says how a rule reads and puts rows in.  A file with rows is read when a function of a
name that stands in it is first looked up; `index` tells the names.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from srcad.errors import RuleError
from srcad.rules.index import NAMES
from srcad.rules.row import Memory, Rule
from srcad.startup.identifiers import label, module_of, printable
from srcad.startup.locks import importing, lock
from srcad.startup.records import replace

Helper = TypeVar("Helper", bound=Callable[..., Any])


ROOM = __name__.rpartition(".")[0]
HOUSE = __name__.partition(".")[0]
_table: dict[Any, Rule] = {}
_without: set[Any] = set()  # functions of libraries that were looked up in vain
_memories: dict[Any, Memory] = {}  # of functions without a rule
_static: set[Callable[..., Any]] = set()
_lock = lock(4)
_version = 0

# The files of rows: those that may have the row of a function of a name, the library without which
# a file is not read, and what has been read.
_files: dict[str, list[str]] = {}
_needs: dict[str, str] = {}
_read: dict[str, types.ModuleType] = {}
_libraries = {"builtins", "cmath", "math", "numpy", "_operator", "srcad"}


def lookup(target: Any) -> Rule | None:
    """The row of a callable, or None."""
    try:
        found = _table.get(target)
    except TypeError:
        return None
    if found is not None or target in _without:
        return found
    return _from_files(target)


def knows(target: Any) -> bool:
    """Whether the table has a row for this very object, of which nothing is asked."""
    return any(one is target for one in _table)


def memory_of(target: Any) -> Memory:
    """What a call does with memory, as far as the table knows."""
    rule = lookup(target)
    if rule is not None:
        return rule.memory
    try:
        return _memories.get(target, "shared")
    except TypeError:
        return "shared"


def version() -> int:
    """A number that grows with each registration."""
    return _version


def rows() -> tuple[Rule, ...]:
    """Every row, in the order of registration."""
    topics()
    return tuple(_table.values())


def topics() -> tuple[types.ModuleType, ...]:
    """The files of the table, all of them read, but those of libraries that nobody has imported."""
    return tuple(_topic(file) for file in _needs if _is_met(file))


def add_file(file: str, names: Iterable[str], library: str = "builtins") -> None:
    """Announce a file of rows: it is read when a function of one of the names is first met.

    Parameters
    ----------
    file : str
        The full name of a module whose decorated functions are rules.
    names : iterable of str
        The names (``__name__``) of the functions that it has rows for.
    library : str
        The module that these functions belong to; before it is imported there are none.
    """
    _needs[file] = library
    _libraries.add(library.partition(".")[0])
    _without.clear()
    for name in names:
        _files.setdefault(name, []).append(file)


def _is_met(file: str) -> bool:
    return _needs[file] in sys.modules


def _topic(file: str) -> types.ModuleType:
    """A file of rows, read."""
    if file not in _read:
        with importing:
            _read[file] = importlib.import_module(file)
    return _read[file]


def unruled() -> tuple[Any, ...]:
    """The functions without a rule of which it is known what they do with memory."""
    topics()
    return tuple(_memories)


def _from_files(target: Any) -> Rule | None:
    """Read the files that may have the row, one after another until it is there."""
    module = getattr(target, "__module__", None)
    if module is not None and module_of(target).partition(".")[0] not in _libraries:
        return None
    for file in _files.get(index_name(target), ()):
        if file not in _read and _is_met(file):
            _topic(file)
            if target in _table or target in _memories:
                break
    found = _table.get(target)
    if found is None and type(target) is types.FunctionType:  # nothing else would be kept alive
        _without.add(target)
    return found


def index_name(target: Any) -> str:
    """A function's name in the index, told apart from methods' and from srcad's own helpers'."""
    module = module_of(target)
    if module.startswith(f"{HOUSE}."):
        return f"{HOUSE}.{label(target)}"
    path = None if module or isinstance(target, np.ufunc) else getattr(target, "__qualname__", None)
    return path if type(path) is str else label(target)


def add(rule: Rule, override: bool) -> None:
    """Put a row into the table; one that came with srcad is replaced only on purpose.

    Raises
    ------
    RuleError
        There is such a row, and `override` is not set.
    """
    global _version
    known = _table.get(rule.target) if rule.shipped else lookup(rule.target)
    if known is not None and known.shipped and not override:
        raise RuleError(
            f"{qualified_name(rule.target)} has a rule already",
            where=rule.place,
            second=known.place,
            help="pass override=True to replace it",
        )
    if known is not None and not rule.shipped:
        rule = replace(rule, memory=known.memory)  # the function is the same
    with _lock:
        if not rule.shipped or rule.target in _table:  # nothing was compiled without a shipped row
            _version += 1
        _table[rule.target] = rule
        _without.discard(rule.target)


def add_memory(target: Any, memory: Memory) -> None:
    """Note what a function without a rule does with memory."""
    _memories[target] = memory


def static(function: Helper) -> Helper:
    """Mark a helper that computes only with what is known before the call: axes, ranks, strings.

    The compiler may call it at once when its arguments are known.
    """
    _static.add(function)
    return function


def is_static(function: Any) -> bool:
    """Whether `function` was marked by `static`."""
    return isinstance(function, types.FunctionType) and function in _static


def is_known(option: Any) -> bool:
    """Whether an option is known before the call, not only when it is made.

    The compiler decides it.  Where a rule is run as it stands, everything is known.
    """
    return True


def qualified_name(target: Any) -> str:
    """The name of a callable with its module, as in ``numpy.linalg.solve``."""
    module = "numpy" if isinstance(target, np.ufunc) else getattr(target, "__module__", None)
    name = printable(getattr(target, "__qualname__", None) or label(target))
    if not isinstance(module, str) or module == "builtins":
        return name
    return f"{'operator' if module == '_operator' else printable(module)}.{name}"


def library_of(topic: str) -> str:
    """The library that a file's functions belong to: a folder is called as the library is.

    >>> library_of("scipy.special"), library_of("linalg")
    ('scipy.special', 'builtins')
    """
    return topic if "." in topic else "builtins"


for _topic_name, _names in NAMES.items():
    add_file(f"{ROOM}.{_topic_name}", _names.split(), library_of(_topic_name))
