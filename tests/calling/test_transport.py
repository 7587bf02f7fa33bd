"""Derivatives travel: by pickle and copies, to processes that are started anew, and to workers."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import srcad
from tests.marks import some

ROOT = Path(__file__).resolve().parents[2]
X = np.array([0.5, -1.0])


def cubes(x):
    return np.sum(x**3)


@srcad.differentiate
def squares(x):
    return np.sum(x * x)


class Model:
    def __init__(self, w):
        self.w = w

    def loss(self, x):
        return np.sum(np.sin(self.w * x))

    @srcad.differentiate
    def decorated(self, x):
        return np.sum(np.cos(self.w * x))


DERIVATIVES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "grad": (srcad.grad(cubes), (X,)),
    "value_and_grad": (srcad.value_and_grad(cubes), (X,)),
    "elementwise_grad": (srcad.elementwise_grad(np.sin), (X,)),
    "hvp": (srcad.hvp(cubes), (X, X)),
    "hessian": (srcad.hessian(cubes), (X,)),
    "jacobian": (srcad.jacobian(np.cumsum), (X,)),
    "second": (srcad.elementwise_grad(srcad.grad(cubes)), (X,)),
    "by name": (srcad.grad(cubes, wrt="x"), (X,)),
    "method": (srcad.grad(Model(2.0).loss), (X,)),
    "decorated": (squares.grad, (X,)),
    "function": (squares, (X,)),
    "decorated method": (Model(3.0).decorated.grad, (X,)),
}  # fmt: skip
WAYS = {
    "pickle": lambda made: pickle.loads(pickle.dumps(made)),
    "oldest pickle": lambda made: pickle.loads(pickle.dumps(made, protocol=2)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", DERIVATIVES)
def test_pickled_or_copied_derivative_equivalent(name, way):
    made, args = DERIVATIVES[name]

    again = WAYS[way](made)

    assert type(again) is type(made)
    assert repr(again(*args)) == repr(made(*args))


def test_pickling_lambda_derivative_error_names_lambda():
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(srcad.grad(lambda x: x * x))


@pytest.mark.parametrize("name", some(["grad", "method", "hvp"], 0))
def test_derivative_in_spawned_process(name):
    made, args = DERIVATIVES[name]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        got = pool.apply(made, args)

    np.testing.assert_array_equal(got, made(*args))


PROGRAM = """
import pickle, sys
import srcad

@srcad.differentiate
def f(x):
    return x * x

g = pickle.loads(pickle.dumps(f.grad))
print(g(3.0), pickle.loads(pickle.dumps(f)) is f)
"""


def test_decorated_function_of_main_module_pickled(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False,
                          env={"PYTHONPATH": str(ROOT)})  # fmt: skip

    assert done.stdout.split() == ["6.0", "True"], done.stderr


def test_cloudpickle_takes_lambdas_and_local_functions():
    cloudpickle = pytest.importorskip("cloudpickle")
    rate = 3.0

    again = pickle.loads(cloudpickle.dumps(srcad.grad(lambda x: rate * x * x)))

    assert again(2.0) == 12.0


def test_workers_of_joblib():
    joblib = pytest.importorskip("joblib")
    made, args = DERIVATIVES["grad"]

    got = joblib.Parallel(n_jobs=2)(joblib.delayed(made)(*args) for _ in range(2))

    np.testing.assert_array_equal(got, [made(*args)] * 2)
