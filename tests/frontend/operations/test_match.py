"""``match``: every kind of pattern, on what is known now and on what is known at the call."""

from __future__ import annotations

import numpy as np
import pytest

from srcad import errors, grad
from tests.corpus.patterns import CALLS, Circle, commands, subject_runs_once, values

V = np.array([0.3, -0.7, 1.1, 0.5])


def test_the_slope_at_a_matched_value_is_that_of_its_case() -> None:
    assert grad(values)(2.5) == 3.0
    assert grad(values)(-1.0) == 4.0


def test_the_subject_is_evaluated_once() -> None:
    CALLS.clear()

    grad(subject_runs_once)(0.7)

    assert CALLS == ["note"]


def test_no_case_that_matches_raises_as_the_plain_call_does() -> None:
    with pytest.raises(ValueError, match="jump 3"):
        grad(commands)(0.7, "jump 3")


def test_more_positions_than_the_class_names_are_refused() -> None:
    def f(a):
        match Circle(a):
            case Circle(r, s):
                return r * s

    with pytest.raises(errors.UnsupportedSyntaxError, match="2 positions"):
        grad(f)(0.7)
