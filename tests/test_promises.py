"""Properties that every gradient has: ownership, kinds, seeds, effects, threads, text."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from srcad import errors, grad, gradient, pullback, value_and_grad
from tests.numeric import difference

V = np.array([0.3, -0.7, 1.1])


# -------------------------------------------------------------------------------- ownership
IDENTITIES = {
    "identity": lambda x: np.sum(x),
    "view": lambda x: np.sum(x[1:]),
    "reversed": lambda x: np.sum(x[::-1] * 1.0),
    "reshaped": lambda x: np.sum(x.reshape(-1, 1)),
    "transposed": lambda x: np.sum(np.atleast_2d(x).T),
    "doubled": lambda x: np.sum(x + x),
    "product": lambda x: np.sum(x * V),
    "by itself": lambda x: np.sum(x * x),
    "broadcast": lambda x: np.sum(x * 0.0 + 1.0),
    "unused": lambda x: 1.0,
    "constant seed": lambda x: np.sum(np.broadcast_to(x, (2, 3))),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_gradient_not_aliased(name: str) -> None:
    x = V.copy()

    g, again = grad(IDENTITIES[name])(x), grad(IDENTITIES[name])(x)

    assert g.flags.writeable
    assert g.flags.owndata or g.base is None or not np.shares_memory(g, x)
    assert g.flags.c_contiguous
    assert not np.shares_memory(g, x)
    assert not np.shares_memory(g, V)
    assert not np.shares_memory(g, again)
    assert_array_equal(x, V)
    g[...] = 9.0
    assert_array_equal(grad(IDENTITIES[name])(x), again)


def test_gradients_never_share_memory_with_each_other_or_the_result() -> None:
    a, b = V.copy(), V.copy()

    y, back = pullback(lambda a, b: (a + b, a - 0.0, b), a, b)
    seed = (np.ones(3), np.ones(3), np.ones(3))
    found = [*back(seed), *back(seed)]

    for k, g in enumerate(found):
        for other in [*found[k + 1 :], *seed, a, b, *y]:
            assert not np.shares_memory(g, other)


def test_a_gradient_follows_the_memory_order_of_the_argument() -> None:
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3))

    assert grad(lambda x: np.sum(x * x))(x).flags.f_contiguous
    assert grad(lambda x: np.sum(x * x))(x[:, ::-1]).flags.c_contiguous
    assert grad(lambda x: np.sum(x * x))(x.T).flags.c_contiguous


@pytest.mark.parametrize(
    ("x", "kind", "dtype"),
    [
        (2.0, float, None),
        (2, float, None),
        (np.float64(2.0), np.float64, np.float64),
        (np.float32(2.0), np.float32, np.float32),
        (np.int64(2), np.float64, np.float64),
        (np.array(2.0), np.ndarray, np.float64),
        (np.array(2), np.ndarray, np.float64),
        (np.array([2.0]), np.ndarray, np.float64),
        (np.array([2.0], np.float32), np.ndarray, np.float32),
        (np.array([2], np.int8), np.ndarray, np.float64),
        (np.array([2.0], np.float16), np.ndarray, np.float16),
    ],
    ids=str,
)
def test_the_kind_of_a_gradient_is_that_of_its_argument(x: Any, kind: type, dtype: Any) -> None:
    g = grad(lambda x: np.sum(x * x * x))(x)

    assert type(g) is kind
    assert np.shape(g) == np.shape(x)
    assert dtype is None or g.dtype == dtype
    assert_allclose(g, 12.0)


@pytest.mark.parametrize(
    "name", ["exp", "tanh", "sqrt", "log", "sin", "arctan", "square", "abs", "log1p"]
)
def test_float32_stays(name: str) -> None:
    function = getattr(np, name)

    def f(x):
        h = function(x) * 2.0 + x / 3 + np.maximum(x, 0.5) - np.where(x > 1, x, 0.0)
        return np.mean(h**2)

    g = grad(f)(np.array([0.4, 1.2, 2.0], np.float32))

    assert g.dtype == np.float32


def test_small_integers_do_not_overflow() -> None:
    x = np.array([100, 90], np.int8)

    assert_array_equal(grad(lambda x: np.sum(x * np.float64(1.0) * x))(x), [200.0, 180.0])


def test_argument_arrays_unchanged() -> None:
    x, w = V.copy(), np.arange(9.0).reshape(3, 3)

    value_and_grad(lambda x, w: np.sum(np.tanh(w @ x) ** 2), wrt=(0, 1))(x, w)

    assert_array_equal(x, V)
    assert_array_equal(w, np.arange(9.0).reshape(3, 3))


# ------------------------------------------------------------------------- results and seeds
@pytest.mark.parametrize(
    "result", [lambda x: x * 2, lambda x: np.float64(x), lambda x: np.asarray(x * 1.0)]
)
def test_a_result_that_is_a_number_is_fine(result: Any) -> None:
    assert grad(result)(1.5) in (1.0, 2.0)


def test_a_pullback_is_reusable_with_any_seed() -> None:
    y, back = pullback(lambda x: np.sin(x) * x, V)
    slope = np.cos(V) * V + np.sin(V)

    for seed in (1.0, 2, V, V.tolist() and np.float64(0.5), -V):
        assert_allclose(back(seed)[0], seed * slope, rtol=1e-14)
    assert_array_equal(y, np.sin(V) * V)


def test_a_seed_of_a_list_of_arrays_and_numbers() -> None:
    # The list was made an array, which its shapes do not allow.
    _, back = pullback(lambda x, a: {"p": [a * x, x], "q": (x, [a])}, 0.5, np.array([1.0, 2.0]))

    x_bar, a_bar = back({"p": [np.array([3.0, 4.0]), 5.0], "q": (6.0, [np.ones(2)])})

    assert x_bar == 3.0 * 1.0 + 4.0 * 2.0 + 5.0 + 6.0
    assert np.array_equal(a_bar, np.array([3.0, 4.0]) * 0.5 + 1.0)


def test_writing_into_a_result_does_not_change_a_pullback() -> None:
    y, back = pullback(lambda x: np.exp(x), V)
    y[...] = 0.0

    assert_allclose(back(1.0)[0], np.exp(V))


def test_counts_and_indexes_give_none_and_unused_floats_zero() -> None:
    def f(x, k, n, unused):
        s = x[k]
        for _ in range(n):
            s = s * 2.0
        return s

    x_bar, k_bar, n_bar, unused_bar = gradient(f, V, 1, 3, 2.0)

    assert_array_equal(x_bar, [0, 8, 0])
    assert (k_bar, n_bar, unused_bar) == (None, None, 0.0)


# ----------------------------------------------------------------------------- wrt and aux
def weighted(a, b=2.0, *, c=3.0):
    return a * b + a * c * c


def test_wrt_by_position_name_and_tuple() -> None:
    assert grad(weighted)(1.0) == 11.0
    assert grad(weighted, wrt=1)(4.0) == 4.0
    assert grad(weighted, wrt="b")(4.0, b=7.0) == 4.0
    assert grad(weighted, wrt="c")(1.0) == 6.0
    assert grad(weighted, wrt=-1)(1.0, c=4.0) == 8.0
    assert grad(weighted, wrt=("a", 1))(1.0) == (11.0, 1.0)
    assert grad(weighted, wrt=(0,))(1.0) == (11.0,)
    assert grad(weighted, wrt=[1, 0])(1.0) == (1.0, 11.0)
    assert grad(weighted, argnums=1)(4.0) == 4.0
    assert grad(weighted, argnums=(1, 0))(1.0) == (1.0, 11.0)
    assert grad(weighted)(a=1.0, c=1.0, b=0.0) == 1.0


@pytest.mark.parametrize("value", [True, "text", None])
def test_wrt_of_inactive_argument_rejected(value: Any) -> None:
    with pytest.raises(errors.SrcadError, match="flag"):
        grad(lambda x, flag: x, wrt="flag")(1.0, value)


# ------------------------------------------------------------------------------ redefinition
def _registered(module: types.ModuleType, source: str, name: str = "first") -> None:
    file = f"<{module.__name__} {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), module.__dict__)


def test_the_type_of_a_global_may_change() -> None:
    module = types.ModuleType("retyped")
    _registered(module, "import numpy as np\nW = 2.0\ndef f(x):\n    return np.sum(x * W)\n")
    g = grad(module.f)
    first = g(3.0)

    module.W = np.array([1.0, 2.0])
    second = g(3.0)
    module.W = 4
    third = g(3.0)

    assert (first, second, third) == (2.0, 3.0, 4.0)


def test_changed_defaults_detected() -> None:
    def f(x, k=2.0, *, m=1.0):
        return x * k * m

    g = grad(f)
    before = g(1.0)
    f.__defaults__ = (5.0,)
    between = g(1.0)
    f.__kwdefaults__ = {"m": 3.0}

    assert (before, between, g(1.0)) == (2.0, 5.0, 15.0)


def test_changed_object_attribute_detected() -> None:
    class Model:
        def __init__(self):
            self.w = 2.0
            self.name = "first"

        def loss(self, x):
            return x * self.w if self.name == "first" else x

    model = Model()
    g = grad(model.loss)
    before = g(1.0)
    model.w = 3.0
    between = g(1.0)
    model.name = "second"

    assert (before, between, g(1.0)) == (2.0, 3.0, 1.0)


def test_equal_code_in_two_files_distinguished() -> None:
    gradients = []
    for k, factor in enumerate((2.0, 3.0)):
        module = types.ModuleType(f"twin{k}")
        _registered(module, "def helper(x):\n    return x * K\ndef f(x):\n    return helper(x)\n")
        module.K = factor
        gradients.append(grad(module.f))

    assert [g(1.0) for g in gradients] == [2.0, 3.0]


# ----------------------------------------------------------------------- effects, once, in order
def test_effects_happen_once_and_in_order() -> None:
    log: list[Any] = []

    def note(text):
        log.append(text)
        return len(log)

    def f(x):
        note("start")
        s = 0.0
        for k in range(3):
            note(k)
            if k == 1:
                continue
            s = s + x * x
        if x > 0:
            note("positive")
        note("end")
        return s

    grad(f)(2.0)

    assert log == ["start", 0, 1, 2, "positive", "end"]


def test_prints_happen_once(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x):
        print("loss of", x)
        y = x * x
        print(f"is {y:.1f}")
        return y

    assert value_and_grad(f)(2.0) == (4.0, 4.0)
    assert capsys.readouterr().out == "loss of 2.0\nis 4.0\n"


def test_random_draws_happen_once() -> None:
    def f(x, rng):
        noise = rng.normal(size=3)
        keep = rng.random(3) < 0.5
        return np.sum((x + noise) ** 2 * keep)

    value, g = value_and_grad(f)(V, np.random.default_rng(1))
    want = np.random.default_rng(1)
    noise, keep = want.normal(size=3), want.random(3) < 0.5

    assert_allclose(g, 2 * (V + noise) * keep)
    assert value == f(V, np.random.default_rng(1))


def test_global_random_state_advances_as_in_original() -> None:
    def f(x):
        return np.sum(x * np.random.rand(3))

    np.random.seed(3)
    f(V)
    plain = np.random.rand()
    np.random.seed(3)
    grad(f)(V)

    assert np.random.rand() == plain


def test_primal_exceptions_match_original_function() -> None:
    with pytest.raises(ZeroDivisionError):
        grad(lambda x: 1 / (x - x))(1.0)
    with pytest.raises(AssertionError, match="positive"):
        grad(_asserting)(-1.0)
    with pytest.raises(IndexError):
        grad(lambda x: x[5] * 1.0)(V)
    with pytest.raises(KeyError):
        grad(lambda p: p["missing"] * p["a"])({"a": 1.0})
    with pytest.raises(ValueError, match="math domain|nonnegative|expected"):
        grad(_unused_failure)(-1.0)


def _asserting(x):
    assert x > 0, "positive"
    return x * x


def _unused_failure(x):
    import_free = __import__("math").sqrt
    unused = import_free(x)
    del unused
    return x * x


def test_decorating_and_differentiating_evaluate_nothing_again() -> None:
    count = [0]

    def default():
        count[0] += 1
        return 2.0

    def f(x, k=default()):
        return x * k

    grad(f)(1.0)
    grad(f).source

    assert count == [1]


# ---------------------------------------------------------------------- threads, compilations
def test_eight_threads_compile_once_and_agree() -> None:
    def f(x):
        s = x
        for k in range(20):
            s = np.sin(s) + k * x
        return np.sum(s)

    g, results = grad(f), []
    barrier = threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        results.append(g(V))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(results) == 8
    assert all(np.array_equal(r, results[0]) for r in results)
    assert_allclose(results[0], difference(f, (V,)), rtol=1e-7)
    assert _compilations(g) == 1


def _compilations(g: Any) -> int:
    """How many patterns were compiled."""
    info = g.cache_info()
    return int(getattr(info, "compilations", len(getattr(info, "patterns", ()))))


def test_closures_made_in_a_loop_share_one_compilation() -> None:
    def make(k):
        inner = lambda t: t * k
        return lambda x: inner(x) + k

    gradients = [grad(make(float(k))) for k in range(300)]
    results = [g(1.0) for g in gradients]

    assert results == [float(k) for k in range(300)]
    assert _compilations(gradients[0]) == 1


def test_one_compilation_serves_all_sizes() -> None:
    def f(w, b, x):
        return np.mean(np.tanh(x @ w + b) ** 2)

    g = grad(f, wrt=(0, 1))
    for n in (2, 3, 7, 50):
        x = np.linspace(0, 1, n * 4).reshape(n, 4)
        w, b = np.linspace(-1, 1, 12).reshape(4, 3), np.zeros(3)
        w_bar, b_bar = g(w, b, x)
        assert_allclose(w_bar, difference(f, (w, b, x), 0), rtol=1e-6, atol=1e-9)
        assert_allclose(b_bar, difference(f, (w, b, x), 1), rtol=1e-6, atol=1e-9)

    assert _compilations(g) == 1
    assert "unbroadcast" not in g.source
    assert "axis=0" in g.source


def test_length_one_axis_compiled_separately() -> None:
    def f(a, b):
        return np.sum(a * b + a)

    g = grad(f, wrt=(0, 1))
    for left, right in (
        ((3,), (3,)),
        ((1,), (3,)),
        ((3,), (1,)),
        ((2, 3), (3,)),
        ((2, 1), (1, 4)),
        ((), (3,)),
    ):
        a, b = np.full(left, 0.7), np.full(right, 1.3)
        a_bar, b_bar = g(a, b)
        assert a_bar.shape == a.shape
        assert b_bar.shape == b.shape
        assert_allclose(a_bar, difference(f, (a, b), 0), rtol=1e-7)
        assert_allclose(b_bar, difference(f, (a, b), 1), rtol=1e-7)


def test_many_patterns_are_still_right(rng: np.random.Generator) -> None:
    def f(a, b):
        return np.sum(np.sin(a) * b)

    g = grad(f, wrt=(0, 1))
    shapes = [(), (1,), (3,), (2, 3), (2, 1), (1, 3), (4, 2, 3), (4, 1, 1)]
    for left in shapes:
        for right in shapes:
            a, b = np.asarray(rng.normal(size=left)), np.asarray(rng.normal(size=right))
            a_bar, b_bar = g(a, b)
            full = np.broadcast_shapes(left, right)
            assert a_bar.shape == left
            assert b_bar.shape == right
            assert_allclose(np.sum(a_bar), np.sum(np.broadcast_to(np.cos(a) * b, full)), rtol=1e-9)


# --------------------------------------------------------------------------- determinism, text
PROGRAM = """
import sys
import numpy as np
sys.path.insert(0, {folder!r})
from deterministic import loss
import srcad
p = {{"W": np.ones((3, 2)), "b": np.zeros(2), "layers": [np.eye(2)]}}
g = srcad.grad(loss)
g(p, np.ones((4, 3)), {{1, 2, 3}})
print(g.source)
print(srcad.inspect(loss).ssa)
"""
LOSS = """
import numpy as np

