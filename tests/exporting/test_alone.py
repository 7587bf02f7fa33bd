"""Exported files give the bits of srcad's gradients without it, and check themselves."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import srcad
from benchmarks.problems import PROBLEMS
from srcad.api.asking import derivative
from srcad.calling.gradient import Gradient
from srcad.errors import ExportError
from tests.corpus.collected import CORPUS
from tests.marks import some
from tests.programs import golden_primals
from tests.test_golden import NAMES, WRT, arguments

ALONE = Path(__file__).parent / "alone.py"
ROOT = Path(__file__).resolve().parents[2]
# They write to objects outside themselves, which a file does not have.
WRITERS = {"patterns.subject_runs_once", "generators.without_derivative"}


Program = tuple[str, Any, tuple[Any, ...], Any]


def problems() -> list[Program]:
    made = []
    for name, problem in PROBLEMS.items():
        args = problem.make(np.random.default_rng(0))
        made.append((name, problem.primal, args, problem.wrt))
    return made


def goldens() -> list[Program]:
    return [(n, getattr(golden_primals, n), arguments(n), WRT.get(n, (0,))) for n in NAMES]


def corpus(start: int, step: int) -> list[Program]:
    chosen = [entry for entry in CORPUS.items() if entry[0].partition("#")[0] not in WRITERS]
    return [(n, f, args, tuple(range(len(args)))) for n, (f, args) in chosen[start::step]]


def same(got: Any, want: Any) -> bool:
    """Whether two results are the same to the bit."""
    return pickle.dumps(_plain(got)) == pickle.dumps(_plain(want))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return repr(value)


def compare(programs: Iterable[Program], mode: str, folder: Path) -> None:
    """Export derivatives of a mode, and run them alone."""
    jobs, wants = [], []
    for name, function, args, wrt in programs:
        args = pickle.loads(pickle.dumps(args))
        try:
            made = derivative(function, mode, wrt)
            want = made(*copy.deepcopy(args))
        except srcad.errors.SrcadError:  # by all arguments, that is not always possible
            wrt = tuple(k for k, a in enumerate(args) if _is_float(a)) or (0,)
            made = derivative(function, mode, wrt)
            want = made(*copy.deepcopy(args))
        file = folder / f"{name.replace('#', '_')}.py"
        made.export(file, *copy.deepcopy(args))
        wants.append((want[0], want[1](1.0)) if mode == "pullback" else want)
        jobs.append((str(file), f"{mode}_{function.__name__}", args, {}))
    for job, want, (got, status) in zip(jobs, wants, alone(jobs, folder), strict=True):
        assert same(got, want), job[0]
        assert status == 0 or (status == 2 and job[1].endswith("gp_nll")), job[0]


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or getattr(value, "dtype", np.dtype(int)).kind == "f"


def alone(jobs: list[Any], folder: Path) -> list[Any]:
    """What exported files return in a process that cannot import srcad."""
    path = folder / "jobs.pickle"
    path.write_bytes(pickle.dumps(jobs))
    done = subprocess.run([sys.executable, str(ALONE), str(path)], capture_output=True,
                          cwd=ROOT, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return pickle.loads(done.stdout)


def test_a_fresh_interpreter_finds_no_srcad(tmp_path):
    (tmp_path / "asks.py").write_text("import srcad\n\ndef grad_f():\n    return 1\n")

    with pytest.raises(AssertionError, match="srcad is not here"):
        alone([(str(tmp_path / "asks.py"), "grad_f", (), {})], tmp_path)


@pytest.mark.parametrize("mode", some(["grad", "pullback"], 0))
def test_the_shared_problems(mode, tmp_path):
    compare(problems(), mode, tmp_path)


@pytest.mark.parametrize("mode", some(["pullback", "grad", "value_and_grad"], 1))
def test_the_golden_programs(mode, tmp_path):
    compare(goldens(), mode, tmp_path)


@pytest.mark.parametrize("part", some([(0, 97), (0, 6), (3, 6)], 1))
def test_programs_of_the_corpus(part, tmp_path):
    compare(corpus(*part), "grad", tmp_path)


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_export_with_external_writes_rejected(name, tmp_path):
    function, args = CORPUS[name]

    with pytest.raises(ExportError, match="writes to an object outside itself"):
        srcad.grad(function).export(tmp_path / "f.py", *args)


def tangents_of(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(np.cos(np.arange(a.size, dtype=float)).reshape(a.shape) for a in args)


def test_a_tangent(tmp_path):
    def f(x, w):
        return np.tanh(w @ x) * x[0]

    args = (np.array([0.5, -1.0]), np.array([[1.0, 2.0], [0.5, -0.3], [0.1, 0.2]]))
    dots = tangents_of(args)
    made = derivative(f, "jvp", (0, 1))
    assert isinstance(made, Gradient)
    made.export(tmp_path / "tangent.py", *args)

    ((got, status),) = alone([(str(tmp_path / "tangent.py"), "jvp_f", (args, dots), {})], tmp_path)

    assert same(got, srcad.jvp(f, args, dots))
    assert status == 0


@pytest.mark.parametrize("wrt", [0, (0, 1)])
def test_the_product_of_a_hessian(wrt, tmp_path):
    def f(x, w):
        return np.sum(np.tanh(w @ x) * x[0])

    args = (np.array([0.5, -1.0]), np.array([[1.0, 2.0], [0.5, -0.3], [0.1, 0.2]]))
    dots = tangents_of(args)
    v = dots[0] if wrt == 0 else dots
    made = srcad.hvp(f, wrt)
    made.export(tmp_path / "product.py", *args, v=v)

    job = (str(tmp_path / "product.py"), "hvp_f", args, {"v": v})
    ((got, status),) = alone([job], tmp_path)

    assert same(got, made(*args, v=v))
    assert status == 0


@pytest.mark.parametrize("mode", some(["jacobian", "hessian", "jacfwd", "jacrev"], 2))
def test_whole_jacobians_and_hessians(mode, tmp_path):
    def f(x):
        y = np.tanh(x) * x[0]
        return np.sum(y * y[1]) if mode == "hessian" else y

    x = np.array([0.5, -1.0])
    made = getattr(srcad, mode)(f)
    want = made(x)
    made.export(tmp_path / "whole.py", x)

    ((got, status),) = alone([(str(tmp_path / "whole.py"), f"{mode}_f", (x,), {})], tmp_path)

    assert same(got, want)
    assert status == 0


def pairs(x, p):
    """Return a tuple with a dict of numbers and arrays."""
    return np.sin(x) * p["k"], {"sum": x.sum() * p["m"][1][0], "all": p["m"][0] * p["k"]}


def energy(x, p):
    """Return a number that mixes all parts of the arguments."""
    return np.sum(x**3) * p["k"] + np.sum(p["m"][0] ** 2) * x[0] * p["m"][1][0]


STRUCTURED = [
    (pairs, "jacobian", 0),
    (pairs, "jacobian", (0, 1)),
    (pairs, "jacfwd", 1),
    (pairs, "jacrev", (1,)),
    (energy, "jacrev", 1),
    (energy, "hessian", 1),
    (energy, "hessian", (0, 1)),
    (energy, "hessian", (1,)),
]


def test_jacobians_and_hessians_of_structures_check_themselves(tmp_path):
    args = np.array([0.5, -1.0]), {"k": 1.5, "m": (np.array([1.0, 2.0, 0.5]), [0.7])}
    jobs, wants = [], []
    for k, (function, mode, wrt) in enumerate(STRUCTURED):
        made = derivative(function, mode, wrt)
        wants.append(made(*args))
        made.export(tmp_path / f"f{k}.py", *args)
        jobs.append((str(tmp_path / f"f{k}.py"), f"{mode}_{function.__name__}", args, {}))

    answers = alone(jobs, tmp_path)

    for (got, status), want in zip(answers, wants, strict=True):
        assert same(got, want)
        assert status == 0


def test_jacobian_with_aux_checks_itself(tmp_path):
    def f(x):
        return (np.tanh(x), x.sum()), {"seen": 1}

    x = np.array([0.5, -1.0])
    srcad.jacobian(f, has_aux=True).export(tmp_path / "aux.py", x)

    ((_, status),) = alone([(str(tmp_path / "aux.py"), "jacobian_f", (x,), {})], tmp_path)

    assert status == 0


@pytest.mark.parametrize("part", ["[0]", "['all']"])
def test_a_wrong_jacobian_fails_its_own_check(part, tmp_path):
    def f(x):
        return [np.tanh(x)], {"all": x * x}

    srcad.jacobian(f).export(tmp_path / "wrong.py", np.array([0.5, -1.0]))
    text = (tmp_path / "wrong.py").read_text()
    old = "return (jacobian_f(x),)"
    which = 0 if part == "[0]" else 1
    (tmp_path / "wrong.py").write_text(
        text.replace(
            old, f"y = jacobian_f(x)\n        y[{which}]{part}[0, 0] += 0.1\n        return (y,)"
        )
    )
    assert old in text

    done = subprocess.run([sys.executable, "-I", str(tmp_path / "wrong.py")], capture_output=True,
                          text=True, check=False)  # fmt: skip

    assert "DIFFERS" in done.stdout


def test_export_with_check_finite_rejected(tmp_path):
    with pytest.raises(ExportError, match="check_finite"):
        srcad.grad(lambda x: x * x, check_finite=True).export(tmp_path / "f.py", 2.0)
