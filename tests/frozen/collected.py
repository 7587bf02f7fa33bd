"""The programs of the tests, as pytest finds them.

A test takes part if it has a table of programs (a parameter ``program``: a function and its
arguments), or if it hands its program to one of the comparisons of `COMPARISONS`; such a test is
run with a stand-in for them that only notes what it is given.
"""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.frozen.programs import Program, Programs

TESTS = Path(__file__).resolve().parent.parent
COMPARISONS = ("assert_program", "assert_gradient", "assert_right")
# Folders with a source of their own.
OWN = ("generator", "frozen", "corpus", "attacks", "golden", "rules")


class _Collector:
    """A plugin of pytest that keeps what has been collected."""

    items: list[pytest.Function]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keep the tests."""
        self.items = [item for item in session.items if isinstance(item, pytest.Function)]


def collected_from(*folders: Path) -> list[pytest.Function]:
    """All test functions below some folders or files; nothing is run or printed."""
    collector = _Collector()
    ignored = [f"--ignore={TESTS / name}" for name in OWN]
    options = ["--collect-only", "--assert=plain", "-p", "no:terminal", "-p", "no:cacheprovider",
               "-m", ""]  # fmt: skip
    status = pytest.main([*options, *ignored, *map(str, folders)], plugins=[collector])
    if status != pytest.ExitCode.OK:
        raise RuntimeError(f"the tests cannot be collected: {status!r}")
    return collector.items


def programs_of(test: pytest.Function) -> Iterator[Program]:
    """The programs that a test compares; none if it needs a fixture, or compares otherwise."""
    values = test.callspec.params if hasattr(test, "callspec") else {}
    table = values.get("program")
    if isinstance(table, tuple) and table and callable(table[0]):
        yield Program(table[0], table[1:])
        return
    asked = set(test.function.__code__.co_names) & set(COMPARISONS)
    if asked and set(test.fixturenames) <= {*values, "time_limit"}:
        yield from _handed_over(test.function, values)


def _handed_over(function: Callable[..., Any], values: dict[str, Any]) -> list[Program]:
    """What a test hands to the comparisons when it is run."""
    found: list[Program] = []

    def note(*args: Any, **_: Any) -> None:
        found.append(Program(args[0], copy.deepcopy(args[1:])))

    stand_ins = {
        name: (lambda _, *args, **options: note(*args)) if name == "assert_gradient" else note
        for name in COMPARISONS
        if name in function.__globals__
    }
    with mock.patch.dict(function.__globals__, stand_ins), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(Exception):  # what the test says of the rest is not asked here
            function(**values)
    return found


def collected(*folders: Path) -> Programs:
    """The programs of the tests, each named by its test."""
    for test in collected_from(*(folders or (TESTS,))):
        name = str(Path(test.path).relative_to(TESTS)) + "::" + test.name
        for k, program in enumerate(programs_of(test)):
            yield f"test {name}" + (f"#{k}" if k else ""), program
