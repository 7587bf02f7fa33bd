"""A list or tuple in place of an array has the gradient of the array: for each sample of a row."""

import linecache

import numpy as np
import pytest

import srcad
from srcad.rules import lookup, registry
from tests.marks import some_by_name
from tests.rules.harness import is_float, leaves
from tests.rules.samples import CALLS, numbered
from tests.rules.spellings import plain_program, spelling, total

MANNERS = ("list", "tuple", "nested")
CASES = {
    f"{name} {manner}": (call, manner)
    for name, call in numbered(CALLS).items()
    for manner in MANNERS
    if registry.qualified_name(call[0])
    and (row := lookup(call[0])) is not None
    and row.kind != "nondifferentiable"
}


def has_axes(value):
    return isinstance(value, np.ndarray) and value.ndim > 0


def spelled(name, value, manner):
    """Return an expression with lists in place of the arrays in a value."""
    if isinstance(value, list | tuple):
        parts = [spelled(f"{name}[{k}]", part, manner) for k, part in enumerate(value)]
        text = "".join(f"{part}, " for part in parts)
        return f"[{text}]" if isinstance(value, list) else f"({text})"
    if not has_axes(value):
        return name
    return nested(name, value.ndim) if manner == "nested" else f"{manner}({name})"


def nested(name, rank):
    """Return a comprehension that makes nested lists of an array."""
    if rank == 0:
        return name
    item = f"row{rank}"
    return f"[{nested(item, rank - 1)} for {item} in {name}]"


def written(value, manner):
    """Return a structure with lists, or tuples, in place of the arrays in it."""
    if isinstance(value, list | tuple):
        return type(value)([written(part, manner) for part in value])
    if not has_axes(value):
        return value
    return tuple(value.tolist()) if manner == "tuple" else value.tolist()


