"""Second derivatives of lists of records, fields of which get a derivative later."""

from dataclasses import dataclass

import numpy as np
import pytest

import srcad

X = np.array([0.6, 1.1, 0.3])


def dicts(x):
    records = []
    for k in range(3):
        records.append({"w": x[k], "g": 0.0})
    for r in records:
        r["g"] = r["w"] * x[0]
    for k in range(3):
        records[k]["w"] -= 0.1 * records[k]["g"]
    return sum(r["w"] ** 2 for r in records)


@dataclass
class Weight:
    w: float
    g: float


def objects(x):
    records = []
    for k in range(3):
        records.append(Weight(x[k], 0.0))
    for r in records:
        r.g = r.w * x[0]
    for k in range(3):
        records[k].w -= 0.1 * records[k].g
    return sum(r.w**2 for r in records)


class Plain:
    def __init__(self, w):
        self.w, self.kept = w, None


def fields_of_none(x):
    records = [Plain(x[k]) for k in range(3)]
    for r in records:
        r.kept = r.w * x[0]
    return sum(r.w**2 * r.kept for r in records)


def tuples(x):
    pairs = []
    for k in range(3):
        pairs.append((x[k], 0.0))
    for k in range(3):
        pairs[k] = (pairs[k][0], pairs[k][0] * x[0])
    for k in range(3):
        pairs[k] = (pairs[k][0] - 0.1 * pairs[k][1], pairs[k][1])
    return sum(p[0] ** 2 for p in pairs)


def nested(x):
    records = []
    for k in range(3):
        records.append({"w": x[k], "more": (0.0, 1.0)})
    for r in records:
        r["more"] = (r["w"] * x[0], r["w"] * x[1])
    for k in range(3):
        records[k]["w"] -= 0.1 * records[k]["more"][0] * records[k]["more"][1]
    return sum(r["w"] ** 2 for r in records)


def written_for_some(x):
    records = []
    for k in range(3):
        records.append(Weight(x[k], 0.0))
    for k in range(3):
        if k % 2 == 0:
            records[k].g = records[k].w ** 2
    return sum(r.g * r.w for r in records)


def written_on_data(x):
    records = []
    for k in range(3):
        records.append(Weight(x[k], 0.0))
    for r in records:
        if r.w > 0.5:
            r.g = r.w**2 * x[0]
    return sum((r.g + 1.0) * r.w**2 for r in records)


def skipped(x):
    records = [Weight(w, 0.0) for w in x]
    k = 0
    while k < 3:
        k += 1
        if records[k - 1].w > 1.0:
            continue
        records[k - 1].g += records[k - 1].w ** 3
    return sum(r.g * r.w for r in records)


@dataclass
class Layer:
    weight: Weight
    bias: float


def nested_dataclass(x):
    layers = []
    for k in range(3):
        layers.append(Layer(Weight(0.0, 1.0), x[k]))
    for layer in layers:
        layer.weight = Weight(layer.bias**2, layer.bias * x[0])
    return sum(layer.weight.w * layer.weight.g * layer.bias for layer in layers)


def nested_dataclass_for_some(x):
    layers = []
    for k in range(3):
        layers.append(Layer(Weight(0.0, 1.0), x[k]))
    for k in range(3):
        if k != 1:
            layers[k].weight = Weight(layers[k].bias ** 2, 2.0)
    return sum(layer.weight.w * layer.weight.g * layer.bias for layer in layers)


def nested_dicts_for_some(x):
    records = []
    for k in range(3):
        records.append({"w": x[k], "more": {"g": 0.0, "c": 1.0}})
    for k in range(3):
        if k != 1:
            records[k] = {"w": x[k], "more": {"g": records[k]["w"] ** 2, "c": 1.0}}
    return sum(r["w"] * (r["more"]["g"] + r["more"]["c"]) for r in records)


def differences(function, x, h=1e-4):
    """Return the second differences of a function."""
    steps = h * np.eye(x.size)
    return np.array(
        [
            [
                (
                    function(x + a + b)
                    - function(x + a - b)
                    - function(x - a + b)
                    + function(x - a - b)
                )
                / (4 * h * h)
                for a in steps
            ]
            for b in steps
        ]
    )


@pytest.mark.parametrize(
    "function",
    [
        dicts,
        objects,
        fields_of_none,
        tuples,
        nested,
        written_for_some,
        written_on_data,
        skipped,
        nested_dataclass,
        nested_dataclass_for_some,
        nested_dicts_for_some,
    ],
)
def test_second_derivatives_of_list_of_records(function):
    wanted = differences(function, X)
    np.testing.assert_allclose(srcad.hessian(function)(X), wanted, rtol=1e-6, atol=1e-6)
    v = np.array([1.0, -0.5, 2.0])
    product = srcad.hvp(function)(X, v=v)
    np.testing.assert_allclose(product, wanted @ v, rtol=1e-6, atol=1e-6)
