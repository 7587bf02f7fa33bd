"""Pages with programs of other systems: each program prints what stands under it."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import srcad

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = {
    "from-autograd": "autograd",
    "from-jax": "JAX",
    "from-pytorch": "PyTorch",
    "from-julia": None,
}
MODULES = {"PyTorch": "torch"}
INSIDE = "numpy-inside"  # srcad inside other systems
SECTION = re.compile(r"^### (\d)\. (.*?)```text\n(.*?)```", re.DOTALL | re.MULTILINE)
PROGRAM = re.compile(r"```(?:python\n# (\w+)|(julia))\n(.*?)```", re.DOTALL)
ROW = re.compile(r"^\| (`.*|gradient .*) \| .* \|$", re.MULTILINE)
TEXTS = {page: (DOCS / f"{page}.md").read_text() for page in [*PAGES, INSIDE]}


def programs(page):
    """Yield the number of each section, the system, the program and its output."""
    for number, text, expected in SECTION.findall(TEXTS[page]):
        for system, julia, program in PROGRAM.findall(text):
            yield int(number), system or julia, program, expected


CASES = sorted({(page, system) for page in TEXTS for _, system, _, _ in programs(page)}
               - {("from-julia", "julia"), ("from-julia", "srcad")})  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_page_has_names_and_five_programs_in_two_systems(page):
    systems = [(number, system) for number, system, _, _ in programs(page) if number <= 5]

    other = PAGES[page] or "julia"
    assert systems == [(n, one) for n in range(1, 6) for one in (other, "srcad")]
    assert len(ROW.findall(TEXTS[page])) >= 25
    assert "\n## What has no counterpart\n" in TEXTS[page]


def test_page_of_models_inside_has_a_program_for_each_system():
    systems = [system for _, system, _, _ in programs(INSIDE)]

    assert systems == ["PyTorch", "JAX", "PyTensor"]


@pytest.mark.parametrize("page", [*TEXTS, "cheat-sheet"])
def test_names_of_srcad_exist(page):
    text = (DOCS / f"{page}.md").read_text()
    for name in re.findall(r"\bsrcad\.((?:rules\.|testing\.)?[a-z]\w+)", text):
        found = srcad
        for part in name.split("."):
            found = getattr(found, part)


@pytest.mark.parametrize(("page", "system"), CASES)
def test_programs_print_what_stands_under_them(page, system, tmp_path):
    module = MODULES.get(system, system.lower())
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{system} is not installed")
    chosen = [(p, out) for _, one, p, out in programs(page) if one == system]
    lines = ["import runpy"]
    for k, (program, _) in enumerate(chosen):
        path = tmp_path / f"program_{k}.py"
        path.write_text(program)
        lines.append(f"runpy.run_path({str(path)!r}); print('<end>')")
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": str(DOCS.parent), "JAX_ENABLE_X64": "1",
                                            "JAX_PLATFORMS": "cpu"}, check=False)  # fmt: skip

    assert done.returncode == 0, done.stderr
    out = done.stdout.split("<end>\n")[:-1]
    assert list(map(str.split, out)) == [text.split() for _, text in chosen]
