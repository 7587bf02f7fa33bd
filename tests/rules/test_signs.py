"""What a row tells of Python's operators holds in Python, and all operators have such a row."""

from __future__ import annotations

import ast
import contextlib
import math
import operator
from typing import Any

import numpy as np
import pytest

from srcad.rules.registry import operator_of, operators, row_of, rows
from srcad.rules.row import Sign

NODES = [*ast.operator.__subclasses__(), *ast.unaryop.__subclasses__(), *ast.cmpop.__subclasses__()]
SIGNED = [row for row in rows() if row.sign is not None]
MATRIX = np.array([[True, False], [True, True]])


def written(sign: Sign, *operands: Any) -> Any:
    """Return the value of the operator with this sign."""
    names = ["a", "b"][: len(operands)]
    text = f" {sign.text} ".join(names) if len(names) == 2 else f"{sign.text} a"
    tree = ast.parse(text, mode="eval")
    assert any(isinstance(node, sign.node) for node in ast.walk(tree))
    return eval(compile(tree, "sign", "eval"), dict(zip(names, operands, strict=True)))


def operands(sign: Sign, target: Any) -> list[tuple[Any, ...]]:
    """Return operands of the operator with this sign: flags for what computes the same of those."""
    if issubclass(sign.node, ast.unaryop):
        return [(3,)]
    if sign.node is ast.MatMult:
        return [(MATRIX, MATRIX.T)]
    pairs = [(a, b) for a in (1, 2, 7) for b in (1, 2, 7)]
    is_logical = getattr(target, "__name__", "").startswith("logical_")
    return [(a, b) for a in (True, False) for b in (True, False)] if is_logical else pairs


@pytest.mark.parametrize("row", SIGNED, ids=lambda row: row.target.__name__)
def test_function_with_sign_computes_what_the_operator_does(row):
    for args in operands(row.sign, row.target):
        np.testing.assert_array_equal(row.target(*args), written(row.sign, *args))


WITH_SIGN = [row for row in operators() if row.sign is not None]
PAIRS = [
    row.target for row in rows()
    if isinstance(row.target, np.ufunc) and row.target.nin == 2 and not row.target.signature
]  # fmt: skip
BINARY = [row.sign for row in WITH_SIGN if not issubclass(row.sign.node, ast.unaryop)]
BINARY = [sign for sign in BINARY if sign.node is not ast.MatMult]  # of matrices
# What is no operator for other operands: of negative numbers, and of more than integers.
NO_SIGN = {np.fmod, np.ldexp}
# Signs of operators that compute the same of the numbers and flags that are tried.
OF_FLAGS = {"is", "is not", "*", "==", "!="}


def is_computed_by(f: Any, sign: Sign) -> bool:
    """Return True if the operator with this sign computes the same."""
    cases = operands(sign, f)
    try:
        return all(f(*args) == written(sign, *args) for args in cases)
    except (TypeError, ValueError, ZeroDivisionError):
        return False


@pytest.mark.parametrize("f", PAIRS, ids=lambda f: f.__name__)
def test_function_that_computes_what_an_operator_does_has_its_sign(f):
    signs = [sign for sign in BINARY if is_computed_by(f, sign)]
    told = row_of(f).sign

    found = {sign.text for sign in signs if told is None or sign.text not in OF_FLAGS}
    found |= {sign.text for sign in signs if told == sign}
    if f not in NO_SIGN:
        assert found == ({told.text} if told else set()), f"column sign of {f.__name__}"


@pytest.mark.parametrize("row", WITH_SIGN, ids=lambda row: row.target.__name__)
def test_form_in_place_computes_what_the_operator_does(row):
    form = row.sign.in_place
    has_form = isinstance(row.sign.node(), ast.operator)

    assert (form is not None) == has_form
    if has_form and row.sign.node is not ast.MatMult:  # integers are not changed in place
        for args in operands(row.sign, row.target):
            assert form(*args) == row.target(*args)
        assert form.__name__ == f"i{row.target.__name__.strip('_')}"


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.__name__)
def test_each_operator_has_a_row(node):
    target = operator_of(node)

    if node in (ast.In, ast.NotIn):  # `operator.contains` takes its operands in another order
        assert target is None
    else:
        assert row_of(target).sign.node is node
        assert target.__module__ == operator.add.__module__


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.__name__)
def test_text_between_operands_names_the_operator(node):
    target = operator_of(node)

    if target is not None and not issubclass(node, ast.unaryop):
        assert operator_of(row_of(target).sign.text) is target


# ------------------------------------------------------------------------ methods of classes
CALLED: list[str] = []
OPERATORS = [f for f in vars(operator).values() if callable(f) and not isinstance(f, type)]
BUILTINS = [abs, round, pow, float, int, complex, reversed, iter, next,
            math.floor, math.ceil, math.trunc]  # fmt: skip
# What no arithmetic is: items, lengths, and conversions that Python asks for itself.
OTHER = {
    operator.contains, operator.getitem, operator.index, operator.length_hint, operator.truth,
    operator.not_, operator.call, operator.indexOf, operator.countOf, operator.inv,
}  # fmt: skip


def noting(name: str) -> Any:
    def method(self: Any, *others: Any) -> Any:
        CALLED.append(name)
        if name in RESULTS:
            return RESULTS[name]
        return NotImplemented

    return method


RESULTS = {"__float__": 1.0, "__int__": 1, "__complex__": 1j, "__iter__": iter(())}
NAMES = sorted({n for row in operators() for n in row.special})
NAMES += [name for f in (*BUILTINS, divmod) for name in row_of(f).special if name not in NAMES]
First = type("First", (), {name: noting(name) for name in NAMES})
Second = type("Second", (), {name: noting(name) for name in NAMES})


def called(f: Any, *operands: Any) -> list[str]:
    """Return the methods of the operands that a call tries."""
    CALLED.clear()
    with contextlib.suppress(TypeError):
        f(*operands)
    return [*CALLED]


@pytest.mark.parametrize(
    "f", [*[f for f in OPERATORS if f not in OTHER], divmod], ids=lambda f: f.__name__
)
def test_operator_tries_the_methods_of_its_row(f):
    special = row_of(f).special
    tried = called(f, First()) or called(f, First(), Second())

    in_place = operator_of(f) if f.__name__.startswith("i") else None
    assert special == (() if in_place is not None else (*tried,))


@pytest.mark.parametrize("f", BUILTINS, ids=lambda f: f.__name__)
def test_builtin_tries_the_method_of_its_row(f):
    tried = called(f, First()) or called(f, First(), 2)

    assert row_of(f).special == (*tried[:1],)
