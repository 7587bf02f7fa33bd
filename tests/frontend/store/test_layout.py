"""Whether ``reshape`` and ``ravel`` share memory is decided as NumPy does, or not at all."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import srcad
from tests.marks import some
from tests.numeric import difference

VIEWS = (
    "{0}.T", "{0}[::-1]", "{0}[1:]", "{0}[:-1]", "{0}[..., ::2]", "{0}[..., 1:]", "{0}[None]",
    "{0}[0]", "{0}[:, None]", "np.swapaxes({0}, 0, -1)", "np.moveaxis({0}, 0, -1)",
    "np.expand_dims({0}, -1)", "{0}[...]", "{0}.reshape(-1, {0}.shape[-1])", "np.asarray({0})",
    "{0}[:1]", "{0}[:, :1]", "{0}[..., 0]", "{0}[:, 0]", "{0}[..., 0, :]", "{0}[0, ...]",
    "np.transpose({0}, axes=None)", "{0}.transpose(*range({0}.ndim)[::-1])", "np.flipud({0})",
    "np.rollaxis({0}, -1)", "np.rot90({0}, 2)", "np.fliplr({0})", "np.atleast_2d({0})",
)  # fmt: skip
COPIES = (
    "np.sin({0})", "{0} * 2.0", "{0} + {0}", "np.zeros_like({0}) + {0}", "{0}.copy()",
    "np.copy({0})", "np.concatenate([{0}, {0}])", "np.stack([{0}, {0}])",
    "np.where({0} > 0, {0}, 1.0)",
    "np.array({0})", "np.vstack([{0}, {0}])", "np.exp({0}[..., 0])", "{0}.astype({0}.dtype)",
    "np.sum({0}, axis=0)", "np.flip({0}, 0) * 1.0", "np.outer({0}, {0})", "np.tile({0}, 2)",
)  # fmt: skip
FLAT = (
    "{0}.reshape(-1)", "{0}.ravel()", "np.ravel({0})", "{0}.reshape({0}.size)", "{0}.ravel('F')",
    "{0}.reshape({0}.shape[0], -1)", "{0}.reshape(-1, 1)", "{0}.flatten()", "{0}.reshape(1, -1)",
    "{0}.reshape(-1, order='F')", "{0}.reshape({0}.shape[::-1])", "{0}.reshape(2, -1)",
)  # fmt: skip
SHAPES = ((4,), (3, 2), (2, 3, 2), (1, 4), (4, 1), (2, 1, 3), (2, 2), (1,))


def program(seed: int) -> str:
    rng = np.random.default_rng(seed)
    lines = ["y = x" if rng.random() < 0.6 else "y = x * 1.5"]
    for k in range(rng.integers(0, 4)):
        forms = VIEWS if rng.random() < 0.7 else COPIES
        lines.append(f"y{k} = " + forms[rng.integers(len(forms))].format(f"y{k - 1}" if k else "y"))
    last = lines[-1].partition(" = ")[0]
    lines.append("z = " + FLAT[rng.integers(len(FLAT))].format(last))
    first, second = ("z", last) if rng.random() < 0.5 else (last, "z")
    lines.append(f"{first}[...] = {first} * {first} + 0.25")
    lines.append(f"return np.sum({second} * {second}) + 2.0 * np.sum({first}) + np.sum(x ** 3)")
    return "import numpy as np\n\ndef f(x):\n" + "".join(f"    {line}\n" for line in lines)


def outcome(seed: int, folder) -> str:
    text = program(seed)
    path = folder / f"layout_{seed}.py"
    path.write_text(text)
    space = {"__name__": path.stem}
    exec(compile(text, str(path), "exec"), space)
    rng = np.random.default_rng(seed + 1)
    x = rng.normal(size=SHAPES[seed % len(SHAPES)])
    if seed % 5 == 4:
        x = np.asfortranarray(x)
    try:
        want = space["f"](x.copy("K"))
    except (ValueError, IndexError, TypeError):
        return "invalid"  # what the program asks for does not fit the shape
    try:
        value, gradient = srcad.value_and_grad(space["f"])(x)
    except srcad.errors.SrcadError:
        return "refused"
    assert value == pytest.approx(want, rel=1e-13), text
    direction = rng.normal(size=x.shape)
    z = x.astype(complex) + 1e-30j * direction
    z = np.asfortranarray(z) if seed % 5 == 4 else z
    slope = space["f"](z).imag / 1e-30
    assert np.sum(gradient * direction) == pytest.approx(slope, rel=1e-10), text
    return "right"


@pytest.mark.parametrize("seeds", some([range(20), range(20, 60), range(60, 120)], 1), ids=str)
def test_reshape_memory_sharing_matches_numpy(seeds: range, tmp_path) -> None:
    found = [outcome(seed, tmp_path) for seed in seeds]
    assert found.count("right") > 3 * found.count("refused")


def test_ravel_in_other_order_copies() -> None:
    # Once taken for a view, whatever the order: the write was seen in `x`.
    def f(x):
        y = x.ravel("F")
        y *= 2.0
        return np.sum(x * x)

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(srcad.grad(f)(x), 2.0 * x)


def test_layout_length_assumptions_checked_per_call() -> None:
    def f(x):
        y = x.T.reshape(-1)  # a view only of a single row or column
        y *= 3.0
        return np.sum(x * x)

    g = srcad.grad(f)
    for shape, factor in (((2, 3), 2.0), ((1, 3), 18.0), ((3, 1), 18.0), ((4, 2), 2.0)):
        x = np.ones(shape)
        np.testing.assert_allclose(g(x), factor * x)


def test_ravel_copies_strided_vector() -> None:
    def f(x):
        y = x.ravel()
        y *= 3.0
        return np.sum(x * x)

    g = srcad.grad(f)
    np.testing.assert_allclose(g(np.ones(3)), 18.0 * np.ones(3))
    with pytest.raises(srcad.errors.MutationError):
        g(np.ones(6)[::2])


def test_ravel_copies_last_axis_slice() -> None:
    """``m[..., 0]`` was taken for a row of rows, whose ravel is a view."""

    def f(m):
        last = m[..., 0]
        flat = last.ravel()
        flat[flat < 0.5] = 2.0
        return np.sum(last * last)

    m = np.array([[0.8, -1.3], [-0.2, 0.6], [0.4, -1.0]])
    value, gradient = srcad.value_and_grad(f)(m)

    assert value == f(m.copy())
    np.testing.assert_allclose(gradient, 2.0 * m * [1.0, 0.0])


def assert_right_or_left_open(f) -> None:
    x = np.arange(6.0).reshape(2, 3)
    try:
        value = srcad.value_and_grad(f)(x)[0]
    except srcad.errors.MutationError:
        return  # it may be left open, but not be wrong
    assert value == f(x)


def test_broadcast_axes_ignored_in_memory_order() -> None:
    # The sum of a column and a row lies in C order, however the two lie in their arrays.
    def f(x):
        y = x[:1].T + x[:, :1].T
        z = y.ravel()
        z[0] = 5.0
        return np.sum(y * y)

    assert_right_or_left_open(f)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.zeros((2, 3), order="F") + 0.0 * x,
        lambda x: np.zeros((2, 3), order="F"),
        lambda x: np.full((2, 3), 1.0, None, "F"),
        lambda x: np.zeros_like(x, order="F"),
        lambda x: np.copy(x, order="F"),
        lambda x: np.copy(np.zeros((2, 3), order="F")),
    ],
)
def test_explicit_memory_order_respected(make) -> None:
    # An array in Fortran order was taken for one in C order: its ravel is a copy.
    def f(x):
        y = make(x)
        y[...] = x
        z = y.ravel()
        z[1] = 5.0
        return np.sum(y * y)

    assert_right_or_left_open(f)


FORTRAN = np.asfortranarray(np.sin(np.arange(63.0)).reshape(7, 9))
TURNED = np.sin(np.arange(120.0)).reshape(4, 5, 6).transpose(1, 0, 2)
IN_ORDER = np.ascontiguousarray(FORTRAN)


def set_by_flat(x):
    x.flat[1] = x.flat[0] * 2
    return np.sum(x * x)


def add_by_flat(x):
    x.flat[1] += x.flat[0]
    return np.sum(x * x)


def set_by_put(x):
    np.put(x, [1, 5], x[0, 0] * 2.0)
    return np.sum(x * x)


def set_by_flat_of_copy(x):
    y = x.copy("F")
    y.flat[3] = x[0, 0] * 3
    return np.sum(y * y)


def set_by_flat_in_loop(x):
    for i in range(3):
        x.flat[i] = x.flat[i + 1] * 2
    return np.sum(x * x)


FLAT_WRITES = [
    (function, x)
    for function in (set_by_flat, add_by_flat, set_by_put, set_by_flat_of_copy, set_by_flat_in_loop)
    for x in (FORTRAN, IN_ORDER)
]


@pytest.mark.parametrize(
    ("function", "x"), [*FLAT_WRITES, (set_by_flat, TURNED), (add_by_flat, TURNED)]
)
def test_write_through_flat_keeps_memory_order(function, x):
    plain = x.copy("K")
    wanted = function(plain)

    value, gradient = srcad.value_and_grad(function)(x.copy("K"))

    assert value == wanted  # the sum rounds as that of the plain call, in the order of memory
    place = (0, 0) if x.ndim == 2 else (0, 0, 1)
    step = np.zeros_like(x)
    step[place] = 1e-6
    difference = (function(x.copy("K") + step) - function(x.copy("K") - step)) / 2e-6
    np.testing.assert_allclose(gradient[place], difference, rtol=1e-7, atol=1e-8)


CUBE = np.random.default_rng(5).normal(size=(2, 3, 4))
# In C order whatever the operand is.
IN_C_ORDER = (
    "np.take(x.T, [0, 1, 1], 0)", "np.take(x.T, [[0], [1]], axis=-1)", "np.repeat(x.T, 2, 1)",
    "np.repeat(x.T, [1, 0, 2, 1], axis=0)", "np.tensordot(x.T, x, 1)",
    "np.tensordot(x.T, 2.0 * x, ((0, 1), (2, 1)))", "np.linalg.outer(x[0, 0], x[0, 1])",
    "np.linalg.matmul(x.T, x[:, 0, :2].T)", "np.matmul(x.T, x[:, 0, :2].T)", "x.T @ x[:, 0, 0]",
    "np.dot(x.T, x[:, 0, :2].T)", "np.dot(x.T, x[:, 0, 0])",
    "np.inner(x.T, x[0, 0, :2])", "np.linalg.multi_dot([x[0].T, x[1], x[0].T])",
    "np.compress([True, False, True], x.T, 1)", "np.linalg.tensordot(x.T, x, axes=1)",
    "np.interp(x.T, [-2.0, 0.1, 3.0], x[0, 0, :3])",
    "np.linalg.inv(x[:, 1:, :2].T + 4 * np.eye(2))",
    "np.linalg.solve(x[:, 1:, :2].T + 4 * np.eye(2), x[:, 1:, :2].T)",
    "np.linalg.solve(4 * np.eye(3) + x[0, :, :3], x[1, :, :3].T)",
)  # fmt: skip


def write_through_reshape(result):
    space = {"np": np}
    lines = (
        f"def f(x):\n    y = {result}\n    z = y.reshape(-1)\n    z[1] = 5.0 * x[0, 0, 0]\n"
        "    return np.sum(y * np.reshape(np.arange(float(y.size)), y.shape))\n"
    )
    file = f"<written {result}>"
    linecache.cache[file] = (len(lines), None, lines.splitlines(True), file)
    exec(compile(lines, file, "exec"), space)
    return space["f"]


@pytest.mark.parametrize("result", IN_C_ORDER)
def test_result_in_c_order_is_written_through_reshape(result):
    f = write_through_reshape(result)

    value, gradient = srcad.value_and_grad(f)(CUBE)

    assert value == pytest.approx(f(CUBE), rel=1e-13)
    np.testing.assert_allclose(gradient, difference(f, (CUBE,)), rtol=1e-7, atol=1e-7)


# A loop over these goes in the order of memory; the last one is in C order.
IN_LOOP_ORDER = (
    "np.dot(2.0, x.T)", "np.dot(x.T, x[0, 0, 0])", "np.dot(x[0, 0, 0], x.transpose(1, 0, 2))",
    "x[..., None].transpose(1, 0, 2, 3) @ np.ones((1, 2))",
    "np.matmul(np.ones((5, 2)), (x[..., None] * np.ones(2)).transpose(1, 0, 3, 2)[:, :, :2, :3])",
    "np.linalg.matmul(x[..., None].transpose(2, 0, 1, 3), np.ones((1, 2)))",
    "np.round(x.transpose(1, 0, 2), 1)", "np.around(x.transpose(1, 0, 2))",
    "np.linalg.inv((x[..., None, None] * np.eye(2)).transpose(1, 0, 2, 3, 4))",
    "np.linalg.solve(4 * np.eye(2), (x[..., None] * np.ones(2)).transpose(1, 0, 3, 2)[..., :2])",
    "x.transpose(2, 0, 1).round(2)", "x[..., None] @ np.ones((1, 2))", "np.dot(2.0, x)",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::srcad.errors.NoDerivativeWarning")
@pytest.mark.parametrize("result", IN_LOOP_ORDER)
def test_result_in_order_of_memory_is_refused_or_right(result):
    f = write_through_reshape(result)
    try:
        value = srcad.value_and_grad(f)(CUBE)[0]
    except srcad.errors.MutationError:
        assert result != IN_LOOP_ORDER[-1]
        return

    assert value == pytest.approx(f(CUBE), rel=1e-13)
