"""The table of rules: who may be differentiated, and by which plain Python function.

There are four kinds of rule, and no more:

``derivative``
    ``f(x1, .., xn, *, y)`` returns the partial derivative with respect to each argument of an
    elementwise function, and says nothing of cotangents or broadcasting.  A partial is a Python
    number, has the operand's dtype, or is a mask of bools; `None` is a partial that is zero.
``linear``
    ``f(y_bar, *params)`` returns the cotangents of the arguments in which the target is linear.
``adjoint``
    ``f(y_bar, y, *params)`` returns the cotangents; ``y`` is the result.  For several results both
    are tuples, and cotangents that nothing contributes to are `None`.
``nondifferentiable``
    no derivative passes through the target, whatever its arguments.

A rule takes its target's parameters under the target's names and in its order, so that a call
binds to the rule as it does to the target.  Parameters that the rule does not list are not
supported.  It returns one entry per *active* parameter: by default those without a default value
(``*args`` included, whose entry is a sequence), otherwise those named by ``active=``, in order.
With one active parameter the entry itself is returned, with several a tuple.  A sequence of
arrays has a list or tuple of cotangents as its entry.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from srcad.errors import RuleError
from srcad.rules.formulas import Place, check_arity
from srcad.rules.row import NO_PARTIAL, Kind, NoPartial, Rule
from srcad.startup.identifiers import (
    label,
    module_of,
    printable,
)
from srcad.startup.locks import lock
from srcad.startup.records import replace

RuleFunction = TypeVar("RuleFunction", bound=Callable[..., Any])

__all__ = ["NO_PARTIAL", "NoPartial", "Rule"]

_LEADING: dict[Kind, int] = {"derivative": 0, "linear": 1, "adjoint": 2, "nondifferentiable": 0}
_SHIPPED_ROOM = __name__.rpartition(".")[0]
_NUMBERS = (int, float, complex, np.generic)


# The files of the table, those that most functions need first: they are read one after another
# until the row is found.
TOPICS = (
    "arithmetic", "elementwise", "constant", "reduction", "shape", "indexing", "scalar", "casting",
    "product", "joining", "running", "ordering", "linalg", "norm", "einsum",
)  # fmt: skip
_LIBRARIES = frozenset({"builtins", "math", "numpy", "_operator", "srcad"})
_read: set[str] = set()
_table: dict[Any, Rule] = {}
_static: set[Callable[..., Any]] = set()
_lock = lock(4)
_version = 0


def lookup(target: Any) -> Rule | None:
    """The row of a callable, or None; takes constant time once the table is complete."""
    try:
        found = _table.get(target)
    except TypeError:
        return None
    if found is None and len(_read) < len(TOPICS) and _is_of_libraries(target):
        return _from_topics(target)
    return found


def version() -> int:
    """A number that grows with each registration."""
    return _version


def rows() -> tuple[Rule, ...]:
    """Every row, in the order of registration."""
    topics()
    return tuple(_table.values())


def topics() -> tuple[types.ModuleType, ...]:
    """The files of the table, all of them read."""
    return tuple(map(_topic, TOPICS))


def _topic(name: str) -> types.ModuleType:
    topic = importlib.import_module(f"{_SHIPPED_ROOM}.{name}")
    _read.add(name)
    return topic


def _is_of_libraries(target: Any) -> bool:
    """Whether a row that came with srcad may be for it."""
    module = getattr(target, "__module__", None)
    return module is None or module_of(target).partition(".")[0] in _LIBRARIES


def _from_topics(target: Any) -> Rule | None:
    """Read one file of the table after another until there is a row."""
    for name in TOPICS:
        if name not in _read:
            _topic(name)
            if target in _table:
                break
    return _table.get(target)


def static(function: RuleFunction) -> RuleFunction:
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


def derivative(
    *targets: Any,
    safe: float | None = None,
    active: tuple[str, ...] | None = None,
    override: bool = False,
) -> Callable[[RuleFunction], RuleFunction]:
    """Register the partial derivatives of elementwise functions.

    Parameters
    ----------
    *targets : callable
        The functions that the rule is for.
    safe : float, optional
        A number that keeps all partials finite when it is put for every operand and for the
        result.  It is used where a mask has cut the cotangent.
    active : tuple of str, optional
        The parameters that the rule returns a partial for; by default those without a default.
    override : bool
        Whether the rule may replace one that came with srcad.

    Raises
    ------
    RuleError
        If the rule does not return one partial per active parameter.

    Examples
    --------
    >>> from srcad import rules
    >>> def softsign(x):
    ...     return x / (1 + abs(x))
    >>> @rules.derivative(softsign)
    ... def _(x):
    ...     return 1 / (1 + abs(x)) ** 2
    >>> rules.rule_for(softsign).kind
    'derivative'
    """
    return _decorator("derivative", targets, safe, active, override)


def linear(
    *targets: Any, active: tuple[str, ...] | None = None, override: bool = False
) -> Callable[[RuleFunction], RuleFunction]:
    """Register the transpose of functions that are linear: ``f(y_bar, *params)``.

    Parameters are those of `derivative`.  Forward mode is the function itself.
    """
    return _decorator("linear", targets, None, active, override)


def adjoint(
    *targets: Any, active: tuple[str, ...] | None = None, override: bool = False
) -> Callable[[RuleFunction], RuleFunction]:
    """Register the cotangents of any function: ``f(y_bar, y, *params)``, where ``y`` is the result.

    Parameters are those of `derivative`.
    """
    return _decorator("adjoint", targets, None, active, override)


def tangent(target: Any) -> Callable[[RuleFunction], RuleFunction]:
    """Add the forward-mode formula, ``f(*dots, y, *params)``, to the row of `target`.

    ``dots`` are the tangents of the active parameters, in order.
    """
    _refuse_target(target)

    def register(function: RuleFunction) -> RuleFunction:
        _require_function(function)
        rule = lookup(target)
        if rule is None:
            raise RuleError(
                f"no rule for {qualified_name(target)} that a tangent could be added to",
                where=_place(function),
                help="register its @srcad.rules.adjoint first",
            )
        _store(replace(rule, tangent=function), override=True)
        return function

    return register


def nondifferentiable(*targets: Any, override: bool = False) -> Any:
    """Declare that no derivative passes through `targets`.

    Returns the target if there is one, so that it may be used as a decorator.
    """
    frame = sys._getframe(1)
    file, line = frame.f_code.co_filename, frame.f_lineno
    shipped = str(frame.f_globals.get("__name__")).startswith(_SHIPPED_ROOM)
    for target in targets:
        if not isinstance(target, type):
            _refuse_target(target)
        rule = Rule(target, "nondifferentiable", shipped=shipped, file=file, line=line)
        _store(rule, override)
    return targets[0] if len(targets) == 1 else None


def qualified_name(target: Any) -> str:
    """The name of a callable with its module, as in ``numpy.linalg.solve``."""
    module = "numpy" if isinstance(target, np.ufunc) else getattr(target, "__module__", None)
    name = printable(getattr(target, "__qualname__", None) or label(target))
    if not isinstance(module, str) or module == "builtins":
        return name
    return f"{'operator' if module == '_operator' else printable(module)}.{name}"


# ------------------------------------------------------------------------ registration
def _decorator(
    kind: Kind,
    targets: tuple[Any, ...],
    safe: float | None,
    active: tuple[str, ...] | None,
    override: bool,
) -> Callable[[RuleFunction], RuleFunction]:
    for target in targets:
        _refuse_target(target)
    if not targets:
        raise RuleError("a rule is for at least one function", where=_caller())

    def register(function: RuleFunction) -> RuleFunction:
        code = _require_function(function)
        rule = _row(targets[0], kind, function, code, safe, active)
        if not rule.shipped:
            check_arity(function, kind, len(rule.active), rule.place)
        _store(rule, override)
        for target in targets[1:]:
            _store(replace(rule, target=target), override)
        return function

    return register


def _row(
    target: Any,
    kind: Kind,
    function: Any,
    code: types.CodeType,
    safe: float | None,
    active: tuple[str, ...] | None,
) -> Rule:
    """The row, as far as the rule's own signature tells it."""
    positional = code.co_varnames[: code.co_argcount]
    stop = code.co_argcount + code.co_kwonlyargcount
    keyword_only = code.co_varnames[code.co_argcount : stop]
    rest = (f"*{code.co_varnames[stop]}",) if code.co_flags & 0x04 else ()
    leading = _LEADING[kind]
    if len(positional) < leading:
        wanted = {"linear": "f(y_bar, *params)", "adjoint": "f(y_bar, y, *params)"}[kind]
        raise RuleError(f"a rule of kind {kind!r} reads {wanted}", where=_place(function))
    if kind != "derivative" and "y" in keyword_only:
        raise RuleError(
            f"a rule of kind {kind!r} has no keyword-only 'y'",
            where=_place(function),
            help="use @srcad.rules.adjoint: its second parameter is the result",
        )
    parameters = positional[leading:]
    required = len(parameters) - len(function.__defaults__ or ())
    names = (*parameters, *rest)
    keywords = tuple(name for name in keyword_only if name != "y")
    chosen = (*parameters[:required], *rest) if active is None else active
    unknown = [name for name in chosen if name not in names and name not in keywords]
    if unknown or not chosen:
        what = f"{unknown[0]!r} is no parameter" if unknown else "nothing to differentiate for"
        raise RuleError(f"{what} in the rule '{function.__name__}'", where=_place(function))
    return Rule(
        target=target,
        kind=kind,
        function=function,
        parameters=names,
        keywords=keywords,
        required=required,
        active=chosen,
        wants_result=kind == "adjoint" or "y" in keyword_only,
        safe=safe,
        shipped=str(function.__module__).startswith(_SHIPPED_ROOM),
        file=code.co_filename,
        line=code.co_firstlineno,
    )


