"""Forward mode: it agrees with reverse mode on all that reverse mode reads."""

import dataclasses
import linecache
import math
from pathlib import Path

import numpy as np
import pytest

import srcad
from benchmarks.npbench import KERNELS
from srcad import rules
from srcad.errors import MissingRuleError, NotDifferentiableError, SeedError
from tests import numeric
from tests.corpus.collected import CORPUS
from tests.directions import assert_modes_agree
from tests.lint import findings
from tests.marks import some, some_by_name
from tests.programs import golden_primals
from tests.rules.harness import is_float, leaves
from tests.rules.samples import CALLS, SYMMETRIC, numbered
from tests.test_golden import arguments

GOLDEN = Path(__file__).parent.parent / "golden" / "jvp"


# ------------------------------------------------------------------------ the identity
@pytest.mark.parametrize("name", some(CORPUS, lambda k, _: k % 18 == 0))
def test_both_modes_agree_on_a_program(name):
    f, args = CORPUS[name]

    assert_modes_agree(f, *args)


@pytest.mark.parametrize("name", some(KERNELS, lambda k, _: k % 16 == 0))
def test_both_modes_agree_on_a_kernel(name):
    kernel = KERNELS[name]

    # The tangent of sqrt at 0 is infinite behind a mask.
    with np.errstate(divide="ignore", invalid="ignore"):
        assert_modes_agree(kernel.function, *kernel.inputs("test", np.random.default_rng(0)))


def written(call, name):
    """A function that makes a sample call, and the arguments that its rule has cotangents for."""
    target, args, kwargs = call
    values = {**{f"a{k}": a for k, a in enumerate(args)}, **{f"{k}_": a for k, a in kwargs.items()}}
    places = [*range(len(args)), *kwargs]
    entry = rules.lookup(target).entry
    on = [
        name
        for name, place in zip(values, places, strict=True)
        if entry(place) is not None and all(map(is_float, leaves(values[name])))
    ]
    given = [f"a{k}" for k in range(len(args))] + [f"{k}={k}_" for k in kwargs]
    text = f"def called({', '.join(on)}):\n    return target({', '.join(given)})\n"
    file = f"<sample {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace = {"target": target, **{k: v for k, v in values.items() if k not in on}}
    exec(compile(text, file, "exec"), namespace)
    return namespace["called"], [values[name] for name in on]


SAMPLES = [*CALLS, *SYMMETRIC]
NAMED = numbered(SAMPLES)


@pytest.mark.parametrize("name", some_by_name(NAMED, one_in=72, every=8))
def test_both_modes_agree_on_a_rule(name):
    f, args = written(NAMED[name], name)

    assert_modes_agree(f, *args)


# ------------------------------------------------------------------------ differences
def newton(a):
    x = 1.0
    for _ in range(6):
        x = 0.5 * (x + a / x)
    return x


def stencil(u):
    u = u.copy()
    for _ in range(4):
        u[1:-1] = u[1:-1] + 0.1 * u[1:-1] * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def branches(x):
    y = x
    while y < 10.0:
        if y > 2.0:
            y = y * x
            if y > 8.0:
                break
        else:
            y = y + x
    return y * y


def collected(x):
    out = []
    for k in range(4):
        out.append(np.sin(k * x) + (out[-1] if k else 0.0))
    return np.stack(out)


def caught(x):
    try:
        y = x * 3
        if x > 1:
            raise ValueError
    except ValueError:
        y = x**2
    return y * x


def powers(x, n):
    return x if n <= 0 else x * powers(x * 0.9, n - 1)


def recursive(x):
    return powers(x, 3)


def layers(x):
    p = {"w": [x * 2, x + 1.0], "scale": (3.0, x[0])}
    h = x
    for w in p["w"]:
        h = np.tanh(h * w)
    return h * p["scale"][1] + p["scale"][0]


def lists(x):
    a = [0.0] * 4
    for i in range(4):
        a[i] = x[i % 3] * x[(i + 1) % 3]
    a.pop()
    a.insert(1, x[0])
    return a[0] * a[1] + a[-1]


def algebra(x):
    m = np.outer(x, x) + np.diag([1.0, 2.0, 4.0])
    w, v = np.linalg.eigh(m)
    solved = np.sum(np.linalg.solve(m, x)) + np.linalg.slogdet(m)[1]
    return solved + np.sum(np.sin(w)) + v[0, 0] ** 2


def ordered(x):
    return np.concatenate((np.cumsum(np.sort(x)), x[::-1] * np.max(x)))


