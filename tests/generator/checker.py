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
from typing import Any, TypeGuard

import numpy as np

import srcad
from srcad.errors import NoDerivativeWarning
from tests.adapter import (
    evaluated_as_compiled,
    evaluated_gradient,
    helpers_kept,
    split_form,
)
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
from tests.generator.promises import overlaps, same, scribble
from tests.generator.traces import instrumented, traced


@dataclass(frozen=True)
class Outcome:
    """How the check of one program ended.

    It ``passed``; it ``failed`` (two answers differ); it ``crashed`` (something that is no refusal
    was raised); it was ``refused`` (a `SrcadError` says why) or ``dropped``.  What is refused in
    programs of the spine is an in-place change of a number whose kind is not known (it might be an
    array that others hold), and a loop whose kinds do not settle: any other refusal is a crash.
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


@contextmanager
def raising(expected: type[Exception]) -> Iterator[None]:
    """What happens inside must end in the same exception as the plain call."""
    try:
        yield
    except expected:
        return
    raise Mismatch("stale", f"{expected.__name__} expected")


def check(program: Program, folder: Path, *, alone: bool = False, helpers: bool = False) -> Outcome:
    """Check one program; every sixth to second order.

    With `alone` only the program itself is checked: it runs, and differences say the same.  With
    `helpers` only kept helpers are: the derivative is the one with helpers in place.
    """
    name = f"program_{program.seed}"
    try:
        with warnings.catch_warnings(), loaded(program.text, folder, name) as module:
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", NoDerivativeWarning)  # some are zero by steps
            made = _check_of(program, module)
            if helpers:
                made.with_helpers()
            else:
                made.rehearse() if alone else made.run()
    except Mismatch as error:
        return Outcome("failed", error.args[0], str(error.args[1]))
    except Dropped:
        return Outcome("dropped")
    except Exception as error:
        if _refuses(error, program.features):
            return Outcome("refused", error.sentence, str(error))
        return Outcome("crashed", f"raises {type(error).__name__}{_place(error)}", str(error))
    return Outcome("passed")


def _refuses(error: Exception, features: str) -> TypeGuard[srcad.errors.SrcadError]:
    expected: tuple[type[Exception], ...] = (
        srcad.errors.MutationError,
        srcad.errors.UnsupportedTypeError,
    )
    if features != "spine":
        expected = (srcad.errors.SrcadError,)
    return isinstance(error, expected) and not isinstance(error, srcad.errors.InvalidIRError)


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


def _array(x: Any) -> np.ndarray:
    return x if isinstance(x, np.ndarray) else np.empty(0)


def agrees(got: float, want: Slope) -> bool:
    """Whether a derivative is what the differences say, within what they can say."""
    return abs(got - want.value) <= 2e-8 * max(1.0, abs(want.value)) + 30 * want.error


class _Check:
    def __init__(self, program: Program, module: ModuleType) -> None:
        self.program = program
        self.module = module
        self.f: Callable[..., Any] = module.f
        self.fresh: Callable[[], tuple[Any, ...]] = module.make_arguments
        self.args = self.fresh()  # the program may write into those that it is called with
        self.wrt: tuple[int, ...] = module.WRT
        self.rng = np.random.default_rng(program.seed)

    def run(self) -> None:
        """All comparisons.

        A third of the programs take the split form, the others `value_and_grad`; what compiling
        costs is most of what checking costs, so that no program takes more ways than it needs.
        """
        value = self.plain_value()
        turn = self.program.seed // 3 % 6
        gradient = self.split(value) if turn % 3 == 0 else self.joined(value)
        if turn == 1:
            alone = self.untouched(srcad.grad(self.f, wrt=self.wrt))
            self.close("grad and value_and_grad", alone, gradient)
        if hasattr(self.module, "field"):
            self.output(gradient)
        smooth = [self.slope(group, gradient) for group in self.groups()]
        if turn == 2 and isinstance(self.args[0], float):
            self.second_order()
        if not all(smooth):
            raise Dropped
        if hasattr(self.module, "change"):
            self.after_change()

    def after_change(self) -> None:
        """All again, with what was compiled before something outside changed."""
        self.module.change()
        self.instrumented = instrumented(self.program.text, self.module.__name__, changed=True)
        compiled = srcad.value_and_grad(self.f, wrt=self.wrt)
        try:
            value = self.f(*self.fresh())
        except Exception as error:
            with raising(type(error)):
                compiled(*self.fresh())
            return
        emitted, gradient = self.untouched(compiled)
        self.exact("stale", emitted, value)
        self.kinds(gradient)
        for group in self.groups():
            along = self.along(group)
            want = self.differences(group, along)
            if want is not None:
                got = self.product(group, gradient, along)
                self.compare(f"stale gradient of argument {group}", got, want)

    def with_helpers(self) -> None:
        """Compare derivatives with no helper kept, large ones and all; in other modes, too."""
        value = self.plain_value()
        group = self.groups()[0]
        along = self.along(group)
        mode = "jvp" if self.program.seed % 2 else "hvp"
        with helpers_kept("none"):
            _, want = self.untouched(srcad.value_and_grad(self.f, wrt=self.wrt))
            moved = self.in_mode(mode, group, along)
        for which in ("large", "all"):
            with helpers_kept(which):
                got, gradient = self.untouched(srcad.value_and_grad(self.f, wrt=self.wrt))
                kept = self.in_mode(mode, group, along)
            self.exact(f"value with {which} helpers kept", got, value)
            self.kinds(gradient)
            self.close(f"gradient with {which} helpers kept", gradient, want)
            if isinstance(moved, Exception) or isinstance(kept, Exception):
                self.exact(f"{mode} with {which} helpers kept", repr(kept), repr(moved))
            else:
                self.close(f"{mode} with {which} helpers kept", kept, moved)

    def in_mode(self, mode: str, group: tuple[int, ...], along: tuple[Any, ...]) -> Any:
        """A product along a direction, or the exception that refuses it."""
        args = self.fresh()
        dots = dict(zip(group, along, strict=True))
        try:
            if mode == "jvp":
                return srcad.jvp(self.f, args, tuple(dots.get(k) for k in range(len(args))))
            return srcad.hvp(self.f, wrt=group)(*args, along)
        except srcad.errors.SrcadError as error:
            return error

    def rehearse(self) -> None:
        """Without any derivative of ours: the program runs, traces and differences are stable."""
        value = self.plain_value()
        self.exact("plain", self.plain_value(), value)
        f, trace = self.instrumented
        self.exact("instrumented", traced(f, trace, self.fresh())[0], value)
        for group in self.groups():
            along = self.along(group)
            want = self.differences(group, along)
            if want is None:
                raise Dropped
            self.compare("rehearsal", want.value, want)
            exact = self.exactly(group, along)
            if exact is not None:
                self.compare("complex step", exact.value, want)

    def plain_value(self) -> Any:
        """What the plain call returns; a program that fails by itself is no finding."""
        try:
            value = self.f(*self.fresh())
        except Exception as error:
            raise Mismatch("invalid program", repr(error)) from None
        if not isinstance(value, float | int):
            raise Mismatch("invalid program", f"returns {value!r}")
        return value

    # -------------------------------------------------------------------------- values
    def exact(self, what: str, got: Any, want: Any) -> None:
        if not same(got, want):
            raise Mismatch(what, f"{got!r} is not {want!r}")

    def untouched(self, function: Callable[..., Any]) -> Any:
        """The result of a call that leaves its arguments as they are and shares nothing."""
        args = self.fresh()
        result = function(*args)
        self.exact("argument changed", args, self.fresh())
        self.owned(result, args)
        return result

    def owned(self, result: Any, args: tuple[Any, ...]) -> None:
        """No array of the result shares memory with another one or with the arguments."""
        if overlaps(result, args):
            raise Mismatch("shared memory", f"{result!r} shares memory")

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

    def joined(self, value: float) -> tuple[Any, ...]:
        """The gradient by `value_and_grad`."""
        compiled = srcad.value_and_grad(self.f, wrt=self.wrt)
        emitted, gradient = self.untouched(compiled)
        self.exact("evaluator", evaluated_as_compiled(compiled, *self.fresh()), value)
        self.exact("emitted", emitted, value)
        self.kinds(gradient)
        return gradient

    def split(self, value: float) -> tuple[Any, ...]:
        """The gradient by a pullback: twice with the same seed, once with another."""
        args = self.fresh()
        y, back = srcad.pullback(self.f, *args)
        self.exact("emitted", y, value)
        compiled = split_form(self.f, *args)
        self.exact("evaluator", evaluated_as_compiled(compiled, *self.fresh()), value)
        first = back(1.0)
        kept = copy.deepcopy(first)
        scribble(first)
        self.exact("second pullback", back(1.0), kept)
        gradient = tuple(kept[k] for k in self.wrt)
        self.kinds(gradient)
        twice = tuple(back(-2.0)[k] for k in self.wrt)
        self.close("pullback", twice, mapped(lambda g: -2.0 * g, gradient))
        self.exact("argument changed", args, self.fresh())
        self.owned(back(1.0), args)
        return gradient

    def output(self, gradient: Any) -> None:
        """A result that is an array: the pullback does not disturb it."""
        args, want = self.fresh(), self.module.field(*self.fresh())
        y, back = srcad.pullback(self.module.field, *args)
        self.exact("array", y, want)
        result = back(np.full(want.shape, 0.3))
        self.exact("output disturbed", y, want)
        self.exact("argument changed", args, self.fresh())
        self.owned(result, (*args, y))
        self.close("array pullback", tuple(result[k] for k in self.wrt), gradient)

    # --------------------------------------------------------------------- derivatives
    @cached_property
    def instrumented(self) -> tuple[Callable[..., Any], list[Any]]:
        """The function that records its branches, and the list that it records into."""
        return instrumented(self.program.text, self.module.__name__)

    def groups(self) -> list[tuple[int, ...]]:
        """The arguments; those that share memory can only be moved together."""
        found: list[tuple[int, ...]] = []
        for k in self.wrt:
            for j, group in enumerate(found):
                if np.shares_memory(*(_array(self.args[i]) for i in (k, group[0]))):
                    found[j] = (*group, k)
                    break
            else:
                found.append((k,))
        return found

    def along(self, group: tuple[int, ...]) -> tuple[Any, ...]:
        """A direction for each argument of a group, one for the memory that they share."""
        first = direction(self.args[group[0]], self.rng)
        if len(group) == 1:
            return (first,)
        args = self.fresh()
        args[group[0]][...] = first
        return tuple(args[k] for k in group)

    def at(self, group: tuple[int, ...], along: tuple[Any, ...], step: complex) -> tuple[Any, ...]:
        """Arguments, one step along a direction."""
        args = list(self.fresh())
        if len(group) > 1:
            args[group[0]] += step * along[0]
        else:
            args[group[0]] = moved(args[group[0]], along[0], step)
        return tuple(args)

    def differences(self, group: tuple[int, ...], along: tuple[Any, ...]) -> Slope | None:
        """Central differences; None if no step stays on one branch."""
        f, trace = self.instrumented
        return real_slope(lambda step: traced(f, trace, self.at(group, along, step)))

    def exactly(self, group: tuple[int, ...], along: tuple[Any, ...]) -> Slope | None:
        """The complex step; None where it cannot be taken."""
        if not self.program.analytic:
            return None
        return complex_slope(lambda step: self.f(*self.at(group, along, step)))

    def slope(self, group: tuple[int, ...], gradient: tuple[Any, ...]) -> bool:
        """Compare one directional derivative; False if no step stays on one branch."""
        along = self.along(group)
        want = self.exactly(group, along) or self.differences(group, along)
        if want is None:
            return False
        got = self.product(group, gradient, along)
        try:
            self.compare(f"gradient of argument {group}", got, want)
        except Mismatch as error:
            raise Mismatch(
                f"{error.args[0]}{self.culprit(group, along, want)}", error.args[1]
            ) from None
        return True

    def product(
        self, group: tuple[int, ...], gradient: tuple[Any, ...], along: tuple[Any, ...]
    ) -> float:
        parts = zip((gradient[self.wrt.index(k)] for k in group), along, strict=True)
        return sum(product(g, d) for g, d in parts)

    def culprit(self, group: tuple[int, ...], along: tuple[Any, ...], want: Slope) -> str:
        """Which half is wrong: the adjoint's IR, evaluated, or its text."""
        _, gradients = evaluated_gradient(self.f, self.wrt, *self.fresh())
        got = self.product(group, gradients, along)
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
        twice = srcad.grad(inner, wrt=0)(*self.fresh())
        f, trace = self.instrumented
        way = ((0,), (1.0,))

        def run(step: float) -> tuple[Any, list[Any]]:
            return inner(*self.at(*way, step)), traced(f, trace, self.at(*way, step))[1]

        want = real_slope(run)
        if want is None:
            raise Dropped
        try:
            self.compare("second derivative of argument 0", twice, want)
        except Mismatch as error:
            raise Mismatch("second order", error.args[1]) from None
