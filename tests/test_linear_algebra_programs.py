"""Derivatives of programs of linear algebra against differences, in both modes."""

import numpy as np
import pytest

import srcad
from srcad.testing import check_grads
from tests.programs.linear_algebra import PROGRAMS


@pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_linear_algebra_program_matches_differences_in_both_modes(f, args):
    value, _ = srcad.value_and_grad(f)(*args)

    assert value == f(*args)
    assert np.isfinite(value)
    check_grads(f, args)
