"""The first lines of a rule that is missing, to be pasted and filled in."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Collection
from types import FunctionType
from typing import Any

import numpy as np

from srcad.startup.identifiers import dotted, identifier, is_name, label, module_of, plain

_LITERALS = (int, float, complex, str, bool, type(None))


def stub(
    target: Any,
    count: int,
    keywords: Collection[str],
    active: Collection[int | str],
    name_of_method: str | None = None,
) -> str:
    """A rule for `target` as it is called, with ``...`` for each cotangent that is to be written.

    Parameters
    ----------
    target : callable
        A function without a rule.
    count : int
        The number of positional arguments of the call.
    keywords : collection of str
        The keywords of the call.
    active : collection of int or str
        The positions and keywords of the arguments that a derivative may flow through.
    name_of_method : str, optional
        How the function is written if it is found in no module.

    Examples
    --------
    >>> import numpy
    >>> print(stub(numpy.polyfit, 3, (), (0, 1)))
    import numpy, srcad
    @srcad.rules.adjoint(numpy.polyfit)
    def polyfit_rule(out_bar, out, x, y, deg):
        return ..., ..., None
    """
    if not _is_hashable(target):  # such as a function of ctypes: it cannot be registered
        return python_around("compiled", count)
    module, spelled = _address(target)
    spelled = spelled if module or name_of_method is None else name_of_method
    required, optional = _parameters(target, count, keywords)
    chosen = [name for k, name in enumerate(required) if k in active or name in active]
    leading = "out_bar, out" if {"y", "y_bar"} & {*required, *optional} else "y_bar, y"
    defaults = [f"{name}={default}" for name, default in optional.items()]
    bare = spelled.rpartition(".")[2]
    if isinstance(target, type):
        return _for_class(module, spelled, required, [leading, *required, *defaults], chosen)
    name = f"{bare}_rule" if is_name(bare) else "rule"
    entries = ["..." if p in chosen else "None" for p in required] or ["..."]
    return "\n".join(
        [
            f"import {', '.join([*module, 'srcad'])}",
            f"@srcad.rules.adjoint({spelled})",
            f"def {name}({', '.join([leading, *required, *defaults])}):",
            f"    return {', '.join(entries)}",
        ]
    )


def _is_hashable(target: Any) -> bool:
    try:
        hash(target)
    except TypeError:
        return False
    return True


def python_around(called: str, count: int) -> str:
    """Return a Python function around compiled code that cannot have a rule, and its rule.

    >>> print(python_around("compiled", 2))
    import srcad
    def in_python(x1, x2):  # given in the place of the compiled function
        return compiled(x1, x2)
    @srcad.rules.derivative(in_python)
    def in_python_rule(x1, x2):
        return ..., ...
    """
    names = [f"x{k + 1}" for k in range(count)]
    given = ", ".join(names)
    return "\n".join(
        [
            "import srcad",
            f"def in_python({given}):  # given in the place of the compiled function",
            f"    return {called}({given})",
            "@srcad.rules.derivative(in_python)",
            f"def in_python_rule({given}):",
            f"    return {', '.join(['...'] * count)}",
        ]
    )


def _for_class(
    module: list[str], spelled: str, required: list[str], parameters: list[str], chosen: list[str]
) -> str:
    """A function that makes an object and returns numbers of it, and a rule for that."""
    bare = identifier(spelled.rpartition(".")[2])
    entries = ["..." if p in chosen else "None" for p in required] or ["..."]
    return "\n".join(
        [
            f"import {', '.join([*module, 'srcad'])}",
            f"def of_{bare}({', '.join(required)}):  # called in the place of the class",
            f"    made = {spelled}({', '.join(required)})",
            "    return ...  # the numbers that are made of it",
            f"@srcad.rules.adjoint(of_{bare})",
            f"def of_{bare}_rule({', '.join(parameters)}):",
            f"    return {', '.join(entries)}",
        ]
    )


def _parameters(
    target: Any, count: int, keywords: Collection[str]
) -> tuple[list[str], dict[str, str]]:
    """The parameters that the call uses, and those with a default that it passes over."""
    try:
        found = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        found = []
    positional = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = [p.name for p in positional]
    named = {p.name for p in found}
    if len(names) < count or not all(map(is_name, names)) or not named.issuperset(keywords):
        return [*(f"x{k + 1}" for k in range(count)), *map(identifier, keywords)], {}
    used = [k for k, p in enumerate(positional) if k < count or p.name in keywords
            or p.default is p.empty]  # fmt: skip
    last = max(used, default=-1)
    required = names[: next((k for k in range(last + 1) if k not in used), last + 1)]
    rest = {p.name: p.default for p in positional[len(required) : last + 1]}
    others = {p.name: p.default for p in found if p.kind is p.KEYWORD_ONLY and p.name in keywords}
    optional = {n: repr(d) if type(d) in _LITERALS else "None" for n, d in (rest | others).items()}
    return required, optional


def _address(target: Any) -> tuple[list[str], str]:
    """The module to import, if any, and how the function is written then."""
    name, module = label(target), module_of(target)
    if module in ("builtins", "__main__"):
        return [], dotted(_name_in_class(target))
    holder = _holder(target, module)
    if holder is not None:
        imported, spelled = _address(holder)
        return imported, dotted(f"{spelled}.{name}")
    library = module.partition(".")[0].lstrip("_")
    homes = [
        path
        for path, loaded in list(sys.modules.items())
        if path.startswith(library)
        and getattr(loaded, "__dict__", {}).get(name) is target
        and (not library or path.partition(".")[0] == library)
        and is_name(path.replace(".", "_"))
        and not path.startswith("_")
        and "._" not in path
    ]
    if not homes:
        return [], dotted(_name_in_class(target))
    home = min(homes, key=lambda path: (path.count("."), len(path)))
    return [home], dotted(f"{home}.{name}")


def _name_in_class(target: Any) -> str:
    """The name of a function of Python, that of a method behind its class."""
    if not isinstance(target, FunctionType):
        return label(target)
    return plain(target.__qualname__).rpartition("<locals>.")[2]


def _holder(target: Any, module: str) -> Any:
    """The class or the ufunc that a function is a method of, if it is one."""
    if isinstance(getattr(target, "__self__", None), np.ufunc):
        return target.__self__
    path = getattr(target, "__qualname__", None)
    owner = plain(path).rpartition(".")[0] if isinstance(path, str) else ""
    found = getattr(sys.modules.get(module), "__dict__", {}).get(owner)
    is_held = isinstance(found, type) and vars(found).get(label(target)) is target
    return found if is_held else None


def written(target: Any) -> str:
    """How a function is written after an import of its module.

    >>> import collections
    >>> written(collections.Counter.most_common)
    'collections.Counter.most_common'
    """
    spelled = _address(target)[1]
    return label(target) if spelled == "..." else spelled
