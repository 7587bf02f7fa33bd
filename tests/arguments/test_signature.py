"""From values to types."""

import collections
import dataclasses
import enum
from typing import NamedTuple

import numpy as np
import pytest

from srcad import errors, grad
from srcad.arguments.signature import describe, generic
from srcad.types.numeric import Numeric
from srcad.types.sizes import ShapeEnvironment, at_least, is_one, same
from srcad.types.sources import Unreadable, read
from srcad.types.structures import Fixed, ListOf, Opaque, TupleOf

P = (("param", "p"),)


def shown(value):
    return str(describe(value, P, ShapeEnvironment()))


class Point(NamedTuple):
    x: float
    y: object


@dataclasses.dataclass
class Layer:
    W: np.ndarray
    b: np.ndarray
    name: str = "dense"

    def __post_init__(self):
        if self.W is None:
            raise ValueError


class Mode(enum.IntEnum):
    FAST = 1


class Odd(np.ndarray):
    pass


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.5, "float"),
        (3, "int"),
        (2j, "complex"),
        (np.float32(1), "float32"),
        (np.float64(1), "float64"),
        (np.bool_(True), "bool"),
        (np.ones((2, 3)), "float64[p_0, p_1]"),
        (np.ones(()), "float64[]"),
        (np.ones(4, np.int8), "int8[p_0]"),
        (True, "=True"),
        (None, "=None"),
        ("sum", "str"),
        (np.tanh, "=tanh"),
        (Mode.FAST, "=Mode.FAST"),
        ((1.0, np.ones(2)), "(float, float64[p1_0])"),
        ({"W": np.ones(2), "b": 0.5}, "dict(W: float64[pW_0], b: float)"),
        (Point(1.0, None), "Point(x: float, y: =None)"),
        (Layer(np.ones(2), np.ones(1)), "Layer(W: float64[pW_0], b: float64[pb_0], name: str)"),
        ([], "list[undefined]"),
        ([1.0, 2.0], "list[float]"),
        ([1, 2], "list[int]"),
        ([np.ones(2), np.ones(3)], "list[float64[p_0]]"),
        ([np.ones(2), np.ones((3, 3))], "list[float64[...]]"),
        ([(np.ones((2, 3)), np.ones(3))], "list[(float64[p0_0, p0_1], float64[p1_0])]"),
        ([np.tanh, np.sin], "(=tanh, =sin)"),
        ([(1.0, np.tanh), (2.0, np.tanh)], "list[(float, =tanh)]"),
        ([(1.0, np.tanh), (2.0, np.sin)], "((float, =tanh), (float, =sin))"),
        ([1.0, None], "(float, =None)"),
        (["a"] * 100 + ["b"], "list[object]"),
        ([[1.0], [2.0, 3.0]], "list[list[float]]"),
        (collections.OrderedDict(a=1.0), "OrderedDict"),
        (np.ones(2).view(Odd), "Odd"),
        (np.array([object()]), "ndarray"),
        (np.array([{}]), "ndarray"),
        (object(), "object"),
        (range(3), "range"),
    ],
)
def test_the_type_of_a_value(value, expected):
    assert shown(value) == expected


def test_mixed_number_list_has_common_type():
    type_ = describe([1, 2.5], P, ShapeEnvironment())

    joined = frozenset(map(np.dtype, (np.int64, float)))
    assert type_ == ListOf(Numeric(None, (), "python", joined=joined))
    assert str(type_) == "list[float|int]"


def test_lengths_are_symbols_with_source_path():
    type_ = describe((np.ones((2, 3)),), P, ShapeEnvironment())

    ((symbol, _),) = type_.items[0].shape[1].terms
    assert (symbol.example, symbol.source) == (3, (*P, ("item", 0), ("shape", 1)))


def test_equal_lengths_are_assumed_equal_and_recorded():
    environment = ShapeEnvironment()
    x = describe(np.ones((7, 3)), P, environment)
    w = describe(np.ones((3, 1)), (("param", "w"),), environment)

    assert same(x.shape[1], w.shape[0])
    assert is_one(w.shape[1])
    assert at_least(x.shape[0], 2)
    assert [(str(a.left), a.relation, str(a.right)) for a in environment.assumptions] == [
        ("p_1", "==", "w_0"), ("w_1", "==", "1"), ("p_0", ">=", "2"),
    ]  # fmt: skip


def test_lengths_of_all_items_of_a_list_are_one_symbol():
    environment = ShapeEnvironment()
    layers = describe(
        [(np.ones((2, 3)), np.ones(3)), (np.ones((3, 4)), np.ones(4))], P, environment
    )
    weight, bias = layers.item.items

    assert same(weight.shape[1], bias.shape[0])
    ((symbol, _),) = weight.shape[0].terms
    assert symbol.example == (2, 3)
    assert read(symbol.source, None, {"p": [(np.ones((5, 1)), 0)]}) == [5]


def test_texts_are_equal_by_value_and_callables_by_identity():
    assert Fixed("ab") == Fixed("".join(["a", "b"]))
    assert Fixed(True) != Fixed(1)
    assert describe(len, P, ShapeEnvironment()) == Fixed(len)


def test_generic_type_omits_lengths():
    type_ = describe({"x": np.ones(3), "n": 4, "l": [1.0]}, P, ShapeEnvironment())

    assert str(generic(type_)) == "dict(x: float64[...], n: int, l: list[float])"
    assert generic(type_).items[1].value is None


def test_deep_nesting_described_as_opaque():
    value = 1.0
    for _ in range(40):
        value = (value,)

    assert "object" in shown(value)


def test_dataclass_with_missing_field_described_as_opaque():
    layer = object.__new__(Layer)

    assert isinstance(describe(layer, P, ShapeEnvironment()), Opaque)


def test_large_dict_described_as_opaque():
    assert isinstance(describe(dict.fromkeys(range(1000), 1.0), P, ShapeEnvironment()), Opaque)


SCALE = 2.0


def outer(a, b=3, *, c=4):
    k = [5.0]

    def inner(x):
        return x * k[0] * SCALE

    return inner


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ((("param", "x"), ("item", "W"), ("shape", 1)), 2),
        ((("global", "SCALE"),), 2.0),
        ((("global", "len"),), len),
        ((("global", "np"), ("attr", "pi")), np.pi),
        ((("cell", "k"), ("item", 0)), 5.0),
        ((("global", "outer"), ("default", 0)), 3),
        ((("global", "outer"), ("global", "SCALE")), 2.0),
    ],
)
def test_value_at_path(path, expected):
    assert read(path, outer(1), {"x": {"W": np.ones((1, 2))}}) == expected


def test_defaults_at_path_use_current_value():
    assert read((("default", 0),), outer) == 3
    assert read((("kwdefault", "c"),), outer) == 4


@pytest.mark.parametrize(
    "path", [(("global", "missing"),), (("cell", "k"), ("item", 9)), (("default", 1),)]
)
def test_invalid_path_raises_unreadable(path):
    with pytest.raises(Unreadable):
        read(path, outer(1))


def test_the_same_pattern_has_the_same_text():
    assert isinstance(describe((1.0,), P, ShapeEnvironment()), TupleOf)
    assert shown(np.ones((2, 2))) == shown(np.ones((9, 1)))


def test_oversized_dict_argument_error_message() -> None:
    """It was said to have no derivative."""
    many = {f"k{k}": np.ones(2) for k in range(300)}

    with pytest.raises(errors.UnsupportedTypeError, match="a dict of more than 256 entries"):
        grad(lambda p: np.sum(p["k0"]))(many)
