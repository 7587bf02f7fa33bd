"""Break the transform on purpose: the random programs must notice, and only while it is broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.generator.checker import check
from tests.generator.mutations import MUTATIONS
from tests.generator.program import Program, program
from tests.marks import some

SLOW = ("broadcasting_not_undone", "loops_undone_in_the_wrong_order")


@pytest.mark.parametrize(
    "mutation", some(MUTATIONS, lambda _, m: m.__name__ not in SLOW), ids=lambda m: m.__name__
)
def test_mutated_transform_detected(mutation: Any, tmp_path: Path) -> None:
    assert any(_notices(program(seed), mutation, tmp_path) for seed in range(60))


def _notices(made: Program, mutation: Any, folder: Path) -> bool:
    """Whether a program fails while the transform is broken, and passes when it is not."""
    with mutation():
        broken = check(made, folder).status
    return broken == "failed" and check(made, folder).status == "passed"
