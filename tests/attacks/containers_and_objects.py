"""Dicts with keys of the call, objects that remember, lists whose content the call knows."""

import collections
import dataclasses

import numpy as np

X = np.array([0.5, -1.5, 2.0])


def comprehension_over_enumerate():
    def f(x):
        d = {i: v * v for i, v in enumerate(x)}
        return d[0] * d[2] + d[1]

    return f, (X.copy(),)


def curve_by_year():
    def f(x, years):
        curve, df = {}, 1.0
        for year, r in zip(years, x):
            df = df / (2.0 + r)
            curve[year] = df
        return sum(curve[y] * (k + 1) for k, y in enumerate(years))

    return f, (X.copy(), [2020, 2021, 2025])


def table_by_pairs():
    def f(x):
        n = len(x)
        d = {}
        for i in range(n):
            for j in range(n):
                d[i, j] = x[i] * x[j] if i <= j else d[j, i]
        return d[0, 2] + d[2, 1] * d[1, 1]

    return f, (X.copy(),)


def overwritten_entries():
    def f(x):
        d = {}
        for k, v in enumerate(x):
            d[k % 2] = v * 2.0
        return d[0] * d[1]

    return f, (X.copy(),)


def accumulated_by_key():
    def f(x, labels):
        d = {}
        for v, k in zip(x, labels):
            d[k] = d.get(k, 0.0) + v * v
        return d["a"] * d["b"]

    return f, (X.copy(), ["a", "b", "a"])


def default_floats():
    def f(x, labels):
        d = collections.defaultdict(float)
        for v, k in zip(x, labels):
            d[k] += v * v
        return sum(d.values()) * d["a"] + d["missing"]

    return f, (X.copy(), ["a", "b", "a"])


def default_lists():
    def f(x, labels):
        d = collections.defaultdict(list)
        for v, k in zip(x, labels):
            d[k].append(v * v)
        return sum(sum(vs) ** 2 for vs in d.values())

    return f, (X.copy(), ["a", "b", "a"])


def set_default():
    def f(x):
        d = {}
        for k in range(3):
            d.setdefault(k % 2, []).append(x[k])
        return d[0][1] * d[1][0]

    return f, (X.copy(),)


def recent_values():
    def f(x):
        recent = collections.deque(maxlen=2)
        total = 0.0
        for v in x:
            recent.append(v * v)
            total = total + sum(recent)
        return total

    return f, (X.copy(),)


def queue_both_ends():
    def f(x):
        q = collections.deque(x * 2.0)
        q.appendleft(x[0])
        q.rotate(1)
        return q.pop() * q.popleft() + q[0]

    return f, (X.copy(),)


def ordered_entries():
    def f(x):
        d = collections.OrderedDict()
        for k in range(3):
            d[f"k{k}"] = x[k] ** (k + 1)
        d.move_to_end("k0")
        return list(d.values())[0] * list(d.values())[-1]

    return f, (X.copy(),)


def zipped_names():
    def f(x):
        d = dict(zip(["a", "b", "c"], x))
        d.update(a=d["b"] * 2)
        return d["a"] * d["c"]

    return f, (X.copy(),)


def zipped_names_of_the_call():
    def f(x, names):
        d = dict(zip(names, x))
        return d[names[0]] * d[names[-1]]

    return f, (X.copy(), ["u", "v", "w"])


def formatted_keys():
    def f(x):
        d = {}
        for k, v in enumerate(x):
            d[f"w{k}"] = v
        return d["w0"] * d["w2"]

    return f, (X.copy(),)


def missing_key_raises():
    def f(x):
        d = {k: v for k, v in enumerate(x)}
        return d[7]

    return f, (X.copy(),)


def missing_key_is_caught():
    def f(x):
        d = {k: v for k, v in enumerate(x)}
        try:
            return d[7]
        except KeyError:
            return d[0] * 3.0

    return f, (X.copy(),)


def deleted_and_popped():
    def f(x):
        d = {k: v * v for k, v in enumerate(x)}
        del d[1]
        a = d.pop(0)
        return a + sum(d.values()) + len(d)

    return f, (X.copy(),)


