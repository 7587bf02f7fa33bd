"""What the row of an operation says is what the operation does to real values."""

from __future__ import annotations

import ast
import copy
import inspect

import numpy as np
import pytest

from srcad import runtime
from srcad.ir import constructors, library_operations, primitives
from srcad.ir.core import Call, Const, Value
from srcad.ir.inference.builder import Builder, result_type
from srcad.ir.inference.raising import may_raise
from srcad.ir.operations import (
    ANYTHING,
    NONE,
    NOTHING,
    Builds,
    Fresh,
    Gathers,
    NewVersion,
    PartOf,
    SameAs,
    every,
    operation_of,
)
from srcad.types.numeric import FLOAT
from srcad.types.structures import OPAQUE, TupleOf

PRIMITIVES = [f for f in every(primitives.is_primitive)]
LIBRARY = [f for f in every(lambda f: not primitives.is_primitive(f))]


class Pair:
    """An object with a field."""

    def __init__(self, first):
        self.first = first


def type_of(value):
    """The type of a value, as that of a constant."""
    return Const(value).type


def array(*numbers):
    return np.array(numbers)


# For each operation operands that it takes, and operands that it raises for if there are any.
A, B = array(1.0, 2.0, 3.0), array(4.0, 5.0)
SAMPLES = {
    "item": ((A, B), 1),
    "field": (Pair(A), "first"),
    "build_tuple": (A, B),
    "build_dict": (("x", "y"), A, B),
    "build_record": (list, (), A, B),
    "build_list": (A, B),
    "append": ([A], B),
    "extended": ([A], [B]),
    "inserted": ([A, B], 1, array(6.0)),
    "without": ([A, B], -1),
    "replaced": ([A, B], 0, array(6.0)),
    "build_places": ("x", "y"),
    "keys_of": ({"x": 0, "y": 1},),
    "in_order": ({"x": 0, "y": 1},),
    "as_dict": ({"x": 0, "y": 1}, [A, B]),
    "shape": (A,),
    "updated": (A, slice(0, 2), B),
    "add_at": (A, slice(0, 2), B),
    "add_at_repeated": (A, [0, 0], B),
    "stop": (A,),
    "hooked": (A, np.negative),
    "identity": (A,),
    "is_": (A, B),
    "not_": (0.0,),
    "contains": ([1.0, 2.0], 2.0),
    "apply": (np.sin, A),
    "raise_": (ValueError("no"),),
}
FAILING = {
    "item": ((), 1),
    "field": (1.0, "first"),
    "extended": ([A], 1.0),
    "inserted": ([A], "x", B),
    "without": ([], 0),
    "replaced": ([], 0, A),
    "keys_of": (1,),
    "in_order": (1,),
    "as_dict": ({"x": 5}, []),
    "shape": ([[1.0], [2.0, 3.0]],),
    "updated": (A, 7, 1.0),
    "add_at": (A, 7, 1.0),
    "add_at_repeated": (A, [7], 1.0),
    "contains": (1.0, 1.0),
    "apply": (len, 1),
    "raise_": (ValueError("no"),),
}

primitive = pytest.mark.parametrize("target", PRIMITIVES, ids=lambda f: f.__name__)


def sample(target):
    return SAMPLES[target.__name__]


def of_memory(kind, targets=PRIMITIVES):
    found = [f for f in targets if isinstance(operation_of(f).memory, kind)]
    assert found
    return pytest.mark.parametrize("target", found, ids=lambda f: f.__name__)


def holds(container, part):
    items = container.values() if isinstance(container, dict) else container
    return any(item is part for item in items)


# --------------------------------------------------------------------------------- completeness
def test_every_primitive_has_a_row_a_sample_and_a_constructor():
    defined = {
        name
        for name, f in vars(primitives).items()
        if inspect.isfunction(f) and primitives.is_primitive(f) and not name.startswith("_")
    }
    helpers = {"rebuilt", "is_primitive"}

    assert defined - helpers == {f.__name__ for f in PRIMITIVES} == set(SAMPLES)
    made = set(vars(constructors.Constructors)) | {"add_at_repeated"}
    assert made >= set(SAMPLES)


