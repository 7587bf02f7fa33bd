"""One cell: a program, differentiated in a mode, against differences of the plain function.

The value equals that of the plain call to the bit, the arguments stay, a derivative has the
structure, shapes and dtypes that its argument asks for and memory of its own, and its product with
a random direction is that of differences.  Where differences say nothing, since two step sizes or
the two sides disagree, the point is moved and the cell is checked again.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import srcad
from srcad.errors import InvalidIRError, SrcadError
from tests.crossings.trees import (
    along,
    child,
    children,
    direction,
    is_float,
    is_integer,
    leaves,
    mapped,
    moved,
    product,
)
from tests.generator.checker import agrees
from tests.generator.differences import Slope, real_slope
from tests.generator.promises import overlaps, same

POINTS = 4  # that are tried before a cell counts as unsteady
_FINE, _COARSE = 1e-5, 1e-4


class NotApplicable(Exception):
    """A mode or kind of argument that does not exist for a program."""


class Mismatch(Exception):
    """A result that is wrong; the first argument names the promise."""


class Unsteady(Exception):
    """Differences say nothing at a point."""


@dataclass(frozen=True)
class Verdict:
    """How a cell ended: right, refused, wrong, crashed, unsteady, or absent."""

    status: str
    kind: str = ""  # the code of a refusal, the broken promise, the exception
    message: str = ""  # for people
    redrawn: int = 0  # how many points were moved before


@dataclass(frozen=True)
class Given:
    """A function with everything that a mode may need."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    wrt: tuple[int, ...]  # positions of the arguments with floats
    u: Any  # a cotangent of the result
    v: tuple[Any, ...]  # a tangent for each argument, None for those without floats


@dataclass(frozen=True)
class Mode:
    """A way to a derivative, and the form in which it gives it.

    The form is one of `gradient`, `tangent`, `blocks`, `curvature`, `bend` and `ones bend`; in
    front of it stands `value` if the mode returns a pair with the value of the function.
    """

    function: Callable[[Given], Any]
    form: str
    # The function has to return a number: the program's result is weighed by `u` otherwise.
    scalar: bool = True
    # The cotangent has ones only: the sum of the result is differentiated.
    ones: bool = False
    # Only the first of several arguments is differentiated.
    single: bool = False
    # Too expensive to be checked where no mode is named.
    slow: bool = False
    # Compiled code: the last digits of the value may differ.
    nearly: bool = False

    @property
    def order(self) -> int:
        """Which derivative it is."""
        return 2 if self.form.rpartition(", ")[2] in ("curvature", "bend", "ones bend") else 1


@dataclass(frozen=True)
class Program:
    """A function, and what makes its arguments anew."""

    f: Callable[..., Any]
    make: Callable[[], tuple[Any, ...]]
    # Directions of square matrices are symmetric.
    symmetric: bool = False
    # A part counts as constant: derivatives of the second order are not those of differences.
    stops: bool = False


def weighed(f: Callable[..., Any], u: Any) -> Callable[..., Any]:
    """The product of a function's result with a cotangent, as a function."""

    def number(*args: Any) -> Any:
        return weight(u, f(*args))

    return number


def weight(u: Any, y: Any) -> Any:
    """The real inner product of two structures."""
    if u is None:
        return 0.0
    if isinstance(u, tuple | list):
        total = 0.0
        for a, b in zip(u, y):
            total = total + weight(a, b)
        return total
    if isinstance(u, dict):
        total = 0.0
        for key in u:
            total = total + weight(u[key], y[key])
        return total
    return np.sum(np.real(np.conj(u) * y))


def check(make: Callable[[int], Program], mode: Mode, seed: int = 0) -> Verdict:
    """Check one cell; `make` returns the program at the point of a number.

    What is wrong at one point and direction has to be wrong at the next one, too.
    """
    failed: Verdict | None = None
    for attempt in range(POINTS):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            verdict = _checked(make, mode, attempt, seed)
        if verdict.status == "wrong" and verdict.kind == "derivative" and failed is None:
            failed = verdict
        elif verdict.status != "unsteady":
            return replace(verdict, redrawn=attempt)
    return replace(failed or verdict, redrawn=POINTS)


def _checked(make: Callable[[int], Program], mode: Mode, attempt: int, seed: int) -> Verdict:
    try:
        case = Case(make(attempt), mode, np.random.default_rng([seed, attempt]))
    except NotApplicable as error:
        return Verdict("absent", str(error))
    except Exception as error:
        return Verdict("crashed", f"checker: {type(error).__name__}", str(error)[:300])
    try:
        case.run()
    except NotApplicable as error:
        return Verdict("absent", str(error))
    except Unsteady as error:
        return Verdict("unsteady", "differences", str(error))
    except Mismatch as error:
        return Verdict("wrong", error.args[0], str(error.args[1]))
    except SrcadError as error:
        status = "crashed" if isinstance(error, InvalidIRError) else "refused"
        return Verdict(status, error.code, error.sentence)
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "/srcad/" in f.filename]
        where = f" in {Path(frames[-1].filename).name}:{frames[-1].name}" if frames else ""
        return Verdict("crashed", f"{type(error).__name__}{where}", str(error)[:300])
    return Verdict("right")


