"""The programs: each source is one function, and registers what stands elsewhere.

A program is found by its name; what is found makes the function and its arguments anew.  A new
program of `tests/corpus` or `tests/programs` takes part by itself.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.complex.programs import PROGRAMS as COMPLEX
from tests.corpus.collected import CORPUS
from tests.programs import (
    data_analysis,
    golden_primals,
    kinds,
    linear_algebra,
    objectives,
    objects,
    recursions,
    science,
    statistics,
    with_helpers,
)
from tests.test_golden import NAMES, arguments

Made = tuple[Callable[..., Any], tuple[Any, ...]]
Make = Callable[[], Made]
SOURCES: list[Callable[[], Iterator[tuple[str, Make]]]] = []


def source(function: Callable[[], Iterator[tuple[str, Make]]]) -> Any:
    """Register a source of programs."""
    SOURCES.append(function)
    return function


def standing(f: Callable[..., Any], *args: Any) -> Make:
    """A function and arguments that exist once: each call has copies of the arguments."""
    kept = copy.deepcopy(args)
    return lambda: (f, copy.deepcopy(kept))


@source
def corpus() -> Iterator[tuple[str, Make]]:
    """The programs of the corpus, one feature in each."""
    for name, (f, args) in CORPUS.items():
        yield f"corpus {name}", standing(f, *args)


@source
def goldens() -> Iterator[tuple[str, Make]]:
    """The programs of the golden files."""
    for name in NAMES:
        yield f"golden {name}", standing(getattr(golden_primals, name), *arguments(name))


@source
def sciences() -> Iterator[tuple[str, Make]]:
    """Programs of scientists; many have results of several numbers."""
    for name, (f, args, *_) in science.PROGRAMS.items():
        yield f"science {name}", standing(f, *args)


@source
def tables() -> Iterator[tuple[str, Make]]:
    """Programs of statistics, data analysis and linear algebra, and those with complex numbers."""
    for word, programs in {
        "statistics": statistics.PROGRAMS,
        "data": data_analysis.PROGRAMS,
        "matrices": linear_algebra.PROGRAMS,
        "complex": COMPLEX,
    }.items():
        for k, (f, args) in enumerate(programs):
            yield f"{word} {k} {f.__name__}", standing(f, *args)


@source
def recursive() -> Iterator[tuple[str, Make]]:
    """Functions of one number that call themselves."""
    for name, f in recursions.PROGRAMS.items():
        yield f"recursion {name}", standing(f, 0.7)


@source
def of_objects() -> Iterator[tuple[str, Make]]:
    """Functions of objects."""
    for name, make in objects.PROGRAMS.items():
        yield f"object {name}", make


@source
def of_objectives() -> Iterator[tuple[str, Make]]:
    """Methods of objects that count their calls."""
    for cls, count in objectives.CASES:

        def make(cls: Any = cls, count: int = count) -> Made:
            return cls(count).fun, (np.linspace(0.5, 1.4, count),)

        yield f"objective {cls.__name__}", make


@source
def of_kinds() -> Iterator[tuple[str, Make]]:
    """Programs whose numbers are of several kinds."""
    for name, (f, args) in kinds.PROGRAMS.items():
        yield f"kinds {name}", standing(f, *args)


@source
def of_helpers() -> Iterator[tuple[str, Make]]:
    """Programs that call functions of their own."""
    for name in sorted(with_helpers.PROGRAMS.keys() - with_helpers.WITHOUT_DIFFERENCES):

        def make(name: str = name) -> Made:
            module = with_helpers.module(name)
            return module.f, module.arguments()[0]

        yield f"helpers {name}", make


PROGRAMS: dict[str, Make] = {name: make for each in SOURCES for name, make in each()}