def spread(x):
    return np.std(x) + np.linalg.norm(x) + np.prod(x)


V = np.array([0.5, -0.3, 1.1])
PROGRAMS = [
    (newton, 2.0), (stencil, np.array([0.3, 1.0, -0.5, 2.0, 0.1])), (branches, 1.3),
    (collected, 0.7), (caught, 0.5), (caught, 2.0), (recursive, 1.2), (layers, V), (lists, V),
    (algebra, V), (ordered, V), (spread, V),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_a_tangent_is_that_of_differences(f, x):
    dot = np.random.default_rng(1).normal(size=np.shape(x))
    dot, step = dot if np.ndim(x) else float(dot), 1e-6

    y, y_dot = srcad.jvp(f, (x,), (dot,))

    np.testing.assert_array_equal(y, f(x))
    want = (np.asarray(f(x + step * dot)) - f(x - step * dot)) / (2 * step)
    np.testing.assert_allclose(y_dot, want, rtol=1e-6, atol=1e-8)


# ------------------------------------------------------------------------ text
@pytest.mark.parametrize("name", ["newton_sqrt", "rnn", "diffuse"])
def test_generated_code_matches_golden_file(name, update_golden):
    wrt = {"rnn": (0, 1, 2)}.get(name, 0)
    forward = srcad.api.asking.derivative(getattr(golden_primals, name), "jvp", wrt)
    forward(*arguments(name))
    path = GOLDEN / f"{name}.txt"
    if update_golden:
        path.write_text(forward.source)

    assert forward.source == path.read_text()
    assert findings(forward.source, frozenset({"x", "h", "u", "dn", "y", "s"})) == []


# ------------------------------------------------------------------------ what is given
@dataclasses.dataclass
class Point:
    x: float
    y: np.ndarray


def test_tangent_has_structure_of_argument():
    def f(p, more):
        return Point(p.x * 2, p.y * p.x), {"sum": more[0] + more[1]}

    _, (point, rest) = srcad.jvp(
        f, (Point(2.0, np.ones(2)), [1.0, 2.0]), (Point(1.0, np.zeros(2)), [1.0, 0.5])
    )

    assert point.x == 2.0
    np.testing.assert_array_equal(point.y, [1.0, 1.0])
    assert rest == {"sum": 1.5}


def test_arguments_unchanged_and_constants_without_tangent():
    def f(x, name, n):
        x[0] = x[1] * n
        return x if name == "both" else -x

    x = np.array([1.0, 2.0])
    y, y_dot = srcad.jvp(f, (x, "both", 3), (np.ones(2), None, None))

    np.testing.assert_array_equal((y, y_dot, x), [[6.0, 2.0], [3.0, 1.0], [1.0, 2.0]])


def test_independent_result_has_zero_tangent():
    y, y_dot = srcad.jvp(lambda x: (x * 0 + 1, np.ones(2), "name", None), (2.0,), (1.0,))

    assert (y_dot[0], y_dot[2], y_dot[3]) == (0.0, None, None)
    np.testing.assert_array_equal(y_dot[1], [0.0, 0.0])
    assert y[2] == "name"


def test_some_of_several_arguments_have_a_tangent():
    assert srcad.jvp(lambda *xs: xs[0] * xs[1] * xs[2], (2.0, 3.0, 5.0), (None, 1.0, None)) == (
        30.0, 10.0
    )  # fmt: skip


def test_effects_happen_once(capsys):
    def f(x):
        print("here")
        return x * x

    assert srcad.jvp(f, (3.0,), (1.0,)) == (9.0, 6.0)
    assert capsys.readouterr().out == "here\n"


def test_float32_dtype_preserved():
    x = np.ones(3, np.float32)

    y, y_dot = srcad.jvp(lambda x: np.maximum(x, 0) * 2 + np.sin(x), (x,), (np.ones(3),))

    assert (y.dtype, y_dot.dtype) == (np.float32, np.float32)


def test_masked_tangent_is_exactly_zero():
    def f(x):
        return np.where(x > 0, np.log(x), 0.0) + np.sqrt(np.maximum(x, 0.0))

    with np.errstate(all="ignore"):
        _, y_dot = srcad.jvp(f, (np.array([-1.0, 4.0]),), (np.ones(2),))

    np.testing.assert_array_equal(y_dot, [0.0, 0.5])


def test_infinite_tangent_under_errstate_raise():
    with np.errstate(all="raise"):
        assert srcad.jvp(lambda x: np.sqrt(x), (0.0,), (1.0,)) == (0.0, np.inf)


def guarded(x):
    try:
        y = np.sqrt(x)
    except FloatingPointError:
        y = x * 5.0
    return y


def test_infinite_slope_not_caught_by_except_clause():
    with np.errstate(all="raise"):
        assert srcad.jvp(guarded, (np.float64(0.0),), (1.0,)) == (0.0, np.inf)
        assert srcad.jvp(guarded, (np.float64(-1.0),), (1.0,)) == (-5.0, 5.0)


def guarded_recursion(x):
    try:
        y = powers(x, 3)
    except Exception:
        y = x
    return y


def test_recursion_inside_except_clause_gradient():
    assert srcad.jvp(guarded_recursion, (2.0,), (1.0,))[1] == srcad.grad(guarded_recursion)(2.0)


def test_infinite_slope_in_recursion_not_caught_by_except_clause():
    def rooted(x, n):
        return np.sqrt(x) if n == 0 else rooted(x, n - 1) * 2.0

    def f(x, n):
        try:
            y = rooted(x, n)
        except FloatingPointError:
            y = x * 5.0
        return y

    with np.errstate(all="raise"):
        assert srcad.jvp(f, (np.float64(0.0), 2), (1.0, None)) == (0.0, np.inf)
        assert srcad.jvp(f, (np.float64(4.0), 2), (1.0, None)) == (8.0, 1.0)
        assert srcad.jvp(f, (np.float64(-1.0), 2), (1.0, None)) == (-5.0, 5.0)


def test_forward_over_reverse():
    g = srcad.grad(lambda x: np.sum(x**3) * x[0])

    _, hx = srcad.jvp(g, (np.array([1.0, 2.0]),), (np.array([0.0, 1.0]),))

    np.testing.assert_allclose(hx, [12.0, 12.0])


# ------------------------------------------------------------------------ rules of one's own
def test_user_tangent_rule_used():
    def cube(x):
        return np.asarray(x) ** 3

    rules.adjoint(cube)(lambda y_bar, y, x: y_bar * 3 * x**2)
    without = srcad.jvp(lambda x: cube(x), (2.0,), (1.0,))[1]
    rules.tangent(cube)(lambda x_dot, y, x: 100 * x_dot)

    assert float(without) == 12.0
    assert float(srcad.jvp(lambda x: cube(x), (2.0,), (1.0,))[1]) == 100.0


def test_variadic_tangent_rule_receives_tuple():
    def product_of(*xs, scale=1.0):
        return np.prod(xs) * scale

    rules.adjoint(product_of, active=("*xs", "scale"))(
        lambda y_bar, y, *xs, scale=1.0: ([y_bar * y / x for x in xs], y_bar * y / scale)
    )

    @rules.tangent(product_of)
    def product_dot(xs_dot, scale_dot, y, *xs, scale=1.0):
        total = y * scale_dot / scale
        for x, x_dot in zip(xs, xs_dot, strict=True):
            total = total + x_dot * y / x
        return total

    primals = (2.0, 3.0, 5.0)

    assert srcad.jvp(lambda a, b, c: product_of(a, 7.0, b, scale=c), primals, (1.0, 10.0, 0.0)) == (
        210.0, 805.0
    )  # fmt: skip
    assert srcad.jvp(lambda a, b, c: product_of(a, b, scale=c), primals, (0.0, 0.0, 1.0)) == (
        30.0,
        6.0,
    )


def test_tangent_lookup_keeps_registry_version():
    before = rules.registry.version()

    srcad.jvp(lambda m: np.linalg.cholesky(m), (np.eye(2),), (np.eye(2),))

    assert rules.registry.version() == before


def test_singular_matrix_slope_not_caught_by_except_clause():
    def f(m):
        try:
            y = np.linalg.det(m)
        except Exception:
            y = 7.0
        return y

    y, y_dot = srcad.jvp(f, (np.diag([np.inf, 1.0]),), (np.eye(2),))

    assert y == np.inf
    assert np.isnan(y_dot)


# ------------------------------------------------------------------------ refusals
@pytest.mark.parametrize(
    ("primals", "tangents", "match"),
    [
        ((np.ones(3),), (np.ones(4),), r"argument 1 of .* has shape \(4,\)"),
        ((np.ones(3),), (1.0,), r"has shape \(\)"),
        ((1.0,), (1.0, 2.0), "1 arguments and 2 tangents"),
        (("a",), (1.0,), "is a str: it has no tangent"),
        (([1.0, 2.0],), (1.0,), "needs the structure of the value: a list of 2"),
        (1.0, (1.0,), "takes its arguments in a tuple, not as a float"),
    ],
)
def test_mismatched_tangent_rejected(primals, tangents, match):
    with pytest.raises(SeedError, match=match):
        srcad.jvp(lambda x: x, primals, tangents)


def test_a_function_without_a_rule_is_named():
    with pytest.raises(MissingRuleError, match="no derivative rule for numpy.emath.sqrt") as caught:
        srcad.jvp(lambda x: np.emath.sqrt(x), (np.ones(3),), (np.ones(3),))

    assert caught.value.where.file == __file__


# ------------------------------------------------------------------------ bound on some paths
def by_two_tests(x, c):
    if c > 0:
        y = np.ones(3)
    if c > 0:
        y = y * x
    return y


def after_a_loop(x, c):
    for k in range(c):
        y = np.ones(3) * k
    if c > 1:
        y = y * x
    return y


def in_a_loop(x, c):
    for k in range(c):
        if k > 0:
            y = np.full(3, 2.0)
        if k > 1:
            y = y * x
    return y + x


def of_a_list(x, c):
    if c > 0:
        z = [np.ones(2), 2.0]
        if c > 1:
            w = z[0]
    if c > 1:
        z = [z[0] * x, z[1] * x]
        w = w + x
    return z[0] * z[1] + (w if c > 1 else 0.0)


def never_read(x, c):
    if c > 5:
        y = np.ones(3)
    if c > 5:
        y = y * x
    return x * x


@pytest.mark.parametrize("c", [2, 3])
@pytest.mark.parametrize("f", [by_two_tests, after_a_loop, in_a_loop, of_a_list, never_read])
def test_tangent_of_conditionally_assigned_variable(f, c):
    def tangent(x):
        return srcad.jvp(f, (x, c), (1.0, None))[1]

    np.testing.assert_allclose(tangent(2.0), (f(2.0 + 1e-6, c) - f(2.0 - 1e-6, c)) / 2e-6)
    bent = srcad.jvp(tangent, (2.0,), (1.0,))[1]
    np.testing.assert_allclose(bent, (tangent(2.0 + 1e-6) - tangent(2.0 - 1e-6)) / 2e-6, atol=1e-8)


def test_unbound_variable_raises_unbound_local_error():
    with pytest.raises(UnboundLocalError):
        srcad.jvp(by_two_tests, (2.0, -1.0), (1.0, None))


# ------------------------------------------------------------------------ missing data
DATA = np.array([[1.0, np.nan, 3.0], [0.5, 2.0, np.nan]])
PRESENT = ~np.isnan(DATA)


@pytest.mark.parametrize(
    "f",
    [
        lambda w: np.nansum(DATA * w),
        lambda w: np.nansum(DATA * w, axis=0),
        lambda w: np.nanmean(DATA * w, axis=1, keepdims=True),
        lambda w: np.nanmean(DATA * w, where=DATA != 3.0),
        lambda w: np.nanvar(DATA * w),
        lambda w: np.nanstd(DATA * w, axis=1),
        lambda w: np.nanmax(DATA * w, axis=1),
        lambda w: np.nanmin(DATA * w),
        lambda w: np.nancumsum(DATA * w, axis=1),
        lambda w: np.sum(DATA * w, where=PRESENT),
        lambda w: np.mean(DATA * w, axis=1, where=PRESENT),
        lambda w: np.prod(DATA * w, where=PRESENT),
        lambda w: np.var(DATA * w, axis=1, where=PRESENT),
        lambda w: np.std(DATA * w, where=PRESENT),
        lambda w: np.max(DATA * w, where=PRESENT, initial=-1.0),
        lambda w: np.where(PRESENT, DATA * w, 0.0),
        lambda w: (DATA * w)[PRESENT],
        lambda w: np.fmax(DATA * w, 1.0),
        lambda w: np.nan_to_num(DATA * w),
    ],
)
def test_nan_entries_do_not_affect_tangent(f):
    y, y_dot = srcad.jvp(f, (1.5,), (1.0,))
    assert np.all(np.isfinite(y_dot))
    np.testing.assert_array_equal(y, f(1.5))
    np.testing.assert_allclose(y_dot, (f(1.5 + 1e-6) - f(1.5 - 1e-6)) / 2e-6, atol=1e-8)
    bent = srcad.jvp(lambda w: srcad.jvp(f, (w,), (1.0,))[1], (1.5,), (1.0,))[1]
    slopes = [srcad.jvp(f, (w,), (1.0,))[1] for w in (1.5 + 1e-6, 1.5 - 1e-6)]
    np.testing.assert_allclose(bent, (slopes[0] - slopes[1]) / 2e-6, atol=1e-7)


# ------------------------------------------------------------------------ arguments by name
A = np.arange(1.0, 7.0).reshape(2, 3)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(a=x),
        lambda x: np.sum(axis=0, a=-x),
        lambda x: np.transpose(a=x),
        lambda x: np.dot(a=x, b=x.T),
        lambda x: np.dot(x, b=x.T),
        lambda x: np.mean(a=2.0 * x, axis=1),
        lambda x: np.linalg.solve(a=x @ x.T + np.eye(2), b=x),
        lambda x: np.take(a=x, indices=[0, 2], axis=1),
        lambda x: np.pad(array=x, pad_width=1),
        lambda x: np.tensordot(a=x, b=x, axes=2),
        lambda x: np.stack(arrays=(x, x), axis=1),
    ],
)
def test_arguments_may_be_given_by_name(f):
    v = np.random.default_rng(3).normal(size=A.shape)

    y, y_dot = srcad.jvp(f, (A,), (v,))

    np.testing.assert_array_equal(y, f(A))
    np.testing.assert_allclose(y_dot, (f(A + 1e-6 * v) - f(A - 1e-6 * v)) / 2e-6, atol=1e-7)
    u = np.ones_like(y)
    np.testing.assert_allclose(np.sum(srcad.pullback(f, A)[1](u)[0] * v), np.sum(y_dot * u))


