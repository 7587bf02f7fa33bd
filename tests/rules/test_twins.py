"""Functions of `math` share the row of their NumPy twins."""

import math

import numpy as np
import pytest

from srcad import rules
from srcad.rules.formulas import TWINS
from srcad.rules.registry import row_of

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


# Functions of `math` and their counterparts in NumPy that have other names.
NAMES = {name: name for name in vars(math) if callable(getattr(np, name, None))}
NAMES = {name: name for name in NAMES if name not in ("gcd", "lcm")}  # of integers
NAMES |= {"fabs": "abs", "radians": "deg2rad", "degrees": "rad2deg", "pow": "power"}
NAMES |= {f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}


@pytest.mark.parametrize("name", NAMES)
def test_function_of_math_has_a_row_of_the_kind_of_its_counterpart(name):
    kinds = {row_of(getattr(np, NAMES[name])).kind, row_of(getattr(math, name)).kind}

    assert len(kinds) == 1, f"twin of numpy.{NAMES[name]}"
