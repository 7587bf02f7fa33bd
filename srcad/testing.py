"""Checking derivatives against finite differences: for users' tests and for srcad's own."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from srcad import rules
from srcad.api.gradients import grad
from srcad.api.products import jvp
from srcad.arguments.leaves import Steps, leaf_name, leaves, own_copies, steps_in
from srcad.arguments.request import Request, name_of, outward_of, parameters_of, parameters_of_call
from srcad.arguments.wrt import POSITIONAL
from srcad.calling import nodes
from srcad.calling.gradient import function_behind
from srcad.checking import (
    Check,
    Place,
    Tolerance,
    is_narrow,
    weighted_outputs,
    weighted_sum,
)
from srcad.errors import MissingRuleError, OptionError, UnsupportedTypeError
from srcad.frontend.source.definition import inert_entries
from srcad.modes.seeds import mold_of, zeros_of
from srcad.startup.identifiers import shown
from srcad.startup.short_tracebacks import short_traceback
from srcad.types import objects

MODES = ("fwd", "rev")


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    *,
    wrt: int | str | tuple[int | str, ...] | None = None,
    order: int = 2,
    modes: Sequence[str] = MODES,
    rtol: float = 1e-6,
    atol: float = 1e-7,
    eps: float = 1e-4,
) -> None:
    """Compare the derivatives of a function with finite differences.

    Several outputs are checked through a random weighted sum, the second order through one of
    the gradient, and so on.  Of large arrays a random choice of entries is compared, in both parts.

    Parameters
    ----------
    f : callable
        The function.
    args : sequence
        The point at which it is checked; the function is given copies, and may write into them.
    wrt : int, str or tuple of these, optional
        The arguments to check, or parts of them; by default all that contain floats.
    order : int
        How often to differentiate.
    modes : sequence of str
        ``"fwd"``, forward mode, ``"rev"``, reverse mode, or both; both are then also compared with
        each other.  Higher orders are derivatives of the gradient, if ``"rev"`` is among them.
    rtol, atol : float
        Relative and absolute tolerance; for float32 arguments at least 1e-3.
    eps : float
        Step of the differences, relative to ``1 + abs(x)``.

    Raises
    ------
    AssertionError
        A derivative is wrong; the message names the argument, the leaf, the index and both numbers.

    Examples
    --------
    >>> import numpy as np
    >>> check_grads(lambda x: np.sum(np.tanh(x) ** 2), [np.array([0.1, 0.2])])
    """
    with short_traceback(every=True):
        _refuse_unknown(modes)
        function = function_behind(f)
        if "optree" in sys.modules or any(map(objects.holds_library_dict, args)):
            function, args = nodes.for_checks(function, tuple(args))
        places = _places(function, args, wrt)
        positions = tuple(dict.fromkeys(place.position for place in places))
        check = Check(args, positions, Tolerance(rtol, atol, eps), np.random.default_rng(0))
        current: Callable[..., Any] = function
        for level in range(1, order + 1):
            current = weighted_sum(current, args, check.rng)
            check.derivatives(current, places, modes, f"order {level}: ")
            if level < order and "rev" in modes:
                current = grad(current, wrt=positions)
            elif level < order:
                current = check.slope_along(current, places)


def _refuse_unknown(modes: Sequence[str]) -> None:
    if not modes or not set(modes) <= set(MODES):
        raise OptionError(
            f"modes={shown(tuple(modes))} is not supported",
            why="there are forward and reverse mode.",
            help='modes=("fwd", "rev")',
        )


def check_rule(
    function: Callable[..., Any],
    args: Sequence[Any],
    *,
    kwargs: Mapping[str, Any] | None = None,
    wrt: int | tuple[int, ...] | None = None,
    order: int = 1,
    modes: Sequence[str] = MODES,
    rtol: float = 1e-6,
    atol: float = 1e-7,
    eps: float = 1e-4,
) -> None:
    """Compare the rule of a function with finite differences.

    The cotangent is never just one; each output has one by itself, and each argument is also
    differentiated alone.

    Parameters
    ----------
    function : callable
        The function that the rule is for.
    args : sequence
        The positional arguments of a call of it.
    kwargs : mapping from str to object, optional
        The keywords of that call; they are constants.
    wrt : int or tuple of int, optional
        The arguments to check; by default all that contain floats.
    order, modes, rtol, atol, eps : int, sequence of str, float, float, float
        As those of `check_grads`; from order 2 on the formula of the rule is differentiated, too.

    Raises
    ------
    AssertionError, RuleError
        A derivative is wrong, as in `check_grads`; there is no rule, or it returns what does not
        fit the arguments.

    Examples
    --------
    >>> from srcad import rules
    >>> def softsign(x):
    ...     return x / (1 + abs(x))
    >>> @rules.derivative(softsign)
    ... def softsign_rule(x):
    ...     return 1 / (1 + abs(x)) ** 2
    >>> check_rule(softsign, [np.array([0.5, -2.0])])
    """
    with short_traceback(every=True):
        rule = rules.rule_for(function)
        chosen = _with_entries(rule, function, args, wrt)
        call = partial(function, **kwargs) if kwargs else function
        y = call(*own_copies(args))
        outputs = list(leaves(y))
        _check_primal(rule, args, kwargs or {}, outputs)
        groups = [outputs] if len(outputs) < 2 else [*([one] for one in outputs), outputs]
        together = [chosen] if len(chosen) == 1 else [chosen, *((k,) for k in chosen)]
        for (k, group), positions in itertools.product(enumerate(groups), together):
            weighted = weighted_outputs(call, len(args), group, np.random.default_rng(k))
            how = partial(check_grads, weighted, args, wrt=positions, order=order,
                          rtol=rtol, atol=atol, eps=eps)  # fmt: skip
            how(modes=modes if _has_tangent(rule, weighted, args, positions) else ("rev",))


def _with_entries(
    rule: rules.Rule, function: Any, args: Sequence[Any], wrt: Any
) -> tuple[int, ...]:
    """Return the checked arguments: by default those that the rule has a derivative for."""
    inert = inert_entries(rule.function) if rule.function is not None else frozenset()
    found = list(dict.fromkeys(place.position for place in _places(function, args, wrt)))
    if wrt is None:
        entries = {k: rule.entry(k) for k in found}
        found = [k for k, entry in entries.items() if entry is not None and entry[0] not in inert]
    if not found:
        raise OptionError(
            f"no argument of {name_of(function)!r} can be checked",
            why="none contains a float for which the rule has an entry.",
            help="check_rule(f, [np.array([0.5, -2.0])])",
        )
    return tuple(found)


def _has_tangent(
    rule: rules.Rule, function: Callable[..., Any], args: Sequence[Any], positions: Sequence[int]
) -> bool:
    """Return True if there is a forward mode: a rule for cotangents need not give one."""
    if rule.kind != "adjoint" or rule.tangent is not None:
        return True
    dots = [zeros_of(mold_of(a)) if k in positions else None for k, a in enumerate(args)]
    try:
        jvp(function, args, dots)
    except (MissingRuleError, UnsupportedTypeError):
        return False
    return True


def _check_primal(
    rule: rules.Rule, args: Sequence[Any], kwargs: Mapping[str, Any], outputs: Sequence[Any]
) -> None:
    """Check that the `primal` of a rule returns the same value as the function."""
    if rule.primal is None:
        return
    pair = rule.primal(*own_copies(args), **kwargs)
    name = name_of(rule.primal)
    if type(pair) is not tuple or len(pair) != 2:
        raise AssertionError(f"{name!r} returns a {type(pair).__name__}, not a pair (y, saved)")
    found = list(leaves(pair[0]))
    same = [steps for steps, _ in found] == [steps for steps, _ in outputs]
    for (steps, a), (_, b) in zip(found, outputs, strict=True) if same else ():
        if not np.allclose(a, b, rtol=1e-3 if is_narrow(b) else 1e-9, equal_nan=True):
            raise AssertionError(
                f"{name!r} returns {a!r}{leaf_name(steps)}, the function itself {b!r}"
            )
    if not same:
        raise AssertionError(f"{name!r} returns another structure than the function itself")


def _places(function: Any, args: Sequence[Any], wrt: Any) -> list[Place]:
    """Return the floats in the arguments that are checked."""
    names = _names(function, len(args))
    return [
        Place(k, names[k], steps, value)
        for k, first in _chosen(function, args, wrt)
        for steps, value in leaves(args[k])
        if steps[: len(first)] == first
    ]


def _chosen(function: Any, args: Sequence[Any], wrt: Any) -> list[tuple[int, Steps]]:
    """Return the positions of the arguments that are checked, and the way to the part."""
    if wrt is None:
        return [(k, ()) for k in range(len(args))]
    given = tuple(wrt) if isinstance(wrt, tuple | list) else (wrt,)
    parameters = parameters_of(function) or parameters_of_call(len(args))
    fixed = sum(p.kind in POSITIONAL for p in parameters)
    passed = {p.name: range(len(args) - fixed) for p in parameters if p.kind is p.VAR_POSITIONAL}
    places = Request(wrt=given).of(function, parameters).places(function, parameters, passed)
    found = []
    for place in places:
        k = place.parameter + (place.item if isinstance(place.item, int) else 0)
        found.append((k, steps_in(args[k], place.steps)))
    return found


def _names(function: Any, count: int) -> list[str]:
    """Return the names of the positional arguments of a call: those of ``*args`` by number."""
    parameters = parameters_of(function) or parameters_of_call(count)
    shown = outward_of(function, parameters) or parameters
    names = [p.name for p in shown if p.kind in POSITIONAL]
    return [*names, *map(str, range(len(names), count))]
