"""The cache: compiled once, seen anew when something changed, never leaking."""

import functools
import gc
import linecache
import threading
import tracemalloc
import weakref
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import srcad
from srcad import rules
from srcad.calling import cache
from srcad.frontend.source import definition

SCALE = 2.0


def scaled(x):
    return SCALE * np.sum(x * x)


def helper(x):
    return x * x


def uses_helper(x):
    return helper(x) * x


def compilations(g):
    return g.cache_info().compilations


def test_all_sizes_of_a_pattern_share_one_compilation():
    g = srcad.grad(scaled)
    g.cache_clear()
    before = compilations(g)

    for n in (2, 3, 100):
        np.testing.assert_array_equal(g(np.ones(n)), np.full(n, 4.0))

    assert compilations(g) == before + 1


def test_gradient_objects_of_same_function_share_compilation():
    srcad.grad(scaled)(np.ones(2))
    before = compilations(srcad.grad(scaled))

    srcad.grad(scaled)(np.ones(5))

    assert compilations(srcad.grad(scaled)) == before


def test_cache_info_reports_compilation_reasons():
    def f(x, flag=True):
        return np.sum(x * x) if flag else np.sum(x)

    g = srcad.grad(f)
    g(np.ones(2))
    g(np.ones(2, np.float32))
    g(np.ones(2, np.float32), flag=False)
    info = g.cache_info()

    assert info.reasons[0] == "the first call"
    assert info.reasons[1] == "'x' is float32[x_0] instead of float64[x_0]"
    assert info.reasons[2] == "'flag' is =False instead of =True"
    assert "float32" in str(info)


def test_generic_code_after_eight_shape_patterns():
    def f(x, y):
        return np.sum(x * y)

    g = srcad.grad(f, wrt=(0, 1))
    x = np.arange(1.0, 5.0)
    shapes = [(*before, last) for before in ((), (2,), (2, 3), (2, 3, 2)) for last in (1, 4)]
    for shape in [(), *shapes, *shapes]:
        a, b = g(np.ones(shape), x)
        whole = np.broadcast_to(x, (*shape[:-1], 4))
        expected = whole if shape[-1:] == (4,) else whole.sum(axis=-1).reshape(shape)
        np.testing.assert_array_equal(a, expected)
        np.testing.assert_array_equal(b, np.full(4, whole.size / 4.0))

    info = g.cache_info()
    assert any("[...]" in pattern for pattern in info.patterns)
    assert info.compilations <= cache.MOST_PATTERNS + 3
    before = info.compilations
    c, d = g(np.ones((3, 1)), x)
    np.testing.assert_array_equal(c, np.full((3, 1), 10.0))
    np.testing.assert_array_equal(d, np.full(4, 3.0))
    assert compilations(g) == before


# --------------------------------------------------------------------------- redefinition
def test_global_value_looked_up_at_call(monkeypatch):
    g = srcad.grad(scaled)
    g(np.ones(2))
    before = compilations(g)

    monkeypatch.setitem(globals(), "SCALE", 5.0)

    np.testing.assert_array_equal(g(np.ones(2)), [10.0, 10.0])
    assert compilations(g) == before


def test_redefined_helper_detected(monkeypatch):
    g = srcad.grad(uses_helper)
    assert g(2.0) == 12.0

    monkeypatch.setitem(globals(), "helper", lambda x: 3 * x)
    assert g(2.0) == 12.0
    monkeypatch.setitem(globals(), "helper", lambda x: 3 * x * x)

    assert g(2.0) == 36.0


def test_closure_cell_looked_up_at_call():
    def make():
        k = 2.0

        def f(x):
            return k * x

        def change(new):
            nonlocal k
            k = new

        return f, change

    f, change = make()
    g = srcad.grad(f)
    assert g(1.0) == 2.0

    change(7.0)

    assert g(1.0) == 7.0


class Gauge:
    """What is read of it may change, or appear, after a gradient was compiled."""

    scale = 2.0

    class Inner:
        size = 3.0

    @property
    def by_property(self):
        return SCALE

    @staticmethod
    def by_static(x):
        return x * SCALE

    @classmethod
    def by_class(cls, x):
        return x * cls.scale

    @property
    def kept(self):
        return self._kept

    @kept.setter
    def kept(self, value):
        self._kept = value * SCALE

    @kept.deleter
    def kept(self):
        self._kept = self._kept * SCALE

    def __len__(self):
        return int(SCALE)

    def __bool__(self):
        return SCALE > 3.0


def set_and_deleted(x):
    g = Gauge()
    g.kept = x
    del g.kept
    return g.kept


def by_scale(x):
    return x * SCALE


