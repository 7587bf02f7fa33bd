"""The command line, as a user meets it."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import srcad
from srcad import rules
from srcad.__main__ import main
from srcad.rules import printing

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "shown_model.py"
    path.write_text("import numpy as np\n\ndef loss(w, x):\n    return np.sum(np.tanh(w * x))\n"
                    "\nSCALE = 3.0\n")  # fmt: skip
    (tmp_path / "broken.py").write_text("x = 1\nx / 0\n")
    (tmp_path / "needy.py").write_text("import missing_one\n")
    (tmp_path / "unread.py").write_text("def f(:\n")
    yield path
    for name in ("shown_model", "broken", "needy", "unread"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("spelled", ["shown_model:loss", "shown_model.py:loss"])
def test_show_prints_both_halves(model, spelled, capsys):
    assert main(["show", spelled, "--wrt", "w"]) == 0

    out = capsys.readouterr().out
    assert "def loss_primal(w, x):" in out
    assert "def loss_adjoint(" in out
    assert "# return np.sum(np.tanh(w * x))" in out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--args", "np.ones(4), np.ones((3, 4))"], "np.sum("),
        (["--args", "SCALE, x=np.ones(3)"], "loss_adjoint("),
        (["--args", "2.0, math.pi", "--wrt", "w,x"], "loss_adjoint("),
        (["--args", "numpy.ones(4), 2.0", "--wrt", "-1"], "loss_adjoint("),
    ],
)
def test_show_code_depends_on_given_arguments(model, words, expected, capsys):
    assert main(["show", "shown_model:loss", *words]) == 0

    out = capsys.readouterr().out
    assert expected in out
    assert "unbroadcast" not in out


def test_show_file_importing_sibling_module(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "beside_it.py").write_text("def scale(x):\n    return 3 * x\n")
    (folder / "one_of_two.py").write_text(
        "from beside_it import scale\n\ndef f(x):\n    return scale(x) * x\n"
    )

    assert main(["show", str(folder / "one_of_two.py") + ":f", "--args", "2.0"]) == 0
    assert "def f_adjoint(" in capsys.readouterr().out


def test_the_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert ended.value.code == 0
    assert capsys.readouterr().out == f"srcad {srcad.__version__}\n"


def test_ssa_prints_the_ir(model, capsys):
    assert main(["ssa", "shown_model:loss"]) == 0

    assert "= tanh(" in capsys.readouterr().out


def test_info_prints_versions(capsys):
    assert main(["info"]) == 0

    out = capsys.readouterr().out
    assert srcad.__version__ in out
    assert np.__version__ in out
    assert int(re.search(r"rules\s+(\d+)", out)[1]) > 100


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "loss"], "module:function"),
        (["show", "nowhere.py:f"], "no file"),
        (["show", "math:nothing"], "has no"),
        (["show", "shown_model:los"], "has no 'los'; did you mean 'loss'"),
        (["show", "shown_model:loss.inner"], "has no 'loss.inner'"),
        (["show", "no_such_module:f"], "there is no module 'no_such_module'"),
        (["show", "numpy.nothing:f"], "there is no module 'numpy.nothing'"),
        (["show", ":f"], "importing '' failed: ValueError"),
        (["show", "..x:f"], "importing '..x' failed: TypeError"),
        (["ssa", "shown_model:SCALE"], "is not callable"),
        (["show", "broken:f"], "importing 'broken' failed: ZeroDivisionError.*broken.py:2"),
        (["show", "needy.py:f"], "importing 'needy.py' failed: ModuleNotFoundError.*'missing_one'"),
        (["show", "unread:f"], "importing 'unread' failed: SyntaxError"),
        (["show", "shown_model:loss", "--args", "np.ones(2)"], r"loss\(\) missing a required"),
        (["show", "shown_model:loss", "--args", "1, 2, 3"], r"loss\(\) too many positional"),
        (["show", "shown_model:loss", "--args", "np.one(2)"], "--args 'np.one.2.' failed: Attri"),
        (["show", "shown_model:loss", "--args", "1, (2"], "--args .* failed: SyntaxError"),
    ],
)
def test_missing_target_error_message(model, words, message):
    with pytest.raises(SystemExit, match=message):
        main(words)


def test_an_error_of_srcad_is_printed_without_a_traceback(model, capsys):
    assert main(["show", "shown_model:loss", "--wrt", "nobody"]) == 1

    assert "SRCAD-302" in capsys.readouterr().err


def test_demo_shows_code_checks_gradient_and_trains():
    run = subprocess.run(
        [sys.executable, "-m", "srcad", "demo", "--seconds", "0.5"],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip

    assert run.returncode == 0, run.stderr
    assert "def value_and_grad_loss(params, x, t):" in run.stdout
    assert "agrees with finite differences" in run.stdout


# ------------------------------------------------------------------ what is shown, and what is not
@pytest.fixture
def kinds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "shown_kinds.py").write_text(
        "import math\nimport numpy as np\nimport srcad\n\n"
        "class Net:\n    def loss(self, w):\n        return w * w\n\n"
        "class Empty:\n    pass\n\n"
        "def f(x, w):\n    return np.sum(np.tanh(x * w))\n\n"
        "def cube(x):\n    return x**3\n\n"
        "def wrong(x):\n    return srcad.stop_gradient(x) * x\n\n"
        "def only(x, *, k):\n    return k * x\n\n"
        "def fails(x):\n    raise RuntimeError('no')\n"
    )
    yield
    sys.modules.pop("shown_kinds", None)


@pytest.mark.parametrize("command", ["show", "ssa", "graph", "check"])
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("shown_kinds:Net", ["is a class", "shown_kinds:Net.loss", "shown_kinds:f"]),
        ("shown_kinds:Empty", ["is a class", "such as shown_kinds:f"]),
        ("datetime:date", ["is a class; functions that are written in Python"]),
        ("math:sin", ["--args"]),
    ],
)
def test_unshowable_target_error_suggests_alternatives(kinds, command, function, expected, capsys):
    words = ["--args", "1.0"] if command == "check" and "class" in expected[0] else []
    with pytest.raises(SystemExit) as stopped:
        main([command, function, *words])

    said = str(stopped.value)
    assert capsys.readouterr().out == ""
    assert "wrt" not in said
    assert all(part in said for part in expected)


def test_show_builtin_with_rule_for_arguments(capsys):
    assert main(["show", "math:sin", "--args", "2.0"]) == 0
    assert "math.cos(x)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("function", "asked"),
    [
        ("cube", '"np.ones(3)"'),
        ("f", '"np.ones(3), np.ones(3)"'),
        ("only", '"np.ones(3), k=np.ones(3)"'),
    ],
)
def test_show_generic_code_suggests_arguments(kinds, function, asked, capsys):
    assert main(["show", f"shown_kinds:{function}"]) == 0

    shown = capsys.readouterr()
    helpers = "converted_like(" in shown.out or "unbroadcast(" in shown.out
    assert helpers == (f"python -m srcad show shown_kinds:{function} --args {asked}" in shown.err)
    assert main(["show", f"shown_kinds:{function}", "--args", asked.strip('"')]) == 0
    assert capsys.readouterr().err == ""


def test_show_note_printed_once(capsys):
    assert main(["show", "json:dumps"]) == 0

    shown = capsys.readouterr()
    assert shown.out.count("decided at the call") == 1
    assert "--args" in shown.err


def test_output_to_closed_pipe(kinds, tmp_path):
    program = f"{sys.executable} -m srcad rules tan | head -1"
    ran = subprocess.run(program, shell=True, capture_output=True, text=True, check=False,
                         cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip

    assert ran.stdout.count("\n") == 1
    assert ran.stderr == ""


# ------------------------------------------------------------------ check, rules, explain
@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["f", "--args", "np.ones(3), 2.0"], 0),
        (["f", "--args", "np.ones(3), w=2.0"], 0),
        (["f", "--args", "np.ones(3), 2.0", "--wrt", "w", "--order", "2"], 0),
        (["only", "--args", "2.0, k=3.0"], 0),
        (["wrong", "--args", "2.0"], 1),
    ],
)
def test_check_compares_with_differences(kinds, words, status, capsys):
    assert main(["check", f"shown_kinds:{words[0]}", *words[1:]]) == status

    out = capsys.readouterr().out
    assert ("agree" in out) == (status == 0)
    assert status == 0 or "differences give" in out


@pytest.mark.parametrize(
    ("words", "said"), [(["f"], "--args"), (["fails", "--args", "1.0"], "RuntimeError: no")]
)
def test_check_needs_arguments_and_a_function_that_runs(kinds, words, said):
    with pytest.raises(SystemExit, match=said):
        main(["check", f"shown_kinds:{words[0]}", *words[1:]])


def test_rules_prints_rows_with_their_formulas(capsys):
    assert main(["rules", "tanh"]) == 0

    out = capsys.readouterr().out
    assert re.search(r"^numpy\.tanh: derivative  \(srcad/rules/elementwise\.py:\d+\)$", out, re.M)
    assert "    return 1 - y" in out


@pytest.mark.parametrize(
    ("word", "first", "lines"),
    [
        ("np.flip", "numpy.flip: linear", ["memory      view", "return np.flip(y_bar, axis)"]),
        ("numpy.tanh", "numpy.tanh: derivative", ["range       at most one", "lowered"]),
        ("@", "operator.matmul: bilinear", ["sign        @, @= in place"]),
        ("operator.add", "operator.add: derivative", ["spellings   operator.add, numpy.add"]),
        ("scipy.special.erf", "scipy.special.erf: derivative", ["kinks       0: 1.128379"]),
        ("scipy.stats.norm.logpdf", "scipy.stats.norm.logpdf: derivative", ["not lowered"]),
        ("np.trim_zeros", "numpy.trim_zeros: facts, no rule", ["result      any_lengths: True"]),
        ("np.split", "numpy.split: linear", ["result"]),
    ],
)
def test_rules_prints_whole_row_of_exact_name(word, first, lines, capsys):
    assert main(["rules", word]) == 0

    out = capsys.readouterr().out
    assert out.startswith(f"{first}  (srcad/rules/")
    assert len(re.findall(r"^\S", out, re.M)) == 1
    assert all(line in out for line in lines)


def test_every_row_is_printed_with_its_columns():
    texts = [printing.whole(row) for row in rules.rows()]

    assert len(texts) > 1000
    assert not [text for text in texts if " at 0x" in text or "no place" in text]


def test_sign_with_two_meanings_prints_both_rows(capsys):
    assert main(["rules", "-"]) == 0
    assert re.findall(r"^\S+:", capsys.readouterr().out, re.M) == ["operator.neg:", "operator.sub:"]


def test_rules_without_a_word_prints_all_names(capsys):
    assert main(["rules"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 300


def test_rules_of_unknown_name_suggests_similar():
    with pytest.raises(SystemExit, match="did you mean"):
        main(["rules", "tahn"])


@pytest.mark.parametrize(
    "code", ["SRCAD-201", "srcad-201", "201", "[SRCAD-201]", "MissingRuleError"]
)
def test_explain_prints_the_section_of_a_code(code, capsys):
    assert main(["explain", code]) == 0
    assert capsys.readouterr().out.startswith("SRCAD-201 MissingRuleError\n")


def test_explain_covers_every_error_code(capsys):
    classes = [one for one in vars(srcad.errors).values()
               if isinstance(one, type) and issubclass(one, srcad.errors.SrcadError)]  # fmt: skip
    for cls in classes:
        if cls is not srcad.errors.SrcadError:
            assert main(["explain", cls.code]) == 0
            assert capsys.readouterr().out.startswith(f"{cls.code} {cls.__name__}\n")


def test_explain_of_an_unknown_code_lists_those_there_are():
    with pytest.raises(SystemExit, match="SRCAD-101 UnsupportedSyntaxError"):
        main(["explain", "999"])


def test_errors_page_included_in_wheel():
    with open(ROOT / "pyproject.toml", "rb") as file:
        built = tomllib.load(file)["tool"]["hatch"]["build"]["targets"]["wheel"]

    assert built["force-include"] == {"docs/errors.md": "srcad/errors.md"}


@pytest.mark.parametrize(
    "words",
    [["export", "shown_model:loss", "--args", "2.0, 3.0"], ["graph", "shown_model:loss"]],
    ids=lambda words: words[0],
)
def test_output_in_a_missing_folder_is_named(model, words):
    with pytest.raises(SystemExit, match="/no/such/x"):
        main([*words, "-o", "/no/such/x.py" if words[0] == "export" else "/no/such/x.dot"])
