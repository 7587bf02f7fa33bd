"""Definitions of an exported module besides the derivative: imports, constants, functions."""

from __future__ import annotations

import ast
import builtins
import sys
import textwrap
from collections.abc import Iterable
from types import BuiltinMethodType, FunctionType, MethodDescriptorType, ModuleType
from typing import Any

import numpy as np

from srcad.backends.python.naming.names import fresh
from srcad.errors import ExportError, SrcadError
from srcad.exporting.literals import MOST_ENTRIES, assignment, literal, size
from srcad.exporting.written_out import (
    WIDTH,
    Edit,
    Offsets,
    builtin_error,
    edited,
    free_names,
    home_of,
    imported_from,
    renamed,
    text_of,
)
from srcad.frontend.source.definition import definition
from srcad.rules import registry
from srcad.startup.identifiers import identifier, is_name, label, plain
from srcad.startup.records import dataclass, field

# A function of the user's as text that stands by itself, and what it reads.

_WRITES = ("STORE_GLOBAL", "DELETE_GLOBAL")


@dataclass(eq=False)
class PlainFunction:
    """A function as a ``def`` without decorators and types.

    `reads` are the values of its globals and cells by name; `defaults` are those of its parameters
    by the names that the text has for them.
    """

    name: str
    text: str
    reads: dict[str, Any]
    defaults: dict[str, Any] = field(default_factory=dict)


def plain_function(function: FunctionType) -> PlainFunction:
    """Return the text of a function.

    Raises
    ------
    SourceUnavailableError
        It has none.
    ExportError
        It writes to globals or cells, or reads one that holds nothing.
    """
    source = definition(function)
    if isinstance(source.tree, ast.Lambda):
        name, text = "f", _of_lambda(source.tree, source.text)
    else:
        name = source.tree.name
        text = textwrap.dedent(
            "".join(source.lines[source.tree.lineno - 1 : source.tree.end_lineno])
        )
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    if any(isinstance(node, ast.Global | ast.Nonlocal) for node in ast.walk(tree)):
        raise ExportError(
            f"{plain(function.__name__)!r} writes to a variable outside itself",
            why="a file of its own has other variables.",
            help="return the value instead",
        )
    defaults: dict[str, Any] = {}
    text = _stripped(text, tree, function, defaults)
    again = ast.parse(text).body[0]
    reads = {
        name: _outside(function, name)
        for name in free_names(again)
        if name not in defaults and _is_outside(function, name)
    }
    return PlainFunction(name, text if text.endswith("\n") else text + "\n", reads, defaults)


def _of_lambda(tree: ast.Lambda, text: str) -> str:
    """Return a lambda as a ``def``."""
    arguments = ast.unparse(tree.args)
    return f"def f({arguments}):\n    return {ast.unparse(tree.body)}\n"


def _stripped(
    text: str, tree: ast.FunctionDef, function: FunctionType, defaults: dict[str, Any]
) -> str:
    """Return the text without types; a default that is no literal becomes a name."""
    at, edits = Offsets(text), []
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None:
            start = at.span(node)[0] + len(node.arg.encode())
            edits.append(Edit(start, at.span(node)[1], ""))
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            start, end = at.span(node.returns)
            arrow = text.encode()[:start].rindex(b"->")
            edits.append(Edit(len(text.encode()[:arrow].rstrip()), end, ""))
    plain_ones = [*tree.args.posonlyargs, *tree.args.args][-len(tree.args.defaults) or None :]
    values = [*(function.__defaults__ or ())]
    names = [a.arg for a in plain_ones][-len(values) :] if values else []
    nodes: list[Any] = list(tree.args.defaults)
    for arg, default in zip(tree.args.kwonlyargs, tree.args.kw_defaults, strict=True):
        if default is not None:
            names.append(arg.arg)
            nodes.append(default)
            values.append((function.__kwdefaults__ or {})[arg.arg])
    for name, node, value in zip(names, nodes, values, strict=True):
        if not isinstance(node, ast.Constant) or node.value is not value:
            defaults[f"default_{name}"] = value
            edits.append(Edit(*at.span(node), f"default_{name}"))
    return edited(text, edits)


def _is_outside(function: FunctionType, name: str) -> bool:
    if name in function.__code__.co_freevars or name in function.__globals__:
        return True
    if not hasattr(builtins, name):
        raise ExportError(
            f"{plain(function.__name__)!r} reads {name!r}, which is not defined",
            why="it cannot be written to a file.",
            help=f"define {name} first",
        )
    return False


