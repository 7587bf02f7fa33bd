"""State shared by the conditions of a pattern: names, accessors, and the conditions."""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Mapping
from types import CodeType
from typing import Any

import numpy as np

from srcad.arguments.request import code_of
from srcad.startup.identifiers import attribute_text, plain, quoted
from srcad.types.sizes import Assumption
from srcad.types.sources import EACH, Path, follow, read

_NOTHING = object()
_NAME = re.compile(r"\w+")
_DEEP = 16  # steps that are nested in one expression
_BOUND: dict[str, Any] = {
    "type": type, "len": len, "tuple": tuple, "list": list, "dict": dict, "float": float,
    "int": int, "ndarray": np.ndarray, "memmap": np.memmap, "follow": follow, "getattr": getattr,
    "code_of": code_of, "errors": (AttributeError, LookupError, TypeError, ValueError),
}  # fmt: skip


class Conditions:
    """Collects conditions; `names` says which variable holds what is at a path.

    Every condition may use what the ones before it have named (by ``:=``), since they are tested
    in order.  All names that are not the user's begin with `prefix`.

    With `quick` there is a second list: what suffices where all shapes are those last seen.

    `outside_kernel` is a third list, for a kernel that compares dtypes, memory orders and lengths
    of its arrays itself: the conditions that Python checks before it is called.  `kernel_arrays`
    maps the paths of these arrays to the names of the kernel's parameters, and `kernel_checks` are
    the conditions on their lengths, as text with these names.
    """

    def __init__(
        self,
        parameters: list[str],
        function: Any,
        by_code: Mapping[Path, CodeType | None],
        name: str = "",
    ) -> None:
        self.prefix = "_"
        while any(taken.startswith(self.prefix) for taken in (*parameters, name)):
            self.prefix += "_"
        self.function = function
        self.by_code = by_code
        self.known_codes = dict(by_code)
        self.names: dict[Path, str] = {(("param", name),): name for name in parameters}
        self.constants = {self.prefix + name: value for name, value in _BOUND.items()}
        self.conditions: list[str] = []
        self.functions: list[str] = []
        self.setup: list[str] = []
        self.risky = False
        self.assumptions: list[Assumption] = []
        self.quick: list[str] | None = None
        self.shapes: dict[str, str] = {}
        self.outside_kernel: list[str] | None = None
        self.kernel_arrays: Mapping[Path, str] = {}
        self.kernel_checks: list[str] = []
        self.kernel_shapes: list[str] = []  # variables that are not assigned outside of the kernel
        self.ordered: frozenset[tuple[str, str]] = frozenset()
        self._counter = 0
        self._known: dict[int, str] = {}

    # ------------------------------------------------------------------------- names
    def fresh(self, stem: str) -> str:
        """Return a new name."""
        self._counter += 1
        return f"{self.prefix}{stem}{self._counter}"

    def constant(self, value: Any) -> str:
        """Return the name to which an object is bound."""
        name = self._known.get(id(value))
        if name is None:
            name = self._known[id(value)] = self.fresh("k")
            self.constants[name] = value
        return name

    def attribute(self, holder: str, name: str) -> str:
        """How an attribute is read, whatever its name."""
        return attribute_text(holder, name, self.own("getattr"))

    def own(self, name: str) -> str:
        """Return a name that is not the user's."""
        return self.prefix + name

    def expression(self, path: Path) -> str:
        """How what is at a path is read; what has been read already is read by its name."""
        if path in self.names:
            return self.names[path]
        self.risky = True
        if not path:
            return self.own("function")
        self._name_of_long_path(path)
        if EACH in path:
            return self._of_each(path)
        *before, (kind, key) = path
        if not before and kind not in ("param", "attr", "item"):
            return self._step(self.own("function"), None, kind, key)
        inner = self.named(tuple(before)) if before else self.own("function")
        match kind:
            case "attr" if key == "__class__":
                return f"{self.own('type')}({inner})"
            case "attr":
                return self.attribute(inner, key)
            case "item":
                return f"{inner}[{self.constant(key)}]"
            case "shape":
                return f"{inner}.shape[{key}]"
        return self._step(inner, self._code_at(tuple(before)), kind, key)

    def _name_of_long_path(self, path: Path) -> None:
        """Name what is on a long way, so that what is read at its end is not nested deeply."""
        for end in range(_DEEP, len(path), _DEEP):
            part = path[:end]
            if part not in self.names and EACH not in part:
                self.add(f"({self.named(part)}, True)[1]")

    def _code_at(self, path: Path) -> CodeType:
        """Return the code of the function at a path: guarded, or that of the function itself."""
        if path not in self.known_codes:
            return guarded_code(read(path, self.function))
        code = self.known_codes[path] or code_of(self.function)
        assert code is not None
        return code

    def _of_each(self, path: Path) -> str:
        """Return the value at a path in each item of a list, or the items themselves."""
        at = path.index(EACH)
        inner = self.named(path[:at])
        return f"{self.own('follow')}({inner}, {self.constant(path[at:])})"

    def named(self, path: Path) -> str:
        """Return a name for what is at a path, read on the way if need be."""
        if path in self.names:
            return self.names[path]
        name = self.fresh("v")
        expression = self.expression(path)
        self.names[path] = name
        return f"({name} := {expression})"

    def _step(self, holder: str, code: CodeType | None, kind: str, key: Any) -> str:
        """Return a step from a function: the first one, or one of which the code is known."""
        at_root = code is None
        match kind:
            case "global":
                builtin = getattr(builtins, plain(key), _NOTHING)
                space = f"{holder}.__globals__"
                if at_root:
                    space = self.prepared("space", f"{holder}.__globals__")
                if builtin is _NOTHING:
                    return f"{space}[{quoted(key)}]"
                return f"{space}.get({quoted(key)}, {self.constant(builtin)})"
            case "of":
                return self.constant(key.value)
            case "module":
                return f"{self.constant(sys.modules)}[{quoted(key)}]"
            case "cell":
                names = (code or self.function.__code__).co_freevars
                number = names.index(key)
                cell = f"{holder}.__closure__[{number}]"
                if at_root:
                    cell = self.prepared(f"cell{number}", cell)
                return f"{cell}.cell_contents"
            case "default":
                return f"{holder}.__defaults__[{key}]"
            case "kwdefault":
                return f"{holder}.__kwdefaults__[{quoted(key)}]"
        raise KeyError(kind)

    def prepared(self, stem: str, expression: str) -> str:
        """Return a name that is bound once per function object."""
        name = self.own(stem)
        line = f"{name} = {expression}"
        if line not in self.setup:
            self.setup.append(line)
        return name

    # ------------------------------------------------------------------------- types
    def add(
        self, condition: str, quick: str | None = None, outside_kernel: str | None = None
    ) -> None:
        """Append a condition to all lists; `quick` and `outside_kernel` replace it in theirs.

        An empty string leaves the condition out of that list.
        """
        self.conditions.append(condition)
        if self.quick is not None and quick != "":
            self.quick.append(quick or condition)
        if self.outside_kernel is not None and outside_kernel != "":
            self.outside_kernel.append(outside_kernel or condition)

    def condition_outside_kernel(self) -> str | None:
        """Return the condition to check before the kernel is called.

        None if the kernel does not check its arrays, or if the condition reads their shapes.
        """
        if self.outside_kernel is None:
            return None
        test = " and ".join(self.outside_kernel)
        names = set(_NAME.findall(test))
        return None if names.intersection(self.kernel_shapes) else test

    def add_shape(self, array: str, path: Path, rank: int) -> None:
        """Add the condition that the array at a path has this rank, and name its shape."""
        shape = self.names[(*path, ("shape",))] = self.fresh("s")
        seen = f"{self.prefix}seen{len(self.shapes) + 1}"
        if self.quick is not None:
            self.shapes[shape] = seen
        if path in self.kernel_arrays:
            self.kernel_shapes.append(shape)
        self.add(
            f"{self.own('len')}({shape} := {array}.shape) == {rank}",
            quick=f"({shape} := {array}.shape) == {seen}",
            outside_kernel="" if path in self.kernel_arrays else None,
        )

    def is_class(self, first: str, cls: str) -> None:
        """Add the condition that the class is exactly this one."""
        self.add(f"{self.own('type')}({first}) is {cls}")

    def class_name(self, cls: type) -> str:
        """Return the name by which the text calls a class."""
        own = self.own(plain(cls.__name__))
        return own if self.constants.get(own) is cls else self.constant(cls)

    def inner(self) -> Conditions:
        """Conditions about each item of a list, in a function of their own."""
        made = Conditions([], self.function, self.by_code)
        made.prefix, made._counter, made.ordered = self.prefix, self._counter, self.ordered
        made.constants, made._known, made.functions = self.constants, self._known, self.functions
        return made

    def add_each(self, items: Conditions, item: str, sequence: str) -> None:
        """Conditions about each item hold for all items of a list; `item` is what they call it."""
        self._counter = items._counter
        checker = self.fresh("each")
        test = " and ".join(items.conditions) or "True"
        self.functions += [
            f"def {checker}({self.prefix}items):",
            f"    for {item} in {self.prefix}items:",
            f"        if not ({test}):",
            "            return False",
            "    return True",
        ]
        self.add(f"{checker}({sequence})")


def guarded_code(expected: Any) -> CodeType:
    """Return the code object that a guard is about."""
    code: CodeType = expected if isinstance(expected, CodeType) else expected.__code__
    return code
