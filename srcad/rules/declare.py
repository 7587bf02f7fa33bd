"""How rows are put into the table: the kinds of rule, and what each returns.

There are five kinds of rule, and no more:

``derivative``
    ``f(x1, .., xn, *, y)`` returns the partial derivative with respect to each argument of an
    elementwise function, and says nothing of cotangents or broadcasting.  A partial is a Python
    number, has the operand's dtype, or is a mask of bools; `None` is a partial that is zero.
``linear``
    ``f(y_bar, *params)`` returns the cotangents of the arguments in which the target is linear.
``bilinear``
    ``f(y_bar, *params)`` returns the cotangents of all arguments in *each* of which the target is
    linear: a product of two, or of more.  The tangent follows:
    ``target(a_dot, b) + target(a, b_dot)``.
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

import sys
import types
from collections.abc import Callable
from typing import Any, TypeVar, Unpack

import numpy as np

from srcad.errors import RuleError
from srcad.rules.formulas import Place, check_arity, declare_twin, formula_of_twin
from srcad.rules.registry import PACKAGE, add, add_facts, lookup, qualified_name
from srcad.rules.row import Columns, Kind, Memory, Rule, refuse_markers_inside
from srcad.startup.records import replace
from srcad.startup.short_tracebacks import short_traceback

RuleFunction = TypeVar("RuleFunction", bound=Callable[..., Any])

_LEADING: dict[Kind, int] = {
    "derivative": 0, "linear": 1, "bilinear": 1, "adjoint": 2, "nondifferentiable": 0
}  # fmt: skip
_NUMBERS = (int, float, complex, np.generic)


def derivative(
    *targets: Any,
    active: tuple[str, ...] | None = None,
    twin: Any = None,
    override: bool = False,
    **columns: Unpack[Columns],
) -> Callable[[RuleFunction], RuleFunction]:
    """Register the partial derivatives of elementwise functions.

    Parameters
    ----------
    *targets : callable
        The functions that the rule is for.
    active : tuple of str, optional
        The parameters that the rule returns a partial for; by default those without a default.
    twin : callable, optional
        A function of Python numbers with the same formula, in which ``np`` then means the twins:
        that of `np.cos` is `math.cos`.
    override : bool
        If True, the rule may replace one that came with srcad.
    **columns : object
        Columns of `Rule`, as `safe`, a number that keeps all partials finite when it is put for
        every operand and for the result (it is used where a mask has cut the cotangent); `samples`
        and `kinks`, arguments to try and the derivatives at special points, for tests; and
        `memory`, the effect of a call on memory.

    Returns
    -------
    callable
        A decorator, which returns the rule unchanged.

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
    with short_traceback():
        return _decorator("derivative", targets, active, override, columns, twin)


def linear(
    *targets: Any,
    active: tuple[str, ...] | None = None,
    override: bool = False,
    **columns: Unpack[Columns],
) -> Callable[[RuleFunction], RuleFunction]:
    """Register the transpose of functions that are linear: ``f(y_bar, *params)``.

    Forward mode is the function itself.

    Parameters
    ----------
    *targets : callable
        The functions that the rule is for.
    active : tuple of str, optional
        The parameters that the rule returns an entry for; by default those without a default.
    override : bool
        If True, the rule may replace one that came with srcad.
    **columns : object
        Columns of `Rule`, as `takes_lists`, True if a list is an argument as it stands; `lists`,
        the parameters that take several arrays as a list, if all other lists are made arrays first;
        and `result`, the number of results.

    Returns
    -------
    callable
        A decorator, which returns the rule unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from srcad import rules
    >>> def mirrored(x):
    ...     return x[::-1]
    >>> @rules.linear(mirrored)
    ... def _(y_bar, x):
    ...     return y_bar[::-1]
    >>> rules.rule_for(mirrored).kind
    'linear'
    """
    with short_traceback():
        return _decorator("linear", targets, active, override, columns)


