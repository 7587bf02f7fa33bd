"""The benchmark of solvers: gradients by hand and by srcad, against differences."""

import numpy as np
import pytest

import srcad
from benchmarks import solvers
from benchmarks.solvers import PROBLEMS, Problem
from tests.numeric import difference

SMALL = {
    "root": (PROBLEMS["root, 50 unknowns"], solvers.heat_of(6)),
    "minimize": (PROBLEMS["minimize, 30 unknowns"], lambda: solvers.couplings_of(4)),
    "quad": (PROBLEMS["quad, 3 parameters"], PROBLEMS["quad, 3 parameters"].make),
    "RK45": (PROBLEMS["solve_ivp, RK45"], lambda: (np.array([1.0, 0.1, 0.2]), 1e-10)),
}


@pytest.mark.parametrize("name", SMALL)
def test_gradients_agree_with_differences(name):
    problem, make = SMALL[name]
    p, *rest = make()
    want = difference(lambda p: problem.function(p, *rest), (p,))

    np.testing.assert_allclose(problem.by_hand(p, *rest), want, rtol=1e-5)
    np.testing.assert_allclose(srcad.grad(problem.function)(p, *rest), want, rtol=1e-5)


def test_times_are_printed_with_a_limit(capsys, monkeypatch):
    monkeypatch.setitem(
        PROBLEMS, "small", Problem(solvers.heat, solvers.heat_by_hand, solvers.heat_of(6), 1e6)
    )

    solvers.main(["small", "--rounds", "1"])

    assert "limit 1e+06: ok" in capsys.readouterr().out


def test_wrong_gradient_by_hand_is_noticed(monkeypatch):
    monkeypatch.setitem(
        PROBLEMS, "wrong", Problem(solvers.heat, lambda p, u: 2.0 * p, solvers.heat_of(6), 1.0)
    )

    with pytest.raises(SystemExit, match="differs"):
        solvers.main(["wrong", "--rounds", "1"])
