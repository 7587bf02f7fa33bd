"""Derivatives of functions that are sent by value, with the source text that they need.

A script defines functions in ``__main__`` and imports others from a module.  Its gradients go
through a pickler to another process, which has the module but not the script.
"""

from __future__ import annotations

import gc
import importlib.util
import linecache
import os
import pickle
import subprocess
import sys
import textwrap
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

import srcad
from srcad.frontend.source import arrived
from tests.marks import some

cloudpickle = pytest.importorskip("cloudpickle")
ROOT = Path(__file__).resolve().parents[2]
X = np.array([0.5, -1.0])

MODULE = """
import numpy as np

weight = 1.5

def cubes(x):
    return np.sum(weight * x**3)

class Net:
    def __init__(self, w):
        self.w = w

    def loss(self, x):
        return np.sum(np.tanh(self.w * x))
"""

SCRIPT = """
import functools
import pickle
import sys

import numpy as np

import model
import srcad

rate = 2.0

def helper(x):
    return np.sin(rate * x)

def loss(x):
    return np.sum(helper(x) ** 2)

def scaled(a, x):
    total = 0.0
    for k in range(3):
        total = total + a * np.sum(helper(x) ** k)
    return total

def decorator(function):
    @functools.wraps(function)
    def wrapper(*args):
        return 2 * function(*args)
    return wrapper

@decorator
def doubled(x):
    return np.sum(x * helper(x))

@srcad.differentiate
def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)

@srcad.checkpoint
def layer(x):
    return np.tanh(helper(x))

class Model:
    def __init__(self, w, activation):
        self.w, self.activation = w, activation

    def loss(self, x):
        return np.sum(self.activation(self.w * x))

def outer(power):
    def inner(x):
        return np.sum(helper(x) ** power)
    return inner

x = np.array([0.5, -1.0])
GRADIENTS = {
    "module": (srcad.grad(model.cubes), (x,)),
    "module method": (srcad.grad(model.Net(2.0).loss), (x,)),
    "module partial": (srcad.grad(functools.partial(model.cubes)), (x,)),
    "module value": (srcad.value_and_grad(model.cubes), (x,)),
    "module hvp": (srcad.hvp(model.cubes), (x, x)),
    "module hessian": (srcad.hessian(model.cubes), (x,)),
    "module elementwise": (srcad.elementwise_grad(model.cubes), (x,)),
    "module twice": (srcad.elementwise_grad(srcad.grad(model.cubes)), (x,)),
    "main": (srcad.grad(loss), (x,)),
    "main value": (srcad.value_and_grad(loss), (x,)),
    "main hessian": (srcad.hessian(loss), (x,)),
    "main jacobian": (srcad.jacobian(helper), (x,)),
    "main hvp": (srcad.hvp(loss), (x, x)),
    "main captured": (srcad.grad(loss, wrt="rate"), (x,)),
    "main twice": (srcad.elementwise_grad(srcad.grad(loss)), (x,)),
    "main finite": (srcad.grad(loss, check_finite=True), (x,)),
    "main decorated": (srcad.grad(doubled), (x,)),
    "main partial": (srcad.grad(functools.partial(scaled, 3.0)), (x,)),
    "main method": (srcad.grad(Model(2.0, helper).loss), (x,)),
    "differentiable": (power.grad, (2.0, 3)),
    "lambda": (srcad.grad(lambda x: np.sum(helper(x) * model.cubes(x))), (x,)),
    "lambda twice": (srcad.elementwise_grad(srcad.grad(lambda x: np.sum(helper(x)))), (x,)),
    "lambda checkpoint": (srcad.grad(lambda x: np.sum(layer(layer(x)))), (x,)),
    "closure": (srcad.grad(outer(3)), (x,)),
    "closure method": (srcad.grad(Model(3.0, lambda t: helper(t) ** 2).loss), (x,)),
}
def bits(value):
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    return np.asarray(value).dtype.str, np.shape(value), np.asarray(value).tobytes()

def through_pickle(names):
    return [pickle.loads(pickle.dumps(GRADIENTS[n][0]))(*GRADIENTS[n][1]) for n in names]

def through_joblib(names):
    from joblib import Parallel, delayed
    tasks = [GRADIENTS[n] for n in names]
    return Parallel(n_jobs=2)(delayed(g)(*args) for g, args in tasks)

def counted(task):
    return call(task), task[0].cache_info().compilations

def through_one_worker(names):
    # Each gradient is sent 50 times, and compiled once.
    from joblib.externals.loky import get_reusable_executor
    results = []
    with get_reusable_executor(max_workers=1) as worker:
        for name in names:
            found, counts = zip(*worker.map(counted, [GRADIENTS[name]] * 50))
            assert set(map(bits, found)) == {bits(found[0])}
            assert set(counts) == {1}, counts
            results.append(found[0])
    return results

def call(task):
    return task[0](*task[1])

def through_spawn(names):
    import multiprocessing
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.map(call, [GRADIENTS[n] for n in names])

WAYS = {"pickle": through_pickle, "joblib": through_joblib, "spawn": through_spawn,
        "one worker": through_one_worker}

if __name__ == "__main__":
    way, *names = sys.argv[1:]
    if way == "cloudpickle":
        import cloudpickle
        sent = {n: (cloudpickle.dumps(GRADIENTS[n]), bits(call(GRADIENTS[n]))) for n in names}
        sys.stdout.buffer.write(pickle.dumps(sent))
    else:
        found = WAYS[way](names)
        expected = [call(GRADIENTS[n]) for n in names]
        print(*[n for n, a, b in zip(names, found, expected) if bits(a) != bits(b)], "end")
"""

