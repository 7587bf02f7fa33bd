"""Calls of compiled functions: the wrapper of a kernel, and the NumPy code as fallback.

A kernel takes arrays in C order and numbers, and returns a number or array, or a tuple of several
(a tuple of one would be unpacked at each call).  The wrapper is
generated: it takes the arguments of the derivative, and makes its results::

    def grad_f(a0, a1):
        if kernel is not None and (handling() is quiet.handling or is_quiet()):
            try:
                r0, r1 = kernel(a0, a1)
            except refusals as error:
                refused(error)
            else:
                if failures:
                    failures.clear()
                return (r0, float64(r1))
        return numpy(a0, a1)

Numba raises TypeError for arrays in another order: from then on copies in C order are passed.
Another wrapper, ``grad_f_tested``, leaves the checks of dtypes and memory orders to Numba, and
those of lengths to the kernel.  It returns `MISFIT` if one of them fails.
``kernel`` is None until Numba has compiled, and if the NumPy code is to run for good.  ``numpy``
is a method of `Switch` until that is decided.
"""

from __future__ import annotations

import ast
import importlib
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
from numpy._core import umath

from srcad.arguments.options import Numba
from srcad.backends.interface import MISFIT, NotCovered
from srcad.backends.numba.deopt import Deopt
from srcad.backends.numba.lowering import Lowered, Parameter
from srcad.backends.numba.representations import Array, Items, Known, Parts, Rep
from srcad.backends.python.backend import register_text
from srcad.errors import BackendWarning, NotCompiledError
from srcad.ir.primitives import build_record
from srcad.startup.identifiers import is_name, printable
from srcad.startup.locks import importing, lock
from srcad.startup.records import dataclass, field
from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf, TupleOf

Run = Callable[..., Any]

LARGEST = 2**53  # integers from here on go to the NumPy code: index arithmetic might overflow
MOST_MISFITS = 20  # each costs much more than the tests in Python
MOST_FAILURES = 3  # in a row: a kernel that raises leaks the arrays that it has made
WORTH = 0.5  # seconds in the NumPy code after which ``backend="auto"`` compiles
REFUSALS = (Deopt, TypeError, OverflowError, MemoryError)

_NUMBERS = (
    "float64", "float32", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
)  # fmt: skip
_COMPILING = lock(5)  # Numba compiles one function at a time
_LOUD = frozenset({"raise", "call", "print", "log"})
# Where NumPy keeps what `np.geterr` tells; were it elsewhere, that would be asked at each call.
_handling: Callable[[], Any] = getattr(getattr(umath, "_extobj_contextvar", None), "get", object)


