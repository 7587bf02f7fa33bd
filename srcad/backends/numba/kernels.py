"""Compilation of generated loops with Numba, with a cache on disk.

A folder has one module per text, ``<hash>.py``, and Numba's files for it.  The hash is that of
everything the machine code depends on.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import math
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

import llvmlite
import llvmlite.binding
import numba
import numpy as np
from numba.core.errors import NumbaError, NumbaWarning

from srcad.backends.interface import NotCovered
from srcad.backends.numba import functions
from srcad.backends.numba.deopt import Deopt
from srcad.backends.numba.lowering import Parameter
from srcad.startup.deep_recursion import deep_recursion
from srcad.startup.locks import importing

LINEAR = (
    "cholesky", "determinant", "gemm_nn", "gemm_nt", "gemm_tn", "gemm_tt", "gemv_n", "gemv_t",
    "inverse", "lower_inverse", "solve", "solve_lower",
)  # fmt: skip
_LAPACK = "srcad.backends.numba.lapack"  # needs SciPy
_OPTIONS: Mapping[str, Any] = {"error_model": "numpy"}
# A defect of the text, or something that Numba does not support, shows as one of these; a warning
# is raised where warnings are errors.
_FAILURES = (
    NumbaError, NumbaWarning, ArithmeticError, AssertionError, AttributeError, ImportError,
    LookupError, RuntimeError, TypeError, ValueError,
)  # fmt: skip


@numba.njit  # type: ignore[untyped-decorator]
def grown(storage: Any) -> Any:
    """Return a longer copy of a list that is full."""
    longer = np.empty((2 * storage.shape[0], *storage.shape[1:]), storage.dtype)
    longer[: storage.shape[0]] = storage
    return longer


@numba.njit(forceinline=True)  # type: ignore[untyped-decorator]
def square(x: Any) -> Any:
    """Return ``x * x``."""
    return x * x


def compiled(
    text: str, name: str, parameters: Sequence[Parameter], folder: str | None = None
) -> Callable[..., Any]:
    """Return the compiled function of generated code, for parameters of these types.

    Parameters
    ----------
    text, name : str
        The definition of a function, and its name.
    parameters : sequence of Parameter
        Its parameters.
    folder : str, optional
        Where compiled code is kept for other processes.

    Raises
    ------
    NotCovered
        Numba does not compile it.
    """
    try:
        with deep_recursion():
            return _compiled(text, name, parameters, folder)
    except _FAILURES as error:
        (first, *_) = str(error).strip().splitlines() or [""]
        raise NotCovered(f"loops that Numba does not compile: {first}") from error


def _compiled(
    text: str, name: str, parameters: Sequence[Parameter], folder: str | None
) -> Callable[..., Any]:
    signature = tuple(_numba_type(p) for p in parameters)
    options = {**_OPTIONS, "parallel": "numba.prange(" in text}
    function = None if folder is None else _kept(text, name, folder)
    if function is not None:
        return _made(numba.njit(signature, cache=True, **options)(function))
    code = compile(text, f"<srcad numba {name}>", "exec", dont_inherit=True)
    space = {k: getattr(importlib.import_module(m), k) for k, m in _homes(code).items()}
    space.update(np=np, numba=numba, math=math)
    exec(code, space)
    return _made(numba.njit(signature, **options)(space[name]))


def _made(dispatcher: Any) -> Callable[..., Any]:
    found: Callable[..., Any] = dispatcher
    return found


def _numba_type(parameter: Parameter) -> Any:
    dtype = numba.from_dtype(parameter.type.dtype)
    if parameter.type.shape == ():
        return dtype
    return numba.types.Array(dtype, len(parameter.type.shape or ()), "C")


def _homes(code: CodeType) -> dict[str, str]:
    """Return the modules of srcad that define the globals of generated code."""
    own = {"Deopt": Deopt.__module__, "grown": __name__, "square": __name__}
    own.update(dict.fromkeys(LINEAR, _LAPACK))
    public = {name for name in vars(functions) if not name.startswith("_")}
    own.update(dict.fromkeys(public - {"np", "math", "numba"}, functions.__name__))
    return {name: own[name] for name in sorted(set(_names(code))) if name in own}


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


# ------------------------------------------------------------------------- the folder
def _kept(text: str, name: str, folder: str) -> Callable[..., Any] | None:
    """Return the function of generated code, as a module in the cache; None if not writable."""
    whole = _module_text(text, name)
    key = hashlib.sha256("\n".join((whole, *_versions())).encode()).hexdigest()
    place = os.path.join(folder, f"{key}.py")
    try:
        if not os.path.exists(place):
            _write(place, whole)
        with open(place, encoding="utf-8") as file:
            if file.read() != whole:
                return None
    except OSError:
        return None
    found: Callable[..., Any] = getattr(_imported(f"srcad_kernel_{key}", place), name)
    return found


def _module_text(text: str, name: str) -> str:
    homes = _homes(compile(text, name, "exec", dont_inherit=True))
    lines = [f"from {module} import {one}" for one, module in homes.items()]
    return "\n".join(["import math", "import numba", "import numpy as np", *lines, "", text])


@lru_cache(maxsize=1)
def _versions() -> tuple[str, ...]:
    """Return the versions and the CPU, part of the key in the cache."""
    files = [functions.__file__, __file__, os.path.join(os.path.dirname(__file__), "lapack.py")]
    texts = []
    for path in files:
        with open(path, "rb") as file:
            texts.append(hashlib.sha256(file.read()).hexdigest())
    cpu = llvmlite.binding.get_host_cpu_name()
    libraries = (numba.__version__, np.__version__, llvmlite.__version__)
    return (*texts, *libraries, platform.python_version(), cpu)


def _write(place: str, text: str) -> None:
    """Write a file atomically."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(place), suffix=".tmp")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, place)


def _imported(name: str, place: str) -> Any:
    """Import a module by its path; Numba looks it up by its name."""
    known = sys.modules.get(name)
    if known is not None:
        return known
    spec = importlib.util.spec_from_file_location(name, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with importing:
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return module
