"""The table of texts: what is kept, what is compared, and that some texts are as they were."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from tests.frozen import programs, runner
from tests.frozen.collected import collected_from, programs_of
from tests.frozen.programs import Program
from tests.frozen.runner import compared, shown, texts
from tests.frozen.table import TABLE, digest, normal, read, renewed, varying, written

SAMPLES = Path(__file__).with_name("samples.py")
SOURCES = (
    programs.goldens,
    lambda: itertools.islice(programs.problems(), 0, None, 3),
    lambda: itertools.islice(programs.attacks(), 0, None, 20),
    lambda: programs.random({"spine": range(0, 15, 3)}),
)


# ------------------------------------------------------------------------------- the table
def test_table_serialisation_lossless():
    table = {"test b.py::two[x  y]": "SRCAD-101", "test a.py::one": "0123456789"}

    assert read(written(table)) == table
    assert written(table).startswith("test a.py")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("# f  (model.py:4)\nx = 1  # why", "# f\nx = 1  # why"),
        ("    # y = np.sin(x)  (mod...\n", "    # y = np.sin(x)\n"),
        ("    # y = np.sin(x...\n", "    # y = np.sin(x\n"),
        ("x = f(  (a.py))\n", "x = f(  (a.py))\n"),
        ("    # " + "y + " * 10 + "  (a.py:4)\n", "    # " + "y + " * 7 + "y \n"),
        ("    # " + "y + " * 9 + "...\n    # (a.py:4)\n", "    # " + "y + " * 7 + "y \n"),
    ],
)
def test_digest_ignores_source_locations(text, want):
    assert normal(text) == want


def test_digest_of_code_and_of_rejection():
    assert len(digest("def f(x):\n    return x\n")) == 10
    assert digest("SRCAD-103") == "SRCAD-103"
    assert digest("TypeError") == "TypeError"


def test_comparison_reports_changed_new_and_removed_programs():
    changed, report = compared({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "4", "d": "5"})

    assert changed == ["b"]
    assert report.splitlines() == [
        "b: 2 -> 4", "c: 3 -> gone", "d: new -> 5", "1 of 3 programs have changed",
    ]  # fmt: skip


def test_version_dependent_entries_never_differ():
    old = varying({"a": "1", "b": "2"}, {"a": "1", "b": "3"})

    assert old == {"a": "1", "b": "varies"}
    assert compared(old, {"a": "1", "b": "4"})[0] == []
    assert renewed(old, {"a": "5", "b": "6", "c": "7"}) == {"a": "5", "b": "varies", "c": "7"}


def test_diff_of_two_generated_codes():
    lines = shown("f", "# f  (a.py:1)\nx = 1\n", "# f  (a.py:9)\nx = 2\n").splitlines()

    assert lines == ["--- old f", "+++ new f", "@@ -1,2 +1,2 @@", " # f", "-x = 1", "+x = 2"]


class Written(str):
    """A program with this text."""

    def text(self):
        return str(self)


@pytest.fixture
def two_programs(tmp_path, monkeypatch):
    """A table of three programs, of which a short run takes one, and one that is new."""
    table = tmp_path / "table.txt"
    table.write_text(written({"a": "SRCAD-101", "gone": "SRCAD-101", "random b": "SRCAD-102"}))
    monkeypatch.setattr(runner, "TABLE", table)
    given = {"a": Written("SRCAD-103"), "new": Written("SRCAD-101")}
    monkeypatch.setattr(runner, "SHORT", (given.items,))
    monkeypatch.setattr(runner, "ALL", (given.items,))
    return table


def test_changed_code_fails_until_accepted(two_programs, capsys):
    assert runner.main(["--short"]) == 1
    assert "a: SRCAD-101 -> SRCAD-103\ngone: SRCAD-101 -> gone" in capsys.readouterr().out

    runner.main(["--short", "--update"])

    assert runner.main(["--short"]) == 0
    assert set(read(two_programs.read_text())) == {"a", "new", "random b"}


def test_new_and_removed_programs_do_not_fail(two_programs):
    two_programs.write_text(written({"a": "SRCAD-103", "gone": "SRCAD-101"}))

    assert runner.main([]) == 0


def test_shares_have_every_program_once(two_programs, capsys):
    assert runner.main(["--short", "--share", "2/2"]) == 0
    assert "a: " not in capsys.readouterr().out

    assert runner.main(["--short", "--share", "1/2"]) == 1
    assert "new: new" not in capsys.readouterr().out


# ---------------------------------------------------------------------------- the programs
async def awaited(x):
    return x


def test_program_outcome_is_code_error_code_or_exception_name():
    assert "2.0 * x" in Program(lambda x: x * x, (1.0,)).text()
    assert Program(awaited, (1.0,)).text().startswith("SRCAD-")
    assert Program(lambda x: x, ([],), (3,)).text()[0] != "#"


def test_code_generated_for_requested_wrt():
    def product(x, y):
        return np.sum(x * y)

    assert "y_bar" not in Program(product, (np.ones(3), 2.0), (0,)).text()


def test_programs_collected_from_parameters_and_assertions():
    found = {test.name: list(programs_of(test)) for test in collected_from(SAMPLES)}

    assert [len(p) for p in found.values()] == [1, 1, 2, 2, 0, 0]
    assert found["test_with_a_table[program1]"] == [Program(max, (2.0, 3.0))]
    assert found["test_with_comparisons[2.0]"][1] == Program(abs, (-2.0,))


def test_sampled_code_digests_unchanged():
    table = read(TABLE.read_text())

    found = {name: digest(text) for name, text in texts(SOURCES).items()}

    changed, _ = compared(table, {**table, **found})
    assert not changed, "python -m tests.frozen --against PATH shows them; --update accepts them"