# ------------------------------------------------------------------------- the wrapper
@dataclass(eq=False)
class Wrapper:
    """Writer of the function that calls a kernel.

    Attributes
    ----------
    lowered : Lowered
        The function as loop nests.
    types : sequence of Type or None
        The types of its results.
    count : int
        How many arguments the derivative has.
    constants : dict
        The objects that the text names.
    """

    lowered: Lowered
    types: Sequence[Any]
    count: int
    constants: dict[str, Any] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return the source of a function of this name.

        Raises
        ------
        NotCovered
            A result is of a kind that is not made of numbers and arrays here.
        """
        arguments = ", ".join(f"a{k}" for k in range(self.count))
        results = self.lowered.results
        names = [f"r{k}" for k, _ in enumerate(leaf for rep in results for leaf in leaves_of(rep))]
        found = iter(names)
        packed = [self._packed(r, t, found) for r, t in zip(results, self.types, strict=True)]
        fetched = ", ".join(self._fetched(p) for p in self.lowered.parameters)
        tests = ["kernel is not None", "(handling() is quiet.handling or is_quiet())"]
        tests += [
            f"-{LARGEST} < {self._path(p)} < {LARGEST}"
            for p in self.lowered.parameters
            if p.type.shape == () and p.type.dtype is not None and p.type.dtype.kind in "iu"
        ]
        made = f"{', '.join(names)} = kernel({fetched})"
        returned = f"return {packed[0] if len(packed) == 1 else _tuple(packed)}"
        lines = [
            f"def {name}({arguments}):",
            f"    if {' and '.join(tests)}:",
            "        try:",
            f"            {made}",
            "        except refusals as error:",
            "            refused(error)",
            "        else:",
            "            if failures:",
            "                failures.clear()",
            f"            {returned}",
            f"    return numpy({arguments})",
            "",
            f"def {name}_tested({arguments}):",
            f"    if tests_arrays and {' and '.join(tests)}:",
            "        try:",
            f"            {made}",
            "        except exception:",
            "            return missed()",
            "        if failures:",
            "            failures.clear()",
            f"        {returned}",
            "    return misfit",
        ]
        return "\n".join(lines) + "\n"

    def arrays(self) -> dict[int, str]:
        """Map positions of array arguments to the names of the kernel's parameters."""
        return {
            int(p.path[0][1]): p.name
            for p in self.lowered.parameters
            if len(p.path) == 1 and p.type.form == "array" and p.type.shape and p.type.dtype
        }

    def _constant(self, value: Any) -> str:
        """Return the name of an object."""
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def _path(self, parameter: Parameter) -> str:
        """Return the expression of a parameter of a kernel in terms of the arguments."""
        (_, first), *rest = parameter.path
        text = f"a{first}"
        for kind, key in rest:
            if kind == "field":
                text = f"{text}.{key}" if is_name(key) else f"getattr({text}, {key!r})"
            elif kind == "item":
                spelled = repr(key) if type(key) in (int, str) else self._constant(key)
                text = f"{text}[{spelled}]"
            else:
                text = f'array({text}, "{parameter.type.dtype}")'
        return text

    def _fetched(self, parameter: Parameter) -> str:
        """Return the expression of an argument of a kernel, converted to its dtype."""
        path = self._path(parameter)
        if parameter.type.form == "array" and parameter.type.shape == ():
            return f"{path}[()]"
        if parameter.type.form == "any" and parameter.type.shape == ():
            return f"({path}[()] if type({path}) is ndarray else {path})"
        return path

    def _packed(self, rep: Rep, type_: Any, names: Iterator[str]) -> str:
        """Return the expression of a result."""
        if isinstance(rep, Known):
            return self._constant(rep.value)
        if isinstance(rep, Parts):
            return self._packed_parts(rep, type_, names)
        name = next(names)
        if isinstance(rep, Items):
            return f"{name}.tolist()"
        if isinstance(rep, Array):
            return name
        form = type_.form if isinstance(type_, Numeric) else "any"
        if form == "array":
            return f'array({name}, "{rep.dtype.name}")'
        if form == "python" or (form == "any" and rep.dtype.kind != "f"):
            return name
        return f"{rep.dtype.name.replace('bool', 'bool_')}({name})"

    def _packed_parts(self, rep: Parts, type_: Any, names: Iterator[str]) -> str:
        items: Sequence[Any] = [None] * len(rep.items)
        if isinstance(type_, ListOf):
            items = [type_.item] * len(rep.items)
        elif isinstance(type_, TupleOf):
            items = type_.items
        elif type_ is not None:
            raise NotCovered("a result that is an object")
        packed = [self._packed(one, t, names) for one, t in zip(rep.items, items, strict=True)]
        cls = list if isinstance(type_, ListOf) else getattr(type_, "cls", tuple)
        keys = getattr(type_, "keys", None)
        if cls is list:
            return f"[{', '.join(packed)}]"
        if keys is None:
            return _tuple(packed)
        if cls is dict:
            pairs = zip(map(self._constant, keys), packed, strict=True)
            return f"{{{', '.join(f'{key}: {value}' for key, value in pairs)}}}"
        names_of_parts = f"{self._constant(cls)}, {self._constant(keys)}"
        return f"build_record({', '.join([names_of_parts, *packed])})"


