"""Code objects: comparing them, and finding those inside them."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType
from typing import Any


def nested_codes(code: CodeType) -> Iterator[CodeType]:
    """Every code object inside one, at any depth."""
    pending = [code]
    while pending:
        for constant in pending.pop().co_consts:
            if isinstance(constant, CodeType):
                yield constant
                pending.append(constant)


def span(code: CodeType) -> tuple[int, int]:
    """The first and last line that the code and the codes inside it mention."""
    last = code.co_firstlineno
    for part in (code, *nested_codes(code)):
        for _, end_line, _, _ in part.co_positions():
            if end_line is not None and end_line > last:
                last = end_line
    return code.co_firstlineno, last


def fingerprint(code: CodeType) -> tuple[Any, ...]:
    """All of a code object but where it stands: two that are equal here do the same."""
    return (
        code.co_name,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
        code.co_code,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_exceptiontable,
        tuple(_constant(c) for c in code.co_consts),
    )


def _constant(constant: Any) -> Any:
    if isinstance(constant, CodeType):
        return fingerprint(constant)
    if isinstance(constant, tuple):
        return tuple, tuple(_constant(c) for c in constant)
    return type(constant), repr(constant)
