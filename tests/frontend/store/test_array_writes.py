"""Writing into arrays: every form of store, every way in which two names show the same memory."""

import operator
from collections.abc import Callable

import numpy as np
import pytest

import srcad
from srcad import grad, testing, value_and_grad
from srcad.errors import MutationError
from tests.language import assert_program
from tests.marks import some
from tests.numeric import assert_close, assert_gradient, difference


# ------------------------------------------------------------------------------ stores
def items_and_slices(x):
    y = np.zeros(3)
    y[0] = x[0] * x[1]
    y[1:] = x[:2] ** 2
    y[2] += x[0]
    return (y * y).sum()


def strides_ellipsis_and_new_axes(x):
    y = np.outer(x, x)
    np.fill_diagonal(y, x * 3)
    y[::-1, 1:3] -= x[:2]
    y[..., -1] = x**2
    y[:, None][1] = 2 * x
    return (y**2).sum()


def repeated_places(x):
    y = np.zeros(4)
    y[[0, 1, 1, 2]] = x  # the last one wins
    y[[3, 3]] += x[:2]  # the first update is lost
    y[x > 0] *= x[x > 0]
    return (y**3).sum()


def unbuffered_adds(x):
    y = x.copy()
    np.add.at(y, [0, 0, 2], x[:3])
    np.subtract.at(y, [1, 1, 1], x[1:] * x[0])
    return (y**2).sum()


def out_arguments(x):
    y = np.empty(4)
    np.multiply(x, 2.0, out=y)
    np.add(y, x, y)
    np.sin(x[1:], out=y[1:])
    np.divide(x, y, out=y, where=x > 0.0)
    return (y**2).sum()


def functions_that_write(x):
    y = x.copy()
    y.sort()
    np.copyto(y[1:], x[1:] ** 2, where=x[1:] > 0)
    np.put(y, [0, 2], x[:2])
    y.flat[3] = x[0] ** 3
    z = np.empty(4)
    z.fill(x[1])
    np.put_along_axis(z, np.array([1, 3]), x[:2], 0)
    np.putmask(z, x > 2.0, x[0])
    return (y * x).sum() + (z * z).sum()


def own_argument(x):
    x += 1
    x[0] *= x[1]
    return np.sum(x**3)


def into_float32(x):
    y = np.zeros(4, dtype=np.float32)
    y[:] = x * x
    return np.sum(y.astype(float) * x)


# ------------------------------------------------------------------------------ other names
def alias(x):
    y = np.ones(x.size)
    z = y
    z[0] = x[0] ** 2
    y += x
    return (y * z * x).sum()


def views(x):
    y = x * 2
    v = y[1:]
    v[0] = x[0] ** 2
    w = v[::-1]
    v *= 3
    w[0] += x[1]
    return (y * x).sum() + w[1] * v[0]


def turned_views(x):
    a = np.zeros((4, 4))
    a[1] = x
    a.T[0] += x
    np.swapaxes(a, 0, 1)[2, 1:] = x[1:] ** 2
    r = a[2]
    r[1:] = x[1:]
    np.expand_dims(a, 0)[0, 3] *= x
    return np.sum(a**3)


def unpacked_rows(x):
    y = np.zeros((2, 4))
    a, b = y
    a += x
    b[:] = x**2
    a[1:] *= b[:-1]
    return (y**2).sum()


def reshaped(x):
    y = np.zeros((2, 4))
    z = y.reshape(-1)
    z[2:6] = x
    z = z.reshape(4, 2)
    z[1, 0] *= x[0]
    y.T[0] = 3 * x[:2]
    return (y**2).sum() + z[0, 0]


def in_containers(x):
    d = {"a": x * 2, "b": [np.zeros(4), x * x]}
    d["a"][1] = x[0]
    d["b"][0][:] = d["a"]
    d["b"][1] += d["b"][0]
    w = d["b"][1]
    w *= 2
    return (d["b"][1] * d["a"]).sum()


def _put(y, v):
    y[0] += v
    return y


def helper_that_writes(x):
    y = x.copy()
    z = _put(y, x[1])
    z[1] = z[0] * x[2]
    return (y * z).sum()