def wider(leaf: Any) -> Any:
    """Integers and single precision in double precision; differences need it."""
    if is_integer(leaf) or (is_float(leaf) and not isinstance(leaf, float | complex)):
        dtype = np.result_type(np.asarray(leaf).dtype, np.float64)
        x = np.array(leaf, dtype)  # one that can be written, in its own memory
        return x if isinstance(leaf, np.ndarray) else x[()]
    return leaf


class Case:
    """One program in one mode at one point."""

    def __init__(self, program: Program, mode: Mode, rng: np.random.Generator) -> None:
        self.program, self.mode = program, mode
        if program.stops and mode.order == 2:
            raise NotApplicable("a part counts as constant")
        self.args = program.make
        wide = self.args()
        active = [k for k, x in enumerate(wide) if any(map(is_float, leaves(x)))]
        counted = [k for k, x in enumerate(wide) if any(map(is_integer, leaves(x)))]
        if program.symmetric and any(np.iscomplexobj(x) for x in leaves(wide) if is_float(x)):
            raise NotApplicable("the argument is not Hermitian")
        # Integers are differentiated by where there is nothing else.
        self.wrt = tuple(active or counted)[: 1 if mode.single else None]
        if not self.wrt:
            raise NotApplicable("no argument has floats")
        self.is_exact = bool(active)
        self.wide = tuple(
            mapped(wider, x) if k in self.wrt and self._is_narrow(x) else x
            for k, x in enumerate(wide)
        )
        v = tuple(
            direction(x, rng, program.symmetric) if k in self.wrt else None
            for k, x in enumerate(self.wide)
        )
        self.v = v
        self.f = program.f
        self.plain = self._plain()
        if not any(map(is_float, leaves(self.plain))) and not any(
            map(is_integer, leaves(self.plain))
        ):
            raise NotApplicable("the result has no numbers")
        self.u = self._cotangent(rng)
        self.weights: Any = None  # of a result that is no number, where the mode needs one
        is_number = isinstance(self.plain, float | int) or (
            isinstance(self.plain, np.ndarray | np.generic) and self.plain.ndim == 0
            and not np.iscomplexobj(self.plain)
        )  # fmt: skip
        if mode.scalar:
            if not is_number:
                self.weights = self.u
                self.f = weighed(self.f, self.u)
                self.plain = self._plain()
            self.u = 1.0

    def _is_narrow(self, tree: Any) -> bool:
        return any(
            (is_integer(x) and not self.is_exact) or np.asarray(x).dtype in ("f4", "c8")
            for x in leaves(tree)
            if is_float(x) or is_integer(x)
        )

    def _plain(self) -> Any:
        try:
            return self.f(*self.args())
        except Exception as error:
            raise NotApplicable(f"the plain call raises {type(error).__name__}: {error}") from None

    def _cotangent(self, rng: np.random.Generator) -> Any:
        whole = mapped(lambda y: wider(y) if is_integer(y) else y, self.plain)
        if self.mode.ones:
            return mapped(lambda y: np.ones_like(y)[()] if is_float(y) else None, whole)
        return direction(whole, rng)

    @property
    def given(self) -> Given:
        """What the mode is called with, in arrays of its own."""
        args = self.args()
        tangents = tuple(None if d is None else _as(args[k], d) for k, d in enumerate(self.v))
        return Given(self.f, args, self.wrt, self.u, tangents)

    # ------------------------------------------------------------------------- promises
    def run(self) -> None:
        """Call the mode and compare all that it returns."""
        given = self.given
        found = self.mode.function(given)
        head, _, form = self.mode.form.rpartition(", ")
        value = None
        if head == "value":
            value, found = found
            self.value(value)
        if not _same(given.args, self.args()):
            raise Mismatch("argument changed", _brief(given.args))
        if overlaps(_arrays(found), _arrays([*given.args, value])):
            raise Mismatch("shared memory", _brief(found))
        try:
            got = self.contracted(form, found)
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            raise Mismatch("kind", f"{error}: {_brief(found)}") from None
        self.compare(got, self.wanted(form))

    def value(self, value: Any) -> None:
        """The value is that of the plain call."""
        if self.mode.nearly:
            right = _same_up_to_rounding(self.plain, value, 1e-10)
        else:
            right = _same(value, self.plain)
        if not right:
            raise Mismatch("value", f"{_brief(value)} is not {_brief(self.plain)}")

    def compare(self, got: float, want: Slope) -> None:
        """A product with the derivative, and the same by differences."""
        narrow = any(
            np.asarray(x).dtype in ("f4", "c8") for x in leaves([*self.args(), self.plain])
            if is_float(x)
        )  # fmt: skip
        scale = max(1.0, abs(want.value))
        if not np.isfinite(want.value) or want.error > 1e-5 * scale:
            raise Unsteady(str(want))
        if not (agrees(got, want) or (narrow and abs(got - want.value) <= 2e-3 * scale)):
            raise Mismatch("derivative", f"{got!r}, differences say {want.value!r}")

    # ---------------------------------------------------------------------- differences
    def number(self, step: float) -> float:
        """The product of result and cotangent, one step along the direction."""
        args = tuple(moved(x, d, step) for x, d in zip(self._fresh(), self.v, strict=True))
        y = self.f(*args)
        return sum(product(u, part) for part, u in along(y, self.u))

    def _fresh(self) -> tuple[Any, ...]:
        made = self.args()
        return tuple(
            mapped(wider, x) if k in self.wrt and self._is_narrow(x) else x
            for k, x in enumerate(made)
        )

    def _slope_of(self, number: Callable[[float], float]) -> Slope:
        try:
            centre = number(0.0)
            scale = max(1.0, abs(centre)) if np.isfinite(centre) else 1.0
            best = real_slope(lambda step: (number(step) / scale, []))
            gaps = [
                abs(number(h) - 2 * centre + number(-h)) / h for h in (_COARSE, _FINE)
            ]  # fmt: skip
        except SrcadError:
            raise
        except Exception as error:
            raise Unsteady(f"the plain call raises {error!r} nearby") from None
        assert best is not None
        if not gaps[1] <= 0.3 * gaps[0] + 1e-4 * max(1.0, abs(best.value * scale)):
            raise Unsteady(f"the sides differ: {gaps}")
        return Slope(best.value * scale, best.error * scale)

    @cached_property
    def slope(self) -> Slope:
        """The first derivative along the direction."""
        if _same_up_to_rounding(self.plain, self.f(*self._fresh())):
            return self._slope_of(self.number)
        raise Unsteady("double precision has another value")

    def bend(self, weights: tuple[Any, ...]) -> Slope:
        """The derivative of a product of the gradient with weights along the direction."""
        gradient = srcad.grad(self.f, wrt=self.wrt)

        def number(step: float) -> float:
            args = tuple(moved(x, d, step) for x, d in zip(self._fresh(), self.v, strict=True))
            found = gradient(*args)
            return sum(
                product(g, w)
                for k, bar in zip(self.wrt, found, strict=True)
                for (w, g) in along(weights[k], bar)
            )

        return self._slope_of(number)

    # ---------------------------------------------------------------------------- forms
    def wanted(self, form: str) -> Slope:
        """What differences say of a derivative of a form."""
        if form == "ones bend":
            ones = [mapped(lambda d: None if d is None else np.ones_like(d), d) for d in self.v]
            return self.bend(tuple(ones))
        return self.bend(self.v) if form in ("curvature", "bend") else self.slope

    def contracted(self, form: str, found: Any) -> float:
        """The product of a derivative with the directions; its structure is compared, too."""
        if form == "tangent":
            return self._with_cotangent(found)
        if form == "blocks":
            return self._of_blocks(self.plain, self.u, found)
        if form == "curvature":
            args = self.args()
            rows, moves = (tuple(tree[k] for k in self.wrt) for tree in (args, self.v))
            if self.mode.single:
                return self._of_blocks(rows[0], moves[0], found)
            return self._of_blocks(rows, moves, found)
        return self._with_tangents(found)

    def _with_cotangent(self, found: Any) -> float:
        for y, dot in along(self.plain, found):
            if is_float(y) and dot is not None:
                _like_leaf(y, dot, ordered=False)
        return sum(product(u, dot) for u, dot in along(self.u, found))

    def _with_tangents(self, found: Any) -> float:
        if not isinstance(found, tuple) or len(found) != len(self.wrt):
            raise Mismatch("kind", f"{len(self.wrt)} gradients expected, not {found!r}")
        args, got = self.args(), 0.0
        for k, bar in zip(self.wrt, found, strict=True):
            assert_like(args[k], bar)
            got += sum(product(g, d) for d, g in along(self.v[k], bar))
        return got

    def _of_blocks(self, like: Any, u: Any, blocks: Any) -> float:
        """The product of blocks with both directions.

        A tuple of arguments is outside, inside it the structure of the result, and inside that the
        structure of an argument.
        """
        wholes = (blocks,) if self.mode.single else blocks
        return sum(
            self._of_rows(like, u, whole, self.v[k])
            for k, whole in zip(self.wrt, wholes, strict=True)
        )

    def _of_rows(self, like: Any, u: Any, blocks: Any, v: Any) -> float:
        if children(like):
            return sum(
                self._of_rows(part, child(u, key, like), child(blocks, key, like), v)
                for key, part in children(like)
            )
        if u is None or blocks is None:
            return 0.0
        total = 0.0
        for d, part in along(v, blocks):
            if d is None or part is None:
                continue
            shape = np.shape(u) + np.shape(d)
            if np.shape(part) != shape:
                raise Mismatch("kind", f"a block of shape {np.shape(part)}, not {shape}")
            rows = np.reshape(np.asarray(part), (np.size(u), np.size(d)))
            if np.iscomplexobj(d):
                rows = np.conjugate(rows)
            total += product(np.ravel(u), rows @ np.ravel(d))
        return total