def _outside(function: FunctionType, name: str) -> Any:
    """Return the current value of a name that a function reads."""
    if name in function.__code__.co_freevars:
        assert function.__closure__ is not None
        cell = function.__closure__[function.__code__.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:
            raise ExportError(
                f"{plain(function.__name__)!r} reads {name!r}, which holds nothing yet",
                help=f"define {name} first",
            ) from None
    return function.__globals__[name]


_SHORT = {"numpy": "np"}


@dataclass(eq=False)
class Definitions:
    """Collects definitions; every object has one name.

    `taken` are the names that are in use, `outside` those outside the generated functions, `name`
    is the function that is differentiated.  `imports` are lines, `constants` and `functions` texts
    in the order in which they can stand.
    """

    taken: set[str]
    name: str
    outside: set[str] = field(default_factory=set)
    imports: set[str] = field(default_factory=set)
    constants: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    _names: dict[int, str] = field(default_factory=dict)
    _kept: list[Any] = field(default_factory=list)
    _parts: dict[tuple[str, str], str] = field(default_factory=dict)

    # ------------------------------------------------------------------------- names
    def fresh(self, wanted: str) -> str:
        """Return a name that nothing else has."""
        name = fresh(identifier(wanted), self.taken)
        self.taken.add(name)
        self.outside.add(name)
        return name

    def fresh_as_it_is(self, wanted: str) -> str:
        """Return the same for a name that begins with an underscore."""
        name = fresh(wanted, self.taken)
        self.taken.add(name)
        self.outside.add(name)
        return name

    def fresh_outside(self, wanted: str) -> str:
        """Return a name for a function that is only called; its own text may use the name."""
        name = fresh(identifier(wanted), self.outside)
        self.taken.add(name)
        self.outside.add(name)
        return name

    def reserve(self, value: Any, wanted: str) -> str:
        """Return the name that an object gets."""
        name = self._names[id(value)] = self.fresh(wanted)
        self._kept.append(value)
        return name

    def name_of(self, value: Any, wanted: str) -> str:
        """Return the name under which the module has an object; it gets one if it has none.

        Raises
        ------
        ExportError
            The object cannot be written out or imported.
        """
        known = self._names.get(id(value))
        if known is not None:
            return known
        if isinstance(value, ModuleType):
            return self._module(value, wanted)
        if getattr(builtins, wanted, None) is value and wanted not in self.taken:
            return wanted
        home = home_of(value, wanted)
        if home is not None:
            return self._part(*home, value)
        holder, _, part = registry.name_of_receiver(value).rpartition(".")
        if holder:  # an object of a library, such as scipy.stats.norm
            return self.imported(holder, part, value)
        text = literal(value) or _bound_method(value) or _method_of_text(value)
        if text is not None:
            return self.constant(text, self.fresh(wanted))
        return self._of_user(value, wanted)

    def constant(self, text: str, name: str) -> str:
        if "np." in text:
            text = self._with_numpy(text)
        self.constants.append(assignment(name, text, WIDTH))
        return name

    def _with_numpy(self, text: str) -> str:
        """Return the text of a value with NumPy's own name in this module."""
        return renamed(text, {"np": self.name_of(np, "np")})

    # ------------------------------------------------------------------------- imports
    def _module(self, module: ModuleType, wanted: str) -> str:
        full = module.__name__
        holder, _, last = full.rpartition(".")
        short = _SHORT.get(full, last)
        name = self.reserve(module, short)
        if holder:
            self.imports.add(f"from {holder} import {last}{_alias(last, name)}")
        else:
            self.imports.add(f"import {full}{_alias(full, name)}")
        return name

    def imported(self, module: str, part: str, value: Any) -> str:
        name = self.reserve(value, part)
        self.imports.add(f"from {module} import {part}{_alias(part, name)}")
        return name

    # ------------------------------------------------------------------------- srcad's own
    def _part(self, module: ModuleType, name: str, value: Any) -> str:
        """Something that a module of srcad defines, or imports, under a name."""
        key = (module.__name__, name)
        if key in self._parts:
            return self._parts[key]
        origin = imported_from(module, name)
        if origin is not None:
            return self._imported_part(origin, name, value)
        text = text_of(module, name)
        if text is None:
            raise self._refusal(value, name)
        final = self._parts[key] = self._names[id(value)] = self.fresh_as_it_is(name)
        self._kept.append(value)
        text = self._with_parts_of_modules(module, text)
        names = {name: final, **self._resolved(module, text, own=name)}
        self.functions.append(renamed(text, names))
        return final

    def _with_parts_of_modules(self, module: ModuleType, text: str) -> str:
        """Return the text in which ``module.part`` is the part, for modules of srcad."""
        edits, at = [], Offsets(text)
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
                continue
            holder = self._own_module(vars(module).get(node.value.id))
            if holder is not None:
                final = self._part(holder, node.attr, getattr(holder, node.attr))
                edits.append(Edit(*at.span(node), final))
        return edited(text, edits)

    def _own_module(self, value: Any) -> ModuleType | None:
        is_own = isinstance(value, ModuleType) and value.__name__.startswith("srcad.")
        return value if is_own else None

    def _imported_part(self, origin: tuple[str, str | None], name: str, value: Any) -> str:
        module, part = origin
        if module.startswith("srcad") and part is not None:
            return self._part(sys.modules[module], part, value)
        if part is None:
            return self.name_of(value, name)
        return self.imported(module, part, value)

    def _resolved(self, module: ModuleType, text: str, own: str) -> dict[str, str]:
        """Return the final names of what a text of srcad reads."""
        found = {}
        for name in free_names(ast.parse(text)):
            if name == own:
                continue
            if name not in vars(module):
                continue  # a builtin
            value = vars(module)[name]
            if isinstance(value, type) and issubclass(value, SrcadError):
                found[name] = builtin_error(value)
            elif isinstance(value, ModuleType):
                found[name] = self.name_of(value, name)
            else:
                found[name] = self._part(module, name, value)
        return found

    # ------------------------------------------------------------------------- the user's
    def _of_user(self, value: Any, wanted: str) -> str:
        public = public_place(value)
        if public is not None and is_installed(public[0]):
            return self.imported(*public, value)
        if isinstance(value, FunctionType):
            return self._function(value, wanted)
        if public is not None and public[0] != "__main__":
            return self.imported(*public, value)
        raise self._refusal(value, wanted)

    def importable(self, value: Any, wanted: str) -> str:
        """Return the name of an object that is imported from where everybody finds it.

        Raises
        ------
        ExportError
            There is no such place.
        """
        if id(value) in self._names:
            return self._names[id(value)]
        if getattr(builtins, wanted, None) is value and wanted not in self.taken:
            return wanted
        public = public_place(value)
        if public is None or public[0] == "__main__":
            raise self._refusal(value, wanted)
        return self.imported(*public, value)

    def _function(self, function: FunctionType, wanted: str) -> str:
        """Return a function of the user's that generated code calls, as the user wrote it."""
        final = self.reserve(function, wanted)
        plain = plain_function(function)
        names = {plain.name: final}
        for name, value in plain.reads.items():
            names[name] = self.name_of(value, name)
        for name, value in plain.defaults.items():
            names[name] = self.name_of(value, name)
        text = renamed(plain.text, names)
        self.functions.append(f"# fmt: off\n{text}# fmt: on\n")
        return final

    def _refusal(self, value: Any, wanted: str) -> ExportError:
        many = isinstance(value, np.ndarray | list | tuple | dict) and size(value) > MOST_ENTRIES
        return ExportError(
            f"{wanted!r}, which the derivative of {self.name!r} uses, cannot be written to a file",
            why="it has too many entries."
            if many
            else f"it is an object of {label(type(value))!r} that only this process has.",
            help="make it an argument of the function",
        )


def _alias(own: str, name: str) -> str:
    return "" if own == name else f" as {name}"


def _method_of_text(value: Any) -> str | None:
    """Return the text of a method of `str`; None for anything else."""
    is_one = isinstance(value, MethodDescriptorType) and value.__objclass__ is str
    return f"str.{value.__name__}" if is_one else None


def _bound_method(value: Any) -> str | None:
    """Return a method of a text or another plain value: ``", ".join``."""
    holder = getattr(value, "__self__", None)
    if not isinstance(value, BuiltinMethodType) or isinstance(holder, ModuleType | None):
        return None
    text = literal(holder)
    return None if text is None else f"{text}.{value.__name__}"


def public_place(value: Any) -> tuple[str, str] | None:
    """Return a module and a name from which an object can be imported."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    name = name or getattr(value, "__name__", None)
    if not is_name(name):
        return None
    if isinstance(module, str):
        module = {"_operator": "operator"}.get(module, module)
        found = sys.modules.get(module)
        if found is not None and getattr(found, name, None) is value and _is_path(module):
            return module, name
    for known, found in sorted(_public_modules()):
        if getattr(found, name, None) is value:
            return known, name
    return None


def _is_path(module: str) -> bool:
    return all(is_name(part) and not part.startswith("_") for part in module.split("."))


def _public_modules() -> Iterable[tuple[str, ModuleType]]:
    """Yield the modules of NumPy and SciPy that are loaded."""
    for name, module in list(sys.modules.items()):
        is_one = name.partition(".")[0] in ("numpy", "scipy") and _is_path(name)
        if is_one and isinstance(module, ModuleType):
            yield name, module


def is_installed(module: str) -> bool:
    """Return True if a module is part of Python, or of an installed package."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return top != "__main__"
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file
