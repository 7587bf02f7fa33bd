"""``value_and_grad``: one real number, and its gradients beside it."""

from __future__ import annotations

from functools import partial

from srcad.modes.asked import in_one_function
from srcad.modes.mode import Mode
from srcad.modes.reverse import derived

MODE = Mode("value_and_grad", "Value and gradient", derived,
            partial(in_one_function, gives_value=True), gives_value=True, nests=True)  # fmt: skip