def loss(p, x, seen):
    h = np.tanh(x @ p["W"] + p["b"])
    for L in p["layers"]:
        h = h @ L
    total = {"a": np.sum(h * h), "b": np.mean(h)}
    return sum(v for v in total.values()) * len(seen)
"""


def test_generated_code_independent_of_hash_seed_and_folder(tmp_path: Path) -> None:
    texts = set()
    for k in range(2):
        folder = tmp_path / f"folder{k}"
        folder.mkdir()
        (folder / "deterministic.py").write_text(LOSS)
        environment = {
            **os.environ,
            "PYTHONHASHSEED": str(k),
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        command = [sys.executable, "-c", PROGRAM.format(folder=str(folder))]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, check=True, cwd=folder
        )
        texts.add(done.stdout)

    assert len(texts) == 1
    assert str(tmp_path) not in texts.pop()


def test_moved_source_accepted(tmp_path: Path) -> None:
    path = tmp_path / "moved.py"
    path.write_text("def f(x):\n    return x * x\n")
    module = types.ModuleType("moved")
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    path.write_text("# a comment\n\n\ndef f(x):\n    return x * x\n")
    linecache.checkcache(str(path))

    assert grad(module.f)(2.0) == 4.0


def test_several_lambdas_on_one_line() -> None:
    f, g, h = (lambda x: x * 2), (lambda x: x * 3), (lambda x, k=4: x * k)

    assert (grad(f)(1.0), grad(g)(1.0), grad(h)(1.0)) == (2.0, 3.0, 4.0)


def test_user_names_equal_to_internal_names() -> None:
    def f(x, seed, x_bar, np_, srcad_):
        y_bar = x * seed
        saved = y_bar * x_bar
        t1 = saved * np_
        return t1 * srcad_ * x

    args = (1.1, 0.7, 0.9, 1.3, 0.8)
    for k, g in enumerate(gradient(f, *args)):
        assert g == pytest.approx(difference(f, args, k), rel=1e-8)


def test_numpy_imported_under_other_name() -> None:
    import numpy as anything

    np = 3.0

    def f(x):
        return anything.sum(anything.sin(x)) * np

    assert_allclose(grad(f)(V), 3 * anything.cos(V))


def test_long_lines_comments_and_quotes() -> None:
    # fmt: off
    def f(x):
        """A docstring with 'quotes', \"\"\"triple\"\"\" and a backslash \\."""
        y = x * 1.000000001 + x * 2.000000002 + x * 3.000000003 + x * 4.000000004 + x * 5.000000005  # a 'comment' "here" # noqa: E501
        s = "it's # no comment"
        return y * len(s)
    # fmt: on

    assert grad(f)(1.0) == pytest.approx(difference(f, (1.0,)))


