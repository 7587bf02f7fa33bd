"""What every test of a feature of the language asks of a program."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from srcad import gradient, value_and_grad
from tests.adapter import evaluated
from tests.numeric import assert_close, assert_gradient


def assert_program(f: Callable[..., Any], *args: Any) -> None:
    """Function, IR and emitted code agree, and the gradient is that of differences."""
    want = f(*copy.deepcopy(args))

    assert_close(value_and_grad(f)(*args)[0], want, rtol=0, atol=0)
    assert_close(evaluated(f, *args), want, rtol=0, atol=0)
    assert_gradient(gradient, f, *args)


def named(programs: list[tuple[Any, ...]]) -> dict[str, Any]:
    """The arguments of ``parametrize`` for programs ``(f, *args)``."""
    ids = [f"{p[0].__name__}-{k}" for k, p in enumerate(programs)]
    return {"argnames": "program", "argvalues": programs, "ids": ids}