def written_while_an_expression_is_read(x):
    y = x * 1.0
    t = y + _put(y, 1.0)
    return (t * y).sum() + _put(y, x[2])[0] * y[0]


def other_shapes_of_arguments(x):
    u = x.reshape(1, -1)
    x *= 2
    u[0, 1:] += x[0]
    m = np.outer(x, x)
    m[1].flat[1:] = 0.61
    m.reshape(-1)[3:5] = x[:2]
    np.putmask(m, m > 1.0, m * m)
    np.place(m, m < -1.0, x[0])
    return np.sum(u * x) + np.sum(m)


def swapped_rows(x):
    m = np.outer(x, np.array([1.0, 2.0, 3.0]))
    m[0], m[1] = m[1], m[0]  # the right side holds views: both rows end as the second one
    return np.sum(m * np.arange(12.0).reshape(4, 3))


def stored_while_unpacking(x):
    u = np.zeros(4)
    u[0], u = (x[0] ** 2, u)
    y = u[1:] = x[1:] * 2
    y[0] = x[1] ** 2
    return np.sum(u * x) + np.sum(y)


def starred_rows(x):
    a = np.outer(x, x)
    p, *rest = a
    p[0] = x[1]
    rest[0][1] = p[0] * 3
    return np.sum(a**3)


def a_list_that_one_path_fills(x):
    if x[0] > 5.0:
        w = []
        w.append(x)
    for k in x[...]:
        x[1] = k * 0.51
    return 1.04 * x[0] + x[1] ** 2


# ------------------------------------------------------------------------------ control flow
def stencil(x):
    u = x.copy()
    for _ in range(3):
        u[1:-1] = 0.3 * (u[:-2] + u[1:-1] * u[2:])
    return (u**2).sum()


def two_buffers(x):
    a, b = x.copy(), np.zeros_like(x)
    for _ in range(4):
        b[1:-1] = a[1:-1] * (a[:-2] + a[2:])
        b[0] = a[0]
        a, b = b, a
    return (a * a).sum() + b[1]


def views_from_before_the_loop(x):
    u = x.copy()
    left, w = u[:-1], u
    for _ in range(3):
        left[1:] *= u[2:]
        u[0] += w[1] * left[2]
    return (w**2).sum()


def rows_in_nested_loops(x):
    y = np.zeros((3, x.size))
    for i in range(3):
        row = y[i]
        row[0] = x[i]
        for j in range(1, x.size):
            row[j] = row[j - 1] * x[j]
    return (y**2).sum()


def rows_as_loop_variables(x):
    a = np.outer(x, x)
    for row in a:
        row += 1.0
        row *= row[0]
    return (a**2).sum()


def entries_written_while_they_are_read(x):
    a, b = np.cos(x), 0.0
    for e in a:
        a *= 0.5  # the entries that follow are half as large
        b = b * 0.5 + e
    return b


def read_and_written_again_and_again(x):
    a, b = np.cos(x), 0.0
    for _ in range(2):
        for e in a:
            a /= e  # the entry itself is one then
            b = b * 0.5 + e
        for k in range(2):
            for e in a[::-1]:
                a += k * e
    return b + np.sum(a * x)


def branches_and_breaks(x):
    y = np.ones(x.size)
    z = y
    k = 0
    while k < 3:
        if x[k] > 0:
            z[k] = x[k] ** 2
        else:
            y += x[k]
            if x[k] < -5:
                break
        k += 1
    return (y * z * x).sum()


def cholesky(x):
    n = x.size
    a = np.outer(x, x) + 10 * np.eye(n)
    for j in range(n):
        a[j, j] = np.sqrt(a[j, j] - a[j, :j] @ a[j, :j])
        for i in range(j + 1, n):
            a[i, j] = (a[i, j] - a[i, :j] @ a[j, :j]) / a[j, j]
            a[j, i] = 0.0
    return np.sum(a * np.arange(n * n).reshape(n, n))


def without_axes(x):
    """Arithmetic makes numbers of arrays without axes, into which nothing can be stored."""
    y = np.array(x[1])
    y[...] += x[0]
    y[()] *= 3.0
    z = y[...] * 2.0
    y[None] = y[()] * x[2:3]
    for k in range(3):
        y[...] = y * x[k]
        y[y > 0.1] = x[2] ** 2
    last = x[3, ...].astype(float)
    last[...] = last * last + 0.25
    return z * y * y[()] + np.sum(last)


