"""The modes: each way to a derivative is one function of what it is given.

The decorator says in which form the function returns the derivative (see `checker.Mode`).  A new
mode, or an option of one, is a function here.
"""

from __future__ import annotations

import copy
import importlib.util
import inspect
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import srcad
from tests.crossings.checker import Given, Mode, NotApplicable
from tests.crossings.trees import is_float, mapped

MODES: dict[str, Mode] = {}


def mode(form: str, **options: bool) -> Callable[[Callable[[Given], Any]], Callable[[Given], Any]]:
    """Register a mode under the name of its function."""

    def register(function: Callable[[Given], Any]) -> Callable[[Given], Any]:
        MODES[function.__name__] = Mode(function, form, **options)
        return function

    return register


# ------------------------------------------------------------------------------ gradients
@mode("gradient")
def grad(given):
    return srcad.grad(given.f, wrt=given.wrt)(*given.args)


@mode("gradient", single=True)
def grad_by_one(given):
    return (srcad.grad(given.f, wrt=given.wrt[0])(*given.args),)


@mode("gradient", single=True)
def grad_by_name(given):
    name = name_of(given)
    return (srcad.grad(given.f, wrt=name)(*given.args),)


@mode("gradient", single=True)
def grad_by_keyword(given):
    name = name_of(given)
    if len(given.args) > given.wrt[0] + 1:
        raise NotApplicable("other arguments follow")
    rest = {name: given.args[given.wrt[0]]}
    return (srcad.grad(given.f, wrt=name)(*given.args[: given.wrt[0]], **rest),)


@mode("value, gradient")
def value_and_grad(given):
    return srcad.value_and_grad(given.f, wrt=given.wrt)(*given.args)


@mode("gradient")
def gradient(given):
    return selected(given, srcad.gradient(given.f, *given.args))


@mode("gradient", scalar=False, ones=True)
def elementwise_grad(given):
    return srcad.elementwise_grad(given.f, wrt=given.wrt)(*given.args)


@mode("gradient")
def grad_with_aux(given):
    f = given.f
    found, aux = srcad.grad(lambda *a: (f(*a), 3), wrt=given.wrt, has_aux=True)(*given.args)
    assert aux == 3
    return found


@mode("value, gradient")
def value_and_grad_with_check(given):
    return srcad.value_and_grad(given.f, wrt=given.wrt, check_finite=True)(*given.args)


# ------------------------------------------------------------------------------- products
@mode("value, tangent", scalar=False)
def jvp(given):
    return srcad.jvp(given.f, given.args, given.v)


@mode("value, tangent", scalar=False)
def jvp_with_check(given):
    return srcad.jvp(given.f, given.args, given.v, check_finite=True)


@mode("tangent", scalar=False)
def jvp_with_aux(given):
    f = given.f
    _, found, aux = srcad.jvp(lambda *a: (f(*a), 3), given.args, given.v, has_aux=True)
    assert aux == 3
    return found


@mode("value, gradient", scalar=False)
def pullback(given):
    y, back = srcad.pullback(given.f, *given.args)
    return y, selected(given, back(given.u))


@mode("value, gradient", scalar=False)
def vjp(given):
    y, back = srcad.vjp(given.f, *given.args)
    return y, selected(given, back(given.u))


@mode("value, gradient", scalar=False)
def pullback_twice(given):
    y, back = srcad.pullback(given.f, *given.args)
    for bar in back(given.u):
        mapped(spoil, bar)
    return y, selected(given, back(given.u))


@mode("gradient", scalar=False)
def pullback_with_aux(given):
    f = given.f
    _, back, aux = srcad.pullback(lambda *a: (f(*a), 3), *given.args, has_aux=True)
    assert aux == 3
    return selected(given, back(given.u))


# ------------------------------------------------------------------------------ Jacobians
@mode("blocks", scalar=False)
def jacfwd(given):
    return srcad.jacfwd(given.f, wrt=given.wrt)(*given.args)


@mode("blocks", scalar=False)
def jacrev(given):
    return srcad.jacrev(given.f, wrt=given.wrt)(*given.args)


@mode("blocks", scalar=False)
def jacobian(given):
    return srcad.jacobian(given.f, wrt=given.wrt)(*given.args)


@mode("blocks", scalar=False)
def jacobian_in_chunks(given):
    return srcad.jacobian(given.f, wrt=given.wrt, chunk_size=2)(*given.args)


@mode("blocks", scalar=False)
def jacobian_with_aux(given):
    f = given.f
    found, aux = srcad.jacobian(lambda *a: (f(*a), 3), wrt=given.wrt, has_aux=True)(*given.args)
    assert aux == 3
    return found


@mode("blocks", scalar=False, single=True)
def sparse_jacobian(given):
    """SciPy's arrays have two axes: function and argument are flattened here."""
    found = srcad.jacobian(given.f, wrt=given.wrt[0], sparse=True)(*given.args)
    x = np.shape(given.args[given.wrt[0]])
    return found.toarray().reshape(np.shape(given.u) + x)


