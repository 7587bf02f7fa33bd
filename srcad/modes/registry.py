"""The modes: what may be asked for, by name."""

from __future__ import annotations

from srcad.modes.mode import Mode
from srcad.startup.registry import Registry

MODES: Registry[Mode] = Registry(
    "mode",
    "MODE",
    {
        "grad": "srcad.modes.grad",
        "value_and_grad": "srcad.modes.value_and_grad",
        "elementwise_grad": "srcad.modes.elementwise_grad",
        "pullback": "srcad.modes.pullback",
        "jvp": "srcad.modes.jvp",
    },
)
