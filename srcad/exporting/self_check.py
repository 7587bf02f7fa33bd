"""How an exported module compares its derivative with finite differences, written out into it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcad.exporting.structures import mapped, part_of, with_part

Places = Sequence[tuple[int, Any]]


def compare_gradients(
    name: str, value: Callable[..., Any], gradients: Callable[..., Any], args: Any, places: Places
) -> int:
    """Compare gradients along a random direction with differences; return the exit status."""

    def slope(directions: list[Any], seed: Any) -> float:
        found = gradients(*copy.deepcopy(args))
        return sum(map(inner, found, directions))

    return compared(name, value, slope, args, places, 1.0)


def compare_pullback(
    name: str, value: Callable[..., Any], pullback: Callable[..., Any], args: Any, places: Places
) -> int:
    """Compare a pullback of a random cotangent with differences; return the exit status."""

    def slope(directions: list[Any], seed: Any) -> float:
        _, back = pullback(*copy.deepcopy(args))
        return sum(map(inner, back(seed), directions))

    return compared(name, value, slope, args, places, None)


def compare_tangent(
    name: str, value: Callable[..., Any], tangent: Callable[..., Any], args: Any, places: Places
) -> int:
    """Compare a tangent with differences; return the exit status."""

    def slope(directions: list[Any], seed: Any) -> float:
        _, y_dot = tangent(copy.deepcopy(args), directions)
        return inner(y_dot, seed)

    return compared(name, value, slope, args, places, None)


def compare_jacobian(
    name: str, value: Callable[..., Any], jacobian: Callable[..., Any], args: Any, places: Places
) -> int:
    """Compare random combinations of rows and columns with differences; return the exit status."""

    def slope(directions: list[Any], seed: Any) -> float:
        found = jacobian(*copy.deepcopy(args))
        return sum(product(seed, rows, v) for rows, v in zip(found, directions, strict=True))

    return compared(name, value, slope, args, places, None)


def compare_hessian(
    name: str, value: Callable[..., Any], hessian: Callable[..., Any], args: Any, places: Places
) -> int:
    """Compare the curvature along a direction, by a whole Hessian, with second differences."""

    def slope(directions: list[Any], seed: Any) -> float:
        found, curvature = hessian(*copy.deepcopy(args)), 0.0
        for v, row in zip(directions, found, strict=True):
            blocks = zip(row, directions, strict=True)
            curvature += sum(product(v, block, other) for block, other in blocks)
        return curvature

    return compared(name, value, slope, args, places, 1.0, order=2)


def compare_product(
    name: str, value: Callable[..., Any], product: Callable[..., Any], args: Any, places: Places
) -> int:
    """Compare the product of a Hessian with a direction, twice, with second differences."""

    def slope(directions: list[Any], seed: Any) -> float:
        found = product(copy.deepcopy(args), directions)
        return sum(map(inner, found, directions))

    return compared(name, value, slope, args, places, 1.0, order=2)


def compared(
    name: str,
    value: Callable[..., Any],
    slope: Callable[..., float],
    args: Sequence[Any],
    places: Places,
    seed: Any,
    order: int = 1,
) -> int:
    """Compare a slope, or a curvature, with central differences, and print what came out.

    Return the exit status: 0 if they agree, 1 if not, 2 if there is nothing to compare.
    """
    rng = np.random.default_rng(0)
    directions = [direction_of(part_at(args, place), rng) for place in places]
    try:
        with np.errstate(all="ignore"):
            y = value(*copy.deepcopy(args))
    except (ArithmeticError, LookupError, ValueError) as error:
        kind = type(error).__name__
        print(f"{name}: nothing to compare, the example raises {kind}: {error}")
        return 2
    seed = direction_of(y, rng) if seed is None else seed
    with np.errstate(all="ignore"):
        found = float(slope(directions, seed))
    size = abs(inner(y, seed))
    if not np.isfinite(found + size):
        print(f"{name}: nothing to compare, the derivative is {found} at the example")
        return 2
    best = (np.inf, np.nan)
    for step in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
        ends = []
        for h in (step, -step):
            moved_args = with_parts(args, places, directions, h)
            with np.errstate(all="ignore"):
                ends.append(inner(value(*moved_args), seed))
        there = (ends[0] - ends[1]) / (2 * step)
        if order == 2:
            there = (ends[0] - 2 * inner(y, seed) + ends[1]) / step**2
        scale = max(abs(found), abs(there), 1e-9 * size, 1e-300)
        best = min(best, (abs(there - found) / scale, there))
    agrees = best[0] < tolerance(args) * 100 ** (order - 1)
    word = "ok" if agrees else "DIFFERS"
    print(f"{name}: {word}, slope {found:.6g}, by differences {best[1]:.6g}")
    return 0 if agrees else 1


def unless_marked(name: str, status: int) -> int:
    """Return the exit status for a function with marks, which differences ignore.

    These are ``stop_gradient``, ``hook`` and ``cotangent``: a slope that differs tells nothing.
    """
    if status != 1:
        return status
    print(f"{name}: nothing to compare, a derivative is stopped or changed in the function")
    return 2


def tolerance(args: Any) -> float:
    """How far a slope may be from one by differences: single precision knows less."""
    kinds: list[Any] = []
    mapped(lambda leaf: kinds.append(np.asarray(leaf).dtype), args)
    return 2e-2 if any(d.kind == "f" and d.itemsize < 8 for d in kinds) else 1e-5


def part_at(args: Any, place: tuple[int, Any]) -> Any:
    """Return the argument at a place, or the part of it behind some keys."""
    found = args[place[0]]
    for key in place[1]:
        found = part_of(found, key)
    return found


def with_parts(args: Any, places: Places, directions: Sequence[Any], h: float) -> list[Any]:
    """Return copies of the arguments, of which those at some places are moved."""
    result = copy.deepcopy(list(args))

    def step(x: Any, d: Any) -> Any:
        return x if d is None else moved(x, h * d)

    for place, direction in zip(places, directions, strict=True):
        new = mapped(step, part_at(result, place), direction)
        result[place[0]] = with_part(result[place[0]], place[1], new)
    return result


def moved(x: Any, step: Any) -> Any:
    """Return a number or array a step further, in its own type."""
    if isinstance(x, np.ndarray):
        return np.asarray(x + step, dtype=x.dtype, order="K")
    return type(x)(x + step)


def direction_of(value: Any, rng: Any) -> Any:
    """Return a random direction in the structure of a value; None for what is no real number."""

    def of_leaf(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return np.asarray(rng.normal(size=x.shape), x.dtype) if x.dtype.kind == "f" else None
        return type(x)(rng.normal()) if isinstance(x, float | np.floating) else None

    return mapped(of_leaf, value)


def inner(a: Any, b: Any) -> float:
    """Return the sum of the products of all numbers in two values of one structure."""
    terms = [0.0]

    def of_leaves(x: Any, y: Any) -> None:
        if x is not None and y is not None:
            terms.append(float(np.sum(np.multiply(x, y, dtype=np.float64))))

    mapped(of_leaves, a, b)
    return sum(terms)


def product(left: Any, rows: Any, right: Any) -> float:
    """Return ``left . (rows right)``: rows in the structure of `left`, each in that of `right`."""
    terms = [0.0]

    def of_row(a: Any, row: Any) -> None:
        if a is not None and row is not None:
            mapped(lambda b, block: of_block(a, block, b), right, row)

    def of_block(a: Any, block: Any, b: Any) -> None:
        if b is not None and block is not None:
            terms.append(inner(np.tensordot(block, b, np.ndim(b)), a))

    mapped(of_row, left, rows)
    return sum(terms)


def total(value: Any) -> float:
    """Return the sum of all numbers in a value."""
    terms = [0.0]
    mapped(lambda x: terms.append(float(np.sum(x))), value)
    return sum(terms)
