"""The generated adjoints that a person read and liked; a change of one is reviewed like code."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import srcad
from tests.lint import code_lines, findings
from tests.numeric import assert_close, difference
from tests.programs import golden_by_hand, golden_primals

GOLDEN = Path(__file__).parent / "golden"
NAMES = {
    "poly": ("grad_poly",),
    "mlp": ("grad_mlp",),
    "newton_sqrt": ("grad_newton_sqrt",),
    "diffuse": ("grad_diffuse",),
    "recurrence": ("grad_recurrence",),
    "huber": ("grad_huber",),
    "rnn": ("grad_rnn",),
    "power": ("power_primal", "power_adjoint", "grad_power"),
}
WRT = {"recurrence": (0, 1), "rnn": (0, 1, 2)}


def arguments(name: str) -> tuple[Any, ...]:
    """The arguments that the text is generated for."""
    r = np.random.default_rng(0)
    params = {
        "W1": r.normal(size=(5, 4)),
        "b1": r.normal(size=4),
        "W2": r.normal(size=(4, 2)),
        "b2": r.normal(size=2),
    }
    return {
        "poly": (2.0,),
        "mlp": (params, r.normal(size=(7, 5)), r.normal(size=(7, 2))),
        "newton_sqrt": (2.0,),
        "diffuse": (r.normal(size=12), 5),
        "recurrence": (0.7, r.normal(size=6)),
        "huber": (0.3, 1.0),
        "rnn": (r.normal(size=(3, 3)), r.normal(size=3), r.normal(size=(4, 3))),
        "power": (1.5, 4),
    }[name]


def generated(name: str) -> tuple[Callable[..., Any], Any, str]:
    """The gradient function, the gradient and the text for the arguments."""
    g = srcad.grad(getattr(golden_primals, name), wrt=WRT.get(name, 0))
    value = g(*arguments(name))
    return g, value, g.source


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_is_right(name: str) -> None:
    f, args = getattr(golden_primals, name), arguments(name)

    _, got, _ = generated(name)

    wrt = WRT.get(name)
    step = 1e-4 if name == "newton_sqrt" else 1e-3
    want = tuple(difference(f, args, k, step) for k in wrt) if wrt else difference(f, args, 0, step)
    assert_close(got, want, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("r", "want"), [(0.3, 0.3), (-3.0, -1.0), (3.0, 1.0), (1.0, 1.0)])
def test_huber_on_both_branches(r: float, want: float) -> None:
    assert srcad.grad(golden_primals.huber)(r, 1.0) == want


def test_the_gradient_equals_the_one_by_hand() -> None:
    args = arguments("mlp")

    assert_close(srcad.grad(golden_primals.mlp)(*args), golden_by_hand.grad_mlp(*args), rtol=1e-12)
    assert srcad.grad(golden_primals.newton_sqrt)(2.0) == pytest.approx(
        0.5 / math.sqrt(2), rel=1e-9
    )


@pytest.mark.parametrize("name", NAMES)
def test_generated_code_matches_golden_file(name: str, update_golden: bool) -> None:
    _, _, text = generated(name)
    path = GOLDEN / f"{name}.txt"
    if update_golden:
        path.write_text(text)

    assert text == path.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_golden_code_at_most_1_3_times_hand_written(name: str) -> None:
    by_hand = sum(code_lines(inspect.getsource(getattr(golden_by_hand, n))) for n in NAMES[name])

    assert code_lines((GOLDEN / f"{name}.txt").read_text()) <= 1.3 * by_hand


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda p: p.stem)
def test_golden_code_passes_lint(path: Path) -> None:
    primal = ast.parse(inspect.getsource(golden_primals))
    names = frozenset(n.id for n in ast.walk(primal) if isinstance(n, ast.Name))

    assert findings(path.read_text(), names) == []


def test_the_hand_written_adjoints_pass_the_same_lint() -> None:
    text = Path(golden_by_hand.__file__).read_text()

    assert findings(text, frozenset({"y", "r", "dn", "h", "x", "hs"})) == []


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("def f(x):\n    a = x * 2\n    return x", "unused"),
        ("def f(x):\n    a = x\n    b = a + 1\n    return a * b * b", "only a copy"),
        ("def f(x):\n    return x * 1", "neutral"),
        ("def f(x):\n    return x + 0", "neutral"),
        ("def f(x):\n    a = 0.0\n    a = x * a\n    a = x\n    return a", None),
        ("def f(x):\n    a = np.zeros(3)\n    a = x + 1\n    return a * a", "zeros"),
        ("def f(x):\n    a = x * 2\n    return a + 1", "used once"),
        ("from srcad.runtime import unbroadcast\ndef f(x):\n    return x", "run-time helper"),
    ],
)
def test_lint_reports_expected_findings(text: str, finding: str | None) -> None:
    found = findings(text)

    assert (not found) if finding is None else any(finding in f for f in found)


# ------------------------------------------------------------------------ second order
@pytest.mark.parametrize("name", NAMES)
def test_golden_hvp_code_at_most_2_5_times_gradient(name: str, update_golden: bool) -> None:
    wrt, args = WRT.get(name, 0), arguments(name)
    h, g = (make(getattr(golden_primals, name), wrt) for make in (srcad.hvp, srcad.grad))
    g(*args)
    v = tuple(args[k] for k in wrt) if isinstance(wrt, tuple) else args[wrt]
    h(*args, v=v)
    path = GOLDEN / "hvp" / f"{name}.txt"
    if update_golden:
        path.write_text(h.source)

    assert h.source == path.read_text()
    assert code_lines(h.source) <= 2.5 * code_lines(g.source)
