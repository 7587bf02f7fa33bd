"""Loops against the NumPy code of the same derivative; Python runs the loops, without Numba."""

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from srcad.backends.interface import NotCovered
from srcad.backends.numba.deopt import Deopt
from tests.backends.numba.interpreted import Compared


class Pair(NamedTuple):
    p: float
    q: float


RNG = np.random.default_rng(7)
X = RNG.normal(size=5)
Y = RNG.normal(size=5)
A = RNG.normal(size=(4, 3))
B = RNG.normal(size=(3, 4))
S = A.T @ A + np.eye(3)
T = RNG.normal(size=(2, 3, 4))
K = np.array([2, 0, 4, 2])
TIES = np.array([[0.0, 3.0, 1.0, 3.0, 3.0], [2.0, 2.0, 1.0, 0.0, 2.0]])


# ------------------------------------------------------------------------------- functions
def loop_of_scalars(x, n):
    total = 0.0
    for k in range(n):
        total = total + math.exp(x[k]) * (1.0 + x[k] ** 2)
    return math.log(total)


def stencil(a, n):
    a = a.copy()
    for _ in range(n):
        a[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2])
    return np.sum(a * a)


def returned_before_the_array_is_written(x):
    r = np.cos(x)
    for k in range(4):
        if len(x) > 2:
            return np.sum(x * x)
        r = np.cos(r[k % 2] - r) * 0.6
    return np.sum(r)


def triangle(a):
    a = a.copy()
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] = np.sqrt(a[i, i] - np.dot(a[i, :i], a[i, :i]))
    return np.sum(a)


def newton(x):
    y = x
    while abs(y * y - x) > 1e-12:
        y = 0.5 * (y + x / y)
    return y


def decays(x, rows):
    total = 0.0
    while abs(x) > 1e-6:
        part = np.sin(rows * x)
        for k in range(len(rows)):
            total = total + part[k] * x * x
        x = 0.9 * math.sin(x)
    return total


def first_large(x, limit):
    found = 0.0
    for value in x:
        found = found + value * value
        if found > limit:
            break
    return found * np.sum(x)


def converges(x, y):
    for _ in range(10**12):
        update = np.cos(y) * x
        if np.max(np.abs(update - y)) < 1e-10:
            break
        y = update
    return np.sum(y * y)


def from_the_end(x, limit):
    found = 0.0
    for k in reversed(range(len(x))):
        found = found + x[k] * np.sin(x[k])
        if found > limit:
            break
    return found * found


def skips(x):
    total = 0.0
    for k in range(len(x)):
        if x[k] < 0.0:
            continue
        total += np.sin(x[k])
    return total


def swaps(x, n):
    old, new = x.copy(), 2.0 * x
    for _ in range(n):
        old, new = new, np.sin(old) + 0.5 * new
    return np.sum(old * new)


def windows(x, n):
    k, window = 0, x[:2]
    for _ in range(n):
        window = window * x[k : k + 2] if k % 2 else x[k : k + 2]
        k = k + 1
    return np.sum(window * window)


def collects(x):
    found = []
    for k in range(len(x)):
        found.append(np.tanh(x[k]) * x[k])
    return np.sum(np.array(found) ** 2)


def branches(x, flag):
    if flag > 0:
        y = np.sin(x)
    else:
        y = x * x
    return np.sum(y * x)


def branch_of_numbers(x):
    y = x * 2.0 if x > 0.5 else math.sin(x)
    return y * y


def nested_lists(a):
    total = 0.0
    for row in a:
        inner = 0.0
        for value in row:
            inner = np.tanh(inner + value)
        total = total + inner * inner
    return total


def of_record(pair, x):
    return np.sum(pair.p * x) + np.exp(pair.q)


def of_dict(parameters, x):
    return np.sum(parameters["w"] * x) + parameters["b"] ** 2


def of_list(values, x):
    total = 0.0
    for value in values:
        total = total + value * x * x
    return total


def raises_rarely(x):
    if x[0] > 100.0:
        raise ValueError(f"too large: {x[0]}")
    return np.sum(x * x)


def weights(x, a):
    h = np.maximum(a @ x[:3], 0.0)
    z = h - np.max(h)
    return -np.log(np.sum(np.exp(z)))


def scattered(x):
    y = np.zeros(6)
    y[K] = x[:4] * 2.0
    np.add.at(y, K, x[:4])
    return np.sum(y**3)


