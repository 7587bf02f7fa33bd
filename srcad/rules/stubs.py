"""The first lines of a rule that is missing, to be pasted and filled in."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Collection
from typing import Any

import numpy as np

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
    module, spelled = _address(target)
    spelled = spelled if module or name_of_method is None else name_of_method
    required, optional = _parameters(target, count, keywords)
    chosen = [name for k, name in enumerate(required) if k in active or name in active]
    leading = "out_bar, out" if {"y", "y_bar"} & {*required, *optional} else "y_bar, y"
    defaults = [f"{name}={default}" for name, default in optional.items()]
    bare = spelled.rpartition(".")[2]
    name = f"{bare}_rule" if bare.isidentifier() else "rule"
    entries = ["..." if p in chosen else "None" for p in required] or ["..."]
    return "\n".join(
        [
            f"import {', '.join([*module, 'srcad'])}",
            f"@srcad.rules.adjoint({spelled})",
            f"def {name}({', '.join([leading, *required, *defaults])}):",
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
    plain = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = [p.name for p in plain]
    if len(names) < count or not all(name.isidentifier() for name in names):
        return [*(f"x{k + 1}" for k in range(count)), *keywords], {}
    used = [k for k, p in enumerate(plain) if k < count or p.name in keywords
            or p.default is p.empty]  # fmt: skip
    last = max(used, default=-1)
    required = names[: next((k for k in range(last + 1) if k not in used), last + 1)]
    rest = {p.name: p.default for p in plain[len(required) : last + 1]}
    others = {p.name: p.default for p in found if p.kind is p.KEYWORD_ONLY and p.name in keywords}
    optional = {n: repr(d) if type(d) in _LITERALS else "None" for n, d in (rest | others).items()}
    return required, optional


def _address(target: Any) -> tuple[list[str], str]:
    """The module to import, if any, and how the function is written then."""
    name = getattr(target, "__name__", None) or type(target).__name__
    module = str(getattr(target, "__module__", None) or "")
    if module in ("builtins", "__main__"):
        return [], name
    holder = _holder(target, module)
    if holder is not None:
        imported, spelled = _address(holder)
        return imported, f"{spelled}.{name}"
    homes = [
        path
        for path, loaded in list(sys.modules.items())
        if not any(part.startswith("_") for part in path.split("."))
        and (not module or path.partition(".")[0] == module.partition(".")[0])
        and vars(loaded).get(name) is target
    ]
    if not homes:
        return [], name
    home = min(homes, key=lambda path: (path.count("."), len(path)))
    return [home], f"{home}.{name}"


def _holder(target: Any, module: str) -> Any:
    """The class or the ufunc that a function is a method of, if it is one."""
    if isinstance(getattr(target, "__self__", None), np.ufunc):
        return target.__self__
    owner, _, _ = str(getattr(target, "__qualname__", "")).rpartition(".")
    found = vars(sys.modules[module]).get(owner) if module in sys.modules else None
    is_held = isinstance(found, type) and vars(found).get(target.__name__) is target
    return found if is_held else None


def written(target: Any) -> str:
    """How a function is written after an import of its module.

    >>> import collections
    >>> written(collections.Counter.most_common)
    'collections.Counter.most_common'
    """
    return _address(target)[1]
