"""Generated loops run by Python instead of Numba, to test their results."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from srcad.backends.numba.backend import fused_loops, write
from srcad.backends.numba.deopt import Deopt
from srcad.backends.numba.lowering import Parameter
from srcad.ir.core import Function


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*map(np.float64, args))

    return call


def grown(storage: np.ndarray) -> np.ndarray:
    longer = np.empty((2 * storage.shape[0], *storage.shape[1:]), storage.dtype)
    longer[: storage.shape[0]] = storage
    return longer


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
    "np": np,
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
