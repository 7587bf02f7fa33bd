"""Editors and type checkers see the user's signature through derivatives."""

import re
from pathlib import Path

import pytest

api = pytest.importorskip("mypy.api", reason="needs the extra: pip install -e '.[dev]'")

pytestmark = pytest.mark.together
ROOT = Path(__file__).resolve().parent.parent
CONFIG = f"""
[mypy]
mypy_path = {ROOT}
strict = True
[mypy-srcad.*,numpy.*,astor.*]
follow_imports = skip
[mypy-srcad,srcad.api.*,srcad.calling.gradient,srcad.calling.decorated]
follow_imports = silent
"""
PROGRAM = """
from srcad.api.gradients import differentiate
from srcad.api.gradients import elementwise_grad, grad, gradient, value_and_grad
from srcad.api.products import pullback

def loss(w: list[float], x: float, *, scale: float = 1.0) -> float: ...

@differentiate
def cube(x: float, n: int = 3) -> float: ...

@differentiate(wrt="x")
def named(x: float) -> float: ...

class Model:
    @differentiate
    def loss(self, x: float) -> float: ...

w = [1.0]
"""
REVEALED = {
    "grad(loss)": "Gradient[[w: list[float], x: float, *, scale: float =], Any]",
    "value_and_grad(loss)": "Gradient[[w: list[float], x: float, *, scale: float =], "
    "tuple[float, Any]]",
    "value_and_grad(loss)(w, 1.0, scale=2.0)": "tuple[float, Any]",
    "elementwise_grad(loss, 'x')": "Gradient[[w: list[float], x: float, *, scale: float =], Any]",
    "grad(grad(loss))": "Gradient[[w: list[float], x: float, *, scale: float =], Any]",
    "cube": "Differentiable[[x: float, n: int =], float]",
    "cube(2.0)": "float",
    "cube.grad": "Gradient[[x: float, n: int =], Any]",
    "cube.value_and_grad(2.0, n=2)": "tuple[float, Any]",
    "named": "Differentiable[[x: float], float]",
    "Model().loss": "Differentiable[[x: float], float]",
    "Model().loss(1.0)": "float",
    "Model().loss.grad": "Gradient[[x: float], Any]",
    "pullback(loss, w, 1.0)[0]": "float",
    "pullback(loss, w, 1.0, wrt=1)[0]": "float",
    "gradient(loss, w, 1.0)": "tuple[Any, ...]",
}
WRONG = (
    "grad(loss)(w)",
    "grad(loss)(w, 'a')",
    "value_and_grad(loss)(w, 1.0, scala=2.0)",
    "cube('a')",
    "cube.grad()",
    "cube.grad(1.0, 2.0, 3.0)",
    "gradient(loss, 1.0)",
    "pullback(loss, 'x', 1.0)",
    "Model().loss('a')",
    "grad(3)",
)


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What mypy says of each line of a program."""
    folder = tmp_path_factory.mktemp("types")
    lines = [*(f"reveal_type({e})" for e in REVEALED), *WRONG]
    (folder / "mypy.ini").write_text(CONFIG)
    (folder / "program.py").write_text(PROGRAM + "\n".join(lines) + "\n")
    out, errors, _ = api.run(
        ["--config-file", str(folder / "mypy.ini"), "--cache-dir", str(folder / "cache"),
         str(folder / "program.py")]
    )  # fmt: skip
    first = PROGRAM.count("\n") + 1
    found = {line: [] for line in lines}
    for number, kind, text in re.findall(r"program\.py:(\d+): (error|note): (.*)", out):
        if int(number) >= first:
            found[lines[int(number) - first]].append(f"{kind}: {text}")
    assert not errors
    return found


@pytest.mark.parametrize("expression", REVEALED)
def test_the_type_of(expression, said):
    (note,) = said[f"reveal_type({expression})"]
    short = re.sub(r"\b(srcad\.(?:\w+\.)?\w+|builtins)\.", "", note)

    assert short == f'note: Revealed type is "{REVEALED[expression]}"'


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_call_is_seen(line, said):
    assert any(text.startswith("error") for text in said[line])


def test_user_program_passes_strict_mypy(tmp_path):
    (tmp_path / "mypy.ini").write_text(CONFIG.replace(",numpy.*", ""))
    program = tmp_path / "typed.py"
    program.write_text((ROOT / "tests" / "typed_program.txt").read_text())

    out, _, status = api.run(
        ["--config-file", str(tmp_path / "mypy.ini"), "--cache-dir", str(tmp_path / "cache"),
         str(program)]
    )  # fmt: skip

    assert status == 0, out
