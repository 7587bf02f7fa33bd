"""Higher derivatives of a few random programs; ``python -m tests.generator.orders`` checks many."""

from pathlib import Path

import pytest

from tests.generator.orders import check_orders
from tests.generator.program import program
from tests.marks import some


@pytest.mark.parametrize("first", some(range(0, 12, 4), lambda k, _: k == 0))
def test_higher_derivatives_agree_across_modes_and_differences(first: int, tmp_path: Path):
    count = 2 if first == 0 else 4
    outcomes = {
        s: check_orders(program(s), tmp_path, third=s < 2) for s in range(first, first + count)
    }

    failed = {
        s: (o.kind, o.message) for s, o in outcomes.items() if o.status in ("failed", "crashed")
    }
    assert not failed
    assert sum(o.status == "refused" for o in outcomes.values()) <= 1


@pytest.mark.random
def test_a_recursion_saves_lists_on_one_path_only(tmp_path: Path):
    # The tangent of a list that is zero was made by going through the list, which was None.
    assert check_orders(program(297), tmp_path).status == "passed"
