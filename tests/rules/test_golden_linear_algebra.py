"""Generated gradients of functions of linear algebra that a person read and liked."""

from pathlib import Path

import numpy as np
import pytest

import srcad
from srcad.rules.scipy import IS_BEFORE_1_18
from srcad.testing import check_grads
from tests.programs import golden_linear_algebra as programs

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "linear_algebra"
RNG = np.random.default_rng(0)
HALF = RNG.normal(size=(3, 3))
CASES = {
    "layer_norm": (
        (0, 1, 2),
        (RNG.normal(size=(4, 3)), RNG.normal(size=3), RNG.normal(size=3), RNG.normal(size=(4, 3))),
    ),
    "gaussian_process": ((0, 1), (0.3, -1.2, RNG.normal(size=5), RNG.normal(size=5))),
    "kalman_step": (
        (0, 1, 2, 3),
        (
            RNG.normal(size=3), HALF @ HALF.T + np.eye(3), RNG.normal(size=(3, 3)), np.eye(3),
            RNG.normal(size=(2, 3)), 0.5 * np.eye(2), RNG.normal(size=2),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_gradient_of_linear_algebra_is_the_golden_one(name, update_golden):
    wrt, args = CASES[name]
    f = getattr(programs, name)
    g = srcad.grad(f, wrt=wrt)
    g(*args)
    golden = GOLDEN / f"{name}.txt"
    if update_golden:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(g.source)

    check_grads(f, args, wrt=wrt)
    if name == "gaussian_process" and IS_BEFORE_1_18:
        pytest.skip("the gradient of cho_factor has another term before SciPy 1.18")
    assert g.source == golden.read_text()