def masked(x):
    y = x * 3.0
    y[y < 0.0] = 0.0
    return np.sum(y[y > 0.1] ** 2)


def masked_twice(x):
    mask = x > 0.0
    first = np.sum(x[mask] ** 2)
    mask[0] = not mask[0]
    return first + np.sum(x[mask] ** 3)


def factor_written_into(s, x):
    lower = np.linalg.cholesky(s)
    first = np.sum(np.linalg.solve(lower, x))
    lower[0, 2] = 0.5
    return first + np.sum(np.linalg.solve(lower, x) ** 2)


def earlier_row(x, n):
    before = np.empty(len(x))
    total = 0.0
    for t in range(n):
        if t > 0:
            total = total + np.sum(before * x)
        before[:] = np.sin(x) * t
    return total


def convolved(x, w):
    y = np.zeros(len(x) - len(w) + 1)
    for k in range(len(w)):
        y += w[k] * x[k : k + len(y)]
    return np.sum(y * y)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "elementwise": (lambda x, y: np.sum(np.tanh(x) * np.exp(-y * y) + x / (1.0 + y * y)), (X, Y)),
    "functions": (lambda x: np.sum(np.sin(x) + np.cos(x) + np.log1p(x * x) + np.expm1(x)), (X,)),
    "more functions": (lambda x: np.sum(np.arctan(x) + np.sinh(x) * np.cosh(x) + np.sqrt(x * x + 1)), (X,)),  # noqa: E501
    "logaddexp": (lambda x, y: np.sum(np.logaddexp(x, y)), (X, Y)),
    "power": (lambda x: np.sum(np.abs(x) ** 1.5 + x**2 + x**3 + x**4 + np.power(x * x, 0.5)), (X,)),
    "maximum": (lambda x, y: np.sum(np.maximum(x, y) * x + np.minimum(x, 0.1)), (X, Y)),
    "where": (lambda x, y: np.sum(np.where(x > y, x * x, y) + np.clip(x, -0.5, 0.5)), (X, Y)),
    "abs and sign": (lambda x: np.sum(np.abs(x) * np.sign(x) * x), (X,)),
    "hypot": (lambda x, y: np.sum(np.hypot(x, y) + np.arctan2(x, y)), (X, Y)),
    "broadcast": (lambda a, x: np.sum((a + x[:3]) * a - x[:4, None]), (A, X)),
    "broadcast of ones": (lambda a: np.sum((a[:, :1] - a) ** 2 * a[:1]), (A,)),
    "sums": (lambda a: np.sum(np.sum(a * a, axis=0) ** 2) + np.sum(np.sum(a, axis=1)), (A,)),
    "sum keepdims": (lambda a: np.sum(a / np.sum(a * a, axis=1, keepdims=True)), (A,)),
    "sum of three axes": (lambda t: np.sum(np.sum(t * t, axis=(0, 2)) ** 2), (T,)),
    "mean": (lambda a: np.mean(a * a) + np.sum(np.mean(a, axis=0) ** 2), (A,)),
    "var": (lambda a: np.var(a) + np.sum(np.std(a, axis=0, ddof=1)), (A,)),
    "max": (lambda a: np.max(a) + np.sum(np.max(a, axis=1) * np.min(a, axis=1)), (A,)),
    "max of columns": (lambda a: np.sum(np.max(a, axis=0) ** 2), (A,)),
    "prod": (lambda x: np.prod(x), (X,)),
    "cumsum": (lambda x: np.sum(np.cumsum(x) ** 2), (X,)),
    "cumsum of rows": (lambda a: np.sum(np.cumsum(a, axis=1) ** 2), (A,)),
    "argmax": (lambda x: x[np.argmax(x)] ** 2, (X,)),
    "argmax of ties": (lambda x, k: x[np.argmax(k)] ** 2, (X, TIES[0])),
    "argmin of ties": (lambda x, k: x[np.argmin(-k)] ** 2, (X, TIES[1])),
    "argmax of ties along axis": (lambda x, k: np.sum(x[np.argmax(k, axis=1)] ** 2), (X, TIES)),
    "logsumexp": (lambda a: np.sum(np.log(np.sum(np.exp(a - np.max(a, axis=1, keepdims=True)), axis=1))), (A,)),  # noqa: E501
    "slices": (lambda x: np.sum(x[1:] * x[:-1]) + np.sum(x[::2]) + np.sum(x[-3:] ** 2), (X,)),
    "backward": (lambda x: np.sum(x[::-1] * x) + np.sum(np.flip(x) ** 3) + np.sum(x[3:0:-1]), (X,)),
    "backward by two": (lambda x: np.sum(x[::-2] ** 3), (X,)),
    "backward by three": (lambda x: np.sum(x[::-3] * x[:2]), (X,)),
    "backward by two between ends": (lambda a: np.sum(a[3:0:-2, 2::-2] ** 3), (A,)),
    "indices": (lambda a: a[1, 2] * a[-1, 0] + np.sum(a[2] * a[0]), (A,)),
    "new axes": (lambda x: np.sum(x[:, None] * x[None, :] - x[:, None]), (X,)),
    "transposes": (lambda a: np.sum(a.T * a.T) + np.sum(np.swapaxes(a, 0, 1)[1]), (A,)),
    "moved axes": (lambda t: np.sum(np.moveaxis(t, 0, -1) ** 2) + np.sum(np.transpose(t, (2, 0, 1))[1]), (T,)),  # noqa: E501
    "reshape": (lambda t: np.sum(t.reshape(6, 4) ** 2) + np.sum(t.reshape(-1)[3:]), (T,)),
    "ravel": (lambda a: np.sum(a.ravel()[1:] * a.ravel()[:-1]), (A,)),
    "expand and squeeze": (lambda x: np.sum(np.squeeze(np.expand_dims(x, 1), 1) ** 2), (X,)),
    "diagonals": (lambda s: np.trace(s) + np.sum(np.diag(s) ** 2) + np.sum(np.diag(np.diag(s))), (S,)),  # noqa: E501
    "triangles": (lambda s: np.sum(np.tril(s) ** 2) + np.sum(np.triu(s, 1)), (S,)),
    "roll": (lambda x: np.sum(np.roll(x, 2) * x) + np.sum(np.roll(x, -1)[1:]), (X,)),
    "concatenate": (lambda x, y: np.sum(np.concatenate((x, y[1:])) ** 2), (X, Y)),
    "stack": (lambda x, y: np.sum(np.stack((x, y), axis=1) ** 2) + np.sum(np.stack((x, y))[1]), (X, Y)),  # noqa: E501
    "joins": (lambda x, y: np.sum(np.hstack((x, y)) ** 2) + np.sum(np.vstack((x, y)) ** 3) + np.sum(np.column_stack((x, y))[1]), (X, Y)),  # noqa: E501
    "array of numbers": (lambda x: np.sum(np.array([x[0], x[1] * 2.0, 3.0]) ** 2), (X,)),
    "array of rows": (lambda x: np.sum(np.array([[x[0], x[1]], [x[2], 1.0]]) ** 2), (X,)),
    "creation": (lambda x: np.sum(x * np.ones(5) + np.full(5, 2.0) * x**2 + np.zeros_like(x)), (X,)),  # noqa: E501
    "eye": (lambda a, n: np.sum(a[:3] * np.eye(n)), (A, 3)),
    "ranges": (lambda x: np.sum(x * np.arange(5) + x * np.arange(0.0, 2.5, 0.5) + x * np.linspace(0.0, 1.0, 5)), (X,)),  # noqa: E501
    "gather": (lambda x: np.sum(x[K] ** 2) + np.sum(x[[0, -1]]), (X,)),
    "gather of rows": (lambda a: np.sum(a[K[:2]] * a[[1, 3]]) + np.sum(np.take(a, K[:2], axis=0)), (A,)),  # noqa: E501
    "scatter": (scattered, (X,)),
    "mask": (masked, (X,)),
    "mask that is written into": (masked_twice, (X,)),
    "factor that is written into": (factor_written_into, (S, X[:3])),
    "array kept from the iteration before": (earlier_row, (X, 4)),
    "matrix products": (lambda a, b, x: np.sum((a @ b) ** 2) + np.sum(a @ x[:3]) * (x @ x), (A, B, X)),  # noqa: E501
    "products of views": (lambda a, b: np.sum((a.T @ a) @ b) + np.sum(a[1:] @ b[:, 1:]), (A, B)),
    "products of stacks": (lambda t, a: np.sum((t @ a) ** 2) + np.sum(np.matmul(t, t.transpose(0, 2, 1))), (T, A)),  # noqa: E501
    "einsum": (lambda a, b, s: np.sum(np.einsum("ij,jk->ik", a, b) ** 2) + np.einsum("ij,ij", s, s) + np.sum(np.einsum("ii->i", s)), (A, B, S)),  # noqa: E501
    "outer": (lambda x, y: np.sum(np.outer(x, y) ** 2) + np.inner(x, y), (X, Y)),
    "tensordot": (lambda t, a: np.sum(np.tensordot(t, a, axes=((2, 1), (0, 1))) ** 2), (T, A)),
    "norm": (lambda x, a: np.linalg.norm(x) * np.sum(np.linalg.norm(a, axis=1)), (X, A)),
    "solve": (lambda s, x: np.sum(np.linalg.solve(s, x[:3]) ** 2), (S, X)),
    "cholesky": (lambda s, x: np.sum(np.linalg.solve(np.linalg.cholesky(s), x[:3]) ** 2), (S, X)),
    "inverse": (lambda s: np.sum(np.linalg.inv(s) ** 2) + np.linalg.slogdet(s)[1], (S,)),
    "loop of scalars": (loop_of_scalars, (X, 5)),
    "stencil": (stencil, (RNG.normal(size=(6, 5)), 3)),
    "triangular loops": (triangle, (S,)),
    "array without a cotangent": (returned_before_the_array_is_written, (X,)),
    "while": (newton, (2.0,)),
    "while with many iterations": (decays, (2.0, X)),
    "break": (first_large, (X, 1.0)),
    "break of a very long loop": (converges, (0.5 * np.tanh(X), Y)),
    "break of a loop that runs backward": (from_the_end, (X + 1.0, 1.5)),
    "continue": (skips, (X,)),
    "carried arrays": (swaps, (X, 4)),
    "carried views": (windows, (X, 4)),
    "collected": (collects, (X,)),
    "branch of arrays": (branches, (X, 1)),
    "other branch": (branches, (X, -1)),
    "branch of numbers": (branch_of_numbers, (0.75,)),
    "loop over rows": (nested_lists, (A,)),
    "record": (of_record, (Pair(0.5, -0.25), X)),
    "dict": (of_dict, ({"w": X, "b": 0.5}, Y)),
    "list": (of_list, ([0.5, 1.5, -2.0], 1.25)),
    "error that is not raised": (raises_rarely, (X,)),
    "rows of stacks": (lambda t, a, b: np.sum(np.tanh(t @ a) ** 2) + np.sum((t @ b.T) * (t[0] @ a)) + np.sum((t.transpose(0, 2, 1) @ b) ** 2), (T, A, B)),  # noqa: E501
    "rows of larger stacks": (lambda t, a: np.sum(np.reshape(t[None, ::-1] + 1.0, (2, 3, 1, 4)) @ a) ** 2, (T, A)),  # noqa: E501
    "rows of empty stacks": (lambda t, a: np.sum(t @ a) + np.sum(a), (T[:0], A)),
    "network": (weights, (X, A)),
    "convolution": (convolved, (X, np.array([0.5, -1.0]))),
    "float32": (lambda x, y: np.sum(np.tanh(x) * y + 2.0 * x), (X.astype(np.float32), Y.astype(np.float32))),  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_loops_agree_with_numpy_code(name):
    function, arguments = CASES[name]

    compared = Compared(function, arguments)

    compared.agree(arguments, 1e-5 if name == "float32" else 1e-12)


