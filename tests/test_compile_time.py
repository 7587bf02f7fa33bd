"""The work of compiling grows with the length of a program, not with its square.

Counted in calls of Python functions, which no other load of the machine changes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import srcad
from tests.marks import named_some

STATEMENTS = {
    # Once quadratic: at every product all that its factors were made of was walked through.
    "elementwise": ("np.sin({0}) * {1}", "{0} + 0.5 * {1}", "{0} * {1} - 0.1"),
    "quotients": ("{0} / (1.0 + {1} * {1})", "np.sqrt({0} * {0} + 1.0)"),
    "indices": ("{0} + {1}[::-1]", "np.concatenate([{0}[1:], {1}[:1]])"),
}
WRITES = ("y[{0}] = np.sin(y[{1}]) * 0.5", "y[{0}:] += y[{1}]", "y *= 0.9")


def straight(forms: tuple[str, ...], count: int) -> str:
    lines = ["import numpy as np", "", "def f(x):", "    v0 = x"]
    for k in range(1, count):
        form = forms[k % len(forms)].format(f"v{k - 1}", f"v{max(0, k - 3)}")
        lines.append(f"    v{k} = {form}")
    return "\n".join([*lines, f"    return np.sum(v{count - 1})", ""])


def writes(count: int) -> str:
    lines = ["import numpy as np", "", "def f(x):", "    y = x.copy()"]
    lines += ["    " + WRITES[k % 3].format(k % 7, (k + 3) % 7) for k in range(count)]
    return "\n".join([*lines, "    return np.sum(y)", ""])


HELPERS = {
    # Once refused at every depth, and read again by each function above.
    "that write": (
        "    x[0] = np.sin(x[1])\n    return np.cos(x) * x",
        "    y = x * 1.5\n    z = h{0}(y)\n    return np.sin(z) * x + np.exp(-z * z) * np.cos(x)",
    ),
    # Once all below were looked through for complex numbers by each of them.
    "that call twice": (
        "    return np.sin(x) * np.cos(x) + np.exp(-x) * np.tanh(x)",
        "    y = np.sin(h{0}(x))\n    return y * h{0}(y) + np.cos(x) * np.exp(-x * x) + np.tanh(y)",
    ),
}


def helpers(kind: str, count: int) -> str:
    first, other = HELPERS[kind]
    lines = ["import numpy as np", "", "def h0(x):", first]
    for k in range(1, count + 1):
        lines += [f"def h{k}(x):", other.format(k - 1)]
    return "\n".join([*lines, "def f(x):", f"    return np.sum(h{count}(x * 1.0))", ""])


LOOP = """import numpy as np

def f(x):
    y = x
    for _ in range(5):
        y = np.sin(y) * x + y / (1 + y * y)
    return y
"""


def effort(text: str, folder: Path, name: str, order: int = 0) -> int:
    """How many Python functions the first gradient calls, or the derivative of an order."""
    path = folder / f"{name}.py"
    path.write_text(text)
    space: dict[str, Any] = {"__name__": name}
    exec(compile(text, str(path), "exec"), space)
    x = np.linspace(0.1, 0.8, 8)
    derivative, calls = space["f"], 0
    for _ in range(order):
        derivative = srcad.grad(derivative)

    def count(frame: Any, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        with np.errstate(all="ignore"):
            derivative(0.7) if order else srcad.grad(derivative)(x)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("kind", named_some([*STATEMENTS, "writes"], ["elementwise", "writes"]))
def test_effort_is_linear(kind: str, tmp_path: Path) -> None:
    def text(count: int) -> str:
        return writes(count) if kind == "writes" else straight(STATEMENTS[kind], count)

    effort(text(10), tmp_path, "first")
    small, large = (effort(text(n), tmp_path, f"of_{n}") for n in (20, 80))
    assert large <= 4.6 * small


@pytest.mark.parametrize("kind", HELPERS)
def test_effort_for_helpers_is_linear(kind: str, tmp_path: Path) -> None:
    effort(helpers(kind, 1), tmp_path, "first")
    small, middle, large = (effort(helpers(kind, n), tmp_path, f"of_{n}") for n in (2, 5, 8))

    assert large - middle <= 1.1 * (middle - small)


def test_the_third_derivative_of_a_loop_is_four_times_the_work_of_the_second(
    tmp_path: Path,
) -> None:
    # Once a hundred times: how often a loop runs was asked of the loops before it, again and again.
    effort(LOOP, tmp_path, "order_0", 2)
    second, third = (effort(LOOP, tmp_path, f"order_{n}", n) for n in (2, 3))

    assert third <= 4.6 * second
