"""Jacobians and Hessians in one sweep: against rows of a pullback, and by their shapes."""

import numpy as np
import pytest

import srcad
from benchmarks.npbench import KERNELS
from srcad import grad, hessian, jacfwd, jacobian, jacrev
from srcad.arguments.request import Request
from srcad.calling.products import Product
from srcad.errors import (
    NonScalarOutputError,
    OptionError,
    SeedError,
    UnsupportedTypeError,
    WrtError,
)
from srcad.rules import registry
from tests.blocks import assert_jacobian
from tests.corpus.collected import CORPUS
from tests.marks import some, some_by_name
from tests.modes.test_jvp import NAMED, written


# ------------------------------------------------------------------------ against a pullback
@pytest.mark.parametrize("name", some(CORPUS, lambda k, _: k % 72 == 0))
def test_the_jacobian_of_a_program_has_the_rows_of_its_pullback(name):
    f, args = CORPUS[name]

    assert_jacobian(f, *args)


@pytest.mark.parametrize("name", some(list(KERNELS)[::4], lambda k, _: k % 5 == 1))
def test_the_jacobian_of_a_kernel_has_the_rows_of_its_pullback(name):
    kernel = KERNELS[name]

    assert_jacobian(kernel.function, *kernel.inputs("test", np.random.default_rng(0)))


@pytest.mark.parametrize("name", some_by_name(NAMED, one_in=240, every=24))
def test_the_jacobian_of_a_rule_has_the_rows_of_its_pullback(name):
    f, args = written(NAMED[name], name)
    if isinstance(f(*args), list) and not has_known_items(f, args):
        return

    try:
        assert_jacobian(f, *args)
    except UnsupportedTypeError as refused:
        expected = registry.declared_result(NAMED[name][0]).dtype == "real or complex"
        if not expected or "not known which numbers" not in str(refused):
            raise


def has_known_items(f, args):
    """Whether the parts of the list that a function returns are known."""
    return not is_refused(f, args, "one is a list")


def is_refused(f, args, reason):
    """Whether the Jacobian is refused for this reason; other errors are raised."""
    try:
        jacobian(f)(*args)
    except UnsupportedTypeError as refused:
        if reason not in str(refused):
            raise
        return True
    return False


def test_recursion_result_unbatched_across_directions():
    def falling(v, n):
        return np.sin(v * 1.29) if n <= 0 else falling(np.sin(v), n - 1) * v + 0.3 * v

    def f(a, m):
        return m + falling(np.sin(a), 3)

    assert_jacobian(f, 0.3, np.ones((2, 2)))


# ------------------------------------------------------------------------ shapes and kinds
def doubled(x):
    return np.concatenate([x, x**2])


