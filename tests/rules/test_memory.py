"""What a row says of memory is what NumPy does."""

import inspect

import numpy as np
import pytest

import srcad
from srcad import rules
from srcad.rules.registry import memory_of, unruled
from tests.marks import named
from tests.numeric import assert_gradient
from tests.rules.harness import leaves
from tests.rules.samples import CALLS
from tests.rules.test_table import name_of


def told(*memories):
    return [call for call in CALLS if memory_of(call[0]) in memories]


def arrays(structure):
    return [leaf for leaf in leaves(structure) if isinstance(leaf, np.ndarray)]


@pytest.mark.parametrize("call", told("fresh"), ids=name_of)
def test_fresh_result_shares_no_memory(call):
    target, args, kwargs = call

    results = arrays(target(*args, **kwargs))

    for k, result in enumerate(results):
        for other in (*arrays([*args, *kwargs.values()]), *results[:k]):
            assert not np.shares_memory(result, other)


@pytest.mark.parametrize("call", told("view"), ids=name_of)
def test_view_result_shares_memory_with_argument(call):
    target, args, kwargs = call
    if len(arrays(args)) > 1:
        pytest.skip("a view each, in a tuple")

    result = target(*args, **kwargs)

    assert np.shares_memory(result, args[0])
    assert result.flags.writeable


@pytest.mark.parametrize("call", told("read-only view"), ids=name_of)
def test_read_only_result_not_writeable(call):
    target, args, kwargs = call
    result = target(*args, **kwargs)

    assert target is np.diag or not result.flags.writeable  # np.diag makes a matrix of a vector


@pytest.mark.parametrize("target", [np.asarray, np.asanyarray], ids=named)
def test_argument_result_is_argument(target):
    x = np.ones(3)

    assert memory_of(target) == "argument"
    assert target(x) is x


CONDITIONED = {
    np.array: (dict(copy=True), dict(copy=False)), np.astype: (dict(copy=True), dict(copy=False)),
    np.nan_to_num: (dict(copy=True), dict(copy=False)), np.diff: (dict(n=1), dict(n=0)),
    np.linalg.matrix_power: (dict(n=2), dict(n=1)),
}  # fmt: skip


@pytest.mark.parametrize("target", CONDITIONED, ids=named)
def test_an_option_decides_whether_an_array_is_new(target):
    x = np.eye(2)
    new, same = CONDITIONED[target]
    ((name, values),) = memory_of(target).items()
    given = (x, float) if target is np.astype else (x,)

    assert not np.shares_memory(target(*given, **new), x)
    assert np.shares_memory(target(*given, **same), x) or target is np.linalg.matrix_power
    assert new[name] not in values
    assert same[name] in values


X = np.arange(1.0, 5.0).reshape(2, 2)
WHOLE = X[0].astype(int)
GIVEN = [(X,), (X[0],), (X, X), (X > 1,), (X.astype(int),), ((2, 2),), (3,), (X[0], WHOLE),
         (WHOLE, X[0])]  # fmt: skip
CONSTANT = [row.target for row in rules.rows() if row.kind == "nondifferentiable" and row.shipped
            and (getattr(row.target, "__module__", None) or "").startswith("numpy")
            and not isinstance(row.target, np.ufunc)]  # fmt: skip


def parameters_of(target):
    """The names of a function's parameters, as far as they are known."""
    try:
        return set(inspect.signature(target).parameters)
    except (TypeError, ValueError):
        return set()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "target", [f for f in (*CONSTANT, *unruled()) if memory_of(f) == "fresh"], ids=named
)
def test_nondifferentiable_functions_declared_fresh_are_fresh(target):
    for args in GIVEN[:2] if "out" in parameters_of(target) else GIVEN:
        try:
            results = arrays(list(leaves(target(*args))))
        except (TypeError, ValueError, IndexError, AttributeError, np.linalg.LinAlgError):
            continue
        for k, result in enumerate(results):
            for other in (*arrays(args), *results[:k]):
                assert not np.shares_memory(result, other)


def test_user_rule_override_keeps_memory_kind():
    shipped = rules.rule_for(np.trace)
    try:
        rules.linear(np.trace, override=True)(lambda y_bar, a: y_bar * np.eye(2))

        assert memory_of(np.trace) == "fresh"
    finally:
        rules.registry.add(shipped, True)


def test_user_function_memory_kind_is_shared():
    def same(x):
        return x

    rules.linear(same)(lambda y_bar, x: y_bar)

    assert memory_of(same) == "shared"


VIEWS = [
    np.transpose, np.matrix_transpose, np.flip, lambda y: np.swapaxes(y, 0, 1),
    lambda y: np.moveaxis(y, 0, 1), lambda y: np.expand_dims(y, 0)[0],
    lambda y: np.squeeze(y[None], 0), np.atleast_1d, np.real, np.linalg.matrix_transpose,
    np.fliplr, np.flipud, np.rot90, lambda y: np.rollaxis(y, 1), np.atleast_2d,
    lambda y: np.atleast_3d(y)[..., 0],
]  # fmt: skip


@pytest.mark.parametrize("turn", VIEWS)
def test_write_through_view_visible(turn):
    def f(x):
        y = x * 2.0
        turn(y)[0] = x[1] * 3.0
        view = turn(y)
        view[1] *= x[0]
        return np.sum(np.sin(y))

    assert_gradient(srcad.gradient, f, np.array([[0.1, 0.7], [0.4, 0.3]]))


def test_view_functions_all_tested():
    shown = {row.target for row in rules.rows() if row.shipped and row.memory == "view"}

    assert shown == {
        np.transpose, np.matrix_transpose, np.flip, np.swapaxes, np.moveaxis, np.squeeze,
        np.expand_dims, np.atleast_1d, np.real, np.linalg.matrix_transpose, np.fliplr, np.flipud,
        np.rot90, np.rollaxis, np.atleast_2d, np.atleast_3d,
    }  # fmt: skip
