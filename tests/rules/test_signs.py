"""What a row tells of Python's operators holds in Python, and all operators have such a row."""

from __future__ import annotations

import ast
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


@pytest.mark.parametrize("row", operators(), ids=lambda row: row.target.__name__)
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