def _store(rule: Rule, override: bool) -> None:
    global _version
    _refuse_override(rule, override)
    with _lock:
        if not rule.shipped or rule.target in _table:  # nothing was compiled without a shipped row
            _version += 1
        _table[rule.target] = rule


def _place(function: Any) -> Place:
    code = getattr(function, "__code__", None)
    return Place(code.co_filename, code.co_firstlineno) if code is not None else _caller()


def _caller() -> Place:
    """The place outside this file that is running now."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    assert frame is not None
    return Place(frame.f_code.co_filename, frame.f_lineno)


def _require_function(function: Any) -> types.CodeType:
    if not isinstance(function, types.FunctionType):
        raise RuleError(
            f"need a function definition for a rule, not the {type(function).__name__} "
            f"{getattr(function, '__name__', function)!r}",
            where=_caller(),
            help="decorate a def, or pass a lambda",
        )
    return function.__code__


def _refuse_target(target: Any) -> None:
    """A class cannot have a rule, unless calling it makes a number."""
    if isinstance(target, type) and not issubclass(target, _NUMBERS):
        raise RuleError(
            f"need a function definition: a rule cannot be for the class {target.__name__!r}",
            where=_caller(),
            help="give the rule to a function or a method",
        )
    if not callable(target):
        raise RuleError(f"a rule is for a callable, not for {target!r}", where=_caller())
    try:
        hash(target)
    except TypeError:
        raise RuleError(f"{target!r} cannot be hashed", where=_caller()) from None


def _refuse_override(rule: Rule, override: bool) -> None:
    known = _table.get(rule.target) if rule.shipped else lookup(rule.target)
    if known is not None and known.shipped and not override:
        raise RuleError(
            f"{qualified_name(rule.target)} has a rule already",
            where=rule.place,
            second=known.place,
            help="pass override=True to replace it",
        )