def casts_that_copy_or_do_not(x):
    # astype(copy=False) of an array that has the dtype is the array: it was taken for a copy.
    a, b, c, d = x * 1.0, x * 2.0, x * 3.0, x * 4.0
    same, alike, copied = a.astype(float, copy=False), np.asarray(b, dtype=float), np.array(c)
    other = np.array(d, copy=True, order="F", dtype=float)
    same[0] = x[1] * x[2]
    alike[1:] *= x[0]
    copied[0] = x[1] ** 2
    other[-1] = x[0] ** 3
    total = np.sum(a * same) + np.sum(b * b) + np.sum(c * copied) + np.sum(d * other)
    return total + np.sum(np.asarray(a[::-1], np.float64) * np.array(x, ndmin=2))


PROGRAMS = [
    casts_that_copy_or_do_not,
    items_and_slices, strides_ellipsis_and_new_axes, repeated_places, unbuffered_adds,
    out_arguments, functions_that_write, own_argument, alias, views, turned_views, unpacked_rows,
    reshaped, in_containers, helper_that_writes, written_while_an_expression_is_read, stencil,
    two_buffers, views_from_before_the_loop, rows_in_nested_loops, rows_as_loop_variables,
    entries_written_while_they_are_read, read_and_written_again_and_again,
    branches_and_breaks, cholesky, swapped_rows, stored_while_unpacking, starred_rows,
    a_list_that_one_path_fills, other_shapes_of_arguments, without_axes,
]  # fmt: skip


def differences(f, x, step=1e-6):
    """Central differences; `f` may write into its argument."""
    found = np.zeros_like(x)
    for k in range(x.size):
        ends = []
        for sign in (1.0, -1.0):
            moved = x.copy()
            moved[k] += sign * step
            ends.append(f(moved))
        found[k] = (ends[0] - ends[1]) / (2 * step)
    return found


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradient_of_program_with_array_writes(f):
    x = np.array([1.3, -0.7, 2.1, 0.4])
    before = x.copy()

    value, gradient = srcad.value_and_grad(f)(x)

    assert np.array_equal(x, before)
    assert value == f(x.copy())
    np.testing.assert_allclose(gradient, differences(f, x), rtol=2e-7, atol=2e-7)


@pytest.mark.parametrize("f", some(PROGRAMS, lambda k, _: k % 3 == 0), ids=lambda f: f.__name__)
def test_pullback_of_program_with_writes_reusable(f):
    x = np.array([1.3, -0.7, 2.1, 0.4])

    y, back = srcad.pullback(f, x)
    kept = np.copy(y)
    first, second = back(1.0)[0], back(1.0)[0]

    assert np.array_equal(first, second)
    assert not np.shares_memory(first, second)
    assert np.array_equal(y, kept)


def test_the_cotangent_has_the_dtype_of_its_array():
    x = np.array([1.3, -0.7, 2.1, 0.4])

    gradient = srcad.grad(into_float32)(x)

    assert gradient.dtype == np.float64
    np.testing.assert_allclose(gradient, 3 * x * x, rtol=1e-6)


def test_second_derivatives_of_stores():
    x = np.array([1.3, -0.7, 2.1, 0.4])

    srcad.testing.check_grads(stencil, (x,), order=2)
    srcad.testing.check_grads(without_axes, (x,), order=2)


# ------------------------------------------------------------------------------ overlaps
def of_two(x, y):
    x[1:] *= y[: x.size - 1]
    x[0] = x[2] * y[1]
    return np.sum(x * y[: x.size] ** 2)


OVERLAPS = {
    "apart": lambda b: (b, b.copy()),
    "the same": lambda b: (b, b),
    "the first is shorter": lambda b: (b[:-1], b),
    "both are views": lambda b: (b[1:], b[:-1]),
    "reversed": lambda b: (b[:-1][::-1], b),
}


