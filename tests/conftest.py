"""Fixtures that all tests share; the IR verifier is on in every test."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

os.environ.setdefault("SRCAD_VERIFY", "1")
LIMIT = 240  # seconds for one test
_ALL = 8000  # so many are collected when nobody has chosen some
_LONG = 6  # cases of a test
ROOT = Path(__file__).resolve().parent.parent
_SEEN: set[Path] = set()
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--update-golden`` rewrites the golden files; ``--share 1/2`` runs every other test."""
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")
    parser.addoption("--share", default="1/1", help="K/N: the K-th of every N chosen tests")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """Leave two of three cases of long tables to the mark `random`, when all tests are run.

    Whoever runs a file or a folder meets all of its cases.  A share is taken of what marks and
    words have chosen.
    """
    if len(items) >= _ALL:
        _thin(items)
    yield
    which, of = (int(number) for number in config.getoption("--share").split("/"))
    chosen = items[which - 1 :: of]
    config.hook.pytest_deselected(items=[item for k, item in enumerate(items, 1 - which) if k % of])
    items[:] = chosen


def _thin(items: list[pytest.Item]) -> None:
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        tables.setdefault(item.nodeid.split("[")[0], []).append(item)
    for cases in tables.values():
        if len(cases) > _LONG and not any(case.get_closest_marker("random") for case in cases):
            for k, case in enumerate(cases):
                if k % 3:
                    case.add_marker("random")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let the collector pass over what earlier files left, and print numbers as usual.

    Many tests ask the collector to run.  How arrays are printed may be left changed by programs
    that set it: a call without derivative is tried out while what contains it is compiled.
    """
    if not _SEEN:
        gc.set_threshold(200_000, 20, 100)  # compilations make many small objects, few circles
    if item.path not in _SEEN:
        _SEEN.add(item.path)
        gc.freeze()
        np.set_printoptions(precision=8)


@pytest.fixture
def rng() -> np.random.Generator:
    """The one source of random numbers of a test."""
    return np.random.default_rng(20240607)


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are rewritten."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(autouse=True)
def time_limit() -> Iterator[None]:
    """Stop a test that hangs: a defect of the compiler must not stop the run."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, _expired)
    signal.alarm(LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _expired(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"the test did not end within {LIMIT} seconds")
