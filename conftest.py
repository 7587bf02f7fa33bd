"""The IR verifier is on in every test, and every doctest may use `parse` and `text`.

`parse` reads a function of the IR, `text` prints it.
"""

import importlib.util
import os

os.environ.setdefault("SRCAD_VERIFY", "1")  # before srcad is imported: records are frozen

import pytest

from srcad.ir.text import text
from tests.ir.parse import parse

collect_ignore = [] if importlib.util.find_spec("numba") else ["srcad/backends/numba"]


@pytest.fixture(scope="session")
def doctest_namespace():
    """Return the names."""
    return {"parse": parse, "text": text}