def _brief(value: Any) -> str:
    """One line about a value."""
    return " ".join(repr(value).split())[:160]


def _as(argument: Any, move: Any) -> Any:
    """A direction in the dtypes of an argument, None for its integers."""
    moves = iter([d for _, d in along(argument, move)])

    def one(leaf: Any) -> Any:
        d = next(moves)
        if d is None or not is_float(leaf):
            return None if not is_integer(leaf) or d is None else d
        if isinstance(leaf, np.ndarray):
            return np.asarray(d, leaf.dtype)
        return type(leaf)(d) if isinstance(leaf, np.generic) else d

    return mapped(one, argument)


def assert_like(argument: Any, gradient: Any) -> None:
    """A gradient has the structure of its argument, and the kinds of numbers that follow."""
    if children(argument) and gradient is not None:
        if type(gradient) is not type(argument):
            raise Mismatch("kind", f"{type(gradient)} for {type(argument)}")
        for key, part in children(argument):
            try:
                bar = child(gradient, key, argument)
            except (AttributeError, IndexError, KeyError):
                raise Mismatch("kind", f"{key!r} is missing in {gradient!r}") from None
            assert_like(part, bar)
    elif children(argument):
        if any(map(is_float, leaves(argument))):
            raise Mismatch("kind", f"None for {argument!r}")
    elif is_float(argument):
        if gradient is None:
            raise Mismatch("kind", f"None for {argument!r}")
        _like_leaf(argument, gradient)
    elif gradient is not None and is_integer(argument):
        wanted = float if isinstance(argument, int) else (np.float64, np.ndarray)
        if not isinstance(gradient, wanted) or np.shape(gradient) != np.shape(argument):
            raise Mismatch("kind", f"{gradient!r} for {argument!r}")


