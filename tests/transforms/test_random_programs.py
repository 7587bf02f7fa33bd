"""Random programs at orders one and two, by the evaluator alone."""

from __future__ import annotations

import numpy as np
import pytest

from tests.generator.checker import loaded
from tests.generator.program import program
from tests.marks import some
from tests.transforms.checking import check, lowered, smooth

PER_TEST = 2


@pytest.mark.parametrize("first", some(range(0, 10, PER_TEST), 1))
@pytest.mark.filterwarnings("ignore")
def test_derivatives_of_random_programs_agree_with_differences(first, tmp_path):
    wrong = []
    for seed in range(first, first + PER_TEST):
        text = program(seed).text
        with loaded(text, tmp_path, f"program_{seed}") as module, np.errstate(all="ignore"):
            args = module.make_arguments()
            found, arguments = lowered(module.f, *args)
            wrt = [k for k in smooth(args) if k in module.WRT]
            wrong += [f"{seed}: {line}" for line in check(found.function, arguments, wrt, 2)]

    assert wrong == []
