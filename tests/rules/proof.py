"""Checks of every rule, generated from the table: rows, samples, kinks and special values.

`checks_of` yields the checks of a row.  Each compares one property of the compiled derivative
(its kind) at one variation of one sample call, and runs alone.  ``python -m tests.rules --all``
runs all of them, ``python -m tests.rules NAME`` those of one function.

The kinds:

``value``
    the results of `value_and_grad` and of `pullback` are those of the plain call: type, dtype,
    shape, bits.
``reverse``
    the gradient of ``<u, y + y**2 / 2>`` is that of central differences; its shapes and dtypes are
    those of the operands.  Operands of other dtypes than float64: that of the float64 gradient.
``forward``
    ``<u, J v>`` by `jvp` is ``<J' u, v>`` by `pullback`.
``second``
    a Hessian product by `hvp` is the difference of gradients.
``twice``
    the gradient of ``<gradient, v>`` is that Hessian product.
``sequence``
    one function called with many dtypes, ranks and shapes in turn has the derivatives of functions
    that are called with one of them.
``error``
    where the plain call raises, so does the derivative.
``kink``, ``special``
    agreed derivatives at special points; both modes agree at infinities, nans and zeros.
``option``, ``option twice``
    an option may be written in any way (`tests.rules.spellings`).
``dtype``
    the rule, run in plain NumPy, has cotangents of float32 for operands of float32.
``constant``
    nothing flows through a function that is declared non-differentiable.

Differences are extrapolated (Ridders, "Accurate computation of F'(x) and F'(x)F''(x)", 1982): the
tableau gives an error of its own, from which the tolerance follows.  Where that error is too large
to tell a defect, the outcome is "undecided" and is counted apart.
"""

from __future__ import annotations

import fnmatch
import functools
import itertools
import linecache
import math
import types
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.spatial import distance

import srcad
from srcad import rules
from srcad.rules.formulas import spelling
from tests.rules import spellings
from tests.rules.harness import in_float32, leaves, rebuilt, symmetrised, widened_by_rule
from tests.rules.samples import SYMMETRISED, Vocabulary, calls_of, is_on_numbers, seed_of, told

Call = tuple[Any, tuple[Any, ...], dict[str, Any]]
Operands = tuple[Any, ...]

DERIVATIVES = ("value", "reverse", "forward", "second", "twice")
FIRST = DERIVATIVES[:3]
MANY = 8  # samples of a row that are varied in memory order and dtype; of others only the shape
REFUSALS = (
    srcad.errors.UnsupportedSyntaxError, srcad.errors.UnsupportedTypeError,
    srcad.errors.MissingRuleError, srcad.errors.NotDifferentiableError,
    srcad.errors.MutationError,
)  # fmt: skip

# Defects that are known: the reason, and patterns of the names of the checks that find it.  A check
# of this list that finds nothing is a failure.
KNOWN: dict[str, tuple[str, ...]] = {
    "from the ninth list of dtypes and ranks on, tangents have other dtypes than the value": (
        "np.var/4/sequence/forward",
        "np.var/5/sequence/forward",
        "np.nanstd/4/sequence/forward",
        "np.nanstd/5/sequence/forward",
        "np.std/4/sequence/forward",
        "np.std/5/sequence/forward",
    ),
    "SciPy's quantiles of the F distribution are accurate to 2e-5 in float32": (
        "scipy.stats.f.isf/0/float32/reverse",
        "scipy.stats.f.isf/0/float32, size 1, first axis/reverse",
        "scipy.stats.f.isf/1/float32/reverse",
        "scipy.stats.f.isf/1/float32, size 1, first axis/reverse",
        "scipy.stats.f.isf/2/float32/reverse",
        "scipy.stats.f.isf/2/float32, size 1, first axis/reverse",
    ),
    "0 / 5e-324 by its denominator: 0 forwards, nan in reverse (y_bar / b overflows)": (
        "operator.truediv/special/0.0/modes",
        "operator.truediv/special/-0.0/modes",
        "operator.truediv/special/5e-324 second/modes",
        "np.divide/special/0.0/modes",
        "np.divide/special/-0.0/modes",
        "np.divide/special/5e-324 second/modes",
    ),
    "the zero product by hvp for a float32 number is the Python float 0.0": (
        "np.copysign/elements/shapes (3,) () float32/second",
        "np.copysign/elements/float64 array, 0-d float32/second",
        "np.copysign/elements/float32 array, 0-d float32/second",
        "np.copysign/elements/0-d float32, 0-d float32/second",
        "np.imag/elements/shape () float32/second",
        "np.imag/elements/0-d float32/second",
    ),
    "the zero tangent by jvp of a float32 number is a float64": (
        "np.imag/elements/shape () float32/forward",
        "np.imag/elements/0-d float32/forward",
    ),
    "SciPy integrates two samples of float32 in float32, and more of them in float64": (
        "cumulative_simpson/1/float32/forward",
        "cumulative_simpson/1/float32, size 1, first axis/forward",
    ),
    "the built-in max of an empty or 0-d array raises IndexError": (
        "max/3/size 0, first axis/error",
        "max/3/0-d/error",
        "max/3/float32, size 0, first axis/error",
    ),
    "np.rollaxis of a 0-d array raises ZeroDivisionError in place of AxisError": (
        "np.rollaxis/?/0-d/error",
    ),
    "np.tensordot of 0-d arrays raises another error than NumPy": (
        "np.tensordot/0/0-d/error",
        "np.tensordot/1/0-d/error",
        "np.tensordot/3/0-d/error",
        "np.tensordot/4/0-d/error",
        "np.tensordot/5/0-d/error",
        "np.tensordot/6/0-d/error",
        "np.tensordot/7/0-d/error",
        "np.linalg.tensordot/0/0-d/error",
    ),
    "the derivative of lpmv at -1 and 1 is 0 / 0": (
        "np.lpmv/?/integers 0/forward",
        "np.lpmv/?/integers 0/forward",
    ),
    "the tangent of SciPy's norm of float32 is a float where few entries give a float32": (
        "norm/0/float32, size 0, first axis/forward",
        "norm/4/float32, size 1, first axis/forward",
        "norm/4/float32, size 0, first axis/forward",
    ),
    "SciPy computes kerp with 7 digits": ("np.kerp/elements/int8 array/reverse",),
    "SciPy solves systems of no unknowns for a right-hand side of any length": (
        "lstsq/[02345]/size 0, last axis/*",
    ),
    "SciPy's products and solutions of a Toeplitz matrix without rows have no columns either": (
        "solve_toeplitz/[13]/size 0, first axis/value",
        "solve_toeplitz/[13]/size 0, first axis/reverse",
        "solve_toeplitz/[13]/size 0, first axis/forward",
        "solve_toeplitz/[13]/size 0, first axis/second",
        "solve_toeplitz/[13]/float32, size 0, first axis/*",
        "matmul_toeplitz/[13]/size 0, first axis/*",
        "matmul_toeplitz/[13]/float32, size 0, first axis/value",
        "matmul_toeplitz/[13]/float32, size 0, first axis/reverse",
        "matmul_toeplitz/1/float32, size 0, first axis/forward",
    ),
    "the tangent of both factors of the matrix 0 is nan; only one of them has none": (
        "ldl/[13]/all ones/forward",
    ),
    "the derivative of a rotation of float32 is off by 1.3 times what rounding allows": (
        "orthogonal_procrustes/1/float32/forward",
    ),
    "an angle of 0 between subspaces has no derivative": (
        "subspace_angles/[012]/all ones/reverse",
        "subspace_angles/[012]/all ones/second",
        "subspace_angles/3/size 1, first axis/reverse",
        "subspace_angles/3/size 1, first axis/second",
    ),
    "np.cov of no variables does not read the weights": (
        "np.cov/10/size 0, first axis/*",
        "np.cov/11/size 0, first axis/*",
        "np.cov/12/size 0, first axis/*",
    ),
    "np.histogram without any edges raises IndexError": (
        "np.histogram/2/size 0, first axis/*",
        "np.histogram/2/float32, size 0, first axis/*",
    ),
    "np.polymul of no coefficients raises ValueError; NumPy takes them for 0": (
        "np.polymul/?/size 0, first axis/reverse",
        "np.polymul/?/size 0, first axis/forward",
        "np.polymul/?/size 0, first axis/second",
        "np.polymul/?/float32, size 0, first axis/reverse",
        "np.polymul/?/float32, size 0, first axis/forward",
    ),
    "np.poly of no zeros is the number 1.0, not an array": (
        "np.poly/?/size 0, first axis/*",
        "np.poly/?/float32, size 0, first axis/*",
    ),
    "the derivative of a fit of deficient rank is nan": (
        "np.polyfit/?/size 1, first axis/reverse",
        "np.polyfit/?/size 1, first axis/second",
        "np.polyfit/1/all ones/reverse",
        "np.polyfit/1/all ones/second",
    ),
    "cotangents of np.block for lists of lists, one argument, are float64": (
        "np.block/2/float32/reverse",
        "np.block/2/float32/second",
        "np.block/2/float32, Fortran/reverse",
    ),
    "NumPy's hermeder leaves the axis of one coefficient at the beginning": (
        "np.polynomial.hermite_e.hermeder/4/size [01], last axis/*",
    ),
    "np.linalg.pinv takes an array of no entries for symmetric, whatever its shape": (
        "np.linalg.pinv/3/size 0, *",
        "np.linalg.pinv/3/float32, size 0, first axis/*",
    ),
    "SciPy's singular values of a stack without matrices have no axis of their own": (
        "svdvals/2/size 0, first axis/*",
        "svdvals/2/float32, size 0, first axis/*",
    ),
    "SciPy solves no equations of empty matrices, as the derivative asks for": (
        "sqrtm/1/size 0, first axis/*",
        "sqrtm/1/float32, size 0, first axis/*",
        "solve_sylvester/0/size 0, *",
        "solve_sylvester/0/float32, size 0, first axis/*",
    ),
    "np.polymul takes no coefficients for the polynomial 0; its gradient raises ValueError": (
        "np.polymul/?/size 0, first axis/value",
        "np.polymul/?/float32, size 0, first axis/value",
    ),
    "the angle of numbers is constant, of numbers without their mean undefined": (
        "cdist/2/all ones/second",
        "pdist/4/all ones/second",
        "pdist/4/all ones/reverse",
        "pdist/4/all ones/forward",
        "cosine/0/float32, size 1, first axis/forward",
        "cosine/0/float32, size 1, first axis/reverse",
        "cosine/1/size 1, first axis/reverse",
    ),
    "NumPy stretches one interval over several points": ("np.trapezoid/7/leading axis/*",),
}  # fmt: skip


