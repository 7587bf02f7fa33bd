"""Queries of rows answer as the lists of functions did that they replace."""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import numpy as np

from srcad.ir.traits import exponent_of
from srcad.rules import registry
from srcad.rules.registry import row_of
from srcad.transforms import magnitudes

FUNCTIONS = {row.target for row in registry.rows()} | {*registry.unruled()}
FUNCTIONS |= {f for f in vars(builtins).values() if callable(f)}


def answering(query: Any) -> set[Any]:
    return {f for f in FUNCTIONS if query(f)}


def test_exponents_are_those_of_the_lists():
    assert {f: e for f in FUNCTIONS if (e := exponent_of(f)) and e > 0} == {
        np.sqrt: 0.5, np.cbrt: 1 / 3, np.square: 2.0
    }  # fmt: skip
    assert answering(lambda f: (exponent_of(f) or 0) < 0) == {np.reciprocal}
    assert answering(lambda f: (exponent_of(f) or 0) > 1) == {np.square}
    assert answering(lambda f: 0 < (exponent_of(f) or 0) < 1) == {np.sqrt, np.cbrt}


def test_even_functions_are_those_of_the_lists():
    absolute = {abs, operator.abs, np.absolute, np.fabs, math.fabs}
    even = {np.square, np.cos, math.cos, np.cosh, math.cosh, np.sinc, np.hypot, math.hypot}

    assert answering(magnitudes._is_magnitude) == absolute
    assert answering(lambda f: row_of(f).symmetry == "even") == even | absolute
    assert answering(lambda f: row_of(f).sign is not None and row_of(f).sign.text == "**") == {
        operator.pow, np.power, np.float_power, math.pow, pow
    }  # fmt: skip
