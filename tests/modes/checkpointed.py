"""Programs with checkpoints, and the same programs without."""

from __future__ import annotations

import random
from types import FunctionType

import numpy as np

from srcad import checkpoint, checkpointed_range

X = np.array([0.3, 0.7, 0.2])
W = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.1, -0.2, 0.3]])


def _range(*bounds, every=None, levels=1):
    return range(*bounds)


def _itself(function):
    return function


def plain(function):
    """The same text where `checkpointed_range` is `range`, and `checkpoint` does nothing."""
    names = {**function.__globals__, "checkpointed_range": _range, "checkpoint": _itself}
    made = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    for name, value in function.__globals__.items():
        if isinstance(value, type(layer)):
            names[name] = value.function
    return made


# ------------------------------------------------------------------------------- programs
def stencil(x, n):
    u = x.copy()
    for _ in checkpointed_range(n):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) * u[1:-1]
        u[0] *= u[1]
    return np.sum(u * u)


def breaks(x, n):
    s = 0.0
    for i in checkpointed_range(n):
        x = np.sin(x) * 1.1
        if x.sum() > 1.2:
            continue
        s = s + np.sum(x) * i
        if s > 5:
            break
    return s + np.sum(x)


def returns(x, n):
    for i in checkpointed_range(1, n, 2):
        x = x * 1.1
        if np.sum(x) > 1.8:
            return np.sum(x**2) * i
    return np.sum(x)


def has_else(x, n):
    for _ in checkpointed_range(n):
        x = np.sin(x)
        if np.sum(x) < 0.9:
            break
    else:
        x = x * 2
    return np.sum(x)


def appends(x, n):
    ys = [x]
    for i in checkpointed_range(n):
        x = np.sin(x) + 0.1
        ys.append(x * i)
    return np.sum(np.stack(ys) ** 2)


def comprehends(x, n):
    return np.sum(np.array([np.sin(x[i % 3] * i) for i in checkpointed_range(n + 1)]) ** 2)


def counts_down(x, n):
    d = {"a": x, "b": x**2}
    for i in checkpointed_range(n - 1, -1, -1):
        d = {"a": d["a"] * np.cos(d["b"]) + i, "b": d["b"] + 0.1 * d["a"]}
    return np.sum(d["a"] * d["b"])


def writes_into_a_dict(x, n):
    d = {"a": x.copy(), "b": x**2}
    for _ in checkpointed_range(n):
        d["a"] = d["a"] * np.cos(d["b"])
        d["b"][1:] += 0.1 * d["a"][1:]
    return np.sum(d["a"] * d["b"])


def nested(x, n):
    for _ in checkpointed_range(n):
        for j in checkpointed_range(3, every=2):
            x = np.sin(x) * (1 + 0.1 * j)
        for _ in range(2):
            x = x * np.cos(x)
    return np.sum(x)


def two_levels(x, n):
    for i in checkpointed_range(n, levels=2):
        x = np.sin(x) * 1.01 + 0.1 * i
    return np.sum(x)


def three_levels(x, n):
    for i in checkpointed_range(n, levels=3, every=2):
        x = np.sin(x) * 1.01 + 0.1 * i
    return np.sum(x)


