"""Dicts whose keys are known only at the call."""

from __future__ import annotations

import copy
from collections import Counter, OrderedDict, defaultdict
from typing import Any

import numpy as np
import pytest

import srcad
from tests.adapter import evaluated_as_compiled
from tests.language import assert_program, named
from tests.marks import named_some
from tests.numeric import assert_close, difference

X = np.array([0.3, -0.7, 1.2, 0.5, 0.9])
TABLE = np.array([[0.3, -0.7, 1.2], [0.5, 0.9, -0.4]])
NAMES = ["a", "bb", "a", "ccc", "bb"]
YEARS = np.array([2020, 2021, 2020, 2023, 2021])


# ------------------------------------------------------------------------------ written
def from_a_comprehension(x):
    d = {i: v * v for i, v in enumerate(x)}
    s = 0.0
    for i in range(len(x)):
        s = s + d[i] * d[len(x) - 1 - i]
    return s


def of_some_items(x):
    d = {i: v for i, v in enumerate(x)}
    positive = {k: v * v for k, v in d.items() if v > 0}
    return sum(positive.values())


def curve(rates, years):
    curve, factor = {}, 1.0
    for year, rate in zip(years, rates):
        factor = factor / (1.0 + rate * 0.1)
        curve[year] = factor
    return sum(curve[year] * year for year in years)


def by_pairs(table):
    d = {}
    n, m = table.shape
    for i in range(n):
        for j in range(m):
            d[i, j] = table[i, j] ** 2
    s = 0.0
    for i in range(n):
        for j in range(m):
            s += d[i, j] * d[n - 1 - i, j]
    return s


def by_text(x):
    d = {}
    for i, v in enumerate(x):
        d[f"w{i}"] = v * v
    return d["w0"] * d[f"w{len(x) - 1}"]


def zipped(x, names):
    d = dict(zip(names, x))
    return sum(d[name] ** 2 for name in names)


def displayed(x, names):
    d = {"all": 1.0, names[0]: x[0], names[1] + "!": x[1]}
    e = {**d, len(names): x[2]}
    return e["all"] * e["a"] * e["bb!"] * e[5]


def recurrent(weights, x):
    states = {}
    states[-1] = np.copy(weights[0])
    for t in range(len(x)):
        states[t] = np.tanh(weights @ states[t - 1] + x[t])
    return sum(np.sum(states[t] ** 2) for t in range(len(x)))


def table_of_values(x):
    memo = {0: x[0], 1: x[1]}
    for n in range(2, len(x) + 3):
        memo[n] = memo[n - 1] * memo[n - 2] + x[n % len(x)]
    return memo[len(x) + 2]


def on_one_path(x):
    d = {}
    for i, v in enumerate(x):
        if v > 0:
            d[i] = v * v
        else:
            d["negative"] = v * 3
    return sum(d.values())


def equal_keys(x):
    d = {1: x[0]}
    for i in range(len(x)):
        d[i * 1.0] = x[i] * 2
    return d[1] * d[True] * d[np.int64(2)] * len(d)


def of_two_names(x):
    d = {}
    e = d
    for i, v in enumerate(x):
        d[i] = v
        e[i] = e[i] * v
    return d[2] * e[3]


def made_by_a_helper(x):
    def made():
        return {i: v * v for i, v in enumerate(x)}

    def total(d, weight):
        s = 0.0
        for k in d:
            s += d[k] * weight * k
        return s

    d = made()
    d[0] = x[1]
    return total(d, x[2])


def chars(x, text):
    place = {c: i for i, c in enumerate(sorted(set(text)))}
    s = 0.0
    for c in text:
        s = s + x[place[c] % 5] ** 2
    return s


# ------------------------------------------------------------------------------ accumulated
def summed_by_get(x, names):
    d = {}
    for name, v in zip(names, x):
        d[name] = d.get(name, 0.0) + v * v
    return sum(v * v for v in d.values())


