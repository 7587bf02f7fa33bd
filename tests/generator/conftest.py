"""Counts what becomes of the random programs of one test run, and prints it at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import pytest

from tests.generator.checker import Outcome

CountOutcomes = Callable[[Iterable[Outcome]], None]
COUNTS = pytest.StashKey[Counter[str]]()


@pytest.fixture
def count_outcomes(request: pytest.FixtureRequest) -> CountOutcomes:
    """A function that counts the outcomes of some programs."""
    counts = request.config.stash.setdefault(COUNTS, Counter())

    def count(outcomes: Iterable[Outcome]) -> None:
        counts.update(outcome.status for outcome in outcomes)

    return count


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print how many of the random programs were refused."""
    counts = config.stash.get(COUNTS, Counter())
    if counts:
        text = f"random programs: {counts.total()}, of which {counts['refused']} are refused"
        terminalreporter.write_line(text)