def is_refusal(error: Exception) -> bool:
    """Return True if srcad refuses a program, or an integer that nothing can flow through."""
    return isinstance(error, REFUSALS) or (
        isinstance(error, srcad.errors.WrtError) and "no derivative flows" in str(error)
    )


class Outcome(NamedTuple):
    """The result of a check."""

    # "right", "wrong", "refused" or "undecided"
    verdict: str
    # The reason of a refusal, or the numbers that differ.
    text: str = ""


RIGHT = Outcome("right")


class Check(NamedTuple):
    """One property of one row at one variation of a sample."""

    # Unique and the same in every process: it selects the check on the command line.
    name: str
    # The property; the module's docstring lists them.
    kind: str
    # Computes the outcome; exceptions of it are outcomes as well.
    test: Callable[[], Outcome]

    def run(self) -> Outcome:
        """Return the outcome; an unexpected exception is a wrong one."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return self.test()
            except Exception as error:
                if is_refusal(error):
                    return Outcome("refused", error.sentence)
                return Outcome("wrong", f"{type(error).__name__}: {error}".splitlines()[0])

    def known(self) -> str | None:
        """Return the reason why this check is expected to fail, or None."""
        for reason, patterns in KNOWN.items():
            if any(fnmatch.fnmatchcase(self.name, pattern) for pattern in patterns):
                return reason
        return None


def judged(check: Check) -> Outcome:
    """Run a check; a known defect counts as "known", and as wrong when nothing is found."""
    reason, found = check.known(), check.run()
    if reason is None:
        return found
    if found.verdict == "wrong":
        return Outcome("known", reason)
    return Outcome("wrong", f"the known defect is not found ({found.verdict}): {reason}")


# ------------------------------------------------------------------------ programs
class Program:
    """A sample call as two functions of its operands, and their derivatives.

    ``g(x0, ..)`` is the call.  ``f(x0, .., u0, ..)`` is a weighted sum of ``y + y**2 / 2`` over its
    floating-point results, so that second derivatives of linear functions are not zero.
    """

    def __init__(self, call: Call) -> None:
        """Write both functions; nothing is compiled before it is needed."""
        target, args, kwargs = call
        operands: list[Any] = []
        namespace: dict[str, Any] = {"np": np, "target": target, "inf": np.inf, "nan": np.nan}

        def written(place: int | str, given: Any) -> str:
            if spellings._is_operand(target, place, given):
                operands.append(given)
                return f"x{len(operands) - 1}"
            text = spellings._text(given)
            if text is None:
                text = f"OTHER{len(namespace)}"
                namespace[text] = given
            return text

        inputs = [written(k, a) for k, a in enumerate(args)]
        inputs += [f"{name}={written(name, a)}" for name, a in kwargs.items()]
        self.target = target
        terms = args[0].partition("->")[0].split(",") if args and isinstance(args[0], str) else []
        is_diagonal = any(len(set(term)) < len(term) for term in terms)
        # NumPy reads beyond the array in np.einsum("ii->i", np.zeros((0, 3))), np.fft.hfft([], 7).
        inverse = (np.fft.hfft, np.fft.irfft, np.fft.irfft2, np.fft.irfftn)
        # np.interp refuses no data points, but not where no point is asked for.
        self.is_undefined_if_empty = is_diagonal or target in (*inverse, np.interp)
        # SciPy reads beyond weights, or a matrix VI, that are shorter than the points.
        is_weighted = any(name in kwargs for name in ("w", "V", "VI"))
        self.is_undefined_if_cut = is_weighted and target in (distance.cdist, distance.pdist)
        # A product A.T @ B of single rows has the rank 1, which determines no rotation.
        self.is_undefined_if_cut |= target is linalg.orthogonal_procrustes
        self.operands: Operands = tuple(operands)
        self.rank = len(operands)
        self._globals = namespace
        self._call = spellings._call_text(target, inputs)
        takes = ", ".join(f"x{k}" for k in range(self.rank))
        self.g = _function("g", f"def g({takes}):\n    return {self._call}\n", namespace)
        self._totals: dict[str, Derivatives] = {}

    def of(self, y: Any) -> Derivatives | None:
        """Return the weighted sum for results of the structure of `y`; None without floats."""
        terms: list[str] = []
        count = 0
        parts = (
            [(f"y[{k}]", part) for k, part in enumerate(y)]
            if isinstance(y, list | tuple)
            else [("y", y)]
        )
        for text, part in parts:
            if isinstance(part, list | tuple) or not is_inexact(part):
                continue
            for view in (f"{text}.real", f"{text}.imag") if np.iscomplexobj(part) else (text,):
                terms.append(f"np.sum(u{count} * ({view} + 0.5 * {view} * {view}))")
                count += 1
        if not terms or not self.rank:
            return None
        text = " + ".join(terms)
        if text not in self._totals:
            takes = [f"x{k}" for k in range(self.rank)] + [f"u{k}" for k in range(count)]
            source = f"def f({', '.join(takes)}):\n    y = {self._call}\n    return {text}\n"
            self._totals[text] = Derivatives(_function("f", source, self._globals), self.rank)
        return self._totals[text]


class Programs:
    """The programs of one call, one for each list of types, dtypes and ranks of its operands.

    A check is reproducible by its name only if it does not depend on what else a program was
    compiled for; one program of many signatures is the subject of ``sequence``.
    """

    def __init__(self, call: Call) -> None:
        """Begin without programs."""
        self._call = call
        self._made: dict[Any, Program] = {}

    def of(self, operands: Operands) -> Program:
        """Return the program for operands of these types."""
        key = tuple((type(x), getattr(x, "dtype", None), np.ndim(x)) for x in leaves(operands))
        if key not in self._made:
            self._made[key] = Program(self._call)
        return self._made[key]


class Derivatives:
    """A function with its derivatives by the first `rank` arguments, each compiled once."""

    def __init__(self, f: Callable[..., Any], rank: int) -> None:
        """Wrap `f`; nothing is compiled before the first call."""
        self.f, self.rank, self.wrt = f, rank, tuple(range(rank))
        self._twice: dict[tuple[str, ...], Callable[..., Any]] = {}

    @functools.cached_property
    def value_and_grad(self) -> Callable[..., Any]:
        """``f`` and the tuple of its cotangents."""
        return srcad.value_and_grad(self.f, wrt=self.wrt)

    @functools.cached_property
    def gradient(self) -> Callable[..., Any]:
        """The tuple of cotangents."""
        return srcad.grad(self.f, wrt=self.wrt)

    @functools.cached_property
    def hvp(self) -> Callable[..., Any]:
        """The Hessian product; the tuple of directions is the last argument."""
        return srcad.hvp(self.f, wrt=self.wrt)

    def twice(self, operands: Operands) -> Callable[..., Any]:
        """The gradient of ``<gradient, v>``; directions are arguments after the weights."""
        paths = _paths("bars", operands)
        key = tuple(paths)
        if key not in self._twice:
            takes = [f"x{k}" for k in range(self.rank)]
            v = [f"v{k}" for k in range(len(paths))]
            sums = " + ".join(f"np.sum({p} * {n})" for p, n in zip(paths, v, strict=True))
            source = (
                f"def s({', '.join(takes)}, weights, {', '.join(v)}):\n"
                f"    bars = gradient({', '.join(takes)}, *weights)\n"
                f"    return {sums}\n"
            )
            s = _function("s", source, {"np": np, "gradient": self.gradient})
            self._twice[key] = srcad.grad(s, wrt=self.wrt)
        return self._twice[key]


def _paths(name: str, tree: Any) -> list[str]:
    """The expressions of the leaves of a structure."""
    if not isinstance(tree, list | tuple):
        return [name]
    return [text for k, part in enumerate(tree) for text in _paths(f"{name}[{k}]", part)]


_NUMBERS = itertools.count()


def _function(name: str, text: str, names: dict[str, Any]) -> Callable[..., Any]:
    namespace = types.ModuleType("proof")
    namespace.__dict__.update(names)
    file = f"<proof {next(_NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), namespace.__dict__)
    made: Callable[..., Any] = getattr(namespace, name)
    return made


# ------------------------------------------------------------------------ numbers
def is_inexact(x: Any) -> bool:
    """Return True if a leaf has floating-point or complex numbers."""
    return isinstance(x, float | complex) or getattr(x, "dtype", np.dtype(bool)).kind in "fc"


def is_integer(x: Any) -> bool:
    """Return True if a leaf has integers or bools."""
    return isinstance(x, int) or getattr(x, "dtype", np.dtype(float)).kind in "biu"


def same(got: Any, want: Any) -> str | None:
    """Return the first difference of two results in type, dtype, shape or bits; None if none."""
    if isinstance(want, list | tuple):
        if type(got) is not type(want) or len(got) != len(want):
            return f"{type(got).__name__} is not {type(want).__name__}"
        found = (same(a, b) for a, b in zip(got, want, strict=True))
        return next((text for text in found if text), None)
    if type(got) is not type(want):
        return f"type {type(got).__name__} is not {type(want).__name__}"
    if isinstance(want, np.ndarray | np.generic) and got.dtype != want.dtype:
        return f"dtype {got.dtype} is not {want.dtype}"
    if np.shape(got) != np.shape(want):
        return f"shape {np.shape(got)} is not {np.shape(want)}"
    inexact = is_inexact(want)
    if not np.array_equal(got, want, equal_nan=inexact):
        return f"value {got!r} is not {want!r}".replace("\n", "")
    if inexact and not all(
        np.array_equal(np.signbit(part(got)), np.signbit(part(want)))
        for part in (np.real, np.imag)
        if not np.isnan(part(want)).any()
    ):
        return f"sign of zero: {got!r} is not {want!r}".replace("\n", "")
    return None


def flat(parts: list[Any]) -> Any:
    """All numbers of some leaves, in float64."""
    if not parts:
        return np.zeros(0)
    return np.concatenate([np.ravel(np.asarray(part, float)) for part in parts])


def filled(operands: Any, bars: Any) -> list[Any]:
    """The leaves of cotangents, with zeros for None."""
    if isinstance(operands, list | tuple):
        parts = [None] * len(operands) if bars is None else bars
        return [b for o, p in zip(operands, parts, strict=True) for b in filled(o, p)]
    if bars is not None:
        return [bars]
    zeros = np.zeros(np.shape(operands))
    return [zeros if is_integer(operands) else like(operands, zeros)]


def like(leaf: Any, numbers: Any) -> Any:
    """Return numbers in the type, dtype and shape of a leaf."""
    if isinstance(leaf, np.ndarray):
        return np.asarray(numbers, leaf.dtype)
    return leaf.dtype.type(numbers) if isinstance(leaf, np.generic) else type(leaf)(numbers)


def widened(leaf: Any) -> Any:
    """Return the same numbers in float64."""
    if isinstance(leaf, np.ndarray):
        return leaf.astype(float)
    return np.float64(leaf) if isinstance(leaf, np.generic) else float(leaf)


class Differences(NamedTuple):
    """Extrapolated central differences and an estimate of their error, entry by entry."""

    # The derivative at 0.
    slope: Any
    # The error that the tableau shows, and that of rounding at its step.
    error: Any


def ridders(at: Callable[[float], Any], first: float = 0.02, steps: int = 8) -> Differences:
    """Differentiate ``at`` at 0, by a tableau of central differences with halved steps."""
    eps = float(np.finfo(float).eps)
    best, error = None, None
    above: list[Any] = []
    step = first
    for _ in range(steps):
        plus, minus = np.asarray(at(step), float), np.asarray(at(-step), float)
        row = [(plus - minus) / (2 * step)]
        size = np.max(np.abs(plus) + np.abs(minus), initial=0.0)
        factor = 4.0
        for old in above:
            row.append(row[-1] + (row[-1] - old) / (factor - 1))
            factor *= 4.0
            spread = np.maximum(abs(row[-1] - row[-2]), abs(row[-1] - old)) + eps * size / step
            if best is None:
                best, error = row[-1], spread
            else:
                better = (spread < error) | ~np.isfinite(error)
                best, error = np.where(better, row[-1], best), np.where(better, spread, error)
        above, step = row, step / 2
    return Differences(best, error)


# ------------------------------------------------------------------------ one point
class Point:
    """Operands of a program, with weights and directions, and the checks at them."""

    def __init__(self, program: Program, operands: Operands, seed: int) -> None:
        """Evaluate the plain call and draw weights and directions."""
        rng = np.random.default_rng(seed)
        self.program, self.operands = program, operands
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            self.y = program.g(*operands)
        self.results = [y for y in leaves(self.y) if is_inexact(y)]
        self.weights: list[Any] = []
        for y in self.results:
            for _ in range(2 if np.iscomplexobj(y) else 1):
                u = rng.uniform(0.5, 1.5, np.shape(y)) * rng.choice([-1.0, 1.0], np.shape(y))
                self.weights.append(like(np.real(y), u))
        self.inputs = leaves(operands)
        symmetric = program.target in SYMMETRISED
        self.directions = []
        for leaf in self.inputs:
            v = rng.uniform(-1.0, 1.0, np.shape(leaf))
            v = symmetrised(v) if symmetric else v
            self.directions.append(widened(leaf) if is_integer(leaf) else like(leaf, v))
        self.symmetric = symmetric
        self.derivatives = program.of(self.y)
        self.is_wide = all(
            isinstance(x, float) or getattr(x, "dtype", "") == "float64" for x in self.inputs
        )
        floats = [np.asarray(np.real(x)).dtype for x in (*self.inputs, *self.results)]
        self.eps = max([np.finfo(d).eps for d in floats if d.kind == "f"], default=2.2e-16)

    @functools.cached_property
    def noise(self) -> float:
        """Derivatives of this size are those of rounding: a condition number of one is constant."""
        sizes = [float(np.sum(np.abs(y))) for y in self.results]
        return 256 * float(np.finfo(float).eps) * sum(sizes)

    def structured(self, parts: list[Any]) -> Operands:
        """Leaves in the structure of the operands."""
        return tuple(rebuilt(self.operands, iter(parts)))

    def wide(self, rng: Any = None) -> Point:
        """The same numbers in float64; with `rng`, each moved by one rounding error."""

        def changed(leaf: Any) -> Any:
            x = widened(leaf)
            if rng is None or is_integer(leaf):
                return x
            noise = rng.uniform(-1, 1, np.shape(x))
            moved = x * (1 + self.eps * (symmetrised(noise) / 2 if self.symmetric else noise))
            return like(x, moved)

        made = object.__new__(Point)
        made.__dict__.update(self.__dict__)
        made.operands = self.structured([changed(x) for x in self.inputs])
        made.inputs = leaves(made.operands)
        made.weights = [changed(u) for u in self.weights]
        made.directions = [changed(v) for v in self.directions]
        made.is_wide = True
        return made

    # -------------------------------------------------------------------- what is compared
    def bars(self) -> list[Any]:
        """The leaves of the gradient."""
        assert self.derivatives is not None
        _, bars = self.derivatives.value_and_grad(*self.operands, *self.weights)
        return filled(self.operands, bars)

    def product(self) -> list[Any]:
        """The leaves of the Hessian product."""
        assert self.derivatives is not None
        v = self.structured(self.directions)
        found = self.derivatives.hvp(*self.operands, *self.weights, v)
        return filled(self.operands, found)

    def tangents(self) -> list[Any]:
        """The floating-point leaves of the tangent of the call, and those of its value."""
        v = self.structured([self._tangent(k) for k in range(len(self.inputs))])
        y, y_dot = srcad.jvp(self.program.g, self.operands, v)
        text = same(y, self.y)
        if text:
            raise AssertionError(f"value of jvp: {text}")
        pairs = zip(leaves(self.y), leaves(y_dot), strict=True)
        return [np.zeros_like(y) if dot is None else dot for y, dot in pairs if is_inexact(y)]

    def _tangent(self, k: int) -> Any:
        return None if is_integer(self.inputs[k]) else self.directions[k]

    # -------------------------------------------------------------------- checks
    def value(self) -> Outcome:
        """Compare both values with those of the plain calls, bit for bit."""
        if self.program.rank:
            text = same(srcad.pullback(self.program.g, *self.operands)[0], self.y)
            if text:
                return Outcome("wrong", f"value of pullback: {text}")
        if self.derivatives is None:
            return RIGHT
        want = self.derivatives.f(*self.operands, *self.weights)
        got, _ = self.derivatives.value_and_grad(*self.operands, *self.weights)
        text = same(got, want)
        return Outcome("wrong", f"value of value_and_grad: {text}") if text else RIGHT

    def reverse(self) -> Outcome:
        """Compare the gradient with differences, or with that in float64."""
        bars = self.bars()
        for bar, x in zip(bars, self.inputs, strict=True):
            if np.shape(bar) != np.shape(x):
                return Outcome("wrong", f"shape of cotangent: {np.shape(bar)}, not {np.shape(x)}")
            dtype = float if is_integer(x) else np.asarray(x).dtype
            if np.asarray(bar).dtype != dtype:
                return Outcome("wrong", f"dtype of cotangent: {np.asarray(bar).dtype}")
        if not self.is_wide:
            return self._against_wide(bars, Point.bars)
        assert self.derivatives is not None
        terms = flat(bars) * flat(self.directions)
        f = self.derivatives.f
        size = np.sum(np.abs(terms))
        return _judge(np.sum(terms), lambda step: self._moved(f, step), size, self.noise)

    def forward(self) -> Outcome:
        """Compare ``<u, J v>`` with ``<J' u, v>``."""
        if any(np.iscomplexobj(y) for y in self.results):
            return self._forward_of_sum()
        y_dot = self.tangents()
        for y, dot in zip(self.results, y_dot, strict=True):
            if np.shape(dot) != np.shape(y) or np.asarray(dot).dtype != np.asarray(y).dtype:
                kind = f"{np.asarray(dot).dtype}{np.shape(dot)}"
                return Outcome("wrong", f"tangent is {kind} of {np.asarray(y).dtype}{np.shape(y)}")
        if not self.is_wide:
            return self._against_wide(y_dot, Point.tangents_of_wide)
        _, back = srcad.pullback(self.program.g, *self.operands)
        weights = iter(self.weights)
        seeds = [next(weights) if is_inexact(y) else None for y in leaves(self.y)]
        whole = type(self.y) in (list, tuple)
        u = seeds if isinstance(self.y, list | tuple) else seeds[0]
        bars = filled(self.operands, back(type(self.y)(u) if whole else self._seed(u)))
        left, right = flat(self.weights) * flat(y_dot), flat(bars) * flat(self.directions)
        return _agree(left, right, self.noise)

    def _seed(self, u: Any) -> Any:
        if not isinstance(self.y, tuple):
            return u
        return tuple.__new__(type(self.y), u)  # SciPy's take more than their items

    def _forward_of_sum(self) -> Outcome:
        assert self.derivatives is not None
        v = [self._tangent(k) for k in range(len(self.inputs))]
        constants = (None,) * len(self.weights)
        _, dot = srcad.jvp(
            self.derivatives.f,
            (*self.operands, *self.weights),
            (*self.structured(v), *constants),
        )
        active = [not is_integer(x) for x in self.inputs]
        bars = [b for b, on in zip(self.bars(), active, strict=True) if on]
        v = [d for d, on in zip(self.directions, active, strict=True) if on]
        terms = flat(bars) * flat(v)
        if self.is_wide:
            return _agree(np.asarray([dot], float), terms, self.noise)
        limit = 100 * self.eps * (np.sum(np.abs(terms)) + abs(dot)) * max(1, np.sqrt(terms.size))
        return _compare(np.sum(terms), float(dot), limit)

    def tangents_of_wide(self) -> list[Any]:
        """The tangents of the call in float64."""
        point = Point(self.program, self.operands, 0)
        point.directions = self.directions
        return point.tangents_unchecked(self)

    def tangents_unchecked(self, of: Point) -> list[Any]:
        """The tangents, along the directions of another point."""
        v = self.structured(list(of.directions))
        # An integer operand is a constant of `jvp`; here it is a float, and does not move.
        v = self.structured(
            [like(x, np.zeros(np.shape(x))) if c else d
             for x, d, c in zip(self.inputs, leaves(v), of.constant, strict=True)]
        )  # fmt: skip
        _, y_dot = srcad.jvp(self.program.g, self.operands, v)
        pairs = zip(leaves(of.y), leaves(y_dot), strict=True)
        return [np.zeros_like(y) if dot is None else dot for y, dot in pairs if is_inexact(y)]

    @functools.cached_property
    def constant(self) -> list[bool]:
        """Whether each leaf is an integer."""
        return [is_integer(x) for x in self.inputs]

    def second(self) -> Outcome:
        """Compare the Hessian product with the difference of gradients, or with float64."""
        product = self.product()
        for found, x in zip(product, self.inputs, strict=True):
            dtype = float if is_integer(x) else np.asarray(x).dtype
            if np.asarray(found).dtype != dtype or np.shape(found) != np.shape(x):
                return Outcome("wrong", f"product is {np.asarray(found).dtype}{np.shape(found)}")
        if not self.is_wide:
            return self._against_wide(product, Point.product)
        assert self.derivatives is not None

        def gradient(*args: Any) -> Any:
            return self._projected(filled(self.operands, self.derivatives.gradient(*args)))

        got = self._projected(product)
        size = np.max(np.abs(got), initial=0.0)
        return _judge(got, lambda step: self._moved(gradient, step), size, self.noise)

    def twice(self) -> Outcome:
        """Compare reverse over reverse with forward over reverse."""
        assert self.derivatives is not None
        squares = self.derivatives.twice(self.operands)
        found = squares(*self.operands, tuple(self.weights), *self.directions)
        got = self._projected(filled(self.operands, found))
        if not self.is_wide:
            return self._against_wide(filled(self.operands, found), Point.product)
        want = self._projected(self.product())
        size = np.max(np.abs(want), initial=0.0) + np.max(np.abs(flat(self.bars())), initial=0.0)
        return _compare(got, want, 1e-10 * size * max(1.0, np.sqrt(np.size(want))))

    def _projected(self, parts: list[Any]) -> Any:
        if self.symmetric:
            parts = [symmetrised(np.asarray(p)) for p in parts]
        return flat(parts)

    def _moved(self, f: Callable[..., Any], step: float) -> Any:
        moved = [
            like(x, widened(x) + step * v)
            for x, v in zip(self.inputs, self.directions, strict=True)
        ]
        return f(*self.structured(moved), *self.weights)

    def _against_wide(self, got: list[Any], compute: Callable[[Point], list[Any]]) -> Outcome:
        """Compare with float64; the tolerance is the effect of one rounding of all inputs."""
        exact = self.wide()
        exact.__dict__["constant"] = self.constant
        plain = exact.program.g(*exact.operands)
        near = [
            np.allclose(a, b, rtol=1e3 * self.eps, atol=1e3 * self.eps, equal_nan=True)
            for a, b in zip(leaves(plain), leaves(self.y), strict=True)
            if is_inexact(b) or is_integer(b)
        ]
        if not all(near):
            return Outcome("undecided", "the plain call in float64 has other values")
        want = compute(exact)
        rng = np.random.default_rng(7)
        effect = [np.zeros(np.shape(w)) for w in want]
        for _ in range(4):
            other = self.wide(rng)
            other.__dict__["constant"] = self.constant
            for k, (a, b) in enumerate(zip(compute(other), want, strict=True)):
                effect[k] = np.maximum(effect[k], np.abs(np.asarray(a) - np.asarray(b)))
        for a, b, e in zip(got, want, effect, strict=True):
            size = np.max(np.abs(b), initial=0.0)
            limit = 32 * np.max(e, initial=0.0) + 32 * self.eps * size
            outcome = _compare(np.asarray(a, float), np.asarray(b, float), limit)
            if outcome.verdict != "right":
                return outcome
        return RIGHT


