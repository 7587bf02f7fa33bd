"""The names of variables, and the objects that generated code refers to by name."""

from __future__ import annotations

import ast
import builtins
import math
import sys
from collections.abc import Container
from typing import Any

import numpy as np

from srcad.ir.core import Routine
from srcad.rules import registry
from srcad.startup.identifiers import identifier, is_name
from srcad.startup.records import dataclass, field

_NUMPY_SUBMODULES = ("linalg", "fft", "random")
_SHORTER = {"absolute": "abs", "conjugate": "conj"}


def parameter_name(wanted: str | None) -> str:
    """Return the name of a parameter: the user's spelling where that is a plain identifier."""
    if wanted is not None and is_name(wanted) and wanted != "_":
        dunder = wanted.startswith("__") and wanted.endswith("__")
        return identifier(wanted) if dunder else wanted
    return identifier(wanted if wanted is not None else "x")


def fresh(wanted: str, taken: Container[str], last: dict[str, int] | None = None) -> str:
    """Return the identifier itself, or numbered where it is taken.

    `last` remembers the numbers used.
    """
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
        """Return a name for a function of the module itself."""
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
        if name is None and id(value) in _INDEXED:
            return attribute(self.numpy(), _INDEXED[id(value)])
        if is_name(name):
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
        if owner is not None and owner is registry.receiver_of(owner):
            return attribute(name_node(self.bind(owner, owner_name(value))), name)
        if getattr(np, name, None) is value:
            return attribute(self.numpy(), _SHORTER.get(name, name))
        if getattr(math, name, None) is value:
            return attribute(name_node(self.bind(math, "math")), name)
        if getattr(value, "__module__", None) == "cmath":
            return attribute(name_node(self.bind(sys.modules["cmath"], "cmath")), name)
        for submodule in _NUMPY_SUBMODULES:
            if getattr(getattr(np, submodule), name, None) is value:
                return attribute(attribute(self.numpy(), submodule), name)
        return None

    def numpy(self) -> ast.expr:
        return name_node(self.bind(np, "np"))

    def spelled(self, value: Any, spelling: str) -> ast.expr | None:
        """``np.pi`` as the user wrote it, if it is a path into a module that names this object."""
        root, *path = spelling.split(".")
        module = {"np": np, "numpy": np, "math": math}.get(root)
        if module is None or not path or not all(is_name(part) for part in path):
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


# Objects of NumPy that are indexed: they have no names of their own.
_INDEXED = {
    id(getattr(np, name)): name for name in ("r_", "c_", "s_", "index_exp", "mgrid", "ogrid")
}


def owner_name(method: Any) -> str:
    """Return ``norm`` for the method ``scipy.stats.norm.logpdf``."""
    return registry.qualified_name(method).split(".")[-2]


def _kind_name(value: Any) -> str:
    if isinstance(value, np.dtype):
        return value.name
    is_data = isinstance(value, np.ndarray | np.generic)
    return "constant" if is_data else type(value).__name__


def name_node(name: str) -> ast.expr:
    """Return a name that is read."""
    return ast.Name(name, ast.Load())


def attribute(node: ast.expr, name: str) -> ast.expr:
    return ast.Attribute(node, name, ast.Load())
