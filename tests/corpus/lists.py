"""Lists that are written into."""

from __future__ import annotations

import math

import numpy as np

from tests.corpus.points import at

V = np.array([0.3, -0.7, 1.1, 0.5])


def weighted(items):
    return sum(v * (k + 1) for k, v in enumerate(items))


# ------------------------------------------------------------------------- lists of known items
@at(0.7, 1.3)
def methods(a, b):
    """The methods of a list of known length."""
    xs = [a, b]
    xs.insert(1, a * b)
    xs.insert(-1, a + b)
    v = xs.pop()
    w = xs.pop(0)
    xs.extend([v, w * v])
    xs.reverse()
    xs[0] = xs[0] * 2.0
    xs[-1] *= a
    del xs[1]
    ys = xs.copy()
    ys.append(a)
    xs[1:2] = [a, b, a * b]
    n = len(xs)
    s = weighted(xs)
    xs.clear()
    return s * n + sum(ys) + len(xs)


@at(0.7, 1.3)
def repetition(a, b):
    """Lists repeated and joined in place."""
    xs = [a] * 3 + 2 * [b]
    xs *= 2
    xs += [a * b]
    return weighted(xs)


@at(0.7, 1.3)
def sorted_by_a_constant(a, b):
    """Sorting by keys that are known."""
    xs = [(2, a), (0, b), (1, a * b)]
    xs.sort(key=lambda p: p[0])
    names = sorted({"z": a, "y": b})
    return xs[0][1] * xs[2][1] ** 2 * (names[0] == "y")


@at(0.7, 1.3)
def sorted_by_value(a, b):
    """Sorting by values that the call knows."""
    ys = sorted([a, b, a * b - 3.0])
    return weighted(ys)


@at(0.7, 1.3)
def searched(a, b):
    """Looking for constants in a list."""
    names = ["a", "b", "c", "a"]
    values = [a, b, a * b, 2.0 * b]
    k = names.index("b")
    names.remove("a")
    return values[k] * values[names.index("c")] + names.count("a") * a


@at(0.7, 1.3)
def shared_list(a, b):
    """One list in two others."""
    inner = [a]
    outer = [inner, 1.0]
    other = outer
    inner.append(a * b)
    outer.append(2.0 * b)
    outer[0].append(a**3)
    return other[0][1] * other[2] * inner[2] * len(other)


@at(0.7, 1.3)
def read_before_the_write(a, b):
    """A list that is read, then written, in one expression."""
    xs = [a, b, 3.0 * a]
    return sum(xs + [xs.pop()]) + sum(xs)


# ------------------------------------------------------------------------- lists of any length
@at(V)
def dynamic_methods(x):
    """The methods of a list whose length the call knows."""
    xs = [e for e in x]
    xs.insert(1, x[0] * x[1])
    v = xs.pop()
    w = xs.pop(0)
    u = xs.pop(-2)
    xs.extend([v, w * v, u])
    xs.reverse()
    xs[0] = xs[0] * 2.0
    xs[-1] *= x[0]
    del xs[1]
    ys = xs.copy()
    ys.append(x[1])
    xs[1:2] = [x[0], x[1]]
    s, n = weighted(xs), len(xs)
    xs.clear()
    return s * n + sum(ys) + len(xs)


@at(V)
def slices(x):
    """Slices of a list replaced and deleted."""
    xs = [e * e for e in x]
    del xs[1:3]
    xs[1:1] = [x[1]]
    xs[::2] = [x[0], x[3] * x[3]]
    xs[-1:] = [x[2], x[1] * x[0]]
    n = len(xs)
    xs[n - 1 : n] = (x[0], 2.0 * x[3])
    del xs[::3]
    return weighted(xs)


@at(V)
def places(x):
    """Places outside a list, and counted from its end."""
    xs = [e for e in x]
    n = len(x)
    xs.insert(n + 5, x[0])
    xs.insert(-n - 9, x[1])
    for k in range(n):
        xs.insert(k - 2, x[k] * x[k])
    del xs[n - 5]
    return weighted(xs)


@at(V)
def written_in_a_loop(x):
    """A list of zeros that a loop fills."""
    xs = [0.0] * 4
    for i in range(len(x)):
        xs[i] = x[i] * (xs[i - 1] + 1.0)
    return sum(xs) + xs[2] * xs[1]


