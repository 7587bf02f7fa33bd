"""Editors that use pyright find the mistakes in a program, and no others."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("basedpyright", reason="needs the extra: pip install -e '.[dev]'")

pytestmark = pytest.mark.together
ROOT = Path(__file__).resolve().parent.parent
TYPED = ROOT / "tests" / "typed_program.txt"
CONFIG = {"typeCheckingMode": "standard", "extraPaths": [str(ROOT)]}
PROGRAM = """
import srcad
from srcad import Numba, grad

def loss(w: list[float], x: float, *, scale: float = 1.0) -> float: ...

@srcad.differentiate
def cube(x: float, n: int = 3) -> float: ...

@srcad.checkpoint
def layer(x: float, w: float) -> float: ...

class Spring:
    @srcad.differentiate
    def energy(self, x: float) -> float: ...

    @srcad.checkpoint
    def power(self, x: float) -> float: ...

w = [1.0]
"""
WRONG = (
    "grad(loss)(w)",
    "grad(loss)(w, 'a')",
    "grad(loss)(w, 1.0, scala=2.0)",
    "grad(loss)(w, 1.0, 2.0)",
    "grad(grad(loss))(w)",
    "grad(loss, backend='nunba')",
    "grad(loss, wrt=1.5)",
    "grad(loss, backend=Numba(stricd=True))",
    "grad(loss, backend=Numba(strict='yes'))",
    "cube('a')",
    "cube()",
    "cube.grad()",
    "cube.value_and_grad(1.0, m=2)",
    "layer(1.0)",
    "layer(1.0, w=2.0, y=3.0)",
    "Spring().energy('a')",
    "Spring().energy.grad()",
    "Spring().power()",
    "srcad.gradient(loss, 1.0)",
    "srcad.jacobian(loss, backend='jax')",
    "srcad.hessian(loss)(w)",
    "srcad.grads(loss)",
    "srcad.pullback(loss, 'x', 1.0)",
)


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """The lines of two programs that pyright reports, by the names of their files."""
    folder = tmp_path_factory.mktemp("pyright")
    (folder / "pyrightconfig.json").write_text(json.dumps(CONFIG))
    (folder / "right.py").write_text(TYPED.read_text())
    (folder / "wrong.py").write_text(PROGRAM + "\n".join(WRONG) + "\n")
    done = subprocess.run([sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable,
                           "--level", "error", "--project", str(folder)],
                          capture_output=True, text=True, check=False)  # fmt: skip
    lines = re.findall(r"(\w+\.py):(\d+):\d+ - error", done.stdout)
    assert lines, done.stdout + done.stderr
    return lines, done.stdout


def test_pyright_reports_nothing_in_a_right_program(reported):
    lines, said = reported

    assert [line for line in lines if line[0] == "right.py"] == [], said


@pytest.mark.parametrize("line", WRONG)
def test_pyright_reports_a_wrong_call(line, reported):
    number = PROGRAM.count("\n") + 1 + WRONG.index(line)

    assert ("wrong.py", str(number)) in reported[0]
