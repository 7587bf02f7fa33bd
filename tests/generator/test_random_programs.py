"""A few random programs in the newcomer's test run; `.ci/run random` checks many."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.generator.checker import check
from tests.generator.conftest import CountOutcomes
from tests.generator.features import REQUIRED, features
from tests.generator.program import program
from tests.marks import some

COUNT, CHUNK = 20, 5


@pytest.mark.parametrize("first", some(range(0, COUNT, CHUNK), 1))
def test_random_programs_agree_across_evaluators_and_differences(
    first: int, tmp_path: Path, count_outcomes: CountOutcomes
) -> None:
    outcomes = {s: check(program(s), tmp_path) for s in range(first, first + CHUNK)}

    failed = {
        s: (o.kind, o.message) for s, o in outcomes.items() if o.status in ("failed", "crashed")
    }
    dropped = sum(o.status == "dropped" for o in outcomes.values())
    count_outcomes(outcomes.values())
    assert not failed
    assert dropped <= 1


@pytest.mark.random
def test_each_feature_is_in_at_least_one_program_of_twenty() -> None:
    seen = Counter(name for seed in range(100) for name in features(program(seed)))

    rare = {name: seen[name] / 100 for name in REQUIRED if seen[name] < 0.05 * 100}
    assert not rare


def test_generator_deterministic_per_seed() -> None:
    assert program(17).text == program(17).text
