"""Names that every doctest may use: `parse` reads a function of the IR, `text` prints it."""

import pytest

from srcad.ir.text import text
from tests.ir.parse import parse


@pytest.fixture(scope="session")
def doctest_namespace():
    """Return the names."""
    return {"parse": parse, "text": text}