# --------------------------------------------------------------------------- special points
NAN = float("nan")
INF = float("inf")
POINTS: list[tuple[str, Any, tuple[Any, ...], Any]] = [
    ("abs at 0", lambda x: abs(x), (0.0,), (0.0,)),
    ("sqrt at 0", lambda x: np.sqrt(x), (0.0,), (INF,)),
    ("sqrt of x**2 at 0", lambda x: np.sqrt(x**2), (0.0,), (NAN,)),
    ("hypot at 0", lambda x, y: np.hypot(x, y), (0.0, 0.0), (0.0, 0.0)),
    ("arctan2 at 0", lambda x, y: np.arctan2(x, y), (0.0, 0.0), (NAN, NAN)),
    ("x**0", lambda x: x**0, (0.0,), (0.0,)),
    ("x**0.0", lambda x: x**0.0, (0.0,), (0.0,)),
    ("x**1", lambda x: x**1, (0.0,), (1.0,)),
    ("x**2", lambda x: x**2, (0.0,), (0.0,)),
    ("x**0.5", lambda x: x**0.5, (0.0,), (INF,)),
    ("x**-1", lambda x: x**-1, (np.float64(0.0),), (-INF,)),
    ("power at 0, 0", lambda x, y: np.power(x, y), (0.0, 0.0), (0.0, 0.0)),
    ("power at 0, 2", lambda x, y: np.power(x, y), (0.0, 2.0), (0.0, 0.0)),
    ("power at -2, 3", lambda x, y: np.power(x, y), (-2.0, 3.0), (12.0, NAN)),
    ("x**3.0 at -2", lambda x: x**3.0, (-2.0,), (12.0,)),
    ("log at 0", lambda x: np.log(x), (0.0,), (INF,)),
    ("log1p at -1", lambda x: np.log1p(x), (-1.0,), (INF,)),
    ("1/x at 0", lambda x: 1 / x, (np.float64(0.0),), (-INF,)),
    ("norm of zeros", lambda x: np.linalg.norm(x), (np.zeros(3),), (np.zeros(3),)),
    ("sum of abs", lambda x: np.sum(np.abs(x)), (np.array([0.0, 1, -1]),), ([0, 1, -1],)),
    (
        "norm of order 1",
        lambda x: np.linalg.norm(x, ord=1),
        (np.array([0.0, 1, -2]),),
        ([0, 1, -1],),
    ),
    ("max with a tie", lambda x: np.max(x), (np.array([1.0, 1, 0]),), ([0.5, 0.5, 0],)),
    ("min with a tie", lambda x: np.min(x), (np.array([1.0, 1, 2]),), ([0.5, 0.5, 0],)),
    ("max with a nan", lambda x: np.max(x), (np.array([1.0, NAN, 0]),), ([0, 1, 0],)),
    ("maximum with a tie", lambda x, y: np.maximum(x, y), (1.0, 1.0), (0.0, 1.0)),
    ("minimum with a tie", lambda x, y: np.minimum(x, y), (1.0, 1.0), (1.0, 0.0)),
    ("maximum of x and x", lambda x: np.maximum(x, x), (1.0,), (1.0,)),
    ("maximum with a nan", lambda x, y: np.maximum(x, y), (NAN, 1.0), (1.0, 0.0)),
    ("fmax with a nan", lambda x, y: np.fmax(x, y), (NAN, 1.0), (0.0, 1.0)),
    ("relu by where", lambda x: np.where(x > 0, x, 0.0), (0.0,), (0.0,)),
    ("clip at the lower end", lambda x: np.clip(x, 0, 1), (0.0,), (1.0,)),
    ("clip at the upper end", lambda x: np.clip(x, 0, 1), (1.0,), (1.0,)),
    ("clip outside", lambda x: np.clip(x, 0, 1), (2.0,), (0.0,)),
    ("prod with a zero", lambda x: np.prod(x), (np.array([0.0, 2, 3]),), ([6, 0, 0],)),
    ("prod with two zeros", lambda x: np.prod(x), (np.array([0.0, 0, 3]),), ([0, 0, 0],)),
    (
        "cumprod with a zero",
        lambda x: np.sum(np.cumprod(x)),
        (np.array([2.0, 0, 3]),),
        ([1, 8, 0],),
    ),
    ("std of equal entries", lambda x: np.std(x), (np.ones(3),), (np.zeros(3),)),
    ("var of equal entries", lambda x: np.var(x), (np.ones(3),), (np.zeros(3),)),
    ("where cuts sqrt", lambda x: np.where(x > 0, np.sqrt(x), 0.0), (0.0,), (0.0,)),
    ("where cuts log", lambda x: np.where(x > 0, np.log(x), 0.0), (0.0,), (0.0,)),
    ("where cuts log below", lambda x: np.where(x > 0, np.log(x), 0.0), (-1.0,), (0.0,)),
    (
        "where cuts a quotient",
        lambda x: np.where(x != 0, np.sin(x) / x, 1.0),
        (np.float64(0.0),),
        (0.0,),
    ),
    ("a branch cuts sqrt", lambda x: np.sqrt(x) if x > 0 else 0.0, (0.0,), (0.0,)),
    ("sinc at 0", lambda x: np.sinc(x), (0.0,), (0.0,)),
    ("arcsin at 1", lambda x: np.arcsin(x), (1.0,), (INF,)),
    ("arctanh at 1", lambda x: np.arctanh(x), (1.0,), (INF,)),
    ("floor", lambda x: np.floor(x), (1.5,), (0.0,)),
    ("mod at a jump", lambda x: np.mod(x, 1), (1.0,), (1.0,)),
    ("mod", lambda x, y: np.mod(x, y), (5.0, -3.0), (1.0, 2.0)),
    ("logaddexp of -inf", lambda x, y: np.logaddexp(x, y), (-INF, -INF), (0.5, 0.5)),
    ("logaddexp of -inf, 1", lambda x, y: np.logaddexp(x, y), (-INF, 1.0), (0.0, 1.0)),
    ("tanh far out", lambda x: np.tanh(x), (1000.0,), (0.0,)),
    (
        "det of a singular matrix",
        lambda a: np.linalg.det(a),
        (np.array([[1.0, 2], [2, 4]]),),
        ([[4, -2], [-2, 1]],),
    ),
    ("cholesky", lambda a: np.sum(np.linalg.cholesky(a)), (np.array([[2.0, 1], [1, 2]]),), (None,)),
    ("sum of nothing", lambda x: np.sum(x), (np.zeros(0),), (np.zeros(0),)),
    ("prod of nothing", lambda x: np.prod(x), (np.zeros(0),), (np.zeros(0),)),
    (
        "sort with ties",
        lambda x: np.sum(np.sort(x) * np.array([1.0, 2, 3])),
        (np.array([1.0, 1, 0]),),
        ([2, 3, 1],),
    ),
]