# ---------------------------------------------------------------------------- second order
@mode("curvature", single=True)
def hessian(given):
    return srcad.hessian(given.f, wrt=given.wrt[0])(*given.args)


@mode("curvature")
def hessian_by_tuple(given):
    """A Hessian has the rows outside, a Jacobian the arguments that are differentiated."""
    rows = srcad.hessian(given.f, wrt=given.wrt)(*given.args)
    return tuple(zip(*rows, strict=True))


@mode("curvature", single=True)
def sparse_hessian(given):
    found = srcad.hessian(given.f, wrt=given.wrt[0], sparse=True)(*given.args)
    x = np.shape(given.args[given.wrt[0]])
    return found.toarray().reshape(x + x)


@mode("bend")
def hvp(given):
    along = tuple(given.v[k] for k in given.wrt)
    return srcad.hvp(given.f, wrt=given.wrt)(*given.args, v=along)


@mode("bend")
def jvp_of_grad(given):
    return srcad.jvp(srcad.grad(given.f, wrt=given.wrt), given.args, given.v)[1]


@mode("bend")
def pullback_of_grad(given):
    _, back = srcad.pullback(srcad.grad(given.f, wrt=given.wrt), *given.args)
    return selected(given, back(tuple(given.v[k] for k in given.wrt)))


@mode("curvature")
def jacfwd_of_grad(given):
    return srcad.jacfwd(srcad.grad(given.f, wrt=given.wrt), wrt=given.wrt)(*given.args)


@mode("curvature")
def jacrev_of_grad(given):
    return srcad.jacrev(srcad.grad(given.f, wrt=given.wrt), wrt=given.wrt)(*given.args)


@mode("bend")
def grad_of_jvp(given):
    f, v = given.f, given.v
    return srcad.grad(lambda *a: srcad.jvp(f, a, v)[1], wrt=given.wrt)(*given.args)


@mode("bend")
def grad_of_inner_pullback(given):
    f, v, wrt = given.f, given.v, given.wrt

    def inner(*args):
        _, back = srcad.pullback(f, *args)
        bars, total = back(1.0), 0.0
        for k in wrt:
            total = total + np.sum(bars[k] * v[k])
        return total

    require_arrays(given)
    return srcad.grad(inner, wrt=wrt)(*given.args)


@mode("bend")
def grad_of_inner_value_and_grad(given):
    f, v, wrt = given.f, given.v, given.wrt

    def inner(*args):
        value, bars = srcad.value_and_grad(f, wrt=wrt)(*args)
        total = 0.0 * value
        for bar, k in zip(bars, wrt):
            total = total + np.sum(bar * v[k])
        return total

    require_arrays(given)
    return srcad.grad(inner, wrt=wrt)(*given.args)


@mode("ones bend", single=True)
def elementwise_grad_twice(given):
    require_arrays(given)
    once = srcad.elementwise_grad(given.f, wrt=given.wrt[0])
    return (srcad.elementwise_grad(once, wrt=given.wrt[0])(*given.args),)


# ---------------------------------------------------------------- derivatives that are carried
@mode("gradient")
def differentiated_function(given):
    f = given.f

    @srcad.differentiate
    def call(*args):
        return f(*args)

    return srcad.grad(call, wrt=given.wrt)(*given.args)


@mode("gradient")
def differentiated_method(given):
    holder = Holder()
    holder.f = given.f
    return srcad.grad(holder.call, wrt=given.wrt)(*given.args)


@mode("gradient")
def specialized(given):
    return srcad.grad(given.f, wrt=given.wrt).specialize(*given.args)(*given.args)


@mode("gradient")
def pickled(given):
    made = pickle.dumps(picklable(srcad.grad(given.f, wrt=given.wrt)))
    return pickle.loads(made)(*given.args)


@mode("gradient", scalar=True)
def cloudpickled(given):
    cloudpickle = imported("cloudpickle")
    made = cloudpickle.dumps(srcad.grad(given.f, wrt=given.wrt))
    return pickle.loads(made)(*given.args)


@mode("gradient")
def copied(given):
    made = srcad.grad(given.f, wrt=given.wrt)
    return copy.deepcopy(made)(*given.args)


