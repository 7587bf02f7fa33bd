"""The rewrites, each on a line of its own; and that the primal is left alone."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import srcad
from srcad import runtime
from srcad.arguments.signature import describe
from srcad.ir.core import Const, Function, Value
from srcad.ir.evaluate import evaluate
from srcad.ir.inference.builder import Builder
from srcad.ir.primitives import add_at, build_tuple, item
from srcad.ir.text import text
from srcad.ir.verify import verify
from srcad.passes.rewriting import Rewriter
from srcad.passes.simplify import simplify
from srcad.testing import check_grads
from srcad.types.numeric import FLOAT, INT
from srcad.types.sizes import ShapeEnvironment
from tests.transforms.tracing import Traced, as_arg

A = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
X = np.array([1.0, 2.0, 3.0])


def built(f, args, half="reverse") -> Function:
    """A straight-line function as IR, all of it in one half."""
    environment = ShapeEnvironment()
    builder = Builder(half=half)
    names = inspect.signature(f).parameters
    params = tuple(
        Value(describe(a, (("param", n),), environment), n)
        for n, a in zip(names, args, strict=True)
    )
    result = as_arg(f(*[Traced(builder, p) for p in params]))
    return Function("f", params, builder.finish(result))


def simplified(f, *args) -> str:
    """What is left of the one expression of a function, nested again."""
    function = built(f, args)
    found = verify(simplify(function))
    np.testing.assert_allclose(evaluate(found, *args), evaluate(function, *args), rtol=1e-14)
    lines = [line.strip() for line in text(found).splitlines()[1:]]
    names: dict[str, str] = {}
    for line in lines[:-1]:
        name, _, made = line.partition(" = ")
        for known in sorted(names, key=len, reverse=True):
            made = made.replace(known, names[known])
        names[name] = made
    result = lines[-1].removeprefix("return ")
    return names.get(result, result)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x: 1.0 * x, "x"),
        (lambda x: x * 1, "x"),
        (lambda x: 0.0 + x, "x"),
        (lambda x: x - 0.0, "x"),
        (lambda x: x / 1, "x"),
        (lambda x: -(-x), "x"),
        (lambda x: -1.0 * x, "neg(x)"),
        (lambda x: -x != 0.0, "ne(x, 0.0)"),
        (lambda x: x * 2, "mul(2, x)"),
        (lambda x: 2 + x, "add(x, 2)"),
        (lambda x: 2 * (0.5 * x), "x"),
        (lambda x: 2 * (3 * x), "mul(6, x)"),
        (lambda x: x + x, "mul(2, x)"),
        (lambda x: 3 * x - x, "mul(2, x)"),
        (lambda x: (x * 2 + x) + x, "mul(4, x)"),
        (lambda x: x**1, "x"),
        (lambda x: x**2, "mul(x, x)"),
        (lambda x: x**3, "mul(mul(x, x), x)"),
        (lambda x: (2 * x) / 2, "x"),
        # The ratio is none: once an OverflowError.
        (lambda x: (1e300 * x) / 2.0**-100, "truediv(mul(1e+300, x), 7.888609052210118e-31)"),
    ],
)
def test_rewrites_of_one_number(f, expected):
    assert simplified(f, 1.5) == expected


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x, y: x + (-y), "sub(x, y)"),
        (lambda x, y: x - (-y), "add(x, y)"),
        (lambda x, y: (-x) + y, "sub(y, x)"),
        (lambda x, y: (-x) * y, "neg(mul(x, y))"),
        (lambda x, y: (-x) * (-y), "mul(x, y)"),
        (lambda x, y: -(x - y), "sub(y, x)"),
        (lambda x, y: x * (1 / y), "truediv(x, y)"),
        (lambda x, y: 2 * (3 / y) + x, "add(truediv(6, y), x)"),
        (lambda x, y: x * (2 * y), "mul(mul(2, x), y)"),
        (lambda x, y: x * y + y * x, "mul(mul(2, x), y)"),
        (lambda x, y: x - 2 * y * (-1), "add(x, mul(2, y))"),
        (lambda x, y: np.sin(x) * y + np.sin(x) * y, "mul(mul(2, sin(x)), y)"),
    ],
)
def test_rewrites_of_two_numbers(f, expected):
    assert simplified(f, 1.5, -0.7) == expected


@pytest.mark.parametrize(
    ("f", "args", "expected"),
    [
        (lambda s, a: np.broadcast_to(s, a.shape) * a, (2.0, A), "mul(s, a)"),
        (lambda s, a: -np.broadcast_to(s, a.shape) * a, (2.0, A), "neg(mul(s, a))"),
        (lambda s, a: a - np.broadcast_to(s, a.shape), (2.0, A), "sub(a, s)"),
        (lambda a: a.T.T, (A,), "a"),
        (lambda a: a.reshape(a.shape), (A,), "a"),
        (lambda a: np.zeros_like(a) + np.sin(a), (A,), "sin(a)"),
        (lambda a: np.size(np.sin(a) + a), (A,), "size(a)"),
    ],
)
def test_rewrites_of_arrays(f, args, expected):
    function = built(f, args)

    found = simplify(function)

    np.testing.assert_allclose(evaluate(found, *args), evaluate(function, *args))
    assert expected.split("(")[0] in text(found)
    assert "broadcast_to" not in text(found)
    assert len(found.block.ops) == expected.count("(")


def test_item_of_built_tuple_simplified():
    x = Value(FLOAT, "x")
    builder = Builder(half="reverse")
    pair = builder.call(build_tuple, x, Const(2.0))
    part = builder.call(item, pair, Const(0))

    found = simplify(Function("f", (x,), builder.finish(part)))

    assert found.block.results == (x,)
    assert found.block.ops == ()


def test_repeated_add_at_same_index_merged():
    x, i = Value(describe(X, (("param", "x"),), ShapeEnvironment()), "x"), Value(INT, "i")
    builder = Builder(half="reverse")
    zeros = builder.call(np.zeros_like, x)
    once = builder.call(add_at, zeros, i, Const(1.5))
    twice = builder.call(add_at, once, i, Const(2.0))
    function = Function("f", (x, i), builder.finish(twice))

    found = simplify(function)

    assert text(found).count("add_at") == 1
    assert evaluate(found, X, 1).tolist() == [0.0, 3.5, 0.0]


def test_runtime_helper_removed_when_types_decide():
    x = Value(describe(X, (("param", "x"),), ShapeEnvironment()), "x")
    builder = Builder(half="reverse")
    g = builder.call(np.sin, x)
    g = builder.call(runtime.unbroadcast, g, x)
    g = builder.call(runtime.converted_like, g, x)

    assert text(simplify(Function("f", (x,), builder.finish(g)))).count("=") == 1


def test_common_subexpressions_of_reverse_half_merged():
    found = text(simplify(built(lambda x: np.sin(x) * np.cos(x) + np.sin(x), (1.5,))))

    assert found.count("sin(") == 1


def test_rewriter_returns_same_function_when_unchanged():
    function = simplify(built(lambda x: np.sin(x) * np.sin(x) + 0.0, (1.5,)))

    assert Rewriter().function(function) is function


def test_primal_not_simplified():
    function = built(lambda x: 1.0 * x + 0.0 + x**2, (1.5,), half="primal")

    assert text(simplify(function)) == text(function)


def chosen(x, y):
    return 2.0 * np.sum(np.where(y > 0, x, 0.0) * y)


def test_removed_broadcast_preserves_dtype():
    x, y = np.linspace(-1.0, 1.0, 4), np.linspace(-2, 2, 4).astype(np.float32)
    x_bar, y_bar = srcad.gradient(chosen, x, y)

    assert (x_bar.dtype, y_bar.dtype) == (np.float64, np.float32)
    np.testing.assert_array_equal(x_bar, 2.0 * y * (y > 0))


def test_an_exponent_is_a_number():
    assert "** -2.5" in srcad.grad(lambda x: np.sum(x**-1.5)).inspect(np.ones(3)).adjoint_source


def shifted(x):
    m = np.max(x, axis=1)
    return np.sum(np.log(np.sum(np.exp(x - m[:, None]), axis=1)) + 2.0 * m)


def test_expand_dims_emitted_as_index():
    source = srcad.grad(shifted).inspect(np.ones((3, 2))).adjoint_source

    assert "expand_dims" not in source
    assert "2.0 - np.sum(" in source
    check_grads(shifted, (np.arange(6.0).reshape(3, 2) ** 2,))


def ridge(s, a):
    return np.linalg.slogdet(a @ a.T + np.exp(s) * np.eye(2))[1]


def test_product_with_identity_emitted_as_trace():
    assert "np.trace(" in srcad.grad(ridge).inspect(0.3, A).adjoint_source
    check_grads(ridge, (0.3, A), wrt=(0, 1), order=2)


def upper_diagonal(s, a):
    return np.sum(np.exp(s) * np.eye(2, k=1) * a)


def test_off_diagonal_identity_not_simplified_to_trace():
    # Once the sum of the diagonal itself: what else `np.eye` was given was not looked at.
    assert "np.trace(" not in srcad.grad(upper_diagonal).inspect(0.3, A @ A.T).adjoint_source
    check_grads(upper_diagonal, (0.3, A @ A.T), wrt=(0, 1))


def test_negated_sum_with_initial_keeps_sign():
    def started(x):
        return np.sum(-x, initial=5.0)

    function = built(started, (X,))

    assert evaluate(simplify(function), X) == evaluate(function, X) == -1.0


def wide_identity(s, a):
    return np.sum(np.exp(s) * np.eye(2, 3) * a)


def test_non_square_identity_not_simplified_to_trace():
    assert "np.trace(" not in srcad.grad(wide_identity).inspect(0.3, A).adjoint_source
    check_grads(wide_identity, (0.3, A), wrt=(0, 1))


def ratios(x, y):
    return np.sum((x / y) ** 2)


def test_quotient_gradient_divides_once():
    source = srcad.grad(ratios, wrt=(0, 1)).inspect(X, X + 1.0).adjoint_source

    assert "x_bar = 2.0 * ratio / y" in source
    assert "y_bar = -(x_bar * ratio)" in source
    check_grads(ratios, (X, X + 1.0), wrt=(0, 1), order=2)


TURNED = {
    "transpose": np.transpose,
    "ravel": np.ravel,
    "flip": np.flip,
    "rollaxis": lambda a: np.rollaxis(a, 1),
    "squeeze": np.squeeze,
}


@pytest.mark.parametrize("name", TURNED)
def test_conjugates_around_views_go_and_the_value_stays(name):
    turn, z = TURNED[name], A + 1j * A[:, ::-1]

    function = built(lambda z: np.conjugate(turn(np.conjugate(z))) * 2, (z,))
    changed = simplify(function)

    assert "conj" in text(function)
    assert "conj" not in text(changed)
    np.testing.assert_array_equal(evaluate(changed, z), turn(z) * 2)