# ------------------------------------------------------------------------ memory orders
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.ravel(order="K"),
        lambda x: np.ravel(x, "A") ** 2,
        lambda x: x.flatten("K"),
        lambda x: np.reshape(x, (3, 2), order="A"),
    ],
    ids=["ravel", "A", "flatten", "reshape"],
)
def test_reading_in_memory_order_is_refused_as_in_reverse_mode(f):
    x = np.arange(6.0).reshape(3, 2).T

    for derivative in (srcad.jvp, lambda f, *x: srcad.pullback(f, *x[0])):
        with pytest.raises(NotDifferentiableError, match="memory layout"):
            derivative(f, (x,), (np.ones((2, 3)),))


def test_copy_in_memory_order_has_the_tangent_in_its_own():
    x, x_dot = np.arange(6.0).reshape(3, 2).T, np.arange(6.0).reshape(2, 3)

    y, y_dot = srcad.jvp(lambda x: x.copy(order="K").reshape(-1) ** 2, (x,), (x_dot,))

    np.testing.assert_allclose(y_dot, 2 * x.reshape(-1) * x_dot.reshape(-1))


@pytest.mark.parametrize(
    "f",
    [
        lambda x, flag: abs(complex(x[0], flag)),
        lambda x, flag: abs(complex(flag, x[0])),
        lambda x, flag: abs(complex(x[0], x[0] > 0)),
        lambda x, flag: np.sum(np.hstack((x, flag)) ** 2),
        lambda x, flag: np.sum(np.append(x, x > 0) ** 2),
    ],
)
def test_tangent_of_a_flag_beside_numbers_is_zero(f):
    x = np.array([0.7, -0.2])
    want = (f(x + [1e-6, 0.0], True) - f(x - [1e-6, 0.0], True)) / 2e-6

    _, found = srcad.jvp(f, (x, True), (np.array([1.0, 0.0]), None))

    np.testing.assert_allclose(found, want, rtol=1e-7)


