"""``try``, ``raise`` and ``with``: the path that ran is the path that is reversed."""

from __future__ import annotations

import contextlib
import io
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcad
from srcad import errors, grad, gradient, pullback, testing, value_and_grad
from tests.language import assert_program, named
from tests.marks import some
from tests.numeric import assert_gradient

V = np.array([0.3, -0.7, 1.1, 0.5])
LOG: list[Any] = []


class Failed(Exception):
    pass


class Timer:
    def __init__(self, name="t"):
        self.name = name

    def __enter__(self):
        LOG.append(f"enter {self.name}")
        return self

    def __exit__(self, kind, error, trace):
        LOG.append(f"exit {self.name} {kind and kind.__name__}")


class Swallows:
    def __enter__(self):
        return 2.0

    def __exit__(self, kind, error, trace):
        return True


def note(k):
    LOG.append(k)
    return k


def checked(x):
    if x < 0:
        raise Failed("negative")
    return math.sqrt(x)


# ------------------------------------------------------------------------------ one attempt
def either(a):
    try:
        y = math.sqrt(a)
        z = y * a
    except ValueError:
        z = a * a
    return z


def returns_from_both(a):
    try:
        return math.log(a)
    except ValueError:
        return a * a


def helper_raises(a):
    try:
        y = checked(a)
    except Failed as error:
        y = a * len(str(error))
    return y * a


def several_clauses(a):
    total = 0.0
    for k in range(3):
        try:
            if k == 0:
                total += a / 0
            elif k == 1:
                total += [a][k]
            total += {"x": a}["y"]
        except ZeroDivisionError:
            total += a
        except (IndexError, KeyError) as error:
            total += a * a if isinstance(error, KeyError) else a * 3
    return total


def not_taken(a):
    try:
        y = a * a
    except Exception:
        y = 0.0
    else:
        y = y * a
    finally:
        note("end")
    return y


def singular(m):
    try:
        r = np.sum(np.linalg.inv(m))
    except np.linalg.LinAlgError:
        r = np.sum(m * m)
    return r


# ------------------------------------------------------------------------------ state
def state_before_the_failure(a):
    y = a
    try:
        y = y * a
        w = math.sqrt(y - 5)
        y = y * w
    except ValueError:
        y = y * 3
    else:
        y = y + 1
    return y


def loop_inside(a):
    total = 0.0
    try:
        for k in range(5):
            total = total + math.sqrt(a - 0.2 * k)
    except ValueError:
        total = total * k
    return total


def loop_outside(a):
    total = 0.0
    for k in range(5):
        try:
            t = a * k
            total = total + checked(a - 0.2 * k) * t
        except Failed:
            total = total * t
            if k == 4:
                break
            continue
        finally:
            total = total + t
        total = total * 1.5
    return total


def while_inside(a):
    y, k = a, 0
    try:
        while k < 10:
            k += 1
            y = y * a
            if k == 4:
                raise Failed
    except Failed:
        y = y * k
    return y


def nested(a):
    y = a
    try:
        y = y * 2
        try:
            y = y * y
            raise KeyError("inner")
        except KeyError:
            y = y * a
            raise ValueError("outer") from None
        finally:
            y = y + a
    except ValueError:
        y = y * 3
    return y


def wrong_class_goes_outward(a):
    y = a
    try:
        try:
            y = y * a
            y = y / 0
        except ValueError:
            y = 1.0
        y = 2.0
    except ZeroDivisionError:
        y = y * 3
    return y


def list_keeps_what_was_appended(a):
    items = []
    try:
        for k in range(5):
            items.append(math.sqrt(a - 0.2 * k))
    except ValueError:
        items.append(a)
    return sum(items)


def leaves_a_while(a):
    s = a
    while True:
        try:
            s = s * 0.5
            r = math.sqrt(s - 0.1)
        except ValueError:
            break
        s = s + r * 0.01
    return s * s


def returns_through_finally(a):
    y = a
    for k in range(4):
        try:
            y = y * a
            if k == 2:
                return y
        finally:
            y = y * 100
            note(k)
    return 0.0


def retries(a):
    for _ in range(3):
        try:
            return math.sqrt(a - 1)
        except ValueError:
            a = a * 1.3
    return a


# ------------------------------------------------------------------------------ with
def timed(a):
    with Timer() as timer:
        y = a * a
        y = y * len(timer.name)
    return y


def managers(a):
    y = a
    with Timer("a"), contextlib.nullcontext(a) as b, np.errstate(all="ignore"), Timer("c"):
        y = y * b
        with np.printoptions(precision=3), io.StringIO("2.5") as text:
            y = y * float(text.read())
    return y


