"""Finding the compiled function that fits a call."""

import dataclasses
import gc
import inspect
import pickle
import weakref

import numpy as np
import pytest

from srcad.arguments.signature import describe
from srcad.calling.patterns import Pattern, binder
from srcad.frontend.domain.guards import Guard
from srcad.types.sizes import ShapeEnvironment, is_one, same

SCALE = 2.0


@dataclasses.dataclass
class Layer:
    W: object
    flag: bool = True


def dispatcher(function, *args, assume=lambda *types: None, captures=(), guards=(), head=True):
    """A dispatcher that answers with the inputs of the compiled function, or None."""
    parameters = list(inspect.signature(function).parameters.values())
    environment = ShapeEnvironment()
    types = tuple(
        describe(value, (("param", p.name),), environment)
        for p, value in zip(parameters, args, strict=True)
    )
    captured = tuple((path, describe(value, path, environment)) for path, value in captures)
    assume(*types, *(t for _, t in captured))
    pattern = Pattern(types, tuple(environment.assumptions), captured, tuple(guards))
    bind = binder(pattern, parameters, function, head=head)
    missed = (lambda *_: lambda: None) if head else (lambda *_: None)
    return bind(function, lambda *inputs: inputs, missed)


def one(x):
    return x


def two(x, y):
    return x + y


SAMPLES = [
    1.5, 2, True, None, "a", 2j, np.float32(1), np.float64(1), np.ones(2), np.ones((2, 1)),
    np.ones(2, np.float32), np.array(1.0), np.array([None]), (1.0,), (1.0, 2.0), [1.0], [1],
    [None], {"a": 1.0}, {"b": 1.0}, {"a": 1.0, "b": 2.0}, Layer(1.0), Layer(1.0, False),
    [np.ones(2)], [(np.ones(2), 1.0)], np.tanh, len, b"a", np.dtype("f8"), float, range(2),
    {3: 1.0, (1, 2): 2.0},
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(SAMPLES)))
def test_pattern_matches_only_its_own_value(k):
    dispatch = dispatcher(one, SAMPLES[k])

    fits = [j for j, value in enumerate(SAMPLES) if dispatch(value) is not None]

    assert fits == [k]


def test_a_list_of_mixed_numbers_fits_lists_of_any_of_them():
    dispatch = dispatcher(one, [1, 2.5])

    assert dispatch([1.0, 3.5, 2]) is not None
    assert dispatch([2, 3]) is not None
    assert dispatch([1.0, 3j, 2]) is None
    assert dispatch([1.0, np.float64(2)]) is None
    assert dispatch([1.0, np.ones(2)]) is None


def test_empty_list_matches_list_patterns_but_not_conversely():
    assert dispatcher(one, [1.0])([]) is not None
    assert dispatcher(one, [])([]) is not None
    assert dispatcher(one, [])([1.0]) is None


def test_other_lengths_fit_the_same_pattern():
    dispatch = dispatcher(one, [(np.ones((2, 3)), 1.0)])

    assert dispatch([(np.ones((7, 1)), 1.0), (np.ones((1, 1)), 2.0)]) is not None
    assert dispatch([(np.ones((7, 1)), 1.0), (np.ones(1), 2.0)]) is None


def test_assumptions_about_lengths_are_checked():
    def assume(x, w):
        assert same(x.shape[1], w.shape[0])
        assert is_one(w.shape[1]) is False

    dispatch = dispatcher(two, np.ones((5, 3)), np.ones((3, 2)), assume=assume)

    assert dispatch(np.ones((9, 4)), np.ones((4, 7))) is not None
    assert dispatch(np.ones((9, 4)), np.ones((3, 7))) is None
    assert dispatch(np.ones((9, 4)), np.ones((4, 1))) is None


def test_assumptions_about_every_item_of_a_list_are_checked():
    def assume(layers, x):
        weight, bias = layers.item.items
        assert same(weight.shape[1], bias.shape[0])
        assert is_one(weight.shape[0]) is False

    layers = [(np.ones((3, 4)), np.ones(4)), (np.ones((4, 2)), np.ones(2))]
    dispatch = dispatcher(two, layers, 1.0, assume=assume)

    assert dispatch([(np.ones((8, 9)), np.ones(9))], 1.0) is not None
    assert dispatch([*layers, (np.ones((8, 9)), np.ones(8))], 1.0) is None
    assert dispatch([*layers, (np.ones((1, 9)), np.ones(9))], 1.0) is None


def test_assumptions_across_two_lists():
    def assume(a, b):
        assert same(a.item.shape[0], b.item.shape[0])

    dispatch = dispatcher(two, [np.ones(3), np.ones(4)], [np.ones(3), np.ones(4)], assume=assume)

    assert dispatch([np.ones(5)], [np.ones(5)]) is not None
    assert dispatch([np.ones(5)], [np.ones(6)]) is None
    assert dispatch([np.ones(5)], [np.ones(5), np.ones(5)]) is None


def test_an_integer_is_checked_where_the_code_depends_on_it():
    def assume(x, n):
        assert same(n.value, x.shape[0])

    dispatch = dispatcher(two, np.ones(3), 3, assume=assume)

    assert dispatch(np.ones(4), 4) is not None
    assert dispatch(np.ones(4), 3) is None