@pytest.mark.parametrize("arguments", OVERLAPS.values(), ids=OVERLAPS)
def test_writes_visible_through_overlapping_arguments(arguments):
    base = np.array([1.3, -0.7, 2.1, 0.4, 1.1])
    given = base.copy()

    value, gradients = srcad.value_and_grad(of_two, wrt=(0, 1))(*arguments(given))

    assert np.array_equal(given, base)
    assert value == of_two(*arguments(base.copy()))
    total = np.zeros(5)
    for gradient, places in zip(gradients, arguments(np.arange(5)), strict=True):
        np.add.at(total, places, gradient)
    np.testing.assert_allclose(
        total, differences(lambda b: of_two(*arguments(b)), base), rtol=2e-7, atol=2e-7
    )


def product_with_a_view(x, y):
    y += x
    return np.sum(np.tanh(SQUARE @ y)) * x[0]


SQUARE = np.cos(np.arange(25.0)).reshape(5, 5)


@pytest.mark.parametrize("seed", range(8))
def test_reversed_view_product_rounds_like_numpy(seed):
    """A matrix product rounds otherwise where the entries lie the other way round."""
    base = np.random.default_rng(seed).normal(size=5)
    value_of = srcad.value_and_grad(product_with_a_view, wrt=(0, 1))

    for pair in (lambda b: (b, b[::-1]), lambda b: (b, b[:]), lambda b: (b[::-1], b)):
        value, _ = value_of(*pair(base))

        assert value == product_with_a_view(*pair(base.copy()))


def product_with_a_view_of_no_name(x, c):
    w = np.flip(x)
    w[1] /= 2.0
    x = np.tanh(w)
    seen = w.T
    seen[0] = c
    return np.sum(np.tanh(SQUARE @ seen)) * x[0]


@pytest.mark.parametrize("seed", range(8))
def test_reversed_view_strides_preserved_after_write(seed):
    x = np.random.default_rng(seed).normal(size=5)

    value, _ = srcad.value_and_grad(product_with_a_view_of_no_name)(x, 0.3)

    assert value == product_with_a_view_of_no_name(x.copy(), 0.3)
    testing.check_grads(product_with_a_view_of_no_name, (x, 0.3), order=1)


def test_write_after_loop_reaches_reassigned_argument():
    def f(x, y, n):
        for _ in range(n):
            x = x * 2.0
        x[1:] = 5.0
        return np.sum(x * y)

    g = srcad.grad(f)
    x = np.array([1.0, 2.0, 3.0])

    np.testing.assert_array_equal(g(x, x.copy(), 0), [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(g(x, x.copy(), 1), [2.0, 0.0, 0.0])
    both = srcad.grad(f, wrt=(0, 1))  # a write into y as well, if there is no trip
    for n, want in ((0, [2.0, 0.0, 0.0]), (1, [4.0, 5.0, 5.0]), (2, [8.0, 5.0, 5.0])):
        np.testing.assert_array_equal(sum(both(x, x, n)), want)


def test_overlapping_arguments_compiled_separately():
    g = srcad.grad(of_two, wrt=(0, 1))
    x = np.array([1.3, -0.7, 2.1, 0.4, 1.1])

    apart = g(x, x.copy())
    same = g(x, x)

    assert not np.allclose(apart[0], same[0])
    np.testing.assert_array_equal(g(x, x.copy())[0], apart[0])


def test_write_into_astype_without_copy_rejected():
    # With an order, astype(copy=False) was a copy whatever the array was.
    def f(x):
        y = x * 2.0
        z = y.astype(float, order="C", copy=False)
        z[0] = x[1]
        return np.sum(y * z)

    with pytest.raises(MutationError, match="holds after the write"):
        srcad.grad(f)(np.array([1.0, 2.0]))


def test_dtype_none_keeps_dtype():
    # None was taken for float64.
    x = np.ones(2, np.float32)

    assert srcad.pullback(lambda x: np.asarray(x, None) * 2, x)[0].dtype == np.float32
    assert srcad.pullback(lambda x: np.asarray(x, dtype=None) * 2, x)[0].dtype == np.float32


GLOBAL = np.array([1.0, 2.0, 3.0])
HELD = {"weights": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])}


def reads_a_global(x):
    x[0] = x[1] * 5
    return np.sum(GLOBAL * x)


def reads_a_table(x):
    x[0] = x[1] * 5
    return np.sum(HELD["weights"] * x)