def of_lists(call, manner):
    """Return a function of the operands of a call, which it hands on as lists; None without one."""
    target, args, kwargs = call
    rule = lookup(target)
    inputs, outside, count = [], {"np": np, "target": target}, 0
    for place, value in (*enumerate(args), *kwargs.items()):
        found = leaves(value)
        if rule.entry(place) is not None and found and all(map(is_float, found)):
            text = spelled(f"x{count}", value, manner)
            count += 1
        else:
            text = f"OPTION_{place}"
            outside[text] = written(value, manner)
        inputs.append(text if isinstance(place, int) else f"{place}={text}")
    if not any(has_axes(one) for value in (*args, *kwargs.values()) for one in leaves(value)):
        return None
    made = f"target({', '.join(inputs)})"
    if spelling(target) == "operator.getitem":
        made = f"{inputs[0]}[{inputs[1]}]"
    takes = ", ".join(f"x{k}" for k in range(count))
    text = f"def g({takes}):\n    y = {made}\n    return {total(target(*args, **kwargs))}\n"
    file = f"<lists {id(outside)} {target} {manner}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), outside)
    return outside["g"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", some_by_name(CASES, one_in=1500, every=24))
def test_gradient_of_lists_equals_that_of_arrays(name):
    call, manner = CASES[name]
    f, operands = plain_program(call)
    g = of_lists(call, manner)
    if g is None:
        pytest.skip("the call has no arrays")
    try:
        value = g(*operands)
    except Exception:
        pytest.skip("the function takes no lists")
    if not np.allclose(value, f(*operands), equal_nan=True):
        pytest.skip("a list means something else there")

    wrt = tuple(range(len(operands)))
    expected = srcad.grad(f, wrt=wrt)(*operands)
    found = srcad.grad(g, wrt=wrt)(*operands)

    for one, other in zip(leaves(found), leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


# Lists with which a formula calculates.
M = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
PROGRAMS = {
    "choose": lambda x: np.sum(np.choose([0, 1, 0], [x, x * x]) * np.arange(1.0, 4.0)),
    "choose by a tuple": lambda x: np.sum(np.choose((0, 1, 0), (x, x * x))),
    "choose by conditions": lambda x: np.sum(np.choose([int(v > 0) for v in x], [x, x**3])),
    "choose by rows": lambda x: np.sum(np.choose([[0, 1, 0], [1, 1, 0]], [x, x * x])),
    "choose lists": lambda x: np.sum(
        np.choose([0, 1, 0], [[x[0], 1.0, x[1]], [x[2], x[1] * x[0], 3.0]])
    ),
    "choose clipped": lambda x: np.sum(np.choose([0, 3, -1], [x, x * x], mode="clip")),
    "multi_dot": lambda x: np.linalg.multi_dot([x, M, [1.0, 2.0]]) ** 2,
    "multi_dot of lists": lambda x: np.linalg.multi_dot(
        [[x[0], x[1]], [[x[2], 1.0], [1.0, x[1]]], [x[0], x[1]]]
    ),
    "multi_dot of tuples": lambda x: np.linalg.multi_dot(
        ((x[0], x[1]), ((x[2], 1.0), (1.0, x[1])), (x[0], x[1]))
    ),
    "multi_dot of a comprehension": lambda x: np.sum(
        np.linalg.multi_dot([[[v * k * j for k in (1, 2)] for j in (1.0, 2.0)] for v in x])
    ),
    "select": lambda x: np.sum(
        np.select([[True, False, False], [True, True, False]], [x, [x[2], x[1] * x[0], 1.0]], x**3)
    ),
    "concatenate": lambda x: np.sum(np.concatenate([[x[0], 2.0], x, (x[1], x[2] * x[2])]) ** 2),
    "concatenate a comprehension": lambda x: np.sum(np.concatenate([[v, v * v] for v in x]) ** 2),
    "array of more axes": lambda x: np.sum(np.array([v * v for v in x], ndmin=2) ** 2),
    "array of three axes": lambda x: np.sum(np.sin(np.array([[v, v] for v in x], ndmin=3))),
    "squeezed row": lambda x: np.sum(np.squeeze([[v * v for v in x]]) * x),
    "squeezed column": lambda x: np.sum(np.squeeze([[v * v] for v in x]) * x),
    "squeezed comprehension": lambda x: np.sum(
        np.squeeze([[v for v in row] for row in x[:, None]]) * x**2
    ),
    "squeezed entry": lambda x: np.sum(np.squeeze(x[x > 1]) ** 3),
    "four lists": lambda x: np.sum(np.dot([[[[v, v * v] for v in x]]], [x[0], x[1]])),
    "product of four lists": lambda x: np.sum(
        np.matmul([[[[v * u for u in x] for v in x] for _ in (1, 2)]], x[:, None])
    ),
    "five lists": lambda x: np.sum(np.sin([[[[[v * u for u in x] for v in x]]] for _ in (1, 2)])),
    "add where": lambda x: np.sum(np.add(x, x * x, where=[True, True, True])),
    "exp where": lambda x: np.sum(np.exp(x, where=(True, True, True)) * x),
}  # fmt: skip


def differences(f, x, step=1e-6):
    moves = step * np.eye(len(x))
    return np.array([(f(x + move) - f(x - move)) / (2 * step) for move in moves])


@pytest.mark.filterwarnings("ignore:'where' used without 'out'")
@pytest.mark.parametrize("name", PROGRAMS)
def test_formulas_that_calculate_with_lists(name):
    f, x = PROGRAMS[name], np.array([1.5, -0.7, 0.9])

    gradient = srcad.grad(f)(x)

    np.testing.assert_allclose(gradient, differences(f, x), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(srcad.jvp(f, (x,), (np.ones(3),))[1], np.sum(gradient), rtol=1e-12)


TWICE = (
    "choose lists", "multi_dot", "select", "array of more axes", "squeezed comprehension",
    "squeezed entry", "four lists",
)  # fmt: skip


@pytest.mark.parametrize("name", TWICE)
def test_hessians_of_formulas_that_calculate_with_lists(name):
    f, x = PROGRAMS[name], np.array([1.5, -0.7, 0.9])

    expected = differences(srcad.grad(f), x)
    np.testing.assert_allclose(srcad.hessian(f)(x), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.filterwarnings("ignore:'where' used without 'out'", "ignore::RuntimeWarning")
@pytest.mark.parametrize("mask", [[True, False, True], np.array([True, False, True])])
def test_entries_that_a_ufunc_leaves_out_have_no_derivative(mask):
    x = np.array([4.0, -1.0, 9.0])

    def f(x):
        return np.sqrt(x, where=mask)

    np.testing.assert_array_equal(srcad.jacrev(f)(x), np.diag([0.25, 0.0, 1 / 6]))
    np.testing.assert_array_equal(srcad.jacfwd(f)(x), np.diag([0.25, 0.0, 1 / 6]))
    gradient = srcad.grad(lambda x: np.sum(np.multiply(x, x, where=mask)))(x)
    np.testing.assert_array_equal(gradient, [8.0, 0.0, 18.0])


def test_blocks_keep_their_nested_lists():
    x = np.array([1.0, 2.0])

    gradient = srcad.grad(lambda x: np.sum(np.block([[x[0], 2.0], [x[1], x[0]]]) ** 2))(x)

    np.testing.assert_array_equal(gradient, [4.0, 4.0])


KINDS = {
    "dot of an item": lambda x: np.sum(np.dot(x, x[0])),
    "product with an item": lambda x: np.sum(np.matmul(x, x[0])),
    "sum and item": lambda x: np.sum(x) * x[1][0] + x[0][1],
    "inner and sum of items": lambda x: np.inner(x, x[1])[0] + np.sum(x[0]),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("kind", [list, tuple])
def test_gradient_of_list_of_sequences_has_floats(name, kind):
    f, x = KINDS[name], [kind((0.6, 1.1)), kind((0.85, 1.5))]

    gradient = srcad.grad(f)(x)

    assert type(gradient) is list
    assert [type(row) for row in gradient] == [kind, kind]
    assert {type(entry) for row in gradient for entry in row} == {float}
    flat = differences(lambda v: f(np.reshape(v, (2, 2))), np.ravel(x))
    np.testing.assert_allclose(np.ravel(gradient), flat, rtol=1e-6)