def summed_where_found(x, years):
    d = {}
    for year, v in zip(years, x):
        if year not in d:
            d[year] = 0.0
        d[year] += v * v
    out = 1.0
    for year, v in d.items():
        out = out * (year + v)
    return out


def summed_by_default(x, names):
    d = defaultdict(float)
    for name, v in zip(names, x):
        d[name] += v * v
    return sum(v * v * len(k) for k, v in d.items()) + d["never"]


def multiplied_unless_missing(x, years):
    d = {}
    for year, v in zip(years, x):
        try:
            d[year] = d[year] * v
        except KeyError:
            d[year] = v
    return sum(v**2 for v in d.values())


def grouped(x, years):
    d = {}
    for year, v in zip(years, x):
        d.setdefault(year, []).append(v)
    return sum(np.var(np.array(values)) for values in d.values())


def grouped_by_default(x, names):
    d = defaultdict(list)
    for name, v in zip(names, x):
        d[name].append(v * v)
    s = 0.0
    for values in d.values():
        s = s + np.prod(np.array(values))
    return s


def counted(x, names):
    c = Counter()
    for name, v in zip(names, x):
        c[name] += v * v
    return sum(v**2 for v in c.values()) + c["never"]


def dicts_in_a_dict(x):
    d = defaultdict(lambda: defaultdict(float))
    for i, v in enumerate(x):
        d[i % 2][i % 3] += v * v
    s = 0.0
    for k in d:
        for j, v in d[k].items():
            s += v * (k + 1) * j
    return s


def arrays_summed(table, keys):
    d = {}
    for k, row in zip(keys, table):
        d[k] = d.get(k, np.zeros(3)) + row**2
    return sum(np.sum(v**2) for v in d.values())


# ------------------------------------------------------------------------------ read
def views_follow(x):
    d = {i: v for i, v in enumerate(x)}
    values = d.values()
    d[0] = 3.0 * x[1]
    d[99] = x[2]
    return sum(values) * len(values)


def written_while_read(x):
    d = {i: v for i, v in enumerate(x)}
    for k, v in d.items():
        d[(k + 1) % len(x)] *= v
    s = 0.0
    for v in d.values():
        s = s * 0.5 + v
    return s


def greatest(x):
    d = {i: v * v for i, v in enumerate(x)}
    most, least = max(d, key=d.get), min(d, key=lambda k: d[k])
    return d[most] * 3 + d[least] * most + least + max(d.values())


def in_sorted_order(x):
    d = {-i: v * v for i, v in enumerate(x)}
    s = 0.0
    for place, (k, v) in enumerate(sorted(d.items(), key=lambda pair: pair[1])):
        s = s + place * v + k * d[sorted(d)[place]]
    return s


def as_an_array(x):
    d = {i: v * v for i, v in enumerate(x)}
    return np.sum(np.sin(np.array(list(d.values())))) * np.array([d[k] for k in sorted(d)])[1]


def tuples(x):
    d = {}
    for i, v in enumerate(x):
        d[i] = (v, v * v)
    s = 0.0
    for a, b in d.values():
        s += a * b
    return s


# ------------------------------------------------------------------------------ taken out
def deleted_and_stored_again(x):
    d = {}
    for i, v in enumerate(x):
        d[i] = v * v
    for i in range(len(x)):
        if i % 2:
            del d[i]
    d[1] = x[0]
    s = 0.0
    for place, (k, v) in enumerate(d.items()):
        s = s + (place + 1) * v * (k + 1)
    return s


def minus_one_deleted(x):
    d = {i - 1: v for i, v in enumerate(x)}
    del d[-1]
    return sum(d.values()) * x[0]


def popped(x):
    d = {i: v**3 for i, v in enumerate(x)}
    s = d.pop(1) + d.pop(77, 2.0)
    while d:
        k, v = d.popitem()
        s = s * 0.5 + v * k
    return s


def copies(x):
    d = {i: v for i, v in enumerate(x)}
    e, f, g = d.copy(), dict(d), copy.deepcopy(d)
    e[0], f[1], g[2] = 5 * x[1], 7 * x[2], x[0] ** 2
    return sum(d.values()) + e[0] * f[1] * g[2] * d[0] * len(e)


