"""One row of the list: how it is spelled, and what comes of it."""

from __future__ import annotations

import ast
import functools
import importlib
import io
import linecache
import math
import re
import tempfile
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import srcad
from srcad.rules import lookup
from tests.coverage import numpy_calls, scipy_calls
from tests.coverage.inputs import inputs

ROWS = Path(__file__).with_name("rows.txt")
CALLS = numpy_calls.CALLS | scipy_calls.CALLS
CONSTANTS = {"k", "mask"}
STEP = 1e-6


@dataclass(frozen=True)
class Row:
    """A line of the list, and what is known to come of it."""

    priority: int
    kind: str
    topic: str
    name: str

    @property
    def line(self) -> str:
        """The row as it stands in the list."""
        return f"{self.priority} {self.kind:<9} {self.topic:<12} {self.name}"

    @property
    def target(self) -> Any:
        """The object that the row is about, if it has a name."""
        found = re.match(r"(np|scipy|math)(\.\w+)+", self.name)
        return _resolved(found[0]) if found else None

    @property
    def program(self) -> str:
        """The row as a program; empty for a function of SciPy that is spelled nowhere."""
        if self.name in CALLS:
            return CALLS[self.name]
        for prefix in ("ndarray x", "x x"):
            if self.name.startswith(prefix):
                return self.name[len(prefix) - 1 :]
        target = self.target
        if isinstance(target, np.ufunc):
            return f"{self.name.split()[0]}({', '.join('xyxy'[: target.nin])})"
        if target is None or not callable(target) or isinstance(target, type):
            return self.name
        ruled = not self.name.startswith("scipy") or lookup(target) is not None
        return f"{self.name}(x)" if ruled else ""


@dataclass(frozen=True)
class Outcome:
    """``works``, ``constant``, ``refused``, ``absent`` in this version, or what is ``wrong``."""

    kind: str
    reason: str = ""


def rows() -> Iterator[Row]:
    """The rows of the list."""
    for line in ROWS.read_text().splitlines():
        priority, kind, topic, name = line.split(None, 3)
        yield Row(int(priority), kind, topic, name)


def outcome(row: Row) -> Outcome:
    """Differentiate the row's program, and compare the gradient with differences."""
    if not row.program:
        return Outcome("refused" if row.target is not None else "absent", "no rule")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            function, names = _function(row.program)
        except Exception as error:
            return Outcome("absent", f"{type(error).__name__}: {error}")
        try:
            return _compared(function, names)
        except srcad.errors.SrcadError as error:
            return Outcome("refused", error.sentence)


def _compared(function: Any, names: list[str]) -> Outcome:
    """Whether a derivative along some direction is that of differences."""
    given = inputs()
    args = [given[name] for name in names]
    active = tuple(n for n, name in enumerate(names) if name not in CONSTANTS)
    np.random.seed(0)
    bars = srcad.grad(function, wrt=active)(*args) if active else ()
    rng = np.random.default_rng(7)
    moves = [rng.uniform(0.5, 1.5, np.shape(args[n])) for n in active]

    def at(step: float) -> float:
        moved = [given[name] for name in names]
        for n, v in zip(active, moves, strict=True):
            moved[n] = moved[n] + step * v
        np.random.seed(0)
        return float(function(*moved))

    slopes = [np.sum(bar * v) for bar, v in zip(bars, moves, strict=True)]
    found, want = float(sum(slopes)), (at(STEP) - at(-STEP)) / (2 * STEP)
    if abs(found - want) > 1e-5 * (1 + abs(want)):
        return Outcome("wrong", f"{found} is not {want}")
    zero = all(not np.any(bar) for bar in bars)
    return Outcome("constant" if zero or function.__name__ == "constant" else "works")


# ------------------------------------------------------------------------ programs
def _resolved(path: str) -> Any:
    """What a dotted name stands for; None if there is nothing in this version."""
    first, *rest = path.split(".")
    found: Any = np if first == "np" else importlib.import_module(first)
    for name in rest:
        inner = getattr(found, name, None)
        if inner is None:
            try:
                inner = importlib.import_module(f"{found.__name__}.{name}")
            except (ImportError, AttributeError):
                return None
        found = inner
    return found


def _function(text: str) -> tuple[Any, list[str]]:
    """A program as a function of the inputs that it names, with one real number as its result.

    What has no floats in its result adds nothing, and the function is called ``constant``.
    """
    tree = ast.parse(text)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names = [name for name in inputs() if name in used]
    *before, last = text.splitlines()
    plain = _made("plain", names, [*before, f"return {last}"])
    parts = list(_sums("result", plain(*(inputs()[name] for name in names))))
    names += [] if set(names) - CONSTANTS else ["c"]
    kind = "f" if parts else "constant"
    active = next(name for name in names if name not in CONSTANTS)
    total = " + ".join(parts) or f"0.5 * np.sum({active})"
    return _made(kind, names, [*before, f"result = {last}", f"return {total}"]), names


def _sums(place: str, value: Any) -> Iterator[str]:
    """Real numbers made of the parts of a result that have floats."""
    if isinstance(value, tuple | list):
        for n, part in enumerate(value):
            yield from _sums(f"{place}[{n}]", part)
    elif isinstance(value, complex | np.complexfloating):
        yield f"np.sin({place}.real) + {place}.imag ** 2"
    elif isinstance(value, float | np.floating):
        yield f"np.sin({place})"
    elif isinstance(value, np.ndarray) and value.dtype.kind == "c":
        yield f"np.sum(np.sin(np.real({place})) + np.imag({place}) ** 2)"
    elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
        yield f"np.sum(np.sin({place}))"


def _made(name: str, params: list[str], lines: list[str]) -> Any:
    """The function of a program, whose text can be found again."""
    body = "".join(f"    {line}\n" for line in lines)
    text = f"def {name}({', '.join(params)}):\n{body}"
    space = _space()
    file = f"<coverage {name} {abs(hash(text))}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), space)
    return space[name]


@functools.cache
def _files() -> dict[str, str]:
    folder = Path(tempfile.mkdtemp())
    np.arange(3.0).tofile(folder / "FILE")
    (folder / "TEXT").write_text("1\n2\n")
    np.save(folder / "ARRAYS.npy", np.arange(3.0))
    return {"FILE": str(folder / "FILE"), "TEXT": str(folder / "TEXT"),
            "ARRAYS": str(folder / "ARRAYS.npy")}  # fmt: skip


def _space() -> dict[str, Any]:
    """The names that a program finds outside itself."""
    space = {"np": np, "math": math, "io": io, "functools": functools, "types": types}
    space |= {"scipy": importlib.import_module("scipy"), "__name__": "coverage"} | _files()
    for module in ("special", "linalg", "integrate", "interpolate", "optimize", "stats", "sparse"):
        importlib.import_module(f"scipy.{module}")
    return space
