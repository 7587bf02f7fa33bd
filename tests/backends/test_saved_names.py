"""A saved value has one name in the primal and in the adjoint."""

import ast

import numpy as np
import pytest

import srcad
from srcad.backends.interface.saved_names import names_of_saved
from tests.marks import some

X = np.array([0.3, 0.5, 0.7])


def of_a_temporary(x):
    return np.sum(np.tanh(x * x) ** 2)


def of_versions(x, seed=0.5):
    x = np.exp(x * seed)
    seed = np.sin(x)
    x = x * seed
    return np.sum(x * x * seed)


def of_two_paths(x):
    if x[0] > 0.0:
        return np.sum(np.exp(x))
    z = np.sin(x)
    return z @ z


def of_a_path(x):
    z = np.exp(x) if x[0] > 0.0 else np.tanh(x)
    return np.sum(z * x)


def of_a_loop(x):
    total = 0.0
    for e in x:
        total = total + np.sin(e * x[0]) * np.sin(e * x[1])
    return total


def of_nested_loops(x):
    total = 0.0
    for a in x:
        for b in x:
            total = total + np.sin(a * b) * np.exp(-total)
    return total


def of_parts(x):
    p = {"scale": x[0] * x[1], "x": np.sqrt(x)}
    return np.sum(np.exp(p["scale"] * p["x"])) / np.linalg.norm(p["x"])


PROGRAMS = (
    of_a_temporary, of_versions, of_two_paths, of_a_path, of_a_loop, of_nested_loops, of_parts
)  # fmt: skip


def returned(text):
    """The names that a function returns, in each place."""
    definition = ast.parse(text).body[0]
    found = [node.value for node in ast.walk(definition) if isinstance(node, ast.Return)]
    return [[ast.unparse(item) for item in one.elts] for one in found]


def parameters(text):
    """The names of the parameters of a function."""
    return [argument.arg for argument in ast.parse(text).body[0].args.args]


@pytest.mark.parametrize("f", PROGRAMS)
def test_parameters_of_adjoint_have_the_names_of_the_primal(f):
    seen = srcad.inspect(f, X)

    wanted = parameters(seen.adjoint_source)[:-1]
    for items in returned(seen.primal_source):
        assert all(a in (b, "None") for a, b in zip(items[1:], wanted, strict=True))
    assert list(map(str, seen.saved)) == wanted


@pytest.mark.parametrize("f", PROGRAMS)
def test_adjoint_with_names_of_the_primal_computes_the_gradient(f):
    y, back = srcad.pullback(f, X)

    (found,) = back(1.0)

    assert y == f(X)
    for k in range(3):
        step = 1e-6 * (np.arange(3) == k)
        assert found[k] == pytest.approx((f(X + step) - f(X - step)) / 2e-6, rel=1e-7)


def test_items_of_saved_lists_have_the_names_of_what_was_saved():
    seen = srcad.inspect(of_nested_loops, X)

    for name in ("sin", "exp"):
        assert f"            {name} = np.{name}(" in seen.primal_source
        assert f"{name}_saved.append({name})" in seen.primal_source
        assert f"reversed({name}_saved_saved)" in seen.adjoint_source
    assert "value" not in seen.adjoint_source


def test_lists_of_two_equal_names_are_told_apart_by_their_variables():
    seen = srcad.inspect(of_a_loop, X)

    assert "sin_saved.append(sin)" in seen.primal_source
    assert "sin_1_saved.append(sin_1)" in seen.primal_source
    loop = " ".join(seen.adjoint_source.partition("for ")[2].partition(":\n")[0].split())
    items, _, lists = loop.partition(" in zip(")
    names = [name.removeprefix("reversed(").rstrip(")") for name in lists.split(", ")]
    pairs = dict(zip(names, items.split(", "), strict=True))
    assert pairs["sin_saved"] == "sin"
    assert pairs["sin_1_saved"] == "sin_1"


@pytest.mark.filterwarnings("ignore::srcad.errors.BackendWarning")
@pytest.mark.parametrize("f", some(PROGRAMS, 2))
def test_compiled_adjoint_has_the_names_of_the_primal(f):
    pytest.importorskip("numba")
    seen = srcad.differentiate(f, backend="numba").inspect(X)
    if seen.backend != "numba":
        pytest.skip("not compiled")

    (items,) = returned(seen.primal_source)

    assert parameters(seen.adjoint_source)[: len(items) - 1] == items[1:]


def test_name_of_an_item_that_is_no_variable():
    text = "def f(x):\n    return y, abs(x), x > 0, x.T, x_1 * 2, x_1, None, None\n"

    names = names_of_saved(text, 7, 8)

    assert names == ["abs_value", "test", "T", "value", "x_1", "value_1", "value_2"]
    assert names_of_saved(text, 7, 9) is None
