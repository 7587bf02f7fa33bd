"""The programs whose texts are kept, by name; each source gives ``(name, program)`` in order."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.npbench import KERNELS
from benchmarks.npbench.registry import floating
from benchmarks.problems import PROBLEMS
from srcad.errors import SrcadError
from tests.adapter import generated
from tests.attacks.collected import ATTACKS
from tests.benchmarks.test_npbench import inputs_of
from tests.corpus.collected import CORPUS
from tests.generator.checker import loaded
from tests.generator.program import program
from tests.programs import golden_primals
from tests.test_golden import NAMES, WRT, arguments

# Every third seed makes a small program: what differs shall be short to read.
SMALL = {"spine": range(0, 3900, 3), "all": range(0, 1500, 3)}
LARGER = {"spine": range(1, 300, 3), "all": range(1, 300, 3)}
SOME = 40  # of each kind of small random programs


@dataclass(frozen=True)
class Program:
    """A function, arguments, and by which of them it is differentiated (None: by all)."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    wrt: tuple[int, ...] | None = None

    def text(self) -> str:
        """The generated text; ``SRCAD-123`` for a refusal, the name of any other exception."""
        try:
            return generated(self.function, self.wrt, *self.args)
        except SrcadError as error:
            return error.code
        except Exception as error:
            return type(error).__name__


class HasText(Protocol):
    """What is kept of a program."""

    def text(self) -> str:
        """The generated text, or what stands for it."""


Programs = Iterator[tuple[str, HasText]]


def goldens() -> Programs:
    """The programs of the golden files."""
    for name in NAMES:
        wrt = WRT.get(name, (0,))
        yield f"golden {name}", Program(getattr(golden_primals, name), arguments(name), wrt)


def problems() -> Programs:
    """The problems that have an adjoint by hand."""
    for name, problem in PROBLEMS.items():
        args = problem.make(np.random.default_rng(0))
        yield f"problem {name}", Program(problem.primal, args, problem.wrt)


def corpus() -> Programs:
    """The programs of the corpus, one feature in each."""
    for name, (function, args) in CORPUS.items():
        yield f"corpus {name}", Program(function, args)


def kernels() -> Programs:
    """The kernels of NPBench and PolyBench, at their smallest size."""
    for name, kernel in KERNELS.items():
        inputs = inputs_of(kernel)
        yield f"kernel {name}", Program(kernel.function, inputs, floating(inputs))


def attacks() -> Programs:
    """What is tried to mislead srcad."""
    for name, attack in ATTACKS.items():
        with contextlib.suppress(Exception):
            f, args, *_ = attack()
            yield f"attack {name}", Program(f, args)


@dataclass(frozen=True)
class RandomProgram:
    """A program of the generator, which is made when its text is asked for."""

    features: str
    seed: int

    def text(self) -> str:
        """The generated text, as of other programs."""
        made = program(self.seed, self.features)
        with (
            tempfile.TemporaryDirectory() as folder,
            loaded(made.text, Path(folder), f"program_{self.seed}") as module,
        ):
            return Program(module.f, module.make_arguments(), module.WRT).text()


def random(seeds: dict[str, range]) -> Programs:
    """Programs of the generator."""
    for features, numbers in seeds.items():
        for seed in numbers:
            yield f"random {features}-{seed:04}", RandomProgram(features, seed)


def all_random() -> Programs:
    """Two thousand of them."""
    yield from random(SMALL)
    yield from random(LARGER)


def some_random() -> Programs:
    """Some of the small ones."""
    return random({features: seeds[:SOME] for features, seeds in SMALL.items()})
