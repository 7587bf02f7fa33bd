"""The page on special points: what srcad, autograd, JAX and PyTorch answer where opinions differ.

``python -m tests.rules.special_points`` runs the cases in the systems that are installed and writes
`docs/special-points.md`; ``--print`` prints the page instead.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import math
import os
import types
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

import srcad

PAGE = Path(__file__).parents[2] / "docs" / "special-points.md"
INF, NAN = math.inf, math.nan

HEAD = """# Special points

Where a function has no derivative, or more than one, a system has to choose. The tables compare
{systems}.
Each system has differentiated the same NumPy program, at double precision; a program that is equal
in exact arithmetic may have another answer. "error" means that an exception was raised, "–" that
the system has no such function; `a, b` are the derivatives with respect to two arguments.

srcad follows one policy:

* The derivative at a local optimum is 0: `abs` at 0, norms and standard deviations at 0.
* An even function of `abs(x)` has the derivatives of that function of a real `x`, to any order:
  the second one of `np.abs(x)**2` is 2 at 0, too. So it is for even exponents that are written as
  literals, for `np.square`, `cos`, `cosh`, `np.sinc`, `hypot`, and products of one magnitude with
  itself; an exponent that is a variable of the call leaves it 0.
* `np.max` and `np.min` share a tie equally. Of `np.maximum` and `np.minimum` one operand owns a
  tie: the second one and the first one. So `np.maximum(x, 0)` has the slope 0 at 0.
* `np.clip` has the slope 1 on the closed interval.
* A mask is a strong zero: what `np.where`, a branch or `np.clip` cuts off stays 0, also if the
  derivative on the side that is cut off is infinite or nan.
* Below an infinite denominator a cotangent of 0 stays 0 in reverse mode if that is the limit: in
  `1 / (1 + np.exp(x))` where `exp` overflows, and in `1 / (1 + (k / x)**n)` at 0 for `n > 1`. It is
  nan where a large finite base overflows in a power (`1 / (1 + x**4)` at 1e150), and below a simple
  pole (`1 / (1 + k / x)` at 0), where the limit is another number.
