"""Run each recipe: its program fails without the addition, and passes with it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from srcad.startup.records import dataclass

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
PAGE = (ROOT / "docs" / "design" / "how-to-extend.md").read_text()
FILE = re.compile(r"^```python (\w+\.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ERROR = re.compile(r"^```text\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
NEEDS = {"form_of_syntax": (3, 12)}  # Python versions that have the construct
WITHOUT_MATCH = """
import sys, types
name = "srcad.frontend.operations.match"
sys.modules[name] = types.ModuleType(name)
"""
MATCH = """
from srcad.testing import check_grads


def area(shape):
    match shape:
        case (r,):
            return 3.1 * r**2
        case (w, h) if w > h:
            return w * h * h
        case (w, h):
            area = w * h
        case _:
            raise TypeError("no shape")
    return area + w


for shape in [(1.3,), (0.5, 0.9), (1.2, 0.7)]:
    check_grads(area, [shape])
"""


@dataclass(frozen=True)
class Recipe:
    """A page: the title of the recipe, its files, and the error without the addition."""

    title: str
    files: dict[str, str]
    error: str


def read(page: Path) -> Recipe:
    """Read a page."""
    text = page.read_text()
    (error,) = ERROR.findall(text)
    title = text.partition("\n")[0].removeprefix("# ").partition(":")[0]
    assert text.count("```") == 2 * len(FILE.findall(text)) + 2, "a code block has no file name"
    return Recipe(title, dict(FILE.findall(text)), error)


RECIPES = {page.stem: read(page) for page in sorted(FOLDER.glob("*.md"))}
SUPPORTED = [name for name in RECIPES if sys.version_info >= NEEDS.get(name, (3, 0))]


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python code in a folder with this srcad."""
    paths = os.pathsep.join([str(folder), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": paths, "SRCAD_VERIFY": "1"}
    return subprocess.run([sys.executable, "-c", command], env=environment, cwd=folder,
                          capture_output=True, text=True, check=False)  # fmt: skip


def write(files: dict[str, str], folder: Path) -> None:
    """Write files into a folder."""
    for name, text in files.items():
        (folder / name).write_text(text)


@pytest.mark.parametrize("name", RECIPES)
def test_program_of_recipe_needs_its_addition(name: str, tmp_path: Path) -> None:
    if name not in SUPPORTED:
        pytest.skip("this version of Python does not have the construct")
    recipe = RECIPES[name]
    write(recipe.files, tmp_path)

    without = run("import program", tmp_path)
    with_it = run("import addition, program", tmp_path)

    assert without.returncode != 0, "the program does not need the addition"
    assert recipe.error in without.stderr, without.stderr
    assert with_it.returncode == 0, with_it.stderr


def test_all_additions_together_leave_each_program_valid(tmp_path: Path) -> None:
    for name in SUPPORTED:
        write({_file_beside_others(file, name): text for file, text in RECIPES[name].files.items()},
              tmp_path)  # fmt: skip
    # The program of this recipe checks that SciPy has not been imported yet.
    order = sorted(SUPPORTED, key=lambda name: name != "rule_of_a_library")
    modules = [f"{kind}_of_{name}" for kind in ("addition", "program") for name in order]

    done = run(f"import {', '.join(modules)}", tmp_path)

    assert done.returncode == 0, done.stderr


def _file_beside_others(file: str, name: str) -> str:
    """Return the name of a file of a recipe where all recipes share a folder."""
    return re.sub(r"^(addition|program)\.py$", rf"\1_of_{name}.py", file)


def test_every_section_has_an_example_and_links_to_it() -> None:
    titles = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    links = re.findall(r"\(\.\./\.\./tests/recipes/(\w+)\.md\)", PAGE)

    assert {recipe.title for recipe in RECIPES.values()} == set(titles)
    assert sorted(links) == sorted(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_files_that_a_recipe_names_exist_or_are_new(name: str) -> None:
    text = (FOLDER / f"{name}.md").read_text().rpartition("```")[2]
    paths = [ROOT / path for path in re.findall(r"`(srcad/[\w/]+\.py)`", text)]

    assert paths
    assert all(path.parent.is_dir() for path in paths)
    assert sum(not path.exists() for path in paths) <= 1


def test_match_without_its_file_is_refused(tmp_path: Path) -> None:
    write({"program.py": MATCH}, tmp_path)

    without = run(f"{WITHOUT_MATCH}\nimport program", tmp_path)
    with_it = run("import program", tmp_path)

    assert "cannot differentiate through 'match'" in without.stderr
    assert with_it.returncode == 0, with_it.stderr
