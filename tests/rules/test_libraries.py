"""Files of rules for a library are imported when one of its functions is first met."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).resolve().parents[2])

LIBRARY = """
import numpy as np
def soft(x):
    return x / (1 + np.abs(x))
def other(x):
    return x
"""
ROWS = """
import tinylib.special
import numpy as np
from srcad.rules.declare import derivative

@derivative(tinylib.special.soft)
def soft(x):
    return 1 / (1 + np.abs(x)) ** 2
"""
ANNOUNCED = """
import sys, srcad
from srcad.rules import registry
registry.add_file("tinylib.special", file="tiny_rows")
"""


def printed_by(program, folder):
    """What a program prints in a process of its own, which finds modules in a folder."""
    file = folder / "program.py"
    file.write_text(program)
    paths = os.pathsep.join([ROOT, str(folder)])
    done = subprocess.run([sys.executable, str(file)], env=os.environ | {"PYTHONPATH": paths},
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_scipy_is_not_imported(tmp_path):
    program = """
import sys, srcad
assert srcad.grad(lambda x: x * x)(3.0) == 6.0
srcad.rules.rows()
print(*(name for name in sys.modules if "scipy" in name))
"""
    assert printed_by(program, tmp_path) == ""


def test_scipy_rules_loaded_on_first_use(tmp_path):
    pytest.importorskip("scipy")
    program = """
import sys, math, numpy as np, scipy.special
from srcad.rules import lookup
file = "srcad.rules.scipy.special"
for target in (math.sin, np.polyfit, np.sin, lambda x: x, list.append):
    lookup(target)
    assert file not in sys.modules
assert lookup(scipy.special.expit).kind == "derivative"
print(file in sys.modules)
"""
    assert printed_by(program, tmp_path) == "True"


def tiny_library(folder):
    """A library with one function that has a row in a file of its own."""
    (folder / "tinylib").mkdir()
    (folder / "tinylib" / "__init__.py").write_text("")
    (folder / "tinylib" / "special.py").write_text(LIBRARY)
    (folder / "tiny_rows.py").write_text(ROWS)


def test_library_rules_loaded_on_first_use(tmp_path):
    tiny_library(tmp_path)
    program = (
        ANNOUNCED
        + """
import tinylib.special
assert srcad.rules.rule_for(tinylib.special.soft).kind == "derivative"
assert srcad.rules.lookup(tinylib.special.other) is None
print(srcad.grad(lambda x: tinylib.special.soft(x) * 2.0)(1.0))
"""
    )
    assert printed_by(program, tmp_path) == "0.5"


def test_rules_of_unimported_library_not_loaded(tmp_path):
    tiny_library(tmp_path)
    program = (
        ANNOUNCED
        + """
def soft(x):
    return x * x
soft.__module__ = None
assert srcad.rules.lookup(soft) is None
srcad.rules.rows()
print("tinylib" in sys.modules, "tiny_rows" in sys.modules)
"""
    )
    assert printed_by(program, tmp_path) == "False False"