def updated(x):
    d = {i: v for i, v in enumerate(x)}
    d.update({i + 2: v * v for i, v in enumerate(x)})
    d |= {i + 3: v + 1 for i, v in enumerate(x)}
    s = 0.0
    for i, v in enumerate((d | {0: x[0]}).values()):
        s += v * (i + 1)
    return s


def rearranged(x, names):
    d = OrderedDict()
    for name, v in zip(names, x):
        d[name] = v * v
        d.move_to_end(name)
    s = 0.0
    for i, v in enumerate(d.values()):
        s += (i + 1) * v
    return s + d.popitem(last=False)[1]


# ------------------------------------------------------------------------------ held elsewhere
class Memo:
    def __init__(self):
        self.cache = {}
        self.hits = 0

    def get(self, k, x):
        if k in self.cache:
            self.hits += 1
            return self.cache[k]
        self.cache[k] = x * x * k
        return self.cache[k]


def in_an_object(x):
    memo = Memo()
    s = 0.0
    for i, v in enumerate(x):
        s += memo.get(i % 3, v)
    return s * memo.hits


def in_a_closure(x):
    d = {}

    def add(k, v):
        d[k] = d.get(k, 0.0) + v * v

    for i, v in enumerate(x):
        add(i % 2, v)
    return d[0] * d[1]


def in_a_list(x):
    tables = []
    for i, v in enumerate(x):
        d = {}
        for j in range(i + 1):
            d[j] = v * x[j]
        tables.append(d)
    s = 0.0
    for d in tables:
        for k, v in d.items():
            s += k * v
    tables[0][0] = x[1]
    tables[1][77] = x[2]
    return s + tables[0][0] * tables[1][77] * len(tables[1])


def of_records(x):
    d = {}
    for i, v in enumerate(x):
        d[i] = {"price": v, "volume": v * v, "count": 1}
    s = 0.0
    for k in d:
        s += d[k]["price"] * d[k]["volume"]
        d[k]["count"] = d[k]["count"] + 1
    return s * d[0]["count"]


def swapped(x):
    a, b = {}, {}
    for i, v in enumerate(x):
        a[i] = v
        a, b = b, a
    return sum(a.values()) * 2 + sum(b.values()) * sum(a.keys())


def made_anew_now_and_then(x):
    d = {}
    s = 0.0
    for i, v in enumerate(x):
        if i % 2 == 0:
            d = {}
        d[i] = v * v
        s += sum(d.values()) * len(d)
    return s


def left_early(x):
    d = {}
    for i, v in enumerate(x):
        d[i] = v * 2
        if v > 1:
            return d[i] * d[0]
    return d[1]


def where_something_was(x):
    d = {}
    s = 0.0
    for i, v in enumerate(x):
        before = d.get(i - 1)
        if before is not None:
            s += before * v
        d[i] = v
    return s


def lists_written_through_it(x):
    d = {}
    for i in range(len(x)):
        d[i] = [x[i]]
    for values in d.values():
        values.append(x[1])
    for k in d:
        d[k][0] *= x[2]
    return sum(d[3]) * sum(d[0])


def from_keys(x):
    d = dict.fromkeys(range(len(x)), 0.0)
    for i, v in enumerate(x):
        d[i] += v * v
    return sum(d.values())


# ------------------------------------------------------------------------------ written through
def one_hot(weights):
    inputs = [int(k) for k in np.argsort(weights[:, 0])]
    xs, hs, ps = {}, {}, {}
    hs[-1] = np.copy(weights[0])
    loss = 0.0
    for t in range(len(inputs)):
        xs[t] = np.zeros((4,))
        xs[t][inputs[t]] = 1
        hs[t] = np.tanh(weights[:3] @ hs[t - 1] + xs[t][:3])
        ys = weights @ hs[t]
        ps[t] = np.exp(ys) / np.sum(np.exp(ys))
        loss += -np.log(ps[t][inputs[t]])
    return loss


