"""The systems that `python -m benchmarks` compares: how each computes the gradients of a case."""

from __future__ import annotations

import importlib
import math
import types
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import srcad
from benchmarks.cases import Case
from benchmarks.problems import OPTIMISED, PROBLEMS

Run = Callable[[], Any]

# autograd differentiates no writes into arrays.
WITH_WRITES = frozenset({"cholesky", "gmm", "jacobi_2d", "lstm", "seidel_2d"})


@dataclass(frozen=True)
class System:
    """A way to compute gradients.

    Parameters
    ----------
    name : str
        The name on the command line and in the tables.
    build : callable
        ``build(case)`` returns a function without arguments that returns the tuple of gradients,
        or None if the system has no version of the function.
    modules : tuple of str
        The modules that have to be installed.
    """

    name: str
    build: Callable[[Case], Run | None]
    modules: tuple[str, ...] = ()

    def missing(self) -> str:
        """Import the modules; return the name of the first that is not installed, or nothing."""
        for module in self.modules:
            try:
                importlib.import_module(module)
            except ImportError:
                return module
        return ""

    def start(self) -> None:
        """Differentiate a small function, so that the start of the system is not measured."""
        with suppress(Exception):  # the cases report the error
            run = self.build(SMALL)
            if run is not None:
                run()


def _square(x: float) -> float:
    return x * x


SMALL = Case("", "square", "", _square, (1.0,), (0,))


def by_hand(case: Case) -> Run | None:
    """The hand-written adjoint, line by line."""
    if case.group != "problems":
        return None
    return lambda: PROBLEMS[case.name].by_hand(*case.args)


def optimised(case: Case) -> Run | None:
    """The hand-optimised adjoint, with reused buffers."""
    if case.group != "problems" or case.name not in OPTIMISED:
        return None
    adjoint = OPTIMISED[case.name](*case.args)
    return lambda: adjoint(*case.args)


def generated(case: Case) -> Run:
    """The NumPy code that srcad generates."""
    gradient = srcad.grad(case.function, wrt=case.wrt)
    return lambda: gradient(*case.args)


def compiled(case: Case) -> Run:
    """The code that srcad generates, compiled by Numba."""
    gradient = srcad.grad(case.function, wrt=case.wrt, backend="numba")
    return lambda: gradient(*case.args)


def with_autograd(case: Case) -> Run | None:
    """The primal on ``autograd.numpy``; of a kernel, the version without writes if there is one."""
    autograd = importlib.import_module("autograd")
    if case.group == "kernels":
        peers = importlib.import_module("benchmarks.npbench.peers")
        if case.name not in peers.PEERS:
            return None
        gradient = peers.gradient_by_peer(case.name, case.args)
    elif case.name in WITH_WRITES:
        return None
    else:
        function = rebound(case.function, importlib.import_module("autograd.numpy"))
        gradient = autograd.grad(function, case.wrt)
    return lambda: gradient(*case.args)


def with_jax(case: Case) -> Run | None:
    """The JAX version, compiled by XLA."""
    if case.group == "kernels":
        return None
    in_jax = importlib.import_module("benchmarks.problems.in_jax")
    plain = rebound(case.function, importlib.import_module("jax.numpy"))
    run: Run = in_jax.gradients(case.name, plain, case.args, case.wrt)
    return run


def with_torch(case: Case) -> Run | None:
    """The PyTorch version, eager."""
    if case.group == "kernels":
        return None
    in_torch = importlib.import_module("benchmarks.problems.in_torch")
    run: Run | None = in_torch.gradients(case.name, case.args, case.wrt)
    return run


def rebound(function: Callable[..., Any], numpy: Any) -> Callable[..., Any]:
    """The function and the helpers of its module, with `np` and `math` bound to another module."""
    assert isinstance(function, types.FunctionType)
    space = dict(function.__globals__, np=numpy)
    if space.get("math") is math:
        space["math"] = numpy
    for name, value in list(space.items()):
        if isinstance(value, types.FunctionType) and value.__globals__ is function.__globals__:
            space[name] = types.FunctionType(
                value.__code__, space, name, value.__defaults__, value.__closure__
            )
    found: Callable[..., Any] = space[function.__name__]
    return found


SYSTEMS = {
    system.name: system
    for system in (
        System("hand", by_hand),
        System("opt", optimised),
        System("srcad", generated),
        System("srcad+numba", compiled, ("numba",)),
        System("autograd", with_autograd, ("autograd",)),
        System("jax.jit", with_jax, ("jax",)),
        System("torch", with_torch, ("torch",)),
    )
}
BASIS = {"problems": "hand", "kernels": "srcad"}
PACKAGES = ("numpy", "scipy", "numba", "autograd", "jax", "torch")


def installed(wanted: Iterable[str]) -> list[System]:
    """The systems of these names; print a line about each that is not installed."""
    found = []
    for name in wanted:
        module = SYSTEMS[name].missing()
        if module:
            print(f"{name}: left out, {module} is not installed", flush=True)
        else:
            SYSTEMS[name].start()
            found.append(SYSTEMS[name])
    return found
