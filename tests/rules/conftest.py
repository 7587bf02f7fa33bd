"""What several files of tests of the table share."""

import pytest

from srcad import rules


@pytest.fixture
def own_table(monkeypatch):
    """A table that forgets what a test registers."""
    rules.rows()  # what is read meanwhile would be forgotten with the rest
    monkeypatch.setattr(rules.registry, "_table", dict(rules.registry._table))
