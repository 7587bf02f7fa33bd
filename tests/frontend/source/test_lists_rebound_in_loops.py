"""Loops over a list of which the body binds the name to another list."""

import pytest

import srcad
from srcad.errors import MutationError


def weighed(k, r):
    return (k + 1.0) * r * r * 0.3


def items_of(x):
    items = []
    for k in range(30):
        items.append(x * (k + 1) / 30)
    return items


def bound_by_comprehension(x):
    rs = items_of(x)
    for r in rs:
        rs = [q * r * 0.3 for q in rs]
    return sum(rs)


def bound_by_comprehension_over_pairs(x):
    rs = items_of(x)
    for k, r in enumerate(rs):
        rs = [weighed(k, q) * r for k, q in enumerate(rs)]
    return sum(rs)


def two_bound_in_step(x):
    rs, qs = items_of(x), items_of(2 * x)
    for a, b in zip(rs, qs, strict=True):
        rs = [r * a for r in rs]
        qs = [q * b * 0.5 for q in qs]
    return sum(rs) + sum(qs)


def bound_to_shorter_list_on_one_path(x):
    rs, total = items_of(x), 0.0
    for r in rs:
        if total > 1:
            rs = [r * q for q in rs if q < x]
        total = total + sum(rs) * 0.1
    return total


def comprehensions_inside(x):
    rows = [items_of(x), items_of(2 * x)]
    for row in rows:
        rows = [[q * row[0] for q in other] for other in rows]
    return sum([sum(row) for row in rows])


@pytest.mark.parametrize(
    "f",
    [
        bound_by_comprehension,
        bound_by_comprehension_over_pairs,
        two_bound_in_step,
        bound_to_shorter_list_on_one_path,
        comprehensions_inside,
    ],
)
def test_list_rebound_by_comprehension_in_loop_over_it_matches_differences(f):
    wanted = (f(1.3 + 1e-5) - f(1.3 - 1e-5)) / 2e-5

    assert srcad.grad(f)(1.3) == pytest.approx(wanted, rel=1e-6)


def grows_in_comprehension(x):
    rs = items_of(x)
    return sum([r * len(rs) for r in rs if len(rs) > 40 or rs.append(r) is None])


def grows_before_comprehension_ends(x):
    rs = items_of(x)
    for r in rs:
        rs.append(r)
        rs = [q * r for q in rs]
        if len(rs) > 35:
            break
    return sum(rs)


@pytest.mark.parametrize("f", [grows_in_comprehension, grows_before_comprehension_ends])
def test_list_that_grows_in_loop_over_it_beside_comprehension_rejected(f):
    with pytest.raises(MutationError, match="while looping over it"):
        srcad.grad(f)(1.3)
