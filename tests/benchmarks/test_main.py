"""``python -m benchmarks``: its measurements, tables, files and refusals."""

import gc
import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import comparison, tables
from benchmarks.cases import case, labels
from benchmarks.interleaved import Result, Row, measure
from benchmarks.systems import SYSTEMS, System


@pytest.fixture(autouse=True)
def hidden_from_the_collector():
    """Freeze what a measurement unfreezes: else the next one collects all of the test run."""
    yield
    gc.freeze()


@pytest.fixture
def rosenbrock():
    return case("problems", "rosenbrock", "2 floats")


@pytest.fixture
def rows():
    results = {"hand": Result(1.0, 2e-3, 0.1), "srcad": Result(0.5, 1e-3, 0.2)}
    other = {"hand": Result(1.0, 1e-6, 0.1), "srcad": Result(2.0, 2e-6, 0.4)}
    failed = {"hand": Result(1.0, 1.0, 0.1), "srcad": Result(failure="TypeError", message="no")}
    return [
        Row("problems", "first", "n=1", "hand", results),
        Row("problems", "second", "n=1", "hand", other),
        Row("problems", "third", "n=1", "hand", failed),
    ]


def measured(case, system):
    return measure(case, [system], rounds=1, budget=0.02).results[system.name]


# --------------------------------------------------------------------------------- measurements
def test_systems_agree_on_two_small_problems(capsys):
    words = ["rosenbrock", "mlp_tiny", "--systems", "hand,srcad", "--rounds", "2"]

    rows = comparison.main(words)

    assert {row.name for row in rows} == {"rosenbrock", "mlp_tiny"}
    for row in rows:
        assert row.results["hand"].ratio == 1.0
        assert row.results["srcad"].failure == ""
        assert row.results["srcad"].ratio > 0
    assert "geometric mean (sizes)" in capsys.readouterr().out


def test_kernel_has_generated_code_as_basis(capsys):
    words = ["trisolv", "--set", "kernels", "--size", "test", "--systems", "hand", "--rounds", "1"]

    (row,) = comparison.main(words)

    assert row.basis == "srcad"
    assert list(row.results) == ["srcad"]


def test_error_of_a_system_is_its_cell(rosenbrock):
    def build(case):
        raise TypeError("no such\n  option")

    result = measured(rosenbrock, System("other", build))

    assert (result.failure, result.message) == ("TypeError", "no such option")


def test_error_of_second_call_is_its_cell(rosenbrock):
    def build(case):
        results = iter([SYSTEMS["hand"].build(case)()])
        return lambda: next(results)

    assert measured(rosenbrock, System("other", build)).failure == "StopIteration"


@pytest.mark.parametrize("factor", [1 + 1e-5, np.nan])
def test_other_gradient_is_wrong(rosenbrock, factor):
    def build(case):
        x_bar, y_bar = SYSTEMS["hand"].build(case)()
        return lambda: (x_bar, factor * y_bar)

    assert measured(rosenbrock, System("other", build)).failure == "wrong"


def test_changed_argument_is_reported_and_restored():
    gelu = case("problems", "gelu", "n=1e4")
    before = gelu.args[0].copy()

    def build(case):
        def run():
            gradients = SYSTEMS["hand"].build(case)()
            case.args[0][0] = 0.0
            return gradients

        return run

    result = measured(gelu, System("other", build))

    assert result.failure == "writes arguments"
    np.testing.assert_array_equal(gelu.args[0], before)


def test_system_without_a_version_has_no_result(rosenbrock):
    row = measure(rosenbrock, [System("other", lambda case: None)], rounds=1, budget=0.02)

    assert list(row.results) == ["hand"]
    assert tables.cell(row, "other") == "-"


def test_missing_package_leaves_system_out(monkeypatch, capsys):
    absent = replace(SYSTEMS["torch"], modules=("no_such_module",))
    monkeypatch.setitem(SYSTEMS, "torch", absent)

    rows = comparison.main(["rosenbrock", "--systems", "torch", "--rounds", "1"])

    assert "torch: left out, no_such_module is not installed" in capsys.readouterr().out
    assert list(rows[0].results) == ["hand"]


@pytest.mark.parametrize(
    ("group", "size", "expected"),
    [
        ("problems", "", ["n=50", "n=200"]),
        ("problems", "smallest", ["n=50"]),
        ("problems", "largest", ["n=200"]),
        ("problems", "n=200", ["n=200"]),
        ("problems", "n=7", []),
        ("kernels", "", ["bench"]),
    ],
)
def test_labels_of_sizes(group, size, expected):
    name = "gp_nll" if group == "problems" else "gemm"

    assert labels(group, name, size) == expected


# --------------------------------------------------------------------------------------- tables
def test_grid_has_ratios_means_and_first_calls(rows):
    lines = {line[0]: line[1:] for line in tables.grid(rows)}

    assert lines["function"] == ["size", "hand [us]", "srcad"]
    assert lines["first"] == ["n=1", "2,000", "0.500"]
    assert lines["third"][-1] == "TypeError"
    assert lines["geometric mean (sizes)"][-1] == "1.00 (2)"
    assert lines["first call [s], largest"] == ["", "0.10", "0.40"]


def test_failures_name_the_error_and_the_cases(rows):
    assert tables.failures(rows) == ["srcad: TypeError: no (third n=1)"]


def test_page_keeps_text_around_the_markers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{tables.BEGIN}\n\nold\n\n{tables.END}\n\nafter\n")

    tables.update_page(page, "| new |\n")

    assert page.read_text() == (
        f"before\n\n{tables.BEGIN}\n\n| new |\n\n{tables.END}\n\nafter\n"
    )  # fmt: skip


def test_page_without_markers_is_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text\n")

    with pytest.raises(ValueError, match="has no markers"):
        tables.update_page(page, "")


def test_documentation_has_markers():
    text = comparison.PAGE.read_text()

    assert text.count(tables.BEGIN) == text.count(tables.END) == 1


def test_files_are_written(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text(f"{tables.BEGIN}\n{tables.END}\n")
    monkeypatch.setattr(comparison, "PAGE", page)
    file, markdown = tmp_path / "results.json", tmp_path / "results.md"
    words = ["rosenbrock", "--systems", "srcad", "--rounds", "1", "--update-docs", "--clock", "cpu"]

    comparison.main([*words, "--json", str(file), "--markdown", str(markdown)])

    content = json.loads(file.read_text())
    assert content["versions"]["numpy"] == np.__version__
    assert content["rows"][0]["results"]["srcad"]["ratio"] > 0
    assert "one thread, cpu time" in markdown.read_text()
    assert "| rosenbrock | 2 floats |" in markdown.read_text()
    assert markdown.read_text().strip() in page.read_text()


def test_plot_is_drawn(rows, tmp_path):
    pytest.importorskip("matplotlib")

    tables.plot(rows, tmp_path / "plot.png")

    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "words", [["no_such_name"], ["--systems", "no_such_system"], ["--size", "no such size"]]
)
def test_unknown_words_are_refused(words, capsys):
    with pytest.raises(SystemExit):
        comparison.main(words)

    assert "no" in capsys.readouterr().err
