"""What is compiled for the gradient alone agrees with what is compiled for value and gradients.

The tests of the language compile the latter; here the programs that they hand to comparisons are
compiled for the gradient alone, and for the value and one gradient.
"""

import copy
import functools
import warnings
from typing import Any

import numpy as np
import pytest

import srcad
from srcad.errors import SrcadError
from tests.adapter import with_value
from tests.frozen.collected import collected
from tests.frozen.programs import Program, corpus
from tests.numeric import leaves

PARTS = 4
pytestmark = pytest.mark.together


def entries(tree: Any) -> list[float]:
    """All numbers of a gradient, in order."""
    return [float(x) for leaf in leaves(tree) if leaf is not None for x in np.ravel(leaf)]


def disagreement(program: Program) -> str:
    """Nothing, if a program is refused or all gradients of it agree."""
    f, args = program.function, program.args
    try:
        value, gradients = with_value(f, *args)(*copy.deepcopy(args))
    except Exception as error:
        return "" if isinstance(error, SrcadError) else f"{type(error).__name__}: {error}"
    alone = srcad.gradient(f, *copy.deepcopy(args))
    if not np.allclose(entries(alone), entries(gradients), rtol=1e-9, atol=1e-12, equal_nan=True):
        return f"{alone} is not {gradients}"
    if gradients[0] is None:
        return ""
    again, first = srcad.value_and_grad(f)(*copy.deepcopy(args))
    if not np.array_equal(again, value, equal_nan=True):
        return f"the value is {again}, not {value}"
    if not np.allclose(entries(first), entries(alone[0]), rtol=1e-9, atol=1e-12, equal_nan=True):
        return f"{first} is not {alone[0]}"
    return ""


@functools.cache
def programs() -> tuple[tuple[str, Program], ...]:
    """Every fourth of the programs of the tests."""
    return (*corpus(), *collected())[::4]


@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_grad_matches_value_and_grad(part: int) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = {name: disagreement(program) for name, program in programs()[part::PARTS]}

    assert len(found) > 250 / PARTS
    assert not {name: why for name, why in found.items() if why}
