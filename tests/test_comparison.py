"""The page that compares three systems: each of its programs prints what stands under it."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "comparison.md"
SECTION = re.compile(r"^## (\d+\. .*?)$(.*?)```text\n(.*?)```", re.DOTALL | re.MULTILINE)
PROGRAM = re.compile(r"```python\n# (\w+)\n(.*?)```", re.DOTALL)
SYSTEMS = ("srcad", "autograd", "JAX")
TASKS = {
    (title, system): (program, expected)
    for title, text, expected in SECTION.findall(PAGE.read_text())
    for system, program in PROGRAM.findall(text)
}


def test_there_are_ten_tasks_in_three_systems():
    titles = list(dict.fromkeys(title for title, _ in TASKS))

    assert len(titles) == 10
    assert list(TASKS) == [(title, system) for title in titles for system in SYSTEMS]


def printed(programs, folder, environment):
    """What programs print, one after another in one process, told apart by a line."""
    text = []
    for k, program in enumerate(programs):
        path = folder / f"task_{k}.py"
        path.write_text(program)
        text.append(f"runpy.run_path({str(path)!r}); print('<end>')")
    done = subprocess.run([sys.executable, "-c", "\n".join(["import runpy", *text])],
                          env=environment, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split("<end>\n")[:-1]


@pytest.mark.parametrize("system", SYSTEMS)
def test_comparison_page_output_matches(system, tmp_path, update_golden):
    if importlib.util.find_spec(system.lower()) is None:
        pytest.skip(f"{system} is not installed")
    chosen = {title: task for (title, one), task in TASKS.items() if one == system}
    environment = os.environ | {"PYTHONPATH": str(ROOT), "JAX_ENABLE_X64": "1",
                                "JAX_PLATFORMS": "cpu"}  # fmt: skip

    out = printed([program for program, _ in chosen.values()], tmp_path, environment)

    if update_golden and system == "srcad":
        found = iter(out)
        PAGE.write_text(
            re.sub(r"```text\n.*?```", lambda _: f"```text\n{next(found)}```", PAGE.read_text(),
                   flags=re.DOTALL)
        )  # fmt: skip
        return
    expected = [text for _, text in chosen.values()]
    assert list(map(str.split, out)) == list(map(str.split, expected))
