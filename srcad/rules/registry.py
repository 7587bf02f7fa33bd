"""The table of rules: one row per function.

`declare` says how a rule reads and puts rows in.  The files of rules for NumPy and `math` are
imported with this package, those for other libraries when one of their functions is first met.
"""

from __future__ import annotations

import ast
import importlib
import sys
import types
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from srcad.errors import RuleError
from srcad.rules.row import Effect, Memory, Result, Rule
from srcad.startup.identifiers import label, module_of, printable, ufunc_of
from srcad.startup.locks import importing, lock
from srcad.startup.records import replace

Helper = TypeVar("Helper", bound=Callable[..., Any])


PACKAGE = __name__.partition(".")[0]
_PACKAGE = __name__.rpartition(".")[0]
_table: dict[Any, Rule] = {}
_facts: dict[Any, Rule] = {}  # rows of functions without a rule
_shipped: dict[Any, Rule] = {}  # rows that came with srcad, also where a user's is in the table
# Columns about the function, which a rule of the user's for it does not change, nor one put back.
_OF_FUNCTION = (
    "memory", "order", "cost", "entries", "adds_zeros", "law", "answers", "nan", "selects",
    "of_real", "sign", "method", "special", "reduce", "accumulate", "rounds", "symmetry",
    "exponent", "range", "fails", "effect", "gives", "iterates", "iterated", "calls", "batch",
)  # fmt: skip
_NOTHING_KNOWN = Rule(None, "")
_ONE_RESULT = Result()
_operators: dict[Any, Rule] = {}  # rows of Python's operators
_by_sign: dict[Any, Any] = {}  # such a function, by its sign, class of nodes and form in place
_methods: dict[str, Any] = {}  # functions that are methods of arrays, too, by the method's name
_static: set[Callable[..., Any]] = set()
_lock = lock(4)
_version = 0
_receivers: dict[type, Any] = {}  # the object with rules for its methods, by its class
_names: dict[int, str] = {}  # and how users write it
_files: dict[str, str] = {}  # files of rules that have not been imported, and their libraries
_packages: set[str] = set()  # to which these belong
_needing: dict[Any, str] = {}  # functions of other libraries whose rules are in such a file


def lookup(target: Any) -> Rule | None:
    """Return the row of a callable, or None.

    Parameters
    ----------
    target : callable
        A function.

    Returns
    -------
    Rule or None
        Its row.

    Examples
    --------
    >>> import numpy as np
    >>> lookup(np.sin).kind, lookup(open)
    ('derivative', None)
    """
    try:
        found = _table.get(target)
    except TypeError:
        return None
    if found is None and _files and _may_be_in_file(target):
        _read_files(target)
        found = _table.get(target)
    return found


def _may_be_in_file(target: Any) -> bool:
    """Return True if a file of rules that has not been imported may have one for a callable."""
    if isinstance(target, np.ufunc) or target in _needing:
        return True  # a ufunc does not name its module
    own = module_of(target).partition(".")[0]
    return own in _packages


def declared_result(target: Any) -> Result:
    """Return the declared results of a callable; without a declaration, one of unknown dtype."""
    declared = row_of(target).result
    return _ONE_RESULT if declared is None else declared


def index_of_field(name: str, length: int) -> int | None:
    """Return the index of a field in named tuples of this length that functions return.

    None if no row declares the field, or if it has the name of a method of tuples.
    """
    if hasattr(tuple, name):
        return None
    declared = (r.result.fields for r in tuple(_table.values()) if r.result is not None)
    return next((f.index(name) for f in declared if len(f) == length and name in f), None)


def knows(target: Any) -> bool:
    """Return True if the table has a row for this very object, of which nothing is asked."""
    return any(one is target for one in _table)


def knows_like(target: Any) -> bool:
    """Return True if a row is for this method of some object, or for an object of this class."""
    if isinstance(target, types.MethodType):
        methods = (one for one in _table if isinstance(one, types.MethodType))
        return any(one.__func__ is target.__func__ for one in methods)
    return any(type(one) is type(target) for one in _table)


