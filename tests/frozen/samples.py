"""Tests that the collector of programs is given; pytest does not find them by itself."""

import pytest


def assert_program(f, *args):
    raise AssertionError("the collector puts its own in this place")


@pytest.mark.parametrize("program", [(abs, 1.0), (max, 2.0, 3.0)])
def test_with_a_table(program):
    assert program


@pytest.mark.parametrize("x", [1.0, 2.0])
def test_with_comparisons(x):
    assert_program(abs, x)
    assert_program(abs, -x)


def test_with_a_fixture(tmp_path):
    assert_program(abs, float(len(tmp_path.parts)))


def test_without_a_program():
    assert abs(-1) == 1