# --------------------------------------------------------------------------- other arguments
LENGTHS = {
    "functions": CASES["functions"][0],
    "slices": lambda x: np.sum(x[1:] * x[:-1]) + np.sum(x[-3:] ** 2) + np.sum(x[::2]),
    "loop": skips,
    "collected": collects,
    "carried": lambda x: swaps(x, 3),
    "mask": masked,
}


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("size", [0, 1, 2, 9])
def test_loops_agree_for_other_lengths(name, size):
    x = np.random.default_rng(size).normal(size=size)

    compared = Compared(LENGTHS[name], (x,))

    compared.agree((x,))


ORDERS = {
    "contiguous": lambda a: a,
    "transposed": lambda a: np.asfortranarray(a),
    "reversed": lambda a: a[::-1, ::-1],
    "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
}


@pytest.mark.parametrize("order", ORDERS)
def test_loops_agree_for_other_memory_orders(order):
    function = CASES["broadcast"][0]
    arguments = (ORDERS[order](A), X)

    Compared(function, arguments).agree(arguments)


SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e308, -1e308, 5e-324])


@pytest.mark.parametrize(
    "name", ["functions", "logaddexp", "maximum", "where", "abs and sign", "power"]
)
def test_special_values_propagate_as_in_numpy(name):
    function = CASES[name][0]
    arguments = (SPECIAL, SPECIAL[::-1].copy())[: len(inspect.signature(function).parameters)]

    Compared(function, arguments).agree(arguments, 1e-11)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(1 / (1 + (0.5 / x) ** 4)),
        lambda x: np.sum(np.sqrt(np.array([0.0, 1.0]) * (1.0 + x))),
    ],
)
def test_zeros_at_poles_as_in_numpy(function):
    arguments = (np.array([0.0, 0.5]),)

    compared = Compared(function, arguments)

    with np.errstate(all="ignore"):
        compared.agree(arguments)


