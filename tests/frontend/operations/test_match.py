"""``match``: every kind of pattern, on what is known now and on what is known at the call."""

from __future__ import annotations

import numpy as np
import pytest

from srcad import errors, grad
from tests.corpus.patterns import CALLS, Circle, commands, subject_runs_once, values

V = np.array([0.3, -0.7, 1.1, 0.5])


def test_match_on_value_gradient_of_matching_case() -> None:
    assert grad(values)(2.5) == 3.0
    assert grad(values)(-1.0) == 4.0


def test_the_subject_is_evaluated_once() -> None:
    CALLS.clear()

    grad(subject_runs_once)(0.7)

    assert CALLS == ["note"]


def test_unmatched_subject_raises_same_exception() -> None:
    with pytest.raises(ValueError, match="jump 3"):
        grad(commands)(0.7, "jump 3")


def test_class_pattern_with_too_many_positions_rejected() -> None:
    def f(a):
        match Circle(a):
            case Circle(r, s):
                return r * s

    with pytest.raises(errors.UnsupportedSyntaxError, match="2 positions"):
        grad(f)(0.7)


def first_of_several(xs):
    match xs:
        case [first, *rest]:
            return first**2 + 3.0 * len(rest)
        case _:
            return 0.0


def last_of_several(xs):
    match xs:
        case (*_, last):
            return last**3
        case _:
            return 0.0


def both_ends(xs):
    match xs:
        case [a, *_, b]:
            return a * b
        case _:
            return xs[0] ** 2


@pytest.mark.parametrize(
    ("f", "xs", "gradient"),
    [
        (first_of_several, [3.0], [6.0]),
        (last_of_several, (2.0,), (12.0,)),
        (both_ends, [3.0, 2.0], [2.0, 3.0]),
        (both_ends, [3.0], [6.0]),
    ],
    ids=["first", "last", "both ends", "too short"],
)
def test_star_pattern_matches_no_items(f, xs, gradient) -> None:
    assert grad(f)(xs) == gradient
