"""The functions that `python -m benchmarks` differentiates, with their arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.npbench import KERNELS, floating
from benchmarks.problems import PROBLEMS

SEED = 20240607
SETS = ("problems", "kernels")


@dataclass(frozen=True)
class Case:
    """A function at one size of its arguments.

    Parameters
    ----------
    group : str
        ``problems`` or ``kernels``.
    name, size : str
        The name of the function, and the label of the size.
    function : callable
        ``function(*args)`` returns one real number.
    args : tuple
        The arguments.
    wrt : tuple of int
        The positions of the arguments that are differentiated.
    """

    group: str
    name: str
    size: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    wrt: tuple[int, ...]


def names(group: str) -> list[str]:
    """The names of all problems or of all kernels."""
    return list(PROBLEMS if group == "problems" else KERNELS)


def labels(group: str, name: str, size: str) -> list[str]:
    """The labels of the sizes to run.

    `size` is a label, ``smallest``, ``largest``, or empty: every size of a problem, and the size
    ``bench`` of a kernel, whose size ``test`` is for checks.
    """
    known = list((PROBLEMS if group == "problems" else KERNELS)[name].sizes)
    if not size:
        return known if group == "problems" else ["bench"]
    size = {"smallest": known[0], "largest": known[-1]}.get(size, size)
    return [size] if size in known else []


def case(group: str, name: str, size: str) -> Case:
    """Build one case; the arguments are the same numbers in every run."""
    rng = np.random.default_rng(SEED)
    if group == "problems":
        problem = PROBLEMS[name]
        return Case(group, name, size, problem.primal, problem.make(rng, size), problem.wrt)
    kernel = KERNELS[name]
    args = kernel.inputs(size, rng)
    return Case(group, name, size, kernel.function, args, floating(args))


def cases(groups: list[str], chosen: list[str], size: str) -> Iterator[Case]:
    """Yield the cases of some sets, one by one: those with the chosen names, or all."""
    for group in groups:
        for name in names(group):
            if not chosen or name in chosen:
                for label in labels(group, name, size):
                    yield case(group, name, label)