# ------------------------------------------------------------------------------------ Deopt
def index(x, k):
    return x[k[0]] ** 2


def divides(a, b):
    return a / b


def logarithm(a):
    return math.log(a)


def counts_up(x, n):
    product = 1
    for k in range(1, n):
        product = product * k
    return x * product


def largest(x):
    return np.max(x)


def picks_again(x, k):
    k = k.copy()
    first = np.sum(x[k])
    k[0] = k[1] + 3
    return first + np.sum(x[k] ** 2)


def item_of_list(x, k):
    squares = []
    for j in range(len(x)):
        squares.append(int(x[j] > 0.0))
    return x[0] ** 2 * squares[k[0]]


def picks(x, k):
    return np.sum(x[k] ** 2)


def factor(s):
    return np.sum(np.linalg.cholesky(s))


def truncates(x):
    return int(x) * x


GUARDS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = {
    "index out of bounds": (index, (X, K), (X, K + 5)),
    "index too far back": (index, (X, K), (X, K - 9)),
    "division by zero": (divides, (1.0, 2.0), (1.0, 0.0)),
    "domain of a function": (logarithm, (1.0,), (-1.0,)),
    "integers of more than 62 bits": (counts_up, (1.0, 5), (1.0, 30)),
    "extreme of no entries": (largest, (X,), (np.empty(0),)),
    "index array out of bounds": (picks, (X, K), (X, K + 3)),
    "index array that was written into": (picks_again, (X, K % 2), (X, np.array([0, 4]))),
    "item of a list out of bounds": (item_of_list, (X, K), (X, K + 5)),
    "matrix that is not positive definite": (factor, (S,), (-S,)),
    "integer of an infinity": (truncates, (2.5,), (np.inf,)),
    "error of the user's": (raises_rarely, (X,), (X + 1e3,)),
}


