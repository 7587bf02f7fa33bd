"""The page of rules is printed from the table."""

import inspect
from pathlib import Path

import pytest
from scipy import linalg

from tests.rules.listing import page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rules.md"


@pytest.mark.skipif(
    "overwrite_b" not in inspect.signature(linalg.eigvals).parameters,
    reason="the page has the parameters of functions in SciPy 1.18",
)
def test_rule_listing_page_matches_table(update_golden):
    if update_golden:
        PAGE.write_text(page())

    assert PAGE.read_text() == page()