@pytest.mark.parametrize("mode", ["fwd", "rev", "auto"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_jacobian_has_the_shape_and_the_dtype_of_the_gradient(mode, dtype):
    found = jacobian(doubled, mode=mode)(np.array([1, 2], dtype))

    assert found.dtype == dtype
    assert found.tolist() == [[1, 0], [0, 1], [2, 0], [0, 4]]
    assert found.flags.writeable
    assert found.flags.owndata


@pytest.mark.parametrize("derive", [jacfwd, jacrev])
def test_jacobian_of_empty_array_is_empty(derive):
    assert derive(doubled)(np.zeros(0)).shape == (0, 0)
    assert derive(lambda x, y: np.outer(x, y), (0, 1))(np.zeros(0), np.ones(2))[1].shape == (
        0,
        2,
        2,
    )
    assert derive(lambda x: x[:0] * 2.0)(np.ones(3)).shape == (0, 3)


@pytest.mark.parametrize("derive", [jacfwd, jacrev])
def test_jacobian_of_scalar_argument_adds_no_axis(derive):
    def powers(x):
        return np.array([x, x * x])

    assert derive(powers)(3.0).tolist() == [1.0, 6.0]
    assert derive(lambda x: x * x)(3.0) == 6.0
    assert type(derive(lambda x: x * x)(np.float32(3.0))) is np.float32
    assert derive(lambda x: x * x)(3) == 6.0


@pytest.mark.parametrize("derive", [jacfwd, jacrev])
def test_jacobian_by_integer_array_is_float(derive):
    found = derive(doubled)(np.array([1, 2]))

    assert found.dtype == np.float64
    assert found.tolist() == [[1, 0], [0, 1], [2, 0], [0, 4]]


@pytest.mark.parametrize("derive", [jacfwd, jacrev])
def test_several_arguments_have_a_tuple_of_jacobians(derive):
    by_a, by_b = derive(lambda a, b: a * b, (0, "b"))(3.0, np.array([1.0, 2.0]))

    assert by_a.tolist() == [1.0, 2.0]
    assert by_b.tolist() == [[3.0, 0.0], [0.0, 3.0]]


@pytest.mark.parametrize("derive", [jacfwd, jacrev])
def test_jacobian_of_structures_has_nested_blocks(derive):
    def parts(p):
        return p["w"] @ p["x"], {"sum": np.sum(p["x"])}

    first, second = derive(parts)({"w": np.eye(2), "x": np.array([3.0, 4.0])})

    assert first["w"].tolist() == [[[3, 4], [0, 0]], [[0, 0], [3, 4]]]
    assert first["x"].tolist() == [[1, 0], [0, 1]]
    assert second["sum"]["w"].tolist() == [[0, 0], [0, 0]]
    assert second["sum"]["x"].tolist() == [1, 1]


@pytest.mark.parametrize("derive", [jacfwd, jacrev])
def test_jacobian_returns_aux(derive):
    found, aux = derive(lambda x: (2.0 * x, "beside"), has_aux=True)(np.ones(2))

    assert found.tolist() == [[2, 0], [0, 2]]
    assert aux == "beside"


def test_auto_mode_chooses_fewer_sweeps():
    wide, tall = jacobian(lambda x: x[:2] * np.sum(x)), jacobian(doubled)

    wide(np.ones(9)), tall(np.ones(9))

    assert "x_dot" not in wide.source
    assert "x_dot" in tall.source


# ------------------------------------------------------------------------ Hessians
def test_a_hessian_of_several_arguments_has_a_block_for_each_pair():
    def f(a, b):
        return a @ a * b**2

    (aa, ab), (ba, bb) = hessian(f, (0, 1))(np.array([1.0, 2.0]), 3.0)

    assert aa.tolist() == [[18, 0], [0, 18]]
    assert ab.tolist() == ba.tolist() == [12.0, 24.0]
    assert bb == 10.0


def test_hessian_of_structure_nests_structure_twice():
    found = hessian(lambda p: p["a"] ** 3 * np.sum(p["b"]))({"a": 2.0, "b": np.ones(2)})

    assert found["a"]["a"] == 24.0
    assert found["a"]["b"].tolist() == found["b"]["a"].tolist() == [12.0, 12.0]
    assert found["b"]["b"].tolist() == [[0, 0], [0, 0]]


def test_a_hessian_with_aux():
    found, aux = hessian(lambda x: (x @ x, "beside"), has_aux=True)(np.ones(2))

    assert found.tolist() == [[2, 0], [0, 2]]
    assert aux == "beside"


def test_a_hessian_through_a_loop_and_writes_agrees_with_differences():
    def relaxed(u):
        u = u.copy()
        for _ in range(3):
            u[1:-1] = u[1:-1] + 0.1 * u[1:-1] * (u[2:] - 2 * u[1:-1] + u[:-2])
        return np.sum(u**3)

    x, h, g = np.linspace(0.1, 1.0, 6), 1e-6, grad(relaxed)
    want = np.stack([(g(x + h * e) - g(x - h * e)) / (2 * h) for e in np.eye(6)])

    np.testing.assert_allclose(hessian(relaxed)(x), want, rtol=1e-6, atol=1e-7)


# ------------------------------------------------------------------------ nesting
@pytest.mark.parametrize("mode", ["fwd", "rev", "auto"])
def test_a_jacobian_inside_a_function_is_differentiated(mode):
    def loss(x):
        return np.sum(jacobian(lambda y: y**2 * y[0], mode=mode)(x) ** 2)

    x, h = np.array([1.0, 2.0]), 1e-6
    want = [(loss(x + h * e) - loss(x - h * e)) / (2 * h) for e in np.eye(2)]

    np.testing.assert_allclose(grad(loss)(x), want, rtol=1e-6)


def test_the_jacobian_of_a_gradient_is_the_hessian():
    def f(x):
        return np.sum(np.sin(x) * x[0])

    x = np.array([0.3, 0.7, 1.1])

    np.testing.assert_allclose(jacrev(grad(f))(x), hessian(f)(x), rtol=1e-12)
    np.testing.assert_allclose(jacfwd(jacrev(f))(x), hessian(f)(x), rtol=1e-12)


def test_a_third_derivative_is_the_gradient_of_a_sum_over_a_hessian():
    third = grad(lambda x: np.sum(hessian(lambda y: np.sum(y**4))(x)))

    np.testing.assert_allclose(third(np.array([1.0, 2.0])), [24.0, 48.0])


# ------------------------------------------------------------------------ many directions
def test_batched_tangents_match_single_tangents():
    def f(x):
        return np.sin(x) * np.sum(x)

    x, v = np.array([0.3, 0.7, 1.1]), np.arange(6.0).reshape(2, 3)
    found = Product(f, Request("tangents"))(x, v)

    np.testing.assert_allclose(found, [srcad.jvp(f, (x,), (row,))[1] for row in v])


def test_batched_hvp_matches_single_hvp():
    def f(x, a):
        return np.sum(np.sin(x) * a) * x[0]

    x, v = np.array([0.3, 0.7, 1.1]), np.arange(6.0).reshape(2, 3)
    found = Product(f, Request("products"))(x, 2.0, v=v)

    np.testing.assert_allclose(found, [srcad.hvp(f)(x, 2.0, v=row) for row in v])


def test_directions_have_the_shape_of_the_argument():
    along = Product(lambda x: x * x, Request("tangents"))

    with pytest.raises(SeedError, match=r"have shape \(2,\), and the argument has \(2,\)"):
        along(np.ones(2), np.ones(2))


# ------------------------------------------------------------------------ refusals
def test_unknown_jacobian_mode_rejected():
    with pytest.raises(OptionError, match="no mode 'sideways'"):
        jacobian(doubled, mode="sideways")


def test_hessian_of_array_result_rejected():
    with pytest.raises(NonScalarOutputError, match="returns an array"):
        hessian(lambda x: x)(np.ones(2))


@pytest.mark.parametrize("derive", [jacfwd, jacrev, jacobian])
def test_jacobian_by_inactive_argument_rejected(derive):
    with pytest.raises(WrtError, match="no derivative flows"):
        derive(lambda x, n: x[:n], 1)(np.ones(2), 1)


def test_a_jacobian_is_a_gradient_object():
    found = jacobian(doubled)
    found(np.ones(2))

    assert "def jacobian_doubled(x):" in found.source
    assert srcad.jacobian.__name__ == "jacobian"


@pytest.mark.parametrize("x", [2.0, np.float32(2.0)])
def test_scalar_hessian_blocks_keep_argument_type(x):
    def f(x, y):
        return x**3 * y**2

    second = hessian(f, (0, 1))(x, 3.0)
    first = (*jacfwd(f, (0, 1))(x, 3.0), *jacrev(f, (0, 1))(x, 3.0))

    assert [type(block) for row in second for block in row] == [type(x), float] * 2
    assert [type(block) for block in first] == [type(x), float] * 2
    assert second == ((108.0, 72.0), (72.0, 16.0))


# ------------------------------------------------------------------------ lists as results
def several(x):
    rows = [x * x]
    rows.append(np.sum(x))
    return {"rows": rows, "pair": ([x[0], x], 2.0)}


@pytest.mark.parametrize("make", [jacobian, jacfwd, jacrev])
def test_static_length_list_jacobian_blocks(make):
    x = np.array([1.0, 3.0])

    listed = make(lambda x: [x * x, x[0]])(x)
    found = make(several)(x)

    assert type(listed) is list
    np.testing.assert_array_equal(listed[0], np.diag(2 * x))
    np.testing.assert_array_equal(listed[1], [1.0, 0.0])
    assert [type(found["rows"]), type(found["pair"])] == [list, tuple]
    np.testing.assert_array_equal(found["rows"][1], [1.0, 1.0])
    np.testing.assert_array_equal(found["pair"][0][1], np.eye(2))
    assert found["pair"][1] is None or not np.any(found["pair"][1])


def test_dynamic_length_list_result_rejected():
    def f(x, n):
        rows = []
        for k in range(n):
            rows.append(x * k)
        return rows

    with pytest.raises(UnsupportedTypeError, match="one is a list"):
        jacobian(f)(np.ones(2), 3)


# ------------------------------------------------------------------------ nested
@pytest.mark.parametrize(
    "join",
    [
        lambda x, t: np.array([x[0] + x[1], t[0] * x[1]]),
        lambda x, t: np.array([x * 2.0, x * t]),
        lambda x, t: np.array((x[0] ** 2, t[0] * x[1], 3.0)),
        lambda x, t: np.array([[x[0], t[0] * x[1]], [1.0, x[2] * t[1]]]),
        lambda x, t: np.stack([x * 2.0, x * t], axis=1),
        lambda x, t: np.concatenate([x * 2.0, x * t, np.ones(2)]),
        lambda x, t: np.where(x > 0.7, x * t, x * 2.0),
        lambda x, t: np.einsum("i,j->ij", x * t, x),
    ],
)
@pytest.mark.parametrize("outer", [jacfwd, jacrev])
def test_nested_jacobian_of_joined_inner_and_outer_values(join, outer):
    x, t = np.array([1.0, 2.0, 0.5]), np.array([1.0, 2.0, 0.3])

    def f(t):
        return jacfwd(lambda x: join(x, t))(x)

    found = outer(f)(t)

    want = [(f(t + e) - f(t - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(found, np.stack(want, axis=-1), atol=1e-8)


@pytest.mark.parametrize("options", [{}, {"sparse": True}, {"chunk_size": 1}])
def test_hessian_of_one_argument_in_tuple_is_tuple_of_tuples(options):
    x, y = np.array([0.4, 1.2]), np.array([1.0, 3.0])

    ((block,),) = srcad.hessian(_cubic, wrt=("x",), **options)(x, y)

    expected = 6 * np.diag(x * y)
    np.testing.assert_allclose(block.toarray() if options.get("sparse") else block, expected)


def test_hessian_of_one_argument_in_tuple_taken_inside():
    def of_blocks(x, y):
        ((block,),) = srcad.hessian(_cubic, wrt=(0,))(x, y)
        return np.sum(block)

    x, y = np.array([0.4, 1.2]), np.array([1.0, 3.0])

    np.testing.assert_allclose(srcad.grad(of_blocks)(x, y), 6 * y)


def _cubic(x, y):
    return np.sum(x**3 * y)


# ------------------------------------------------------------------------ a tuple of one number
def _power_in_while(a):
    k, s = 0, a
    while k < 3:
        s, k = s * a, k + 1
    return s + a  # a**4 + a


def _power_in_recursion(a, n=3):
    return a if n == 0 else a * _power_in_recursion(a, n - 1)


def _sum_in_loop(a):
    s = 0.0
    for _ in range(3):
        s = s + a * s + a
    return s  # 3 a + 3 a**2 + a**3


@pytest.mark.parametrize(
    ("f", "second"),
    [
        (_power_in_while, 12 * 1.3**2),
        (_power_in_recursion, 12 * 1.3**2),
        (_sum_in_loop, 6 + 6 * 1.3),
    ],
)
def test_reverse_jacobian_of_gradient_by_tuple_of_one_number_is_one_number(f, second):
    # The axis of directions was there, but it had no length.
    ((both,),) = jacrev(grad(f, wrt=(0,)), wrt=(0,))(1.3)
    (one,) = jacrev(grad(f, wrt=(0,)))(1.3)
    (of_aux,), aux = jacrev(lambda a: ((f(a),), 3), has_aux=True)(1.3)

    assert np.shape(both) == np.shape(one) == np.shape(of_aux) == ()
    assert (both, one) == pytest.approx((second, second))
    assert of_aux == pytest.approx(grad(f)(1.3))
    assert aux == 3