@pytest.mark.parametrize(
    ("f", "shared", "name"),
    [
        (reads_a_global, GLOBAL, "GLOBAL"),
        (reads_a_global, GLOBAL[::-1], "GLOBAL"),
        (reads_a_table, HELD["weights"][0], "HELD"),
    ],
)
def test_written_argument_aliasing_global_rejected(f, shared, name):
    # The global kept its old entries: value and gradient were of another program, silently.
    apart = np.array([1.0, 2.0, 3.0])
    before = shared.copy()

    value, gradient = srcad.value_and_grad(f)(apart)
    with pytest.raises(MutationError, match=f"shares memory with '{name}'"):
        srcad.value_and_grad(f)(shared)

    assert value == f(apart.copy())
    assert np.array_equal(shared, before)
    assert np.array_equal(srcad.value_and_grad(f)(apart)[1], gradient)


def test_default_argument_aliasing_written_argument():
    def f(x, other=GLOBAL):
        x[0] = x[1] * 5
        return np.sum(other * x)

    value = srcad.value_and_grad(f)(GLOBAL)[0]

    kept = GLOBAL.copy()
    assert value == f(kept, kept)


def test_overlapping_arrays_in_a_container_are_refused():
    def f(parts):
        parts[0][:] = 2.0 * parts[1]
        return np.sum(parts[0] * parts[1])

    x = np.ones(3)
    with pytest.raises(MutationError, match="shares memory"):
        srcad.grad(f)((x, x))


# ------------------------------------------------------------------------------ refusals
TABLE = np.ones(3)


def writes_a_global(x):
    TABLE[0] = x
    return np.sum(TABLE)


def reads_what_may_have_changed(x):
    rows = [x[0], x[1]]
    for k in range(len(x)):
        y = rows[k]
        y[0] = 0.0
    return np.sum(x * x)


def cuts_a_float(x):
    y = np.zeros(3, dtype=int)
    y[0] = x[0, 0]
    return np.sum(y * x[0, 0])


def writes_what_is_read_only(x):
    y = np.broadcast_to(x, (2, 2, 3))
    y[0] = 0.0
    return np.sum(y)


@pytest.mark.parametrize(
    "f", [writes_a_global, reads_what_may_have_changed, cuts_a_float, writes_what_is_read_only]
)
def test_untracked_array_write_rejected(f):
    argument = 2.0 if f is writes_a_global else np.ones((2, 3))

    with pytest.raises(MutationError) as caught:
        srcad.grad(f)(argument)

    assert "test_array_writes.py" in str(caught.value)
    assert np.array_equal(TABLE, np.ones(3))


def of_another_order(x):
    y = x.copy()
    z = np.copy(x)
    x[0] *= 1.1
    return np.mean(x / 3.0) + np.mean(y[1:] / 3.0) + np.mean(z / 7.0)


def test_copies_keep_memory_order():
    x = np.asfortranarray(np.random.default_rng(0).normal(size=(7, 9)))

    value, gradient = srcad.value_and_grad(of_another_order)(x)

    assert value == of_another_order(x.copy(order="K"))
    assert gradient.flags.f_contiguous


def through_ravel(x):
    u = x.ravel()
    u[0] = 2.0
    return np.sum(x * x)


def test_ravel_of_an_argument_in_c_order_is_a_view():
    x = np.arange(6.0).reshape(2, 3) + 1.0
    want = 2.0 * x
    want[0, 0] = 0.0

    np.testing.assert_array_equal(srcad.grad(through_ravel)(x), want)
    with pytest.raises(MutationError, match="cannot tell what 'x' holds"):
        srcad.grad(through_ravel)(np.asfortranarray(x))
    with pytest.raises(MutationError, match="cannot tell what 'x' holds"):
        srcad.grad(through_ravel)(np.arange(6.0)[::2])


def _set_to_three(b):
    b[:] = 3.0


def prepared_by_helpers(x, buffer):
    t = buffer * 2.0
    _set_to_three(buffer[1:])
    for k in range(2):
        _set_to_three(buffer[k:])
        buffer[0] += k
    np.random.default_rng(3).shuffle(buffer)
    return np.sum(buffer * x * t)


