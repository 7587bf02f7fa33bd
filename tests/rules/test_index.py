"""The index tells where rows stand: what is read, and when."""

import os
import subprocess
import sys
from pathlib import Path

from srcad.rules import index
from srcad.rules.listing import index as printed

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
registry.add_file("tiny_rows", ["soft"], library="tinylib.special")
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


def test_the_index_is_that_of_the_files(update_golden):
    if update_golden:
        Path(index.__file__).write_text(printed())

    assert Path(index.__file__).read_text() == printed()


def test_a_function_without_a_row_costs_no_file(tmp_path):
    program = """
import sys, numpy as np
from srcad.ir import primitives
from srcad.rules.registry import lookup
before = set(sys.modules)
methods = (list.append, [].append, np.ones(2).sum)
for target in (np.polyfit, primitives.append, *methods, lambda x: x, np.polynomial.Polynomial):
    lookup(target)
assert lookup(print) is not None
print(*(name for name in set(sys.modules) - before if name.startswith("srcad.rules.")))
"""
    assert printed_by(program, tmp_path) == "srcad.rules.constant"


def test_a_row_is_found_in_one_file(tmp_path):
    program = """
import sys, numpy as np
from srcad.rules.registry import lookup
assert lookup(np.linalg.norm).kind == "adjoint"
print(*(name for name in sys.modules if name in ("srcad.rules.norm", "srcad.rules.scalar")))
"""
    assert printed_by(program, tmp_path) == "srcad.rules.norm"


def tiny_library(folder):
    """A library with one function that has a row in a file of its own."""
    (folder / "tinylib").mkdir()
    (folder / "tinylib" / "__init__.py").write_text("")
    (folder / "tinylib" / "special.py").write_text(LIBRARY)
    (folder / "tiny_rows.py").write_text(ROWS)


def test_the_rows_of_a_library_are_read_when_its_function_is_met(tmp_path):
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


def test_the_rows_of_a_library_that_nobody_imported_are_not_read(tmp_path):
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