def _compare(got: Any, want: Any, limit: Any) -> Outcome:
    """Return whether two arrays differ by at most `limit`; equal infinities and nans agree."""
    equal = (got == want) | (np.isnan(got) & np.isnan(want))
    off = ~(equal | (np.abs(np.subtract(got, want)) <= limit))
    if not np.any(off):
        return RIGHT
    k = int(np.argmax(np.ravel(off)))
    one, other = np.ravel(got)[k], np.ravel(want)[k]
    limit = np.ravel(np.broadcast_to(limit, np.shape(off)))[k]
    return Outcome("wrong", f"{one!r} is not {other!r} (tolerance {limit:.1e}, entry {k})")


def _agree(left: Any, right: Any, noise: float) -> Outcome:
    """Compare two sums of products, of the same derivative in both modes."""
    size = np.sum(np.abs(left)) + np.sum(np.abs(right))
    return _compare(np.sum(left), np.sum(right), 1e-11 * size + noise)


STEPS = (2e-2, 1e-3, 5e-5, 2e-6)  # of the first column of a tableau


def _judge(got: Any, at: Callable[[float], Any], size: float, noise: float) -> Outcome:
    """Compare a derivative with differences, if these are precise enough to tell a defect.

    A kink or a pole may be nearer than the first steps: the tableau is made again with smaller
    ones, and one that agrees and is precise decides.  Differences decide nothing where the values
    on one side are far from that at 0, as where the sign of an eigenvector is one of rounding.
    """
    if not np.all(np.isfinite(got)):
        return Outcome("wrong", f"{got!r} is not finite")
    first: Outcome | None = None
    small = 1e-9 * max(1.0, float(np.max(np.abs(at(0.0)), initial=0.0)))
    for step in STEPS:
        found = ridders(at, step)
        error = np.max(found.error, initial=0.0)
        limit = 8 * error + 1e-10 * size + noise
        outcome = Outcome("undecided", "differences are not finite")
        if np.isfinite(error):
            outcome = _compare(got, found.slope, limit)
            scale = max(size, float(np.max(np.abs(found.slope), initial=0.0)))
            if outcome.verdict == "right" and limit <= max(1e-4 * scale, small):
                return RIGHT
            if outcome.verdict == "right":
                outcome = Outcome("undecided", "differences have too large an error")
        if first is None or first.verdict == "undecided":
            first = outcome
    assert first is not None
    here = at(0.0)
    jumps = [np.max(np.abs(np.subtract(at(step), here)), initial=0.0) for step in (1e-9, -1e-9)]
    if max(jumps) > 1e-3 * max(size, float(np.max(np.abs(here), initial=0.0))):
        return Outcome("undecided", "the plain call, or its gradient, jumps here")
    return first