def test_helpers_and_shuffle_write_into_inactive_data():
    x, buffer = np.array([1.0, 2.0, 3.0]), np.arange(3.0)
    plain = buffer.copy()

    value, gradient = srcad.value_and_grad(prepared_by_helpers)(x, buffer)

    assert np.array_equal(buffer, [0.0, 1.0, 2.0])
    assert value == prepared_by_helpers(x, plain)
    np.testing.assert_allclose(gradient, plain * 2.0 * buffer)


def stores_lists(a, m):
    m[0] = [a, 2.0 * a, a * a]
    m[:, 1] = (a, 2.0)
    m[m > 1.2] = [a]
    row = [a, 3.0, a * m[1, 0]]
    m[1] += row
    m[1, ::2] = [1.0, 2.0]
    grown = []
    for k in range(3):
        grown.append(a * k)
    m[1] = grown
    np.add.at(m[0], [0, 0], [a, 2.0 * a])
    np.put(m, [0, 3], [a, a * a])
    m.T.flat[3:5] = [a, m[0, 0]]
    m[::-1].put(2, a)
    return np.sum(m * m * m)


def test_stored_list_entries_gradient():
    # A list was once stored as it stands, and what is in it had no cotangent: silently zero.
    m = np.array([[0.957, -1.273, 1.057], [1.349, -1.286, -0.538]])

    value, gradient = srcad.value_and_grad(stores_lists, wrt=(0, 1))(0.3, m)

    slope = stores_lists(0.3 + 1e-30j, m.astype(complex)).imag / 1e-30
    assert value == stores_lists(0.3, m.copy())
    assert gradient[0] == pytest.approx(slope, rel=1e-13)


def writes_all_over(a, m):
    y = m[::-1]
    np.put(y, [0, 4], a)
    m[:, ::2].flat[1:3] = a * a
    rows = []
    for k in range(2):
        rows.append(m * k)
    g = rows[-1]
    g.T.flat[2] = a
    np.put(g[::-1], [0, 3], 2.0 * a)
    return np.sum(m * m * y) + np.sum(g**3)


def test_flat_index_write_into_strided_view():
    m = np.array([[0.957, -1.273, 1.057], [1.349, -1.286, -0.538]])

    value, gradient = srcad.value_and_grad(writes_all_over)(0.3, m)

    slope = writes_all_over(0.3 + 1e-30j, m.astype(complex)).imag / 1e-30
    assert value == writes_all_over(0.3, m.copy())
    assert gradient == pytest.approx(slope, rel=1e-13)


def test_write_through_flipped_view_keeps_memory_layout():
    # The array became a view with a negative stride, and a product with it was rounded otherwise.
    def f(x, a):
        v = np.flip(x)
        v[0] = x.mean()
        w = np.flip(np.outer(x, x))
        w[0, 1] = a * v[1]
        return np.sum(a * np.arange(9.0).reshape(3, 3) @ x) + np.sum(w * w[0, 1])

    args = np.array([1.089, 1.254, -0.494]), 0.3

    value, gradient = srcad.value_and_grad(f)(*args)

    assert value == f(args[0].copy(), args[1])
    np.testing.assert_allclose(gradient, differences(lambda x: f(x, 0.3), args[0]), rtol=1e-7)


# ------------------------------------------------------------------------ indices without axes
def index_without_axes_copies(x):
    y = np.outer(x, x)
    z = y[np.array(1)]
    z *= 2.0
    w = y[:, np.array(0)]
    w += 1.0
    return (y * x).sum() + z.sum() + w.sum()


def index_without_axes_is_written(x):
    y = np.outer(x, x)
    y[np.array(1)] *= x
    y[np.array(0), 1] += x[0]
    return (y * x).sum()


@pytest.mark.parametrize("f", [index_without_axes_copies, index_without_axes_is_written])
def test_zero_dimensional_array_index_copies(f: Callable[..., float]) -> None:
    """It was taken for a number, which shows a view: the write was seen by the whole."""
    x = np.array([0.4, 0.9])
    assert_program(f, x)


def row_with_a_new_axis(x):
    y = np.arange(4).reshape(2, 2)
    y[1, None] *= 2.0
    return (y * x).sum()