@pytest.mark.parametrize(("f", "args", "want"), [p[1:] for p in POINTS], ids=[p[0] for p in POINTS])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_at_special_points(f: Any, args: tuple[Any, ...], want: tuple[Any, ...]) -> None:
    with np.errstate(all="ignore"):
        got = gradient(f, *args)

    if want[0] is None:
        assert_allclose(got[0], got[0].T)
        return
    for g, w in zip(got, want, strict=True):
        assert_allclose(g, w, rtol=1e-9, atol=1e-12)


def test_an_infinite_slope_of_python_floats_raises_nothing() -> None:
    def f(x):
        return (x * x) ** 0.5 + x**0.5

    with np.errstate(all="ignore"):
        assert not np.isfinite(grad(f)(0.0))


def test_inverse_of_a_singular_matrix_raises_as_the_primal_does() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        grad(lambda a: np.sum(np.linalg.inv(a)))(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="zero-size"):
        grad(lambda x: np.max(x))(np.zeros(0))


# --------------------------------------------------------------------------------- refusals
def test_types_that_are_not_supported_are_refused() -> None:
    structured = np.zeros(2, [("a", float)])
    refused = [np.ma.array([1.0]), np.array([1.0], object), structured]
    for x in refused:
        with pytest.raises(errors.UnsupportedTypeError):
            grad(lambda x: np.sum(x * x))(x)