@at(V)
def added_in_a_loop(x):
    """A list of zeros that a loop adds to, twice in one place."""
    xs = [0.0] * len(x)
    for i in range(len(x)):
        xs[i] += x[i] * 2.0
        xs[i // 2] += x[i] ** 2
    return sum(v * v for v in xs)


@at(V)
def grid(x):
    """A list of lists that two loops fill."""
    n = len(x)
    g = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            g[i][j] = x[i] * x[j] + i
    g[1][2] += x[0]
    return sum(sum(row) for row in g) * g[1][2]


@at(V)
def stack(x):
    """A list as a stack that grows and shrinks."""
    waiting, total, k = [x[0]], 0.0, 0
    while len(waiting) > 0:
        v = waiting.pop()
        total = total + v * v
        k = k + 1
        if k < 4:
            waiting.append(v * x[k])
            waiting.append(v + 1.0)
    return total


@at(V)
def queue(x):
    """A list as a queue."""
    q = [e for e in x]
    s = 0.0
    while q:
        v = q.pop(0)
        s = s * v + v
    return s


@at(V)
def popped_at_the_end(x):
    """The last of the items that were kept."""
    kept = []
    for e in x:
        if e > 0:
            kept.append(e * e)
    last = kept.pop()
    return last * sum(kept) + last


@at(V)
def joined(x):
    """Lists of unknown length joined and repeated."""
    xs = [e * e for e in x]
    ys = xs + [x[0]]
    zs = ys * 2
    zs += xs
    return weighted(zs)


@at(V)
def sorted_lists(x):
    """Lists of unknown length sorted in every way."""
    xs = [math.sin(3 * e) for e in x]
    ys = sorted(xs)
    zs = sorted(xs, reverse=True)
    ws = sorted(xs, key=lambda v: -v * v)
    xs.sort()
    return weighted(ys + zs + ws + xs)


@at(V)
def sorted_pairs(x):
    """Pairs sorted by their first."""
    pairs = [(math.cos(5 * e), e * e) for e in x]
    pairs.sort(key=lambda p: p[0])
    return sum(p[0] * p[1] * (k + 1) for k, p in enumerate(pairs))


@at(V)
def bubble_sort(x):
    """Items that change places in two loops."""
    xs = [e for e in x]
    xs[0], xs[-1] = xs[-1] * 2.0, xs[0]
    n = len(xs)
    for i in range(n):
        for j in range(n - 1 - i):
            if xs[j] > xs[j + 1]:
                xs[j], xs[j + 1] = xs[j + 1], xs[j]
    return weighted(xs)


@at(V)
def rows_of_arrays(x):
    """A list of arrays that is written, stacked and joined."""
    rows = []
    for k in range(3):
        rows.append(np.tanh(x * k))
    rows[1] = rows[0] + x
    rows.insert(0, x * x)
    last = rows.pop()
    a, b, c, d = np.stack(rows), np.concatenate(rows), np.array(rows), np.vstack(rows)
    return np.sum(a[0] * last) + np.sum(b**2) + np.sum(c * a) + np.max(d)


@at(V)
def stacked_after_writes(x):
    """A list of arrays that is stacked once all is written."""
    rows = [x * k for k in range(len(x))]
    rows.insert(1, x * x)
    rows.pop(0)
    rows += [np.sin(x)]
    rows[2] = x
    rows.pop()
    return np.sum(np.stack(rows) * np.arange(4.0)[:, None])


@at(V)
def put_first_and_filled_later(x):
    """A list that is put into another first and filled afterwards."""
    rows = []
    for e in x:
        row = [e]
        rows.append(row)
        row.append(e * e)
    return sum(r[0] * r[1] for r in rows)


@at(V)
def held_in_a_dict(x):
    """A list in a dict under another name."""
    buffer = []
    d = {"buffer": buffer, "n": 0}
    for e in x:
        d["buffer"].append(e * e)
        d["n"] += 1
    return sum(buffer) * d["n"]


def fill(xs, v):
    xs.append(v)
    xs[0] = xs[0] + v
    return len(xs)


@at(V)
def written_by_a_helper(x):
    """A helper that writes into the list that it is given."""
    xs = [x[1]]
    for e in x:
        fill(xs, e * e)
    return weighted(xs) * fill(xs, x[0])


@at(V)
def rows_in_a_loop(x):
    """Rows that are written and grow while a loop goes over them."""
    g = [[e, e * e] for e in x]
    for row in g:
        row[0] = row[0] * 2.0
        row.append(row[1] * row[0])
    return sum(sum(r) for r in g)