def with_in_a_loop(a):
    total = 0.0
    for k in range(5):
        with Timer(str(k)):
            if k == 1:
                continue
            if k == 3:
                break
            total = total * a + k
    return total


def with_that_returns(a):
    with Timer():
        return a * a * a


def with_that_fails(a):
    y = a
    try:
        with Timer():
            y = y * a
            y = y * checked(-1.0)
    except Failed:
        y = y * 2
    return y


def suppressed(a):
    with contextlib.suppress(ValueError, KeyError):
        a = a * 2
        a = a * math.sqrt(-a)
    return a * a


PROGRAMS: list[tuple[Any, ...]] = [
    *((f, x) for f in (either, returns_from_both, helper_raises) for x in (0.7, -0.7)),
    *((f, 0.7) for f in (several_clauses, not_taken, state_before_the_failure, loop_inside)),
    (state_before_the_failure, 2.7),
    (singular, np.array([[0.3, 0.2], [0.1, 0.7]])),
    *((f, 0.7) for f in (loop_outside, while_inside, nested, wrong_class_goes_outward)),
    *((f, 0.7) for f in (list_keeps_what_was_appended, leaves_a_while, retries)),
    *((f, 0.7) for f in (returns_through_finally, timed, managers, with_in_a_loop)),
    *((f, 0.7) for f in (with_that_returns, with_that_fails, suppressed)),
]


@pytest.mark.parametrize(**named(PROGRAMS))
def test_program_with_exceptions_gradient(program: tuple[Any, ...]) -> None:
    assert_program(*program)


@pytest.mark.parametrize(**named(PROGRAMS))
def test_side_effects_match_original_function(program: tuple[Any, ...]) -> None:
    f, *args = program
    LOG.clear()
    f(*args)
    want = list(LOG)

    for call in (value_and_grad(f), lambda *a: pullback(f, *a)[1](1.0)):
        LOG.clear()
        call(*args)
        assert want == LOG


def test_singular_matrix_gradient_of_except_branch() -> None:
    m = np.array([[1.0, 2.0], [2.0, 4.0]])

    np.testing.assert_array_equal(grad(singular)(m), 2 * m)


def test_second_order_through_an_exception() -> None:
    for f in (either, state_before_the_failure, loop_inside, while_inside, nested):
        assert_gradient(gradient, lambda a, f=f: grad(f)(a), 0.7)


def test_uncaught_exception_propagates_unchanged() -> None:
    made = Failed("mine", 3)

    def f(a):
        try:
            y = a * a
            if a > 0:
                raise made
        except ValueError:
            y = a
        finally:
            note("end")
        return y

    LOG.clear()
    with pytest.raises(Failed) as caught:
        grad(f)(0.7)

    assert caught.value is made
    assert LOG == ["end"]


def test_bare_raise_reraises_caught_exception() -> None:
    def f(a):
        try:
            return checked(a)
        except Failed:
            note("seen")
            raise

    LOG.clear()
    with pytest.raises(Failed, match="negative"):
        grad(f)(-0.7)
    assert LOG == ["seen"]


def test_exception_cause_preserved() -> None:
    def f(a):
        try:
            return math.sqrt(a)
        except ValueError as error:
            raise Failed("no root") from error

    with pytest.raises(Failed, match="no root") as caught:
        grad(f)(-0.7)

    assert isinstance(caught.value.__cause__, ValueError)


def test_context_manager_exit_receives_exception_type() -> None:
    def f(a):
        with Timer():
            y = a * checked(-1.0)
        return y

    LOG.clear()
    with pytest.raises(Failed):
        grad(f)(0.7)

    assert LOG == ["enter t", "exit t Failed"]


def test_context_manager_suppressing_exception_reported() -> None:
    def f(a):
        y = a
        with Swallows() as k:
            y = a * k
            y = y * checked(a)
        return y

    assert grad(f)(0.25) == pytest.approx(1.5)
    with pytest.raises(errors.UnsupportedTypeError, match="kept an exception"):
        grad(f)(-0.25)


def reads_the_exception(a):
    try:
        raise Failed(a * a)
    except Failed as error:
        return error.args[0]


def manager_depends_on_the_argument(a):
    with Timer(a):
        return a * a


def test_context_manager_of_argument_logs_as_original() -> None:
    LOG.clear()
    manager_depends_on_the_argument(0.7)
    want = list(LOG)
    LOG.clear()

    assert grad(manager_depends_on_the_argument)(0.7) == 1.4
    assert want == LOG


