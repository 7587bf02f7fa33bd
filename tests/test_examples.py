"""The examples run."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def run(name, *words, monkeypatch):
    monkeypatch.setattr(sys, "argv", [name, *words])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")  # SystemExit if its check fails


OWN_PROCESS = {  # they start processes; with the packages that they need
    "clicks_out_of_core": ["distributed", "zarr"],
    "sweep_of_fits": ["joblib", "numba"],
}
GALLERY = sorted(
    file.stem
    for file in EXAMPLES.glob("*.py")
    if file.stem not in ("digits", "rosenbrock", *OWN_PROCESS)
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", GALLERY)
def test_program_of_the_gallery_passes_its_check(name, monkeypatch):
    pytest.importorskip("scipy")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")

    run(f"{name}.py", monkeypatch=monkeypatch)

    assert pyplot.get_fignums()
    pyplot.close("all")


@pytest.mark.filterwarnings("ignore")
def test_digits_learns(tmp_path, monkeypatch, capsys):
    for module in ("sklearn", "matplotlib"):
        pytest.importorskip(module)
    picture = tmp_path / "digits.png"

    run("digits.py", "--out", str(picture), monkeypatch=monkeypatch)

    assert picture.stat().st_size > 10_000
    assert "test accuracy" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")
def test_rosenbrock_is_minimised(monkeypatch, capsys):
    pytest.importorskip("scipy")
    pytest.importorskip("matplotlib.pyplot").switch_backend("Agg")

    run("rosenbrock.py", monkeypatch=monkeypatch)

    assert "value_and_grad" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN_PROCESS)
def test_program_with_processes_passes_its_check(name, tmp_path):
    for module in ("scipy", "matplotlib", *OWN_PROCESS[name]):
        pytest.importorskip(module)
    env = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(EXAMPLES.parent)}

    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )

    assert done.returncode == 0, done.stderr
