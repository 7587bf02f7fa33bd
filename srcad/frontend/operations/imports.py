"""Imports inside a function, which every call executes again."""

from __future__ import annotations

import ast
import importlib
import importlib.util

from srcad.frontend.domain.values import AbstractValue, Constant
from srcad.frontend.machine.constants import raises
from srcad.frontend.machine.dispatch import Args, Kwargs, attribute, executes, means
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store.lookup import STABLE_MODULES, value_of_object


@executes(ast.Import, ast.ImportFrom)
def import_(s: Machine, node: ast.Import | ast.ImportFrom) -> None:
    """``import a.b``, ``from a import b as c``: imported now, as the original call would."""
    env = s.frame.env
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            name = _resolved(s, "." * node.level + (node.module or ""))
            env[alias.asname or alias.name] = _member(s, name, alias.name)
        elif alias.asname is not None:
            env[alias.asname] = module(s, alias.name)
        else:
            module(s, alias.name)
            root = alias.name.partition(".")[0]
            env[root] = module(s, root)


def module(s: Machine, name: str) -> Constant:
    """Return the value of a module.

    Where it cannot be imported, the adjoint raises as the function does.
    """
    try:
        found = importlib.import_module(name)
    except ImportError as error:
        raises(s, type(error), str(error))
    is_stable = name.partition(".")[0] in STABLE_MODULES
    box = value_of_object(s, found, None if is_stable else (("module", name),))
    return box if isinstance(box, Constant) else Constant(found)


def _resolved(s: Machine, name: str) -> str:
    try:
        return importlib.util.resolve_name(name, s.frame.globals.get("__package__") or "")
    except ImportError as error:
        raises(s, type(error), str(error))


def _member(s: Machine, name: str, member: str) -> AbstractValue:
    """Return an attribute of a module, or a module inside it."""
    owner = module(s, name)
    if hasattr(owner.value, member):
        return attribute(s, owner, member)
    inner = f"{name}.{member}"
    if hasattr(owner.value, "__path__") and importlib.util.find_spec(inner) is not None:
        return module(s, inner)
    s.guard(owner.path, "lacks", member)
    return raises(s, ImportError, f"cannot import name {member!r} from {name!r}")


@means(__import__)
def dunder_import(s: Machine, args: Args, kwargs: Kwargs) -> AbstractValue | None:
    """``__import__(name)``."""
    name = (
        args[0].value if len(args) == 1 and not kwargs and isinstance(args[0], Constant) else None
    )
    if not isinstance(name, str):
        return None
    module(s, name)
    return module(s, name.partition(".")[0])
