"""The page of rules is printed from the table."""

import sys
from pathlib import Path

import pytest

from srcad.rules.scipy import IS_BEFORE_1_18
from tests.rules.listing import page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rules.md"


@pytest.mark.skipif(
    IS_BEFORE_1_18 or sys.version_info < (3, 13),
    reason="the page has the parameters of functions in SciPy 1.18, as Python 3.13 tells them",
)
def test_rule_listing_page_matches_table(update_golden):
    if update_golden:
        PAGE.write_text(page())

    assert PAGE.read_text() == page()
