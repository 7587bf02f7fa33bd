"""Checking derivatives against finite differences: for users' tests and for srcad's own."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from srcad import rules
from srcad.api import grad
from srcad.arguments.leaves import (
    Steps,
    expression_of,
    leaf_at,
    leaf_name,
    leaves,
    own_copies,
    with_leaf,
)
from srcad.arguments.request import Request, name_of, outward_of, parameters_of, parameters_of_call
from srcad.arguments.wrt import POSITIONAL
from srcad.calling.gradient import function_behind
from srcad.errors import OptionError
from srcad.startup.records import dataclass

_MOST_ENTRIES = 64
_COUNTER = itertools.count(1)


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    *,
    wrt: int | str | tuple[int | str, ...] | None = None,
    order: int = 2,
    modes: Sequence[str] = ("rev",),
    rtol: float = 1e-6,
    atol: float = 1e-7,
    eps: float = 1e-4,
) -> None:
    """Compare the gradient of a function with finite differences.

    Several outputs are checked through a random weighted sum, the second order through one of
    the gradient, and so on.  Of large arrays a seeded random choice of entries is compared.

    Parameters
    ----------
    f : callable
        The function.
    args : sequence
        The point at which it is checked; the function is given copies, and may write into them.
    wrt : int, str or tuple of these, optional
        The arguments to check; by default all that contain floats.
    order : int
        How often to differentiate.
    modes : sequence of str
        ``"rev"``, reverse mode, is what there is.
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
    if set(modes) != {"rev"}:
        raise OptionError(
            f"modes={modes!r} is not supported", why="there is reverse mode.", help='modes=("rev",)'
        )
    function = function_behind(f)
    names = _names(function, len(args))
    chosen = _positions(function, args, wrt)
    check = _Check(args, _Tolerance(rtol, atol, eps), np.random.default_rng(0))
    current: Callable[..., Any] = function
    for level in range(1, order + 1):
        current = _weighted(current, args, check.rng)
        derivative = grad(current, wrt=chosen)
        for position, gradient in zip(chosen, derivative(*args), strict=True):
            for steps, value in leaves(args[position]):
                where = f"order {level}: argument {names[position]!r}{leaf_name(steps)}"
                check.compare(current, (position, steps), value, leaf_at(gradient, steps), where)
        current = derivative


