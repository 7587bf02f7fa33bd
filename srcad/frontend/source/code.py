"""Code objects: comparing them, and finding those inside them."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
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


def lines_of(code: CodeType) -> tuple[int, int]:
    """Return the first and last line that the code and the codes inside it mention."""
    last = code.co_firstlineno
    for part in (code, *nested_codes(code)):
        for _, end_line, _, _ in part.co_positions():
            if end_line is not None and end_line > last:
                last = end_line
    return code.co_firstlineno, last


_NAMES = (
    "LOAD_GLOBAL",
    "LOAD_NAME",
    "LOAD_FAST",
    "LOAD_DEREF",
    "LOAD_CLASSDEREF",
    "LOAD_FROM_DICT",
)


def called_as_methods(code: CodeType) -> frozenset[str]:
    """Return the names of whose objects methods are called, in the code and the codes inside it.

    Of a module that the same unit imports, ``np.sin(x)`` is compiled as an attribute that is
    called; of any other name as a method: so the code tells what its unit did not import.
    """
    found: set[str] = set()
    for part in (code, *nested_codes(code)):
        for before, then in pairwise(dis.get_instructions(part)):
            if before.opname.startswith(_NAMES) and _takes_a_method(then):
                loaded = before.argval
                found.add(loaded[-1] if isinstance(loaded, tuple) else loaded)
    return frozenset(found)


def _takes_a_method(instruction: dis.Instruction) -> bool:
    if instruction.opname == "LOAD_METHOD":
        return True
    has_flag = sys.version_info >= (3, 12)
    return has_flag and instruction.opname == "LOAD_ATTR" and bool((instruction.arg or 0) & 1)


def is_among(code: CodeType, others: Iterable[Any]) -> bool:
    """Return True if one of some constants is an equal code object.

    Python's own comparison looks twice into the codes inside: that takes 2**depth.
    """
    return any(isinstance(other, CodeType) and _is_equal(code, other) for other in others)


def _is_equal(code: CodeType, other: CodeType) -> bool:
    pending = [(code, other)]
    while pending:
        a, b = pending.pop()
        if a is b:
            continue
        if _outside(a) != _outside(b) or len(a.co_consts) != len(b.co_consts):
            return False
        for x, y in zip(a.co_consts, b.co_consts, strict=True):
            if isinstance(x, CodeType) and isinstance(y, CodeType):
                pending.append((x, y))
            elif _constant(x) != _constant(y):
                return False
    return True


def _outside(code: CodeType) -> tuple[Any, ...]:
    """All of a code object, with its place, but its constants."""
    place = (code.co_firstlineno, code.co_linetable if sys.version_info >= (3, 12) else b"")
    return (*_parts(code), *place)


def fingerprint(code: CodeType) -> tuple[Any, ...]:
    """All of a code object but where it stands: two that are equal here do the same."""
    return (*_parts(code), tuple(_constant(c) for c in code.co_consts))


def _parts(code: CodeType) -> tuple[Any, ...]:
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
    )


def _constant(constant: Any) -> Any:
    if isinstance(constant, CodeType):
        return fingerprint(constant)
    if isinstance(constant, tuple):
        return tuple, tuple(_constant(c) for c in constant)
    if isinstance(constant, frozenset):
        return frozenset, frozenset(_constant(c) for c in constant)
    return type(constant), repr(constant)
