"""Functions through which no derivative flows, but which may write into an array."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from types import FunctionType

from srcad import errors
from srcad.frontend.boxes import Box
from srcad.frontend.source import definition
from srcad.frontend.storage import inner_values, is_array, is_number
from srcad.frontend.syntax import may_write


def may_write_arrays(function: FunctionType, given: Iterable[Box]) -> bool:
    """Whether a function may write into an array among its arguments, as far as its text tells."""
    values = (v for box in given for v in inner_values(box))
    if not any(is_array(v) and not is_number(v) for v in values):
        return False
    try:
        node = definition(function).tree
    except errors.SrcadError:
        return False
    return isinstance(node, ast.FunctionDef | ast.Lambda) and may_write(node)