* An infinite slope is inf, and never an exception that the function itself did not raise.
* Eigenvectors and singular vectors of equal values have no derivative: what couples them is nan,
  with a warning. [Below](#equal-eigenvalues-and-singular-values) is what that means.
* The gradient of a real function of complex numbers is `df/dRe + i df/dIm`. JAX and autograd return
  its conjugate.

Written by `python -m tests.rules.special_points`.
"""

FOOT = """## Equal eigenvalues and singular values

Vectors of equal values are no function of the matrix, and at a gap of rounding size their
derivative has no digits. A gap counts as none if it is at most 1e-9 times the largest value (for
float32: 1.2e-5). Values alone are not concerned: `np.sum(w**2)` has its derivative everywhere.

* A derivative that does not couple two such vectors is right, also at exactly equal values:
  projectors onto all of them (`v[:, :k] @ v[:, :k].T`, a density matrix), vectors of other values,
  and `u @ vt` of a singular value decomposition (the nearest rotation).
* Anything else is nan, and a `NoDerivativeWarning` names the line of `eigh` or `svd`. A function of
  the matrix that is written as `(v * f(w)) @ v.T` has a derivative, but its rule would have to
  divide rounding errors. Call `scipy.linalg.expm`, `sqrtm`, `logm` or `polar`, whose derivatives
  are exact.
* Forward mode, and second derivatives, do not know what is done with the vectors: they are nan, and
  warn, at equal values, also of vectors that are not used.
* Second derivatives of values alone (`eigvalsh`, `svdvals`, norms of matrices) are right where two
  close values have the same weight in the first derivative, and the weights do not depend on the
  matrix: `np.sum(np.linalg.eigvalsh(x))`, the largest one above a pair, `np.linalg.norm(x, "nuc")`.
  Of weights that do, as in `np.sum(w**2)`, the entries that turn the pair are nan, with a warning.

A coupling of rounding size is taken as 0 if no eigenvalues (singular values) of a decomposition in
the same function are used. So levels that the function computes from the vectors, such as
`np.diag(v.T @ a @ v)`, or in another function, are not noticed: at equal levels the derivative of
`(v * f(levels)) @ v.T` is then without the term of the gap, and wrong. Take the levels that `eigh`
returns.
"""


@dataclass(frozen=True)
class Point:
    """A program and the arguments at which it is differentiated.

    `program` is the text of an expression in ``np`` and the names of the arguments.
    """

    group: str
    program: str
    at: tuple[Any, ...]
    names: str = "xy"

    @property
    def place(self) -> str:
        """The arguments as text."""
        return ", ".join(_place(a) for a in self.at)

    def function(self, module: Any) -> Callable[..., Any]:
        """Return the function over another module in the place of NumPy."""
        names = ", ".join(self.names[: len(self.at)])
        space: dict[str, Any] = {"np": module, "inf": INF}
        path = f"<special point {self.program}>"
        text = f"def f({names}):\n    return {self.program}\n"
        _remember(path, text)
        exec(compile(text, path, "exec"), space)
        made: Callable[..., Any] = space["f"]
        return made


def _remember(path: str, text: str) -> None:
    """Let `inspect` find the source."""
    linecache = importlib.import_module("linecache")
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)


def _points(group: str, *cases: tuple[Any, ...]) -> list[Point]:
    return [Point(group, program, tuple(at)) for program, *at in cases]


A = numpy.array
POINTS = [
    *_points(
        "Kinks",
        ("np.abs(x)", 0.0), ("np.abs(x)", -0.0), ("np.hypot(x, y)", 0.0, 0.0),
        ("np.maximum(x, y)", 1.0, 1.0), ("np.minimum(x, y)", 1.0, 1.0), ("np.maximum(x, 0.0)", 0.0),
        ("np.maximum(x, y)", NAN, 1.0), ("np.fmax(x, y)", NAN, 1.0),
        ("np.where(x > 0, x, 0.0)", 0.0), ("np.clip(x, 0.0, 1.0)", 0.0),
        ("np.clip(x, 0.0, 1.0)", 1.0), ("np.clip(x, 0.0, 1.0)", NAN), ("np.floor(x)", 1.5),
        ("np.sign(x)", 0.5), ("np.remainder(x, 1.0)", 1.0), ("np.remainder(x, y)", 5.0, -3.0),
        ("np.fmod(x, y)", 10.0, 0.01), ("np.sinc(x)", 0.0),
    ),
    *_points(
        "Infinite slopes and cancellation",
        ("np.sqrt(x)", 0.0), ("np.sqrt(x**2)", 0.0), ("np.log(x)", 0.0), ("x * np.log(x)", 0.0),
        ("np.log1p(x)", -1.0), ("np.arcsin(x)", 1.0), ("np.arctanh(x)", 1.0),
        ("np.arccosh(x)", 1.0), ("np.arctan2(x, y)", 0.0, 0.0),
        ("np.arctan2(x, y)", 1e-170, 1e-170), ("np.arcsin(x)", 1 - 1e-12), ("np.tanh(x)", 20.0),
        ("np.expm1(x)", -40.0), ("np.log10(x)", 1e308), ("np.logaddexp(x, y)", -INF, -INF),
        ("np.logaddexp(x, y)", 1e16, 1e16), ("np.log(1 + np.exp(x))", 1000.0),
        ("np.var(x)", A([1e8 + 1, 1e8 + 2, 1e8 + 4])),
    ),
    *_points(
        "Powers",
        ("x**0", 0.0), ("x**1", 0.0), ("x**2", 0.0), ("x**0.5", 0.0), ("x**-1", 0.0),
        ("x**3.0", -2.0), ("2.0**x", 0.0), ("x**y", 0.0, 0.0), ("x**y", 0.0, 2.0),
        ("x**y", 0.0, -1.0), ("x**y", -2.0, 3.0),
    ),
    *_points(
        "Masks",
        ("np.where(x > 0, np.sqrt(x), 0.0)", 0.0), ("np.where(x > 0, np.log(x), 0.0)", 0.0),
        ("np.where(x > 0, np.log(x), 0.0)", -1.0), ("np.where(x != 0, np.sin(x) / x, 1.0)", 0.0),
        ("np.sqrt(x) if x > 0 else 0.0 * x", 0.0), ("np.sqrt(np.clip(x, 0.0, 1.0))", -1.0),
        ("np.nansum(x)", A([1.0, NAN])), ("np.nan_to_num(x)", NAN), ("np.nan_to_num(x)", INF),
    ),
    *_points(
        "Reductions",
        ("np.max(x)", A([1.0, 1.0, 0.0])), ("np.max(x)", A([1.0, NAN, 0.0])),
        ("np.min(x)", A([1.0, 1.0, 2.0])), ("np.prod(x)", A([0.0, 2.0, 3.0])),
        ("np.prod(x)", A([0.0, 0.0, 3.0])), ("np.sum(np.cumprod(x))", A([2.0, 0.0, 3.0])),
        ("np.std(x)", A([1.0, 1.0, 1.0])), ("np.median(x)", A([4.0, 1.0, 2.0, 3.0])),
        ("np.median(x)", A([1.0, 1.0, 1.0])), ("np.percentile(x, 30.0)", A([4.0, 1.0, 2.0, 3.0])),
        ("np.sum(np.sort(x) * np.arange(1.0, 4.0))", A([1.0, 1.0, 0.0])),
        ("np.linalg.norm(x)", A([0.0, 0.0, 0.0])), ("np.linalg.norm(x, 1)", A([0.0, 1.0, -2.0])),
        ("np.sum(x)", A([])), ("np.mean(x)", A([])), ("np.prod(x)", A([])), ("np.max(x)", A([])),
    ),
    *_points(
        "Linear algebra",
        ("np.linalg.det(x)", A([[1.0, 2.0], [2.0, 4.0]])),
        ("np.sum(np.linalg.inv(x))", A([[1.0, 2.0], [2.0, 4.0]])),
        ("np.sum(np.linalg.eigvalsh(x) ** 2)", numpy.eye(2)),
        ("np.linalg.eigh(x)[1][0, 0] ** 2", numpy.eye(2)),
        ("np.sum(np.linalg.eigvalsh(x) ** 2)", A([[2.0, 1.0], [1.0, 3.0]])),
        ("np.sum(np.linalg.svd(x)[1])", numpy.eye(2)),
        ("np.sum(np.linalg.cholesky(x))", A([[2.0, 1.0], [1.0, 2.0]])),
    ),
    *_points(
        "Complex numbers",
        ("np.abs(x)", 0j), ("np.abs(x)", 3 + 4j), ("np.real(x**2)", 1 + 2j),
        ("np.imag(x)", 1 + 2j), ("np.real(np.exp(x))", 1 + 2j), ("np.angle(x)", 1 + 2j),
    ),
]  # fmt: skip


# ------------------------------------------------------------------------- the systems
def with_srcad(point: Point) -> Any:
    """Return the gradients by srcad."""
    at = tuple(numpy.float64(a) if isinstance(a, float) else a for a in point.at)
    return srcad.grad(point.function(numpy), wrt=tuple(range(len(at))))(*at)


def with_autograd(point: Point) -> Any:
    """Return the gradients by autograd."""
    autograd = importlib.import_module("autograd")
    function = point.function(importlib.import_module("autograd.numpy"))
    at = tuple(numpy.float64(a) if isinstance(a, float) else a for a in point.at)
    return tuple(autograd.grad(function, k)(*at) for k in range(len(at)))


def with_jax(point: Point) -> Any:
    """Return the gradients by JAX, without compilation."""
    jax = importlib.import_module("jax")
    function = point.function(importlib.import_module("jax.numpy"))
    return jax.grad(function, tuple(range(len(point.at))))(*map(jax.numpy.asarray, point.at))


def with_torch(point: Point) -> Any:
    """Return the gradients by PyTorch; its functions have other names in part."""
    torch = importlib.import_module("torch")
    module = types.SimpleNamespace(
        **{name: getattr(torch, name) for name in dir(torch) if not name.startswith("__")}
    )
    module.max, module.min = torch.amax, torch.amin
    module.sort = lambda x: torch.sort(x, stable=True).values
    module.median = lambda x: torch.quantile(x, 0.5)
    module.percentile = lambda x, q: torch.quantile(x, q / 100)
    module.cumprod = lambda x: torch.cumprod(x, 0)
    module.var = lambda x: torch.var(x, correction=0)
    module.std = lambda x: torch.std(x, correction=0)
    module.arange = lambda *args: torch.arange(*args, dtype=torch.float64)
    module.maximum = lambda x, y: torch.maximum(x, torch.as_tensor(y, dtype=x.dtype))
    given = [torch.tensor(a, dtype=None if isinstance(a, complex) else torch.float64,
                          requires_grad=True) for a in point.at]  # fmt: skip
    result = point.function(module)(*given)
    found = torch.autograd.grad(result, given, allow_unused=True, materialize_grads=True)
    return tuple(one.numpy() for one in found)


SYSTEMS = {
    "srcad": with_srcad, "autograd": with_autograd, "JAX": with_jax, "PyTorch": with_torch,
}  # fmt: skip
MODULES = {"srcad": "srcad", "autograd": "autograd", "JAX": "jax", "PyTorch": "torch"}


def installed() -> dict[str, str]:
    """Return the systems that can be imported, with their versions."""
    found = {}
    for system, module in MODULES.items():
        try:
            importlib.import_module(module)
        except ImportError:
            continue
        found[system] = "" if module == "srcad" else importlib.metadata.version(module)
    return found


def answer(system: str, point: Point) -> str:
    """Return the derivatives of a case in a system as text."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = SYSTEMS[system](point)
        except AttributeError as error:
            return "–" if "has no attribute" in str(error) else "error"
        except Exception:  # each system raises errors of its own
            return "error"
    return ", ".join(_number(numpy.asarray(one)) for one in found)


def _place(value: Any) -> str:
    """Return an argument as text, with all of its digits."""
    if isinstance(value, numpy.ndarray):
        return f"[{', '.join(_place(one) for one in value.tolist())}]"
    if isinstance(value, list):
        return f"[{', '.join(map(_place, value))}]"
    return _number(value) if isinstance(value, complex) else f"{value:.15g}".replace("e+", "e")


def _number(value: Any) -> str:
    """Return a number or array as short text."""
    array = numpy.asarray(value)
    if array.ndim:
        return f"[{', '.join(map(_number, array))}]"
    number = array.item()
    if isinstance(number, complex):
        imaginary = _number(number.imag)
        sign = "" if imaginary.startswith("-") else "+"
        return f"{_number(number.real)}{sign}{imaginary}j"
    return f"{number:.6g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


# ------------------------------------------------------------------------- the page
def page(systems: dict[str, str]) -> str:
    """Return the page as Markdown."""
    titles = [f"{name} {version}".strip() for name, version in systems.items()]
    lines = [HEAD.format(systems=f"{', '.join(titles[:-1])} and {titles[-1]}")]
    for group in dict.fromkeys(point.group for point in POINTS):
        lines += [f"## {group}\n", f"| program | at | {' | '.join(systems)} |"]
        lines += ["| --- " * (2 + len(systems)) + "|"]
        for point in POINTS:
            if point.group == group:
                answers = (answer(system, point).replace("|", "\\|") for system in systems)
                lines.append(f"| `{point.program}` | {point.place} | {' | '.join(answers)} |")
        lines.append("")
    return "\n".join([*lines, FOOT])


def column(text: str, system: str) -> dict[tuple[str, str], str]:
    """Return the answers of a system on the page, by program and place."""
    found: dict[tuple[str, str], str] = {}
    position = 0
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if cells[0] == "program":
            position = cells.index(system)
        elif line.startswith("| `"):
            found[cells[0].strip("`"), cells[1]] = cells[position]
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page, or print it."""
    parser = argparse.ArgumentParser(prog="python -m tests.rules.special_points")
    parser.add_argument("--print", action="store_true", help="print the page")
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    asked = parser.parse_args(arguments)
    text = page(installed())
    print(text) if asked.print else PAGE.write_text(text)


if __name__ == "__main__":
    main()