FUNCTIONS = [lambda x: x * SCALE]
GAUGE = Gauge()
READERS = {
    "property": lambda x: GAUGE.by_property * x,
    "static": lambda x: GAUGE.by_static(x) * Gauge.by_static(x),
    "class": lambda x: GAUGE.by_class(x) * Gauge().by_class(x),
    "inner": lambda x: Gauge.Inner.size * x,
    "absent": lambda x: x * getattr(GAUGE, "extra", 1.0) * getattr(GAUGE, "more", 1.0),
    "has": lambda x: x if hasattr(GAUGE, "extra") else x * x,
    "made": lambda x: x if hasattr(Gauge(), "more") else x * x,
    "setter": set_and_deleted,
    "length": lambda x: x * len(GAUGE),
    "truth": lambda x: x if GAUGE else x * x,
    "mapped": lambda x: sum(map(by_scale, [x, x * x])) + sorted([x, 2 * x], key=by_scale)[0],
    "item": lambda x: FUNCTIONS[0](x) * sum(f(x) for f in FUNCTIONS),
}
CHANGES = {
    "global": lambda patch: patch.setitem(globals(), "SCALE", 5.0),
    "class_attribute": lambda patch: patch.setattr(Gauge, "scale", 7.0),
    "property": lambda patch: patch.setattr(Gauge, "by_property", property(lambda self: 9.0)),
    "static": lambda patch: patch.setattr(Gauge, "by_static", staticmethod(lambda x: x * 11.0)),
    "inner": lambda patch: patch.setattr(Gauge, "Inner", type("Other", (), {"size": 13.0})),
    "attribute": lambda patch: patch.setattr(GAUGE, "extra", 15.0, raising=False),
    "attribute_of_the_class": lambda patch: patch.setattr(Gauge, "more", 17.0, raising=False),
}


@pytest.mark.parametrize("f", READERS.values(), ids=READERS)
def test_class_attribute_changes_detected(f, monkeypatch):
    # Bodies of properties, static methods and class methods, functions in a list, and functions
    # given to `map` were read without saying where they stand; nested classes, lengths and truths
    # of objects were taken for constant, and nobody looked whether an attribute had come: gradients
    # were those of the first call.
    g = srcad.value_and_grad(f)

    def agrees():
        value, slope = g(0.3)
        assert value == f(0.3)
        assert slope == pytest.approx((f(0.3 + 1e-6) - f(0.3 - 1e-6)) / 2e-6, rel=1e-6)

    agrees()
    for change in CHANGES.values():
        change(monkeypatch)
        agrees()
    monkeypatch.undo()
    agrees()


def test_default_value_looked_up_at_call():
    def f(x, k=2.0):
        return k * x

    g = srcad.grad(f)
    assert g(1.0) == 2.0

    f.__defaults__ = (9.0,)

    assert g(1.0) == 9.0


def test_a_rule_registered_later_is_used(monkeypatch):
    rules.rows()  # what is read meanwhile would be forgotten with the rest
    monkeypatch.setattr(rules.registry, "_table", dict(rules.registry._table))
    g = srcad.grad(uses_helper)
    assert g(2.0) == 12.0

    rules.derivative(helper)(lambda x, *, y: 100.0)

    assert g(2.0) == 204.0


def test_a_guard_of_a_function_argument():
    def apply(f, x):
        return f(x)

    def times(k):
        return lambda x: k * x * x

    g = srcad.grad(apply, wrt="x")

    assert [g(times(k), 1.0) for k in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]


# --------------------------------------------------------------------------- sharing, leaking
def test_closures_made_in_a_loop_share_one_compilation():
    def make(k):
        return lambda x: k * x * x

    gradients = [srcad.grad(make(float(k))) for k in range(100)]

    assert [g(1.0) for g in gradients] == [2.0 * k for k in range(100)]
    assert compilations(gradients[-1]) == 1


def test_closures_over_fresh_lambdas_share_one_compilation():
    def make(inner):
        def f(x):
            return inner(x) * x

        return f

    for k in range(50):
        g = srcad.grad(make(lambda x, k=float(k): k * x))
        assert g(1.0) == 2.0 * k

    assert compilations(g) == 1


def test_thousands_of_closures_do_not_leak():
    def make(k):
        inner = lambda x: k * x
        return lambda x: inner(x) * x

    def use(count):
        for k in range(count):
            srcad.grad(make(float(k)))(1.0)

    use(200)
    gc.collect()
    entries = len(linecache.cache)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]

    use(2000)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()

    assert grown < 200_000
    assert len(linecache.cache) <= entries + 1


