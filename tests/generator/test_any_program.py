"""Programs that write, hold and raise: the generator itself, and what srcad makes of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.generator.checker import check
from tests.generator.conftest import CountOutcomes
from tests.generator.program import program
from tests.generator.written import WRITTEN, all_features
from tests.marks import some

CHUNK = 3


@pytest.mark.parametrize("first", some(range(0, 21, CHUNK), 1))
def test_programs_run_and_differences_agree_with_complex_steps(first: int, tmp_path: Path) -> None:
    seeds = range(first, first + CHUNK)
    outcomes = {s: check(program(s, "all"), tmp_path, alone=True) for s in seeds}

    wrong = {s: (o.kind, o.message) for s, o in outcomes.items() if o.status != "passed"}
    assert not wrong


@pytest.mark.parametrize("first", some(range(1000, 1021, CHUNK), 1))
def test_random_program_gradients_correct_or_rejected(
    first: int, tmp_path: Path, count_outcomes: CountOutcomes
) -> None:
    outcomes = {s: check(program(s, "all"), tmp_path) for s in range(first, first + CHUNK)}
    count_outcomes(outcomes.values())

    wrong = {s: (o.kind, o.message) for s, o in outcomes.items() if o.status in _BAD}
    assert not wrong


_BAD = ("failed", "crashed")


@pytest.mark.random
def test_each_feature_is_in_at_least_one_program_of_twenty() -> None:
    seen = Counter(name for seed in range(100) for name in all_features(program(seed, "all")))

    rare = {name: seen[name] / 100 for name in WRITTEN if seen[name] < 0.05 * 100}
    assert not rare


def test_full_feature_generator_deterministic_per_seed() -> None:
    assert program(17, "all").text == program(17, "all").text
    assert program(17, "store,list").text == program(17, "store,list").text