# ------------------------------------------------------------------------ variations
def mapped(change: Callable[[Any], Any]) -> Callable[[Operands], Operands | None]:
    """Apply a change to every array of the operands; None if it changes none."""

    def variation(operands: Operands) -> Operands | None:
        old = leaves(operands)
        new = [change(x) if isinstance(x, np.ndarray) else x for x in old]
        if any(x is None for x in new) or all(a is b for a, b in zip(new, old, strict=True)):
            return None
        return tuple(rebuilt(operands, iter(new)))

    return variation


def _strided(x: Any) -> Any:
    if not x.ndim:
        return x
    whole = np.full((*x.shape[:-1], 2 * x.shape[-1]), np.nan, x.dtype)
    whole[..., ::2] = x
    return whole[..., ::2]


def _reversed(x: Any) -> Any:
    if not x.ndim:
        return x
    every = (slice(None, None, -1),) * x.ndim
    return x[every].copy()[every]


def _read_only(x: Any) -> Any:
    y = x.copy()
    y.flags.writeable = False
    return y


def _transposed(x: Any) -> Any:
    return np.ascontiguousarray(np.moveaxis(x, 0, -1)).transpose(_turn(x)) if x.ndim > 2 else x


def _turn(x: Any) -> tuple[int, ...]:
    return (x.ndim - 1, *range(x.ndim - 1))


