"""Wrappers, options of dynamic type, lists that split returns, text, `type`."""

import contextlib
import functools
import operator

import numpy as np

X = np.array([0.5, -1.5, 2.0])
M = np.arange(8.0).reshape(2, 2, 2) / 3.0 + 0.1
_W = np.array([[1.0, 2.0], [3.0, 5.0]])


# ---------------------------------------------------------------------------- options
def permutation_by_argsort():
    def f(m):
        p = np.argsort(np.array([2, 0, 1]))
        return np.sum(np.transpose(m, p) * _W)

    return f, (M.copy(),)


def permutation_array():
    p = np.array([2, 0, 1])

    def f(m):
        return np.sum(np.transpose(m, p)[0] * _W)

    return f, (M.copy(),)


def permutation_of_a_store():
    store = [1, 2, 0]

    def f(m):
        return np.sum(m.transpose(tuple(store))[1] * _W)

    return f, (M.copy(),)


def permutation_argument():
    def f(m, p):
        return np.sum(np.transpose(m, p)[0] * _W)

    return f, (M.copy(), np.array([1, 2, 0]))


def permutation_by_a_helper():
    def inverse(p):
        out = [0] * len(p)
        for k, v in enumerate(p):
            out[v] = k
        return out

    def f(m):
        return np.sum(np.transpose(m, inverse((2, 0, 1)))[0] * _W)

    return f, (M.copy(),)


def _one():
    return 1


def deviation_along_a_returned_axis():
    def f(m):
        return np.sum(np.std(m, axis=_one()) * _W)

    return f, (M.copy(),)


def norm_of_a_returned_order():
    def f(m):
        return np.sum(np.linalg.norm(m[0], ord=_one(), axis=1))

    return f, (M.copy(),)


def median_along_a_returned_axis():
    def f(m):
        return np.sum(np.median(m[0] * _W, axis=_one()))

    return f, (M.copy(),)


def rolled_by_a_pair():
    def pair():
        return (1, 1)

    def f(m):
        return np.sum(np.roll(m[0], pair(), (0, 1)) * _W)

    return f, (M.copy(),)


def tiled_by_a_triple():
    def triple():
        return (2, 1, 3)

    def f(m):
        return np.sum(np.tile(m, triple()) ** 2)

    return f, (M.copy(),)


def moved_axes_by_arrays():
    source, target = np.array([0, 1]), np.array([2, 0])

    def f(m):
        return np.sum(np.moveaxis(m, source, target)[0] * _W)

    return f, (M.copy(),)


def summed_over_listed_axes():
    axes = [0, 2]

    def f(m):
        return np.sum(np.sum(m**2, axis=tuple(axes)) * X[:2])

    return f, (M.copy(),)


def repeated_by_counts():
    counts = np.array([1, 0, 2])

    def f(x):
        return np.sum(np.repeat(x, counts) ** 2)

    return f, (X.copy(),)


def padded_by_lists():
    width = [[1, 0], [0, 2]]

    def f(m):
        return np.sum(np.pad(m[0], width) ** 2)

    return f, (M.copy(),)


def einsum_by_argument():
    def f(m, how):
        return np.sum(np.einsum(how, m[0], _W))

    return f, (M.copy(), "ij,jk->ik")


def einsum_by_lists():
    def f(m):
        return np.sum(np.einsum(m[0], [0, 1], _W, [1, 2], [0, 2]))

    return f, (M.copy(),)


def tensordot_by_lists():
    def f(m):
        return np.sum(np.tensordot(m, _W, axes=[[1], [0]]) ** 2)

    return f, (M.copy(),)


def tensordot_by_helper():
    def axes():
        return [1, 2], [0, 1]

    def f(m):
        return np.sum(np.tensordot(m, _W, axes=axes()) ** 2)

    return f, (M.copy(),)


def product_over_an_argument():
    def f(m, axes):
        return np.sum(np.prod(m, axis=axes))

    return f, (M.copy(), (0, 1))


