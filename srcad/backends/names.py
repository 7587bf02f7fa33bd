"""The one door for identifiers, and the objects that generated code refers to by name."""

from __future__ import annotations

import ast
import builtins
import keyword
import math
import re
from collections.abc import Container
from typing import Any

import numpy as np

from srcad.ir.core import Routine
from srcad.later import Later
from srcad.records import dataclass, field

unicodedata = Later("unicodedata")
_NOT_WORD = re.compile(r"\W+")
_NUMPY_ROOMS = ("linalg", "fft", "random")
_SHORTER = {"absolute": "abs", "conjugate": "conj"}
_SOFT = frozenset({"_", "match", "case", "type"})


def identifier(wanted: object) -> str:
    """A legal identifier that looks like `wanted`.

    Exactly `str`, in NFKC, no keyword, no dunder: whatever reaches generated code as a name has
    passed here.

    >>> identifier("x y"), identifier("lambda"), identifier("__import__"), identifier("3d")
    ('x_y', 'lambda_', 'import_', 'x_3d')
    """
    text = wanted if type(wanted) is str else type(wanted).__name__
    if text.startswith("%"):  # a name of ours, which nobody else has
        text = text[1:].partition(" ")[0]
    text = _NOT_WORD.sub("_", _normal(text)).strip("_") or "value"
    if not text.isidentifier():
        text = f"x_{text}"
    if not text.isidentifier() or not text.isprintable():
        text = "value"
    return f"{text}_" if keyword.iskeyword(text) or text in _SOFT else text


def _normal(text: str) -> str:
    """The text in the form in which Python compares names."""
    return text if text.isascii() else str(unicodedata.normalize("NFKC", text))


def parameter_name(wanted: str | None) -> str:
    """A parameter keeps the user's own spelling where that is a plain identifier."""
    if wanted is not None and type(wanted) is str and wanted.isidentifier():
        normal = _normal(wanted)
        dunder = normal.startswith("__") and normal.endswith("__")
        if normal == wanted and not keyword.iskeyword(wanted) and not dunder and wanted != "_":
            return wanted
    return identifier(wanted if wanted is not None else "x")


def fresh(wanted: str, taken: Container[str], last: dict[str, int] | None = None) -> str:
    """The identifier itself, or numbered where it is taken; `last` remembers the numbers used."""
    if wanted not in taken:
        return wanted
    number = (last or {}).get(wanted, 0) + 1
    while f"{wanted}_{number}" in taken:
        number += 1
    if last is not None:
        last[wanted] = number
    return f"{wanted}_{number}"


@dataclass(eq=False)
class Globals:
    """The names that a generated module may use besides its variables.

    `taken` holds the variables of all functions of the module, so that no bound name is shadowed.
    """

    taken: set[str]
    namespace: dict[str, Any] = field(default_factory=dict)
    bound: dict[int, str] = field(default_factory=dict)
    routines: dict[Routine, str] = field(default_factory=dict)

    def bind(self, value: Any, wanted: object) -> str:
        """Bind an object to a fresh name, once."""
        known = self.bound.get(id(value))
        if known is not None:
            return known
        name = fresh(identifier(wanted), self.taken)
        self.taken.add(name)
        self.namespace[name] = value
        self.bound[id(value)] = name
        return name

    def define(self, wanted: str, routine: Routine | None = None) -> str:
        """A name for a function of the module itself."""
        name = fresh(identifier(wanted), self.taken)
        self.taken.add(name)
        if routine is not None:
            self.routines[routine] = name
        return name

    def expression(self, value: Any, spelling: str | None = None) -> ast.expr:
        """How an object is written: ``np.linalg.solve``, ``math.sin``, ``len``, or a bound name."""
        if isinstance(value, Routine):
            return name_node(self.routines[value])
        if spelling is not None:
            found = self.spelled(value, spelling)
            if found is not None:
                return found
        name = getattr(value, "__name__", None)
        if type(name) is str and name.isidentifier():
            found = self._by_name(value, name)
            if found is not None:
                return found
        wanted = spelling.rpartition(".")[2] if spelling else name
        return name_node(self.bind(value, wanted or _kind_name(value)))

    def _by_name(self, value: Any, name: str) -> ast.expr | None:
        if getattr(builtins, name, None) is value:
            if name in self.taken and self.namespace.get(name) is not value:
                return None
            return name_node(self.bind(value, name))
        owner = getattr(value, "__self__", None)
        if isinstance(owner, np.ufunc):
            return attribute(self.expression(owner), name)
        if getattr(np, name, None) is value:
            return attribute(self.numpy(), _SHORTER.get(name, name))
        if getattr(math, name, None) is value:
            return attribute(name_node(self.bind(math, "math")), name)
        for room in _NUMPY_ROOMS:
            if getattr(getattr(np, room), name, None) is value:
                return attribute(attribute(self.numpy(), room), name)
        return None

    def numpy(self) -> ast.expr:
        """The name of NumPy."""
        return name_node(self.bind(np, "np"))

    def spelled(self, value: Any, spelling: str) -> ast.expr | None:
        """``np.pi`` as the user wrote it, if it is a path into a module that names this object."""
        root, *path = spelling.split(".")
        module = {"np": np, "numpy": np, "math": math}.get(root)
        if module is None or not path or not all(part.isidentifier() for part in path):
            return None
        found: Any = module
        for part in path:
            found = getattr(found, part, None)
        if found is not value and not (type(found) is type(value) is float and found == value):
            return None
        node = name_node(self.bind(module, "np" if module is np else "math"))
        for part in path:
            node = attribute(node, part)
        return node


def _kind_name(value: Any) -> str:
    if isinstance(value, np.dtype):
        return value.name
    is_data = isinstance(value, np.ndarray | np.generic)
    return "constant" if is_data else type(value).__name__


def name_node(name: str) -> ast.expr:
    """A name that is read."""
    return ast.Name(name, ast.Load())


def attribute(node: ast.expr, name: str) -> ast.expr:
    """The expression ``node.name``."""
    return ast.Attribute(node, name, ast.Load())