LAYOUTS: dict[str, Callable[[Operands], Operands | None]] = {
    "Fortran": mapped(lambda x: np.asfortranarray(x) if x.ndim > 1 else x),
    "strided": mapped(_strided),
    "reversed": mapped(_reversed),
    "read-only": mapped(_read_only),
    "turned": mapped(_transposed),
}


def _cut(axis: int, count: int) -> Callable[[Operands], Operands | None]:
    def change(x: Any) -> Any:
        if not -x.ndim <= axis < x.ndim or x.shape[axis] <= count:
            return x
        places: list[Any] = [slice(None)] * x.ndim
        places[axis] = slice(count)
        return x[tuple(places)].copy()

    return mapped(change)


SHAPES: dict[str, Callable[[Operands], Operands | None]] = {
    "size 1, first axis": _cut(0, 1), "size 1, last axis": _cut(-1, 1),
    "size 0, first axis": _cut(0, 0), "size 0, last axis": _cut(-1, 0),
    "leading axis": mapped(lambda x: x[None].copy() if x.ndim else x),
    "0-d": mapped(lambda x: x.reshape(-1)[0].reshape(()).copy() if x.size and x.ndim else x),
    "all ones": mapped(lambda x: x[(slice(1),) * x.ndim].copy() if x.size > 1 else x),
}  # fmt: skip


