"""No attack gets a wrong answer, or an error that is neither srcad's nor the plain call's."""

import pytest

from tests.attacks.collected import ATTACKS
from tests.attacks.verdict import RAISED, REFUSED, RIGHT, verdict
from tests.marks import some

# Where the gradient is nan, which says so, in the place of a number.
NAN = {
    "last_digits.negative_to_fraction": "a Python float to a fraction may be complex",
}


LONG = {  # chains that tests/frontend/branches/test_long_chains.py has, too
    f"calls_and_options.many_{name}"
    for name in (
        "ands",
        "ors",
        "guards",
        "cases",
        "clauses",
        "continues",
        "terms",
        "chained_comparisons",
        "conditional_expressions",
    )  # fmt: skip
}


@pytest.mark.parametrize("name", some(ATTACKS, lambda _, name: name not in LONG))
def test_an_attack_fails(name, request):
    if name in NAN:
        request.applymarker(pytest.mark.xfail(strict=True, reason=NAN[name]))

    assert verdict(ATTACKS[name]) in (RIGHT, REFUSED, RAISED)