WORKER = """
import pickle
import sys

import numpy as np

def bits(value):
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    return np.asarray(value).dtype.str, np.shape(value), np.asarray(value).tobytes()

sent = pickle.load(sys.stdin.buffer)
wrong = []
for name, (pickled, expected) in sent.items():
    compilations = set()
    for _ in range(50):
        gradient, args = pickle.loads(pickled)
        if bits(gradient(*args)) != expected:
            wrong.append(name)
        compilations.add(gradient.cache_info().compilations)
    if len(compilations) > 1:
        wrong.append(f"{name}: {gradient.cache_info()}")
print(*wrong, "end")
"""
NAMES = [line.split('"')[1] for line in SCRIPT.splitlines() if line.startswith('    "')]
BY_NAME = [n for n in NAMES if n.startswith(("module", "main", "differentiable"))]
FEW = ["module", "main", "main method", "lambda", "closure"]


@pytest.fixture
def run(tmp_path):
    """Run a program in a process that can import srcad and the module `model`."""
    library = tmp_path / "library"
    library.mkdir()
    (library / "model.py").write_text(MODULE)
    path = os.pathsep.join([str(ROOT), str(library), os.environ.get("PYTHONPATH", "")])

    def run(*args, given=b""):
        done = subprocess.run([sys.executable, *map(str, args)], capture_output=True, input=given,
                              check=False, env={**os.environ, "PYTHONPATH": path},
                              cwd=tmp_path)  # fmt: skip
        assert not done.returncode, done.stderr.decode()
        return done.stdout

    return run


@pytest.mark.parametrize("names", some([FEW, NAMES], 1), ids=len)
def test_cloudpickle_into_process_without_script_compiles_once(run, tmp_path, names):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    sent = run(script, "cloudpickle", *names)
    script.unlink()

    assert run("-c", WORKER, given=sent).decode() == "end\n"


ONCE = ["module", "main", "main method", "main partial", "lambda", "closure"]
WAYS = {"pickle": BY_NAME, "joblib": NAMES, "spawn": BY_NAME, "one worker": ONCE}


@pytest.mark.parametrize("way", some(WAYS, 0))
def test_gradients_of_script_in_other_processes(run, tmp_path, way):
    if way in ("joblib", "one worker"):
        pytest.importorskip("joblib")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    assert run(script, way, *WAYS[way]).decode() == "end\n"


# ------------------------------------------------------------------ in this process
BYTES_OF_12 = np.float64(12.0).tobytes()
COUNT = iter(range(10**6))