def _like_leaf(leaf: Any, bar: Any, ordered: bool = True) -> None:
    if isinstance(leaf, np.ndarray | np.generic):
        alike = type(bar) is type(leaf) and bar.shape == leaf.shape and bar.dtype == leaf.dtype
    else:
        alike = type(bar) is (complex if isinstance(leaf, complex) else float)
    if not alike:
        raise Mismatch("kind", f"{bar!r} for {leaf!r}")
    if ordered and isinstance(leaf, np.ndarray):
        in_order = bar.flags.c_contiguous or (leaf.flags.f_contiguous and bar.flags.f_contiguous)
        if not in_order:
            raise Mismatch("order", f"strides {bar.strides} of shape {bar.shape}")


def _arrays(tree: Any) -> list[Any]:
    return [leaf for leaf in leaves(tree) if isinstance(leaf, np.ndarray)]


def _skeleton(tree: Any) -> Any:
    """The types and keys of a structure."""
    if children(tree):
        return type(tree), [(key, _skeleton(part)) for key, part in children(tree)]
    return None


def _comparable(leaf: Any) -> Any:
    """A number as bytes, so that nan is equal to itself; what is no number by its type."""
    if isinstance(leaf, np.generic):
        return (type(leaf), leaf.tobytes())
    if isinstance(leaf, float | complex):
        return (type(leaf), np.asarray(leaf).tobytes())
    if isinstance(leaf, np.ndarray | int | str | None):
        return leaf
    return type(leaf)


def _same(got: Any, want: Any) -> bool:
    if _skeleton(got) != _skeleton(want):
        return False
    return same([*map(_comparable, leaves(got))], [*map(_comparable, leaves(want))])


def _same_up_to_rounding(a: Any, b: Any, tolerance: float = 1e-4) -> bool:
    return all(
        np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True)
        for x, y in along(a, b)
        if is_float(x) or is_integer(x)
    )
