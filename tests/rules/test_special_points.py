"""The page on special points says what the systems answer."""

import importlib.metadata

import pytest

from tests.rules.special_points import MODULES, PAGE, POINTS, answer, column, installed


def test_page_has_the_answers_of_srcad():
    found = {(point.program, point.place): answer("srcad", point) for point in POINTS}

    assert found == column(PAGE.read_text(), "srcad")


@pytest.mark.parametrize("system", ["autograd", "JAX", "PyTorch"])
def test_page_has_the_answers_of_others(system, monkeypatch):
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    text = PAGE.read_text()
    if system not in installed():
        pytest.skip(f"{system} is not installed")
    if f"{system} {importlib.metadata.version(MODULES[system])}" not in text:
        pytest.skip("another version is installed")
    found = {(point.program, point.place): answer(system, point) for point in POINTS}

    assert found == column(text, system)
