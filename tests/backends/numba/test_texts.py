"""Generated loops depend on the program only, not on the hashes of strings."""

import linecache
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from srcad.backends.numba.loops import ONE, ZERO, Apply, Assign, Dim, Load, Nest, Storage, whole
from srcad.backends.numba.printing import Writer, allocations
from srcad.ir.core import Location

ROOT = Path(__file__).resolve().parents[3]
NAMES = ["work", "a", "x_bar", "tanh_x", "b", "z", "c", "u_bar"]
DIM = Dim(whole(3), None)
SCRIPT = """
import warnings
from tests.backends.numba.interpreted import Compared
from tests.backends.numba.test_lowering import CASES
warnings.simplefilter("ignore")
for name in [*CASES][1::2]:
    print(name, Compared(*CASES[name]).text)
"""


def storages_of(names):
    return {name: Storage(name, [DIM], np.dtype(np.float64)) for name in names}


def test_arrays_of_one_loop_are_made_in_the_order_of_first_use():
    first, second = NAMES[:4], NAMES[4:]
    loads = [Load(name, (ZERO,)) for name in second]
    body = [Assign(name, (ZERO,), Load(name, (ZERO,))) for name in first]
    body.append(Assign("total", (), Apply("f", tuple(loads))))
    loop = Nest("i", DIM, body)
    again = Nest("j", DIM, [Assign(name, (ZERO,), Load(name, (ZERO,))) for name in reversed(NAMES)])

    made = allocations([loop, again], storages_of(reversed(NAMES)))

    assert [storage.name for storage in made[id(loop)]] == NAMES


def test_arrays_of_an_inner_loop_are_made_in_the_order_of_first_use():
    value = Apply("f", tuple(Load(name, (ZERO,)) for name in NAMES))
    inner = Nest("j", DIM, [Assign("total", (), value)])
    outer = Nest("i", Dim(ONE, None), [inner])

    made = allocations([outer], storages_of(sorted(NAMES)))

    assert [storage.name for found in made.values() for storage in found] == NAMES


@pytest.mark.random
def test_loops_of_forty_programs_do_not_depend_on_the_hash_seed():
    texts = []
    for seed in ("0", "1"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True,
                             cwd=ROOT, env=env, check=True)  # fmt: skip
        texts.append(run.stdout)

    assert texts[0].count("def kernel(") >= 40
    assert texts[0] == texts[1]


def test_comment_of_long_line_has_88_columns(monkeypatch):
    file = "<long lines>"
    monkeypatch.setitem(linecache.cache, file, (1, None, [f"y = x{' + x' * 40}\n"], file))
    writer = Writer({}, {}, set())

    writer._comment(Location(file, 1), 9 * "    ")

    assert 85 <= len(writer.lines[0]) <= 88