@pytest.mark.parametrize(
    "f",
    [
        np.vander,
        lambda x: np.vander(x, 3, True) * 2.0,
        lambda x: np.vander(x, 2) @ np.array([1.0, 2.0]),
        lambda x: np.trace(np.outer(x, x)),
        lambda x: np.convolve(x, x),
    ],
)
def test_jvp_of_integers_by_a_transposed_rule_is_of_floats(f):
    x, x_dot, step = np.array([1, 2, 3]), np.array([1.0, 0.5, -2.0]), 1e-6

    value, tangent = srcad.jvp(f, (x,), (x_dot,))

    np.testing.assert_array_equal(value, f(x))
    expected = (f(x + step * x_dot) - f(x - step * x_dot)) / (2 * step)
    np.testing.assert_allclose(tangent, expected, rtol=1e-7, atol=1e-8)


# ------------------------------------------------------------------------ distances of points
@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda dx: np.trapezoid(V**3, dx=dx), 0.7),
        (lambda dx: np.sum(np.trapezoid(np.outer(V, V), dx=dx, axis=0) ** 2), 2.5),
        (lambda dx: np.trapezoid(dx * V, dx=dx), 0.3),
    ],
    ids=["vector", "along axis", "with values"],
)
def test_jvp_of_integral_by_distance_of_points(f, x):
    value, slope = srcad.jvp(f, (x,), (1.5,))

    h = 1e-5
    assert value == f(x)
    assert slope == pytest.approx(1.5 * (f(x + h) - f(x - h)) / (2 * h), rel=1e-8)