@primitive
def test_operation_row_has_code_form_and_result_type(target):
    row = operation_of(target)

    if target not in (
        primitives.stop,
        primitives.hooked,
        primitives.as_dict,
        primitives.build_record,
    ):
        assert row.written or row.stored
    if target is not primitives.as_dict:
        assert row.result is not None
    if not row.hands_on and target is not primitives.as_dict:
        assert row.flows is not None


# --------------------------------------------------------------------------------- memory
@of_memory(NewVersion)
def test_functional_update_leaves_operand_unchanged(target):
    first, *rest = sample(target)
    before = copy.deepcopy(first)

    result = target(first, *rest)

    assert type(result) is type(first)
    assert repr(first) == repr(before)
    assert repr(result) != repr(before)
    assert isinstance(result, list) or not np.shares_memory(result, first)
    assert operation_of(target).memory.of == ("list" if isinstance(result, list) else "array")


@of_memory(NewVersion)
def test_functional_update_contains_stored_value(target):
    memory = operation_of(target).memory
    args = sample(target)
    result = target(*args)

    if memory.of == "array":
        adds = memory.does == "adds"
        expected = B if not adds else A[:2] + B if memory.buffered else A[:1] + sum(B)
        assert np.array_equal(result[: len(expected)], expected)
    else:
        put = {"extends": args[-1], "removes": []}.get(memory.does, [args[-1]])
        assert all(holds(result, part) for part in put)
        assert len(result) - len(args[0]) == {"sets": 0, "removes": -1}.get(memory.does, 1)


@of_memory(NewVersion)
def test_in_place_store_equals_functional_update(target):
    row = operation_of(target)
    first, *rest = map(copy.copy, sample(target))
    expected = target(*sample(target))

    names = dict(zip("abc", (first, *rest), strict=False))
    exec(row.stored, {"np": np}, names)

    assert repr(names["a"]) == repr(expected)


