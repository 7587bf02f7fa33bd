"""Fixtures that all tests share; the IR verifier is on in every test."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("SRCAD_VERIFY", "1")
LIMIT = 240  # seconds for one test
_LONG = 6  # cases of a test
ROOT = Path(__file__).resolve().parent.parent
_SEEN: set[Path] = set()
_CPU: dict[str, float] = {}  # seconds of each test and of its child processes, by id
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.marks import SEED, expensive_ids, slow_ids  # noqa: E402 - after the path is set

gc.set_threshold(200_000, 20, 100)  # collection and compilation make many objects, few cycles


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add options that choose tests, time them, or rewrite the golden files."""
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")
    parser.addoption("--share", default="1/1", help="K/N: the K-th of every N chosen tests")
    parser.addoption(
        "--rota", help="K/N: all tests that are not marked `random`, the K-th of every N that are"
    )
    parser.addoption("--cpu", type=Path, help="a file for the seconds of CPU of each test")


def pytest_configure(config: pytest.Config) -> None:
    """Let ``--rota`` choose in place of the marks of ``pyproject.toml``."""
    if config.getoption("--rota"):
        config.option.markexpr = ""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """Mark tests when all are run, then choose: by marks and words, by rota, by share.

    Whoever names a file or a folder meets all cases of its tables, and the slow ones, too.
    """
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        _thin(items)
        _mark(items, "slow", slow_ids())
        _mark(items, "random", expensive_ids())
    yield
    rota, share = config.getoption("--rota"), config.getoption("--share")
    if rota:
        _keep(config, items, rota, [item for item in items if item.get_closest_marker("random")])
    _keep(config, items, share, list(items))


def _keep(
    config: pytest.Config, items: list[pytest.Item], share: str, among: list[pytest.Item]
) -> None:
    """Deselect, of the items `among`, all but the K-th of every N.

    The items of a file that has the mark `together` count as one.
    """
    which, of = (int(number) for number in share.split("/"))
    places: dict[Any, int] = {}
    dropped = set()
    for item in among:
        unit = item.path if item.get_closest_marker("together") else item.nodeid
        if (places.setdefault(unit, len(places)) + 1 - which) % of:
            dropped.add(id(item))
    config.hook.pytest_deselected(items=[item for item in items if id(item) in dropped])
    items[:] = [item for item in items if id(item) not in dropped]


def _thin(items: list[pytest.Item]) -> None:
    """Mark two of three cases of long tables as `random`, unless the table is marked `whole`."""
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        tables.setdefault(item.nodeid.split("[")[0], []).append(item)
    for cases in tables.values():
        chosen = any(case.get_closest_marker(m) for case in cases for m in ("random", "whole"))
        if len(cases) > _LONG and not chosen:
            for k, case in enumerate(cases):
                if k % 3:
                    case.add_marker("random")


def _mark(items: list[pytest.Item], mark: str, listed: set[str]) -> None:
    """Mark the tests that a list names, or whose function it names.

    That each of them exists is checked on the newest Python with all extras: elsewhere some tests
    are absent.  Of a table it is the first draw that counts; in others only its function need be
    there.
    """
    left = set(listed)
    for item in items:
        names = {item.nodeid, item.nodeid.partition("[")[0]} & listed
        if names:
            left -= names
            item.add_marker(mark)
    is_complete = sys.version_info >= (3, 13) and all(map(find_spec, ("numba", "mpmath")))
    if SEED != 0:
        functions = {item.nodeid.partition("[")[0] for item in items}
        left = {
            name
            for name in left
            if name.partition("[")[0] not in functions or ("[" in name and name[-1] != "]")
        }
    if left and is_complete:
        names = "\n".join(sorted(left))
        raise pytest.UsageError(f"a list of {mark} tests names some that do not exist:\n{names}")


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over modules and collected tests."""
    gc.freeze()


def _cpu() -> float:
    """Seconds of CPU of this process and of its children."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Measure the CPU time of each test."""
    before = _cpu()
    done = yield
    _CPU[item.nodeid] = _cpu() - before
    return done


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the times of the tests, and that of the whole process under the empty name."""
    file = session.config.getoption("--cpu")
    if file:
        file.write_text(json.dumps(_CPU | {"": _cpu()}))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let the collector pass over what earlier files left, and print numbers as usual.

    Many tests ask the collector to run.  How arrays are printed may be left changed by programs
    that set it: a call without derivative is tried out while what contains it is compiled.
    """
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
