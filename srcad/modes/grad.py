"""``grad``: the gradients of one real number."""

from __future__ import annotations

from functools import partial

from srcad.modes.asked import in_one_function
from srcad.modes.mode import Mode
from srcad.modes.reverse import derived

MODE = Mode("grad", "Gradient", derived, partial(in_one_function, gives_value=False),
            nests=True)  # fmt: skip