def bilinear(
    *targets: Any,
    active: tuple[str, ...] | None = None,
    override: bool = False,
    **columns: Unpack[Columns],
) -> Callable[[RuleFunction], RuleFunction]:
    """Register the cotangents of products, linear in each argument: ``f(y_bar, *params)``.

    Forward mode is the sum of the products in which one argument is replaced by its tangent.

    Parameters
    ----------
    *targets : callable
        The functions that the rule is for.
    active : tuple of str, optional
        The parameters that the rule returns an entry for; by default those without a default.
    override : bool
        If True, the rule may replace one that came with srcad.
    **columns : object
        Columns of `Rule`, as for `linear`.

    Returns
    -------
    callable
        A decorator, which returns the rule unchanged.

    Examples
    --------
    >>> from srcad import rules
    >>> def torque(force, arm):
    ...     return force * arm
    >>> @rules.bilinear(torque)
    ... def _(y_bar, force, arm):
    ...     return y_bar * arm, y_bar * force
    >>> rules.rule_for(torque).kind
    'bilinear'
    """
    with short_traceback():
        return _decorator("bilinear", targets, active, override, columns)


def adjoint(
    *targets: Any,
    active: tuple[str, ...] | None = None,
    override: bool = False,
    **columns: Unpack[Columns],
) -> Callable[[RuleFunction], RuleFunction]:
    """Register the cotangents of any function: ``f(y_bar, y, *params)``, where ``y`` is the result.

    Parameters
    ----------
    *targets : callable
        The functions that the rule is for.
    active : tuple of str, optional
        The parameters that the rule returns an entry for; by default those without a default.
    override : bool
        If True, the rule may replace one that came with srcad.
    **columns : object
        Columns of `Rule`, as for `linear`; `steps`, True if the function is constant between jumps
        of real numbers, so that only complex ones have a derivative; and `primal`, a function that
        is called instead of the target if a derivative is needed.  It returns ``(y, saved)``, and
        the rule then reads ``f(y_bar, y, saved, *params)``.

    Returns
    -------
    callable
        A decorator, which returns the rule unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from srcad import rules
    >>> def solve(a, b):
    ...     return np.linalg.solve(a, b)
    >>> def inverse_and_solve(a, b):
    ...     inverse = np.linalg.inv(a)
    ...     return inverse @ b, inverse
    >>> @rules.adjoint(solve, primal=inverse_and_solve)
    ... def solve_rule(y_bar, y, inverse, a, b):
    ...     b_bar = inverse.T @ y_bar
    ...     return -np.outer(b_bar, y), b_bar
    """
    with short_traceback():
        return _decorator("adjoint", targets, active, override, columns)


def tangent(target: Any) -> Callable[[RuleFunction], RuleFunction]:
    """Add the forward-mode formula, ``f(*dots, y, *params)``, to the row of `target`.

    ``dots`` are the tangents of the active parameters, in order.

    Parameters
    ----------
    target : callable
        A function with a rule.

    Returns
    -------
    callable
        A decorator, which returns the formula unchanged.

    Raises
    ------
    RuleError
        If the function has no rule.

    Examples
    --------
    >>> import numpy as np
    >>> from srcad import jvp, rules
    >>> def norm(x):
    ...     return np.sqrt(np.sum(x**2))
    >>> @rules.adjoint(norm)
    ... def norm_rule(y_bar, y, x):
    ...     return y_bar * x / y
    >>> @rules.tangent(norm)
    ... def norm_tangent(x_dot, y, x):
    ...     return np.sum(x * x_dot) / y
    >>> jvp(norm, (np.array([3.0, 4.0]),), (np.array([1.0, 0.0]),))
    (np.float64(5.0), np.float64(0.6))
    """
    with short_traceback():
        _refuse_target(target)

        def register(function: RuleFunction) -> RuleFunction:
            with short_traceback():
                _require_function(function)
                rule = lookup(target)
                if rule is None:
                    raise RuleError(
                        f"no rule for {qualified_name(target)} that a tangent could be added to",
                        where=_place(function),
                        help="register its @srcad.rules.adjoint first",
                    )
                for row in (rule, lookup(rule.primal)):
                    if row is not None:
                        add(replace(row, tangent=function), override=True)
                return function

        return register


def batched(*targets: Any) -> Callable[[RuleFunction], RuleFunction]:
    """Add a formula for several directions at once to the rows of linear functions.

    It takes the parameters of its target, those operands in which that is linear with one more axis
    in front, and returns results with that axis in front; None leaves a call to a loop.
    """

    def register(function: RuleFunction) -> RuleFunction:
        for target in targets:
            row = lookup(target)
            assert row is not None
            add(replace(row, batch=function), override=True)
        return function

    return register