def yields_inside(a):
    def g():
        try:
            yield a
        finally:
            note("end")

    return sum(g())


def generator_in_steps(a):
    y = a
    try:
        for x in (t for t in iter([a, a * a])):
            y = y * x
            y = y * checked(-1.0)
    except Failed:
        y = y * 2
    return y


@pytest.mark.parametrize(
    "f",
    [reads_the_exception, yields_inside, generator_in_steps],
)
def test_irreversible_statement_rejected_with_location(f: Callable[..., Any]) -> None:
    with pytest.raises(errors.SrcadError) as caught:
        grad(f)(0.7)

    assert "test_try_statement.py:" in str(caught.value)


# ------------------------------------------------------------------------------ random programs
class Writer:
    """Random nests of ``try``, loops, branches and ways out."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []

    def block(self, depth: int, loop: bool, indent: int) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth, loop, indent)

    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def statement(self, depth: int, loop: bool, indent: int) -> None:
        kinds = ["set", "set", "set", "risk", "risk"]
        if depth:
            kinds += ["try", "try", "if", "for", "with"]
        kinds += ["leave"] if self.random.random() < 0.3 else []
        kind = self.random.choice(kinds)
        name = self.random.choice("yz")
        number = round(self.random.uniform(0.3, 1.4), 2)
        if kind == "set":
            self.line(indent, f"{name} = {self.random.choice('yzx')} * {number} + x * y")
        elif kind == "risk":
            risk = self.random.choice(
                [
                    f"checked({name} - {number})",
                    f"risky({name}, {number})",
                    f"x / part(y, {number})",
                ]
            )
            self.line(indent, f"{name} = z + {risk}")
        elif kind == "leave":
            choices = ["return y * z", "raise Failed('here')", "raise KeyError('there')"]
            choices += ["break", "continue"] if loop else []
            self.line(indent, f"if {name} > {number}:")
            self.line(indent + 1, self.random.choice(choices))
        elif kind == "if":
            self.line(indent, f"if {name} < {number}:")
            self.block(depth - 1, loop, indent + 1)
            self.line(indent, "else:")
            self.block(depth - 1, loop, indent + 1)
        elif kind == "for":
            self.line(indent, f"for k{depth} in range({self.random.randint(0, 3)}):")
            self.block(depth - 1, True, indent + 1)
        elif kind == "with":
            self.line(indent, "with Timer():")
            self.block(depth - 1, loop, indent + 1)
        else:
            self.attempt(depth, loop, indent)

    def attempt(self, depth: int, loop: bool, indent: int) -> None:
        self.line(indent, "try:")
        self.block(depth - 1, loop, indent + 1)
        classes = ["Failed", "(Failed, KeyError)", "ValueError", "ZeroDivisionError", "Exception"]
        clauses = self.random.sample(classes, self.random.randint(0, 2))
        clauses.sort(key=lambda c: c == "Exception")
        for clause in clauses:
            self.line(indent, f"except {clause}:")
            self.block(depth - 1, loop, indent + 1)
        if clauses and self.random.random() < 0.3:
            self.line(indent, "else:")
            self.block(depth - 1, loop, indent + 1)
        if not clauses or self.random.random() < 0.3:
            self.line(indent, "finally:")
            self.line(indent + 1, "note(1)")
            self.line(indent + 1, f"y = y * {round(self.random.uniform(0.5, 1.2), 2)}")

    def text(self) -> str:
        self.line(0, "def f(x):")
        self.line(1, "y, z = x, x * 0.5")
        self.block(3, False, 1)
        self.line(1, "return y + z * x")
        return "\n".join(self.lines) + "\n"


PRELUDE = """
from tests.frontend.control.test_try_statement import Failed, Timer, checked, note


def part(y, limit):
    return 0.0 if y > limit else 1.0


def risky(y, limit):
    if y > limit:
        raise KeyError("large")
    return y * y


