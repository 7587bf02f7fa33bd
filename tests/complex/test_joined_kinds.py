"""A number that is complex on one path and real on another: its adjoint has the conjugates."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcad import errors, grad, jacobian, jvp
from tests.marks import some

X = np.array([0.7, -0.4, 1.1])
ONES = np.ones(3)

REAL: dict[str, Callable[[Any], Any]] = {
    "abs": lambda z: np.sum(np.abs(z)),
    "abs squared": lambda z: np.sum(np.abs(z) ** 2),
    "norm": np.linalg.norm,
    "std": np.std,
    "var": np.var,
    "vdot": lambda z: np.real(np.vdot(z, z)),
    "mean": lambda z: np.sum(np.real(np.mean(z) * np.conj(z))),
    "largest": lambda z: np.max(np.abs(z)),
    "angle": lambda z: np.sum(np.sin(np.angle(z))),
}


def by_branch(x: Any, c: Any) -> Any:
    k = 1.0
    if c > 0:
        k = 0.5 + 1j
    return x * k


def by_expression(x: Any, c: Any) -> Any:
    return x * (1j if c > 0 else 1.0) + 0.3 * x * x


def by_dict(x: Any, c: Any) -> Any:
    return x * {0: 1.0, 1: 2j}[int(c > 0)]


def by_default_of_dict(x: Any, c: Any) -> Any:
    return x * {1: 2j}.get(int(c > 0), 1.5)


def by_loop(x: Any, c: Any) -> Any:
    k = 1.0
    for _ in range(int(c)):
        k = 1j
    return x * (2 * k + 1)


def by_failure(x: Any, c: Any) -> Any:
    k = 1.0
    try:
        if c <= 0:
            raise ValueError
        k = 2j
    except ValueError:
        pass
    return x * k


def by_none(x: Any, c: Any) -> Any:
    k = None
    if c > 0:
        k = 1j
    if k is None:
        k = 2.0
    return x * k


def of_items_in_loop(x: Any, ks: Any) -> Any:
    z = x
    for k in ks:
        z = z * k + 0.2
    return z


def of_item(x: Any, ks: Any) -> Any:
    i = len(ks) - 1
    return x * ks[i] + ks[0] * x * x


def of_sum(x: Any, ks: Any) -> Any:
    return x * sum(ks) + 0.3 * x * x * sum(k * k for k in ks)


def of_array(x: Any, ks: Any) -> Any:
    return x * np.array(ks)[-1] + 0.3 * x * x * np.array(ks)[0]


BY_TEST = [by_branch, by_expression, by_dict, by_default_of_dict, by_loop, by_failure, by_none]
OF_LISTS = [of_items_in_loop, of_item, of_sum, of_array]
ARGUMENTS = [
    *[(make, value) for make in BY_TEST for value in (2.0, -1.0)],
    *[(make, value) for make in OF_LISTS for value in ([1j, 1.0], [0.5, 1 + 1j, 2], [2, 3.0])],
]
CASES = [
    (name, make, value)
    for make, value in ARGUMENTS
    for name in REAL
    if (name, make) != ("largest", by_none)  # refused: nothing tells that a modulus is real
]


def differences(f: Callable[..., Any], *rest: Any) -> Any:
    h = 1e-6
    return np.array([(f(X + h * e, *rest) - f(X - h * e, *rest)) / (2 * h) for e in np.eye(3)])


@functools.cache
def composed(name: str, make: Callable[..., Any]) -> Callable[..., Any]:
    real = REAL[name]
    return lambda x, value: real(make(x, value))


@pytest.mark.parametrize("case", some(CASES, lambda k, _: k % 11 == 0, every=3))
def test_derivatives_of_complex_or_real_number(case: tuple[str, Callable[..., Any], Any]) -> None:
    name, make, value = case
    f = composed(name, make)
    expected = differences(f, value)

    np.testing.assert_allclose(grad(f)(X, value), expected, rtol=1e-5, atol=1e-6)
    _, tangent = jvp(f, (X, value), (ONES, None))
    np.testing.assert_allclose(tangent, np.sum(expected), rtol=1e-5, atol=1e-6)


def sum_of_moduli(x: Any, ks: Any) -> Any:
    s = 0.0
    for k in ks:
        s = s + np.sum(np.abs(x * k))
    return s


def test_items_complex_and_real_in_a_loop() -> None:
    ks = [1j, 1.0 + 0.5j, -2.0]
    factor = 1 + abs(1 + 0.5j) + 2

    _, tangent = jvp(sum_of_moduli, (X, ks), (ONES, None))

    np.testing.assert_allclose(grad(sum_of_moduli)(X, [1j, 1.0]), 2 * np.sign(X), rtol=1e-12)
    np.testing.assert_allclose(grad(sum_of_moduli)(X, ks), factor * np.sign(X), rtol=1e-12)
    np.testing.assert_allclose(tangent, factor * np.sum(np.sign(X)), rtol=1e-12)


def test_gradient_by_items_complex_and_real_has_their_kinds() -> None:
    """``abs(k)`` has the gradient ``k / abs(k)``, real for a real number."""
    k, second = grad(sum_of_moduli, wrt=1)(X, [3 + 4j, -2.0])

    size = np.sum(np.abs(X))
    np.testing.assert_allclose([k, second], [size * (0.6 + 0.8j), -size], rtol=1e-12)
    assert isinstance(second, float)


def test_forward_jacobian_of_inner_products_of_joined_numbers() -> None:
    def f(x: Any, ks: Any) -> Any:
        zs = [x * k + 0.1 * k for k in ks]
        return sum([np.real(np.vdot(z, z)) for z in zs])

    found = jacobian(f, mode="fwd")(X, [1j, 2.0])

    np.testing.assert_allclose(found, 2 * (X + 0.1) * 5, rtol=1e-12)


def test_step_of_joined_number_is_refused() -> None:
    def f(x: Any, c: Any) -> Any:
        return np.sum(np.abs(np.sign(by_branch(x, c) + 1) + x))

    with pytest.raises(errors.UnsupportedTypeError, match="of a real or a complex number"):
        grad(f)(X, 1.0)


def test_tangent_by_complex_number_of_call_that_is_not_read_is_refused() -> None:
    def factor(c: Any) -> Any:
        return 0.5 + 1j if c > 0 else 1.0

    def f(x: Any, c: Any) -> Any:
        return np.sum(np.abs(x * factor(c)))

    _, tangent = jvp(f, (X, -1.0), (ONES, None))
    np.testing.assert_allclose(tangent, np.sum(np.sign(X)), rtol=1e-12)
    with pytest.raises(errors.UnsupportedTypeError, match="a call that srcad does not read"):
        jvp(f, (X, 1.0), (ONES, None))