# ------------------------------------------------------------------------ partial orders
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.partition(x, 2),
        lambda x: np.partition(x * x, (1, 3)),
        lambda x: np.partition(np.outer(x, x), 1, axis=0),
        lambda x: np.partition(np.outer(x, x[:2]), 4, axis=None),
    ],
    ids=["vector", "several places", "columns", "flattened"],
)
def test_jvp_of_partition_agrees_with_differences(f):
    x, x_dot = np.array([0.9, -0.4, 1.3, 0.1, -1.2]), np.array([1.0, -2.0, 0.5, 3.0, 0.7])

    y, y_dot = srcad.jvp(f, (x,), (x_dot,))

    h = 1e-6
    np.testing.assert_array_equal(y, f(x))
    np.testing.assert_allclose(y_dot, (f(x + h * x_dot) - f(x - h * x_dot)) / (2 * h), atol=1e-8)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.where(np.isfinite(x[1]), x[1], 0.0),
        lambda x: np.where(np.max(x) > 0.0, np.max(x), x[0]),
        lambda x: np.asarray(x[1]),
    ],
)
def test_tangent_of_array_without_axes_is_one(function):
    x = np.array([0.3, 0.5])
    value, dot = srcad.jvp(function, (x,), (np.array([0.0, 2.0]),))
    assert type(value) is type(dot) is np.ndarray
    assert dot == 2.0


