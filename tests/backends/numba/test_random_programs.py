"""Random programs: the loops compute what the NumPy code and the IR evaluator compute."""

import pytest

from tests.backends.numba.random_programs import outcome
from tests.marks import some

PROGRAMS = {f"{features}-{seed}": (features, seed)
            for features in ("spine", "all") for seed in range(500_000, 500_040)}  # fmt: skip


@pytest.mark.parametrize("name", some(PROGRAMS, lambda k, _: k % 8 == 0))
def test_random_program_three_ways(name, tmp_path):
    features, seed = PROGRAMS[name]

    status, why = outcome(seed, features, tmp_path, compiled=False)

    assert status in ("right", "not covered", "refused", "deopt"), why
