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
    path.write_text("import numpy as np\n\ndef loss(w, x):\n    return np.sum(np.tanh(w * x))\n")
    yield path
    sys.modules.pop("shown_model", None)


@pytest.mark.parametrize("spelled", ["shown_model:loss", "shown_model.py:loss"])
def test_show_prints_both_halves(model, spelled, capsys):
    assert main(["show", spelled, "--wrt", "w"]) == 0

    out = capsys.readouterr().out
    assert "def loss_primal(w, x):" in out
    assert "def loss_adjoint(" in out
    assert "# return np.sum(np.tanh(w * x))" in out


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
    ],
)
def test_what_is_not_there_is_said(words, message):
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