def by_its_own_name(table):
    d = {}
    s = 0.0
    for i in range(len(table)):
        row = table[i] * 2
        d[i] = row
        part = d[i][1:]
        row[0] = table[i, 2] ** 2
        part[0] = row[0] * table[0, 0]
        s += row[1] * d[i][0]
    return s + sum(np.sum(v**2) * (k + 2) for k, v in d.items())


def entry_by_entry(table):
    d = {}
    for i in range(len(table)):
        d[i] = np.zeros(3)
        for j in range(3):
            d[i][j] = table[i, j] * table[0, j]
    return sum(np.sum(v**2) * (k + 2) for k, v in d.items())


def of_names_that_a_trip_adds(x):
    d = {}
    for v in x:
        d["last"] = v * v
        d["sum"] = d.get("sum", 0.0) + d["last"]
    return d["sum"] * d["last"]


PROGRAMS: list[tuple[Any, ...]] = [
    (from_a_comprehension, X), (of_some_items, X), (curve, X, YEARS), (by_pairs, TABLE),
    (by_text, X), (zipped, X, NAMES), (displayed, X, NAMES), (table_of_values, X),
    (recurrent, TABLE[:, :2], TABLE[:, :2]), (on_one_path, X), (equal_keys, X), (of_two_names, X),
    (made_by_a_helper, X), (chars, X, "hello world"), (summed_by_get, X, NAMES),
    (summed_where_found, X, YEARS), (summed_by_default, X, NAMES),
    (multiplied_unless_missing, X, YEARS), (grouped, X, YEARS), (grouped_by_default, X, NAMES),
    (counted, X, NAMES), (dicts_in_a_dict, X), (arrays_summed, TABLE, np.array([0, 0])),
    (views_follow, X), (written_while_read, X), (greatest, X), (in_sorted_order, X),
    (as_an_array, X), (tuples, X), (deleted_and_stored_again, X), (minus_one_deleted, X),
    (popped, X), (copies, X), (updated, X), (rearranged, X, NAMES), (in_an_object, X),
    (in_a_closure, X), (in_a_list, X), (of_records, X), (swapped, X), (made_anew_now_and_then, X),
    (left_early, X), (where_something_was, X), (lists_written_through_it, X), (from_keys, X),
    (one_hot, np.vstack([TABLE, -TABLE + 0.1])), (by_its_own_name, TABLE), (entry_by_entry, TABLE),
    (of_names_that_a_trip_adds, X),
]  # fmt: skip


@pytest.mark.parametrize(**named(PROGRAMS))
def test_dict_with_dynamic_keys_gradient(program: tuple[Any, ...]) -> None:
    f, *args = program
    want = f(*args)

    gradient = srcad.value_and_grad(f)
    value, slope = gradient(*args)
    in_ir = evaluated_as_compiled(gradient, *args)

    assert_close([value, in_ir], [want, want], rtol=0, atol=0)
    assert_close(slope, difference(f, tuple(args), 0), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "f", named_some([summed_by_get, summed_by_default, grouped_by_default], ["summed_by_get"])
)
def test_dict_with_dynamic_keys_second_derivative(f: Any) -> None:
    def slope(x: Any) -> Any:
        return np.sum(np.cos(srcad.grad(f)(x, NAMES)))

    assert_program(slope, X)


def test_dict_with_static_keys_resolved_statically():
    def f(x):
        d = {}
        for k in range(3):
            d[k] = x[k] * k
        return d[1] * d[2]

    g = srcad.grad(f)
    g(X)

    assert "places" not in g.source


def test_missing_dynamic_key_raises_key_error():
    def f(x, n):
        d = {i: v for i, v in enumerate(x)}
        return d[n] * d.pop(0)

    with pytest.raises(KeyError, match="7"):
        srcad.grad(f)(X, 7)
    assert_close(srcad.grad(f)(X, 1), np.array([X[1], X[0], 0.0, 0.0, 0.0]))


