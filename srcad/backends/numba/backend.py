"""Compiled backend: entry points of `srcad.backends.interface` for fused loops and Numba.

A function that is not covered is written by the NumPy backend as a whole.  Of one that is covered,
the compiled form raises `Deopt` for arguments that it does not serve (an index out of bounds, a
division by zero): then the NumPy text runs on the same arguments.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from srcad.arguments.options import Numba, compiler_is_disabled, numba_is_installed
from srcad.backends.interface import Backend, NotCovered
from srcad.backends.numba.folder import VARIABLE, private
from srcad.backends.numba.fusion import Fusion, contract, without_unit_axes
from srcad.backends.numba.inlining import inline
from srcad.backends.numba.loops import Assign, Expr, Guard, Load
from srcad.backends.numba.lowering import Lowered, Lowering
from srcad.backends.numba.parallel import mark_parallel
from srcad.backends.numba.printing import Writer, allocations
from srcad.backends.numba.representations import Array, Items, Number, Rep
from srcad.backends.numba.running import Switch, Wrapper, kernels, leaves_of
from srcad.backends.numba.stores import without_useless_stores
from srcad.backends.python.backend import load as load_numpy
from srcad.backends.python.backend import write as write_numpy
from srcad.ir.core import Function, Location
from srcad.startup.records import dataclass, replace

DEFAULT = Numba()
WORTH_A_CALL = 24  # operations on Python numbers that take as long as a call of compiled code


@dataclass(frozen=True, eq=False)
class Prepared:
    """A function of the IR, its loop nests, and the options of their wrapper."""

    lowered: Lowered
    function: Function
    wrapper: Wrapper


@dataclass(frozen=True, eq=False)
class Loops:
    """The generated code of fused loops for a function."""

    name: str
    text: str
    line_map: Mapping[int, Location]
    prepared: Prepared


def prepare(function: Function, *, parallel: bool = False) -> Prepared:
    """Lower a function to loops and mark parallel ones; raise `NotCovered` if it cannot be done."""
    if not numba_is_installed():
        raise NotCovered("no Numba")
    if compiler_is_disabled():
        raise NotCovered("NUMBA_DISABLE_JIT is set", is_choice=True)
    prepared = fused_loops(function, parallel=parallel)
    body = prepared.lowered.body
    is_plain = all(isinstance(node, Assign | Guard) for node in body)
    if is_plain and len(body) < WORTH_A_CALL:
        raise NotCovered("a few operations on numbers take less time than a call", is_choice=True)
    return prepared


def fused_loops(function: Function, *, parallel: bool = False) -> Prepared:
    """Lower a function to loops; this needs no Numba."""
    lowered = Lowering().function(function)
    b = lowered.builder
    groups = {name: b.group_of(name) for name in b.storages}
    lowered.body = Fusion(groups).fused(lowered.body)
    without_unit_axes(lowered.body, b.storages)
    contract(lowered.body, b.storages)
    results = [_expression(leaf) for r in lowered.results for leaf in leaves_of(r)]
    without_useless_stores(lowered.body, b.storages, groups, results)
    inline(lowered.body, results)
    if parallel:
        mark_parallel(lowered.body, b.storages)
    if not any(map(leaves_of, lowered.results)):
        raise NotCovered("a result without numbers")
    types = [getattr(result, "type", None) for result in function.block.results]
    wrapper = Wrapper(lowered, types, len(function.params))
    wrapper.text(function.name)  # raises NotCovered for results that cannot be made
    return Prepared(lowered, function, wrapper)


def write(prepared: Prepared, name: str) -> Loops:
    """Print loops as Python code."""
    lowered = prepared.lowered
    b = lowered.builder
    writer = Writer(b.storages, allocations(lowered.body, b.storages), b.taken)
    params = ", ".join(p.name for p in lowered.parameters)
    writer.lines.append(f"def {name}({params}):")
    for line in lowered.head:
        writer.lines.append(f"    {line}")
    writer.write(lowered.body, "    ")
    leaves = [
        writer.printer.expr(_expression(leaf)) for r in lowered.results for leaf in leaves_of(r)
    ]
    writer.lines.append(f"    return {', '.join(leaves)}")
    return Loops(name, "\n".join(writer.lines) + "\n", writer.line_map, prepared)


def _expression(leaf: Rep) -> Expr:
    """Return the expression of a number or array that is returned."""
    if isinstance(leaf, Array):
        assert leaf.storage is not None
        return Load(leaf.storage)
    if isinstance(leaf, Items):
        (column,) = leaf.columns
        return Load(column.storage)
    assert isinstance(leaf, Number)
    return leaf.expr


# --------------------------------------------------------------------------------- running
def load(
    loops: Loops, label: str, options: Numba = DEFAULT, *, measures: bool = False
) -> Callable[..., Any]:
    """Return a callable with the function's arguments; its first call compiles."""
    prepared = loops.prepared
    folder = options.cache or os.environ.get(VARIABLE)
    inner = private(os.fspath(folder)) if folder else None

    def compile_loops() -> Callable[..., Any]:
        made: Callable[..., Any] = kernels().compiled(
            with_tests(loops.text, switch.tests), loops.name, prepared.lowered.parameters, inner
        )
        return made

    def numpy_code() -> Callable[..., Any]:
        return load_numpy(write_numpy(prepared.function, loops.name), label)

    wrapper = prepared.wrapper
    switch = Switch(
        loops.name, compile_loops, numpy_code, options, measures, wrapper.arrays(), wrapper.count
    )
    text = wrapper.text(loops.name)
    return switch.wrapped(text, wrapper.constants, loops.text, label)


def with_tests(text: str, tests: Sequence[str]) -> str:
    r"""Return the text of a function that raises `Deopt` if one of the conditions does not hold.

    >>> print(with_tests("def f(x, y):\n    return x + y\n", ["x.shape[0] == y.shape[0]"]), end="")
    def f(x, y):
        if not (x.shape[0] == y.shape[0]):
            raise Deopt
        return x + y
    """
    first, body = text.split("\n", 1)
    lines = [f"    if not ({' and '.join(tests)}):", "        raise Deopt"] if tests else []
    return "\n".join([first, *lines, body])


def configure(options: Numba) -> Backend:
    """Return the backend with these options."""
    return replace(
        BACKEND,
        prepare=partial(prepare, parallel=options.parallel),
        load=partial(load, options=options),
        is_strict=options.strict,
    )


BACKEND = Backend("numba", prepare, write, load, configure, warns=False)
AUTO = Backend(
    "auto", prepare, write, partial(load, options=Numba(wait=False), measures=True), warns=False
)