def arrays_written_in_a_dict():
    def f(x):
        d = {k: np.zeros(3) for k in range(2)}
        for k in range(3):
            d[k % 2] += x * (k + 1)
            d[0][k] *= 2.0
        return np.sum(d[0] * d[1])

    return f, (X.copy(),)


def alias_in_a_dict():
    def f(x):
        a = x * 2.0
        d = {}
        for k in range(2):
            d[k] = a
        d[0] += 1.0
        return np.sum(d[1] * a)

    return f, (X.copy(),)


def states_by_time():
    def f(w, xs):
        h = {-1: np.zeros(2)}
        loss = 0.0
        for t in range(len(xs)):
            h[t] = np.tanh(w @ h[t - 1] + xs[t])
            loss = loss + np.sum(h[t] ** 2)
        return loss

    return f, (np.array([[0.1, 0.2], [0.3, -0.4]]), np.array([[1.0, 2.0], [0.5, 0.1], [0.2, 0.2]]))


def memo_inside():
    def f(x):
        memo = {}

        def fib(n):
            if n not in memo:
                memo[n] = x if n < 2 else fib(n - 1) * fib(n - 2) + 0.1
            return memo[n]

        return fib(4)

    return f, (0.7,)


def float_keys():
    def f(x):
        d = {}
        for t in np.linspace(0, 1, 3):
            d[t] = x * t
        return d[0.5] * d[1.0]

    return f, (1.5,)


def equal_keys():
    def f(x):
        d = {1: x[0]}
        d[True] = x[1]
        d[1.0] = d[1] * x[2]
        return d[1]

    return f, (X.copy(),)


def best_key():
    def f(x):
        d = {k: v * v for k, v in enumerate(x)}
        best = max(d, key=d.get)
        return d[best] * best

    return f, (X.copy(),)


def dict_in_a_dict():
    def f(x):
        d = {}
        for i in range(2):
            d[i] = {}
            for j in range(3):
                d[i][j] = x[j] * (i + 1)
        return d[0][1] * d[1][2]

    return f, (X.copy(),)


def sorted_items():
    def f(x):
        d = {3 - k: v for k, v in enumerate(x)}
        total = 0.0
        for k, v in sorted(d.items()):
            total = total * 0.5 + k * v
        return total

    return f, (X.copy(),)


def counted_letters():
    def f(x):
        counts = collections.Counter("abca")
        return sum(n * x[k] for k, (c, n) in enumerate(sorted(counts.items())))

    return f, (X.copy(),)


# ---------------------------------------------------------------------------- remembering
def counter_attribute():
    class Objective:
        nfev = 0

        def fun(self, x):
            self.nfev += 1
            return np.sum(x**2)

    o = Objective()
    return o.fun, (X.copy(),), lambda: o.nfev


def cached_activation():
    class Layer:
        def forward(self, x):
            self.h = np.tanh(x)
            return np.sum(self.h**2)

    layer = Layer()
    return layer.forward, (X.copy(),), lambda: layer.h.tolist()


def earlier_value_is_a_constant():
    class Layer:
        def __init__(self):
            self.h = np.ones(3)

        def forward(self, x):
            old = self.h
            self.h = x * 2.0
            return np.sum(old * self.h * x)

    layer = Layer()
    return layer.forward, (X.copy(),), lambda: layer.h.tolist()


def history_outside():
    history = []

    def f(x):
        y = np.sum(x**2)
        history.append(float(y))
        return y + len(history)

    return f, (X.copy(),), lambda: list(history)


def total_of_a_closure():
    total = 0.0

    def f(x):
        nonlocal total
        total = total + 1.0
        return x * total

    return f, (1.5,), lambda: total


def local_nonlocal():
    def f(x):
        total = 0.0

        def add(v):
            nonlocal total
            total = total + v * x

        for k in range(3):
            add(float(k))
        return total * x

    return f, (1.5,)


def two_names_of_one_object():
    class Store:
        w = 1.0

    a = Store()
    b = a

    def f(x):
        a.w = x * 2.0
        return b.w * x

    return f, (1.5,), lambda: a.w


def two_objects_in_turn():
    class Store:
        w = 1.0

    stores = [Store(), Store()]

    def f(x):
        for k in range(4):
            stores[k % 2].w = stores[(k + 1) % 2].w * x
        return stores[0].w + stores[1].w

    return f, (1.5,), lambda: [s.w for s in stores]


