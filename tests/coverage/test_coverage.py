"""The list of what people differentiate through says what comes of each row."""

import pytest

from srcad.rules import lookup
from tests.coverage.__main__ import main
from tests.coverage.row import Row, outcome, rows

ROWS = list(rows())


SOME = [row for k, row in enumerate(ROWS) if k % 60 == 0 and row.kind == "works"]


def as_listed(row):
    """What comes of a row, if the list says another thing; versions differ in what they have."""
    found = outcome(row)
    same = found.kind == row.kind or "absent" in (found.kind, row.kind)
    return None if same else (row.name, found)


@pytest.mark.parametrize("row", SOME, ids=lambda row: row.name)
def test_listed_outcome_of_row_matches(row):
    assert as_listed(row) is None


@pytest.mark.random
@pytest.mark.parametrize("first", range(24))
def test_listed_outcomes_of_all_rows_match(first):
    assert [found for found in map(as_listed, ROWS[first::24]) if found] == []


def test_scipy_row_with_rule_has_program():
    assert [row.name for row in ROWS if lookup(row.target) and not row.program] == []


def test_no_row_of_the_list_is_wrong():
    assert {row.kind for row in ROWS} <= {"works", "constant", "refused", "absent"}


@pytest.mark.parametrize(
    ("program", "kind"),
    [("np.sin(x)", "works"), ("np.floor(x)", "constant"), ("np.busday_count(x)", "absent"),
     ("np.array2string(x, 3) and x", "refused"), ("np.pi", "constant")],
)  # fmt: skip
def test_outcome_of_program_classified(program, kind, monkeypatch):
    monkeypatch.setattr("tests.coverage.row.CALLS", {"it": program})

    assert outcome(Row(1, "works", "topic", "it")).kind == kind


def test_wrong_gradient_detected(monkeypatch):
    monkeypatch.setattr("tests.coverage.row.CALLS", {"it": "np.round(10 * x, 0) - x"})
    monkeypatch.setattr("tests.coverage.row.STEP", 0.5)

    assert outcome(Row(1, "works", "topic", "it")).kind == "wrong"


def test_the_counts_are_printed(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["coverage", "--quick", "--priority", "1"])

    assert main() == 0
    assert "priority     works" in capsys.readouterr().out
