"""A mode and a backend are one registration each: both are made here, and used as any other."""

from functools import partial

import numpy as np
import pytest

import srcad
from srcad.api import derivative
from srcad.backends.interface.backend import Backend, Deopt
from srcad.backends.registry import BACKENDS
from srcad.errors import OptionError, UnsupportedSyntaxError
from srcad.ir.evaluate import evaluate
from srcad.ir.inference.builder import Builder
from srcad.ir.text import text
from srcad.modes.asked import asked_gradients
from srcad.modes.mode import Mode, Part, Results
from srcad.modes.registry import MODES
from srcad.modes.reverse import derived
from srcad.startup.records import dataclass, replace


# ------------------------------------------------------------------------------- a mode
def norm_beside_value(made, problem):
    """One function of the value and of the length of the gradient by one argument."""
    made = asked_gradients(made, problem)
    y, gradient = made.block.results
    builder = Builder(ops=list(made.block.ops), where=made.where, half="reverse")
    length = builder.call(np.linalg.norm, gradient)
    part = Part(
        f"norm_of_{problem.written_name}", replace(made, block=builder.finish(y, length)), (0,)
    )
    return Results((part,), run=lambda loaded: loaded)


def pushed(made, problem):
    """The value, and the map from tangents of the arguments to the one of the value."""
    made = asked_gradients(made, problem)
    part = Part(f"push_{problem.written_name}", made, range(len(made.block.results)))

    def along(loaded):
        def run(*arguments):
            y, *gradients = loaded(*arguments)
            return y, lambda *dots: sum(map(np.vdot, gradients, dots))

        return run

    return Results((part,), run=along)


@pytest.fixture
def norm():
    yield MODES.register(Mode("norm", "Length of the gradient", derived, norm_beside_value))
    MODES.withdraw("norm")


@pytest.fixture
def push():
    yield MODES.register(Mode("push", "Map of tangents", derived, pushed, nests=False))
    MODES.withdraw("push")


def bowl(x, scale=2.0):
    total = 0.0
    for k in range(len(x)):
        total = total + scale * x[k] ** 2
    return total


POINT = np.array([3.0, 4.0])


def test_a_mode_is_asked_for_by_its_name(norm):
    length = derivative(bowl, "norm")

    value, found = length(POINT)

    assert (value, found) == (50.0, 20.0)
    assert "def norm_of_bowl(" in length.source
    assert repr(length) == "<srcad.norm of 'bowl' by 0>"
    assert length.__doc__ == "Length of the gradient of bowl by 0."


def test_what_a_mode_runs_may_return_a_map(push):
    value, along = derivative(bowl, "push", wrt=(0, 1))(POINT)

    assert value == 50.0
    assert along(np.array([1.0, 0.0]), 0.0) == 12.0
    assert along(np.zeros(2), 1.0) == 25.0


def test_a_mode_checks_its_arguments_as_all_do(norm):
    with pytest.raises(srcad.errors.WrtError, match="no derivative flows through argument 'k'"):
        derivative(lambda x, k: x if k > 0 else -x, "norm", wrt="k")(1.0, 2)


def test_an_unknown_mode_lists_what_there_is(norm):
    with pytest.raises(OptionError, match="'value_and_grad', .*'pullback', 'norm'"):
        derivative(bowl, "gard")


def test_a_mode_may_be_asked_for_inside_a_function_unless_it_says_no(push):
    gradient, tangents = srcad.grad(bowl), derivative(bowl, "push")

    second = srcad.grad(lambda x: np.sum(gradient(x)))
    refused = srcad.grad(lambda x: tangents(x)[0])

    assert second(POINT).tolist() == [4.0, 4.0]
    with pytest.raises(UnsupportedSyntaxError, match="a push inside a differentiated function"):
        refused(POINT)


# ------------------------------------------------------------------------------- a backend
@dataclass(frozen=True)
class Listing:
    """A function that is shown in the compiler's own form and run by its meaning."""

    text: str
    function: object
    line_map: dict


def listed(function, name):
    return Listing(text(replace(function, name=name)), function, {})


def interpreted(written, label):
    return partial(evaluate, written.function)


@pytest.fixture
def slowly():
    yield BACKENDS.register(Backend("slowly", lambda function: function, listed, interpreted))
    BACKENDS.withdraw("slowly")


@pytest.fixture
def picky():
    def nothing(function):
        raise Deopt

    yield BACKENDS.register(Backend("picky", nothing, listed, interpreted))
    BACKENDS.withdraw("picky")


def test_a_backend_writes_and_runs_what_is_asked_of_it(slowly):
    gradient = srcad.grad(bowl, backend="slowly")

    assert gradient(POINT).tolist() == [12.0, 16.0]
    assert gradient.source.startswith("grad_bowl(x, ")
    assert gradient.inspect(POINT)._product.backend == "slowly"


def test_every_mode_runs_on_every_backend(slowly, norm, push):
    for mode in MODES.names():
        if mode != "pullback":
            here = derivative(bowl, mode, wrt=0, backend="slowly")(POINT)
            assert str(here) == str(derivative(bowl, mode, wrt=0)(POINT)) or mode == "push"

    decorated = srcad.differentiate(backend="slowly")(bowl)
    _, back = decorated.pullback(POINT)
    assert back(2.0)[0].tolist() == [24.0, 32.0]
    assert decorated.gradient(POINT)[0].tolist() == [12.0, 16.0]
    assert "return" in decorated.primal_source
    assert "def " not in decorated.primal_source


def test_the_cache_keeps_modes_and_backends_apart(slowly, norm):
    def f(x):
        return np.sum(x * x)

    asked = [derivative(f, mode, backend=backend)
             for mode in ("grad", "norm") for backend in ("numpy", "slowly")]  # fmt: skip
    for one in asked:
        one(POINT)
    texts = [one.source for one in asked]

    assert len(set(texts)) == 4
    assert [one.cache_info().compilations for one in asked] == [1, 1, 1, 1]
    assert derivative(f, "norm", backend="slowly").cache_info().compilations == 1


def test_what_a_backend_refuses_is_written_by_the_one_that_covers_all(picky):
    gradient = srcad.grad(bowl, backend="picky")

    assert gradient(POINT).tolist() == [12.0, 16.0]
    assert gradient.source == srcad.grad(bowl).source
    assert gradient.inspect(POINT)._product.backend == "numpy"


def test_errors_of_any_backend_are_the_users(slowly):
    def f(x):
        return x / 0

    with pytest.raises(ZeroDivisionError):
        srcad.grad(f, backend="slowly")(1.0)
