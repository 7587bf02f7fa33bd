"""What srcad's own data classes save, against those of the standard library.

    python -m benchmarks.records [--rounds N]

Every round starts two processes in random order, one with `srcad.startup.records` and one in which
`standard` of this file stands for it.  Each process measures its first gradient after
``import numpy`` (wall time), and the CPU time of compiling all small problems again.  The medians
are printed in milliseconds, and the medians of the quotients of a round, own over standard.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import statistics
import subprocess
import sys
import time
import types
from functools import cached_property
from typing import Any

KINDS = ("own", "standard")


def standard() -> types.ModuleType:
    """The module `srcad.startup.records`, as thin as the standard library allows.

    Only ``__init__`` is compiled for each class; ``__eq__``, ``__hash__`` and ``__repr__`` are
    shared, and `frozen` is left to the type checker.
    """
    module: Any = types.ModuleType("srcad.startup.records")
    module.dataclass = _dataclass
    module.field = dataclasses.field
    module.replace = dataclasses.replace
    module.once = cached_property
    module.is_record = dataclasses.is_dataclass
    module.changed = _changed
    module.record_fields = lambda cls: tuple(f.name for f in dataclasses.fields(cls))
    return module


def _changed(record: Any, /, **fields: Any) -> Any:
    same = all(getattr(record, name) == value for name, value in fields.items())
    return record if same else dataclasses.replace(record, **fields)


def _dataclass(
    cls: Any = None, /, *, frozen: bool = False, eq: bool = True, kw_only: bool = False
) -> Any:
    def made(cls: Any) -> Any:
        cls.__doc__ = cls.__doc__ or cls.__name__
        own = set(vars(cls))
        cls = dataclasses.dataclass(eq=False, repr=False, kw_only=kw_only)(cls)
        shared: dict[str, Any] = {"__repr__": _repr}
        if eq:
            shared |= {"__eq__": _eq, "__hash__": _hash if frozen else None}
        for name, method in shared.items():
            if name not in own or (name == "__hash__" and "__eq__" not in own):
                setattr(cls, name, method)
        return cls

    return made if cls is None else made(cls)


def _compared(record: Any) -> tuple[Any, ...]:
    cls = type(record)
    names = cls.__dict__.get("_compared")
    if names is None:
        names = cls._compared = tuple(f.name for f in dataclasses.fields(cls) if f.compare)
    return tuple([getattr(record, name) for name in names])


def _eq(self: Any, other: object) -> Any:
    if self is other:
        return True
    return _compared(self) == _compared(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _repr(self: Any) -> str:
    fields = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(fields)})"


def measured(kind: str) -> tuple[float, float]:
    """Milliseconds of the first gradient and of a compilation, in this process."""
    import numpy as np

    if kind == "standard":
        sys.modules["srcad.startup.records"] = standard()
    begin = time.perf_counter()
    from srcad import grad

    grad(lambda w, x: np.sum(np.tanh(w @ x) ** 2))(np.ones((3, 3)), np.ones(3))
    first = time.perf_counter() - begin
    return first * 1e3, _compilation(grad) * 1e3


def _compilation(grad: Any) -> float:
    """Seconds of CPU time to compile the functions below, the least of five times."""
    import numpy as np

    def scalar(x: float) -> float:
        return x**3 + 2.0 * np.sin(x) * np.exp(-x)

    def array(x: Any) -> Any:
        y = np.tanh(x) * np.sqrt(1.0 + x**2)
        return np.sum(y @ y.T) + np.mean(np.log(1.0 + x**2), axis=0)[0]

    def loop(x: Any) -> Any:
        state = np.zeros(3)
        for i in range(4):
            state = np.cos(state) * x[i] + state[::-1]
        return np.sum(state**2)

    def branches(x: float, n: int) -> float:
        total = 0.0
        while n > 0:
            total = total + x * n if n % 2 else total * np.sin(x)
            n -= 1
        return total

    def again() -> float:
        begin = time.process_time()
        for _ in range(4):
            copies = [types.FunctionType(f.__code__.replace(), f.__globals__, f.__name__, None,
                                         f.__closure__)
                      for f in (scalar, array, loop, branches)]  # fmt: skip
            grad(copies[0])(1.5)
            grad(copies[1])(np.ones((3, 3)))
            grad(copies[2])(np.ones(4))
            grad(copies[3])(0.5, 5)
        return time.process_time() - begin

    return min(again() for _ in range(5)) / 4


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--child", choices=KINDS)
    args = parser.parse_args()
    if args.child:
        print(*measured(args.child))
        return
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    for _ in range(args.rounds):
        for kind in random.sample(KINDS, 2):
            command = [sys.executable, "-m", "benchmarks.records", "--child", kind]
            first, compilation = subprocess.run(
                command, capture_output=True, text=True, check=True
            ).stdout.split()
            found[kind].append((float(first), float(compilation)))
    for k, name in enumerate(("first gradient", "compilation")):
        own, other = ([pair[k] for pair in found[kind]] for kind in KINDS)
        quotient = statistics.median(a / b for a, b in zip(own, other, strict=True))
        print(
            f"{name:15} own {statistics.median(own):6.1f} ms, "
            f"standard {statistics.median(other):6.1f} ms, quotient {quotient:.2f}"
        )


if __name__ == "__main__":
    main()
