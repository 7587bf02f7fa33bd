"""Names that every doctest may use: `parse` reads a function of the IR, `text` prints it."""

import pytest

from srcad.ir.text import text
from tests.ir.parse import parse


@pytest.fixture(autouse=True)
def _names_of_doctests(doctest_namespace):
    doctest_namespace.update(parse=parse, text=text)
