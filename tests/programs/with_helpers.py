"""Programs that call functions of their own: the texts of ``with_helpers.txt``, each a module.

Each defines `f` and `arguments`, which returns the arguments of several calls; `WRT` names those to
differentiate by, and `change` what happens between two calls.
"""

from __future__ import annotations

import atexit
import functools
import tempfile
from pathlib import Path
from types import ModuleType

from tests.generator.checker import loaded

HEADER = """import functools
from dataclasses import dataclass

import numpy as np
import srcad
"""
_FILE = Path(__file__).with_suffix(".txt")
PROGRAMS = {
    name: HEADER + text
    for name, text in (b.split("\n", 1) for b in ("\n" + _FILE.read_text()).split("\n### ")[1:])
}

# By steps, their arguments are of another type or leave the domain; or the derivative is nan or
# stopped, hooked or refused, with helpers in place, too.
WITHOUT_DIFFERENCES = {
    "branches_on_types",
    "exponents_of_numbers",
    "hooks",
    "masks_in_loops",
    "masks_through_containers",
    "masks_through_loops",
    "result_may_be_argument",
    "stopped_gradients",
}


@functools.cache
def module(name: str) -> ModuleType:
    """The module of a program, from a file that lasts as long as the process."""
    context = loaded(PROGRAMS[name], Path(_folder().name), f"with_helpers_{name}")
    made = context.__enter__()
    atexit.register(context.__exit__, None, None, None)
    return made


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()
