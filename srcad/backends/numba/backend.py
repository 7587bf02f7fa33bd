"""``numba``: fused loops that Numba compiles; the NumPy text where they do not apply.

A function that is not covered is written by the NumPy backend as a whole.  Of one that is covered,
the compiled form raises `Deopt` for arguments that it does not serve (an index out of bounds, a
division by zero): then the NumPy text runs on the same arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from srcad.backends.interface import Backend, NotCovered
from srcad.backends.numba.fusion import Fusion, contract
from srcad.backends.numba.lowering import Lowered, Lowering
from srcad.backends.numba.printing import Writer, allocations, reads_in
from srcad.backends.numba.representations import Array, Number, Parts, Rep
from srcad.backends.python.backend import load as load_numpy
from srcad.backends.python.backend import write as write_numpy
from srcad.ir.core import Function, Location
from srcad.startup.records import dataclass, field
from srcad.types.numeric import Numeric

_BUILTIN = frozenset({"abs", "min", "max", "int", "float", "bool", "neg", "not", "if"})


@dataclass(frozen=True, eq=False)
class Prepared:
    """A function as loop nests, and as it was."""

    lowered: Lowered
    function: Function


@dataclass(frozen=True, eq=False)
class Loops:
    """A function as the text of fused loops.

    `unpack` gives the compiled function its arguments, `pack` makes the results of what it returns.
    """

    name: str
    text: str
    line_map: Mapping[int, Location]
    prepared: Prepared
    called: tuple[str, ...] = field(default_factory=tuple)


def prepare(function: Function) -> Prepared:
    """Lower a function to loops, or raise `NotCovered`."""
    lowered = Lowering().function(function)
    b = lowered.builder
    groups = {name: b.group_of(name) for name in b.storages}
    lowered.body = Fusion(groups).fused(lowered.body)
    contract(lowered.body, b.storages)
    return Prepared(lowered, function)


def write(prepared: Prepared, name: str) -> Loops:
    """Write loops as text."""
    lowered = prepared.lowered
    b = lowered.builder
    writer = Writer(b.storages, allocations(lowered.body, b.storages), b.taken)
    params = ", ".join(p.name for p in lowered.parameters)
    called = tuple(dict.fromkeys(reads_in(lowered.body)))
    writer.lines.append(f"def {name}({params}):")
    for line in lowered.head:
        writer.lines.append(f"    {line}")
    writer.write(lowered.body, "    ")
    leaves = [writer.printer.expr(e) for r in lowered.results for e in _results(r)]
    writer.lines.append(f"    return {', '.join(leaves)}{',' if len(leaves) == 1 else ''}")
    return Loops(name, "\n".join(writer.lines) + "\n", writer.line_map, prepared, called)


def _results(rep: Rep) -> list[Any]:
    from srcad.backends.numba.loops import Load

    if isinstance(rep, Parts):
        return [e for one in rep.items for e in _results(one)]
    if isinstance(rep, Array):
        assert rep.storage is not None
        return [Load(rep.storage)]
    assert isinstance(rep, Number)
    return [rep.expr]


# --------------------------------------------------------------------------------- running
def load(loops: Loops, label: str) -> Callable[..., Any]:
    """Compile the loops with Numba, and return what is called with the function's arguments."""
    from srcad.backends.numba import kernels

    kernel = kernels.compiled(loops.text, loops.name, loops.prepared.lowered.parameters)
    return runner(loops, kernel, label)


def runner(loops: Loops, kernel: Callable[..., Any], label: str) -> Callable[..., Any]:
    """Return a function of the derivative's arguments around a compiled one."""
    from srcad.backends.numba.kernels import Deopt

    lowered = loops.prepared.lowered
    function = loops.prepared.function
    fetch = [_fetch(p.path, p.type) for p in lowered.parameters]
    types = [getattr(r, "type", None) for r in function.block.results]
    pack = [_pack(rep, type_) for rep, type_ in zip(lowered.results, types, strict=True)]
    state: list[Callable[..., Any] | None] = [None]

    def numpy_form() -> Callable[..., Any]:
        if state[0] is None:
            state[0] = load_numpy(write_numpy(function, loops.name), label)
        return state[0]

    def run(*arguments: Any) -> Any:
        try:
            found = iter(kernel(*[one(arguments) for one in fetch]))
        except (Deopt, TypeError):
            return numpy_form()(*arguments)
        results = [one(found) for one in pack]
        return results[0] if len(results) == 1 else tuple(results)

    run.numpy_form = numpy_form  # type: ignore[attr-defined]
    return run


def _fetch(path: tuple[int, ...], type_: Numeric) -> Callable[[Any], Any]:
    (first, *rest) = path
    is_array = type_.shape != ()
    is_zero_d = type_.form in ("array", "any") and not is_array

    def fetch(arguments: Any) -> Any:
        found = arguments[first]
        for k in rest:
            found = found[k]
        if is_array:
            return found if found.flags.carray else np.array(found, order="C")
        return found[()] if is_zero_d and isinstance(found, np.ndarray) else found

    return fetch


def _pack(rep: Rep, type_: Any) -> Callable[[Any], Any]:
    if isinstance(rep, Parts):
        items = getattr(type_, "items", (None,) * len(rep.items))
        parts = [_pack(one, t) for one, t in zip(rep.items, items, strict=True)]
        return lambda found: tuple([one(found) for one in parts])
    if isinstance(rep, Array):
        return next
    assert isinstance(rep, Number)
    form = type_.form if isinstance(type_, Numeric) else "any"
    if form == "python" or rep.dtype.kind != "f":
        return next
    if form == "array":
        return lambda found: np.array(next(found), rep.dtype)
    return lambda found: rep.dtype.type(next(found))


BACKEND = Backend("numba", prepare, write, load)
_unused = NotCovered