def row_of(target: Any) -> Rule:
    """Return the row of a callable, or an empty row."""
    found = lookup(target)
    if found is not None:
        return found
    try:
        return _facts.get(target, _NOTHING_KNOWN)
    except TypeError:
        return _NOTHING_KNOWN


def row_of_operator(target: Any) -> Rule | None:
    """Return the row of one of Python's operators, as `operator.add`; None for other callables."""
    try:
        return _operators.get(target)
    except TypeError:
        return None


def operator_of(sign: Any) -> Any:
    """Return the function of `operator` for a sign, as `operator.add` for ``+``; or None.

    The sign is its text between two operands, the class of its nodes in syntax trees, or the
    function of its form in place, `operator.iadd`.
    """
    try:
        return _by_sign.get(sign)
    except TypeError:
        return None


def function_of_method(name: str) -> Any:
    """Return the function that a method of arrays is, as `np.sum`; None if it is no function."""
    return _methods.get(name)


def is_in_place(target: Any) -> bool:
    """Return True if a function is that of ``+=`` or the like, as `operator.iadd`."""
    return isinstance(target, types.BuiltinFunctionType) and target in _by_sign


def operators() -> tuple[Rule, ...]:
    """Return the rows of Python's operators."""
    return tuple(_operators.values())


def effect_of(target: Any) -> Effect:
    """Return the side effect of a callee; functions without a row have none."""
    try:
        row = _facts.get(target) or _table.get(target)
    except TypeError:
        return ""
    return "" if row is None else row.effect


def memory_of(target: Any) -> Memory:
    """The memory effect of a call, as far as the table tells it."""
    return row_of(target).memory


def version() -> int:
    """Return a number that grows with each registration.

    Returns
    -------
    int
        The number.

    Examples
    --------
    >>> version() >= 0
    True
    """
    return _version


def rows() -> tuple[Rule, ...]:
    """Return every row, in the order of registration.

    Returns
    -------
    tuple of Rule
        The rows.

    Examples
    --------
    >>> import numpy as np
    >>> np.sin in {row.target for row in rows()}
    True
    """
    _read_files()
    return tuple(_table.values())


def add_receiver(instance: Any, name: str) -> None:
    """Let the rules for methods of an object hold for all objects of its class like it.

    `name` is how users write the object.
    """
    _receivers[type(instance)] = instance
    _names[id(instance)] = name


def name_of_receiver(instance: Any) -> str:
    """Return how users write an object with rules for its methods; '' for others."""
    return _names.get(id(instance), "")


def receiver_of(instance: Any) -> Any:
    """Return the object whose methods have the rules for those of an object, or None."""
    if isinstance(instance, type | ModuleType):
        return None
    if type(instance) not in _receivers:
        if not _files or module_of(type(instance)).partition(".")[0] != "scipy":
            return None
        _read_files(type(instance))
    found = _receivers.get(type(instance))
    if found is None or [getattr(instance, name, None) for name in "ab"] != [
        getattr(found, name, None) for name in "ab"
    ]:
        return None  # a distribution that the user has given another support
    return found


def add_file(library: str, file: str | None = None, *, needed_by: tuple[Any, ...] = ()) -> None:
    """Announce a file of rules for a library that srcad does not import itself.

    Parameters
    ----------
    library : str
        The full name of the module that these functions belong to.  Once it has been imported,
        the file is imported when one of its functions is first looked up.
    file : str or None
        The full name of a module whose decorated functions are rules.  By default it is named
        as the library is, inside this package.
    needed_by : tuple of functions
        Functions of NumPy or `math` whose rules are in the file, as they call the library.  It is
        imported when one of them is looked up.
    """
    _needing.update(dict.fromkeys(needed_by, library))
    _files[file or f"{_PACKAGE}.{library}"] = library
    _packages.add(library.partition(".")[0])


def library_for(target: Any) -> str | None:
    """The library that the rule of a function of another one calls; None for most functions."""
    try:
        return _needing.get(target)
    except TypeError:
        return None


