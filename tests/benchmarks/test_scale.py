"""The benchmark of ways to sum over chunks, on few rows, and its table on the page."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import scale

ROW = re.compile(r"^\| (.+?) \| ([\d.]+) \| ([\d,]+) \| ([\d,]+) \| (\d+) \|$", re.MULTILINE)


def test_table_of_the_page_has_each_way_within_its_limit():
    found = {name: int(most.replace(",", "")) for name, _, _, most, _ in ROW.findall(page())}

    assert list(found) == list(scale.WAYS)
    assert all(found[name] <= limit for name, limit in scale.LIMITS.items())
    assert scale.PICTURE.exists()


def page():
    return scale.PAGE.read_text()


def test_lines_of_the_table_are_those_of_the_programs():
    assert {name: int(n) for name, *_, n in ROW.findall(page())} == {
        name: scale.lines_of(name) for name in scale.WAYS
    }


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_each_way_has_the_gradient_of_one_call():
    for module in ("distributed", "joblib", "zarr"):
        pytest.importorskip(module)

    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale", "--rows", "2000", "--rounds", "1"],
        cwd=scale.PAGE.parent.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )

    assert done.returncode == 0, done.stderr
    errors = re.findall(r"(\d\.\de[+-]\d\d)", done.stdout)
    assert len(errors) == len(scale.WAYS)
    assert max(map(float, errors)) < 1e-12
