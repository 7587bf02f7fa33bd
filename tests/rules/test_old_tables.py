"""Queries of rows answer as the lists of functions did that they replace."""

from __future__ import annotations

import builtins
import math
import operator
from types import SimpleNamespace
from typing import Any

import numpy as np

from srcad import runtime
from srcad.analysis import supports
from srcad.ir.traits import exponent_of, row_with_infinities
from srcad.passes import safe_division
from srcad.rules import registry
from srcad.rules.registry import row_of
from srcad.transforms import denominators, magnitudes, silent

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


def test_failing_functions_are_those_of_the_lists():
    rising, symmetric = {np.exp, np.exp2, np.expm1}, {np.sinh, np.cosh}
    overflowing = answering(lambda f: row_with_infinities(f).fails == "overflow")

    assert overflowing == rising | symmetric
    assert {f for f in overflowing if row_with_infinities(f).symmetry} == symmetric
    assert {f for f in overflowing if row_with_infinities(f).symmetry == "even"} == {np.cosh}
    assert answering(lambda f: safe_division._fails(f) == "divisor") == {
        operator.truediv, operator.floordiv, operator.mod, math.fmod, math.remainder
    }  # fmt: skip
    assert answering(lambda f: safe_division._fails(f) == "argument") == {
        math.log, math.log2, math.log10
    }  # fmt: skip


def test_ranges_are_those_of_the_lists():
    def of_range(*words: str) -> set[Any]:
        return answering(lambda f: row_with_infinities(f).range in words)

    assert of_range("positive") == {np.exp, np.exp2, np.cosh}
    assert of_range("at most one") == {np.sin, np.cos, np.tanh, np.sign}
    assert of_range("bounded") == {np.arctan, np.sinc}
    assert of_range("not negative") == {
        abs, operator.abs, np.absolute, np.fabs, np.square, np.sqrt
    }  # fmt: skip


def test_reductions_are_those_of_the_lists():
    def of_law(*laws: str) -> set[Any]:
        return answering(
            lambda f: denominators._law_of_all_entries(SimpleNamespace(target=f)) in laws
        )

    assert of_law("total") == {np.sum, np.mean}
    assert of_law("largest") == {np.max, np.amax}
    assert of_law("total", "largest", "smallest") == {
        np.sum, np.mean, np.max, np.min, np.amax, np.amin
    }  # fmt: skip
    assert answering(lambda f: row_of(f).law in ("largest", "smallest")) == {
        np.max, np.min, np.amax, np.amin, np.nanmax, np.nanmin
    }  # fmt: skip


def test_casts_and_copies_are_those_of_the_lists():
    casts = answering(lambda f: row_of(f).law == "cast")

    assert casts | {*supports._COPIES} == {
        float, np.float64, np.float32, np.astype, runtime.converted_like, runtime.deep_copy,
        runtime.copy_in_order_of,
    }  # fmt: skip
    assert answering(lambda f: row_of(f).law == "copy") == {np.copy, runtime.deep_copy, list, dict}


def test_quiet_functions_are_those_of_the_list():
    assert answering(lambda f: row_with_infinities(f).fails == "never") == {
        np.tanh, np.arctan, np.arcsinh, np.cbrt
    }  # fmt: skip


def test_views_that_cost_nothing_are_those_of_the_list():
    assert answering(lambda f: row_of(f).cost == "nothing") == {
        np.transpose, np.swapaxes, np.moveaxis, np.expand_dims, np.broadcast_to, np.reshape,
        np.squeeze, np.ravel,
    }  # fmt: skip


def test_structural_operations_are_those_of_the_list():
    found = answering(silent._is_structural)

    assert {f for f in found if not str(getattr(f, "__module__", "")).startswith("srcad")} == {
        operator.getitem, operator.is_, operator.is_not, operator.not_, len
    }  # fmt: skip


def test_functions_that_give_texts_and_measures_are_those_of_the_lists():
    assert answering(lambda f: row_of(f).gives == "measure") == {len, hash}
    assert answering(lambda f: row_of(f).gives == "text") == {str, repr, format, ascii}


def test_connectives_are_those_of_the_list():
    assert answering(lambda f: row_of(f).answers == "connective") == {
        np.logical_or, np.logical_and, np.logical_not
    }  # fmt: skip
