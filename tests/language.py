"""What every test of a feature of the language asks of a program."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from tests.adapter import evaluated_as_compiled, with_value
from tests.numeric import assert_close, assert_gradient


def assert_program(f: Callable[..., Any], *args: Any) -> None:
    """Function, IR and emitted code agree, and the gradient is that of differences.

    All of it comes from one compilation: what is compiled for the gradient alone is compared with
    it by `tests.corpus`.
    """
    want = f(*copy.deepcopy(args))
    compiled = with_value(f, *args)

    value, gradients = compiled(*args)

    assert_close(value, want, rtol=0, atol=0)
    assert_close(evaluated_as_compiled(compiled, *args), want, rtol=0, atol=0)
    assert_gradient(lambda *_: gradients, f, *args)


def named(programs: list[tuple[Any, ...]]) -> dict[str, Any]:
    """The arguments of ``parametrize`` for programs ``(f, *args)``."""
    ids = [f"{p[0].__name__}-{k}" for k, p in enumerate(programs)]
    return {"argnames": "program", "argvalues": programs, "ids": ids}
