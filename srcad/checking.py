"""Derivatives against finite differences, entry by entry, and the two modes against each other."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from srcad.api.gradients import grad
from srcad.api.products import jvp
from srcad.arguments.leaves import (
    Steps,
    expression_of,
    leaf_at,
    leaf_name,
    leaves,
    own_copies,
    with_leaf,
)
from srcad.arguments.request import name_of
from srcad.modes.seeds import mold_of, zeros_of
from srcad.startup.records import dataclass

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
        self, function: Callable[..., Any], places: Sequence[Place], modes: Collection[str],
        where: str,
    ) -> None:  # fmt: skip
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
                self._expect(function, place, found, expected,
                             f"{where}{_at(index)}: in forward mode the slope")  # fmt: skip

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
