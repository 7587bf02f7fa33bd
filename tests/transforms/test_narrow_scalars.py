"""A scalar of float16 or float32 beside float64: products of the derivative are of float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcad import grad, jvp

X = np.zeros(2)
ONES = np.ones(2)


def squared(x: Any, k: Any) -> Any:
    return np.sum(np.sin(x)) * k * k


def squared_in_array(x: Any, k: Any) -> Any:
    return np.sum(np.sin(x) * k * k)


def by_ufunc(x: Any, k: Any) -> Any:
    return np.multiply(np.multiply(np.sum(np.sin(x)), k), k)


def negated(x: Any, k: Any) -> Any:
    return np.sum(np.sin(x)) * (-k) * -k


def in_loop(x: Any, k: Any) -> Any:
    s = np.sum(np.sin(x))
    for _ in range(2):
        s = s * k
    return s


def in_list(x: Any, k: Any) -> Any:
    s = np.sum(np.sin(x))
    for factor in [k, np.float64(1.0), k]:
        s = s * factor
    return s


def on_one_path(x: Any, k: Any) -> Any:
    factor = k if x[0] < 1 else np.float64(2)
    return np.sum(np.sin(x)) * factor * factor


def divided(x: Any, k: Any) -> Any:
    return np.sum(np.sin(x)) / k / k


FACTORS = [squared, squared_in_array, by_ufunc, negated, in_loop, in_list, on_one_path]
SCALARS = [
    np.float32(0.1),
    np.array(0.1, np.float32),
    np.float32(1e30),
    np.float16(0.1),
    np.float16(300.0),
]


@pytest.mark.parametrize("f", FACTORS)
@pytest.mark.parametrize("k", SCALARS, ids=repr)
def test_product_of_narrow_scalars_is_made_in_float64(f: Callable[..., Any], k: Any) -> None:
    expected = float(k) ** 2

    _, tangent = jvp(f, (X, k), (ONES, None))

    np.testing.assert_allclose(grad(f)(X, k), expected * ONES, rtol=1e-12)
    np.testing.assert_allclose(tangent, 2 * expected, rtol=1e-12)


@pytest.mark.parametrize("k", [np.float32(0.1), np.float16(300.0)], ids=repr)
def test_quotient_by_narrow_scalar_is_made_in_float64(k: Any) -> None:
    _, tangent = jvp(divided, (X, k), (ONES, None))

    np.testing.assert_allclose(grad(divided)(X, k), ONES / float(k) ** 2, rtol=1e-12)
    np.testing.assert_allclose(tangent, 2 / float(k) ** 2, rtol=1e-12)


def test_gradient_by_narrow_scalar_keeps_its_dtype() -> None:
    k = np.float32(0.1)

    found = grad(squared, wrt=1)(X + 1, k)

    assert type(found) is np.float32
    np.testing.assert_allclose(found, 4 * np.sin(1.0) * float(k), rtol=1e-7)


def test_scalars_are_not_converted_where_all_is_of_one_dtype() -> None:
    narrow = grad(squared)
    narrow(X.astype(np.float32), np.float32(0.1))
    wide = grad(squared_in_array)
    wide(X, np.float64(0.1))

    assert "float64" not in narrow.source
    assert "float64" not in wide.source