def flipped_by_array():
    def f(m):
        return np.sum(np.flip(m, axis=np.array(1).item())[0] * _W)

    return f, (M.copy(),)


def reshaped_by_array():
    shape = np.array([2, 4])

    def f(m):
        return np.sum(np.reshape(m, shape)[:, ::2] ** 2)

    return f, (M.copy(),)


def reshaped_by_computed_shape():
    def f(m):
        return np.sum(m.reshape(-1, np.prod(m.shape[1:]))[:, 1:] ** 2)

    return f, (M.copy(),)


def mode_among_known():
    modes = ("same", "causal")

    def f(x, mode):
        if mode in list(modes):
            return np.sum(x) * 2.0
        return np.sum(x**2)

    return f, (X.copy(), "causal")


def axis_from_a_dict():
    options = {"axis": 1, "keepdims": True}

    def f(m):
        return np.sum(np.mean(m, **options) * m)

    return f, (M.copy(),)


def diagonal_by_helper():
    def f(m):
        return np.trace(m[0], offset=_one()) + np.sum(np.diag(m[1], k=_one()))

    return f, (M.copy(),)


def clipped_by_arrays_and_none():
    low = np.array([0.0, 0.0, 1.0])

    def f(x):
        return np.sum(np.clip(x, low, None) ** 2)

    return f, (X.copy(),)


def differences_of_returned_order():
    def f(x):
        return np.sum(np.diff(x, n=_one()) ** 2)

    return f, (X.copy(),)


def rot_by_argument():
    def f(m, k):
        return np.sum(np.rot90(m[0], k) * _W)

    return f, (M.copy(), 3)


def axis_as_numpy_integer():
    axis = np.int64(1)

    def f(m):
        return np.sum(np.cumsum(m, axis=axis) ** 2) + np.sum(np.max(m, axis=axis))

    return f, (M.copy(),)


# ---------------------------------------------------------------------------- split
def split_in_a_comprehension():
    def f(x):
        parts = [np.split(x * (i + 1), 3) for i in range(2)]
        return sum(np.sum(p[0] * p[2]) for p in parts)

    return f, (X.copy(),)


def split_on_one_path():
    def f(x):
        u = np.split(x, 3)
        v = u if x[0] < 10 else np.split(2 * x, 3)
        return np.sum(u[0] * v[1]) + np.sum(v[2])

    return f, (X.copy(),)


def split_twice_read():
    def f(x):
        parts = np.array_split(x, 2)
        again = parts
        return np.sum(parts[0]) * np.sum(again[1]) + np.sum(parts[0] ** 2)

    return f, (X.copy(),)


def split_carried_by_a_loop():
    def f(x):
        parts = np.split(x, 3)
        for k in range(3):
            parts = np.split(np.concatenate(parts) * (k + 1.0), 3)
        return np.sum(parts[1] * parts[2])

    return f, (X.copy(),)


def split_written_into():
    def f(x):
        y = x.copy()
        a, b, c = np.split(y, 3)
        a *= b
        return np.sum(y * 2 + c[0])

    return f, (X.copy(),)


def split_by_helper_and_summed():
    def halves(v):
        return np.split(v, 2)

    def f(x):
        y = np.concatenate([x, x[:1]])
        first, second = halves(y), halves(y**2)
        total = 0.0
        for a, b in zip(first, second):
            total = total + np.sum(a * b)
        return total

    return f, (X.copy(),)


def meshgrid_pair():
    def f(x):
        u, v = np.meshgrid(x, x**2)
        w = [u, v]
        return np.sum(w[0] * w[1]) + np.sum(u)

    return f, (X.copy(),)