def _read_files(target: Any = None) -> None:
    """Import the files of rules of imported libraries: all, or those that may rule `target`."""
    needed = library_for(target)
    if needed is not None:
        with suppress(ImportError), importing:
            importlib.import_module(needed)
    # A ufunc does not name its module, so it may belong to any library.
    any_library = target is None or isinstance(target, np.ufunc)
    own = "" if any_library else module_of(target).partition(".")[0]
    for file, library in list(_files.items()):
        wanted = any_library or library == needed or library.partition(".")[0] == own
        if wanted and library in sys.modules:
            with importing:
                importlib.import_module(file)
            _files.pop(file, None)


def unruled() -> tuple[Any, ...]:
    """Return the functions that have a row but no rule."""
    _read_files()
    return tuple(_facts)


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
    about = _shipped.get(rule.target) or _facts.get(rule.target)
    is_first = rule.shipped and (known is None or known.shipped)
    if about is not None and not is_first:
        kept: dict[str, Any] = {name: getattr(about, name) for name in _OF_FUNCTION}
        rule = replace(rule, **kept, result=rule.result or about.result)
    with _lock:
        if not rule.shipped or rule.target in _table:  # nothing was compiled without a shipped row
            _version += 1
        _table[rule.target] = rule
        if rule.shipped:
            _shipped[rule.target] = rule
        if rule.shipped and rule.method:
            _methods.setdefault(rule.method, rule.target)
        if (rule.sign or rule.special) and module_of(rule.target) == "_operator":
            _add_operator(rule)


def _add_operator(row: Rule) -> None:
    _operators[row.target] = row
    sign = row.sign
    if sign is None:
        return
    keys = (sign.node, sign.in_place, None if issubclass(sign.node, ast.unaryop) else sign.text)
    _by_sign.update({key: row.target for key in keys if key is not None})


def add_facts(row: Rule) -> None:
    """Add the row of a function without a rule."""
    _facts[row.target] = row


def static(function: Helper) -> Helper:
    """Mark a helper that computes only with what is known before the call: axes, ranks, strings.

    The compiler may call it at once when its arguments are known.

    Parameters
    ----------
    function : callable
        The helper.

    Returns
    -------
    callable
        The helper itself.

    Examples
    --------
    >>> @static
    ... def last_axis(ndim):
    ...     return ndim - 1
    >>> last_axis(3)
    2
    """
    _static.add(function)
    return function


def is_static(function: Any) -> bool:
    """Return True if a function is marked by the decorator `static`.

    Parameters
    ----------
    function : object
        A function, or any other object.

    Returns
    -------
    bool
        The answer.

    Examples
    --------
    >>> @static
    ... def last_axis(ndim):
    ...     return ndim - 1
    >>> is_static(last_axis), is_static(len)
    (True, False)
    """
    return isinstance(function, types.FunctionType) and function in _static


def is_known(option: Any) -> bool:
    """Return True if an option is known before the call, not only when it is made.

    The compiler decides it.  Where a rule is run as it stands, everything is known.
    """
    return True


def qualified_name(target: Any) -> str:
    """The name of a callable with its module, as in ``numpy.linalg.solve``."""
    owner = _names.get(id(getattr(target, "__self__", None)))
    if owner is not None:
        return f"{owner}.{label(target)}"
    if ufunc_of(target) is not None:
        return f"{qualified_name(target.__self__)}.{label(target)}"
    module = getattr(target, "__module__", None)
    if isinstance(target, np.ufunc):
        is_numpy = getattr(np, target.__name__, None) is target
        known = getattr(sys.modules.get("scipy.special"), target.__name__, None) is target
        module = "scipy.special" if known and not is_numpy else "numpy"
    name = printable(getattr(target, "__qualname__", None) or label(target))
    if not isinstance(module, str) or module == "builtins":
        return name
    if module == "_operator":
        return f"operator.{name}"
    return f"{printable(_public_module(module, name, target))}.{name}"


def _public_module(module: str, name: str, target: Any) -> str:
    """The package that gives users a function of one of its private modules."""
    public = module.partition("._")[0]
    namespace = vars(sys.modules[public]) if public in sys.modules else {}
    return public if namespace.get(name) is target else module
