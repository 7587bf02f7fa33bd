"""What one arm alone reads is computed there; nothing is kept for its sake."""

from __future__ import annotations

import numpy as np

import srcad
from srcad.testing import check_grads

X = np.array([0.4, -0.3, 0.9, 1.2])
W = np.array([0.5, 1.5, 0.8, 1.0])


def largest(x, w):
    best = x[0]
    for k in range(1, len(x)):
        if x[k] * w[k] > best:
            best = x[k] * w[k]
    return best


def test_entry_access_sunk_into_branch() -> None:
    gradient = srcad.grad(largest, wrt=(0, 1))
    check_grads(largest, (X, W), wrt=(0, 1))

    text = gradient.inspect(X, W).adjoint_source

    code = [line for line in text.splitlines() if not line.strip().startswith("#")]
    backward = code[next(k for k, line in enumerate(code) if "x_bar" in line) :]
    tests = [k for k, line in enumerate(backward) if line.strip().startswith("if ")]
    reads = [k for k, line in enumerate(backward) if " w[k]" in line or " x[k]" in line]
    assert len(tests) == 1
    assert len(reads) == 2
    assert all(k > tests[0] for k in reads)


def backward_of(f, *args) -> str:
    text = srcad.grad(f).inspect(*args).adjoint_source
    return text[text.index("reversed(") :]


def chosen_then_stored(x):
    u = np.zeros(len(x))
    for k in range(len(x)):
        v = np.sin(x[k]) if x[k] > 0.0 else 0.0
        u[k] = v
    return np.sum(u * u)


def test_sunk_access_needs_no_array_copy() -> None:
    """The cotangent of v is read before its place is set to zero, and used in one arm."""
    check_grads(chosen_then_stored, (X,))

    text = backward_of(chosen_then_stored, X)

    assert text.index("u_bar[k]") < text.index("if ")
    assert "copy" not in text


def chosen_and_added_to(x):
    u = np.zeros(len(x) + 1)
    for k in range(len(x)):
        v = np.sin(x[k]) if x[k] > 0.0 else 0.0
        u[k] = v - x[k - 1] * u[k - 1]
    return np.sum(u * u)


def test_argument_access_sunk_into_branch_despite_writes() -> None:
    check_grads(chosen_and_added_to, (X,), order=2)

    text = backward_of(chosen_and_added_to, X)

    assert "np.cos(x[k])" in text


def test_negated_contribution_subtracted() -> None:
    assert "-= " in backward_of(chosen_and_added_to, X)
    assert " = -(" not in backward_of(chosen_and_added_to, X)


def read_in_a_loop(x):
    y = x * 2.0
    total = 0.0
    for k in range(3):
        total = total + y[1] * x[k] * y[k]
    total = total**3
    if x[0] > 0.0:
        total = total * x[1]
    return total * total


def test_operation_not_sunk_into_loop() -> None:
    check_grads(read_in_a_loop, (X,), order=2)