def fresh_function(text="def f(x):\n    return x * x\n", name="f"):
    file = f"<cache test {fresh_function.count}>"
    fresh_function.count += 1
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"__name__": "fresh"}
    exec(compile(text, file, "exec"), space)
    return space[name]


fresh_function.count = 0


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    return x * x\n",
        "def f(x):\n    return x * x if x < 2 else x * f(x - 1)\n",
        "def g(x):\n    return x * x\ndef f(x):\n    return g(x)\n",
    ],
)
def test_compiled_code_collected_with_function(text):
    f = fresh_function(text)
    g = srcad.grad(f)
    g(1.5)
    g(1.5)
    code = weakref.ref(f.__code__)
    generated = [name for name in linecache.cache if name.startswith("<srcad fresh.f")]
    record = weakref.ref(cache.record_of(f)[0])
    assert generated

    del f, g
    gc.collect()  # the function, and with it the record
    gc.collect()  # what the record held

    assert code() is None
    assert record() is None
    srcad.grad(fresh_function("def other(x):\n    return x\n", "other"))(1.0)  # clears up
    assert not [name for name in linecache.cache if name.startswith("<srcad fresh.f")]


def test_equal_code_in_two_files_compiled_separately():
    first, second = fresh_function(), fresh_function()
    assert first.__code__ is not second.__code__

    assert cache.record_of(first)[0] is not cache.record_of(second)[0]


def test_the_number_of_records_is_bounded(monkeypatch):
    monkeypatch.setattr(cache, "MOST_RECORDS", 5)
    functions = [fresh_function() for _ in range(8)]

    for f in functions:
        assert srcad.grad(f)(3.0) == 6.0

    assert len(cache._RECORDS) <= 5
    assert srcad.grad(functions[0])(3.0) == 6.0


def test_source_cache_entry_removed_for_collected_code():
    f = fresh_function()
    srcad.grad(f)(1.0)
    key = id(f.__code__)
    assert key in definition._KNOWN

    del f
    gc.collect()

    assert key not in definition._KNOWN


def test_eight_threads_compile_once_and_agree():
    def f(x):
        return np.sum(np.tanh(x) * x)

    g = srcad.grad(f)
    barrier = threading.Barrier(8)
    results = [None] * 8

    def work(k):
        barrier.wait()
        results[k] = g(np.arange(4.0))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert compilations(g) == 1
    for result in results:
        np.testing.assert_array_equal(result, results[0])


# --------------------------------------------------------------------------- kinds of callables
class Quadratic:
    def __init__(self, k):
        self.k = k

    def value(self, x):
        return self.k * x * x

    def __call__(self, x):
        return self.k * x


def test_method_attributes_looked_up_at_call():
    q = Quadratic(1.0)
    g = srcad.grad(q.value)
    assert g(2.0) == 4.0

    q.k = 3.0

    assert g(2.0) == 12.0
    assert srcad.grad(Quadratic(5.0).value)(1.0) == 10.0
    assert compilations(g) == 1


def test_partials_of_one_shape_share_a_compilation():
    def f(a, x, b=1.0):
        return a * b * x * x

    results = [srcad.grad(functools.partial(f, float(k), b=2.0))(1.0) for k in range(5)]

    assert results == [4.0 * k for k in range(5)]
    assert compilations(srcad.grad(functools.partial(f, 0.0, b=2.0))) == 1


def test_more_arguments_of_a_global_partial_detected(monkeypatch):
    g = srcad.grad(lambda x: PARTIAL(x))

    assert g(3.0) == 2.0
    monkeypatch.setitem(globals(), "PARTIAL", functools.partial(shifted, 2.0, slope=5.0))
    assert g(3.0) == 7.0


def test_another_distribution_behind_a_global_method_detected(monkeypatch):
    g = srcad.grad(lambda x: DENSITY(x))

    g(0.5)
    monkeypatch.setitem(globals(), "DENSITY", stats.expon.pdf)
    assert g(0.5) == pytest.approx(-np.exp(-0.5))


class Wave:
    """A callable with a number and an array of its own."""

    def __init__(self, k):
        self.k = k
        self.weights = np.array([1.0, k, k * k])

    def __call__(self, x):
        return np.sin(self.k * x) * self.weights

    def cosine(self, x):
        return np.cos(self.k * x)


class Parabola(Wave):
    def __call__(self, x):
        return self.k * x**2


def shifted(k, x, slope=0.0):
    return k * x + slope * x


def powered(k, x, slope=0.0):
    return x**k + slope * x


def summed(x, f):
    return np.sum(f(x))


def summed_item(x, fs):
    return np.sum(fs["f"](x))


