"""Compare what was written with what the IR means, exactly."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from srcad.backends.python.backend import load
from srcad.backends.python.emitter import emit
from srcad.ir.core import Function
from srcad.ir.evaluate import evaluate
from srcad.ir.verify import verify


def same(a: Any, b: Any) -> bool:
    """Whether two results are equal in kind and to the bit."""
    if isinstance(a, tuple | list):
        return (
            type(a) is type(b)
            and len(a) == len(b)
            and all(same(x, y) for x, y in zip(a, b, strict=True))
        )
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    return type(a) is type(b) and repr(a) == repr(b)


def written(function: Function) -> str:
    """The text of a function, without its header."""
    return emit(verify(function), source_line=lambda where: f"line {where.line}").text


def assert_means_the_same(function: Function, *args: Any, pure: Function | None = None) -> None:
    """The written function gives what `evaluate` gives (of `pure`), and keeps its arguments."""
    run = load(emit(verify(function)))
    kept = copy.deepcopy(args)

    want = evaluate(pure or function, *copy.deepcopy(args))
    got = run(*args)

    assert same(want, got), (want, got)
    assert same(kept, args)
