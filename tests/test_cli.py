"""The command line, as a user meets it."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import srcad
from srcad.__main__ import main

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
def test_the_arguments_of_a_call_decide_the_text(model, words, expected, capsys):
    assert main(["show", "shown_model:loss", *words]) == 0

    out = capsys.readouterr().out
    assert expected in out
    assert "unbroadcast" not in out


def test_a_file_beside_others_that_it_imports(tmp_path, monkeypatch, capsys):
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
def test_what_is_not_there_is_said(model, words, message):
    with pytest.raises(SystemExit, match=message):
        main(words)


def test_an_error_of_srcad_is_printed_without_a_traceback(model, capsys):
    assert main(["show", "shown_model:loss", "--wrt", "nobody"]) == 1

    assert "SRCAD-302" in capsys.readouterr().err


def test_the_demo_shows_checks_and_learns():
    run = subprocess.run(
        [sys.executable, "-m", "srcad", "demo", "--seconds", "0.5"],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip

    assert run.returncode == 0, run.stderr
    assert "def value_and_grad_loss(params, x, t):" in run.stdout
    assert "agrees with finite differences" in run.stdout
