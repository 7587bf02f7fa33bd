"""The page of rules is printed from the table."""

from pathlib import Path

from tests.rules.listing import page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rules.md"


def test_rule_listing_page_matches_table(update_golden):
    if update_golden:
        PAGE.write_text(page())

    assert PAGE.read_text() == page()