def length_of_the_call(x, n):
    i = 0
    for i in checkpointed_range(n, every=n // 2 + 1):
        x = np.sin(x) * 1.01 + 0.1 * i
    return np.sum(x) + i


def step_of_the_call(x, n):
    for i in checkpointed_range(0, n, n % 3 + 1):
        x = np.sin(x) * 1.01 + 0.1 * i
    return np.sum(x)


def numbers(x, n):
    t, s = 0.0, np.sum(x)
    for i in checkpointed_range(n):
        s = s / (1 + s * s)
        t += s * x[i % 3]
    return t


def swaps(x, n):
    a, b = x, x * 2
    for _ in checkpointed_range(n):
        a, b = b, np.sin(a)
    return np.sum(a * b)


def descends(s, k):
    return s if k == 0 else np.sin(descends(s * 1.1, k - 1))


def recursive(x, n):
    for _ in checkpointed_range(n):
        x = descends(x, 3)
    return np.sum(x)


def catches(x, n):
    for i in checkpointed_range(n):
        try:
            if i == 3:
                raise ValueError
            x = np.sin(x) * 2
        except ValueError:
            x = x * x
    return np.sum(x)


def inner_while(x, n):
    for _ in checkpointed_range(n):
        k = 0
        while np.sum(x) < 5 and k < 4:
            x = x * 1.5
            k += 1
        x = np.sin(x)
    return np.sum(x)


LOOPS = [
    stencil, breaks, returns, has_else, appends, comprehends, counts_down, writes_into_a_dict,
    nested, two_levels, three_levels, length_of_the_call, step_of_the_call, numbers, swaps,
    recursive, catches, inner_while,
]  # fmt: skip


@checkpoint
def layer(x, w, *, b=0.1):
    """A layer."""
    h = np.tanh(w @ x)
    return np.exp(-h * h) + b


@checkpoint
def two_results(x, w):
    if np.sum(x) > 1:
        return np.sin(x * w), 2.0
    return np.cos(x * w), np.sum(x)


class Net:
    def __init__(self, w):
        self.w = w

    @checkpoint
    def forward(self, x, k=2.0):
        return np.tanh(self.w @ x) * k


def layers(x, w):
    for _ in range(3):
        x = layer(x, w, b=0.2)
    return np.sum(x)


def several_results(x, w):
    y, s = two_results(x, w)
    z, t = checkpoint(lambda u: (u * w, u.sum()))(y)
    return np.sum(z) * s * t


def one_in_another(x, w):
    @checkpoint
    def outer(x):
        y = np.sin(x)
        return checkpoint(lambda q: np.exp(q * q))(y) * y

    return np.sum(outer(outer(x) * w[0]))


def twice(x, w):
    return np.sum(checkpoint(checkpoint(layer))(x, w))


def overwritten_later(x, w):
    x = x.copy()
    y = checkpoint(np.sin)(x)
    z = checkpoint(lambda v: np.exp(v) * v)(x)
    x[0] = 5.0
    x *= 2
    return np.sum(y * z * x)


def writes_into_its_argument(x, w):
    def change(v):
        v[1:] = v[1:] * v[:-1]
        v[0] *= 2
        return np.sum(v * v)

    x = x * 1.0
    s = checkpoint(change)(x)
    return s + np.sum(x * w[0])


def grows_its_argument(x, w):
    def grown(xs):
        xs.append(xs[-1] * 2)
        return [np.sin(q) * q for q in xs]

    xs = [x, x * 2]
    ys = checkpoint(grown)(xs)
    return np.sum(np.stack(ys)) + np.sum(xs[-1])


def fails(v):
    if v[0] > 100:
        raise ValueError("big")
    assert v.ndim == 1
    return np.sqrt(v) * v


def caught(x, w):
    try:
        y = checkpoint(fails)(x * 1000)
    except ValueError:
        y = checkpoint(fails)(x)
    return np.sum(y)


def containers(x, w):
    p = {"a": x, "b": [w, w * 2]}
    q = checkpoint(lambda p: {"s": np.sin(p["a"]), "t": (p["b"][0] @ p["a"], p["b"][1])})(p)
    return np.sum(q["s"] * q["t"][0]) + np.sum(q["t"][1])


def masked(x, w):
    y = checkpoint(np.log)(x - 0.3)
    return np.sum(np.where(x > 0.3, y, 0.0)) + np.sum(w)


def noisy(x, w):
    rng = np.random.default_rng(7)
    for i in checkpointed_range(7, levels=2):
        x = np.sin(x) * rng.normal(1.0, 0.1, size=3)
        if rng.random() < 0.3:
            x = x * 2
        x = x * np.random.default_rng(i).uniform(0.9, 1.1)
    return np.sum(x * w[0])


def drops_out(x, w, rng=np.random.RandomState(5)):  # noqa: B008 - one generator, on purpose
    def dropped(x):
        kept = rng.uniform(size=x.shape) < 0.5
        return np.where(kept, np.tanh(x) * x, 0.1 * x) * random.uniform(0.9, 1.1)

    for _ in range(3):
        x = checkpoint(dropped)(x) + x
    return np.sum(checkpoint(dropped)(x) * w[0]) + rng.uniform()


CALLS = [
    layers, several_results, one_in_another, twice, overwritten_later, writes_into_its_argument,
    grows_its_argument, caught, containers, noisy,
]  # fmt: skip
