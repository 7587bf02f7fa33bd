"""What Python programs may contain, one feature in each function, found by themselves.

A function with a point (`tests.corpus.points`) is a program: the tests of this folder compare its
value, its IR, its generated code and its gradient, and `tests.frozen` keeps its text.  To add a
feature, add a function with a docstring of one line to the file of its topic, or a file.

A program is named ``topic.function``; behind the second point of a function stands ``#1``.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from tests.corpus.points import POINTS, Function

TOPICS = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if not path.stem.startswith(("_", "test_")) and path.stem not in ("points", "collected")
)


def name_of(function: Function) -> str:
    """The topic and the name of a function."""
    return f"{function.__module__.rpartition('.')[2]}.{function.__name__}"


def _collected() -> dict[str, tuple[Function, tuple[Any, ...]]]:
    for topic in TOPICS:
        importlib.import_module(f"tests.corpus.{topic}")
    return {
        name_of(function) + (f"#{k}" if k else ""): (function, args)
        for function, points in POINTS.items()
        for k, args in enumerate(points)
    }


CORPUS = _collected()
