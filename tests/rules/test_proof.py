"""The generated checks of the table: a sample by default; ``python -m tests.rules --all`` runs all.

``SRCAD_PROOF=7`` draws others than ``SRCAD_PROOF=0``.  Faulty rules are registered for functions of
the tests, and the checks must find each of them.
"""

import collections
import fnmatch
import functools

import numpy as np
import pytest

from srcad import rules
from srcad.runtime import unbroadcast
from tests.marks import SEED, some
from tests.rules import proof

ROWS = proof.rows()
ACTIVE = [k for k, row in enumerate(ROWS) if row.kind != "nondifferentiable" and row.samples]


def name_of(index):
    return f"{proof.row_name(ROWS[index])}-{index}"


@functools.cache
def all_names():
    return [check.name for row in ROWS for check in proof.checks_of(row)]


def in_turns(case):
    """Mark the case of a row above a second that is not marked yet."""
    is_expensive = isinstance(case, int) and proof.row_name(ROWS[case]) in EXPENSIVE
    return pytest.param(case, marks=pytest.mark.random) if is_expensive else case


EXPENSIVE = {"np.fdtr", "scipy.stats.f.logcdf"}  # 9 and 1 s of CPU
CASES = [in_turns(case) for case in some(ACTIVE, lambda k, _: k % 64 == 0, every=6)]


@pytest.mark.parametrize("index", CASES, ids=name_of)
def test_drawn_checks_of_row_find_no_defect(index):
    rng = np.random.default_rng([SEED, index])

    found = [(check.name, proof.judged(check)) for check in proof.sampled(ROWS[index], rng, 1)]

    assert found
    assert [(name, text) for name, (verdict, text) in found if verdict == "wrong"] == []


def test_constant_rows_drawn_checks_find_no_defect():
    constants = [row for row in ROWS if row.kind == "nondifferentiable"]
    checks = [check for row in constants for check in proof.checks_of(row)][::5]

    wrong = [check.name for check in checks if proof.judged(check).verdict == "wrong"]

    assert len(checks) > 40
    assert wrong == []


@pytest.mark.random
def test_checks_of_all_rows_are_many_with_distinct_names():
    names = collections.Counter(all_names())

    assert sum(names.values()) > 25_000
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.random
@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.5.0", reason="older NumPy raises for some variations"
)
def test_every_known_defect_names_a_check():
    names = set(all_names())
    patterns = [pattern for patterns in proof.KNOWN.values() for pattern in patterns]

    assert [p for p in patterns if p not in names and not fnmatch.filter(names, p)] == []


# ------------------------------------------------------------------------ seeded defects
def elementwise(function):
    """A rule's registration for a function of one array in (-1, 1)."""
    return rules.derivative(function, samples=(-1.0, 1.0))


def sine(is_faulty):
    def sine(x):
        return np.sin(x)

    def sign(x):
        return -np.cos(x)

    def right(x):
        return np.cos(x)

    elementwise(sine)(sign if is_faulty else right)
    return sine


def total(is_faulty):
    def total(a, b):
        return np.add(a, b)

    def lost_broadcast(y_bar, y, a, b):
        return y_bar, y_bar

    def right(y_bar, y, a, b):
        return unbroadcast(y_bar, a), unbroadcast(y_bar, b)

    def samples(f, v, m):
        return [f(m, v), f(v, m)]

    rules.adjoint(total, samples=samples)(lost_broadcast if is_faulty else right)
    rules.tangent(total)(lambda a_dot, b_dot, y, a, b: a_dot + b_dot)
    return total


def product(is_faulty):
    def product(a, b):
        return a @ b

    def transposed(y_bar, a, b):
        return y_bar @ b, a.T @ y_bar

    def right(y_bar, a, b):
        return y_bar @ b.T, a.T @ y_bar

    register = rules.bilinear(product, samples=lambda f, square: [f(square(3), square(3))])
    register(transposed if is_faulty else right)
    return product


def sums(is_faulty):
    def sums(x, axis):
        return np.sum(x, axis)

    def wrong_axis(y_bar, x, axis):
        return np.broadcast_to(np.expand_dims(y_bar, 1 - axis), np.shape(x))

    def right(y_bar, x, axis):
        return np.broadcast_to(np.expand_dims(y_bar, axis), np.shape(x))

    register = rules.linear(sums, active=("x",), samples=lambda f, square: [f(square(3), 1)])
    register(wrong_axis if is_faulty else right)
    return sums


def cosine(is_faulty):
    def cosine(x):
        return np.cos(x)

    def widened(x):
        return -np.sin(x) * np.float64(1.0)

    def right(x):
        return -np.sin(x)

    elementwise(cosine)(widened if is_faulty else right)
    return cosine


def square(is_faulty):
    def square(x):
        return np.square(x)

    def right(x):
        return 2 * x

    def tangent_sign(x_dot, y, x):
        return -2 * x * x_dot

    elementwise(square)(right)
    if is_faulty:
        rules.tangent(square)(tangent_sign)
    return square


DEFECTS = {
    "sign": (sine, {"reverse"}),
    "lost broadcast": (total, {"reverse"}),
    "transposed factor": (product, {"reverse"}),
    "wrong axis": (sums, {"reverse"}),
    "widened float32": (cosine, {"dtype"}),
    "sign of tangent": (square, {"forward"}),
}


VARIATIONS = {"as given", "float32", "Fortran"}  # the others would double the time of these tests


def kinds_of_failures(target):
    """The kinds of checks that find something wrong with a function's rule."""
    row = rules.rule_for(target)
    checks = [
        c for c in proof.checks_of(row) if c.kind == "dtype" or c.name.split("/")[-2] in VARIATIONS
    ]
    return {check.kind for check in checks if check.run().verdict == "wrong"}


@pytest.mark.parametrize("name", DEFECTS)
def test_seeded_defects_are_caught(name, own_table):
    make, kinds = DEFECTS[name]
    target = make(True)

    assert kinds_of_failures(target) >= kinds


@pytest.mark.parametrize("name", DEFECTS)
def test_rules_without_seeded_defect_pass(name, own_table):
    make, _ = DEFECTS[name]
    target = make(False)

    assert kinds_of_failures(target) == set()
