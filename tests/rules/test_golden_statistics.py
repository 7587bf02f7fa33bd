"""Generated gradients of likelihoods that a person read and liked."""

from pathlib import Path

import numpy as np
import pytest

import srcad
from srcad.testing import check_grads
from tests.programs import golden_statistics as programs

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "statistics"
RNG = np.random.default_rng(0)
CASES = {
    "cross_entropy": (
        0,
        (RNG.normal(size=(3, 2)), RNG.normal(size=(4, 3)), np.array([0, 1, 1, 0])),
    ),
    "normal_likelihood": ((0, 1), (0.3, 1.2, RNG.normal(size=5))),
    "negative_binomial": ((0, 1), (2.3, 0.2, np.array([1, 4, 2]))),
    "attention": ((0, 1, 2), tuple(RNG.normal(size=(3, 2, 3)))),
}


@pytest.mark.parametrize("name", CASES)
def test_gradient_of_likelihood_is_the_golden_one(name, update_golden):
    wrt, args = CASES[name]
    f = getattr(programs, name)
    g = srcad.grad(f, wrt=wrt)
    g(*args)
    golden = GOLDEN / f"{name}.txt"
    if update_golden:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(g.source)

    check_grads(f, args, wrt=wrt)
    assert g.source == golden.read_text()
