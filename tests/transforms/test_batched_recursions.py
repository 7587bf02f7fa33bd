"""Many directions at once through functions that call themselves, and through what they save."""

import numpy as np
import pytest

from srcad import grad, hessian, jacfwd, jacobian, jacrev
from srcad.analysis.activity import activity
from srcad.analysis.dependence import as_deep_as
from srcad.errors import UnsupportedSyntaxError
from srcad.frontend.lower import lower_inline
from srcad.runtime import for_directions
from srcad.transforms.batched import batched
from srcad.types.numeric import BOOL, FLOAT
from srcad.types.structures import OPAQUE, TupleOf
from tests.ir.parse import parse
from tests.marks import some

X = np.array([0.7, 1.3, 0.4])


def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)


def horner(c, x, k):
    return c[k] if k == 2 else c[k] + x * horner(c, x, k + 1)


def product(x, n):
    if n == 0:
        return np.sum(x * x)
    return np.sum(np.sin(x)) * product(x * 0.5, n - 1)


def tree(x, n):
    if n == 0:
        return np.sin(x)
    return tree(x * 0.5, n - 1) * tree(x + 0.1, n - 1)


def in_a_loop(x, n):
    if n == 0:
        return x * x
    t = x
    for k in range(2):
        t = t * np.sin(in_a_loop(x * 0.5 + k, n - 1))
    return t


def even(x, n):
    return x * 1.0 if n == 0 else np.cos(x) * odd(x * x, n - 1)


def odd(x, n):
    return np.exp(x) if n == 0 else np.sin(x) + even(x * 0.7, n - 1)


def pair(x, n):
    if n == 0:
        return x, x * x
    u, v = pair(x * 0.9, n - 1)
    return u * v, v + np.sum(u)


def without_slope(x, n):
    return np.ones(3) if n == 0 else without_slope(x, n - 1) * X


FUNCTIONS = {
    "power": lambda x: np.sum(power(x, 2) * np.arange(3.0)),
    "horner": lambda x: np.sum(horner([1.0, 2.0, 3.0], x, 0)),
    "product of sums": lambda x: product(x, 2),
    "result that does not move": lambda x: np.sum(without_slope(x, 2) * x**3),
    "two calls": lambda x: np.sum(tree(x, 2)),
    "calls in a loop": lambda x: np.sum(in_a_loop(x, 2)),
    "two functions": lambda x: np.sum(even(x, 3)),
    "two results": lambda x: np.sum(pair(x, 2)[0]) * pair(x, 1)[1][0],
    "numbers": lambda x: power(x[0] * x[1], 4) + horner([1.0, 2.0, 3.0], x[2], 0),
}
SECOND = {
    "hessian": hessian,
    "jacrev of grad": lambda f: jacrev(grad(f)),
    "jacfwd of grad": lambda f: jacfwd(grad(f)),
    "jacrev of jacfwd": lambda f: jacrev(jacfwd(f)),
    "jacfwd of jacfwd": lambda f: jacfwd(jacfwd(f)),
}
CASES = [(name, order) for order in SECOND for name in FUNCTIONS]
DEFAULT = {("power", "hessian"), ("horner", "jacrev of grad"), ("product of sums", "hessian")}


@pytest.mark.parametrize("case", some(CASES, lambda _, case: case in DEFAULT), ids=" ".join)
def test_second_derivative_of_a_recursive_function(case):
    name, order = case
    f = FUNCTIONS[name]
    slope = grad(f)
    columns = [(slope(X + d) - slope(X - d)) / 2e-6 for d in np.eye(3) * 1e-6]

    found = SECOND[order](f)(X)

    np.testing.assert_allclose(found, np.stack(columns, -1), rtol=1e-6, atol=1e-7)


def test_jacobian_of_a_recursive_result_that_does_not_move():
    found = jacobian(lambda x: without_slope(x, 2) * x, mode="fwd")(X)

    np.testing.assert_allclose(found, np.diag(X * X))


def test_activity_is_as_deep_as_the_type():
    saved = TupleOf((FLOAT, BOOL, OPAQUE))

    assert as_deep_as(saved, (True, False, False)) == (True, False, False)
    assert as_deep_as(saved, True) == (True, True, True)
    assert as_deep_as(saved, (False, False, (True, False, (True, False, True)))) == (True,) * 3
    assert as_deep_as(OPAQUE, (False, True)) is True
    assert as_deep_as(saved, False) is False


def test_part_of_a_value_without_structure_is_active_whole():
    function = parse("""
f(x: float, n: int):
    a = build_tuple(n, x)
    b = build_tuple(a, n)
    y = item(b, 1)
    return y
""")
    b, y = function.block.ops[1].result, function.block.ops[2].result
    exact = activity(function, dict(zip(function.params, (True, False), strict=True)), [True])
    b.type = OPAQUE

    found = activity(function, dict(zip(function.params, (True, False), strict=True)), [True])

    assert exact.of(b) == ((False, True), False)
    assert exact.of(y) is False
    assert found.of(b) == ((False, True), False)
    assert found.of(y) is True
    assert found.useful[b] is True


def test_list_in_a_value_of_unknown_type_refused():
    function = parse("""
f(x: float64[n], x_dot: float64[n], c: bool):
    if c -> y:
        a = build_list(x_dot)
        yield a
    else:
        yield x_dot
    return y
""")
    function.block.ops[0].outputs[0].type = OPAQUE

    with pytest.raises(UnsupportedSyntaxError, match="a value that is a list or an array"):
        batched(function, [1], lower_inline)


def test_saved_values_repeated_for_each_direction():
    found = for_directions((None, 2.0, [np.arange(3)], {"flag": True}), 4)

    assert found[0] is None
    assert found[1].shape == (4,)
    assert found[2][0].shape == (4, 3)
    assert found[3]["flag"].shape == (4,)