def written_then_fails():
    log = []

    def f(x):
        log.append("a")
        if x > 1.0:
            raise ValueError
        log.append("b")
        return x

    return f, (1.5,), lambda: list(log)


def stored_array_is_changed_later():
    class Store:
        y = None

    store = Store()

    def f(x):
        y = x * 2.0
        store.y = y
        y += 1.0
        return np.sum(store.y * y)

    return f, (X.copy(),), lambda: store.y.tolist()


def stored_argument():
    class Store:
        x = None

    store = Store()

    def f(x):
        store.x = x
        return np.sum(store.x**2)

    return f, (X.copy(),), lambda: store.x.tolist()


def dict_outside():
    memo = {"n": 0}

    def f(x):
        memo["n"] += 1
        memo["y"] = x * 2.0
        return memo["y"] * x + memo["n"]

    return f, (1.5,), lambda: dict(memo)


def data_class_outside():
    @dataclasses.dataclass
    class State:
        t: float = 0.0
        best: float = 10.0

    state = State()

    def f(x):
        state.t += 0.5
        state.best = min(state.best, x * x)
        return state.best * state.t

    return f, (1.5,), lambda: (state.t, state.best)


def attributes_by_setattr():
    class Bag:
        pass

    bag = Bag()

    def f(x):
        for k, name in enumerate(["a", "b"]):
            setattr(bag, name, x * (k + 1))
        return bag.a * bag.b

    return f, (1.5,), lambda: sorted(vars(bag))


def options_by_keywords():
    class Model:
        def __init__(self, **options):
            self.options = options

        def run(self, x):
            return x * self.options["scale"] ** self.options.get("power", 2)

    def f(x):
        return Model(scale=x, power=3).run(x)

    return f, (1.5,)


def recursion_over_nodes():
    Node = collections.namedtuple("Node", "w children")
    tree = Node(1.0, (Node(2.0, ()), Node(3.0, (Node(4.0, ()),))))

    def visit(node, x):
        if not node.children:
            return node.w * x, 1
        pairs = [visit(child, x) for child in node.children]
        return sum(p for p, _ in pairs) * node.w, sum(n for _, n in pairs)

    def f(x):
        value, count = visit(tree, x)
        return value * count

    return f, (1.5,)


# ---------------------------------------------------------------------------- lists of the call
def extra_arguments():
    extra = [2.0, 3.0]

    def g(x, *rest):
        return x * rest[0] ** rest[-1]

    def f(x):
        return g(x, *extra)

    return f, (1.5,)


def columns_of_rows():
    def f(rows):
        a, b = zip(*rows)
        return sum(p * q for p, q in zip(a, reversed(b)))

    return f, ([(1.0, 2.0), (3.0, 4.0), (0.5, 2.5)],)


def changed_copy_of_arguments():
    def g(a, b, c):
        return a * b**c

    def f(*args):
        args = list(args)
        args[0] = args[0] * 2.0
        return g(*args)

    return f, (1.5, 2.5, 2.0)


def sorted_by_two():
    def f(rows):
        rows = sorted(rows, key=lambda r: (-r[0], r[1]))
        return rows[0][1] * rows[-1][0]

    return f, ([(1.0, 2.0), (3.0, 4.0), (0.5, 2.5)],)


def list_times_number():
    def f(xs):
        ys = xs * 2
        ys[0] = ys[3] * 2
        return sum(ys)

    return f, ([1.0, 2.0, 3.0],)


def argument_list_changed():
    def f(xs):
        xs.append(xs[0] * xs[1])
        xs[0] = 5.0
        return sum(xs) * xs[-1]

    return f, ([1.5, 2.5],)


def nested_lists_share_rows():
    def f(x):
        rows = [[0.0] * 2] * 2
        rows[0][0] = x
        return rows[1][0] * x

    return f, (1.5,)


def spread_into_dict():
    def f(p):
        q = {**p, "b": p["a"] * 2.0}
        return q["a"] * q["b"]

    return f, ({"a": 1.5, "b": 2.5},)


def starred_in_the_middle():
    def f(x):
        first, *middle, last = x
        return first * sum(middle) * last

    return f, (np.array([1.5, 2.5, 0.5, 3.0]),)