def test_dict_with_dynamic_keys_returned_as_aux():
    def f(x):
        d = {i: v * v for i, v in enumerate(x)}
        return d[0], d

    (value, aux), _ = srcad.value_and_grad(f, has_aux=True)(X)

    assert type(aux) is dict
    assert aux == f(X)[1]
    assert value == aux[0]


def test_dict_with_dynamic_keys_as_result_rejected():
    def f(x):
        return {i: v * v for i, v in enumerate(x)}

    with pytest.raises(srcad.errors.UnsupportedTypeError, match="keys are known only at run time"):
        srcad.pullback(f, X)


def test_dict_with_dynamic_keys_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x):
        d = {i: float(v) for i, v in enumerate(x)}
        print(d, d.keys(), [d])
        return d[0]

    srcad.grad(f)(X)

    shown = str({i: float(v) for i, v in enumerate(X)})
    assert capsys.readouterr().out == f"{shown} dict_keys([0, 1, 2, 3, 4]) [{shown}]\n"


def test_augmented_assignment_with_stateful_getitem():
    class Sums:
        def __init__(self):
            self.items = [0.0, 0.0]
            self.asked = 0.0

        def __getitem__(self, k):
            self.asked = self.asked + 1
            return self.items[k]

        def __setitem__(self, k, v):
            self.items[k] = v

    def f(x):
        sums = Sums()
        sums[0] += x[0]
        sums[0] += x[1]
        return sums.items[0] ** 2 * sums.asked

    assert_program(f, X)


def held_twice(table):
    d, e = {}, []
    for i in range(len(table)):
        row = table[i] * 2
        e.append(row)
        d[i] = row
        d[i][0] = table[i, 1]
    return np.sum(d[0]) + np.sum(e[0])


def made_before_the_loop(table):
    d = {}
    row = table[0] * 2
    for i in range(len(table)):
        d[i] = row
        d[i][0] = table[i, 1]
    return np.sum(d[0] ** 2)


def copied_before(table):
    d = {}
    s = 0.0
    for i in range(len(table)):
        row = table[i] * 2
        d[i] = row
        e = d.copy()
        row[0] = table[i, 1]
        s += np.sum(e[i])
    return s


@pytest.mark.parametrize("f", [held_twice, made_before_the_loop, copied_before])
def test_write_through_dict_into_shared_array_rejected(f: Any) -> None:
    with pytest.raises(srcad.errors.MutationError):
        srcad.grad(f)(np.vstack([TABLE, TABLE, TABLE, TABLE, TABLE, TABLE, TABLE, TABLE, TABLE]))


def test_iteration_over_active_dict_keys_rejected():
    def f(x):
        d = {}
        for v in x:
            d[v] = v * v
        s = 0.0
        for k in d:
            s = s + k
        return s

    with pytest.raises(srcad.errors.UnsupportedTypeError, match="keys of a dict"):
        srcad.grad(f)(X)


def test_active_values_as_dict_keys_lookup():
    def f(x):
        d = {}
        for v in x:
            d[v] = v * v
        return sum(d.values()) * d[x[0]]

    assert_program(f, X)


def table_read_by_a_computed_key(x):
    return np.sum(TABLE[int(3 * x[0])] * x) + np.sum(TABLE[len(x) - 3])


def table_read_in_a_loop(x, rows):
    total = 0.0
    for k, v in zip(rows, x):
        total = total + v * np.sum(TABLE[k])
    return total


TABLE = {0: np.ones(3), 1: np.arange(3.0), 2: np.arange(3.0) ** 2}


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (table_read_by_a_computed_key, (np.array([0.5, 0.7, 1.1]),)),
        (table_read_in_a_loop, (np.array([0.5, 0.7, 1.1]), np.array([2, 0, 2]))),
    ],
)
def test_external_dict_accessed_directly(f, args):
    assert_program(f, *args)
    assert "TABLE[" in srcad.grad(f).inspect(*args).adjoint_source