@pytest.mark.parametrize(
    "target", [f for f in PRIMITIVES if getattr(operation_of(f).memory, "buffered", False)],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_buffered_store_with_overlapping_source(target):
    shown = np.arange(6.0)
    expected = target(shown.copy(), slice(1, 6), shown[:5].copy())

    exec(operation_of(target).stored, {}, {"a": shown, "b": slice(1, 6), "c": shown[:5]})

    assert np.array_equal(shown, expected)


@of_memory(Builds)
def test_built_container_contains_operands(target):
    args = sample(target)
    first = operation_of(target).memory.first

    result = target(*args)

    held = result if target is not primitives.build_places else list(result)
    assert all(holds(held, part) for part in args[first:])
    assert len(result) == len(args) - first
    assert target(*args) is not result or isinstance(result, tuple)


@of_memory(PartOf)
def test_part_operation_returns_object_of_first_operand(target):
    whole = sample(target)[0]

    result = target(*sample(target))

    assert holds(vars(whole) if isinstance(whole, Pair) else whole, result)


@of_memory(SameAs)
def test_identity_operation_returns_operand(target):
    assert target(A, *sample(target)[1:]) is A


@of_memory(Gathers)
def test_gather_operation_builds_container_of_operand_items(target):
    args = sample(target)
    source = args[operation_of(target).memory.operand]

    result = target(*args)

    values = result.values() if isinstance(result, dict) else result
    inner = [*source, *source.values()] if isinstance(source, dict) else source
    assert result is not source
    assert all(holds(inner, value) for value in values)


@pytest.mark.parametrize(
    "target", [f for f in PRIMITIVES if operation_of(f).memory is NONE], ids=lambda f: f.__name__
)
def test_operation_without_memory_returns_immutable(target):
    if operation_of(target).hands_on is None:
        assert not isinstance(target(*sample(target)), list | dict | np.ndarray)


M = np.arange(6.0).reshape(2, 3)
OF_NEW_ARRAYS = {
    np.zeros: (3,),
    np.empty: (3,),
    np.full: (3, 1.0),
    runtime.converted_like: (M.T.copy().T, M),
}


@of_memory(Fresh, LIBRARY)
def test_fresh_memory_result_not_shared_with_operand(target):
    args = OF_NEW_ARRAYS.get(target, (M,))

    result = target(*args)

    assert not any(np.shares_memory(result, a) for a in args if isinstance(a, np.ndarray))


# --------------------------------------------------------------------------------- errors
@primitive
def test_may_raise_operation_raises_for_some_operands(target):
    row = operation_of(target)
    args = FAILING.get(target.__name__)
    op = Call(target=target, args=tuple(map(Value, (OPAQUE,) * 2)), result=Value(OPAQUE))

    if row.raised_by(op) == NOTHING:
        assert args is None
    else:
        with pytest.raises(Exception, match=r"."):
            target(*args)


@pytest.mark.parametrize("target", [primitives.item, primitives.field])
def test_access_to_typed_part_never_raises(target):
    row = operation_of(target)
    known = Call(target=target, args=(Value(TupleOf((FLOAT,))), Const(0)), result=Value(FLOAT))
    unknown = Call(target=target, args=(Value(OPAQUE), Const(0)), result=Value(FLOAT))

    assert row.raised_by(known) == NOTHING
    assert row.raised_by(unknown) == ANYTHING


def test_may_raise_counts_only_caught_exceptions():
    b = Builder()
    b.updated(Value(type_of(A)), Const(7), Const(1.0))
    (store,) = b.ops

    assert may_raise(store, (IndexError,))
    assert not may_raise(store)


# --------------------------------------------------------------------------------- results
@primitive
def test_inferred_result_type_matches_value(target):
    if operation_of(target).hands_on or target.__name__ in ("as_dict", "field"):
        return
    args = sample(target)
    expected = type_of(target(*args))

    found = result_type(target, tuple(map(Const, args)), ())

    if type(expected) is type(found):
        same = ("dtype", "form") if hasattr(found, "dtype") else ()
        assert [getattr(found, name) for name in same] == [getattr(expected, name) for name in same]
    else:  # of a list that is a constant no more is known
        assert isinstance(target(*args), list | dict) or found == OPAQUE


# --------------------------------------------------------------------------------- written form
@primitive
def test_code_form_evaluates_to_operation_result(target):
    row = operation_of(target)
    args = sample(target)
    if row.written is None or row.written in ("a(*b)", "[*c]", "{a: b}", "{a: 0}", "a.b"):
        return
    whole = row.written in ("(*a,)", "[*a]")
    names = dict(zip("abc", (args,) if whole else args, strict=False))

    found = eval(row.written, {}, names)

    assert repr(found) == repr(target(*args))


@primitive
def test_code_form_uses_existing_operands(target):
    row = operation_of(target)
    count = max(len(sample(target)), 2)

    for form in filter(None, (row.written, row.stored)):
        names = {n.id for n in ast.walk(ast.parse(form)) if isinstance(n, ast.Name)}
        assert names <= {*"abc"[: count + 1], "np", "list"}


# --------------------------------------------------------------------------------- derivatives
@primitive
def test_declared_flow_matches_perturbation(target):
    row = operation_of(target)
    if row.flows is None or row.hands_on or target is primitives.stop:
        return
    args = sample(target)
    flows = range(len(args))[row.flows] if isinstance(row.flows, slice) else row.flows
    before = repr(target(*args))

    for k, arg in enumerate(args):
        moved = _moved(arg)
        if moved is not None:
            changed = repr(target(*args[:k], moved, *args[k + 1 :])) != before
            assert changed == (k in flows)


def _moved(arg):
    """The operand with all floats in it a little larger; None if there are none."""
    if isinstance(arg, np.ndarray):
        return arg + 0.25
    if isinstance(arg, list | tuple) and all(isinstance(x, np.ndarray) for x in arg) and arg:
        return type(arg)(x + 0.25 for x in arg)
    if isinstance(arg, Pair):
        return Pair(arg.first + 0.25)
    return None


# --------------------------------------------------------------------------------- library rows
def test_library_operation_targets_callable():
    assert len(LIBRARY) > 40
    assert all(map(callable, LIBRARY))
    assert library_operations.is_elementwise(np.add)


@pytest.mark.parametrize("target", [f for f in LIBRARY if operation_of(f).asks_of == 0],
                         ids=lambda f: f.__name__)  # fmt: skip
def test_shape_operations_independent_of_values(target):
    first, second = target(M), target(M + 1.0)

    assert np.shape(first) == np.shape(second)
    if operation_of(target).asks_for != "likeness":
        assert first == second
