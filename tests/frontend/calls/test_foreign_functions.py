"""Functions of other array libraries, and functions that others have compiled: what to write."""

import sys
import types

import numpy as np
import pytest

import srcad
from srcad.errors import MissingRuleError


class Compiled:
    """Stands for what ``jax.jit`` returns: an object around a Python function."""

    def __init__(self, function, module):
        self.__wrapped__, self.__name__, self.__module__ = function, function.__name__, module

    def __call__(self, *args):
        return self.__wrapped__(*args)


Compiled.__module__ = "jaxlib._jax"


@pytest.fixture
def libraries(monkeypatch):
    """Modules with the names of JAX, PyTorch and TensorFlow."""
    made = {}
    for name in ("jax.numpy", "torch", "tensorflow", "cupy"):
        made[name] = module = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec("def tanh(x): return x\n\n\ndef relu(x): return x\n", vars(module))
    made["jax.numpy"].exp = Compiled(lambda x: x, "jax.numpy")
    return made


@pytest.mark.parametrize("name", ["jax.numpy", "torch", "tensorflow", "cupy"])
@pytest.mark.parametrize("derive", [srcad.grad, lambda f: lambda x: srcad.jvp(f, (x,), (1.0,))])
def test_function_of_other_arrays_rejected_with_numpy_in_its_place(name, derive, libraries):
    other = libraries[name]

    def f(x):
        return 2.0 * other.tanh(x + 1.0)

    with pytest.raises(MissingRuleError) as found:
        derive(f)(0.5)

    assert "write it with NumPy:  np.tanh(x + 1.0)" in str(found.value)
    assert "test_foreign_functions.py" in str(found.value)


def test_function_that_numpy_lacks_rejected_without_its_name(libraries):
    other = libraries["torch"]

    def f(x):
        return other.relu(x)

    with pytest.raises(MissingRuleError, match="help: write it with NumPy$"):
        srcad.grad(f)(0.5)


def test_compiled_function_of_jax_numpy_rejected(libraries):
    other = libraries["jax.numpy"]

    def f(x):
        return other.exp(x)

    with pytest.raises(MissingRuleError, match=r"NumPy:  np\.exp\(x\)"):
        srcad.grad(f)(0.5)


def test_function_compiled_by_jax_rejected_with_its_python():
    helper = Compiled(lambda x: x * x, __name__)

    def f(x):
        return helper(x) + 1.0

    with pytest.raises(MissingRuleError, match=r"made of:  helper\.__wrapped__\(x\)"):
        srcad.grad(f)(0.5)


def test_function_of_other_arrays_without_derivative_runs(libraries):
    other = libraries["torch"]

    def f(x):
        return x * x * other.tanh(3.0)

    assert srcad.grad(f)(2.0) == pytest.approx(12.0)


@pytest.fixture(scope="module")
def compiled():
    """Functions that Numba has compiled, with their bodies in Python."""
    numba = pytest.importorskip("numba", reason="needs the extra: pip install -e '.[numba]'")

    @numba.njit
    def square(x):
        return x * x

    @numba.vectorize
    def hinge(x):
        return x * x if x > 0 else -x

    return square, hinge


def test_numba_function_rejected_with_its_python(compiled):
    square, _ = compiled

    def f(x):
        return square(x) + 1.0

    def remedy(x):
        return square.py_func(x) + 1.0

    with pytest.raises(MissingRuleError, match=r"made of:  square\.py_func\(x\)"):
        srcad.grad(f)(3.0)
    assert srcad.grad(remedy)(3.0) == pytest.approx(6.0)


def test_numba_ufunc_rejected_with_its_python(compiled):
    _, hinge = compiled

    def f(x):
        return np.sum(hinge(x))

    def remedy(x):
        return np.sum(np.vectorize(hinge.__wrapped__, otypes=[float])(x))

    text = r"made of:  np\.vectorize\(hinge\.__wrapped__, otypes=\[float\]\)\(x\)"
    with pytest.raises(MissingRuleError, match=text):
        srcad.grad(f)(np.array([2.0, -1.0]))
    assert srcad.grad(remedy)(np.array([2.0, -1.0])) == pytest.approx([4.0, -1.0])