@mode("gradient")
def exported(given):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crossed_derivative.py"
        written = srcad.grad(given.f, wrt=given.wrt)
        written.export(path, *given.args)
        spec = importlib.util.spec_from_file_location("crossed_derivative", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        name = next(n for n in vars(module) if n.startswith("grad_"))
        return getattr(module, name)(*given.args)


@mode("gradient", slow=True)
def exported_and_checked_elsewhere(given):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crossed_derivative.py"
        derivative = srcad.grad(given.f, wrt=given.wrt)
        derivative.export(path, *given.args)
        done = subprocess.run([sys.executable, path], capture_output=True, text=True)
        if done.returncode == 1:
            raise RuntimeError(f"the file's own check says: {done.stdout} {done.stderr}")
    return derivative(*given.args)


@mode("value, gradient", slow=True, nearly=True)
def compiled_by_numba(given):
    imported("numba")
    return srcad.value_and_grad(given.f, wrt=given.wrt, backend="numba")(*given.args)


@mode("value, gradient", scalar=False)
def checkpointed(given):
    y, back = srcad.pullback(srcad.checkpoint(given.f), *given.args)
    return y, selected(given, back(given.u))


@mode("bend")
def checkpointed_hvp(given):
    along = tuple(given.v[k] for k in given.wrt)
    return srcad.hvp(srcad.checkpoint(given.f), wrt=given.wrt)(*given.args, v=along)


@mode("gradient")
def in_two_threads(given):
    derivative, found = srcad.grad(given.f, wrt=given.wrt), []
    arguments = [given.args, copy.deepcopy(given.args)]

    def work(args):
        try:
            found.append(derivative(*args))
        except BaseException as error:
            found.append(error)

    threads = [threading.Thread(target=work, args=(args,)) for args in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return found[0]


@mode("gradient")
def after_another_kind(given):
    """Called with arguments of single precision in between."""
    derivative = srcad.grad(given.f, wrt=given.wrt)
    derivative(*copy.deepcopy(given.args))
    other = tuple(mapped(narrowed, x) for x in copy.deepcopy(given.args))
    try:
        derivative(*other)
    except Exception:  # the program need not take it
        pass
    return derivative(*given.args)


@mode("gradient", single=True, slow=True)
def after_lists_of_reals(given):
    """Called before with lists of an integer and a float in the place of other lists."""
    lists = [k for k, x in enumerate(given.args) if type(x) is list and k not in given.wrt]
    if not lists:
        raise NotApplicable("no constant argument is a list")
    derivative, before = srcad.grad(given.f, wrt=given.wrt), [*copy.deepcopy(given.args)]
    for k in lists:
        before[k] = [1.5, 2]
    try:
        derivative(*before)
    except Exception:  # the program need not take it
        pass
    return derivative(*given.args)


@mode("blocks", scalar=False, single=True, slow=True)
def sparse_jacobian_in_another_order(given):
    """The pattern of the first call is kept; then two rows of a small scale are exchanged."""
    f, size = given.f, np.size(given.u)
    if len(given.args) > 1 or size < 3:
        raise NotApplicable("several arguments, or less than three rows")
    first = np.arange(size)
    scales = np.where(first < size - 2, 1e9, 1e-5)

    def ordered(x, order):
        return np.reshape(f(x), size)[order] * scales

    derivative = srcad.jacobian(ordered, sparse=True)
    derivative(*copy.deepcopy(given.args), first)
    order = np.append(first[:-2], [size - 1, size - 2])
    rows = derivative(*given.args, order).toarray() / scales[:, None]
    return rows[order].reshape(np.shape(given.u) + np.shape(given.args[0]))


@mode("gradient")
def called_inside(given):
    """A program that calls the derivative of the program."""
    f, wrt = given.f, given.wrt

    def outer(*args):
        return srcad.grad(f, wrt=wrt)(*args)

    return outer(*given.args)


# ------------------------------------------------------------------------------- helpers
class Holder:
    """An object with a differentiated method."""

    f: Any

    @srcad.differentiate
    def call(self, *args):
        """Call the function that the object holds."""
        return self.f(*args)


def name_of(given: Given) -> str:
    """The name of the first argument with floats."""
    parameters = list(inspect.signature(given.f).parameters.values())
    at = given.wrt[0]
    if at >= len(parameters) or parameters[at].kind is not parameters[at].POSITIONAL_OR_KEYWORD:
        raise NotApplicable("the argument has no name")
    return parameters[at].name


def selected(given: Given, bars: tuple[Any, ...]) -> tuple[Any, ...]:
    """The cotangents of the arguments that are differentiated."""
    return tuple(bars[k] for k in given.wrt)


def spoil(bar: Any) -> Any:
    """Overwrite an array."""
    if isinstance(bar, np.ndarray):
        bar[...] = 1e30
    return bar


def narrowed(leaf: Any) -> Any:
    """A number in single precision."""
    if not is_float(leaf) or np.iscomplexobj(leaf):
        return leaf
    return np.float32(leaf) if np.ndim(leaf) == 0 else leaf.astype(np.float32)


def imported(name: str) -> Any:
    """A module that may be absent."""
    if find_spec(name) is None:
        raise NotApplicable(f"{name} is not installed")
    return importlib.import_module(name)


def picklable(derivative: Any) -> Any:
    """The derivative, if pickle takes its function."""
    try:
        pickle.dumps(derivative.function)
    except Exception:
        raise NotApplicable("the function cannot be pickled") from None
    return derivative


def require_arrays(given: Given) -> None:
    """Only numbers and arrays of real numbers are differentiated."""
    for k in given.wrt:
        x = given.args[k]
        if not is_float(x) or np.iscomplexobj(x):
            raise NotApplicable("an argument is no real array")
