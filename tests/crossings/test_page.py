"""The page of what is tested is printed from the lists."""

import sys
from pathlib import Path

import pytest

from srcad.rules.scipy import IS_BEFORE_1_18
from tests.crossings.modes import MODES
from tests.crossings.page import form_of, page
from tests.crossings.programs import PROGRAMS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tested.md"


@pytest.mark.skipif(
    IS_BEFORE_1_18 or sys.version_info < (3, 13),
    reason="the page has the number of samples for SciPy 1.18 and Python 3.13",
)
def test_page_of_tests_matches_lists(update_golden):
    if update_golden:
        PAGE.write_text(page())

    assert PAGE.read_text() == page()


def test_page_of_tests_names_each_form_and_mode():
    text = page()

    assert all(f"| `{name}` |" in text for name, mode in MODES.items() if not mode.slow)
    assert all(f"| {form_of(name)} |" in text for name in PROGRAMS)
