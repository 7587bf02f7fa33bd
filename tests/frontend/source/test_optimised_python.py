"""With ``python -O`` the derivative is that of the code without its assertions."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

import srcad
from tests.marks import some

PROGRAMS = '''
"""Programs with assertions."""
from srcad import value_and_grad


def plain(x):
    """Text that -OO takes away."""
    assert x > 0, "negative"
    return x * x


def with_an_effect(x):
    items = [1.0]
    assert items.append(2.0) is None
    return x * sum(items)


def by_a_helper(x):
    assert refuses(x)
    return x * 2.0


def refuses(x):
    assert False


def caught(x):
    try:
        assert x > 0
    except AssertionError:
        return x * 5.0
    return x * 2.0


def in_a_loop(x):
    for k in range(3):
        assert x > k
    return x * k


def in_a_local_function(x):
    def inner(y):
        assert y > 0
        return y * y

    return inner(x)


def in_a_generator(x):
    def values():
        assert x > 0
        yield x

    return sum(values())


def by_its_name(x):
    return x * 3.0 if __debug__ else x * 4.0


def raised(x):
    if x > 0:
        raise AssertionError("positive")
    return x * x


for f in (plain, with_an_effect, by_a_helper, caught, in_a_loop, in_a_local_function,
          in_a_generator, by_its_name, raised):
    value, slope = value_and_grad(f)(-2.0)
    assert_ = abs(f(-2.0 + 1e-6) - f(-2.0 - 1e-6) - 2e-6 * slope) < 1e-10
    print(f.__name__, value == f(-2.0) and assert_)
'''


@pytest.mark.parametrize("option", some(["-OO", "-O"], 1))
def test_assertions_are_skipped(option, tmp_path):
    path = tmp_path / "programs.py"
    path.write_text(PROGRAMS)
    root = str(pathlib.Path(srcad.__file__).parents[1])

    done = subprocess.run(
        [sys.executable, option, str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
    )

    assert done.stderr == ""
    assert [line.split()[1] for line in done.stdout.splitlines()] == ["True"] * 9, done.stdout