def test_missing_rule_error_has_location() -> None:
    def f(w):
        h = w * w
        return np.emath.sqrt(h)[0]

    with pytest.raises(errors.MissingRuleError) as caught:
        grad(f)(V)

    line = f.__code__.co_firstlineno + 2
    assert "numpy.emath.sqrt" in str(caught.value)
    assert f"test_promises.py:{line}:" in str(caught.value)
    assert "stop_gradient" in str(caught.value)


def test_inactive_calls_run_unchanged() -> None:
    def f(x, data):
        table = sorted(data, key=lambda row: row["k"])
        m = np.median([row["k"] for row in table])
        return np.sum(x) * m * len(os.path.join("a", "b"))

    g = grad(f)(V, [{"k": 3.0}, {"k": 1.0}, {"k": 2.0}])

    assert_allclose(g, [6.0, 6.0, 6.0])


ONES = np.ones((1, 1))
TURNED = np.arange(6.0).reshape(3, 2).T
OTHER_ORDERS = {
    "copy": lambda x: np.sum(np.copy(x, order="F") ** 2),
    "copy by position": lambda x: np.sum(x.copy("F") ** 2),
    "array": lambda x: np.sum(np.array(x, order="F") ** 2),
    "asarray": lambda x: np.sum(np.asarray(x, order="F") ** 2),
    "astype": lambda x: np.sum(x.astype(float, order="F") ** 2),
    "zeros": lambda x: np.sum((np.zeros((2, 3), order="F") + x) ** 2),
    "full": lambda x: np.sum(np.full((2, 3), 2.0, "d", "F") * x * x),
    "linspace": lambda x: np.sum(np.linspace(np.ones(2), np.arange(2.0), 3, axis=-1) * x),
    "kron": lambda x: np.sum(np.kron(ONES, TURNED) * x),
    "kron of x": lambda x: np.sum(np.kron(x.T, ONES) * x.T),
}


@pytest.mark.parametrize("name", OTHER_ORDERS)
def test_a_gradient_is_in_c_order_where_the_function_asks_for_another(name: str) -> None:
    x = np.arange(1.0, 7.0).reshape(2, 3)

    g = grad(OTHER_ORDERS[name])(x)

    assert g.flags.c_contiguous
    assert_allclose(g, difference(OTHER_ORDERS[name], (x,)), rtol=1e-6)
