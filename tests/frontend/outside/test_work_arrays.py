"""Arrays outside that a function fills before it reads them, and that it leaves filled."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad

import srcad
from srcad.errors import MutationError

X = np.array([0.7, 1.3, -0.4])
BUFFER = np.zeros(3)
OTHER = np.zeros(3)
MATRIX = np.zeros((3, 3))
SINGLE = np.zeros(3, np.float32)
BACKWARD = BUFFER[::-1]
HOLDER = SimpleNamespace(work=np.zeros(3), again=BUFFER)


class Energy:
    """An object with a work array."""

    def __init__(self):
        self.work = np.zeros(3)
        self.calls = 0

    def fill(self, x):
        self.calls += 1
        np.multiply(x, x, out=self.work)

    def __call__(self, x):
        self.fill(x)
        return np.sum(self.work * x)


ENERGY = Energy()


def by_slice(x):
    BUFFER[:] = x * x
    return np.sum(BUFFER * x)


def by_ellipsis(x):
    BUFFER[...] = x * x
    BUFFER[0] *= x[1]
    return np.sum(BUFFER * x)


def by_out(x):
    np.sin(x, out=BUFFER)
    np.multiply(BUFFER, x, out=BUFFER)
    return np.sum(BUFFER)


def by_copyto(x):
    np.copyto(BUFFER, x * x)
    return np.sum(BUFFER * x)


def by_fill(x):
    BUFFER.fill(x[0])
    BUFFER[1] += x[1] * x[2]
    return np.sum(BUFFER**3)


def by_method(x):
    return ENERGY(x)


def by_attribute(x):
    HOLDER.work[:] = np.exp(x)
    return np.sum(HOLDER.work * x)


def by_two_names(x):
    HOLDER.again[:] = x * x
    return np.sum(BUFFER * x)


def by_parts(x):
    BUFFER[0] = x[0]
    BUFFER[-1] = x[2] ** 2
    BUFFER[1:-1] = x[1] * x[0]
    return np.sum(BUFFER**2)


def by_blocks(x):
    MATRIX[:2, :2] = np.outer(x[:2], x[:2])
    MATRIX[:2, 2] = x[:2]
    MATRIX[2] = x * x
    return np.sum(MATRIX @ x)


def by_view(x):
    tail = BUFFER[1:]
    BUFFER[0] = x[0]
    tail[:] = x[1:] ** 2
    return np.sum(BUFFER * x)


def in_every_iteration(x):
    total = 0.0
    for k in range(3):
        BUFFER[:] = x**k
        total += np.sum(BUFFER**2)
    return total


def entry_by_entry(x):
    for i in range(3):
        for j in range(3):
            MATRIX[i, j] = x[i] * x[j] ** 2
    return np.sum(MATRIX**2)


def by_recurrence(x):
    BUFFER[0] = x[0]
    for i in range(1, 3):
        BUFFER[i] = BUFFER[i - 1] * x[i]
    return np.sum(BUFFER)


def on_either_path(x):
    if x[0] > 0:
        BUFFER[:] = x
    else:
        BUFFER[:] = x * x
    return np.sum(BUFFER**2)


def two_arrays(x):
    BUFFER[:] = x
    np.multiply(BUFFER, x, out=OTHER)
    BUFFER[:] = OTHER * x
    return np.sum(BUFFER * OTHER)


def swapped(x):
    old, new = BUFFER, OTHER
    old[:] = x
    for _ in range(3):
        new[:] = old * x
        old, new = new, old
    return np.sum(old)


def filled_by_helper(x):
    fill_with(x * x)
    return total_of() * x[0]


def fill_with(y):
    BUFFER[:] = y


def total_of():
    return np.sum(BUFFER)


def reset_by_helper(x):
    clear()
    for i in range(3):
        BUFFER[i] += x[i] ** 2
    return np.sum(BUFFER**2)


def clear():
    BUFFER[:] = 0.0


def part_only(x):
    BUFFER[1] = x[1] ** 3
    return BUFFER[1] * x[0]


def by_augmented_attribute(x):
    HOLDER.work[:] = x
    for _ in range(2):
        HOLDER.work *= x
        HOLDER.work += HOLDER.work[0]
    return np.sum(HOLDER.work * x)


def by_augmented_attribute_on_a_path(x):
    ENERGY.work[:] = x
    if x[0] > 0:
        ENERGY.work **= 2
    return np.sum(ENERGY.work * x)


def by_augmented_global(x):
    global BUFFER
    BUFFER[:] = x
    BUFFER *= x
    return np.sum(BUFFER * x)


PROGRAMS = (
    by_augmented_attribute, by_augmented_attribute_on_a_path, by_augmented_global, by_slice,
    by_ellipsis, by_out, by_copyto, by_fill, by_method, by_attribute, by_two_names,
    by_parts, by_blocks, by_view, in_every_iteration, entry_by_entry, by_recurrence,
    on_either_path, two_arrays, swapped, filled_by_helper, reset_by_helper, part_only,
)  # fmt: skip
ARRAYS = (BUFFER, OTHER, MATRIX, HOLDER.work, ENERGY.work)


def contents():
    return [array.copy() for array in ARRAYS]


def start_again():
    for k, array in enumerate(ARRAYS):
        array[...] = np.arange(array.size).reshape(array.shape) * 1.7 + k


def left_by_call(f, x):
    start_again()
    f(x)
    found = contents()
    start_again()
    return found


def assert_left(expected):
    for found, array in zip(contents(), expected, strict=True):
        np.testing.assert_array_equal(found, array)


def by_differences(f, x, step=1e-6):
    units = np.eye(x.size) * step
    return np.array([(f(x + u) - f(x - u)) / (2 * step) for u in units])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_work_array_gradient_and_contents_are_those_of_call(f):
    expected, left = by_differences(f, X), left_by_call(f, X)

    found = srcad.grad(f)(X)

    assert_left(left)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


MODES = {
    "value_and_grad": lambda f: lambda x: srcad.value_and_grad(f)(x),
    "pullback": lambda f: lambda x: srcad.pullback(f, x)[1](1.0),
    "jvp": lambda f: lambda x: srcad.jvp(f, (x,), (x,)),
    "hvp": lambda f: lambda x: srcad.hvp(f)(x, x),
    "jacobian forward": lambda f: srcad.jacobian(f, mode="fwd"),
    "jacobian reverse": lambda f: srcad.jacobian(f, mode="rev"),
    "hessian": lambda f: srcad.hessian(f),
}


@pytest.mark.parametrize("mode", MODES)
def test_work_array_after_each_mode_holds_values_of_call(mode):
    left = left_by_call(by_recurrence, X)

    MODES[mode](by_recurrence)(X)

    assert_left(left)


def test_work_array_hessian_is_that_of_local_array():
    def closed(x):
        return x[0] + x[0] * x[1] + x[0] * x[1] * x[2]

    h = 1e-4
    expected = np.array(
        [(by_differences(closed, X + u, h) - by_differences(closed, X - u, h)) / (2 * h)
         for u in np.eye(3) * h]
    )  # fmt: skip

    np.testing.assert_allclose(srcad.hessian(by_recurrence)(X), expected, atol=1e-6)


def raising(x):
    BUFFER[0] = x[0] * 2
    BUFFER[1] = x[1]
    if x[2] < 0:
        raise ValueError("negative")
    BUFFER[2] = x[2]
    return np.sum(BUFFER**2)


@pytest.mark.parametrize("mode", MODES)
def test_work_array_after_exception_is_as_call_leaves_it(mode):
    start_again()

    with pytest.raises(ValueError, match="negative"):
        MODES[mode](raising)(X)

    np.testing.assert_array_equal(BUFFER, [1.4, 1.3, 3.4])


def returned(x):
    BUFFER[:] = x * x
    return BUFFER


def test_returned_work_array_is_not_overwritten_by_next_call():
    first, back = srcad.pullback(returned, X)
    srcad.pullback(returned, 2 * X)

    np.testing.assert_array_equal(first, X * X)
    np.testing.assert_allclose(back(np.ones(3))[0], 2 * X)
    assert not np.shares_memory(first, BUFFER)


def in_single_precision(x):
    SINGLE[:] = x * x
    return float(np.sum(SINGLE)) + np.sum(x)


def test_work_array_of_float32_rounds_as_numpy():
    value, gradient = srcad.value_and_grad(in_single_precision)(X)

    assert value == in_single_precision(X)
    np.testing.assert_allclose(gradient, 2 * X + 1, rtol=1e-6)


def test_work_array_may_be_another_one_at_next_call():
    energy = Energy()
    g = srcad.grad(energy)
    g(X)
    energy.work = np.zeros(3)

    np.testing.assert_allclose(g(X), 3 * X**2)
    np.testing.assert_array_equal(energy.work, X * X)


def test_work_array_of_closure():
    def make():
        work = np.empty(3)

        def f(x):
            work[:] = np.cumsum(x)
            return work @ x

        return f

    f = make()

    np.testing.assert_allclose(srcad.grad(f)(X), by_differences(f, X), rtol=1e-6)


# ------------------------------------------------------------------------------ refused
def read_before(x):
    total = np.sum(BUFFER)
    BUFFER[:] = x
    return total * x[0] + BUFFER[1]


def read_by_last_iteration(x):
    total = 0.0
    for k in range(3):
        total += np.sum(BUFFER * x)
        BUFFER[:] = x * k
    return total


def partly_written(x):
    BUFFER[:2] = x[:2]
    return np.sum(BUFFER)


def on_one_path(x):
    if x[0] > 0:
        BUFFER[:] = x
    return np.sum(BUFFER**2)


def until_break(x):
    for i in range(3):
        if x[i] < 0:
            break
        BUFFER[i] = x[i]
    return np.sum(BUFFER)


def triangle(x):
    for i in range(3):
        for j in range(i + 1):
            MATRIX[i, j] = x[i] * x[j]
    return np.sum(MATRIX)


def one_entry_too_early(x):
    BUFFER[0] = x[0]
    for i in range(1, 3):
        BUFFER[i] = BUFFER[i - 2] * x[i]
    return np.sum(BUFFER)


def up_to_negative(x, n=-1):
    for i in range(n):
        BUFFER[i] = x[0]
    return np.sum(BUFFER[:n]) + x[0]


def in_place_first(x):
    np.multiply(BUFFER, x, out=BUFFER)
    return np.sum(BUFFER)


def through_another_view(x):
    BUFFER[:] = x
    return np.sum(BACKWARD * x)


TOTAL = BUFFER.sum


def through_bound_method(x):
    BUFFER[:] = x
    return TOTAL() * x[0]


def through_callback(x):
    BUFFER[:] = x
    return quad(lambda t: t * BUFFER[0], 0, 1)[0] * x[2]


def through_named_callback(x):
    BUFFER[:] = x
    return quad(scaled_by_first, 0, 1)[0] * x[2]


def scaled_by_first(t):
    return t * BUFFER[0]


def through_vectorized(x):
    BUFFER[:] = x
    return np.sum(np.fromfunction(np.vectorize(lambda i: BUFFER[int(i)]), (3,)))


def augmented_first(x):
    HOLDER.work += x
    return np.sum(HOLDER.work)


def augmented_when_stored_elsewhere(x):
    HOLDER.work[:] = x
    HOLDER.last = HOLDER.work
    HOLDER.work += 1.0
    return np.sum(HOLDER.last)


def stored_elsewhere(x):
    HOLDER.work[:] = x
    HOLDER.last = HOLDER.work
    return np.sum(HOLDER.last)


def in_inner_derivative(x):
    return np.sum(srcad.grad(by_slice)(x))


REFUSED = (
    read_before, read_by_last_iteration, partly_written, on_one_path, until_break, triangle,
    one_entry_too_early, up_to_negative, in_place_first, through_another_view,
    through_bound_method, through_callback, through_named_callback, through_vectorized,
    stored_elsewhere, augmented_first, augmented_when_stored_elsewhere, in_inner_derivative,
)  # fmt: skip


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_work_array_with_contents_of_before_is_refused(f):
    with pytest.raises(MutationError):
        srcad.grad(f)(X)


def test_work_array_that_is_argument_is_refused():
    with pytest.raises(MutationError, match="shares memory"):
        srcad.grad(by_slice)(BUFFER)


def test_work_array_that_becomes_another_name_is_refused_at_call():
    holder = SimpleNamespace(work=np.zeros(3), weights=np.ones(3))

    def f(x):
        holder.work[:] = x
        return np.sum(holder.work * holder.weights)

    g = srcad.grad(f)
    g(X)
    holder.weights = holder.work[::-1]

    with pytest.raises(MutationError, match="shares memory"):
        g(X)


def test_work_array_of_sparse_array_is_refused():
    sparse = pytest.importorskip("scipy.sparse")
    A = sparse.csr_array(np.diag([1.0, 2.0, 3.0]))

    def f(x):
        A.data[:] = x
        return np.sum(A @ x)

    with pytest.raises(MutationError):
        srcad.grad(f)(X)