def places_twice(x):
    y = np.arange(4)
    y[np.array([1, 1])] += 2.0
    return (y[:2] * x).sum()


def row_of_a_mask(x):
    y = np.arange(4).reshape(2, 2)
    y[np.array([True, True]), 1] += 2.0
    return (y * x).sum()


@pytest.mark.parametrize("f", [row_with_a_new_axis, places_twice, row_of_a_mask])
def test_in_place_float_into_integer_array_raises_as_numpy(f: Callable[..., float]) -> None:
    """Integers cannot hold what floats make of them; the entries were cut off instead."""
    x = np.array([0.4, 0.9])
    with pytest.raises(TypeError) as expected:
        f(x)
    with pytest.raises(type(expected.value), match="Cannot cast ufunc") as found:
        srcad.gradient(f, x)
    assert str(found.value) == str(expected.value)


def test_integer_array_entry_write_truncates() -> None:
    def f(x):
        y = np.arange(4)
        y[1] *= 2.6
        y[np.int64(3)] += 0.5
        return (y * x).sum()

    assert_gradient(srcad.gradient, f, np.array([0.4, 0.9, 0.1, 0.3]))


PLUS = [lambda y: +y, lambda y: operator.pos(y), lambda y: np.positive(y)]


@pytest.mark.parametrize("plus", PLUS)
def test_array_after_plus_is_another_one(plus):
    def f(x):
        y = x * x
        z = plus(y)
        z[0] = 3 * x[1]
        return np.sum(z * y) + np.sum(y)

    x = np.array([1.3, 0.4])
    expected = [6 * x[0] * x[1] + 2 * x[0], 3 * x[0] ** 2 + 4 * x[1] ** 3 + 2 * x[1]]
    np.testing.assert_allclose(srcad.grad(f)(x), expected)
    np.testing.assert_allclose(srcad.jvp(f, (x,), (np.ones(2),))[1], np.sum(expected))


def test_argument_after_plus_is_another_one():
    def f(x):
        z = +x
        z[0] = 2.0
        return np.sum(z * x)

    np.testing.assert_allclose(srcad.grad(f)(np.array([1.3, 0.4])), [2.0, 0.8])


# ------------------------------------------------------------------------- arrays made of numbers
def _average_through_reshape(x, w):
    r = np.average(x, None, w)
    v = r.reshape(1)
    v[0] = 7.0
    return r


def _average_through_new_axis(x, w):
    r = np.average(x, None, w)
    v = r[None]
    v[0] = 7.0
    return r


def _interpolated_through_ravel(x, w):
    r = np.interp(1.5, x, w)
    v = np.ravel(r)
    v[0] = 7.0
    return r * w[0]


@pytest.mark.parametrize("kind", [list, tuple, np.array])
@pytest.mark.parametrize(
    "f", [_average_through_reshape, _average_through_new_axis, _interpolated_through_ravel]
)
def test_write_into_array_made_of_number_leaves_the_number(f, kind):
    # It was not known that the result is a number, and the value was 7.
    args = kind([1.0, 2.0, 4.0]), kind([1.0, 3.0, 2.0])

    value, gradients = value_and_grad(f, wrt=(0, 1))(*args)

    assert value == f(*args)
    for k in range(2):
        assert_close(gradients[k], difference(f, args, k), 1e-6, 1e-8)


@pytest.mark.parametrize("f", [_average_through_reshape, _average_through_new_axis])
def test_write_into_array_made_of_possible_number_rejected_by_call(f):
    x, w = np.array([1.0, -2.0, 4.0]), np.array([1.0, 3.0])

    with pytest.raises(MutationError, match="made of a number|take a copy"):
        grad(lambda x, w: f(x[x > 0], w))(x, w)


def test_write_through_view_of_array_of_unknown_axes_reaches_the_array():
    x = np.array([1.0, -2.0, 4.0])

    found = grad(lambda x: _inner_through_reshape(x[x > 0]))(x)

    np.testing.assert_array_equal(found, [1.0, 0.0, 1.0])


def _inner_through_reshape(x):
    r = np.inner(np.ones((2, 2)), x)
    v = r.reshape(-1)
    v[0] = 0.0
    return np.sum(r)