def check_rule(
    function: Callable[..., Any],
    args: Sequence[Any],
    *,
    kwargs: Mapping[str, Any] | None = None,
    wrt: int | tuple[int, ...] | None = None,
    order: int = 1,
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
    order, rtol, atol, eps : int, float, float, float
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
    rules.rule_for(function)
    chosen = _positions(function, args, wrt)
    if not chosen:
        raise OptionError(
            f"no argument of {name_of(function)!r} can be checked",
            why="none contains a float.",
            help="check_rule(f, [np.array([0.5, -2.0])])",
        )
    call = partial(function, **kwargs) if kwargs else function
    outputs = list(leaves(call(*own_copies(args))))
    groups = [outputs] if len(outputs) < 2 else [*([one] for one in outputs), outputs]
    together = [chosen] if len(chosen) == 1 else [chosen, *((k,) for k in chosen)]
    for (k, group), places in itertools.product(enumerate(groups), together):
        weighted = _weighted_outputs(call, len(args), group, np.random.default_rng(k))
        check_grads(weighted, args, wrt=places, order=order, rtol=rtol, atol=atol, eps=eps)


def _positions(function: Any, args: Sequence[Any], wrt: Any) -> tuple[int, ...]:
    if wrt is None:
        return tuple(k for k, a in enumerate(args) if any(True for _ in leaves(a)))
    given = tuple(wrt) if isinstance(wrt, tuple | list) else (wrt,)
    parameters = parameters_of(function) or parameters_of_call(len(args))
    fixed = sum(p.kind in POSITIONAL for p in parameters)
    passed = {p.name: range(len(args) - fixed) for p in parameters if p.kind is p.VAR_POSITIONAL}
    places = Request(wrt=given).of(function, parameters).places(function, parameters, passed)
    return tuple(p.parameter + (p.item if isinstance(p.item, int) else 0) for p in places)


def _names(function: Any, count: int) -> list[str]:
    """What the positional arguments of a call are called: those of ``*args`` by their number."""
    parameters = parameters_of(function) or parameters_of_call(count)
    shown = outward_of(function, parameters) or parameters
    names = [p.name for p in shown if p.kind in POSITIONAL]
    return [*names, *map(str, range(len(names), count))]


@dataclass(frozen=True)
class _Tolerance:
    rtol: float
    atol: float
    eps: float

    def fits(self, found: float, expected: float, *, narrow: bool) -> bool:
        """Whether two numbers agree (`narrow`: to the accuracy of float32)."""
        least = 1e-3 if narrow else 0.0
        rtol, atol = max(self.rtol, least), max(self.atol, least)
        if np.isnan(found) or np.isnan(expected):
            return bool(np.isnan(found) and np.isnan(expected))
        return bool(abs(found - expected) <= atol + rtol * max(abs(found), abs(expected)))


# --------------------------------------------------------------------------------- comparison
@dataclass(frozen=True)
class _Check:
    """A point, how exactly derivatives are compared there, and the source of random choices."""

    args: Sequence[Any]
    tolerance: _Tolerance
    rng: np.random.Generator

    def compare(
        self,
        function: Callable[..., Any],
        place: tuple[int, Steps],
        value: Any,
        found: Any,
        where: str,
    ) -> None:
        """Compare a gradient with differences, entry by entry."""
        if np.shape(found) != np.shape(value):
            raise AssertionError(
                f"{where}: the gradient has shape {np.shape(found)}, the argument {np.shape(value)}"
            )
        narrow = getattr(value, "dtype", np.dtype(float)).itemsize < 8
        eps = self.tolerance.eps * (100 if narrow else 1)
        for index in self._indices(np.shape(value)):
            expected = _difference(function, self.args, place, index, eps)
            number = float(np.asarray(found)[index])
            if not self.tolerance.fits(number, expected, narrow=narrow):
                at = f" at index {index}" if index else ""
                raise AssertionError(
                    f"{where}{at}: the gradient is {number!r}, differences give {expected!r} "
                    f"(of {name_of(function)!r})"
                )

    def _indices(self, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
        indices = list(np.ndindex(shape))
        if len(indices) <= _MOST_ENTRIES:
            return indices
        picks = self.rng.choice(len(indices), _MOST_ENTRIES, replace=False)
        return [indices[k] for k in sorted(picks)]


def _difference(
    function: Callable[..., Any],
    args: Sequence[Any],
    place: tuple[int, Steps],
    index: tuple[int, ...],
    eps: float,
) -> float:
    """Central differences of fourth order along one entry of one argument."""
    position, steps = place
    value = leaf_at(args[position], steps)
    step = eps * (1 + abs(float(np.asarray(value)[index])))

    def at(k: int) -> float:
        changed = own_copies(args)
        leaf: Any
        if isinstance(value, np.ndarray):
            leaf = value.copy()
            leaf[index] += value.dtype.type(k * step)
        else:
            leaf = type(value)(value + k * step)
        changed[position] = with_leaf(changed[position], steps, leaf)
        return float(function(*changed))

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)


# --------------------------------------------------------------------------------- one number
def _weighted(
    function: Callable[..., Any], args: Sequence[Any], rng: np.random.Generator
) -> Callable[..., Any]:
    """The function ``sum of w * y`` over all float outputs, as source text that srcad can read.

    A function that returns one float already is returned as it is.
    """
    y = function(*own_copies(args))
    found = list(leaves(y))
    if not found or (len(found) == 1 and found[0][0] == () and np.shape(y) == ()):
        return function
    return _weighted_outputs(function, len(args), found, rng)


def _weighted_outputs(
    function: Callable[..., Any],
    count: int,
    found: Sequence[tuple[Steps, Any]],
    rng: np.random.Generator,
) -> Callable[..., Any]:
    """The function ``sum of w * y`` over some outputs, as source text that srcad can read."""
    space: dict[str, Any] = {"np": np, "function": function, "__name__": "srcad_testing"}
    terms = []
    for k, (steps, leaf) in enumerate(found):
        space[f"w{k}"] = rng.uniform(0.5, 1.5, np.shape(leaf)) if np.shape(leaf) else 1.1 + 0.1 * k
        terms.append(f"np.sum(w{k} * {expression_of('y', steps, space)})")
    inputs = ", ".join(f"x{k}" for k in range(count))
    body = "".join(f"    s{k} = {t}\n" for k, t in enumerate(terms))
    total = " + ".join(f"s{k}" for k in range(len(terms)))
    text = f"def weighted({inputs}):\n    y = function({inputs})\n{body}    return {total}\n"
    file = f"<srcad.testing {next(_COUNTER)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), space)
    weighted: Callable[..., Any] = space["weighted"]
    weighted.__name__ = f"weighted {name_of(function)}"
    return weighted
