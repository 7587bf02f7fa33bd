"""Fixtures for pytest, for those who ask for them: ``pytest_plugins = ["srcad.testing_plugin"]``.

The line stands in the ``conftest.py`` at the root of the tests.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from srcad import testing


@pytest.fixture
def check_grads() -> Callable[..., None]:
    """`srcad.testing.check_grads`: compare the derivatives of a function with differences."""
    return testing.check_grads


@pytest.fixture
def check_rule() -> Callable[..., None]:
    """`srcad.testing.check_rule`: compare the rule of a function with differences."""
    return testing.check_rule
