"""``check_grads`` and ``check_rule`` at complex points."""

import numpy as np
import pytest

from srcad import rules
from srcad.testing import check_grads, check_rule

Z = np.array([0.3 + 1j, 2 - 0.5j])


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda z: np.sum(np.abs(z) ** 3), [Z]),
        (lambda z: z * z, [1 + 2j]),
        (lambda z: np.sum(np.abs(np.sin(z) * z)), [Z.astype(np.complex64)]),
        (lambda a, b: {"x": a * b, "y": np.conj(b) * a.real}, [Z, 1.5]),
    ],
)
def test_right_gradients_pass(function, args):
    check_grads(function, args)


def test_right_rules_pass():
    check_rule(np.vdot, [Z, 2j * Z[::-1]], order=2)
    check_rule(np.linalg.solve, [np.eye(2) + 0.3j, Z])


@pytest.mark.usefixtures("own_table")
@pytest.mark.parametrize(
    "rule", [lambda y_bar, z: y_bar, lambda y_bar, z: -1j * y_bar, lambda y_bar, z: 1j * y_bar]
)
def test_rule_without_conjugate_detected(rule):
    def turned(z):
        return 1j * z.real + z.imag

    rules.linear(turned)(rule)

    with pytest.raises(AssertionError, match=r"index \(0,\): the gradient is \("):
        check_rule(turned, [Z])


@pytest.fixture
def own_table(monkeypatch):
    """A table that forgets what a test registers."""
    rules.rows()
    monkeypatch.setattr(rules.registry, "_table", dict(rules.registry._table))