def nondifferentiable(*targets: Any, override: bool = False, **columns: Unpack[Columns]) -> Any:
    """Declare that no derivative passes through functions.

    Parameters
    ----------
    *targets : callable
        The functions.
    override : bool
        If True, the declaration may replace a rule that came with srcad.
    **columns : object
        Columns of `Rule`.

    Returns
    -------
    callable or None
        The target if there is one, so that this may be used as a decorator.

    Examples
    --------
    >>> from srcad import grad, rules
    >>> @rules.nondifferentiable
    ... def bucket(x):
    ...     return round(x)
    >>> grad(lambda x: bucket(x) * x)(2.2)
    2.0
    """
    with short_traceback():
        frame = sys._getframe(1)
        file, line = frame.f_code.co_filename, frame.f_lineno
        shipped = str(frame.f_globals.get("__name__")).startswith(f"{PACKAGE}.")
        for target in targets:
            if not isinstance(target, type):
                _refuse_target(target)
            rule = Rule(target, "nondifferentiable", **_filled(columns, shipped), shipped=shipped,
                        file=file, line=line)  # fmt: skip
            add(rule, override)
        return targets[0] if len(targets) == 1 else None


def facts(*targets: Any, **columns: Unpack[Columns]) -> None:
    """Declare the columns of functions without a rule."""
    frame = sys._getframe(1)
    for target in targets:
        row = Rule(target, "", **_filled(columns, True), shipped=True,
                   file=frame.f_code.co_filename, line=frame.f_lineno)  # fmt: skip
        add_facts(row)


# ------------------------------------------------------------------------ the rows
def _decorator(
    kind: Kind,
    targets: tuple[Any, ...],
    active: tuple[str, ...] | None,
    override: bool,
    columns: Columns,
    twin: Any = None,
) -> Callable[[RuleFunction], RuleFunction]:
    unknown = columns.keys() - Columns.__annotations__.keys()
    if unknown:
        raise TypeError(f"{kind}() got an unexpected keyword argument {min(unknown)!r}")
    primal = columns.get("primal")
    for target in (*targets, *(one for one in (twin, primal) if one is not None)):
        _refuse_target(target)
    if not targets or (primal is not None and (len(targets) > 1 or primal is targets[0])):
        count = "at least one function" if primal is None else "one function, and primal another"
        raise RuleError(f"a rule is for {count}", where=_caller())

    def register(function: RuleFunction) -> RuleFunction:
        with short_traceback():
            code = _require_function(function)
            rule = _row(targets[0], kind, function, code, active, columns)
            if not rule.shipped:
                check_arity(function, kind, len(rule.active), rule.place)
                refuse_markers_inside(function, rule.place)
            add(rule, override)
            for target in targets[1:]:
                add(replace(rule, target=target), override)
            if primal is not None:
                pair = replace(rule, target=primal, primal=None, saves_for=targets[0])
                add(pair, override=True)
            if twin is not None:
                declare_twin(targets, twin)
                add(replace(rule, target=twin, function=formula_of_twin(function)), override)
            return function

    return register


def _row(
    target: Any,
    kind: Kind,
    function: Any,
    code: types.CodeType,
    active: tuple[str, ...] | None,
    columns: Columns,
) -> Rule:
    """The row, as far as the rule's own signature tells it."""
    positional = code.co_varnames[: code.co_argcount]
    stop = code.co_argcount + code.co_kwonlyargcount
    keyword_only = code.co_varnames[code.co_argcount : stop]
    rest = (f"*{code.co_varnames[stop]}",) if code.co_flags & 0x04 else ()
    saves = columns.get("primal") is not None
    leading = _LEADING[kind] + saves
    if len(positional) < leading:
        wanted = "f(y_bar, y, *params)" if kind == "adjoint" else "f(y_bar, *params)"
        wanted = wanted.replace("y, *", "y, saved, *") if saves else wanted
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
    shipped = str(function.__module__).startswith(f"{PACKAGE}.")
    return Rule(
        target=target,
        kind=kind,
        function=function,
        parameters=names,
        keywords=keywords,
        required=required,
        active=chosen,
        wants_result=kind == "adjoint" or "y" in keyword_only,
        shipped=shipped,
        file=code.co_filename,
        line=code.co_firstlineno,
        **_filled(columns, shipped),
    )


def _filled(columns: Columns, shipped: bool) -> Any:
    """Return columns with the usual memory: of rows that come with srcad new arrays."""
    usual: Memory = "fresh" if shipped else "shared"
    return {**columns, "memory": columns.get("memory") or usual}


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