"""


def outcome(call: Callable[[float], Any], x: float) -> tuple[Any, list[Any]]:
    LOG.clear()
    try:
        found: Any = call(x)
    except errors.SrcadError:
        raise
    except Exception as error:
        found = (type(error), str(error))
    return found, list(LOG)


@pytest.mark.parametrize("seeds", some([range(1), range(1, 25)], 1), ids=str)
def test_random_programs_with_exceptions(seeds: range, tmp_path: Any) -> None:
    refused = 0
    for seed in seeds:
        text = PRELUDE + Writer(seed).text()
        path = tmp_path / f"failing_{seed}.py"
        path.write_text(text)
        space: dict[str, Any] = {"__name__": f"failing_{seed}"}
        exec(compile(text, str(path), "exec"), space)
        f = space["f"]
        for x in (0.4137, 0.9371):
            want, effects = outcome(f, x)
            try:
                got, seen = outcome(value_and_grad(f), x)
            except errors.SrcadError:
                refused += 1
                break
            assert seen == effects, text
            if isinstance(want, tuple):
                assert got == want, text
                continue
            assert got[0] == want, text
            near = [outcome(f, x + h)[0] for h in (-2e-6, -1e-6, 1e-6, 2e-6)]
            slopes = [(near[3] - near[0]) / 4e-6, (near[2] - near[1]) / 2e-6]
            if abs(slopes[0] - slopes[1]) < 1e-5 * max(1, abs(slopes[0])):
                assert got[1] == pytest.approx(slopes[1], rel=1e-5, abs=1e-5), text
    assert refused <= len(seeds) // 20


def _bump(y, v):
    y[0] += v
    if v > 1.0:
        raise ValueError("too much")
    y[1] += v


def half_written(x):
    y = x * 2.0
    try:
        _bump(y, x[0])
    except ValueError:
        y[2] = x[0] * y[0]
    return np.sum(y * y)


def test_statement_failing_after_partial_write_rejected():
    with pytest.raises(srcad.errors.MutationError, match="how much is written"):
        srcad.grad(half_written)(np.array([1.3, 0.2, 0.4]))


def appended_in_attempts(x):
    out = []
    for v in x:
        try:
            if v > 1.0:
                raise ValueError("large")
            out.append(np.sin(v))
        except ValueError:
            out.append(v * v)
    return sum(out)


def written_in_attempts(x):
    y = np.zeros_like(x)
    for k in range(len(x)):
        try:
            if x[k] > 1.0:
                raise ValueError("large")
            y[k] = np.sin(x[k])
        except ValueError:
            y[k] = x[k] * x[k - 1]
    return np.sum(y * x)


def written_and_failed_after_that(x):
    y = x * 1.0
    for k in range(len(x)):
        try:
            y[k] = np.sin(x[k])
            if x[k] > 1.0:
                raise ValueError("large")
            y[k] = y[k] * y[0]
        except ValueError:
            y[k] = y[k] * x[k]
    return np.sum(y * x)


@pytest.mark.parametrize("f", [appended_in_attempts, written_in_attempts])
def test_try_in_loop_writes_in_place_without_copies(f):
    # Every trip copied the list or array: the time grew with the square of its length.
    x = np.array([0.4, 1.3, -0.2, 2.1])
    testing.check_grads(f, (x,))

    lines = srcad.grad(f).inspect(x).adjoint_source.splitlines()

    start = next(k for k, line in enumerate(lines) if line.startswith("    for "))
    inside = [line for line in lines[start:] if line.startswith("        ")]
    assert not [line for line in inside if "copy" in line or "[*" in line or "deep_copy" in line]


def test_write_before_exception_visible_after_except():
    testing.check_grads(written_and_failed_after_that, (np.array([0.4, 1.3, -0.2, 2.1]),))


def below(value):
    if value > 0.8:
        raise Failed("large")
    return np.sin(value)


def row_of_an_attempt(b, x):
    q = np.zeros((3, 3))
    try:
        q = np.full((3, 3), 0.28) * b
        row = q[int(x[2]) % 3]
        b = below(b)
        q[0] = x[0]
        q[2] = np.sum(row) * x[1]
        b = below(b * 2.0)
        row[1] = x[1]
        return np.sum(row) * b + np.sum(q * q)
    except Failed:
        b = b * 0.6
    return b * np.sum(q)


@pytest.mark.parametrize("place", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("b", [0.1, 0.5, 0.9])
def test_view_created_in_try_sees_later_writes(b, place):
    """The index was known inside the attempt only, and the view was taken anew behind it."""
    x = np.array([0.6, 0.7, place])

    value, gradients = value_and_grad(row_of_an_attempt, wrt=(0, 1))(b, x)

    assert value == row_of_an_attempt(b, x.copy())
    h = 1e-6 * np.eye(3)[:2]
    f = row_of_an_attempt
    slopes = [(f(b, x + e) - f(b, x - e)) / 2e-6 for e in h]
    np.testing.assert_allclose(gradients[1], [*slopes, 0.0], rtol=1e-7, atol=1e-8)
    along = (f(b + 1e-6, x.copy()) - f(b - 1e-6, x.copy())) / 2e-6
    np.testing.assert_allclose(gradients[0], along, rtol=1e-7)