@pytest.mark.parametrize("name", GUARDS)
def test_guard_leaves_the_call_to_numpy_code(name):
    function, arguments, others = GUARDS[name]
    compared = Compared(function, arguments)
    compared.agree(arguments)

    with pytest.raises(Deopt):
        compared.loops(others)


# --------------------------------------------------------------------------------- refusals
@pytest.mark.parametrize(
    ("function", "arguments", "reason"),
    [
        (lambda x: np.sum(np.fft.fft(x).real), (X,), "a call of"),
        (lambda x: np.sum(np.sort(x) ** 2), (X,), "a call of"),
        (lambda z: np.sum(np.abs(z) ** 2), (X + 1j,), "dtype complex128|type complex128"),
    ],
)
def test_what_is_not_covered_is_refused_with_reason(function, arguments, reason):
    with pytest.raises(NotCovered, match=reason):
        Compared(function, arguments)


# ------------------------------------------------------------------------------------- text
def test_neighbouring_loops_are_fused():
    compared = Compared(lambda x: np.sum(np.tanh(x) ** 2 * np.exp(x)), (X,))

    assert compared.text.count("for ") == 1
    assert "x_bar[i] =" in compared.text


def test_rows_of_intermediate_arrays_are_reused():
    compared = Compared(CASES["logsumexp"][0], (A,))

    assert "np.empty((n1_a,), np.float64)" in compared.text


def test_shifted_sums_are_separate_inner_loops():
    compared = Compared(stencil, CASES["stencil"][1])

    assert compared.text.count("for i in range(n0_a - 2)") >= 2
    assert Deopt.__name__ not in compared.text
