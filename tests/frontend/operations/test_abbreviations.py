"""A form that stands for other statements is one registration: here ``assert x`` is one."""

import ast

import pytest

from srcad import grad
from srcad.errors import UnsupportedSyntaxError
from srcad.frontend.machine import dispatch


@pytest.fixture
def meant(monkeypatch):
    """Says what ``assert x`` stands for."""

    def says(text):
        def statements(s, node):
            return [*map(unplaced, ast.parse(text).body)]

        monkeypatch.setitem(dispatch.ABBREVIATIONS, ast.Assert, statements)

    return says


def unplaced(node):
    """A statement as somebody builds it, without a place in a text."""
    for inner in ast.walk(node):
        for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            inner.__dict__.pop(name, None)
    return node


def test_desugared_statements_interpreted_in_place(meant):
    meant("y = x * x\nz = y * x")

    def f(x):
        y = z = 0.0
        assert x
        return y + z

    assert grad(f)(2.0) == 16.0


def test_desugared_statements_with_early_return(meant):
    meant("if x > 5.0:\n    return 3.0 * x\ny = x * x\nif x < 1.0:\n    return y")

    def f(x):
        y = 0.0
        assert x
        return y * y

    assert [grad(f)(x) for x in (7.0, 2.0, 0.5)] == [3.0, 32.0, 1.0]


def test_desugaring_into_another_desugared_statement(meant):
    meant("match x > 1.0:\n    case True:\n        y = x * x\n    case _:\n        y = -x")

    def f(x):
        y = 0.0
        for _ in range(2):
            assert x
        return y

    assert [grad(f)(x) for x in (3.0, 0.5)] == [6.0, -1.0]


def test_rejection_in_desugared_statement_located_at_original(meant):
    meant("y = lambda: (yield)\nclass A:\n    pass")

    def f(x):
        assert x
        return x

    with pytest.raises(UnsupportedSyntaxError) as caught:
        grad(f)(1.0)

    assert caught.value.where.line == f.__code__.co_firstlineno + 1


def test_duplicate_handler_registration_rejected(monkeypatch):
    monkeypatch.setattr(dispatch, "_OF_MODULES", {})
    dispatch.means_in("module", "f", "g")(print)

    with pytest.raises(AssertionError, match="of module have a meaning already"):
        dispatch.means_in("module", "g")(print)