# ---------------------------------------------------------------------------- wrappers
def wrapped_loss():
    def doubled(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return 2.0 * function(*args, **kwargs)

        return inner

    @doubled
    def loss(x, y):
        return x * x * y

    return loss, (2.0, 1.5)


def wrapped_twice_with_keywords():
    def passing(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return function(*args, **kwargs)

        return inner

    @passing
    @passing
    def loss(x, *, y=3.0):
        return x**y

    return loss, (2.0,)


def positional_rest():
    def f(a, *rest):
        return a * rest[0] + rest[1] ** 2

    return f, (2.0, 1.5, 0.5)


def only_rest():
    def f(*values, **options):
        return sum(v * v for v in values) * options.get("k", 2.0)

    return f, (2.0, 1.5)


def partial_of_a_wrapper():
    def f(scale, x, y):
        return scale * x * y * y

    return functools.partial(f, 3.0), (2.0, 1.5)


def partial_by_keyword():
    def f(x, y, scale):
        return scale * x * y * y

    return functools.partial(f, scale=3.0), (2.0, 1.5)


def static_and_class_methods():
    class Model:
        k = 3.0

        @staticmethod
        def square(x):
            return x * x

        @classmethod
        def scaled(cls, x):
            return cls.k * cls.square(x)

    return Model.scaled, (1.5,)


# ---------------------------------------------------------------------------- text and type
def float_of_text():
    def f(x):
        return float(str(x)) * x

    return f, (1.5,)


def float_of_formatted():
    def f(x):
        return float(f"{x!r}") ** 2

    return f, (1.5,)


def float_of_percent():
    def f(x):
        return float("%.17g" % x) * 2.0

    return f, (1.5,)


def float_of_joined_text():
    def f(x):
        return sum(float(t) for t in ",".join(map(str, x)).split(","))

    return f, ([1.5, 2.5],)


def float_of_hex():
    def f(x):
        return float.fromhex(x.hex()) * x

    return f, (1.5,)


def text_in_a_dict_key():
    def f(x):
        d = {str(x): x}
        return sum(d.values()) * float(list(d)[0])

    return f, (1.5,)


def array_text():
    def f(x):
        return np.sum(np.array(np.array2string(x)[1:-1].split(), float) * x)

    return f, (np.array([1.5, 2.5]),)


def bytes_round_trip():
    def f(x):
        return np.sum(np.frombuffer(x.tobytes()) * x)

    return f, (np.array([1.5, 2.5]),)


def text_for_the_log_only():
    lines = []

    def f(x):
        lines.append(f"{x:.3f}")
        return x * x

    return f, (1.5,), lambda: list(lines)


def class_made_by_type():
    def f(x):
        return type("A", (), {"k": x})().k * x

    return f, (1.5,)


def class_made_by_type_with_method():
    def f(x):
        cls = type("A", (), {"get": lambda self: x * 2.0})
        return cls().get()

    return f, (1.5,)


def type_of_a_value_called():
    def f(x):
        return type(x)(x * 2.0) * x

    return f, (1.5,)


# ---------------------------------------------------------------------------- odd code
def removed_in_a_loop():
    def f(x):
        xs = [v for v in x]
        for v in xs:
            if v < 0:
                xs.remove(v)
        return sum(xs)

    return f, (X.copy(),)


def popped_in_a_loop():
    def f(x):
        xs = list(x)
        total = 0.0
        while xs:
            total = total * 0.5 + xs.pop(0)
        return total

    return f, (X.copy(),)


def formatted_by_percent():
    def f(x):
        label = "%f" % x
        return x * len(label[:3])

    return f, (1.5,)


def locals_are_read():
    def f(x):
        y = x * 2.0
        return locals()["y"] * x

    return f, (1.5,)


def evaluated_text():
    def f(x):
        return eval("x * x") + x

    return f, (1.5,)


def many_ors():
    source = (
        "def f(x):\n    if "
        + " or ".join(f"x > {k}.5" for k in range(300))
        + (":\n        return x * x\n    return x\n")
    )
    return _compiled(source), (1.75,)


def many_ands():
    source = (
        "def f(x):\n    return (" + " and ".join(f"x > -{k}" for k in range(300)) + ") * x + x\n"
    )
    return _compiled(source), (1.75,)


def many_attributes():
    class Node:
        pass

    root = node = Node()
    for _ in range(250):
        node.next = Node()
        node = node.next
    node.w = 3.0
    source = "def f(x):\n    return x * root" + ".next" * 250 + ".w\n"
    return _compiled(source, root=root), (1.5,)


def many_clauses():
    source = "def f(x, k):\n    y = x\n"
    for n in range(120):
        source += f"    {'el' if n else ''}if k == {n}:\n        y = x * {n}.0\n"
    return _compiled(source + "    y = y * x\n    return y\n"), (1.5, 77)


def many_guards():
    source = "def f(x, k):\n"
    for n in range(120):
        source += f"    if k == {n}:\n        return x ** {n % 5}\n"
    return _compiled(source + "    return x\n"), (1.5, 77)


def many_continues():
    source = "def f(x):\n    s = 0.0\n    for v in x:\n"
    for n in range(100):
        source += f"        if v < -{n}.25:\n            s = s + {n}.0 * v\n            continue\n"
    return _compiled(source + "        s = s + v * v\n    return s\n"), (X.copy(),)


def many_cases():
    source = "def f(x, k):\n    match k:\n"
    for n in range(110):
        source += f"        case {n}:\n            return x * {n}.5\n"
    return _compiled(source + "    return x\n"), (1.5, 42)


def many_lambdas():
    text = "x * " + " + ".join(f"a{n}" for n in range(26))
    for n in reversed(range(26)):
        text = f"(lambda a{n}: {text})({n}.0)"
    return _compiled(f"def f(x):\n    return {text}\n"), (1.5,)


def many_terms():
    source = "def f(x):\n    return " + " + ".join(f"{n}.0 * x" for n in range(600)) + "\n"
    return _compiled(source), (1.5,)


def many_chained_comparisons():
    source = "def f(x):\n    return x * (" + " < ".join(f"x + {n}.0" for n in range(100)) + ")\n"
    return _compiled(source), (1.5,)


def many_conditional_expressions():
    text = "x"
    for n in range(60):
        text = f"(x * {n}.0 if k == {n} else {text})"
    return _compiled(f"def f(x, k):\n    return {text}\n"), (1.5, 30)


def _compiled(source, **names):
    import linecache
    import zlib

    name = f"<attack {zlib.crc32(source.encode()):010}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space = {"np": np, **names}
    exec(compile(source, name, "exec"), space)
    return space["f"]


# ---------------------------------------------------------------------------- crashes
def where_of_another_precision():
    def f(x):
        return np.sum(np.where(x > 0, np.float32(2.0), x)) + np.sum(
            np.where(x > 0, x, np.float32(1))
        )

    return f, (X.copy(),)


def integers_too_large():
    def f(x):
        return x * (10**400 // 10**398)

    return f, (1.5,)


def large_integer_power():
    def f(x):
        return x * float(2**70) / 2**71

    return f, (1.5,)


def integer_too_large_for_a_float():
    def f(x):
        return x * 10**400

    return f, (1.5,)


def vectorized_function():
    def f(x):
        return np.sum(np.vectorize(lambda v: v * v)(x))

    return f, (X.copy(),)


def universal_from_python():
    def f(x):
        return np.sum(np.frompyfunc(lambda v: v * v, 1, 1)(x).astype(float))

    return f, (X.copy(),)


def array_of_functions():
    def f(x):
        steps = np.array([np.sin, np.cos])
        return np.sum(steps[0](x))

    return f, (X.copy(),)


def structured_array():
    def f(x):
        rows = np.zeros(3, dtype=[("a", float), ("b", float)])
        rows["a"] = x
        return np.sum(rows["a"] ** 2)

    return f, (X.copy(),)


def median_over_axes():
    def f(m):
        return np.sum(np.median(m * np.arange(1.0, 9.0).reshape(2, 2, 2), axis=(0, 2)))

    return f, (M.copy(),)


def managed_by_a_stack():
    def f(x):
        with contextlib.ExitStack() as stack:
            stack.callback(len, "a")
            y = x * x
        return np.sum(y)

    return f, (X.copy(),)


def in_place_operator_function():
    def f(x):
        y = x.copy()
        z = y
        operator.iadd(y, 1.0)
        return np.sum(z * y)

    return f, (X.copy(),)
