"""Generated loops run by Python instead of Numba, to test their results."""

import inspect
import math
import os
from collections.abc import Callable
from types import FunctionType
from typing import Any
from unittest import mock

import numpy as np

import srcad
from srcad import pipeline
from srcad.backends.numba.backend import fused_loops, write
from srcad.backends.numba.deopt import Deopt
from srcad.backends.numba.lowering import Parameter
from srcad.ir.core import Function
from srcad.types.sources import read


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*map(np.float64, args))

    return call


def grown(storage: np.ndarray) -> np.ndarray:
    longer = _Numpy().empty((2 * storage.shape[0], *storage.shape[1:]), storage.dtype)
    longer[: storage.shape[0]] = storage
    return longer


class _Numpy:
    """NumPy with arrays of nan, or of a large integer, in the place of memory without values."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        return np.full(shape, np.nan if np.dtype(dtype).kind == "f" else 99, dtype)


def solve_lower(a: np.ndarray, b: np.ndarray, transposed: bool) -> np.ndarray:
    return np.linalg.solve(a.T if transposed else a, b)


def refusing(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        try:
            return function(*args)
        except np.linalg.LinAlgError:
            raise Deopt from None

    return call


FUNCTIONS = {
    **{name: _quiet(getattr(np, name)) for name in (
        "exp", "expm1", "log", "log1p", "log2", "log10", "tanh", "sin", "cos", "tan", "sinh",
        "cosh", "power", "logaddexp", "sign", "maximum", "minimum", "fmax", "fmin")},
    "erf": math.erf,
    "expit": lambda x: 1 / (1 + math.exp(-x)),
    "add_any_order": lambda s, x: s + x,
    "square": lambda x: x * x,
    "grown": grown,
    "gemm_nn": lambda a, b: a @ b,
    "gemm_nt": lambda a, b: a @ b.T,
    "gemm_tn": lambda a, b: a.T @ b,
    "gemm_tt": lambda a, b: a.T @ b.T,
    "gemv_n": lambda a, x: a @ x,
    "gemv_t": lambda a, x: a.T @ x,
    "cholesky": refusing(np.linalg.cholesky),
    "solve": refusing(np.linalg.solve),
    "solve_lower": refusing(solve_lower),
    "inverse": refusing(np.linalg.inv),
    "lower_inverse": refusing(np.linalg.inv),
    "determinant": refusing(np.linalg.slogdet),
    "Deopt": Deopt,
    "np": _Numpy(),
    "math": math,
}  # fmt: skip


def interpreted(function: Function) -> tuple[Callable[..., Any], str, list[Parameter]]:
    """Return the kernel of a function as a Python function, its code and its parameters.

    The Python function returns a tuple of all results.
    """
    prepared = fused_loops(function)
    loops = write(prepared, "kernel")
    space = dict(FUNCTIONS)
    exec(compile(loops.text, "<loops>", "exec"), space)

    def kernel(*args: Any) -> tuple[Any, ...]:
        found = space["kernel"](*args)
        return found if isinstance(found, tuple) else (found,)

    return kernel, loops.text, prepared.lowered.parameters


def leaves(tree: Any) -> list[np.ndarray]:
    """Return the numbers and arrays of a structure."""
    if isinstance(tree, tuple | list):
        return [leaf for item in tree for leaf in leaves(item)]
    if isinstance(tree, dict):
        return leaves(list(tree.values()))
    return [] if tree is None else [np.asarray(tree)]


def numbers(tree: Any) -> np.ndarray:
    """Return all numbers of a structure in a row."""
    return np.concatenate([np.empty(0), *(np.ravel(leaf).astype(float) for leaf in leaves(tree))])


def fetched(path: tuple[tuple[str, Any], ...], arguments: list[Any]) -> Any:
    """Return the part of the arguments that a parameter of the loops stands for."""
    (_, first), *rest = path
    found = arguments[first]
    for kind, key in rest:
        if kind == "list":
            found = np.array(found)
        else:
            found = found[key] if kind == "item" else getattr(found, key)
    return found[()] if isinstance(found, np.ndarray) and not found.shape else found


class Compared:
    """The NumPy code and the loops of ``value_and_grad`` of a function."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        function = FunctionType(  # of a code of its own: nothing is compiled for it yet
            function.__code__.replace(), function.__globals__, function.__name__,
            function.__defaults__, function.__closure__,
        )  # fmt: skip
        self.function, self.seen = function, []
        self.read: list[Any] = []
        real, lowered = pipeline.finished, pipeline.lower

        def finished(one: Any, own: Any) -> Any:
            self.seen.append(real(one, own))
            return self.seen[-1]

        def lower(*args: Any) -> Any:
            self.read.append(lowered(*args))
            return self.read[-1]

        wrt = tuple(k for k, a in enumerate(arguments) if _is_active(a))
        self.derivative = srcad.value_and_grad(function, wrt=wrt)
        inline = mock.patch.dict(os.environ, SRCAD_HELPERS="inline")  # as the backend has it read
        with mock.patch.multiple(pipeline, finished=finished, lower=lower), inline:
            with np.errstate(all="ignore"):
                self.expected = self.derivative(*arguments)
        self.kernel, self.text, self.parameters = interpreted(self.seen[-1])
        self.paths = [c.path for c in self.read[-1].captures]

    def loops(self, arguments: tuple[Any, ...]) -> list[Any]:
        named = dict(zip(inspect.signature(self.function).parameters, arguments, strict=True))
        captures = [read(path, self.function, named) for path in self.paths]
        given = [fetched(p.path, [*arguments, *captures]) for p in self.parameters]
        with np.errstate(all="ignore"):
            return list(self.kernel(*given))

    def agree(self, arguments: tuple[Any, ...], rtol: float = 1e-12) -> None:
        with np.errstate(all="ignore"):
            expected = leaves(self.derivative(*arguments))
        found = leaves(self.loops(arguments))
        if any(isinstance(a, list) for a in arguments):  # loops return an array for a list
            expected, found = ([np.concatenate([*map(np.ravel, one)])] for one in (expected, found))
        assert [e.shape for e in expected] == [f.shape for f in found]
        for e, f in zip(expected, found, strict=True):
            largest = np.max(np.abs(e[np.isfinite(e)]), initial=1.0)
            np.testing.assert_allclose(f, e, rtol=rtol, atol=rtol * largest)


def _is_active(argument: Any) -> bool:
    found = leaves(argument)
    return any(leaf.dtype.kind == "f" for leaf in found)
