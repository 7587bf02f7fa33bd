"""Dicts and sets that are written into."""

from __future__ import annotations

import numpy as np

from tests.corpus.lists import weighted
from tests.corpus.points import at

V = np.array([0.3, -0.7, 1.1, 0.5])


# ------------------------------------------------------------------------- dicts
@at(0.7, 1.3)
def dict_methods(a, b):
    """The methods of a dict of known keys."""
    d = {"p": a}
    d["q"] = a * b
    d.update({"r": b}, s=a + b)
    d.update([("t", a * a)])
    v = d.pop("p")
    w = d.pop("none", 2.0 * a)
    u = d.setdefault("u", a**3)
    u2 = d.setdefault("q", 1.0)
    d |= {"q": d["q"] * 2.0}
    e = d | {"z": b}
    del d["r"]
    _, last = d.popitem()
    d["s"] += a
    total = weighted(d.values())
    f = dict(d)
    d.clear()
    return total + v * w * u * u2 + e["z"] * e["q"] + last + len(f) + len(d) + ("q" in f) * a


@at(V)
def dict_in_a_loop(x):
    """A dict of sums and lists."""
    acc = {"positive": 0.0, "negative": 0.0, "seen": []}
    for e in x:
        if e > 0:
            acc["positive"] += e * e
        else:
            acc["negative"] = acc["negative"] * 0.5 + e
        acc["seen"].append(e * acc["positive"])
    return acc["positive"] * acc["negative"] + weighted(acc["seen"])


@at(V)
def memo(x):
    """A dict that keeps what was computed."""
    known = {0: x[0], 1: x[1]}
    for k in range(2, 6):
        known[k] = known[k - 1] * x[2] + known[k - 2]
    return known[5]


@at(V)
def items_replaced_in_a_loop(x):
    """Items replaced while a loop goes over them."""
    xs = [e for e in x]
    for i, v in enumerate(xs):
        xs[i] = v * 2.0 + (xs[i - 1] if i else 0.0)
    few = [x[0], x[1], x[0] * x[1]]
    for i, v in enumerate(few):
        few[i] = v * 2.0
        if i < 2:
            few[i + 1] = few[i + 1] + v
    totals = {"a": x[0], "b": x[1]}
    for key in totals:
        totals[key] = totals[key] * 2.0 + few[0]
    return weighted(xs) + few[0] * few[1] + few[2] * totals["a"] * totals["b"]


@at(V)
def records_in_a_list(x):
    """Dicts in a list, written by two loops."""
    records = []
    for k in range(4):
        records.append({"w": x[k], "g": 0.0})
    for r in records:
        r["g"] = r["w"] * 2.0
    for k in range(4):
        records[k]["w"] -= 0.1 * records[k]["g"]
    return sum(r["w"] ** 2 for r in records)


@at(V)
def counted_in_a_set(x):
    """A set that grows in a loop."""
    seen, t = set(), 0.0
    for k in [1, 2, 1, 3, 2]:
        if k in seen:
            continue
        seen.add(k)
        t = t + x[k] ** 2
    return t * len(seen)
