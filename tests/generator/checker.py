"""One program, compared three ways, and its gradient with differences."""

from __future__ import annotations

import copy
import importlib.util
import linecache
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import srcad
from tests.adapter import evaluated_as_compiled, evaluated_gradient
from tests.generator.differences import (
    Slope,
    complex_slope,
    direction,
    leaves,
    mapped,
    moved,
    product,
    real_slope,
)
from tests.generator.program import Program
from tests.generator.traces import instrumented, traced


@dataclass(frozen=True)
class Outcome:
    """How the check of one program ended: ``passed``, ``failed``, ``dropped`` or ``refused``.

    What is refused in these programs is an in-place change of a number whose kind is not known
    (it might be an array that others hold), and a loop whose kinds do not settle.
    """

    status: str
    kind: str = ""
    message: str = ""


class Mismatch(Exception):
    """A disagreement; the first argument is its kind."""


class Dropped(Exception):
    """The branch trace differs between the step points, however close they are."""


@contextmanager
def loaded(text: str, folder: Path, name: str) -> Iterator[ModuleType]:
    """The module of a text, from a real file, while the context lasts."""
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            exec(compile(text, str(path), "exec"), module.__dict__)
        yield module
    finally:
        del sys.modules[name]
        linecache.cache.pop(str(path), None)
        path.unlink()


def check(program: Program, folder: Path) -> Outcome:
    """Check one program; every sixth to second order."""
    name = f"program_{program.seed}"
    try:
        with warnings.catch_warnings(), loaded(program.text, folder, name) as module:
            warnings.simplefilter("error")
            _check_of(program, module).run()
    except Mismatch as error:
        return Outcome("failed", error.args[0], str(error.args[1]))
    except Dropped:
        return Outcome("dropped")
    except (srcad.errors.MutationError, srcad.errors.UnsupportedTypeError) as error:
        return Outcome("refused", error.sentence, str(error))
    except Exception as error:
        return Outcome("failed", f"raises {type(error).__name__}{_place(error)}", str(error))
    return Outcome("passed")