def test_an_unpickled_array_fits():
    dispatch = dispatcher(one, np.ones(2))

    assert dispatch(pickle.loads(pickle.dumps(np.ones(2)))) is not None


def keywords(a, /, b, c=3.0, *rest, d, e=5.0, **others):
    return a


def test_python_binds_the_arguments():
    dispatch = dispatcher(keywords, 1.0, 2.0, 3.0, (), 4.0, 5.0, {})

    assert dispatch(1.0, b=2.0, d=4.0) == (1.0, 2.0, 3.0, (), 4.0, 5.0, {})
    assert dispatch(1.0, 2.0, 3.0, 9.0, d=4.0) is None
    with pytest.raises(
        TypeError, match=r"keywords\(\) missing 1 required positional argument: 'b'"
    ):
        dispatch(1.0, d=2.0)


def test_default_value_looked_up_at_call():
    def f(x, y=1.0, *, z=2.0):
        return x

    dispatch = dispatcher(f, 1.0, 1.0, 2.0)
    f.__defaults__, f.__kwdefaults__ = (7.0,), {"z": 8.0}

    assert dispatch(1.0) == (1.0, 7.0, 8.0)


def test_tail_dispatch_takes_bound_arguments():
    dispatch = dispatcher(keywords, 1.0, 2.0, 3.0, (), 4.0, 5.0, {}, head=False)

    assert dispatch(1.0, 2.0, 3.0, (), 4.0, 5.0, {}) is not None


def test_parameters_named_like_internal_names():
    def f(_run, _type, __k, type, float, len):
        return _run

    dispatch = dispatcher(f, 1.0, np.ones(3), {"a": "b"}, None, (1,), [2.0])

    assert dispatch(1.0, np.ones(3), {"a": "b"}, None, (1,), [2.0]) is not None


def helper(x, k=1.0):
    return x * k * SCALE


def make(array):
    def inner(x):
        return helper(x) * array[0] * SCALE

    return inner


def test_captured_values_looked_up_at_call(monkeypatch):
    paths = [
        (("global", "SCALE"),),
        (("cell", "array"), ("item", 0)),
        (("global", "helper"), ("global", "SCALE")),
        (("global", "helper"), ("default", 0)),
    ]
    values = [2.0, 5.0, 2.0, 1.0]
    function = make([5.0])
    dispatch = dispatcher(function, 1.0, captures=zip(paths, values, strict=True))

    assert dispatch(1.0) == (1.0, 2.0, 5.0, 2.0, 1.0)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert dispatch(1.0) == (1.0, 3.0, 5.0, 3.0, 1.0)
    monkeypatch.setitem(globals(), "SCALE", 3)
    assert dispatch(1.0) is None
    monkeypatch.delitem(globals(), "SCALE")
    assert dispatch(1.0) is None


def test_closures_share_argument_binding():
    parameters = list(inspect.signature(make([1.0])).parameters.values())
    path = (("cell", "array"), ("item", 0))
    pattern = Pattern(
        (describe(1.0, (), ShapeEnvironment()),),
        (),
        ((path, describe(1.0, (), ShapeEnvironment())),),
    )
    bind = binder(pattern, parameters, make([1.0]), head=True)

    runs = [bind(make([float(k)]), lambda *a: a, None)(0.5) for k in range(3)]

    assert runs == [(0.5, 0.0), (0.5, 1.0), (0.5, 2.0)]


@pytest.mark.parametrize(
    ("guard", "other"),
    [
        (Guard((("global", "helper"),), "code", helper), lambda x: x),
        (Guard((("global", "helper"),), "is", helper), lambda x: x),
        (Guard((("global", "SCALE"),), "equals", 2.0), 2),
        (Guard((("global", "SCALE"),), "equals", 2.0), -2.0),
        (Guard((("global", "SCALE"),), "class", float), np.float64(2.0)),
        (Guard((("global", "len"),), "is", len), max),
    ],
)
def test_guard_detects_rebound_global(guard, other, monkeypatch):
    dispatch = dispatcher(make([1.0]), 1.0, guards=[guard])

    assert dispatch(1.0) is not None
    monkeypatch.setitem(globals(), guard.path[0][1], other)
    assert dispatch(1.0) is None


def test_a_function_argument_may_be_guarded_by_its_code():
    def scaled(k):
        return lambda x: k * x

    guard = Guard((("param", "x"),), "code", scaled(1))
    dispatch = dispatcher(one, scaled(1), guards=[guard])

    assert dispatch(scaled(2)) is not None
    assert dispatch(lambda x: x) is None


def test_a_guard_on_the_functions_own_code_does_not_keep_it_alive():
    space = {}
    exec("def f(x):\n    return f(x)", space)
    function = space["f"]
    guard = Guard((("global", "f"),), "code", None)
    pattern = Pattern((describe(1.0, (), ShapeEnvironment()),), guards=(guard,))
    bind = binder(
        pattern, list(inspect.signature(function).parameters.values()), function, head=True
    )
    assert bind(function, lambda *a: a, None)(1.0) == (1.0,)
    alive = weakref.ref(function.__code__)

    del function, guard, pattern
    space.clear()
    gc.collect()

    assert alive() is None