def summed_list(x, fs):
    return sum(np.sum(f(x)) for f in fs)


PARTIAL = functools.partial(shifted, 2.0)
DENSITY = stats.norm.pdf


def central_difference(f, x, *args, h=1e-6):
    steps = h * np.eye(len(x))
    return np.array([(f(x + e, *args) - f(x - e, *args)) / (2 * h) for e in steps])


def assert_compiled(f, arguments, count):
    """Check each gradient, and the number of compilations that all of them took."""
    x = np.array([0.4, 0.9, 1.3])
    g = srcad.grad(f)
    g.cache_clear()
    before = compilations(g)
    for argument in arguments:
        expected = central_difference(f, x, argument)
        np.testing.assert_allclose(g(x, argument), expected, rtol=1e-6, atol=1e-8)
    assert compilations(g) == before + count


@pytest.mark.parametrize(
    "make",
    [
        Wave,
        lambda k: Wave(k).cosine,
        lambda k: functools.partial(powered, k),
        lambda k: functools.partial(powered, 2.0, slope=k),
        lambda k: lambda x: np.tanh(k * x),
    ],
    ids=["object", "method", "partial", "keyword", "lambda"],
)
def test_new_callables_of_one_code_share_one_compilation(make):
    callables = [make(k / 5) for k in range(1, 25)]

    assert_compiled(summed, callables, 1)
    assert_compiled(summed_item, [{"f": f} for f in callables], 1)
    assert_compiled(summed_list, [list(pair) for pair in pairwise(callables)], 1)


def test_callables_of_other_code_compile_anew():
    waves = [Wave(0.5), Parabola(0.5), Wave(0.7).cosine, Parabola(0.7).cosine, Wave(0.9)]
    partials = [
        functools.partial(shifted, 2.0),
        functools.partial(shifted, 2.0, slope=1.0),
        functools.partial(powered, 2.0),
        functools.partial(shifted, 3.0),
    ]

    assert_compiled(summed, waves, 4)
    assert_compiled(summed, partials, 3)


def test_identity_of_callable_arguments_decides_a_branch():
    def f(x, pair):
        first, second = pair
        return np.sum(first(x)) if first is second else np.sum(x**2)

    a, b = Wave(0.5), Wave(0.7)
    g = srcad.grad(f)

    for pair in ((a, a), (a, b), (b, b), (b, a)):
        x = np.array([0.4, 0.9, 1.3])
        np.testing.assert_allclose(g(x, pair), central_difference(f, x, pair), rtol=1e-6)


def test_callable_with_a_rule_is_told_from_others_of_its_class(monkeypatch):
    rules.rows()
    monkeypatch.setattr(rules.registry, "_table", dict(rules.registry._table))
    ruled, plain = Wave(1.0), Wave(1.0)
    rules.derivative(ruled)(lambda x: 10.0 * np.ones_like(x))
    g = srcad.grad(summed)
    x = np.array([0.4, 0.9, 1.3])

    np.testing.assert_allclose(g(x, ruled), 10.0 * np.ones(3))
    np.testing.assert_allclose(g(x, plain), central_difference(summed, x, plain), rtol=1e-6)
    np.testing.assert_allclose(g(x, ruled), 10.0 * np.ones(3))


def test_an_object_with_a_call_method():
    assert srcad.grad(Quadratic(3.0))(1.0) == 3.0


def test_lru_cache_wrapper_unwrapped():
    assert srcad.grad(functools.lru_cache(helper))(3.0) == 6.0


def test_functions_with_rules_and_the_same_code_share_no_compilation():
    """SciPy's decorators give the functions of a family one wrapper."""
    a = np.array([1.0, 2.0, 4.0, 4.5])
    functions = stats.skew, stats.kurtosis, stats.gmean
    assert len({f.__code__ for f in functions}) == 1

    for f in functions:
        np.testing.assert_allclose(srcad.grad(f)(a), differences(f, a), rtol=1e-6)


def differences(f, a, step=1e-6):
    return [(f(a + step * e) - f(a - step * e)) / (2 * step) for e in np.eye(a.size)]


def test_specialize_returns_the_bare_function():
    g = srcad.grad(scaled)
    bare = g.specialize(np.ones(2))

    np.testing.assert_array_equal(bare(np.ones(3)), np.full(3, 2 * SCALE))


def test_cache_clear_discards_compilations():
    def f(x):
        return x * x

    g = srcad.grad(f)
    g(1.0)
    g.cache_clear()

    assert g.cache_info().patterns == ()
    assert g(1.0) == 2.0
    assert g.cache_info().reasons == ("the rules or the cache changed",)