def _place(error: Exception) -> str:
    """Where inside srcad an exception came from, as far as that tells two failures apart."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f for f in frames if "/srcad/" in f.filename]
    if isinstance(error, srcad.errors.SrcadError):
        return f" ({error.sentence})"
    if not inside:
        return ""
    return f" in {Path(inside[-1].filename).name}:{inside[-1].name}"


def _check_of(program: Program, module: ModuleType) -> _Check:
    try:
        return _Check(program, module)
    except Exception as error:
        raise Mismatch("invalid program", repr(error)) from None


def agrees(got: float, want: Slope) -> bool:
    """Whether a derivative is what the differences say, within what they can say."""
    return abs(got - want.value) <= 2e-8 * max(1.0, abs(want.value)) + 30 * want.error


class _Check:
    def __init__(self, program: Program, module: ModuleType) -> None:
        self.program = program
        self.module = module
        self.f: Callable[..., Any] = module.f
        self.args: tuple[Any, ...] = module.make_arguments()
        self.wrt: tuple[int, ...] = module.WRT
        self.rng = np.random.default_rng(program.seed)

    def run(self) -> None:
        """All comparisons."""
        value = self.plain_value()
        compiled = srcad.value_and_grad(self.f, wrt=self.wrt)
        emitted, gradient = compiled(*self.args)
        self.exact("evaluator", evaluated_as_compiled(compiled, *self.args), value)
        self.exact("emitted", emitted, value)
        self.kinds(gradient)
        turn = self.program.seed // 3 % 3
        if turn == 0:
            self.pullbacks(value, gradient)
        elif turn == 1:
            alone = srcad.grad(self.f, wrt=self.wrt)(*self.args)
            self.close("grad and value_and_grad", alone, gradient)
        self.untouched()
        smooth = [self.slope(k, gradient[j]) for j, k in enumerate(self.wrt)]
        if self.program.seed // 3 % 6 == 2 and isinstance(self.args[0], float):
            self.second_order()
        if not all(smooth):
            raise Dropped

    def plain_value(self) -> Any:
        """What the plain call returns; a program that fails by itself is no finding."""
        try:
            value = self.f(*self.args)
        except Exception as error:
            raise Mismatch("invalid program", repr(error)) from None
        if not isinstance(value, float):
            raise Mismatch("invalid program", f"returns {value!r}")
        return value

    # -------------------------------------------------------------------------- values
    def exact(self, what: str, got: Any, want: Any) -> None:
        same = type(got) is type(want) and np.array_equal(got, want)
        if not same:
            raise Mismatch(what, f"{got!r} is not {want!r}")

    def untouched(self) -> None:
        for got, want in zip(leaves(self.args), leaves(self.module.make_arguments()), strict=True):
            self.exact("argument changed", got, want)

    def kinds(self, gradient: tuple[Any, ...]) -> None:
        """Each gradient has the structure, type, shape and dtype of its argument."""
        arguments = tuple(self.args[k] for k in self.wrt)
        if not isinstance(gradient, tuple) or len(gradient) != len(arguments):
            raise Mismatch("kind", f"{len(arguments)} gradients expected, not {gradient!r}")
        mapped(self.kind, arguments, gradient)

    def kind(self, argument: Any, gradient: Any) -> None:
        same = type(gradient) is type(argument) and np.shape(gradient) == np.shape(argument)
        if not same or np.asarray(gradient).dtype != np.asarray(argument).dtype:
            raise Mismatch("kind", f"the gradient of {argument!r} is {gradient!r}")
        if not np.all(np.isfinite(gradient)):
            raise Mismatch("gradient", f"not finite: {gradient!r}")

    def close(self, what: str, got: Any, want: Any) -> None:
        for a, b in zip(leaves(got), leaves(want), strict=True):
            if not np.allclose(a, b, rtol=1e-9, atol=1e-11):
                raise Mismatch(what, f"{a!r} is not {b!r}")

    def pullbacks(self, value: Any, gradient: Any) -> None:
        """The split form: twice with the same seed, once with another."""
        y, back = srcad.pullback(self.f, *self.args)
        self.exact("pullback", y, value)
        chosen = [back(seed) for seed in (1.0, 1.0, -2.0)]
        for result, factor in zip(chosen, (1.0, 1.0, -2.0), strict=True):
            got = tuple(result[k] for k in self.wrt)
            self.close("pullback", got, mapped(lambda g, s=factor: g * s, gradient))

    # --------------------------------------------------------------------- derivatives
    @cached_property
    def instrumented(self) -> tuple[Callable[..., Any], list[Any]]:
        """The function that records its branches, and the list that it records into."""
        return instrumented(self.program.text, self.module.__name__)

    def at(self, k: int, along: Any, step: complex) -> tuple[Any, ...]:
        args = list(copy.deepcopy(self.args))
        args[k] = moved(args[k], along, step)
        return tuple(args)

    def slope(self, k: int, gradient: Any) -> bool:
        """Compare one directional derivative; False if no step stays on one branch."""
        along = direction(self.args[k], self.rng)
        want: Slope | None = None
        if self.program.analytic:
            want = complex_slope(lambda step: self.f(*self.at(k, along, step)))
        if want is None:
            f, trace = self.instrumented
            want = real_slope(lambda step: traced(f, trace, self.at(k, along, step)))
        if want is None:
            return False
        try:
            self.compare(f"gradient of argument {k}", product(gradient, along), want)
        except Mismatch as error:
            raise Mismatch(
                f"{error.args[0]}{self.culprit(k, along, want)}", error.args[1]
            ) from None
        return True

    def culprit(self, k: int, along: Any, want: Slope) -> str:
        """Which half is wrong: the adjoint's IR, evaluated, or its text."""
        _, gradients = evaluated_gradient(self.f, self.wrt, *copy.deepcopy(self.args))
        got = product(gradients[self.wrt.index(k)], along)
        return " (writer)" if agrees(got, want) else " (transform)"

    def compare(self, what: str, got: float, want: Slope) -> None:
        scale = max(1.0, abs(want.value))
        if not np.isfinite(want.value) or want.error > 1e-4 * scale:
            raise Mismatch("differences", f"do not converge: {want}")
        if not agrees(got, want):
            raise Mismatch("gradient", f"{what}: {got!r}, differences say {want.value!r}")

    def second_order(self) -> None:
        """The derivative of the gradient along the first argument."""
        inner = srcad.grad(self.f, wrt=0)
        twice = srcad.grad(inner, wrt=0)(*self.args)
        f, trace = self.instrumented

        def run(step: float) -> tuple[Any, list[Any]]:
            args = self.at(0, 1.0, step)
            return inner(*args), traced(f, trace, args)[1]

        want = real_slope(run)
        if want is None:
            raise Dropped
        try:
            self.compare("second derivative of argument 0", twice, want)
        except Mismatch as error:
            raise Mismatch("second order", error.args[1]) from None
