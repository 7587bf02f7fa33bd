"""A mode and a backend are one registration each: both are made here, and used as any other."""

from functools import partial

import numpy as np
import pytest

import srcad
from srcad.api.asking import derivative
from srcad.backends.interface import Backend, NotCovered
from srcad.backends.registry import BACKENDS
from srcad.errors import OptionError, UnsupportedSyntaxError
from srcad.frontend.lower import lower_inline
from srcad.ir.evaluate import evaluate
from srcad.ir.inference.builder import Builder
from srcad.ir.text import text
from srcad.modes.mode import Mode, Part, Results
from srcad.modes.registry import MODES
from srcad.modes.reverse import derived, requested_gradients
from srcad.startup.records import dataclass, replace
from srcad.transforms.vjp import as_primal, vjp


# ------------------------------------------------------------------------------- a mode
def norm_beside_value(made, problem):
    """One function of the value and of the length of the gradient by one argument."""
    made = requested_gradients(made, problem)
    y, gradient = made.block.results
    builder = Builder(ops=list(made.block.ops), where=made.where, half="reverse")
    length = builder.call(np.linalg.norm, gradient)
    part = Part(
        f"norm_of_{problem.written_name}", replace(made, block=builder.finish(y, length)), (0,)
    )
    return Results((part,), run=lambda loaded: loaded)


def transposed_twice(function, request, wrt):
    """The function of the value and its tangent: the adjoint of the adjoint, linear in its seed."""
    back = as_primal(vjp(function, wrt, lower_inline))
    builder = Builder(ops=list(back.block.ops))
    y, *bars = back.block.results
    linear = replace(back, block=builder.finish(builder.build_tuple(*bars)))
    twice = vjp(linear, [len(back.params) - 1], lower_inline)
    return replace(twice, block=replace(twice.block, results=(y, twice.block.results[1])))


def with_tangents(made, problem):
    """One function of the arguments and of the tangents that are given later."""
    part = Part(f"jvp_{problem.written_name}", made, own=(0, 1))

    def run_of(loaded):
        return lambda *arguments: lambda *dots: loaded(*arguments, 1.0, dots)

    return Results((part,), run_of)


@pytest.fixture
def norm():
    yield MODES.register(Mode("norm", "Length of the gradient", derived, norm_beside_value))
    MODES.withdraw("norm")


@pytest.fixture
def forward():
    yield MODES.register(Mode("forward", "Tangent", transposed_twice, with_tangents))
    MODES.withdraw("forward")


def bowl(x, scale=2.0):
    total = 0.0
    for k in range(len(x)):
        total = total + scale * x[k] ** 2
    return total


POINT = np.array([3.0, 4.0])


def test_registered_mode_requested_by_name(norm):
    length = derivative(bowl, "norm")

    value, found = length(POINT)

    assert (value, found) == (50.0, 20.0)
    assert "def norm_of_bowl(" in length.source
    assert repr(length) == "<srcad.norm of 'bowl' by 0>"
    assert length.__doc__ == "Length of the gradient of bowl by 0."


def test_registered_mode_returning_function_with_extra_arguments(forward):
    def f(x, scale):
        y = x.copy()
        for k in range(1, len(x)):
            y[k] = y[k - 1] * np.sin(scale * x[k])
        return y

    point, along, step = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.5, -1.0]), 1e-6

    y, y_dot = derivative(f, "forward", wrt=(0, 1))(point, 2.0)(along, 0.25)

    ahead, behind = (f(point + h * along, 2.0 + h * 0.25) for h in (step, -step))
    np.testing.assert_array_equal(y, f(point, 2.0))
    np.testing.assert_allclose(y_dot, (ahead - behind) / (2 * step), rtol=1e-8)


def test_registered_mode_validates_wrt(norm):
    with pytest.raises(srcad.errors.WrtError, match="no derivative flows through argument 'k'"):
        derivative(lambda x, k: x if k > 0 else -x, "norm", wrt="k")(1.0, 2)


def test_unknown_mode_error_lists_modes(norm):
    with pytest.raises(OptionError, match="'grad', 'value_and_grad', .*'norm'"):
        derivative(bowl, "gard")


def test_registered_mode_without_inner_meaning_rejected(norm):
    gradient, length = srcad.grad(bowl), derivative(bowl, "norm")

    second = srcad.grad(lambda x: np.sum(gradient(x)))
    refused = srcad.grad(lambda x: length(x)[1])

    assert second(POINT).tolist() == [4.0, 4.0]
    with pytest.raises(UnsupportedSyntaxError, match="a norm inside a differentiated function"):
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
        raise NotCovered

    yield BACKENDS.register(Backend("picky", nothing, listed, interpreted))
    BACKENDS.withdraw("picky")


def test_registered_backend_emits_and_runs(slowly):
    gradient = srcad.grad(bowl, backend="slowly")

    assert gradient(POINT).tolist() == [12.0, 16.0]
    assert gradient.source.startswith("grad_bowl(x, ")
    assert gradient.inspect(POINT)._artifact.backend == "slowly"


@pytest.mark.parametrize("mode", ["grad", "value_and_grad", "elementwise_grad", "norm"])
def test_every_mode_runs_on_every_backend(slowly, norm, mode):
    here, there = (derivative(bowl, mode, backend=name)(POINT) for name in ("slowly", "numpy"))

    assert str(here) == str(there)


def test_decorated_function_uses_its_backend(slowly):
    decorated = srcad.differentiate(backend="slowly")(bowl)

    _, back = decorated.pullback(POINT)

    assert back(2.0)[0].tolist() == [24.0, 32.0]
    assert decorated.gradient(POINT)[0].tolist() == [12.0, 16.0]
    assert "return" in decorated.primal_source
    assert "def " not in decorated.primal_source


def test_cache_separates_modes_and_backends(slowly, norm):
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


def test_backend_refusal_falls_back_to_numpy_backend(picky):
    gradient, plain = srcad.grad(bowl, backend="picky"), srcad.grad(bowl)

    assert gradient(POINT).tolist() == plain(POINT).tolist() == [12.0, 16.0]
    assert gradient.source == plain.source
    assert gradient.inspect(POINT)._artifact.backend == "numpy"


def test_backend_runtime_errors_propagate(slowly):
    def f(x):
        return x / 0

    with pytest.raises(ZeroDivisionError):
        srcad.grad(f, backend="slowly")(1.0)