def _float32(operands: Operands) -> Operands | None:
    return mapped(lambda x: x.astype(np.float32) if x.dtype == float else x)(operands)


def _one_of(k: int, change: Callable[[Any], Any]) -> Callable[[Operands], Operands | None]:
    def variation(operands: Operands) -> Operands | None:
        if k >= len(operands) or not isinstance(operands[k], np.ndarray):
            return None
        return (*operands[:k], change(operands[k]), *operands[k + 1 :])

    return variation


def _integers(x: Any) -> Any:
    """Whole numbers in the order of those of `x`, none of them zero."""
    whole = np.rint(3 * x).astype(np.int64)
    return np.where(whole == 0, np.int64(1), whole)


PARTNERS: dict[str, Callable[[Operands], Operands | None]] = {
    **{f"integers {k}": _one_of(k, _integers) for k in range(3)},
    **{f"float32 {k}": _one_of(k, lambda x: x.astype(np.float32)) for k in range(3)},
}


def generic(program: Program, number: int) -> Iterator[tuple[str, Operands, tuple[str, ...]]]:
    """Variations of the operands of a sample: their names, the operands, the kinds of checks."""
    yield "as given", program.operands, DERIVATIVES
    # Memory order is nothing that a second derivative could read but the first does not.
    tables = dict.fromkeys(SHAPES, DERIVATIVES[:4]) | {"float32": DERIVATIVES[:4]}
    if number < MANY:
        tables |= dict.fromkeys(LAYOUTS, FIRST)
        partners = PARTNERS if program.rank > 1 else ["integers 0"] * program.rank
        tables |= dict.fromkeys(partners, DERIVATIVES[:4])
    changes = {**LAYOUTS, "float32": _float32, **SHAPES, **PARTNERS}
    seen: list[Operands] = []
    for name, kinds in tables.items():
        made = changes[name](program.operands)
        if name.startswith("size 0") and program.is_undefined_if_empty:
            continue
        if name.startswith("size") and program.is_undefined_if_cut:
            continue
        if made is not None and name in PARTNERS and not _is_finite(program, made):
            continue  # whole numbers outside of the domain
        if made is not None and not any(same(made, old) is None for old in seen):
            yield name, made, kinds
            if name in SHAPES:
                seen.append(made)
    float32 = _float32(program.operands)
    if float32 is not None and number < MANY and not program.is_undefined_if_cut:
        empty = [] if program.is_undefined_if_empty else ["size 0, first axis"]
        for name in ("Fortran", "size 1, first axis", *empty):
            made = changes[name](float32)
            if made is not None:
                yield f"float32, {name}", made, FIRST


