"""What calls without derivative return, written in place; caches; results that are kept."""

import collections
import copy
import functools

import numpy as np

X = np.array([0.5, -1.5, 2.0])


def identity_of_a_constant():
    a = np.array([1.0, 2.0, 3.0])

    def same(v):
        return v

    def f(x):
        c = np.ones(3)
        b = same(c)
        b *= x
        return np.sum(c * a)

    return f, (X.copy(),)


def global_handed_out():
    store = np.array([1.0, 2.0, 3.0])

    def get():
        return store

    def f(x):
        b = get()
        b += x
        return np.sum(store * x)

    return f, (X.copy(),), lambda: store.tolist()


def slice_of_a_global():
    store = np.arange(6.0)

    def get():
        return store[1:4]

    def f(x):
        b = get()
        b *= x
        return np.sum(get() * x)

    return f, (X.copy(),), lambda: store.tolist()


def reshape_of_a_global():
    store = np.arange(3.0)

    def get():
        return store.reshape(3, 1)

    def f(x):
        b = get()
        b += x[:, None]
        return np.sum(store**2)

    return f, (X.copy(),), lambda: store.tolist()


def property_of_an_object():
    class Model:
        def __init__(self):
            self._w = np.ones(3)

        @property
        def w(self):
            return self._w

    model = Model()

    def f(x):
        w = model.w
        w *= x
        return np.sum(model.w)

    return f, (X.copy(),), lambda: model._w.tolist()


def item_of_a_returned_dict():
    parts = {"a": np.ones(3)}

    def get():
        return parts

    def f(x):
        a = get()["a"]
        a += x
        return np.sum(get()["a"] ** 2)

    return f, (X.copy(),), lambda: parts["a"].tolist()


def item_of_a_deque():
    queue = collections.deque([np.ones(3), np.zeros(3)])

    def f(x):
        a = queue[0]
        a += x
        return np.sum(queue[0] * x)

    return f, (X.copy(),), lambda: [q.tolist() for q in queue]


def at_least_one_axis():
    store = np.ones(3)

    def get():
        return store

    def f(x):
        b = np.atleast_1d(get())
        b += x
        return np.sum(store * x)

    return f, (X.copy(),), lambda: store.tolist()


def one_or_the_other():
    store, other = np.ones(3), np.zeros(3)

    def get():
        return store

    def f(x):
        b = get() if x[0] > 0 else other
        b += x
        return np.sum(store + 2 * other)

    return f, (X.copy(),), lambda: (store.tolist(), other.tolist())


def transposed_result():
    store = np.ones((3, 1))

    def get():
        return store.T

    def f(x):
        b = get()
        b += x
        return np.sum(store**2)

    return f, (X.copy(),), lambda: store.tolist()


def draws_are_ones_own():
    def f(x):
        rng = np.random.default_rng(3)
        b = rng.normal(size=3)
        b *= x
        return np.sum(b * x)

    return f, (X.copy(),)


def numbers_may_be_counted():
    def f(x):
        n = len(x)
        n += 1
        n *= 2
        return np.sum(x) * n

    return f, (X.copy(),)


def lists_are_extended():
    def names():
        return ["a", "b"]

    def f(x):
        n = names()
        n += ["c"]
        return np.sum(x) * len(n)

    return f, (X.copy(),)


def list_of_a_global_is_extended():
    store = ["a"]

    def names():
        return store

    def f(x):
        n = names()
        n += ["c"]
        return np.sum(x) * len(store)

    return f, (X.copy(),), lambda: list(store)


def tuple_of_arrays():
    a, b = np.ones(3), np.zeros(3)

    def pair():
        return a, b

    def f(x):
        p, q = pair()
        p += x
        q -= x
        return np.sum(a * x + b)

    return f, (X.copy(),), lambda: (a.tolist(), b.tolist())


def namespace_item():
    space = collections.OrderedDict(w=np.ones(3))

    def f(x):
        w = space["w"]
        w *= x
        return np.sum(space["w"] * 2)

    return f, (X.copy(),), lambda: space["w"].tolist()


def deep_copy_is_ones_own():
    store = [np.ones(3)]

    def f(x):
        mine = copy.deepcopy(store)
        w = mine[0]
        w += x
        return np.sum(w * store[0])

    return f, (X.copy(),), lambda: store[0].tolist()


# ---------------------------------------------------------------------------- caches
def cached_table():
    @functools.lru_cache
    def table(n):
        return np.zeros(n)

    def f(x):
        t = table(3)
        t += x
        return np.sum(table(3) * x)

    return f, (X.copy(),), lambda: table(3).tolist()


def cached_counter():
    calls = []

    @functools.cache
    def power(v):
        calls.append(v)
        return v * v

    def f(x):
        return power(x) + power(x)

    return f, (1.5,), lambda: len(calls)


def cached_draw():
    rng = np.random.default_rng(0)

    @functools.cache
    def noise(v):
        return rng.normal() * v

    def f(x):
        return noise(x) - noise(x) + noise(2.0 * x)

    return f, (1.5,)


def cached_pure():
    @functools.lru_cache(maxsize=None)
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    def f(x):
        return x ** fibonacci(5)

    return f, (1.5,)


def cached_list():
    @functools.cache
    def pair(v):
        return [v, v * v]

    def f(x):
        p = pair(x)
        p[0] = 5.0
        return sum(pair(x))

    return f, (1.5,)


def cached_method():
    class Model:
        @functools.cache  # noqa: B019
        def scale(self, v):
            return v * 3.0

    model = Model()

    def f(x):
        return model.scale(x) * model.scale(2.0)

    return f, (1.5,)


def cached_property():
    class Model:
        def __init__(self):
            self.made = 0

        @functools.cached_property
        def weights(self):
            self.made += 1
            return np.ones(3)

    model = Model()

    def f(x):
        return np.sum(model.weights * x) + np.sum(model.weights)

    return f, (X.copy(),), lambda: model.made


def memo_in_a_global():
    memo = {}

    def square(v):
        if "y" not in memo:
            memo["y"] = v * v
        return memo["y"]

    def f(x):
        return square(x) + square(3.0 * x)

    return f, (1.5,), lambda: sorted(memo)


def result_kept_twice():
    cache = {}

    def step(v):
        y = np.exp(v)
        cache["y"] = y
        return y

    def f(x):
        a = step(x)
        b = cache["y"]
        a += 1.0
        return np.sum(a * b)

    return f, (X.copy(),)


def last_result_on_a_function():
    def step(v):
        step.last = v * v
        return step.last

    def f(x):
        return np.sum(step(x) * step.last)

    return f, (X.copy(),)


def same_list_returned_again():
    buffer = [0.0]

    def keep(v):
        buffer[0] = v
        return buffer

    def f(x):
        a = keep(x)
        keep(3.0 * x)
        return a[0] * x

    return f, (1.5,), lambda: len(buffer)


# ---------------------------------------------------------------------------- no result
def never_returns():
    def f(x):
        return f(x * 1.0) + 1.0

    return f, (0.5,)


def two_that_never_return():
    def f(x):
        return g(x) * 2.0

    def g(x):
        return f(x) + 1.0

    return f, (0.5,)


def helper_never_returns():
    def loop(x):
        return loop(x + 1.0)

    def f(x):
        return x * loop(x)

    return f, (0.5,)


def always_raises():
    def f(x):
        raise KeyError(x)

    return f, (0.5,)


def method_never_returns():
    class Model:
        def run(self, x):
            return self.run(x) * x

    model = Model()

    def f(x):
        return model.run(x)

    return f, (0.5,)