def main_module(tmp_path, text):
    """Run a text as a module that nobody can import, as a script or a notebook is."""
    file = tmp_path / f"cell{next(COUNT)}.py"
    file.write_text(textwrap.dedent(text))
    spec = importlib.util.spec_from_file_location("__main__", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sent(value):
    return pickle.loads(cloudpickle.dumps(value))


FAILING = """
    import numpy as np

    def helper(x):
        return np.linalg.cholesky(x)

    def loss(x):
        return np.sum(helper(x))
"""


def test_error_of_arrived_function_names_file_and_line(tmp_path):
    module = main_module(tmp_path, FAILING)
    pickled = cloudpickle.dumps(srcad.grad(module.loss))
    os.unlink(module.__file__)
    linecache.checkcache()

    gradient = pickle.loads(pickled)

    assert gradient.function.__code__.co_filename == module.__file__
    with pytest.raises(np.linalg.LinAlgError) as caught:
        gradient(-np.eye(2))
    assert f"{Path(module.__file__).name}:5 in 'helper'" in caught.value.__notes__[0]
    assert "return np.linalg.cholesky(x)" in caught.value.__notes__[0]


def test_other_file_at_same_path_not_confused(tmp_path):
    module = main_module(tmp_path, "def f(x):\n    return x * x\n")
    file = Path(module.__file__)
    pickled = cloudpickle.dumps(srcad.grad(module.f))
    file.write_text("def f(x):\n    return x * x * x\n")

    gradient = pickle.loads(pickled)

    assert gradient(3.0) == 6.0
    assert gradient.function.__code__.co_filename.startswith(f"{file} (sent ")
    assert linecache.getline(gradient.function.__code__.co_filename, 2) == "    return x * x\n"
    assert linecache.getline(str(file), 2) == "    return x * x * x\n"


def test_file_written_after_arrival_is_read(tmp_path):
    module = main_module(tmp_path, "def f(x):\n    return x * x\n")
    file = Path(module.__file__)
    pickled = cloudpickle.dumps(srcad.grad(module.f))
    file.unlink()
    linecache.checkcache()
    gradient = pickle.loads(pickled)
    file.write_text("def f(x):\n    return x * x * x\n")
    spec = importlib.util.spec_from_file_location("later", file)
    later = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(later)

    assert srcad.grad(later.f)(3.0) == 27.0
    assert gradient(3.0) == 6.0


def test_two_cells_with_functions_of_same_name_and_line(tmp_path):
    first = main_module(tmp_path, "def f(x):\n    return x * x\n").f
    second = main_module(tmp_path, "def f(x):\n    return x * x * x\n").f

    gradient = sent(srcad.grad(lambda x: first(x) + second(x)))

    assert gradient(3.0) == 33.0


def test_class_of_this_process_keeps_source(tmp_path, monkeypatch):
    module = main_module(tmp_path, """
        class Model:
            def loss(self, x):
                return x * x
    """)  # fmt: skip
    monkeypatch.setitem(sys.modules, "__main__", module)
    gradient = srcad.grad(module.Model().loss)

    again = sent(gradient)

    assert again(3.0) == srcad.grad(module.Model().loss)(3.0) == gradient(3.0) == 6.0


def test_text_that_does_not_compile_to_code_refused(tmp_path):
    module = main_module(tmp_path, "def f(x):\n    return x * 12345\n")
    pickled = cloudpickle.dumps(srcad.grad(module.f))

    gradient = pickle.loads(pickled.replace(b"x * 12345", b"x * 54321"))

    with pytest.raises(srcad.errors.SourceUnavailableError, match="arrived with 'f'"):
        gradient(3.0)


def test_function_sent_without_derivative_error_says_so(tmp_path):
    f = sent(main_module(tmp_path, "def f(x):\n    return x * 31\n").f)

    text = r"make the derivative where the function is written, .*  d = srcad\.grad\(f\)"
    with pytest.raises(srcad.errors.SourceUnavailableError, match=text):
        srcad.grad(f)(3.0)


TASKS = """
import numpy as np
import srcad

rate = 1.5

def loss(x):
    return np.sum(rate * np.sin(x) ** 2)

def other(x):
    return x * 41

def fit(x, steps):
    slope = srcad.grad(loss)
    for _ in range(steps):
        x = x - 0.1 * slope(x)
    return x

def slope_of_local_function(x, k):
    def cubic(t):
        return np.sum(k * t**3)
    return srcad.grad(cubic)(x)

def slope_of_lambda(x):
    return srcad.grad(lambda t: np.sum(t**4))(x)
"""


def test_derivative_made_in_task_uses_text_of_arrived_derivative(tmp_path):
    module = main_module(tmp_path, TASKS)
    x = np.array([0.5, -1.0])
    sent(srcad.grad(module.other))

    assert sent(module.fit)(x, 0) == pytest.approx(x)
    stepped = sent(module.fit)(x, 1)
    assert stepped == pytest.approx(x - 0.1 * 1.5 * np.sin(2 * x))
    assert sent(module.slope_of_local_function)(x, 2.0) == pytest.approx(6 * x**2)
    assert sent(module.slope_of_lambda)(x) == pytest.approx(4 * x**3)


def test_derivative_made_in_task_without_text_says_what_to_do(tmp_path):
    text = TASKS.replace("** 2", "** 6")  # no other test sends this one
    module = main_module(tmp_path, text)

    with pytest.raises(srcad.errors.SourceUnavailableError) as found:
        sent(module.fit)(np.array([0.5, -1.0]), 1)

    assert "the source of 'loss' is not available" in str(found.value)
    assert "d = srcad.grad(loss)" in str(found.value)
    assert "or put 'loss' into a module" in str(found.value)


def test_text_of_another_function_is_no_text_of_a_sent_one(tmp_path):
    first = main_module(tmp_path, "def f(x):\n    return x * 43\n").f
    sent(srcad.grad(first))
    second = main_module(tmp_path, "def f(x):\n    return x * 47\n").f

    with pytest.raises(srcad.errors.SourceUnavailableError):
        srcad.grad(sent(second))(3.0)


def test_function_sent_after_its_derivative_is_read(tmp_path):
    f = main_module(tmp_path, "def f(x):\n    return x * 37\n").f
    sent(srcad.grad(f))

    assert srcad.grad(sent(f))(3.0) == 37.0


def test_function_with_rule_refused(tmp_path):
    f = main_module(tmp_path, "def f(x):\n    return x * x\n").f
    srcad.rules.derivative(f)(lambda x: 7.0)

    with pytest.raises(srcad.errors.RuleError, match="has a rule"):
        cloudpickle.dumps(srcad.grad(lambda x: f(x)))


def ruled_in_script(x):
    return x * x


def test_rule_of_script_for_function_of_module_refused(tmp_path):
    module = main_module(tmp_path, """
        import srcad

        def register(function):
            @srcad.rules.derivative(function)
            def rule(x):
                return 7.0
    """)  # fmt: skip
    module.register(ruled_in_script)

    with pytest.raises(srcad.errors.RuleError, match="'ruled_in_script' .* has a rule"):
        cloudpickle.dumps(srcad.grad(lambda x: ruled_in_script(x)))


def test_function_of_absent_module_located(tmp_path, monkeypatch):
    file = tmp_path / "model_of_sender.py"
    file.write_text("def f(x):\n    return x * x\n")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        pickled = cloudpickle.dumps(srcad.grad(importlib.import_module("model_of_sender").f))
    del sys.modules["model_of_sender"]

    with pytest.raises(srcad.errors.SourceUnavailableError) as caught:
        pickle.loads(pickled)

    assert "'f' was pickled by name" in str(caught.value)
    assert f"{file.name}:1" in str(caught.value)


def of_this_module(x):
    return x * 12345


def test_function_of_module_pickled_by_name():
    for pickled in map(bytes, (p.dumps(srcad.grad(of_this_module)) for p in (pickle, cloudpickle))):
        assert b"of_this_module" in pickled
        assert b"12345" not in pickled


def test_one_text_for_gradients_of_one_file(tmp_path):
    module = main_module(tmp_path, "def f(x):\n    return x * 12345\n\n\ndef g(x):\n    return x\n")

    pickled = cloudpickle.dumps([srcad.grad(module.f), srcad.grad(module.g)])

    assert pickled.count(b"12345") == 1


def test_copy_of_derivative_keeps_function(tmp_path):
    module = main_module(tmp_path, "def f(x):\n    return x * x\n")
    code = module.f.__code__

    sent(srcad.grad(module.f))

    assert module.f.__code__ is code


def test_number_of_kept_codes_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(arrived, "MOST_CODES", 3)
    before = set(linecache.cache)
    for k in range(10):
        module = main_module(tmp_path, f"def f(x):\n    return x * {k}.0\n")
        pickled = cloudpickle.dumps(srcad.grad(module.f))
        os.unlink(module.__file__)
        linecache.checkcache()
        assert pickle.loads(pickled)(2.0) == k
    del module
    gc.collect()

    assert len(arrived._INTERNED) == 3
    assert len([name for name in set(linecache.cache) - before if "cell" in name]) == 3


def test_pullback_pickled(tmp_path):
    module = main_module(tmp_path, "def f(x):\n    return {'a': x * x, 'b': x[0]}\n")
    _, back = srcad.pullback(module.f, X)
    seed = {"a": np.array([1.0, 2.0]), "b": 3.0}

    for pickled in (pickle.dumps(back), cloudpickle.dumps(back)):
        again = pickle.loads(pickled)
        np.testing.assert_array_equal(again(seed), back(seed))


def test_pullback_with_function_of_user_pickled(tmp_path):
    module = main_module(tmp_path, """
        import srcad

        def double(x_bar):
            return 2 * x_bar

        def f(x):
            return srcad.hook(x, double) * 3
    """)  # fmt: skip
    _, back = srcad.pullback(module.f, 2.0)

    assert sent(back)(1.0) == back(1.0) == (6.0,)


BACK = """
import pickle, sys
back = pickle.load(sys.stdin.buffer)
try:
    back("seed")
except Exception as error:
    print(type(error).__name__, back(2.0))
"""


def test_pullback_pickled_into_other_process(run):
    _, back = srcad.pullback(lambda x: x * x, 3.0)

    assert run("-c", BACK, given=pickle.dumps(back)).decode().split() == ["SeedError", "(12.0,)"]


def test_data_class_made_in_function(run, tmp_path):
    module = main_module(tmp_path, """
        import dataclasses

        @dataclasses.dataclass
        class Scale:
            by: float

            def of(self, x):
                return self.by * x

        def f(x):
            return Scale(3.0).of(x) * x
    """)  # fmt: skip
    pickled = {"f": (cloudpickle.dumps((srcad.grad(module.f), (2.0,))), ("<f8", (), BYTES_OF_12))}

    assert run("-c", WORKER, given=pickle.dumps(pickled)).decode() == "end\n"


def test_pullback_of_ordered_dict_pickled():
    _, back = srcad.pullback(lambda d: d["a"] * d["b"], OrderedDict(a=2.0, b=3.0))

    again = pickle.loads(pickle.dumps(back))

    assert again(1.0) == back(1.0) == (OrderedDict(a=3.0, b=2.0),)


def test_pullback_with_check_finite_pickled():
    _, back = srcad.pullback(lambda x: np.sum(np.sqrt(x)), np.array([1.0, 0.0]), check_finite=True)

    again = pickle.loads(pickle.dumps(back))

    with pytest.raises(srcad.errors.NonFiniteError, match="is Inf"):
        again(1.0)


def test_instance_slots_and_containers_reached(tmp_path):
    module = main_module(tmp_path, """
        class Layer:
            __slots__ = ("activation",)

            def __init__(self, activation):
                self.activation = activation

        def make(functions):
            layer = Layer(functions["f"])

            def loss(x):
                return layer.activation(x) * functions["g"][0](x)

            return loss
    """)  # fmt: skip
    functions = {
        "f": main_module(tmp_path, "def f(x):\n    return x * x\n").f,
        "g": [main_module(tmp_path, "def g(x):\n    return x + 1\n").g],
    }
    gradient = srcad.grad(module.make(functions))

    assert sent(gradient)(3.0) == gradient(3.0)


def test_nested_derivatives_of_new_closures_compile_once():
    def cube():
        return lambda x: x**3

    for _ in range(3):
        gradient = srcad.grad(srcad.grad(cube()))
        assert gradient(2.0) == 12.0

    assert gradient.cache_info().compilations == 1
