"""Functions that have neither a rule nor a source, met on the way of a derivative."""

from __future__ import annotations

import ast
import sys
import types
from typing import Any, NoReturn

import numpy as np

from srcad.errors import MissingRuleError, UnsupportedSyntaxError
from srcad.frontend.domain.structure import values_of
from srcad.frontend.domain.values import AbstractValue, Constant
from srcad.frontend.machine.machine import Machine
from srcad.ir.core import Location
from srcad.ir.written_calls import call_at, text_of_call
from srcad.rules import stubs
from srcad.rules.registry import library_for
from srcad.startup.identifiers import dotted, label, module_of
from srcad.types.numeric import Numeric
from srcad.types.reading import looked_up

# Where a user sees what is refused: the place in his own text, and his words for a callee.


def called_name(state: Machine, function: Any) -> str:
    """Return the name of a function as the user wrote it, its module spelled out."""
    short = label(function)
    text = _text_of_callee(state.builder.where)
    if text is None or text.rpartition(".")[2] != short:
        return stubs.written(function)
    root, dot, rest = text.partition(".")
    found = state.user_frame.globals.get(root)
    if isinstance(found, types.ModuleType):
        return f"{label(found)}{dot}{rest}"
    home = _home(found, root)
    if not dot:
        return stubs.written(function)
    return f"{home}.{text}" if home else text


def method_of_object(state: Machine, function: Any) -> str | None:
    """How a method of an object in the user's text is written as a function of its class."""
    text = _text_of_callee(state.builder.where)
    holder, _, name = (text or "").rpartition(".")
    found = state.user_frame.globals.get(holder)
    is_class = found is None or isinstance(found, type | types.ModuleType)
    return None if is_class or name != function.__name__ else f"type({holder}).{name}"


def _home(found: Any, name: str) -> str | None:
    """Return the public library module under whose name an object is found, if any."""
    module = str(getattr(type(found), "__module__", "")).partition(".")[0]
    if found is None or module in ("builtins", "__main__"):
        return None
    homes = [
        path
        for path, loaded in list(sys.modules.items())
        if path.partition(".")[0] == module
        and not any(part.startswith("_") for part in path.split("."))
        and vars(loaded).get(name) is found
    ]
    return min(homes, key=len, default=None)


def _text_of_callee(where: Location | None) -> str | None:
    """Return the text before the brackets of a call, if it is a name with dots."""
    node = call_at(where)
    if node is None:
        return None
    inner: ast.AST = node.func
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    return ast.unparse(node.func) if isinstance(inner, ast.Name) else None


# What does the same by functions that have rules.
_INSTEAD = {
    "scipy.spatial.transform.": "write the matrix of a rotation: about a unit vector, whose "
    "matrix of the cross product is K, it is  np.eye(3) + np.sin(t) * K + (1 - np.cos(t)) * K @ K",
}


def _instead(full: str, function: Any) -> list[str]:
    """Return what does the same as a function, by its name or that of its module."""
    names = full, f"{module_of(function)}."
    library = library_for(function)
    if library is not None:
        return [f"install {library.partition('.')[0]}: the rule calls {library}"]
    return [text for key, text in _INSTEAD.items() if any(name.startswith(key) for name in names)]


# Libraries with arrays of their own, and what compiles functions of the user's.
_ARRAYS_ELSEWHERE = {
    "cupy": "CuPy",
    "jax": "JAX",
    "jaxlib": "JAX",
    "tensorflow": "TensorFlow",
    "torch": "PyTorch",
}
_COMPILERS = {"jax": "JAX", "jaxlib": "JAX", "numba": "Numba"}


def is_foreign(function: Any) -> bool:
    """Return True if a function belongs to a library of other arrays, or was compiled by one."""
    return compiler_of(function) is not None or _library_of_arrays(function) is not None


def compiler_of(function: Any) -> str | None:
    """Return the name of the compiler of a function, such as Numba; None for plain Python."""
    root = str(type(function).__module__).partition(".")[0]
    return None if isinstance(function, type) else _COMPILERS.get(root)


def _library_of_arrays(function: Any) -> str | None:
    """Return the library of other arrays that a function belongs to."""
    holders = function, looked_up(function, "__self__")
    roots = (module_of(holder).partition(".")[0] for holder in holders)
    return next((_ARRAYS_ELSEWHERE[root] for root in roots if root in _ARRAYS_ELSEWHERE), None)


