"""A pattern for a list of numbers of several kinds serves the kinds that were joined, no others."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from srcad import grad, jvp

X = np.array([0.7, -0.4, 1.1])
ONES = np.ones(3)
BYTE = np.uint8(200)


def negated(x: Any, ks: Any) -> Any:
    s = 0.0
    for k in ks:
        s = s + np.sum(x * (-k))
    return s


def sum_of_moduli(x: Any, ks: Any) -> Any:
    s = 0.0
    for k in ks:
        s = s + np.sum(np.abs(x * k))
    return s


def of_dict(x: Any, d: Any) -> Any:
    s = 0.0
    for k in d["ks"]:
        s = s + np.sum(np.abs(x * -k))
    return s


def of_pairs(x: Any, pairs: Any) -> Any:
    s = 0.0
    for k, n in pairs:
        s = s + np.sum(np.abs(x * k)) * n
    return s


def difference(f: Callable[..., Any], ks: Any) -> Any:
    """Return the central differences of a function that is linear between its kinks."""
    h = 1e-6
    return np.array([(f(X + h * e, ks) - f(X - h * e, ks)) / (2 * h) for e in np.eye(3)])


CASES = [
    pytest.param(sum_of_moduli, [1.5, 2], [1j], id="complex after float and int"),
    pytest.param(sum_of_moduli, [1.5, ONES], [1j * ONES], id="complex array after array"),
    pytest.param(sum_of_moduli, [ONES, np.ones((2, 3))], [1j * ONES], id="arrays of two ranks"),
    pytest.param(sum_of_moduli, [2.0, np.float64(2)], [np.complex128(1j)], id="scalars"),
    pytest.param(negated, [1.5, ONES], [ONES, BYTE], id="small integer after array"),
    pytest.param(negated, [np.float64(1), 1.5], [BYTE, 1.5], id="small integer after scalar"),
    pytest.param(negated, [ONES, np.ones((2, 3))], [np.full(3, BYTE), ONES], id="small array"),
    pytest.param(of_dict, {"ks": [1.5, 2]}, {"ks": [1j]}, id="in a dict"),
    pytest.param(of_pairs, [(1.5, 1), (2, 1)], [(1j, 1)], id="in pairs"),
]


@pytest.mark.parametrize(("f", "before", "now"), CASES)
def test_gradient_does_not_depend_on_list_of_earlier_call(
    f: Callable[..., Any], before: Any, now: Any
) -> None:
    gradient = grad(f)
    gradient.cache_clear()
    with np.errstate(over="ignore"):  # -uint8(200) is 56
        gradient(X, before)

        found = gradient(X, now)

        expected = difference(f, now)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_tangent_does_not_depend_on_list_of_earlier_call() -> None:
    grad(sum_of_moduli).cache_clear()
    jvp(sum_of_moduli, (X, [1.5, 2]), (ONES, None))

    _, found = jvp(sum_of_moduli, (X, [1j]), (ONES, None))

    np.testing.assert_allclose(found, np.sum(np.sign(X)), rtol=1e-12)


def test_list_of_some_of_the_joined_kinds_is_served() -> None:
    gradient = grad(sum_of_moduli)
    gradient.cache_clear()

    gradient(X, [1.5, 2])
    gradient(X, [2, 2, 3])
    gradient(X, [0.5])

    assert len(gradient.cache_info().patterns) == 1


def test_exported_module_refuses_other_kinds_of_items(tmp_path: Path) -> None:
    grad(sum_of_moduli).export(tmp_path / "module.py", X, [1.5, 2])
    gradient = runpy.run_path(str(tmp_path / "module.py"))["grad_sum_of_moduli"]

    np.testing.assert_allclose(gradient(X, [1.5, 2]), 3.5 * np.sign(X), rtol=1e-12)
    with pytest.raises(TypeError, match="has to be of float64 or int64, and is of complex128"):
        gradient(X, [1j])