def _is_finite(program: Program, operands: Operands) -> bool:
    """Return True if the plain call raises or has finite results."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            y = program.g(*operands)
        except Exception:
            return True
    return all(np.all(np.isfinite(part)) for part in leaves(y) if is_inexact(part))


PAIRS = [
    ((4,), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((1, 4), (3, 1)), ((2, 1, 4), (3, 1)),
    ((3,), (2, 3, 3)), ((1,), (3,)), ((3,), (1,)), ((), (3,)), ((3,), ()), ((), ()), ((1, 1), (3,)),
    ((0,), (1,)), ((0, 3), (3,)), ((1, 3), (0, 1)), ((3, 3), (3, 3)), ((2, 3), (2, 1)),
]  # fmt: skip
SINGLES = [(), (1,), (5,), (1, 1), (3, 1), (2, 3, 4), (0,), (0, 3), (3, 0)]
NUMBERS: dict[str, Callable[[float], Any]] = {
    "float": float, "float64": np.float64, "float32": np.float32,
    "0-d": np.array, "0-d float32": lambda x: np.array(x, np.float32),
}  # fmt: skip
WHOLE: dict[str, Callable[[int], Any]] = {
    "int": int, "int64": np.int64, "int array": lambda n: np.full(3, n),
    "int8 array": lambda n: np.full(3, n, np.int8), "0-d int": np.array,
}  # fmt: skip


def elementwise(row: Any) -> Iterator[tuple[str, Operands]]:
    """Operands of an elementwise function from its interval: shapes, partners and numbers."""
    low, high = row.samples
    near = Vocabulary(seed_of(row.target) + 1).near
    whole = [n for n in range(math.ceil(low), math.floor(high) + 1) if n] or None
    count = len(row.parameters)
    if is_on_numbers(row.target):
        yield from _numbers_only(near, low, high, count, whole)
        return
    if count == 1:
        for shape in SINGLES:
            yield f"shape {shape}", (near(low, high, *shape),)
            yield f"shape {shape} float32", (near(low, high, *shape).astype(np.float32),)
        for name, number in NUMBERS.items():
            yield name, (number(float(near(low, high, 1)[0])),)
        for name, number in WHOLE.items() if whole else ():
            yield name, (number(whole[-1]),)
        return
    if count != 2:
        return
    for left, right in PAIRS:
        yield f"shapes {left} {right}", (near(low, high, *left), near(low, high, *right))
    for left, right in PAIRS[:4] + PAIRS[8:10]:
        operands = near(low, high, *left), near(low, high, *right)
        yield f"shapes {left} {right} float32", tuple(x.astype(np.float32) for x in operands)
    for width in (np.float64, np.float32):
        x = near(low, high, 3).astype(width)
        for name, number in NUMBERS.items():
            n = number(float(near(low, high, 1)[0]))
            yield f"{width.__name__} array, {name}", (x, n)
            yield f"{name}, {width.__name__} array", (n, x)
        for name, number in WHOLE.items() if whole else ():
            n = number(whole[-1])
            yield f"{width.__name__} array, {name}", (x, n)
            yield f"{name}, {width.__name__} array", (n, x)
    for name, number in NUMBERS.items():
        a, b = near(low, high, 2)
        yield f"{name}, {name}", (number(float(a)), number(float(b)))
        for other, whole_number in WHOLE.items() if whole and name != "float32" else ():
            yield f"{name}, {other}", (number(float(a)), whole_number(whole[-1]))


def _numbers_only(
    near: Any, low: float, high: float, count: int, whole: Any
) -> Iterator[tuple[str, Operands]]:
    for name in ("float", "float64", "float32", "0-d"):
        yield name, tuple(NUMBERS[name](float(x)) for x in near(low, high, count))
    for k in range(count if whole else 0):
        x = [float(a) for a in near(low, high, count)]
        x[k] = whole[-1]
        yield f"int in place {k}", tuple(x)


AXES = {"axis", "axes", "axis1", "axis2", "source", "destination"}


def rewritten(row: Any, call: Call) -> Iterator[tuple[str, Call]]:
    """The same call with negative axes, or non-negative ones, and with options by keyword."""
    target, args, kwargs = call
    names = row.parameters
    want = target(*args, **kwargs)

    def kept(other: Call) -> bool:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return same(other[0](*other[1], **other[2]), want) is None
            except Exception:
                return False

    ranks = [np.ndim(x) for x in leaves(args) if isinstance(x, np.ndarray)] or [0]
    for place in (*range(len(args)), *kwargs):
        value = args[place] if isinstance(place, int) else kwargs[place]
        name = names[place] if isinstance(place, int) and place < len(names) else place
        if name not in AXES:
            continue
        for shift in (-ranks[0] - 1, -ranks[0], ranks[0], ranks[0] + 1):
            other = _shifted(value, shift)
            if other is not None and other != value:
                new = _replaced(call, place, other)
                if kept(new):
                    yield f"{name}={other}", new
                    break
    last = len(args)
    while last > 1 and last <= len(names) and not names[last - 1].startswith("*"):
        if spellings._is_operand(target, last - 1, args[last - 1]):
            break
        last -= 1
    if last < len(args) and not any(n.startswith("*") for n in names[last : len(args)]):
        moved = dict(zip(names[last : len(args)], args[last:], strict=True))
        new = (target, args[:last], {**moved, **kwargs})
        if kept(new):
            yield "by keyword", new


def _shifted(value: Any, shift: int) -> Any:
    if type(value) is int:
        return value + shift if (value < 0) == (shift > 0) else None
    if isinstance(value, tuple | list) and value and all(type(k) is int for k in value):
        return type(value)(k + shift if (k < 0) == (shift > 0) else k for k in value)
    return None


def _replaced(call: Call, place: int | str, value: Any) -> Call:
    target, args, kwargs = call
    if isinstance(place, int):
        return target, (*args[:place], value, *args[place + 1 :]), kwargs
    return target, args, {**kwargs, place: value}


# ------------------------------------------------------------------------ the checks of a row
def row_name(row: Any) -> str:
    """The name of a row's function; of two ufuncs of a name, SciPy's is named with its module."""
    if isinstance(row.target, types.MethodType):
        return rules.registry.qualified_name(row.target)
    name = getattr(row.target, "__name__", "")
    if isinstance(row.target, np.ufunc) and getattr(np, name, row.target) is not row.target:
        return f"scipy.special.{name}"
    return str(spelling(row.target))


def checks_of(row: Any) -> Iterator[Check]:
    """Yield the checks of a row, in a fixed order; nothing is compiled meanwhile."""
    if row.kind == "nondifferentiable":
        yield from _constants(row)
        return
    for k, call in enumerate(calls_of(row)):
        base = f"{row_name(row)}/{k}"
        programs = Programs(call)
        given = [*generic(Program(call), k)]
        for name, operands, kinds in given:
            yield from _at(base, programs.of(operands), name, operands, kinds)
        if k < MANY and len(given) > 1:
            yield from _sequences(base, call, programs, [operands for _, operands, _ in given])
        for name, other in rewritten(row, call):
            variant = Program(other)
            yield from _at(base, variant, name, variant.operands)
    if isinstance(row.samples, tuple) and row.samples:
        call = calls_of(row)[0]
        programs, rank = Programs(call), Program(call).rank
        elements = [(n, operands) for n, operands in elementwise(row) if len(operands) == rank]
        base = f"{row_name(row)}/elements"
        for name, operands in elements:
            kinds = DERIVATIVES if name.startswith("shape") else DERIVATIVES[:4]
            yield from _at(base, programs.of(operands), name, operands, kinds)
        yield from _sequences(base, call, programs, [operands for _, operands in elements])
        yield from _specials(row, Program(call))
    yield from _kinks(row)
    yield from _options(row)
    yield from _dtypes(row)


def _dtypes(row: Any) -> Iterator[Check]:
    for k, call in enumerate(calls_of(row)):
        run = functools.partial(_dtype, call)
        yield Check(f"{row_name(row)}/{k}/rule of float32", "dtype", run)


def _dtype(call: Call) -> Outcome:
    """The rule itself keeps float32: compiled code converts its cotangents and tangents."""
    with np.errstate(all="ignore"):
        narrow = in_float32(call)
        wide = widened_by_rule(narrow, np.random.default_rng(0)) if narrow else []
    return Outcome("wrong", f"cotangents of {wide[0]}") if wide else RIGHT


def _at(
    base: str, program: Program, name: str, operands: Operands, kinds: tuple[str, ...] = DERIVATIVES
) -> Iterator[Check]:
    """Yield the checks at some operands."""
    prefix = f"{base}/{name}"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            y = program.g(*operands)
        except Exception as error:
            if program.rank:
                test = functools.partial(_raises, program, operands, type(error))
                yield Check(f"{prefix}/error", "error", test)
            return
    point = functools.cache(lambda: Point(program, operands, zlib.crc32(prefix.encode())))
    floats = [part for part in leaves(y) if is_inexact(part)]
    # Where the call is nan, such as a mean of nothing, only the value is agreed.
    is_differentiable = bool(floats) and all(np.all(np.isfinite(part)) for part in floats)
    for kind in kinds if is_differentiable and program.rank else kinds[:1]:
        if program.rank:
            yield Check(f"{prefix}/{kind}", kind, functools.partial(_run, point, kind))


def _run(point: Callable[[], Point], kind: str) -> Outcome:
    found: Outcome = getattr(point(), kind)()
    return found


def _raises(program: Program, operands: Operands, kind: type[Exception]) -> Outcome:
    """Compare the exception of a derivative with that of the plain call."""
    try:
        srcad.pullback(program.g, *operands)
    except Exception as error:
        if isinstance(error, kind):
            return RIGHT
        if is_refusal(error):
            return Outcome("refused", error.sentence)
        return Outcome("wrong", f"{type(error).__name__}, not {kind.__name__}: {error}")
    return Outcome("wrong", f"does not raise {kind.__name__}")


def _sequences(base: str, call: Call, programs: Programs, many: list[Operands]) -> Iterator[Check]:
    """The same function for many operands in turn, in each mode."""
    for kind, mode in (("forward", Point.tangents), ("reverse", Point.bars)):
        run = functools.partial(_sequence, call, programs, many, mode)
        yield Check(f"{base}/sequence/{kind}", "sequence", run)


def _sequence(
    call: Call, programs: Programs, many: list[Operands], mode: Callable[[Point], list[Any]]
) -> Outcome:
    """Compare one function that is called with many types and shapes with one for each type."""
    one = Program(call)
    for number, operands in enumerate(many):
        try:
            point = Point(programs.of(operands), operands, number)
            if point.derivatives is None:
                continue
            want = mode(point)
        except Exception:
            continue  # other checks tell
        got = mode(Point(one, operands, number))
        size = max((np.max(np.abs(b), initial=0.0) for b in want), default=0.0)
        for u, y in zip(point.weights, point.results, strict=False):  # sums that may cancel
            size = max(size, float(np.sum(np.abs(u)) * (1 + np.max(np.abs(y), initial=0.0))))
        for a, b in zip(got, want, strict=True):
            text = _nearly(a, b, 64 * point.eps * size)
            if text:
                shapes = ", ".join(f"{np.asarray(x).dtype}{np.shape(x)}" for x in leaves(operands))
                return Outcome("wrong", f"{text} at call {number}, {shapes}")
    return RIGHT


def _nearly(got: Any, want: Any, limit: float) -> str | None:
    """Return the difference of two arrays in dtype, shape, or by more than `limit`."""
    a, b = np.asarray(got), np.asarray(want)
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"is {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
    if _compare(a, b, limit).verdict == "right":
        return None
    return f"is {a!r}, not {b!r}".replace("\n", "")


SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e300, 1e-300, 5e-324)


def _specials(row: Any, program: Program) -> Iterator[Check]:
    """Values bit for bit, and agreement of both modes, at zeros, infinities, nans and extremes."""
    base = f"{row_name(row)}/special"
    count = len(row.parameters)
    if is_on_numbers(row.target) or count > 2:
        return
    for x in SPECIAL:
        operands = (np.array([x]),) if count == 1 else (np.full(len(SPECIAL), x), np.array(SPECIAL))
        for kind, test in (("value", _special_value), ("modes", _special_modes)):
            run = functools.partial(test, program, operands)
            yield Check(f"{base}/{x!r}/{kind}", "special", run)
            if count == 2:
                run = functools.partial(test, program, operands[::-1])
                yield Check(f"{base}/{x!r} second/{kind}", "special", run)


def _special_value(program: Program, operands: Operands) -> Outcome:
    want = program.g(*operands)
    text = same(srcad.pullback(program.g, *operands)[0], want)
    return Outcome("wrong", text) if text else RIGHT


def _special_modes(program: Program, operands: Operands) -> Outcome:
    """Compare both modes entry by entry: an elementwise function has a diagonal Jacobian."""
    y, back = srcad.pullback(program.g, *operands)
    if not is_inexact(y):
        return RIGHT
    bars = back(np.ones(np.shape(y)))
    for k, operand in enumerate(operands):
        # A tangent of zeros would be multiplied by an infinite partial of the other operand.
        dots = tuple(np.ones(np.shape(x)) if j == k else None for j, x in enumerate(operands))
        _, dot = srcad.jvp(program.g, operands, dots)
        bar = np.zeros(np.shape(operand)) if bars[k] is None else bars[k]
        limit = 1e-12 * np.abs(np.nan_to_num(bar))
        found = _compare(np.asarray(dot) + np.zeros(np.shape(y)), bar, limit)
        if found.verdict != "right":
            return Outcome("wrong", f"by operand {k}: forward, reverse: {found.text}")
    return RIGHT


def _kinks(row: Any) -> Iterator[Check]:
    """Agreed derivatives at special points, in both modes, of numbers and of arrays."""
    from srcad.rules import formulas

    if isinstance(row.kinks, dict) and row.target not in set(vars(formulas.TWINS).values()):
        forms = {"float": float} if is_on_numbers(row.target) else FORMS
        for point, slopes in row.kinks.items():
            operands = point if isinstance(point, tuple) else (point,)
            wanted = slopes if isinstance(slopes, tuple) else (slopes,)
            for form, made in forms.items():
                for mode in ("reverse", "forward"):
                    run = functools.partial(
                        _kink, row, tuple(made(float(x)) for x in operands), wanted, mode
                    )
                    name = f"{row_name(row)}/kink/{point!r} {form}/{mode}"
                    yield Check(name, "kink", run)
    elif callable(row.kinks):
        for k, (call, gradient) in enumerate(told(row.kinks, row.target)):
            target, args, kwargs = call
            args = (np.asarray(args[0], float), *args[1:])
            run = functools.partial(_array_kink, (target, args, kwargs), gradient)
            yield Check(f"{row_name(row)}/kink {k}/reverse", "kink", run)


FORMS: dict[str, Callable[[float], Any]] = {
    "float": float, "float64": np.float64, "0-d": np.array, "array": lambda x: np.array([x]),
    "matrix": lambda x: np.full((2, 1), x), "float32": lambda x: np.array([x], np.float32),
}  # fmt: skip


def _kink(row: Any, operands: Operands, wanted: Any, mode: str) -> Outcome:
    g = _kink_function(row.target, len(operands))
    want = [float(w or 0.0) for w in wanted]
    try:
        y = g(*operands)
    except (ZeroDivisionError, ValueError, OverflowError):
        return Outcome("undecided", "the plain call raises")
    got: list[Any] = []
    if mode == "reverse":
        bars = srcad.pullback(g, *operands)[1](like(y, np.ones(np.shape(y))))
        got = [0.0 if bar is None else bar for bar in bars]
    else:
        for k in range(len(operands)):
            one = like(operands[k], np.ones(np.shape(operands[k])))
            dots = tuple(one if j == k else None for j in range(len(operands)))
            got.append(srcad.jvp(g, operands, dots)[1])
    eps = 1e-6 if any(getattr(x, "dtype", None) == np.float32 for x in operands) else 1e-14
    for bar, slope in zip(got, want, strict=True):
        limit = 1e-7 * abs(slope) + eps if np.isfinite(slope) else 0.0
        found = _compare(np.asarray(bar, float), np.full(np.shape(bar), slope), limit)
        if found.verdict != "right":
            return found
    return RIGHT


@functools.cache
def _kink_function(target: Any, count: int) -> Callable[..., Any]:
    takes = ", ".join(f"x{k}" for k in range(count))
    return _function("g", f"def g({takes}):\n    return target({takes})\n", {"target": target})


def _array_kink(call: Call, gradient: Any) -> Outcome:
    program = Program(call)
    y, back = srcad.pullback(program.g, *program.operands)
    bars = back(np.ones(np.shape(y)) if np.ndim(y) else 1.0)
    want = np.asarray(gradient, float)
    return _compare(np.asarray(bars[0], float), want, 1e-12 * (1 + np.abs(np.nan_to_num(want))))


@functools.cache
def _cases() -> dict[Any, list[spellings.Case]]:
    found: dict[Any, list[spellings.Case]] = {}
    for case in spellings.cases():
        found.setdefault(case.call[0], []).append(case)
    return found


def _options(row: Any) -> Iterator[Check]:
    for number, case in enumerate(_cases().get(row.target, ())):
        name = f"{row_name(row)}/option {number} {case.place}={case.manner}"
        yield Check(name, "option", functools.partial(_option, case, False))
        yield Check(f"{name}/twice", "option twice", functools.partial(_option, case, True))


def _option(case: spellings.Case, twice: bool) -> Outcome:
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    found = (spellings.outcome_twice if twice else spellings.outcome)(case, rng)
    if found in ("right", "raises"):
        return RIGHT
    kind, _, text = found.partition(":")
    is_refused = kind.endswith("refused")
    expected = (spellings.is_expected_twice if twice else spellings.is_expected)(case, found)
    if is_refused:
        return Outcome("refused" if expected else "wrong", text.strip() if expected else found)
    return RIGHT if expected else Outcome("wrong", found)


# ------------------------------------------------------------------------ constants
X = np.array([[1.3, -2.6], [0.4, 3.7]])
GIVEN = {"matrix": (X,), "vector": (X[0],), "pair": (X, X[::-1].copy()), "number": (1.3,),
         "float32": (X.astype(np.float32),), "empty": (np.zeros((0, 2)),)}  # fmt: skip


def _constants(row: Any) -> Iterator[Check]:
    """Beside ``sum(x * x)``, a function through which nothing flows adds nothing."""
    module = getattr(row.target, "__module__", None) or ""
    if not (isinstance(row.target, np.ufunc) or module in ("numpy", "math")):
        return
    if module.startswith("numpy.random") or row.target in (np.empty, np.empty_like):
        return
    for name, operands in GIVEN.items():
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                first, again = row.target(*operands), row.target(*operands)
                same_again = same(first, again) is None
            except Exception:
                continue
        numbers = isinstance(first, float | int | np.ndarray | np.generic)
        if not numbers or not same_again or np.asarray(first).dtype.kind not in "biuf":
            continue
        prefix = f"{row_name(row)}/{name}"
        run = functools.partial(_constant, row.target, operands)
        yield Check(f"{prefix}/constant", "constant", run)


def _constant(target: Any, operands: Operands) -> Outcome:
    takes = ", ".join(f"x{k}" for k in range(len(operands)))
    text = f"def f({takes}):\n    return np.sum(x0 * x0) + np.sum(target({takes}))\n"
    f = _function("f", text, {"np": np, "target": target})
    got, bars = srcad.value_and_grad(f, wrt=tuple(range(len(operands))))(*operands)
    difference = same(got, f(*operands))
    if difference:
        return Outcome("wrong", difference)
    want = 2 * np.asarray(operands[0])
    if not np.array_equal(bars[0], want):
        return Outcome("wrong", f"{bars[0]!r} is not {want!r}".replace("\n", ""))
    if any(np.any(bar) for bar in bars[1:] if bar is not None):
        return Outcome("wrong", f"{bars[1]!r} is not zero".replace("\n", ""))
    return RIGHT


# ------------------------------------------------------------------------ selection
def rows() -> list[Any]:
    """The rows that come with srcad, one of each function."""
    return [row for row in rules.rows() if row.shipped]


def sampled(row: Any, rng: np.random.Generator, count: int) -> list[Check]:
    """Draw checks of a row: kinds first, so that each kind is as likely as the others."""
    kinds: dict[str, list[Check]] = {}
    for check in checks_of(row):
        kinds.setdefault(check.kind, []).append(check)
    names = sorted(kinds)
    drawn: dict[str, Check] = {}
    for _ in range(count if names else 0):
        some = kinds[names[rng.integers(len(names))]]
        check = some[rng.integers(len(some))]
        drawn[check.name] = check
    return list(drawn.values())