# ------------------------------------------------------------------------ equal parts of results
def pair_twice(x):
    pair = (x * 2.0, x * x)
    return pair, pair


def equal_pairs(x):
    return [(x * 2.0, x * x), (x * 2.0, x * x)]


def histogram_twice(x):
    pair = np.histogram(x, np.array([0.0, 1.5, 3.0]), weights=x)
    return [pair, pair]


@pytest.mark.parametrize("f", [pair_twice, equal_pairs, histogram_twice])
def test_tangents_of_tuple_that_is_returned_twice(f):
    x, dot = np.array([1.0, 2.0]), np.array([0.5, -1.0])

    value, tangents = srcad.jvp(f, (x,), (dot,))

    arrays = [*leaves(value), *leaves(tangents)]
    for found, wanted in zip(leaves(value), leaves(f(x)), strict=True):
        np.testing.assert_array_equal(found, wanted)
    for found, a, b in zip(
        leaves(tangents), leaves(f(x + 1e-6 * dot)), leaves(f(x - 1e-6 * dot)), strict=True
    ):
        np.testing.assert_allclose(found, (a - b) / 2e-6, rtol=1e-8, atol=1e-8)
    assert not any(np.shares_memory(p, q) for k, p in enumerate(arrays) for q in arrays[:k])


# ------------------------------------------------------------------------ kinds of tangents
def root_if_positive(x):
    return math.sqrt(x) if x > 0 else x


def root_or_argument(x):
    try:
        y = math.sqrt(x)
    except ValueError:
        y = x
    return y * x


def roots_in_list(x):
    return [math.sqrt(x) for _ in range(2)]


def roots_in_loop(x):
    y = x
    for k in range(3):
        if k > 0:
            y = math.sqrt(y)
    return {"y": y, "many": (root_if_positive(x), [root_if_positive(y)])}


@pytest.mark.parametrize("f", [root_if_positive, root_or_argument, roots_in_list, roots_in_loop])
def test_tangents_of_python_floats_are_python_floats(f):
    value, tangent = srcad.jvp(f, (0.3,), (1.0,))

    assert [type(leaf) for leaf in numeric.leaves(tangent)] == [
        type(leaf) for leaf in numeric.leaves(value)
    ]
    before, after = numeric.leaves(f(0.3 - 1e-6)), numeric.leaves(f(0.3 + 1e-6))
    slopes = (np.array(after) - np.array(before)) / 2e-6
    np.testing.assert_allclose(numeric.leaves(tangent), slopes, rtol=1e-6)
