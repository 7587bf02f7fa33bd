"""Functions of `math` share the row of their NumPy twins."""

import math

import numpy as np
import pytest

from srcad import rules
from srcad.rules.formulas import TWINS

SHARING = [row for row in rules.rows() if row.target in set(vars(TWINS).values())]


def test_math_rule_formula_uses_math_functions():
    assert rules.rule_for(math.sin).partials == ("math.cos(x)",)
    assert rules.rule_for(math.asin).partials == ("1 / math.sqrt((1 - x) * (1 + x))",)
    assert rules.rule_source(math.cos, "2 * u") == "-math.sin(2 * u)"
    assert rules.rule_for(np.sin).partials == ("np.cos(x)",)


def test_math_and_numpy_rules_share_location():
    assert rules.rule_for(math.atanh).location == rules.rule_for(np.arctanh).location


@pytest.mark.parametrize("row", SHARING, ids=lambda row: row.target.__name__)
def test_math_rule_formula_returns_float(row):
    x = 1.5 if row.target is math.acosh else 0.5
    keywords = {"y": row.target(x)} if row.wants_result else {}

    assert type(row.function(x, **keywords)) is float


def test_most_functions_of_math_share_a_row():
    assert len(SHARING) >= 18
