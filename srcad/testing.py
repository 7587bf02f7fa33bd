"""Derivatives against finite differences, entry by entry, and the two modes against each other."""

from __future__ import annotations

import itertools
import linecache
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from srcad import rules
from srcad.api.gradients import grad
from srcad.api.products import jvp
from srcad.arguments.leaves import (
    Steps,
    expression_of,
    leaf_at,
    leaf_name,
    leaves,
    own_copies,
    steps_in,
    with_leaf,
)
from srcad.arguments.request import Request, name_of, outward_of, parameters_of, parameters_of_call
from srcad.arguments.wrt import POSITIONAL
from srcad.calling import nodes
from srcad.calling.gradient import undecorated
from srcad.errors import MissingRuleError, OptionError, UnsupportedTypeError
from srcad.frontend.source.definition import inert_entries
from srcad.modes.seeds import mold_of, zeros_of
from srcad.startup.identifiers import shown
from srcad.startup.records import dataclass
from srcad.startup.short_tracebacks import short_traceback
from srcad.types import objects

__all__ = ["check_grads", "check_rule"]

_MOST_ENTRIES = 64
_COUNTER = itertools.count(1)


@dataclass(frozen=True)
class Tolerance:
    """How exactly two numbers agree, and the step of the differences."""

    rtol: float
    atol: float
    eps: float

    def fits(self, found: complex, expected: complex, *, narrow: bool) -> bool:
        """Return True if two numbers agree (`narrow`: to the accuracy of float32)."""
        least = 1e-3 if narrow else 0.0
        rtol, atol = max(self.rtol, least), max(self.atol, least)
        if np.isnan(found) or np.isnan(expected):
            return bool(np.isnan(found) and np.isnan(expected))
        return bool(abs(found - expected) <= atol + rtol * max(abs(found), abs(expected)))


# --------------------------------------------------------------------------------- comparison
@dataclass(frozen=True)
class Place:
    """A float or array of floats in an argument, with its path."""

    position: int
    name: str
    steps: Steps
    value: Any


def is_narrow(value: Any) -> bool:
    """Return True if a number has less than the usual accuracy."""
    is_complex = np.iscomplexobj(value)
    dtype = getattr(value, "dtype", np.dtype(complex if is_complex else float))
    return bool(dtype.itemsize < (16 if is_complex else 8))


def _at(index: tuple[int, ...]) -> str:
    return f" at index {index}" if index else ""


def _direction(rng: np.random.Generator, value: Any) -> Any:
    """Return a random direction of a number or array."""
    shape, dtype = np.shape(value), np.asarray(value).dtype
    dot = rng.uniform(0.5, 1.5, shape)
    if np.iscomplexobj(value):
        dot = dot * np.exp(1j * rng.uniform(0.0, 6.0, shape))
    return np.asarray(dot, dtype) if shape else dtype.type(dot)


