"""Shares of tests: together they have each test once, and files marked `together` stay whole."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.marks import expensive_ids, slow_ids

CONFTEST = str(Path(__file__).with_name("conftest.py"))
CONFIG = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: None))


class Item:
    """A test of a file, as far as shares ask."""

    def __init__(self, name: str, *marks: str) -> None:
        self.nodeid, self.path, self.marks = name, Path(name.partition("::")[0]), marks

    def get_closest_marker(self, name: str) -> bool:
        return name in self.marks


ITEMS = [
    *(Item(f"a.py::test[{k}]") for k in range(5)),
    *(Item(f"b.py::test[{k}]", "together") for k in range(4)),
    *(Item(f"c.py::test[{k}]", "random") for k in range(6)),
]


@pytest.fixture
def keep(pytestconfig):
    """The function of the test run that chooses a share."""
    plugins = pytestconfig.pluginmanager.get_plugins()
    return next(p for p in plugins if getattr(p, "__file__", "") == CONFTEST)._keep


def shares(keep, of, among):
    found = []
    for which in range(1, of + 1):
        items = list(ITEMS)
        keep(CONFIG, items, f"{which}/{of}", among)
        found.append([item.nodeid for item in items])
    return found


@pytest.mark.parametrize("of", [1, 2, 3, 12])
def test_shares_have_each_test_once(keep, of):
    found = shares(keep, of, list(ITEMS))

    assert sorted(name for share in found for name in share) == sorted(i.nodeid for i in ITEMS)


def test_file_marked_together_is_in_one_share(keep):
    counts = [sum(name.startswith("b.py") for name in share) for share in shares(keep, 3, ITEMS)]

    assert sorted(counts) == [0, 0, 4]


def test_rota_keeps_tests_that_take_no_turns(keep):
    drawn = [item for item in ITEMS if item.get_closest_marker("random")]

    found = shares(keep, 2, drawn)

    assert [len(share) for share in found] == [12, 12]
    assert set(found[0]) & set(found[1]) == {i.nodeid for i in ITEMS} - {i.nodeid for i in drawn}


def test_no_test_is_named_as_slow_and_expensive():
    assert not slow_ids() & expensive_ids()