def _refuse_foreign(state: Machine, function: Any) -> None:
    """Refuse a function of other arrays, or one that is compiled, with what to write instead."""
    library, compiler = _library_of_arrays(function), compiler_of(function)
    if library is None and compiler is None:
        return
    text, node = _text_of_callee(state.builder.where), call_at(state.builder.where)
    name = text or dotted(label(function))
    given = () if node is None else (*node.args, *node.keywords)
    written = ", ".join(map(ast.unparse, given)) if given else "..."
    last = name.rpartition(".")[2]
    instead = "write it with NumPy"
    if library is not None:
        why = f"it is a function of {library}, and srcad differentiates NumPy."
        if callable(getattr(np, last, None)):
            instead = f"{instead}:  np.{last}({written})"
    else:
        why = f"it is compiled by {compiler}, and srcad reads Python only."
        python = _python_of(function, name)
        if python is not None:
            instead = f"call the Python function that it was made of:  {python}({written})"
    state.refuse(
        MissingRuleError,
        f"no derivative rule for {text or called_name(state, function)}, called",
        why=why,
        help=(instead,),
    )


def _python_of(function: Any, name: str) -> str | None:
    """Return the text of the Python function behind a compiled one that has a name.

    None for one of several arrays, which writes its result into its last argument.
    """
    if hasattr(function, "py_func"):
        return f"{name}.py_func"
    python = f"{name}.__wrapped__"
    if not hasattr(function, "ufunc"):
        return python
    return None if function.signature else f"np.vectorize({python}, otypes=[float])"


def refuse_without_rule(
    state: Machine, function: Any, args: tuple[AbstractValue, ...], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Refuse a function without a rule that carries a derivative."""
    if _is_of_objects(function):
        refuse_entry_by_entry(state)
    _refuse_foreign(state, function)
    full = called_name(state, function)
    quantities: list[int | str] = [k for k, box in enumerate(args) if _may_be_quantity(box)]
    quantities += [name for name, box in kwargs.items() if _may_be_quantity(box)]
    return state.refuse(
        MissingRuleError,
        f"no derivative rule for {full}, called",
        why="a value that depends on the differentiated arguments flows into it, and "
        + _reason(function),
        help=(
            *_instead(full, function),
            "write one, with a cotangent in the place of each '...':\n"
            + stubs.stub(
                function, len(args), tuple(kwargs), quantities, method_of_object(state, function)
            ),
            "or, if no derivative is to flow through it, treat it as a constant:  "
            f"srcad.stop_gradient({text_of_call(state.builder.where) or f'{dotted(full)}(...)'})",
        ),
    )


def refuse_entry_by_entry(state: Machine) -> NoReturn:
    """Refuse a call of a function made by ``np.frompyfunc``."""
    state.refuse(
        UnsupportedSyntaxError,
        "cannot differentiate through a function that is called for each entry",
        why="what np.frompyfunc makes returns an array of objects, and does not show its function.",
        help=(
            "use np.vectorize:  np.vectorize(f, otypes=[float])(x)",
            "or write the function with np.where, so that it takes arrays",
        ),
    )


def _is_of_objects(function: Any) -> bool:
    """Return True if ``np.frompyfunc`` has made a function."""
    return isinstance(function, np.ufunc) and not set("".join(function.types)) - set("O->")


def _reason(function: Any) -> str:
    """Why there is no rule: it is yet to be written, or the function cannot be read."""
    library = library_for(function)
    if library is not None:
        return f"its rule calls {library}, which cannot be imported."
    module = str(getattr(function, "__module__", None) or stubs.written(function))
    if module.partition(".")[0] in ("numpy", "scipy"):
        return "the table has no rule for it yet: more of NumPy and SciPy is planned."
    return "srcad can read Python only: this is compiled, or belongs to a library."


def _may_be_quantity(box: AbstractValue) -> bool:
    """Return True if an argument may be or hold a number with a derivative: no integer, no text."""
    if isinstance(box, Constant):
        return isinstance(box.value, float | complex | np.ndarray | list | tuple)
    types = [value.type for value in values_of(box)]
    return not all(isinstance(t, Numeric) and t.kind in "iub" for t in types) or not types