@dataclass(frozen=True)
class Check:
    """A point, how exactly derivatives are compared there, and the source of random choices.

    `positions` are those of the arguments that are differentiated by.
    """

    args: Sequence[Any]
    positions: tuple[int, ...]
    tolerance: Tolerance
    rng: np.random.Generator

    def derivatives(
        self,
        function: Callable[..., Any],
        places: Sequence[Place],
        modes: Collection[str],
        where: str,
    ) -> None:
        """Compare the derivatives of a function by these parts of its arguments.

        Raises
        ------
        AssertionError
            One is wrong; the message names argument, entry and both numbers.
        """
        gradients: dict[int, Any] = {}
        if "rev" in modes:
            found = grad(function, wrt=self.positions)(*self.args)
            gradients = dict(zip(self.positions, found, strict=True))
        for place in places:
            name = f"{where}argument {place.name!r}{leaf_name(place.steps)}"
            bar = leaf_at(gradients[place.position], place.steps) if gradients else None
            self._entries(function, place, bar, "fwd" in modes, name)
        if len(modes) > 1:
            self._agree(function, places, gradients, where)

    def _entries(
        self, function: Callable[..., Any], place: Place, bar: Any, forward: bool, where: str
    ) -> None:
        """Compare derivatives with differences, entry by entry."""
        value = place.value
        if bar is not None and np.shape(bar) != np.shape(value):
            raise AssertionError(
                f"{where}: the gradient has shape {np.shape(bar)}, the argument {np.shape(value)}"
            )
        eps = self.tolerance.eps * (100 if is_narrow(value) else 1)
        units = (1.0, 1j) if np.iscomplexobj(value) else (1.0,)
        for index in self._indices(np.shape(value)):
            slopes = [difference(function, self.args, place, index, eps, u) for u in units]
            expected = slopes[0] if len(units) == 1 else complex(*slopes)
            if bar is not None:
                found = np.asarray(bar)[index].item()
                self._expect(function, place, found, expected, f"{where}{_at(index)}: the gradient")
            if forward:
                tangents = [self._slope(function, place, index, u) for u in units]
                found = tangents[0] if len(units) == 1 else complex(*tangents)
                self._expect(
                    function,
                    place,
                    found,
                    expected,
                    f"{where}{_at(index)}: in forward mode the slope",
                )

    def _expect(
        self, function: Any, place: Place, found: complex, expected: complex, what: str
    ) -> None:
        if not self.tolerance.fits(found, expected, narrow=is_narrow(place.value)):
            raise AssertionError(
                f"{what} is {found!r}, differences give {expected!r} (of {name_of(function)!r})"
            )

    def _slope(self, function: Any, place: Place, index: tuple[int, ...], unit: complex) -> float:
        """Return the derivative along one entry, in forward mode."""
        dot = np.zeros_like(place.value)
        if isinstance(dot, np.ndarray) and dot.ndim:
            dot[index] = unit
        else:
            dot = dot + dot.dtype.type(unit)
        return float(jvp(function, self.args, self._tangents([(place, dot)]))[1])

    def _tangents(self, dots: Sequence[tuple[Place, Any]]) -> list[Any]:
        """Tangents for all arguments, with these in their places."""
        found = [
            zeros_of(mold_of(arg)) if k in self.positions else None
            for k, arg in enumerate(self.args)
        ]
        for place, dot in dots:
            found[place.position] = with_leaf(found[place.position], place.steps, dot)
        return found

    def slope_along(
        self, function: Callable[..., Any], places: Sequence[Place]
    ) -> Callable[..., Any]:
        """Return the derivative of a function along a random direction, as source text."""
        dots = self._tangents([(place, _direction(self.rng, place.value)) for place in places])
        space = {"jvp": jvp, "function": function, "__name__": "srcad_testing"}
        space |= {f"v{k}": dot for k, dot in enumerate(dots)}
        given = "".join(f"v{k}, " for k in range(len(dots)))
        body = f"    return jvp(function, (INPUTS,), ({given}))[1]\n"
        return _written("slope", len(dots), body, space)

    def _agree(
        self, function: Any, places: Sequence[Place], gradients: Mapping[int, Any], where: str
    ) -> None:
        """Compare the two modes along one random direction: their dot products are the same."""
        dots = [(place, _direction(self.rng, place.value)) for place in places]
        slope = float(jvp(function, self.args, self._tangents(dots))[1])
        bars = [leaf_at(gradients[p.position], p.steps) for p in places]
        terms = [
            np.sum(np.real(np.conj(bar) * dot)) for bar, (_, dot) in zip(bars, dots, strict=True)
        ]
        total = float(sum(terms))
        size = max(abs(slope), *(float(np.sum(np.abs(t))) for t in terms))
        narrow = any(is_narrow(place.value) for place in places)
        if abs(slope - total) > self.tolerance.atol + (1e-3 if narrow else 1e-7) * size:
            raise AssertionError(
                f"{where}forward and reverse mode disagree along a random direction: {slope!r} and "
                f"{total!r} (of {name_of(function)!r})"
            )

    def _indices(self, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
        indices = list(np.ndindex(shape))
        if len(indices) <= _MOST_ENTRIES:
            return indices
        picks = self.rng.choice(len(indices), _MOST_ENTRIES, replace=False)
        return [indices[k] for k in sorted(picks)]


def difference(
    function: Callable[..., Any],
    args: Sequence[Any],
    place: Place,
    index: tuple[int, ...],
    eps: float,
    unit: complex,
) -> float:
    """Central differences of fourth order along one entry of one argument, or its other part."""
    position, steps, value = place.position, place.steps, place.value
    step = eps * (1 + abs(np.asarray(value)[index].item()))

    def at(k: int) -> float:
        changed = own_copies(args)
        leaf: Any
        if isinstance(value, np.ndarray):
            leaf = value.copy()
            leaf[index] += value.dtype.type(k * step * unit)
        else:
            leaf = type(value)(value + k * step * unit)
        changed[position] = with_leaf(changed[position], steps, leaf)
        return float(function(*changed))

    slope: float = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)
    return slope


# --------------------------------------------------------------------------------- one number
def weighted_sum(
    function: Callable[..., Any], args: Sequence[Any], rng: np.random.Generator
) -> Callable[..., Any]:
    """Return the function ``sum of w * y`` over all float outputs, with source text.

    A function that returns one float already is returned as it is.
    """
    y = function(*own_copies(args))
    found = list(leaves(y))
    alone = len(found) == 1 and found[0][0] == () and np.shape(y) == ()
    if not found or (alone and not np.iscomplexobj(y)):
        return function
    return weighted_outputs(function, len(args), found, rng)


def weighted_outputs(
    function: Callable[..., Any],
    count: int,
    found: Sequence[tuple[Steps, Any]],
    rng: np.random.Generator,
) -> Callable[..., Any]:
    """Return the function ``sum of w * y`` over some outputs, as source text that srcad can read.

    Of complex ones it is ``sum of Re(conj(w) * y)``.
    """
    space: dict[str, Any] = {"np": np, "function": function, "__name__": "srcad_testing"}
    terms = []
    for k, (steps, leaf) in enumerate(found):
        space[f"w{k}"] = rng.uniform(0.5, 1.5, np.shape(leaf)) if np.shape(leaf) else 1.1 + 0.1 * k
        product = f"w{k} * {expression_of('y', steps, space)}"
        if np.iscomplexobj(leaf):
            space[f"w{k}"] = np.conj(space[f"w{k}"] * np.exp(0.3j + 0.4j * k))
            product = f"np.real({product})"
        terms.append(f"np.sum({product})")
    body = "".join(f"    s{k} = {t}\n" for k, t in enumerate(terms))
    total = " + ".join(f"s{k}" for k in range(len(terms)))
    return _written(
        "weighted", count, f"    y = function(INPUTS)\n{body}    return {total}\n", space
    )


def _written(name: str, count: int, body: str, space: dict[str, Any]) -> Callable[..., Any]:
    """Return a function of some arguments, of which srcad finds the text."""
    inputs = ", ".join(f"x{k}" for k in range(count))
    text = f"def {name}({inputs}):\n" + body.replace("INPUTS", inputs)
    file = f"<srcad.testing {next(_COUNTER)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), space)
    made: Callable[..., Any] = space[name]
    made.__name__ = f"{name} {name_of(space['function'])}"
    return made


# Checking derivatives against finite differences: for users' tests and for srcad's own.

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
        function = undecorated(f)
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
            how = partial(
                check_grads,
                weighted,
                args,
                wrt=positions,
                order=order,
                rtol=rtol,
                atol=atol,
                eps=eps,
            )
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