def leaves_of(rep: Rep) -> list[Rep]:
    """Return the numbers and arrays of a result, in the order in which a kernel returns them."""
    if isinstance(rep, Parts):
        return [leaf for one in rep.items for leaf in leaves_of(one)]
    return [] if isinstance(rep, Known) else [rep]


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


# ------------------------------------------------------------------------- NumPy's settings
@dataclass
class _Quiet:
    """Cached error settings of NumPy that neither raise nor call."""

    handling: Any = None


_quiet = _Quiet()


def is_quiet() -> bool:
    """Return True if no floating-point error makes NumPy raise, call or print.

    Compiled code does none of these.
    """
    if not _LOUD.isdisjoint(np.geterr().values()):
        return False
    _quiet.handling = _handling()
    return True


# ------------------------------------------------------------------------- what runs
@dataclass(eq=False)
class Switch:
    """Choice of the code that a wrapper runs: a kernel, or the NumPy code.

    Attributes
    ----------
    name : str
        The name of the generated function.
    compile : callable
        ``compile()`` returns the kernel.
    load_numpy : callable
        ``load_numpy()`` returns the NumPy code.
    options : Numba
        How it is compiled.
    measures : bool
        Whether it is compiled only when the NumPy code has taken some time.
    arrays, count
        The arrays that the kernel checks, and the number of arguments: see `Tested`.
    tests : tuple of str
        The conditions on their lengths.
    """

    name: str
    compile: Callable[[], Run]
    load_numpy: Callable[[], Run]
    options: Numba
    measures: bool = False
    arrays: Mapping[int, str] = field(default_factory=dict)
    count: int = 0
    tests: tuple[str, ...] = ()
    misfits: int = 0
    run: Any = None
    space: dict[str, Any] = field(default_factory=dict)
    lock: Any = field(default_factory=lock)
    failures: list[None] = field(default_factory=list)
    why_numpy: str = ""
    is_started: bool = False
    spent: float = 0.0
    copies: bool = False
    made: Run | None = None

    def wrapped(
        self, text: str, constants: Mapping[str, Any], shown: str, label: str
    ) -> FunctionType:
        """Return the function of a wrapper; `source` shows the loops instead of it."""
        file = f"<srcad numba {printable(label or self.name)} {zlib.crc32(shown.encode()):08x}>"
        tree: Any = ast.parse(text)
        for node in ast.walk(tree):
            vars(node).update(dict.fromkeys(vars(node).keys() & {"lineno", "end_lineno"}, 1))
        self.space = {**constants, **self._namespace()}
        exec(compile(tree, file, "exec", dont_inherit=True), self.space)
        run = self.space[self.name]
        self.run = self.space[f"{self.name}_tested"]
        assert isinstance(run, FunctionType)
        run.__dict__["tested"] = self
        register_text(file, shown, run)
        run.__dict__["numpy_form"] = self.numpy_form
        run.__dict__["runs_on"] = self.runs_on
        return run

    def _namespace(self) -> dict[str, Any]:
        return {
            "__name__": "srcad.generated",
            "kernel": None,
            "tests_arrays": False,
            "exception": Exception,
            "missed": self._missed,
            "misfit": MISFIT,
            "numpy": self._measured if self.measures else self._first,
            "handling": _handling,
            "quiet": _quiet,
            "is_quiet": is_quiet,
            "refusals": REFUSALS,
            "refused": self._refused,
            "failures": self.failures,
            "array": np.array,
            "ndarray": np.ndarray,
            "build_record": build_record,
            "bool_": np.bool_,
            **{name: getattr(np, name) for name in _NUMBERS},
        }

    def numpy_form(self) -> Run:
        """Return the NumPy code."""
        if self.made is None:
            with self.lock:
                if self.made is None:
                    self.made = self.load_numpy()
        return self.made

    def runs_on(self) -> str:
        """Return a description of the code that runs."""
        if self.why_numpy:
            return f"numpy: {self.why_numpy}"
        if self.space["kernel"] is None and (self.measures or not self.options.wait):
            return "numpy: not compiled yet"
        return "numba"

    # --------------------------------------------------------------------- before it is decided
    def _first(self, *arguments: Any) -> Any:
        """Compile and run, or run the NumPy code while a thread compiles."""
        if not is_quiet():
            return self.numpy_form()(*arguments)
        if self.options.wait:
            with self.lock:
                if not self.is_started:
                    self.is_started = True
                    self._compile()
            self._raise_or_warn()
            self.space["numpy"] = self.numpy_later
            return self.space[self.name](*arguments)
        self._start()
        return self.numpy_form()(*arguments)

    def numpy_later(self, *arguments: Any) -> Any:
        """Load the NumPy code if it is not loaded, and run it."""
        self.space["numpy"] = run = self.numpy_form()
        return run(*arguments)

    def _measured(self, *arguments: Any) -> Any:
        """Run the NumPy code, and start to compile if it has taken long enough."""
        start = time.perf_counter()
        try:
            return self.numpy_form()(*arguments)
        finally:
            self.spent += time.perf_counter() - start
            if self.spent >= WORTH:
                self._start()

    def _start(self) -> None:
        """Compile in a thread, once."""
        with self.lock:
            if self.is_started:
                return
            self.is_started = True
            self.space["numpy"] = self.numpy_form()
        threading.Thread(target=self._compile, name="srcad numba", daemon=True).start()

    def _warned(self, *arguments: Any) -> Any:
        """Warn once that compilation failed, and run the NumPy code."""
        self.space["numpy"] = run = self.numpy_form()
        self._raise_or_warn()
        return run(*arguments)

    def _compile(self) -> None:
        try:
            with _COMPILING:
                kernel = self.compile()
        except NotCovered as found:
            if not self.options.wait and not self.measures:
                self.space["numpy"] = self._warned
            self.why_numpy = found.reason
        else:
            self.space["kernel"] = kernel
            self.space["tests_arrays"] = True

    def _raise_or_warn(self) -> None:
        if not self.why_numpy or self.measures:
            return
        if self.options.strict:
            raise NotCompiledError(
                f"{self.name!r} is not compiled", why=f"{self.why_numpy}.", help="backend='numpy'"
            )
        warnings.warn(
            f"{self.name!r} runs on NumPy: {self.why_numpy}", BackendWarning, stacklevel=2
        )

    # --------------------------------------------------------------------- tests in the kernel
    def require(self, tests: Sequence[str]) -> bool:
        """Add checks of lengths to the kernel; return False if it was compiled without them."""
        with self.lock:
            if not self.is_started:
                self.tests = tuple(tests)
            return self.tests == tuple(tests)

    def _missed(self) -> Any:
        """Return `MISFIT`; after many mismatches Python checks the arrays before each call."""
        self.misfits += 1
        if self.misfits >= MOST_MISFITS:
            self.space["tests_arrays"] = False
        return MISFIT

    # --------------------------------------------------------------------- after a failure
    def _refused(self, error: BaseException) -> None:
        """Count a call that raised `Deopt`; after several the kernel is not used again."""
        kernel = self.space["kernel"]
        if isinstance(error, TypeError) and not self.copies and kernel is not None:
            self.copies = True
            self.space["tests_arrays"] = False
            self.space["kernel"] = partial(_with_copies, kernel)
            return
        self.failures.append(None)
        if len(self.failures) >= MOST_FAILURES:
            self.why_numpy = "the compiled code did not serve the arguments of several calls"
            self.space["kernel"] = None
            self.space["tests_arrays"] = False


def _with_copies(kernel: Run, *arguments: Any) -> Any:
    """Call a kernel with copies of the arrays that are not in C order, aligned and writable."""
    return kernel(
        *[
            np.array(a, order="C") if isinstance(a, np.ndarray) and not a.flags.carray else a
            for a in arguments
        ]
    )


def kernels() -> Any:
    """Import and return `srcad.backends.numba.kernels`, which needs Numba."""
    with importing:
        return importlib.import_module("srcad.backends.numba.kernels")
