"""Helpers of code with checkpoints: the lengths of segments, the states of generators."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from srcad.ir.operations import Operation
from srcad.startup.short_tracebacks import on_purpose


def at_least_one(count: int, what: str) -> int:
    """Check a count: at least 1 iteration per segment, and at least 1 level."""
    if operator.index(count) < 1:
        raise on_purpose(ValueError(f"{what!r} of a checkpointed range is at least 1, not {count}"))
    return count


def segment(trips: int, levels: int = 1, every: int | None = None) -> int:
    """Return the iterations of one segment of a loop, which may be cut into shorter ones.

    The number of parts is the same on all levels, so that the sum of what all levels keep is least;
    the shortest segments have `every` iterations where that is given.
    """
    shortest = every or 1
    count = max(-(-trips // shortest), 1)
    parts = levels + (every is None)
    return int(shortest * math.ceil(count ** ((parts - 1) / parts)))


def random_state(generator: Any) -> Any:
    """Return the state of a generator of random numbers: of NumPy's, old or new, or of `random`."""
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    return generator.getstate()


def set_random_state(generator: Any, state: Any) -> Any:
    """Give a generator a state, and return the one that it had."""
    before = random_state(generator)
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    else:
        generator.setstate(state)
    return before


Operation(flows=(), owed=True, called="every")(at_least_one)
Operation(flows=(), called="every")(segment)
