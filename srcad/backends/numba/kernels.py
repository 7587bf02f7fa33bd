"""Compilation of generated loops with Numba, with a cache on disk.

A folder has one file per kernel, ``<hash>.nbc``: the hash is that of everything the machine code
depends on.  The files are written and read here and not by Numba, which prefers the folder that
``NUMBA_CACHE_DIR`` names to any other, and loads damaged files without a check.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import math
import os
import pickle
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any

import llvmlite
import llvmlite.binding
import numba
import numpy as np
from numba.core import serialize
from numba.core.compiler import CompileResult
from numba.core.errors import NumbaError, NumbaWarning

from srcad.backends.interface import NotCovered
from srcad.backends.numba import functions
from srcad.backends.numba.deopt import Deopt
from srcad.backends.numba.lowering import Parameter
from srcad.startup.deep_recursion import deep_recursion
from srcad.startup.locks import importing
from srcad.startup.records import dataclass

LINEAR = (
    "cholesky", "determinant", "gemm_nn", "gemm_nt", "gemm_tn", "gemm_tt", "gemv_n", "gemv_t",
    "inverse", "lower_inverse", "solve", "solve_lower",
)  # fmt: skip
_LAPACK = "srcad.backends.numba.lapack"  # needs SciPy
_DIGEST = hashlib.sha256().digest_size
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
    if numba.config.DISABLE_JIT:  # Numba's decorators return the Python function
        raise NotCovered("Numba is set to compile nothing")
    signature = tuple(_numba_type(p) for p in parameters)
    options = {**_OPTIONS, "parallel": "numba.prange(" in text}
    if folder is not None:
        whole = _module_text(text, name)
        dispatcher = numba.njit(**options)(getattr(_module(whole), name))
        dispatcher._cache = _Files(folder, whole)
        dispatcher.compile(signature)
        dispatcher.disable_compile()
        return _made(dispatcher)
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
@dataclass(frozen=True, eq=False)
class _Files:
    """The files of a kernel, one per signature, with the interface of Numba's caches.

    A file has the hash of its contents in front.  One that is damaged, or cannot be read, counts as
    missing and is replaced.
    """

    # The folder.
    cache_path: str
    # The module that defines the kernel.
    text: str

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the result of the compiler for a signature; None if it is not in the folder."""
        target_context.refresh()
        try:
            with open(self._place(signature, target_context.codegen()), "rb") as file:
                digest, data = file.read(_DIGEST), file.read()
        except OSError:
            return None
        if hashlib.sha256(data).digest() != digest:
            return None
        return CompileResult._rebuild(target_context, *pickle.loads(data))

    def save_overload(self, signature: Any, result: Any) -> None:
        """Write the result of the compiler, unless it is valid in this process only."""
        if result.lifted or result.library.has_dynamic_globals:
            return
        data = serialize.dumps(result._reduce())
        with contextlib.suppress(OSError):
            place = self._place(signature, result.library.codegen)
            _write(place, hashlib.sha256(data).digest() + data)

    def _place(self, signature: Any, codegen: Any) -> str:
        parts = (self.text, *_versions(), str(signature), str(codegen.magic_tuple()))
        key = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return os.path.join(self.cache_path, f"{key}.nbc")


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


def _write(place: str, data: bytes) -> None:
    """Write a file atomically."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(place), suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, place)
    except OSError:
        os.unlink(temporary)
        raise


def _module(text: str) -> ModuleType:
    """Return the module of a text; Numba looks it up by its name when it loads compiled code."""
    name = f"srcad_kernel_{hashlib.sha256(text.encode()).hexdigest()}"
    with importing:
        found = sys.modules.get(name)
        if found is None:
            found = ModuleType(name)
            code = compile(text, f"<{name}>", "exec", dont_inherit=True)
            exec(code, found.__dict__)
            sys.modules[name] = found
    return found
