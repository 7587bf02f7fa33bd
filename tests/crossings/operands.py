"""Makes of an argument: each is one line, what is written around an array, and how it is read.

``{0}`` stands for the array, which is real and in C order.  Where NumPy cannot make it, or the
plain call does not take it, there is no cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np


@dataclass
class Box:
    """A dataclass around an argument."""

    x: Any


class Thing:
    """An object around an argument."""

    def __init__(self, x: Any) -> None:
        self.x = x


@dataclass(frozen=True)
class Operand:
    """A make of an argument."""

    make: str
    # How the function reads the array from its parameter.
    read: str = "{0}"


OPERANDS: dict[str, Operand] = {
    "C": Operand("{0}"),
    "Fortran": Operand("np.asfortranarray({0})"),
    "transposed": Operand("np.ascontiguousarray({0}.T).T"),
    "reversed": Operand("np.ascontiguousarray({0}[::-1])[::-1]"),
    "strided": Operand("np.repeat({0}, 2, axis=-1)[..., ::2]"),
    "broadcast": Operand("np.broadcast_to({0}[:1], {0}.shape)"),
    "one more axis": Operand("{0}[None]"),
    "length one": Operand("{0}[:1]"),
    "last length one": Operand("{0}[..., :1]"),
    "empty": Operand("{0}[:0]"),
    "0-d": Operand("np.array({0}.flat[0])"),
    "float32": Operand("{0}.astype(np.float32)"),
    "integers": Operand("np.rint(3 * {0}).astype(int)"),
    "complex": Operand("{0} * (1 + 0.1j)"),
    "Python number": Operand("float({0}.flat[0])"),
    "Python integer": Operand("int(np.rint(3 * {0}.flat[0]))"),
    "NumPy number": Operand("{0}.flat[0]"),
    "list": Operand("{0}.tolist()"),
    "tuple": Operand("tuple({0}.tolist())"),
    "list of arrays": Operand("list({0})"),
    "in a dict": Operand("dict(k={0})", "{0}['k']"),
    "in a list": Operand("[{0}, 1.0]", "{0}[0]"),
    "in a dataclass": Operand("Box({0})", "{0}.x"),
    "in an object": Operand("Thing({0})", "{0}.x"),
}
SPACE = {"np": np, "Box": Box, "Thing": Thing, "SimpleNamespace": SimpleNamespace}


def made(operand: Operand, array: np.ndarray) -> Any:
    """The argument that an operand makes of an array."""
    return eval(operand.make.format("array"), {**SPACE, "array": array})
